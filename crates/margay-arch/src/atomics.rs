// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomics and reductions on global and shared memory.

use crate::access::{AtomicOp, Counts, Distinct, Generation, Kind, MemoryModel, WarpAccess, lanes};

/// Global memory: the lanes at one address take turns. In turn k those lanes go that are the k-th at
/// their address; a turn moves each 32-byte sector that it touches once.
pub(crate) fn count_global(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    let mut turns = [0u8; 32];
    let mut sectors = Distinct::new();
    let mut places = Distinct::new();
    for (lane, turn) in occurrences(access) {
        turns[lane] = turn;
        sectors.insert(access.addresses[lane] >> 5 << 5 | u64::from(turn));
        places.insert(access.addresses[lane]);
    }
    let sectors = sectors.len();
    Counts {
        instructions: 1,
        requests: coalesce_requests(model, access),
        transactions: sectors,
        sectors,
        sectors_ideal: (places.len() * access.width).div_ceil(32),
        bytes_moved: 32 * sectors,
        ..Counts::default()
    }
}

fn coalesce_requests(model: &MemoryModel, access: &WarpAccess<'_>) -> u32 {
    crate::coalesce::requests(model, access).count() as u32
}

/// Each active lane with the number of lower lanes at its address.
fn occurrences<'a>(access: &'a WarpAccess<'_>) -> impl Iterator<Item = (usize, u8)> + 'a {
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

/// Whether shared memory has the atomic in hardware; if not, it is a loop of compare-and-swap.
pub fn native_on_shared(op: AtomicOp, width: u32) -> bool {
    match op {
        AtomicOp::Exchange | AtomicOp::CompareSwap => true,
        AtomicOp::AddFloat => false,
        AtomicOp::Add
        | AtomicOp::Min
        | AtomicOp::Max
        | AtomicOp::Inc
        | AtomicOp::Dec
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor => width == 4,
    }
}

/// Shared memory.
pub(crate) fn count_shared(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    match model.generation {
        Generation::Tesla10 | Generation::Tesla12 | Generation::Fermi | Generation::Kepler => {
            lock_loop(model, access)
        }
        Generation::Maxwell | Generation::Pascal | Generation::Volta => native(access),
    }
}

fn op_of(kind: Kind) -> AtomicOp {
    match kind {
        Kind::Atomic(op) | Kind::Reduction(op) => op,
        Kind::Load | Kind::Store => AtomicOp::Exchange,
    }
}

/// 5.x on: the most lanes in one bank, equal words too.
fn native(access: &WarpAccess<'_>) -> Counts {
    let mut by_bank = [0u8; 32];
    for lane in lanes(access.mask) {
        by_bank[(access.addresses[lane] / 4 % 32) as usize] += 1;
    }
    let mut wavefronts: u32 = by_bank.into_iter().max().unwrap_or(0).into();
    let mut instructions = 1;
    if !native_on_shared(op_of(access.kind), access.width) {
        instructions = rounds(access);
        wavefronts = 3 * instructions;
    }
    Counts {
        instructions,
        requests: instructions,
        wavefronts,
        wavefronts_least: wavefronts,
        wavefronts_most: wavefronts,
        wavefronts_ideal: 1,
        ..Counts::default()
    }
}

/// The most lanes at one address.
fn rounds(access: &WarpAccess<'_>) -> u32 {
    occurrences(access).map(|(_, turn)| u32::from(turn) + 1).max().unwrap_or(0)
}

/// 1.2 to 3.x: load and lock, compute, store and unlock, again for those that found it locked. There
/// are 256 locks, chosen by address bits 2 to 9.
fn lock_loop(_model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    let mut by_lock = [0u8; 256];
    for lane in lanes(access.mask) {
        by_lock[(access.addresses[lane] >> 2 & 255) as usize] += 1;
    }
    let rounds: u32 = by_lock.into_iter().max().unwrap_or(0).into();
    Counts {
        instructions: 2 * rounds,
        requests: 2 * rounds,
        wavefronts: 2 * rounds,
        wavefronts_least: 2 * rounds,
        wavefronts_most: 2 * rounds,
        wavefronts_ideal: 2,
        ..Counts::default()
    }
}
