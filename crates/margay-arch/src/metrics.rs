// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nsight Compute's names for the figures of an access, so that a reader can hold them against `ncu`.
//!
//! Each is the sum over a launch (`.sum`) of what one access adds. Cache hits are not among them: they
//! depend on what came before.

use crate::access::{Counts, Kind, MemoryModel, Space, WarpAccess};
use crate::atomics::{SharedAtomic, shared_way};

/// `ld`, `st`, `atom` or `red`; shared memory has no `red` of its own.
fn op(access: &WarpAccess<'_>) -> usize {
    match access.kind {
        Kind::Load => 0,
        Kind::Store => 1,
        Kind::Atomic(_) => 2,
        Kind::Reduction(_) if access.space == Space::Shared => 2,
        Kind::Reduction(_) => 3,
    }
}

const SHARED_SASS: [&str; 3] = [
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom",
];
const SHARED_PIPE: [&str; 3] = [
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom",
];
const SHARED_CONFLICTS: [&str; 3] = [
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom",
];
const SHARED_INSTRUCTIONS: [&str; 3] = [
    "smsp__inst_executed_op_shared_ld",
    "smsp__inst_executed_op_shared_st",
    "smsp__inst_executed_op_shared_atom",
];
const GLOBAL_REQUESTS: [&str; 4] = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red",
];
const GLOBAL_SECTORS: [&str; 4] = [
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red",
];
const LOCAL_REQUESTS: [&str; 2] =
    ["l1tex__t_requests_pipe_lsu_mem_local_op_ld", "l1tex__t_requests_pipe_lsu_mem_local_op_st"];
const LOCAL_SECTORS: [&str; 2] =
    ["l1tex__t_sectors_pipe_lsu_mem_local_op_ld", "l1tex__t_sectors_pipe_lsu_mem_local_op_st"];

/// The counters that the access adds to, with what it adds.
pub fn nsight(
    model: &MemoryModel,
    access: &WarpAccess<'_>,
    counts: &Counts,
) -> Vec<(&'static str, u64)> {
    let op = op(access);
    match access.space {
        Space::Shared => {
            // The profiler counts a compare-and-swap's two passes as one conflict, none in a loop, and a loop's
            // loads with the loads.
            let (wavefronts, conflicts) = match access.kind {
                Kind::Load | Kind::Store => (counts.wavefronts, counts.bank_conflicts()),
                Kind::Atomic(_) | Kind::Reduction(_) => {
                    match shared_way(model.generation, access.kind, access.width) {
                        SharedAtomic::CompareSwapLoop => (counts.wavefronts_sass, 0),
                        SharedAtomic::NativeCompareSwap => {
                            (counts.wavefronts, counts.bank_conflicts() / 2)
                        }
                        SharedAtomic::Native
                        | SharedAtomic::NativeCount
                        | SharedAtomic::LockLoop => (counts.wavefronts, counts.bank_conflicts()),
                    }
                }
            };
            vec![
                (SHARED_SASS[op], counts.wavefronts_sass.into()),
                (SHARED_PIPE[op], wavefronts.into()),
                (SHARED_CONFLICTS[op], conflicts.into()),
                (SHARED_INSTRUCTIONS[op], counts.instructions.into()),
            ]
        }
        Space::Global => vec![
            (GLOBAL_REQUESTS[op], counts.requests.into()),
            (GLOBAL_SECTORS[op], counts.sectors.into()),
        ],
        Space::Local => vec![
            (LOCAL_REQUESTS[op.min(1)], counts.requests.into()),
            (LOCAL_SECTORS[op.min(1)], counts.sectors.into()),
        ],
        Space::Constant | Space::Parameter => {
            let divergent = if counts.replays == 0 { 0 } else { counts.instructions };
            vec![
                ("sm__idc_divergent_instruction_replays", counts.replays.into()),
                ("sm__idc_divergent_instructions", divergent.into()),
            ]
        }
    }
}
