// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values of a [`Machine`] are alive at the ends of its blocks, and how much is alive inside them.

use super::machine::{Machine, Node, Words};

/// Values that are alive at the end of each block, what its end reads included.
#[derive(Debug)]
pub struct Live {
    pub out: Vec<Vec<u32>>,
    pub into: Vec<Vec<u32>>,
}

impl Live {
    pub fn of(machine: &Machine) -> Live {
        let count = machine.blocks.len();
        // Only what crosses a border takes part: a value that is read where it is not written before.
        let mut number = vec![u32::MAX; machine.words.len()];
        let mut crossing = Vec::new();
        let mut written = vec![u32::MAX; machine.words.len()];
        for (b, nodes) in machine.blocks.iter().enumerate() {
            let mut read = |v: u32, written: &[u32]| {
                if written[v as usize] != b as u32 && number[v as usize] == u32::MAX {
                    number[v as usize] = crossing.len() as u32;
                    crossing.push(v);
                }
            };
            for node in nodes {
                node.uses.iter().for_each(|&v| read(v, &written));
                if node.guarded {
                    node.defs.iter().for_each(|&v| read(v, &written));
                }
                node.defs.iter().for_each(|&v| written[v as usize] = b as u32);
            }
            if let Some(v) = machine.term[b] {
                read(v, &written);
            }
        }
        let words = crossing.len().div_ceil(64);
        let mut reads = vec![vec![0u64; words]; count];
        let mut kills = vec![vec![0u64; words]; count];
        for (b, nodes) in machine.blocks.iter().enumerate() {
            let at = |v: u32| {
                let n = number[v as usize];
                (n != u32::MAX).then_some((n as usize / 64, 1u64 << (n % 64)))
            };
            if let Some((w, bit)) = machine.term[b].and_then(at) {
                reads[b][w] |= bit;
            }
            for node in nodes.iter().rev() {
                if !node.guarded {
                    for (w, bit) in node.defs.iter().filter_map(|&v| at(v)) {
                        reads[b][w] &= !bit;
                        kills[b][w] |= bit;
                    }
                }
                for (w, bit) in node.uses.iter().filter_map(|&v| at(v)) {
                    reads[b][w] |= bit;
                }
            }
        }
        let mut into = reads;
        let mut out = vec![vec![0u64; words]; count];
        let mut work: Vec<usize> = (0..count).collect();
        let mut queued = vec![true; count];
        while let Some(b) = work.pop() {
            queued[b] = false;
            for succ in &machine.cfg.succs[b] {
                for (o, i) in out[b].iter_mut().zip(&into[succ.0 as usize]) {
                    *o |= i;
                }
            }
            let mut grew = false;
            for w in 0..words {
                let new = into[b][w] | (out[b][w] & !kills[b][w]);
                grew |= new != into[b][w];
                into[b][w] = new;
            }
            if grew {
                for pred in &machine.cfg.preds[b] {
                    if !std::mem::replace(&mut queued[pred.0 as usize], true) {
                        work.push(pred.0 as usize);
                    }
                }
            }
        }
        let list = |set: &[u64]| -> Vec<u32> {
            let bits = set.iter().enumerate().flat_map(|(w, &bits)| {
                (0..64).filter(move |b| bits >> b & 1 == 1).map(move |b| w * 64 + b)
            });
            bits.map(|n| crossing[n]).collect()
        };
        let mut out: Vec<Vec<u32>> = out.iter().map(|s| list(s)).collect();
        for (out, term) in out.iter_mut().zip(&machine.term) {
            if let Some(v) = *term
                && !out.contains(&v)
            {
                out.push(v);
            }
        }
        Live { out, into: into.iter().map(|s| list(s)).collect() }
    }
}

/// The most that is alive at once in a block whose nodes are in this order.
pub struct Pressure<'a> {
    words: &'a [Words],
    stamp: Vec<u32>,
    now: u32,
}

impl<'a> Pressure<'a> {
    pub fn new(words: &'a [Words]) -> Pressure<'a> {
        Pressure { words, stamp: vec![0; words.len()], now: 0 }
    }

    pub fn total(&self, values: &[u32], of: impl Fn(&Words) -> u8) -> u32 {
        values.iter().map(|&v| u32::from(of(&self.words[v as usize]))).sum()
    }

    /// `rename` numbers values past the function's own back to what they are copies of.
    pub fn most<'n>(
        &mut self,
        out: &[u32],
        nodes: impl Iterator<Item = &'n Node>,
        origin: &[u32],
        of: impl Fn(&Words) -> u8,
    ) -> u32 {
        let own = self.words.len() as u32;
        self.stamp.resize(self.stamp.len().max(own as usize + origin.len()), 0);
        let words = self.words;
        let weight = |v: u32| {
            let v = if v < own { v } else { origin[(v - own) as usize] };
            u32::from(of(&words[v as usize]))
        };
        self.now += 1;
        let alive = self.now;
        let mut sum = 0;
        for &v in out {
            if std::mem::replace(&mut self.stamp[v as usize], alive) != alive {
                sum += weight(v);
            }
        }
        let mut most = sum;
        for node in nodes {
            let unread: u32 = node
                .defs
                .iter()
                .filter(|&&v| self.stamp[v as usize] != alive)
                .map(|&v| weight(v))
                .sum();
            most = most.max(sum + unread);
            if !node.guarded {
                for &v in &node.defs {
                    if std::mem::replace(&mut self.stamp[v as usize], 0) == alive {
                        sum -= weight(v);
                    }
                }
            }
            for &v in &node.uses {
                if std::mem::replace(&mut self.stamp[v as usize], alive) != alive {
                    sum += weight(v);
                }
            }
            most = most.max(sum);
        }
        most
    }
}
