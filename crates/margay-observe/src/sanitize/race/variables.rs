// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words by which threads synchronise, in some ten bytes each where whole warps release something by them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use margay_ir::Scope;
use parking_lot::Mutex;

use super::knowledge::Knowledge;
use super::order::{Tick, Time};
use super::passed::Passed;
use super::places::Places;
use super::released::{Before, Known, Released};
use super::variable::SyncVariable;

/// Words of so many bytes are together, so that those of a warp's lanes mostly are.
const REGION: u64 = 4096;
const SHARDS: usize = 64;
/// Slots that are made at once.
const CHUNK: usize = 16;
/// Bytes that a word takes, and a slot.
const WORD_BYTES: u64 = 10;
const SLOT_BYTES: u64 = size_of::<Slot>() as u64;

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
            Slot::Alone(own) => own.bytes(),
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
    /// Words that have slots.
    words: usize,
    /// Bytes that slots take beside themselves.
    beside: u64,
    /// Words, and bytes of all, that are part of those of all shards.
    told: [u64; 2],
    /// Words of which it is not kept what was released.
    passed: Passed,
}

/// All words by which threads synchronise.
#[derive(Debug)]
pub struct Variables {
    shards: Box<[Mutex<Shard>]>,
    /// Words that have slots, and bytes that all take.
    all: [AtomicU64; 2],
    /// Whether some were passed over.
    passed: AtomicBool,
}

impl Default for Variables {
    fn default() -> Variables {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Variables { shards, all: Default::default(), passed: AtomicBool::new(false) }
    }
}

impl Variables {
    /// Which of the shards has an address of the memory of an owner.
    pub fn shard_of(owner: u32, at: u64) -> usize {
        let region = (at / REGION) as usize;
        (region ^ (region / SHARDS) ^ owner as usize) % SHARDS
    }

    pub fn shard(&self, number: usize) -> &Mutex<Shard> {
        &self.shards[number]
    }

    /// Takes account of what a shard has now. Returns how many words there are, and the bytes that all take.
    pub fn settle(&self, shard: &mut Shard) -> [u64; 2] {
        let now = [shard.words as u64, shard.bytes()];
        if now != shard.told {
            for ((all, told), now) in self.all.iter().zip(shard.told).zip(now) {
                // One wraps around where there is less.
                all.fetch_add(now.wrapping_sub(told), Ordering::Relaxed);
            }
            shard.told = now;
        }
        self.all.each_ref().map(|all| all.load(Ordering::Relaxed))
    }

    /// What was released by any word is not told apart any more: see [`super::passed`]. Whether this is the first time that
    /// there are such words.
    pub fn pass(&self, time: &Time) -> bool {
        // All at one time, of which threads then learn once. Nobody else holds more than one.
        let mut shards: Vec<_> = self.shards.iter().map(Mutex::lock).collect();
        let any = shards.iter().any(|shard| shard.words > 0);
        let first = any && !self.passed.swap(true, Ordering::Relaxed);
        // What is done from now on has other stamps.
        let now = time.next() - 1;
        for shard in &mut shards {
            shard.pass(now);
            self.settle(shard);
        }
        first
    }

    /// Whether that was ever so.
    #[inline]
    pub fn have_passed(&self) -> bool {
        self.passed.load(Ordering::Relaxed)
    }

    /// There is no memory of an owner any more.
    pub fn forget(&self, owner: u32) {
        for shard in &self.shards {
            let shard = &mut *shard.lock();
            shard.forget(owner);
            self.settle(shard);
        }
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
                first
            }
        };
        let own = self.slot(slot);
        let Slot::Free(next) = *own else { unreachable!("a slot that is not free") };
        let more = what.beside();
        *own = what;
        self.free = next;
        self.beside += more;
        slot
    }

    /// Bytes that all of it takes.
    fn bytes(&self) -> u64 {
        let slots = (self.slots.len() * CHUNK) as u64 * SLOT_BYTES;
        self.words as u64 * WORD_BYTES + slots + self.beside + self.passed.beside()
    }

    /// Has no words any more; what is known of those that it had is what was done up to now.
    fn pass(&mut self, now: Tick) {
        if self.words > 0 {
            self.passed.add(self.places.all(), self.words, now);
        }
        self.empty();
    }

    /// Has no words any more, nor room for any.
    fn empty(&mut self) {
        let Shard { told, passed, .. } = std::mem::take(self);
        (self.told, self.passed) = (told, passed);
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
        match self.words {
            0 => self.empty(),
            _ => numbers.into_iter().for_each(|number| self.let_go(number)),
        }
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
        self.number.is_some() || self.passed().is_some()
    }

    /// Up to when all counts as released by it that anybody did, as it is not told apart any more.
    pub fn passed(&self) -> Option<Tick> {
        self.shard.passed.up_to((self.owner, self.at))
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
            None => shard.words += 1,
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
            let several = self.number.is_some() && !self.is_only_of(block);
            let before = Before { several, joined };
            if let Some(slot) = self.open.0
                && let Slot::Lanes(own) = self.shard.slot(slot)
                && let Some(more) = own.add(known, narrow, before)
            {
                self.shard.beside += more;
                return self.put(slot, known.lane);
            }
            if let Some(own) = Released::new(known, narrow, before) {
                let slot = self.shard.put(Slot::Lanes(own));
                self.open.0 = Some(slot);
                return self.put(slot, known.lane);
            }
        }
        self.release_for(block, scope, &known.knowledge());
    }

    /// A thread of a block releases this, which is not what it knows itself.
    pub fn release_for(&mut self, block: u32, scope: Scope, known: &Knowledge) {
        let mut own = match self.number.map(slot_of) {
            None => Box::default(),
            Some((slot, lane)) => match self.shard.slot(slot) {
                Slot::Alone(own) => {
                    let before = own.bytes();
                    own.release(block, scope, known);
                    let now = own.bytes();
                    self.shard.beside = self.shard.beside + now - before;
                    return;
                }
                Slot::Lanes(own) => Box::new(own.variable(lane)),
                Slot::Free(_) => Box::default(),
            },
        };
        own.release(block, scope, known);
        let slot = self.shard.put(Slot::Alone(own));
        self.put(slot, 0);
    }
}

#[cfg(test)]
mod tests;
