// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of device functions: made by the interpreter, and put into the kernel for compiled code.

mod beside;

use std::sync::Arc;

use beside::{JIT, SHAPES, agrees, numbers, result, with};
use margay_exec::jit::Engine;
use margay_exec::launch::LaunchFailure;
use margay_filetest::compile::compile;
use margay_filetest::device::{Argument, RunError, Shape, run};

/// `mix(a, b)`: parts lanes, and calls `twice`.
const MIX: &str = ".func (.param .b32 r) twice(.param .b32 a) {\n.reg .b32 %r<2>;\nld.param.b32 %r0, [a];\nshl.b32 %r1, %r0, 1;\n\
    st.param.b32 [r], %r1;\nret;\n}\n\
    .func (.param .b32 r) mix(.param .b32 a, .param .b64 b) {\n.reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %d<2>;\n\
    ld.param.b32 %r0, [a];\nld.param.b64 %d0, [b];\ncvt.u32.u64 %r1, %d0;\nand.b32 %r2, %r0, 3;\nsetp.eq.u32 %p0, %r2, 0;\n@%p0 bra A;\n\
    setp.eq.u32 %p1, %r2, 1;\n@%p1 bra B;\nadd.u32 %r3, %r0, %r1;\nst.param.b32 [r], %r3;\nret;\n\
    A:\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call (y), twice, (x); ld.param.b32 %r3, [y]; }\n\
    st.param.b32 [r], %r3;\nret;\nB:\nxor.b32 %r3, %r0, %r1;\nst.param.b32 [r], %r3;\nret;\n}\n";

const CALL_MIX: &str = "{ .param .b32 x; .param .b64 y; .param .b32 z; st.param.b32 [x], %r12; st.param.b64 [y], %d4; \
    call (z), mix, (x, y); ld.param.b32 %r12, [z]; }";

#[test]
fn calls_in_loops_and_branches() {
    let text = with(
        MIX,
        &format!(
            "rem.u32 %r11, %r5, 7;\nadd.u32 %r11, %r11, %r8;\nmul.wide.u32 %d4, %r5, 4;\nadd.s64 %d5, %d0, %d4;\n\
             ld.global.u32 %r12, [%d5];\nROUND:\n{CALL_MIX}\nsetp.lt.u32 %p1, %r12, 1000;\n@%p1 bra NEXT;\n{CALL_MIX}\nNEXT:\n\
             sub.u32 %r11, %r11, 1;\nsetp.ne.u32 %p2, %r11, 0;\n@%p2 bra ROUND;\nst.global.u32 [%d3], %r12;"
        ),
    );
    let input = numbers(512);
    for shape in SHAPES {
        for n in [1, 20] {
            agrees(&text, (&input, 288), n, shape, "mix");
        }
    }
}

/// Barriers and exchanges between lanes in a function.
#[test]
fn functions_that_wait_for_the_block() {
    let sum = ".func (.param .b32 r) sum(.param .b32 a, .param .b64 tile) {\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n\
        ld.param.b32 %r0, [a];\nld.param.b64 %d0, [tile];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d1, %r1, 4;\nadd.s64 %d1, %d0, %d1;\n\
        bar.sync 0;\nst.shared.u32 [%d1], %r0;\nbar.sync 0;\nxor.b32 %r2, %r1, 33;\nmul.wide.u32 %d2, %r2, 4;\nadd.s64 %d2, %d0, %d2;\n\
        ld.shared.u32 %r3, [%d2];\nshfl.sync.bfly.b32 %r4, %r3, 5, 31, -1;\nadd.u32 %r4, %r4, %r3;\nst.param.b32 [r], %r4;\nret;\n}\n";
    let text = with(
        sum,
        "mov.u64 %d4, tile;\nmul.wide.u32 %d5, %r5, 4;\nadd.s64 %d5, %d0, %d5;\nld.global.u32 %r12, [%d5];\nmov.u32 %r11, 0;\nROUND:\n\
         { .param .b32 x; .param .b64 y; .param .b32 z; st.param.b32 [x], %r12; st.param.b64 [y], %d4; call (z), sum, (x, y); \
         ld.param.b32 %r12, [z]; }\nadd.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, %r8;\n@%p1 bra ROUND;\nst.global.u32 [%d3], %r12;",
    );
    let input = numbers(256);
    for shape in [([1; 3], [64, 1, 1]), ([2, 1, 1], [128, 1, 1])] {
        agrees(&text, (&input, 256), 3, shape, "sum");
    }
}

/// Structures in memory, local variables, and where these are.
#[test]
fn arguments_in_memory_and_local_variables() {
    let inner = ".func (.param .align 8 .b8 r[16]) turned(.param .align 8 .b8 a[16], .param .b32 by) {\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n\
        .local .align 16 .b8 own[64];\nld.param.b32 %r0, [a];\nld.param.b32 %r1, [a+4];\nld.param.b64 %d0, [a+8];\nld.param.b32 %r2, [by];\n\
        mov.u64 %d1, own;\nand.b32 %r3, %r2, 15;\nmul.wide.u32 %d2, %r3, 4;\nadd.s64 %d2, %d1, %d2;\nst.local.u32 [%d2], %r0;\n\
        ld.local.u32 %r4, [%d2];\nadd.u32 %r4, %r4, %r1;\ncvt.u32.u64 %r5, %d1;\nadd.u32 %r4, %r4, %r5;\n\
        st.param.b32 [r], %r1;\nst.param.b32 [r+4], %r4;\nadd.s64 %d3, %d0, 1;\nst.param.b64 [r+8], %d3;\nret;\n}\n";
    let text = with(
        inner,
        "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d5, %d0, %d4;\nld.global.u32 %r12, [%d5];\nld.global.u32 %r13, [%d5+4];\nmov.u64 %d6, 77;\n\
         mov.u32 %r11, 0;\nROUND:\n\
         { .param .align 8 .b8 x[16]; .param .b32 y; .param .align 8 .b8 z[16]; st.param.b32 [x], %r12; st.param.b32 [x+4], %r13; \
         st.param.b64 [x+8], %d6; st.param.b32 [y], %r5; call (z), turned, (x, y); ld.param.b32 %r12, [z]; ld.param.b32 %r13, [z+4]; \
         ld.param.b64 %d6, [z+8]; }\n\
         add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, %r8;\n@%p1 bra ROUND;\n\
         cvt.u32.u64 %r14, %d6;\nadd.u32 %r12, %r12, %r14;\nxor.b32 %r12, %r12, %r13;\nst.global.u32 [%d3], %r12;",
    );
    let input = numbers(512);
    for shape in SHAPES {
        agrees(&text, (&input, 288), 5, shape, "turned");
    }
}

/// Stores of 16 bytes from two words and a double word, and loads into these, in all widths.
const WIDTHS: [(&str, &str); 4] = [
    (
        "st.param.b32 [AT], %r20; st.param.b32 [AT+4], %r21; st.param.b64 [AT+8], %d10;",
        "ld.param.b32 %r20, [AT]; ld.param.b32 %r21, [AT+4]; ld.param.b64 %d10, [AT+8];",
    ),
    (
        "mov.b64 %d11, {%r20, %r21}; st.param.b64 [AT], %d11; st.param.b64 [AT+8], %d10;",
        "ld.param.b64 %d11, [AT]; mov.b64 {%r20, %r21}, %d11; ld.param.b64 %d10, [AT+8];",
    ),
    (
        "mov.b64 {%r22, %r23}, %d10; st.param.v4.b32 [AT], {%r20, %r21, %r22, %r23};",
        "ld.param.v4.b32 {%r20, %r21, %r22, %r23}, [AT]; mov.b64 %d10, {%r22, %r23};",
    ),
    (
        "mov.b64 %d11, {%r20, %r21}; st.param.v2.b64 [AT], {%d11, %d10};",
        "ld.param.b32 %r20, [AT]; ld.param.s8 %r23, [AT+4]; ld.param.b32 %r21, [AT+4]; ld.param.u32 %d11, [AT+8]; \
         ld.param.s32 %d12, [AT+12]; shl.b64 %d12, %d12, 32; or.b64 %d10, %d11, %d12;",
    ),
];

/// Structures whose parts are stored and loaded in different widths; some are also loaded where data say.
#[test]
fn arguments_by_words_and_double_words() {
    let input = numbers(512);
    for (stores, _) in WIDTHS {
        for (_, loads) in WIDTHS {
            for indexed in [false, true] {
                let (get, put) = (loads.replace("AT", "a"), stores.replace("AT", "r"));
                let more = match indexed {
                    true => {
                        "mov.u64 %d13, a;\nand.b32 %r24, %r20, 3;\nmul.wide.u32 %d14, %r24, 4;\nadd.s64 %d13, %d13, %d14;\n\
                        ld.param.b32 %r25, [%d13];\nadd.u32 %r21, %r21, %r25;\n"
                    }
                    false => "",
                };
                let function = format!(
                    ".func (.param .align 16 .b8 r[16]) f(.param .align 16 .b8 a[16]) {{\n.reg .b32 %r<30>;\n.reg .b64 %d<16>;\n{get}\n\
                     {more}add.u32 %r20, %r20, %r21;\nadd.s64 %d10, %d10, 3;\n{put}\nret;\n}}\n"
                );
                let (pass, take) = (stores.replace("AT", "x"), loads.replace("AT", "z"));
                let text = with(
                    &function,
                    &format!(
                        "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d5, %d0, %d4;\nld.global.u32 %r20, [%d5];\nld.global.u32 %r21, [%d5+4];\n\
                         mul.wide.u32 %d10, %r20, %r21;\nmov.u32 %r11, 0;\nROUND:\n\
                         {{ .param .align 16 .b8 x[16]; .param .align 16 .b8 z[16]; {pass} call (z), f, (x); {take} }}\n\
                         add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, %r8;\n@%p1 bra ROUND;\nmov.b64 {{%r14, %r15}}, %d10;\n\
                         xor.b32 %r14, %r14, %r15;\nxor.b32 %r14, %r14, %r20;\nadd.u32 %r14, %r14, %r21;\nst.global.u32 [%d3], %r14;"
                    ),
                );
                let what = format!("{stores} {loads} {indexed}");
                let shape = ([1; 3], [75, 1, 1]);
                agrees(&text, (&input, 75), 3, shape, &what);
                assert!(result(&text, (&input, 75), 3, shape, JIT[0]).is_ok(), "{what}");
            }
        }
    }
}

/// What a structure's parts are read by: a pointer that begins behind it and walks back, and one that begins in it.
#[test]
fn arguments_that_pointers_walk_through() {
    let input = numbers(256);
    for (begin, step) in [
        ("a+16", "ld.param.b32 %r0, [%d0-4];\nsub.s64 %d0, %d0, 4;"),
        ("a", "ld.param.b32 %r0, [%d0];\nadd.s64 %d0, %d0, 4;"),
    ] {
        let function = format!(
            ".func (.param .b32 r) f(.param .align 8 .b8 a[16]) {{\n.reg .pred %p;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n\
             mov.u64 %d0, {begin};\nmov.u32 %r1, 0;\nmov.u32 %r2, 4;\nL:\n{step}\nmad.lo.u32 %r1, %r1, 3, %r0;\n\
             sub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p, %r2, 0;\n@%p bra L;\nst.param.b32 [r], %r1;\nret;\n}}\n"
        );
        let text = with(
            &function,
            "{ .param .align 8 .b8 x[16]; .param .b32 y; st.param.b32 [x], %r0; st.param.b32 [x+4], 10; st.param.b32 [x+8], 100; \
             st.param.b32 [x+12], 1000; call (y), f, (x); ld.param.b32 %r12, [y]; }\nst.global.u32 [%d3], %r12;",
        );
        agrees(&text, (&input, 32), 1, ([1; 3], [32, 1, 1]), begin);
    }
}

/// An argument that is read through the one before it.
#[test]
fn arguments_that_are_read_beyond_their_end() {
    let reads = ".func (.param .b32 r) f(.param .align 8 .b8 a[16], .param .align 8 .b8 b[16]) {\n.reg .b32 %r<4>;\n\
        ld.param.b32 %r0, [a+16];\nld.param.b32 %r1, [b+4];\nadd.u32 %r0, %r0, %r1;\nst.param.b32 [r], %r0;\nret;\n}\n";
    let text = with(
        reads,
        "{ .param .align 8 .b8 x[16]; .param .align 8 .b8 y[16]; .param .b32 z; st.param.b32 [x], %r0; st.param.b32 [y], 700; \
         st.param.b32 [y+4], %r0; call (z), f, (x, y); ld.param.b32 %r12, [z]; }\nst.global.u32 [%d3], %r12;",
    );
    agrees(&text, (&numbers(32), 32), 1, ([1; 3], [32, 1, 1]), "beyond the end");
}

/// Addresses of local variables that want more than 16 bytes, and frames of calls in calls.
#[test]
fn local_variables_lie_where_calls_put_them() {
    let function = |name: &str, align: u32, inner: &str| {
        format!(
            ".func (.param .b64 r) {name}(.param .b64 a) {{\n.reg .b64 %d<8>;\n.local .align {align} .b8 own[72];\n\
             ld.param.b64 %d0, [a];\nmov.u64 %d1, own;\nmad.lo.s64 %d2, %d0, 1000, %d1;\n{inner}\n\
             st.param.b64 [r], %d2;\nret;\n}}\n"
        )
    };
    let call = |name: &str| {
        format!(
            "{{ .param .b64 x; .param .b64 y; st.param.b64 [x], %d2; call (y), {name}, (x); ld.param.b64 %d2, [y]; }}\n"
        )
    };
    let functions = function("inner", 64, "")
        + &function("middle", 8, &call("inner"))
        + &function("outer", 32, &(call("middle") + &call("inner")));
    let body = |align: u32| {
        format!(
            ".local .align {align} .b8 own[24];\nmov.u64 %d4, own;\ncvt.u64.u32 %d2, %r0;\nadd.s64 %d2, %d2, %d4;\n{}{}\
             cvt.u32.u64 %r12, %d2;\nst.global.u32 [%d3], %r12;",
            call("outer"),
            call("inner")
        )
    };
    let input = numbers(32);
    for align in [8, 32, 128] {
        let text = with(&functions, &body(align));
        agrees(&text, (&input, 32), 1, ([1; 3], [32, 1, 1]), &format!("aligned to {align}"));
    }
}

/// Functions that stay calls beside one that does not, with as much of the stack as they have by themselves.
#[test]
fn recursion_beside_a_large_frame() {
    let functions = ".func (.param .b32 r) deep(.param .b32 a) {\n.reg .pred %p;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n\
        .local .align 16 .b8 own[64];\nld.param.b32 %r0, [a];\nmov.u64 %d1, own;\nst.local.u32 [%d1], %r0;\nmov.u32 %r2, 0;\n\
        setp.eq.u32 %p, %r0, 0;\n@%p bra E;\nsub.u32 %r1, %r0, 1;\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; \
        call (y), deep, (x); ld.param.b32 %r2, [y]; }\nE:\nld.local.u32 %r3, [%d1];\nadd.u32 %r2, %r2, %r3;\nst.param.b32 [r], %r2;\nret;\n}\n\
        .func (.param .b32 r) big(.param .b32 a) {\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n.local .align 16 .b8 own[1024];\n\
        ld.param.b32 %r0, [a];\nand.b32 %r1, %r0, 63;\nmul.wide.u32 %d2, %r1, 4;\nmov.u64 %d1, own;\nadd.s64 %d1, %d1, %d2;\n\
        st.local.u32 [%d1], %r0;\nld.local.u32 %r2, [%d1];\nst.param.b32 [r], %r2;\nret;\n}\n";
    let text = with(
        functions,
        "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call (y), big, (x); ld.param.b32 %r12, [y]; }\n\
         { .param .b32 x; .param .b32 y; st.param.b32 [x], %r8; call (y), deep, (x); ld.param.b32 %r13, [y]; }\n\
         add.u32 %r12, %r12, %r13;\nst.global.u32 [%d3], %r12;",
    );
    let input = numbers(32);
    for depth in [3, 22] {
        let shape = ([1; 3], [32, 1, 1]);
        agrees(&text, (&input, 32), depth, shape, "recursion");
        assert!(result(&text, (&input, 32), depth, shape, JIT[0]).is_ok(), "{depth}");
    }
}

/// A register that a call only sometimes sets is 0 otherwise, whatever the call before left in it.
#[test]
fn registers_begin_anew() {
    let sometimes = ".func (.param .b32 r) f(.param .b32 a) {\n.reg .pred %p;\n.reg .b32 %r<4>;\nld.param.b32 %r0, [a];\n\
        setp.eq.u32 %p, %r0, 0;\n@%p mov.u32 %r1, 5;\nst.param.b32 [r], %r1;\nret;\n}\n";
    let text = with(
        sometimes,
        "mov.u32 %r11, 0;\nmov.u32 %r12, 0;\nL:\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r11; call (y), f, (x); \
         ld.param.b32 %r13, [y]; }\nadd.u32 %r12, %r12, %r13;\nadd.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, 4;\n@%p1 bra L;\n\
         st.global.u32 [%d3], %r12;",
    );
    let found = result(&text, (&numbers(32), 32), 1, ([1; 3], [32, 1, 1]), JIT[0]);
    assert_eq!(found, Ok(vec![5; 32]));
}

/// Of 16 bytes that begin at no multiple of 16.
#[test]
fn misaligned_arguments_fault() {
    let text = with(
        ".func (.param .b32 r) f(.param .align 16 .b8 a[32]) {\n.reg .b32 %r<8>;\nld.param.v4.b32 {%r0, %r1, %r2, %r3}, [a+4];\n\
         add.u32 %r0, %r0, %r3;\nst.param.b32 [r], %r0;\nret;\n}\n",
        "{ .param .align 16 .b8 x[32]; .param .b32 y; st.param.b32 [x+4], %r0; call (y), f, (x); ld.param.b32 %r12, [y]; }\n\
         st.global.u32 [%d3], %r12;",
    );
    agrees(&text, (&numbers(32), 32), 1, ([1; 3], [32, 1, 1]), "misaligned");
    assert!(result(&text, (&numbers(32), 32), 1, ([1; 3], [32, 1, 1]), JIT[0]).is_err());
}

/// A fault says in which function it was, and where.
#[test]
fn faults_name_the_function() {
    let bad = ".func bad(.param .b64 a) {\n.reg .b64 %d<2>;\n.reg .b32 %r<2>;\nld.param.b64 %d0, [a];\nld.global.u32 %r0, [%d0];\n\
        st.global.u32 [%d0], %r0;\nret;\n}\n";
    let text = with(
        bad,
        "setp.lt.u32 %p1, %r0, 40;\n@%p1 bra END;\nmul.wide.u32 %d4, %r0, 4096;\nadd.s64 %d4, %d0, %d4;\n\
         { .param .b64 x; st.param.b64 [x], %d4; call bad, (x); }\nst.global.u32 [%d3], 1;",
    );
    let fault = |text: &str, engine| {
        let module = Arc::new(compile(text).unwrap());
        let shape = Shape { threads: 1, engine: Some(engine), ..Shape::new([1; 3], [64, 1, 1]) };
        let buffer =
            |label: &str| Argument::Buffer { bytes: vec![0; 256], label: label.to_owned() };
        let arguments = [buffer("in"), buffer("out"), Argument::Value(vec![0; 4])];
        match run(module, "k", &arguments, &shape) {
            Err(RunError::Failed(LaunchFailure::Fault(fault))) => *fault,
            other => panic!("{:?}", other.map(|o| o.buffers)),
        }
    };
    // A function in no file is told by the call, if that is in one.
    let in_file = text
        .replacen("setp.lt.u32 %p1, %r0, 40;", ".loc 1 11 1\nsetp.lt.u32 %p1, %r0, 40;", 1)
        .replacen("{ .param .b64 x;", ".loc 1 12 5\n{ .param .b64 x;", 1)
        + ".file 1 \"/src/mine.cu\"\n";
    for (text, function, line) in [(&text, "bad", 0), (&in_file, "k", 12)] {
        let (expected, found) = (fault(text, Engine::Interp), fault(text, Engine::Jit));
        assert_eq!((&*expected.place.function, expected.place.line), (function, line));
        assert_eq!((&*found.place.function, found.place.line), (function, line));
        assert_eq!(found.place.file, expected.place.file);
        assert_eq!(found.place.ptx_line, expected.place.ptx_line);
        assert_eq!((found.thread, found.block), (expected.thread, expected.block));
        assert_eq!(found.kernel, "k");
    }
}
