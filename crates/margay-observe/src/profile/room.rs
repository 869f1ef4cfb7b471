// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a worker counts. It is kept for later launches of the kernel, which mostly make the same accesses.

use margay_arch::Space;
use smallvec::SmallVec;

use super::patterns::Patterns;
use super::quick::Quick;
use super::raw::{CacheCounts, RawBranch, Sums};
use super::site::Site;
use super::spread::Spreads;
use super::touches::{Route, Touch};

/// The counts of one worker in one launch.
pub struct Room {
    /// By instruction, differences to the one before: a straight run is two additions.
    pub warps: Vec<i64>,
    pub threads: Vec<i64>,
    pub branches: Vec<Option<RawBranch>>,
    /// By instruction. Of those that are from earlier launches and not met again nothing came.
    pub sites: Vec<Vec<Entry>>,
    /// By instruction.
    pub memos: Vec<Option<Box<Memo>>>,
    /// By instruction.
    pub spreads: Vec<Option<Box<Spreads>>>,
    /// What needs no memo.
    pub quick: Quick,
    /// What memos have from before it changed they do not know any more.
    pub generation: u32,
}

impl Room {
    /// For so many instructions.
    pub fn new(n: usize) -> Room {
        Room {
            warps: vec![0; n + 1],
            threads: vec![0; n + 1],
            branches: vec![None; n],
            sites: (0..n).map(|_| Vec::new()).collect(),
            memos: (0..n).map(|_| None).collect(),
            spreads: (0..n).map(|_| None).collect(),
            quick: Quick::default(),
            generation: 1,
        }
    }

    /// Forgets what was counted.
    pub fn clear(&mut self) {
        self.warps.fill(0);
        self.threads.fill(0);
        self.branches.fill(None);
        // Of no launch that there ever was.
        self.generation = self.generation.wrapping_add(1).max(1);
        if self.generation == 1 {
            self.memos.fill_with(|| None);
            self.quick.clear();
        }
        self.spreads.fill_with(|| None);
        let met = |entry: &&mut Entry| entry.executions != 0;
        self.sites.iter_mut().flatten().filter(met).for_each(Entry::clear);
    }

    /// Gives the patterns what memos have counted of them, and the entries what is summed up.
    pub fn settle(&mut self) {
        self.quick.settle(&mut self.sites);
        for (memo, entries) in self.memos.iter_mut().zip(&mut self.sites) {
            if let Some(memo) = memo {
                let Memo { known, used, .. } = &mut **memo;
                used.drain(..).for_each(|place| known[usize::from(place)].settle(entries));
            }
            entries.iter_mut().for_each(Entry::settle);
        }
    }

    /// Bytes of what is known of patterns.
    pub fn bytes(&self) -> usize {
        let patterns = self.sites.iter().flatten().map(|entry| entry.patterns.bytes());
        patterns.sum::<usize>()
            + self.quick.bytes()
            + self.memos.iter().flatten().map(|memo| memo.bytes()).sum::<usize>()
    }
}

/// Accesses of one instruction to one variable. In this order what every access needs lies together, and begins with what tells
/// whether this is the entry.
#[repr(C, align(64))]
pub struct Entry {
    /// Addresses of the variable.
    pub lo: u64,
    pub hi: u64,
    pub lanes: u64,
    pub executions: u64,
    pub period: u64,
    /// Accesses whose patterns were too many to keep.
    pub unkept: u64,
    pub width: u32,
    pub route: Route,
    pub space: Space,
    pub site: Site,
    pub caches: CacheCounts,
    /// What those cost, by model.
    pub unkept_counts: SmallVec<[Sums; 1]>,
    /// More of them.
    pub simple: Simple,
    pub patterns: Patterns,
    pub variable: u32,
    /// Where the profiler counts what this is handed in as, if it was before.
    pub taken_as: Option<u32>,
    /// Row of the constant cache's report, in constant memory.
    pub row: usize,
}

/// Accesses of which a few sums tell what they cost on each GPU.
#[derive(Clone, Copy, Default)]
pub struct Simple {
    pub times: u64,
    pub lanes: u64,
    /// Loads and stores of global memory: different sectors, and the fewest that could hold what is asked for.
    pub sectors: u64,
    pub sectors_ideal: u64,
    /// Those of shared memory: passes through the banks, at least one each.
    pub wavefronts: u64,
}

impl Simple {
    /// Adds a load or store of global memory by so many lanes, at so many different addresses.
    #[inline(always)]
    pub fn add_sectors(&mut self, width: u32, (lanes, places): (u32, u32), sectors: u32) {
        self.times += 1;
        self.lanes += u64::from(lanes);
        self.sectors += u64::from(sectors);
        self.sectors_ideal += u64::from((places * width).div_ceil(32).min(sectors));
    }

    /// Adds one of a parameter, by lanes at one address.
    #[inline(always)]
    pub fn add_same(&mut self, lanes: u32) {
        self.times += 1;
        self.lanes += u64::from(lanes);
    }

    /// Adds one of shared memory.
    #[inline(always)]
    pub fn add_wavefronts(&mut self, lanes: u32, wavefronts: u32) {
        self.times += 1;
        self.lanes += u64::from(lanes);
        self.wavefronts += u64::from(wavefronts);
    }
}

/// Lines of the processor's cache in which what every access needs of an entry lies.
pub const ENTRY_LINES: usize = 7;

const _: () = assert!(std::mem::offset_of!(Entry, patterns) == 64 * (ENTRY_LINES - 2));

impl Entry {
    /// Whether accesses to an address of a space are counted here.
    #[inline(always)]
    pub fn holds(&self, space: Space, at: u64) -> bool {
        self.space == space && self.lo <= at && at < self.hi
    }

    /// Counts what is summed up.
    fn settle(&mut self) {
        let Simple { times, lanes, sectors, sectors_ideal, wavefronts } =
            std::mem::take(&mut self.simple);
        if times == 0 {
            return;
        }
        self.executions += times;
        self.lanes += lanes;
        self.unkept += times;
        let shared = if self.space == Space::Shared { times } else { 0 };
        // Nothing else takes more than one: 16 bytes of parameters are four loads.
        let each = match self.space {
            Space::Parameter if self.width >= 16 => u64::from(self.width / 4),
            _ => 1,
        };
        for sums in &mut self.unkept_counts {
            sums.merge(&Sums {
                instructions: each * times,
                requests: each * times,
                wavefronts,
                wavefronts_sass: wavefronts,
                wavefronts_least: wavefronts,
                wavefronts_most: wavefronts,
                wavefronts_ideal: shared,
                transactions: sectors,
                sectors,
                sectors_ideal,
                texels: 0,
                replays: 0,
                bytes_requested: lanes * u64::from(self.width),
                bytes_moved: 32 * sectors,
            });
        }
    }

    /// Forgets what was counted, and where the variable is.
    fn clear(&mut self) {
        (self.lo, self.hi, self.lanes, self.executions, self.unkept) = (0, 0, 0, 0, 0);
        self.unkept_counts.fill(Sums::default());
        self.caches = CacheCounts::default();
        self.patterns.clear();
    }
}

/// The period of all but atomics.
pub const PERIOD: u64 = 256;

/// Where accesses of one instruction of compiled code are counted, each by its form, its lanes, its second scalar, and its base
/// modulo [`PERIOD`]: these decide its pattern.
pub struct Memo {
    /// A power of two of them.
    pub known: Vec<Known>,
    /// Places of those that were met since counts were handed in; some more than once.
    used: Vec<u16>,
    /// How often one was met whose place another had that is still of use.
    driven: u32,
}

/// Accesses that a [`Memo`] remembers at first, and at most.
const MEMO: [usize; 2] = [64, 2048];

/// Touches that a [`Known`] has room for.
pub const FEW: usize = 2;

/// A form that was met. All that is needed when it comes again lies in one line of the processor's cache, but for what is the
/// entry's.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Known {
    pub site: u64,
    /// The second scalar.
    pub u: u64,
    /// The [`Room::generation`] in which it was met.
    pub generation: u32,
    pub mask: u32,
    /// From the base to the address of the lowest lane that takes part.
    pub lead: i64,
    /// What it looks up, if that are few.
    pub few: [Touch; FEW],
    /// How many those are; more than there is room for if they are in the pattern's list.
    pub touches: u8,
    /// The base modulo the period.
    pub low: u8,
    /// The entry, and the number of its pattern.
    pub entry: u16,
    pub seen: u32,
    /// How often it came without the pattern being told.
    pub times: u32,
}

const _: () = assert!(size_of::<Known>() == 64 && PERIOD == 1 << 8);

impl Default for Known {
    fn default() -> Known {
        Known {
            site: 0,
            u: 0,
            generation: 0,
            mask: 0,
            lead: 0,
            few: [Touch::new(0, 0); FEW],
            touches: 0,
            low: 0,
            entry: 0,
            seen: 0,
            times: 0,
        }
    }
}

impl Known {
    /// Gives the pattern what was counted of it.
    fn settle(&mut self, entries: &mut [Entry]) {
        let times = std::mem::take(&mut self.times);
        if times != 0
            && let Some(entry) = entries.get_mut(usize::from(self.entry))
            && let Some(seen) = entry.patterns.seen.get_mut(self.seen as usize)
        {
            seen.count += u64::from(times);
        }
    }

    /// Whether an access is of this form.
    #[inline(always)]
    pub fn is(&self, generation: u32, site: u64, mask: u32, (base, u): (u64, u64)) -> bool {
        (self.site ^ site) | (self.u ^ u) | u64::from(self.generation ^ generation) == 0
            && (self.mask, self.low) == (mask, base as u8)
    }
}

impl Default for Memo {
    fn default() -> Memo {
        Memo { known: vec![Known::default(); MEMO[0]], used: Vec::new(), driven: 0 }
    }
}

impl Memo {
    /// Remembers a form.
    pub fn renew(&mut self, known: Known, entries: &mut [Entry]) {
        let generation = known.generation;
        let mut place = self.place_for(&known);
        if self.known[place].generation == generation {
            self.driven += 1;
            if self.driven as usize > self.known.len() / 2 && self.known.len() < MEMO[1] {
                self.grow(generation, entries);
                place = self.place_for(&known);
            }
        }
        self.put(place, known, entries);
    }

    /// Remembers a form at one of its two places.
    fn put(&mut self, place: usize, known: Known, entries: &mut [Entry]) {
        // Its neighbour has to come again to stay.
        [place, place ^ 1].into_iter().for_each(|at| self.known[at].settle(entries));
        self.known[place] = known;
        self.used.push(place as u16);
    }

    /// Of the two places that it may have the one where the same form is, of another variable; or one that is of no use any more, or
    /// of less.
    fn place_for(&self, known: &Known) -> usize {
        let Known { generation, site, mask, low, u, .. } = *known;
        let first = self.place(low.into(), mask);
        let used = |&at: &usize| match &self.known[at] {
            other if other.is(generation, site, mask, (low.into(), u)) => 0,
            other if other.generation != generation => 1,
            other => u64::from(other.times) + 2,
        };
        [first, first ^ 1].into_iter().min_by_key(used).unwrap_or(first)
    }

    /// Makes room for more.
    #[cold]
    fn grow(&mut self, generation: u32, entries: &mut [Entry]) {
        let more = vec![Known::default(); (4 * self.known.len()).min(MEMO[1])];
        let before = std::mem::replace(&mut self.known, more);
        self.used.clear();
        self.driven = 0;
        for known in before.into_iter().filter(|known| known.generation == generation) {
            self.put(self.place_for(&known), known, entries);
        }
    }

    /// Bytes of its room.
    fn bytes(&self) -> usize {
        self.known.len() * size_of::<Known>() + self.used.capacity() * size_of::<u16>()
    }

    /// Where what is known of accesses of a form is, if it is.
    #[inline(always)]
    pub fn find(
        &self,
        generation: u32,
        site: u64,
        mask: u32,
        (base, u): (u64, u64),
    ) -> Option<usize> {
        let first = self.place(base, mask);
        let is = |&at: &usize| self.known[at].is(generation, site, mask, (base, u));
        [first, first ^ 1].into_iter().find(is)
    }

    /// The first of the two places of accesses like this one, which are neighbours.
    #[inline(always)]
    fn place(&self, base: u64, mask: u32) -> usize {
        let low = base % PERIOD;
        // Most bases are multiples of four, and most masks are full.
        let mixed = low >> 2 | low << 6;
        (mixed ^ u64::from((!mask).wrapping_mul(0x9e37_79b9) >> 21)) as usize
            & (self.known.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A form of this second scalar: all have the same two places.
    fn known(u: u64, entry: u16) -> Known {
        Known { site: 1, u, generation: 7, mask: 3, low: 12, entry, ..Known::default() }
    }

    fn find(memo: &Memo, u: u64) -> Option<usize> {
        memo.find(7, 1, 3, (256 + 12, u))
    }

    #[test]
    fn a_form_is_known_of_one_variable_at_a_time() {
        let mut memo = Memo::default();
        for entry in [0, 1, 0] {
            memo.renew(known(5, entry), &mut []);
            let place = find(&memo, 5).expect("it came");
            assert_eq!(memo.known[place].entry, entry);
            memo.known[place].times = 100;
        }
        assert_eq!(memo.known.iter().filter(|known| known.generation == 7).count(), 1);
    }

    #[test]
    fn what_does_not_come_again_makes_room() {
        let mut memo = Memo::default();
        memo.renew(known(1, 0), &mut []);
        let once = find(&memo, 1).expect("it came");
        memo.known[once].times = 1_000_000;
        memo.renew(known(2, 0), &mut []);
        assert!(find(&memo, 1).is_some() && find(&memo, 2).is_some(), "there are two places");
        for u in [3, 2, 3, 2] {
            if find(&memo, u).is_none() {
                memo.renew(known(u, 0), &mut []);
            }
            let place = find(&memo, u).expect("it came");
            memo.known[place].times += 1;
        }
        assert!(find(&memo, 2).is_some() && find(&memo, 3).is_some(), "these two come in turns");
    }
}
