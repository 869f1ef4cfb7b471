// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was done to a block's shared memory since all of its threads met: a *round*. It is kept, and looked at one by one
//! only if a table of who accessed what ([`super::table`]) cannot rule out that something races.
//!
//! Invariant: while accesses are kept, no clock of the block learns anything, and nothing that is kept races. So a look at
//! them later finds what a look at once would have found; and once every thread of the block comes after all of them,
//! they race with nothing.

use std::sync::Arc;

use margay_exec::fault::Access;
use margay_exec::observe::{AccessEvent, PatternedEvent};

use super::order::Tick;
use super::table::{Effect, Party, Run, Table};

/// Accesses that are kept of a block, and those of them that have no pattern, and those that bring values.
const MOST: usize = 1 << 14;
const MOST_SPREAD: usize = 1 << 11;
const MOST_VALUES: usize = 1 << 12;

/// Where the lanes access.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// From a base on, after the steps of an instruction of compiled code, whose number this is.
    Steps { site: u64, base: u64, factor: u64 },
    /// At these addresses.
    Spread(u32),
}

/// One warp's access.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub place: Place,
    pub pc: u32,
    pub party: Party,
    pub access: Access,
    pub stamp: Tick,
    /// What it stores, by number.
    values: u32,
}

/// No values.
const NONE: u32 = u32::MAX;

/// How far the accesses of a round were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Looked {
    /// None was.
    #[default]
    Nothing,
    /// Reads alone were: further ones need not be.
    Reads,
    /// What wrote was too, or something else may at any time. So is all that follows.
    All,
}

/// See the module's header.
#[derive(Debug)]
pub struct Round {
    list: Vec<Kept>,
    spread: Vec<[u64; 32]>,
    values: Vec<[u64; 32]>,
    looked: Looked,
    /// Something that is kept writes, and the table has all that is kept.
    writes: bool,
    /// Made when something writes.
    table: Option<Table>,
    bytes: u64,
    unit: u32,
    lockstep: bool,
}

/// Accesses that were kept and are to be looked at.
pub struct Past {
    pub list: Vec<Kept>,
    spread: Vec<[u64; 32]>,
    values: Vec<[u64; 32]>,
}

impl Past {
    /// Where each lane accesses, if that is not by steps.
    pub fn spread(&self, number: u32) -> Option<[u64; 32]> {
        self.spread.get(number as usize).copied()
    }

    /// What each lane stores, if that is known.
    pub fn values(&self, kept: &Kept) -> Option<&[u64; 32]> {
        self.values.get(kept.values as usize)
    }
}

impl Round {
    /// For a block with so much shared memory, no access to which has less than `1 << unit` bytes. `lockstep`: lanes of a
    /// warp are ordered by being in one.
    pub fn new(bytes: u64, unit: u32, lockstep: bool) -> Round {
        Round {
            list: Vec::new(),
            spread: Vec::new(),
            values: Vec::new(),
            looked: Looked::Nothing,
            writes: false,
            table: None,
            bytes,
            unit,
            lockstep,
        }
    }

    /// Every thread of the block comes after all that was done, or the block is another. `open`: what is not of the block
    /// may access its memory at any time.
    pub fn begin(&mut self, open: bool) {
        self.list.clear();
        self.spread.clear();
        self.values.clear();
        if self.writes
            && let Some(table) = &mut self.table
        {
            table.clear();
        }
        self.writes = false;
        self.looked = if open { Looked::All } else { Looked::Nothing };
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// An access is looked at, not kept.
    pub fn pass(&mut self, writes: bool) {
        self.looked = match (writes, self.looked) {
            (false, Looked::Nothing | Looked::Reads) => Looked::Reads,
            (true, _) | (false, Looked::All) => Looked::All,
        };
    }

    /// Hands over what is kept, to be looked at.
    pub fn take(&mut self) -> Past {
        let list = std::mem::take(&mut self.list);
        let (spread, values) = (std::mem::take(&mut self.spread), std::mem::take(&mut self.values));
        if !list.is_empty() {
            self.pass(self.writes);
        }
        if self.writes
            && let Some(table) = &mut self.table
        {
            table.clear();
        }
        self.writes = false;
        Past { list, spread, values }
    }

    /// Takes the memory of lists back.
    pub fn give_back(&mut self, past: Past) {
        let Past { list, spread, values } = past;
        if self.list.is_empty() {
            (self.list, self.spread, self.values) = (list, spread, values);
            (self.list.clear(), self.spread.clear(), self.values.clear());
        }
    }

    /// Keeps an access of compiled code whose steps these are; `known` finds those of others. False if it may race, or
    /// there is no room.
    #[inline]
    pub fn keep(
        &mut self,
        event: &PatternedEvent<'_>,
        effect: Effect,
        stamp: Tick,
        steps: &Steps,
        known: impl Fn(u64) -> Option<Arc<Steps>>,
    ) -> bool {
        if !self.has_room(effect, event.values.is_some()) {
            return false;
        }
        let PatternedEvent { at, site, base, bytes, mask, second, access, .. } = *event;
        let factor = second.map_or(0, |(_, of)| of);
        let party = Party { warp: at.warp as u16, mask, bytes, effect };
        if (effect != Effect::Read || self.writes)
            && !(self.catch_up(known)
                && self.table.as_mut().is_some_and(|t| steps.enter(t, base, factor, &party)))
        {
            return false;
        }
        let values = self.keep_values(event.values);
        let place = Place::Steps { site, base, factor };
        self.list.push(Kept { place, pc: at.pc, party, access, stamp, values });
        true
    }

    /// The same where addresses follow from nothing.
    pub fn keep_spread(
        &mut self,
        event: &AccessEvent<'_>,
        effect: Effect,
        stamp: Tick,
        known: impl Fn(u64) -> Option<Arc<Steps>>,
    ) -> bool {
        if !self.has_room(effect, event.values.is_some()) || self.spread.len() >= MOST_SPREAD {
            return false;
        }
        let AccessEvent { at, bytes, mask, access, addresses, .. } = *event;
        let party = Party { warp: at.warp as u16, mask, bytes, effect };
        if (effect != Effect::Read || self.writes)
            && !(self.catch_up(known)
                && self.table.as_mut().is_some_and(|t| t.spread(addresses, &party)))
        {
            return false;
        }
        let values = self.keep_values(event.values);
        let place = Place::Spread(self.spread.len() as u32);
        self.spread.push(*addresses);
        self.list.push(Kept { place, pc: at.pc, party, access, stamp, values });
        true
    }

    fn has_room(&self, effect: Effect, values: bool) -> bool {
        let open = match self.looked {
            Looked::Nothing => true,
            Looked::Reads => effect == Effect::Read,
            Looked::All => false,
        };
        open && self.list.len() < MOST && !(values && self.values.len() >= MOST_VALUES)
    }

    fn keep_values(&mut self, values: Option<&[u64; 32]>) -> u32 {
        let Some(values) = values else { return NONE };
        self.values.push(*values);
        self.values.len() as u32 - 1
    }

    /// Has the table know of all that is kept, from now on.
    #[inline]
    fn catch_up(&mut self, known: impl Fn(u64) -> Option<Arc<Steps>>) -> bool {
        self.writes || self.fill(known)
    }

    #[cold]
    fn fill(&mut self, known: impl Fn(u64) -> Option<Arc<Steps>>) -> bool {
        let make = || Table::new(self.bytes, self.unit, self.lockstep);
        let table = self.table.get_or_insert_with(make);
        self.writes = true;
        self.list.iter().all(|kept| match kept.place {
            Place::Steps { site, base, factor } => {
                known(site).is_some_and(|steps| steps.enter(table, base, factor, &kept.party))
            }
            Place::Spread(n) => table.spread(&self.spread[n as usize], &kept.party),
        })
    }
}

/// How the lanes' addresses of an instruction lie to each other.
#[derive(Clone, Debug)]
pub struct Steps {
    pattern: [i64; 32],
    second: Option<[i64; 32]>,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    /// All lanes access the same.
    Same,
    /// In few rows.
    Runs(Vec<Run>),
    Other,
}

/// Rows of lanes that are entered as such.
const MOST_RUNS: usize = 4;

impl Shape {
    fn of(pattern: &[i64; 32], bytes: u32) -> Shape {
        if pattern.iter().all(|&step| step == pattern[0]) {
            return Shape::Same;
        }
        let mut runs: Vec<Run> = Vec::new();
        for lane in 0..32u8 {
            let follows = |run: &Run| {
                let last = usize::from(run.first + run.lanes) - 1;
                pattern[usize::from(lane)] - pattern[last] == i64::from(bytes)
            };
            match runs.last_mut().filter(|run| follows(run)) {
                Some(run) => run.lanes += 1,
                None => runs.push(Run { first: lane, lanes: 1 }),
            }
        }
        if runs.len() > MOST_RUNS { Shape::Other } else { Shape::Runs(runs) }
    }
}

impl Steps {
    pub fn of(event: &PatternedEvent<'_>) -> Steps {
        let second = event.second.map(|(factors, _)| *factors);
        let shape = match second {
            None => Shape::of(event.pattern, event.bytes),
            Some(_) => Shape::Other,
        };
        Steps { pattern: *event.pattern, second, shape }
    }

    /// Where each lane accesses.
    pub fn addresses(&self, base: u64, factor: u64) -> [u64; 32] {
        std::array::from_fn(|l| {
            let second = self.second.map_or(0, |f| (f[l] as u64).wrapping_mul(factor));
            base.wrapping_add_signed(self.pattern[l]).wrapping_add(second)
        })
    }

    /// Enters an access. False if it may race.
    #[inline]
    fn enter(&self, table: &mut Table, base: u64, factor: u64, party: &Party) -> bool {
        let at = |lane: u8| base.wrapping_add_signed(self.pattern[usize::from(lane)]);
        match &self.shape {
            Shape::Same => table.same(at(0), party),
            Shape::Runs(runs) => runs.iter().all(|&run| {
                let here = u32::MAX >> (32 - u32::from(run.lanes)) << run.first;
                party.mask & here == 0 || table.run(at(run.first), run, party)
            }),
            Shape::Other => table.spread(&self.addresses(base, factor), party),
        }
    }
}
