// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which strong accesses have code of their own.

mod source;

use margay_codegen::{Options, Watched};
use source::{USUAL, text};

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
