// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lanes of a warp released by one instruction, which they mostly have in common.

use std::sync::Arc;

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
}

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

    /// Whether lanes can have it in common with others.
    fn is_alike(&self) -> bool {
        let one = |entry: &Entry| entry.of_one_lane().is_some();
        self.lanes.is_empty()
            && self.more.few().is_some_and(|list| list.iter().all(|own| one(&own.1)))
    }
}

/// What lanes learnt each of another lane of a warp. As warps go hand in hand, one mostly stands for all lanes.
#[derive(Debug)]
struct Learnt {
    base: Arc<Base>,
    block: u32,
    tick: Tick,
    warp: u16,
    /// Which of which, in order.
    lanes: Vec<(u8, u8)>,
}

/// What lanes of a warp released by one instruction.
#[derive(Debug)]
pub struct Released {
    common: Arc<Common>,
    /// What the lanes knew apart from each other. A box, as hardly any did.
    #[allow(clippy::box_collection)]
    learnt: Option<Box<Vec<Learnt>>>,
    tick: Tick,
    /// Lanes by whose words others had released something, of which these have all.
    several: u32,
    /// Words that have it.
    words: u32,
    /// For the block alone.
    narrow: bool,
}

impl Released {
    /// What one lane released; nothing if that has another form. `several`: others did before, by the same word.
    pub fn new(known: &Known, narrow: bool, several: bool) -> Option<Released> {
        if !known.is_alike() {
            return None;
        }
        let (common, tick) = (known.common.clone(), known.tick);
        let mut released = Released { common, learnt: None, tick, several: 0, words: 0, narrow };
        released.enter(known, several);
        Some(released)
    }

    /// Adds what another lane of the same instruction released. Returns whether that has this form.
    pub fn add(&mut self, known: &Known, narrow: bool, several: bool) -> bool {
        let same = Arc::ptr_eq(&self.common, &known.common)
            && (self.tick, self.narrow) == (known.tick, narrow)
            && known.is_alike();
        if same {
            self.enter(known, several);
        }
        same
    }

    /// One word less has it. Whether one is left.
    pub fn leave(&mut self) -> bool {
        self.words -= 1;
        self.words > 0
    }

    fn enter(&mut self, known: &Known, several: bool) {
        self.words += 1;
        self.several |= u32::from(several) << known.lane;
        for (block, entry) in known.more.few().unwrap_or_default() {
            let Some((base, (warp, of, tick))) = entry.of_one_lane() else { continue };
            let learnt = self.learnt.get_or_insert_default();
            let mut alike = learnt.iter_mut().rev();
            let alike = alike.find(|own| {
                (own.block, own.warp, own.tick) == (*block, warp, tick)
                    && Arc::ptr_eq(&own.base, base)
            });
            match alike {
                Some(own) => {
                    if own.lanes.len() == own.lanes.capacity() {
                        own.lanes.reserve_exact(own.lanes.len().clamp(3, 8));
                    }
                    own.lanes.push((known.lane, of));
                }
                None => {
                    if learnt.len() == learnt.capacity() {
                        learnt.reserve_exact(learnt.len().max(1));
                    }
                    let (base, block, lanes) = (base.clone(), *block, vec![(known.lane, of)]);
                    learnt.push(Learnt { base, block, tick, warp, lanes });
                }
            }
        }
    }

    /// What a lane knew when it released it.
    pub fn known(&self, lane: u8) -> Knowledge {
        let mut more = Knowledge::default();
        for own in self.learnt.iter().flat_map(|learnt| learnt.iter()) {
            for &(_, of) in own.lanes.iter().filter(|(l, _)| *l == lane) {
                more.add(own.block, &Arc::new(Entry::new(&own.base, own.warp, &[(of, own.tick)])));
            }
        }
        let (common, tick) = (self.common.clone(), self.tick);
        Known { common, lane, tick, lanes: SmallVec::new(), more }.knowledge()
    }

    /// Whether a thread released it, at this time or before.
    pub fn is_of(&self, lane: u8, thread: Thread, tick: Tick) -> bool {
        let own = Thread { block: self.common.block, warp: self.common.warp, lane };
        own == thread && self.tick <= tick
    }

    pub fn is_narrow(&self) -> bool {
        self.narrow
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
