// SPDX-License-Identifier: MIT OR Apache-2.0
//! The blocks of a grid that are like one of them.

use super::kind::Moves;
use super::steps::{Bound, Multiple};

/// Numbers along one dimension: `from`, and on by `step` as far as `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    from: u32,
    to: u32,
    step: u32,
}

impl Row {
    fn numbers(self) -> impl Iterator<Item = u32> {
        (self.from..=self.to).step_by(self.step as usize)
    }

    /// How far the first and the last are from `own`, times `per`: the least and the most.
    fn reach(self, own: u32, per: i64) -> (i128, i128) {
        let last = self.to - (self.to - self.from) % self.step;
        let far = |n: u32| i128::from(per) * (i128::from(n) - i128::from(own));
        (far(self.from).min(far(last)), far(self.from).max(far(last)))
    }
}

/// Blocks that go the same ways.
#[derive(Debug)]
pub struct Like {
    pub own: [u32; 3],
    rows: [Row; 3],
    /// What is to be asked of each of them.
    rest: Vec<Bound>,
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Like {
    /// Those of which all this holds.
    pub fn new(grid: [u32; 3], own: [u32; 3], bounds: &[Bound], multiples: &[Multiple]) -> Like {
        let mut rows: [Row; 3] =
            std::array::from_fn(|d| Row { from: 0, to: grid[d].saturating_sub(1), step: 1 });
        for multiple in multiples {
            let of = multiple.of.unsigned_abs().max(1);
            // Each dimension by itself: sums of several that happen to be multiples are left out.
            for (row, per) in rows.iter_mut().zip(multiple.moves) {
                let step = of / gcd(of, per.unsigned_abs());
                let both = u64::from(row.step) * step / gcd(u64::from(row.step), step);
                row.step = u32::try_from(both).unwrap_or(u32::MAX);
            }
        }
        let mut several = Vec::new();
        for bound in bounds {
            let mut moving = (0..3).filter(|&d| bound.moves[d] != 0);
            match (moving.next(), moving.next()) {
                (None, _) => {}
                (Some(d), None) => rows[d].narrow(own[d], bound, bound.moves[d]),
                (Some(_), Some(_)) if several.contains(bound) => {}
                (Some(_), Some(_)) => several.push(*bound),
            }
        }
        for (row, own) in rows.iter_mut().zip(own) {
            row.from = own - (own - row.from) / row.step * row.step;
        }
        let rest = several.into_iter().filter(|bound| {
            let reach = (0..3).map(|d| rows[d].reach(own[d], bound.moves[d]));
            let (least, most) = reach.fold((0, 0), |all, own| (all.0 + own.0, all.1 + own.1));
            least < bound.least || most > bound.most
        });
        let rest = rest.collect();
        Like { own, rows, rest }
    }

    /// Calls `each` on those blocks, row by row.
    pub fn each(&self, mut each: impl FnMut([u32; 3])) {
        let [x, y, z] = self.rows;
        for z in z.numbers() {
            for y in y.numbers() {
                for x in x.numbers() {
                    let block = [x, y, z];
                    if self.rest.iter().all(|bound| bound.holds(self.by(block, bound.moves))) {
                        each(block);
                    }
                }
            }
        }
    }

    /// How far an address moves from the own block to this one, modulo 2^64.
    #[inline]
    pub fn bytes(&self, block: [u32; 3], moves: Moves) -> i64 {
        let far = |d: usize| i64::from(block[d]) - i64::from(self.own[d]);
        (0..3).fold(0, |sum: i64, d| sum.wrapping_add(moves[d].wrapping_mul(far(d))))
    }

    /// How far something moves from the own block to this one.
    fn by(&self, block: [u32; 3], moves: Moves) -> i128 {
        let far = |d: usize| i128::from(block[d]) - i128::from(self.own[d]);
        (0..3).map(|d| i128::from(moves[d]) * far(d)).sum()
    }
}

impl Bound {
    fn holds(&self, by: i128) -> bool {
        self.least <= by && by <= self.most
    }
}

impl Row {
    /// Leaves those for which what moves by `per` each stays within the bound.
    fn narrow(&mut self, own: u32, bound: &Bound, per: i64) {
        let per = i128::from(per);
        // Towards the own number, which is one of them.
        let (mut low, mut high) = (-(bound.least.abs() / per.abs()), bound.most.abs() / per.abs());
        if per < 0 {
            (low, high) = (-high, -low);
        }
        let at = |n: i128| (i128::from(own) + n).clamp(0, i128::from(u32::MAX)) as u32;
        self.from = self.from.max(at(low).min(own));
        self.to = self.to.min(at(high).max(own));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(like: &Like) -> Vec<[u32; 3]> {
        let mut all = Vec::new();
        like.each(|block| all.push(block));
        all
    }

    #[test]
    fn rows_are_what_bounds_and_multiples_leave() {
        let bound = |moves, least, most| Bound { moves, least, most };
        let bounds = [bound([4, 0, 0], -9, 12), bound([0, -2, 0], -4, 3), bound([0; 3], 0, 0)];
        let like = Like::new([64, 8, 1], [10, 4, 0], &bounds, &[]);
        let all = list(&like);
        // -9 ≤ 4 (x - 10) ≤ 12 and -4 ≤ -2 (y - 4) ≤ 3.
        assert_eq!(all.len(), 6 * 4);
        assert_eq!((all[0], all[23]), ([8, 3, 0], [13, 6, 0]));
        let multiples = [Multiple { moves: [64, 1024, 0], of: 256 }];
        let like = Like::new([10, 2, 1], [5, 0, 0], &[], &multiples);
        assert_eq!(list(&like), [[1, 0, 0], [5, 0, 0], [9, 0, 0], [1, 1, 0], [5, 1, 0], [9, 1, 0]]);
    }

    #[test]
    fn what_several_numbers_move_is_asked_of_each() {
        let bound = Bound { moves: [1, 10, 0], least: -12, most: 5 };
        let like = Like::new([8, 4, 1], [3, 2, 0], &[bound], &[]);
        let all = list(&like);
        let is = |[x, y, _]: [u32; 3]| {
            let by = i128::from(x) - 3 + 10 * (i128::from(y) - 2);
            (-12..=5).contains(&by)
        };
        let every = (0..4).flat_map(|y| (0..8).map(move |x| [x, y, 0]));
        assert_eq!(all, every.filter(|b| is(*b)).collect::<Vec<_>>());
    }
}
