// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constant cache with a size of the user's choice: what hits, what misses, and how often the host's writes
//! throw it away.
//!
//! Each multiprocessor has a cache, which lives across launches ([`margay_arch::caches::constant_cache`]). A warp asks
//! once for each line that its lanes name. A copy or a fill into a buffer that was read as constant empties all
//! caches, as a card's driver does.
//!
//! Limit: counts depend on which multiprocessor a block is on, and so on the number of threads where blocks
//! outnumber them; `--threads 1` fixes it.

use std::collections::HashMap;
use std::fmt::Write as _;

use margay_arch::caches::{self, Cache};
use margay_arch::{Gpu, Space};
use margay_exec::observe::{AccessEvent, Interest, Observer, Watch};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::profile::site;
use crate::profile::variables::Variables;
use crate::tool::{CopyEvent, LaunchView, Tool};

/// What one kernel read of one variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub kernel: String,
    /// The variable's name, or the call that made the buffer and the argument's position.
    pub variable: String,
    /// Bytes.
    pub size: u64,
    pub launches: u64,
    /// Lines that warps asked for.
    pub hits: u64,
    pub misses: u64,
    /// Times that the host wrote the variable between launches that read it.
    pub emptied: u64,
}

impl Row {
    /// Hits of all that was asked for.
    pub fn rate(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }

    /// What is wrong with keeping this in constant memory, if anything is. `cache`: bytes.
    pub fn hint(&self, cache: u32) -> Option<String> {
        if self.emptied + 1 >= self.launches && self.launches > 1 {
            return Some(
                "the host writes it before every launch, and each write throws the cache away: `global const` \
                 would serve better"
                    .into(),
            );
        }
        if self.rate() < 0.5 && self.size > u64::from(cache) {
            return Some(format!(
                "its {} bytes do not fit the cache's {cache}, and most reads miss: `global const` would serve better",
                self.size
            ));
        }
        None
    }
}

/// The report as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constants {
    /// Of each multiprocessor's cache, as the command line or the program chose it.
    pub bytes: u32,
    pub rows: Vec<Row>,
}

#[derive(Default)]
struct State {
    /// Bytes, once somebody chose them.
    bytes: Option<u32>,
    /// By multiprocessor of a device.
    caches: HashMap<(u32, u32), Cache>,
    rows: Vec<Row>,
    /// Memory that was read as constant: from, to, and whether it was since it was last written.
    seen: Vec<(u64, u64, bool)>,
}

/// Watches all reads of constant memory.
pub struct ConstantCache {
    state: Mutex<State>,
    owner: u32,
}

impl ConstantCache {
    /// With `bytes` from the command line, or without a size until a program chooses one.
    pub fn start(bytes: Option<u32>) -> ConstantCache {
        let state = Mutex::new(State { bytes, ..State::default() });
        ConstantCache { state, owner: std::process::id() }
    }

    /// A program's choice, which changes nothing where the command line made one.
    pub fn choose(&self, bytes: u32) {
        let mut state = self.state.lock();
        if state.bytes.is_none() {
            state.bytes = Some(bytes);
        }
    }

    /// What was counted.
    pub fn rows(&self) -> Vec<Row> {
        self.state.lock().rows.clone()
    }

    /// The report as data; `None` if no size was chosen.
    pub fn constants(&self) -> Option<Constants> {
        let state = self.state.lock();
        Some(Constants { bytes: state.bytes?, rows: state.rows.clone() })
    }

    /// The report; `None` if no size was chosen.
    pub fn report(&self) -> Option<String> {
        let state = self.state.lock();
        let bytes = state.bytes?;
        let mut text = format!("constant cache of {bytes} bytes for each multiprocessor\n");
        if state.rows.is_empty() {
            text += "  no kernel read constant memory\n";
        }
        for row in &state.rows {
            // Text always takes more.
            let _ = writeln!(
                text,
                "  {}: {} ({} bytes): {} lines read in {} launches, {:.1} % hits; the host wrote it {} times between",
                row.kernel,
                row.variable,
                row.size,
                row.hits + row.misses,
                row.launches,
                100.0 * row.rate(),
                row.emptied
            );
            if let Some(hint) = row.hint(bytes) {
                let _ = writeln!(text, "    hint: {hint}");
            }
        }
        Some(text)
    }
}

impl Tool for ConstantCache {
    fn launch<'a>(&'a self, launch: &'a LaunchView<'a>) -> Option<Box<dyn Observer + 'a>> {
        self.state.lock().bytes?;
        let variables = Variables::new(launch);
        Some(Box::new(Watching {
            of: self,
            launch,
            variables: Mutex::new((variables, Vec::new())),
        }))
    }

    fn copied(&self, copy: &CopyEvent) {
        let mut state = self.state.lock();
        let State { caches, seen, .. } = &mut *state;
        let (from, to) = (copy.to, copy.to.saturating_add(copy.bytes));
        let mut any = false;
        for (lo, hi, read) in seen {
            if *lo < to && from < *hi {
                any = true;
                *read = false;
            }
        }
        if any {
            caches.values_mut().for_each(Cache::invalidate);
        }
    }

    fn finish(&self) {
        if std::process::id() == self.owner
            && let Some(report) = self.report()
        {
            eprint!("margay: {report}");
        }
    }
}

/// A variable of a launch: its addresses and its row.
struct Known {
    lo: u64,
    hi: u64,
    row: usize,
}

struct Watching<'a> {
    of: &'a ConstantCache,
    launch: &'a LaunchView<'a>,
    variables: Mutex<(Variables<'a>, Vec<Known>)>,
}

impl Watching<'_> {
    /// The row of the variable at an address; the first time in a launch, counts the launch.
    fn row(&self, state: &mut State, address: u64) -> usize {
        let mut guard = self.variables.lock();
        let (variables, known) = &mut *guard;
        if let Some(found) = known.iter().find(|k| (k.lo..k.hi).contains(&address)) {
            return found.row;
        }
        let found = variables.find(Space::Constant, address);
        let variable = match found.variable.argument {
            Some(n) => format!("argument {n} ({})", found.variable.name),
            None => found.variable.name,
        };
        let kernel = self.launch.program.name();
        let at = state.rows.iter().position(|r| r.kernel == kernel && r.variable == variable);
        let row = at.unwrap_or_else(|| {
            let (kernel, size) = (kernel.to_owned(), found.variable.size);
            state.rows.push(Row { kernel, variable, size, ..Row::default() });
            state.rows.len() - 1
        });
        state.rows[row].launches += 1;
        let place = (found.lo, found.hi);
        match state.seen.iter_mut().find(|s| (s.0, s.1) == place) {
            Some(seen) => {
                state.rows[row].emptied += u64::from(!seen.2);
                seen.2 = true;
            }
            None => state.seen.push((found.lo, found.hi, true)),
        }
        known.push(Known { lo: found.lo, hi: found.hi, row });
        row
    }
}

impl Observer for Watching<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(Worker(self))
    }
}

struct Worker<'w, 'a>(&'w Watching<'a>);

impl Watch for Worker<'_, '_> {
    fn access(&mut self, e: &AccessEvent<'_>) {
        if site::space(e.space) != Space::Constant {
            return;
        }
        let watching = self.0;
        let gpu: Gpu = watching.launch.gpu;
        let mut state = watching.of.state.lock();
        let shape = caches::constant_cache(gpu.limits, state.bytes);
        let key = (watching.launch.device, e.at.smid);
        let mut lines: Vec<u64> = Vec::new();
        for lane in (0..32).filter(|l| e.mask >> l & 1 != 0) {
            let first = e.addresses[lane] / u64::from(shape.line);
            let last = (e.addresses[lane] + u64::from(e.bytes.max(1)) - 1) / u64::from(shape.line);
            for line in [first, last] {
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        let lead = e.addresses[(e.mask.trailing_zeros() & 31) as usize];
        let row = watching.row(&mut state, lead);
        let cache = state.caches.entry(key).or_insert_with(|| Cache::new(shape));
        let hits =
            lines.iter().filter(|line| cache.read(**line * u64::from(shape.line))).count() as u64;
        let row = &mut state.rows[row];
        row.hits += hits;
        row.misses += lines.len() as u64 - hits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(launches: u64, emptied: u64, hits: u64, misses: u64, size: u64) -> Row {
        Row { launches, emptied, hits, misses, size, ..Row::default() }
    }

    #[test]
    fn hints_are_for_what_does_not_stay() {
        assert_eq!(row(5, 0, 900, 100, 4096).hint(16 << 10), None);
        assert!(row(5, 4, 900, 100, 4096).hint(16 << 10).unwrap().contains("every launch"));
        assert!(row(1, 0, 1, 99, 1 << 16).hint(16 << 10).unwrap().contains("do not fit"));
        // A single launch has nothing to keep it for.
        assert_eq!(row(1, 0, 0, 10, 64).hint(16 << 10), None);
    }

    #[test]
    fn no_size_no_report() {
        let cache = ConstantCache::start(None);
        assert_eq!(cache.report(), None);
        cache.choose(1024);
        assert!(cache.report().unwrap().contains("1024 bytes"));
        let cache = ConstantCache::start(Some(64));
        cache.choose(1024);
        assert!(cache.report().unwrap().contains("of 64 bytes"));
    }
}
