// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bench: kernels of `benches/kernels.cu` on the engine, the same work in `benches/openmp.cpp`.
//!
//! Each number is the best of several interleaved runs. Absolute numbers hold for the machine that
//! the table names; only ratios are worth comparing between machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use margay_exec::launch::{Host, LaunchConfig, Machine, launch};
use margay_exec::mem::{AddressSpace, AllocKind};
use margay_exec::program::{LoadedModule, Program};

/// Sizes of the work.
struct Sizes {
    matrix: u32,
    elements: u32,
    side: u32,
    limit: u32,
}

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

/// One kernel's launch.
struct Work {
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    params: Vec<u8>,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let quick = arguments.iter().any(|a| a == "--quick");
    let sizes = if quick {
        Sizes { matrix: 128, elements: 1 << 18, side: 128, limit: 128 }
    } else {
        Sizes { matrix: 512, elements: 1 << 22, side: 512, limit: 256 }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let module = load(root)?;
    let memory = AddressSpace::new().map_err(|e| e.to_string())?;
    let works = works(&sizes, &memory)?;
    let openmp = build_openmp(root)?;

    println!("machine: {}", machine_name());
    println!(
        "sizes: matrix {0}x{0}, {1} elements, image {2}x{2}",
        sizes.matrix, sizes.elements, sizes.side
    );
    let threads: usize = 1;
    let mut peers: BTreeMap<String, f64> = BTreeMap::new();
    let mut ours: Vec<(f64, u64)> = vec![(f64::INFINITY, 0); works.len()];
    for _ in 0..if quick { 1 } else { 3 } {
        if let Some(program) = &openmp {
            for (name, ms) in run_openmp(program, &sizes, threads)? {
                let best = peers.entry(name).or_insert(f64::INFINITY);
                *best = best.min(ms);
            }
        }
        for (work, best) in works.iter().zip(&mut ours) {
            let (ms, instructions) = run_ours(&module, work, &memory, threads)?;
            if ms < best.0 {
                *best = (ms, instructions);
            }
        }
    }
    println!("one thread, best of the runs\n");
    println!(
        "{:<14} {:>12} {:>14} {:>12} {:>10}",
        "kernel", "margay ms", "M warp-inst/s", "OpenMP ms", "ratio"
    );
    for (work, (ms, instructions)) in works.iter().zip(&ours) {
        let rate = *instructions as f64 / ms / 1e3;
        let peer = peers.get(work.kernel);
        let (peer_text, ratio) = match peer {
            Some(p) => (format!("{p:.2}"), format!("{:.3}", p / ms)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        println!("{:<14} {ms:>12.2} {rate:>14.1} {peer_text:>12} {ratio:>10}", work.kernel);
    }
    if openmp.is_none() {
        println!("\nOpenMP skipped: no g++ with -fopenmp");
    }
    Ok(())
}

/// Compiles `benches/kernels.cu` with our own headers and lowers it.
fn load(root: &Path) -> Result<Arc<LoadedModule>, String> {
    let margay = root.join("target/release/margay");
    let output = Command::new(&margay)
        .arg("ptx")
        .arg(root.join("benches/kernels.cu"))
        .output()
        .map_err(|e| format!("{}: {e}; run `make build` first", margay.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8(output.stdout).map_err(|e| e.to_string())?;
    let ast = margay_ptx::parse(&text).map_err(|e| format!("kernels.cu: {e:?}"))?;
    let ir = margay_ir::lower(&ast).map_err(|e| format!("kernels.cu: {e:?}"))?;
    let addresses = vec![0; ir.globals.len()];
    Ok(Arc::new(LoadedModule { ir: Arc::new(ir), addresses, uid: 1 }))
}

fn works(sizes: &Sizes, memory: &AddressSpace) -> Result<Vec<Work>, String> {
    let buffer = |bytes: u64| {
        memory.alloc(bytes, 256, AllocKind::Device, 0, "bench").map_err(|e| e.to_string())
    };
    let Sizes { matrix: n, elements, side, limit } = *sizes;
    let square = u64::from(n * n * 4);
    let (a, b, c) = (buffer(square)?, buffer(square)?, buffer(square)?);
    let (x, y) = (buffer(u64::from(elements) * 4)?, buffer(u64::from(elements) * 4)?);
    let image = buffer(u64::from(side * side * 4))?;
    let out = buffer(1024)?;
    // SAFETY: the ranges were just allocated with these sizes, and no kernel runs yet.
    unsafe {
        for i in 0..n * n {
            (a as *mut f32).add(i as usize).write(1.0);
            (b as *mut f32).add(i as usize).write(2.0);
        }
        for i in 0..elements {
            (x as *mut u32).add(i as usize).write(i.wrapping_mul(2_654_435_761) >> 7);
            (y as *mut f32).add(i as usize).write(2.0);
        }
    }
    let tiles = n / 16;
    let mut params = Params::default();
    Ok(vec![
        Work {
            kernel: "matmul_tiled",
            grid: [tiles, tiles, 1],
            block: [16, 16, 1],
            params: params.pointer(a).pointer(b).pointer(c).word(n).take(),
        },
        Work {
            kernel: "saxpy",
            grid: [elements / 256, 1, 1],
            block: [256, 1, 1],
            params: params.pointer(x).pointer(y).word(1.5f32.to_bits()).word(elements).take(),
        },
        Work {
            kernel: "mandelbrot",
            grid: [side * side / 256, 1, 1],
            block: [256, 1, 1],
            params: params.pointer(image).word(side).word(limit).take(),
        },
        Work {
            kernel: "reduction",
            grid: [64, 1, 1],
            block: [256, 1, 1],
            params: params.pointer(x).pointer(out).word(elements).take(),
        },
        Work {
            kernel: "histogram",
            grid: [64, 1, 1],
            block: [256, 1, 1],
            params: params.pointer(x).pointer(out).word(elements).take(),
        },
    ])
}

/// Builds a parameter block; pointers come first in every kernel, so nothing needs padding.
#[derive(Default)]
struct Params(Vec<u8>);

impl Params {
    fn pointer(&mut self, address: u64) -> &mut Self {
        self.0.extend_from_slice(&address.to_le_bytes());
        self
    }

    fn word(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// Runs one launch; returns milliseconds and executed warp instructions.
fn run_ours(
    module: &Arc<LoadedModule>,
    work: &Work,
    memory: &AddressSpace,
    threads: usize,
) -> Result<(f64, u64), String> {
    let entry =
        module.ir.function(work.kernel).ok_or_else(|| format!("no kernel {}", work.kernel))?;
    let program = Program::link(module, entry).map_err(|e| e.to_string())?;
    let machine = Machine {
        sm: 90,
        sm_count: 132,
        blocks_per_sm: 8,
        clock_khz: 1_980_000,
        reserved_shared: 1024,
    };
    let config = LaunchConfig {
        grid: work.grid,
        block: work.block,
        cluster: [1, 1, 1],
        dynamic_shared: 0,
        params: work.params.clone(),
        cooperative: false,
        stack_limit: 1024,
        timeout: None,
        threads,
        seed: None,
        grid_id: 1,
        grid_workspace: 0,
    };
    let start = Instant::now();
    let stats = launch(&program, &machine, &config, memory, &NoHost, &AtomicBool::new(false))
        .map_err(|e| e.to_string())?;
    Ok((start.elapsed().as_secs_f64() * 1e3, stats.warp_instructions))
}

fn build_openmp(root: &Path) -> Result<Option<PathBuf>, String> {
    let program = root.join("target/bench-openmp");
    let status = Command::new("g++")
        .args(["-O3", "-march=native", "-fopenmp", "-o"])
        .arg(&program)
        .arg(root.join("benches/openmp.cpp"))
        .status();
    match status {
        Ok(status) if status.success() => Ok(Some(program)),
        Ok(_) => Err("benches/openmp.cpp does not build".to_owned()),
        Err(_) => Ok(None),
    }
}

fn run_openmp(program: &Path, sizes: &Sizes, threads: usize) -> Result<Vec<(String, f64)>, String> {
    let output = Command::new(program)
        .args([sizes.matrix, sizes.elements, sizes.side, sizes.limit].map(|n| n.to_string()))
        .env("OMP_NUM_THREADS", threads.to_string())
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text.lines().filter_map(|line| {
        let (name, ms) = line.split_once(' ')?;
        Some((name.to_owned(), ms.parse().ok()?))
    });
    Ok(rows.collect())
}

fn machine_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map(|l| l.trim_start_matches(['\t', ' ', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let features =
        ["avx2", "fma", "avx512f"].into_iter().filter(|f| text.contains(f)).collect::<Vec<_>>();
    format!("{}, {cores} cores, {}", model.unwrap_or("unknown CPU"), features.join(" "))
}
