// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores of some lanes to places that count bits, in a row or nearly, beside the interpreter.

mod beside;

use beside::{agrees, kernel, numbers};

const SHAPES: [([u32; 3], [u32; 3]); 3] =
    [([1; 3], [32, 1, 1]), ([2, 1, 1], [128, 1, 1]), ([2, 1, 1], [75, 1, 1])];

/// Threads for which `%p1` is true, which `chosen` says, store at the rank among them that `place` makes of `%r12`. Each warp
/// has 64 words of the output. What `store` has before a bar comes before the branch, and has the index in `%r16`.
fn compaction(chosen: &str, place: &str, store: &str) -> String {
    let (before, store) = store.split_once('|').unwrap_or(("", store));
    let before = match before {
        "" => String::new(),
        address => format!(
            "shr.u32 %r15, %r5, 5;\nshl.b32 %r15, %r15, 6;\nadd.u32 %r16, %r12, %r15;\n{address}\n"
        ),
    };
    kernel(&format!(
        "add.s64 %d4, %d0, %d2;\nld.global.u32 %r11, [%d4];\nmov.u32 %r20, %laneid;\n{chosen}\n\
         vote.ballot.sync.b32 %r13, %p1, 0xffffffff;\nmov.u32 %r14, %lanemask_lt;\nand.b32 %r13, %r13, %r14;\npopc.b32 %r12, %r13;\n{place}\n{before}\
         @!%p1 bra END;\nshr.u32 %r15, %r5, 5;\nshl.b32 %r15, %r15, 6;\nadd.u32 %r12, %r12, %r15;\n{store}"
    ))
}

const STORE: &str =
    "mul.wide.s32 %d6, %r12, 4;\nadd.s64 %d6, %d1, %d6;\nst.global.u32 [%d6], %r11;";

/// Its address is made before the lanes part.
const STORE_LATER: &str =
    "mul.wide.s32 %d6, %r16, 4;\nadd.s64 %d6, %d1, %d6;|st.global.u32 [%d6], %r11;";

fn check(text: &str, numbers_of: impl IntoIterator<Item = u32>, what: &str) {
    let input = numbers(512);
    for n in numbers_of {
        for shape in SHAPES {
            agrees(text, (&input, 1024), n, shape, what);
        }
    }
}

/// All counts and kinds of lanes: by data, the first ones, the last ones, a single one, each third.
const CHOICES: [&str; 6] = [
    "shr.u32 %r13, %r11, %r8;\nand.b32 %r13, %r13, 1;\nsetp.eq.u32 %p1, %r13, 1;",
    "setp.lt.u32 %p1, %r20, %r8;",
    "setp.ge.u32 %p1, %r20, %r8;",
    "setp.eq.u32 %p1, %r20, %r8;",
    "add.u32 %r13, %r20, %r8;\nrem.u32 %r13, %r13, 3;\nsetp.eq.u32 %p1, %r13, 0;",
    // All lanes of some warps.
    "shr.u32 %r13, %r5, 5;\nshl.b32 %r13, 1, %r13;\nand.b32 %r13, %r13, %r8;\nsetp.ne.u32 %p1, %r13, 0;",
];

#[test]
fn places_in_a_row() {
    for chosen in CHOICES {
        check(&compaction(chosen, "", STORE), 0..=32, chosen);
        check(&compaction(chosen, "", STORE_LATER), 0..=32, chosen);
    }
}

/// One lane is beside the row, the row has gaps, goes down, or is one place for two lanes.
#[test]
fn places_that_are_nearly_a_row() {
    for place in [
        "setp.eq.u32 %p2, %r20, %r8;\n@%p2 add.u32 %r12, %r12, 1;",
        "shl.b32 %r12, %r12, 1;",
        "sub.u32 %r12, 40, %r12;",
        "shr.u32 %r12, %r12, 1;",
        "and.b32 %r12, %r12, 15;",
    ] {
        for chosen in &CHOICES[..2] {
            for store in [STORE, STORE_LATER] {
                check(&compaction(chosen, place, store), [0, 1, 2, 5, 8, 13, 31, 32], place);
            }
        }
    }
}

#[test]
fn other_sizes_and_spaces() {
    for store in [
        "cvt.s64.s32 %d6, %r12;\nadd.s64 %d6, %d1, %d6;\nst.global.u8 [%d6], %r11;",
        "mul.wide.s32 %d6, %r12, 4;\nadd.s64 %d6, %d1, %d6;\nst.global.u16 [%d6+2], %r11;",
        "and.b32 %r12, %r12, 255;\nmul.wide.s32 %d6, %r12, 8;\nadd.s64 %d6, %d1, %d6;\nmov.b64 %d7, {%r11, %r12};\nst.global.u64 [%d6], %d7;",
        "mul.wide.s32 %d6, %r12, 4;\nadd.s64 %d6, %d1, %d6;\nst.volatile.global.u32 [%d6], %r11;",
        "mul.wide.s32 %d6, %r12, 4;\nadd.s64 %d6, %d1, %d6;\nst.global.f32 [%d6], 0f3F800000;",
        "and.b32 %r12, %r12, 255;\nshl.b32 %r13, %r12, 2;\nmov.u32 %r14, tile;\nadd.u32 %r13, %r13, %r14;\nst.shared.u32 [%r13], %r11;\nld.shared.u32 %r15, [%r13];\n\
         st.global.u32 [%d3], %r15;",
    ] {
        check(&compaction(CHOICES[0], "", store), [0, 3, 24], store);
    }
}

/// Some lanes of a row lie behind the buffer, before it, or behind the largest index.
#[test]
fn rows_that_leave_the_buffer() {
    for more in ["1010", "-5", "2147483640", "1073741820", "-2147483648"] {
        let place = format!("add.s32 %r12, %r12, {more};");
        for chosen in &CHOICES[..2] {
            for store in [STORE, STORE_LATER] {
                check(&compaction(chosen, &place, store), [1, 20, 32], more);
            }
        }
    }
}
