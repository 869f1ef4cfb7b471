// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same access again, with everything that a picture shows: which lanes meet in which bank, on which
//! words, in which pass; which lanes share which segment; which addresses are broadcast.
//!
//! Invariant: the figures are [`MemoryModel::count`]'s own; what is listed here explains them. Unlike it,
//! this allocates.

use serde::Serialize;

use crate::access::{
    BankMode, Counts, Generation, Kind, MemoryModel, Rule, Space, WarpAccess, group, lanes,
};
use crate::coalesce::{Transaction, each_transaction, requests};
use crate::mnemonics::{Machine, machine};
use crate::{atomics, banks, coalesce, constant, local};

/// Lanes as a list, for JSON and texts.
pub type Lanes = Vec<u8>;

fn list(mask: u32) -> Lanes {
    lanes(mask).map(|lane| lane as u8).collect()
}

/// Lanes at one word of a bank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Word {
    /// Byte address of the word.
    pub address: u64,
    pub lanes: Lanes,
}

/// A bank in one request, with its words in the order of their lowest lanes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bank {
    pub bank: u8,
    pub words: Vec<Word>,
    /// Passes that the request needs for this bank.
    pub passes: u32,
}

/// Lanes that go to the banks together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BankRequest {
    pub lanes: Lanes,
    /// Banks that are touched, by number.
    pub banks: Vec<Bank>,
}

impl BankRequest {
    /// Banks that need more than one pass: the conflicts.
    pub fn collisions(&self) -> impl Iterator<Item = &Bank> {
        self.banks.iter().filter(|bank| bank.passes > 1)
    }
}

/// A transaction and its lanes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    pub address: u64,
    pub bytes: u32,
    pub lanes: Lanes,
    /// Bytes of it that some lane asks for.
    pub bytes_used: u32,
}

/// Lanes at one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    pub address: u64,
    pub lanes: Lanes,
}

/// Everything about one access.
#[derive(Clone, Debug, Serialize)]
pub struct Detail {
    pub counts: Counts,
    pub bank_conflicts: u32,
    pub machine: Machine,
    pub rule: Rule,
    /// Shared memory: the requests, in order.
    pub bank_requests: Vec<BankRequest>,
    /// Global and local memory: the transactions, in order.
    pub segments: Vec<Segment>,
    /// Constant memory and atomics: the distinct addresses, in the order of their lowest lanes.
    pub places: Vec<Place>,
}

impl MemoryModel {
    /// What the access does, in full.
    pub fn detail(&self, access: &WarpAccess<'_>) -> Detail {
        let counts = self.count(access);
        let on_banks = access.space == Space::Shared
            || access.space == Space::Parameter && self.generation.is_tesla();
        let atomic = matches!(access.kind, Kind::Atomic(_) | Kind::Reduction(_));
        let constant = matches!(access.space, Space::Constant | Space::Parameter) && !on_banks;
        Detail {
            bank_conflicts: counts.bank_conflicts(),
            counts,
            machine: machine(self, access.space, access.kind, access.width, access.cache),
            rule: self.rule(access),
            bank_requests: if on_banks { bank_requests(self, access) } else { Vec::new() },
            segments: match access.space {
                Space::Global => segments(self, access),
                Space::Local => local_segments(self, access),
                Space::Shared | Space::Constant | Space::Parameter => Vec::new(),
            },
            places: if atomic || constant { places(access) } else { Vec::new() },
        }
    }

    /// The rule that [`MemoryModel::count`] applies, with its source.
    pub fn rule(&self, access: &WarpAccess<'_>) -> Rule {
        match (access.space, access.kind) {
            (Space::Shared, Kind::Load | Kind::Store) => banks::rule(self, access.width),
            (Space::Shared, kind) => atomics::shared_rule(self, kind, access.width),
            (Space::Global, Kind::Load | Kind::Store) => coalesce::rule(self, access),
            (Space::Global, _) => atomics::global_rule(self),
            (Space::Local, _) => local::rule(self),
            (Space::Parameter, _) if self.generation.is_tesla() => banks::rule(self, access.width),
            (Space::Constant | Space::Parameter, _) => constant::rule(self),
        }
    }
}

/// Lanes of each request to the banks, and the 32-bit words of an access that it carries.
fn bank_groups(model: &MemoryModel, access: &WarpAccess<'_>) -> Vec<(u32, std::ops::Range<u64>)> {
    let words = u64::from(access.width.div_ceil(4));
    let groups = |size: u32| (0..32 / size).map(move |i| group(size, i));
    let atomic = matches!(access.kind, Kind::Atomic(_) | Kind::Reduction(_));
    match model.generation {
        Generation::Tesla10 | Generation::Tesla12 => (0..words)
            .flat_map(|word| groups(16).map(move |lanes| (lanes, word..word + 1)))
            .collect(),
        Generation::Fermi if access.width == 8 => groups(16).map(|l| (l, 0..words)).collect(),
        Generation::Fermi if access.width == 16 => groups(8).map(|l| (l, 0..words)).collect(),
        Generation::Fermi => vec![(u32::MAX, 0..words)],
        Generation::Kepler if access.width == 16 => groups(16).map(|l| (l, 0..words)).collect(),
        Generation::Kepler => vec![(u32::MAX, 0..words)],
        Generation::Maxwell | Generation::Pascal | Generation::Volta => {
            let merged = !atomic && banks::merges(access);
            let size = 32 / (access.width.clamp(4, 16) / 4) * if merged { 2 } else { 1 };
            groups(size).map(|l| (l, 0..words)).collect()
        }
    }
}

fn bank_requests(model: &MemoryModel, access: &WarpAccess<'_>) -> Vec<BankRequest> {
    let atomic = matches!(access.kind, Kind::Atomic(_) | Kind::Reduction(_));
    let mut requests = Vec::new();
    for (mask, words) in bank_groups(model, access) {
        let mask = mask & access.mask;
        if mask == 0 {
            continue;
        }
        let mut banks: Vec<Bank> = Vec::new();
        for lane in lanes(mask) {
            let first = access.addresses[lane] / 4;
            for word in words.clone() {
                add_word(model, &mut banks, first + word, lane as u8);
            }
        }
        banks.sort_by_key(|bank| bank.bank);
        for bank in &mut banks {
            bank.passes = match (model.generation, atomic) {
                (_, true) => bank.words.iter().map(|w| w.lanes.len() as u32).sum(),
                // Words that lie side by side in a 64-bit bank are read together.
                (Generation::Kepler, false) => {
                    let mut rows: Vec<u64> =
                        bank.words.iter().map(|w| kepler_row(model.bank_mode, w.address)).collect();
                    rows.sort_unstable();
                    rows.dedup();
                    rows.len() as u32
                }
                (
                    Generation::Tesla10
                    | Generation::Tesla12
                    | Generation::Fermi
                    | Generation::Maxwell
                    | Generation::Pascal
                    | Generation::Volta,
                    false,
                ) => bank.words.len() as u32,
            };
        }
        requests.push(BankRequest { lanes: list(mask), banks });
    }
    requests
}

fn kepler_row(mode: BankMode, address: u64) -> u64 {
    match mode {
        BankMode::FourByte => address / 4 / 64,
        BankMode::EightByte => address / 8,
    }
}

fn add_word(model: &MemoryModel, banks: &mut Vec<Bank>, word: u64, lane: u8) {
    let number = match (model.generation, model.bank_mode) {
        (Generation::Tesla10 | Generation::Tesla12, _) => word % 16,
        (Generation::Kepler, BankMode::EightByte) => word / 2 % 32,
        (_, _) => word % 32,
    } as u8;
    let at = banks.iter().position(|b| b.bank == number).unwrap_or_else(|| {
        banks.push(Bank { bank: number, words: Vec::new(), passes: 0 });
        banks.len() - 1
    });
    let words = &mut banks[at].words;
    match words.iter_mut().find(|w| w.address == word * 4) {
        Some(known) => known.lanes.push(lane),
        None => words.push(Word { address: word * 4, lanes: vec![lane] }),
    }
}

fn segments(model: &MemoryModel, access: &WarpAccess<'_>) -> Vec<Segment> {
    let mut found = Vec::new();
    let atomic = matches!(access.kind, Kind::Atomic(_) | Kind::Reduction(_));
    if atomic {
        // One list for each turn.
        let mut turns: Vec<u32> = Vec::new();
        for (lane, turn) in atomics::occurrences(access) {
            if turns.len() <= turn as usize {
                turns.push(0);
            }
            turns[turn as usize] |= 1 << lane;
        }
        for mask in turns {
            coalesce::aligned(access, mask, 32, &mut |t| found.push(segment(access, t)));
        }
        return found;
    }
    for mask in requests(model, access) {
        each_transaction(model, access, mask, |t| found.push(segment(access, t)));
    }
    found
}

fn segment(access: &WarpAccess<'_>, transaction: Transaction) -> Segment {
    let mut used = 0u128;
    for lane in lanes(transaction.lanes) {
        let from = access.addresses[lane].saturating_sub(transaction.address).min(127);
        let bytes = u64::from(access.width).min(128 - from);
        used |= (u128::MAX >> (128 - bytes)) << from;
    }
    Segment {
        address: transaction.address,
        bytes: transaction.bytes,
        lanes: list(transaction.lanes),
        bytes_used: used.count_ones(),
    }
}

/// Local memory, after interleaving; addresses are offsets in the warp's window.
fn local_segments(model: &MemoryModel, access: &WarpAccess<'_>) -> Vec<Segment> {
    let mut all = Vec::new();
    for word in 0..access.width.div_ceil(4) {
        let addresses = local::addresses(access, word);
        all.extend(segments(model, &local::as_global(access, &addresses)));
    }
    all
}

fn places(access: &WarpAccess<'_>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for lane in lanes(access.mask) {
        let address = access.addresses[lane];
        match places.iter_mut().find(|p| p.address == address) {
            Some(place) => place.lanes.push(lane as u8),
            None => places.push(Place { address, lanes: vec![lane as u8] }),
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomicOp, CacheOperator, ComputeCapability};

    fn detail(
        sm: u32,
        space: Space,
        kind: Kind,
        width: u32,
        address: impl Fn(u64) -> u64,
    ) -> Detail {
        let limits = ComputeCapability::from_sm(sm).limits().unwrap();
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        MemoryModel::new(limits).detail(&WarpAccess {
            space,
            kind,
            width,
            mask: u32::MAX,
            addresses: &addresses,
            cache: CacheOperator::Default,
        })
    }

    /// For loads and stores from 2.0 on, the deepest bank of each request adds up to the count.
    #[test]
    fn pictures_agree_with_counts() {
        for limits in crate::gpu::ALL {
            let sm = limits.cc.sm();
            for width in [1, 2, 4, 8, 16] {
                for stride in [0, 1, 2, 3, 7, 8, 16, 32, 33] {
                    let pattern = |lane: u64| lane * stride * u64::from(width);
                    let shared = detail(sm, Space::Shared, Kind::Load, width, pattern);
                    let drawn: u32 = (shared.bank_requests.iter())
                        .map(|r| r.banks.iter().map(|b| b.passes).max().unwrap())
                        .sum();
                    // 1.x has its own steps; 2.x adds one for 128 bits.
                    if sm >= 20 && !(sm < 30 && width == 16) {
                        assert_eq!(drawn, shared.counts.wavefronts, "sm_{sm} {width} {stride}");
                    }
                    let global = detail(sm, Space::Global, Kind::Load, width, pattern);
                    assert_eq!(global.segments.len() as u32, global.counts.transactions);
                    let bytes: u32 = global.segments.iter().map(|s| s.bytes).sum();
                    assert_eq!(bytes, global.counts.bytes_moved, "sm_{sm} {width} {stride}");
                    if sm >= 20 {
                        let local = detail(sm, Space::Local, Kind::Load, width, |_| stride * 16);
                        assert_eq!(local.segments.len() as u32, local.counts.transactions);
                    }
                }
            }
        }
    }

    #[test]
    fn names_what_collides() {
        let column = detail(90, Space::Shared, Kind::Load, 4, |lane| lane * 128);
        let bank = column.bank_requests[0].collisions().next().unwrap();
        assert_eq!((bank.bank, bank.passes, bank.words.len()), (0, 32, 32));
        assert_eq!(bank.words[3], Word { address: 384, lanes: vec![3] });
        let kind = Kind::Atomic(AtomicOp::Add);
        let counter = detail(90, Space::Global, kind, 4, |lane| lane % 2 * 4);
        assert_eq!(counter.places.len(), 2);
        assert_eq!(counter.segments.len(), 16);
        assert_eq!(counter.counts.transactions, 16);
    }
}
