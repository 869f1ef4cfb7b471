#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs every example and every contract program through `margay run`, each under a time limit.
#
#   MARGAY=target/release/margay tests/cli/run.sh [NAME…]
#
# An example checks itself: exit code 0 is a pass. A contract program's standard output must equal what
# an H200 printed under CUDA 13 (tests/contract/<name>.h200.txt), except lines that tests/contract/<name>.except
# lists as extended regular expressions (lines that start with '#' are the reasons).
set -u
cd "$(dirname "$0")/../.."
margay=${MARGAY:-target/release/margay}
seconds=${SECONDS_EACH:-120}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

verdict() { # name, problem or nothing
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        echo "ok      $1"
    else
        failed=$((failed + 1))
        echo "FAILED  $1: $2"
        sed 's/^/        /' "$work/out" "$work/err" 2>/dev/null | tail -n 30
    fi
}

wanted() { # name, then the names asked for
    local name=$1
    shift
    [ $# -eq 0 ] && return 0
    for one in "$@"; do [ "$one" = "$name" ] && return 0; done
    return 1
}

# An example of several files is a directory with a main.cu; the other files follow it.
for file in examples/*.cu examples/*/main.cu; do
    name=$(basename "$file" .cu)
    others=""
    if [ "$name" = main ]; then
        name=$(basename "$(dirname "$file")")
        others=$(find "$(dirname "$file")" -name '*.cu' ! -name main.cu | sort)
    fi
    wanted "$name" "$@" || continue
    # `// margay-run: --gpu sm_13` in a file gives the options that its run needs.
    options=$(sed -n 's|^// margay-run: ||p' "$file")
    # shellcheck disable=SC2086 # options are words
    timeout "$seconds" "$margay" run $options "$file" $others >"$work/out" 2>"$work/err" </dev/null
    code=$?
    problem=""
    [ $code -eq 124 ] && problem="no end within $seconds s"
    [ $code -ne 0 ] && [ -z "$problem" ] && problem="exit code $code"
    verdict "examples/$name" "$problem"
done

# OpenCL programs: a host in C, which the system's compiler builds and its loader leads to margay, and kernels.
for file in examples/opencl/*.c; do
    name=$(basename "$file" .c)
    wanted "$name" "$@" || continue
    problem=""
    if ! cc -O1 "$file" -lOpenCL -lm -o "$work/$name" >"$work/out" 2>"$work/err"; then
        problem="does not compile"
    else
        timeout "$seconds" "$margay" run "$work/$name" "${file%.c}.cl" >"$work/out" 2>"$work/err" </dev/null
        code=$?
        [ $code -eq 124 ] && problem="no end within $seconds s"
        [ $code -ne 0 ] && [ -z "$problem" ] && problem="exit code $code"
    fi
    verdict "examples/opencl/$name" "$problem"
done

for file in tests/contract/*.cu; do
    name=$(basename "$file" .cu)
    wanted "$name" "$@" || continue
    recorded=tests/contract/$name.h200.txt
    timeout "$seconds" "$margay" run --gpu h200 --cuda-version 13.0 "$file" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    except=tests/contract/$name.except
    if [ -f "$except" ]; then
        grep -v '^#' "$except" >"$work/patterns"
        grep -Evf "$work/patterns" "$work/out" >"$work/got"
        grep -Evf "$work/patterns" "$recorded" >"$work/want"
    else
        cp "$work/out" "$work/got"
        cp "$recorded" "$work/want"
    fi
    problem=""
    if [ $code -eq 124 ]; then
        problem="no end within $seconds s"
    elif ! diff "$work/want" "$work/got" >"$work/diff"; then
        problem="differs from the card in $(grep -c '^>' "$work/diff") lines"
        head -n 20 "$work/diff" >"$work/out"
    fi
    verdict "contract/$name" "$problem"
done

echo "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
