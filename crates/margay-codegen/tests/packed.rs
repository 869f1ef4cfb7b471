// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which stores are asked whether their lanes' places are in a row, and which comparisons are alike in a warp.

mod source;

use source::{USUAL, text};

/// The address is made where the lanes have parted, or before.
fn compaction(index: &str, store: &str, before: bool) -> String {
    let address = "mul.wide.s32 %d5, %r1, 4;\nadd.s64 %d5, %d0, %d5;\n";
    let (before, behind) = if before { (address, "") } else { ("", address) };
    format!(
        "vote.ballot.sync.b32 %r1, %p1, 0xffffffff;\n{index}\n{before}@!%p1 bra END;\n{behind}{store}\nEND:\n"
    )
}

#[test]
fn words_at_counts_of_bits() {
    for (cpu, how) in [("x86-64-v3", "avx2.permd"), ("x86-64-v4", "avx512.mask.compress")] {
        for (index, store, packed) in [
            ("and.b32 %r1, %r1, %r0;\npopc.b32 %r1, %r1;", "st.global.u32 [%d5], %r0;", true),
            ("and.b32 %r1, %r1, %r0;", "st.global.u32 [%d5], %r0;", false),
            // Some words are written twice.
            (
                "and.b32 %r1, %r1, %r0;\npopc.b32 %r1, %r1;",
                "st.volatile.global.u32 [%d5], %r0;",
                false,
            ),
        ] {
            for before in [false, true] {
                let found = text(&compaction(index, store, before), &USUAL, cpu);
                assert_eq!(found.contains(how), packed, "{cpu}, {index} {store}:\n{found}");
            }
        }
    }
}

/// Whether a branch on it parts the lanes.
#[test]
fn multiples_of_a_warp_part_no_lanes() {
    for (condition, parts) in [
        ("setp.lt.u32 %p2, %r2, 32;", false),
        ("setp.gt.s32 %p2, %r2, 31;", false),
        ("setp.le.u32 %p2, %r2, 31;", false),
        ("setp.ge.s32 %p2, %r2, -32;", false),
        ("setp.gt.u32 %p2, 32, %r2;", false),
        ("setp.lt.u32 %p2, 31, %r2;", false),
        ("setp.lt.u32 %p2, %r2, 31;", true),
        ("setp.gt.u32 %p2, %r2, 32;", true),
        ("setp.le.u32 %p2, %r2, 32;", true),
        ("setp.gt.u32 %p2, 31, %r2;", true),
        ("setp.lt.u32 %p2, 32, %r2;", true),
        ("setp.lt.u32 %p2, %r2, 16;", true),
        ("setp.eq.u32 %p2, %r2, 32;", true),
    ] {
        let body = format!(
            "mov.u32 %r2, %tid.x;\n{condition}\n@%p2 bra OTHER;\nst.global.u32 [%d2], 7;\nOTHER:\n"
        );
        let found = text(&body, &USUAL, "x86-64-v4");
        assert_eq!(found.contains("%w1"), parts, "{condition}\n{found}");
    }
}
