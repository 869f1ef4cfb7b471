#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs numba-cuda's own tests on margay.

    tests/clients/run_numba.py [MODULE…]      such as cudapy.test_atomics; all without one (an hour or more)

numba-cuda and what it needs come from PyPI, into a virtual environment; its tests are in its wheel. Left out is
nvidia-nvjitlink, so that Numba hands over PTX and not machine code. Accesses fault where a card's pages end
(`--bounds page`), for one of the tests reads beyond an array, and that is what a card lets pass.

Failures that `numba.expected` lists, each with its reason, are expected. Without a network the last line is
`skipped: …`.
"""

import collections
import json
import subprocess
import tempfile

import common

PACKAGES = ["numba-cuda[cu13]==0.30.*", "pytest", "filecheck", "psutil", "cffi"]
SECONDS_A_TEST, SECONDS_A_MODULE = 120, 1800


def environment(options):
    place = common.environment(options, "numba", PACKAGES)
    # pip has no way to leave a dependency out.
    subprocess.run([place / "bin/pip", "uninstall", "--quiet", "--yes", "nvidia-nvjitlink"],
                   capture_output=True, check=False)
    return place


def modules(place):
    tests = common.site_packages(place) / "numba_cuda/numba/cuda/tests"
    return sorted(".".join(f.relative_to(tests).with_suffix("").parts) for f in tests.rglob("test_*.py"))


def expectations():
    """Lines of `test  fail|waive  reason`; a name may end with `*`."""
    table = {}
    for line in (common.HERE / "numba.expected").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, kind, why = line.split(None, 2)
            table[name] = (kind, why)
    return table


def expected(table, test):
    for name, row in table.items():
        if name == test or (name.endswith("*") and test.startswith(name[:-1])):
            return row
    return None, None


def run_module(options, margay, python, module, folder):
    """Outcomes by test; a test that ended the process failed, and the next run goes on behind it."""
    results = folder / f"{module}.jsonl"
    outcomes = {}
    for _attempt in range(6):
        command = [margay, "run", "--bounds", "page", str(python), "-W", "ignore", str(common.HERE / "numba_module.py"),
                   f"numba.cuda.tests.{module}", str(results), str(SECONDS_A_TEST)]
        code, _stdout, stderr = common.limited(command, SECONDS_A_MODULE)
        for line in results.read_text().splitlines() if results.exists() else []:
            row = json.loads(line)
            why = row["why"] or f"ended the process ({common.ended(code, SECONDS_A_MODULE)})"
            outcomes[row["test"].removeprefix("numba.cuda.tests.")] = (row["outcome"], why)
        if options.verbose and code != 0:
            print(stderr[-2000:])
        if code == 0:
            break
    return outcomes


def main():
    parser = common.parser(__doc__)
    parser.add_argument("module", nargs="*", help="modules of numba.cuda.tests; all without one")
    options = parser.parse_args()
    margay = common.command_of(options)
    place = environment(options)
    known = expectations()
    counts = collections.defaultdict(collections.Counter)
    notes, unexpected = [], 0
    with tempfile.TemporaryDirectory(prefix="margay-numba-") as folder:
        for module in options.module or modules(place):
            if expected(known, module)[0] == "waive":
                counts[module]["waived"] += 1
                notes.append((module, "waived", expected(known, module)[1]))
                continue
            path = common.pathlib.Path(folder)
            for test, (outcome, why) in run_module(options, margay, place / "bin/python", module, path).items():
                kind, reason = expected(known, test)
                failed = outcome in ("failed", "started")
                counts[module]["failed" if failed else outcome] += 1
                if failed:
                    unexpected += kind is None
                    notes.append((test, "failed", reason or why))
                    print(f"FAILED  {test}: {why}" + (f" [known: {reason}]" if kind else ""), flush=True)
            print(f"{module}: {dict(counts[module])}", flush=True)
    total = sum(counts.values(), collections.Counter())
    kinds = ("passed", "failed", "skipped", "waived")
    summary = ", ".join(f"{total[kind]} {kind}" for kind in kinds)
    if options.table:
        text = f"# numba-cuda's own tests: {summary}\n\n`skipped` is a test's own word: it needs another card, or a"
        text += " package.\n\n| test | result | reason |\n|---|---|---|\n"
        text += "".join(f"| {n} | {r} | {w} |\n" for n, r, w in notes)
        text += "\n| module | passed | failed | skipped | waived |\n|---|---|---|---|---|\n"
        text += "".join(f"| {m} | " + " | ".join(str(c[k]) for k in kinds) + " |\n" for m, c in counts.items())
        options.table.write_text(text)
    print(summary)
    return 1 if unexpected or not total["passed"] else 0


common.run(main)
