#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Counts the launches of launches.txt on an NVIDIA GPU: record.sh OUT. Needs nvcc and ncu.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
cd "$here"
nvcc -std=c++17 -x cu -o /tmp/record record.cpp -lcuda || exit 1
/tmp/record launches.txt || exit 1
metrics=smsp__inst_executed.sum,smsp__thread_inst_executed.sum,sm__idc_divergent_instruction_replays.sum
for op in ld st atom; do
  metrics=$metrics,smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_$op.sum,smsp__inst_executed_op_shared_$op.sum
done
for op in ld st atom red; do
  metrics=$metrics,l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum
done
for op in ld st; do
  metrics=$metrics,l1tex__t_requests_pipe_lsu_mem_local_op_$op.sum,l1tex__t_sectors_pipe_lsu_mem_local_op_$op.sum
done
ncu -f -o /tmp/kernels --cache-control none --clock-control none --metrics "$metrics" /tmp/record launches.txt >"$out/log.txt" 2>&1
ncu --import /tmp/kernels.ncu-rep --csv --page raw >"$out/counters_raw.csv"
wc -l "$out/counters_raw.csv"
# The same by source line and machine instruction.
shared=smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum
shared=$shared,smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum,smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum
ncu -f -o /tmp/lines --cache-control none --clock-control none --section SourceCounters --metrics "$shared" /tmp/record launches.txt >>"$out/log.txt" 2>&1
for view in sass cuda,sass cuda; do
  ncu --import /tmp/lines.ncu-rep --csv --page source --print-source "$view" >"$out/lines_$(echo "$view" | tr , _).csv" 2>>"$out/log.txt"
done
for module in transposes reductions matrices streams kernels probes; do
  ptxas -arch=sm_90 -lineinfo -v -o "/tmp/$module.cubin" "$module.ptx" 2>>"$out/ptxas.txt"
  nvdisasm -g -c "/tmp/$module.cubin" >>"$out/machine.txt" 2>>"$out/log.txt"
done
ncu --version | tail -n 2
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
tail -n 5 "$out/log.txt"
wc -c "$out"/*
