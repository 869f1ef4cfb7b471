// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a launch takes besides its work: microseconds of launches of an empty kernel and of a small one,
//! the median of many, by engine. With a calibration loop beside it, since machines differ.
//!
//! `cargo run --release -p margay-exec --example launch_speed`

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Device, Run};
use margay_exec::program::Program;

const TEXT: &str = ".version 8.3\n.target sm_80\n.address_size 64\n\
    .visible .entry empty()\n{\nret;\n}\n\
    .visible .entry small(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n\
    ld.param.u64 %d0, [out];\ncvta.to.global.u64 %d0, %d0;\nmov.u32 %r0, %tid.x;\n\
    mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d1, %d0, %d1;\nld.global.u32 %r1, [%d1];\n\
    add.u32 %r1, %r1, 1;\nst.global.u32 [%d1], %r1;\nret;\n}\n";

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

fn main() {
    let device = Device::new();
    let module = device.load(TEXT);
    let out = device.buffer(&vec![0u32; 1024]);
    let engine = std::env::var("MARGAY_ENGINE").unwrap_or_else(|_| "auto".to_owned());
    let start = Instant::now();
    let mut x = 1u64;
    for i in 0..10_000_000u64 {
        x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(i));
    }
    println!(
        "calibration: 10 million dependent steps {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    for (kernel, block, params) in [
        ("empty", 32, vec![]),
        ("small", 32, out.to_le_bytes().to_vec()),
        ("small", 1024, out.to_le_bytes().to_vec()),
    ] {
        let run = Run { grid: [1, 1, 1], block: [block, 1, 1], ..Run::default() };
        let id = module.ir.function(kernel).expect("the kernel");
        let program = Program::link(&module, id).unwrap_or_else(|e| panic!("{e}"));
        let mut took = Vec::new();
        for _ in 0..3000 {
            let start = Instant::now();
            run.go_observed(&device, &program, params.clone(), None).expect("it runs");
            took.push(start.elapsed().as_secs_f64() * 1e6);
        }
        println!("{engine}: {kernel}, {block} threads: {:.2} µs", median(took));
    }
}
