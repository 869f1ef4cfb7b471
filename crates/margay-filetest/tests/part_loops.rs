// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops that run for a half or a quarter of the lanes after the other, beside the interpreter.

mod beside;

use beside::{JIT, agrees, kernel, numbers, result};

const SHAPES: [([u32; 3], [u32; 3]); 3] =
    [([1; 3], [32, 1, 1]), ([2, 1, 1], [128, 1, 1]), ([2, 1, 1], [75, 1, 1])];

/// A loop over `n` words of the input that all lanes read, around `body`, which has the word in `%r20` and the turn in `%r11`; eight
/// registers from `%r21` on begin with what the thread's own words say.
fn around(begin: &str, body: &str, behind: &str) -> String {
    let own: String =
        (0..8).map(|k| format!("ld.global.u32 %r{}, [%d5+{}];\n", 21 + k, 4 * k)).collect();
    let sum: String =
        (0..8).map(|k| format!("mad.lo.u32 %r12, %r12, 31, %r{};\n", 21 + k)).collect();
    kernel(&format!(
        "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d5, %d0, %d4;\n{own}mov.u64 %d6, %d0;\nmov.u32 %r11, 0;\nmov.u32 %r12, 7;\n{begin}\n\
         ROUND:\nld.global.u32 %r20, [%d6];\n{body}\nadd.s64 %d6, %d6, 4;\nadd.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, %r8;\n\
         @%p1 bra ROUND;\n{sum}{behind}\nadd.u32 %r12, %r12, %r11;\nst.global.u32 [%d3], %r12;"
    ))
}

fn check(text: &str, turns: &[u32], what: &str) {
    let input = numbers(1024);
    for shape in SHAPES {
        for &n in turns {
            agrees(text, (&input, 256), n, shape, what);
        }
    }
}

/// What each turn does with the eight.
fn each(op: impl Fn(u32) -> String) -> String {
    (21..29).map(op).collect()
}

#[test]
fn words() {
    let body = each(|r| format!("xor.b32 %r30, %r{r}, %r20;\nmad.lo.s32 %r{r}, %r30, 5, %r11;\n"));
    check(&around("", &body, ""), &[1, 2, 100, 1000], "words");
}

#[test]
fn choices_and_guards() {
    let body = each(|r| {
        format!(
            "setp.lt.s32 %p2, %r{r}, %r20;\nselp.b32 %r{r}, %r20, %r{r}, %p2;\n@%p2 add.u32 %r{r}, %r{r}, 3;\n\
             setp.gt.u32 %p3, %r{r}, %r11;\nand.pred %p4, %p2, %p3;\n@!%p4 sub.u32 %r{r}, %r{r}, %r11;\n"
        )
    });
    check(&around("", &body, ""), &[1, 50], "choices");
}

#[test]
fn doubles_and_formulas() {
    let begin: String =
        (0..4).map(|k| format!("cvt.rn.f64.u32 %d{}, %r{};\n", 8 + k, 21 + k)).collect();
    let body: String = (0..4)
        .map(|k| {
            format!(
                "cvt.rn.f64.u32 %d12, %r20;\nfma.rn.f64 %d{0}, %d{0}, 0d3FE0000000000000, %d12;\n",
                8 + k
            )
        })
        .collect();
    let behind: String = (0..4)
        .map(|k| format!("cvt.rn.f32.f64 %r30, %d{};\nxor.b32 %r12, %r12, %r30;\n", 8 + k))
        .collect();
    check(&around(&begin, &body, &behind), &[1, 33], "doubles");
    // A number that is no normal one is more than the formula has.
    for first in ["0f3F800000", "0f00000001"] {
        let begin = each(|r| {
            format!(
                "and.b32 %r{r}, %r{r}, 1023;\ncvt.rn.f32.u32 %r{r}, %r{r};\nmul.f32 %r{r}, %r{r}, {first};\n"
            )
        });
        for op in [
            "rsqrt.approx.f32",
            "sqrt.approx.f32",
            "ex2.approx.f32",
            "sin.approx.f32",
            "rcp.rn.f32",
        ] {
            let body = each(|r| {
                format!("{op} %r30, %r{r};\nfma.rn.f32 %r{r}, %r30, 0f3F000000, 0f3F800000;\n")
            });
            check(&around(&begin, &body, ""), &[1, 9], op);
        }
    }
}

/// A word behind the end of the input, which has 1024.
#[test]
fn checks_that_fail() {
    let body = each(|r| format!("xor.b32 %r{r}, %r{r}, %r20;\nadd.u32 %r{r}, %r{r}, %r11;\n"));
    let text = around("", &body, "");
    check(&text, &[1024, 1025, 2000], "behind the end");
    let input = numbers(1024);
    let fault = result(&text, (&input, 256), 1025, SHAPES[0], JIT[0]).unwrap_err();
    assert!(fault.contains("illegal read of 4 bytes"), "{fault}");
    let shared = body.clone()
        + "ld.shared.u32 %r31, [%d7];\nadd.u32 %r12, %r12, %r31;\nadd.s64 %d7, %d7, 4;\n";
    let begin = "mov.u64 %d7, tile;\nmul.wide.u32 %d8, %r0, 4;\nadd.s64 %d8, %d7, %d8;\nst.shared.u32 [%d8], %r21;\n\
        st.shared.u32 [%d8+512], %r22;\nbar.sync 0;";
    check(&around(begin, &shared, ""), &[3, 32], "shared memory");
}

/// More turns than a part has, in a loop that comes again.
#[test]
fn many_turns() {
    let body = each(|r| format!("add.u32 %r{r}, %r{r}, %r11;\nxor.b32 %r{r}, %r{r}, %r20;\n"));
    let text =
        around("", &body.replace("%r20", "%r8"), "").replace("ld.global.u32 %r20, [%d6];", "");
    let input = numbers(1024);
    for n in [65_535, 65_536, 65_537, 70_000, 300_000] {
        agrees(&text, (&input, 256), n, ([1; 3], [64, 1, 1]), "many turns");
    }
    // An outer loop, in which the inner one's turns are one more each time.
    let outer = around("mov.u32 %r32, 0;\nmov.u32 %r33, %r8;\nmov.u32 %r8, 1;\nOUTER:\nmov.u32 %r11, 0;\nmov.u64 %d6, %d0;", &body, "")
        .replace(
            "mad.lo.u32 %r12, %r12, 31, %r21;",
            "add.u32 %r32, %r32, 1;\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r32, %r33;\n@%p2 bra OUTER;\nmad.lo.u32 %r12, %r12, 31, %r21;",
        );
    for shape in SHAPES {
        agrees(&outer, (&input, 256), 20, shape, "an outer loop");
    }
}
