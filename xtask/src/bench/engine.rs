// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bench kernels on margay's engine, launched without a driver between.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use margay_arch::caches::SplitPreference;
use margay_arch::{BankMode, Gpu};
use margay_exec::jit::Engine;
use margay_exec::launch::{Host, LaunchConfig, Machine, launch_observed};
use margay_exec::mem::{AddressSpace, AllocKind};
use margay_exec::program::{LoadedModule, Program};
use margay_observe::Tool;
use margay_observe::tool::LaunchView;

use super::case::{Argument, Case};

/// The kernels of the bench print and allocate nothing.
struct NoHost;

impl Host for NoHost {
    fn print(&self, _text: &[u8]) {}
    fn assert_failed(&self, _text: &[u8]) {}
    fn malloc(&self, _bytes: u64) -> u64 {
        0
    }
    fn free(&self, _address: u64) -> bool {
        false
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    pub milliseconds: f64,
    pub warp_instructions: u64,
}

/// A case that is compiled, linked and has its buffers.
pub struct Prepared {
    /// Linked kernels by name: launches of one share its code.
    programs: BTreeMap<&'static str, Arc<Program>>,
    addresses: Vec<u64>,
    memory: AddressSpace,
    /// The engine for launches; none is the process's own.
    pub engine: Option<Engine>,
}

/// Compiles `benches/kernels/<case>.cu` with margay's own headers and links its kernels.
pub fn prepare(root: &Path, case: &Case) -> Result<Prepared, String> {
    prepare_text(case, &ptx(root, case.name)?)
}

/// Links the kernels of a case's PTX.
pub fn prepare_text(case: &Case, text: &str) -> Result<Prepared, String> {
    let memory = AddressSpace::new().map_err(|e| e.to_string())?;
    let module = load(case.name, text, &memory)?;
    let mut addresses = Vec::new();
    for buffer in &case.buffers {
        let bytes = buffer.bytes() as u64;
        let made = memory.alloc(bytes, 256, AllocKind::Device, 0, "bench");
        addresses.push(made.map_err(|e| e.to_string())?);
    }
    let mut programs = BTreeMap::new();
    for launch in &case.launches {
        if programs.contains_key(launch.kernel) {
            continue;
        }
        let entry = module
            .ir
            .function(launch.kernel)
            .ok_or_else(|| format!("{} has no kernel {}", case.name, launch.kernel))?;
        let program = Program::link(&module, entry).map_err(|e| e.to_string())?;
        programs.insert(launch.kernel, Arc::new(program));
    }
    Ok(Prepared { programs, addresses, memory, engine: None })
}

/// The PTX of `benches/kernels/<name>.cu`.
pub fn ptx(root: &Path, name: &str) -> Result<String, String> {
    // `MARGAY` names another build of the command, as for the scripts in `tests/`.
    let margay = std::env::var_os("MARGAY")
        .map_or_else(|| root.join("target/release/margay"), std::path::PathBuf::from);
    let output = Command::new(&margay)
        .arg("ptx")
        .arg(root.join(format!("benches/kernels/{name}.cu")))
        .output()
        .map_err(|e| format!("{}: {e}; run `make build` first", margay.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

fn load(name: &str, text: &str, memory: &AddressSpace) -> Result<Arc<LoadedModule>, String> {
    let ast = margay_ptx::parse(text).map_err(|e| format!("{name}.cu: {e:?}"))?;
    let ir = margay_ir::lower(&ast).map_err(|e| format!("{name}.cu: {e:?}"))?;
    let addresses = place(&ir, memory)?;
    Ok(Arc::new(LoadedModule { ir: Arc::new(ir), addresses, uid: 1 }))
}

/// Gives each variable in global or constant memory an address and its first contents.
fn place(ir: &margay_ir::Module, memory: &AddressSpace) -> Result<Vec<u64>, String> {
    let mut addresses = Vec::new();
    for global in &ir.globals {
        let kind = match global.space {
            margay_ir::Space::Const => AllocKind::Constant,
            margay_ir::Space::Global => AllocKind::Device,
            _ => {
                addresses.push(0);
                continue;
            }
        };
        if !global.relocs.is_empty() {
            return Err(format!("`{}` holds an address, which no bench kernel needs", global.name));
        }
        let address = memory
            .alloc(global.size, global.align.max(256), kind, 0, &global.name)
            .map_err(|e| e.to_string())?;
        // SAFETY: the range was just allocated, as long as the variable, and no kernel runs yet.
        unsafe {
            (address as *mut u8).write_bytes(0, global.size as usize);
            (address as *mut u8).copy_from(global.init.as_ptr(), global.init.len());
        }
        addresses.push(address);
    }
    Ok(addresses)
}

impl Prepared {
    pub fn fill(&mut self, contents: &[Vec<u8>]) {
        for (&address, bytes) in self.addresses.iter().zip(contents) {
            // SAFETY: the buffer was allocated with this length, and no kernel runs.
            unsafe { (address as *mut u8).copy_from(bytes.as_ptr(), bytes.len()) }
        }
    }

    pub fn read(&self, index: usize, bytes: usize) -> Vec<u8> {
        // SAFETY: the buffer was allocated with this length, and no kernel runs.
        unsafe { std::slice::from_raw_parts(self.addresses[index] as *const u8, bytes) }.to_vec()
    }

    pub fn run(&self, case: &Case, threads: usize) -> Result<Took, String> {
        self.run_under(case, threads, None)
    }

    /// Runs a case under a tool that watches this GPU.
    pub fn run_under(
        &self,
        case: &Case,
        threads: usize,
        watched: Option<(&dyn Tool, Gpu)>,
    ) -> Result<Took, String> {
        let machine = Machine {
            sm: 90,
            sm_count: 132,
            blocks_per_sm: 8,
            clock_khz: 1_980_000,
            reserved_shared: 1024,
            reach: margay_exec::mem::Reach::EVERYTHING,
        };
        let configs: Vec<LaunchConfig> =
            (0..case.launches.len()).map(|i| self.config(case, i, threads)).collect();
        let stop = AtomicBool::new(false);
        let mut warp_instructions = 0;
        let start = Instant::now();
        for (one, config) in case.launches.iter().zip(&configs) {
            let program = &self.programs[one.kernel];
            let run = |observer| {
                launch_observed(program, &machine, config, &self.memory, &NoHost, &stop, observer)
            };
            let outcome = match watched {
                None => run(None),
                Some((tool, gpu)) => {
                    let view = LaunchView {
                        program,
                        config,
                        machine: &machine,
                        memory: &self.memory,
                        gpu,
                        device: 0,
                        stream: 0,
                        registers: program.registers(),
                        registers_decided: false,
                        blocks_per_sm: machine.blocks_per_sm,
                        split: SplitPreference::Default,
                        bank_mode: BankMode::FourByte,
                        parent: None,
                        order: None,
                        host: Vec::new(),
                    };
                    let observer = tool.launch(&view);
                    let outcome = run(observer.as_deref());
                    drop(observer);
                    tool.launched(&view, &outcome);
                    outcome
                }
            };
            warp_instructions +=
                outcome.map_err(|e| format!("{}: {e}", case.name))?.warp_instructions;
        }
        Ok(Took { milliseconds: start.elapsed().as_secs_f64() * 1e3, warp_instructions })
    }

    fn config(&self, case: &Case, index: usize, threads: usize) -> LaunchConfig {
        let launch = &case.launches[index];
        let mut params = Vec::new();
        for &argument in &launch.arguments {
            match argument {
                Argument::Buffer(i) => {
                    params.resize(params.len().next_multiple_of(8), 0);
                    params.extend_from_slice(&self.addresses[i].to_le_bytes());
                }
                Argument::Scalar(i) => params.extend_from_slice(&case.scalars[i].to_le_bytes()),
                Argument::Word(word) => params.extend_from_slice(&word.to_le_bytes()),
            }
        }
        LaunchConfig {
            grid: [launch.grid[0], launch.grid[1], 1],
            block: [launch.block[0], launch.block[1], 1],
            cluster: [1, 1, 1],
            dynamic_shared: 0,
            params,
            shared_arguments: Vec::new(),
            cooperative: false,
            stack_limit: 1024,
            timeout: None,
            threads,
            seed: None,
            grid_id: 1,
            graph_exec: 0,
            grid_workspace: 0,
            envreg: [0; 32],
            engine: self.engine,
        }
    }
}
