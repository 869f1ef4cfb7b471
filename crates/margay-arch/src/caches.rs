// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches: their sizes, how L1 and shared memory divide one store, and a model that counts hits.
//!
//! NVIDIA documents sizes, not replacement. The model is least recently used in sets of ways, a line at
//! a time with 32-byte sectors: everything that [`Cache`] counts is *modelled*, for comparing two versions
//! of a kernel and not for quoting.

use serde::{Deserialize, Serialize};

use crate::capability::{ComputeCapability, Limits};
use crate::card::{Card, Gpu};
use crate::figure::{Figure, Source, inferred_from, manual_in};

/// What a [`Cache`] is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CacheShape {
    pub bytes: u32,
    /// Of a line. A multiple of `sector`.
    pub line: u32,
    /// What a miss brings in.
    pub sector: u32,
    pub ways: u32,
    /// Where `bytes` comes from; line, sector and ways are the model's.
    pub source: Source,
}

/// How many lookups found their sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HitCounts {
    pub hits: u64,
    pub misses: u64,
}

impl HitCounts {
    /// Hits of all lookups, 0 to 1; `None` without lookups.
    pub fn rate(&self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all != 0).then(|| self.hits as f64 / all as f64)
    }
}

/// Division by one number, over and over: a shift, or a multiplication where that is exact.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u64,
    /// 64 if `by` is no power of two.
    shift: u32,
    /// 2^64 / `by`, rounded up; the upper half of a product with it is the quotient of numbers below `exact`.
    magic: u64,
    exact: u64,
}

impl Divisor {
    fn new(by: u64) -> Divisor {
        let by = by.max(1);
        let shift = if by.is_power_of_two() { by.trailing_zeros() } else { 64 };
        Divisor { by, shift, magic: (u64::MAX / by).wrapping_add(1), exact: u64::MAX / by }
    }

    #[inline]
    fn quotient(self, n: u64) -> u64 {
        if self.shift < 64 {
            n >> self.shift
        } else if n < self.exact {
            ((u128::from(n) * u128::from(self.magic)) >> 64) as u64
        } else {
            n / self.by
        }
    }

    #[inline]
    fn remainder(self, n: u64) -> u64 {
        if self.shift < 64 {
            return n & (self.by - 1);
        }
        n - self.quotient(n) * self.by
    }
}

/// A cache: least recently used, filled by sectors.
#[derive(Clone, Debug)]
pub struct Cache {
    shape: CacheShape,
    /// Sets of `ways` entries, the last used first: a line's number plus one, above a bit for each sector that is
    /// present. 0 is empty.
    entries: Vec<u64>,
    ways: usize,
    sectors: u32,
    by_line: Divisor,
    by_sector: Divisor,
    by_sets: Divisor,
    pub counts: HitCounts,
}

impl Cache {
    /// An empty cache. One of less than a line misses always.
    ///
    /// # Panics
    /// If a line has more than eight sectors: line numbers and sectors share a word.
    pub fn new(shape: CacheShape) -> Cache {
        let sectors = (shape.line / shape.sector.max(1)).max(1);
        assert!(sectors <= 8, "a line of {} bytes has {sectors} sectors", shape.line);
        let ways = shape.ways.max(1) as usize;
        let lines = (shape.bytes / shape.line.max(1)) as usize;
        let lines = lines - lines % ways;
        Cache {
            shape,
            entries: vec![0; lines],
            ways,
            sectors,
            by_line: Divisor::new(shape.line.into()),
            by_sector: Divisor::new(shape.sector.into()),
            by_sets: Divisor::new((lines / ways) as u64),
            counts: HitCounts::default(),
        }
    }

    pub fn shape(&self) -> CacheShape {
        self.shape
    }

    /// Looks the sector of `address` up, brings it in if it is absent, and counts. True for a hit.
    pub fn read(&mut self, address: u64) -> bool {
        let (line, sector) = self.place(address);
        self.read_line(line, sector) != 0
    }

    /// A write that goes through: the sector is updated if it is present, and not brought in.
    pub fn write_through(&mut self, address: u64) -> bool {
        let (line, sector) = self.place(address);
        self.touch(line, sector, false) != 0
    }

    /// [`Cache::read`] of several sectors of one line, one after the other: a bit for each in `sectors`, and in
    /// what comes back a bit for each that hit. `line` is the address by the size of a line.
    #[inline]
    pub fn read_line(&mut self, line: u64, sectors: u32) -> u32 {
        let hits = self.touch(line, sectors, true);
        self.counts.hits += u64::from(hits.count_ones());
        self.counts.misses += u64::from((sectors & !hits).count_ones());
        hits
    }

    /// [`Cache::write_through`] of several sectors of one line.
    #[inline]
    pub fn write_line(&mut self, line: u64, sectors: u32) {
        self.touch(line, sectors, false);
    }

    /// [`Cache::read_line`] of one line after the other; `missed` gets what was absent. Tells how many
    /// sectors hit and how many missed.
    #[inline]
    pub fn read_lines(
        &mut self,
        lines: impl Iterator<Item = (u64, u32)>,
        missed: impl FnMut(u64, u32),
    ) -> (u32, u32) {
        #[cfg(target_arch = "x86_64")]
        if self.ways == 4
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
        {
            // SAFETY: the processor has these.
            return unsafe { self.read_lines_wide(lines, missed) };
        }
        self.read_lines_by(lines, missed, Cache::touch)
    }

    #[inline(always)]
    fn read_lines_by(
        &mut self,
        lines: impl Iterator<Item = (u64, u32)>,
        mut missed: impl FnMut(u64, u32),
        touch: impl Fn(&mut Cache, u64, u32, bool) -> u32,
    ) -> (u32, u32) {
        let (mut all, mut hit) = (0, 0);
        for (line, sectors) in lines {
            let hits = touch(self, line, sectors, true);
            all += sectors.count_ones();
            hit += hits.count_ones();
            if sectors != hits {
                missed(line, sectors & !hits);
            }
        }
        self.counts.hits += u64::from(hit);
        self.counts.misses += u64::from(all - hit);
        (hit, all - hit)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt,bmi1")]
    fn read_lines_wide(
        &mut self,
        lines: impl Iterator<Item = (u64, u32)>,
        missed: impl FnMut(u64, u32),
    ) -> (u32, u32) {
        let touch =
            |cache: &mut Cache, line, sectors, fill| wide::touch(cache, line, sectors, fill);
        self.read_lines_by(lines, missed, touch)
    }

    /// Number of the line, and the bit of the sector.
    fn place(&self, address: u64) -> (u64, u32) {
        let line = self.by_line.quotient(address);
        let within = address - line * u64::from(self.shape.line);
        (line, 1 << self.by_sector.quotient(within))
    }

    /// The sectors that were present.
    #[inline]
    fn touch(&mut self, line: u64, sectors: u32, fill: bool) -> u32 {
        if self.entries.is_empty() {
            return 0;
        }
        let set = self.by_sets.remainder(line) as usize * self.ways;
        let set = &mut self.entries[set..set + self.ways];
        let tag = line + 1;
        let bits = if fill { u64::from(sectors) } else { 0 };
        let is = |entry: u64| entry >> self.sectors == tag;
        if let &mut [a, b, c, d] = set {
            // The usual number of ways, with as few branches on data as can be: lookups are mostly random.
            if is(a) {
                set[0] = a | bits;
                return a as u32 & sectors;
            }
            let found = is(b) | is(c) | is(d);
            if !found & !fill {
                return 0;
            }
            let entry = if is(d) { d } else { 0 };
            let entry = if is(c) { c } else { entry };
            let entry = if is(b) { b } else { entry };
            set[1] = a;
            set[2] = if is(b) { c } else { b };
            set[3] = if is(b) | is(c) { d } else { c };
            set[0] = entry | tag << self.sectors | bits;
            return entry as u32 & sectors;
        }
        let Some(way) = set.iter().position(|entry| is(*entry)) else {
            if fill {
                to_front(set, self.ways - 1, tag << self.sectors | bits);
            }
            return 0;
        };
        let entry = set[way];
        to_front(set, way, entry | bits);
        entry as u32 & sectors
    }

    /// Throws everything away: what a host write to constant memory does to the constant cache, and the
    /// end of a kernel to L1.
    pub fn invalidate(&mut self) {
        self.entries.fill(0);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::Cache;

    /// For each way the order of the four entries, in halves, that puts it first and leaves the others in theirs.
    static TO_FRONT: [[i32; 8]; 4] = [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [2, 3, 0, 1, 4, 5, 6, 7],
        [4, 5, 0, 1, 2, 3, 6, 7],
        [6, 7, 0, 1, 2, 3, 4, 5],
    ];

    /// [`Cache::touch`] in sets of four ways, without a branch on what is there: lookups are mostly random.
    #[inline]
    #[target_feature(enable = "avx2,popcnt,bmi1")]
    pub fn touch(cache: &mut Cache, line: u64, sectors: u32, fill: bool) -> u32 {
        if cache.entries.is_empty() {
            return 0;
        }
        let set = cache.by_sets.remainder(line) as usize * 4;
        let set: &mut [u64; 4] = (&mut cache.entries[set..set + 4]).try_into().expect("four ways");
        let tag = line + 1;
        // Mostly it is the last used line, and nothing changes.
        if set[0] >> cache.sectors == tag && sectors & !(set[0] as u32) == 0 {
            return sectors;
        }
        // SAFETY: the four entries are 32 bytes.
        let old = unsafe { _mm256_loadu_si256(set.as_ptr().cast()) };
        let tags = _mm256_srl_epi64(old, _mm_cvtsi32_si128(cache.sectors as i32));
        let same = _mm256_cmpeq_epi64(tags, _mm256_set1_epi64x(tag as i64));
        let found = _mm256_movemask_pd(_mm256_castsi256_pd(same)) as u32;
        if !fill && found == 0 {
            return 0;
        }
        // If it is absent, the last goes.
        let way = (found | 1 << 3).trailing_zeros() as usize;
        // SAFETY: a row of the table is 32 bytes.
        let order = unsafe { _mm256_loadu_si256(TO_FRONT[way].as_ptr().cast()) };
        let moved = _mm256_permutevar8x32_epi32(old, order);
        let entry = _mm_cvtsi128_si64(_mm256_castsi256_si128(moved)) as u64;
        let entry = if found == 0 { 0 } else { entry };
        let bits = if fill { u64::from(sectors) } else { 0 };
        let first = _mm_cvtsi64_si128((entry | tag << cache.sectors | bits) as i64);
        let new = _mm256_blend_epi32::<0b11>(moved, _mm256_castsi128_si256(first));
        // SAFETY: the four entries are 32 bytes.
        unsafe { _mm256_storeu_si256(set.as_mut_ptr().cast(), new) };
        entry as u32 & sectors
    }
}

/// Puts `entry` before the others of a set, in place of the one at `way`.
#[inline]
fn to_front(set: &mut [u64], way: usize, entry: u64) {
    for n in (0..way).rev() {
        set[n + 1] = set[n];
    }
    set[0] = entry;
}

/// The constant cache of a multiprocessor: the GPU's, or of `bytes` if the user chose that. It lives across launches.
pub fn constant_cache(gpu: Gpu, bytes: Option<u32>) -> CacheShape {
    let own = gpu.constant_cache();
    CacheShape {
        bytes: bytes.unwrap_or(own.value),
        line: 64,
        sector: 64,
        ways: 4,
        source: if bytes.is_some() { Source::Modelled } else { own.source },
    }
}

/// L2, for the whole card.
pub fn l2_cache(card: &Card) -> CacheShape {
    let bytes = card.l2_bytes;
    CacheShape { bytes: bytes.value, line: 128, sector: 32, ways: 16, source: bytes.source }
}

/// Sizes of shared memory, in KB of a multiprocessor, that a launch can choose; what is left of the store is
/// L1. One size where the two are apart.
pub fn shared_splits(cc: ComputeCapability) -> Figure<&'static [u32]> {
    let place = "CUDA C++ Programming Guide, Shared Memory of the capability; its tuning guide";
    let splits: &'static [u32] = match (cc.major, cc.minor) {
        (0 | 1, _) => &[16],
        (2, _) => &[16, 48],
        (3, 7) => &[80, 96, 112],
        (3 | 4, _) => &[16, 32, 48],
        (5, 2) | (6, 1) => &[96],
        (5 | 6, _) => &[64],
        (7, 5) => &[32, 64],
        (7, _) => &[0, 8, 16, 32, 64, 96],
        (8, 0 | 7) => &[0, 8, 16, 32, 64, 100, 132, 164],
        (8, _) | (12.., _) => &[0, 8, 16, 32, 64, 100],
        (9..12, _) => &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
    };
    if cc.major >= 10 { inferred_from(splits, "9.0 and 8.9") } else { manual_in(splits, place) }
}

/// A division of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Bytes of shared memory of a multiprocessor.
    pub shared: u32,
    /// Bytes of L1; 0 where global memory has no L1.
    pub l1: u32,
}

/// What a program prefers of the store that shared memory and L1 divide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitPreference {
    /// The driver's choice: from 7.0 on the smallest shared memory that suffices, before that the largest.
    #[default]
    Default,
    /// Percent of the largest shared memory, rounded up to a size that there is
    /// (`cudaFuncAttributePreferredSharedMemoryCarveout`). Heeded from 7.0 on.
    Percent(u32),
    /// `cudaFuncCachePreferShared`.
    Shared,
    /// `cudaFuncCachePreferL1`.
    L1,
    /// `cudaFuncCachePreferEqual`.
    Equal,
}

/// The division with at least `needed` bytes of shared memory that is nearest to what the program prefers. A change of
/// it from one launch to the next waits until no other kernel is running.
pub fn split_for(limits: &Limits, needed: u32, preference: SplitPreference) -> Split {
    let splits = shared_splits(limits.cc).value;
    let largest = splits.last().copied().unwrap_or(0) << 10;
    let unified = limits.cc.major >= 7;
    let wanted = match preference {
        SplitPreference::Default if unified => 0,
        SplitPreference::Percent(percent) if unified => largest * percent.min(100) / 100,
        SplitPreference::Default | SplitPreference::Percent(_) | SplitPreference::Shared => largest,
        SplitPreference::L1 => 0,
        SplitPreference::Equal => limits.l1_and_shared.value / 2,
    };
    let mut sizes = splits.iter().map(|kb| kb << 10);
    let shared = sizes.find(|&bytes| bytes >= needed.max(wanted)).unwrap_or(largest);
    Split { shared, l1: l1_bytes(limits, shared) }
}

/// L1 when shared memory has `shared` bytes.
fn l1_bytes(limits: &Limits, shared: u32) -> u32 {
    match (limits.cc.major, limits.cc.minor) {
        (0 | 1, _) => 0,
        // Apart from shared memory: the unified L1 and texture cache (tuning guides of Maxwell and Pascal).
        (5, 0 | 3) | (6, 0) => 24 << 10,
        (5 | 6, _) => 48 << 10,
        (_, _) => limits.l1_and_shared.value.saturating_sub(shared),
    }
}

/// L1 of a multiprocessor under a division.
pub fn l1_cache(split: Split) -> CacheShape {
    CacheShape { bytes: split.l1, line: 128, sector: 32, ways: 4, source: Source::Manual }
}

/// The texture (read-only) cache of a multiprocessor, where it is a store of its own; from 5.0 on it is L1.
pub fn texture_cache(limits: &Limits) -> Option<CacheShape> {
    let bytes = match limits.cc.major {
        0 | 1 => 8 << 10,
        2 => 12 << 10,
        3 | 4 => 48 << 10,
        5.. => return None,
    };
    Some(CacheShape { bytes, line: 32, sector: 32, ways: 4, source: Source::Manual })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(name: &str) -> Gpu {
        crate::find(name).unwrap()
    }

    fn limits(major: u32, minor: u32) -> &'static Limits {
        ComputeCapability::new(major, minor).limits().unwrap()
    }

    #[test]
    fn least_recently_used_goes_first() {
        let shape =
            CacheShape { bytes: 256, line: 64, sector: 32, ways: 2, source: Source::Modelled };
        let mut cache = Cache::new(shape);
        assert!(!cache.read(0));
        assert!(cache.read(31));
        assert!(!cache.read(32), "the other sector of the line");
        // Lines 0, 2 and 4 share a set of two ways.
        assert!(!cache.read(128));
        assert!(cache.read(0));
        assert!(!cache.read(256));
        assert!(!cache.read(128), "evicted: it was used before line 0");
        assert!(!cache.write_through(512), "a write brings nothing in");
        assert!(!cache.read(512));
        cache.invalidate();
        assert!(!cache.read(0));
        assert_eq!(cache.counts, HitCounts { hits: 2, misses: 7 });
        assert!(!Cache::new(CacheShape { bytes: 0, ..shape }).read(0));
    }

    /// Against lists in the order of their last use, for sets that are a power of two and sets that are not.
    #[test]
    fn it_is_the_model_that_it_says() {
        for (bytes, line, sector, ways) in
            [(31 << 10, 128, 32, 4), (16 << 10, 64, 64, 4), (96 << 7, 128, 32, 16), (96, 32, 32, 1)]
        {
            let shape = CacheShape { bytes, line, sector, ways, source: Source::Modelled };
            let sets = u64::from(bytes / line / ways);
            let mut lists: Vec<Vec<(u64, u64)>> = vec![Vec::new(); sets as usize];
            let mut cache = Cache::new(shape);
            let mut state = 7u64;
            for n in 0..20_000 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let far = if n % 3 == 0 { 1 << 60 } else { 0 };
                let address = far + (state >> 33) % (3 * u64::from(bytes));
                let number = address / u64::from(line);
                let bit = 1u64 << (address % u64::from(line) / u64::from(sector));
                let list = &mut lists[(number % sets) as usize];
                let known = list.iter().position(|l| l.0 == number).map(|at| list.remove(at));
                let hit = known.is_some_and(|l| l.1 & bit != 0);
                if state & 1 == 0 {
                    assert_eq!(cache.write_through(address), hit);
                    list.extend(known);
                } else {
                    let found = match n / 2 % 2 {
                        0 => cache.read(address),
                        _ => cache.read_lines([(number, bit as u32)].into_iter(), |_, _| ()).0 != 0,
                    };
                    assert_eq!(found, hit, "{address:#x} of {shape:?}");
                    list.push((number, known.map_or(0, |l| l.1) | bit));
                    if list.len() > ways as usize {
                        list.remove(0);
                    }
                }
            }
        }
    }

    /// A table of the constant cache's size is read once from memory, then from the cache.
    #[test]
    fn a_working_set_of_constants() {
        for (bytes, rate) in [(8 << 10, 0.5), (64 << 10, 0.0)] {
            let mut cache = Cache::new(constant_cache(gpu("9.0"), None));
            for _ in 0..2 {
                (0..bytes / 64).for_each(|line| {
                    cache.read(line * 64);
                });
            }
            assert_eq!(cache.counts.rate(), Some(rate), "{bytes}");
        }
        assert_eq!(constant_cache(gpu("6.0"), None).bytes, 4 << 10);
        assert_eq!(constant_cache(gpu("9.0"), Some(16 << 10)).bytes, 16 << 10);
        assert_eq!(constant_cache(gpu("fpga"), None).bytes, 16 << 10);
    }

    /// Guide 4.2, F.4.1 and F.5.1; tuning guides of Volta, Turing, Ampere and Hopper.
    #[test]
    fn splits() {
        assert_eq!(
            split_for(limits(2, 0), 0, SplitPreference::Default),
            Split { shared: 48 << 10, l1: 16 << 10 }
        );
        assert_eq!(shared_splits(ComputeCapability::new(3, 0)).value, [16, 32, 48]);
        assert_eq!(
            split_for(limits(7, 0), 40 << 10, SplitPreference::Default),
            Split { shared: 64 << 10, l1: 64 << 10 }
        );
        assert_eq!(
            split_for(limits(7, 5), 0, SplitPreference::Default),
            Split { shared: 32 << 10, l1: 64 << 10 }
        );
        assert_eq!(
            split_for(limits(9, 0), 0, SplitPreference::Default),
            Split { shared: 0, l1: 256 << 10 }
        );
        assert_eq!(
            split_for(limits(9, 0), 228 << 10, SplitPreference::Default),
            Split { shared: 228 << 10, l1: 28 << 10 }
        );
        assert_eq!(split_for(limits(1, 0), 0, SplitPreference::Default).l1, 0);
        let prefer =
            |cc: (u32, u32), preference| split_for(limits(cc.0, cc.1), 1, preference).shared >> 10;
        assert_eq!(prefer((2, 0), SplitPreference::L1), 16);
        assert_eq!(prefer((3, 0), SplitPreference::Equal), 32);
        assert_eq!(prefer((3, 0), SplitPreference::Percent(0)), 48, "before 7.0 it is not heeded");
        // Volta tuning guide, 1.4.3.2: half of 96 KB is no size that there is, and is rounded up.
        assert_eq!(prefer((7, 0), SplitPreference::Percent(50)), 64);
        assert_eq!(prefer((9, 0), SplitPreference::Percent(100)), 228);
        assert_eq!(
            prefer((9, 0), SplitPreference::Percent(0)),
            8,
            "what a block needs comes first"
        );
        for limits in crate::gpu::ALL {
            let largest = *shared_splits(limits.cc).value.last().unwrap();
            assert_eq!(largest << 10, limits.shared_per_sm.value, "{}", limits.cc);
        }
    }
}
