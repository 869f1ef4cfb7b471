// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many blocks of a kernel fit on one multiprocessor: the least of four limits.
//!
//! Source: the allocation rules of NVIDIA's occupancy calculator (manual); checked against what an
//! H200 answered for 680 combinations (measured).

use serde::Serialize;

use crate::caches::{SplitPreference, split_for};
use crate::capability::Limits;

/// What one block of a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchResources {
    pub threads_per_block: u32,
    /// 32-bit registers of a thread.
    pub registers_per_thread: u32,
    /// Static and dynamic shared bytes together, without what the system reserves.
    pub shared_per_block: u32,
}

/// Which resource runs out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limiter {
    Blocks,
    Warps,
    Registers,
    Shared,
}

/// Blocks of a kernel that one SM holds at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    pub blocks_per_sm: u32,
    /// Active warps of an SM.
    pub warps_per_sm: u32,
    pub limiter: Limiter,
}

/// The blocks that each resource alone would allow. `None`: the kernel takes none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BlockLimits {
    pub blocks: u32,
    pub warps: u32,
    pub registers: Option<u32>,
    pub shared: Option<u32>,
}

/// A change of one resource that changes the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub resource: Limiter,
    /// Registers of a thread, bytes of a block, or threads of a block, as they are.
    pub from: u32,
    /// The nearest value that makes a difference.
    pub to: u32,
    pub blocks_per_sm: u32,
    pub warps_per_sm: u32,
}

/// What each resource allows.
pub fn block_limits(limits: &Limits, kernel: &LaunchResources) -> BlockLimits {
    let warps = kernel.threads_per_block.div_ceil(Limits::WARP_SIZE).max(1);
    let some = |blocks: u32| (blocks != u32::MAX).then_some(blocks);
    BlockLimits {
        blocks: limits.max_blocks_per_sm.value,
        warps: limits.max_warps_per_sm.value / warps,
        registers: some(blocks_by_registers(limits, kernel.registers_per_thread, warps)),
        shared: some(blocks_by_shared(limits, kernel.shared_per_block)),
    }
}

/// The smallest savings of registers and of shared memory that let more blocks be resident, and the
/// smallest increases that let fewer: what one register or byte less would bring, and what is spare.
pub fn steps(limits: &Limits, kernel: &LaunchResources) -> Vec<Step> {
    steps_with(limits, kernel, SplitPreference::Default)
}

/// As [`steps`], under a preference of L1 over shared memory.
pub fn steps_with(
    limits: &Limits,
    kernel: &LaunchResources,
    preference: SplitPreference,
) -> Vec<Step> {
    let now = occupancy_with(limits, kernel, preference).blocks_per_sm;
    let mut steps = Vec::new();
    let mut try_values =
        |resource, from: u32, values: &mut dyn Iterator<Item = u32>, more: bool| {
            for to in values {
                let mut changed = *kernel;
                match resource {
                    Limiter::Registers => changed.registers_per_thread = to,
                    Limiter::Shared => changed.shared_per_block = to,
                    Limiter::Warps | Limiter::Blocks => changed.threads_per_block = to,
                }
                let then = occupancy_with(limits, &changed, preference);
                if more && then.blocks_per_sm > now || !more && then.blocks_per_sm < now {
                    steps.push(Step {
                        resource,
                        from,
                        to,
                        blocks_per_sm: then.blocks_per_sm,
                        warps_per_sm: then.warps_per_sm,
                    });
                    return;
                }
            }
        };
    let registers = kernel.registers_per_thread;
    let shared = kernel.shared_per_block;
    let most_registers = limits.max_registers_per_thread.value + 1;
    let most_shared = limits.shared_per_block_optin.value + 1;
    try_values(Limiter::Registers, registers, &mut (1..registers).rev(), true);
    try_values(Limiter::Registers, registers, &mut (registers + 1..=most_registers), false);
    try_values(Limiter::Shared, shared, &mut (0..shared).rev(), true);
    try_values(Limiter::Shared, shared, &mut (shared + 1..=most_shared), false);
    steps
}

/// The smallest shared memory, of the sizes that L1 leaves it, under which more blocks are resident than under a
/// preference, and as many as under any; the first figure is what the preference gives.
pub fn better_split(
    limits: &Limits,
    kernel: &LaunchResources,
    preference: SplitPreference,
) -> Option<(u32, u32, Occupancy)> {
    let now = occupancy_with(limits, kernel, preference);
    let best = occupancy(limits, kernel);
    if best.blocks_per_sm <= now.blocks_per_sm {
        return None;
    }
    let block = block_shared(limits, kernel.shared_per_block)?;
    let largest = split_for(limits, u32::MAX, SplitPreference::Default).shared;
    let from = split_for(limits, block, preference).shared;
    let to = split_for(limits, (block * best.blocks_per_sm).min(largest), SplitPreference::L1);
    Some((from, to.shared, best))
}

/// Computes occupancy, where shared memory may take all that it can have. A block that fits not even once
/// gives 0.
pub fn occupancy(limits: &Limits, kernel: &LaunchResources) -> Occupancy {
    occupancy_with(limits, kernel, SplitPreference::Default)
}

/// As [`occupancy`], under a preference of L1 over shared memory: before 7.0 that of the cache configuration, from
/// then on that of the carve-out. One block fits under any.
pub fn occupancy_with(
    limits: &Limits,
    kernel: &LaunchResources,
    preference: SplitPreference,
) -> Occupancy {
    let warps = kernel.threads_per_block.div_ceil(Limits::WARP_SIZE).max(1);
    if kernel.threads_per_block > limits.max_threads_per_block.value {
        return Occupancy { blocks_per_sm: 0, warps_per_sm: 0, limiter: Limiter::Warps };
    }
    let candidates = [
        (limits.max_blocks_per_sm.value, Limiter::Blocks),
        (limits.max_warps_per_sm.value / warps, Limiter::Warps),
        (blocks_by_registers(limits, kernel.registers_per_thread, warps), Limiter::Registers),
        (blocks_by_shared_with(limits, kernel.shared_per_block, preference), Limiter::Shared),
    ];
    let (blocks, limiter) =
        candidates.into_iter().min_by_key(|&(blocks, _)| blocks).expect("four candidates");
    Occupancy { blocks_per_sm: blocks, warps_per_sm: blocks * warps, limiter }
}

fn blocks_by_registers(limits: &Limits, per_thread: u32, warps: u32) -> u32 {
    if per_thread == 0 {
        return u32::MAX;
    }
    if per_thread > limits.max_registers_per_thread.value {
        return 0;
    }
    let unit = limits.register_unit.value;
    if limits.cc.major == 1 {
        // A block's registers are allocated together.
        let warps = warps.next_multiple_of(limits.warp_unit.value);
        let block = (warps * Limits::WARP_SIZE * per_thread).next_multiple_of(unit);
        return limits.registers_per_sm.value / block;
    }
    let warp = (per_thread * Limits::WARP_SIZE).next_multiple_of(unit);
    let per_block = warp * warps.next_multiple_of(limits.warp_unit.value);
    if per_block > limits.max_registers_per_block.value {
        return 0;
    }
    // Each of the warp_unit schedulers has its own part of the register file.
    let parts = limits.warp_unit.value;
    let warps_per_sm = limits.registers_per_sm.value / parts / warp * parts;
    warps_per_sm / warps
}

fn blocks_by_shared(limits: &Limits, bytes: u32) -> u32 {
    blocks_by_shared_with(limits, bytes, SplitPreference::Default)
}

/// What a block takes of shared memory, if anything.
fn block_shared(limits: &Limits, bytes: u32) -> Option<u32> {
    let parameters = match limits.cc.major {
        1 => limits.shared_launch_configuration.value,
        _ => 0,
    };
    let block = bytes.saturating_add(limits.shared_reserved.value + parameters);
    (block != 0).then(|| block.min(i32::MAX as u32).next_multiple_of(limits.shared_unit.value))
}

fn blocks_by_shared_with(limits: &Limits, bytes: u32, preference: SplitPreference) -> u32 {
    let Some(block) = block_shared(limits, bytes) else { return u32::MAX };
    if bytes > limits.shared_per_block_optin.value {
        return 0;
    }
    let heeded = match preference {
        SplitPreference::Default => false,
        SplitPreference::Percent(_) => limits.cc.major >= 7,
        SplitPreference::Shared | SplitPreference::L1 | SplitPreference::Equal => {
            limits.cc.major < 7
        }
    };
    let all = limits.shared_per_sm.value;
    let there = if heeded { split_for(limits, block, preference).shared.min(all) } else { all };
    there / block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComputeCapability;

    fn blocks(sm: u32, threads: u32, registers: u32, shared: u32) -> u32 {
        let limits = ComputeCapability::from_sm(sm).limits().unwrap();
        let kernel = LaunchResources {
            threads_per_block: threads,
            registers_per_thread: registers,
            shared_per_block: shared,
        };
        occupancy(limits, &kernel).blocks_per_sm
    }

    /// CUDA C++ Programming Guide, "Shared Memory" of 3.x and of 7.x: what L1 gets, shared memory lacks.
    #[test]
    fn preferences_of_l1_and_carve_outs() {
        let blocks = |sm: u32, shared: u32, preference| {
            let limits = ComputeCapability::from_sm(sm).limits().unwrap();
            let kernel = LaunchResources {
                threads_per_block: 64,
                registers_per_thread: 16,
                shared_per_block: shared,
            };
            occupancy_with(limits, &kernel, preference).blocks_per_sm
        };
        use SplitPreference::{Default, Equal, L1, Percent, Shared};
        for (sm, preference, expected) in [
            (20, Default, 6),
            (20, L1, 2),
            (35, Shared, 6),
            (35, Equal, 4),
            (35, L1, 2),
            // Before 7.0 there is no carve-out, from then on no cache configuration.
            (35, Percent(0), 6),
            (90, L1, 25),
            (90, Default, 25),
            (90, Percent(100), 25),
            (90, Percent(50), 14),
        ] {
            assert_eq!(blocks(sm, 8192, preference), expected, "sm_{sm} {preference:?}");
        }
        // One block fits all the same.
        assert_eq!(blocks(35, 40 << 10, L1), 1);
        assert_eq!(blocks(90, 100 << 10, Percent(0)), 1);
    }

    /// The worked examples of the first programming guides: 1.0 has 8 K registers, 1.2 has 16 K.
    #[test]
    fn first_generation() {
        assert_eq!(blocks(10, 256, 10, 0), 3);
        assert_eq!(blocks(10, 256, 11, 0), 2);
        assert_eq!(blocks(13, 256, 16, 0), 4);
        assert_eq!(blocks(10, 64, 10, 8192), 1);
    }

    #[test]
    fn one_register_less() {
        let limits = ComputeCapability::new(2, 0).limits().unwrap();
        let kernel = LaunchResources {
            threads_per_block: 256,
            registers_per_thread: 21,
            shared_per_block: 0,
        };
        assert_eq!(occupancy(limits, &kernel).limiter, Limiter::Registers);
        let better = steps(limits, &kernel)[0];
        assert_eq!((better.to, better.blocks_per_sm), (20, 6));
        let limits = block_limits(limits, &kernel);
        assert_eq!((limits.warps, limits.registers, limits.shared), (6, Some(5), None));
    }

    /// A subset of the recorded table; the whole of it is `tests/occupancy.rs`.
    #[test]
    fn hopper() {
        assert_eq!(blocks(90, 32, 20, 0), 32);
        assert_eq!(blocks(90, 32, 20, 8192), 25);
        assert_eq!(blocks(90, 1024, 64, 0), 1);
        assert_eq!(blocks(90, 1024, 65, 0), 0);
    }

    #[test]
    fn another_division_for_more_blocks() {
        // H200: 32 KB a block; a carve-out of 50 % is 132 KB, then 3 blocks of 33 KB with what the system takes.
        let limits = ComputeCapability::from_sm(90).limits().unwrap();
        let kernel = LaunchResources {
            threads_per_block: 256,
            registers_per_thread: 32,
            shared_per_block: 32 << 10,
        };
        let half = SplitPreference::Percent(50);
        let now = occupancy_with(limits, &kernel, half);
        let (from, to, best) = better_split(limits, &kernel, half).unwrap();
        assert_eq!((from, to), (132 << 10, 228 << 10));
        assert_eq!((now.blocks_per_sm, best.blocks_per_sm), (4, 6));
        assert_eq!(better_split(limits, &kernel, SplitPreference::Default), None);
        // Fewer registers change nothing where shared memory is short; 6,784 bytes less do.
        let steps = steps_with(limits, &kernel, half);
        let more = |s: &&Step| s.blocks_per_sm > 4;
        assert!(steps.iter().filter(more).all(|s| s.resource == Limiter::Shared), "{steps:?}");
        assert!(steps.iter().any(|s| s.blocks_per_sm == 5), "{steps:?}");
    }
}
