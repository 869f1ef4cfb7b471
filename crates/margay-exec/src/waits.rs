// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who waits where, in words: of the first few by their place in the grid, whoever tells of them first.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::fault::{Fault, FaultKind, Spot};
use crate::program::Program;

/// Lanes by their place: the block's `z`, `y` and `x`, the warp, the first lane.
type Place = ([u32; 3], u32, u32);

/// What lanes do that wait.
#[derive(Debug)]
struct Wait {
    lanes: u32,
    what: String,
    spot: Spot,
}

/// See the module's header.
#[derive(Debug, Default)]
pub struct Waits {
    first: BTreeMap<Place, Wait>,
    more: bool,
    /// The first that looks at memory again and again, or just goes round.
    spins: Option<(Place, Spot)>,
}

impl Waits {
    /// Most that are told.
    const MOST: usize = 8;

    /// Adds lanes of a warp; `what` is how they wait, `None` that nothing keeps them from running.
    pub fn add(&mut self, (warp, lanes): (u32, u32), what: Option<String>, spot: Spot) {
        let [x, y, z] = spot.block;
        let place = ([z, y, x], warp, lanes.trailing_zeros());
        if what.is_none() && self.spins.as_ref().is_none_or(|(other, _)| place < *other) {
            self.spins = Some((place, spot.clone()));
        }
        let is_later = self.first.last_key_value().is_some_and(|(last, _)| place > *last);
        if is_later && self.first.len() == Waits::MOST {
            self.more = true;
            return;
        }
        let what = what.unwrap_or_else(|| "spins".to_owned());
        self.first.insert(place, Wait { lanes, what, spot });
        if self.first.len() > Waits::MOST {
            self.more = true;
            self.first.pop_last();
        }
    }

    /// The list.
    pub fn who(&self) -> String {
        let mut who = String::new();
        for (([z, y, x], warp, _), Wait { lanes, what, spot }) in &self.first {
            let and = if who.is_empty() { "" } else { "; " };
            let _ = write!(who, "{and}block ({x},{y},{z}) warp {warp} lanes {lanes:#010x} {what}");
            if let Some(file) = &spot.place.file {
                let _ = write!(who, " ({file}:{})", spot.place.line);
            } else if spot.place.ptx_line != 0 {
                let _ = write!(who, " (PTX line {})", spot.place.ptx_line);
            }
        }
        if self.more {
            who.push_str("; and more");
        }
        who
    }

    /// The fault of those, which nothing can end. It is told of one that spins, if any does.
    pub fn deadlock(&self, program: &Program, lead: &str) -> Box<Fault> {
        let spinning = self.spins.as_ref().map(|(_, spot)| spot);
        let first = self.first.values().next().map(|wait| &wait.spot);
        let Spot { block, thread, place } = spinning.or(first).cloned().unwrap_or_default();
        let (kernel, who) = (program.name().to_owned(), format!("{lead}: {}", self.who()));
        let kind = FaultKind::Deadlock { who, spins: spinning.is_some() };
        Box::new(Fault { kind, kernel, block, thread, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list of blocks that are told of in this order, of which those with an even number spin.
    fn told(blocks: impl Iterator<Item = u32>) -> Waits {
        let mut waits = Waits::default();
        for x in blocks {
            let spot = Spot { block: [x, 0, 0], ..Spot::default() };
            let what = (x % 2 != 0).then(|| "at barrier 0".to_owned());
            waits.add((0, 1), what, spot);
        }
        waits
    }

    #[test]
    fn the_first_are_told_in_whatever_order_they_come() {
        let (up, down) = (told(3..40), told((3..40).rev()));
        assert_eq!(up.who(), down.who());
        assert!(
            up.who().starts_with("block (3,0,0) warp 0 lanes 0x00000001 at barrier 0; block (4")
        );
        assert!(up.who().ends_with("block (10,0,0) warp 0 lanes 0x00000001 spins; and more"));
        let one = |waits: &Waits| waits.spins.as_ref().map(|(_, spot)| spot.block);
        assert_eq!((one(&up), one(&down)), (Some([4, 0, 0]), Some([4, 0, 0])));
        assert!(!told(0..8).who().contains("more"));
    }
}
