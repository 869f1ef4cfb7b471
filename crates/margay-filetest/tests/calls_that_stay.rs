// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls by handles, recursion, and what pointers from elsewhere point to, compiled and beside the interpreter.

mod beside;

use beside::{JIT, SHAPES, agrees, kernel, numbers, result, with};
use margay_exec::jit::{Engine, counts};

/// A function of two words.
fn of_two(name: &str, body: &str) -> String {
    format!(
        ".func (.param .b32 r) {name}(.param .b32 a, .param .b32 b) {{\n.reg .pred %p<3>;\n.reg .b32 %r<12>;\n.reg .b64 %d<6>;\n\
         ld.param.b32 %r0, [a];\nld.param.b32 %r1, [b];\n{body}\nst.param.b32 [r], %r2;\nret;\n}}\n"
    )
}

const BY_HANDLE: &str = "{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r12; st.param.b32 [y], %r11; \
    P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\ncall (z), %d7, (x, y), P; ld.param.b32 %r12, [z]; }";

/// The handle of one of three functions in `%d7`, by `%r13` modulo 4; for 3 what is no function.
const CHOOSE: &str = "and.b32 %r14, %r13, 3;\nmov.u64 %d4, plus;\nmov.u64 %d5, times;\nmov.u64 %d6, parts;\n\
    setp.eq.u32 %p3, %r14, 0;\nsetp.eq.u32 %p4, %r14, 1;\nsetp.eq.u32 %p5, %r14, 2;\n\
    selp.b64 %d7, %d6, 12345, %p5;\nselp.b64 %d7, %d5, %d7, %p4;\nselp.b64 %d7, %d4, %d7, %p3;\n";

fn three() -> String {
    of_two("plus", "add.u32 %r2, %r0, %r1;")
        + &of_two("times", "mul.lo.u32 %r2, %r0, %r1;\nadd.u32 %r2, %r2, 1;")
        + &of_two(
            "parts",
            "and.b32 %r3, %r0, 1;\nsetp.eq.u32 %p0, %r3, 0;\nmov.u32 %r2, %r1;\n@%p0 bra E;\nxor.b32 %r2, %r0, %r1;\nE:",
        )
}

/// Functions of a table, the same for all lanes or each lane's own, in loops; and handles that are none.
#[test]
fn calls_by_handles() {
    let input = numbers(512);
    for (which, faults) in [
        ("rem.u32 %r13, %r11, 3;", false),
        ("add.u32 %r13, %r11, %r5;\nrem.u32 %r13, %r13, 3;", false),
        ("rem.u32 %r13, %r5, 3;", false),
        // Lane 9 comes to what is no function when the others do not.
        ("setp.eq.u32 %p6, %r5, 9;\nselp.u32 %r13, %r11, 2, %p6;", true),
    ] {
        let text = with(
            &three(),
            &format!(
                "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d5, %d0, %d4;\nld.global.u32 %r12, [%d5];\nmov.u32 %r11, 0;\nROUND:\n{which}\n\
                 {CHOOSE}{BY_HANDLE}\nadd.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, %r8;\n@%p1 bra ROUND;\nst.global.u32 [%d3], %r12;"
            ),
        );
        for shape in SHAPES {
            agrees(&text, (&input, 288), 7, shape, which);
            assert_eq!(result(&text, (&input, 288), 7, shape, JIT[0]).is_err(), faults, "{which}");
        }
    }
}

/// A function that calls itself and another, each lane to its own depth, with words of the caller's local memory.
fn deep() -> String {
    let own = ".local .align 16 .b8 own[32];\nmov.u64 %d1, own;\ncvta.local.u64 %d1, %d1;\n";
    format!(
        ".func (.param .b32 r) deep(.param .b32 a, .param .b64 outer) {{\n.reg .pred %p<3>;\n.reg .b32 %r<12>;\n.reg .b64 %d<6>;\n\
         {own}ld.param.b32 %r0, [a];\nld.param.b64 %d0, [outer];\nld.u32 %r1, [%d0+4];\nst.u32 [%d1], %r0;\nmov.u32 %r4, 0;\n\
         mov.u32 %r2, %r1;\nL:\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r5, %r1, %r4;\nst.u32 [%d1+4], %r5;\nadd.u32 %r4, %r4, 1;\n\
         setp.lt.u32 %p0, %r4, 5;\n@%p0 bra L;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 bra E;\nsub.u32 %r3, %r0, 1;\n\
         {{ .param .b32 x; .param .b64 y; .param .b32 z; st.param.b32 [x], %r3; st.param.b64 [y], %d1; call (z), deep, (x, y); \
         ld.param.b32 %r6, [z]; }}\nmad.lo.u32 %r2, %r6, 3, %r2;\nld.u32 %r7, [%d1];\nadd.u32 %r2, %r2, %r7;\nmov.u32 %r4, 0;\n\
         M:\nadd.u32 %r2, %r2, %r4;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p0, %r4, %r0;\n@%p0 bra M;\n\
         E:\nst.u32 [%d0], %r2;\nst.param.b32 [r], %r2;\nret;\n}}\n"
    )
}

#[test]
fn recursion_by_all_lanes_and_by_some() {
    let input = numbers(512);
    for (depth, guard) in [
        ("mov.u32 %r12, %r8;", ""),
        ("rem.u32 %r12, %r5, 6;", ""),
        // Without the first lane, and of some only the second time.
        ("rem.u32 %r12, %r5, 5;", "setp.lt.u32 %p2, %r0, 7;\n@%p2 bra END;\n"),
        (
            "rem.u32 %r12, %r5, 5;",
            "and.b32 %r20, %r0, 3;\nsetp.eq.u32 %p2, %r20, 0;\n@%p2 bra SKIP;\n",
        ),
    ] {
        let text = with(
            &deep(),
            &format!(
                ".local .align 16 .b8 own[32];\nmov.u64 %d4, own;\ncvta.local.u64 %d4, %d4;\nmov.u32 %r11, 0;\nmov.u32 %r13, 0;\nROUND:\n\
                 add.u32 %r14, %r11, %r5;\nst.u32 [%d4+4], %r14;\n{guard}{depth}\n{{ .param .b32 x; .param .b64 y; .param .b32 z; \
                 st.param.b32 [x], %r12; st.param.b64 [y], %d4; call (z), deep, (x, y); ld.param.b32 %r15, [z]; }}\n\
                 ld.u32 %r16, [%d4];\nadd.u32 %r13, %r13, %r15;\nxor.b32 %r13, %r13, %r16;\nSKIP:\nadd.u32 %r11, %r11, 1;\n\
                 setp.lt.u32 %p1, %r11, 3;\n@%p1 bra ROUND;\nst.global.u32 [%d3], %r13;"
            ),
        );
        let before = counts().functions();
        for shape in SHAPES {
            let what = format!("{depth} {guard}");
            agrees(&text, (&input, 288), 4, shape, &what);
            assert!(result(&text, (&input, 288), 4, shape, JIT[0]).is_ok(), "{what}");
        }
        let made = counts().functions() - before;
        let possible = margay_exec::jit::unavailable().is_none();
        assert!(!possible || made >= 2, "a kernel and what it calls, {made}");
    }
}

/// A stack that ends in the middle of a recursion.
#[test]
fn recursion_without_end() {
    let text = with(
        &deep(),
        ".local .align 16 .b8 own[32];\nmov.u64 %d4, own;\ncvta.local.u64 %d4, %d4;\n{ .param .b32 x; .param .b64 y; .param .b32 z; \
         st.param.b32 [x], %r8; st.param.b64 [y], %d4; call (z), deep, (x, y); ld.param.b32 %r15, [z]; }\nst.global.u32 [%d3], %r15;",
    );
    let shape = ([1; 3], [32, 1, 1]);
    for how in JIT {
        let found = result(&text, (&numbers(32), 32), 100_000, shape, how);
        assert!(found.is_err_and(|why| why.contains("stack")), "{how:?}");
    }
}

/// The same depth is the last that there is stack for, whether bodies were put into the kernel or all calls are made: beside a body
/// with a frame, and through functions that have none.
#[test]
fn stacks_end_at_one_depth() {
    let leaf = of_two("leaf", "add.u32 %r2, %r0, %r1;");
    let wide = ".local .align 16 .b8 own[256];\nmov.u64 %d1, own;\nst.local.u32 [%d1], %r0;\nld.local.u32 %r2, [%d1];";
    let call = |name: &str, first: &str| {
        format!(
            "{{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], {first}; st.param.b32 [y], 1; call (z), {name}, (x, y); \
             ld.param.b32 %r2, [z]; }}\n"
        )
    };
    let deep = format!(
        ".local .align 16 .b8 own[48];\nmov.u64 %d1, own;\nst.local.u32 [%d1], %r0;\n{}setp.eq.u32 %p0, %r0, 0;\n@%p0 bra E;\n\
         sub.u32 %r3, %r0, 1;\n{}ld.local.u32 %r4, [%d1];\nadd.u32 %r2, %r2, %r4;\nE:",
        call("leaf", "%r0"),
        call("deep", "%r3")
    );
    let functions = leaf + &of_two("wide", wide) + &of_two("deep", &deep);
    let calls = (call("wide", "%r0") + &call("deep", "%r8")).replace("%r2", "%r12");
    let text = with(&functions, &format!("{calls}st.global.u32 [%d3], %r12;"));
    let shape = ([1; 3], [32, 1, 1]);
    let fits = |depth, how| match result(&text, (&numbers(32), 32), depth, shape, how) {
        Ok(_) => true,
        Err(why) => {
            assert!(why.contains("stack"), "{why}");
            false
        }
    };
    let deepest = |how| (0..200).take_while(|&depth| fits(depth, how)).count();
    let interpreted = deepest((Engine::Interp, 1));
    assert!((5..100).contains(&interpreted), "{interpreted}");
    assert_eq!(deepest(JIT[0]), interpreted);
}

/// Registers of a function that calls itself are 0 until they are set, whatever an earlier call left.
#[test]
fn registers_of_called_functions_begin_anew() {
    let sometimes = of_two(
        "f",
        "setp.eq.u32 %p0, %r0, 0;\n@%p0 bra E;\nand.b32 %r4, %r0, 1;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 mov.u32 %r5, 7;\nsub.u32 %r6, %r0, 1;\n\
         { .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r6; st.param.b32 [y], %r1; call (z), f, (x, y); \
         ld.param.b32 %r2, [z]; }\nadd.u32 %r2, %r2, %r5;\nE:\nadd.u32 %r2, %r2, 1;",
    );
    let text = with(
        &sometimes,
        "mov.u32 %r11, 0;\nmov.u32 %r13, 0;\nL:\n{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r11; \
         st.param.b32 [y], %r5; call (z), f, (x, y); ld.param.b32 %r12, [z]; }\nmad.lo.u32 %r13, %r13, 5, %r12;\nadd.u32 %r11, %r11, 1;\n\
         setp.lt.u32 %p1, %r11, 6;\n@%p1 bra L;\nst.global.u32 [%d3], %r13;",
    );
    let expected: u32 = (0..6u32).fold(0, |sum, n| {
        let one = |n: u32| 1 + (1..=n).map(|k| 1 + if k % 2 == 0 { 7 } else { 0 }).sum::<u32>();
        sum.wrapping_mul(5).wrapping_add(one(n))
    });
    agrees(&text, (&numbers(32), 32), 1, ([1; 3], [32, 1, 1]), "f");
    let found = result(&text, (&numbers(32), 32), 1, ([1; 3], [32, 1, 1]), JIT[0]);
    assert_eq!(found.as_deref(), Ok(&[expected; 32][..]));
}

/// One pointer for all lanes, out of memory: to global, shared and local memory in turns, and to nothing.
#[test]
fn pointers_out_of_memory() {
    let head = ".local .align 16 .b8 own[64];\nmov.u64 %d4, own;\ncvta.local.u64 %d4, %d4;\nmov.u64 %d5, tile;\ncvta.shared.u64 %d6, %d5;\n\
        add.u64 %d6, %d6, 64;\nst.u32 [%d4], %r5;\nst.u32 [%d4+4], 77;\n\
        setp.ne.u32 %p1, %r0, 0;\n@%p1 bra WAIT;\nst.shared.u64 [%d5], %d0;\nst.shared.u64 [%d5+8], %d6;\nst.shared.u64 [%d5+16], %d4;\n\
        st.shared.u64 [%d5+24], 128;\nst.shared.u32 [%d5+64], 1000;\nst.shared.u32 [%d5+68], 2000;\nWAIT:\nbar.sync 0;\n\
        mov.u32 %r11, 0;\nmov.u32 %r13, 0;\nROUND:\n";
    let tail = "add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 24;\n@%p2 bra ROUND;\nst.global.u32 [%d3], %r13;";
    let input = numbers(512);
    for (which, faults) in [
        ("rem.u32 %r14, %r11, 3;", false),
        ("add.u32 %r14, %r11, %r5;\nrem.u32 %r14, %r14, 3;", false),
        ("shr.u32 %r14, %r11, 3;", false),
        ("setp.eq.u32 %p3, %r11, 20;\nselp.u32 %r14, 3, 1, %p3;", true),
    ] {
        for load in [
            "ld.u32 %r15, [%d8+4];\nadd.u32 %r13, %r13, %r15;\n",
            "ld.v2.u32 {%r15, %r16}, [%d8];\nmad.lo.u32 %r13, %r13, 3, %r15;\nadd.u32 %r13, %r13, %r16;\n",
            "ld.u8 %r15, [%d8+1];\nld.s16 %r16, [%d8+6];\nadd.u32 %r13, %r13, %r15;\nxor.b32 %r13, %r13, %r16;\n",
            "ld.u32 %r15, [%d8+4];\nadd.u32 %r13, %r13, %r15;\nst.u32 [%d4+4], %r13;\n",
        ] {
            let body = format!(
                "{head}{which}\nmul.wide.u32 %d7, %r14, 8;\nadd.s64 %d7, %d5, %d7;\nld.shared.u64 %d8, [%d7];\n{load}{tail}"
            );
            let what = format!("{which} {load}");
            for shape in SHAPES {
                agrees(&kernel(&body), (&input, 288), 1, shape, &what);
                let found = result(&kernel(&body), (&input, 288), 1, shape, JIT[0]);
                assert_eq!(found.is_err(), faults, "{what}");
            }
        }
    }
}

/// Generic addresses that are made from local and from shared ones, and some that leave where they come from.
#[test]
fn generic_addresses_of_windows() {
    let head = ".local .align 16 .b8 own[64];\nmov.u64 %d4, own;\ncvta.local.u64 %d4, %d4;\nmov.u64 %d5, tile;\ncvta.shared.u64 %d6, %d5;\n\
        mov.u32 %r11, 0;\nmov.u32 %r13, %r5;\nROUND:\nand.b32 %r14, %r11, 7;\nmul.wide.u32 %d7, %r14, 4;\nadd.s64 %d8, %d4, %d7;\n\
        mul.wide.u32 %d9, %r0, 4;\nadd.s64 %d9, %d6, %d9;\n";
    let tail = "add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 9;\n@%p2 bra ROUND;\nst.global.u32 [%d3], %r13;";
    let input = numbers(512);
    for (body, faults) in [
        ("st.u32 [%d8], %r13;\nld.u32 %r15, [%d4+8];\nadd.u32 %r13, %r13, %r15;\n", false),
        (
            "st.u32 [%d9], %r13;\nbar.warp.sync -1;\nld.u32 %r15, [%d6];\nadd.u32 %r13, %r13, %r15;\nbar.warp.sync -1;\n",
            false,
        ),
        (
            "st.v2.u32 [%d4+16], {%r13, %r11};\nld.u8 %r15, [%d8+3];\nld.u64 %d10, [%d4+16];\ncvt.u32.u64 %r16, %d10;\n\
          add.u32 %r13, %r13, %r15;\nadd.u32 %r13, %r13, %r16;\n",
            false,
        ),
        // One register for both, and by lanes.
        (
            "and.b32 %r16, %r5, 1;\nsetp.eq.u32 %p3, %r16, 0;\nselp.b64 %d10, %d8, %d9, %p3;\nst.u32 [%d10], %r13;\n\
          ld.u32 %r15, [%d10];\nadd.u32 %r13, %r13, %r15;\n",
            false,
        ),
        // From a local address to global memory.
        (
            "sub.s64 %d10, %d0, %d4;\nadd.s64 %d10, %d4, %d10;\nld.u32 %r15, [%d10+4];\nadd.u32 %r13, %r13, %r15;\n",
            false,
        ),
        (
            "setp.eq.u32 %p4, %r5, 3;\nselp.b64 %d10, 1048576, 0, %p4;\nadd.s64 %d10, %d4, %d10;\nld.u32 %r15, [%d10];\n\
          add.u32 %r13, %r13, %r15;\n",
            true,
        ),
        ("add.s64 %d10, %d4, 1048576;\nld.u32 %r15, [%d10];\nadd.u32 %r13, %r13, %r15;\n", true),
        ("add.s64 %d10, %d6, 1048576;\nst.u32 [%d10], %r13;\n", true),
        ("add.s64 %d10, %d4, 2;\nst.u32 [%d10], %r13;\n", true),
    ] {
        for shape in [([1; 3], [32, 1, 1]), ([3, 1, 1], [64, 1, 1]), ([2, 1, 1], [20, 1, 1])] {
            let text = kernel(&format!("{head}{body}{tail}"));
            agrees(&text, (&input, 288), 1, shape, body);
            let found = result(&text, (&input, 288), 1, shape, JIT[0]);
            assert_eq!(found.is_err(), faults, "{body}: {found:?}");
        }
    }
}

/// One address for all lanes that is each lane's own memory, where shared memory is likely, and under guards.
#[test]
fn one_address_of_every_lane_s_own() {
    let head = ".local .align 16 .b8 own[64];\nmov.u64 %d4, own;\ncvta.local.u64 %d4, %d4;\nor.b64 %d5, %d4, 4;\nmov.u64 %d6, tile;\n\
        cvta.shared.u64 %d6, %d6;\nst.u32 [%d5], %r5;\nst.u32 [%d6], 5000;\nsetp.eq.u32 %p1, %r8, 0;\nmov.u32 %r15, 3;\nbar.sync 0;\n";
    for body in [
        "selp.b64 %d7, %d5, %d6, %p1;\nld.u32 %r15, [%d7];\n",
        "ld.u32 %r15, [%d5];\n",
        "@%p1 ld.u32 %r15, [%d5];\n",
        "@!%p1 ld.u32 %r15, [%d5];\n",
        "@%p1 ld.v2.u32 {%r15, %r16}, [%d5+4];\n",
        "mov.u64 %d7, %d6;\n@!%p1 bra NEXT;\nmov.u64 %d7, %d5;\nNEXT:\nld.u32 %r15, [%d7];\n",
        "and.b64 %d7, %d5, -4;\nselp.b64 %d7, %d7, %d0, %p1;\nld.u32 %r15, [%d7];\n",
    ] {
        let text = kernel(&format!("{head}{body}st.global.u32 [%d3], %r15;"));
        for shape in SHAPES {
            for n in [0, 1] {
                agrees(&text, (&numbers(512), 288), n, shape, body);
            }
        }
    }
}

/// Formal parameters that are handed on as they are, by a function that stays a call.
#[test]
fn parameters_that_are_handed_on() {
    let functions = ".func (.param .b64 r) g(.param .b64 a) {\n.reg .b64 %d;\nld.param.b64 %d, [a];\nmad.lo.s64 %d, %d, 3, 1;\n\
        st.param.b64 [r], %d;\nret;\n}\n\
        .func (.param .b64 r) f(.param .b64 a) {\n.reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\nld.param.v2.b32 {%r0, %r1}, [a];\n\
        setp.eq.u32 %p, %r0, 0;\n@%p bra E;\nsub.u32 %r2, %r0, 1;\nmov.b64 %d0, {%r2, %r1};\n\
        { .param .b64 x; .param .b64 y; st.param.b64 [x], %d0; call (y), f, (x); ld.param.b64 %d1, [y]; }\n\
        { .param .b64 z; call (z), g, (a); ld.param.b64 %d2, [z]; }\nadd.s64 %d1, %d1, %d2;\nst.param.b64 [r], %d1;\nret;\n\
        E:\ncall (r), g, (a);\nret;\n}\n";
    let text = with(
        functions,
        "rem.u32 %r11, %r5, 5;\nmov.b64 %d4, {%r11, %r5};\n\
         { .param .b64 x; .param .b64 y; st.param.b64 [x], %d4; call (y), f, (x); ld.param.b64 %d5, [y]; }\n\
         mov.b64 {%r12, %r13}, %d5;\nxor.b32 %r12, %r12, %r13;\nst.global.u32 [%d3], %r12;",
    );
    for shape in SHAPES {
        agrees(&text, (&numbers(32), 288), 1, shape, "handed on");
        assert!(result(&text, (&numbers(32), 288), 1, shape, JIT[0]).is_ok());
    }
}
