// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts under the names that Nsight Compute gives them.
//!
//! Those that [`recorded`](https://docs.nvidia.com/nsight-compute/ProfilingGuide/) counters of an H200
//! confirm are in `docs/profile.md`. A name stands for `.sum`.

use std::collections::BTreeMap;

use crate::profile::raw::Sums;

/// Key of a space and a direction in [`super::schema::Totals::spaces`].
pub fn cell_name(space: &str, kind: &str) -> String {
    format!("{space}_{kind}")
}

/// Adds the metrics of one kind of access.
pub fn add(
    metrics: &mut BTreeMap<String, u64>,
    space: &str,
    kind: &str,
    cache: Option<&str>,
    executions: u64,
    counts: &Sums,
) {
    let mut put = |name: String, value: u64| *metrics.entry(name).or_default() += value;
    let op = match kind {
        "load" => "ld",
        "store" => "st",
        "reduction" => "red",
        _ => "atom",
    };
    match space {
        "shared" => {
            // Reductions and atomics are one pipe operation in shared memory.
            let op = if op == "red" { "atom" } else { op };
            let wavefronts = counts.wavefronts_sass;
            put(
                format!("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}"),
                wavefronts,
            );
            put("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared".into(), wavefronts);
            put(format!("smsp__inst_executed_op_shared_{op}"), counts.instructions);
        }
        "global" => {
            put(format!("l1tex__t_requests_pipe_lsu_mem_global_op_{op}"), counts.requests);
            put(format!("l1tex__t_sectors_pipe_lsu_mem_global_op_{op}"), counts.sectors);
            if op == "ld" || op == "st" {
                put(format!("smsp__inst_executed_op_global_{op}"), executions);
            }
            if cache == Some("nc") {
                put("smsp__inst_executed_op_ldg_read_only".into(), executions);
            }
        }
        "local" => {
            put(format!("l1tex__t_requests_pipe_lsu_mem_local_op_{op}"), counts.requests);
            put(format!("l1tex__t_sectors_pipe_lsu_mem_local_op_{op}"), counts.sectors);
            put(format!("smsp__inst_executed_op_local_{op}"), executions);
        }
        "constant" => {
            put("smsp__inst_executed_op_ldc".into(), counts.instructions);
            put("sm__idc_divergent_instruction_replays".into(), counts.replays);
            put("idc__requests".into(), counts.requests);
        }
        // Modelled: `margay_arch::texture`.
        "texture" => {
            put("smsp__inst_executed_op_texture".into(), executions);
            put("l1tex__t_requests_pipe_tex_mem_texture".into(), counts.requests);
            put("l1tex__t_sectors_pipe_tex_mem_texture".into(), counts.sectors);
        }
        "surface" => {
            put(format!("smsp__inst_executed_op_surface_{op}"), executions);
            put(format!("l1tex__t_requests_pipe_tex_mem_surface_op_{op}"), counts.requests);
            put(format!("l1tex__t_sectors_pipe_tex_mem_surface_op_{op}"), counts.sectors);
        }
        // Compilers read parameters as operands of other instructions.
        _ => {}
    }
}
