// SPDX-License-Identifier: MIT OR Apache-2.0
//! The profile of a process: workers hand their counts in, and a file always has what there was a
//! second ago, so that a killed program loses little.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use margay_arch::caches::HitCounts;
use margay_arch::caches::SplitPreference;
use margay_arch::{BankMode, Gpu, MemoryModel, Space};
use margay_exec::launch::{LaunchFailure, LaunchStats};
use margay_exec::observe::Observer;
use margay_exec::program::{Code, Program};
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};

use super::hashing::Map;
use super::hierarchy::Hierarchy;
use super::pattern::Pattern;
use super::patterns::{Costs, Index, NEVER_KEPT, Patterns, UNKEPT};
use super::raw::*;
use super::room::{Entry, Room};
use super::site::{Site, cache_name, kind_name, places, space_name};
use super::texture::TextureCounts;
use super::variables::Variables;
use super::watch::{LaunchObserver, LaunchTotals, Worker, count};
use crate::constant_cache::{ConstantCache, Met};
use crate::report::arithmetic;
use crate::tool::{CopyEvent, LaunchView, Tool};

/// How often the file is written while the program runs.
const CHECKPOINT: Duration = Duration::from_secs(1);
/// Most launches that are listed: what differs beyond that is in the kernels' totals only.
const MOST_LAUNCHES: usize = 20_000;
/// Most variables of a kernel that are told apart.
const MOST_VARIABLES: usize = 256;
/// Most patterns of a site that are kept for pictures and cures.
const MOST_PATTERNS: usize = 256;

/// Most bytes of patterns that are kept for later launches.
const MOST_SPARE: usize = 32 << 20;

/// Counts the accesses of all launches of this process.
pub struct Profiler {
    directory: PathBuf,
    gpus: Vec<Gpu>,
    models: Vec<MemoryModel>,
    /// The same with banks of eight bytes, where there are such.
    wide_models: Vec<MemoryModel>,
    /// Caches of the program's own GPU.
    hierarchy: Option<Hierarchy>,
    /// Workers hand in what they have when this changes.
    pub(super) epoch: AtomicU64,
    changed: AtomicBool,
    constants: Arc<ConstantCache>,
    state: Mutex<State>,
    spare: Mutex<Spare>,
    owner: u32,
}

/// Room from launches that have ended, with the patterns that are known.
#[derive(Default)]
struct Spare {
    /// By kernel, each with its bytes.
    rooms: Map<usize, Vec<(Room, usize)>>,
    bytes: usize,
}

/// An instruction, and the space and the variable of its accesses.
pub type SiteKey = (u32, Space, u32);

#[derive(Default)]
struct State {
    kernels: Vec<Kernel>,
    launches: Vec<RawLaunch>,
    left_out: u64,
    /// By device, shared memory that the last launch set aside.
    split: HashMap<u32, u32>,
    split_changes: u64,
    streams: HashSet<u64>,
    /// Text by name.
    sources: BTreeMap<String, String>,
    /// Of launches that run.
    running: HashMap<u64, LaunchTotals>,
}

struct Kernel {
    program: Arc<Program>,
    uid: u32,
    registers: (u32, bool),
    launches: u64,
    /// Kernels whose device code launched it.
    parents: BTreeSet<String>,
    l1_bytes: u32,
    wide_banks: bool,
    split: SplitPreference,
    texture_bytes: u32,
    warps: Vec<u64>,
    threads: Vec<u64>,
    /// By instruction: whether it is one.
    real: Vec<bool>,
    branches: Map<u32, RawBranch>,
    variables: Vec<RawVariable>,
    sites: Vec<KernelSite>,
    places: Map<SiteKey, u32>,
    /// By instruction and variable.
    textures: HashMap<(u32, u32), TextureCounts>,
}

struct KernelSite {
    site: Site,
    width: u32,
    executions: u64,
    lanes: u64,
    /// By model.
    counts: SmallVec<[Sums; 1]>,
    /// The patterns that came first.
    kept: Vec<Kept>,
    index: Arc<Index>,
    unkept: u64,
    caches: CacheCounts,
}

struct Kept {
    pattern: Pattern,
    count: u64,
    /// Where it came first: the base's address, and the variable's.
    base: u64,
    variable: u64,
    /// By model.
    costs: Costs,
}

impl Profiler {
    /// A profiler that writes into `directory`, for these GPUs; the first is the program's own.
    ///
    /// It looks reads of constant memory up in `constants`, which is no tool beside it then.
    pub fn start(directory: &Path, gpus: Vec<Gpu>, constants: Arc<ConstantCache>) -> Arc<Profiler> {
        let models: Vec<MemoryModel> =
            gpus.iter().map(|gpu| MemoryModel::new(gpu.limits)).collect();
        let wide = models.iter().map(|m| m.with_bank_mode(BankMode::EightByte)).collect();
        let profiler = Arc::new(Profiler {
            directory: directory.to_path_buf(),
            models,
            wide_models: wide,
            hierarchy: gpus.first().map(|&own| Hierarchy::new(own, constants.clone())),
            gpus,
            epoch: AtomicU64::new(0),
            changed: AtomicBool::new(false),
            constants,
            state: Mutex::default(),
            spare: Mutex::default(),
            owner: std::process::id(),
        });
        let weak = Arc::downgrade(&profiler);
        let name = "margay-profile".to_owned();
        // Without the thread a killed program loses its profile, and nothing else changes.
        let _ = std::thread::Builder::new().name(name).spawn(move || checkpoints(&weak));
        profiler
    }

    /// The models, as the launch has set them.
    pub(super) fn models(&self, view: &LaunchView<'_>) -> &[MemoryModel] {
        match view.bank_mode {
            BankMode::FourByte => &self.models,
            BankMode::EightByte => &self.wide_models,
        }
    }

    /// Whether the launch asks for banks of eight bytes, and one of the GPUs has them.
    fn wide_banks(&self, view: &LaunchView<'_>) -> bool {
        let heeds = |m: &MemoryModel| m.bank_mode == BankMode::EightByte;
        view.bank_mode == BankMode::EightByte && self.wide_models.iter().any(heeds)
    }

    /// Room for a worker's counts of a kernel that has so many instructions.
    pub(super) fn room(&self, kernel: usize, instructions: usize) -> Room {
        let mut spare = self.spare.lock();
        let Some((room, bytes)) = spare.rooms.get_mut(&kernel).and_then(Vec::pop) else {
            return Room::new(instructions);
        };
        spare.bytes -= bytes;
        room
    }

    /// Takes a room back whose counts were handed in.
    pub(super) fn reuse(&self, kernel: usize, room: Room) {
        let (mut spare, bytes) = (self.spare.lock(), room.bytes());
        if spare.bytes + bytes > MOST_SPARE {
            *spare = Spare::default();
        }
        if bytes <= MOST_SPARE {
            spare.bytes += bytes;
            spare.rooms.entry(kernel).or_default().push((room, bytes));
        }
    }

    /// The patterns of a site that are kept, if no more will be.
    pub(super) fn kept(&self, kernel: usize, site: SiteKey) -> Option<Arc<Index>> {
        let state = self.state.lock();
        let kernel = &state.kernels[kernel];
        let site = &kernel.sites[*kernel.places.get(&site)? as usize];
        (site.kept.len() == MOST_PATTERNS).then(|| site.index.clone())
    }

    /// The variable at an address: its number in the kernel, and its addresses.
    pub(super) fn variable(
        &self,
        launch: &LaunchObserver<'_>,
        space: Space,
        address: u64,
    ) -> (u32, u64, u64) {
        let found = launch.variables.lock().find(space, address);
        let mut state = self.state.lock();
        let at = state.kernels[launch.kernel].variable(&found.variable);
        (at, found.lo, found.hi)
    }

    /// The row of the constant at an address, in the constant cache's report.
    pub(super) fn constant_row(&self, launch: &LaunchObserver<'_>, address: u64) -> usize {
        let find = || launch.variables.lock().find(Space::Constant, address);
        self.constants.row(&launch.constants, launch.view.program.name(), address, find)
    }

    /// Takes a worker's counts in.
    pub(super) fn take(&self, launch: &LaunchObserver<'_>, worker: &mut Worker<'_, '_>) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let kernel = &mut state.kernels[launch.kernel];
        let totals = state.running.entry(launch.launch).or_default();
        let (mut warps, mut threads) = (0, 0);
        for pc in 0..kernel.real.len() {
            warps += worker.room.warps[pc];
            threads += worker.room.threads[pc];
            if warps != 0 && kernel.real[pc] {
                kernel.warps[pc] += warps as u64;
                kernel.threads[pc] += threads as u64;
                totals.warp_instructions += warps as u64;
                totals.thread_instructions += threads as u64;
            }
            if let Some(from) = &worker.room.branches[pc] {
                let to = kernel.branches.entry(pc as u32).or_default();
                to.executions += from.executions;
                to.divergent += from.divergent;
                to.lanes += from.lanes;
                to.taken += from.taken;
            }
            let met = |entry: &&mut Entry| entry.executions != 0;
            for entry in worker.room.sites[pc].iter_mut().filter(met) {
                let at = match entry.taken_as {
                    Some(at) => at,
                    None => *entry.taken_as.insert(kernel.place(pc as u32, entry)),
                };
                let site = &mut kernel.sites[at as usize];
                if entry.space == Space::Constant {
                    let (hits, misses) = (entry.caches.constant_hits, entry.caches.constant_misses);
                    self.constants.count(entry.row, HitCounts { hits, misses });
                }
                let before = site.counts.first().copied().unwrap_or_default();
                site.take(self.models(launch.view), entry);
                let after = site.counts.first().copied().unwrap_or_default();
                let part = &mut totals.spaces[entry.space as usize];
                part.executions += entry.executions;
                part.requests += after.requests - before.requests;
                part.wavefronts += after.wavefronts - before.wavefronts;
                part.conflicts += after.conflicts() - before.conflicts().min(after.conflicts());
                part.sectors += after.sectors - before.sectors;
                part.replays += after.replays - before.replays;
            }
        }
        for (&(pc, _), entry) in &worker.textures {
            let variable = kernel.variable(&entry.variable);
            let (counts, surface) = (&entry.counts, is_surface(&entry.counts.form));
            kernel.textures.entry((pc, variable)).or_default().merge(counts);
            let part = &mut totals.spaces[5 + usize::from(surface)];
            part.executions += counts.executions;
            part.requests += counts.sums.requests;
            part.sectors += counts.sums.sectors;
        }
        self.changed.store(true, Ordering::Release);
    }

    /// Everything counted so far.
    pub fn snapshot(&self, complete: bool) -> RawProfile {
        let state = self.state.lock();
        RawProfile {
            format: FORMAT,
            pid: self.owner,
            complete,
            models: self.gpus.iter().map(|g| g.card.alias.to_owned()).collect(),
            kernels: state.kernels.iter().map(|k| k.raw(self.models.len())).collect(),
            launches: state.launches.clone(),
            launches_left_out: state.left_out,
            constant_cache_bytes: self.constants.bytes(),
            constant_cache_discards: self.constants.discards(),
            // With one stream nothing runs beside anything.
            split_changes: if state.streams.len() > 1 { state.split_changes } else { 0 },
            constants: self.constants.constants(),
            sources: state.sources.clone(),
        }
    }

    /// Writes the file. One written before stays whole if this is interrupted.
    fn write(&self, complete: bool) {
        if std::process::id() != self.owner {
            return;
        }
        let at = self.directory.join(format!("{}.json", self.owner));
        let staged = self.directory.join(format!("{}.part", self.owner));
        let text = serde_json::to_vec(&self.snapshot(complete)).unwrap_or_default();
        let written = std::fs::write(&staged, text).and_then(|()| std::fs::rename(&staged, &at));
        if let Err(error) = written {
            eprintln!("margay: the profile cannot be written to {}: {error}", at.display());
        }
    }
}

fn checkpoints(profiler: &Weak<Profiler>) {
    let _own = margay_exec::threads::own();
    loop {
        std::thread::sleep(CHECKPOINT);
        let Some(profiler) = profiler.upgrade() else { return };
        // Workers hand in soon after this; what they do not is in the next file.
        profiler.epoch.fetch_add(1, Ordering::Relaxed);
        if profiler.changed.swap(false, Ordering::AcqRel) {
            profiler.write(false);
        }
    }
}

/// Whether there is an instruction, and not a branch to what follows.
fn is_real(program: &Program, pc: u32) -> bool {
    program.instruction(pc).is_some_and(|i| !matches!(i.code, Code::Nothing))
}

/// Whether it is an access to a surface rather than a texture.
fn is_surface(form: &RawTexture) -> bool {
    form.used.operation.starts_with("su")
}

/// A texture's or surface's counts as a site.
fn texture_site(pc: u32, variable: u32, counts: &TextureCounts, models: usize) -> RawSite {
    let surface = is_surface(&counts.form);
    RawSite {
        pc,
        space: if surface { "surface" } else { "texture" }.to_owned(),
        kind: counts.kind.to_owned(),
        operation: Some(counts.form.used.operation.clone()),
        cache: None,
        width: counts.form.used.texel_bytes,
        variable,
        executions: counts.executions,
        lanes: counts.lanes,
        counts: vec![counts.sums; models],
        patterns: Vec::new(),
        unkept: counts.executions,
        caches: counts.caches,
        texture: Some(counts.form()),
    }
}

impl KernelSite {
    fn new(entry: &Entry) -> KernelSite {
        KernelSite {
            site: entry.site,
            width: entry.width,
            executions: 0,
            lanes: 0,
            counts: smallvec![Sums::default(); entry.unkept_counts.len()],
            kept: Vec::new(),
            index: Arc::default(),
            unkept: 0,
            caches: CacheCounts::default(),
        }
    }

    /// Takes in what came.
    fn take(&mut self, models: &[MemoryModel], entry: &mut Entry) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { self.take_wide(models, entry) };
        }
        self.take_plain(models, entry);
    }

    /// [`KernelSite::take`], compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn take_wide(&mut self, models: &[MemoryModel], entry: &mut Entry) {
        self.take_plain(models, entry);
    }

    #[inline(always)]
    fn take_plain(&mut self, models: &[MemoryModel], entry: &mut Entry) {
        self.executions += entry.executions;
        self.lanes += entry.lanes;
        self.unkept += entry.unkept;
        self.caches.merge(&entry.caches);
        for (to, from) in self.counts.iter_mut().zip(&entry.unkept_counts) {
            to.merge(from);
        }
        let Patterns { seen, came, costs: own_costs, .. } = &mut entry.patterns;
        for &number in &*came {
            let seen = &mut seen[usize::from(number)];
            let (times, pattern) = (seen.count, &seen.pattern);
            if seen.kept == NEVER_KEPT && seen.place != 0 {
                let costs = &own_costs[seen.place as usize - 1..];
                for (sums, cost) in self.counts.iter_mut().zip(costs) {
                    sums.add(cost, times);
                }
                self.unkept += times;
                continue;
            }
            let mut hash = None;
            if let Some(number) = seen.supposed() {
                let is_it = self.kept.get(number).is_some_and(|kept| kept.pattern == *pattern);
                seen.kept = if is_it { number as u16 } else { UNKEPT };
            }
            if seen.kept == UNKEPT {
                let is = |n: usize| self.kept[n].pattern == *pattern;
                let known = self.index.find(*hash.insert(pattern.hash()), is);
                seen.kept = known.map_or(UNKEPT, |n| n as u16);
            }
            if let Some(kept) = self.kept.get_mut(usize::from(seen.kept)) {
                kept.count += times;
                for (sums, cost) in self.counts.iter_mut().zip(&kept.costs) {
                    sums.add(cost, times);
                }
                continue;
            }
            let lanes = (pattern.mask, &pattern.relative());
            let (site, place) = (&entry.site, (entry.space, entry.width));
            let sectors = seen.sectors.into();
            let room = self.kept.len() < MOST_PATTERNS;
            // One that comes in a second launch is likely to come in a third.
            let again = seen.kept == NEVER_KEPT;
            if again {
                seen.place = own_costs.len() as u64 + 1;
            }
            let mut costs = Costs::new();
            for (sums, model) in self.counts.iter_mut().zip(models) {
                let cost = count(model, site, place, lanes, sectors);
                sums.add(&cost, times);
                if room {
                    costs.push(cost);
                } else if again {
                    own_costs.push(cost);
                }
            }
            if room {
                let (pattern, base, variable) = (pattern.clone(), seen.place, entry.lo);
                self.kept.push(Kept { pattern, count: times, base, variable, costs });
                let hash = hash.unwrap_or_default();
                seen.kept = self.kept.len() as u16 - 1;
                let kept = &self.kept;
                Arc::make_mut(&mut self.index).push(hash, |n| kept[n].pattern.hash());
            } else {
                if !again {
                    (seen.kept, seen.place) = (NEVER_KEPT, 0);
                }
                self.unkept += times;
            }
        }
    }

    fn raw(&self, pc: u32, space: Space, variable: u32) -> RawSite {
        let (kind, operation) = kind_name(self.site.kind);
        let mut patterns: Vec<RawPattern> = self.kept.iter().map(Kept::raw).collect();
        let key = |p: &RawPattern| (u64::MAX - p.count, p.first, p.mask, p.alignment);
        patterns.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.distances.cmp(&b.distances)));
        RawSite {
            pc,
            space: space_name(space).to_owned(),
            kind: kind.to_owned(),
            operation: operation.map(str::to_owned),
            cache: cache_name(self.site.cache).map(str::to_owned),
            width: self.width,
            variable,
            executions: self.executions,
            lanes: self.lanes,
            counts: self.counts.to_vec(),
            patterns,
            unkept: self.unkept,
            caches: self.caches,
            texture: None,
        }
    }
}

impl Kept {
    fn raw(&self) -> RawPattern {
        let pattern = &self.pattern;
        let lead = (pattern.mask.trailing_zeros() & 31) as usize;
        let relative = pattern.relative();
        let first = relative[lead];
        let lanes = (0..32).filter(|l| pattern.mask >> l & 1 != 0);
        RawPattern {
            count: self.count,
            mask: pattern.mask,
            first: self.base.wrapping_add(first).wrapping_sub(self.variable) as i64,
            alignment: (self.base.wrapping_add(first) & 0x1_ffff) as u32,
            distances: lanes.map(|l| relative[l].wrapping_sub(first) as i64).collect(),
        }
    }
}

impl State {
    /// The kernel of a launch. With other banks it is another: counts, causes and pictures are then its own.
    fn place(&self, view: &LaunchView<'_>, wide_banks: bool) -> Option<usize> {
        let uid = view.program.module().uid;
        self.kernels.iter().position(|k| {
            k.uid == uid && k.program.name() == view.program.name() && k.wide_banks == wide_banks
        })
    }
}

impl Kernel {
    /// Where the accesses of an entry are counted, which may be new.
    fn place(&mut self, pc: u32, entry: &Entry) -> u32 {
        *self.places.entry((pc, entry.space, entry.variable)).or_insert_with(|| {
            self.sites.push(KernelSite::new(entry));
            self.sites.len() as u32 - 1
        })
    }

    /// The number of a variable, which is new or known.
    fn variable(&mut self, found: &RawVariable) -> u32 {
        let variables = &mut self.variables;
        // An argument that points to another allocation in another launch is the same argument.
        let texture = |v: &RawVariable| v.kind == VariableKind::Texture;
        let same = |v: &RawVariable| match (v.argument, found.argument) {
            (Some(a), Some(b)) => a == b && texture(v) == texture(found),
            (None, None) => v.kind == found.kind && v.name == found.name,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let known = variables.iter().position(same);
        let at = known.unwrap_or_else(|| {
            if variables.len() < MOST_VARIABLES {
                variables.push(found.clone());
            }
            variables.len() - 1
        });
        variables[at].size = variables[at].size.max(found.size);
        at as u32
    }

    /// All accesses, in the order of the code.
    fn sites(&self, models: usize) -> Vec<RawSite> {
        let mut keys: Vec<_> = self.places.keys().copied().collect();
        keys.sort_by_key(|&(pc, space, variable)| (pc, space as u32, variable));
        let site = |key| &self.sites[self.places[key] as usize];
        let mut sites: Vec<RawSite> = keys.iter().map(|k| site(k).raw(k.0, k.1, k.2)).collect();
        let mut keys: Vec<_> = self.textures.keys().copied().collect();
        keys.sort_unstable();
        sites.extend(keys.iter().map(|k| texture_site(k.0, k.1, &self.textures[k], models)));
        sites.sort_by_key(|site| site.pc);
        sites
    }

    fn raw(&self, models: usize) -> RawKernel {
        let info = self.program.info();
        let module = &self.program.module().ir;
        let kernel = self.program.instruction(0).map(|i| i.function);
        let mut code = Vec::new();
        for pc in 0..self.program.code_len() {
            let (warps, threads) = (self.warps[pc as usize], self.threads[pc as usize]);
            let Some(view) = self.program.instruction(pc).filter(|_| warps > 0) else { continue };
            let (ptx_line, places) = places(module, view.loc);
            let (text, class) = match view.code {
                Code::Inst(inst) => (inst.to_string(), arithmetic::class(inst)),
                Code::Term(term) => (term.to_string(), Some("control")),
                Code::Nothing => continue,
            };
            code.push(RawInstruction {
                pc,
                text,
                class: class.map(str::to_owned),
                ptx_line,
                places,
                function: view.function.name.to_string(),
                warps,
                threads,
                branch: self.branches.get(&pc).copied(),
            });
        }
        RawKernel {
            name: self.program.name().to_owned(),
            launches: self.launches,
            launched_by: self.parents.iter().cloned().collect(),
            registers: self.registers.0,
            registers_decided: self.registers.1,
            static_shared: info.static_shared,
            local_bytes: info.local_bytes,
            l1_bytes: self.l1_bytes,
            wide_banks: self.wide_banks,
            split: self.split,
            texture_bytes: self.texture_bytes,
            parameters: kernel
                .map(|k| k.params.iter().map(|p| (p.offset, p.size)).collect())
                .unwrap_or_default(),
            code,
            variables: self.variables.clone(),
            sites: self.sites(models),
        }
    }
}

/// A launch's key while it runs.
fn key(view: &LaunchView<'_>) -> u64 {
    std::ptr::from_ref(view) as u64
}

impl Tool for Profiler {
    fn launch<'a>(&'a self, view: &'a LaunchView<'a>) -> Option<Box<dyn Observer + 'a>> {
        let launch = key(view);
        let uid = view.program.module().uid;
        let wide_banks = self.wide_banks(view);
        let mut state = self.state.lock();
        let kernel = state.place(view, wide_banks).unwrap_or_else(|| {
            let n = view.program.code_len() as usize;
            let sources = view.program.module().ir.sources.iter();
            state.sources.extend(sources.map(|(name, text)| (name.to_string(), text.to_string())));
            state.kernels.push(Kernel {
                program: view.program.clone(),
                uid,
                registers: (view.registers, view.registers_decided),
                launches: 0,
                parents: BTreeSet::new(),
                l1_bytes: 0,
                wide_banks,
                split: view.split,
                texture_bytes: 0,
                warps: vec![0; n],
                threads: vec![0; n],
                real: (0..n as u32).map(|pc| is_real(view.program, pc)).collect(),
                branches: Map::default(),
                variables: Vec::new(),
                sites: Vec::new(),
                places: Map::default(),
                textures: HashMap::new(),
            });
            state.kernels.len() - 1
        });
        let shared = view.program.info().static_shared + view.config.dynamic_shared;
        let blocks = view.config.grid.iter().map(|&n| u64::from(n)).product();
        let caches = self.hierarchy.as_ref()?.launch(
            view.device,
            shared,
            (blocks, view.blocks_per_sm),
            view.split,
        );
        let before = state.split.insert(view.device, caches.shared_bytes());
        state.split_changes += u64::from(before.is_some_and(|b| b != caches.shared_bytes()));
        state.streams.insert(view.stream);
        state.kernels[kernel].launches += 1;
        state.kernels[kernel].parents.extend(view.parent.map(str::to_owned));
        state.kernels[kernel].l1_bytes = caches.l1_bytes();
        state.kernels[kernel].split = view.split;
        state.kernels[kernel].texture_bytes = caches.texture_bytes();
        state.running.insert(launch, LaunchTotals::default());
        drop(state);
        let (variables, constants) = (Mutex::new(Variables::new(view)), Met::default());
        Some(Box::new(LaunchObserver {
            profiler: self,
            view,
            kernel,
            launch,
            variables,
            caches,
            constants,
            rehearsed: Mutex::default(),
        }))
    }

    fn launched(&self, view: &LaunchView<'_>, outcome: &Result<LaunchStats, LaunchFailure>) {
        let wide_banks = self.wide_banks(view);
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(kernel) = state.place(view, wide_banks) else { return };
        let totals = state.running.remove(&key(view)).unwrap_or_default();
        let launch = RawLaunch {
            kernel: kernel as u32,
            times: 1,
            device: view.device,
            grid: view.config.grid,
            block: view.config.block,
            dynamic_shared: view.config.dynamic_shared,
            blocks_per_sm: view.blocks_per_sm,
            warp_instructions: totals.warp_instructions,
            thread_instructions: totals.thread_instructions,
            spaces: totals.spaces,
            failure: outcome.as_ref().err().map(|e| e.to_string()),
        };
        let room = state.launches.len() < MOST_LAUNCHES;
        match state.launches.last_mut() {
            Some(last) if RawLaunch { times: 1, ..last.clone() } == launch => last.times += 1,
            Some(_) if !room => state.left_out += 1,
            Some(_) | None => state.launches.push(launch),
        }
        self.changed.store(true, Ordering::Release);
    }

    fn copied(&self, copy: &CopyEvent) {
        self.constants.written(copy.to, copy.bytes);
    }

    fn finish(&self) {
        self.constants.finish();
        self.write(true);
    }
}
