// SPDX-License-Identifier: MIT OR Apache-2.0
//! From raw counts to the report.

use std::collections::{BTreeMap, BTreeSet};

use margay_arch::caches::SplitPreference;
use margay_arch::{
    BankMode, ComputeCapability, Gpu, Kind, LaunchResources, Limiter, Limits, MemoryModel,
};

use super::schema::*;
use super::{arithmetic, causes, metrics, source};
use crate::constant_cache::Row;
use crate::profile::raw::{
    CacheCounts, RawBranch, RawInstruction, RawKernel, RawLaunch, RawPattern, RawPlace, RawProfile,
    RawSite, RawTexture, Sums,
};
use crate::profile::site::kind_of;
use crate::profile::variables::plain;

/// A symbol's name in the source, with and without parameters.
pub type Demangle = fn(&str) -> Option<(String, String)>;

/// What the caller knows of the run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub command: Vec<String>,
    /// As in [`Report::ended`].
    pub ended: String,
    /// Turns a symbol into the name in the source, with and without parameters.
    pub demangle: Option<Demangle>,
    /// What `--check` found in the same run.
    pub checks: Vec<crate::sanitize::finding::Finding>,
}

/// Accesses of a kernel that have pictures.
const MOST_PICTURES: usize = 48;

/// The report of a run from the profiles of its processes.
pub fn build(profiles: &[RawProfile], run: &Run) -> Report {
    let names: Vec<&String> =
        profiles.first().map(|p| p.models.iter().collect()).unwrap_or_default();
    let gpus: Vec<Gpu> = names.iter().filter_map(|n| margay_arch::find(n)).collect();
    let models: Vec<MemoryModel> = gpus.iter().map(|g| MemoryModel::new(g.limits)).collect();
    let wide: Vec<MemoryModel> =
        models.iter().map(|m| m.with_bank_mode(BankMode::EightByte)).collect();
    let all = || profiles.iter().flat_map(|p| &p.kernels);
    let mut files = BTreeSet::new();
    for place in all().flat_map(|k| &k.code).flat_map(|i| &i.places) {
        if !place.file.is_empty() {
            files.insert(place.file.clone());
        }
    }
    let handed_over: BTreeMap<String, String> =
        profiles.iter().flat_map(|p| p.sources.clone()).collect();
    let mut sources = source::read(files.into_iter().filter(|f| !handed_over.contains_key(f)));
    sources.extend(handed_over);
    let mut order = Vec::new();
    let mut kernels = Vec::new();
    for (p, profile) in profiles.iter().enumerate() {
        for (k, raw) in profile.kernels.iter().enumerate() {
            let launches = profile.launches.iter().filter(|l| l.kernel as usize == k);
            let main = launches.max_by_key(|l| l.warp_instructions * l.times);
            let models = if raw.wide_banks { &wide } else { &models };
            let mut built = kernel(raw, main, &gpus, models, &sources, run);
            built.caches.constant_bytes = profile.constant_cache_bytes;
            let weight: u64 = built.lines.iter().filter_map(|l| l.weight.first()).sum();
            order.push((weight.max(built.warp_instructions), p, k));
            kernels.push(Some(built));
        }
    }
    let numbers: Vec<(usize, usize)> = order.iter().map(|&(_, p, k)| (p, k)).collect();
    let mut sorted: Vec<usize> = (0..order.len()).collect();
    sorted.sort_by_key(|&n| (u64::MAX - order[n].0, n));
    let place: BTreeMap<(usize, usize), usize> =
        sorted.iter().enumerate().map(|(at, &n)| (numbers[n], at)).collect();
    Report {
        schema: SCHEMA.into(),
        version: VERSION,
        command: run.command.clone(),
        ended: run.ended.clone(),
        complete: profiles.iter().all(|p| p.complete),
        gpus: gpus.iter().zip(&models).enumerate().map(|(n, (g, m))| gpu_info(n, g, m)).collect(),
        kernels: sorted.iter().filter_map(|&n| kernels[n].take()).collect(),
        launches: launches(profiles, &place),
        notes: notes(profiles),
        constant_cache: constants(profiles, run),
        checks: run.checks.clone(),
        sources,
    }
}

fn notes(profiles: &[RawProfile]) -> Vec<String> {
    let times = |n: u64| match n {
        0 => None,
        1 => Some("once".to_owned()),
        n => Some(format!("{} times", causes::number(n))),
    };
    let discards = times(profiles.iter().map(|p| p.constant_cache_discards).sum()).map(|times| {
        format!(
            "The host wrote constant memory {times} after kernels had read it: the constant caches were thrown away \
             each time. Write it once before the first launch, or pass what changes as a parameter."
        )
    });
    let splits = times(profiles.iter().map(|p| p.split_changes).sum()).map(|times| {
        format!(
            "From one launch to the next, the part of the store that is shared memory and not L1 changed {times}: such \
             a launch waits until no other kernel runs on the device, also of other streams. Give kernels that are to \
             run side by side the same preference (`cudaFuncAttributePreferredSharedMemoryCarveout`)."
        )
    });
    discards.into_iter().chain(splits).collect()
}

fn constants(profiles: &[RawProfile], run: &Run) -> Option<ConstantCache> {
    let told: Vec<_> = profiles.iter().filter_map(|p| p.constants.as_ref()).collect();
    let row = |bytes: u32, r: &Row| {
        let kernel = run.demangle.and_then(|f| f(&r.kernel)).map(|n| n.0);
        let row = Row {
            kernel: kernel.unwrap_or_else(|| r.kernel.clone()),
            variable: plain_variable(&r.variable, run),
            ..r.clone()
        };
        ConstantRow { row, hint: r.hint(bytes) }
    };
    let rows = told.iter().flat_map(|c| c.rows.iter().map(|r| row(c.bytes, r))).collect();
    told.first().map(|c| ConstantCache { bytes: c.bytes, rows })
}

/// The caches' part of a kernel's report.
fn caches(raw: &RawKernel) -> Caches {
    let mut counts = CacheCounts::default();
    raw.sites.iter().for_each(|site| counts.merge(&site.caches));
    let rate = |hits: u64, misses: u64| margay_arch::caches::HitCounts { hits, misses }.rate();
    Caches {
        source: "modelled".into(),
        l1_bytes: raw.l1_bytes,
        constant_bytes: 0,
        counts,
        l1_hit_rate: rate(counts.l1_hits, counts.l1_misses),
        l2_hit_rate: rate(counts.l2_hits, counts.l2_misses),
        constant_hit_rate: rate(counts.constant_hits, counts.constant_misses),
        texture_bytes: raw.texture_bytes,
        texture_hit_rate: rate(counts.texture_hits, counts.texture_misses),
    }
}

/// Whether traffic is told in sectors; older GPUs move transactions of several sizes.
pub fn in_sectors(model: &MemoryModel) -> bool {
    model.cc.major >= 5
}

fn gpu_info(n: usize, gpu: &Gpu, model: &MemoryModel) -> GpuInfo {
    GpuInfo {
        name: gpu.card.alias.into(),
        card: gpu.card.name.into(),
        compute_capability: gpu.cc().to_string(),
        architecture: gpu.limits.architecture.into(),
        own: n == 0,
        global_unit: if in_sectors(model) { "sectors" } else { "transactions" }.into(),
    }
}

/// Whether a GPU has the instruction at all.
pub fn exists(site: &RawSite, model: &MemoryModel) -> bool {
    since(site, model.cc).is_none()
}

/// The first capability that has an instruction which this one lacks: surfaces come with 2.0 (guide, "Features and
/// Technical Specifications"), atomics by and by.
pub fn since(site: &RawSite, cc: ComputeCapability) -> Option<ComputeCapability> {
    let two = ComputeCapability::new(2, 0);
    match (&*site.space, kind_of(&site.kind, site.operation.as_deref())) {
        ("surface", _) => (cc < two).then_some(two),
        (space @ ("global" | "shared"), Kind::Atomic(op) | Kind::Reduction(op)) => {
            margay_arch::atomics::first_with(cc, space == "shared", op, site.width)
        }
        _ => None,
    }
}

/// Rows of a kernel's table that some of its GPUs lack, in part or whole.
fn missing(raw: &RawKernel, gpus: &[Gpu]) -> Vec<Missing> {
    let mut found: BTreeMap<(String, usize), ComputeCapability> = BTreeMap::new();
    for site in &raw.sites {
        for (g, gpu) in gpus.iter().enumerate() {
            let Some(since) = since(site, gpu.cc()) else { continue };
            let row = metrics::cell_name(&site.space, &site.kind);
            let known = found.entry((row, g)).or_insert(since);
            *known = since.max(*known);
        }
    }
    let told = |((row, gpu), since): ((String, usize), ComputeCapability)| Missing {
        row,
        gpu,
        since: since.to_string(),
    };
    found.into_iter().map(told).collect()
}

/// What orders accesses: passes of the shared or constant memory, and 64 bytes of traffic for each
/// pass that they could have been.
pub fn weight(space: &str, counts: &Sums) -> (u64, u64) {
    match space {
        "shared" => (counts.wavefronts, counts.conflicts()),
        "constant" | "parameter" => (counts.requests + counts.wavefronts, counts.replays),
        _ => {
            let ideal = 32 * counts.sectors_ideal;
            let weight = counts.bytes_moved / 64 + counts.requests;
            (weight, counts.bytes_moved.saturating_sub(ideal) / 64)
        }
    }
}

fn kernel(
    raw: &RawKernel,
    main: Option<&RawLaunch>,
    gpus: &[Gpu],
    models: &[MemoryModel],
    sources: &BTreeMap<String, String>,
    run: &Run,
) -> Kernel {
    let demangled = run.demangle.and_then(|f| f(&raw.name));
    let (name, plain) = demangled.unwrap_or_else(|| (raw.name.clone(), raw.name.clone()));
    let parameters =
        source::parameters(sources.values().map(String::as_str), &plain, raw.parameters.len());
    // The same kernel may have been launched with both.
    let name = if raw.wide_banks { format!("{name} (8-byte banks)") } else { name };
    let mut kernel = Kernel {
        name,
        symbol: raw.name.clone(),
        launches: raw.launches,
        launched_by: raw
            .launched_by
            .iter()
            .map(|name| run.demangle.and_then(|f| f(name)).map_or(name.clone(), |(full, _)| full))
            .collect(),
        resources: resources(raw, main),
        caches: caches(raw),
        totals: vec![Totals::default(); gpus.len()],
        ..Kernel::default()
    };
    for i in &raw.code {
        kernel.warp_instructions += i.warps;
        kernel.thread_instructions += i.threads;
        if let Some(class) = &i.class {
            let entry = kernel.arithmetic.entry(class.clone()).or_default();
            entry.warp_instructions += i.warps;
            entry.thread_instructions += i.threads;
        }
        if let Some(branch) = &i.branch {
            add_branch(&mut kernel.branches, branch);
        }
    }
    for (class, entry) in &mut kernel.arithmetic {
        let clocks = |m: &MemoryModel| arithmetic::clocks(class, m.cc);
        let all = |one: f64| one * entry.warp_instructions as f64;
        entry.clocks = models.iter().map(|m| clocks(m).map(all)).collect();
    }
    let warps = kernel.warp_instructions.max(1);
    kernel.active_lanes = kernel.thread_instructions as f64 / warps as f64;
    if let Some(main) = main {
        kernel.occupancy = gpus.iter().map(|g| occupancy(g.limits, raw, main)).collect();
    }
    for variable in &raw.variables {
        let from_source = variable.argument.and_then(|n| {
            let names = parameters.as_ref()?;
            names.get(n as usize).cloned()
        });
        let name = match (from_source, variable.argument) {
            (Some(name), _) => name,
            (None, Some(n)) => format!("argument {n}"),
            (None, None) => plain_variable(&variable.name, run),
        };
        kernel.variables.push(Variable {
            name,
            kind: variable.kind,
            argument: variable.argument,
            size: variable.size,
            home: variable.home,
            accesses: Vec::new(),
            totals: vec![Totals::default(); gpus.len()],
        });
    }
    let own = own_places(raw);
    let by_pc: BTreeMap<u32, usize> = raw.code.iter().enumerate().map(|(n, i)| (i.pc, n)).collect();
    for site in &raw.sites {
        let at_code = by_pc.get(&site.pc).map(|&n| (&raw.code[n], &own[n]));
        let access = access(site, at_code, gpus, models);
        let at = kernel.accesses.len();
        let cell = metrics::cell_name(&site.space, &site.kind);
        let variable = &mut kernel.variables[site.variable as usize];
        variable.accesses.push(at);
        for (g, counts) in site.counts.iter().enumerate() {
            if !exists(site, &models[g]) {
                continue;
            }
            for totals in [&mut kernel.totals[g], &mut variable.totals[g]] {
                let cell = totals.spaces.entry(cell.clone()).or_default();
                cell.executions += site.executions;
                cell.counts.merge(counts);
                let (space, kind) = (&*site.space, &*site.kind);
                let cache = site.cache.as_deref();
                metrics::add(&mut totals.metrics, space, kind, cache, site.executions, counts);
            }
        }
        kernel.accesses.push(access);
    }
    kernel.missing = missing(raw, gpus);
    causes::find(&mut kernel, raw, models);
    pictures(&mut kernel, raw, models);
    kernel.lines = lines(raw, &own, &kernel.accesses, models);
    kernel
}

/// Whether a file is a header that margay or the compiler brings.
fn is_header_of_ours(file: &str) -> bool {
    // margay's lie in a cache, in a directory named after their content.
    let digest = |d: &str| d.len() == 16 && d.bytes().all(|b| b.is_ascii_hexdigit());
    let cached = |part: &str| part.strip_prefix("include-").is_some_and(digest);
    let ours = file.split('/').any(cached) || file.contains("/lib/clang/");
    ours || file.rsplit('/').next().is_some_and(|name| name.starts_with("__clang_"))
}

/// Where an instruction stands in the program's own files.
struct OwnPlace<'a> {
    place: Option<&'a RawPlace>,
    /// Where it was inlined.
    callers: &'a [RawPlace],
    /// The header that it really stands in.
    header: Option<&'a RawPlace>,
}

/// The places of a kernel's instructions. Wrappers such as `tex2D` are inlined from headers, which PTX of
/// today's compilers says nothing of: they get the nearest line before them of the same function.
fn own_places(raw: &RawKernel) -> Vec<OwnPlace<'_>> {
    let own = |i: &RawInstruction| i.places.iter().position(|p| !is_header_of_ours(&p.file));
    let near = |n: usize| {
        let same = |i: &&RawInstruction| i.function == raw.code[n].function && own(i).is_some();
        let before = raw.code[..n].iter().rev().find(same);
        before.or_else(|| raw.code[n + 1..].iter().find(same))
    };
    let place = |(n, i): (usize, &'_ RawInstruction)| match (own(i), i.places.first()) {
        (Some(at), first) => OwnPlace {
            place: raw.code[n].places.get(at),
            callers: &raw.code[n].places[at + 1..],
            header: first.filter(|_| at > 0).and(raw.code[n].places.first()),
        },
        (None, None) => OwnPlace { place: None, callers: &[], header: None },
        (None, Some(_)) => {
            let here = raw.code[n].places.first();
            let found = near(n).and_then(|i| i.places.get(own(i)?));
            OwnPlace {
                place: found.or(here),
                callers: &[],
                header: here.filter(|_| found.is_some()),
            }
        }
    };
    raw.code.iter().enumerate().map(place).collect()
}

fn add_branch(to: &mut RawBranch, from: &RawBranch) {
    to.executions += from.executions;
    to.divergent += from.divergent;
    to.lanes += from.lanes;
    to.taken += from.taken;
}

/// A variable's name in the source: clang calls a kernel's `tile` `_ZZ6kernelPfE4tile`.
fn plain_variable(name: &str, run: &Run) -> String {
    // A variable of a function has the function's symbol before its own.
    let name = plain(name.rsplit("::").next().unwrap_or(name));
    let demangled = run.demangle.and_then(|f| f(name)).map(|(full, _)| full);
    let Some(full) = demangled else { return name.to_owned() };
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in full.char_indices() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            ':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    full[start..].to_owned()
}

fn resources(raw: &RawKernel, main: Option<&RawLaunch>) -> Resources {
    Resources {
        registers: raw.registers,
        registers_are: if raw.registers_decided { "limited" } else { "estimated" }.into(),
        static_shared: raw.static_shared,
        local_bytes: raw.local_bytes,
        parameter_bytes: raw.parameters.iter().map(|(at, n)| at + n).max().unwrap_or(0),
        block: main.map_or([0; 3], |m| m.block),
        grid: main.map_or([0; 3], |m| m.grid),
        dynamic_shared: main.map_or(0, |m| m.dynamic_shared),
    }
}

fn limiter_name(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Blocks => "blocks",
        Limiter::Warps => "warps",
        Limiter::Registers => "registers",
        Limiter::Shared => "shared",
    }
}

fn steps(limits: &Limits, kernel: &LaunchResources, split: SplitPreference) -> Vec<OccupancyStep> {
    let steps = margay_arch::occupancy::steps_with(limits, kernel, split);
    let split = margay_arch::occupancy::better_split(limits, kernel, split);
    let split = split.map(|(from, to, then)| OccupancyStep {
        resource: "split".into(),
        from,
        to,
        blocks_per_sm: then.blocks_per_sm,
        warps_per_sm: then.warps_per_sm,
    });
    let step = |s: margay_arch::occupancy::Step| OccupancyStep {
        resource: limiter_name(s.resource).into(),
        from: s.from,
        to: s.to,
        blocks_per_sm: s.blocks_per_sm,
        warps_per_sm: s.warps_per_sm,
    };
    split.into_iter().chain(steps.into_iter().map(step)).collect()
}

fn occupancy(limits: &Limits, raw: &RawKernel, main: &RawLaunch) -> OccupancyInfo {
    let at = |threads: u32, registers: u32| LaunchResources {
        threads_per_block: threads,
        registers_per_thread: registers,
        shared_per_block: raw.static_shared.saturating_add(main.dynamic_shared),
    };
    let warps = |threads: u32, registers: u32| {
        let kernel = at(threads, registers);
        match threads <= limits.max_threads_per_block.value {
            true => margay_arch::occupancy_with(limits, &kernel, raw.split),
            false => margay_arch::Occupancy {
                blocks_per_sm: 0,
                warps_per_sm: 0,
                limiter: Limiter::Warps,
            },
        }
    };
    let threads: u32 = main.block.iter().product();
    let registers = raw.registers.min(limits.max_registers_per_thread.value);
    let here = warps(threads, registers);
    OccupancyInfo {
        blocks_per_sm: here.blocks_per_sm,
        warps_per_sm: here.warps_per_sm,
        max_warps_per_sm: limits.max_warps_per_sm.value,
        limiter: limiter_name(here.limiter).into(),
        by_block_size: (1..=32).map(|w| warps(w * 32, registers).warps_per_sm).collect(),
        steps: steps(limits, &at(threads, registers), raw.split),
        by_registers: (1..=32).map(|r| warps(threads, r * 8).warps_per_sm).collect(),
    }
}

fn access(
    site: &RawSite,
    instruction: Option<(&RawInstruction, &OwnPlace<'_>)>,
    gpus: &[Gpu],
    models: &[MemoryModel],
) -> Access {
    let own = instruction.map(|(_, own)| own);
    let instruction = instruction.map(|(i, _)| i);
    let place = own.and_then(|own| own.place).cloned().unwrap_or_default();
    let written = |p: &RawPlace| format!("{}:{}", p.file, p.line);
    let on_gpu = |g: usize| {
        if !exists(site, &models[g]) {
            return AccessOnGpu::default();
        }
        let counts = site.counts.get(g).copied().unwrap_or_default();
        let mut metrics = BTreeMap::new();
        let (space, kind, cache) = (&*site.space, &*site.kind, site.cache.as_deref());
        metrics::add(&mut metrics, space, kind, cache, site.executions, &counts);
        AccessOnGpu { counts, metrics, ..AccessOnGpu::default() }
    };
    let worst = models.first().and_then(|m| causes::worst(site, m));
    Access {
        file: place.file,
        line: place.line,
        column: place.column,
        header: own.and_then(|own| own.header).map(written),
        inlined_at: own.map(|o| o.callers.iter().map(written).collect()).unwrap_or_default(),
        ptx_line: instruction.map_or(0, |i| i.ptx_line),
        instruction: instruction.map(|i| i.text.clone()).unwrap_or_default(),
        space: site.space.clone(),
        kind: site.kind.clone(),
        operation: site.operation.clone(),
        cache: site.cache.clone(),
        width: site.width,
        variable: site.variable as usize,
        executions: site.executions,
        caches: site.caches,
        active_lanes: site.lanes as f64 / site.executions.max(1) as f64,
        gpus: (0..gpus.len()).map(on_gpu).collect(),
        pattern: worst.map(pattern).unwrap_or_default(),
        patterns: site.patterns.len(),
        patterns_cover: site.executions - site.unkept.min(site.executions),
        texture: site.texture.as_ref().map(|form| texture(site, form)),
    }
}

fn texture(site: &RawSite, form: &RawTexture) -> Texture {
    let texels = site.counts.first().map_or(0, |c| c.texels);
    Texture { used: form.used.clone(), texels_per_lane: texels as f64 / site.lanes.max(1) as f64 }
}

/// A pattern as the report shows it.
fn pattern(raw: &RawPattern) -> Pattern {
    let mut distances = raw.distances.iter();
    let lane = |l: u32| {
        let active = raw.mask >> l & 1 != 0;
        active.then(|| distances.next().map(|d| raw.first + d)).flatten()
    };
    Pattern {
        count: raw.count,
        mask: raw.mask,
        base: (i64::from(raw.alignment) - raw.first).rem_euclid(1024) as u32,
        offsets: (0..32).map(lane).collect(),
    }
}

/// Pictures of the costliest accesses on the first GPU; names and rules of all.
fn pictures(kernel: &mut Kernel, raw: &RawKernel, models: &[MemoryModel]) {
    let weigh = |n: &usize| {
        let site = &raw.sites[*n];
        let (weight, excess) =
            weight(&site.space, &site.counts.first().copied().unwrap_or_default());
        (u64::MAX - excess, u64::MAX - weight, *n)
    };
    let mut order: Vec<usize> = (0..raw.sites.len()).collect();
    order.sort_by_key(weigh);
    for (place, n) in order.into_iter().enumerate() {
        let site = &raw.sites[n];
        if let Some(form) = &site.texture {
            for (model, on) in models.iter().zip(&mut kernel.accesses[n].gpus) {
                if exists(site, model) {
                    super::pictures::fill_texture(on, model, form, place < MOST_PICTURES);
                }
            }
            continue;
        }
        let Some(pattern) = models.first().and_then(|m| causes::worst(site, m)) else { continue };
        for (model, on) in models.iter().zip(&mut kernel.accesses[n].gpus) {
            super::pictures::fill(on, model, site, pattern, place < MOST_PICTURES);
        }
    }
}

fn lines(
    raw: &RawKernel,
    own: &[OwnPlace<'_>],
    accesses: &[Access],
    models: &[MemoryModel],
) -> Vec<Line> {
    let gpus = models.len();
    let mut lines: BTreeMap<(String, u32), Line> = BTreeMap::new();
    let fresh = |file: &str, line: u32| Line {
        file: file.to_owned(),
        line,
        weight: vec![0; gpus],
        excess: vec![0; gpus],
        arithmetic_clocks: vec![0.0; gpus],
        ..Line::default()
    };
    for (i, own) in raw.code.iter().zip(own) {
        let (file, number) = own.place.map_or(("", 0), |p| (&*p.file, p.line));
        let line = lines.entry((file.to_owned(), number)).or_insert_with(|| fresh(file, number));
        line.warp_instructions += i.warps;
        line.thread_instructions += i.threads;
        if let Some(class) = &i.class {
            for (sum, m) in line.arithmetic_clocks.iter_mut().zip(models) {
                *sum += arithmetic::clocks(class, m.cc).unwrap_or(0.0) * i.warps as f64;
            }
        }
        if let Some(branch) = &i.branch {
            add_branch(&mut line.branches, branch);
        }
    }
    for (n, access) in accesses.iter().enumerate() {
        let line = lines
            .entry((access.file.clone(), access.line))
            .or_insert_with(|| fresh(&access.file, access.line));
        line.accesses.push(n);
        for (g, on) in access.gpus.iter().enumerate() {
            let (weight, excess) = weight(&access.space, &on.counts);
            line.weight[g] += weight;
            line.excess[g] += excess;
        }
    }
    let mut lines: Vec<Line> = lines.into_values().collect();
    let first = |of: &[u64]| u64::MAX - of.first().copied().unwrap_or(0);
    lines.sort_by_key(|l| (first(&l.excess), first(&l.weight), u64::MAX - l.warp_instructions));
    lines
}

const COLUMNS: [&str; 28] = [
    "kernel",
    "times",
    "device",
    "grid_x",
    "grid_y",
    "grid_z",
    "block_x",
    "block_y",
    "block_z",
    "dynamic_shared",
    "blocks_per_sm",
    "warp_instructions",
    "thread_instructions",
    "shared_executions",
    "shared_wavefronts",
    "shared_bank_conflicts",
    "global_executions",
    "global_requests",
    "global_sectors",
    "local_executions",
    "local_sectors",
    "constant_executions",
    "constant_replays",
    "texture_executions",
    "texture_sectors",
    "surface_executions",
    "surface_sectors",
    "failure",
];

fn launches(profiles: &[RawProfile], place: &BTreeMap<(usize, usize), usize>) -> Launches {
    let mut launches =
        Launches { columns: COLUMNS.map(str::to_owned).to_vec(), ..Launches::default() };
    for (p, profile) in profiles.iter().enumerate() {
        launches.left_out += profile.launches_left_out;
        launches.total += profile.kernels.iter().map(|k| k.launches).sum::<u64>();
        for l in &profile.launches {
            let kernel = place.get(&(p, l.kernel as usize)).copied().unwrap_or(0);
            let [global, shared, local, constant, _, texture, surface] = &l.spaces;
            let numbers = [
                kernel as u64,
                l.times,
                u64::from(l.device),
                u64::from(l.grid[0]),
                u64::from(l.grid[1]),
                u64::from(l.grid[2]),
                u64::from(l.block[0]),
                u64::from(l.block[1]),
                u64::from(l.block[2]),
                u64::from(l.dynamic_shared),
                u64::from(l.blocks_per_sm),
                l.warp_instructions,
                l.thread_instructions,
                shared.executions,
                shared.wavefronts,
                shared.conflicts,
                global.executions,
                global.requests,
                global.sectors,
                local.executions,
                local.sectors,
                constant.executions,
                constant.replays,
                texture.executions,
                texture.sectors,
                surface.executions,
                surface.sectors,
            ];
            let mut row: Vec<serde_json::Value> = numbers.map(Into::into).to_vec();
            row.push(l.failure.clone().into());
            launches.rows.push(row);
        }
    }
    launches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_give_way_to_the_program_s_lines() {
        let at = |file: &str, line| RawPlace { file: file.into(), line, ..RawPlace::default() };
        let header = || at("/c/include-478a24a1c2798833/margay/texture.h", 108);
        let code = |places: Vec<RawPlace>| RawInstruction { places, ..RawInstruction::default() };
        let raw = RawKernel {
            code: vec![
                code(vec![header()]),
                code(vec![at("a.cu", 3)]),
                code(vec![header()]),
                code(vec![header(), at("a.cu", 9), at("a.cu", 20)]),
                code(vec![]),
                RawInstruction { function: "other".into(), ..code(vec![header()]) },
            ],
            ..RawKernel::default()
        };
        let told: Vec<_> = own_places(&raw)
            .iter()
            .map(|o| (o.place.map_or(0, |p| p.line), o.callers.len(), o.header.is_some()))
            .collect();
        // Before, or after if nothing is; with a chain of inlining, exactly; alone in its function, as it is.
        let expected = [
            (3, 0, true),
            (3, 0, false),
            (3, 0, true),
            (9, 1, true),
            (0, 0, false),
            (108, 0, false),
        ];
        assert_eq!(told, expected);
    }
}
