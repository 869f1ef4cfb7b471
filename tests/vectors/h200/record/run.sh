#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Records accesses.jsonl and occupancy_runs.csv on an NVIDIA GPU: run.sh OUT. Needs nvcc, ncu, python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
arch=${ARCH:-sm_90}
cd "$(mktemp -d)"
nvcc -std=c++17 -arch="$arch" -o accesses "$here/accesses.cu" &
nvcc -std=c++17 -arch="$arch" -o occupancy "$here/occupancy.cu" && ./occupancy >"$out/occupancy_runs.csv"
wait
for sm in 75 80 90 100 120; do
  ptxas -arch="sm_$sm" -o m.cubin "$here/mnemonics.ptx"
  cuobjdump -sass m.cubin | sed -n 's/^ *\/\*[0-9a-f]*\*\/ *\(.*;\).*/\1/p' | grep -E 'LD|ST|ATOM|RED|MEMBAR|CAS' >"$out/sm_$sm.sass" || true
done
cat "$out"/sm_90.sass
tail -n 2 "$out/occupancy_runs.csv" | cut -c -200
: >"$out/accesses.jsonl"
for group in shared_ld shared_st shared_atom global_red global_atom global_ld global_st local_ld local_st; do
  space=${group%_*} op=${group#*_}
  case $space in
  shared)
    metrics="smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_$op.sum,smsp__inst_executed_op_shared_$op.sum"
    metrics="$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$op.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
    metrics="$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$op.sum"
    ;;
  *)
    metrics=
    for what in requests sectors output_wavefronts; do
      metrics="$metrics${metrics:+,}l1tex__t_${what}_pipe_lsu_mem_${space}_op_$op.sum"
    done
    ;;
  esac
  ncu --csv --page raw --cache-control none --clock-control none --metrics "$metrics" ./accesses "$group" >"$group.csv" ||
    { tail -n 5 "$group.csv"; continue; }
  python3 "$here/join.py" "$group.csv" "$group.rows" >>"$out/accesses.jsonl"
  date
done
wc -l "$out"/*
