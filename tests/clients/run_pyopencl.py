#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs pyopencl's own tests on margay.

    tests/clients/run_pyopencl.py [MODULE…]      such as test_wrapper; all without one

pyopencl and what it needs come from PyPI, into a virtual environment; its tests are in its sdist. Failures that
`pyopencl.expected` lists, each with its reason, are expected; a listed test that passes is not, and neither are fewer
passes in all than `pyopencl.md` records. Without a network the last line is `skipped: …`.
"""

import collections
import concurrent.futures
import os
import re
import subprocess
import tarfile
import tempfile
import xml.etree.ElementTree as xml

import common

VERSION = "2026.1.4"
# Fixed, so that what is published tomorrow changes no verdict.
PACKAGES = [f"pyopencl=={VERSION}", "pytools==2026.1.1", "pytest==9.2.0", "pytest-timeout==2.4.0", "mako==1.4.3",
            "numpy==2.4.6", "scipy==1.17.1", "platformdirs==4.14.7"]
# They begin first, so that none is left alone at the end.
LONGEST = ["test_array", "test_clmath"]
SECONDS_A_TEST, SECONDS_A_MODULE, SECONDS_TO_FETCH = 900, 1800, 300


def tests(options, place):
    """The directory of the sdist's tests, fetched once."""
    found = list(place.glob("sdist/pyopencl-*/test"))
    if not found:
        command = [place / "bin/pip", "download", "--quiet", "--no-deps", "--no-binary", "pyopencl",
                   "--dest", place / "sdist", f"pyopencl=={VERSION}"]
        common.fetched(command, "the sdist of pyopencl", SECONDS_TO_FETCH)
        with tarfile.open(next((place / "sdist").glob("*.tar.gz"))) as archive:
            # Python has the filter from 3.11.4 on; Debian 12's is 3.11.2.
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(place / "sdist", **safe)
        found = list(place.glob("sdist/pyopencl-*/test"))
    return found[0]


def recorded():
    """How many tests pass by the committed table."""
    found = re.search(r"(\d+) passed", (common.HERE / "pyopencl.md").read_text())
    return int(found[1])


def expectations():
    """Lines of `test  reason`; a name may end with `*`."""
    table = {}
    for line in (common.HERE / "pyopencl.expected").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, why = line.split(None, 1)
            table[name] = why
    return table


def expected(table, test):
    for name, why in table.items():
        if name == test or (name.endswith("*") and test.startswith(name[:-1])):
            return why
    return None


def short(module, name):
    """A test's name without the description of the device, and without blanks."""
    name = re.sub(r"<context factory for <.*?>>-?", "", name)
    return f"{module}::{name.replace('[]', '')}".replace(" ", "")


def outcome_of(case):
    """Outcome and reason of a test in pytest's report."""
    for child in case:
        if child.tag in ("failure", "error"):
            lines = (child.get("message") or "").strip().splitlines()
            return "failed", lines[0][:200] if lines else child.tag
        if child.tag == "skipped":
            return "skipped", child.get("message") or ""
    return "passed", ""


def run_module(options, margay, python, directory, module, folder):
    """Outcomes by test. A module whose process ended has one failure, itself."""
    report = folder / f"{module}.xml"
    # In another directory than the sdist, whose own package would be found first.
    command = [margay, "run", str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short",
               f"--timeout={SECONDS_A_TEST}", f"--rootdir={folder}", f"--junitxml={report}",
               str(directory / f"{module}.py")]
    settings = {"PYOPENCL_TEST": "margay", "PYTHONWARNINGS": "ignore"}
    code, stdout, stderr = common.limited(command, SECONDS_A_MODULE, folder, settings)
    if options.verbose and code != 0:
        print(stdout[-6000:], stderr[-2000:])
    if not report.exists():
        return {module: ("failed", f"ended the process ({common.ended(code, SECONDS_A_MODULE)})")}
    cases = xml.parse(report).getroot().iter("testcase")
    return {short(module, case.get("name")): outcome_of(case) for case in cases}


def main():
    parser = common.parser(__doc__)
    parser.add_argument("module", nargs="*", help="modules of the tests; all without one")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4), help="modules that run at once")
    options = parser.parse_args()
    margay = common.command_of(options)
    place = common.environment(options, "pyopencl", PACKAGES)
    directory = tests(options, place)
    known = expectations()
    counts = collections.defaultdict(collections.Counter)
    notes, unexpected = [], 0
    with tempfile.TemporaryDirectory(prefix="margay-pyopencl-") as folder:
        folder = common.pathlib.Path(folder)
        modules = options.module or sorted(f.stem for f in directory.glob("test_*.py"))
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        python = place / "bin/python"
        runs = {m: pool.submit(run_module, options, margay, python, directory, m, folder)
                for m in sorted(modules, key=lambda m: m not in LONGEST)}
        for module in modules:
            found = runs[module].result()
            for test, (outcome, why) in found.items():
                reason = expected(known, test)
                counts[module][outcome] += 1
                if outcome != "passed":
                    notes.append((test, outcome, reason or why))
                if outcome == "failed":
                    unexpected += reason is None
                    print(f"FAILED  {test}: {why}" + (f" [known: {reason}]" if reason else ""), flush=True)
                elif outcome == "passed" and reason:
                    unexpected += 1
                    print(f"passed  {test}, which is listed as a failure: take it off the list", flush=True)
            print(f"{module}: {dict(counts[module])}", flush=True)
    total = sum(counts.values(), collections.Counter())
    kinds = ("passed", "failed", "skipped")
    ran = total["passed"] + total["failed"]
    share = 100 * total["passed"] / ran if ran else 0
    summary = ", ".join(f"{total[kind]} {kind}" for kind in kinds) + f" ({share:.1f} % of those that ran)"
    if options.table:
        text = f"# pyopencl {VERSION}'s own tests: {summary}\n\n`skipped` is a test's own word: it needs another"
        text += " device, or a package.\n\n| module | passed | failed | skipped |\n|---|---|---|---|\n"
        text += "".join(f"| {m} | " + " | ".join(str(c[k]) for k in kinds) + " |\n" for m, c in counts.items())
        text += "\n| test | result | reason |\n|---|---|---|\n"
        text += "".join(f"| {n} | {r} | {w.replace('|', chr(92) + '|')} |\n" for n, r, w in notes)
        options.table.write_text(text)
    print(summary)
    if not options.module and total["passed"] < recorded():
        print(f"{recorded()} passed when pyopencl.md was written; `--table` rewrites it", flush=True)
        return 1
    return 1 if unexpected or not total["passed"] else 0


common.run(main)
