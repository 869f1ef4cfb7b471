# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs one module of numba-cuda's own tests; `run_numba.py` starts it, inside `margay run`.

    numba_module.py MODULE RESULTS [SECONDS]

Each test's outcome is a line of JSON in RESULTS, written as the test ends. A test that takes longer than
SECONDS ends the process; the tests that RESULTS has already are passed over, so that the caller can go on
with the next one.
"""

import faulthandler
import importlib
import json
import pathlib
import sys
import unittest


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def reason(text):
    """The last line that says something."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def main():
    module, results, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), float(sys.argv[3])
    known = set()
    if results.exists():
        known = {json.loads(line)["test"] for line in results.read_text().splitlines()}
    out = results.open("a", buffering=1)

    def note(test, outcome, why=""):
        out.write(json.dumps({"test": test, "outcome": outcome, "why": why}) + "\n")

    try:
        loaded = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module))
    except unittest.SkipTest as skip:
        note(module, "skipped", str(skip))
        return
    for test in tests_of(loaded):
        name = test.id()
        if name in known:
            continue
        # Written first: if the process dies here, the caller knows in which test.
        note(name, "started")
        faulthandler.dump_traceback_later(seconds, exit=True)
        result = unittest.TestResult()
        test(result)
        faulthandler.cancel_dump_traceback_later()
        if result.errors or result.failures:
            why = reason((result.errors + result.failures)[0][1])
            # pytest's way to skip is an error to unittest.
            note(name, "skipped" if why.startswith("Skipped:") else "failed", why)
        elif result.unexpectedSuccesses:
            note(name, "failed", "passes although it is expected to fail")
        elif result.expectedFailures:
            note(name, "skipped", "expected to fail, and does")
        elif result.skipped:
            note(name, "skipped", result.skipped[0][1])
        else:
            note(name, "passed")


if __name__ == "__main__":
    main()
