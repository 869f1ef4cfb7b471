// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words by which threads synchronise, in some ten bytes each where whole warps release something by them.

use margay_ir::Scope;
use parking_lot::Mutex;

use super::knowledge::Knowledge;
use super::places::Places;
use super::released::{Before, Known, Released};
use super::variable::SyncVariable;

/// Words of so many bytes are together, so that those of a warp's lanes mostly are.
const REGION: u64 = 4096;
const SHARDS: usize = 64;
/// Slots that are made at once.
const CHUNK: usize = 16;
/// Bytes that a word takes, a slot with what lanes have in common, and a variable beside it, for the limit of all that is kept.
const WORD_BYTES: u64 = 10;
const SLOT_BYTES: u64 = size_of::<Slot>() as u64 + 64;
const VARIABLE_BYTES: u64 = 240;

/// What was released by a word, or by some.
#[derive(Debug)]
enum Slot {
    /// Nothing, and which is free beside it.
    Free(Option<u32>),
    /// By words of lanes.
    Lanes(Released),
    Alone(Box<SyncVariable>),
}

impl Slot {
    /// Bytes that it takes beside itself.
    fn beside(&self) -> u64 {
        match self {
            Slot::Free(_) => 0,
            Slot::Lanes(own) => own.beside(),
            Slot::Alone(_) => VARIABLE_BYTES,
        }
    }
}

/// Where a word's lane is in the number of its slot.
const LANE_BITS: u32 = 5;

fn slot_of(number: u32) -> (u32, u8) {
    (number >> LANE_BITS, (number & ((1 << LANE_BITS) - 1)) as u8)
}

/// Words of some regions.
#[derive(Debug, Default)]
pub struct Shard {
    /// By word the slot and the lane.
    places: Places,
    /// In pieces that stay where they are: nothing is copied when there are more.
    #[allow(clippy::vec_box)]
    slots: Vec<Box<[Slot; CHUNK]>>,
    free: Option<u32>,
    /// Words that have slots, and the most that there were at once.
    words: usize,
    most: usize,
    /// Bytes that slots take beside themselves, and the most that they did.
    beside: u64,
    most_beside: u64,
    /// Bytes that were not taken into account yet.
    grown: u64,
}

/// All words by which threads synchronise.
#[derive(Debug)]
pub struct Variables(Box<[Mutex<Shard>]>);

impl Default for Variables {
    fn default() -> Variables {
        Variables((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Variables {
    /// Which of the shards has an address of the memory of an owner.
    pub fn shard_of(owner: u32, at: u64) -> usize {
        let region = (at / REGION) as usize;
        (region ^ (region / SHARDS) ^ owner as usize) % SHARDS
    }

    pub fn shard(&self, number: usize) -> &Mutex<Shard> {
        &self.0[number]
    }

    /// There is no memory of an owner any more.
    pub fn forget(&self, owner: u32) {
        self.0.iter().for_each(|shard| shard.lock().forget(owner));
    }
}

impl Shard {
    fn slot(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    fn put(&mut self, what: Slot) -> u32 {
        let slot = match self.free {
            Some(slot) => slot,
            None => {
                let first = (self.slots.len() * CHUNK) as u32;
                assert!(first < 1 << (32 - LANE_BITS), "no room for more that was released");
                let free = |n: usize| Slot::Free((n + 1 < CHUNK).then_some(first + n as u32 + 1));
                self.slots.push(Box::new(std::array::from_fn(free)));
                self.grown += CHUNK as u64 * SLOT_BYTES;
                first
            }
        };
        let own = self.slot(slot);
        let Slot::Free(next) = *own else { unreachable!("a slot that is not free") };
        let more = what.beside();
        *own = what;
        self.free = next;
        self.takes(more);
        slot
    }

    /// Slots take so many bytes more beside themselves.
    fn takes(&mut self, more: u64) {
        self.beside += more;
        self.grown += self.beside.saturating_sub(self.most_beside);
        self.most_beside = self.most_beside.max(self.beside);
    }

    /// A word has this no more.
    fn let_go(&mut self, number: u32) {
        let (slot, _) = slot_of(number);
        let next = self.free;
        let own = self.slot(slot);
        if let Slot::Lanes(own) = own
            && own.leave()
        {
            return;
        }
        let less = own.beside();
        *own = Slot::Free(next);
        self.free = Some(slot);
        self.beside -= less;
    }

    fn forget(&mut self, owner: u32) {
        let numbers = self.places.remove_all(owner);
        self.words -= numbers.len();
        numbers.into_iter().for_each(|number| self.let_go(number));
    }

    /// Bytes by which it has grown since this was asked.
    pub fn take_grown(&mut self) -> u64 {
        std::mem::take(&mut self.grown)
    }

    /// A word for one access of a warp. `open` is what its lanes released by others.
    pub fn word<'s>(&'s mut self, (owner, at): (u32, u64), open: &'s mut Open) -> Word<'s> {
        let number = self.places.get(owner, at);
        Word { shard: self, owner, at, number, open }
    }
}

/// What lanes have released by an instruction that is on its way.
#[derive(Debug, Default)]
pub struct Open(Option<u32>);

/// A word by which threads synchronise.
#[derive(Debug)]
pub struct Word<'s> {
    shard: &'s mut Shard,
    owner: u32,
    at: u64,
    /// Of what is released by it.
    number: Option<u32>,
    open: &'s mut Open,
}

impl Word<'_> {
    fn slot(&self) -> Option<(&Slot, u8)> {
        let (slot, lane) = slot_of(self.number?);
        Some((self.shard.get(slot), lane))
    }

    /// Whether anything is released by it.
    pub fn is_released(&self) -> bool {
        self.number.is_some()
    }

    /// Whether only this block released anything.
    pub fn is_only_of(&self, block: u32) -> bool {
        match self.slot() {
            Some((Slot::Lanes(own), lane)) => own.is_only_of(lane, block),
            Some((Slot::Alone(own), _)) => own.is_only_of(block),
            Some((Slot::Free(_), _)) | None => false,
        }
    }

    /// What a block learns that reads it with this scope.
    pub fn known(&self, block: u32, scope: Scope) -> Knowledge {
        match self.slot() {
            Some((Slot::Lanes(own), lane)) => own.known_by(lane, block, scope == Scope::Cta),
            Some((Slot::Alone(own), _)) => own.known(block, scope),
            Some((Slot::Free(_), _)) | None => Knowledge::default(),
        }
    }

    /// Whether [`Word::known`] is all that is released by it.
    pub fn is_known(&self, block: u32, scope: Scope) -> bool {
        self.is_only_of(block) || scope != Scope::Cta && !self.has(true)
    }

    /// Whether anything is released for blocks alone, or for others.
    fn has(&self, narrow: bool) -> bool {
        match self.slot() {
            Some((Slot::Lanes(own), _)) => own.is_narrow() == narrow,
            Some((Slot::Alone(own), _)) => own.has(narrow),
            Some((Slot::Free(_), _)) | None => false,
        }
    }

    /// What was released by it counts no more.
    pub fn clear(&mut self) {
        if let Some(number) = self.number.take() {
            self.shard.places.remove(self.owner, self.at);
            self.shard.words -= 1;
            self.shard.let_go(number);
        }
    }

    fn put(&mut self, slot: u32, lane: u8) {
        let number = slot << LANE_BITS | u32::from(lane);
        self.number = Some(number);
        let shard = &mut *self.shard;
        match shard.places.insert(self.owner, self.at, number) {
            Some(before) => shard.let_go(before),
            None => {
                shard.words += 1;
                if shard.words > shard.most {
                    shard.most = shard.words;
                    shard.grown += WORD_BYTES;
                }
            }
        }
    }

    /// A thread releases what it knows, or did at a fence. `knew`: that has all that is released by the word.
    pub fn release(&mut self, scope: Scope, known: &Known, knew: bool) {
        let narrow = scope == Scope::Cta;
        let block = known.common.block;
        // What is for the block alone remains so, and the rest for others.
        let (alike, joined) = match self.slot() {
            None => (Some(known.clone()), false),
            Some(_) if self.has(!narrow) => (None, false),
            Some(_) if knew => (Some(known.clone()), false),
            Some((Slot::Lanes(own), lane)) => {
                match own.is_of(lane, known.thread(), known.tick) {
                    true => (Some(known.clone()), false),
                    // As if the thread had known what others released before: whoever reads the word learns both.
                    false if !narrow || own.is_by(block) => {
                        (Some(known.and(&own.known(lane))), true)
                    }
                    false => (None, false),
                }
            }
            Some((Slot::Alone(_) | Slot::Free(_), _)) => (None, false),
        };
        if let Some(known) = &alike {
            let several = self.is_released() && !self.is_only_of(block);
            let before = Before { several, joined };
            if let Some(slot) = self.open.0
                && let Slot::Lanes(own) = self.shard.slot(slot)
                && let Some(more) = own.add(known, narrow, before)
            {
                self.shard.takes(more);
                return self.put(slot, known.lane);
            }
            if let Some(own) = Released::new(known, narrow, before) {
                let slot = self.shard.put(Slot::Lanes(own));
                self.open.0 = Some(slot);
                return self.put(slot, known.lane);
            }
        }
        let (slot, mut own) = match self.number.map(slot_of) {
            None => (None, Box::default()),
            Some((slot, lane)) => match self.shard.slot(slot) {
                Slot::Alone(own) => (Some(slot), std::mem::take(own)),
                Slot::Lanes(own) => (None, Box::new(own.variable(lane))),
                Slot::Free(_) => (None, Box::default()),
            },
        };
        own.release(block, scope, &known.knowledge());
        match slot {
            Some(slot) => *self.shard.slot(slot) = Slot::Alone(own),
            None => {
                let slot = self.shard.put(Slot::Alone(own));
                self.put(slot, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use margay_ir::Sem;

    use super::*;
    use crate::sanitize::race::order::{Block, Strong, Thread, Tick, Time};
    use crate::sanitize::random::random;

    const BLOCKS: u32 = 3;
    const WORDS: u64 = 40;

    /// Up to when each thread is known.
    fn lasts(known: &Knowledge) -> Vec<Tick> {
        let lanes = [0, 1, 2, 3, 30, 31];
        let threads = (0..BLOCKS).flat_map(|block| (0..2).map(move |warp| (block, warp)));
        let threads =
            threads.flat_map(|(block, warp)| lanes.map(move |lane| Thread { block, warp, lane }));
        let last = |thread: Thread| {
            let (mut low, mut high): (Tick, Tick) = (0, 1 << 24);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                match known.covers(thread, middle) {
                    true => low = middle,
                    false => high = middle - 1,
                }
            }
            low
        };
        threads.map(last).collect()
    }

    /// Whether whoever reads the word learns what it would of a plain variable.
    fn check(word: &Word<'_>, plain: &SyncVariable) -> usize {
        assert_eq!(word.is_released(), plain.is_released());
        for block in 0..BLOCKS {
            assert_eq!(word.is_only_of(block), plain.is_only_of(block));
            for scope in [Scope::Cta, Scope::Gpu] {
                let (own, other) = (word.known(block, scope), plain.known(block, scope));
                assert_eq!(lasts(&own), lasts(&other), "{word:?} for {plain:?}");
                assert!(!word.is_known(block, scope) || lasts(&own) == lasts(&plain.all()));
            }
        }
        usize::from(matches!(word.slot(), Some((Slot::Lanes(..), _))))
    }

    /// A fence for more threads still stands for what came before it, once there was one for fewer.
    #[test]
    fn a_wider_fence_stays() {
        let time = Time::default();
        let mut blocks: Vec<Block> = (0..2).map(|id| Block::new(id, 64, &time)).collect();
        let first = blocks[0].stamp(1);
        blocks[0].fence(1, u32::MAX, Scope::Gpu, &time);
        let second = blocks[0].stamp(1);
        blocks[0].fence(1, u32::MAX, Scope::Cta, &time);
        let mut shard = Shard::default();
        let access = Strong {
            sem: Sem::Relaxed,
            scope: Scope::Gpu,
            reads: true,
            writes: true,
            locks: false,
        };
        let mut open = Open::default();
        let mut word = shard.word((0, 64), &mut open);
        blocks[0].synchronise(1, 3, access, &mut word);
        let me = Thread { block: 0, warp: 1, lane: 3 };
        let (own, other) = (word.known(0, Scope::Gpu), word.known(1, Scope::Gpu));
        let covers = |known: &Knowledge| [first, second].map(|stamp| known.covers(me, stamp));
        assert_eq!((covers(&own), covers(&other)), ([true, true], [true, false]));
    }

    /// What a thread did not know that released something by the same word stays, however often it does so again.
    #[test]
    fn what_others_released_stays() {
        for scope in [Scope::Gpu, Scope::Cta] {
            let time = Time::default();
            let mut blocks: Vec<Block> = (0..2).map(|id| Block::new(id, 64, &time)).collect();
            let (mut shard, mut plain) = (Shard::default(), SyncVariable::default());
            let access =
                Strong { sem: Sem::Release, scope, reads: true, writes: true, locks: false };
            // Two warps of a block, one of them again, and another block, lane by lane of one instruction.
            for (n, warp) in [(0, 0), (0, 1), (0, 1), (0, 0), (1, 1), (1, 1), (0, 1)] {
                let (block, mut open) = (&mut blocks[n], Open::default());
                for lane in [3, 1, 30] {
                    let mut word = shard.word((0, 64), &mut open);
                    block.synchronise(warp, lane, access, &mut word);
                    for (scope, known) in block.released_by((warp, lane), access) {
                        plain.release(n as u32, scope, &known);
                    }
                    check(&word, &plain);
                }
                block.has_released_by(warp, access.sem, &time);
            }
            let known = plain.known(1, scope);
            let lasts = lasts(&known);
            assert!(lasts.iter().filter(|last| **last > 0).count() >= 3, "{lasts:?}");
        }
    }

    /// Lanes of some blocks fence, acquire, and release by stores and by atomics, each with a scope, alone and at once, by a
    /// word of each or by the same.
    #[test]
    fn what_is_known_is_what_was_released() {
        let (mut alike, mut checked) = (0, 0);
        for case in 0..12 {
            let mut random = random(5 + case);
            let time = Time::default();
            let mut blocks: Vec<Block> = (0..BLOCKS).map(|id| Block::new(id, 64, &time)).collect();
            let mut shard = Shard::default();
            let mut plain: Vec<SyncVariable> =
                (0..WORDS).map(|_| SyncVariable::default()).collect();
            // Some cases have but wide scopes, or hardly a partial barrier.
            let wide = case % 3 == 0;
            for _ in 0..300 {
                let block = &mut blocks[random(BLOCKS.into()) as usize];
                let warp = random(2) as u16;
                let mask = match random(4) {
                    0 => 1 << random(4),
                    1 => 0b1011,
                    2 => 0xc000_000f,
                    _ => u32::MAX,
                };
                let scope = if wide || random(3) > 0 { Scope::Gpu } else { Scope::Cta };
                match random(24) {
                    0 | 1 => block.fence(warp, mask, scope, &time),
                    2 => block.warp_barrier(
                        warp,
                        if wide || random(4) > 0 { u32::MAX } else { mask },
                        &time,
                    ),
                    3 => {
                        (0..2).for_each(|w| block.arrive(0, w, u32::MAX, true, &time));
                        block.open(0, &time);
                    }
                    draw => {
                        let (reads, writes) =
                            [(true, true), (true, true), (true, false), (false, true)]
                                [draw as usize % 4];
                        let sem = match (reads, writes, random(4)) {
                            (.., 0) => Sem::Relaxed,
                            (true, true, 1 | 2) => Sem::AcqRel,
                            (true, true, _) => [Sem::Release, Sem::Acquire][random(2) as usize],
                            (true, false, _) => Sem::Acquire,
                            (false, ..) => Sem::Release,
                        };
                        let access = Strong { sem, scope, reads, writes, locks: false };
                        let (mut open, how) = (Open::default(), random(64));
                        let id = block.id;
                        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                            // Each has a word of its own, or some have the same.
                            let n = (how ^ u64::from(lane)) % if wide { WORDS } else { 6 };
                            let own = &mut plain[n as usize];
                            let mut word = shard.word((0, 4 * n), &mut open);
                            let releases = writes && block.may_release(warp, lane, sem);
                            if releases || word.is_released() {
                                block.synchronise(warp, lane, access, &mut word);
                            }
                            if writes && !reads {
                                *own = SyncVariable::default();
                            }
                            if releases {
                                for (scope, known) in block.released_by((warp, lane), access) {
                                    own.release(id, scope, &known);
                                }
                            }
                            if random(4) == 0 {
                                alike += check(&word, own);
                                checked += 1;
                            }
                        }
                        if writes {
                            block.has_released_by(warp, sem, &time);
                        }
                    }
                }
                let n = random(WORDS);
                check(&shard.word((0, 4 * n), &mut Open::default()), &plain[n as usize]);
            }
            // What no word has is kept no more.
            let most = shard.most as u64 * WORD_BYTES + shard.most_beside;
            assert_eq!(shard.take_grown(), most + (shard.slots.len() * CHUNK) as u64 * SLOT_BYTES);
            let beside = shard.slots.iter().flat_map(|own| own.iter()).map(Slot::beside);
            assert_eq!(beside.sum::<u64>(), shard.beside);
            assert!(shard.most_beside > VARIABLE_BYTES);
            match case % 2 {
                0 => shard.forget(0),
                _ => {
                    (0..WORDS).for_each(|n| shard.word((0, 4 * n), &mut Open::default()).clear());
                }
            }
            assert_eq!((shard.words, shard.beside), (0, 0));
            assert!(
                shard
                    .slots
                    .iter()
                    .flat_map(|own| own.iter())
                    .all(|own| matches!(own, Slot::Free(_)))
            );
            assert!(shard.slots.len() < 5, "{}", shard.slots.len());
        }
        println!("{alike} of {checked} were alike");
        assert!(alike > checked / 8 && alike < checked * 7 / 8, "{alike} of {checked}");
    }
}
