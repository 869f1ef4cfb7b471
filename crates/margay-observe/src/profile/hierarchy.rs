// SPDX-License-Identifier: MIT OR Apache-2.0
//! The caches of the program's own GPU, as a model: which lookups of a launch would have hit.
//!
//! A multiprocessor has an L1 (empty at the start of a launch; its size is what the launch's shared memory
//! leaves of the common store) and a constant cache (which lives across launches, until the host writes
//! constant memory). All multiprocessors share one L2, which lives as long as the process.
//!
//! What is modelled is a sample, so that a launch of a million threads costs no more than it must. L2 has one line in 64,
//! chosen by a hash, and its counts are of those. In a launch of more blocks than there are multiprocessors, L1 and the
//! constant cache are modelled on some of these only, so that they see some 32 blocks, and on one in 32 at least. L2's counts are
//! of accesses from there; what the others bring into it from global memory is there all the same. The sample is chosen by
//! numbers of blocks and lines alone, so it is the same on both engines.
//!
//! Limit: *modelled*. NVIDIA documents sizes, not replacement, and how blocks overlap in time is the
//! engine's schedule and not a GPU's.

mod held;

use std::sync::Arc;

pub use held::{Held, Near};
use margay_arch::access::first_of;
use margay_arch::caches::{self, Cache, CacheShape, SplitPreference};
use margay_arch::coalesce::through_l1;
use margay_arch::{Gpu, Kind, MemoryModel, Space, WarpAccess};
use margay_exec::observe::MarkedLines;
use parking_lot::{Mutex, MutexGuard};

use super::raw::CacheCounts;
use super::touches::{LINE, Route, SECTOR, Touch, Touched};
use crate::constant_cache::ConstantCache;

/// L2 is modelled on one line in so many.
pub const L2_SAMPLE: u32 = 64;
/// The lines of L2's sample. Numbers of neighbours times the factor, which is 2^64 by the golden ratio, are spread evenly.
pub const L2_LINES: MarkedLines = MarkedLines {
    factor: 0x9e37_79b9_7f4a_7c15,
    bound: 1 << 63 >> (L2_SAMPLE.trailing_zeros() - 1),
};
/// Blocks that L1 sees in a launch of more blocks than multiprocessors, about; twice as many at most.
const SEEN: u64 = 32;
/// It is modelled on one multiprocessor in so many at least.
const L1_SAMPLE: u64 = 32;
/// Caches that are kept for later launches: those of one launch on the largest card.
const MOST_SPARE: usize = 256;
/// Far above every allocation: where local memory lies.
const LOCAL_WINDOW: u64 = 1 << 60;

/// A multiprocessor's cache, made when it is first used.
type Slot = Option<Box<Cache>>;

/// What lives longer than a launch.
pub struct Hierarchy {
    gpu: Gpu,
    l2: Mutex<Cache>,
    /// Caches of launches that have ended, for others of their shape.
    #[allow(clippy::vec_box, reason = "they move between launches")]
    spare: Mutex<Vec<Box<Cache>>>,
    constants: Arc<ConstantCache>,
}

impl Hierarchy {
    /// An L1 and an L2 that are empty, beside the constant caches.
    pub fn new(gpu: Gpu, constants: Arc<ConstantCache>) -> Hierarchy {
        let l2 = caches::l2_cache(gpu.card);
        let l2 = Mutex::new(Cache::new(CacheShape { bytes: l2.bytes / L2_SAMPLE, ..l2 }));
        Hierarchy { gpu, l2, spare: Mutex::default(), constants }
    }

    /// The caches of a launch whose blocks take `shared` bytes, so many of them on a multiprocessor.
    pub fn launch(
        &self,
        device: u32,
        shared: u32,
        (blocks, blocks_per_sm): (u64, u32),
        preference: SplitPreference,
    ) -> LaunchCaches<'_> {
        let needed = match preference {
            SplitPreference::Default => shared.saturating_mul(blocks_per_sm.max(1)),
            // A preference goes before the number of blocks, as long as one fits.
            SplitPreference::Percent(_)
            | SplitPreference::Shared
            | SplitPreference::L1
            | SplitPreference::Equal => shared,
        };
        let split = caches::split_for(self.gpu.limits, needed, preference);
        let each = || (0..self.gpu.card.sm_count.value).map(|_| Mutex::new(None)).collect();
        let shape = caches::l1_cache(split);
        LaunchCaches {
            hierarchy: self,
            device,
            sample: match blocks > u64::from(self.gpu.card.sm_count.value) {
                true => (1 << (blocks / SEEN).clamp(1, L1_SAMPLE).ilog2()) as u32,
                false => 1,
            },
            l1: each(),
            shape,
            sets: shape.sets(),
            shared: split.shared,
            texture: caches::texture_cache(self.gpu.limits).map(|shape| (shape, each())),
        }
    }
}

impl Hierarchy {
    /// An empty cache.
    fn empty(&self, shape: CacheShape) -> Box<Cache> {
        let mut spare = self.spare.lock();
        let Some(at) = spare.iter().rposition(|c| c.shape() == shape) else {
            return Box::new(Cache::new(shape));
        };
        let mut cache = spare.swap_remove(at);
        drop(spare);
        cache.invalidate();
        cache
    }
}

impl Drop for LaunchCaches<'_> {
    fn drop(&mut self) {
        let mut spare = self.hierarchy.spare.lock();
        let texture = self.texture.iter_mut().flat_map(|(_, caches)| caches);
        for cache in self.l1.iter_mut().chain(texture).filter_map(|c| c.get_mut().take()) {
            if spare.len() < MOST_SPARE {
                spare.push(cache);
            }
        }
    }
}

/// The caches that one launch sees.
pub struct LaunchCaches<'h> {
    hierarchy: &'h Hierarchy,
    device: u32,
    /// L1 is modelled on one multiprocessor in so many, a power of two.
    sample: u32,
    /// By multiprocessor, made when it is first used.
    l1: Vec<Mutex<Slot>>,
    shape: CacheShape,
    /// Of L1.
    sets: u32,
    /// Bytes of shared memory that a multiprocessor sets aside.
    shared: u32,
    /// The texture cache, where it is not L1.
    texture: Option<(CacheShape, Vec<Mutex<Slot>>)>,
}

/// The L1 of each multiprocessor while one worker alone runs a launch: nothing is locked. Empty where there are several.
#[derive(Default)]
pub struct OwnL1(Vec<Slot>);

impl LaunchCaches<'_> {
    /// For the one worker that runs the launch.
    pub fn alone(&self) -> OwnL1 {
        OwnL1(self.l1.iter().map(|l1| l1.lock().take()).collect())
    }

    /// Takes back what [`LaunchCaches::alone`] gave.
    pub fn give_back(&self, own: OwnL1) {
        for (l1, own) in self.l1.iter().zip(own.0) {
            *l1.lock() = own;
        }
    }

    /// The L1 of a multiprocessor, which there is; `lock` keeps it locked if it must be.
    // No function that takes what is to be done: compilers would not make that part of the caller, nor as wide.
    #[inline(always)]
    fn l1<'s: 'l, 'l>(
        &'s self,
        own: &'l mut OwnL1,
        smid: u32,
        lock: &'l mut Option<MutexGuard<'s, Slot>>,
    ) -> &'l mut Cache {
        let slot = match own.0.get_mut(smid as usize) {
            Some(own) => own,
            None => &mut **lock.insert(self.l1[smid as usize].lock()),
        };
        slot.get_or_insert_with(|| self.hierarchy.empty(self.shape))
    }

    /// How many sets an L1 has.
    pub fn sets(&self) -> u32 {
        self.sets
    }

    /// Whether this multiprocessor has an L1 here.
    #[inline]
    pub fn models(&self, smid: u32) -> bool {
        // Each time at another place: with a step of 16, a grid that is 16 blocks wide would show one column.
        let row = smid >> self.sample.trailing_zeros();
        smid & (self.sample - 1) == (7 * row) & (self.sample - 1)
    }

    /// Bytes of shared memory that a multiprocessor sets aside in this launch.
    pub fn shared_bytes(&self) -> u32 {
        self.shared
    }

    /// Bytes of L1 of a multiprocessor in this launch.
    pub fn l1_bytes(&self) -> u32 {
        self.shape.bytes
    }

    /// Bytes of the cache that texels go through.
    pub fn texture_bytes(&self) -> u32 {
        self.texture.as_ref().map_or(self.shape.bytes, |(shape, _)| shape.bytes)
    }

    /// Looks up the different sectors of an access through the texture unit, by their numbers. Writes go to L2, and
    /// bring nothing in.
    pub fn look_texture(
        &self,
        own: &mut OwnL1,
        (sectors, kind): (&[u64], Kind),
        smid: u32,
        counts: &mut CacheCounts,
    ) {
        if !self.models(smid) {
            for &sector in sectors.iter().filter(|&&sector| sampled(sector >> 2)) {
                self.hierarchy.l2.lock().read(sector << 5);
            }
            return;
        }
        let mut below = Vec::with_capacity(sectors.len());
        let mut through = |cache: &mut Cache| {
            for &sector in sectors {
                let hit = match kind {
                    Kind::Load => cache.read(sector << 5),
                    Kind::Store | Kind::Atomic(_) | Kind::Reduction(_) => {
                        cache.write_through(sector << 5);
                        false
                    }
                };
                if !hit {
                    below.push(sector);
                }
            }
        };
        match &self.texture {
            Some((shape, caches)) => {
                if let Some(cache) = caches.get(smid as usize) {
                    let mut cache = cache.lock();
                    through(cache.get_or_insert_with(|| self.hierarchy.empty(*shape)));
                }
            }
            None if (smid as usize) < self.l1.len() => {
                let mut lock = None;
                through(self.l1(own, smid, &mut lock));
            }
            None => {}
        }
        if kind == Kind::Load {
            counts.texture_misses += below.len() as u64;
            counts.texture_hits += (sectors.len() - below.len()) as u64;
        }
        below.retain(|&sector| sampled(sector >> 2));
        if below.is_empty() {
            return;
        }
        let mut l2 = self.hierarchy.l2.lock();
        for sector in below {
            let hit = l2.read(sector << 5);
            if kind == Kind::Load {
                counts.l2_hits += u64::from(hit);
                counts.l2_misses += u64::from(!hit);
            }
        }
    }

    /// The way that accesses of this kind go; their mask and addresses do not matter.
    pub fn route(&self, model: &MemoryModel, access: &WarpAccess<'_>) -> Route {
        match access.space {
            Space::Constant => Route::Constant,
            Space::Global => Route::Global { cached: through_l1(model, access) },
            Space::Local => Route::Local { bytes: access.width },
            Space::Shared | Space::Parameter => Route::Nowhere,
        }
    }

    /// Looks an access up, which touches these lines from `base` on. `warp` is the warp in its block.
    #[inline(always)]
    pub fn look(
        &self,
        own: &mut OwnL1,
        (route, kind): (Route, Kind),
        (base, touches): (u64, Touched<'_>),
        (smid, warp): (u32, u32),
        counts: &mut CacheCounts,
    ) {
        match route {
            Route::Nowhere => {}
            Route::Constant | Route::Local { .. } if !self.models(smid) => {}
            Route::Constant => {
                let place = (self.device, smid);
                let found = self.hierarchy.constants.look(place, base, touches.list);
                counts.constant_hits += found.hits;
                counts.constant_misses += found.misses;
            }
            Route::Global { cached } => {
                let line = base / u64::from(LINE);
                self.sectors(own, (line, touches), (kind, cached), smid, counts);
            }
            Route::Local { .. } => {
                let window = LOCAL_WINDOW | u64::from(smid) << 40 | u64::from(warp) << 32;
                let line = (window + 32 * base) / u64::from(LINE);
                let cached = self.shape.bytes > 0;
                self.sectors(own, (line, touches), (kind, cached), smid, counts);
            }
        }
    }

    /// [`LaunchCaches::look`] for lanes of `mask` on a multiprocessor that is not of the sample: no list of what they touch is
    /// needed.
    #[inline(always)]
    pub fn look_by_lane(&self, mask: u32, addresses: &[u64; 32]) {
        let mut marked = 0u32;
        for (lane, address) in addresses.iter().enumerate() {
            marked |= u32::from(sampled(address / u64::from(LINE))) << lane;
        }
        marked &= mask;
        if marked & marked.wrapping_sub(1) != 0 {
            // A sector is looked up once.
            marked = first_of(marked, addresses, SECTOR.trailing_zeros());
        }
        while marked != 0 {
            let at = addresses[marked.trailing_zeros() as usize & 31];
            marked &= marked - 1;
            let sector = 1 << (at / u64::from(SECTOR) % u64::from(LINE / SECTOR));
            self.hierarchy.l2.lock().read_line(at / u64::from(LINE), sector);
        }
    }

    /// [`LaunchCaches::look_by_lane`] for a sector, by its number, if it is `touched`.
    #[inline(always)]
    pub fn look_below(&self, sector: u64, touched: impl FnOnce() -> bool) {
        let each = u64::from(LINE / SECTOR);
        if sampled(sector / each) && touched() {
            self.hierarchy.l2.lock().read_line(sector / each, 1 << (sector % each));
        }
    }

    /// The same of one line of the sample, and these of its sectors.
    pub fn touch_below(&self, line: u64, sectors: u32) {
        self.hierarchy.l2.lock().read_line(line, sectors);
    }

    /// What a multiprocessor without an L1 brings into L2, which is not counted: lines from `base` on. Whether any was of the
    /// sample.
    #[inline(always)]
    pub fn below(&self, base: u64, touches: &[Touch]) -> bool {
        let mut any = false;
        for touch in touches {
            let line = (base / u64::from(LINE)).wrapping_add_signed(touch.line());
            if sampled(line) {
                any = true;
                self.hierarchy.l2.lock().read_line(line, touch.sectors().into());
            }
        }
        any
    }

    /// [`LaunchCaches::look`] for an access to global memory that touches few lines, on a multiprocessor that has an L1.
    #[inline(always)]
    pub fn look_few(
        &self,
        own: &mut OwnL1,
        (kind, cached): (Kind, bool),
        (base, few): (u64, &[Touch]),
        smid: u32,
        counts: &mut CacheCounts,
    ) {
        let loads = kind == Kind::Load;
        let used = self.shape.bytes > 0 && (cached || !loads) && (smid as usize) < self.l1.len();
        let mut lock = None;
        let mut l1 = if used { Some(self.l1(own, smid, &mut lock)) } else { None };
        for touch in few {
            let line = (base / u64::from(LINE)).wrapping_add_signed(touch.line());
            let sectors = u32::from(touch.sectors());
            let mut absent = sectors;
            match &mut l1 {
                Some(l1) if loads => {
                    absent = 0;
                    let one = std::iter::once((line, sectors));
                    let (hits, misses) = l1.read_lines(one, |_, missed| absent = missed);
                    counts.l1_hits += u64::from(hits);
                    counts.l1_misses += u64::from(misses);
                }
                Some(l1) => l1.write_line(line, sectors),
                None => {}
            }
            if absent != 0 && sampled(line) {
                let hits = self.hierarchy.l2.lock().read_line(line, absent);
                if loads {
                    counts.l2_hits += u64::from(hits.count_ones());
                    counts.l2_misses += u64::from((absent & !hits).count_ones());
                }
            }
        }
    }

    /// [`LaunchCaches::look`] for an access to global memory by lanes of which those of `firsts` are the first at their
    /// sectors. No list of what they touch is needed.
    #[inline(always)]
    pub fn look_at_lanes(
        &self,
        own: &mut OwnL1,
        (kind, cached): (Kind, bool),
        (addresses, firsts): (&[u64; 32], u32),
        smid: u32,
        counts: &mut CacheCounts,
    ) {
        match self.models(smid) {
            true => self.through(own, (kind, cached), smid, Lanes(addresses, firsts), counts),
            false => self.look_by_lane(firsts, addresses),
        }
    }

    #[inline(always)]
    fn sectors(
        &self,
        own: &mut OwnL1,
        (first, touches): (u64, Touched<'_>),
        (kind, cached): (Kind, bool),
        smid: u32,
        counts: &mut CacheCounts,
    ) {
        match self.models(smid) {
            true => self.through(own, (kind, cached), smid, Listed(first, touches), counts),
            false => {
                self.below(first * u64::from(LINE), touches.list);
            }
        }
    }

    /// Looks sectors of lines up, one after the other, on a multiprocessor that has an L1.
    #[inline(always)]
    fn through(
        &self,
        own: &mut OwnL1,
        (kind, cached): (Kind, bool),
        smid: u32,
        lookups: impl Lookups,
        counts: &mut CacheCounts,
    ) {
        let loads = kind == Kind::Load;
        let used = self.shape.bytes > 0 && (cached || !loads) && (smid as usize) < self.l1.len();
        let (mut l2, mut found) = (None, CacheCounts::default());
        let mut below = |line, sectors: u32| {
            if sampled(line) {
                let l2 = l2.get_or_insert_with(|| self.hierarchy.l2.lock());
                let hits = l2.read_line(line, sectors);
                found.l2_hits += u64::from(hits.count_ones());
                found.l2_misses += u64::from((sectors & !hits).count_ones());
            }
        };
        let mut lock = None;
        if !used {
            lookups.each(below);
        } else {
            let l1 = self.l1(own, smid, &mut lock);
            if loads {
                let (hits, misses) = lookups.read(l1, below);
                counts.l1_hits += u64::from(hits);
                counts.l1_misses += u64::from(misses);
            } else {
                lookups.each(|line, sectors| {
                    l1.write_line(line, sectors);
                    below(line, sectors);
                });
            }
        }
        // Mostly no line was of the sample.
        if loads && l2.is_some() {
            counts.l2_hits += found.l2_hits;
            counts.l2_misses += found.l2_misses;
        }
    }
}

/// What an access looks up: sectors of a line, one line after the other.
trait Lookups {
    fn each(self, each: impl FnMut(u64, u32));
    /// Reads them. `missed` gets what was absent. Tells how many sectors hit and missed.
    fn read(self, cache: &mut Cache, missed: impl FnMut(u64, u32)) -> (u32, u32);
}

/// A list of touches, and the line that they are from.
struct Listed<'a>(u64, Touched<'a>);

impl Listed<'_> {
    #[inline(always)]
    fn lines(&self) -> impl Iterator<Item = (u64, u32)> {
        self.1.list.iter().map(|t| (self.0.wrapping_add_signed(t.line()), t.sectors().into()))
    }
}

impl Lookups for Listed<'_> {
    #[inline(always)]
    fn each(self, mut each: impl FnMut(u64, u32)) {
        self.lines().for_each(|(line, sectors)| each(line, sectors));
    }
    #[inline(always)]
    fn read(self, cache: &mut Cache, missed: impl FnMut(u64, u32)) -> (u32, u32) {
        let Touched { list, marked } = self.1;
        match marked {
            Some(sectors) => cache.read_list(self.0, list, sectors.into(), missed),
            None => cache.read_lines(self.lines(), missed),
        }
    }
}

/// Addresses, and the lanes that are the first at their sectors.
struct Lanes<'a>(&'a [u64; 32], u32);

impl Lookups for Lanes<'_> {
    #[inline(always)]
    fn each(self, mut each: impl FnMut(u64, u32)) {
        for at in lanes(self.1).map(|lane| self.0[lane]) {
            each(at / u64::from(LINE), 1 << (at / u64::from(SECTOR) % u64::from(LINE / SECTOR)));
        }
    }
    #[inline(always)]
    fn read(self, cache: &mut Cache, missed: impl FnMut(u64, u32)) -> (u32, u32) {
        cache.read_lanes(self.0, self.1, missed)
    }
}

/// Lanes of a mask, ascending.
#[inline(always)]
fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// Whether a line is one of those that L2 is modelled on.
#[inline]
fn sampled(line: u64) -> bool {
    L2_LINES.has(line)
}

#[cfg(test)]
mod tests {
    use margay_arch::CacheOperator;

    use super::super::touches::touches;
    use super::*;

    fn access(space: Space, kind: Kind, addresses: &[u64; 32]) -> WarpAccess<'_> {
        let cache = CacheOperator::Default;
        WarpAccess { space, kind, width: 4, mask: u32::MAX, addresses, cache }
    }

    fn hierarchy(gpu: &str) -> Hierarchy {
        let gpu = margay_arch::find(gpu).unwrap();
        Hierarchy::new(gpu, Arc::new(ConstantCache::start(&[gpu], None)))
    }

    fn look(caches: &LaunchCaches<'_>, a: &WarpAccess<'_>, smid: u32) -> CacheCounts {
        let gpu = margay_arch::find("h200").unwrap();
        let (mut counts, mut list) = (CacheCounts::default(), Vec::new());
        let route = caches.route(&MemoryModel::new(gpu.limits), a);
        touches(route, a.mask, a.addresses, &mut list);
        let touched = Touched { list: &list, marked: None };
        let mut own = OwnL1::default();
        caches.look(&mut own, (route, a.kind), (0, touched), (smid, 0), &mut counts);
        counts
    }

    #[test]
    fn l1_is_a_multiprocessor_s_and_a_launch_s() {
        let hierarchy = hierarchy("h200");
        let at: [u64; 32] = std::array::from_fn(|l| 4096 + 4 * l as u64);
        let load = access(Space::Global, Kind::Load, &at);
        let caches = hierarchy.launch(0, 0, (1, 1), SplitPreference::Default);
        assert_eq!(caches.l1_bytes(), 256 << 10);
        assert_eq!(look(&caches, &load, 0).l1_misses, 4);
        assert_eq!(look(&caches, &load, 0).l1_hits, 4);
        assert_eq!(look(&caches, &load, 1).l1_misses, 4, "another multiprocessor");
        assert_eq!(
            look(&hierarchy.launch(0, 0, (1, 1), SplitPreference::Default), &load, 0).l1_misses,
            4,
            "another launch"
        );
        // Whether the line is one of those that are modelled or not, L2 never forgets it.
        let after = look(&hierarchy.launch(0, 0, (1, 1), SplitPreference::Default), &load, 2);
        assert_eq!(after.l2_misses, 0);
        let store = access(Space::Global, Kind::Store, &at);
        assert_eq!(look(&caches, &store, 0), CacheCounts::default());
    }

    #[test]
    fn of_a_large_launch_some_multiprocessors_are_modelled() {
        let hierarchy = hierarchy("h200");
        let models = |blocks| {
            let caches = hierarchy.launch(0, 0, (blocks, 1), SplitPreference::Default);
            (0..132).filter(|&smid| caches.models(smid)).collect::<Vec<u32>>()
        };
        let blocks = [1, 132, 133, 256, 512, 1024, 1 << 20];
        assert_eq!(blocks.map(|n| models(n).len()), [132, 132, 33, 17, 8, 4, 4]);
        let columns: Vec<u32> = models(1 << 20).iter().map(|smid| smid % 4).collect();
        assert_eq!(columns, [0, 3, 2, 1], "a grid that is 4 blocks wide shows all of its columns");
        // What the others read is not counted, and is in L2 all the same.
        let caches = hierarchy.launch(0, 0, (1 << 20, 1), SplitPreference::Default);
        let mut counts = CacheCounts::default();
        let lines = (0..4096u64).map(|n| std::array::from_fn(|l| n * 128 + 4 * l as u64));
        let all: Vec<[u64; 32]> = lines.collect();
        for (n, at) in all.iter().enumerate() {
            match n % 2 {
                0 => caches.look_by_lane(!0, at),
                _ => {
                    let load = access(Space::Global, Kind::Load, at);
                    counts.merge(&look(&caches, &load, 1));
                }
            }
        }
        assert_eq!(counts, CacheCounts::default());
        for at in &all {
            counts.merge(&look(&caches, &access(Space::Global, Kind::Load, at), 0));
        }
        assert_eq!((counts.l1_misses, counts.l2_misses), (4 * 4096, 0));
        let sampled = 4 * 4096 / u64::from(L2_SAMPLE);
        assert!(counts.l2_hits.abs_diff(sampled) <= 8, "{} of {sampled}", counts.l2_hits);
    }

    #[test]
    fn texels_go_through_l1_or_a_cache_of_their_own() {
        let load = |gpu: &str| {
            let hierarchy = hierarchy(gpu);
            let caches = hierarchy.launch(0, 0, (1, 1), SplitPreference::Default);
            let at: [u64; 32] = std::array::from_fn(|l| 4096 + 4 * l as u64);
            let mut counts = CacheCounts::default();
            let accesses: [(&[u64], Kind); 4] = [
                (&[128, 129], Kind::Load),
                (&[128, 130], Kind::Load),
                (&[131], Kind::Store),
                (&[131], Kind::Load),
            ];
            for access in accesses {
                caches.look_texture(&mut OwnL1::default(), access, 0, &mut counts);
            }
            assert_eq!((counts.texture_hits, counts.texture_misses), (1, 4), "{gpu}");
            let plain = look(&caches, &access(Space::Global, Kind::Load, &at), 0);
            (plain.l1_hits, caches.texture_bytes())
        };
        assert_eq!(load("h200"), (4, 256 << 10), "one store");
        assert_eq!(load("c2050"), (0, 12 << 10));
    }
}
