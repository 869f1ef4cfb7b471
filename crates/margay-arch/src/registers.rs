// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers: how values take them, what caps them, and what a cap costs in local memory.

use serde::Serialize;

use crate::capability::Limits;
use crate::occupancy::{LaunchResources, occupancy};

/// Values that are alive at once, by width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveValues {
    /// 32 bits and less: one register each.
    pub words: u32,
    /// 64 bits: an aligned pair each.
    pub pairs: u32,
    /// 128-bit vectors of one load or store: an aligned quad each.
    pub quads: u32,
}

impl LiveValues {
    /// Registers that hold them all, quads first, then pairs, so that alignment leaves no gap before the
    /// end.
    pub fn registers(self) -> u32 {
        4 * self.quads + 2 * self.pairs + self.words
    }
}

/// The most registers that a thread may have so that `blocks` blocks of `threads` are resident: what
/// `__launch_bounds__(threads, blocks)` tells the compiler. 0 if no number does it.
pub fn launch_bound(limits: &Limits, threads: u32, blocks: u32) -> u32 {
    let fits = |registers: &u32| {
        let kernel = LaunchResources {
            threads_per_block: threads,
            registers_per_thread: *registers,
            shared_per_block: 0,
        };
        occupancy(limits, &kernel).blocks_per_sm >= blocks
    };
    (1..=limits.max_registers_per_thread.value).rev().find(fits).unwrap_or(0)
}

/// What is left of a kernel's registers under a cap, and the local memory that it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spills {
    pub registers_per_thread: u32,
    /// Registers whose values go to local memory.
    pub spilled: u32,
    /// Bytes of each thread's local memory.
    pub local_bytes: u32,
    /// Sectors that a warp moves if every spilled value is stored once and loaded once: the least.
    pub sectors_per_warp: u32,
}

/// Spills under `-maxrregcount` or launch bounds. A full warp's spill of one register is four sectors, as
/// local memory interleaves. The count is a lower bound: a value that is used in a loop is loaded in
/// every turn.
pub fn spills(registers: u32, cap: u32) -> Spills {
    let spilled = registers.saturating_sub(cap);
    Spills {
        registers_per_thread: registers.min(cap),
        spilled,
        local_bytes: 4 * spilled,
        sectors_per_warp: 2 * 4 * spilled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComputeCapability;

    /// Guide, 5.2.3 Multiprocessor Level: 16 registers and 512 threads on 1.2 and 1.3 keep two blocks
    /// resident, 17 only one.
    #[test]
    fn the_guide_s_threshold() {
        let limits = ComputeCapability::new(1, 3).limits().unwrap();
        assert_eq!(launch_bound(limits, 512, 2), 16);
        assert_eq!(launch_bound(limits, 512, 1), 32);
        assert_eq!(launch_bound(limits, 512, 3), 0);
    }

    #[test]
    fn a_cap() {
        assert_eq!(spills(40, 64).spilled, 0);
        let capped = spills(40, 32);
        assert_eq!((capped.registers_per_thread, capped.local_bytes), (32, 32));
        assert_eq!(capped.sectors_per_warp, 64);
        assert_eq!(LiveValues { words: 3, pairs: 2, quads: 1 }.registers(), 11);
    }
}
