// SPDX-License-Identifier: MIT OR Apache-2.0
use expect_test::{Expect, expect};

use super::handles::MOST_COMPARED;
use super::*;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// The kernel with what it calls, as text; and whether anything was put in.
fn inlined(text: &str) -> (String, bool) {
    let ast = margay_ptx::parse(&format!("{HEAD}{text}")).expect("it parses");
    let mut module = crate::lower(&ast).unwrap_or_else(|e| panic!("{e:?}"));
    let entry = module.functions.iter().position(|f| f.is_entry).expect("a kernel");
    let found = inline(&module, FuncId(entry as u32), 16, module.locs.len());
    let changed = found.is_some();
    if let Some(Inlined { function, locs }) = found {
        module.functions[entry] = function;
        module.locs.extend(locs.into_iter().map(|origin| origin.loc));
    }
    crate::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let f = &module.functions[entry];
    let mut out = format!("frame {} align {}\n", f.frame_size, f.frame_align);
    for (b, block) in f.blocks.iter().enumerate() {
        out += &format!("b{b}:\n");
        block.insts.iter().for_each(|i| out += &format!("  {i}\n"));
        out += &format!("  {}\n", block.term);
    }
    (out, changed)
}

fn check(text: &str, expected: Expect) {
    let (found, changed) = inlined(text);
    assert!(changed);
    expected.assert_eq(&found);
}

const ADD: &str = ".func (.param .b32 r) add(.param .b32 a, .param .b32 b) {\n.reg .b32 %r<4>;\nld.param.b32 %r0, [a];\n\
    ld.param.b32 %r1, [b];\nadd.s32 %r2, %r0, %r1;\nst.param.b32 [r], %r2;\nret;\n}\n";

fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{\n.reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\nld.param.u64 %d0, [out];\n\
         mov.u32 %r0, %tid.x;\n{body}\nst.global.u32 [%d0], %r1;\nret;\n}}\n"
    )
}

const CALL: &str = "{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r0; st.param.b32 [b], 7; \
    call (r), add, (a, b); ld.param.b32 %r1, [r]; }";

#[test]
fn arguments_and_results_are_copies() {
    check(
        &format!("{ADD}{}", kernel(CALL)),
        expect![[r#"
        frame 0 align 16
        b0:
          %0 = ld.i64 {param} 0x0 !6
          %2 = sreg.i32 {tid.x} !7
          %9 = add.i32 %2, 0x7 !11
          st.i32 {global} %0, %9 !9
          exit
    "#]],
    );
}

#[test]
fn a_call_in_a_loop_of_a_function_that_calls() {
    let twice = ".func (.param .b32 r) twice(.param .b32 a) {\n.reg .pred %p;\n.reg .b32 %r<4>;\nld.param.b32 %r0, [a];\n\
        setp.lt.s32 %p, %r0, 0;\n@%p bra OUT;\n{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r0; \
        st.param.b32 [y], %r0; call (z), add, (x, y); ld.param.b32 %r0, [z]; }\nOUT:\nst.param.b32 [r], %r0;\nret;\n}\n";
    let body = "mov.u32 %r1, 1;\nROUND:\n{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), twice, (a); \
        ld.param.b32 %r1, [r]; }\nsetp.lt.s32 %p0, %r1, %r0;\n@%p0 bra ROUND;";
    check(
        &format!("{ADD}{twice}{}", kernel(body)),
        expect![[r#"
        frame 0 align 16
        b0:
          %0 = ld.i64 {param} 0x0 !13
          %2 = sreg.i32 {tid.x} !14
          %3 = mov.i32 0x1 !15
          br b1
        b1:
          %10 = mov.i32 %3 !17
          %9 = icmp.i32 {lt.s} %10, 0x0 !23
          condbr %9, b3, b2
        b2:
          %11 = mov.i32 %10 !25
          %12 = mov.i32 %10 !25
          %10 = add.i32 %11, %12 !29
          br b3
        b3:
          %3 = mov.i32 %10 !27
          %6 = icmp.i32 {lt.s} %3, %2 !18
          condbr %6, b1, b4
        b4:
          st.i32 {global} %0, %3 !20
          exit
    "#]],
    );
}

#[test]
fn frames_lie_where_calls_would_put_them() {
    let sum = ".func (.param .b32 r) sum(.param .align 8 .b8 a[16]) {\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n\
        .local .align 32 .b8 own[40];\nld.param.b32 %r0, [a+4];\nld.param.b32 %r1, [a+12];\nadd.s32 %r2, %r0, %r1;\n\
        mov.u64 %d0, own;\nst.local.u32 [%d0+8], %r2;\nst.param.b32 [r], %r2;\nret;\n}\n";
    let body = "{ .param .align 8 .b8 a[16]; .param .b32 r; st.param.b32 [a+4], %r0; st.param.b32 [a+12], 5; \
        call (r), sum, (a); ld.param.b32 %r1, [r]; }";
    check(
        &format!("{sum}{}", kernel(body)),
        expect![[r#"
            frame 144 align 16
            b0:
              %0 = ld.i64 {param} 0x0 !8
              %2 = sreg.i32 {tid.x} !9
              %12 = add.i32 %2, 0x5 !15
              %14 = addr {local=80} !16
              st.i32 {local offset=8} %14, %12 !17
              st.i32 {global} %0, %12 !11
              exit
        "#]],
    );
}

#[test]
fn double_words_stay_whole() {
    let sum = ".func (.param .align 8 .b8 r[16]) next(.param .align 8 .b8 a[16]) {\n.reg .b64 %d<4>;\nld.param.v2.b64 {%d0, %d1}, [a];\n\
        add.s64 %d0, %d0, %d1;\nst.param.b64 [r], %d0;\nst.param.b64 [r+8], %d1;\nret;\n}\n";
    let body = "cvt.u64.u32 %d1, %r0;\n{ .param .align 8 .b8 a[16]; .param .align 8 .b8 r[16]; st.param.b64 [a], %d1; \
        st.param.b64 [a+8], 5; call (r), next, (a); ld.param.b64 %d2, [r]; ld.param.b32 %r2, [r+8]; }\ncvt.u32.u64 %r1, %d2;\nadd.u32 %r1, %r1, %r2;";
    check(
        &format!("{sum}{}", kernel(body)),
        expect![[r#"
        frame 80 align 16
        b0:
          %0 = ld.i64 {param} 0x0 !6
          %2 = sreg.i32 {tid.x} !7
          %12 = zext.i64.i32 %2 !8
          %12 = add.i64 %12, 0x5 !15
          %35 = mov.i64 %12 !16
          %31 = trunc.i32.i64 0x5 !9
          %10 = trunc.i32.i64 %35 !10
          %10 = add.i32 %10, %31 !11
          st.i32 {global} %0, %10 !12
          exit
    "#]],
    );
}

#[test]
fn calls_that_stay() {
    let takes_stack =
        ADD.replace("add.s32", ".reg .b64 %s<2>;\nmov.u64 %s1, 64;\nalloca.u64 %s0, %s1;\nadd.s32");
    let (_, changed) = inlined(&format!("{takes_stack}{}", kernel(CALL)));
    assert!(!changed, "a function that takes stack");
    let longer = |n| {
        let chain = "add.s32 %r0, %r0, %r1;\n".repeat(n);
        ADD.replace("add.s32 %r2", &format!("{chain}add.s32 %r2"))
    };
    let (_, changed) = inlined(&format!("{}{}", longer(MOST_INSTRUCTIONS), kernel(CALL)));
    assert!(!changed, "a function for which there is no room");
    // What does not fit once more stays beside what was put in.
    let three = kernel(&CALL.repeat(3));
    let (text, changed) = inlined(&format!("{}{three}", longer(MOST_INSTRUCTIONS * 2 / 5)));
    assert!(changed);
    assert_eq!(text.matches("call ").count(), 1);
}

/// `%r1` from a call of the function whose handle is in `%d1`.
const BY_HANDLE: &str = "{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r0; st.param.b32 [b], 7; \
    P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\ncall (r), %d1, (a, b), P; ld.param.b32 %r1, [r]; }";

#[test]
fn a_function_that_calls_itself_is_put_in_once() {
    let itself = ADD.replace("add.s32 %r2, %r0, %r1;", &CALL.replace("%r1", "%r2"));
    check(
        &format!("{itself}{}", kernel(CALL)),
        expect![[r#"
        frame 0 align 16
        b0:
          %0 = ld.i64 {param} 0x0 !6
          %2 = sreg.i32 {tid.x} !7
          call {fn=0 top=16 (%2:i32, 0x7:i32) -> (%14:i32)} !11
          st.i32 {global} %0, %14 !9
          exit
    "#]],
    );
    // With a frame, where a call of the body that was put in would have its own, behind the address to return to.
    let framed = itself.replace(".reg", ".local .b32 own[4];\n.reg");
    let (text, _) = inlined(&format!("{framed}{}", kernel(CALL)));
    assert!(!text.contains("top=") && text.starts_with("frame 32 "), "{text}");
    // Another body has a frame that ends behind that one's.
    let wide = ".func wide(.param .b32 a) {\n.local .b32 own[12];\nret;\n}\n";
    let more = "{ .param .b32 a; st.param.b32 [a], %r0; call wide, (a); }";
    let (text, _) = inlined(&format!("{framed}{wide}{}", kernel(&format!("{CALL}\n{more}"))));
    assert!(text.contains("top=32 ") && text.starts_with("frame 64 "), "{text}");
    // One that is large stays a call.
    let long = itself.replace(
        "{ .param",
        &format!("{}{{ .param", "add.s32 %r0, %r0, %r1;\n".repeat(MOST_RECURSIVE)),
    );
    let (text, changed) = inlined(&format!("{long}{}", kernel(CALL)));
    assert!(!changed, "{text}");
}

#[test]
fn handles_are_compared_with_what_they_may_reach() {
    let twice = ADD.replace(" add(", " sub(").replace("add.s32", "sub.s32");
    let other = ".func other(.param .b64 a) {\nret;\n}\n";
    let handles = "mov.u64 %d1, add;\nmov.u64 %d2, sub;\nmov.u64 %d3, other;\nsetp.eq.s32 %p0, %r0, 0;\nselp.b64 %d1, %d1, %d2, %p0;\n";
    check(
        &format!("{ADD}{twice}{other}{}", kernel(&format!("{handles}{BY_HANDLE}"))),
        expect![[r#"
        frame 0 align 16
        b0:
          %0 = ld.i64 {param} 0x0 !12
          %2 = sreg.i32 {tid.x} !13
          %3 = addr {fn=0} !14
          %6 = addr {fn=1} !15
          %9 = icmp.i32 {eq} %2, 0x0 !17
          %3 = select.i64 %3, %6, %9 !18
          %14 = addr {fn=0} !20
          %15 = icmp.i64 {eq} %3, %14 !20
          condbr %15, b4, b1
        b1:
          %17 = icmp.i64 {eq} %3, %6 !20
          condbr %17, b3, b2
        b2:
          call {to=%3 (%2:i32, 0x7:i32) -> (%12:i32)} !20
          br b5
        b3:
          %12 = sub.i32 %2, 0x7 !25
          br b5
        b4:
          %12 = add.i32 %2, 0x7 !23
          br b5
        b5:
          st.i32 {global} %0, %12 !21
          exit
    "#]],
    );
    // Of too many none is compared.
    let names: Vec<String> = (0..=MOST_COMPARED).map(|n| format!("add{n}")).collect();
    let all: String = names.iter().map(|name| ADD.replace(" add(", &format!(" {name}("))).collect();
    let taken: String = names.iter().map(|name| format!("mov.u64 %d1, {name};\n")).collect();
    let (text, changed) = inlined(&format!("{all}{}", kernel(&format!("{taken}{BY_HANDLE}"))));
    assert!(!changed, "{text}");
}

#[test]
fn bodies_without_frames_are_put_into_functions() {
    let framed = ADD.replace(" add(", " framed(").replace(".reg", ".local .b32 own[4];\n.reg");
    let calls = format!("{CALL}\n{}", CALL.replace(" add,", " framed,").replace("%r1", "%r2"));
    let outer = format!(
        ".func (.param .b32 s) outer(.param .b32 t) {{\n.reg .b32 %r<8>;\nld.param.b32 %r0, [t];\n{calls}\n\
        add.s32 %r2, %r1, %r2;\nst.param.b32 [s], %r2;\nret;\n}}\n"
    );
    let text = format!("{HEAD}{ADD}{framed}{outer}{}", kernel(""));
    let ast = margay_ptx::parse(&text).expect("it parses");
    let module = crate::lower(&ast).unwrap_or_else(|e| panic!("{e:?}"));
    let id = module.functions.iter().position(|f| &*f.name == "outer").expect("it is there");
    let found =
        inline(&module, FuncId(id as u32), 16, module.locs.len()).expect("a body was put in");
    let names =
        callees(&module, &found.function).map(|f| module.functions[f.0 as usize].name.clone());
    assert_eq!(names.collect::<Vec<_>>(), ["framed".into()]);
    assert_eq!(found.function.frame_size, module.functions[id].frame_size);
}
