// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which strong accesses have code of their own.

mod source;

use margay_codegen::{Code, Options, Source, Watched, compile};
use source::{USUAL, layout};

/// The text of a kernel for a processor.
fn text(body: &str, options: &Options, cpu: &str) -> String {
    let ptx = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<2>;\n\
         .reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.shared .align 16 .b8 s[4096];\nld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\n\
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

const ONES: &[&str] = &[
    "ld.volatile.global.u32 %r1, [%d2];",
    "ld.volatile.u32 %r1, [%d2];",
    "ld.relaxed.gpu.global.u64 %d5, [%d2+8];",
    "ld.acquire.sys.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2];",
    "ld.acquire.cta.shared.u8 %r1, [%d4];",
    "ld.volatile.shared.v2.f32 {%r1, %r2}, [%d4];",
    "st.volatile.global.u32 [%d2], %r0;",
    "st.relaxed.cluster.global.u16 [%d2], 7;",
    "st.release.gpu.global.u64 [%d2], %d1;",
    "st.volatile.shared.u32 [%d4+4], %r0;",
];

/// May be one access of 16 bytes, by the device's registers, or under a guard.
const OTHERS: &[&str] = &[
    "ld.relaxed.gpu.global.v2.u64 {%d5, %d6}, [%d2];",
    "st.volatile.shared.v2.u64 [%d4], {%d1, %d2};",
    "ld.mmio.relaxed.sys.global.u32 %r1, [%d2];",
];

const HANDLER: &str = "by its handler";

#[test]
fn strong_accesses_have_code() {
    for cpu in ["x86-64-v3", "x86-64-v4"] {
        for line in ONES {
            let found = text(line, &USUAL, cpu);
            assert!(!found.contains(HANDLER), "{line}, {cpu}:\n{found}");
            let fences = found.matches("fence ").count();
            assert_eq!(fences, if line.contains("shared") { 0 } else { 2 }, "{line}:\n{found}");
            assert_eq!(found.contains("fence acquire"), line.contains("acquire.sys"), "{line}");
            assert_eq!(found.contains("fence release"), line.contains("release"), "{line}");
        }
    }
}

#[test]
fn others_and_watched_ones_have_their_handlers() {
    let accesses = Watched { accesses: true, ..USUAL.watched };
    for (lines, options) in [(OTHERS, USUAL), (ONES, Options { watched: accesses, ..USUAL })] {
        for line in lines {
            let found = text(line, &options, "x86-64-v4");
            assert!(found.contains(HANDLER), "{line}:\n{found}");
        }
    }
}

/// Only in a loop may one be waiting.
#[test]
fn strong_loads_cost_fuel_in_loops() {
    let load = "ld.volatile.global.u32 %r1, [%d2];";
    let round = format!("LOOP:\n{load}\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra LOOP;");
    let costs = |body: &str| text(body, &USUAL, "x86-64-v4").contains(", 200\n");
    assert!(!costs(load));
    assert!(costs(&round));
}
