// SPDX-License-Identifier: MIT OR Apache-2.0
//! racecheck between streams: launches and copies that nothing orders, and that touch the same bytes.
//!
//! CUDA C++ Programming Guide, "Asynchronous Concurrent Execution": commands of different streams may run in any
//! order, or at once, unless an event, the default stream's rules or the host program orders them. What a launch or
//! copy touched is kept as its *footprint* and compared with those of earlier ones by their [`Order`]: the verdict does
//! not depend on what really ran first.
//!
//! Limits: the most recent footprints are kept ([`MOST_PAGES`]); atomics of two launches do not race with each other,
//! whatever their scope; what the host's own loads and stores touch is not seen.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use margay_exec::fault::Access;
use margay_exec::mem::AllocationInfo;
use margay_exec::observe::{AccessEvent, Interest, Observer, Watch};
use margay_ir::Space;
use parking_lot::Mutex;

use super::finding::{Actor, Check, Finding, Severity, Source};
use super::view::{Sink, View};
use crate::tool::{CopyEvent, LaunchView, Order};

/// Bytes of a page of a footprint.
const PAGE: u64 = 4096;
/// Pages that all footprints have together, about: 512 MB that were touched, 200 MB of our own memory.
const MOST_PAGES: usize = 1 << 17;
/// Footprints that are kept.
const MOST: usize = 1024;

/// A bit for each byte of a page.
type Bits = [u64; (PAGE / 64) as usize];

/// How a byte is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Atomic,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Atomic];

    fn races(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::Read, Kind::Read) | (Kind::Atomic, Kind::Atomic) => false,
            (Kind::Write, _) | (_, Kind::Write) => true,
            (Kind::Read, Kind::Atomic) | (Kind::Atomic, Kind::Read) => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Atomic => "atomic",
        }
    }
}

/// Where in a kernel a page was first touched in some way.
#[derive(Clone, Debug)]
struct Place {
    pc: u32,
    block: [u32; 3],
    thread: [u32; 3],
}

/// A page of a launch's footprint: by kind, the bytes and a place.
#[derive(Clone, Debug, Default)]
struct Page([Option<Box<(Bits, Place)>>; 3]);

impl Page {
    fn add(&mut self, kind: Kind, from: u64, bytes: u64, place: impl FnOnce() -> Place) {
        let empty = || Box::new(([0; (PAGE / 64) as usize], place()));
        let (bits, _) = &mut **self.0[kind as usize].get_or_insert_with(empty);
        for byte in from..from + bytes {
            bits[(byte / 64) as usize] |= 1 << (byte % 64);
        }
    }

    fn join(&mut self, other: Page) {
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
enum Touched {
    Launch {
        kernel: String,
        pages: BTreeMap<u64, Page>,
        sources: BTreeMap<u32, Source>,
    },
    /// Bytes that a copy or a fill reads or writes.
    Copy(Vec<(Kind, Range<u64>)>),
}

#[derive(Clone, Debug)]
struct Footprint {
    order: Order,
    stream: u64,
    touched: Touched,
}

/// A byte that both touched, and how.
struct Clash {
    address: u64,
    mine: Kind,
    theirs: Kind,
}

impl Footprint {
    fn pages(&self) -> usize {
        match &self.touched {
            Touched::Launch { pages, .. } => pages.len(),
            Touched::Copy(_) => 0,
        }
    }

    /// The lowest byte for which the two race.
    fn clash(&self, other: &Footprint) -> Option<Clash> {
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
            (Touched::Launch { pages, .. }, Touched::Copy(ranges)) => meets(pages, ranges),
            (Touched::Copy(ranges), Touched::Launch { pages, .. }) => {
                let clash = meets(pages, ranges)?;
                Some(Clash { mine: clash.theirs, theirs: clash.mine, ..clash })
            }
            (Touched::Copy(mine), Touched::Copy(theirs)) => mine.iter().find_map(|(a, x)| {
                theirs.iter().filter(|(b, _)| a.races(*b)).find_map(|(b, y)| {
                    let address = x.start.max(y.start);
                    let meet = address < x.end.min(y.end);
                    meet.then_some(Clash { address, mine: *a, theirs: *b })
                })
            }),
        }
    }

    fn name(&self, kind: Kind) -> String {
        let stream = match self.stream {
            0 | 1 => "the default stream".to_owned(),
            2 => "a thread's default stream".to_owned(),
            n => format!("stream {n:#x}"),
        };
        match &self.touched {
            Touched::Launch { kernel, .. } => format!("{} by `{kernel}` in {stream}", kind.name()),
            Touched::Copy(ranges) if ranges.iter().all(|(k, _)| *k == Kind::Write) => {
                format!("{} by a fill in {stream}", kind.name())
            }
            Touched::Copy(_) => format!("{} by a copy in {stream}", kind.name()),
        }
    }

    fn actor(&self, kind: Kind, address: u64) -> Option<Actor> {
        let Touched::Launch { pages, sources, .. } = &self.touched else { return None };
        let (_, place) = &**pages.get(&(address / PAGE))?.0[kind as usize].as_ref()?;
        Some(Actor {
            action: kind.name().to_owned(),
            block: place.block,
            thread: Some(place.thread),
            source: sources.get(&place.pc).cloned().unwrap_or_default(),
        })
    }

    /// What was here is gone, and something else may come.
    fn forget(&mut self, gone: &Range<u64>) {
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
            Touched::Copy(ranges) => {
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

#[derive(Debug, Default)]
struct State {
    history: VecDeque<Footprint>,
    /// Allocations that live, by start: their ends and labels.
    live: BTreeMap<u64, (u64, String)>,
}

impl State {
    fn allocation(&self, address: u64) -> Option<(u64, u64, &str)> {
        let (&base, (end, label)) = self.live.range(..=address).next_back()?;
        (address < *end).then_some((base, *end, label.as_str()))
    }
}

/// The footprints of a process.
#[derive(Debug, Default)]
pub struct Streams(Mutex<State>);

impl Streams {
    pub fn allocated(&self, allocation: &AllocationInfo) {
        let end = allocation.base.saturating_add(allocation.size);
        self.0.lock().live.insert(allocation.base, (end, allocation.label.to_string()));
    }

    pub fn freed(&self, allocation: &AllocationInfo) {
        let gone = allocation.base..allocation.base.saturating_add(allocation.size);
        let mut state = self.0.lock();
        state.live.remove(&gone.start);
        state.history.iter_mut().for_each(|f| f.forget(&gone));
    }

    /// An observer for a launch whose order is known.
    pub fn observer<'a>(
        &'a self,
        launch: &'a LaunchView<'a>,
        view: View<'a>,
    ) -> Option<Box<dyn Observer + 'a>> {
        let order = launch.order.clone()?;
        let (pages, stream) = (Mutex::default(), launch.stream);
        Some(Box::new(StreamObserver { streams: self, order, stream, view, pages }))
    }

    pub fn copied(&self, copy: &CopyEvent, sink: &Sink) {
        let Some(order) = copy.order.clone() else { return };
        let mut state = self.0.lock();
        let sides = [(Kind::Write, Some(copy.to)), (Kind::Read, copy.from)];
        // The host's own memory comes and goes without our knowing.
        let ranges: Vec<_> = sides
            .into_iter()
            .filter_map(|(kind, start)| Some((kind, start?)))
            .filter(|(_, start)| state.allocation(*start).is_some())
            .map(|(kind, start)| (kind, start..start.saturating_add(copy.bytes)))
            .collect();
        let stream = copy.stream;
        // The rows of one copy are one footprint.
        let more = state.history.back_mut().filter(|last| last.order == order);
        if let Some(Footprint { touched: Touched::Copy(rows), .. }) = more {
            rows.extend(ranges.iter().cloned());
            let row = Footprint { order, stream, touched: Touched::Copy(ranges) };
            return compare(&state, &row, sink);
        }
        if !ranges.is_empty() {
            add(&mut state, Footprint { order, stream, touched: Touched::Copy(ranges) }, sink);
        }
    }
}

/// Compares a footprint with the others, and keeps it.
fn add(state: &mut State, new: Footprint, sink: &Sink) {
    compare(state, &new, sink);
    state.history.push_back(new);
    let mut pages: usize = state.history.iter().map(Footprint::pages).sum();
    while state.history.len() > 1 && (state.history.len() > MOST || pages > MOST_PAGES) {
        pages -= state.history.pop_front().map_or(0, |f| f.pages());
    }
}

fn compare(state: &State, new: &Footprint, sink: &Sink) {
    for old in &state.history {
        let ordered = new.order.follows(&old.order) || old.order.follows(&new.order);
        if let Some(clash) = (!ordered).then(|| new.clash(old)).flatten() {
            report(state, new, old, &clash, sink);
        }
    }
}

fn report(state: &State, new: &Footprint, old: &Footprint, clash: &Clash, sink: &Sink) {
    let Clash { address, mine, theirs } = *clash;
    let kernel = [new, old].into_iter().find_map(|f| match &f.touched {
        Touched::Launch { kernel, .. } => Some(kernel.clone()),
        Touched::Copy(_) => None,
    });
    let actors = [new.actor(mine, address), old.actor(theirs, address)];
    sink.add(
        Finding {
            check: Check::Race,
            severity: Severity::Error,
            code: "race/streams".to_owned(),
            kernel: kernel.unwrap_or_default(),
            message: format!(
                "{} and {}, and nothing orders the two",
                old.name(theirs),
                new.name(mine)
            ),
            cure: "let one stream wait for an event of the other (cudaEventRecord, cudaStreamWaitEvent), or \
                   synchronise before the second is queued"
                .to_owned(),
            space: Some("global".to_owned()),
            address: Some(address),
            bytes: None,
            object: state.allocation(address).map(|(base, end, label)| {
                format!("`{label}`, byte {} of {}", address - base, end - base)
            }),
            actors: actors.into_iter().flatten().collect(),
            count: 1,
        },
        None,
    );
}

struct StreamObserver<'a> {
    streams: &'a Streams,
    order: Order,
    stream: u64,
    view: View<'a>,
    pages: Mutex<BTreeMap<u64, Page>>,
}

impl Observer for StreamObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(StreamWatch { all: self, pages: BTreeMap::new() })
    }
}

/// The launch has ended: its footprint is whole.
impl Drop for StreamObserver<'_> {
    fn drop(&mut self) {
        let pages = std::mem::take(self.pages.get_mut());
        let places = pages.values().flat_map(|page| page.0.iter().flatten());
        let sources = places.map(|b| (b.1.pc, self.view.source(b.1.pc))).collect();
        let kernel = self.view.kernel().to_owned();
        let touched = Touched::Launch { kernel, pages, sources };
        let footprint = Footprint { order: self.order.clone(), stream: self.stream, touched };
        add(&mut self.streams.0.lock(), footprint, self.view.sink);
    }
}

/// A worker's part of the footprint.
struct StreamWatch<'w, 'a> {
    all: &'w StreamObserver<'a>,
    pages: BTreeMap<u64, Page>,
}

impl Drop for StreamWatch<'_, '_> {
    fn drop(&mut self) {
        let mut all = self.all.pages.lock();
        for (number, page) in std::mem::take(&mut self.pages) {
            all.entry(number).or_default().join(page);
        }
    }
}

impl Watch for StreamWatch<'_, '_> {
    fn access(&mut self, event: &AccessEvent<'_>) {
        if event.space != Space::Global {
            return;
        }
        let kind = match event.access {
            Access::Read => Kind::Read,
            Access::Write => Kind::Write,
            Access::Atomic => Kind::Atomic,
        };
        for lane in (0..32usize).filter(|l| event.mask >> l & 1 != 0) {
            let (mut at, end) =
                (event.addresses[lane], event.addresses[lane].saturating_add(event.bytes.into()));
            let place = || Place {
                pc: event.at.pc,
                block: event.at.ctaid,
                thread: self.all.view.tid(event.at.warp as u16, lane as u8),
            };
            while at < end {
                let bytes = (end - at).min(PAGE - at % PAGE);
                let page = self.pages.entry(at / PAGE).or_default();
                page.add(kind, at % PAGE, bytes, place);
                at += bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn order(queue: u64, sequence: u64, known: &[(u64, u64)]) -> Order {
        let mut clock: BTreeMap<u64, u64> = known.iter().copied().collect();
        clock.insert(queue, sequence);
        Order { queue, sequence, clock: Arc::new(clock) }
    }

    fn launch(order: Order, kind: Kind, bytes: Range<u64>) -> Footprint {
        let mut pages: BTreeMap<u64, Page> = BTreeMap::new();
        for byte in bytes {
            let place = || Place { pc: 0, block: [0; 3], thread: [0; 3] };
            pages.entry(byte / PAGE).or_default().add(kind, byte % PAGE, 1, place);
        }
        let touched = Touched::Launch { kernel: "k".into(), pages, sources: BTreeMap::new() };
        Footprint { order, stream: 0, touched }
    }

    fn copy(order: Order, kind: Kind, bytes: Range<u64>) -> Footprint {
        Footprint { order, stream: 0, touched: Touched::Copy(vec![(kind, bytes)]) }
    }

    fn findings(footprints: Vec<Footprint>) -> usize {
        let (sink, mut state) = (Sink::default(), State::default());
        footprints.into_iter().for_each(|f| add(&mut state, f, &sink));
        sink.list().len()
    }

    #[test]
    fn unordered_overlaps_race() {
        use Kind::{Atomic, Read, Write};
        let (a, b, after) = (order(1, 1, &[]), order(2, 1, &[]), order(2, 1, &[(1, 1)]));
        let pair = |x: (Kind, Range<u64>), y: (Kind, Range<u64>), o: &Order| {
            findings(vec![launch(a.clone(), x.0, x.1), launch(o.clone(), y.0, y.1)])
        };
        assert_eq!(pair((Write, 0..8), (Write, 4..8), &b), 1);
        assert_eq!(pair((Write, 0..8), (Write, 4..8), &after), 0, "an event orders them");
        assert_eq!(pair((Write, 0..8), (Write, 8..16), &b), 0, "neighbours in a page");
        assert_eq!(pair((Read, 0..8), (Read, 0..8), &b), 0);
        assert_eq!(pair((Atomic, 0..8), (Atomic, 0..8), &b), 0);
        assert_eq!(pair((Atomic, 4090..4100), (Read, 4096..4097), &b), 1);
    }

    #[test]
    fn copies_race_with_launches_and_copies() {
        let (a, b) = (order(1, 1, &[]), order(2, 1, &[]));
        let written = || launch(a.clone(), Kind::Write, 5000..5004);
        assert_eq!(findings(vec![written(), copy(b.clone(), Kind::Read, 4096..8192)]), 1);
        assert_eq!(findings(vec![copy(b.clone(), Kind::Read, 0..8192), written()]), 1);
        assert_eq!(findings(vec![written(), copy(b.clone(), Kind::Read, 5004..8192)]), 0);
        let copied = || copy(a.clone(), Kind::Write, 0..100);
        assert_eq!(findings(vec![copied(), copy(b.clone(), Kind::Write, 99..200)]), 1);
        assert_eq!(findings(vec![copied(), copy(b, Kind::Write, 100..200)]), 0);
    }

    #[test]
    fn freed_memory_is_forgotten() {
        let mut old = launch(order(1, 1, &[]), Kind::Write, 4000..4200);
        old.forget(&(4096..4128));
        let at =
            |bytes| launch(order(2, 1, &[]), Kind::Write, bytes).clash(&old).map(|c| c.address);
        assert_eq!(
            (at(4096..4128), at(4095..4097), at(4120..4200)),
            (None, Some(4095), Some(4128))
        );
    }
}
