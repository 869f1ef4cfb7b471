// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pressure with what instructions have to be fed with: see [`super::feeds`].

use std::collections::HashSet;

use super::counted::Counter;
use super::features::Features;
use super::live::{Live, Pressure};
use super::machine::{Kind, Machine, Node};
use super::measure::REORDERED;
use super::schedule::{Graph, Latency, Scratch, early, lean, repeated};
use crate::types::Space;

/// How often ptxas repeats a loop whose rounds it does not know.
const ROUNDS: u32 = 4;
/// The most that it repeats one whose rounds it knows.
const MOST_ROUNDS: u32 = 16;
/// A loop that were longer is not measured.
const MOST_NODES: u32 = 512;

impl Features {
    pub(super) fn press_fed(&mut self, machine: &Machine, live: &Live) {
        let mut pressure = Pressure::new(&machine.words);
        let total: usize = machine.blocks.iter().map(Vec::len).sum();
        let mut scratch = Scratch::default();
        for (b, nodes) in machine.fed.iter().enumerate() {
            let out = &live.out[b];
            let up = |field: &mut u32, value: u32| *field = (*field).max(value);
            let here = pressure.most(out, nodes.iter().rev(), &[], |w| w.varying);
            up(&mut self.fed, here);
            self.feeds += (nodes.len() - machine.blocks[b].len()) as u32;
            if total > REORDERED || nodes.len() < 2 {
                continue;
            }
            let graph = Graph::of(nodes, machine.words.len(), &mut scratch);
            let mut most = |order: &[u32]| {
                let nodes = order.iter().rev().map(|&i| &nodes[i as usize]);
                pressure.most(out, nodes, &[], |w| w.varying)
            };
            let short = most(&early(nodes, &graph, Latency::SHORT));
            up(&mut self.fed_short, short);
            up(&mut self.fed_brief, most(&early(nodes, &graph, Latency::BRIEF)));
            up(&mut self.fed_middle, most(&early(nodes, &graph, Latency::MIDDLE)));
            let least = most(&lean(nodes, &graph, machine, &[], out, &mut scratch));
            up(&mut self.fed_lean, least);
            if machine.depth[b] > 0 {
                up(&mut self.loop_fed_short, short);
                up(&mut self.loop_fed_lean, least);
            } else {
                up(&mut self.straight_fed_short, short);
            }
        }
    }

    /// A loop that an assembler unrolls, several rounds in a row. Small branches in it are taken to be predicates.
    pub(super) fn unrolled_rounds(
        &mut self,
        machine: &Machine,
        live: &Live,
        body: &[u32],
        counter: Counter,
    ) {
        let mut body = body.to_vec();
        body.sort_unstable();
        let nodes = || body.iter().flat_map(|&b| &machine.fed[b as usize]);
        let size = nodes().count() as u32;
        self.unroll_loops += 1;
        self.unroll_size = self.unroll_size.max(size);
        self.unroll_smallest =
            if self.unroll_loops == 1 { size } else { self.unroll_smallest.min(size) };
        let loads = nodes().filter(|n| matches!(n.kind, Kind::Load(s) if s != Space::Param));
        self.unroll_loads = self.unroll_loads.max(loads.count() as u32);
        self.unroll_blocks = self.unroll_blocks.max(body.len() as u32);
        self.unroll_trips = self.unroll_trips.max(counter.rounds.unwrap_or(0));
        let times =
            counter.rounds.map_or(ROUNDS, |r| r.min(MOST_ROUNDS)).min(MOST_NODES / size.max(1));
        if times < 2 {
            return;
        }
        // What is brought for an instruction is brought once, before the loop.
        let own = machine.feeds_from;
        let is_feed = |n: &&Node| n.defs.iter().any(|v| *v >= own);
        let inner: Vec<Node> = nodes().filter(|n| !is_feed(n)).cloned().collect();
        let (first, last) = (body[0] as usize, body[body.len() - 1] as usize);
        let out = &live.out[last];
        let keep: HashSet<u32> = live.into[first]
            .iter()
            .chain(out)
            .copied()
            .chain(nodes().filter(is_feed).flat_map(|n| n.defs.iter().copied()))
            .collect();
        let mut origin = Vec::new();
        let all = machine.words.len() as u32;
        let mut many: Vec<Node> = nodes().filter(is_feed).cloned().collect();
        many.extend(repeated(&inner, times, &keep, all, &mut origin));
        let mut scratch = Scratch::default();
        let mut pressure = Pressure::new(&machine.words);
        let graph = Graph::of(&many, all as usize + origin.len(), &mut scratch);
        let mut most = |order: &[u32]| {
            let nodes = order.iter().rev().map(|&i| &many[i as usize]);
            pressure.most(out, nodes, &origin, |w| w.varying)
        };
        let up = |field: &mut u32, value: u32| *field = (*field).max(value);
        up(&mut self.unroll_short, most(&early(&many, &graph, Latency::SHORT)));
        up(&mut self.unroll_middle, most(&early(&many, &graph, Latency::MIDDLE)));
        up(&mut self.unroll_long, most(&early(&many, &graph, Latency::LONG)));
        up(&mut self.unroll_lean, most(&lean(&many, &graph, machine, &origin, out, &mut scratch)));
    }
}
