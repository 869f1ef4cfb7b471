// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on halves, conversions and byte permutes: compiled code gives the interpreter's bits for all
//! 65,536 halves against many others, and for floats around every place where they round to one.

use margay_exec::jit::{Engine, unavailable};
use margay_filetest::compile::compile;
use margay_filetest::device::{self, Argument, Outcome, Shape};

const COUNT: u32 = 1 << 17;

/// `%r1` to `%r3` are operands, `%h1` to `%h3` their low halves, `%f1` the first as a float; the result is in `%r4`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out) {{\n\
         .reg .b32 %r<12>; .reg .b16 %h<8>; .reg .f32 %f<4>; .reg .b64 %d<8>; .reg .pred %p<2>; .reg .f64 %g<2>;\n\
         mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x; mov.u32 %r7, %tid.x; mad.lo.u32 %r5, %r5, %r6, %r7;\n\
         mul.wide.u32 %d0, %r5, 4;\n\
         ld.param.u64 %d1, [a]; add.u64 %d1, %d1, %d0; ld.global.b32 %r1, [%d1];\n\
         ld.param.u64 %d2, [b]; add.u64 %d2, %d2, %d0; ld.global.b32 %r2, [%d2];\n\
         ld.param.u64 %d3, [c]; add.u64 %d3, %d3, %d0; ld.global.b32 %r3, [%d3];\n\
         cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.u16.u32 %h3, %r3; mov.b32 %f1, %r1;\n\
         {body}\n\
         ld.param.u64 %d4, [out]; add.u64 %d4, %d4, %d0; st.global.b32 [%d4], %r4; ret;\n}}\n"
    )
}

fn run(text: &str, engine: Engine, inputs: &[Vec<u8>; 3]) -> Vec<u8> {
    let module = compile(text).unwrap_or_else(|e| panic!("{}: {text}", e[0].message));
    let buffer = |bytes: Vec<u8>| Argument::Buffer { bytes, label: String::new() };
    let mut arguments: Vec<Argument> = inputs.iter().map(|b| buffer(b.clone())).collect();
    arguments.push(buffer(vec![0; COUNT as usize * 4]));
    let shape = Shape { engine: Some(engine), ..Shape::new([COUNT / 256, 1, 1], [256, 1, 1]) };
    match device::run(std::sync::Arc::new(module), "k", &arguments, &shape) {
        Ok(Outcome { buffers, .. }) => buffers[3].clone(),
        Err(why) => panic!("{why}: {text}"),
    }
}

/// Words by their number.
fn words(word: impl Fn(u32) -> u32) -> Vec<u8> {
    (0..COUNT).flat_map(|n| word(n).to_le_bytes()).collect()
}

fn mixed(n: u32) -> u32 {
    let x = (n ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// All halves as low halves, beside others of which many are special.
fn halves() -> [Vec<u8>; 3] {
    let special = [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x7f, 0x80, 0x3c00, 0xbc00, 0x3f80, 0x7bff];
    let more = [0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7e00, 0x7fff, 0xffff, 0x7c01, 0x7f81, 0x1400];
    let all: Vec<u32> = special.into_iter().chain(more).collect();
    let second = move |n: u32, salt: u32| match mixed(n ^ salt) {
        // Near the first, so that sums cancel.
        r if r & 3 == 0 => (n ^ 0x8000).wrapping_add(r >> 29),
        r if r & 3 == 1 => all[(r >> 8) as usize % all.len()],
        r => r >> 8,
    };
    let other = second.clone();
    [words(|n| n | mixed(n) << 16), words(|n| second(n, 5)), words(move |n| other(n, 77))]
}

/// Floats at and beside the middle of two halves, of two bf16 and of two integers.
fn floats() -> [Vec<u8>; 3] {
    let value = |n: u32| {
        let r = mixed(n);
        let near = (r >> 28).wrapping_sub(8);
        match n & 3 {
            0 => ((n >> 2) << 17 | 0x1000).wrapping_add(near),
            1 => {
                let half = ((n >> 2 & 0x7fff) << 13) + 0x2a00_0000;
                (half | r & 0x8000_0000).wrapping_add(near)
            }
            2 => ((n >> 2) as f32 / 2.0 - 8192.0).to_bits().wrapping_add(near & 1),
            _ => r,
        }
    };
    [words(value), words(mixed), words(|n| mixed(n) >> 5)]
}

fn compare(bodies: &[String], inputs: &[Vec<u8>; 3]) {
    if let Some(why) = unavailable() {
        eprintln!("skipped, nothing can be compiled: {why}");
        return;
    }
    for body in bodies {
        let text = kernel(body);
        let [wanted, found] =
            [Engine::Interp, Engine::Jit].map(|engine| run(&text, engine, inputs));
        let word = |bytes: &[u8], n: usize| {
            u32::from_le_bytes(bytes[n * 4..n * 4 + 4].try_into().unwrap())
        };
        let wrong = (0..COUNT as usize).find(|&n| word(&wanted, n) != word(&found, n));
        if let Some(n) = wrong {
            let operands: Vec<u32> = inputs.iter().map(|i| word(i, n)).collect();
            let (wanted, found) = (word(&wanted, n), word(&found, n));
            panic!("{body}: {operands:x?} gives {wanted:#x}, compiled {found:#x}");
        }
        assert!(wanted.iter().any(|&b| b != wanted[0]), "{body}: all results are alike");
    }
}

#[test]
fn arithmetic_on_halves_is_the_interpreters() {
    let mut bodies = Vec::new();
    for ty in ["f16", "bf16"] {
        for op in ["add", "sub", "mul", "min", "max", "min.NaN", "max.NaN"] {
            bodies.push(format!("{op}.{ty} %h4, %h1, %h2; cvt.u32.u16 %r4, %h4;"));
            bodies.push(format!("{op}.{ty}x2 %r4, %r1, %r2;"));
        }
        for op in ["neg", "abs"] {
            bodies.push(format!("{op}.{ty} %h4, %h1; cvt.u32.u16 %r4, %h4;"));
        }
        bodies.push(format!("fma.rn.{ty} %h4, %h1, %h2, %h3; cvt.u32.u16 %r4, %h4;"));
        bodies.push(format!("fma.rn.{ty}x2 %r4, %r1, %r2, %r3;"));
        bodies.push(format!("fma.rn.{ty} %h4, %h2, %h3, %h1; cvt.u32.u16 %r4, %h4;"));
        bodies.push(format!("cvt.f32.{ty} %f2, %h1; mov.b32 %r4, %f2;"));
        for cmp in ["eq", "ne", "lt", "gtu", "num", "leu"] {
            bodies.push(format!("setp.{cmp}.{ty} %p1, %h1, %h2; selp.u32 %r4, 1, 2, %p1;"));
        }
        for to in ["s8", "u16", "s32", "u32"] {
            bodies.push(format!("cvt.rni.{to}.{ty} %r4, %h1;"));
        }
    }
    // `.ftz` and `.sat` are the interpreter's own.
    bodies.push("add.ftz.f16 %h4, %h1, %h2; cvt.u32.u16 %r4, %h4;".to_owned());
    bodies.push("mul.sat.f16 %h4, %h1, %h2; cvt.u32.u16 %r4, %h4;".to_owned());
    compare(&bodies, &halves());
}

#[test]
fn conversions_from_floats_and_permutes_are_the_interpreters() {
    let mut bodies = Vec::new();
    for ty in ["f16", "bf16"] {
        bodies.push(format!("cvt.rn.{ty}.f32 %h4, %f1; cvt.u32.u16 %r4, %h4;"));
        bodies.push(format!("cvt.rz.{ty}.f32 %h4, %f1; cvt.u32.u16 %r4, %h4;"));
    }
    for to in ["s8", "u8", "s16", "u16", "s32", "u32"] {
        for round in ["rni", "rzi", "rmi", "rpi"] {
            for more in ["", ".ftz", ".sat", ".ftz.sat"] {
                bodies.push(format!("cvt.{round}{more}.{to}.f32 %r4, %f1;"));
            }
            bodies.push(format!("cvt.f64.f32 %g0, %f1; cvt.{round}.{to}.f64 %r4, %g0;"));
        }
    }
    for selector in ["0x5410", "0x7632", "0x3276", "0x89ab", "0xfedc", "0x0008", "%r3"] {
        bodies.push(format!("prmt.b32 %r4, %r1, %r2, {selector};"));
    }
    compare(&bodies, &floats());
}
