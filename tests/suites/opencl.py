#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a suite of other people's OpenCL programs on margay, from a checkout that you name.

    tests/suites/opencl.py hands-on   ../Exercises-Solutions      (HandsOnOpenCL)
    tests/suites/opencl.py polybench  ../PolyBench-ACC
    tests/suites/opencl.py pocl       ../pocl                     (tests/kernel, tests/regression, tests/workgroup)
    tests/suites/opencl.py oclgrind   ../Oclgrind                 (tests/kernels)

Host programs are built with `cc` from their unmodified sources, in a temporary directory, and run with
`margay run` under a time limit. The verdict is the suite's own. Known failures stand in
`opencl-<suite>.expected`, each with its reason; a failure that is not listed fails the run, and so does a
listed program that passes, and a run that checked nothing. `--record` writes the table.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


@dataclasses.dataclass
class Program:
    """A host program, how it is built and run, and what judges it."""

    name: str
    directory: pathlib.Path
    build: list
    arguments: list
    # Of the exit code and the standard output; None is a pass.
    verdict: object
    compiler: str = "cc"
    # Options of `margay run`.
    options: list = dataclasses.field(default_factory=list)
    # Where it runs; else in a scratch directory beside copies of its kernels.
    at: pathlib.Path = None
    # It is not of this suite's kind: why, and nothing runs.
    waived: str = None


def hands_on(checkout):
    """Exercises 04 to 13, and A, in C and in C++: each compares with what the host computes."""
    solutions = checkout / "Solutions"
    out = []
    for directory in sorted([*solutions.glob("Exercise??/C"), *solutions.glob("Exercise??/Cpp"),
                             *solutions.glob("ExerciseA/C*")]):
        plain = directory.name == "C"
        common = solutions / f"{directory.name}_common"
        sources = sorted(s.name for s in directory.glob("*.c" if plain else "*.cpp"))
        makefile = (directory / "Makefile").read_text()
        helpers = ("wtime.c", "device_info.c") if plain else ("wtime.c",)
        shared = [str(common / name) for name in helpers if name.split(".")[0] in makefile]
        build = [*sources, *shared, "-I", str(common), "-lOpenCL", "-lm", "-fopenmp",
                 "-std=gnu99" if plain else "-std=gnu++11", "-DDEVICE=CL_DEVICE_TYPE_DEFAULT"]
        arguments = []
        if directory.parent.name == "Exercise13":
            # The smallest of the examples that ends soon.
            example = checkout / "Exercises" / "Exercise13" / "Examples" / "QueenBee"
            arguments = [str(example / "queenbee.dat"), str(example / "input.params"), "5", "11"]
        if directory.parent.name == "ExerciseA":
            # The kernel with vectors of eight.
            arguments = ["8"]
        name = directory.parent.name + ("" if plain else ", C++")
        compiler = "cc" if plain else "c++"
        out.append(Program(name, directory, build, arguments, hands_on_verdict, compiler))
    for directory in sorted(checkout.glob("Exercises/Exercise1[0-2]")):
        if [path.name for path in directory.iterdir()] == ["README.md"]:
            why = "a task for the reader: the repository has no program of it"
            out.append(Program(directory.name, directory, [], [], hands_on_verdict, waived=why))
    return sorted(out, key=lambda program: program.name)


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
        # Single precision adds up 262144 terms for each work-item; a CPU that does the same is 0.0003 off, too.
        return None if value and abs(float(value[1]) - 3.14159265) < 5e-4 else "pi is wrong"
    return None if stdout.strip() else "printed nothing"


def polybench(checkout):
    root = checkout / "OpenCL"
    utilities = root / "utilities"
    out = []
    for source in sorted(root.rglob("*.c")):
        if source.parent == utilities:
            continue
        build = [source.name, "-O1", "-DMINI_DATASET", "-I", str(utilities), "-lOpenCL", "-lm"]
        out.append(Program(source.stem, source.parent, build, [], polybench_verdict))
    return out


def polybench_verdict(code, stdout):
    if code != 0:
        return f"exit code {code}"
    lines = [line for line in stdout.splitlines() if line.startswith(("Non-Matching", "Number of misses"))]
    if not lines:
        return "printed no comparison"
    wrong = [line for line in lines if line.rsplit(":", 1)[1].strip() != "0"]
    return wrong[0] if wrong else None


POCL_SKIPS = 77
SKIPS = "skips itself: the device lacks what it is about"


def pocl(checkout):
    """The tests that the three directories' CMake files declare, each once (handlers are PoCL's own affair)."""
    out = []
    for kind in ("kernel", "regression", "workgroup"):
        directory = checkout / "tests" / kind
        text = re.sub(r"#.*", "", (directory / "CMakeLists.txt").read_text())
        declared = re.findall(r"add_test(?:_pocl)?\(([^)]*)\)", text)
        # What is built and declared nowhere, or for PoCL's own engine only, is a test all the same.
        used = set(re.findall(r'COMMAND\s+"?([A-Za-z0-9_]+)', text))
        built = [word for names in re.findall(r"PROGRAMS_TO_BUILD([^)]*)\)", text) for word in names.split()]
        more = [name for name in dict.fromkeys(built) if name.startswith("test_") and name not in used]
        declared += [f'NAME "{kind}/{name}" COMMAND "{name}"' for name in more]
        for call in declared:
            words = re.findall(r'"([^"]*)"|([A-Za-z0-9_./${}-]+)', call)
            words = [a if b == "" else b for a, b in words]
            keys = {"NAME", "COMMAND", "EXPECTED_OUTPUT", "WORKITEM_HANDLER", "LABELS", "ENVIRONMENT", "SORT_OUTPUT",
                    "ONLY_SPIRV"}
            fields, key = {}, None
            for word in words:
                if word in keys:
                    key = word
                    fields[key] = []
                elif key:
                    fields[key].append(word)
            name = fields["NAME"][0]
            program, *arguments = fields["COMMAND"]
            source = next((f for f in directory.iterdir() if f.stem == program and f.suffix in (".c", ".cc", ".cpp")), None)
            arguments = [a.replace("${CMAKE_CURRENT_SOURCE_DIR}", str(directory)) for a in arguments]
            wanted = fields.get("EXPECTED_OUTPUT", [""])
            wanted = directory / wanted[0] if wanted and wanted[0] else None
            if source is None:
                continue
            body = source.read_text(errors="replace")
            spirv = any(a.endswith(".spv") for a in arguments) or ".spv" in body
            c = source.suffix == ".c"
            shared = checkout / "poclu"
            build = [f"-DSRCDIR=\"{directory}\"", f"-DBUILDDIR=\"{checkout / 'tests'}\"", "-I", str(shared), "-I", str(checkout / "include"),
                     "-I", "{scratch}", "-x", "c" if c else "c++", str(source),
                     "-x", "c", str(shared / "misc.c"), str(shared / "bswap.c"), "-x", "none",
                     *([] if c else ["-fpermissive"]), "-lOpenCL", "-lm"]
            waived = "SPIR-V, which no device takes (CL_DEVICE_IL_VERSION is empty)" if spirv else None
            if "CL_DEVICE_TYPE_CUSTOM" in body:
                waived = "of PoCL's custom devices and their built-in kernels"
            out.append(Program(name, directory, build, arguments, pocl_verdict(wanted), "cc" if c else "c++",
                               at=directory, waived=waived))
    return out


def pocl_verdict(wanted):
    def verdict(code, stdout):
        if code == POCL_SKIPS:
            return SKIPS
        if code != 0:
            last = (stdout.strip().splitlines() or [""])[-1]
            return f"exit code {code}" + (f": {last[:120]}" if last else "")
        # Which work-item prints first is nobody's promise: lines are compared in any order.
        lines = lambda text: sorted(line.rstrip() for line in text.splitlines() if line.strip())
        if wanted is None:
            return None
        expected, got = lines(wanted.read_text(errors="replace")), lines(stdout)
        if expected == got:
            return None
        odd = next((a for a in expected if a not in got), None) or next((b for b in got if b not in expected), "lines repeat")
        return f"output differs: {odd[:100]}"
    return verdict


def oclgrind(checkout):
    """Simulations. Where the reference has no error, buffers and prints must be Oclgrind's; where it has one, margay's
    checks must find something."""
    kernels = checkout / "tests" / "kernels"
    out = []
    for name in (kernels / "TESTS").read_text().split():
        simulation = kernels / f"{name}.sim"
        reference = simulation.with_suffix(".ref")
        first = simulation.read_text().splitlines()[0]
        options = re.search(r"--build-options (\S+)", first)
        waived = "Oclgrind's own debugger" if "-i" in first.split() else None
        lines = reference.read_text().splitlines() if reference.exists() else []
        errors = any(line.startswith("ERROR") for line in lines)
        build = [str(HERE / "oclgrind_sim.c"), "-lOpenCL"]
        arguments = [str(simulation), *([options[1]] if options else [])]
        # A fixed order of blocks and warps: some races show in one only.
        checks = ["--check", "all", "--seed", "1"] if errors else []
        verdict = oclgrind_finds if errors else oclgrind_verdict(lines)
        out.append(Program(name, simulation.parent, build, arguments, verdict, options=checks,
                           at=simulation.parent, waived=waived))
    return out


def oclgrind_finds(code, _stdout):
    return None if code not in (0, 2, 125, 126, 127) else f"the checks find nothing (exit code {code})"


def oclgrind_verdict(reference):
    def verdict(code, stdout):
        if code != 0:
            return f"exit code {code}"
        lines = [line for line in stdout.splitlines() if line.strip()]
        for line in reference:
            kind, text = line[:5], line[6:]
            if kind == "EXACT" and text not in lines:
                return f"not printed: {text.strip()}"
            if kind == "MATCH" and not any(text in given for given in lines):
                return f"not printed: {text.strip()}"
        return None
    return verdict


SUITES = {"hands-on": hands_on, "polybench": polybench, "pocl": pocl, "oclgrind": oclgrind}


def run(args, program, scratch):
    """Builds and runs a program; what is wrong, or None."""
    # What PoCL's build system makes of its templates.
    (scratch / "pocl_opencl.h").write_text("#include <CL/opencl.h>\n#include <poclu.h>\n")
    (scratch / "config.h").write_text("")
    build = [word.replace("{scratch}", str(scratch)) for word in program.build]
    built = scratch / "program"
    version = "300" if program.at else "120"
    command = [program.compiler, "-w", f"-DCL_TARGET_OPENCL_VERSION={version}", "-o", str(built), *build]
    compiled = subprocess.run(command, cwd=program.directory, capture_output=True, check=False)
    if compiled.returncode != 0:
        lines = compiled.stderr.decode(errors="replace").splitlines()
        return "does not build: " + next((line for line in lines if "error" in line), lines[0] if lines else "")
    here = program.at
    if here is None:
        # Programs find their kernels beside their directory, and may write into it.
        here = scratch / "C"
        here.mkdir()
        for kernel in [*program.directory.glob("*.cl"), *program.directory.parent.glob("*.cl")]:
            to = here if kernel.parent == program.directory else here.parent
            (to / kernel.name).write_bytes(kernel.read_bytes())
    command = [args.margay, "run", *program.options, str(built), *program.arguments]
    try:
        done = subprocess.run(command, cwd=here, capture_output=True, timeout=args.timeout, check=False,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, POCL_CACHE_DIR=str(scratch)))
    except subprocess.TimeoutExpired:
        return f"over {args.timeout:g} s"
    problem = program.verdict(done.returncode, done.stdout.decode(errors="replace"))
    if problem and args.verbose:
        print(done.stdout.decode(errors="replace")[-1500:], done.stderr.decode(errors="replace")[-1500:])
    state = here / "final_state.dat"
    if len(program.arguments) > 1 and state.exists():
        example = pathlib.Path(program.arguments[0]).parent / "final_state.dat"
        if sorted(state.read_text().split("\n")) != sorted(example.read_text().split("\n")):
            problem = "the final board is not the example's"
    return problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--margay", default=str(ROOT / "target/release/margay"))
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--record", action="store_true", help="write opencl-<suite>.md")
    parser.add_argument("--verbose", action="store_true", help="show what failing programs print")
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
    for program in SUITES[args.suite](args.checkout.resolve()):
        name = program.name
        if args.only and not re.search(args.only, name):
            continue
        if program.waived:
            rows.append((name, "waived", program.waived))
            print(f"waived  {name:16} {program.waived}", flush=True)
            continue
        start = time.time()
        with tempfile.TemporaryDirectory(prefix="margay-opencl-") as scratch:
            problem = run(args, program, pathlib.Path(scratch))
        if problem == SKIPS:
            rows.append((name, "waived", problem))
            print(f"waived  {name:16} {problem}", flush=True)
            continue
        known = expected.get(name)
        mark = "passed" if problem is None else "failed"
        unexpected = (problem is None) == (known is not None)
        bad += unexpected
        rows.append((name, mark, known or problem or ""))
        note = " (unexpected)" if unexpected and (known or problem) else ""
        print(f"{mark:7} {name:16} {time.time() - start:6.1f} s  {problem or ''}{note}", flush=True)
    passed = sum(mark == "passed" for _, mark, _ in rows)
    waived = sum(mark == "waived" for _, mark, _ in rows)
    summary = f"{passed} passed, {len(rows) - passed - waived} failed" + (f", {waived} waived" if waived else "")
    print(summary)
    if args.record:
        table = "".join(f"| {name} | {mark} | {reason} |\n" for name, mark, reason in rows)
        text = f"# OpenCL, {args.suite}: {summary}\n\n| program | result | reason |\n|---|---|---|\n{table}"
        (HERE / f"opencl-{args.suite}.md").write_text(text)
    return 1 if bad or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
