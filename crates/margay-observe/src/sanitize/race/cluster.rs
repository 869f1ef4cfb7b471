// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is released and acquired at a cluster's barrier, round by round (PTX ISA, "barrier.cluster").

use std::collections::HashMap;

use super::knowledge::Knowledge;

/// Rounds of a cluster that somebody may still ask for: nobody waits longer than until the one after.
const KEPT: usize = 3;

/// The barrier of a cluster.
#[derive(Default)]
pub struct Cluster {
    /// How often the lanes of each warp of a block have arrived.
    arrivals: HashMap<(u32, u16), [usize; 32]>,
    /// What was released in each round and before, from the round `first` on.
    released: Vec<Knowledge>,
    first: usize,
}

impl Cluster {
    /// Lanes arrive: those of each round, counted from 0.
    pub fn arrive(&mut self, block: u32, warp: u16, mask: u32) -> Vec<(usize, u32)> {
        let lanes = self.arrivals.entry((block, warp)).or_default();
        let mut out: Vec<(usize, u32)> = Vec::new();
        for (lane, round) in lanes.iter_mut().enumerate().filter(|(l, _)| mask >> l & 1 != 0) {
            match out.iter_mut().find(|(r, _)| r == round) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => out.push((*round, 1 << lane)),
            }
            *round += 1;
        }
        out
    }

    /// Something is released in a round.
    pub fn release(&mut self, round: usize, known: &Knowledge) {
        // Who arrives in the next round has waited for all arrivals of this one.
        while self.first + self.released.len() <= round {
            self.released.push(self.released.last().cloned().unwrap_or_default());
            if self.released.len() > KEPT {
                self.released.remove(0);
                self.first += 1;
            }
        }
        if let Some(at) = round.checked_sub(self.first) {
            self.released[at].join(known);
        }
    }

    /// The round that lanes arrived in last.
    pub fn last(&self, block: u32, warp: u16, mask: u32) -> Option<usize> {
        let lanes = self.arrivals.get(&(block, warp))?;
        let arrived = lanes.iter().enumerate().filter(|(l, _)| mask >> l & 1 != 0);
        arrived.filter_map(|(_, rounds)| rounds.checked_sub(1)).max()
    }

    /// What is known after a wait in a round.
    pub fn released(&self, round: usize) -> Knowledge {
        let at = round.saturating_sub(self.first).min(self.released.len().saturating_sub(1));
        self.released.get(at).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_by_lanes() {
        let mut cluster = Cluster::default();
        assert_eq!(cluster.last(0, 0, u32::MAX), None);
        assert_eq!(cluster.arrive(0, 0, 0xff), [(0, 0xff)]);
        assert_eq!(cluster.arrive(0, 0, 0xff0), [(1, 0xf0), (0, 0xf00)]);
        assert_eq!((cluster.last(0, 0, 0xf), cluster.last(0, 0, 0xff)), (Some(0), Some(1)));
        assert_eq!(cluster.last(0, 1, 1), None);
        for round in 0..10 {
            cluster.release(round, &Knowledge::default());
        }
        assert_eq!((cluster.released.len(), cluster.first), (KEPT, 7));
    }
}
