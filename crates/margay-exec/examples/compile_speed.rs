// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compiling takes: milliseconds from a program to the end of its first small launch in compiled code, less those of a second
//! launch, for kernels of several lengths, straight and with branches that part the lanes; and the processor's time of that. The
//! least of several turns, once LLVM has compiled something else.
//!
//! `MARGAY_ENGINE=jit MARGAY_JIT_CACHE=0 cargo run --release -p margay-exec --example compile_speed [TURNS]`

#[path = "../tests/common/mod.rs"]
mod common;

use std::fmt::Write as _;
use std::time::Instant;

use common::{Device, Run};
use margay_exec::program::Program;

/// A generator of numbers that are alike on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// PTX of so many instructions: sums, products and comparisons of what was last computed. `branches`: also accesses, and
/// branches around a few instructions, one in 25.
fn kernel(length: usize, branches: bool) -> String {
    let mut random = Random(7);
    let mut body = String::new();
    let (mut floats, mut words, mut labels, mut made) = (2, 5, 0, 12);
    while made < length - 2 {
        let float = |r: &mut Random, n: usize| n - 1 - r.below(n.min(12));
        let [a, b, c] = [0; 3].map(|_| float(&mut random, floats));
        let [x, y] = [0; 2].map(|_| words - 1 - random.below(words.min(8)));
        let kind = random.below(100);
        let line = match kind {
            0..=5 if branches => {
                floats += 1;
                format!("ld.global.f32 %f{}, [%d3+{}];", floats - 1, 4 * random.below(64))
            }
            6..=9 if branches => {
                (words, floats, labels, made) = (words + 1, floats + 1, labels + 1, made + 5);
                let (w, f, l) = (words - 1, floats - 1, labels - 1);
                format!(
                    "mov.b32 %r{w}, %r{x};\nmov.f32 %f{f}, %f{a};\nsetp.lt.s32 %p{l}, %r{x}, %r{y};\n@%p{l} bra L{l};\n\
                     add.s32 %r{w}, %r{x}, 7;\nfma.rn.f32 %f{f}, %f{a}, %f{b}, %f{c};\nL{l}:"
                )
            }
            10..=12 if branches => format!("st.global.f32 [%d4+{}], %f{a};", 4 * random.below(64)),
            0..=49 => {
                floats += 1;
                format!("fma.rn.f32 %f{}, %f{a}, %f{b}, %f{c};", floats - 1)
            }
            50..=69 => {
                floats += 1;
                let op = if kind < 60 { "add" } else { "max" };
                format!("{op}.f32 %f{}, %f{a}, %f{b};", floats - 1)
            }
            70..=84 => {
                words += 1;
                format!("mad.lo.s32 %r{}, %r{x}, %r{y}, %r{x};", words - 1)
            }
            _ => {
                words += 1;
                format!("xor.b32 %r{}, %r{x}, %r{y};", words - 1)
            }
        };
        made += 1;
        let _ = writeln!(body, "{line}");
    }
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b)\n{{\n\
         .reg .pred %p<{}>;\n.reg .b32 %r<{}>;\n.reg .f32 %f<{}>;\n.reg .b64 %d<8>;\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.s32 %r3, %r1, %r2, %r0;\n\
         ld.param.u64 %d0, [a];\nld.param.u64 %d1, [b];\nmul.wide.s32 %d2, %r3, 4;\nadd.s64 %d3, %d0, %d2;\n\
         add.s64 %d4, %d1, %d2;\nld.global.f32 %f0, [%d3];\nld.global.f32 %f1, [%d4];\nmov.b32 %r4, %f0;\n\
         {body}cvt.rn.f32.s32 %f{floats}, %r{};\nadd.f32 %f{}, %f{floats}, %f{};\nst.global.f32 [%d4], %f{};\nret;\n}}\n",
        labels + 1,
        words + 1,
        floats + 3,
        words - 1,
        floats + 1,
        floats - 1,
        floats + 1,
    )
}

/// Milliseconds that the thread has run.
fn processor_ms() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the record.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 * 1e-6
}

fn main() {
    let turns = std::env::args().nth(1).map_or(3, |n| n.parse().expect("a number of turns"));
    let device = Device::new();
    let [a, b] = [0; 2].map(|_| device.buffer(&vec![0u32; 4096]));
    let params: Vec<u8> = [a, b].iter().flat_map(|p| p.to_le_bytes()).collect();
    let first = |text: &str| {
        let module = device.load(text);
        let id = module.ir.function("k").expect("the kernel");
        let program = Program::link(&module, id).unwrap_or_else(|e| panic!("{e}"));
        let run = Run { grid: [4, 1, 1], block: [128, 1, 1], ..Run::default() };
        let took = [0; 2].map(|_| {
            let (start, before) = (Instant::now(), processor_ms());
            run.go_observed(&device, &program, params.clone(), None).expect("it runs");
            [start.elapsed().as_secs_f64() * 1e3, processor_ms() - before]
        });
        [took[0][0] - took[1][0], took[0][1] - took[1][1]]
    };
    first(&kernel(50, false));
    for branches in [false, true] {
        for length in [200, 1_000, 4_000] {
            let text = kernel(length, branches);
            let least = (0..turns)
                .map(|_| first(&text))
                .fold([f64::MAX; 2], |a, b| [a[0].min(b[0]), a[1].min(b[1])]);
            let kind = if branches { "with branches" } else { "straight" };
            let [wall, own] = least;
            println!("{length} instructions, {kind}: {wall:.1} ms, {own:.1} of the processor");
        }
    }
}
