// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the interpreter is: warp instructions a second of CPU time of a tiled f32 matrix product, 16 by 16
//! threads and shared memory, on one thread. `matmul_tiled.ptx` is what clang 19 makes at -O2 of
//! the kernel in every CUDA tutorial. Results are checked before the number is printed.
//!
//! `cargo run --release -p margay-exec --example interp_speed [size] [threads]`

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Device, Run};

/// CPU time of the process, in seconds: on a busy machine the wall says little.
fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn main() {
    let mut args = std::env::args().skip(1);
    let n: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(512);
    let threads: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(1);
    let n = n.next_multiple_of(16);
    let device = Device::new();
    let module = device.load(include_str!("matmul_tiled.ptx"));
    let value = |i: usize| ((i * 7919) % 17) as f32 - 8.0;
    let a: Vec<f32> = (0..n * n).map(value).collect();
    let b: Vec<f32> = (0..n * n).map(|i| value(i + 5)).collect();
    let (pa, pb, pc) = (device.buffer(&a), device.buffer(&b), device.buffer(&vec![0f32; n * n]));
    let mut params = Vec::new();
    for p in [pa, pb, pc] {
        params.extend_from_slice(&p.to_le_bytes());
    }
    params.extend_from_slice(&(n as u32).to_le_bytes());
    let run = Run {
        grid: [n as u32 / 16, n as u32 / 16, 1],
        block: [16, 16, 1],
        threads,
        sm: 80,
        sm_count: 132,
        blocks_per_sm: 8,
        ..Run::default()
    };
    let mut best = 0f64;
    for _ in 0..5 {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let stats = run.go_with(&device, &module, "matmul", params.clone()).expect("it runs");
        let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let rate = stats.warp_instructions as f64 / cpu / 1e6;
        best = best.max(rate);
        println!(
            "{:.1} ms, {:.1} ms of CPU, {} warp instructions, {rate:.1} million a CPU second",
            seconds * 1e3,
            cpu * 1e3,
            stats.warp_instructions
        );
    }
    let c: Vec<f32> = device.read(pc, n * n);
    for (row, col) in [(0, 0), (1, n - 1), (n / 2, n / 3), (n - 1, n - 1)] {
        let expected: f32 = (0..n).map(|k| a[row * n + k] * b[k * n + col]).sum();
        assert_eq!(c[row * n + col], expected, "element {row},{col}");
    }
    println!(
        "best: {best:.1} million warp instructions a second and core on {threads} thread(s), n = {n}"
    );
}
