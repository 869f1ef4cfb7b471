// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which footprints race.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::footprint::{By, Footprint, Kind, PAGE, Page, Place, Touched};
use super::{State, add};
use crate::sanitize::finding::Source;
use crate::sanitize::view::Sink;
use crate::tool::{NodeOrder, Order};

fn order(queue: u64, sequence: u64, known: &[(u64, u64)]) -> Order {
    let mut clock: BTreeMap<u64, u64> = known.iter().copied().collect();
    clock.insert(queue, sequence);
    Order { queue, sequence, clock: Arc::new(clock), nodes: Vec::new(), commands: None }
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
    Footprint { order, stream: 0, touched: Touched::Bytes(By::Copy, vec![(kind, bytes)]) }
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

/// Two kernels at lines of their own, of which each may run first.
#[test]
fn what_ran_first_makes_no_other_finding() {
    let at = |order: &Order, name: &str, line: u32, kinds: &[Kind]| {
        let mut all = launch(order.clone(), kinds[0], 0..8);
        let Touched::Launch { kernel, pages, sources } = &mut all.touched else { unreachable!() };
        let place = || Place { pc: 0, block: [0; 3], thread: [0; 3] };
        kinds.iter().for_each(|kind| pages.get_mut(&0).unwrap().add(*kind, 0, 8, place));
        *kernel = name.to_owned();
        sources.insert(0, Source { file: Some("a.cu".into()), line, ..Source::default() });
        all
    };
    let (a, b) = (order(1, 1, &[]), order(2, 1, &[]));
    let both = [Kind::Read, Kind::Write];
    for (mine, theirs) in
        [(&both[..], &both[..]), (&both[..1], &both[1..]), (&both[1..], &both[..])]
    {
        let told = |first: Footprint, second: Footprint| {
            let (sink, mut state) = (Sink::default(), State::default());
            [first, second].into_iter().for_each(|f| add(&mut state, f, &sink));
            let finding = sink.list().remove(0);
            (finding.site(), finding.kernel, finding.actors)
        };
        let (w, r) = (|| at(&a, "w", 3, mine), || at(&b, "r", 4, theirs));
        assert_eq!(told(w(), r()), told(r(), w()));
        assert_eq!(told(r(), w()).1, "w");
    }
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
    let at = |bytes| launch(order(2, 1, &[]), Kind::Write, bytes).clash(&old).map(|c| c.address);
    assert_eq!((at(4096..4128), at(4095..4097), at(4120..4200)), (None, Some(4095), Some(4128)));
}

#[test]
fn a_piece_is_its_bytes() {
    let place = || Place { pc: 0, block: [0; 3], thread: [0; 3] };
    for (from, bytes) in [(0, 1), (63, 2), (5, 59), (64, 64), (1, 4095), (0, PAGE), (100, 300)] {
        let (mut whole, mut single) = (Page::default(), Page::default());
        whole.add(Kind::Write, from, bytes, place);
        (from..from + bytes).for_each(|byte| single.add(Kind::Write, byte, 1, place));
        let bits = |page: &Page| page.0[Kind::Write as usize].as_ref().unwrap().0;
        assert_eq!(bits(&whole), bits(&single), "{from} {bytes}");
        let count: u32 = bits(&whole).iter().map(|word| word.count_ones()).sum();
        assert_eq!(u64::from(count), bytes);
    }
}

#[test]
fn nodes_of_a_graph_are_ordered_by_its_edges() {
    let node = |launch, number, after: u64| {
        let after = Arc::from([after]);
        let mut order = order(1, 10 * launch + number as u64, &[]);
        order.nodes = vec![NodeOrder { launch, number, after }];
        order
    };
    // 0, then 1 and 2, then 3.
    let four = [node(1, 0, 0), node(1, 1, 0b1), node(1, 2, 0b1), node(1, 3, 0b111)];
    let pair = |a: &Order, b: &Order| {
        findings(vec![launch(a.clone(), Kind::Write, 0..8), launch(b.clone(), Kind::Read, 0..8)])
    };
    assert_eq!(pair(&four[1], &four[2]), 1);
    assert_eq!(pair(&four[0], &four[2]) + pair(&four[1], &four[3]) + pair(&four[2], &four[3]), 0);
    // The next launch comes after all of them, and so does what is in the stream.
    assert_eq!(pair(&four[1], &node(2, 2, 0b1)) + pair(&four[2], &order(1, 15, &[])), 0);
    // Graphs within a node.
    let inner = |launch, number, after: u64| {
        let mut order = four[1].clone();
        order.nodes.push(NodeOrder { launch, number, after: Arc::from([after]) });
        order
    };
    assert_eq!(pair(&inner(7, 0, 0), &inner(7, 1, 0)), 1);
    assert_eq!(pair(&inner(7, 0, 0), &inner(8, 1, 0)) + pair(&inner(7, 0, 0), &four[1]), 0);
    assert_eq!(pair(&inner(7, 0, 0), &four[2]), 1);
}
