// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was done to a block's shared memory since all of its threads met: a *round*. It is kept, and looked at one by one
//! only if a table of who accessed what ([`super::table`]) cannot rule out that something races.
//!
//! Invariant: while accesses are kept, no clock of the block learns anything, and nothing that is kept races. So a look at
//! them later finds what a look at once would have found; and once every thread of the block comes after all of them,
//! they race with nothing.

use std::sync::Arc;

use margay_exec::fault::Access;
use margay_exec::observe::{AccessEvent, Noted, PatternedEvent};

use super::look::hashes;
use super::noted::{Notes, Run as Reads, Sites};
use super::order::{Block, Tick};
use super::table::{Effect, Party, Run, Spread, Table};

/// Accesses that are kept of a block; those of them that have no pattern, and those that bring values.
const MOST: usize = 1 << 14;
const MOST_SPREAD: usize = 1 << 11;
const MOST_VALUES: usize = 1 << 10;

/// Where the lanes access.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// From a base on, after the steps of an instruction of compiled code, whose number this is.
    Steps { site: u64, base: u64 },
    /// At addresses of a list.
    Spread(u64),
}

/// One warp's access. There may be many.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// 0: at the addresses whose number `base` is.
    site: u64,
    base: u64,
    pub pc: u32,
    pub stamp: Tick,
    pub mask: u32,
    pub bytes: u32,
    /// What it stores, by number.
    values: u16,
    pub warp: u16,
    effect: Effect,
    pub access: Access,
}

/// What a list has.
#[derive(Clone, Copy, Debug)]
enum Entry {
    One(Kept),
    /// Reads as compiled code noted them.
    Noted(Reads),
}

impl Kept {
    /// A load or a store of an instruction of compiled code, which has this number.
    pub fn plain(
        (site, pc, bytes, access): (u64, u32, u32, Access),
        (base, mask): (u64, u32),
        (warp, stamp): (u16, Tick),
    ) -> Kept {
        let effect = if access == Access::Read { Effect::Read } else { Effect::Write };
        Kept { site, base, pc, stamp, mask, bytes, values: NONE, warp, effect, access }
    }

    pub fn place(&self) -> Place {
        match self.site {
            0 => Place::Spread(self.base),
            site => Place::Steps { site, base: self.base },
        }
    }

    fn party(&self) -> Party {
        Party { warp: self.warp, mask: self.mask, bytes: self.bytes, effect: self.effect }
    }
}

/// No values.
const NONE: u16 = u16::MAX;

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
    list: Vec<Entry>,
    /// What runs of the list have.
    noted: Notes,
    /// In units.
    spread: Vec<[u16; 32]>,
    values: Vec<[u16; 32]>,
    looked: Looked,
    /// Something that is kept writes, and the table has all that is kept.
    writes: bool,
    /// Made when something writes.
    table: Option<Table>,
    bytes: u64,
    unit: u32,
    lockstep: bool,
    /// How many accesses are kept at most, without a pattern, and with values.
    most: [usize; 3],
}

/// Accesses that were kept and are to be looked at.
pub struct Past {
    list: Vec<Entry>,
    noted: Notes,
    spread: Vec<[u16; 32]>,
    unit: u32,
    values: Vec<[u16; 32]>,
    long: bool,
}

/// Each access of a list, in order.
fn each<'a>(list: &'a [Entry], noted: &'a Notes) -> impl Iterator<Item = Kept> + 'a {
    list.iter().flat_map(|entry| {
        let (one, reads) = match *entry {
            Entry::One(kept) => (Some(kept), None),
            Entry::Noted(run) => (None, Some(run)),
        };
        one.into_iter().chain(reads.into_iter().flat_map(|run| noted.each(run)))
    })
}

impl Past {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// In their order.
    pub fn accesses(&self) -> impl Iterator<Item = Kept> + '_ {
        each(&self.list, &self.noted)
    }

    /// Where each lane accesses, if that is not by steps.
    pub fn spread(&self, number: u64) -> Option<[u64; 32]> {
        self.spread.get(number as usize).map(|all| all.map(|n| u64::from(n) << self.unit))
    }

    /// What each lane stores, as marks have it, if that is known.
    pub fn values(&self, kept: &Kept) -> Option<&[u16; 32]> {
        self.values.get(usize::from(kept.values))
    }
}

impl Round {
    /// For a block with so much shared memory, no access to which has less than `1 << unit` bytes. `lockstep`: lanes of a
    /// warp are ordered by being in one.
    pub fn new(bytes: u64, unit: u32, lockstep: bool) -> Round {
        // Fewer where cells, which they are kept beside while they are looked at, are those of bytes.
        let fewer = [32, 4, 1][unit.min(2) as usize];
        let most = [MOST, MOST_SPREAD, MOST_VALUES].map(|most| most / fewer);
        Round {
            list: Vec::new(),
            noted: Notes::default(),
            spread: Vec::new(),
            values: Vec::new(),
            looked: Looked::Nothing,
            writes: false,
            table: None,
            bytes,
            unit,
            lockstep,
            most,
        }
    }

    /// Every thread of the block comes after all that was done, or the block is another. `open`: what is not of the block
    /// may access its memory at any time.
    pub fn begin(&mut self, open: bool) {
        self.list.clear();
        self.noted.clear();
        self.spread.clear();
        self.values.clear();
        self.clear_table();
        self.looked = if open { Looked::All } else { Looked::Nothing };
    }

    fn clear_table(&mut self) {
        if std::mem::take(&mut self.writes)
            && let Some(table) = &mut self.table
        {
            table.clear();
        }
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
        // A round that is too long for a list is none for a table: its memory is wanted for the look.
        let long = self.is_long();
        let (list, noted) = (std::mem::take(&mut self.list), std::mem::take(&mut self.noted));
        let (spread, values) = (std::mem::take(&mut self.spread), std::mem::take(&mut self.values));
        if !list.is_empty() {
            self.pass(self.writes);
        }
        if long {
            self.table = None;
        }
        self.clear_table();
        Past { list, noted, spread, unit: self.unit, values, long }
    }

    /// Takes the memory of lists back, unless they grew long.
    pub fn give_back(&mut self, past: Past) {
        let Past { mut list, mut noted, mut spread, mut values, long, .. } = past;
        if self.list.is_empty() && !long {
            list.clear();
            noted.clear();
            spread.clear();
            values.clear();
            (self.list, self.noted, self.spread, self.values) = (list, noted, spread, values);
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
        let PatternedEvent { at, site, base, bytes, mask, access, values, .. } = *event;
        let (pc, warp) = (at.pc, at.warp as u16);
        let kept = Kept { site, base, pc, stamp, mask, bytes, values: NONE, warp, effect, access };
        let enter = |table: &mut Table| steps.enter(table, base, &kept.party());
        if event.second.is_some() || !self.admits(&kept, enter, known) {
            return false;
        }
        let values = self.keep_values(values);
        self.list.push(Entry::One(Kept { values, ..kept }));
        true
    }

    /// Keeps the reads that these notes begin with, as far as they surely race with nothing. Returns how many.
    pub fn keep_reads(&mut self, notes: &[Noted], sites: &Arc<Sites>, clock: &Block) -> usize {
        if !self.has_room(Effect::Read) {
            return 0;
        }
        let room = self.most[0] - self.len();
        let notes = &notes[..sites.reads(&notes[..notes.len().min(room)])];
        if notes.is_empty() {
            return 0;
        }
        if !self.writes {
            // Nothing asks for them unless something writes.
            let Some(run) = self.noted.add(notes, sites, clock) else { return 0 };
            let joins = match self.list.last_mut() {
                Some(Entry::Noted(last)) => last.join(run),
                Some(Entry::One(_)) | None => false,
            };
            if !joins {
                self.list.push(Entry::Noted(run));
            }
            return notes.len();
        }
        let Some(table) = &mut self.table else { return 0 };
        let list = &mut self.list;
        let races = notes.iter().position(|note| {
            let Some((kept, steps)) = sites.kept(note, clock.stamp(note.warp as u16)) else {
                return true;
            };
            let done = steps.enter(table, note.base, &kept.party());
            if done {
                list.push(Entry::One(kept));
            }
            !done
        });
        races.unwrap_or(notes.len())
    }

    /// Keeps a store that compiled code has noted. False if it is none of the block's memory, or may race, or there is no
    /// room.
    pub fn keep_store(
        &mut self,
        (note, values): (&Noted, Option<&[u64; 32]>),
        sites: &Sites,
        stamp: Tick,
        known: impl Fn(u64) -> Option<Arc<Steps>>,
    ) -> bool {
        let Some((kept, steps)) = sites.kept(note, stamp) else { return false };
        let enter = |table: &mut Table| steps.enter(table, note.base, &kept.party());
        if kept.access != Access::Write || !self.admits(&kept, enter, known) {
            return false;
        }
        let values = self.keep_values(values);
        self.list.push(Entry::One(Kept { values, ..kept }));
        true
    }

    /// How many accesses are kept.
    fn len(&self) -> usize {
        self.list.len() + self.noted.len()
    }

    /// The same where addresses follow from nothing.
    pub fn keep_spread(
        &mut self,
        event: &AccessEvent<'_>,
        effect: Effect,
        stamp: Tick,
        known: impl Fn(u64) -> Option<Arc<Steps>>,
    ) -> bool {
        let AccessEvent { at, bytes, mask, access, addresses, values, .. } = *event;
        let (pc, warp, base) = (at.pc, at.warp as u16, self.spread.len() as u64);
        let kept =
            Kept { site: 0, base, pc, stamp, mask, bytes, values: NONE, warp, effect, access };
        let enter = |table: &mut Table| table.spread(&Spread::at(addresses), &kept.party());
        let narrow = self.bytes >> self.unit <= 1 << 16;
        if !narrow || !self.admits(&kept, enter, known) {
            return false;
        }
        let values = self.keep_values(values);
        self.spread.push(addresses.map(|a| (a >> self.unit) as u16));
        self.list.push(Entry::One(Kept { values, ..kept }));
        true
    }

    /// Whether an access may be kept, which `enter` enters in the table.
    #[inline]
    fn admits(
        &mut self,
        kept: &Kept,
        enter: impl FnOnce(&mut Table) -> bool,
        known: impl Fn(u64) -> Option<Arc<Steps>>,
    ) -> bool {
        if !self.has_room(kept.effect) {
            return false;
        }
        if kept.effect == Effect::Read && !self.writes {
            return true;
        }
        (self.writes || self.fill(known)) && self.table.as_mut().is_some_and(enter)
    }

    fn has_room(&self, effect: Effect) -> bool {
        let open = match self.looked {
            Looked::Nothing => true,
            Looked::Reads => effect == Effect::Read,
            Looked::All => false,
        };
        open && !self.is_long()
    }

    /// Whether a list is full.
    fn is_long(&self) -> bool {
        let [all, spread, values] = self.most;
        self.len() >= all || self.spread.len() >= spread || self.values.len() >= values
    }

    fn keep_values(&mut self, values: Option<&[u64; 32]>) -> u16 {
        let Some(values) = values else { return NONE };
        self.values.push(hashes(values));
        self.values.len() as u16 - 1
    }

    /// Has the table know of all that is kept, from now on.
    #[cold]
    fn fill(&mut self, known: impl Fn(u64) -> Option<Arc<Steps>>) -> bool {
        let make = || Table::new(self.bytes, self.unit, self.lockstep);
        let table = self.table.get_or_insert_with(make);
        self.writes = true;
        each(&self.list, &self.noted).all(|kept| match kept.place() {
            Place::Steps { site, base } => {
                known(site).is_some_and(|steps| steps.enter(table, base, &kept.party()))
            }
            Place::Spread(n) => {
                let addresses = self.spread[n as usize].map(|n| u64::from(n) << self.unit);
                table.spread(&Spread::at(&addresses), &kept.party())
            }
        })
    }
}

/// How the lanes' addresses of an instruction lie to each other.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Of each lane from a base on, which wraps.
    steps: [u64; 32],
    shape: Shape,
    /// No two lanes begin at one address.
    apart: bool,
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
    /// Those of an access whose addresses follow from one.
    pub fn of(event: &PatternedEvent<'_>) -> Steps {
        let steps = event.pattern.map(|step| step as u64);
        let mut sorted = steps;
        sorted.sort_unstable();
        let apart = sorted.windows(2).all(|two| two[0] != two[1]);
        Steps { steps, shape: Shape::of(event.pattern, event.bytes), apart }
    }

    /// Where each lane accesses.
    pub fn addresses(&self, base: u64) -> [u64; 32] {
        self.steps.map(|step| base.wrapping_add(step))
    }

    /// Enters an access. False if it may race.
    #[inline]
    pub fn enter(&self, table: &mut Table, base: u64, party: &Party) -> bool {
        let at = |lane: u8| base.wrapping_add(self.steps[usize::from(lane)]);
        match &self.shape {
            Shape::Same => table.same(at(0), party),
            Shape::Runs(runs) => runs.iter().all(|&run| {
                let here = u32::MAX >> (32 - u32::from(run.lanes)) << run.first;
                party.mask & here == 0 || table.run(at(run.first), run, party)
            }),
            Shape::Other => {
                let (addresses, apart) = (&self.steps, self.apart);
                table.spread(&Spread { addresses, base, apart }, party)
            }
        }
    }
}
