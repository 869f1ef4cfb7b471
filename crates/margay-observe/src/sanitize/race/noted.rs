// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses that compiled code has noted ([`margay_exec::observe::NotedAccesses`]). Reads of shared memory are kept as it has
//! them: in most rounds nothing ever asks for them.

use std::sync::Arc;

use margay_exec::fault::Access;
use margay_exec::observe::{Noted, NotedAccesses, PatternedEvent};
use margay_ir::Space;

use super::order::{Block, Tick};
use super::round::{Kept, Steps};
use crate::sanitize::form::Form;

/// What goes short ways.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// Of the block's own shared memory.
    Read,
    Store,
    /// Of shared memory, but of places where nothing races.
    Alone,
    /// Of global memory, and how the lanes' addresses lie.
    Global(Access, Form),
}

/// A plain instruction whose lanes' addresses follow from one.
#[derive(Debug)]
pub struct Site {
    number: u64,
    pub pc: u32,
    pub bytes: u32,
    pub way: Way,
    steps: Arc<Steps>,
}

/// What the numbers of notes stand for, of one code.
#[derive(Debug)]
pub struct Sites {
    code: u64,
    /// None where an access is no plain one, or its addresses follow from two scalars.
    list: Vec<Option<Site>>,
}

impl Sites {
    /// Those of the code that has noted these; `alone` tells whether an instruction's accesses race with nothing, `steps`
    /// finds how the lanes' addresses lie, where accesses are weak.
    pub fn of(
        noted: &NotedAccesses<'_>,
        alone: impl Fn(u32) -> bool,
        mut steps: impl FnMut(&PatternedEvent<'_>) -> Option<(Arc<Steps>, Form)>,
    ) -> Sites {
        let mut site = |event: PatternedEvent<'_>| {
            let PatternedEvent { site: number, at, bytes, access, space, .. } = event;
            if access == Access::Atomic || event.second.is_some() {
                return None;
            }
            let way = |form| match (space, access) {
                (Space::Shared, _) if alone(at.pc) => Some(Way::Alone),
                (Space::Shared, Access::Read) => Some(Way::Read),
                (Space::Shared, _) => Some(Way::Store),
                (Space::Global, _) => Some(Way::Global(access, form)),
                (Space::Local | Space::Const | Space::Param | Space::Generic, _) => None,
            };
            let (steps, form) = steps(&event)?;
            Some(Site { number, pc: at.pc, bytes, way: way(form)?, steps })
        };
        let list = noted.numbers().map(|event| event.and_then(&mut site)).collect();
        Sites { code: noted.code(), list }
    }

    /// Whether the numbers are those of this code.
    pub fn are_of(&self, noted: &NotedAccesses<'_>) -> bool {
        self.code == noted.code()
    }

    /// The access that a note stands for, if there may be a short way for it.
    #[inline]
    pub fn site(&self, note: &Noted) -> Option<&Site> {
        let site = self.list.get((note.number & !Noted::VALUES) as usize)?.as_ref()?;
        // Shared memory beyond that is another block's.
        let own = note.base < 1 << 24 || matches!(site.way, Way::Global(..));
        own.then_some(site)
    }

    /// How many of these, from the first on, are reads of the block's shared memory.
    #[inline]
    pub fn reads(&self, notes: &[Noted]) -> usize {
        let reads = |note: &Noted| self.site(note).is_some_and(|s| matches!(s.way, Way::Read));
        notes.iter().position(|note| !reads(note)).unwrap_or(notes.len())
    }

    /// What a note of shared memory says, of a warp that has this stamp.
    #[inline]
    pub fn kept(&self, note: &Noted, stamp: Tick) -> Option<(Kept, &Steps)> {
        let Site { number, pc, bytes, way, ref steps } = *self.site(note)?;
        let access = match way {
            Way::Read => Access::Read,
            Way::Store => Access::Write,
            Way::Alone | Way::Global(..) => return None,
        };
        let (place, who) = ((note.base, note.mask), (note.warp as u16, stamp));
        Some((Kept::plain((number, pc, bytes, access), place, who), steps))
    }
}

/// Notes that were handed over together, or one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    from: u32,
    end: u32,
    /// Where the stamps of that time begin.
    stamps: u32,
}

impl Run {
    /// Takes what follows, if it does and its stamps are the same.
    pub fn join(&mut self, next: Run) -> bool {
        let follows = (self.end, self.stamps) == (next.from, next.stamps);
        if follows {
            self.end = next.end;
        }
        follows
    }
}

/// Notes of a round: reads.
#[derive(Debug, Default)]
pub struct Notes {
    list: Vec<Noted>,
    /// Of all of them.
    sites: Option<Arc<Sites>>,
    /// Of each warp, for each time at which they were others.
    stamps: Vec<Tick>,
    warps: usize,
}

impl Notes {
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.stamps.clear();
    }

    /// Keeps notes, all of which the sites have. `None` if others are kept that are another code's.
    pub fn add(&mut self, notes: &[Noted], sites: &Arc<Sites>, clock: &Block) -> Option<Run> {
        if !self.sites.as_ref().is_some_and(|own| Arc::ptr_eq(own, sites)) {
            if !self.list.is_empty() {
                return None;
            }
            self.sites = Some(sites.clone());
        }
        self.warps = clock.warps();
        let now = || (0..clock.warps()).map(|w| clock.stamp(w as u16));
        let last = self.stamps.len().saturating_sub(self.warps);
        if self.stamps.is_empty() || !self.stamps[last..].iter().copied().eq(now()) {
            self.stamps.extend(now());
        }
        let from = self.list.len() as u32;
        self.list.extend_from_slice(notes);
        let stamps = (self.stamps.len() - self.warps) as u32;
        Some(Run { from, end: self.list.len() as u32, stamps })
    }

    /// The reads of a run.
    pub fn each(&self, run: Run) -> impl Iterator<Item = Kept> + '_ {
        let notes = &self.list[run.from as usize..run.end as usize];
        let stamps = &self.stamps[run.stamps as usize..][..self.warps];
        let sites = self.sites.as_deref();
        notes.iter().filter_map(move |note| {
            let stamp = stamps.get(note.warp as usize).copied()?;
            sites?.kept(note, stamp).map(|(kept, _)| kept)
        })
    }
}
