// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a launch or a copy touched, byte by byte, and whether two of them race.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::sanitize::finding::{Actor, Source};
use crate::tool::{CommandQueue, Order};

/// Bytes of a page of a footprint.
pub const PAGE: u64 = 4096;
/// A bit for each byte of a page.
type Bits = [u64; (PAGE / 64) as usize];

/// How a byte is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Atomic,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Atomic];

    pub fn races(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::Read, Kind::Read) | (Kind::Atomic, Kind::Atomic) => false,
            (Kind::Write, _) | (_, Kind::Write) => true,
            (Kind::Read, Kind::Atomic) | (Kind::Atomic, Kind::Read) => true,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Atomic => "atomic",
        }
    }
}

/// Where in a kernel a page was first touched in some way.
#[derive(Clone, Debug)]
pub struct Place {
    pub pc: u32,
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

/// A page of a launch's footprint: by kind, the bytes and a place.
#[derive(Clone, Debug, Default)]
pub struct Page(pub [Option<Box<(Bits, Place)>>; 3]);

impl Page {
    /// `bytes` bytes (at least one) of the page from `from` on are touched.
    pub fn add(&mut self, kind: Kind, from: u64, bytes: u64, place: impl FnOnce() -> Place) {
        let empty = || Box::new(([0; (PAGE / 64) as usize], place()));
        let (bits, _) = &mut **self.0[kind as usize].get_or_insert_with(empty);
        let end = from + bytes;
        let mut at = from;
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let here = (end - at).min(64 - bit);
            bits[word as usize] |= (u64::MAX >> (64 - here)) << bit;
            at += here;
        }
    }

    pub fn join(&mut self, other: Page) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            match (mine, theirs) {
                (mine @ None, theirs) => *mine = theirs,
                (Some(mine), Some(theirs)) => {
                    mine.0.iter_mut().zip(theirs.0).for_each(|(m, t)| *m |= t);
                }
                (Some(_), None) => {}
            }
        }
    }
}

/// What was touched.
#[derive(Clone, Debug)]
pub enum Touched {
    Launch {
        kernel: String,
        pages: BTreeMap<u64, Page>,
        sources: BTreeMap<u32, Source>,
    },
    /// Bytes that something else reads or writes.
    Bytes(By, Vec<(Kind, Range<u64>)>),
}

/// What touches bytes, beside launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A copy or a fill.
    Copy,
    /// Memory is a stream's to use from its allocation there on, and until it is freed there: both are as writes of all of it.
    Allocation,
    Free,
}

#[derive(Clone, Debug)]
pub struct Footprint {
    pub order: Order,
    pub stream: u64,
    pub touched: Touched,
}

/// A byte that both touched, and how.
pub struct Clash {
    pub address: u64,
    pub mine: Kind,
    pub theirs: Kind,
}

impl Clash {
    /// As the other side sees it.
    pub fn turned(self) -> Clash {
        Clash { address: self.address, mine: self.theirs, theirs: self.mine }
    }
}

impl Footprint {
    pub fn pages(&self) -> usize {
        match &self.touched {
            Touched::Launch { pages, .. } => pages.len(),
            Touched::Bytes(..) => 0,
        }
    }

    /// The lowest byte for which the two race.
    pub fn clash(&self, other: &Footprint) -> Option<Clash> {
        match (&self.touched, &other.touched) {
            (Touched::Launch { pages: mine, .. }, Touched::Launch { pages: theirs, .. }) => {
                mine.iter().find_map(|(&number, page)| {
                    let other = theirs.get(&number)?;
                    Kind::ALL.iter().find_map(|&a| {
                        Kind::ALL.iter().filter(|b| a.races(**b)).find_map(|&b| {
                            let (x, y) =
                                (page.0[a as usize].as_ref()?, other.0[b as usize].as_ref()?);
                            let both = |n: &usize| x.0[*n] & y.0[*n] != 0;
                            let word = (0..x.0.len()).find(both)?;
                            let bit = (x.0[word] & y.0[word]).trailing_zeros();
                            let address = number * PAGE + word as u64 * 64 + u64::from(bit);
                            Some(Clash { address, mine: a, theirs: b })
                        })
                    })
                })
            }
            (Touched::Launch { pages, .. }, Touched::Bytes(_, ranges)) => meets(pages, ranges),
            (Touched::Bytes(_, ranges), Touched::Launch { pages, .. }) => {
                meets(pages, ranges).map(Clash::turned)
            }
            (Touched::Bytes(_, mine), Touched::Bytes(_, theirs)) => {
                mine.iter().find_map(|(a, x)| {
                    theirs.iter().filter(|(b, _)| a.races(*b)).find_map(|(b, y)| {
                        let address = x.start.max(y.start);
                        let meet = address < x.end.min(y.end);
                        meet.then_some(Clash { address, mine: *a, theirs: *b })
                    })
                })
            }
        }
    }

    /// What it did, as a sentence says it, and where.
    pub fn name(&self, kind: Kind) -> String {
        let (did, place) = (kind.name(), self.place());
        match &self.touched {
            Touched::Launch { kernel, .. } => format!("{did} by `{kernel}` in {place}"),
            Touched::Bytes(By::Allocation, _) => format!("allocation in {place}"),
            Touched::Bytes(By::Free, _) => format!("free in {place}"),
            Touched::Bytes(By::Copy, ranges) if ranges.iter().all(|(k, _)| *k == Kind::Write) => {
                format!("{did} by a fill in {place}")
            }
            Touched::Bytes(By::Copy, _) => format!("{did} by a copy in {place}"),
        }
    }

    fn place(&self) -> String {
        let stream = match (self.order.commands, self.stream) {
            (Some(CommandQueue { number, in_order: true }), _) => format!("command queue {number}"),
            (Some(CommandQueue { number, in_order: false }), _) => {
                format!("command queue {number}, which is out of order")
            }
            (None, 0 | 1) => "the default stream".to_owned(),
            (None, 2) => "a thread's default stream".to_owned(),
            (None, n) => format!("stream {n:#x}"),
        };
        match self.order.nodes.as_slice() {
            [] => stream,
            [_, ..] => format!("a graph in {stream}"),
        }
    }

    pub fn actor(&self, kind: Kind, address: u64) -> Option<Actor> {
        let Touched::Launch { pages, sources, .. } = &self.touched else { return None };
        let (_, place) = &**pages.get(&(address / PAGE))?.0[kind as usize].as_ref()?;
        Some(Actor {
            action: kind.name().to_owned(),
            block: place.block,
            thread: Some(place.thread),
            host: false,
            source: sources.get(&place.pc).cloned().unwrap_or_default(),
        })
    }

    /// What was here is gone, and something else may come.
    pub fn forget(&mut self, gone: &Range<u64>) {
        match &mut self.touched {
            // Allocations that share a page are freed apart: only what is wholly inside goes, and the edges' bits.
            Touched::Launch { pages, .. } => {
                let last = gone.end.div_ceil(PAGE);
                for (&number, page) in pages.range_mut(gone.start / PAGE..last) {
                    for (bits, _) in page.0.iter_mut().flatten().map(|b| &mut **b) {
                        for (word, bits) in bits.iter_mut().enumerate() {
                            let first = number * PAGE + word as u64 * 64;
                            let from = gone.start.saturating_sub(first).min(64);
                            let to = gone.end.saturating_sub(first).min(64);
                            for bit in from..to {
                                *bits &= !(1 << bit);
                            }
                        }
                    }
                }
            }
            Touched::Bytes(_, ranges) => {
                ranges.retain(|(_, r)| r.end <= gone.start || r.start >= gone.end);
            }
        }
    }
}

fn meets(pages: &BTreeMap<u64, Page>, ranges: &[(Kind, Range<u64>)]) -> Option<Clash> {
    ranges.iter().find_map(|(theirs, range)| {
        pages.range(range.start / PAGE..range.end.div_ceil(PAGE)).find_map(|(&number, page)| {
            Kind::ALL.iter().filter(|k| k.races(*theirs)).find_map(|&mine| {
                let (bits, _) = &**page.0[mine as usize].as_ref()?;
                let start = range.start.saturating_sub(number * PAGE).min(PAGE);
                let end = range.end.saturating_sub(number * PAGE).min(PAGE);
                let set = |byte: &u64| bits[(byte / 64) as usize] >> (byte % 64) & 1 != 0;
                let byte = (start..end).find(set)?;
                Some(Clash { address: number * PAGE + byte, mine, theirs: *theirs })
            })
        })
    })
}
