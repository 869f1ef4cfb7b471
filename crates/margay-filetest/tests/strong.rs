// SPDX-License-Identifier: MIT OR Apache-2.0
//! Volatile, relaxed, acquiring and releasing accesses, compiled, beside the interpreter and between threads of the host.

mod beside;

use beside::{JIT, agrees, kernel, numbers, result};

const BLOCK: u32 = 64;

/// An access to a word a step: in a row, apart, at one address, or where data say.
#[test]
fn strong_accesses_do_what_weak_ones_do() {
    let input = numbers(4096);
    let places = [
        ("mov.u32 %r11, %r5;", "a row"),
        ("mul.lo.u32 %r11, %r5, 5;", "apart"),
        ("mov.u32 %r11, 77;", "one"),
        (
            "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d4, %d0, %d4;\nld.global.u32 %r11, [%d4];\nrem.u32 %r11, %r11, 2000;",
            "data",
        ),
    ];
    let orders =
        [("volatile", "volatile"), ("relaxed.gpu", "relaxed.cta"), ("acquire.sys", "release.gpu")];
    let types = [("u32", "%r12"), ("u8", "%r12"), ("u64", "%d9")];
    for (p, (place, what)) in places.into_iter().enumerate() {
        for (t, (ty, register)) in types.into_iter().enumerate() {
            let (load, store) = orders[(p + t) % 3];
            let narrow = if ty == "u64" { "cvt.u32.u64 %r12, %d9;" } else { "" };
            let text = kernel(&format!(
                "{place}\nmul.wide.u32 %d5, %r11, 8;\nadd.s64 %d5, %d0, %d5;\nsetp.lt.u32 %p1, %r0, 13;\n@%p1 bra SOME;\n\
                 ld.{load}.global.{ty} {register}, [%d5+16];\n{narrow}\nst.{store}.global.u32 [%d3], %r12;\nbra END;\n\
                 SOME:\nld.{load}.global.{ty} {register}, [%d5];\n{narrow}\nadd.u32 %r12, %r12, 3;\nst.{store}.global.u32 [%d3], %r12;"
            ));
            let what = format!("{what}, {load}, {ty}");
            agrees(&text, (&input, 150), 0, ([2, 1, 1], [75, 1, 1]), &what);
        }
    }
}

/// Weak and strong accesses through one register are checked together; the last of them, or none, is outside of the buffer.
#[test]
fn strong_neighbours_are_checked() {
    let input = numbers(256);
    for (last, strong) in [(0, false), (4, true), (8, false), (8, true), (1 << 16, true)] {
        let order = if strong { "volatile.global" } else { "global" };
        let text = kernel(&format!(
            "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d4, %d0, %d4;\nld.global.u32 %r11, [%d4];\nld.volatile.global.u32 %r12, [%d4+4];\n\
             ld.{order}.u32 %r13, [%d4+{}];\nadd.u32 %r11, %r11, %r12;\nadd.u32 %r11, %r11, %r13;\nst.global.u32 [%d3], %r11;",
            4 * (256 - 64) + last
        ));
        agrees(&text, (&input, 64), 0, ([1, 1, 1], [BLOCK, 1, 1]), &format!("{last}, {strong}"));
        let runs = result(&text, (&input, 64), 0, ([1, 1, 1], [BLOCK, 1, 1]), JIT[0]).is_ok();
        assert_eq!(runs, last == 0, "{last}");
    }
}

/// The same where some name global memory and others do not.
#[test]
fn neighbours_by_two_kinds_of_address_are_checked() {
    let input = numbers(256);
    for (far, ok) in [(4 * 192, true), (4 * 193, false), (1 << 20, false), (1 << 30, false)] {
        for path in ["ld.volatile", "ld", "ld.volatile.global"] {
            let text = kernel(&format!(
                "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d4, %d0, %d4;\nld.global.u32 %r11, [%d4];\nld.global.u32 %r12, [%d4+4];\n\
                 {path}.u32 %r13, [%d4+{far}];\nadd.u32 %r11, %r11, %r12;\nadd.u32 %r11, %r11, %r13;\nst.global.u32 [%d3], %r11;"
            ))
            .replacen("ld.param.u64 %d0, [in];", "ld.param.u64 %d0, [in];\ncvta.to.global.u64 %d0, %d0;", 1);
            let shape = ([1, 1, 1], [BLOCK, 1, 1]);
            agrees(&text, (&input, 64), 0, shape, path);
            assert_eq!(result(&text, (&input, 64), 0, shape, JIT[0]).is_ok(), ok, "{path}, {far}");
        }
    }
}

/// Two warps of a block hand a number to each other by volatile shared memory, named as such or not.
#[test]
fn warps_wait_for_each_other() {
    for (space, base) in
        [(".shared", "mov.u64 %d4, tile;"), ("", "mov.u64 %d4, tile;\ncvta.shared.u64 %d4, %d4;")]
    {
        let text = kernel(&format!(
            "{base}\nmov.u32 %r11, 0;\nst.volatile{space}.u32 [%d4], %r11;\nbar.sync 0;\nshr.u32 %r12, %r0, 5;\nROUND:\nWAIT:\n\
             ld.volatile{space}.u32 %r13, [%d4];\nsetp.ne.u32 %p1, %r13, %r12;\n@%p1 bra WAIT;\nadd.u32 %r13, %r13, 1;\n\
             st.volatile{space}.u32 [%d4], %r13;\nadd.u32 %r12, %r12, 2;\nsetp.lt.u32 %p2, %r12, %r8;\n@%p2 bra ROUND;\n\
             st.global.u32 [%d3], %r12;"
        ))
        .replace("sm_90", "sm_60");
        let found = result(&text, (&[0], 64), 100, ([1; 3], [64, 1, 1]), JIT[0]);
        let each: Vec<u32> = (0..64).map(|t| 100 + t / 32).collect();
        assert_eq!(found, Ok(each), "{space}");
    }
}

/// Two blocks hand a row of words to each other, by a flag that is released and acquired: what was stored before must be seen.
#[test]
fn messages_arrive_whole() {
    const ROUNDS: u32 = 300;
    for (load, store, fence) in [
        ("acquire.gpu", "release.gpu", ""),
        ("volatile", "volatile", "membar.gl;"),
        ("relaxed.sys", "relaxed.sys", "fence.acq_rel.gpu;"),
    ] {
        // One warp needs no barrier between the flag and the words.
        for (threads, together) in [(BLOCK, "bar.sync 0;"), (32, "bar.warp.sync -1;")] {
            // The flag is the word behind the row. Each word counts the rounds; block 0 has the even ones, block 1 the odd ones and so the last.
            let text = kernel(&format!(
                "mul.wide.u32 %d4, %r0, 4;\nadd.s64 %d5, %d0, %d4;\nadd.s64 %d6, %d1, %d4;\nmov.u32 %r11, %r2;\n\
                 ROUND:\nWAIT:\nld.{load}.global.u32 %r12, [%d0+{flag}];\nsetp.ne.u32 %p1, %r12, %r11;\n@%p1 bra WAIT;\n{fence}\n\
                 {together}\nld.global.u32 %r13, [%d5];\nadd.u32 %r14, %r13, 1;\nst.global.u32 [%d5], %r14;\n\
                 {together}\nsetp.ne.u32 %p2, %r0, 0;\n@%p2 bra NEXT;\nadd.u32 %r15, %r11, 1;\n{fence}\n\
                 st.{store}.global.u32 [%d0+{flag}], %r15;\nNEXT:\nadd.u32 %r11, %r11, 2;\nsetp.lt.u32 %p3, %r11, %r8;\n@%p3 bra ROUND;\n\
                 setp.eq.u32 %p4, %r2, 0;\n@%p4 bra END;\nst.global.u32 [%d6], %r14;",
                flag = 4 * threads
            ));
            for how in JIT {
                let input = vec![0; threads as usize + 1];
                let shape = ([2, 1, 1], [threads, 1, 1]);
                let found = result(&text, (&input, threads as usize), ROUNDS, shape, how);
                assert_eq!(found, Ok(vec![ROUNDS; threads as usize]), "{load}, {how:?}");
            }
        }
    }
}
