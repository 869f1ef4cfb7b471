// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory: which lanes of a load or store wait for each other at a bank.
//!
//! Invariant: `wavefronts_least <= wavefronts <= wavefronts_most`, equal from 2.0 on.

use crate::access::{
    BankMode, Counts, Generation, Kind, MemoryModel, Rule, WarpAccess, group, lanes, turns,
};
use crate::figure::Source;
use crate::firsts::{deepest_of, places_of};

/// A load or store.
pub(crate) fn count(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    match model.generation {
        Generation::Tesla10 | Generation::Tesla12 => tesla(access),
        Generation::Fermi => fermi(access),
        Generation::Kepler => kepler(model.bank_mode, access),
        Generation::Maxwell | Generation::Pascal | Generation::Volta => maxwell(access),
    }
}

fn exact(requests: u32, wavefronts: u32, ideal: u32) -> Counts {
    Counts {
        instructions: 1,
        requests,
        wavefronts,
        wavefronts_sass: wavefronts,
        wavefronts_least: wavefronts,
        wavefronts_most: wavefronts,
        wavefronts_ideal: ideal.min(wavefronts),
        ..Counts::default()
    }
}

/// The most distinct aligned units of `unit` bytes in one of the `128 / unit` columns of the banks.
/// A unit is at least a word; as accesses are aligned, a unit's words conflict together or not at all.
pub(crate) fn deepest(addresses: &[u64; 32], mask: u32, unit: u32) -> u32 {
    let (shift, columns) = (unit.trailing_zeros(), 128 / unit);
    // Of two units in one column that are neighbours there one is even and one is odd: told apart by that, all lanes' mostly
    // differ, and none has three. So it is where lanes are as far apart as two elements, or half a row.
    let places = places_of(mask, addresses, shift, 2 * columns);
    if places.count_ones() == mask.count_ones() {
        let twice = places & places >> columns;
        return if mask == 0 { 0 } else { 1 + u32::from(twice != 0) };
    }
    deepest_of(mask, addresses, shift, columns)
}

/// 5.x on. 64 bits go as two half-warps, 128 bits as four quarter-warps; in loads by lanes that agree in
/// pairs ([`paired`]), neighbouring groups go as one.
///
/// The profiler's counter of the machine instruction, unlike that of the memory pipeline, shows a merger
/// only where the merged group then has no conflict, and pairs need only agree within a half-warp.
fn maxwell(access: &WarpAccess<'_>) -> Counts {
    let unit = access.width.clamp(4, 16);
    let groups = unit / 4;
    let mergeable = groups > 1 && access.kind == Kind::Load;
    let pass = |size, index| deepest(access.addresses, access.mask & group(size, index), unit);
    let merged = merges(access);
    let size = 32 / groups;
    let (mut wavefronts, mut sass, mut ideal) = (0, 0, 0);
    for index in 0..groups.div_ceil(2) {
        let size = if groups == 1 { size } else { 2 * size };
        let mask = access.mask & group(size, index);
        if mask == 0 {
            continue;
        }
        if groups == 1 {
            wavefronts = pass(size, 0);
            sass = wavefronts;
            ideal = 1;
            continue;
        }
        let halves = [pass(size / 2, 2 * index), pass(size / 2, 2 * index + 1)];
        let apart = halves[0] + halves[1];
        let together = if mergeable && agrees(access, mask) { pass(size, index) } else { apart };
        sass += if together == 1 { 1 } else { apart };
        wavefronts += if merged { together } else { apart };
        ideal += if merged { 1 } else { halves.iter().filter(|&&h| h != 0).count() as u32 };
    }
    Counts { wavefronts_sass: sass, ..exact(1, wavefronts, ideal) }
}

/// Whether lanes agree in pairs: in all pairs n, n ^ 1 of which both take part the addresses are the same,
/// or in all pairs n, n ^ 2.
fn agrees(access: &WarpAccess<'_>, mask: u32) -> bool {
    [1, 2].into_iter().any(|distance| paired(access, mask, distance))
}

/// Whether a load's neighbouring groups go as one, from 5.0 on.
pub(crate) fn merges(access: &WarpAccess<'_>) -> bool {
    access.width > 4 && access.kind == Kind::Load && agrees(access, access.mask)
}

fn paired(access: &WarpAccess<'_>, mask: u32, distance: usize) -> bool {
    lanes(mask).all(|lane| {
        let partner = lane ^ distance;
        mask >> partner & 1 == 0 || access.addresses[lane] == access.addresses[partner]
    })
}

fn fermi(access: &WarpAccess<'_>) -> Counts {
    match access.width {
        // 64 bits: conflicts only within a half-warp.
        8 => {
            let (mut wavefronts, mut ideal) = (0, 0);
            for index in 0..2 {
                let mask = access.mask & group(16, index);
                if mask != 0 {
                    wavefronts += deepest(access.addresses, mask, 8);
                    ideal += 1;
                }
            }
            exact(ideal, wavefronts, ideal)
        }
        // 128 bits: one more than the most lanes of a quarter-warp at different addresses of a bank.
        16 => {
            let (mut wavefronts, mut requests) = (0, 0);
            for half in 0..2 {
                if access.mask & group(16, half) == 0 {
                    continue;
                }
                let most = [2 * half, 2 * half + 1]
                    .map(|quarter| deepest(access.addresses, access.mask & group(8, quarter), 16));
                wavefronts += 1 + most[0].max(most[1]);
                requests += 1;
            }
            exact(requests, wavefronts, 2 * requests)
        }
        _ => exact(1, deepest(access.addresses, access.mask, 4), 1),
    }
}

/// Banks are 64 bits wide.
fn kepler(mode: BankMode, access: &WarpAccess<'_>) -> Counts {
    // 128 bits times 32 lanes are two passes' worth.
    let size = if access.width >= 16 { 16 } else { 32 };
    let (mut wavefronts, mut ideal) = (0, 0);
    for index in 0..32 / size {
        let mask = access.mask & group(size, index);
        if mask == 0 {
            continue;
        }
        // As accesses are aligned, the words of a lane conflict together or not at all: the first tells.
        wavefronts += match mode {
            BankMode::EightByte => {
                let word = |lane: usize| access.addresses[lane] / 8;
                turns::<32>(mask, |lane| ((word(lane) % 32) as u32, word(lane))).0
            }
            // Words i and i + 32 of an aligned segment of 64 words lie side by side.
            BankMode::FourByte => {
                let word = |lane: usize| access.addresses[lane] / 4;
                turns::<32>(mask, |lane| ((word(lane) % 32) as u32, word(lane) / 64)).0
            }
        };
        ideal += 1;
    }
    exact(ideal, wavefronts, ideal)
}

/// One 32-bit request of a half-warp on 1.x: the lanes' words, and the addresses themselves.
struct HalfWarp {
    /// (word, address), one for each lane; a store's lanes at one location are one, as one of them writes.
    entries: [(u64, u64); 16],
    len: usize,
}

impl HalfWarp {
    fn of(access: &WarpAccess<'_>, half: u32, word: u64) -> HalfWarp {
        let mut this = HalfWarp { entries: [(0, 0); 16], len: 0 };
        for lane in lanes(access.mask & group(16, half)) {
            let address = access.addresses[lane] + 4 * word;
            let entry = (address / 4, address);
            if access.kind == Kind::Store && this.entries[..this.len].contains(&entry) {
                continue;
            }
            this.entries[this.len] = entry;
            this.len += 1;
        }
        this
    }

    /// Steps when the lowest waiting lane's word is broadcast, and the lowest waiting lane of every
    /// other bank is served with it. A store has no broadcast: it serves one location a bank.
    fn steps(&self, broadcast: bool) -> u32 {
        let mut waiting = (1u32 << self.len) - 1;
        let mut steps = 0;
        while waiting != 0 {
            let first = waiting.trailing_zeros() as usize;
            let word = self.entries[first].0;
            let mut served_banks = 1u32 << (word % 16);
            for at in lanes(waiting) {
                let entry = self.entries[at].0;
                let bank = 1 << (entry % 16);
                if broadcast && entry == word || at == first {
                    waiting &= !(1 << at);
                } else if served_banks & bank == 0 {
                    served_banks |= bank;
                    waiting &= !(1 << at);
                }
            }
            steps += 1;
        }
        steps
    }

    /// The fewest and the most steps over all choices of broadcast words and served lanes.
    fn bounds(&self) -> (u32, u32) {
        // Lanes at each distinct word.
        let mut words = [(0u64, 0u32); 16];
        let mut len = 0;
        for &(word, _) in &self.entries[..self.len] {
            match words[..len].iter_mut().find(|w| w.0 == word) {
                Some(known) => known.1 += 1,
                None => {
                    words[len] = (word, 1);
                    len += 1;
                }
            }
        }
        let words = &mut words[..len];
        // By bank, the most wanted words first.
        words.sort_unstable_by_key(|&(word, lanes)| (word % 16, std::cmp::Reverse(lanes)));
        (fewest_steps(words), most_steps(words))
    }
}

/// Of `words`, sorted by bank: the slices of one bank each.
fn by_bank(words: &[(u64, u32)]) -> impl Iterator<Item = &[(u64, u32)]> {
    words.chunk_by(|a, b| a.0 % 16 == b.0 % 16)
}

/// In S steps a bank is chosen for broadcast b times, which serves its b most wanted words whole, and
/// serves one lane in each of the other S - b. The b of all banks may not exceed S.
fn fewest_steps(words: &[(u64, u32)]) -> u32 {
    let mut steps = 1;
    loop {
        let mut broadcasts = 0;
        for bank in by_bank(words) {
            let mut served = steps;
            let lanes: u32 = bank.iter().map(|w| w.1).sum();
            for word in bank {
                if served >= lanes {
                    break;
                }
                served += word.1 - 1;
                broadcasts += 1;
            }
            if served < lanes {
                broadcasts = u32::MAX;
                break;
            }
        }
        if broadcasts <= steps {
            return steps;
        }
        steps += 1;
    }
}

/// The unluckiest choice wastes the broadcast on other banks for as long as they last; meanwhile a bank
/// serves one lane a step, afterwards one word a step.
fn most_steps(words: &[(u64, u32)]) -> u32 {
    let mut banks = [(0u32, 0u32); 16];
    let mut len = 0;
    for bank in by_bank(words) {
        banks[len] = (bank.iter().map(|w| w.1).sum(), bank.len() as u32);
        len += 1;
    }
    banks[..len].sort_unstable();
    banks[..len]
        .iter()
        .fold(0, |others, &(lanes, distinct)| others.max(lanes.min(others + distinct)))
}

/// 16 banks; half-warps apart; wider accesses are 32-bit requests one after the other.
fn tesla(access: &WarpAccess<'_>) -> Counts {
    let mut counts = Counts { instructions: access.width.div_ceil(4), ..Counts::default() };
    each_half(access, |lanes| {
        counts.requests += 1;
        counts.wavefronts_ideal += 1;
        if access.kind == Kind::Store {
            let steps = lanes.steps(false);
            counts.wavefronts += steps;
            counts.wavefronts_least += steps;
            counts.wavefronts_most += steps;
        } else {
            let (least, most) = lanes.bounds();
            counts.wavefronts += lanes.steps(true);
            counts.wavefronts_least += least;
            counts.wavefronts_most += most;
        }
    });
    counts.wavefronts_sass = counts.wavefronts;
    counts
}

/// The 32-bit requests of an access on 1.x.
fn each_half(access: &WarpAccess<'_>, mut found: impl FnMut(&HalfWarp)) {
    for word in 0..u64::from(access.width.div_ceil(4)) {
        for half in 0..2 {
            let lanes = HalfWarp::of(access, half, word);
            if lanes.len > 0 {
                found(&lanes);
            }
        }
    }
}

/// [`count`]'s passes, and the fewest, without what else it tells.
pub(crate) fn passes(model: &MemoryModel, access: &WarpAccess<'_>) -> (u32, u32) {
    if !model.generation.is_tesla() {
        let counts = count(model, access);
        return (counts.wavefronts, counts.wavefronts_ideal);
    }
    let (mut passes, mut ideal) = (0, 0);
    each_half(access, |lanes| {
        passes += lanes.steps(access.kind != Kind::Store);
        ideal += 1;
    });
    (passes, ideal)
}

/// The rule for loads and stores, with its source.
pub fn rule(model: &MemoryModel, width: u32) -> Rule {
    match (model.generation, width) {
        (Generation::Tesla10 | Generation::Tesla12, _) => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.3.3 Shared Memory (1.x)",
            text: "16 banks of 32 bits, half-warps apart; a step serves one broadcast word and one lane of \
                   every other bank; wider accesses are 32-bit requests one after the other",
        },
        (Generation::Fermi, 16) => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.4.3.2 Larger Than 32-Bit Access (2.x)",
            text: "one more than the most lanes of a quarter-warp at different addresses of one bank",
        },
        (Generation::Fermi, 8) => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.4.3.2 Larger Than 32-Bit Access (2.x)",
            text: "two half-warps; in each the most different addresses of one bank",
        },
        (Generation::Fermi, _) => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.4.3 Shared Memory (2.x)",
            text: "32 banks of 32 bits; the most different words of one bank; a word goes to all its lanes",
        },
        (Generation::Kepler, 16) => Rule {
            source: Source::Inferred,
            place: "CUDA C Programming Guide 4.2, F.5.3 Shared Memory (3.0), applied to half-warps",
            text: "two half-warps; in each the most different rows of one 64-bit bank",
        },
        (Generation::Kepler, _) => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.5.3 Shared Memory (3.0)",
            text: "32 banks of 64 bits; the most different rows of one bank",
        },
        (Generation::Maxwell | Generation::Pascal | Generation::Volta, 8 | 16) => Rule {
            source: if model.cc == crate::ComputeCapability::new(9, 0) {
                Source::Measured
            } else {
                Source::Inferred
            },
            place: "NVIDIA H200, counters of Nsight Compute",
            text: "halves (64 bits) or quarters (128 bits) of the warp, the most different words of one bank \
                   in each; loads merge neighbouring groups if all active lanes n and n^1 agree, or all n and n^2",
        },
        (Generation::Maxwell | Generation::Pascal | Generation::Volta, _) => Rule {
            source: Source::Manual,
            place: "CUDA C++ Programming Guide 12.0, K.3.3 Shared Memory (5.x)",
            text: "32 banks of 32 bits; the most different words of one bank; a word goes to all its lanes",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All choices of a broadcast word and of one lane for each other bank, to the end: fewest and most.
    fn every_choice(waiting: &[u64]) -> (u32, u32) {
        if waiting.is_empty() {
            return (0, 0);
        }
        let (mut least, mut most) = (u32::MAX, 0);
        let mut words = waiting.to_vec();
        words.sort_unstable();
        words.dedup();
        for &word in &words {
            let rest: Vec<u64> = waiting.iter().copied().filter(|w| *w != word).collect();
            let mut states = vec![rest];
            let mut banks: Vec<u64> =
                words.iter().map(|w| w % 16).filter(|b| *b != word % 16).collect();
            banks.dedup();
            banks.sort_unstable();
            banks.dedup();
            for bank in banks {
                let mut next = Vec::new();
                for state in &states {
                    for at in (0..state.len()).filter(|&at| state[at] % 16 == bank) {
                        let mut state = state.clone();
                        state.remove(at);
                        next.push(state);
                    }
                }
                next.sort_unstable();
                next.dedup();
                states = next;
            }
            for state in states {
                let (fewest, longest) = every_choice(&state);
                least = least.min(1 + fewest);
                most = most.max(1 + longest);
            }
        }
        (least, most)
    }

    /// The bounds for 1.x against a search through all choices.
    #[test]
    fn bounds_are_those_of_a_search() {
        let mut state = 12345u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let (banks, rows) = (1 + random(3), 1 + random(3));
            let lanes: Vec<u64> =
                (0..1 + random(7)).map(|_| random(banks) + 16 * random(rows)).collect();
            let mut half = HalfWarp { entries: [(0, 0); 16], len: lanes.len() };
            for (entry, &word) in half.entries.iter_mut().zip(&lanes) {
                *entry = (word, 4 * word);
            }
            let bounds = half.bounds();
            assert_eq!(bounds, every_choice(&lanes), "{lanes:?}");
            assert!((bounds.0..=bounds.1).contains(&half.steps(true)), "{lanes:?}");
        }
    }
}
