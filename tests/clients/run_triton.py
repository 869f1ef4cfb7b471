#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs Triton kernels on margay.

    tests/clients/run_triton.py

Triton comes from PyPI, into a virtual environment. A stand-in for ptxas hands the PTX on (the variables
TRITON_PTXAS_PATH and TRITON_PTXAS_BLACKWELL_PATH name it), which is all that Triton needs to run here. Without a
network the last line is `skipped: …`.
"""

import tempfile

import common

PACKAGES = ["triton==3.*", "numpy"]


def main():
    options = common.parser(__doc__).parse_args()
    margay = common.command_of(options)
    python = common.environment(options, "triton", PACKAGES) / "bin/python"
    ptxas = str(common.HERE / "ptxas_passthrough.sh")
    results = common.Results("Triton")
    with tempfile.TemporaryDirectory(prefix="margay-triton-") as cache:
        settings = {"TRITON_PTXAS_PATH": ptxas, "TRITON_PTXAS_BLACKWELL_PATH": ptxas, "TRITON_CACHE_DIR": cache}
        code, stdout, stderr = common.limited(
            [margay, "run", str(python), str(common.HERE / "triton_kernels.py")], 300, settings=settings)
    for line in stdout.splitlines():
        verdict, name, *why = line.split(" ", 2)
        if verdict in ("passed", "failed"):
            results.add(name, None if verdict == "passed" else " ".join(why))
    if problem := common.ended(code, 300):
        print(stderr[-2000:])
        results.add("all kernels", problem)
    return results.finish(options.table)


common.run(main)
