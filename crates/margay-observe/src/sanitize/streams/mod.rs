// SPDX-License-Identifier: MIT OR Apache-2.0
//! racecheck between streams, nodes of a graph and command queues: launches and copies that nothing orders, and that
//! touch the same bytes.
//!
//! CUDA C++ Programming Guide, "Asynchronous Concurrent Execution": commands of different streams may run in any
//! order, or at once, unless an event, the default stream's rules or the host program orders them; so may the nodes of
//! a graph without a path of edges between them ("CUDA Graphs"), and OpenCL's commands (OpenCL 3.0, section 5.11) of
//! two queues, or of one that is out of order, without events, barriers or clFinish. What a launch or
//! copy touched is kept as its *footprint* and compared with those of earlier ones by their [`Order`]: the verdict does
//! not depend on what really ran first.
//!
//! Limits: the most recent footprints are kept ([`MOST_PAGES`]); atomics of two launches do not race with each other,
//! whatever their scope; what the host's own loads and stores touch is not seen.

mod footprint;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;

use margay_exec::fault::Access;
use margay_exec::mem::AllocationInfo;
use margay_exec::observe::{AccessEvent, EventPlace, Interest, Observer, PatternedEvent, Watch};
use margay_ir::Space;
use parking_lot::Mutex;

use self::footprint::{By, Clash, Footprint, Kind, PAGE, Page, Place, Touched};
use super::finding::{Actor, Check, Finding, Severity};
use super::view::{Sink, View};
use crate::tool::{CopyEvent, LaunchView, Order, StreamOrdered};
use crate::words::Words;

/// Pages that all footprints have together, about: 512 MB that were touched, 200 MB of our own memory.
const MOST_PAGES: usize = 1 << 17;
/// Footprints that are kept.
const MOST: usize = 1024;

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
        if let Some(Footprint { touched: Touched::Bytes(By::Copy, rows), .. }) = more {
            rows.extend(ranges.iter().cloned());
            let row = Footprint { order, stream, touched: Touched::Bytes(By::Copy, ranges) };
            return compare(&state, &row, sink);
        }
        if !ranges.is_empty() {
            let touched = Touched::Bytes(By::Copy, ranges);
            add(&mut state, Footprint { order, stream, touched }, sink);
        }
    }

    /// A stream allocates memory, or frees it.
    pub fn owned(&self, event: &StreamOrdered, sink: &Sink) {
        let StreamOrdered { allocation, freed, stream, order } = event;
        let Some(order) = order.clone() else { return };
        let all = allocation.base..allocation.base.saturating_add(allocation.size);
        let by = if *freed { By::Free } else { By::Allocation };
        let touched = Touched::Bytes(by, vec![(Kind::Write, all)]);
        let new = Footprint { order, stream: *stream, touched };
        let mut state = self.0.lock();
        match freed {
            // Nobody who comes later finds it.
            true => compare(&state, &new, sink),
            false => add(&mut state, new, sink),
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
        // Looked for from one side, so that what is told of several does not depend on what ran first.
        let place = |f: &Footprint| (f.order.queue, f.order.sequence);
        let clash = || match place(old) < place(new) {
            true => old.clash(new).map(Clash::turned),
            false => new.clash(old),
        };
        if let Some(clash) = (!ordered).then(clash).flatten() {
            report(state, new, old, &clash, sink);
        }
    }
}

fn report(state: &State, new: &Footprint, old: &Footprint, clash: &Clash, sink: &Sink) {
    let Clash { address, mine, theirs } = *clash;
    // Which of the two came first may be chance: the finding is of the one whose place is the lesser.
    let mut sides: Vec<(Actor, String)> = [(new, mine), (old, theirs)]
        .into_iter()
        .filter_map(|(footprint, kind)| match &footprint.touched {
            Touched::Launch { kernel, .. } => {
                Some((footprint.actor(kind, address)?, kernel.clone()))
            }
            Touched::Bytes(..) => None,
        })
        .collect();
    let place = |(actor, kernel): &(Actor, String)| {
        let s = &actor.source;
        (s.file.clone(), s.line, s.ptx_line, kernel.clone())
    };
    sides.sort_by_key(place);
    let kernel = sides.first().map(|(_, kernel)| kernel.clone());
    let (words, cure) = match new.order.commands {
        Some(_) => (
            Words::OpenCl,
            "let the second command wait for the first one's event, put a barrier between, or call clFinish before \
             it is queued",
        ),
        None if new.order.is_in_graph_of(&old.order) => (
            Words::Cuda,
            "let one node depend on the other (cudaGraphAddDependencies), or capture them in one stream",
        ),
        None => (
            Words::Cuda,
            "let one stream wait for an event of the other (cudaEventRecord, cudaStreamWaitEvent), or synchronise \
             before the second is queued",
        ),
    };
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
            cure: cure.to_owned(),
            space: Some("global".to_owned()),
            address: Some(address),
            bytes: None,
            object: state.allocation(address).map(|(base, end, label)| {
                format!("`{label}`, byte {} of {}", address - base, end - base)
            }),
            words,
            actors: sides.into_iter().map(|(actor, _)| actor).collect(),
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
        Box::new(StreamWatch {
            all: self,
            pages: Vec::new(),
            numbers: HashMap::new(),
            // No page has this number.
            near: [(u64::MAX, 0); NEAR],
        })
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

/// Pages that are remembered by their numbers' lowest bits.
const NEAR: usize = 8;

/// A worker's part of the footprint.
struct StreamWatch<'w, 'a> {
    all: &'w StreamObserver<'a>,
    pages: Vec<Page>,
    /// By number, where a page is.
    numbers: HashMap<u64, usize>,
    /// Pages that were touched lately, as they mostly are again.
    near: [(u64, usize); NEAR],
}

impl StreamWatch<'_, '_> {
    /// The page of this number.
    fn page(&mut self, number: u64) -> &mut Page {
        let near = &mut self.near[number as usize % NEAR];
        if near.0 != number {
            let pages = &mut self.pages;
            let at = *self.numbers.entry(number).or_insert_with(|| {
                pages.push(Page::default());
                pages.len() - 1
            });
            *near = (number, at);
        }
        &mut self.pages[near.1]
    }

    /// Bytes are touched, first by this lane.
    fn touch(&mut self, kind: Kind, bytes: Range<u64>, at: EventPlace, lane: u32) {
        let view = &self.all.view;
        let place =
            || Place { pc: at.pc, block: at.ctaid, thread: view.tid(at.warp as u16, lane as u8) };
        let mut from = bytes.start;
        while from < bytes.end {
            let here = (bytes.end - from).min(PAGE - from % PAGE);
            self.page(from / PAGE).add(kind, from % PAGE, here, place);
            from += here;
        }
    }
}

impl Drop for StreamWatch<'_, '_> {
    fn drop(&mut self) {
        let mut all = self.all.pages.lock();
        for (number, at) in self.numbers.drain() {
            all.entry(number).or_default().join(std::mem::take(&mut self.pages[at]));
        }
    }
}

fn kind(access: Access) -> Kind {
    match access {
        Access::Read => Kind::Read,
        Access::Write => Kind::Write,
        Access::Atomic => Kind::Atomic,
    }
}

impl Watch for StreamWatch<'_, '_> {
    /// Only global memory is streams' to share.
    fn is_settled(&mut self, _ctaid: [u32; 3], _warp: u32) -> bool {
        true
    }

    fn access(&mut self, event: &AccessEvent<'_>) {
        if event.space != Space::Global {
            return;
        }
        let mut lanes = (0..32usize).filter(|l| event.mask >> l & 1 != 0).peekable();
        while let Some(lane) = lanes.next() {
            let at = event.addresses[lane];
            let mut end = at.saturating_add(event.bytes.into());
            // Lanes that go on where the one before ends, or touch the same, are one piece.
            while let Some(next) = lanes.next_if(|l| (at..=end).contains(&event.addresses[*l])) {
                end = end.max(event.addresses[next].saturating_add(event.bytes.into()));
            }
            self.touch(kind(event.access), at..end, event.at, lane as u32);
        }
    }

    /// Most accesses are of bytes in a row, or all of the same.
    fn patterned(&mut self, event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        if event.space != Space::Global {
            return None;
        }
        let each = i64::from(event.bytes);
        let step = event.pattern[1];
        let from_base = event.pattern[0] == 0;
        let steps = event.pattern.windows(2).fold(from_base, |all, p| all & (p[1] - p[0] == step));
        match (event.mask, event.second, step == 0 || step == each) {
            (u32::MAX, None, true) if steps => {
                let end = event.base.saturating_add((step * 31 + each) as u64);
                self.touch(kind(event.access), event.base..end, event.at, 0);
            }
            _ => event.with_addresses(|event| self.access(event)),
        }
        None
    }
}
