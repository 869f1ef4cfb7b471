#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the examples of Rust's CUDA crates on margay, as crates.io has them.

    tests/clients/run_rust.py [cudarc] [cust]

Of cudarc the programs under `examples/`, which load libcuda at run time (NVRTC, where one compiles CUDA C++, comes
from PyPI); of cust, which links it, the examples of its documentation, built against `margay toolkit`. Without a
network or cargo the last line is `skipped: …`.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import common

VERSIONS = {"cudarc": "0.19.10", "cust": "0.3.2"}
NVRTC = ["nvidia-cuda-nvrtc-cu12==12.9.*"]
FEATURES = "std,driver,nvrtc,dynamic-loading,cuda-12090"
# What an example needs of the command line.
OPTIONS = {
    # It asks for the depth of device-side waits, which GPUs from 9.0 on refuse to tell.
    "12-context-config": ["--gpu", "a100"],
    "13-copy-multi-gpu": ["--gpus", "2"],
}
WAIVED = {
    "08-cupti": "needs CUPTI, NVIDIA's profiling library",
    "cufile-copy": "needs cuFile, NVIDIA's storage library",
}
SECONDS = 900


def package(options, name):
    """The crate's own directory, copied to where it may be built."""
    version = VERSIONS[name]
    place = options.venvs / "rust" / f"{name}-{version}"
    if (place / "Cargo.toml").exists():
        return place
    asking = options.venvs / "rust" / f"fetch-{name}"
    (asking / "src").mkdir(parents=True, exist_ok=True)
    (asking / "src/lib.rs").write_text("")
    (asking / "Cargo.toml").write_text(
        f'[package]\nname = "fetch-{name}"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n'
        f'[dependencies]\n{name} = {{ version = "={version}", default-features = false }}\n')
    try:
        told = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=asking, capture_output=True, text=True,
                              check=False)
    except FileNotFoundError as missing:
        raise common.Skipped("cargo is missing") from missing
    if told.returncode != 0:
        raise common.Skipped(f"{name} cannot be fetched: {(told.stderr.strip().splitlines() or ['no reason'])[-1]}")
    found = [p for p in json.loads(told.stdout)["packages"] if p["name"] == name and p["version"] == version]
    source = pathlib.Path(found[0]["manifest_path"]).parent
    partial = place.with_name(place.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial)
    # On its own, whatever lies above it.
    manifest = partial / "Cargo.toml"
    manifest.write_text(manifest.read_text() + "\n[workspace]\n")
    partial.rename(place)
    return place


def cudarc(options, margay, results):
    place = package(options, "cudarc")
    try:
        nvrtc = common.site_packages(common.environment(options, "nvrtc", NVRTC)) / "nvidia/cuda_nvrtc/lib"
        # It is looked for by its plain name.
        plain = options.venvs / "rust/nvrtc"
        plain.mkdir(parents=True, exist_ok=True)
        for library in nvrtc.glob("lib*.so*"):
            for name in (library.name, library.name.split(".so")[0] + ".so"):
                if not (plain / name).exists():
                    (plain / name).symlink_to(library)
    except common.Skipped as why:
        plain = None
        print(f"without NVRTC: {why}")
    for source in sorted((place / "examples").glob("*.rs")):
        name, label = source.stem, f"cudarc {source.stem}"
        if name in WAIVED:
            results.waive(label, WAIVED[name])
            continue
        if plain is None and "nvrtc" in source.read_text():
            results.waive(label, "needs NVRTC, which cannot be installed here")
            continue
        code, _, stderr = common.limited(
            ["cargo", "build", "--quiet", "--no-default-features", "--features", FEATURES, "--example", name], SECONDS,
            directory=place)
        if problem := common.ended(code, SECONDS):
            print(stderr[-2000:])
            results.add(label, f"does not build: {problem}")
            continue
        search = os.environ.get("LD_LIBRARY_PATH", "")
        settings = {"LD_LIBRARY_PATH": f"{plain or ''}:{search}".strip(":")}
        code, stdout, stderr = common.limited(
            [margay, "run", *OPTIONS.get(name, []), str(place / "target/debug/examples" / name)], SECONDS,
            directory=place, settings=settings)
        problem = common.ended(code, SECONDS)
        # An example without assertions at least speaks of no error.
        if problem is None and "not supported yet" in stderr:
            problem = stderr.strip().splitlines()[-1]
        if problem and options.verbose:
            print(stdout[-2000:], stderr[-2000:])
        results.add(label, problem)


def cust(options, margay, results):
    place = package(options, "cust")
    kit = options.venvs / "rust/toolkit"
    subprocess.run([margay, "toolkit", str(kit)], check=True, capture_output=True)
    settings = {"CUDA_PATH": str(kit), "CUDA_LIBRARY_PATH": str(kit), "RUSTFLAGS": "--cap-lints=allow"}
    code, stdout, stderr = common.limited([margay, "run", "cargo", "test", "--doc"], SECONDS, directory=place,
                                          settings=settings)
    found = re.findall(r"^test (\S+) - (.*) \(line \d+\)(?: - (compile))?.*\.\.\. (ok|FAILED|ignored)", stdout, re.M)
    if not found:
        results.add("cust", common.ended(code, SECONDS) or "no example ran")
        print(stderr[-3000:])
        return
    verdicts = {}
    for file, item, compiled_only, verdict in found:
        if verdict == "ignored" or compiled_only:
            continue
        # One item may have several.
        label = f"cust {file.removeprefix('src/')} {item}"
        verdicts[label] = "its example fails" if verdict == "FAILED" else verdicts.get(label)
    for label, problem in verdicts.items():
        results.add(label, problem)
    if options.verbose and code != 0:
        print(stdout[-6000:])


def main():
    parser = common.parser(__doc__)
    parser.add_argument("crates", nargs="*", help="cudarc, cust (default: both)")
    options = parser.parse_args()
    if unknown := [name for name in options.crates if name not in VERSIONS]:
        parser.error(f"unknown: {' '.join(unknown)}")
    margay = common.command_of(options)
    known = {}
    for line in (common.HERE / "rust.expected").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, why = line.partition(": ")
            known[name] = why
    results = common.Results("cudarc and cust", known)
    for name in options.crates or VERSIONS:
        {"cudarc": cudarc, "cust": cust}[name](options, margay, results)
    return results.finish(options.table)


common.run(main)
