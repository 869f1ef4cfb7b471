#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs the driver's contract tests (crates/margay-cuda/tests) against a machine's own libcuda.so.1: each test in a
# process of its own, since a fault spoils a process for a real driver, and without what only margay promises.
#
#   cargo test -p margay-cuda --no-run            # prints the executables; copy them into a directory there
#   tests/contract/driver_on_card.sh DIRECTORY
set -u
export MARGAY_CONTRACT_REAL=1
passed=0
failed=0
for program in "$1"/*; do
    for test in $("$program" --list 2>/dev/null | sed -n 's/: test$//p' | grep -v '^scenario_'); do
        if timeout 60 "$program" --exact "$test" --test-threads=1 >/tmp/contract.$$ 2>&1 </dev/null; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED  $(basename "$program") $test"
            tail -n 20 /tmp/contract.$$
        fi
    done
done
rm -f /tmp/contract.$$
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
