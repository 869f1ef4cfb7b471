// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the code generator needs beside a function.
#![allow(dead_code, reason = "each test takes what it needs")]

use margay_codegen::{Code, Layout, Options, Source, Watched, compile};
use margay_ir::{Class, Function};

/// Planes and numbers as an engine might give them.
pub fn layout(f: &Function) -> Layout {
    let mut at = 0;
    let plane = |class: &Class| {
        let here = at;
        at += match class {
            Class::P => 4,
            Class::W => 128,
            Class::D => 256,
        };
        here
    };
    let planes = f.regs.iter().map(plane).collect();
    let mut end = 7;
    let mut starts = Vec::new();
    for b in &f.blocks {
        starts.push(end);
        end += b.insts.len() as u32 + 1;
    }
    let count = end - 7;
    let constants = (0..count).map(|n| Some(n * 256)).collect();
    Layout { planes, starts, first: 7, slots: (0..count).collect(), constants }
}

/// What most launches have, of one warp at a time.
pub const USUAL: Options = Options {
    block: [64, 1, 1],
    full: true,
    loops: true,
    hold: false,
    blocks: false,
    plain: true,
    short: true,
    lockstep: false,
    environment: 0,
    watched: Watched {
        accesses: false,
        values: false,
        counts: false,
        fences: false,
        warp_syncs: false,
        blocks: false,
        admissions: false,
        parameters: false,
        notes: false,
        notes_all: false,
        settles: false,
    },
    silent: Vec::new(),
    variables: Vec::new(),
};

/// The text of a kernel for a processor. It has 16 bytes for each thread at `%d2` and, shared, at `%d4`, and `%p1` in seven lanes.
pub fn text(body: &str, options: &Options, cpu: &str) -> String {
    let ptx = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<4>;\n\
         .reg .b32 %r<40>;\n.reg .b64 %d<16>;\n.shared .align 16 .b8 s[4096];\nld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %d1, %r0, 16;\nadd.s64 %d2, %d0, %d1;\nmov.u64 %d3, s;\nadd.s64 %d4, %d3, %d1;\n\
         setp.lt.u32 %p1, %r0, 7;\n{body}\nret;\n}}\n"
    );
    let ast = margay_ptx::parse(&ptx).unwrap_or_else(|e| panic!("{e:?}\n{ptx}"));
    let module = margay_ir::lower(&ast).unwrap_or_else(|e| panic!("{e:?}\n{ptx}"));
    let f = &module.functions[0];
    let source = Source::new(f, layout(f), options, cpu, "").expect("it can be compiled");
    let Code { text, .. } = compile(&source).expect("it is compiled");
    text
}
