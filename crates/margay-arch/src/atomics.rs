// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomics and reductions on global and shared memory.
//!
//! Limit: which lane wins a round is the model's choice (the lowest). A lane whose 64-bit `min` or `max` would
//! leave the word as it is leaves the loop after its load; addresses alone do not tell which those are, and the
//! loop is counted as if every lane stored.

use serde::Serialize;

use crate::access::{
    AtomicOp, Counts, Distinct, Generation, Kind, MemoryModel, Rule, WarpAccess, distinct, group,
    lanes,
};
use crate::banks;
use crate::capability::ComputeCapability;
use crate::coalesce;
use crate::figure::Source;

/// The operation of an atomic access.
fn op_of(kind: Kind) -> AtomicOp {
    match kind {
        Kind::Atomic(op) | Kind::Reduction(op) => op,
        // Callers pass atomics only; an exchange is the plainest of them.
        Kind::Load | Kind::Store => AtomicOp::Exchange,
    }
}

/// Global memory: the lanes at one address take turns; a turn moves each 32-byte sector that it touches
/// once. What else ends a turn is [`turns_by_tag_bank`]'s.
pub(crate) fn count_global(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    let places = distinct(access.mask, access.addresses, 0);
    let sectors = if model.generation >= Generation::Volta {
        turns_by_tag_bank(access)
    } else {
        let mut sectors = Distinct::new();
        for (lane, turn) in occurrences(access) {
            sectors.insert(access.addresses[lane] >> 5 << 5 | u64::from(turn));
        }
        sectors.len()
    };
    Counts {
        instructions: 1,
        requests: coalesce::requests(model, access).count() as u32,
        transactions: sectors,
        sectors,
        sectors_ideal: (places * access.width).div_ceil(32).min(sectors),
        bytes_moved: 32 * sectors,
        ..Counts::default()
    }
}

/// The address bits from 7 on that choose a line's tag bank: each mask's parity is one bit of its number.
/// Found from what an H200 counted for lines of 128 KB; higher bits are unknown and taken to play no part.
const TAG_BANK: [u64; 2] = [0x16f, 0x2b5];

fn tag_bank(line: u64) -> usize {
    let bit = |mask: u64| ((line & mask).count_ones() & 1) as usize;
    bit(TAG_BANK[0]) << 1 | bit(TAG_BANK[1])
}

/// Sectors moved, each once in every turn that touches it.
///
/// A turn takes one 128-byte line from each of four tag banks: that of the bank's lowest waiting lane. Within a
/// bank each word of a line has one port, and the lowest waiting lane of the bank that wants it holds it, also
/// if its own line is not the turn's: so a lane of the right line waits behind a lower one at the same offset
/// of another line, and a sector that two lanes share is then moved twice.
///
/// Exact in 2,387 of 2,388 recorded atomics of an H200; the other is a 64-bit compare-and-swap.
fn turns_by_tag_bank(access: &WarpAccess<'_>) -> u32 {
    let mut waiting = [0u32; 4];
    for lane in lanes(access.mask) {
        waiting[tag_bank(access.addresses[lane] >> 7)] |= 1 << lane;
    }
    let words = (1u64 << access.width.div_ceil(4).clamp(1, 32)) - 1;
    let mut moved = 0;
    for mut waiting in waiting {
        while waiting != 0 {
            let line = access.addresses[waiting.trailing_zeros() as usize] >> 7;
            let (mut held, mut served, mut sectors) = (0u64, 0u32, 0u32);
            for lane in lanes(waiting) {
                let address = access.addresses[lane];
                let wanted = words << (address >> 2 & 31);
                if held & wanted == 0 && address >> 7 == line {
                    served |= 1 << lane;
                    sectors |= 1 << (address >> 5 & 3);
                }
                held |= wanted;
            }
            moved += sectors.count_ones();
            waiting &= !served;
        }
    }
    moved
}

/// Each active lane with the number of lower lanes at its address.
pub(crate) fn occurrences<'a>(
    access: &'a WarpAccess<'_>,
) -> impl Iterator<Item = (usize, u8)> + 'a {
    let mut places = [(0u64, 0u8); 32];
    let mut len = 0;
    lanes(access.mask).map(move |lane| {
        let address = access.addresses[lane];
        match places[..len].iter_mut().find(|p| p.0 == address) {
            Some(place) => {
                place.1 += 1;
                (lane, place.1)
            }
            None => {
                places[len] = (address, 0);
                len += 1;
                (lane, 0)
            }
        }
    })
}

/// How a capability carries out an atomic on shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedAtomic {
    /// A load that locks and a store that unlocks, until every lane has had its lock.
    LockLoop,
    /// A load and a compare-and-swap, until every lane has succeeded.
    CompareSwapLoop,
    /// One instruction; the lanes of a bank take turns.
    Native,
    /// `ATOMS.CAS`: native, two passes a turn.
    NativeCompareSwap,
    /// `ATOMS.POPC.INC`: native, the lanes at one word go together.
    NativeCount,
}

/// The way for an operation of `width` bytes.
pub fn shared_way(generation: Generation, kind: Kind, width: u32) -> SharedAtomic {
    if generation < Generation::Maxwell {
        return SharedAtomic::LockLoop;
    }
    let wide = width > 4;
    match op_of(kind) {
        AtomicOp::CompareSwap => SharedAtomic::NativeCompareSwap,
        AtomicOp::Exchange => SharedAtomic::Native,
        AtomicOp::AddFloat => SharedAtomic::CompareSwapLoop,
        AtomicOp::AddOne if !wide && matches!(kind, Kind::Reduction(_)) => {
            SharedAtomic::NativeCount
        }
        AtomicOp::Add
        | AtomicOp::AddOne
        | AtomicOp::Min
        | AtomicOp::Max
        | AtomicOp::Inc
        | AtomicOp::Dec
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor => match wide {
            true => SharedAtomic::CompareSwapLoop,
            false => SharedAtomic::Native,
        },
    }
}

/// Shared memory.
pub(crate) fn count_shared(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    match shared_way(model.generation, access.kind, access.width) {
        SharedAtomic::LockLoop => lock_loop(model, access),
        SharedAtomic::CompareSwapLoop => compare_swap_loop(model, access),
        SharedAtomic::Native => native(access, 1),
        SharedAtomic::NativeCompareSwap => native(access, 2),
        SharedAtomic::NativeCount => {
            let counts = banks::count(model, &WarpAccess { kind: Kind::Store, ..*access });
            Counts { instructions: 1, ..counts }
        }
    }
}

fn in_rounds(instructions: u32, wavefronts: u32, sass: u32, ideal: u32) -> Counts {
    Counts {
        instructions,
        requests: instructions,
        wavefronts,
        wavefronts_sass: sass,
        wavefronts_least: wavefronts,
        wavefronts_most: wavefronts,
        wavefronts_ideal: ideal.min(wavefronts),
        ..Counts::default()
    }
}

/// Groups in which a warp's atomics of this width go: the halves for 64 bits.
fn groups(width: u32) -> u32 {
    if width > 4 { 2 } else { 1 }
}

/// Bank of an address when banks are seen in units of the access's width.
fn column(width: u32, address: u64) -> usize {
    let shift = width.clamp(4, 8).trailing_zeros();
    (address >> shift & (127 >> shift)) as usize
}

/// The most lanes in one bank, equal words too, for each group.
fn native(access: &WarpAccess<'_>, passes: u32) -> Counts {
    let (mut wavefronts, mut ideal) = (0, 0);
    for index in 0..groups(access.width) {
        let mut by_bank = [0u8; 32];
        for lane in lanes(access.mask & group(32 / groups(access.width), index)) {
            by_bank[column(access.width, access.addresses[lane])] += 1;
        }
        let most: u32 = by_bank.into_iter().max().unwrap_or(0).into();
        wavefronts += passes * most;
        ideal += passes * most.min(1);
    }
    in_rounds(1, wavefronts, wavefronts, ideal)
}

/// Each round loads for all waiting lanes; then in each group one lane a bank swaps, and fails if an
/// earlier group has changed the word in this round. Two passes for each group with waiting lanes.
fn compare_swap_loop(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    let groups = groups(access.width);
    let (mut rounds, mut loads, mut swaps) = (0, 0, 0);
    let mut waiting = access.mask;
    while waiting != 0 {
        rounds += 1;
        let load = WarpAccess { kind: Kind::Load, mask: waiting, ..*access };
        loads += banks::passes(model, &load).0;
        let mut changed = Distinct::new();
        let mut served = 0;
        for index in 0..groups {
            let members = waiting & group(32 / groups, index);
            if members == 0 {
                continue;
            }
            swaps += 2;
            let mut taken = 0u32;
            for lane in lanes(members) {
                let bank = 1 << column(access.width, access.addresses[lane]);
                if taken & bank == 0 {
                    taken |= bank;
                    if changed.insert(access.addresses[lane]) {
                        served |= 1 << lane;
                    }
                }
            }
        }
        waiting &= !served;
    }
    let present = (0..groups).filter(|&i| access.mask & group(32 / groups, i) != 0).count() as u32;
    in_rounds(rounds, loads + swaps, swaps, 3 * present)
}

/// 1.2 to 3.x: load and lock, compute, store and unlock, again for those that found it locked. There
/// are 256 locks, chosen by address bits 2 to 9, so words 1 KB apart contend.
fn lock_loop(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    let (mut rounds, mut wavefronts, mut ideal) = (0, 0, 0);
    let mut waiting = access.mask;
    while waiting != 0 {
        let mut held = [0u64; 4];
        let mut served = 0u32;
        for lane in lanes(waiting) {
            let lock = lock_index(access.addresses[lane]) as usize;
            if held[lock / 64] >> (lock % 64) & 1 == 0 {
                held[lock / 64] |= 1 << (lock % 64);
                served |= 1 << lane;
            }
        }
        let pass = |kind, mask| banks::passes(model, &WarpAccess { kind, mask, ..*access });
        let (load, store) = (pass(Kind::Load, waiting), pass(Kind::Store, served));
        wavefronts += load.0 + store.0;
        if rounds == 0 {
            ideal = load.1 + store.1;
        }
        rounds += 1;
        waiting &= !served;
    }
    in_rounds(2 * rounds, wavefronts, wavefronts, ideal)
}

/// The lock that guards a shared address on 1.2 to 3.x.
pub fn lock_index(address: u64) -> u32 {
    (address >> 2 & 255) as u32
}

/// From which capability on an atomic exists in hardware at all; below it the compiler refuses it.
///
/// CUDA C++ Programming Guide, "Compute Capabilities" (feature table) and "Atomic Functions".
pub fn available(cc: ComputeCapability, shared: bool, op: AtomicOp, width: u32) -> bool {
    let least = match (shared, op, width) {
        (_, AtomicOp::AddFloat, 8) => (6, 0),
        (_, AtomicOp::AddFloat, 2) => (7, 0),
        (_, AtomicOp::AddFloat, _) => (2, 0),
        (_, AtomicOp::CompareSwap, 2) => (7, 0),
        (_, AtomicOp::CompareSwap | AtomicOp::Exchange, 16) => (9, 0),
        (false, _, 4) => (1, 1),
        (true, _, 4) => (1, 2),
        (_, AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor, 8) => {
            (3, 5)
        }
        (
            false,
            AtomicOp::Add | AtomicOp::AddOne | AtomicOp::Exchange | AtomicOp::CompareSwap,
            8,
        ) => (1, 2),
        (
            true,
            AtomicOp::Add | AtomicOp::AddOne | AtomicOp::Exchange | AtomicOp::CompareSwap,
            8,
        ) => (2, 0),
        // No such PTX: inc and dec are 32 bits wide, everything is at most 16 bytes.
        _ => return false,
    };
    (cc.major, cc.minor) >= least
}

/// The first capability that has an atomic which this one lacks; none if it has it, or no such atomic is known.
pub fn first_with(
    cc: ComputeCapability,
    shared: bool,
    op: AtomicOp,
    width: u32,
) -> Option<ComputeCapability> {
    if available(cc, shared, op, width) {
        return None;
    }
    crate::gpu::ALL.iter().map(|l| l.cc).find(|&other| available(other, shared, op, width))
}

/// The rule for an atomic on shared memory, with its source.
pub fn shared_rule(model: &MemoryModel, kind: Kind, width: u32) -> Rule {
    let measured = model.cc.sm() == 90;
    let source = if measured { Source::Measured } else { Source::Inferred };
    let place = if measured {
        "NVIDIA H200, counters of Nsight Compute"
    } else {
        "as an NVIDIA H200 does it; the machine code is alike from 5.0 on"
    };
    match shared_way(model.generation, kind, width) {
        SharedAtomic::LockLoop => Rule {
            source: Source::Inferred,
            place: "disassembly and measurements in the literature (256 locks, address bits 2 to 9)",
            text: "load and lock, compute, store and unlock, again for the lanes that found their lock held",
        },
        SharedAtomic::CompareSwapLoop => Rule {
            source,
            place,
            text: "a loop: load, then compare-and-swap, one lane for each bank of each half-warp a round",
        },
        SharedAtomic::Native => {
            Rule { source, place, text: "the most lanes in one bank; lanes at one word take turns" }
        }
        SharedAtomic::NativeCompareSwap => Rule {
            source,
            place,
            text: "twice the most lanes in one bank; lanes at one word take turns",
        },
        SharedAtomic::NativeCount => Rule {
            source,
            place,
            text: "the most different words of one bank; the lanes at one word are counted and added at once",
        },
    }
}

/// The rule for an atomic on global memory, with its source.
pub fn global_rule(model: &MemoryModel) -> Rule {
    let measured = model.cc.sm() == 90;
    Rule {
        source: if measured { Source::Measured } else { Source::Inferred },
        place: if measured {
            "NVIDIA H200, counters of Nsight Compute"
        } else {
            "as an NVIDIA H200 does it"
        },
        text: if model.generation >= Generation::Volta {
            "lanes at one address take turns; a turn takes a line from each of four tag banks, and moves each \
             32-byte sector that it touches once"
        } else {
            "lanes at one address take turns; a turn moves each 32-byte sector that it touches once"
        },
    }
}
