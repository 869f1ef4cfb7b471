#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs what margay needs beside Rust on Debian or Ubuntu, and nothing that is there already.
set -eu

missing=""
need() { # command package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need clang-19 clang-19
need g++ g++
need ld binutils
# The runner of the checks' corpus.
need python3 python3
# pyopencl's tests want a virtual environment.
python3 -c 'import ensurepip' >/dev/null 2>&1 || missing="$missing python3-venv"
# A test reads what it says of the OpenCL device; it brings the loader, too.
need clinfo clinfo
# OpenCL's examples are built as anybody's programs are.
[ -f /usr/include/CL/cl.h ] && ls /usr/lib/*/libOpenCL.so >/dev/null 2>&1 || missing="$missing ocl-icd-opencl-dev"
# Tests build a project with them, and say that they are skipped where they are missing.
need make make
need cmake cmake
# `margay check` reads programs through libclang; on Debian clang-19 brings it, elsewhere it may not.
ls /usr/lib/*/libclang-19.so* /usr/lib/llvm-19/lib/libclang*.so* >/dev/null 2>&1 ||
    missing="$missing libclang1-19"
[ -f /usr/lib/clc/nvptx64--nvidiacl.bc ] || missing="$missing libclc-19"
need llvm-config-19 llvm-19-dev

if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup: please install:$missing (this script knows apt only)" >&2
        exit 1
    fi
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        as_root="sudo"
        command -v sudo >/dev/null 2>&1 || {
            echo "setup: run as root: apt-get install$missing" >&2
            exit 1
        }
    fi
    echo "setup: installing$missing"
    $as_root apt-get update -q
    # shellcheck disable=SC2086 # one word a package
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends $missing
fi

command -v cargo >/dev/null 2>&1 || {
    echo "setup: Rust is missing: install rustup (https://rustup.rs) or apt's rustup package" >&2
    exit 1
}
