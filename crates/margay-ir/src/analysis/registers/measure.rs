// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures that come from what lives at once, in several orders, and from the shape of loops.

use std::collections::HashSet;

use super::counted::{Writers, counter};
use super::features::Features;
use super::live::{Live, Pressure};
use super::machine::{Kind, Machine, Words};
use super::schedule::{Graph, Latency, Scratch, early, lean, repeated};
use crate::module::Function;
use crate::types::Space;

/// Functions of more nodes keep the order of the text: others would take too long.
pub(super) const REORDERED: usize = 2000;

impl Features {
    pub(super) fn press(&mut self, machine: &Machine, live: &Live) {
        let mut pressure = Pressure::new(&machine.words);
        let deepest = machine.depth.iter().copied().max().unwrap_or(0);
        let total: usize = machine.blocks.iter().map(Vec::len).sum();
        let varying = |w: &Words| w.varying;
        let (mut first, mut weighted) = (0, 0u64);
        let mut scratch = Scratch::default();
        for (b, nodes) in machine.blocks.iter().enumerate() {
            let out = &live.out[b];
            let original = |p: &mut Pressure<'_>, of: fn(&Words) -> u8| {
                p.most(out, nodes.iter().rev(), &[], of)
            };
            let up = |field: &mut u32, value: u32| *field = (*field).max(value);
            up(&mut self.plain, original(&mut pressure, |w| w.plain));
            up(&mut self.folded, original(&mut pressure, |w| w.folded));
            up(&mut self.predicates, original(&mut pressure, |w| w.predicate));
            let here = original(&mut pressure, |w| w.varying);
            up(&mut self.varying, here);
            let (mut long, mut short, mut least) = (here, here, here);
            // Beyond this the text's order has to do.
            if total <= REORDERED && nodes.len() > 1 {
                let graph = Graph::of(nodes, machine.words.len(), &mut scratch);
                let ordered = |p: &mut Pressure<'_>, order: &[u32], of: fn(&Words) -> u8| {
                    p.most(out, order.iter().rev().map(|&i| &nodes[i as usize]), &[], of)
                };
                let order = early(nodes, &graph, Latency::SHORT);
                short = ordered(&mut pressure, &order, |w| w.varying);
                up(&mut self.pairs_short, ordered(&mut pressure, &order, |w| w.pair));
                up(&mut self.flight_short, ordered(&mut pressure, &order, |w| w.loaded));
                up(&mut self.counted_short, ordered(&mut pressure, &order, |w| w.counted));
                up(&mut self.again_short, ordered(&mut pressure, &order, |w| w.again));
                let order = early(nodes, &graph, Latency::LONG);
                long = ordered(&mut pressure, &order, |w| w.varying);
                up(&mut self.flight_long, ordered(&mut pressure, &order, |w| w.loaded));
                let order = early(nodes, &graph, Latency::BRIEF);
                up(&mut self.early_brief, ordered(&mut pressure, &order, |w| w.varying));
                let order = early(nodes, &graph, Latency::MIDDLE);
                up(&mut self.early_middle, ordered(&mut pressure, &order, |w| w.varying));
                let order = lean(nodes, &graph, machine, &[], out, &mut scratch);
                least = ordered(&mut pressure, &order, |w| w.varying);
            }
            up(&mut self.pairs, original(&mut pressure, |w| w.pair));
            up(&mut self.flight, original(&mut pressure, |w| w.loaded));
            up(&mut self.counted, original(&mut pressure, |w| w.counted));
            up(&mut self.again, original(&mut pressure, |w| w.again));
            if short > first {
                (first, self.second) = (short, first);
            } else {
                self.second = self.second.max(short);
            }
            weighted += u64::from(here) * nodes.len() as u64;
            self.small_blocks += u32::from(nodes.len() <= 6);
            up(&mut self.early_long, long);
            up(&mut self.early_short, short);
            up(&mut self.lean, least);
            if machine.depth[b] > 0 {
                up(&mut self.loop_varying, here);
                up(&mut self.loop_early_long, long);
                up(&mut self.loop_early_short, short);
                up(&mut self.loop_lean, least);
            }
            if machine.depth[b] == deepest {
                up(&mut self.inner_varying, here);
                up(&mut self.inner_early_short, short);
            }
            up(&mut self.borders, pressure.total(out, varying));
            let itself = machine.cfg.succs[b].iter().any(|s| s.0 as usize == b);
            if itself {
                self.unrolled(machine, live, b, &mut pressure, &mut scratch);
            }
        }
        self.average = (weighted * 8 / (total.max(1) as u64)) as u32;
        for blocks in &machine.loops {
            let into = &live.into[blocks[0] as usize];
            self.around = self.around.max(pressure.total(into, varying));
            self.again_around = self.again_around.max(pressure.total(into, |w| w.again));
            self.around_folded = self.around_folded.max(pressure.total(into, |w| w.folded));
        }
    }

    fn unrolled(
        &mut self,
        machine: &Machine,
        live: &Live,
        b: usize,
        pressure: &mut Pressure<'_>,
        scratch: &mut Scratch,
    ) {
        let nodes = &machine.blocks[b];
        self.self_loops += 1;
        let size = nodes.len() as u32;
        self.self_loop = if self.self_loops == 1 { size } else { self.self_loop.min(size) };
        let loads = nodes.iter().filter(|n| matches!(n.kind, Kind::Load(_))).count() as u32;
        self.self_loop_loads = self.self_loop_loads.max(loads);
        let into: HashSet<u32> = live.into[b].iter().copied().collect();
        let written: HashSet<u32> = nodes
            .iter()
            .flat_map(|n| n.defs.iter().copied())
            .filter(|v| into.contains(v))
            .collect();
        let carried: Vec<u32> = written.iter().copied().collect();
        self.carried = self.carried.max(pressure.total(&carried, |w| w.varying));
        if nodes.len() > 96 {
            return;
        }
        let keep: HashSet<u32> = into.iter().chain(&live.out[b]).copied().collect();
        let own = machine.words.len() as u32;
        for times in [2, 4] {
            let mut origin = Vec::new();
            let many = repeated(nodes, times, &keep, own, &mut origin);
            let graph = Graph::of(&many, own as usize + origin.len(), scratch);
            let mut most = |order: Vec<u32>| {
                let nodes = order.iter().rev().map(|&i| &many[i as usize]);
                pressure.most(&live.out[b], nodes, &origin, |w| w.varying)
            };
            let short = most(early(&many, &graph, Latency::SHORT));
            if times == 2 {
                self.twice_short = self.twice_short.max(short);
            } else {
                self.four_short = self.four_short.max(short);
                self.four_long = self.four_long.max(most(early(&many, &graph, Latency::LONG)));
                self.four_lean = self.four_lean.max(most(lean(
                    &many,
                    &graph,
                    machine,
                    &origin,
                    &live.out[b],
                    scratch,
                )));
            }
        }
    }

    /// What is alive where nothing moves across.
    pub(super) fn fences_of(&mut self, machine: &Machine, live: &Live) {
        for (b, nodes) in machine.blocks.iter().enumerate() {
            let words = |v: &u32| u32::from(machine.words[*v as usize].varying);
            let mut alive: HashSet<u32> = live.out[b].iter().copied().collect();
            let mut sum: u32 = alive.iter().map(words).sum();
            for node in nodes.iter().rev() {
                if !node.guarded {
                    sum -= node.defs.iter().filter(|v| alive.remove(v)).map(words).sum::<u32>();
                }
                if node.kind == Kind::Fence {
                    self.at_fences = self.at_fences.max(sum);
                }
                for v in &node.uses {
                    sum += if alive.insert(*v) { words(v) } else { 0 };
                }
            }
        }
    }

    /// Innermost loops, by whether their rounds are known before they are entered.
    pub(super) fn counted_loops(&mut self, function: &Function, machine: &Machine, live: &Live) {
        let mut pressure = Pressure::new(&machine.words);
        let writers = Writers::of(function);
        let mut scratch = Scratch::default();
        let own = machine.words.len() as u32;
        for body in &machine.loops {
            let head = machine.depth[body[0] as usize];
            if body.iter().any(|&b| machine.depth[b as usize] > head) || body.len() > 64 {
                continue;
            }
            let all = body.iter().flat_map(|&b| &machine.blocks[b as usize]);
            let size = all.clone().count() as u32;
            let loads = all.clone().filter(|n| matches!(n.kind, Kind::Load(_))).count() as u32;
            let fenced = all.clone().any(|n| n.kind == Kind::Fence);
            let Some(counter) = counter(function, &writers, &machine.cfg, body) else {
                self.while_loops += 1;
                self.while_size = self.while_size.max(size);
                self.while_loads = self.while_loads.max(loads);
                continue;
            };
            self.counted_loops += 1;
            if counter.unrolls && !fenced {
                self.unrolled_rounds(machine, live, body, counter);
            }
            self.counted_size = self.counted_size.max(size);
            self.counted_loads = self.counted_loads.max(loads);
            self.counted_fenced += u32::from(fenced);
            self.step_least =
                if self.step_least == 0 { counter.step } else { self.step_least.min(counter.step) };
            self.step_most = self.step_most.max(counter.step);
            if let Some(rounds) = counter.rounds
                && rounds > self.trips
            {
                (self.trips, self.trips_size) = (rounds, size);
            }
            let &[b] = &body[..] else {
                self.counted_blocks = self.counted_blocks.max(body.len() as u32);
                continue;
            };
            let b = b as usize;
            let nodes = &machine.blocks[b];
            let keep: HashSet<u32> = live.into[b].iter().chain(&live.out[b]).copied().collect();
            let mut unrolled = |times: u32, latency: Latency| {
                let mut origin = Vec::new();
                let many = repeated(nodes, times, &keep, own, &mut origin);
                let graph = Graph::of(&many, own as usize + origin.len(), &mut scratch);
                let order = early(&many, &graph, latency);
                let nodes = order.iter().rev().map(|&i| &many[i as usize]);
                pressure.most(&live.out[b], nodes, &origin, |w| w.varying)
            };
            if size <= 128 {
                self.counted_four_short = self.counted_four_short.max(unrolled(4, Latency::SHORT));
                self.counted_four_long = self.counted_four_long.max(unrolled(4, Latency::LONG));
            }
            if let Some(rounds) = counter.rounds
                && rounds <= 512
                && rounds * size <= 512
            {
                self.trips_short = self.trips_short.max(unrolled(rounds, Latency::SHORT));
            }
        }
    }

    pub(super) fn shape(&mut self, machine: &Machine, live: &Live) {
        self.blocks = machine.blocks.len() as u32;
        self.loops = machine.loops.len() as u32;
        self.depth = machine.depth.iter().copied().max().unwrap_or(0).into();
        let size = |b: u32| machine.blocks[b as usize].len() as u32;
        for blocks in &machine.loops {
            let head = machine.depth[blocks[0] as usize];
            if blocks.iter().all(|&b| machine.depth[b as usize] <= head) {
                let nodes = blocks.iter().map(|&b| size(b)).sum();
                if nodes > self.inner {
                    (self.inner, self.inner_blocks) = (nodes, blocks.len() as u32);
                }
            }
        }
        let loaded = |b: u32| -> u32 {
            let nodes = machine.blocks[b as usize].iter();
            let loads = nodes.filter(|n| matches!(n.kind, Kind::Load(_))).flat_map(|n| &n.defs);
            loads.map(|&v| u32::from(machine.words[v as usize].plain)).sum()
        };
        for blocks in &machine.loops {
            let head = machine.depth[blocks[0] as usize];
            if blocks.iter().all(|&b| machine.depth[b as usize] <= head) {
                self.inner_loads = self.inner_loads.max(blocks.iter().map(|&b| loaded(b)).sum());
            }
        }
        let mut level = vec![0u32; machine.words.len()];
        let mut stamp = vec![u32::MAX; machine.words.len()];
        for (b, nodes) in machine.blocks.iter().enumerate() {
            self.instructions += nodes.len() as u32;
            self.largest = self.largest.max(nodes.len() as u32);
            let varying = |v: &u32| u32::from(machine.words[*v as usize].varying);
            let defined: u32 = nodes.iter().flat_map(|n| &n.defs).map(varying).sum();
            let pairs = nodes.iter().flat_map(|n| &n.defs).filter(|v| varying(v) == 2).count();
            self.defined += defined;
            self.defined_pairs += pairs as u32;
            self.defined_most = self.defined_most.max(defined);
            if machine.depth[b] > 0 {
                self.loop_defined += defined;
                self.loop_loads += loaded(b as u32);
            }
            let crossing: HashSet<u32> = live.out[b].iter().copied().collect();
            let (mut loads, mut global, mut stores) = (0, 0, 0);
            for node in nodes {
                self.fences += u32::from(node.kind == Kind::Fence);
                self.guarded += u32::from(node.guarded);
                let words: u32 =
                    node.defs.iter().map(|&v| u32::from(machine.words[v as usize].plain)).sum();
                match node.kind {
                    Kind::Load(space) => {
                        loads += words;
                        if matches!(space, Space::Global | Space::Generic) {
                            global += words;
                            if node.defs.iter().any(|v| crossing.contains(v)) {
                                self.live_loads += words;
                            }
                        }
                    }
                    Kind::Store(_) => stores += 1,
                    Kind::Fence | Kind::Slow | Kind::Plain => {}
                }
                let at = |v: &u32| {
                    if stamp[*v as usize] == b as u32 { level[*v as usize] } else { 0 }
                };
                let chain = 1 + node.uses.iter().map(at).max().unwrap_or(0);
                self.chain = self.chain.max(chain);
                for &v in &node.defs {
                    (level[v as usize], stamp[v as usize]) = (chain, b as u32);
                }
            }
            self.block_loads = self.block_loads.max(loads);
            self.block_loads_global = self.block_loads_global.max(global);
            self.block_stores = self.block_stores.max(stores);
        }
        for words in &machine.words {
            self.kept += u32::from(if words.folded == 0 { words.plain } else { 0 });
            self.uniform += u32::from(words.folded - words.varying);
        }
    }
}
