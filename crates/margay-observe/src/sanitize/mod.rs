// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks: memory, races, initialisation, synchronisation.
//!
//! [`Checks`] is a [`Tool`]: it gives each launch the observers of the checks that were asked for,
//! and keeps what they find in a file of the process, which `margay run --check` reads.
//!
//! Invariant: nothing here changes what the program computes, nor its device addresses.

mod calls;
mod failed;
mod filter;
pub mod finding;
mod form;
mod freed;
mod host;
mod indices;
pub mod init;
mod mbarrier;
pub mod memory;
pub mod names;
mod programs;
pub mod promises;
pub mod race;
#[cfg(test)]
mod random;
pub mod report;
mod states;
pub mod streams;
pub mod sync;
mod variables;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use margay_exec::alone::alone;
use margay_exec::fault::FaultKind;
use margay_exec::launch::{LaunchFailure, LaunchStats};
use margay_exec::mem::AllocationInfo;
use margay_exec::observe::Observer;
use margay_exec::reach::Written;
use margay_ir::Space;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use self::filter::Filter;

use self::calls::Lives;
use self::finding::{Check, Finding};
use self::freed::Freed;
use self::programs::Programs;
use self::promises::Promises;
use self::streams::Streams;
use self::view::{Sink, View};
use crate::tool::{Caller, CopyEvent, LaunchView, Promise, Refusal, StreamOrdered, Tool, together};
use crate::words::Words;

/// What a process hands over, as JSON in a file of the check directory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CheckReport {
    pub pid: u32,
    /// Launches that were watched, and those that a filter left out.
    pub launches: u64,
    pub filtered: u64,
    /// Alike for runs that copied the same from the device, in whatever order; 0 if that was not asked for.
    #[serde(default)]
    pub results: u64,
    pub findings: Vec<Finding>,
}

/// How long launches that find nothing anywhere else wait for a file that tells of them: a program that is killed has run a
/// few more.
const BETWEEN_WRITES: Duration = Duration::from_millis(100);

/// Runs the checks over a process.
pub struct Checks {
    directory: PathBuf,
    wanted: BTreeSet<Check>,
    filter: Filter,
    /// Launches that the filter's name let through.
    named: AtomicU64,
    /// Launches that run and are watched, by the address of their view.
    watched: Mutex<BTreeSet<usize>>,
    sink: Sink,
    launches: AtomicU64,
    filtered: AtomicU64,
    /// Allocations that live, by number.
    live: Mutex<BTreeMap<u64, AllocationInfo>>,
    freed: Mutex<Freed>,
    /// Who allocated and freed the memory of both.
    lives: Lives,
    /// Whether results are wanted, and the sum of their hashes.
    compares_results: AtomicBool,
    results: AtomicU64,
    /// A fault ends its kernel only, and the context lives on.
    contexts_survive: AtomicBool,
    /// A context has ended by a fault: its calls that free fail from then on.
    has_ended: AtomicBool,
    /// What kernels are to do with some of the allocations.
    promises: Promises,
    /// What launches and copies touched, for races between streams.
    streams: Streams,
    /// Which bytes of global memory were ever written.
    globals: init::memory::Globals,
    /// What is known of programs, for them.
    programs: Programs,
    /// Shadows of races that no launch has.
    spare: race::Spare,
    owner: u32,
    /// When the file was written last by a launch's end, and how many findings there were.
    last_write: Mutex<Option<(Instant, usize)>>,
    /// See [`Checks::look_one_by_one`].
    one_by_one: AtomicBool,
}

impl Checks {
    /// Checks that write into `directory`.
    pub fn start(directory: &Path, wanted: BTreeSet<Check>, filter: Filter) -> Arc<Checks> {
        Arc::new(Checks {
            directory: directory.to_path_buf(),
            wanted,
            filter,
            named: AtomicU64::new(0),
            watched: Mutex::default(),
            sink: Sink::default(),
            launches: AtomicU64::new(0),
            filtered: AtomicU64::new(0),
            live: Mutex::default(),
            freed: Mutex::default(),
            lives: Lives::default(),
            compares_results: AtomicBool::new(false),
            results: AtomicU64::new(0),
            contexts_survive: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            promises: Promises::default(),
            streams: Streams::default(),
            globals: init::memory::Globals::default(),
            programs: Programs::default(),
            spare: race::Spare::default(),
            owner: std::process::id(),
            last_write: Mutex::default(),
            one_by_one: AtomicBool::new(false),
        })
    }

    /// From now on looks for races at each access of shared memory by itself: slower, with the same findings. For tests.
    pub fn look_one_by_one(&self) {
        self.one_by_one.store(true, Ordering::Relaxed);
    }

    /// A fault is to end its kernel only (`--destroy-on-device-error kernel`).
    pub fn contexts_survive(&self) {
        self.contexts_survive.store(true, Ordering::Relaxed);
    }

    /// What the program copies from the device is to be compared with other runs (`--schedules`).
    pub fn compare_results(&self) {
        self.compares_results.store(true, Ordering::Relaxed);
    }

    /// What was found so far.
    pub fn report(&self) -> CheckReport {
        CheckReport {
            pid: self.owner,
            launches: self.launches.load(Ordering::Relaxed),
            filtered: self.filtered.load(Ordering::Relaxed),
            results: self.results.load(Ordering::Relaxed),
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

    /// Writes the file, if it tells of new findings or was not written for a while.
    fn write_lately(&self) {
        let mut last = self.last_write.lock();
        let findings = self.sink.sites();
        let known = |(at, of): &(Instant, usize)| *of == findings && at.elapsed() < BETWEEN_WRITES;
        if !last.as_ref().is_some_and(known) {
            self.write();
            *last = Some((Instant::now(), findings));
        }
    }

    /// Whether a launch that begins is to be watched.
    fn watches(&self, launch: &LaunchView<'_>) -> bool {
        self.filter.names(launch.program.name())
            && self.filter.numbers(self.named.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Has a finding tell where the memory came from that a launch accessed wrongly.
    fn tell_life(&self, finding: &mut Finding, failure: &LaunchFailure) {
        if let LaunchFailure::Fault(fault) = failure
            && let FaultKind::IllegalAddress { space, address, nearest, .. } = &fault.kind
            && matches!(space, Space::Global | Space::Generic)
            && let Some(allocation) = self.freed_at(*address).or_else(|| nearest.clone())
        {
            self.lives.tell(finding, &allocation);
        }
    }

    /// The freed allocation that was at an address.
    fn freed_at(&self, address: u64) -> Option<AllocationInfo> {
        self.freed.lock().at(address)
    }
}

impl Tool for Checks {
    fn wants_order(&self) -> bool {
        self.wanted.contains(&Check::Race)
    }

    fn wants_host_accesses(&self) -> bool {
        self.wanted.contains(&Check::Race)
    }

    fn wants_callers(&self) -> bool {
        self.wanted.contains(&Check::Memory) || self.wants_reads()
    }

    fn wants_reads(&self) -> bool {
        self.wanted.contains(&Check::Init)
    }

    fn wants_results(&self) -> bool {
        self.compares_results.load(Ordering::Relaxed)
    }

    fn launch<'a>(&'a self, launch: &'a LaunchView<'a>) -> Option<Box<dyn Observer + 'a>> {
        if !self.watches(launch) {
            self.filtered.fetch_add(1, Ordering::Relaxed);
            if self.wanted.contains(&Check::Init) {
                let written = Written::of(launch.program, launch.config, launch.memory);
                self.globals.may_be_written(&written);
            }
            return None;
        }
        self.launches.fetch_add(1, Ordering::Relaxed);
        // It may be killed before this one ends.
        self.write_lately();
        self.watched.lock().insert(std::ptr::from_ref(launch) as usize);
        let mut observers: Vec<Box<dyn Observer + 'a>> = Vec::new();
        let written = Written::of(launch.program, launch.config, launch.memory);
        let known = self.programs.known(launch.program);
        for check in &self.wanted {
            let view = || View::new(launch, known.clone(), &self.sink);
            match check {
                Check::Race => {
                    let one_by_one = self.one_by_one.load(Ordering::Relaxed);
                    let alone = match one_by_one {
                        true => Vec::new(),
                        false => alone(launch.program, launch.config, launch.memory),
                    };
                    let mut race = race::RaceObserver::new(
                        view(),
                        (written.clone(), alone),
                        launch.memory,
                        &self.spare,
                    );
                    race.one_by_one = one_by_one;
                    observers.push(Box::new(race));
                    observers.extend(self.streams.observer(launch, view()));
                    observers.extend(host::HostObserver::of(&launch.host, view()));
                }
                Check::Sync => observers.push(Box::new(sync::SyncObserver::new(view()))),
                Check::Init => {
                    let init = init::InitObserver::new(view(), &self.globals, written.clone());
                    observers.extend(init.map(|o| Box::new(o) as Box<dyn Observer + 'a>));
                }
                // The rest is found by the engine's own bounds: see `launched`.
                Check::Memory => {
                    observers.extend(self.promises.observer(view()));
                    let indices = indices::IndexObserver::new(view());
                    observers.extend(indices.map(|o| Box::new(o) as Box<dyn Observer + 'a>));
                    let variables = variables::VariableObserver::new(view());
                    observers.extend(variables.map(|o| Box::new(o) as Box<dyn Observer + 'a>));
                }
            }
        }
        together(observers)
    }

    fn launched(&self, launch: &LaunchView<'_>, outcome: &Result<LaunchStats, LaunchFailure>) {
        let watched = self.watched.lock().remove(&(std::ptr::from_ref(launch) as usize));
        let words = || Words::of_module(&launch.program.module().ir);
        // OpenCL's contexts have no end before the program's.
        let stopped =
            matches!(outcome, Err(LaunchFailure::Fault(_) | LaunchFailure::Cancelled { .. }));
        if stopped && words() == Words::Cuda {
            let survives = self.contexts_survive.load(Ordering::Relaxed);
            self.has_ended.fetch_or(!survives, Ordering::Relaxed);
        }
        if watched && let Err(failure) = outcome {
            let freed = |address| self.freed_at(address);
            let words = words();
            let mut of_memory = memory::failure(failure, &freed, words);
            if let Some(finding) = &mut of_memory {
                self.tell_life(finding, failure);
            }
            let found = [(Check::Memory, of_memory), (Check::Sync, sync::failure(failure, words))];
            let wanted =
                |(check, f): (Check, Option<Finding>)| f.filter(|_| self.wanted.contains(&check));
            let told: Vec<Finding> = found.into_iter().filter_map(wanted).collect();
            if told.is_empty()
                && let (LaunchFailure::Fault(fault), Some(check)) = (failure, self.wanted.first())
            {
                self.sink.add(failed::failure(fault, *check, words), None);
            }
            told.into_iter().for_each(|finding| self.sink.add(finding, None));
        }
        self.write_lately();
    }

    fn allocated(&self, allocation: &AllocationInfo) {
        self.live.lock().insert(allocation.id, allocation.clone());
        self.streams.allocated(allocation);
        self.freed.lock().allocated(allocation, |id| self.lives.forget(id));
        if self.wanted.contains(&Check::Init) {
            self.globals.allocated(allocation);
        }
    }

    fn freed(&self, allocation: &AllocationInfo) {
        self.live.lock().remove(&allocation.id);
        self.freed.lock().add(allocation, |id| self.lives.forget(id));
        self.globals.freed(allocation.base);
        self.promises.freed(allocation.base);
        self.streams.freed(allocation);
    }

    fn allocated_by(&self, allocation: &AllocationInfo, caller: Caller) {
        self.lives.allocated(allocation, caller);
    }

    fn freed_by(&self, allocation: &AllocationInfo, caller: Caller) {
        self.lives.freed(allocation, caller);
    }

    fn promised(&self, allocation: &AllocationInfo, promise: Promise) {
        self.promises.made(allocation, promise);
    }

    fn copied(&self, copy: &CopyEvent) {
        self.globals.copied(copy.to, copy.from, copy.bytes);
        if self.wanted.contains(&Check::Race) {
            self.streams.copied(copy, &self.sink);
        }
    }

    fn stream_ordered(&self, event: &StreamOrdered) {
        if self.wanted.contains(&Check::Race) {
            self.streams.owned(event, &self.sink);
        }
    }

    fn read(
        &self,
        from: u64,
        bytes: u64,
        allocation: &AllocationInfo,
        caller: &dyn Fn() -> Option<Caller>,
    ) {
        // What runs after a fault copies what no kernel came to write.
        let stopped = self.has_ended.load(Ordering::Relaxed);
        let found = init::copied::never_written(&self.globals, (from, bytes), allocation);
        if let Some(mut finding) = found.filter(|_| !stopped && self.wants_reads()) {
            calls::tell(&mut finding, caller().as_ref());
            self.lives.tell(&mut finding, allocation);
            self.sink.add(finding, None);
        }
    }

    fn result(&self, hash: u64) {
        // Streams may copy in any order.
        self.results.fetch_add(hash, Ordering::Relaxed);
    }

    fn refused(&self, refusal: &Refusal, caller: Option<&Caller>) {
        if self.wanted.contains(&Check::Memory) {
            let freed = self.freed_at(refusal.address);
            let mut finding = memory::refused(refusal, freed.as_ref());
            calls::tell(&mut finding, caller);
            if let Some(allocation) = freed.as_ref().or(refusal.nearest.as_ref()) {
                self.lives.tell(&mut finding, allocation);
            }
            self.sink.add(finding, None);
        }
    }

    fn finish(&self) {
        // A child that was forked has its parent's findings, and none of its own.
        if std::process::id() != self.owner {
            return;
        }
        let could_free = !self.has_ended.load(Ordering::Relaxed);
        if self.wanted.contains(&Check::Memory) && could_free {
            for allocation in self.live.lock().values() {
                if let Some(mut finding) = memory::leak(allocation) {
                    self.lives.tell(&mut finding, allocation);
                    self.sink.add(finding, None);
                }
            }
        }
        self.write();
    }
}
