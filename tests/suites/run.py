#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a suite of other people's CUDA programs on margay, from a checkout that you name.

    tests/suites/run.py cuda-samples  ../cuda-samples
    tests/suites/run.py polybench     ../PolyBench-ACC
    tests/suites/run.py llvm          ../llvm-test-suite

Each program is built with `margay cc` from its unmodified sources, in a temporary directory, and run
with `margay run` under a time limit. The verdict is the suite's own: exit code, standard output, or a
reference file. Known failures stand in `<suite>.expected`, each with its reason; a failure that is not
listed fails the run, and so does a listed program that passes, and a run that checked nothing.

With `--check all` the programs run under `margay run --check all`: a finding fails its program, unless it was read and
stands in `<suite>.findings` with its code and the reason why it is right.

The last line is `N passed, N failed, N waived`; the exit code is 0 only if all went as expected.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


@dataclasses.dataclass
class Program:
    """A program of a suite: how it is built, run and judged."""

    name: str
    source_dir: pathlib.Path
    builds: list  # argument lists for `margay cc`; {out} is the build directory
    executable: str
    arguments: list = dataclasses.field(default_factory=list)
    reference: pathlib.Path | None = None
    # Called with (exit code, stdout, stderr); returns None or what is wrong.
    verdict: object = None
    # Where it runs: beside its executable, or (False) where its sources and their data are.
    runs_beside: bool = True
    # The least time limit, whatever --seconds says.
    seconds: int = 0
    # Set when it runs, where the caller has not set it.
    environment: dict = dataclasses.field(default_factory=dict)
    # One that launches nothing has nothing that could be checked.
    launches: bool = True


def exit_code_zero(code, _stdout, _stderr):
    if code == 2:
        return "waived itself (exit code 2)"
    return None if code == 0 else f"exit code {code}"


def cuda_samples(checkout):
    samples = checkout / "Samples"
    common = checkout / "Common"
    intro, concepts = samples / "0_Introduction", samples / "2_Concepts_and_Techniques"
    features = samples / "3_CUDA_Features"
    domain = samples / "5_Domain_Specific"

    def one(folder, name, *sources, extra=(), arguments=(), before=(), runs_beside=True, seconds=0):
        directory = folder / name
        sources = sources or (f"{name}.cu",)
        build = ["-std=c++17", "-I", str(common), *extra, *sources, "-o", "{out}/" + name]
        return Program(name, directory, [*before, build], name, list(arguments), verdict=exit_code_zero,
                       runs_beside=runs_beside, seconds=seconds)

    def fatbin_of(kernel):
        return ["-fatbin", f"{kernel}.cu", "-o", "{out}/" + kernel + "64.fatbin"]

    def as_on_the_card(code, stdout, _stderr):
        recorded = (ROOT / "tests/contract/device_query.h200.txt").read_text().splitlines()
        # The first line is the program's own path.
        for mine, card in zip(stdout.splitlines()[1:], recorded[1:], strict=False):
            if mine != card:
                return f"`{mine.strip()}`, where the card printed `{card.strip()}`"
        return exit_code_zero(code, stdout, _stderr) if stdout.count("\n") == len(recorded) else "another number of lines"

    query = one(samples / "1_Utilities", "deviceQuery", "deviceQuery.cpp", extra=["--cuda-version", "13.0"])
    query.verdict, query.environment, query.launches = as_on_the_card, {"MARGAY_GPU": "h200"}, False
    fatbin = fatbin_of("vectorAdd_kernel")
    ptx = ["-ptx", "ptxjit_kernel.cu", "-o", "{out}/ptxjit_kernel64.ptx"]
    return [
        query,
        one(intro, "vectorAdd"),
        one(intro, "simpleTemplates"),
        one(intro, "vectorAddDrv", "vectorAddDrv.cpp", extra=["-lcuda"], before=[fatbin]),
        one(intro, "simpleDrvRuntime", "simpleDrvRuntime.cpp", extra=["-lcuda"], before=[fatbin]),
        one(concepts, "inlinePTX"),
        one(features, "ptxjit", "ptxjit.cpp", extra=["-lcuda"], before=[ptx]),
        one(intro, "simpleVoteIntrinsics"),
        one(intro, "simpleAtomicIntrinsics", "simpleAtomicIntrinsics.cu", "simpleAtomicIntrinsics_cpu.cpp"),
        one(intro, "simpleAssert"),
        one(intro, "simpleCooperativeGroups"),
        one(intro, "fp16ScalarProduct"),
        one(concepts, "shfl_scan"),
        one(concepts, "threadFenceReduction", arguments=["--n=65536"]),
        one(concepts, "reduction", "reduction.cpp", "reduction_kernel.cu", arguments=["--n=65536"]),
        one(concepts, "scalarProd", "scalarProd.cu", "scalarProd_cpu.cpp"),
        one(intro, "simpleCallback", "simpleCallback.cu", "multithreading.cpp"),
        one(intro, "simpleZeroCopy"),
        one(features, "newdelete"),
        one(features, "simpleCudaGraphs"),
        one(concepts, "streamOrderedAllocation"),
        one(intro, "systemWideAtomics"),
        one(features, "warpAggregatedAtomicsCG"),
        one(concepts, "reductionMultiBlockCG", arguments=["--n=65536"]),
        one(intro, "simpleHyperQ"),
        one(intro, "simpleTexture", runs_beside=False),
        one(intro, "simpleLayeredTexture"),
        one(intro, "simpleCubemapTexture"),
        one(intro, "simpleSurfaceWrite", runs_beside=False),
        one(concepts, "dct8x8", "dct8x8.cu", "BmpUtil.cpp", "DCT8x8_Gold.cpp", runs_beside=False),
        one(intro, "simplePitchLinearTexture", seconds=600),
        one(domain, "stereoDisparity", runs_beside=False),
        one(intro, "simpleStreams"),
        one(intro, "vectorAddMMAP", "vectorAddMMAP.cpp", "multidevicealloc_memmap.cpp", extra=["-lcuda"],
            before=[fatbin]),
        one(intro, "simpleIPC", "simpleIPC.cu", str(common / "helper_multiprocess.cpp"), extra=["-lcuda"]),
        one(concepts, "threadMigration", "threadMigration.cpp", extra=["-lcuda"],
            before=[fatbin_of("threadMigration_kernel")]),
        one(features, "graphMemoryNodes"),
        one(features, "jacobiCudaGraphs", "main.cpp", "jacobi.cu"),
        one(concepts, "eigenvalues", "main.cu", "bisect_large.cu", "bisect_small.cu", "gerschgorin.cpp", "matlab.cpp",
            runs_beside=False),
        one(concepts, "interval", extra=["-I."], seconds=900),
        one(domain, "SobolQRNG", "sobol.cpp", "sobol_gold.cpp", "sobol_gpu.cu", "sobol_primitives.cpp"),
        one(domain, "FDTD3d", "src/FDTD3d.cpp", "src/FDTD3dGPU.cu", "src/FDTD3dReference.cpp", extra=["-Iinc"]),
        one(domain, "quasirandomGenerator", "quasirandomGenerator.cpp", "quasirandomGenerator_gold.cpp",
            "quasirandomGenerator_kernel.cu"),
        one(intro, "simpleAWBarrier"),
        one(features, "globalToShmemAsyncCopy", arguments=["-wA=128", "-hA=128", "-wB=128", "-hB=128"]),
        one(features, "cdpSimplePrint", extra=["-rdc=true"]),
        one(features, "cdpSimpleQuicksort", extra=["-rdc=true"]),
        one(features, "cdpBezierTessellation", "BezierLineCDP.cu", extra=["-rdc=true"]),
        one(intro, "matrixMul", arguments=["-wA=64", "-hA=64", "-wB=64", "-hB=64"]),
    ]


def polybench(checkout):
    utilities = checkout / "CUDA" / "utilities"
    defines = ["-DMINI_DATASET", "-DcudaThreadSynchronize=cudaDeviceSynchronize"]

    def verdict(code, stdout, _stderr):
        if code != 0:
            return f"exit code {code}"
        kinds = ("Non-Matching", "Number of misses")
        lines = [line for line in stdout.splitlines() if line.startswith(kinds)]
        if not lines:
            return "printed no comparison"
        wrong = [line for line in lines if line.rsplit(":", 1)[1].strip() != "0"]
        return wrong[0] if wrong else None

    programs = []
    for source in sorted((checkout / "CUDA").rglob("*.cu")):
        build = ["-O3", *defines, "-I", str(utilities), source.name, "-lm", "-o", "{out}/program"]
        programs.append(Program(source.stem, source.parent, [build], "program", verdict=verdict))
    return programs


def llvm(checkout):
    directory = checkout / "External" / "CUDA"
    programs = []
    for source in sorted(directory.glob("*.cu")):
        reference = source.with_suffix(".reference_output")
        build = ["-std=c++14", source.name, "-lm", "-o", "{out}/program"]
        verdict = against(reference) if reference.exists() else exit_code_zero
        program = Program(source.stem, directory, [build], "program", verdict=verdict)
        if source.stem == "simd":
            # It starts 2^32 threads for each of 40 functions: an hour of CPU compiled, a day interpreted.
            program.seconds = 2 * 3600
            program.environment = {"MARGAY_ENGINE": "jit"}
        programs.append(program)
    return programs


def against(reference):
    """The output of both streams, then `exit N`, is what the reference file has."""

    def verdict(code, stdout, stderr):
        wanted = reference.read_text().rstrip("\n").splitlines()
        got = (stderr + stdout).rstrip("\n").splitlines() + [f"exit {code}"]
        if got == wanted:
            return None
        for number, (a, b) in enumerate(zip(got, wanted), 1):
            if a != b:
                return f"line {number} is `{a}`, the reference has `{b}`"
        return f"{len(got)} lines, the reference has {len(wanted)}"

    return verdict


SUITES = {"cuda-samples": cuda_samples, "polybench": polybench, "llvm": llvm}


def limited(command, directory, seconds, environment):
    """Runs a command; returns (exit code or None on time-out, stdout, stderr)."""
    process = subprocess.Popen(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True)
    try:
        stdout, stderr = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        # The program that `margay run` started, too.
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        code = None
    return code, stdout.decode(errors="replace"), stderr.decode(errors="replace")


def run_one(program, margay, compiler, seconds, environment, verbose, check=None, read=()):
    """Builds and runs one program; returns None if it passed, else the reason."""
    with tempfile.TemporaryDirectory(prefix="margay-suite-") as out:
        for build in program.builds:
            arguments = [a.replace("{out}", out) for a in build]
            code, stdout, stderr = limited([*compiler, *arguments], program.source_dir, 300, environment)
            if code != 0:
                if verbose:
                    print(stdout + stderr)
                first = next((l for l in stderr.splitlines() if "error" in l), stderr.strip()[:200])
                return "does not build: " + ("time limit" if code is None else first)
        executable = os.path.join(out, program.executable)
        directory = out if program.runs_beside else program.source_dir
        seconds = max(seconds, program.seconds)
        environment = program.environment | environment
        report = pathlib.Path(out, "findings.json")
        checks = ["--check", check, "--check-format", "json", "--check-output", str(report), "--error-exitcode", "0"]
        command = [margay, "run", *(checks if check else []), executable, *program.arguments]
        code, stdout, stderr = limited(command, directory, seconds, environment)
        if verbose:
            print(stdout + stderr)
        if code is None:
            return f"no end within {seconds} s"
        problem = program.verdict(code, stdout, stderr)
        return problem or (accusations(report, read) if check else None)


def accusations(report, read):
    """What the checks found but for the codes in `read`, as a reason; None if that is nothing."""
    if not report.exists():
        return "no findings were written"
    findings = [f for f in json.loads(report.read_text())["findings"] if f["severity"] != "note"]
    places = []
    for finding in findings:
        source = next((a["source"] for a in finding["actors"]), {})
        where = f" at {os.path.basename(source['file'])}:{source['line']}" if source.get("file") else ""
        if finding["code"] not in read:
            places.append(f"{finding['code']}{where}")
    return ("accused: " + ", ".join(sorted(places))) if places else None


def listed(name):
    """Reads a file of lines of `name  word  reason`, if it is there; {name: (word, reason)}."""
    path = HERE / name
    lines = path.read_text().splitlines() if path.exists() else []
    parts = (line.split(None, 2) for line in lines if line.strip() and not line.startswith("#"))
    return {program: (word, reason) for program, word, reason in parts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--margay", default=os.environ.get("MARGAY", str(ROOT / "target/release/margay")))
    parser.add_argument("--compiler", help="builds in place of `margay cc`: nvcc with its flags, as one word")
    parser.add_argument("--only", action="append", help="run only programs of this name")
    parser.add_argument("--seconds", type=int, default=120, help="time limit for each program (default 120)")
    parser.add_argument("--verbose", action="store_true", help="show what the programs print")
    parser.add_argument("--table", type=pathlib.Path, help="write the results as a Markdown table")
    parser.add_argument("--check", metavar="CHECKS", help="run under `margay run --check CHECKS`")
    options = parser.parse_args()

    margay = str(pathlib.Path(options.margay).resolve())
    if not os.access(margay, os.X_OK):
        sys.exit(f"{margay}: not found; build it with `make build` or name it with --margay")
    compiler = shlex.split(options.compiler) if options.compiler else [margay, "cc"]
    programs = SUITES[options.suite](options.checkout.resolve())
    if options.check:
        programs = [p for p in programs if p.launches]
    if options.only:
        programs = [p for p in programs if p.name in options.only]
    # How programs end: `fail` or `waive`; and codes of findings, with commas between.
    known, read = listed(f"{options.suite}.expected"), listed(f"{options.suite}.findings")
    passed = failed = waived = unexpected = 0
    rows = []
    for program in programs:
        kind, why = known.get(program.name, (None, None))
        if kind == "waive":
            waived += 1
            rows.append((program.name, "waived", why))
            print(f"waived  {program.name}: {why}")
            continue
        start = time.monotonic()
        codes, reason = read.get(program.name, ("", ""))
        codes = codes.split(",")
        problem = run_one(
            program, margay, compiler, options.seconds, dict(os.environ), options.verbose, options.check, codes)
        took = time.monotonic() - start
        if problem is None:
            passed += 1
            note = " (listed as a failure: take it off the list)" if kind == "fail" else ""
            unexpected += kind == "fail"
            rows.append((program.name, "passed", f"{', '.join(codes)}: {reason}" if options.check and reason else ""))
            print(f"passed  {program.name} ({took:.1f} s){note}", flush=True)
        else:
            failed += 1
            unexpected += kind != "fail"
            rows.append((program.name, "failed", why or problem))
            print(f"FAILED  {program.name}: {problem}" + (f" [known: {why}]" if why else ""), flush=True)
    if options.table:
        checks = f" with `--check {options.check}`" if options.check else ""
        text = f"# {options.suite}{checks}: {passed} passed, {failed} failed, {waived} waived\n\n"
        text += "| program | result | reason |\n|---|---|---|\n"
        text += "".join(f"| {n} | {r} | {w} |\n" for n, r, w in rows)
        options.table.write_text(text)
    print(f"{passed} passed, {failed} failed, {waived} waived")
    if passed == 0:
        print("nothing was checked", file=sys.stderr)
        return 1
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
