// SPDX-License-Identifier: MIT OR Apache-2.0
//! In which blocks of a launch a warp's store could reach what a sibling loads.
//!
//! Where addresses are sums of multiples of block and thread numbers, with the launch's parameters and dimensions put in, the
//! distance of a load from a store is one, too. It is looked at for all pairs of warps once a launch; what is left for a
//! block is a sum of three products and a look into a few ranges. Most blocks of an in-place kernel over rows turn out to be
//! free: only the one that has the pivot's row is not.

use crate::lanes::WARP;
use crate::launch::LaunchConfig;
use crate::sums::{Sum, numbers};

/// Fewer blocks in a row that are free of conflicts are run with their neighbours.
const WORTH: u32 = 8;
/// Places at which it is looked whether there are any such blocks.
const LOOKS: usize = 4096;

/// A load and a store that may meet: how far the load is from the store in the block, and the distances at which a warp
/// stores what a sibling loads; or one of the block's numbers, and those at which that is so.
#[derive(Debug)]
struct Pair {
    constant: i64,
    per_block: [i64; 3],
    /// In order and apart; both ends count.
    ranges: Vec<(i64, i64)>,
}

impl Pair {
    /// The same with the block's number for a distance, where only one of the three counts: few of the ranges are left.
    fn by_number(mut self) -> Pair {
        let mut counts = self.per_block.iter().enumerate().filter(|(_, per)| **per != 0);
        let (Some((d, &per)), None) = (counts.next(), counts.next()) else { return self };
        let from = |n: i64| i128::from(n) - i128::from(self.constant);
        let size = i128::from(per).abs();
        let numbers = self.ranges.iter().filter_map(|&(low, high)| {
            let (low, high) =
                if per > 0 { (from(low), from(high)) } else { (-from(high), -from(low)) };
            let (first, last) = ((low + size - 1).div_euclid(size), high.div_euclid(size));
            let number = |n: i128| n.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            (first <= last).then(|| (number(first), number(last)))
        });
        self.ranges = numbers.collect();
        if per < 0 {
            self.ranges.reverse();
        }
        (self.constant, self.per_block) = (0, [0; 3]);
        self.per_block[d] = 1;
        self
    }
}

/// The blocks of a launch in which warps must wait with their first stores.
#[derive(Debug)]
pub struct Conflicts {
    grid: [u32; 3],
    pairs: Vec<Pair>,
}

impl Conflicts {
    pub fn new(config: &LaunchConfig) -> Option<Conflicts> {
        // Each warp is a piece of a row of threads. Blocks of a cluster wait for one another.
        let rows = config.block[0].is_multiple_of(WARP as u32);
        (rows && config.cluster == [1; 3])
            .then(|| Conflicts { grid: config.grid, pairs: Vec::new() })
    }

    /// Adds a store and a load, and how many bytes they touch. `None` if nothing can be said.
    pub(super) fn add(
        &mut self,
        config: &LaunchConfig,
        (store, stored): (&Sum, i64),
        (load, loaded): (&Sum, i64),
    ) -> Option<()> {
        let distance = load.plus(&store.times(-1)?)?;
        let [x, y, z, ..] = distance.per;
        let warps = |sum: &Sum| -> Option<Vec<(i64, i64)>> {
            let [_, _, _, px, py, pz] = sum.per;
            let spread = px.checked_mul(WARP as i64 - 1)?;
            let mut all = Vec::new();
            for tz in 0..i64::from(config.block[2]) {
                for ty in 0..i64::from(config.block[1]) {
                    for tx in (0..i64::from(config.block[0])).step_by(WARP) {
                        let first = px
                            .checked_mul(tx)?
                            .checked_add(py.checked_mul(ty)?)?
                            .checked_add(pz.checked_mul(tz)?)?;
                        let last = first.checked_add(spread)?;
                        all.push((first.min(last), first.max(last)));
                    }
                }
            }
            Some(all)
        };
        let (stores, loads) = (warps(store)?, warps(load)?);
        // The distances that there are.
        let of_blocks = Sum { per: [x, y, z, 0, 0, 0], ..distance };
        let (least, most) = of_blocks.limits(&numbers(config))?;
        let mut ranges = Vec::new();
        for (w, s) in stores.iter().enumerate() {
            for (other, l) in loads.iter().enumerate() {
                let low = s.0.checked_sub(l.1)?.checked_sub(loaded - 1)?;
                let high = s.1.checked_add(stored - 1)?.checked_sub(l.0)?;
                let is_new = ranges.last() != Some(&(low, high));
                if w != other && low <= most && high >= least && is_new {
                    ranges.push((low, high));
                }
            }
        }
        ranges.sort_unstable();
        ranges.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1.saturating_add(1);
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        let pair = Pair { constant: distance.constant, per_block: [x, y, z], ranges };
        self.pairs.extend(Some(pair.by_number()).filter(|pair| !pair.ranges.is_empty()));
        Some(())
    }

    /// Whether no block has any.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether there is a stretch of blocks in which no warp need wait, as far as a short look tells.
    pub fn frees_some(&self) -> bool {
        let blocks: u64 = self.grid.iter().map(|&n| u64::from(n)).product();
        let (mut at, mut free) = (0, 0);
        for _ in 0..LOOKS {
            if at >= blocks {
                return false;
            }
            let (waits, more) = self.row(self.block(at));
            free = if waits { 0 } else { u32::saturating_add(free, more) };
            if free >= WORTH {
                return true;
            }
            at += u64::from(more);
        }
        at < blocks
    }

    /// The place of a block in the grid.
    fn block(&self, n: u64) -> [u32; 3] {
        let [columns, rows, _] = self.grid.map(u64::from);
        [n % columns, n / columns % rows, n / columns / rows].map(|n| n as u32)
    }

    /// Whether the warps of the block must wait, and of how many more in its row that is so.
    fn row(&self, [x, y, z]: [u32; 3]) -> (bool, u32) {
        let mut alike = self.grid[0] - x;
        let mut waits = false;
        for pair in &self.pairs {
            // The distance fits for all blocks, as was seen when the pair was made; sums on the way to it may not.
            let numbers = [x, y, z].map(i64::from);
            let products = pair.per_block.iter().zip(numbers).map(|(per, n)| per.wrapping_mul(n));
            let distance = products.fold(pair.constant, i64::wrapping_add);
            let at = pair.ranges.partition_point(|r| r.1 < distance);
            let next = pair.ranges.get(at);
            waits |= next.is_some_and(|r| r.0 <= distance);
            alike = match pair.per_block {
                [0, ..] => alike,
                // The distance is the block's number in its row: so it is up to where a range begins or ends.
                [1, 0, 0] if pair.constant == 0 => {
                    let change =
                        next.map(|r| if r.0 <= distance { r.1.saturating_add(1) } else { r.0 });
                    let blocks = change.map_or(i64::MAX, |change| change - distance);
                    alike.min(u32::try_from(blocks).unwrap_or(u32::MAX))
                }
                _ => 1,
            };
        }
        (waits, alike)
    }

    /// Whether the warps of blocks from `first` on must wait, and for how many, at most `count`, the answer is the same.
    fn alike(&self, first: u64, count: u32) -> (bool, u32) {
        let row = |seen: u32| self.row(self.block(first + u64::from(seen)));
        let (waits, mut seen) = row(0);
        while seen < count {
            let (other, more) = row(seen);
            if other != waits {
                break;
            }
            seen += more;
        }
        (waits, seen.min(count))
    }

    /// Whether the warps of blocks from `first` on must wait with their first stores, and for how many blocks, at most
    /// `count` and one at least, that is taken to be so: a few that need not are among those that do.
    pub fn stretch(&self, first: u64, count: u32) -> (bool, u32) {
        let (waits, mut seen) = self.alike(first, count);
        if !waits && (seen >= WORTH || seen == count) {
            return (false, seen);
        }
        while seen < count {
            let (waits, more) = self.alike(first + u64::from(seen), count - seen);
            if !waits && more >= WORTH {
                break;
            }
            seen += more;
        }
        (true, seen)
    }
}

#[cfg(test)]
mod tests {
    use margay_ir::{Op, Value};

    use super::*;
    use crate::steps::Steps;
    use crate::sums::Sums;

    /// Numbers that are alike on every machine.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as i64 % n
        }

        fn one_of(&mut self, of: &[i64]) -> i64 {
            of[self.below(of.len() as i64) as usize]
        }
    }

    fn config(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
        LaunchConfig {
            grid,
            block,
            cluster: [1; 3],
            dynamic_shared: 0,
            params: Vec::new(),
            shared_arguments: Vec::new(),
            cooperative: false,
            stack_limit: 0,
            timeout: None,
            threads: 1,
            seed: None,
            grid_id: 0,
            grid_workspace: 0,
            graph_exec: 0,
            envreg: [0; 32],
            engine: None,
        }
    }

    /// Whether a warp of the block stores what another one loads, thread by thread.
    fn meets(block: [u32; 3], at: [i64; 3], store: (&Sum, i64), load: (&Sum, i64)) -> bool {
        let [x, y, z] = block.map(i64::from);
        let threads = (0..z).flat_map(|k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])));
        let threads: Vec<[i64; 3]> = threads.collect();
        let place = |sum: &Sum, t: &[i64; 3]| {
            let numbers = at.iter().chain(t);
            sum.constant + sum.per.iter().zip(numbers).map(|(per, n)| per * n).sum::<i64>()
        };
        let mut stores: Vec<(usize, i64)> = Vec::new();
        for (n, t) in threads.iter().enumerate() {
            stores.push((n / WARP, place(store.0, t)));
        }
        threads.iter().enumerate().any(|(n, t)| {
            let l = place(load.0, t);
            stores.iter().any(|&(w, s)| w != n / WARP && s < l + load.1 && l < s + store.1)
        })
    }

    #[test]
    fn code_without_waits_is_for_stretches_of_blocks() {
        // A store to the block's own row, and a load of what lies `behind` rows on, of a grid of one row.
        let frees = |blocks: u32, per_block: [i64; 3], ranges: Vec<(i64, i64)>| {
            let pairs = vec![Pair { constant: 0, per_block, ranges }];
            Conflicts { grid: [blocks, 1, 1], pairs }.frees_some()
        };
        // The same distance in all blocks: all wait or none.
        assert!(!frees(1 << 30, [0; 3], vec![(-4, 4)]));
        assert!(frees(1 << 30, [0; 3], vec![(4, 8)]));
        // One block waits, and seven or eight do not.
        assert!(!frees(8, [1, 0, 0], vec![(0, 0)]));
        assert!(frees(9, [1, 0, 0], vec![(0, 0)]));
        // Each other block, of more than are looked at.
        let odd = (0..5000).map(|n| (2 * n, 2 * n)).collect::<Vec<_>>();
        assert!(!frees(4096, [1, 0, 0], odd.clone()));
        assert!(frees(1 << 20, [1, 0, 0], odd));
    }

    #[test]
    fn no_block_that_conflicts_is_free() {
        let mut random = Random(20);
        let (mut conflicts, mut free) = (0, 0);
        for _ in 0..300 {
            let grid = [3, 2, 1 + random.below(2) as u32];
            let block = [32 << random.below(2), 1 + random.below(3) as u32, 1];
            let config = config(grid, block);
            let mut sum = || Sum {
                constant: 4 * random.below(300),
                per: [
                    random.one_of(&[0, 128, 256, -12]),
                    random.one_of(&[0, 512, 1024, 1536]),
                    random.one_of(&[0, 4096, -4096]),
                    random.one_of(&[4, 4, 4, 0, 8, -4]),
                    random.one_of(&[0, 512, 512, 128]),
                    0,
                ],
                ..Sum::default()
            };
            let (store, load) = (sum(), sum());
            let mut found = Conflicts::new(&config).unwrap();
            found.add(&config, (&store, 4), (&load, 4)).unwrap();
            for n in 0..grid.iter().product::<u32>() {
                let at = [n % 3, n / 3 % 2, n / 6];
                let (waits, alike) = found.row(at);
                for x in at[0]..at[0] + alike {
                    assert_eq!(
                        found.row([x, at[1], at[2]]).0,
                        waits,
                        "{at:?} and {x}: {store:?} {load:?}"
                    );
                }
                let truth = meets(block, at.map(i64::from), (&store, 4), (&load, 4));
                assert!(waits || !truth, "{grid:?} {block:?} {at:?} {store:?} {load:?}");
                conflicts += usize::from(truth);
                free += usize::from(!waits);
            }
        }
        assert!(conflicts > 100 && free > 1000, "{conflicts} conflicts, {free} free blocks");
    }

    /// `d[y][x] = f(d[pivot][x], d[y][pivot], d[y][x])` on a matrix of `n` columns, blocks of 32 by 8.
    fn pivot_row(n: i64, pivot: i64) -> Conflicts {
        let config = config([n as u32 / 32, n as u32 / 8, 1], [32, 8, 1]);
        let own = Sum { constant: 1 << 40, per: [128, 32 * n, 0, 4, 4 * n, 0], ..Sum::default() };
        let row = Sum {
            constant: own.constant + 4 * n * pivot,
            per: [128, 0, 0, 4, 0, 0],
            ..Sum::default()
        };
        let column = Sum {
            constant: own.constant + 4 * pivot,
            per: [0, 32 * n, 0, 0, 4 * n, 0],
            ..Sum::default()
        };
        let mut found = Conflicts::new(&config).unwrap();
        for load in [&own, &row, &column] {
            found.add(&config, (&own, 4), (load, 4)).unwrap();
        }
        found
    }

    #[test]
    fn only_the_blocks_of_the_pivot_row_wait() {
        let found = pivot_row(512, 100);
        for block_row in 0..64 {
            assert_eq!(found.row([3, block_row, 0]), (block_row == 100 / 8, 13));
        }
        // 16 blocks a row: those up to the row, the row, and those behind.
        let first = 16 * 12;
        assert_eq!(found.stretch(0, 1024), (false, first));
        assert_eq!(found.stretch(u64::from(first), 1024 - first), (true, 16));
        assert_eq!(found.stretch(u64::from(first) + 16, 500), (false, 500));
        // Few that are free between others run as those do, unless nothing else is asked for.
        assert_eq!(found.stretch(u64::from(first) - 2, 10), (true, 10));
        assert_eq!(found.stretch(u64::from(first) - 2, 2), (false, 2));
    }

    #[test]
    fn a_number_of_which_32_bits_are_kept_is_followed_where_it_fits() {
        let module = |first: u64, mask: u64| {
            let text = format!(
                ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
                 .reg .b32 %r<2>;\n.reg .b64 %d<8>;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\n\
                 cvt.u64.u32 %d0, %r0;\ncvt.u64.u32 %d1, %r1;\nmad.lo.s64 %d2, %d0, 64, %d1;\n\
                 add.s64 %d3, %d2, {first};\nshl.b64 %d4, %d3, 32;\nshr.s64 %d5, %d4, 30;\n\
                 and.b64 %d6, %d3, {mask};\nst.global.u64 [%d5], %d6;\nret;\n}}\n"
            );
            margay_ir::lower(&margay_ptx::parse(&text).unwrap()).unwrap()
        };
        let sums = |first: u64, mask: u64| {
            let module = module(first, mask);
            let f = &module.functions[0];
            let defs = crate::jit::hold::definitions(f);
            let (mut steps, config) = (Steps::default(), config([4, 1, 1], [64, 1, 1]));
            let store = f.blocks[0].insts.iter().find(|i| i.op == Op::St).unwrap();
            let of = |steps: &mut Steps, n: usize| match store.srcs[n] {
                Value::Reg(r) => steps.add(&defs, r).unwrap(),
                Value::Imm(_) => unreachable!(),
            };
            let at = [0, 1].map(|n| of(&mut steps, n));
            let sums = Sums::new(&steps, &config);
            at.map(|step| sums.address(step, 0))
        };
        let low = u64::from(u32::MAX);
        let per = |n: i64| [64 * n, 0, 0, n, 0, 0];
        let sum = |constant: i64, n: i64| Some(Sum { constant, per: per(n), ..Sum::default() });
        assert_eq!(sums(7, low), [sum(28, 4), sum(7, 1)]);
        // 256 threads: the last one's number is the first that a signed one cannot be, or just not.
        assert_eq!(
            sums((1 << 31) - 256, low),
            [sum(((1 << 31) - 256) * 4, 4), sum((1 << 31) - 256, 1)]
        );
        assert_eq!(sums((1 << 31) - 255, low), [None, sum((1 << 31) - 255, 1)]);
        assert_eq!(sums((1 << 32) - 255, low), [None, None]);
        assert_eq!(sums(7, low >> 1), [sum(28, 4), None]);
    }

    #[test]
    fn who_loads_what_nobody_stores_never_waits() {
        let config = config([4, 4, 1], [32, 8, 1]);
        let own = Sum { constant: 0, per: [128, 8 * 512, 0, 4, 512, 0], ..Sum::default() };
        let mut found = Conflicts::new(&config).unwrap();
        found.add(&config, (&own, 4), (&own, 4)).unwrap();
        assert!(found.is_empty());
        // The thread to the right, in another warp at the end of a row: never of this block.
        let right = Sum { constant: 4, ..own };
        found.add(&config, (&own, 4), (&right, 4)).unwrap();
        assert!(found.is_empty());
        // The row below is.
        let below = Sum { constant: 512, ..own };
        found.add(&config, (&own, 4), (&below, 4)).unwrap();
        assert_eq!(found.stretch(0, 16), (true, 16));
    }
}
