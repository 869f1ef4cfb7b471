#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Records what compute-sanitizer says on a card of ScoR, compute-sanitizer-samples and our own corpus:
#     record_card.sh SCOR COMPUTE_SANITIZER_SAMPLES OUT
# Needs nvcc and compute-sanitizer. `card.py OUT` reads the logs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$3
mkdir -p "$out"
built=$(mktemp -d)
export out built
{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  nvcc --version | sed -n 's/.*\(release .*\)/nvcc \1/p'
  compute-sanitizer --version | sed -n 's/^Version/compute-sanitizer/p'
  date -u +%F
} >"$out/machine"

build() { nvcc -arch=sm_90 -std=c++17 -lineinfo -w -o "$built/$1" "$2" 2>"$built/log" || echo "not built: $2"; }
run() {
  local name=$1 program=$2 tool=$3 more=
  [ "$tool" = memcheck ] && more="--leak-check full"
  [ "${name%%.*}" = scor ] || more="$more --destroy-on-device-error kernel"
  # shellcheck disable=SC2086
  timeout 30 compute-sanitizer --tool "$tool" $more --print-limit 100 "$built/$program" >"$out/$name.$tool.txt" 2>&1
  echo "rc $?" >>"$out/$name.$tool.txt"
}
export -f build run

{
  for f in "$1"/microbenchmarks/src/*.cu; do echo "scor.$(basename "$f" .cu) $f"; done
  for f in "$2"/*/*.cu; do echo "sanitizer.$(basename "$f" .cu) $f"; done
  for f in "$here"/../checks/*.cu; do echo "corpus.$(basename "$f" .cu) $f"; done
} | xargs -P 14 -L 1 bash -c 'build "$@"' build

for program in "$built"/*.*; do
  program=$(basename "$program")
  kernels=-
  if [ "${program%%.*}" = corpus ]; then
    source=$here/../checks/${program#corpus.}.cu
    kernels=$(grep -oE '(RUN\(|wanted\(")\w+_(bug|good)' "$source" | grep -oE '\w+$' | sort -u)
  fi
  for kernel in ${kernels:--}; do
    for tool in memcheck racecheck initcheck synccheck; do echo "$program $kernel $tool"; done
  done
done | xargs -P 12 -L 1 bash -c 'if [ "$2" = - ]; then run "$1" "$1" "$3"; else CORPUS_ONLY=$2 run "$1.$2" "$1" "$3"; fi' run
