// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold for a block to go the ways of one that was rehearsed: found by watching what that one computes.

use margay_ir::IntCmp;

use super::kind::{Moves, STILL};
use crate::lanes::{WARP, active};

/// How one of two operands becomes the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picks {
    /// The smaller, by sign or not.
    Least(bool),
    Most(bool),
    /// The first where a predicate holds.
    First,
}

/// What an instruction asks of a block that is moved.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A comparison comes out the same in every thread.
    Compare { cmp: IntCmp, bits: u32, moves: [Moves; 2] },
    /// An operand, under a mask, stays between two bounds.
    Stays {
        operand: usize,
        mask: u64,
        moves: Moves,
        bits: u32,
        signed: bool,
        least: i128,
        most: i128,
    },
    /// An operand is below a limit in the block that is rehearsed: it is the same in all.
    Below { operand: usize, limit: u64 },
    /// The moves are a multiple of this.
    Multiple { moves: Moves, of: i64 },
    /// Each of the two operands compares alike with these.
    Edges { bits: u32, moves: [Moves; 2], edges: Vec<(IntCmp, u64)> },
    /// The same of two operands is the result; that is what moves like the operand `main`.
    Picks { how: Picks, bits: u32, moves: [Moves; 2], main: usize },
}

/// Further than anything moves.
const FAR: i128 = i64::MAX as i128;

/// The least and the largest number of so many bits.
fn bounds(bits: u32, signed: bool) -> (i128, i128) {
    match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    }
}

/// A register's bits as a number.
fn number(value: u64, bits: u32, signed: bool) -> i128 {
    match (bits, signed) {
        (32, true) => i128::from(value as u32 as i32),
        (32, false) => i128::from(value as u32),
        (_, true) => i128::from(value as i64),
        (_, false) => i128::from(value),
    }
}

/// [`number`] of 32 bits.
#[inline(always)]
fn short(value: u64, signed: bool) -> i64 {
    if signed { i64::from(value as i32) } else { i64::from(value as u32) }
}

impl What {
    /// An operand does not wrap.
    pub fn stays(operand: usize, moves: Moves, bits: u32, signed: bool) -> What {
        let (least, most) = bounds(bits, signed);
        What::Stays { operand, mask: u64::MAX, moves, bits, signed, least, most }
    }

    /// Nor is it negative.
    pub fn stays_positive(operand: usize, moves: Moves, bits: u32) -> What {
        let (_, most) = bounds(bits, true);
        What::Stays { operand, mask: u64::MAX, moves, bits, signed: true, least: 0, most }
    }

    /// The low half of a wide register does not wrap.
    pub fn low_word(operand: usize, moves: Moves) -> What {
        let (least, most) = bounds(32, false);
        let mask = most as u64;
        What::Stays { operand, mask, moves, bits: 64, signed: false, least, most }
    }
}

/// Bounds of what moves: `least ≤ moves · (block - rehearsed) ≤ most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub moves: Moves,
    pub least: i128,
    pub most: i128,
}

/// The moves between two blocks are multiples of `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiple {
    pub moves: Moves,
    pub of: i64,
}

/// The least and the largest number that came.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub least: i128,
    pub most: i128,
}

impl Span {
    pub const NONE: Span = Span { least: i128::MAX, most: i128::MIN };

    pub fn add(&mut self, n: i128) {
        self.least = self.least.min(n);
        self.most = self.most.max(n);
    }

    /// Adds what the lanes of a mask have.
    fn add_all(&mut self, all: &[u64; WARP], mask: u32, (bits, signed): (u32, bool)) {
        if bits == 32 {
            let (mut least, mut most) = (i64::MAX, i64::MIN);
            for (lane, &own) in all.iter().enumerate() {
                let (own, runs) = (short(own, signed), mask >> lane & 1 != 0);
                least = least.min(if runs { own } else { i64::MAX });
                most = most.max(if runs { own } else { i64::MIN });
            }
            if least <= most {
                self.add(least.into());
                self.add(most.into());
            }
            return;
        }
        active(mask).for_each(|lane| self.add(number(all[lane], bits, signed)));
    }

    /// Where it may move so that it stays between the bounds.
    pub fn within(&self, moves: Moves, (least, most): (i128, i128)) -> Bound {
        Bound { moves, least: least - self.least, most: most - self.most }
    }
}

/// What came at one instruction.
#[derive(Clone, Debug)]
pub struct Record {
    came: bool,
    operands: [Span; 2],
    /// Of the differences of the operands, doubled: those below and above each of two odd numbers.
    sides: [[Span; 2]; 2],
    /// Whether each of two operands was picked.
    picked: [bool; 2],
    highest: u64,
    /// As `sides`, of each operand's differences to each of the numbers that it is compared with.
    edges: Vec<[[[Span; 2]; 2]; 2]>,
}

impl Record {
    pub const NONE: Record = Record {
        came: false,
        operands: [Span::NONE; 2],
        sides: [[Span::NONE; 2]; 2],
        picked: [false; 2],
        highest: 0,
        edges: Vec::new(),
    };

    /// Notes an execution. `operands`: by operand, what each lane has.
    pub fn note(&mut self, what: &What, mask: u32, operands: &[[u64; WARP]; 3]) {
        self.came |= mask != 0;
        match *what {
            What::Compare { cmp, bits, .. } => {
                let (signed, edges) = edges(cmp);
                self.compare(operands, mask, (bits, signed), edges);
            }
            What::Stays { operand, mask: kept, bits, signed, .. } => {
                let own = operands[operand].map(|n| n & kept);
                self.operands[0].add_all(&own, mask, (bits, signed));
            }
            What::Below { operand, .. } => {
                let own = active(mask).map(|lane| operands[operand][lane]);
                self.highest = own.fold(self.highest, u64::max);
            }
            What::Multiple { .. } => {}
            What::Edges { bits, edges: ref numbers, .. } => {
                self.edges.resize(numbers.len(), [[[Span::NONE; 2]; 2]; 2]);
                for (sides, &(cmp, n)) in self.edges.iter_mut().zip(numbers) {
                    let (signed, edges) = edges(cmp);
                    for (operand, sides) in sides.iter_mut().enumerate() {
                        let own = &operands[operand];
                        self.operands[operand].add_all(own, mask, (bits, signed));
                        add_sides(sides, (own, &[n; WARP]), mask, (bits, signed), edges);
                    }
                }
            }
            What::Picks { how: Picks::First, .. } => {
                let first = active(mask).filter(|&lane| operands[2][lane] != 0).count();
                self.picked[0] |= first != 0;
                self.picked[1] |= first != mask.count_ones() as usize;
            }
            What::Picks { how: Picks::Least(signed) | Picks::Most(signed), bits, .. } => {
                self.compare(operands, mask, (bits, signed), [0, 0]);
                for lane in active(mask) {
                    let [a, b] = [0, 1].map(|n: usize| number(operands[n][lane], bits, signed));
                    let first = match *what {
                        What::Picks { how: Picks::Least(_), .. } => a <= b,
                        _ => a >= b,
                    };
                    self.picked[usize::from(!first)] = true;
                }
            }
        }
    }

    fn compare(
        &mut self,
        operands: &[[u64; WARP]; 3],
        mask: u32,
        form: (u32, bool),
        edges: [i128; 2],
    ) {
        let [a, b, _] = operands;
        self.operands[0].add_all(a, mask, form);
        self.operands[1].add_all(b, mask, form);
        add_sides(&mut self.sides, (a, b), mask, form, edges);
    }

    /// What that asks of other blocks. `None` if no other is like this one.
    pub fn asks(&self, what: &What, to: &mut (Vec<Bound>, Vec<Multiple>)) -> Option<()> {
        if !self.came {
            return Some(());
        }
        let (ranges, multiples) = to;
        match *what {
            What::Compare { cmp, bits, moves } => {
                let (signed, edges) = edges(cmp);
                self.stay((bits, signed), moves, ranges);
                keep_sides(&self.sides, apart(moves)?, edges, ranges);
            }
            What::Edges { bits, moves, edges: ref numbers } => {
                for (sides, &(cmp, _)) in self.edges.iter().zip(numbers) {
                    let (signed, edges) = edges(cmp);
                    self.stay((bits, signed), moves, ranges);
                    for (sides, moves) in sides.iter().zip(moves) {
                        keep_sides(sides, moves, edges, ranges);
                    }
                }
            }
            What::Stays { moves, least, most, .. } => {
                let own = self.operands[0];
                // It has wrapped already.
                if own.least < least || own.most > most {
                    return None;
                }
                ranges.push(own.within(moves, (least, most)));
            }
            What::Below { limit, .. } => {
                if self.highest >= limit {
                    return None;
                }
            }
            What::Multiple { moves, of } => multiples.push(Multiple { moves, of }),
            What::Picks { how, bits, moves, main } => {
                let difference = apart(moves)?;
                let still = Bound { moves: difference, least: 0, most: 0 };
                // Where the other was picked, too, both must move alike, or neither.
                if self.picked[1 - main] {
                    ranges.push(still);
                }
                if let Picks::Least(signed) | Picks::Most(signed) = how {
                    let (least, most) = bounds(bits, signed);
                    for (operand, moves) in self.operands.iter().zip(moves) {
                        ranges.push(operand.within(moves, (least, most)));
                    }
                    if !self.picked[1 - main] {
                        // The main one stays the one that is picked: the difference keeps its sign, or is 0.
                        let [below, above] = self.sides[0];
                        let first_is_least = matches!(how, Picks::Least(_)) == (main == 0);
                        ranges.push(match first_is_least {
                            true => Bound { moves: difference, least: -FAR, most: -below.most / 2 },
                            // With an edge at 0 those that are 0 are below it.
                            false if below.most == 0 => {
                                Bound { moves: difference, least: 0, most: FAR }
                            }
                            false => {
                                Bound { moves: difference, least: -above.least / 2, most: FAR }
                            }
                        });
                    }
                }
            }
        }
        Some(())
    }

    /// Operands do not wrap.
    fn stay(&self, (bits, signed): (u32, bool), moves: [Moves; 2], ranges: &mut Vec<Bound>) {
        let limits = bounds(bits, signed);
        for (operand, moves) in self.operands.iter().zip(moves) {
            if moves != STILL {
                ranges.push(operand.within(moves, limits));
            }
        }
    }
}

/// How two operands move apart; `None` beyond 64 bits.
fn apart([a, b]: [Moves; 2]) -> Option<Moves> {
    let mut difference = STILL;
    for (to, (a, b)) in difference.iter_mut().zip(a.into_iter().zip(b)) {
        *to = a.checked_sub(b)?;
    }
    Some(difference)
}

/// Adds the doubled differences of two operands, each on its side of each edge.
fn add_sides(
    sides: &mut [[Span; 2]; 2],
    (a, b): (&[u64; WARP], &[u64; WARP]),
    mask: u32,
    (bits, signed): (u32, bool),
    edges: [i128; 2],
) {
    if bits == 32 {
        // All fits 64 bits, and vectors have such.
        let twice: [i64; WARP] =
            std::array::from_fn(|l| 2 * (short(a[l], signed) - short(b[l], signed)));
        let edges = edges.map(|edge| edge as i64);
        for (n, (sides, edge)) in sides.iter_mut().zip(edges).enumerate() {
            if n == 1 && edge == edges[0] {
                return;
            }
            let mut ends = [(i64::MAX, i64::MIN); 2];
            for (lane, twice) in twice.into_iter().enumerate() {
                let runs = mask >> lane & 1 != 0;
                let keep = |n: i64, on: bool, or: i64| if on { n } else { or };
                let (below, above) = (runs & (twice <= edge), runs & (twice > edge));
                ends[0].0 = ends[0].0.min(keep(twice, below, i64::MAX));
                ends[0].1 = ends[0].1.max(keep(twice, below, i64::MIN));
                ends[1].0 = ends[1].0.min(keep(twice, above, i64::MAX));
                ends[1].1 = ends[1].1.max(keep(twice, above, i64::MIN));
            }
            for (side, (least, most)) in sides.iter_mut().zip(ends).filter(|(_, e)| e.0 <= e.1) {
                side.add(least.into());
                side.add(most.into());
            }
        }
        return;
    }
    for lane in active(mask) {
        let twice = 2 * (number(a[lane], bits, signed) - number(b[lane], bits, signed));
        for (n, (sides, edge)) in sides.iter_mut().zip(edges).enumerate() {
            if n == 0 || edge != edges[0] {
                sides[usize::from(twice > edge)].add(twice);
            }
        }
    }
}

/// Each difference stays on its side of each edge.
fn keep_sides(
    sides: &[[Span; 2]; 2],
    difference: Moves,
    edges: [i128; 2],
    ranges: &mut Vec<Bound>,
) {
    if difference == STILL {
        return;
    }
    // The second edge is noted where it is another one.
    let different = 1 + usize::from(edges[0] != edges[1]);
    for ([below, above], edge) in sides.iter().zip(edges).take(different) {
        // Twice the differences are even, the edges odd.
        let most = match below.most {
            i128::MIN => FAR,
            n => (edge - 1 - n).div_euclid(2),
        };
        let least = match above.least {
            i128::MAX => -FAR,
            n => -((n - edge - 1).div_euclid(2)),
        };
        ranges.push(Bound { moves: difference, least, most });
    }
}

/// Whether a comparison asks for a sign, or for none, as said; equality asks for neither.
pub fn is_by(cmp: IntCmp, signed: bool) -> bool {
    matches!(cmp, IntCmp::Eq | IntCmp::Ne) && signed || edges(cmp).0 == signed
}

/// Whether a comparison is by sign, and between which doubled differences it changes.
fn edges(cmp: IntCmp) -> (bool, [i128; 2]) {
    match cmp {
        IntCmp::Eq | IntCmp::Ne => (true, [-1, 1]),
        IntCmp::LtS | IntCmp::GeS => (true, [-1, -1]),
        IntCmp::LeS | IntCmp::GtS => (true, [1, 1]),
        IntCmp::LtU | IntCmp::GeU => (false, [-1, -1]),
        IntCmp::LeU | IntCmp::GtU => (false, [1, 1]),
    }
}
