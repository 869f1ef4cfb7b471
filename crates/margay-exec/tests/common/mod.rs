// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads PTX text and launches its kernels, for tests and examples of the engine alone.
#![allow(dead_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use margay_exec::fault::Fault;
use margay_exec::launch::{
    Host, LaunchConfig, LaunchFailure, LaunchStats, Machine, Others, launch_observed,
};
use margay_exec::mem::{AddressSpace, AllocKind, Reach};
use margay_exec::observe::Observer;
use margay_exec::program::{LoadedModule, Program, function_handle};
use margay_ir as ir;
use parking_lot::Mutex;

/// A device: memory, and what device code printed.
pub struct Device {
    pub memory: AddressSpace,
    pub printed: Mutex<Vec<u8>>,
    /// Who else may write memory while a kernel runs.
    pub others: Others,
    heap: Mutex<Vec<u64>>,
}

impl Host for Device {
    fn print(&self, text: &[u8]) {
        self.printed.lock().extend_from_slice(text);
    }
    fn assert_failed(&self, text: &[u8]) {
        self.print(text);
    }
    fn malloc(&self, bytes: u64) -> u64 {
        let address = self.memory.alloc(bytes, 16, AllocKind::Heap, 0, "malloc").unwrap_or(0);
        self.heap.lock().push(address);
        address
    }
    fn free(&self, address: u64) -> bool {
        let mut heap = self.heap.lock();
        let Some(at) = heap.iter().position(|&a| a == address) else { return false };
        heap.swap_remove(at);
        self.memory.free(address).is_ok()
    }
    fn others(&self) -> Others {
        self.others
    }
    fn is_shared(&self, _address: u64) -> bool {
        false
    }
}

impl Device {
    pub fn new() -> Device {
        Device {
            memory: AddressSpace::new().expect("address space"),
            printed: Mutex::default(),
            others: Others { host: true, ..Others::NOBODY },
            heap: Mutex::default(),
        }
    }

    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock()).into_owned()
    }

    /// A device buffer with these contents.
    pub fn buffer<T: Copy>(&self, values: &[T]) -> u64 {
        let bytes = size_of_val(values);
        let at = self.memory.alloc(bytes as u64, 256, AllocKind::Device, 0, "buffer").unwrap();
        // SAFETY: just allocated with this size.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), at as *mut T, values.len()) };
        at
    }

    pub fn read<T: Copy>(&self, at: u64, n: usize) -> Vec<T> {
        assert!(self.memory.contains(at, (n * size_of::<T>()) as u64));
        // SAFETY: checked to be allocated; no kernel runs.
        unsafe { std::slice::from_raw_parts(at as *const T, n) }.to_vec()
    }

    pub fn load(&self, ptx: &str) -> Arc<LoadedModule> {
        let ast = margay_ptx::parse(ptx).unwrap_or_else(|e| panic!("{e:?}"));
        let module = ir::lower::lower(&ast).unwrap_or_else(|e| panic!("{e:?}"));
        let mut addresses = Vec::new();
        for g in &module.globals {
            let kind = match g.space {
                ir::Space::Shared => {
                    addresses.push(0);
                    continue;
                }
                ir::Space::Const => AllocKind::Constant,
                _ => AllocKind::Device,
            };
            addresses.push(self.memory.alloc(g.size, g.align, kind, 0, &g.name).unwrap());
        }
        for (g, &at) in module.globals.iter().zip(&addresses) {
            if at == 0 {
                continue;
            }
            let mut bytes = g.init.clone();
            bytes.resize(g.size as usize, 0);
            for r in &g.relocs {
                let value = match r.target {
                    ir::RelocTarget::Global(id) => addresses[id.0 as usize],
                    ir::RelocTarget::Func(id) => function_handle(1, id),
                };
                let value = (value.wrapping_add_signed(r.addend) >> r.shift).to_le_bytes();
                let (at, n) = (r.offset as usize, r.width as usize);
                bytes[at..at + n].copy_from_slice(&value[..n]);
            }
            // SAFETY: just allocated with this size.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        }
        Arc::new(LoadedModule { ir: Arc::new(module), addresses, uid: 1 })
    }
}

/// One launch, with defaults for what a test does not care about.
#[derive(Clone)]
pub struct Run {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared: u32,
    pub sm: u32,
    pub sm_count: u32,
    pub blocks_per_sm: u32,
    pub threads: usize,
    pub seed: Option<u64>,
    pub timeout: Duration,
    pub stack: u32,
    /// Where the grid's barrier is.
    pub workspace: u64,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: [1; 3],
            shared: 0,
            sm: 90,
            sm_count: 4,
            blocks_per_sm: 2,
            threads: 2,
            seed: None,
            timeout: Duration::from_secs(60),
            stack: 1024,
            workspace: 0,
        }
    }
}

impl Run {
    pub fn new(grid: u32, block: u32) -> Run {
        Run { grid: [grid, 1, 1], block: [block, 1, 1], ..Run::default() }
    }

    /// Launches with 64-bit parameters.
    pub fn go(
        &self,
        device: &Device,
        module: &Arc<LoadedModule>,
        kernel: &str,
        params: &[u64],
    ) -> Result<LaunchStats, LaunchFailure> {
        let params = params.iter().flat_map(|p| p.to_le_bytes()).collect();
        self.go_with(device, module, kernel, params)
    }

    pub fn go_with(
        &self,
        device: &Device,
        module: &Arc<LoadedModule>,
        kernel: &str,
        params: Vec<u8>,
    ) -> Result<LaunchStats, LaunchFailure> {
        let id = module.ir.function(kernel).expect("kernel");
        let program = Program::link(module, id).unwrap_or_else(|e| panic!("{e}"));
        self.go_observed(device, &program, params, None)
    }

    /// What is launched, with these parameters.
    pub fn config(&self, params: Vec<u8>) -> LaunchConfig {
        LaunchConfig {
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            dynamic_shared: self.shared,
            params,
            shared_arguments: Vec::new(),
            cooperative: false,
            stack_limit: self.stack,
            timeout: Some(self.timeout),
            threads: self.threads,
            seed: self.seed,
            grid_id: 1,
            grid_workspace: self.workspace,
            graph_exec: 0,
            envreg: [0; 32],
            engine: None,
        }
    }

    /// Launches, watched or not.
    pub fn go_observed(
        &self,
        device: &Device,
        program: &Program,
        params: Vec<u8>,
        observer: Option<&dyn Observer>,
    ) -> Result<LaunchStats, LaunchFailure> {
        let machine = Machine {
            sm: self.sm,
            sm_count: self.sm_count,
            blocks_per_sm: self.blocks_per_sm,
            clock_khz: 1_000_000,
            reserved_shared: 1024,
            reach: Reach::EVERYTHING,
        };
        let config = self.config(params);
        let cancel = AtomicBool::new(false);
        launch_observed(program, &machine, &config, &device.memory, device, &cancel, observer)
    }

    /// Launches, and expects a fault.
    #[track_caller]
    pub fn faults(
        &self,
        device: &Device,
        module: &Arc<LoadedModule>,
        kernel: &str,
        params: &[u64],
    ) -> Fault {
        match self.go(device, module, kernel, params) {
            Err(LaunchFailure::Fault(fault)) => *fault,
            other => panic!("expected a fault, got {other:?}"),
        }
    }
}

/// A module with one kernel `k` of three 64-bit parameters in `%a0` … `%a2`, `%t` the thread's
/// index in the grid, and registers of every kind declared.
pub fn kernel(body: &str) -> String {
    module("", body)
}

/// The same with more at module scope.
pub fn module(before: &str, body: &str) -> String {
    let params: HashMap<_, _> =
        (0..3).map(|n| (n, format!("ld.param.u64 %a{n}, [p{n}];"))).collect();
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n{before}\n\
         .visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n{{\n\
         .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .f32 %f<32>; .reg .b64 %d<96>;\n\
         .reg .f64 %e<16>; .reg .b64 %a<3>; .reg .b32 %t, %lane, %n, %c;\n\
         {} {} {}\n\
         mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, %ctaid.x; mov.u32 %lane, %laneid;\n\
         mad.lo.u32 %t, %c, %n, %t;\n{body}\nret;\n}}\n",
        params[&0], params[&1], params[&2]
    )
}
