// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks: memory, races, initialisation, synchronisation.
//!
//! [`Checks`] is a [`Tool`]: it gives each launch the observers of the checks that were asked for,
//! and keeps what they find in a file of the process, which `margay run --check` reads.
//!
//! Invariant: nothing here changes what the program computes, nor its device addresses.

pub mod finding;
pub mod init;
pub mod memory;
pub mod race;
pub mod report;
pub mod sync;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use margay_exec::launch::{LaunchFailure, LaunchStats};
use margay_exec::mem::AllocationInfo;
use margay_exec::observe::Observer;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::finding::{Check, Finding};
use self::view::{Sink, View};
use crate::tool::{CopyEvent, LaunchView, Tool, together};

/// What a process hands over, as JSON in a file of the check directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CheckReport {
    pub pid: u32,
    /// Launches that were watched, and those that a filter left out.
    pub launches: u64,
    pub filtered: u64,
    pub findings: Vec<Finding>,
}

/// Runs the checks over a process.
pub struct Checks {
    directory: PathBuf,
    wanted: BTreeSet<Check>,
    /// Only kernels whose name contains this are watched.
    kernel_filter: Option<String>,
    sink: Sink,
    launches: AtomicU64,
    filtered: AtomicU64,
    /// Allocations that live, by number.
    live: Mutex<BTreeMap<u64, AllocationInfo>>,
    /// Which bytes of global memory were ever written.
    globals: init::memory::Globals,
    owner: u32,
}

impl Checks {
    /// Checks that write into `directory`.
    pub fn start(
        directory: &Path,
        wanted: BTreeSet<Check>,
        kernel_filter: Option<String>,
    ) -> Arc<Checks> {
        Arc::new(Checks {
            directory: directory.to_path_buf(),
            wanted,
            kernel_filter,
            sink: Sink::default(),
            launches: AtomicU64::new(0),
            filtered: AtomicU64::new(0),
            live: Mutex::default(),
            globals: init::memory::Globals::default(),
            owner: std::process::id(),
        })
    }

    /// What was found so far.
    pub fn report(&self) -> CheckReport {
        CheckReport {
            pid: self.owner,
            launches: self.launches.load(Ordering::Relaxed),
            filtered: self.filtered.load(Ordering::Relaxed),
            findings: self.sink.list(),
        }
    }

    /// Writes the file anew, whole or not at all.
    fn write(&self) {
        let Ok(text) = serde_json::to_vec(&self.report()) else { return };
        let path = self.directory.join(format!("check-{}.json", self.owner));
        let partial = path.with_extension("partial");
        if let Err(e) =
            std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, &path))
        {
            eprintln!("margay: the findings could not be written to {}: {e}", path.display());
        }
    }

    fn watches(&self, launch: &LaunchView<'_>) -> bool {
        self.kernel_filter.as_ref().is_none_or(|f| launch.program.name().contains(f.as_str()))
    }
}

impl Tool for Checks {
    fn launch<'a>(&'a self, launch: &'a LaunchView<'a>) -> Option<Box<dyn Observer + 'a>> {
        if !self.watches(launch) {
            self.filtered.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.launches.fetch_add(1, Ordering::Relaxed);
        let mut observers: Vec<Box<dyn Observer + 'a>> = Vec::new();
        for check in &self.wanted {
            let view = || View::new(launch, &self.sink);
            match check {
                Check::Race => observers.push(Box::new(race::RaceObserver::new(view()))),
                Check::Sync => observers.push(Box::new(sync::SyncObserver::new(view()))),
                Check::Init => {
                    observers.push(Box::new(init::InitObserver::new(view(), &self.globals)));
                }
                // The engine's own bounds find these: see `launched`.
                Check::Memory => {}
            }
        }
        together(observers)
    }

    fn launched(&self, launch: &LaunchView<'_>, outcome: &Result<LaunchStats, LaunchFailure>) {
        if self.watches(launch)
            && let Err(failure) = outcome
        {
            let found =
                [(Check::Memory, memory::failure(failure)), (Check::Sync, sync::failure(failure))];
            for (check, finding) in found {
                if let Some(finding) = finding
                    && self.wanted.contains(&check)
                {
                    self.sink.add(finding, None);
                }
            }
        }
        self.write();
    }

    fn allocated(&self, allocation: &AllocationInfo) {
        self.live.lock().insert(allocation.id, allocation.clone());
        if self.wanted.contains(&Check::Init) {
            self.globals.allocated(allocation);
        }
    }

    fn freed(&self, allocation: &AllocationInfo) {
        self.live.lock().remove(&allocation.id);
        self.globals.freed(allocation.base);
    }

    fn copied(&self, copy: &CopyEvent) {
        self.globals.copied(copy.to, copy.from, copy.bytes);
    }

    fn finish(&self) {
        // A child that was forked has its parent's findings, and none of its own.
        if std::process::id() != self.owner {
            return;
        }
        if self.wanted.contains(&Check::Memory) {
            for allocation in self.live.lock().values() {
                if let Some(finding) = memory::leak(allocation) {
                    self.sink.add(finding, None);
                }
            }
        }
        self.write();
    }
}
