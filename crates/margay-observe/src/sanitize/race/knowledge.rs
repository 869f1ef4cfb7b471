// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads know of what blocks did, as it goes from hand to hand.

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::order::{Thread, Tick};
use super::releases::Hold;
use super::tree::Tree;

/// What is known of all of a block's warps.
#[derive(Debug)]
pub struct Base {
    /// By warp, of every lane up to here.
    all: SmallVec<[Tick; 4]>,
    /// Of the releases by which it came to be known.
    holds: SmallVec<[Hold; 1]>,
}

impl Base {
    /// What was released once.
    pub fn new(all: impl Iterator<Item = Tick>, hold: Hold) -> Base {
        Base { all: all.collect(), holds: smallvec![hold] }
    }

    /// The same, and what all lanes of a warp did up to there.
    pub fn with(&self, warp: u16, tick: Tick) -> Base {
        let mut all = self.all.clone();
        if let Some(own) = all.get_mut(usize::from(warp)) {
            *own = tick.max(*own);
        }
        Base { all, holds: self.holds.clone() }
    }

    /// Whether both are the same part of the same releases.
    pub fn is_same(&self, other: &Base) -> bool {
        let holds = || self.holds.iter().zip(&other.holds).all(|(a, b)| Arc::ptr_eq(a, b));
        self.all == other.all && self.holds.len() == other.holds.len() && holds()
    }

    /// Whether it is part of this release alone.
    pub fn is_of(&self, hold: &Hold) -> bool {
        matches!(&self.holds[..], [own] if Arc::ptr_eq(own, hold))
    }
}

/// Up to when a lane of a warp is known.
type Lane = (u16, u8, Tick);

/// Which lane that is.
fn place(lane: &Lane) -> (u16, u8) {
    (lane.0, lane.1)
}

/// What is known of a block's accesses.
#[derive(Debug)]
pub struct Entry {
    /// Lanes of a warp that release something at once have this in common, and whoever learns of it.
    base: Arc<Base>,
    /// Of these lanes up to there, which is later: each with its warp, in order, as there may be all of a block's.
    lanes: SmallVec<[Lane; 1]>,
}

impl Entry {
    /// What was released once: of some lanes of a warp more than of every lane of each warp.
    pub fn new(base: &Arc<Base>, warp: u16, lanes: &[(u8, Tick)]) -> Entry {
        let lanes = lanes.iter().map(|&(lane, tick)| (warp, lane, tick));
        let mut lanes: SmallVec<[Lane; 1]> = lanes.collect();
        lanes.sort_unstable();
        Entry { base: base.clone(), lanes }
    }

    /// What is known of all warps, and of which lanes more than that.
    pub fn lanes(&self) -> (&Arc<Base>, &[Lane]) {
        (&self.base, &self.lanes)
    }

    fn covers(&self, warp: u16, lane: u8, stamp: Tick) -> bool {
        let lane = || self.lanes.binary_search_by_key(&(warp, lane), place);
        self.base.all.get(usize::from(warp)).is_some_and(|all| stamp <= *all)
            || lane().is_ok_and(|at| stamp <= self.lanes[at].2)
    }

    /// Up to when anything is known, by warp.
    pub fn lasts(&self) -> impl Iterator<Item = Tick> {
        self.base.all.iter().enumerate().map(|(warp, all)| {
            let lanes = self.lanes.iter().filter(move |own| usize::from(own.0) == warp);
            lanes.map(|own| own.2).max().unwrap_or(0).max(*all)
        })
    }

    /// Whether nothing is known that is later.
    fn is_up_to(&self, tick: Tick) -> bool {
        self.base.all.iter().all(|all| *all <= tick) && self.lanes.iter().all(|own| own.2 <= tick)
    }

    /// Whether `other` has all of this.
    fn is_within(&self, other: &Entry) -> bool {
        let all = || self.base.all.iter().zip(&other.base.all).all(|(own, other)| own <= other);
        let mut others = other.lanes.iter().peekable();
        let mut covers = |own: &Lane| {
            while others.next_if(|other| place(other) < place(own)).is_some() {}
            let lane =
                others.peek().is_some_and(|other| place(other) == place(own) && own.2 <= other.2);
            lane || other.base.all.get(usize::from(own.0)).is_some_and(|all| own.2 <= *all)
        };
        (Arc::ptr_eq(&self.base, &other.base) || all()) && self.lanes.iter().all(&mut covers)
    }

    /// Both, or the one that has all of the other, so that what nobody knows any more is not held.
    fn and(self: &Arc<Entry>, other: &Arc<Entry>) -> Arc<Entry> {
        match () {
            _ if Arc::ptr_eq(self, other) || other.is_within(self) => self.clone(),
            _ if self.is_within(other) => other.clone(),
            _ => Arc::new(self.joined(other)),
        }
    }

    fn joined(&self, other: &Entry) -> Entry {
        let mut lanes: SmallVec<[Lane; 1]> =
            SmallVec::with_capacity(self.lanes.len().max(other.lanes.len()));
        let (mut own, mut others) = (&self.lanes[..], &other.lanes[..]);
        while let (Some((a, left)), Some((b, rest))) = (own.split_first(), others.split_first()) {
            let order = place(a).cmp(&place(b));
            lanes.push(match order {
                Ordering::Less => *a,
                Ordering::Equal => (a.0, a.1, a.2.max(b.2)),
                Ordering::Greater => *b,
            });
            own = if order.is_le() { left } else { own };
            others = if order.is_ge() { rest } else { others };
        }
        lanes.extend_from_slice(own);
        lanes.extend_from_slice(others);
        if Arc::ptr_eq(&self.base, &other.base) {
            return Entry { base: self.base.clone(), lanes };
        }
        let all = self.base.all.iter().zip(&other.base.all);
        let all: SmallVec<[Tick; 4]> = all.map(|(own, other)| *own.max(other)).collect();
        lanes.retain(|&mut (warp, _, tick)| tick > all[usize::from(warp)]);
        let mut holds = self.base.holds.clone();
        for hold in &other.base.holds {
            if !holds.iter().any(|own| Arc::ptr_eq(own, hold)) {
                holds.push(hold.clone());
            }
        }
        Entry { base: Arc::new(Base { all, holds }), lanes }
    }
}

/// Blocks of which there is a list.
const FEW: usize = 8;
/// Bytes of what is known of a block, with what it is of.
const ENTRY_BYTES: u64 = 160;

/// What is known of blocks, by their numbers.
#[derive(Clone, Debug)]
enum Blocks {
    /// In order.
    Few(SmallVec<[(u32, Arc<Entry>); 1]>),
    Many(Tree<Entry>),
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks::Few(SmallVec::new())
    }
}

/// Knowledge of blocks. Cheap to copy and to add to, and small where it is of few: each variable by which anything was
/// released has some.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Of whatever anybody did up to here, where it is not told apart any more who released what ([`super::passed`]).
    up_to: Tick,
    blocks: Blocks,
}

impl Knowledge {
    /// Of all that anybody did up to here.
    pub fn of_all(up_to: Tick) -> Knowledge {
        Knowledge { up_to, blocks: Blocks::default() }
    }

    pub fn covers(&self, thread: Thread, stamp: Tick) -> bool {
        stamp <= self.up_to
            || self.of(thread.block).is_some_and(|own| own.covers(thread.warp, thread.lane, stamp))
    }

    pub fn is_empty(&self) -> bool {
        self.up_to == 0 && self.len() == 0
    }

    /// Up to when everything is known.
    pub fn up_to(&self) -> Tick {
        self.up_to
    }

    /// Blocks of which anything is known.
    fn len(&self) -> usize {
        match &self.blocks {
            Blocks::Few(list) => list.len(),
            Blocks::Many(all) => all.len(),
        }
    }

    /// About the bytes that what is known of a few blocks takes.
    pub fn few_bytes(&self) -> u64 {
        self.few().map_or(0, |list| list.len() as u64 * ENTRY_BYTES)
    }

    /// About the bytes of what there is of many blocks that were not counted before, as that is mostly others' too: what is new
    /// of a node with entries is mostly one.
    pub fn count_many(&self) -> u64 {
        match &self.blocks {
            Blocks::Few(_) => 0,
            Blocks::Many(all) => all.count(ENTRY_BYTES),
        }
    }

    /// About the bytes that this takes at most, however often it was counted.
    pub fn most_many(&self) -> u64 {
        match &self.blocks {
            Blocks::Few(_) => 0,
            Blocks::Many(all) => all.bytes() + all.len() as u64 * ENTRY_BYTES,
        }
    }

    /// What is known of each block, if it is of few.
    pub fn few(&self) -> Option<&[(u32, Arc<Entry>)]> {
        match &self.blocks {
            Blocks::Few(list) => Some(list),
            Blocks::Many(_) => None,
        }
    }

    /// What is known of a block.
    pub fn of(&self, block: u32) -> Option<&Arc<Entry>> {
        match &self.blocks {
            Blocks::Few(list) => list.iter().find(|own| own.0 == block).map(|own| &own.1),
            Blocks::Many(all) => all.get(block),
        }
    }

    fn insert(&mut self, block: u32, entry: Arc<Entry>) {
        match &mut self.blocks {
            Blocks::Many(all) => all.insert(block, entry),
            Blocks::Few(list) => {
                let at = list.partition_point(|own| own.0 < block);
                if let Some(own) = list.get_mut(at)
                    && own.0 == block
                {
                    own.1 = entry;
                } else if list.len() < FEW {
                    list.insert(at, (block, entry));
                } else {
                    let mut all = Tree::default();
                    let list = list.drain(..).chain([(block, entry)]);
                    list.for_each(|(block, entry)| all.insert(block, entry));
                    self.blocks = Blocks::Many(all);
                }
            }
        }
    }

    /// Everything is known up to here: of a block only what is later is told apart.
    fn raise(&mut self, up_to: Tick) {
        if up_to <= self.up_to {
            return;
        }
        self.up_to = up_to;
        match &mut self.blocks {
            Blocks::Few(list) => list.retain(|(_, entry)| !entry.is_up_to(up_to)),
            Blocks::Many(all) => {
                all.retain(|entry| !entry.is_up_to(up_to));
                if all.len() <= FEW {
                    let mut left = SmallVec::new();
                    all.each(|block, entry| left.push((block, entry.clone())));
                    self.blocks = Blocks::Few(left);
                }
            }
        }
    }

    /// Adds what is known of a block.
    pub fn add(&mut self, block: u32, entry: &Arc<Entry>) {
        if self.up_to > 0 && entry.is_up_to(self.up_to) {
            return;
        }
        let new = match self.of(block) {
            Some(own) => own.and(entry),
            None => entry.clone(),
        };
        // An entry that stays makes no copy of what it is in.
        if !self.of(block).is_some_and(|own| Arc::ptr_eq(own, &new)) {
            self.insert(block, new);
        }
    }

    /// Adds what `other` knows.
    pub fn join(&mut self, other: &Knowledge) {
        let up_to = self.up_to.max(other.up_to);
        if self.len() >= other.len() {
            self.raise(up_to);
            return self.add_all(other);
        }
        let own = std::mem::replace(self, other.clone());
        self.raise(up_to);
        self.add_all(&own);
    }

    fn add_all(&mut self, other: &Knowledge) {
        match (&mut self.blocks, &other.blocks) {
            (_, Blocks::Few(list)) => {
                list.iter().for_each(|(block, entry)| self.add(*block, entry));
            }
            (Blocks::Few(_), Blocks::Many(all)) => {
                all.each(|block, entry| self.add(block, entry));
            }
            // The one mostly comes of the other: what they share is not gone through.
            (Blocks::Many(own), Blocks::Many(_)) => {
                let mut other = other.clone();
                other.raise(self.up_to);
                match &other.blocks {
                    Blocks::Many(all) => own.join(all, Entry::and),
                    Blocks::Few(_) => self.add_all(&other),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::random::random;

    /// Whatever is joined, what is known is what any part knew, and what no part has any more is not held.
    #[test]
    fn what_is_joined_is_what_each_part_knew() {
        const BLOCKS: u32 = 20;
        let mut random = random(7);
        let threads: Vec<Thread> = (0..BLOCKS)
            .flat_map(|block| (0..2).map(move |warp| (block, warp)))
            .flat_map(|(block, warp)| (0..3).map(move |lane| Thread { block, warp, lane }))
            .collect();
        let (mut all, mut lasts): (Vec<Knowledge>, Vec<Vec<Tick>>) = Default::default();
        for step in 0..4000 {
            // What a thread released, or what one who knows two of these does.
            let (knowledge, last) = if all.len() < 2 || step % 3 == 0 {
                let block = random(BLOCKS.into()) as u32;
                let (ticks, warp) = ([random(50) as Tick, random(50) as Tick], random(2) as u16);
                let lanes: Vec<_> = (0..random(3) as u8)
                    .map(|lane| (lane, ticks[usize::from(warp)] + 1 + random(9) as Tick))
                    .collect();
                let base = Arc::new(Base::new(ticks.into_iter(), Hold::default()));
                let entry = Entry::new(&base, warp, &lanes);
                let latest = |w: usize| {
                    let lanes = lanes.iter().filter(|_| w == usize::from(warp));
                    lanes.map(|own| own.1).chain([ticks[w]]).max().unwrap()
                };
                assert!(entry.lasts().eq([latest(0), latest(1)]));
                let last = threads.iter().map(|thread| match thread.block == block {
                    true => {
                        let own =
                            lanes.iter().filter(|own| own.0 == thread.lane && thread.warp == warp);
                        own.map(|own| own.1).chain([ticks[usize::from(thread.warp)]]).max().unwrap()
                    }
                    false => 0,
                });
                let mut knowledge = Knowledge::default();
                knowledge.add(block, &Arc::new(entry));
                (knowledge, last.collect())
            } else {
                let (a, b) = (random(all.len() as u64) as usize, random(all.len() as u64) as usize);
                let mut knowledge = all[a].clone();
                knowledge.join(&all[b]);
                let last = lasts[a].iter().zip(&lasts[b]).map(|(a, b)| *a.max(b)).collect();
                (knowledge, last)
            };
            for (thread, &last) in threads.iter().zip(&last) {
                assert!(last == 0 || knowledge.covers(*thread, last), "{thread:?} {last}");
                assert!(!knowledge.covers(*thread, last + 1), "{thread:?} {last}");
            }
            if all.len() < 40 {
                all.push(knowledge);
                lasts.push(last);
            } else {
                let at = random(40) as usize;
                (all[at], lasts[at]) = (knowledge, last);
            }
        }
        assert!(all.iter().any(|own| own.len() > FEW) && all.iter().any(|own| own.len() < FEW));
    }

    /// Who knows all up to some time need not be told of it, whichever of the two comes first.
    #[test]
    fn what_is_known_of_all_is_not_told_apart() {
        let mut random = random(11);
        let mut entry = |block: u32| {
            let ticks = [random(50) as Tick, random(50) as Tick];
            let base = Arc::new(Base::new(ticks.into_iter(), Hold::default()));
            (block, Arc::new(Entry::new(&base, 0, &[(3, ticks[0] + 1 + random(9) as Tick)])))
        };
        for blocks in [1, 5, 40] {
            let mut all = Knowledge::default();
            (0..blocks).map(&mut entry).for_each(|(block, entry)| all.add(block, &entry));
            let mut before = usize::MAX;
            for up_to in [0, 10, 30, 60] {
                let own = Knowledge::of_all(up_to);
                let (mut first, mut second) = (own.clone(), all.clone());
                first.join(&all);
                second.join(&own);
                for block in 0..blocks + 1 {
                    for (warp, lane) in [(0, 0), (0, 3), (1, 3)] {
                        let thread = Thread { block, warp, lane };
                        for stamp in 1..70 {
                            let known = stamp <= up_to || all.covers(thread, stamp);
                            assert_eq!(first.covers(thread, stamp), known);
                            assert_eq!(second.covers(thread, stamp), known);
                        }
                    }
                }
                assert_eq!((first.len(), first.up_to()), (second.len(), second.up_to()));
                let is_gone = first.few().is_some_and(|list| list.is_empty());
                assert!(first.len() <= before && (up_to < 60 || is_gone));
                assert_eq!(first.is_empty(), up_to == 0 && blocks == 0);
                before = first.len();
            }
        }
    }

    /// Blocks that take a number from one word, one after the other, each know of all before: what they share is not gone
    /// through for each. (Else this takes minutes.)
    #[test]
    fn a_long_chain_is_joined_at_once() {
        const BLOCKS: u32 = 60_000;
        let start = std::time::Instant::now();
        let mut word = Knowledge::default();
        for block in 0..BLOCKS {
            let mut own = word.clone();
            let base = Arc::new(Base::new([1].into_iter(), Hold::default()));
            let entry = Entry::new(&base, 0, &[(0, 2)]);
            own.add(block, &Arc::new(entry));
            word.join(&own);
        }
        assert_eq!(word.len(), BLOCKS as usize);
        assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    }
}
