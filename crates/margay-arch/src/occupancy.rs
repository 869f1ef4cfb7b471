// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many blocks of a kernel fit on one multiprocessor: the least of four limits.
//!
//! Source: the allocation rules of NVIDIA's occupancy calculator (manual); checked against what an
//! H200 answered for 680 combinations (measured).

use serde::Serialize;

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

/// Computes occupancy. A block that fits not even once gives 0.
pub fn occupancy(limits: &Limits, kernel: &LaunchResources) -> Occupancy {
    let warps = kernel.threads_per_block.div_ceil(Limits::WARP_SIZE).max(1);
    let candidates = [
        (limits.max_blocks_per_sm.value, Limiter::Blocks),
        (limits.max_warps_per_sm.value / warps, Limiter::Warps),
        (blocks_by_registers(limits, kernel.registers_per_thread, warps), Limiter::Registers),
        (blocks_by_shared(limits, kernel.shared_per_block), Limiter::Shared),
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
    let parameters = match limits.cc.major {
        1 => limits.shared_launch_configuration.value,
        _ => 0,
    };
    let block = bytes + limits.shared_reserved.value + parameters;
    if block == 0 {
        return u32::MAX;
    }
    if bytes > limits.shared_per_block_optin.value {
        return 0;
    }
    limits.shared_per_sm.value / block.next_multiple_of(limits.shared_unit.value)
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

    /// The worked examples of the first programming guides: 1.0 has 8 K registers, 1.2 has 16 K.
    #[test]
    fn first_generation() {
        assert_eq!(blocks(10, 256, 10, 0), 3);
        assert_eq!(blocks(10, 256, 11, 0), 2);
        assert_eq!(blocks(13, 256, 16, 0), 4);
        assert_eq!(blocks(10, 64, 10, 8192), 1);
    }

    /// A subset of the recorded table; the whole of it is `tests/occupancy.rs`.
    #[test]
    fn hopper() {
        assert_eq!(blocks(90, 32, 20, 0), 32);
        assert_eq!(blocks(90, 32, 20, 8192), 25);
        assert_eq!(blocks(90, 1024, 64, 0), 1);
        assert_eq!(blocks(90, 1024, 65, 0), 0);
    }
}
