// SPDX-License-Identifier: MIT OR Apache-2.0
//! The patterns of one site, each with how often it came in a launch.
//!
//! They are known from launch to launch, with what they look up in caches: programs repeat launches. What is counted does
//! not depend on that.

use std::sync::Arc;

use margay_arch::access::first_of;
use margay_arch::{Counts, Space};
use smallvec::SmallVec;

use super::passing::{Passing, Taken};
use super::pattern::{Groups, KEYS, Pattern};
use super::touches::{Route, SECTOR, Touch, Touched, mark, touches};

/// Most patterns that a worker keeps of one site before it counts each access by itself.
const MOST: usize = 512;

/// Places for numbers of patterns by their groups.
const PLACES: usize = 128;

/// A pattern, how often it came, and where first. In this order it takes three lines of the processor's cache, and all but the
/// lanes' distances is in the last.
#[repr(C, align(64))]
pub struct Seen {
    pub pattern: Pattern,
    /// 0 if it has not come in this launch.
    pub count: u64,
    /// Another name of the pattern, if it has come by that.
    groups: Groups,
    /// How many different 32-byte sectors it touches; 0 if nobody asked yet.
    pub sectors: u8,
    /// Whether those of its touches are marked whose line is in the set of L1 of one before.
    marked: bool,
    /// How many touches it has; [`UNLISTED`] as long as nobody asked.
    touches: u16,
    /// The pattern that came after it last time.
    next: u16,
    /// Its number among those that are kept of all launches, with [`SUPPOSED`] if nobody has compared them; [`UNKEPT`] if it is
    /// none yet or nobody looked, [`NEVER_KEPT`] if it never will be one.
    pub kept: u16,
    /// The only touch; where they begin in [`Patterns::touches`], in the line's place, if there are more.
    listed: Touch,
    /// Address of the base when it came first. If it is never kept, one more than the number of its costs in
    /// [`Patterns::costs`]; 0 if they are not there.
    pub place: u64,
}

const _: () = assert!(size_of::<Seen>() == 192);

/// More than any pattern touches: a line for each lane and word.
const UNLISTED: u16 = u16::MAX;
/// See [`Seen::kept`]; numbers are below it.
const SUPPOSED: u16 = 1 << 15;
/// See [`Seen::kept`].
pub const UNKEPT: u16 = u16::MAX;
/// See [`Seen::kept`].
pub const NEVER_KEPT: u16 = u16::MAX - 1;

impl Seen {
    fn new(pattern: Pattern) -> Seen {
        Seen {
            pattern,
            count: 0,
            groups: Groups::NONE,
            sectors: 0,
            marked: false,
            touches: UNLISTED,
            next: 0,
            kept: UNKEPT,
            listed: Touch::new(0, 0),
            place: 0,
        }
    }

    /// The number that it is supposed to have among those that are kept.
    #[inline(always)]
    pub fn supposed(&self) -> Option<usize> {
        let is_one = self.kept & SUPPOSED != 0 && self.kept < NEVER_KEPT;
        is_one.then_some((self.kept & !SUPPOSED).into())
    }

    /// Whether it comes for the first time ever.
    #[inline(always)]
    pub fn is_fresh(&self) -> bool {
        self.count == 1 && self.sectors == 0 && self.touches == UNLISTED
    }
}

/// What an access costs, by model.
pub type Costs = SmallVec<[Counts; 1]>;

/// The last access whose pattern had to be looked for. Arrays of one index are accessed one after the other, and what a
/// statement loads it mostly stores.
#[derive(Default)]
pub struct Recent {
    pattern: Pattern,
    hash: Option<u64>,
    firsts: Option<u32>,
    /// What it costs, by model, in a space and by so many bytes a lane.
    costs: Option<((Space, u32), Costs)>,
    /// It is that of the access that was counted last.
    is_last: bool,
}

impl Recent {
    #[inline(always)]
    fn set(&mut self, mask: u32, addresses: &[u64; 32], base: u64) {
        if !self.pattern.renew(mask, addresses, base) {
            (self.hash, self.firsts, self.costs) = (None, None, None);
        }
        self.is_last = true;
    }

    /// The lanes that are the first at their sectors, in the access that was counted last.
    #[inline(always)]
    pub fn firsts(&mut self, mask: u32, addresses: &[u64; 32], base: u64) -> u32 {
        if !self.is_last {
            self.set(mask, addresses, base);
        }
        *self.firsts.get_or_insert_with(|| first_of(mask, addresses, SECTOR.trailing_zeros()))
    }
}

impl Recent {
    /// What the access that was counted last costs, by model, if that was found for one like it.
    #[inline(always)]
    pub fn costs(
        &mut self,
        of: (Space, u32),
        (mask, addresses): (u32, &[u64; 32]),
        base: u64,
    ) -> Option<&[Counts]> {
        if !self.is_last {
            self.set(mask, addresses, base);
        }
        match &self.costs {
            Some((found, costs)) if *found == of => Some(costs),
            Some(_) | None => None,
        }
    }

    /// Remembers what it costs, once [`Recent::costs`] had nothing.
    #[inline(always)]
    pub fn set_costs(&mut self, of: (Space, u32), costs: Costs) {
        self.costs = Some((of, costs));
    }
}

/// How an access was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// As one of the pattern of this number.
    Of(usize),
    /// As one of a pattern that is not worth keeping: what it costs is to be found now.
    Passing,
    /// Not: there are too many patterns to keep its.
    Beyond,
}

/// Numbers by hash.
#[derive(Clone, Default)]
pub struct Index {
    /// Twice as many as there are numbers at least, and a power of two: half of a hash, and a number plus one. 0 is empty.
    slots: Vec<u32>,
    len: usize,
}

impl Index {
    /// The number that has this hash, of those that `is` says yes to. Below 2^16.
    #[inline]
    pub fn find(&self, hash: u64, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(&slot) = self.slots.get(at)
            && slot != 0
        {
            let number = (slot & 0xffff) as usize - 1;
            if slot >> 16 == (hash >> 48) as u32 && is(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// The upper 16 bits of the hashes.
    pub fn halves(&self) -> impl Iterator<Item = u16> {
        self.slots.iter().filter(|&&slot| slot != 0).map(|slot| (slot >> 16) as u16)
    }

    /// Adds the next number, which has this hash. `others` gives that of each before.
    #[inline]
    pub fn push(&mut self, hash: u64, others: impl Fn(usize) -> u64) {
        self.len += 1;
        if 2 * self.len > self.slots.len() {
            self.slots.clear();
            self.slots.resize((4 * self.len).next_power_of_two(), 0);
            (0..self.len - 1).for_each(|number| self.put(number, others(number)));
        }
        self.put(self.len - 1, hash);
    }

    fn put(&mut self, number: usize, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = (hash >> 48 << 16) as u32 | (number as u32 + 1);
    }

    fn clear(&mut self) {
        self.slots.fill(0);
        self.len = 0;
    }

    /// Forgets all, and expects few.
    fn shrink(&mut self) {
        self.slots.clear();
        self.len = 0;
    }
}

/// A place in [`Patterns::by_groups`].
#[inline(always)]
fn place(groups: &Groups) -> usize {
    (groups.hash() >> (64 - PLACES.trailing_zeros())) as usize
}

/// Of so many patterns the processor is told which one is to be expected: fewer stay at hand.
const FETCHED: usize = 8;

/// Tells the processor that so many lines of its cache will be of use, from an element on.
#[inline(always)]
pub fn fetch<const LINES: usize, T>(list: &[T], from: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..LINES {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = list.as_ptr().wrapping_add(from).cast::<i8>().wrapping_add(64 * line);
        // SAFETY: it reads nothing; the address may be any.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, from);
}

/// Bits of a filter.
const FILTER: usize = 1 << 15;

/// A bit that is the same for all accesses of a pattern, from its first and its last lane.
#[inline(always)]
fn bit_of(mask: u32, addresses: &[u64; 32], period: u64) -> usize {
    let first = addresses[(mask.trailing_zeros() & 31) as usize];
    let last = addresses[mask.checked_ilog2().unwrap_or(0) as usize];
    bit_of_ends(mask, (first, last), period)
}

/// The same, from their addresses.
#[inline(always)]
fn bit_of_ends(mask: u32, (first, last): (u64, u64), period: u64) -> usize {
    let place = (first & (period - 1)) ^ u64::from(mask) << 32;
    let mixed = place.wrapping_mul(KEYS[0] | 1).wrapping_add(last.wrapping_sub(first));
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER.trailing_zeros())) as usize
}

/// The patterns of one site. In this order what every access needs is in two lines of the processor's cache.
#[derive(Default)]
#[repr(C, align(64))]
pub struct Patterns {
    pub seen: Vec<Seen>,
    index: Index,
    /// How many patterns are known from launches before.
    known: u16,
    last: u16,
    /// The pattern that is to be expected: the last one's next.
    expected: u16,
    /// Numbers of those that have come in this launch, in order of the first time.
    pub came: Vec<u16>,
    /// Those that come and are not kept.
    passing: Passing,
    /// What patterns look up in caches, one after the other.
    touches: Vec<Touch>,
    /// The number of L1's sets that [`Seen::marked`] is about.
    sets: u32,
    /// What patterns that are never kept cost, by model.
    pub costs: Vec<Counts>,
    /// Bits of [`bit_of`] that patterns have, once no more are kept.
    filter: Vec<u64>,
    /// One more than the number of a pattern whose groups have this place; 0 for none.
    by_groups: Vec<u16>,
}

impl Patterns {
    /// The number of the pattern that came last, of those that are kept.
    pub fn last(&self) -> usize {
        self.last.into()
    }

    /// Bytes of its room.
    pub fn bytes(&self) -> usize {
        self.seen.capacity() * size_of::<Seen>()
            + self.came.capacity() * size_of::<u16>()
            + self.costs.capacity() * size_of::<Counts>()
            + self.passing.bytes()
            + self.touches.capacity() * size_of::<Touch>()
            + self.index.slots.capacity() * size_of::<u32>()
            + self.filter.capacity() * size_of::<u64>()
            + self.by_groups.capacity() * size_of::<u16>()
    }

    /// Forgets what came, for another launch; and all patterns if they are too many, or most of those that came were new
    /// beside others that were known.
    pub fn clear(&mut self) {
        let ends = self.passing.clear();
        let known = self.came.iter().filter(|&&number| number < self.known).count();
        let repeats = self.known == 0 || 2 * known >= self.came.len();
        for &number in &self.came {
            self.seen[usize::from(number)].count = 0;
        }
        // Another launch mostly begins like this one.
        self.expected = self.came.first().copied().unwrap_or(0);
        self.last = self.expected;
        self.came.clear();
        self.filter.clear();
        if self.seen.len() > MOST || !repeats || ends {
            self.seen.clear();
            self.costs.clear();
            self.index.clear();
            self.touches.clear();
            self.by_groups.clear();
            (self.last, self.expected) = (0, 0);
            self.passing.forget();
        }
        if !repeats && !ends {
            self.passing.begin();
        }
        if self.passing.is_on() && self.seen.is_empty() {
            self.index.shrink();
        }
        self.known = self.seen.len() as u16;
    }

    /// No more patterns of the site are kept than these, by their hashes, of all launches.
    pub fn kept_are(&mut self, kept: Arc<Index>) {
        self.passing.kept_are(kept);
        self.seen.iter().for_each(|seen| self.passing.knows(seen.pattern.hash()));
    }

    /// Whether [`Patterns::kept_are`] is of interest.
    pub fn wants_kept(&self) -> bool {
        self.passing.wants_kept()
    }

    /// What a pattern looks up in caches, of which L1 has so many sets.
    #[inline(always)]
    pub fn touched(&mut self, number: usize, route: Route, sets: u32) -> Touched<'_> {
        if self.seen[number].touches == UNLISTED {
            self.list(number, route, sets);
        }
        let Seen { listed, touches, sectors, marked, .. } = &self.seen[number];
        if *touches == 1 {
            return Touched { list: std::slice::from_ref(listed), marked: None };
        }
        let from = listed.line() as usize;
        let end = from + usize::from(*touches);
        // Mostly the next pattern is one that was listed after it.
        fetch::<2, Touch>(&self.touches, end);
        let list = &self.touches[from..end];
        Touched { list, marked: (*marked && self.sets == sets).then_some(*sectors) }
    }

    #[cold]
    fn list(&mut self, number: usize, route: Route, sets: u32) {
        let seen = &mut self.seen[number];
        let from = self.touches.len();
        if from == 0 {
            self.sets = sets;
        }
        touches(route, seen.pattern.mask, &seen.pattern.relative(), &mut self.touches);
        seen.touches = (self.touches.len() - from) as u16;
        if let [only] = self.touches[from..] {
            seen.listed = only;
            self.touches.truncate(from);
            return;
        }
        seen.listed = Touch::new(from as i64, 0);
        // Few lines are looked up faster one by one.
        if let Route::Global { .. } = route
            && self.sets == sets
            && seen.touches >= 4
            && let Some(sectors) = mark(&mut self.touches[from..], sets)
        {
            (seen.marked, seen.sectors) = (true, sectors);
        }
    }

    /// How many patterns came.
    #[inline(always)]
    fn distinct(&self) -> usize {
        self.came.len() + self.passing.len()
    }

    /// Whether [`Patterns::count`] would find that there are too many patterns to keep that of an access by these lanes, from
    /// the addresses of the first and the last: no if that cannot be told at once.
    #[inline(always)]
    pub fn is_beyond(&self, mask: u32, ends: (u64, u64), period: u64) -> bool {
        let bit = bit_of_ends(mask, ends, period);
        let word = self.filter.get(bit / 64);
        self.distinct() >= MOST && word.is_some_and(|word| word >> (bit % 64) & 1 == 0)
    }

    /// Counts an access with this base. `keeps`: its pattern is not to be passing.
    #[inline(always)]
    pub fn count(
        &mut self,
        recent: &mut Recent,
        (mask, addresses): (u32, &[u64; 32]),
        (base, period): (u64, u64),
        keeps: bool,
    ) -> Counted {
        recent.is_last = false;
        if self.distinct() >= MOST {
            let bit = bit_of(mask, addresses, period);
            if self.filter.is_empty() {
                self.make_filter(period);
            }
            if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
                return Counted::Beyond;
            }
        }
        // In a loop the patterns mostly come in the same order again.
        let expected = usize::from(self.expected);
        let number = match self.seen.get(expected) {
            Some(seen) if !self.passing.is_on() && seen.pattern.is(mask, addresses, base) => {
                expected
            }
            Some(_) | None => {
                recent.set(mask, addresses, base);
                match self.find(recent, keeps) {
                    Counted::Of(number) => number,
                    other => return other,
                }
            }
        };
        match self.add(number, base) {
            Some(number) => {
                if self.seen.len() >= FETCHED && !self.passing.is_on() {
                    fetch::<3, Seen>(&self.seen, self.expected.into());
                }
                Counted::Of(number)
            }
            None => Counted::Beyond,
        }
    }

    /// Counts an access of a pattern, unless too many others have come before.
    #[inline(always)]
    fn add(&mut self, number: usize, base: u64) -> Option<usize> {
        let seen = &mut self.seen[number];
        if seen.count == 0 {
            if self.came.len() + self.passing.len() >= MOST {
                return None;
            }
            if seen.kept != NEVER_KEPT {
                seen.place = base;
            }
            self.came.push(number as u16);
        }
        seen.count += 1;
        (self.last, self.expected) = (number as u16, seen.next);
        Some(number)
    }

    /// Counts an access, and gives the number of its pattern, if that has come by its groups before.
    #[inline(always)]
    pub fn count_groups(&mut self, groups: &Groups, base: u64) -> Option<usize> {
        let expected = usize::from(self.expected);
        let number = match self.seen.get(expected) {
            Some(seen) if seen.groups == *groups => expected,
            Some(_) | None => {
                let number = usize::from(*self.by_groups.get(place(groups))?).checked_sub(1)?;
                if self.seen[number].groups != *groups {
                    return None;
                }
                self.seen[usize::from(self.last)].next = number as u16;
                number
            }
        };
        self.add(number, base)
    }

    /// These are the groups of the pattern that came last.
    pub fn name_last(&mut self, groups: &Groups) {
        self.by_groups.resize(PLACES, 0);
        self.by_groups[place(groups)] = self.last + 1;
        self.seen[usize::from(self.last)].groups = *groups;
    }

    #[cold]
    fn make_filter(&mut self, period: u64) {
        self.filter.resize(FILTER / 64, 0);
        for seen in self.came.iter().map(|&number| &self.seen[usize::from(number)]) {
            let bit = bit_of(seen.pattern.mask, &seen.pattern.relative(), period);
            self.filter[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// The number of a pattern, which is new or known; if it is to have one.
    #[inline(always)]
    fn find(&mut self, recent: &mut Recent, keeps: bool) -> Counted {
        let Recent { pattern, hash, .. } = recent;
        let hash = *hash.get_or_insert_with(|| pattern.hash());
        self.passing.expects(hash);
        let known = match self.passing.is_unknown(hash) {
            true => None,
            false => self.index.find(hash, |n| self.seen[n].pattern == *pattern),
        };
        let number = match known {
            Some(number) => number,
            None if self.distinct() >= MOST => return Counted::Beyond,
            None => {
                let taken = if keeps { Taken::Not } else { self.passing.takes(hash) };
                let kept = match taken {
                    Taken::Passing => return Counted::Passing,
                    Taken::Kept(number) => SUPPOSED | number,
                    Taken::Not => UNKEPT,
                };
                self.seen.push(Seen { kept, ..Seen::new(pattern.clone()) });
                self.index.push(hash, |n| self.seen[n].pattern.hash());
                self.passing.knows(hash);
                self.seen.len() - 1
            }
        };
        self.seen[usize::from(self.last)].next = number as u16;
        Counted::Of(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::base_of;
    use super::*;

    fn lanes(f: impl Fn(u64) -> u64) -> [u64; 32] {
        std::array::from_fn(|l| f(l as u64))
    }

    fn count(patterns: &mut Patterns, mask: u32, at: &[u64; 32]) -> Counted {
        let base = base_of(mask, at, 256);
        patterns.count(&mut Recent::default(), (mask, at), (base, 256), false)
    }

    #[test]
    fn shifted_by_the_period_it_is_the_same() {
        let mut patterns = Patterns::default();
        for n in 0..100 {
            for step in [4, 128, 8] {
                let at = lanes(|l| 0x1000 + n * 256 + l * step);
                let number = [4, 128, 8].iter().position(|s| *s == step).unwrap();
                assert_eq!(count(&mut patterns, !0, &at), Counted::Of(number));
            }
        }
        let counts: Vec<u64> = patterns.seen.iter().map(|s| s.count).collect();
        assert_eq!(counts, [100, 100, 100]);
    }

    #[test]
    fn inactive_lanes_do_not_matter() {
        let mut patterns = Patterns::default();
        for junk in [0, 5, 1 << 40] {
            let at = lanes(|l| if l < 4 { 64 + l * 4 } else { junk * l });
            assert_eq!(count(&mut patterns, 0xf, &at), Counted::Of(0));
        }
        assert_eq!((patterns.seen.len(), patterns.seen[0].count), (1, 3));
    }

    #[test]
    fn beyond_the_bound_accesses_come_back() {
        let mut patterns = Patterns::default();
        let mut back = |n| count(&mut patterns, !0, &lanes(|l| l * l * n)) == Counted::Beyond;
        assert_eq!((0..600).filter(|n| back(*n)).count(), 600 - MOST);
    }

    /// What is known from launches before does not change what is counted.
    #[test]
    fn launches_count_apart() {
        let mut kept = Patterns::default();
        let mut state = 1u64;
        for launch in 0..40 {
            let mut fresh = Patterns::default();
            let range = [3, 40, 700, 2000][launch % 4];
            for _ in 0..1500 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let n = (state >> 33) % range;
                let at = lanes(|l| (launch as u64) << 12 | (l * l * n));
                let counted = |patterns: &mut Patterns| match count(patterns, !0, &at) {
                    Counted::Of(n) => Some(patterns.seen[n].count),
                    Counted::Passing | Counted::Beyond => None,
                };
                assert_eq!(counted(&mut kept), counted(&mut fresh));
            }
            let all = |patterns: &Patterns| -> Vec<(u64, u64, [u64; 32])> {
                let seen = patterns.came.iter().map(|&n| &patterns.seen[usize::from(n)]);
                seen.map(|s| (s.count, s.place, s.pattern.relative())).collect()
            };
            assert_eq!(all(&kept), all(&fresh));
            kept.clear();
        }
    }

    /// Of a site of which no more patterns are kept, others may pass: those that are kept are counted as ever.
    #[test]
    fn what_passes_changes_nothing() {
        let pattern = |n: u64| lanes(|l| l * l * n);
        let (mut index, mut hashes) = (Index::default(), Vec::new());
        for n in 0..20 {
            let hash = Pattern::of(!0, &pattern(n), 0).hash();
            hashes.push(hash);
            index.push(hash, |n| hashes[n]);
        }
        let mut patterns = Patterns::default();
        let kept = Arc::new(index);
        let (mut state, mut passed) = (1u64, 0);
        for launch in 0..60u64 {
            let mut fresh = Patterns::default();
            // Once in a while launches repeat.
            let from = if launch % 20 < 15 { 1000 * launch } else { 0 };
            for access in 0..900 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let n = match state >> 60 {
                    0..4 => (state >> 33) % 20,
                    _ => 20 + from + access % [300, 880][launch as usize % 2],
                };
                let at = pattern(n);
                let (expected, found) = (count(&mut fresh, !0, &at), count(&mut patterns, !0, &at));
                passed += u64::from(found == Counted::Passing);
                match (expected, found) {
                    (Counted::Of(a), Counted::Of(b)) if n < 20 => {
                        assert_eq!(fresh.seen[a].count, patterns.seen[b].count);
                    }
                    (Counted::Of(_), Counted::Of(_) | Counted::Passing) if n >= 20 => {}
                    (Counted::Of(_), Counted::Beyond) if n >= 20 => {}
                    (a, b) => assert_eq!((a, b), (Counted::Beyond, Counted::Beyond), "{n}"),
                }
                assert_eq!(fresh.distinct(), patterns.distinct());
            }
            patterns.clear();
            if patterns.wants_kept() {
                patterns.kept_are(kept.clone());
            }
        }
        assert!((10_000..40_000).contains(&passed), "{passed}");
    }
}
