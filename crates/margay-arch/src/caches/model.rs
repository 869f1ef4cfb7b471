// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cache that counts hits: least recently used in sets of ways, a line at a time with sectors.

use super::{CacheShape, HitCounts};

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
    /// Sets of `ways` entries, the last used first: a line's tag, above a bit for each sector that is present. No line has a
    /// tag of 0, nor one from before the cache was last emptied.
    entries: Vec<u64>,
    /// The tag of line 0: those of other lines follow. Its upper bits tell how often the cache was emptied.
    first_tag: u64,
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
        let sets = shape.sets() as usize;
        Cache {
            shape,
            entries: vec![0; sets * ways],
            first_tag: 1,
            ways,
            sectors,
            by_line: Divisor::new(shape.line.into()),
            by_sector: Divisor::new(shape.sector.into()),
            by_sets: Divisor::new(sets as u64),
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
    #[inline(always)]
    pub fn read_lines(
        &mut self,
        lines: impl Iterator<Item = (u64, u32)>,
        mut missed: impl FnMut(u64, u32),
    ) -> (u32, u32) {
        let (mut all, mut hit) = (0, 0);
        for (line, sectors) in lines {
            all += sectors.count_ones();
            if self.is_at_hand(line, sectors) {
                hit += sectors.count_ones();
                continue;
            }
            let hits = self.touch(line, sectors, true);
            hit += hits.count_ones();
            if sectors != hits {
                missed(line, sectors & !hits);
            }
        }
        self.counts.hits += u64::from(hit);
        self.counts.misses += u64::from(all - hit);
        (hit, all - hit)
    }

    /// [`Cache::read_lines`] of up to 64 lines, `line(0)` to `line(len - 1)`, that are in sets of their own, so that no lookup
    /// changes what another finds. They have `sectors` sectors in all.
    #[inline(always)]
    pub fn read_apart(
        &mut self,
        len: usize,
        line: impl Fn(usize) -> (u64, u32),
        sectors: u32,
        mut missed: impl FnMut(u64, u32),
    ) -> (u32, u32) {
        // Mostly all but a few change nothing. Which, cannot be foreseen: no branch asks.
        let mut rest = 0u64;
        for n in 0..len {
            let (line, sectors) = line(n);
            rest |= u64::from(!self.is_at_hand(line, sectors)) << n;
        }
        let mut absent = 0;
        while rest != 0 {
            let (line, sectors) = line(rest.trailing_zeros() as usize);
            rest &= rest - 1;
            let misses = sectors & !self.touch(line, sectors, true);
            if misses != 0 {
                absent += misses.count_ones();
                missed(line, misses);
            }
        }
        self.counts.hits += u64::from(sectors - absent);
        self.counts.misses += u64::from(absent);
        (sectors - absent, absent)
    }

    /// [`Cache::read`] of the address in each of some lanes, one after the other; `missed` gets lines and the bits of sectors
    /// that were absent. Tells how many hit and how many missed.
    #[inline(always)]
    pub fn read_lanes(
        &mut self,
        addresses: &[u64; 32],
        lanes: u32,
        mut missed: impl FnMut(u64, u32),
    ) -> (u32, u32) {
        // Where each goes, and the entry that its line has there with this one sector, first of all lanes: that is vector code.
        let (mut first, mut wanted) = ([0; 32], [0; 32]);
        let by = [self.by_line, self.by_sector, self.by_sets];
        if by.iter().all(|divisor| divisor.shift < 64) {
            let sets = self.by_sets.by - 1;
            for (lane, &address) in addresses.iter().enumerate() {
                let line = address >> self.by_line.shift;
                let sector = address >> self.by_sector.shift & u64::from(self.sectors - 1);
                first[lane] = (line & sets) * self.ways as u64;
                wanted[lane] = self.tag(line) << self.sectors | 1 << sector;
            }
        } else {
            for (lane, &address) in addresses.iter().enumerate() {
                let (line, sector) = self.place(address);
                first[lane] = self.by_sets.remainder(line) * self.ways as u64;
                wanted[lane] = self.tag(line) << self.sectors | u64::from(sector);
            }
        }
        let (mut rest, mut hit) = (lanes, 0);
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize & 31;
            rest &= rest - 1;
            let (first, wanted) = (first[lane] as usize, wanted[lane]);
            // Mostly it is its set's last used line and has the sector, so that nothing changes.
            let differs = |&entry: &u64| (entry ^ wanted) >> self.sectors | wanted & !entry;
            if self.entries.get(first).map(differs) == Some(0) {
                hit += 1;
                continue;
            }
            let line = (wanted >> self.sectors) - self.first_tag;
            let sector = wanted as u32 & ((1 << self.sectors) - 1);
            match self.touch(line, sector, true) {
                0 => missed(line, sector),
                _ => hit += 1,
            }
        }
        let absent = lanes.count_ones() - hit;
        self.counts.hits += u64::from(hit);
        self.counts.misses += u64::from(absent);
        (hit, absent)
    }

    /// Whether a line is the last used one of its set and has these sectors, so that reading them changes nothing.
    #[inline(always)]
    fn is_at_hand(&self, line: u64, sectors: u32) -> bool {
        let first = self.by_sets.remainder(line) as usize * self.ways;
        let wanted = self.tag(line) << self.sectors | u64::from(sectors);
        let differs = |&entry: &u64| (entry ^ wanted) >> self.sectors | wanted & !entry;
        self.entries.get(first).map(differs) == Some(0)
    }

    /// What the entries of a line have above the bits of its sectors.
    #[inline(always)]
    fn tag(&self, line: u64) -> u64 {
        self.first_tag.wrapping_add(line)
    }

    /// Number of the line, and the bit of the sector.
    fn place(&self, address: u64) -> (u64, u32) {
        let line = self.by_line.quotient(address);
        let within = address - line * u64::from(self.shape.line);
        (line, 1 << self.by_sector.quotient(within))
    }

    /// The sectors that were present.
    #[inline(always)]
    fn touch(&mut self, line: u64, sectors: u32, fill: bool) -> u32 {
        if self.entries.is_empty() {
            return 0;
        }
        #[cfg(target_arch = "x86_64")]
        if self.ways == 4 && is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { wide::touch(self, line, sectors, fill) };
        }
        self.touch_plain(line, sectors, fill)
    }

    /// [`Cache::touch`] of a cache that has lines.
    fn touch_plain(&mut self, line: u64, sectors: u32, fill: bool) -> u32 {
        let set = self.by_sets.remainder(line) as usize * self.ways;
        let tag = self.tag(line);
        let set = &mut self.entries[set..set + self.ways];
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
        // Of addresses below 2^63 no two lines have the same tag then, whenever they came.
        let step = 1 << (60 - self.sectors);
        match self.first_tag.checked_add(step).filter(|tag| tag >> (64 - self.sectors) == 0) {
            Some(tag) => self.first_tag = tag,
            None => {
                self.first_tag = 1;
                self.entries.fill(0);
            }
        }
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
    #[target_feature(enable = "avx2")]
    pub fn touch(cache: &mut Cache, line: u64, sectors: u32, fill: bool) -> u32 {
        let set = cache.by_sets.remainder(line) as usize * 4;
        let tag = cache.tag(line);
        let set: &mut [u64; 4] = (&mut cache.entries[set..set + 4]).try_into().expect("four ways");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Source;

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
            let mut plain = Cache::new(shape);
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
                let without_vectors = plain.touch_plain(number, bit as u32, state & 1 != 0);
                assert_eq!(without_vectors != 0, hit, "{address:#x} of {shape:?}");
                if state & 1 == 0 {
                    assert_eq!(cache.write_through(address), hit);
                    list.extend(known);
                } else {
                    let found = match n / 2 % 3 {
                        0 => cache.read(address),
                        1 => cache.read_lanes(&[address; 32], 1 << (n % 32), |_, _| ()).0 != 0,
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

    #[test]
    fn lanes_are_read_one_after_the_other() {
        for (bytes, line, sector) in
            [(8 << 10, 128, 32), (7 << 10, 128, 32), (0, 128, 32), (4 << 10, 64, 64)]
        {
            let shape = CacheShape { bytes, line, sector, ways: 4, source: Source::Modelled };
            let (mut each, mut all) = (Cache::new(shape), Cache::new(shape));
            let mut state = 1u64;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 33
            };
            for _ in 0..2000 {
                let (from, range, mask) = ((next() % 64) << 7, 1 << (next() % 14), next() as u32);
                let addresses: [u64; 32] = std::array::from_fn(|_| from + next() % range);
                let (mut expected, mut missed) = (Vec::new(), Vec::new());
                for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
                    if !each.read(addresses[lane]) {
                        let bit = 1 << (addresses[lane] % u64::from(line) / u64::from(sector));
                        expected.push((addresses[lane] / u64::from(line), bit));
                    }
                }
                let found = all.read_lanes(&addresses, mask, |line, bit| missed.push((line, bit)));
                assert_eq!(missed, expected, "{shape:?}");
                assert_eq!(found, (mask.count_ones() - missed.len() as u32, missed.len() as u32));
            }
            assert_eq!(each.counts, all.counts);
            assert_eq!(each.entries, all.entries);
        }
    }

    #[test]
    fn lines_in_sets_of_their_own_are_read_in_any_order() {
        for bytes in [8 << 10, 7 << 10, 64 << 10] {
            let shape =
                CacheShape { bytes, line: 128, sector: 32, ways: 4, source: Source::Modelled };
            let (mut each, mut all) = (Cache::new(shape), Cache::new(shape));
            let sets = u64::from(shape.sets());
            let mut state = 1u64;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 33
            };
            for _ in 0..2000 {
                let (from, len) = (next() % 64, next() % 15);
                let lines: Vec<(u64, u32)> = (0..len)
                    .map(|n| (from + n + sets * (next() % 6), 1 + (next() % 15) as u32))
                    .collect();
                let total = lines.iter().map(|l| l.1.count_ones()).sum();
                let (mut expected, mut missed) = (Vec::new(), Vec::new());
                let hits = each.read_lines(lines.iter().copied(), |l, s| expected.push((l, s)));
                let found =
                    all.read_apart(lines.len(), |n| lines[n], total, |l, s| missed.push((l, s)));
                assert_eq!((found, missed), (hits, expected), "{shape:?}");
            }
            assert_eq!((each.counts, each.entries), (all.counts, all.entries));
        }
    }

    /// It is as good as new however often it was emptied.
    #[test]
    fn an_emptied_cache_is_empty() {
        for (line, sector) in [(128, 32), (64, 64)] {
            let shape =
                CacheShape { bytes: 8 << 10, line, sector, ways: 4, source: Source::Modelled };
            let mut cache = Cache::new(shape);
            for turn in 0..70u64 {
                let mut fresh = Cache::new(shape);
                for n in 0..200 {
                    let address = (n * n * 32 + turn * 96) % (40 << 10) + ((n % 3) << 61);
                    assert_eq!(cache.read(address), fresh.read(address), "{turn} {address:#x}");
                }
                cache.invalidate();
            }
        }
    }
}
