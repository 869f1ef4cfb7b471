// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints nanoseconds per element of each function: `cargo run --release -p margay-math --example
//! speed [name part]`.

use std::hint::black_box;
use std::time::Instant;

use margay_math::planes::{Level, Plane, plane_fn};
use margay_math::{Function, Type};

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    for &function in Function::ALL.iter().filter(|f| f.name().contains(&part)) {
        let mut args: Vec<Plane> = Vec::new();
        for ty in function.args() {
            args.push(std::array::from_fn(|l| {
                let x = 0.1 + l as f64 / 37.0;
                match ty {
                    Type::F32 => u64::from((x as f32).to_bits()),
                    Type::F64 => x.to_bits(),
                    Type::I32 | Type::I64 => l as u64,
                }
            }));
        }
        let mut rets = vec![[0; 32]; function.rets().len()];
        print!("{:24}", function.name());
        for level in [Level::Baseline, Level::Avx2, Level::Avx512] {
            let run = plane_fn(function, level);
            let mut best = f64::INFINITY;
            for _ in 0..7 {
                let n = 5000;
                let start = Instant::now();
                for _ in 0..n {
                    run(black_box(&args), u32::MAX, black_box(&mut rets));
                }
                best = best.min(start.elapsed().as_nanos() as f64 / f64::from(n * 32));
            }
            print!(" {best:8.3}");
        }
        println!();
    }
}
