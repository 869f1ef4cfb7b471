// SPDX-License-Identifier: MIT OR Apache-2.0
//! Orders of a block's nodes that an assembler may choose, and a block repeated as an unrolled loop has it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use super::machine::{Kind, Machine, Node};
use crate::types::Space;

/// How long results take, in issued instructions.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    pub global: u32,
    pub shared: u32,
    pub plain: u32,
}

impl Latency {
    /// Loads first, as far as nothing is in their way.
    pub const LONG: Latency = Latency { global: 200, shared: 30, plain: 4 };
    /// Loads somewhat early.
    pub const SHORT: Latency = Latency { global: 24, shared: 12, plain: 2 };

    /// Loads a little early.
    pub const BRIEF: Latency = Latency { global: 8, shared: 5, plain: 1 };
    /// Between the long and the short ones.
    pub const MIDDLE: Latency = Latency { global: 70, shared: 20, plain: 4 };

    fn of(self, kind: Kind) -> u32 {
        match kind {
            Kind::Load(Space::Shared | Space::Const | Space::Param) => self.shared,
            Kind::Load(_) => self.global,
            Kind::Slow => self.shared,
            Kind::Store(_) | Kind::Fence | Kind::Plain => self.plain,
        }
    }
}

fn may_alias(a: Space, b: Space) -> bool {
    a == b || a == Space::Generic || b == Space::Generic
}

/// How long one node waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// For its result.
    Result,
    /// For it to be issued.
    Issue,
    /// It must only come later.
    Order,
}

/// Which nodes of a block wait for which.
#[derive(Debug)]
pub struct Graph {
    /// Of the node `i`: those from `first[i]` to `first[i + 1]`.
    first: Vec<u32>,
    after: Vec<(u32, Wait)>,
    /// For how many each node waits.
    waits: Vec<u32>,
}

/// Tables by value that outlive a block.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Number of a value in this block, where `stamp` is the block's.
    number: Vec<u32>,
    stamp: Vec<u32>,
    now: u32,
    readers: Vec<i32>,
}

impl Scratch {
    fn begin(&mut self, values: usize) {
        if self.stamp.len() < values {
            self.stamp.resize(values, 0);
            self.number.resize(values, 0);
            self.readers.resize(values, 0);
        }
        self.now += 1;
    }
}

impl Graph {
    /// `values` is more than the greatest value.
    pub fn of(nodes: &[Node], values: usize, scratch: &mut Scratch) -> Graph {
        scratch.begin(values);
        // Last writer, and readers since, of each value that the block names.
        let mut writer: Vec<u32> = Vec::new();
        let mut readers: Vec<Vec<u32>> = Vec::new();
        let mut number = |v: u32, writer: &mut Vec<u32>, readers: &mut Vec<Vec<u32>>| {
            let v = v as usize;
            if std::mem::replace(&mut scratch.stamp[v], scratch.now) != scratch.now {
                scratch.number[v] = writer.len() as u32;
                writer.push(u32::MAX);
                readers.push(Vec::new());
            }
            scratch.number[v] as usize
        };
        let mut edges: Vec<(u32, u32, Wait)> = Vec::with_capacity(nodes.len() * 3);
        // Of the memory operations since the last fence, the last few: farther ones follow by way of them.
        let mut memory: VecDeque<(u32, Kind)> = VecDeque::new();
        for (i, node) in nodes.iter().enumerate() {
            let i = i as u32;
            for &v in &node.uses {
                let v = number(v, &mut writer, &mut readers);
                if writer[v] != u32::MAX {
                    edges.push((writer[v], i, Wait::Result));
                }
                readers[v].push(i);
            }
            for &v in &node.defs {
                let v = number(v, &mut writer, &mut readers);
                edges.extend(readers[v].drain(..).filter(|r| *r != i).map(|r| (r, i, Wait::Order)));
                let before = std::mem::replace(&mut writer[v], i);
                if before != u32::MAX && before != i {
                    edges.push((before, i, Wait::Issue));
                }
            }
            let loads = match node.kind {
                Kind::Load(_) => true,
                Kind::Store(_) | Kind::Fence => false,
                Kind::Slow | Kind::Plain => continue,
            };
            for &(m, kind) in &memory {
                let wait = match (kind, node.kind) {
                    (_, Kind::Fence) => Wait::Order,
                    (Kind::Fence, _) => Wait::Issue,
                    (Kind::Store(a), Kind::Load(b)) if may_alias(a, b) => Wait::Issue,
                    (Kind::Load(a) | Kind::Store(a), Kind::Store(b)) if may_alias(a, b) => {
                        Wait::Order
                    }
                    _ => continue,
                };
                edges.push((m, i, wait));
            }
            if !loads && node.kind == Kind::Fence {
                memory.clear();
            }
            memory.push_back((i, node.kind));
            if memory.len() > 12 {
                memory.pop_front();
            }
        }
        let mut first = vec![0u32; nodes.len() + 1];
        let mut waits = vec![0u32; nodes.len()];
        for &(from, to, _) in &edges {
            first[from as usize + 1] += 1;
            waits[to as usize] += 1;
        }
        for i in 0..nodes.len() {
            first[i + 1] += first[i];
        }
        let mut at = first.clone();
        let mut after = vec![(0, Wait::Order); edges.len()];
        for (from, to, wait) in edges {
            let place = &mut at[from as usize];
            after[*place as usize] = (to, wait);
            *place += 1;
        }
        Graph { first, after, waits }
    }

    fn after(&self, i: usize) -> &[(u32, Wait)] {
        &self.after[self.first[i] as usize..self.first[i + 1] as usize]
    }
}

/// List scheduling by the longest path to the end of the block.
pub fn early(nodes: &[Node], graph: &Graph, latency: Latency) -> Vec<u32> {
    let long = |i: usize, wait: Wait| match wait {
        Wait::Result => latency.of(nodes[i].kind),
        Wait::Issue => 1,
        Wait::Order => 0,
    };
    let mut path = vec![0u32; nodes.len()];
    let mut waits = graph.waits.clone();
    for i in (0..nodes.len()).rev() {
        let after = graph.after(i).iter().map(|&(j, wait)| path[j as usize] + long(i, wait));
        path[i] = after.max().unwrap_or_else(|| latency.of(nodes[i].kind));
    }
    let mut ready: BinaryHeap<(u32, Reverse<u32>)> = BinaryHeap::new();
    let mut later: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut at = vec![0u32; nodes.len()];
    for i in 0..nodes.len() {
        if waits[i] == 0 {
            ready.push((path[i], Reverse(i as u32)));
        }
    }
    let mut order = Vec::with_capacity(nodes.len());
    let mut now = 0;
    loop {
        while let Some(&Reverse((t, i))) = later.peek() {
            if t > now {
                break;
            }
            later.pop();
            ready.push((path[i as usize], Reverse(i)));
        }
        let Some((_, Reverse(i))) = ready.pop() else {
            match later.peek() {
                Some(&Reverse((t, _))) => now = t,
                None => break,
            }
            continue;
        };
        order.push(i);
        now += 1;
        for &(j, wait) in graph.after(i as usize) {
            let j = j as usize;
            at[j] = at[j].max(now + long(i as usize, wait).saturating_sub(1));
            waits[j] -= 1;
            if waits[j] == 0 {
                later.push(Reverse((at[j], j as u32)));
            }
        }
    }
    order
}

/// An order with little alive: of what is ready, the node that frees most, the first such in the text.
/// Looks at a window of ready nodes only.
pub fn lean(
    nodes: &[Node],
    graph: &Graph,
    machine: &Machine,
    origin: &[u32],
    out: &[u32],
    scratch: &mut Scratch,
) -> Vec<u32> {
    let own = machine.words.len() as u32;
    let weight = |v: u32| {
        let v = if v < own { v } else { origin[(v - own) as usize] };
        i32::from(machine.words[v as usize].varying)
    };
    let mut waits = graph.waits.clone();
    scratch.begin(own as usize + origin.len());
    let readers = &mut scratch.readers;
    for &v in nodes.iter().flat_map(|n| &n.uses).chain(out) {
        readers[v as usize] = 0;
    }
    nodes.iter().flat_map(|n| &n.uses).chain(out).for_each(|&v| readers[v as usize] += 1);
    let made: Vec<i32> =
        nodes.iter().map(|node| node.defs.iter().map(|&v| weight(v)).sum()).collect();
    let mut ready: Vec<u32> = (0..nodes.len() as u32).filter(|&i| waits[i as usize] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while !ready.is_empty() {
        let cost = |i: u32| {
            let uses = nodes[i as usize].uses.iter();
            let freed: i32 = uses.filter(|v| readers[**v as usize] == 1).map(|&v| weight(v)).sum();
            made[i as usize] - freed
        };
        let window = ready.len().min(16);
        let best = (0..window).min_by_key(|&k| (cost(ready[k]), ready[k])).unwrap_or(0);
        let i = ready.remove(best);
        order.push(i);
        nodes[i as usize].uses.iter().for_each(|v| readers[*v as usize] -= 1);
        for &(j, _) in graph.after(i as usize) {
            waits[j as usize] -= 1;
            if waits[j as usize] == 0 {
                let place = ready.partition_point(|&r| r < j);
                ready.insert(place, j);
            }
        }
    }
    order
}

/// The nodes of a block `times` in a row. What one round writes and nobody but the round reads is another value
/// in each; `origin` gets what each new number is a copy of.
pub fn repeated(
    nodes: &[Node],
    times: u32,
    carried: &HashSet<u32>,
    own: u32,
    origin: &mut Vec<u32>,
) -> Vec<Node> {
    let mut all = Vec::with_capacity(nodes.len() * times as usize);
    for _ in 0..times {
        let mut renamed: HashMap<u32, u32> = HashMap::new();
        for node in nodes {
            let mut node = node.clone();
            for v in &mut node.uses {
                *v = renamed.get(v).copied().unwrap_or(*v);
            }
            for v in &mut node.defs {
                if !carried.contains(v) {
                    *v = *renamed.entry(*v).or_insert_with(|| {
                        origin.push(*v);
                        own + origin.len() as u32 - 1
                    });
                }
            }
            all.push(node);
        }
    }
    all
}
