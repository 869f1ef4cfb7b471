// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles launches of PTX without the runtime.
#![allow(dead_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use margay_arch::BankMode;
use margay_arch::caches::SplitPreference;
use margay_exec::jit::{Engine, unavailable};
use margay_exec::launch::{Host, LaunchConfig, LaunchFailure, Machine, launch_observed};
use margay_exec::mem::{AddressSpace, AllocKind, Reach};
use margay_exec::program::{LoadedModule, Program};
use margay_ir as ir;
use margay_observe::Tool;
use margay_observe::constant_cache::ConstantCache;
use margay_observe::profile::Profiler;
use margay_observe::profile::raw::{RawPattern, RawProfile, RawVariable};
use margay_observe::report::{Report, build};
use margay_observe::tool::LaunchView;

/// Whether no kernel can be compiled here, so that a test of compiled code is skipped, which is said.
pub fn nothing_compiles() -> bool {
    let why = unavailable();
    if let Some(why) = &why {
        eprintln!("skipped, nothing can be compiled: {why}");
    }
    why.is_some()
}

/// `8x4` in a list of launches.
pub fn shape(text: &str) -> [u32; 3] {
    let mut out = [1; 3];
    for (o, n) in out.iter_mut().zip(text.split('x')) {
        *o = n.parse().unwrap();
    }
    out
}

/// A profile in which patterns of a site that differ by multiples of 128 bytes are one. Of blocks that are told by one of them it
/// is not counted which of these came how often.
pub fn folded(mut raw: RawProfile) -> RawProfile {
    for kernel in &mut raw.kernels {
        // Variables are in the order in which they were met.
        let mut order: Vec<usize> = (0..kernel.variables.len()).collect();
        let name = |v: &RawVariable| (v.kind as u32, v.name.clone(), v.argument, v.size);
        order.sort_by_key(|n| name(&kernel.variables[*n]));
        kernel.variables = order.iter().map(|n| kernel.variables[*n].clone()).collect();
        for site in &mut kernel.sites {
            let now = order.iter().position(|n| *n == site.variable as usize);
            site.variable = now.unwrap_or(0) as u32;
        }
        kernel.sites.sort_by_key(|site| (site.pc, site.space.clone(), site.variable));
    }
    for site in raw.kernels.iter_mut().flat_map(|kernel| &mut kernel.sites) {
        let mut all: Vec<RawPattern> = Vec::new();
        for pattern in std::mem::take(&mut site.patterns) {
            // Which bytes of a line lanes are at that all are at one address decides nothing either.
            let same = pattern.distances.iter().all(|d| *d == 0);
            let alignment = if same { 0 } else { pattern.alignment % 128 };
            let pattern = RawPattern { first: 0, alignment, ..pattern };
            let key = |p: &RawPattern| (p.mask, p.alignment, p.distances.clone());
            match all.iter_mut().find(|known| key(known) == key(&pattern)) {
                Some(known) => known.count += pattern.count,
                None => all.push(pattern),
            }
        }
        all.sort_by_key(|p| (u64::MAX - p.count, p.mask, p.alignment, p.distances.clone()));
        site.patterns = all;
    }
    raw
}

/// Forgets the patterns of sites of which one of two profiles did not keep all: which are kept depends on which came first.
pub fn forget_unkept(one: &mut RawProfile, other: &mut RawProfile) {
    let kernels = one.kernels.iter_mut().zip(&mut other.kernels);
    for (a, b) in kernels.flat_map(|(a, b)| a.sites.iter_mut().zip(&mut b.sites)) {
        if a.unkept + b.unkept > 0 {
            for site in [a, b] {
                site.patterns.clear();
                site.unkept = 0;
            }
        }
    }
}

struct NoHost;

impl Host for NoHost {
    fn print(&self, _: &[u8]) {}
    fn assert_failed(&self, _: &[u8]) {}
    fn malloc(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) -> bool {
        false
    }
}

/// Launches under a profiler.
pub struct Bench {
    pub memory: AddressSpace,
    pub profiler: Arc<Profiler>,
    modules: HashMap<PathBuf, Arc<LoadedModule>>,
    /// By module and kernel, so that code is made once.
    programs: Mutex<HashMap<(u32, String), Arc<Program>>>,
    loaded: u32,
    pub split: SplitPreference,
    pub bank_mode: BankMode,
    /// What runs kernels; `None` is what `MARGAY_ENGINE` says.
    pub engine: Option<Engine>,
    /// Fixes the order of blocks.
    pub seed: Option<u64>,
    /// Threads of the host, at most.
    pub workers: usize,
    /// Stream that launches are said to be in.
    pub stream: u64,
    gpu: margay_arch::Gpu,
}

impl Bench {
    pub fn new(gpus: &[&str]) -> Bench {
        Bench {
            memory: AddressSpace::new().unwrap(),
            gpu: margay_arch::find(gpus[0]).unwrap(),
            profiler: Bench::profiler(gpus),
            modules: HashMap::new(),
            programs: Mutex::default(),
            loaded: 0,
            split: SplitPreference::Default,
            bank_mode: BankMode::FourByte,
            engine: None,
            seed: Some(1),
            workers: 1,
            stream: 0,
        }
    }

    /// Forgets what was counted.
    pub fn forget(&mut self, gpus: &[&str]) {
        self.profiler = Bench::profiler(gpus);
    }

    fn profiler(gpus: &[&str]) -> Arc<Profiler> {
        let gpus: Vec<_> = gpus.iter().map(|g| margay_arch::find(g).unwrap()).collect();
        // Nothing is written before `finish`, which is not called here.
        let constants = Arc::new(ConstantCache::start(&gpus, None));
        Profiler::start(&std::env::temp_dir().join("margay-no-profile"), gpus, constants)
    }

    pub fn load(&mut self, path: &Path) -> Arc<LoadedModule> {
        if let Some(known) = self.modules.get(path) {
            return known.clone();
        }
        let text = std::fs::read_to_string(path).unwrap();
        let module = self.load_text(&text);
        self.modules.insert(path.into(), module.clone());
        module
    }

    pub fn load_text(&mut self, ptx: &str) -> Arc<LoadedModule> {
        let ast = margay_ptx::parse(ptx).unwrap_or_else(|e| panic!("{e:?}"));
        let module = ir::lower::lower(&ast).unwrap_or_else(|e| panic!("{e:?}"));
        let place = |g: &ir::Global| {
            let kind = match g.space {
                ir::Space::Shared => return 0,
                ir::Space::Const => AllocKind::Constant,
                _ => AllocKind::Device,
            };
            let at = self.memory.alloc(g.size, g.align, kind, 0, &g.name).unwrap();
            let mut bytes = g.init.clone();
            bytes.resize(g.size as usize, 0);
            // SAFETY: just allocated with this size.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
            at
        };
        let addresses = module.globals.iter().map(place).collect();
        self.loaded += 1;
        let uid = self.loaded;
        Arc::new(LoadedModule { ir: Arc::new(module), addresses, uid })
    }

    /// A device buffer with these bytes.
    pub fn buffer(&self, bytes: &[u8]) -> u64 {
        let size = bytes.len() as u64;
        let at = self.memory.alloc(size, 512, AllocKind::Device, 0, "cuMemAlloc").unwrap();
        // SAFETY: just allocated with this size.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        at
    }

    /// Runs a grid; `values` are the parameters, each cut to its size.
    pub fn launch(
        &self,
        module: &Arc<LoadedModule>,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        values: &[u64],
    ) {
        self.run(module, kernel, (grid, block), values, Some(&*self.profiler))
            .unwrap_or_else(|e| panic!("{kernel}: {e}"));
    }

    /// The same of one that may fail: whether it ended well.
    pub fn try_launch(
        &self,
        module: &Arc<LoadedModule>,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        values: &[u64],
    ) -> bool {
        self.run(module, kernel, (grid, block), values, Some(&*self.profiler)).is_ok()
    }

    /// The same, under another tool.
    pub fn launch_under(
        &self,
        tool: &dyn Tool,
        module: &Arc<LoadedModule>,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        values: &[u64],
    ) {
        self.run(module, kernel, (grid, block), values, Some(tool))
            .unwrap_or_else(|e| panic!("{kernel}: {e}"));
    }

    /// The same, unobserved.
    pub fn launch_plain(
        &self,
        module: &Arc<LoadedModule>,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        values: &[u64],
    ) {
        self.run(module, kernel, (grid, block), values, None)
            .unwrap_or_else(|e| panic!("{kernel}: {e}"));
    }

    fn run(
        &self,
        module: &Arc<LoadedModule>,
        kernel: &str,
        (grid, block): ([u32; 3], [u32; 3]),
        values: &[u64],
        tool: Option<&dyn Tool>,
    ) -> Result<(), LaunchFailure> {
        let id = module.ir.function(kernel).unwrap_or_else(|| panic!("no kernel {kernel}"));
        let link = || Arc::new(Program::link(module, id).unwrap_or_else(|e| panic!("{e}")));
        let key = (module.uid, kernel.to_owned());
        let program = self.programs.lock().unwrap().entry(key).or_insert_with(link).clone();
        let declared = &module.ir.functions[id.0 as usize].params;
        assert_eq!(declared.len(), values.len(), "{kernel}");
        let mut params = vec![0; program.info().param_size as usize];
        for (p, v) in declared.iter().zip(values) {
            let (at, n) = (p.offset as usize, p.size.min(8) as usize);
            params[at..at + n].copy_from_slice(&v.to_le_bytes()[..n]);
        }
        let machine = Machine {
            sm: self.gpu.cc().sm(),
            sm_count: self.gpu.card.sm_count.value,
            blocks_per_sm: 2,
            clock_khz: 1_000_000,
            reserved_shared: 1024,
            reach: Reach::EVERYTHING,
        };
        let config = LaunchConfig {
            grid,
            block,
            cluster: [1; 3],
            dynamic_shared: 0,
            params,
            shared_arguments: Vec::new(),
            cooperative: false,
            stack_limit: 1024,
            timeout: None,
            threads: self.workers,
            seed: self.seed,
            grid_id: 1,
            grid_workspace: 0,
            graph_exec: 0,
            envreg: [0; 32],
            engine: self.engine,
        };
        let view = LaunchView {
            program: &program,
            config: &config,
            machine: &machine,
            memory: &self.memory,
            gpu: self.gpu,
            device: 0,
            stream: self.stream,
            registers: program.registers(),
            registers_decided: false,
            blocks_per_sm: 2,
            split: self.split,
            bank_mode: self.bank_mode,
            parent: None,
            order: None,
            host: Vec::new(),
        };
        let observer = tool.and_then(|tool| tool.launch(&view));
        let cancel = AtomicBool::new(false);
        let outcome = launch_observed(
            &program,
            &machine,
            &config,
            &self.memory,
            &NoHost,
            &cancel,
            observer.as_deref(),
        );
        drop(observer);
        if let Some(tool) = tool {
            tool.launched(&view, &outcome);
        }
        outcome.map(|_| ())
    }

    pub fn raw(&self) -> RawProfile {
        self.profiler.snapshot(true)
    }

    pub fn report(&self) -> Report {
        build(&[self.raw()], &build::Run::default())
    }
}
