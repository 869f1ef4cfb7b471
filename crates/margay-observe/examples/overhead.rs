// SPDX-License-Identifier: MIT OR Apache-2.0
//! What profiling costs: kernels of `tests/vectors/h200/profile` with and without an observer, in CPU time, so that a
//! busy machine measures the same.
//!
//!   MARGAY_ENGINE=jit cargo run --release -p margay-observe --example overhead [KERNEL [GPUS]]
//!   MARGAY_ENGINE=interp cargo run --release -p margay-observe --example overhead [KERNEL [GPUS]]
//!
//! GPUS, 1 or 5, leaves the other measurement out, for a sampling profiler.

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::PathBuf;

use common::Bench;

/// Module, kernel, grid, block; every kernel takes two or three buffers and a size.
type Launch = (&'static str, &'static str, [u32; 3], [u32; 3], usize, u64);

const WORK: [Launch; 9] = [
    ("streams", "saxpy", [4096, 1, 1], [256, 1, 1], 2, 1 << 20),
    ("matrices", "matmul_tile16", [16, 16, 1], [16, 16, 1], 3, 256),
    ("transposes", "transpose_naive", [32, 32, 1], [32, 8, 1], 2, 1024),
    ("transposes", "transpose_padded", [32, 32, 1], [32, 8, 1], 2, 1024),
    ("reductions", "reduce_sequential", [2048, 1, 1], [256, 1, 1], 2, 1 << 19),
    ("reductions", "histogram_shared", [64, 1, 1], [256, 1, 1], 2, 1 << 20),
    ("matrices", "nbody", [16, 1, 1], [128, 1, 1], 3, 2048),
    ("matrices", "stencil_global", [32, 128, 1], [32, 8, 1], 3, 1024),
    ("streams", "gather", [2048, 1, 1], [256, 1, 1], 2, 1 << 19),
];

/// Launches that are timed together.
const LAUNCHES: u32 = 3;

/// CPU time of the process in milliseconds.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn main() {
    let wanted = std::env::args().nth(1);
    let only = std::env::args().nth(2);
    let work = WORK.iter().filter(|w| wanted.as_ref().is_none_or(|name| name == w.1));
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/profile");
    println!(
        "{:<20}{:>12}{:>12}{:>8}{:>12}{:>8}",
        "kernel", "plain ms", "1 GPU", "×", "5 GPUs", "×"
    );
    let mut product = [1.0, 1.0];
    let mut kernels = 0.0;
    for &(file, kernel, grid, block, buffers, n) in work {
        kernels += 1.0;
        let mut best = [f64::INFINITY; 3];
        for _ in 0..3 {
            for (way, gpus) in [
                (0, &["h200"][..]),
                (1, &["h200"]),
                (2, &["h200", "8800gtx", "c1060", "c2050", "gtx680"]),
            ] {
                if only.as_ref().is_some_and(|n| *n != gpus.len().to_string()) {
                    continue;
                }
                let mut bench = Bench::new(gpus);
                // Atomics are compiled, too.
                bench.seed = None;
                let module = bench.load(&PathBuf::from(vectors).join(format!("{file}.ptx")));
                let words: Vec<u8> = (0..8u32 << 20)
                    .scan(1u32, |s, _| {
                        *s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        Some((*s >> 24) as u8)
                    })
                    .collect();
                let mut values: Vec<u64> = (0..buffers).map(|_| bench.buffer(&words)).collect();
                values.push(n);
                let run = || match way {
                    0 => bench.launch_plain(&module, kernel, grid, block, &values),
                    _ => bench.launch(&module, kernel, grid, block, &values),
                };
                // Code is made, and pages are there.
                run();
                let start = cpu();
                (0..LAUNCHES).for_each(|_| run());
                best[way] = f64::min(best[way], (cpu() - start) / f64::from(LAUNCHES));
            }
        }
        let [plain, one, five] = best;
        product[0] *= one / plain;
        product[1] *= five / plain;
        println!(
            "{kernel:<20}{plain:>12.2}{one:>12.2}{:>8.2}{five:>12.2}{:>8.2}",
            one / plain,
            five / plain
        );
    }
    let mean = |p: f64| p.powf(1.0 / f64::max(kernels, 1.0));
    println!("geometric means {:.2} and {:.2}", mean(product[0]), mean(product[1]));
}
