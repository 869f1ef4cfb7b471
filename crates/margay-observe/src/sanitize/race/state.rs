// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the check knows of a block that runs.

use std::sync::Arc;

use parking_lot::RwLock;
use smallvec::SmallVec;

use super::order::{Block, Tick, Time, UsedStamps};
use super::page::Page;
use super::releases::Releases;
use super::round::Round;
use super::section::Sections;
use super::shadow;
use super::slots::Past;
use super::unordered::Unordered;

/// Which stamps the warps of a block used for widened marks.
pub type Used = Arc<RwLock<UsedStamps>>;

/// A block that runs.
pub struct State {
    pub clock: Block,
    pub shared: Page,
    /// What was done to shared memory since all threads of the block met.
    pub round: Round,
    pub used: Used,
    pub unordered: Unordered,
    /// Before compute capability 7.0.
    pub sections: Sections,
    /// What the clock of the other memory is, where barriers order one kind of memory alone; and which that is.
    other: Option<Box<Other>>,
    of_shared: bool,
    /// Threads of other blocks may come to know of this one.
    learns: bool,
    /// What every warp knows of its block, and its order otherwise, as long as nobody learns anything.
    floors: Floors,
    /// What is past of the accesses of global memory.
    pub past: Arc<Past>,
    /// Its threads synchronised by words of shared memory.
    pub synchronises_by_shared: bool,
}

/// [`Block::floor`] of each warp, [`Block::is_uniform`], and [`Block::is_simple`], of one [version](Block::version).
#[derive(Default)]
struct Floors {
    version: Option<u64>,
    warps: SmallVec<[(Tick, bool); 8]>,
    simple: bool,
}

/// A second clock. OpenCL 3.0, section 3.3.4, has two orders, of local and of global memory, in which barriers count that
/// name them.
struct Other {
    clock: Block,
    used: Used,
    unordered: Unordered,
    floors: Floors,
}

impl State {
    /// A block that begins, with so much shared memory; `apart`: with an order for each kind of memory; `learns`: threads
    /// of other blocks may come to know of it.
    pub fn new(
        id: u32,
        threads: u32,
        (shared_bytes, round): (u32, Round),
        time: &Time,
        (apart, learns): (bool, bool),
    ) -> State {
        let clock = Block::new(id, threads, time);
        let past = Arc::default();
        let used = Arc::new(RwLock::new(UsedStamps::of(&past)));
        let other = apart.then(|| {
            let clock = Block::new(id, threads, time);
            let used = Used::default();
            let (unordered, floors) = (Unordered::default(), Floors::default());
            Box::new(Other { clock, used, unordered, floors })
        });
        State {
            clock,
            shared: shadow::of_shared(shared_bytes),
            round,
            used,
            unordered: Unordered::default(),
            sections: Sections::default(),
            other,
            of_shared: false,
            learns,
            floors: Floors::default(),
            past,
            synchronises_by_shared: false,
        }
    }

    /// Takes the clock of shared memory, or that of the rest.
    #[inline]
    pub fn turn_to(&mut self, shared: bool) {
        if self.of_shared != shared
            && let Some(other) = &mut self.other
        {
            self.of_shared = shared;
            std::mem::swap(&mut self.clock, &mut other.clock);
            std::mem::swap(&mut self.used, &mut other.used);
            std::mem::swap(&mut self.unordered, &mut other.unordered);
            std::mem::swap(&mut self.floors, &mut other.floors);
        }
    }

    /// Does the same to the clocks of shared memory and of the rest, or to the only one.
    pub fn each_clock(&mut self, mut change: impl FnMut(&mut Block)) {
        change(&mut self.clock);
        if let Some(other) = &mut self.other {
            change(&mut other.clock);
        }
    }

    /// The clock of shared memory, or that of the rest; of one, that.
    pub fn clock_of(&mut self, shared: bool) -> &mut Block {
        self.turn_to(shared);
        &mut self.clock
    }

    /// Whether the clock is that of shared memory alone.
    pub fn is_of_shared(&self) -> bool {
        self.of_shared
    }

    /// [`State::used`] of accesses of global memory.
    pub fn used_of_global(&mut self) -> Used {
        self.turn_to(false);
        self.used.clone()
    }

    /// Whether there are two clocks.
    pub fn is_apart(&self) -> bool {
        self.other.is_some()
    }

    /// For another block; `open`: see [`Round::begin`].
    pub fn renew(&mut self, id: u32, time: &Time, open: bool) {
        self.turn_to(false);
        self.clock.renew(id, time);
        if let Some(other) = &mut self.other {
            other.clock.renew(id, time);
            (other.used, other.unordered) = Default::default();
            other.floors.version = None;
        }
        self.shared.forget();
        self.round.begin(open);
        self.unordered = Unordered::default();
        self.sections.clear();
        self.floors.version = None;
        if !self.learns {
            // Nobody else asks for stamps, and the next block is the only one that this is kept on for.
            return self.past.renew();
        }
        // Where stamps of widened marks are kept on, or what is past, marks of the block may be looked at still.
        match Arc::get_mut(&mut self.used).map(RwLock::get_mut) {
            Some(used) if used.is_empty() => *used = UsedStamps::default(),
            Some(_) | None => self.used = Arc::default(),
        }
        match Arc::get_mut(&mut self.past) {
            Some(past) => *past = Past::default(),
            None => self.past = Arc::default(),
        }
        *self.used.write() = UsedStamps::of(&self.past);
    }

    /// What [`Block::floor`] and [`Block::is_uniform`] say, and whether threads know of each other by barriers alone.
    #[inline]
    pub fn floor(&mut self, warp: u16) -> (Tick, bool, bool) {
        let (clock, floors) = (&self.clock, &mut self.floors);
        if floors.version != Some(clock.version()) {
            floors.warps.resize(clock.warps(), (0, false));
            for (w, own) in floors.warps.iter_mut().enumerate() {
                *own = (clock.floor(w as u16), clock.is_uniform(w as u16));
            }
            (floors.version, floors.simple) = (Some(clock.version()), clock.is_simple());
            if !self.of_shared {
                let known = floors.warps.iter().map(|(floor, _)| *floor).min().unwrap_or(0);
                let none = Releases::default();
                self.past.reaches(known, if self.learns { clock.releases() } else { &none });
            }
        }
        let (floor, uniform) = floors.warps[warp as usize];
        (floor, uniform, floors.simple)
    }

    /// Notes that marks of lanes of a warp were widened.
    pub fn note(&mut self, warp: u16, mask: u32, stamp: Tick, strong: bool) {
        if self.clock.use_stamp(warp, mask, stamp, strong) && self.learns {
            self.used.write().add((warp, self.clock.warps()), strong, stamp, mask);
        }
    }
}
