// SPDX-License-Identifier: MIT OR Apache-2.0
//! Block barriers 0 to 15, and the cluster's one.
//!
//! From compute capability 7.0 on threads are counted, and a barrier without a count is complete
//! when every thread of the block that has not exited arrived. Below, warps are: one arriving
//! thread stands for all 32. Counts that the program gives are in whole warps, so threads that a
//! warp lacks or that have exited count as arrived with the first of it.

use margay_ir::BarKind;

use crate::fault::BarrierMisuse;

/// Barriers a block.
pub const BARRIERS: usize = 16;

/// What a barrier instruction does, from its packed form.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub kind: BarKind,
    pub cluster: bool,
    pub counted: bool,
}

const KINDS: [BarKind; 6] = [
    BarKind::Sync,
    BarKind::Arrive,
    BarKind::Wait,
    BarKind::RedPopc,
    BarKind::RedAnd,
    BarKind::RedOr,
];

/// Packs a barrier's attributes into an instruction's immediate. That threads arrive together
/// (`aligned`) is a promise that the engine does not need.
pub fn pack(kind: BarKind, cluster: bool, _aligned: bool, counted: bool) -> u64 {
    let kind = match kind {
        BarKind::Sync => 0,
        BarKind::Arrive => 1,
        BarKind::Wait => 2,
        BarKind::RedPopc => 3,
        BarKind::RedAnd => 4,
        BarKind::RedOr => 5,
    };
    kind | (cluster as u64) << 8 | (counted as u64) << 9
}

/// The inverse of [`pack`].
pub fn unpack(imm: u64) -> Shape {
    Shape {
        kind: KINDS[(imm & 7) as usize % KINDS.len()],
        cluster: imm >> 8 & 1 != 0,
        counted: imm >> 9 & 1 != 0,
    }
}

/// What a kind of barrier does.
pub trait BarKindExt {
    fn waits(self) -> bool;
    fn arrives(self) -> bool;
    fn reduces(self) -> bool;
}

impl BarKindExt for BarKind {
    fn waits(self) -> bool {
        self != BarKind::Arrive
    }
    fn arrives(self) -> bool {
        self != BarKind::Wait
    }
    fn reduces(self) -> bool {
        match self {
            BarKind::RedPopc | BarKind::RedAnd | BarKind::RedOr => true,
            BarKind::Sync | BarKind::Arrive | BarKind::Wait => false,
        }
    }
}

/// One barrier of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockBarrier {
    /// Threads (or 32 a warp) that arrived in this round.
    pub arrived: u32,
    /// Threads that the round needs; `None` is all of the block, or that no round is open.
    pub expected: Option<u32>,
    pub holds: u32,
    /// Arrived threads whose predicate was false.
    pub fails: u32,
}

impl BlockBarrier {
    /// Adds arrivals. `Err` names a misuse.
    pub fn arrive(
        &mut self,
        weight: u32,
        count: Option<u32>,
        holds: u32,
        fails: u32,
    ) -> Result<(), BarrierMisuse> {
        if let Some(n) = count {
            if n == 0 || n % 32 != 0 {
                return Err(BarrierMisuse::Count(n));
            }
            if let Some(open) = self.expected.filter(|open| self.arrived != 0 && *open != n) {
                return Err(BarrierMisuse::Counts { open, other: n });
            }
            self.expected = Some(n);
        }
        self.arrived += weight;
        self.holds += holds;
        self.fails += fails;
        Ok(())
    }

    /// Whether the round is complete, given what "all threads" means now.
    pub fn complete(&self, all: u32) -> bool {
        self.arrived != 0 && self.arrived >= self.expected.unwrap_or(all)
    }

    /// The value that a reduction gives each thread.
    pub fn result(&self, kind: BarKind) -> u32 {
        match kind {
            BarKind::RedPopc => self.holds,
            BarKind::RedAnd => (self.fails == 0) as u32,
            BarKind::RedOr => (self.holds != 0) as u32,
            BarKind::Sync | BarKind::Arrive | BarKind::Wait => 0,
        }
    }
}

/// The barrier of a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterBarrier {
    /// Completed rounds.
    pub round: u32,
    pub arrived: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_everything() {
        for kind in KINDS {
            for bits in 0..4 {
                let shape = unpack(pack(kind, bits & 1 != 0, false, bits & 2 != 0));
                assert_eq!(shape.kind, kind);
                assert_eq!((shape.cluster, shape.counted), (bits & 1 != 0, bits & 2 != 0));
            }
        }
    }

    #[test]
    fn counts_are_in_whole_warps() {
        let mut b = BlockBarrier::default();
        assert_eq!(b.arrive(32, Some(40), 0, 0), Err(BarrierMisuse::Count(40)));
        assert!(b.arrive(32, Some(64), 0, 0).is_ok());
        assert!(!b.complete(1000));
        let both = BarrierMisuse::Counts { open: 64, other: 96 };
        assert_eq!(b.arrive(32, Some(96), 0, 0), Err(both));
        assert!(b.arrive(32, Some(64), 0, 0).is_ok());
        assert!(b.complete(1000));
    }
}
