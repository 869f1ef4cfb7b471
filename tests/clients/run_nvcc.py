#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs programs that NVIDIA's nvcc built, on margay.

    tests/clients/run_nvcc.py [--cuda-samples CHECKOUT]

nvcc is assembled from wheels of PyPI in a virtual environment (some 400 MB). It builds the examples, the
contract programs and, from a checkout, programs of cuda-samples, all with `-cudart shared`; `margay run` runs
them. Without a network the last line is `skipped: …`.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common

WHEELS_13 = ["nvidia-cuda-nvcc==13.*", "nvidia-cuda-crt==13.*", "nvidia-nvvm==13.*", "nvidia-cuda-runtime==13.*",
             "nvidia-cuda-nvrtc==13.*", "nvidia-cuda-cccl==13.*"]
# nvcc itself is not among the wheels for CUDA 12; its headers and its runtime library are.
WHEELS_12 = ["nvidia-cuda-nvcc-cu12==12.9.*", "nvidia-cuda-runtime-cu12==12.9.*", "nvidia-cuda-cccl-cu12==12.9.*"]
WAIVED = {
    "examples/restrict_loads": "counts the loads in the PTX that clang makes",
}


def toolkit(options):
    """The tree with bin/nvcc of CUDA 13, and a library directory with the names that linkers look for."""
    place = common.environment(options, "nvcc13", WHEELS_13)
    tree = common.site_packages(place) / "nvidia/cu13"
    library = tree / "lib/libcudart.so"
    if not library.exists():
        library.symlink_to("libcudart.so.13")
    return tree


def toolkit_12(options, tree_13):
    """nvcc of CUDA 13 with the headers of 12.9, whose programs need libcudart.so.12."""
    wheels = common.site_packages(common.environment(options, "nvcc12", WHEELS_12)) / "nvidia"
    tree = options.venvs / "nvcc12/tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(tree_13 / "bin", tree / "bin", copy_function=os.link)
    os.symlink(tree_13 / "nvvm", tree / "nvvm")
    for part in ("cuda_nvcc/include", "cuda_runtime/include"):
        shutil.copytree(wheels / part, tree / "include", dirs_exist_ok=True)
    shutil.copytree(wheels / "cuda_cccl/include", tree / "include/cccl", dirs_exist_ok=True)
    shutil.copytree(wheels / "cuda_runtime/lib", tree / "lib")
    (tree / "lib/libcudart.so").symlink_to("libcudart.so.12")
    return tree


class Nvcc:
    def __init__(self, options, tree, margay):
        self.options, self.tree, self.margay = options, tree, margay

    def flags(self):
        return ["-cudart", "shared", "-arch=sm_90", "-std=c++17", f"-L{self.tree / 'lib'}"]

    def problem(self, out, sources, flags=(), run=(), wanted=None):
        """Builds and runs; None if all went well. `wanted` judges (exit code, stdout, stderr)."""
        program = pathlib.Path(out) / "program"
        build = [str(self.tree / "bin/nvcc"), *self.flags(), *flags, *map(str, sources), "-o", str(program)]
        code, stdout, stderr = common.limited(build, 300)
        if code != 0:
            lines = (stdout + stderr).splitlines()
            return "does not build: " + next((l for l in lines if "error" in l), f"exit code {code}")
        code, stdout, stderr = common.limited([self.margay, "run", *run, str(program)], 120)
        problem = wanted(code, stdout, stderr) if wanted else common.ended(code, 120)
        if problem and self.options.verbose:
            print(stdout + stderr)
        return problem


def margay_options(source):
    """`// margay-run:` in an example; the flags of `margay cc` among them are nvcc's too."""
    found = re.search(r"^// margay-run: (.*)$", source.read_text(), re.MULTILINE)
    words = found.group(1).split() if found else []
    build = [w for w in words if w.startswith("-rdc")]
    return build, [w for w in words if w not in build]


def as_recorded(name):
    """The contract program's output is what a card printed, but for the lines listed with reasons."""
    place = common.ROOT / "tests/contract"
    recorded = (place / f"{name}.h200.txt").read_text().splitlines()
    except_file = place / f"{name}.except"
    patterns = []
    if except_file.exists():
        lines = except_file.read_text().splitlines()
        patterns = [re.compile(l) for l in lines if l and not l.startswith("#")]
    kept = lambda lines: [l for l in lines if not any(p.search(l) for p in patterns)]

    def wanted(_code, stdout, _stderr):
        got, want = kept(stdout.splitlines()), kept(recorded)
        wrong = sum(a != b for a, b in zip(got, want)) + abs(len(got) - len(want))
        return f"differs from the card in {wrong} lines" if wrong else None

    return wanted


def refused(code, _stdout, stderr):
    if code == 125 and "linked in statically" in stderr and "-cudart shared" in stderr:
        return None
    return f"exit code {code} and no word of how to relink"


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--cuda-samples", type=pathlib.Path, help="a checkout of NVIDIA/cuda-samples")
    options = parser.parse_args()
    margay = common.command_of(options)
    tree = toolkit(options)
    results = common.Results("nvcc")
    nvcc = Nvcc(options, tree, margay)
    examples = common.ROOT / "examples"
    demo = examples / "demo.cu"
    with tempfile.TemporaryDirectory(prefix="margay-nvcc-") as out:
        for source in sorted(examples.glob("*.cu")) + sorted(examples.glob("*/main.cu")):
            alone = source.name != "main.cu"
            name = f"examples/{source.stem if alone else source.parent.name}"
            if name in WAIVED:
                results.waive(name, WAIVED[name])
                continue
            build, run = margay_options(source)
            sources = [source] if alone else sorted(source.parent.glob("*.cu"))
            results.add(name, nvcc.problem(out, sources, build, run))
        for source in sorted((common.ROOT / "tests/contract").glob("*.cu")):
            run = ["--gpu", "h200"]
            results.add(f"contract/{source.stem}", nvcc.problem(out, [source], (), run, as_recorded(source.stem)))
        for mode in ("size", "speed", "balance", "none"):
            results.add(f"-compress-mode={mode}", nvcc.problem(out, [demo], [f"-compress-mode={mode}"]))
        for flags in (["-G"], ["-lineinfo"], ["-default-stream", "per-thread"], ["-use_fast_math"],
                      ["-gencode", "arch=compute_75,code=[sm_75,compute_75]"]):
            results.add(" ".join(flags), nvcc.problem(out, [demo], flags))
        results.add("-cudart static is refused", nvcc.problem(out, [demo], ["-cudart", "static"], (), refused))
        try:
            older = Nvcc(options, toolkit_12(options, tree), margay)
            for name in ("demo", "managed_memory", "launch_errors", "cooperative_grid", "constant_memory"):
                source = examples / f"{name}.cu"
                results.add(f"with CUDA 12.9's headers: {name}", older.problem(out, [source]))
        except common.Skipped as why:
            results.waive("with CUDA 12.9's headers", str(why))
    if options.cuda_samples:
        compiler = " ".join([str(tree / "bin/nvcc"), *nvcc.flags(), "-L", str(pathlib.Path(margay).parent / "margay-lib")])
        suite = [sys.executable, str(common.ROOT / "tests/suites/run.py"), "cuda-samples", str(options.cuda_samples),
                 "--margay", margay, "--compiler", compiler]
        with subprocess.Popen(suite, stdout=subprocess.PIPE, text=True) as running:
            for line in running.stdout:
                found = re.match(r"(passed|FAILED|waived) +([\w-]+)[^:]*(?:: (.*))?", line)
                if not found:
                    continue
                verdict, name, why = found.groups()
                if name == "ptxjit" and why and "waived itself" in why:
                    results.waive("cuda-samples/ptxjit", "asks for a driver as new as nvcc, newer than CUDA 13.0")
                elif verdict == "waived":
                    results.waive(f"cuda-samples/{name}", why)
                else:
                    results.add(f"cuda-samples/{name}", None if verdict == "passed" else why or "failed")
    version = subprocess.run([tree / "bin/nvcc", "--version"], capture_output=True, text=True, check=False).stdout
    release = re.search(r"release .*", version)
    preface = f"Built by nvcc, {release.group(0) if release else 'version unknown'}, with `-cudart shared`.\n\n"
    return results.finish(options.table, preface)


common.run(main)
