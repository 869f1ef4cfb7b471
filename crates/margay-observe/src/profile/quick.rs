// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of compiled code that come over and over, whatever their instruction: all that is needed of one lies in a line of the
//! processor's cache, its counts too. It is found by form, lanes and base, as in a [`Memo`](super::room::Memo), which is asked
//! where this does not know.
//!
//! Invariant: what is counted here is given to the entry and the pattern before those are handed in.

use margay_arch::Kind;
use margay_exec::observe::{NotedList, PlainNote};

use super::hierarchy::{Held, Near};
use super::room::{Entry, Known, PERIOD};
use super::touches::Route;
use super::watch::Worker;

/// Places, a power of two.
const PLACES: usize = 1 << 10;

/// What is to be done for an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    /// Nothing.
    #[default]
    Count,
    /// To look it up, on a multiprocessor that has an L1: through that, past it, or as a store.
    Load,
    LoadBelow,
    Store,
    /// Where it is not modelled: to bring sectors into L2.
    Below,
    /// The same if the sample has any of them, or else others like it are to be counted in the code.
    BelowIfAny,
}

/// An access that has come, and how often it did since.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Item {
    site: u64,
    u: u64,
    /// Bases of the entry's variable: the first, and how many.
    first: u64,
    span: u64,
    /// The [`Room::generation`](super::room::Room::generation) in which it came.
    generation: u32,
    mask: u32,
    times: u32,
    /// How often all of its sectors were at hand.
    hits: u32,
    near: Near,
    way: Way,
    /// The base modulo the period.
    low: u8,
}

const _: () = assert!(size_of::<Item>() == 64);

/// Where its counts belong.
#[derive(Clone, Copy, Default)]
struct Owner {
    pc: u32,
    seen: u32,
    entry: u16,
}

/// Such accesses of all instructions.
#[derive(Default)]
pub struct Quick {
    /// None, or as many as there are places.
    items: Vec<Item>,
    owners: Vec<Owner>,
}

/// Where accesses like this one are.
#[inline(always)]
fn place(note: &PlainNote, modelled: bool) -> usize {
    let own =
        note.site ^ (note.base % PERIOD) << 48 ^ u64::from(note.mask) << 29 ^ u64::from(modelled);
    (own.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES.trailing_zeros())) as usize
}

impl Quick {
    /// Whether an access is to be remembered, which a memo knows to have come so often. Those that share a place do not drive
    /// one another out all the time.
    #[inline(always)]
    pub fn wants(&self, note: &PlainNote, modelled: bool, (times, generation): (u32, u32)) -> bool {
        let old =
            self.items.get(place(note, modelled)).is_none_or(|item| item.generation != generation);
        old || times % 8 == 7
    }

    fn renew(&mut self, at: usize, item: Item, owner: Owner, sites: &mut [Vec<Entry>]) {
        if self.items.is_empty() {
            self.items.resize(PLACES, Item::default());
            self.owners.resize(PLACES, Owner::default());
        }
        let (old, own) = (&mut self.items[at], &mut self.owners[at]);
        old.settle(own, sites);
        (*old, *own) = (item, owner);
    }

    /// Whether an access is known here.
    #[inline(always)]
    pub fn knows(&self, note: &PlainNote, modelled: bool, generation: u32) -> bool {
        self.items.get(place(note, modelled)).is_some_and(|item| item.is(note, generation))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.items.fill(Item::default());
    }

    /// Bytes of its room.
    pub fn bytes(&self) -> usize {
        self.items.len() * (size_of::<Item>() + size_of::<Owner>())
    }

    /// Gives what was counted to whom it belongs, by instruction.
    pub fn settle(&mut self, sites: &mut [Vec<Entry>]) {
        for (item, owner) in self.items.iter_mut().zip(&self.owners) {
            item.settle(owner, sites);
        }
    }
}

impl Item {
    #[inline(always)]
    fn is(&self, note: &PlainNote, generation: u32) -> bool {
        let differs = (self.generation ^ generation) | (self.mask ^ note.mask);
        let differs = (self.site ^ note.site) | (self.u ^ note.u) | u64::from(differs);
        let inside = note.base.wrapping_sub(self.first) < self.span;
        differs == 0 && self.low == note.base as u8 && inside
    }

    fn settle(&mut self, owner: &Owner, sites: &mut [Vec<Entry>]) {
        let (times, hits) = (std::mem::take(&mut self.times), std::mem::take(&mut self.hits));
        if times == 0 {
            return;
        }
        let entries = sites.get_mut(owner.pc as usize);
        let Some(entry) = entries.and_then(|all| all.get_mut(usize::from(owner.entry))) else {
            return;
        };
        entry.executions += u64::from(times);
        entry.lanes += u64::from(times) * u64::from(self.mask.count_ones());
        entry.caches.l1_hits += u64::from(hits) * u64::from(self.near.sectors());
        if let Some(seen) = entry.patterns.seen.get_mut(owner.seen as usize) {
            seen.count += u64::from(times);
        }
    }
}

impl Worker<'_, '_> {
    /// Passes accesses as long as they are known here. Whether any was.
    #[inline(always)]
    pub(super) fn pass_quickly(&mut self, accesses: &mut NotedList<'_>) -> bool {
        let modelled = self.launch.caches.models(accesses.smid);
        let (mut lock, mut any) = (None, false);
        let mut held = Held::new(&self.launch.caches, &mut self.l1, accesses.smid, &mut lock);
        let (generation, sites) = (self.room.generation, &mut self.room.sites);
        let Quick { items, owners } = &mut self.room.quick;
        while let Some(note) = accesses.plain() {
            let at = place(&note, modelled);
            let Some(item) = items.get_mut(at) else { return any };
            if !item.is(&note, generation) || item.times == u32::MAX {
                return any;
            }
            let from = (note.base & !(PERIOD - 1), &item.near);
            match item.way {
                Way::Count => {}
                Way::Load | Way::LoadBelow if modelled => {
                    let owner = owners[at];
                    let entries = sites.get_mut(owner.pc as usize);
                    let entry = entries.and_then(|all| all.get_mut(usize::from(owner.entry)));
                    let Some(entry) = entry else { return any };
                    let at_hand = held.load(item.way == Way::Load, from, &mut entry.caches);
                    item.hits += u32::from(at_hand);
                }
                Way::Store if modelled => held.store(from),
                Way::Below | Way::BelowIfAny if !modelled => {
                    if !held.below(from) && item.way == Way::BelowIfAny {
                        return any;
                    }
                }
                Way::Load | Way::LoadBelow | Way::Store | Way::Below | Way::BelowIfAny => {
                    return any;
                }
            }
            item.times += 1;
            any = true;
            accesses.pass();
        }
        any
    }

    /// [`Worker::pass_quickly`], compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn pass_quickly_wide(&mut self, accesses: &mut NotedList<'_>) -> bool {
        self.pass_quickly(accesses)
    }

    /// An access was counted as one that a memo knows: it may be passed quickly when it comes again.
    #[cold]
    pub(super) fn expect_again(
        &mut self,
        note: &PlainNote,
        (pc, known): (u32, &Known),
        (modelled, counts): (bool, bool),
    ) {
        let Some(entry) = self.room.sites[pc as usize].get(usize::from(known.entry)) else {
            return;
        };
        let way = match (entry.route, entry.site.kind) {
            (Route::Nowhere, _) if !counts => Way::Count,
            (Route::Global { .. }, Kind::Load | Kind::Store) if !modelled && counts => {
                Way::BelowIfAny
            }
            (Route::Global { .. }, Kind::Load | Kind::Store) if !modelled => Way::Below,
            (Route::Global { cached: true }, Kind::Load) => Way::Load,
            (Route::Global { cached: false }, Kind::Load) => Way::LoadBelow,
            (Route::Global { .. }, Kind::Store) => Way::Store,
            (Route::Nowhere | Route::Local { .. } | Route::Constant, _)
            | (Route::Global { .. }, Kind::Atomic(_) | Kind::Reduction(_)) => return,
        };
        let near = match way {
            Way::Count => Some(Near::default()),
            Way::Load | Way::LoadBelow | Way::Store | Way::Below | Way::BelowIfAny => {
                let (own, lead) =
                    (note.base & !(PERIOD - 1), note.base.wrapping_add_signed(known.lead));
                let more = own.wrapping_sub(lead & !(PERIOD - 1)) as i64;
                let list = known.few.get(..known.touches.into());
                list.and_then(|list| Near::of(list, more))
            }
        };
        let Some(near) = near else { return };
        let item = Item {
            site: note.site,
            u: note.u,
            first: entry.lo.wrapping_sub(known.lead as u64),
            span: entry.hi - entry.lo,
            generation: self.room.generation,
            mask: note.mask,
            times: 0,
            hits: 0,
            near,
            way,
            low: note.base as u8,
        };
        let owner = Owner { pc, seen: known.seen, entry: known.entry };
        self.room.quick.renew(place(note, modelled), item, owner, &mut self.room.sites);
    }
}
