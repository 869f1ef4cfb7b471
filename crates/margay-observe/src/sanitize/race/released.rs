// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lanes of a warp released by one instruction, which they mostly have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use super::knowledge::{Base, Entry, Knowledge};
use super::order::{Thread, Tick};
use super::variable::SyncVariable;

/// What all lanes of a warp know, but for what each did itself.
#[derive(Debug)]
pub struct Common {
    pub block: u32,
    pub warp: u16,
    /// Of the block's warps.
    pub base: Arc<Base>,
    /// Of other blocks, and of this one by other ways than barriers. Most know nothing.
    pub foreign: Option<Box<Knowledge>>,
    /// The bytes that something takes account of, or 0.
    counted: AtomicU64,
}

/// Bytes of what lanes know in common, with what that is of, but for many other blocks.
const COMMON_BYTES: u64 = 200;

impl Common {
    pub fn new(block: u32, warp: u16, base: Arc<Base>, foreign: Knowledge) -> Common {
        let foreign = (!foreign.is_empty()).then(|| Box::new(foreign));
        Common { block, warp, base, foreign, counted: AtomicU64::new(0) }
    }

    /// Counts its bytes, if nothing takes account of them. Its block is one worker's.
    fn count(&self) -> bool {
        let is_first = self.counted.load(Ordering::Relaxed) == 0;
        if is_first {
            let many = self.foreign.as_deref().map_or(0, Knowledge::count_many);
            self.counted.store(COMMON_BYTES + many, Ordering::Relaxed);
        }
        is_first
    }
}

/// Lanes of others that each lane has learnt of, at most: of more of them there are as many orders.
const MOST: usize = 8;

/// What a lane knew at a time.
#[derive(Clone, Debug)]
pub struct Known {
    pub common: Arc<Common>,
    pub lane: u8,
    /// Up to when its own accesses count.
    pub tick: Tick,
    /// What it knew more than the others of lanes of its warp,
    pub lanes: SmallVec<[(u8, Tick); 1]>,
    /// and of other threads.
    pub more: Knowledge,
}

impl Known {
    pub fn thread(&self) -> Thread {
        Thread { block: self.common.block, warp: self.common.warp, lane: self.lane }
    }

    /// The same as goes from hand to hand.
    pub fn knowledge(&self) -> Knowledge {
        let mut known = self.common.foreign.as_deref().cloned().unwrap_or_default();
        known.join(&self.more);
        let mut lanes = self.lanes.clone();
        lanes.push((self.lane, self.tick));
        let entry = Entry::new(&self.common.base, self.common.warp, &lanes);
        known.add(self.common.block, &Arc::new(entry));
        known
    }

    /// Whether another lane knew the same at the same time, but for what each did itself.
    pub fn is_alike_with(&self, other: &Known) -> bool {
        let has_more = |own: &Known| !own.lanes.is_empty() || !own.more.is_empty();
        let same = Arc::ptr_eq(&self.common, &other.common) && self.tick == other.tick;
        std::ptr::eq(self, other) || same && !has_more(self) && !has_more(other)
    }

    /// What these lanes knew that are [alike](Known::is_alike_with), of those that there are.
    pub fn with_lanes(&self, lanes: u32, exist: u32) -> Knowledge {
        if !self.lanes.is_empty() || !self.more.is_empty() {
            return self.knowledge();
        }
        let Common { block, warp, base, foreign, .. } = &*self.common;
        let mut known = foreign.as_deref().cloned().unwrap_or_default();
        let entry = if lanes & exist == exist {
            Entry::new(&Arc::new(base.with(*warp, self.tick)), *warp, &[])
        } else {
            let all = (0..32).filter(|lane| lanes >> lane & 1 != 0);
            Entry::new(base, *warp, &all.map(|lane| (lane, self.tick)).collect::<Vec<_>>())
        };
        known.add(*block, &Arc::new(entry));
        known
    }

    /// The same, with what others released before.
    pub fn and(&self, before: &Knowledge) -> Known {
        let mut all = self.clone();
        all.more.join(before);
        all
    }

    /// Whether lanes can have it in common with others.
    fn is_alike(&self) -> bool {
        let fits = |list: &[(u32, Arc<Entry>)]| {
            let lanes = || list.iter().map(|own| own.1.lanes().1.len());
            lanes().all(|count| count > 0) && lanes().sum::<usize>() <= MOST
        };
        self.lanes.is_empty() && self.more.few().is_some_and(fits)
    }
}

/// What lanes learnt each of another lane of a warp. As warps go hand in hand, one mostly stands for all lanes.
#[derive(Debug)]
struct Learnt {
    base: Arc<Base>,
    block: u32,
    tick: Tick,
    warp: u16,
    /// Which of which.
    lanes: Vec<(u8, u8)>,
}

/// What lanes learnt apart from each other.
#[derive(Debug, Default)]
struct Apart {
    learnt: Vec<Learnt>,
    /// What anybody did up to here some lane knew, where that is not told apart any more.
    up_to: Tick,
}

/// What was released by a word before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// Another block than the one that releases now did.
    pub several: bool,
    /// The thread did not know it, and it is part of what is released now.
    pub joined: bool,
}

/// What lanes of a warp released by one instruction.
#[derive(Debug)]
pub struct Released {
    common: Arc<Common>,
    /// What the lanes knew apart from each other. Hardly any did.
    apart: Option<Box<Apart>>,
    tick: Tick,
    /// Lanes by whose words other blocks had released something, of which these have all.
    several: u32,
    /// Lanes whose words have more than the lanes knew: what others had released before.
    joined: u32,
    /// Words that have it.
    words: u8,
    /// For the block alone.
    narrow: bool,
    /// This takes account of what is common.
    counts: bool,
}

impl Released {
    /// What one lane released; nothing if that has another form.
    pub fn new(known: &Known, narrow: bool, before: Before) -> Option<Released> {
        if !known.is_alike() {
            return None;
        }
        let (common, tick) = (known.common.clone(), known.tick);
        let (several, joined, words) = (0, 0, 0);
        let counts = common.count();
        let mut released =
            Released { common, apart: None, tick, several, joined, words, narrow, counts };
        released.enter(known, before);
        Some(released)
    }

    /// Bytes that it takes beside itself.
    pub fn beside(&self) -> u64 {
        let common = if self.counts { self.common.counted.load(Ordering::Relaxed) } else { 0 };
        let Some(Apart { learnt, .. }) = self.apart.as_deref() else { return common };
        let lanes: usize =
            learnt.iter().map(|own| size_of::<(u8, u8)>() * own.lanes.capacity()).sum();
        common + (size_of::<Apart>() + size_of::<Learnt>() * learnt.capacity() + lanes) as u64
    }

    /// Adds what another lane of the same instruction released, if that has this form. Returns how many bytes more it
    /// [takes](Released::beside).
    pub fn add(&mut self, known: &Known, narrow: bool, before: Before) -> Option<u64> {
        let same = Arc::ptr_eq(&self.common, &known.common)
            && (self.tick, self.narrow) == (known.tick, narrow)
            && known.is_alike();
        same.then(|| {
            let own = self.beside();
            self.enter(known, before);
            self.beside() - own
        })
    }

    /// One word less has it. Whether one is left.
    pub fn leave(&mut self) -> bool {
        self.words -= 1;
        self.words > 0
    }

    fn enter(&mut self, known: &Known, before: Before) {
        self.words += 1;
        self.several |= u32::from(before.several) << known.lane;
        self.joined |= u32::from(before.joined) << known.lane;
        if known.more.up_to() > 0 {
            let apart = self.apart.get_or_insert_default();
            apart.up_to = apart.up_to.max(known.more.up_to());
        }
        for (block, entry) in known.more.few().unwrap_or_default() {
            let (base, lanes) = entry.lanes();
            for &(warp, of, tick) in lanes {
                self.learn((*block, warp, tick), base, (known.lane, of));
            }
        }
    }

    /// A lane has learnt of another one of that warp, up to that time.
    fn learn(&mut self, from: (u32, u16, Tick), base: &Arc<Base>, lanes: (u8, u8)) {
        let learnt = &mut self.apart.get_or_insert_default().learnt;
        let is_alike = |own: &&mut Learnt| {
            (own.block, own.warp, own.tick) == from
                && (Arc::ptr_eq(&own.base, base) || own.base.is_same(base))
        };
        match learnt.iter_mut().rev().find(is_alike) {
            Some(own) => {
                if own.lanes.len() == own.lanes.capacity() {
                    own.lanes.reserve_exact(own.lanes.len().clamp(3, 8));
                }
                own.lanes.push(lanes);
            }
            None => {
                if learnt.len() == learnt.capacity() {
                    learnt.reserve_exact(learnt.len().max(1));
                }
                let (block, warp, tick) = from;
                learnt.push(Learnt { base: base.clone(), block, tick, warp, lanes: vec![lanes] });
            }
        }
    }

    /// What a lane knew when it released it.
    pub fn known(&self, lane: u8) -> Knowledge {
        let mut more = Knowledge::of_all(self.apart.as_ref().map_or(0, |apart| apart.up_to));
        for own in self.apart.iter().flat_map(|apart| &apart.learnt) {
            for &(_, of) in own.lanes.iter().filter(|(l, _)| *l == lane) {
                more.add(own.block, &Arc::new(Entry::new(&own.base, own.warp, &[(of, own.tick)])));
            }
        }
        let (common, tick) = (self.common.clone(), self.tick);
        Known { common, lane, tick, lanes: SmallVec::new(), more }.knowledge()
    }

    /// Whether a thread released it, and nobody else anything by the word of a lane, at this time or before.
    pub fn is_of(&self, lane: u8, thread: Thread, tick: Tick) -> bool {
        let own = Thread { block: self.common.block, warp: self.common.warp, lane };
        own == thread && self.tick <= tick && self.joined >> lane & 1 == 0
    }

    pub fn is_narrow(&self) -> bool {
        self.narrow
    }

    pub fn is_by(&self, block: u32) -> bool {
        self.common.block == block
    }

    /// Whether only this block released anything by the word of a lane.
    pub fn is_only_of(&self, lane: u8, block: u32) -> bool {
        self.several >> lane & 1 == 0 && self.common.block == block
    }

    /// What a block learns that reads the word of a lane; `narrowly`: with the scope of a block.
    pub fn known_by(&self, lane: u8, block: u32, narrowly: bool) -> Knowledge {
        let learns = match self.narrow {
            true => self.common.block == block,
            false => !narrowly || self.is_only_of(lane, block),
        };
        if learns { self.known(lane) } else { Knowledge::default() }
    }

    /// The same in the form that anything has.
    pub fn variable(&self, lane: u8) -> SyncVariable {
        let several = self.several >> lane & 1 != 0;
        SyncVariable::of(self.common.block, self.narrow, &self.known(lane), several)
    }
}
