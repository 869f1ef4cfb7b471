// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constant caches: what hits, what misses, and how often the host's writes throw it away.
//!
//! Each multiprocessor has a cache, which lives across launches ([`margay_arch::caches::constant_cache`]). A warp asks
//! once for each different word that its lanes name. A copy or a fill into memory that was read as constant empties
//! all caches, as a card's driver does. A profile looks its accesses up here; without one, this is a tool by itself.
//!
//! Limit: counts depend on which multiprocessor a block is on, and so on the number of threads where blocks
//! outnumber them; `--threads 1` fixes it.

mod row;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use margay_arch::caches::{self, Cache, HitCounts};
use margay_arch::{Gpu, Space};
use margay_exec::observe::{AccessEvent, Interest, Observer, Watch};
use parking_lot::Mutex;

pub use self::row::{Constants, Row};
use crate::profile::site;
use crate::profile::touches::{CONSTANT_LINE, Route, Touch, touches};
use crate::profile::variables::{Found, Variables};
use crate::tool::{CopyEvent, LaunchView, Tool};

#[derive(Default)]
struct State {
    rows: Vec<Row>,
    /// Memory that was read as constant: from, to, and whether it was since it was last written.
    seen: Vec<(u64, u64, bool)>,
}

/// The constant caches of a process's devices, and what they did.
pub struct ConstantCache {
    /// By device and multiprocessor.
    caches: Vec<Vec<Mutex<Cache>>>,
    gpus: Vec<Gpu>,
    /// The size that the command line or a program chose; 0 as long as nobody did.
    chosen: AtomicU32,
    /// Times that the host wrote constant memory after a kernel had read it.
    discards: AtomicU64,
    state: Mutex<State>,
    owner: u32,
}

/// The variables that one launch read as constants.
#[derive(Default)]
pub struct Met(Mutex<Vec<Known>>);

/// A variable of a launch: its addresses and its row.
struct Known {
    lo: u64,
    hi: u64,
    row: usize,
}

impl ConstantCache {
    /// Of these devices. `bytes` is the command line's choice; without one a program may choose, and until then
    /// each GPU has its own size.
    pub fn start(gpus: &[Gpu], bytes: Option<u32>) -> ConstantCache {
        let of = |gpu: &Gpu| {
            let cache = Cache::new(caches::constant_cache(*gpu, bytes));
            (0..gpu.card.sm_count.value.max(1)).map(|_| Mutex::new(cache.clone())).collect()
        };
        ConstantCache {
            caches: gpus.iter().map(of).collect(),
            gpus: gpus.to_vec(),
            chosen: AtomicU32::new(bytes.unwrap_or(0)),
            discards: AtomicU64::new(0),
            state: Mutex::default(),
            owner: std::process::id(),
        }
    }

    /// A program's choice, which changes nothing where one was made before.
    pub fn choose(&self, bytes: u32) {
        let chosen = self.chosen.compare_exchange(0, bytes, Ordering::Relaxed, Ordering::Relaxed);
        if chosen.is_err() {
            return;
        }
        for (gpu, sms) in self.gpus.iter().zip(&self.caches) {
            let empty = Cache::new(caches::constant_cache(*gpu, Some(bytes)));
            sms.iter().for_each(|cache| *cache.lock() = empty.clone());
        }
    }

    /// Bytes of a multiprocessor's cache, on the first device.
    pub fn bytes(&self) -> u32 {
        let chosen = self.chosen.load(Ordering::Relaxed);
        match (chosen, self.gpus.first()) {
            (0, Some(gpu)) => gpu.constant_cache().value,
            (_, _) => chosen,
        }
    }

    /// See [`ConstantCache::written`]: how often that cost something.
    pub fn discards(&self) -> u64 {
        self.discards.load(Ordering::Relaxed)
    }

    /// What was counted.
    pub fn rows(&self) -> Vec<Row> {
        self.state.lock().rows.clone()
    }

    /// The report; `None` if nobody chose a size and the card has none of its own.
    pub fn constants(&self) -> Option<Constants> {
        let own = self.gpus.first().is_some_and(|g| g.card.constant_cache.is_some());
        let told = own || self.chosen.load(Ordering::Relaxed) != 0;
        told.then(|| Constants { bytes: self.bytes(), rows: self.rows() })
    }

    /// Looks up what an access touches from `base` on, on a device's multiprocessor.
    #[inline]
    pub fn look(&self, (device, smid): (u32, u32), base: u64, touches: &[Touch]) -> HitCounts {
        let mut counts = HitCounts::default();
        let sms = self.caches.get(device as usize);
        let Some(cache) = sms.and_then(|sms| sms.get(smid as usize)) else { return counts };
        let mut cache = cache.lock();
        let first = base / u64::from(CONSTANT_LINE);
        for touch in touches {
            for _ in 0..touch.sectors() {
                let hit = cache.read_line(first.wrapping_add_signed(touch.line()), 1);
                counts.hits += u64::from(hit);
                counts.misses += u64::from(hit ^ 1);
            }
        }
        counts
    }

    /// The row of the variable at `address`, which `find` finds; the first time in a launch, counts the launch.
    pub fn row(
        &self,
        met: &Met,
        kernel: &str,
        address: u64,
        find: impl FnOnce() -> Found,
    ) -> usize {
        let mut known = met.0.lock();
        if let Some(found) = known.iter().find(|k| (k.lo..k.hi).contains(&address)) {
            return found.row;
        }
        let found = find();
        let variable = match found.variable.argument {
            Some(n) => format!("argument {n} ({})", found.variable.name),
            None => found.variable.name,
        };
        let mut state = self.state.lock();
        let at = state.rows.iter().position(|r| r.kernel == kernel && r.variable == variable);
        let row = at.unwrap_or_else(|| {
            let (kernel, size) = (kernel.to_owned(), found.variable.size);
            state.rows.push(Row { kernel, variable, size, ..Row::default() });
            state.rows.len() - 1
        });
        state.rows[row].launches += 1;
        let place = (found.lo, found.hi);
        match state.seen.iter_mut().position(|s| (s.0, s.1) == place) {
            Some(seen) => {
                let written = !std::mem::replace(&mut state.seen[seen].2, true);
                state.rows[row].emptied += u64::from(written);
            }
            None => state.seen.push((found.lo, found.hi, true)),
        }
        known.push(Known { lo: found.lo, hi: found.hi, row });
        row
    }

    /// Adds what lookups of a row's variable found.
    pub fn count(&self, row: usize, counts: HitCounts) {
        let row = &mut self.state.lock().rows[row];
        row.hits += counts.hits;
        row.misses += counts.misses;
    }

    /// The host writes here: if a kernel has read any of it as constant, all that the caches hold is thrown away.
    pub fn written(&self, to: u64, bytes: u64) {
        let (from, to) = (to, to.saturating_add(bytes));
        let mut held = false;
        for (lo, hi, read) in &mut self.state.lock().seen {
            if *lo < to && from < *hi {
                held |= std::mem::replace(read, false);
            }
        }
        if held {
            self.discards.fetch_add(1, Ordering::Relaxed);
            self.caches.iter().flatten().for_each(|cache| cache.lock().invalidate());
        }
    }
}

impl Tool for ConstantCache {
    fn launch<'a>(&'a self, launch: &'a LaunchView<'a>) -> Option<Box<dyn Observer + 'a>> {
        let variables = Mutex::new(Variables::new(launch));
        Some(Box::new(Watching { of: self, launch, variables, met: Met::default() }))
    }

    fn copied(&self, copy: &CopyEvent) {
        self.written(copy.to, copy.bytes);
    }

    fn finish(&self) {
        if std::process::id() == self.owner
            && let Some(constants) = self.constants()
        {
            eprint!("margay: {}", constants.text());
        }
    }
}

/// A launch that nothing else profiles.
struct Watching<'a> {
    of: &'a ConstantCache,
    launch: &'a LaunchView<'a>,
    variables: Mutex<Variables<'a>>,
    met: Met,
}

impl Observer for Watching<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(Worker { launch: self, touched: Vec::new() })
    }
}

struct Worker<'w, 'a> {
    launch: &'w Watching<'a>,
    touched: Vec<Touch>,
}

impl Watch for Worker<'_, '_> {
    fn access(&mut self, e: &AccessEvent<'_>) {
        if site::space(e.space) != Space::Constant {
            return;
        }
        let Watching { of, launch, variables, met } = self.launch;
        self.touched.clear();
        touches(Route::Constant, e.mask, e.addresses, &mut self.touched);
        let lead = e.addresses[(e.mask.trailing_zeros() & 31) as usize];
        let find = || variables.lock().find(Space::Constant, lead);
        let row = of.row(met, launch.program.name(), lead, find);
        of.count(row, of.look((launch.device, e.at.smid), 0, &self.touched));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches(bytes: Option<u32>) -> ConstantCache {
        ConstantCache::start(&[margay_arch::find("h200").unwrap()], bytes)
    }

    #[test]
    fn no_size_no_report() {
        let cache = caches(None);
        assert_eq!((cache.constants(), cache.bytes()), (None, 8 << 10));
        cache.choose(1024);
        assert!(cache.constants().unwrap().text().contains("1024 bytes"));
        let cache = caches(Some(64));
        cache.choose(1024);
        assert_eq!((cache.constants().unwrap().bytes, cache.bytes()), (64, 64));
        let fpga = ConstantCache::start(&[margay_arch::find("fpga").unwrap()], None);
        assert_eq!(fpga.constants().unwrap().bytes, 16 << 10);
    }

    #[test]
    fn what_is_read_stays_until_the_host_writes_it() {
        let cache = caches(Some(16 << 10));
        let one = [Touch::new(0, 1)];
        let (hit, miss) = (HitCounts { hits: 1, misses: 0 }, HitCounts { hits: 0, misses: 1 });
        let variable =
            || Found { variable: crate::profile::raw::RawVariable::default(), lo: 4096, hi: 8192 };
        assert_eq!(cache.look((0, 0), 4096, &one), miss);
        cache.row(&Met::default(), "k", 4096, variable);
        assert_eq!(cache.look((0, 0), 4096, &one), hit);
        assert_eq!(cache.look((0, 1), 4096, &one), miss, "another multiprocessor");
        cache.written(0, 4096);
        assert_eq!(cache.look((0, 0), 4096, &one), hit, "beside it");
        cache.written(4092, 8);
        cache.written(4092, 8);
        assert_eq!((cache.look((0, 0), 4096, &one), cache.discards()), (miss, 1));
    }
}
