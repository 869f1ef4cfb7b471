// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which loops run for parts of the lanes.

mod source;

use margay_codegen::{Options, Watched};
use source::{USUAL, text};

/// A loop that carries so many words, with what it does to each.
fn around(words: u32, op: impl Fn(u32) -> String) -> String {
    let begin: String =
        (0..words).map(|k| format!("ld.global.u32 %r{}, [%d2+{}];\n", 20 + k, 4 * k)).collect();
    let body: String = (20..20 + words).map(op).collect();
    let sum: String = (20..20 + words).map(|r| format!("add.u32 %r1, %r1, %r{r};\n")).collect();
    format!(
        "{begin}mov.u32 %r2, 0;\nmov.u32 %r1, 0;\nmov.u64 %d5, %d0;\nROUND:\nld.global.u32 %r3, [%d5];\n{body}\
         add.s64 %d5, %d5, 4;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 100;\n@%p2 bra ROUND;\n{sum}\
         st.global.u32 [%d2], %r1;"
    )
}

fn adds(r: u32) -> String {
    format!("xor.b32 %r{r}, %r{r}, %r3;\nadd.u32 %r{r}, %r{r}, %r2;\n")
}

/// Lanes of a part, if the loop is in parts.
fn lanes(text: &str) -> Option<u32> {
    let line = text.lines().find(|l| l.contains("%part_one") && l.contains("alloca"))?;
    line.split("alloca <").nth(1)?.split(' ').next()?.parse().ok()
}

#[test]
fn loops_are_in_parts_where_registers_are_few() {
    let v3 = |words| lanes(&text(&around(words, adds), &USUAL, "x86-64-v3"));
    assert_eq!([3, 4, 6, 7, 12].map(v3), [None, Some(16), Some(16), Some(8), Some(8)]);
    let v4 = |words| lanes(&text(&around(words, adds), &USUAL, "x86-64-v4"));
    assert_eq!([4, 14, 15].map(v4), [None, None, Some(16)]);
}

#[test]
fn what_a_loop_in_parts_may_do() {
    let in_parts = |op: &dyn Fn(u32) -> String, options: &Options| {
        lanes(&text(&around(6, op), options, "x86-64-v3")).is_some()
    };
    let root = |r: u32| format!("rsqrt.approx.f32 %r{r}, %r{r};\n");
    let chosen = |r: u32| {
        format!(
            "setp.lt.u32 %p3, %r{r}, %r3;\nselp.b32 %r{r}, %r3, %r{r}, %p3;\n@%p3 add.u32 %r{r}, %r{r}, 1;\n"
        )
    };
    assert!(in_parts(&root, &USUAL));
    assert!(in_parts(&chosen, &USUAL));
    let own = |r: u32| format!("ld.global.u32 %r4, [%d2];\nadd.u32 %r{r}, %r{r}, %r4;\n");
    let stores = |r: u32| format!("{}st.global.u32 [%d2], %r{r};\n", adds(r));
    let exchanges = |r: u32| format!("shfl.sync.bfly.b32 %r{r}, %r{r}, 1, 31, -1;\n");
    let volatile =
        |r: u32| format!("ld.volatile.global.u32 %r4, [%d5];\nadd.u32 %r{r}, %r{r}, %r4;\n");
    for op in [&own as &dyn Fn(u32) -> String, &stores, &exchanges, &volatile] {
        assert!(!in_parts(op, &USUAL), "{}", op(20));
    }
    // What is the same for all lanes is computed for each part.
    let alike = |r: u32| format!("{}add.u32 %r5, %r5, {r};\nmul.lo.u32 %r5, %r5, 3;\n", adds(r));
    let more = |r: u32| format!("{}xor.b32 %r5, %r5, 7;\n", alike(r));
    assert!(!in_parts(&more, &USUAL));
    let accesses = Watched { accesses: true, ..USUAL.watched };
    assert!(!in_parts(&adds, &Options { watched: accesses, ..USUAL }));
    assert!(!in_parts(&adds, &Options { full: false, ..USUAL }));
}
