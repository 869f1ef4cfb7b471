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

/// A lookup of a list: sectors of a line, which is told by its distance from another one.
///
/// In one word, so that lists of them are short: six bits for the sectors, one that it `shares`, and the distance above.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Lookup(u64);

impl Lookup {
    const SECTORS: u64 = 0x3f;
    const SHARES: u64 = 0x40;
    const LINE: u32 = 7;

    /// Of a line at this distance, below 2^56 or above -2^56. Of `sectors` the lower six bits count.
    #[inline]
    pub fn new(line: i64, sectors: u8) -> Lookup {
        Lookup((line << Lookup::LINE) as u64 | u64::from(sectors) & Lookup::SECTORS)
    }

    /// How far its line is from the other.
    #[inline(always)]
    pub fn line(self) -> i64 {
        self.0 as i64 >> Lookup::LINE
    }

    /// A bit for each sector.
    #[inline(always)]
    pub fn sectors(self) -> u8 {
        (self.0 & Lookup::SECTORS) as u8
    }

    /// Whether a lookup before it may have been in the same set.
    #[inline(always)]
    pub fn shares(self) -> bool {
        self.0 & Lookup::SHARES != 0
    }

    /// The same, of a line whose set one before it may have been in.
    pub fn sharing(self) -> Lookup {
        Lookup(self.0 | Lookup::SHARES)
    }

    /// The same, of more sectors.
    #[inline]
    pub fn with(self, sectors: u8) -> Lookup {
        Lookup(self.0 | u64::from(sectors) & Lookup::SECTORS)
    }
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut tuple = f.debug_struct("Lookup");
        tuple.field("line", &self.line()).field("sectors", &self.sectors());
        tuple.field("shares", &self.shares()).finish()
    }
}

/// Bits for pages of lines that were brought into a cache.
const PAGES: usize = 1 << 10;
/// Lines of a page.
const PAGE: u32 = 32;

/// A cache: least recently used, filled by sectors.
#[derive(Clone, Debug)]
pub struct Cache {
    shape: CacheShape,
    /// Sets of `ways` entries, the last used first: a line's tag, above a bit for each sector that is present. No line has a
    /// tag of 0, nor one from before the cache was last emptied.
    entries: Vec<u64>,
    /// A bit for each page, by its number modulo [`PAGES`], of which lines were brought in since it was last emptied: most of
    /// what is written is never read.
    pages: [u64; PAGES / 64],
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
            pages: [0; PAGES / 64],
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
        if self.may_have(line) {
            self.touch(line, sectors, false);
        }
    }

    /// Whether a line of this one's page was brought in.
    #[inline(always)]
    fn may_have(&self, line: u64) -> bool {
        let (word, bit) = page_of(line);
        self.pages[word] >> bit & 1 != 0
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

    /// [`Cache::read_lines`] of up to 64 lookups, from the line `first` on. Those that share no set go where none before them
    /// went, so that no other changes what they find. They have `sectors` sectors in all.
    #[inline(always)]
    pub fn read_list(
        &mut self,
        first: u64,
        list: &[Lookup],
        sectors: u32,
        mut missed: impl FnMut(u64, u32),
    ) -> (u32, u32) {
        // Mostly all but a few change nothing. Which, cannot be foreseen: no branch asks.
        let (mut rest, mut absent) = (self.not_at_hand(first, list), 0);
        while rest != 0 {
            let Some(lookup) = list.get(rest.trailing_zeros() as usize) else { break };
            rest &= rest - 1;
            let (line, sectors) = (first.wrapping_add_signed(lookup.line()), lookup.sectors());
            let misses = u32::from(sectors) & !self.touch(line, sectors.into(), true);
            if misses != 0 {
                absent += misses.count_ones();
                missed(line, misses);
            }
        }
        self.counts.hits += u64::from(sectors - absent);
        self.counts.misses += u64::from(absent);
        (sectors - absent, absent)
    }

    /// A bit for each lookup that shares a set, or whose line is not at hand now.
    #[inline(always)]
    fn not_at_hand(&self, first: u64, list: &[Lookup]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.ways == 4
            && self.by_sets.shift < 64
            && !self.entries.is_empty()
            && is_x86_feature_detected!("avx2")
        {
            // SAFETY: the processor has it, and the cache is of this kind.
            return unsafe { wide::not_at_hand(self, first, list) };
        }
        self.not_at_hand_plain(first, list)
    }

    fn not_at_hand_plain(&self, first: u64, list: &[Lookup]) -> u64 {
        list.iter().take(64).enumerate().fold(0, |rest, (n, lookup)| {
            let line = first.wrapping_add_signed(lookup.line());
            let changes = lookup.shares() | !self.is_at_hand(line, lookup.sectors().into());
            rest | u64::from(changes) << n
        })
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
    pub fn is_at_hand(&self, line: u64, sectors: u32) -> bool {
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
        if fill {
            let (word, bit) = page_of(line);
            self.pages[word] |= 1 << bit;
        }
        #[cfg(target_arch = "x86_64")]
        if self.ways == 4 && is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { wide::touch(self, line, sectors, fill) };
        }
        self.touch_plain(line, sectors, fill)
    }

    /// [`Cache::touch`] of a cache that has lines, but for the pages.
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
        self.pages.fill(0);
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

/// Where the bit of a line's page is.
#[inline(always)]
fn page_of(line: u64) -> (usize, u64) {
    let page = line / u64::from(PAGE) % PAGES as u64;
    ((page / 64) as usize, page % 64)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{Cache, Lookup};

    /// [`Cache::not_at_hand`], four lookups at a time.
    ///
    /// # Safety
    /// The cache has sets of four ways, a power of two of them.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn not_at_hand(cache: &Cache, first: u64, list: &[Lookup]) -> u64 {
        let all = |n: u64| _mm256_set1_epi64x(n as i64);
        // Shifts are of numbers without a sign.
        const BEFORE: u64 = 1 << 63 >> Lookup::LINE;
        let from = all(first.wrapping_sub(BEFORE));
        let (sets, tag) = (all(cache.by_sets.by - 1), all(cache.first_tag));
        let (bits, above) =
            (all((1 << cache.sectors) - 1), _mm_cvtsi32_si128(cache.sectors as i32));
        let mut rest = 0;
        for (n, four) in list.chunks(4).take(16).enumerate() {
            let lookups = match <&[Lookup; 4]>::try_from(four) {
                // SAFETY: these are 32 bytes.
                Ok(four) => unsafe { _mm256_loadu_si256(four.as_ptr().cast()) },
                Err(_) => {
                    let at = |n: usize| four.get(n).map_or(0, |lookup| lookup.0) as i64;
                    _mm256_setr_epi64x(at(0), at(1), at(2), at(3))
                }
            };
            let far = _mm256_srli_epi64::<{ Lookup::LINE as i32 }>(lookups);
            let line = _mm256_add_epi64(_mm256_xor_si256(far, all(BEFORE)), from);
            let set = _mm256_slli_epi64::<2>(_mm256_and_si256(line, sets));
            // SAFETY: four entries for each of as many sets, and this is the number of one's first.
            let entry = unsafe { _mm256_i64gather_epi64::<8>(cache.entries.as_ptr().cast(), set) };
            let tags = _mm256_sll_epi64(_mm256_add_epi64(line, tag), above);
            let wanted = _mm256_or_si256(tags, _mm256_and_si256(lookups, bits));
            // All but the bits of sectors that nobody asks for.
            let told = _mm256_or_si256(_mm256_andnot_si256(bits, all(!0)), wanted);
            let same = _mm256_cmpeq_epi64(_mm256_and_si256(entry, told), wanted);
            let shares = _mm256_slli_epi64::<57>(lookups);
            let good = _mm256_andnot_si256(shares, same);
            let good = _mm256_movemask_pd(_mm256_castsi256_pd(good)) as u64;
            rest |= (good ^ 0xf) << (4 * n);
        }
        match list.len() {
            len @ 0..64 => rest & ((1 << len) - 1),
            _ => rest,
        }
    }

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
    fn a_list_is_read_one_after_the_other() {
        for bytes in [8 << 10, 7 << 10, 64 << 10, 0] {
            let shape =
                CacheShape { bytes, line: 128, sector: 32, ways: 4, source: Source::Modelled };
            let (mut each, mut all) = (Cache::new(shape), Cache::new(shape));
            let sets = i64::from(shape.sets().max(1));
            let mut state = 1u64;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 33
            };
            let mut all_shared = 0;
            for turn in 0..3000 {
                let (first, len) = (next() % 64 + (1 << 20), next() % 40);
                let mut used = Vec::new();
                let mut list = Vec::new();
                for n in 0..len as i64 {
                    let line = n / (1 + turn % 3) + sets * (next() % 6) as i64 - 40;
                    let lookup = Lookup::new(line, 1 + (next() % 15) as u8);
                    let shares = used.contains(&line.rem_euclid(sets));
                    used.push(line.rem_euclid(sets));
                    all_shared += u32::from(shares);
                    list.push(if shares { lookup.sharing() } else { lookup });
                    let last = list[list.len() - 1];
                    assert_eq!((last.line(), last.shares()), (line, shares));
                }
                let lines = list.iter().map(|l| (first.wrapping_add_signed(l.line()), l.sectors()));
                let lines: Vec<(u64, u32)> = lines.map(|(line, s)| (line, s.into())).collect();
                let total = lines.iter().map(|l| l.1.count_ones()).sum();
                assert_eq!(all.not_at_hand(first, &list), all.not_at_hand_plain(first, &list));
                let (mut expected, mut missed) = (Vec::new(), Vec::new());
                let hits = each.read_lines(lines.iter().copied(), |l, s| expected.push((l, s)));
                let found = all.read_list(first, &list, total, |l, s| missed.push((l, s)));
                assert_eq!((found, missed), (hits, expected), "{shape:?}");
            }
            assert!(all_shared > 1000);
            assert_eq!((each.counts, each.entries), (all.counts, all.entries));
        }
    }

    /// Writes to pages of which nothing was read change nothing, and no others are taken for such.
    #[test]
    fn writes_find_what_was_read() {
        let shape = CacheShape {
            bytes: 64 << 10,
            line: 128,
            sector: 32,
            ways: 4,
            source: Source::Modelled,
        };
        let (mut cache, mut plain) = (Cache::new(shape), Cache::new(shape));
        let (mut state, mut passed) = (1u64, 0);
        for n in 0..40_000u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let line = (state >> 33) % 20_000 + 40_000 * (n / 64 % 3);
            if n % 10_000 == 9_999 {
                cache.invalidate();
                plain.invalidate();
            }
            if n % 8 == 0 && n / 64 % 3 == 0 {
                assert_eq!(cache.read_line(line, 2), plain.read_line(line, 2));
            } else {
                passed += u32::from(!cache.may_have(line));
                cache.write_line(line, 2);
                plain.touch_plain(line, 2, false);
            }
            assert!(n % 100 != 0 || cache.entries == plain.entries);
        }
        assert!(passed > 1000 && cache.entries == plain.entries, "{passed}");
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
