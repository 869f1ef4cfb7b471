#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a suite of other people's OpenCL programs on margay, from a checkout that you name.

    tests/suites/opencl.py hands-on   ../Exercises-Solutions      (HandsOnOpenCL)
    tests/suites/opencl.py polybench  ../PolyBench-ACC

Host programs are built with `cc` from their unmodified sources, in a temporary directory, and run with
`margay run` under a time limit. The verdict is the suite's own. Known failures stand in
`opencl-<suite>.expected`, each with its reason; a failure that is not listed fails the run, and so does a
listed program that passes, and a run that checked nothing. `--record` writes the table.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def hands_on(checkout):
    """Exercises 04 to 13 in C: each compares with what the host computes."""
    solutions = checkout / "Solutions"
    common = solutions / "C_common"
    out = []
    for directory in sorted(solutions.glob("Exercise??/C")):
        sources = sorted(s.name for s in directory.glob("*.c"))
        makefile = (directory / "Makefile").read_text()
        shared = [str(common / name) for name in ("wtime.c", "device_info.c") if name in makefile]
        build = [*sources, *shared, "-I", str(common), "-lOpenCL", "-lm", "-std=gnu99",
                 "-DDEVICE=CL_DEVICE_TYPE_DEFAULT"]
        arguments = []
        if directory.parent.name == "Exercise13":
            # The smallest of the examples that ends soon.
            example = checkout / "Exercises" / "Exercise13" / "Examples" / "QueenBee"
            arguments = [str(example / "queenbee.dat"), str(example / "input.params"), "5", "11"]
        out.append((directory.parent.name, directory, build, arguments, hands_on_verdict))
    return out


def hands_on_verdict(code, stdout):
    if code != 0:
        return f"exit code {code}"
    found = re.search(r"(\d+) out of (\d+) results were correct", stdout)
    if found:
        return None if found[1] == found[2] else found[0]
    if re.search(r"error|incorrect|wrong", stdout, re.IGNORECASE):
        return "the program reports an error"
    if "pi =" in stdout or "pi=" in stdout:
        value = re.search(r"pi\s*=\s*([0-9.]+)", stdout)
        return None if value and abs(float(value[1]) - 3.14159265) < 1e-4 else "pi is wrong"
    return None if stdout.strip() else "printed nothing"


def polybench(checkout):
    root = checkout / "OpenCL"
    utilities = root / "utilities"
    out = []
    for source in sorted(root.rglob("*.c")):
        if source.parent == utilities:
            continue
        build = [source.name, "-O1", "-DMINI_DATASET", "-I", str(utilities), "-lOpenCL", "-lm"]
        out.append((source.stem, source.parent, build, [], polybench_verdict))
    return out


def polybench_verdict(code, stdout):
    if code != 0:
        return f"exit code {code}"
    lines = [line for line in stdout.splitlines() if line.startswith(("Non-Matching", "Number of misses"))]
    if not lines:
        return "printed no comparison"
    wrong = [line for line in lines if line.rsplit(":", 1)[1].strip() != "0"]
    return wrong[0] if wrong else None


SUITES = {"hands-on": hands_on, "polybench": polybench}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--margay", default=str(ROOT / "target/release/margay"))
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--record", action="store_true", help="write opencl-<suite>.md")
    parser.add_argument("--only", help="a regular expression of names")
    args = parser.parse_args()
    expected_file = HERE / f"opencl-{args.suite}.expected"
    expected = {}
    if expected_file.exists():
        for line in expected_file.read_text().splitlines():
            if line and not line.startswith("#"):
                name, reason = line.split(maxsplit=1)
                expected[name] = reason
    rows, bad = [], 0
    for name, directory, build, arguments, verdict in SUITES[args.suite](args.checkout.resolve()):
        if args.only and not re.search(args.only, name):
            continue
        start = time.time()
        with tempfile.TemporaryDirectory(prefix="margay-opencl-") as scratch:
            program = f"{scratch}/program"
            compiled = subprocess.run(["cc", "-w", "-DCL_TARGET_OPENCL_VERSION=120", "-o", program, *build],
                                      cwd=directory, capture_output=True, check=False)
            if compiled.returncode != 0:
                problem = "does not build: " + compiled.stderr.decode(errors="replace").splitlines()[0]
            else:
                try:
                    # Programs find their kernels beside their directory, and may write into it.
                    here = pathlib.Path(scratch) / "C"
                    here.mkdir()
                    for kernel in [*directory.glob("*.cl"), *directory.parent.glob("*.cl")]:
                        to = here if kernel.parent == directory else here.parent
                        (to / kernel.name).write_bytes(kernel.read_bytes())
                    done = subprocess.run([args.margay, "run", program, *arguments], cwd=here,
                                          capture_output=True, timeout=args.timeout, check=False,
                                          stdin=subprocess.DEVNULL)
                    problem = verdict(done.returncode, done.stdout.decode(errors="replace"))
                    state = here / "final_state.dat"
                    if arguments and state.exists():
                        example = pathlib.Path(arguments[0]).parent / "final_state.dat"
                        if sorted(state.read_text().split("\n")) != sorted(example.read_text().split("\n")):
                            problem = "the final board is not the example's"
                except subprocess.TimeoutExpired:
                    problem = f"over {args.timeout:g} s"
        known = expected.get(name)
        mark = "passed" if problem is None else "failed"
        unexpected = (problem is None) == (known is not None)
        bad += unexpected
        rows.append((name, mark, known or problem or ""))
        note = " (unexpected)" if unexpected and (known or problem) else ""
        print(f"{mark:7} {name:16} {time.time() - start:6.1f} s  {problem or ''}{note}", flush=True)
    passed = sum(mark == "passed" for _, mark, _ in rows)
    summary = f"{passed} passed, {len(rows) - passed} failed"
    print(summary)
    if args.record:
        table = "".join(f"| {name} | {mark} | {reason} |\n" for name, mark, reason in rows)
        text = f"# OpenCL, {args.suite}: {summary}\n\n| program | result | reason |\n|---|---|---|\n{table}"
        (HERE / f"opencl-{args.suite}.md").write_text(text)
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
