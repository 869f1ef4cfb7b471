// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kernels leave the same profile, to the byte, and the same results on both engines, watched or
//! not. `MARGAY_FUZZ_SECONDS`, `MARGAY_FUZZ_SEED` and `MARGAY_FUZZ_ONLY` are those of the differential
//! fuzzer in `margay-filetest`.

mod common;

use std::time::{Duration, Instant};

use common::{Bench, nothing_compiles};
use margay_exec::jit::Engine;
use margay_filetest::fuzz::compare::{Result, module, run};
use margay_filetest::fuzz::generate::kernel;
use margay_filetest::fuzz::kernel::Kernel;
use margay_filetest::fuzz::palette::Palette;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// The profile of a run on each engine, and what the buffers hold after it.
fn profiles(kernel: &Kernel) -> [(String, Vec<Vec<u8>>); 2] {
    let gpu = format!("sm_{}", kernel.sm);
    let gpus = [gpu.as_str()];
    let mut bench = Bench::new(&gpus);
    bench.seed = None;
    let module = bench.load_text(&kernel.text());
    let words = |w: &[u32]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let contents = [
        words(&kernel.input),
        vec![0; kernel.out_bytes as usize],
        vec![0; kernel.sums_bytes as usize],
    ];
    // Both runs have the same addresses, which decide what the model of L2 looks at.
    let buffers: Vec<u64> = contents.iter().map(|bytes| bench.buffer(bytes)).collect();
    let mut values = buffers.clone();
    values.extend([u64::from(kernel.number), kernel.wide]);
    [Engine::Interp, Engine::Jit].map(|engine| {
        bench.forget(&gpus);
        bench.engine = Some(engine);
        for (&at, bytes) in buffers.iter().zip(&contents) {
            // SAFETY: the buffer was made with this size.
            unsafe { (at as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        bench.launch(&module, "k", kernel.grid, kernel.block, &values);
        let held = buffers.iter().zip(&contents).map(|(&at, bytes)| {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts(at as *const u8, bytes.len()) }.to_vec()
        });
        let held = held.collect();
        (serde_json::to_string_pretty(&bench.raw()).unwrap(), held)
    })
}

/// Compares one kernel; false if it faults, which ends a profile where nobody promises.
fn compare(kernel: &Kernel) -> bool {
    let module = module(kernel).unwrap_or_else(|e| panic!("{e:?}"));
    let Ok(Result::Memory(plain)) = run(&module, kernel, Engine::Interp, 1) else { return false };
    let [(interpreted, one), (compiled, two)] = profiles(kernel);
    let seed = kernel.seed;
    assert!(one == plain, "MARGAY_FUZZ_ONLY={seed}: interpreted, a profile changes the results");
    assert!(two == plain, "MARGAY_FUZZ_ONLY={seed}: compiled, a profile changes the results");
    let lines = || interpreted.lines().zip(compiled.lines());
    let at = lines().position(|(a, b)| a != b);
    assert!(
        interpreted == compiled,
        "MARGAY_FUZZ_ONLY={seed}: profiles differ, from line {at:?}: {:?} interpreted and compiled\n{}",
        at.and_then(|at| lines().nth(at)),
        kernel.text()
    );
    true
}

#[test]
fn profiles_of_random_kernels_do_not_depend_on_the_engine() {
    if nothing_compiles() {
        return;
    }
    if let Some(seed) = number("MARGAY_FUZZ_ONLY") {
        assert!(compare(&kernel(seed, &mut Palette::default())), "it faults");
        return;
    }
    let end = Instant::now() + Duration::from_secs(number("MARGAY_FUZZ_SECONDS").unwrap_or(2));
    let first = number("MARGAY_FUZZ_SEED").unwrap_or(1) * 1_000_000;
    let mut palette = Palette::default();
    let (mut compared, mut seed) = (0, first);
    while compared < 3 || Instant::now() < end {
        compared += u32::from(compare(&kernel(seed, &mut palette)));
        seed += 1;
        assert!(seed < first + 100 || compared > 0, "every kernel faults");
    }
    println!("{compared} kernels");
}
