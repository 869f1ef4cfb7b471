// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lanes tell each other where only some of a warp run, beside the interpreter.

mod beside;

use beside::{agrees, kernel, numbers};

/// Whole warps, one with 12 lanes, half a warp, rows of 16 threads, and a warp of 32 in two rows.
const SHAPES: [([u32; 3], [u32; 3]); 5] = [
    ([2, 1, 1], [128, 1, 1]),
    ([2, 1, 1], [76, 1, 1]),
    ([2, 1, 1], [16, 1, 1]),
    ([1, 2, 1], [16, 8, 1]),
    ([1; 3], [16, 2, 1]),
];

/// `%r20` is the lane, `%r11` the thread's word, `%r12` what it leaves.
fn lanes(body: &str) -> String {
    kernel(&format!(
        "add.s64 %d4, %d0, %d2;\nld.global.u32 %r11, [%d4];\nmov.u32 %r20, %laneid;\nmov.u32 %r12, 0;\n{body}\nKEEP:\nst.global.u32 [%d3], %r12;"
    ))
}

fn check(body: &str, numbers_of: &[u32], what: &str) {
    let text = lanes(body);
    let input = numbers(512);
    for &n in numbers_of {
        for shape in SHAPES {
            agrees(&text, (&input, 512), n, shape, what);
        }
    }
}

/// One op of each kind, of lanes that `mask` names; what comes of it goes into `%r12`. Shuffles stay among the lowest lanes.
const OPS: [&str; 9] = [
    "shfl.sync.bfly.b32 %r21|%p4, %r11, 1, 31, MASK;\nselp.u32 %r22, 5, 9, %p4;\nmad.lo.u32 %r12, %r21, 3, %r22;",
    "shfl.sync.idx.b32 %r12, %r11, 0, 31, MASK;",
    "and.b32 %r22, %r8, 1;\nshfl.sync.idx.b32 %r12, %r11, %r22, 31, MASK;",
    "and.b32 %r22, %r11, 1;\nshfl.sync.idx.b32 %r12, %r11, %r22, 31, MASK;",
    "and.b32 %r22, %r11, 4;\nsetp.eq.u32 %p3, %r22, 0;\nvote.sync.ballot.b32 %r12, %p3, MASK;",
    "setp.lt.u32 %p3, %r20, 3;\nvote.sync.any.pred %p4, %p3, MASK;\nvote.sync.all.pred %p5, %p3, MASK;\nvote.sync.uni.pred %p6, %p3, MASK;\n\
     selp.u32 %r12, 1, 2, %p4;\nselp.u32 %r22, 4, 8, %p5;\nselp.u32 %r23, 16, 32, %p6;\nor.b32 %r12, %r12, %r22;\nor.b32 %r12, %r12, %r23;",
    "redux.sync.add.u32 %r12, %r11, MASK;\nredux.sync.min.s32 %r22, %r11, MASK;\nredux.sync.max.u32 %r23, %r11, MASK;\nxor.b32 %r12, %r12, %r22;\nadd.u32 %r12, %r12, %r23;",
    "redux.sync.and.b32 %r12, %r11, MASK;\nredux.sync.or.b32 %r22, %r11, MASK;\nredux.sync.xor.b32 %r23, %r11, MASK;\nredux.sync.min.u32 %r24, %r11, MASK;\n\
     redux.sync.max.s32 %r25, %r11, MASK;\nadd.u32 %r12, %r12, %r22;\nxor.b32 %r12, %r12, %r23;\nadd.u32 %r12, %r12, %r24;\nxor.b32 %r12, %r12, %r25;",
    "bar.warp.sync MASK;\nmov.u32 %r12, 7;",
];

/// Lanes below `n` of a warp, or those whose words are even, are told by a ballot and go on together.
#[test]
fn lanes_that_a_ballot_names() {
    let choices = [
        "setp.lt.u32 %p1, %r20, %r8;",
        "and.b32 %r22, %r11, 1;\nsetp.eq.u32 %p1, %r22, 0;\nsetp.lt.u32 %p2, %r20, 2;\nor.pred %p1, %p1, %p2;",
    ];
    for choice in choices {
        for op in OPS {
            let op = op.replace("MASK", "%r13");
            let body =
                format!("{choice}\nvote.sync.ballot.b32 %r13, %p1, -1;\n@!%p1 bra KEEP;\n{op}");
            check(&body, &[2, 8, 16, 30, 32], &op);
        }
    }
}

/// All lanes are named, of which some come later, or have exited.
#[test]
fn lanes_that_come_later() {
    for op in OPS {
        let op = op.replace("MASK", "0xffffffff");
        let body = format!(
            "setp.lt.u32 %p1, %r20, %r8;\n@%p1 bra WORK;\nbra MEET;\nWORK:\nmad.lo.u32 %r11, %r11, 5, 1;\nMEET:\n{op}"
        );
        check(&body, &[2, 10, 32], &op);
        let body = format!("setp.ge.u32 %p1, %r20, %r8;\n@%p1 bra END;\n{op}");
        check(&body, &[2, 10, 32], &op);
    }
}

/// Both sides of a branch have the op, each with its lanes; and tiles of 8 lanes each name their own.
#[test]
fn several_masks() {
    for op in OPS {
        let side = |mask: &str| op.replace("MASK", mask);
        // Shuffles read lanes 0 and 1, which one side only has.
        if !op.contains("shfl") {
            let body = format!(
                "setp.lt.u32 %p1, %r20, %r8;\nvote.sync.ballot.b32 %r13, %p1, -1;\nnot.b32 %r14, %r13;\n@%p1 bra LOW;\n{}\nadd.u32 %r12, %r12, 100;\nbra KEEP;\nLOW:\n{}",
                side("%r14"),
                side("%r13")
            );
            check(&body, &[3, 16], op);
        }
        let tile = "and.b32 %r13, %r20, 24;\nshl.b32 %r13, 255, %r13;\n";
        let within = side("%r13").replace("%r11, 0, 31,", "%r11, 0, 0x181f,");
        let within = within.replace("%r22, 31,", "%r22, 0x181f,");
        check(&format!("{tile}{within}"), &[1], op);
        check(
            &format!(
                "{tile}and.b32 %r22, %r20, 8;\nsetp.eq.u32 %p1, %r22, 0;\n@%p1 bra KEEP;\n{within}"
            ),
            &[1],
            op,
        );
    }
}

/// What is alike in all lanes that run stays what it was for those that left a loop before.
#[test]
fn results_that_outlive_a_loop() {
    let body = "and.b32 %r14, %r11, 7;\nmov.u32 %r15, 0;\n\
                ROUND:\nactivemask.b32 %r16;\nsetp.gt.u32 %p3, %r14, %r15;\nvote.sync.ballot.b32 %r17, %p3, %r16;\npopc.b32 %r18, %r17;\n\
                mad.lo.u32 %r12, %r12, 31, %r18;\nadd.u32 %r15, %r15, 1;\n@%p3 bra ROUND;\nmad.lo.u32 %r12, %r17, 7, %r12;\nadd.u32 %r12, %r12, %r15;";
    check(body, &[0], "a loop of ballots");
}
