// SPDX-License-Identifier: MIT OR Apache-2.0
//! The address spaces' rules (OpenCL C specification, "Address Space Qualifiers"): what is illegal fails the
//! build with clang's message in the log, what is legal runs and gives the right value.

use std::ptr::null;

use crate::cl;
use crate::common::*;

const CL1: &str = "";
const CL2: &str = "-cl-std=CL2.0";
const CL3: &str = "-cl-std=CL3.0";

/// What a case comes to.
enum Verdict {
    /// The build fails, and its log has these words.
    Fails(&'static str),
    /// The kernel runs, and leaves this value in `p[0]`.
    Gives(i32),
}
use Verdict::{Fails, Gives};

/// What, options, source, verdict. A kernel that runs gets `global int *p` with 1, 2, 3, … in it, and if it has more
/// arguments, `constant int *c` with 10, 20, 30, … and `local int *l` with room for 64.
type Case = (&'static str, &'static str, &'static str, Verdict);

const POINTERS: &[Case] = &[
    (
        "a plain pointer argument",
        CL1,
        "kernel void f(int *p) {}",
        Fails("pointer arguments to kernel functions"),
    ),
    (
        "a plain pointer argument in 3.0",
        CL3,
        "kernel void f(int *p) {}",
        Fails("pointer arguments to kernel functions"),
    ),
    (
        "a private pointer argument",
        CL1,
        "kernel void f(private int *p) {}",
        Fails("pointer arguments to kernel functions"),
    ),
    (
        "both in a helper",
        CL1,
        "void h(int *p, private int *q) { *p = *q; } kernel void f(global int *p) { int a, b = 7; h(&a, &b); *p = a; }",
        Gives(7),
    ),
    (
        "global, constant and local arguments",
        CL1,
        "kernel void f(global int *p, constant int *c, local int *l) { l[0] = c[1]; p[0] = l[0] + 1; }",
        Gives(21),
    ),
    (
        "a pointer to a pointer as an argument",
        CL1,
        "kernel void f(global int *global *p) {}",
        Fails("pointer to a pointer"),
    ),
    (
        "a pointer to a plain pointer",
        CL1,
        "kernel void f(global int **p) {}",
        Fails("pointer arguments to kernel functions"),
    ),
    (
        "a pointer to a local pointer",
        CL1,
        "kernel void f(global int *local *p) {}",
        Fails("pointer to a pointer"),
    ),
    (
        "pointers in a structure as an argument",
        CL1,
        "struct S { global int *q; }; kernel void f(struct S s) {}",
        Fails("may not contain pointers"),
    ),
    (
        "an array of pointers in the kernel",
        CL1,
        "kernel void f(global int *p) { global int *q[2] = {p, p + 2}; *p = *q[1]; }",
        Gives(3),
    ),
];

const GLOBAL: &[Case] = &[
    (
        "a local variable that points to global",
        CL1,
        "kernel void f(global int *p) { global int *q = p; *q = 9; }",
        Gives(9),
    ),
    (
        "an argument of a helper",
        CL1,
        "void h(global int *q) { q[0] = q[3]; } kernel void f(global int *p) { h(p); }",
        Gives(4),
    ),
    (
        "a variable in a function",
        CL1,
        "kernel void f(global int *p) { global int x; *p = x; }",
        Fails("global address space"),
    ),
    (
        "a variable in a function in 3.0",
        CL3,
        "kernel void f(global int *p) { global int x; *p = x; }",
        Fails("global address space"),
    ),
    (
        "a parameter itself",
        CL1,
        "void h(global int x) {}",
        Fails("may not be qualified with an address space"),
    ),
    (
        "a field of a structure",
        CL1,
        "struct S { global int x; };",
        Fails("may not be qualified with an address space"),
    ),
    (
        "a pointer to an image",
        CL1,
        "kernel void f(global image2d_t *p) {}",
        Fails("invalid in OpenCL"),
    ),
    (
        "an image",
        CL1,
        "kernel void f(global image2d_t p) {}",
        Fails("may not be qualified with an address space"),
    ),
    (
        "a variable that is an image",
        CL1,
        "kernel void f(global int *p) { global image2d_t x; }",
        Fails("can only be used as a function parameter"),
    ),
    (
        "a program-scope variable in 1.2",
        CL1,
        "global int x; kernel void f(global int *p) { *p = x; }",
        Fails("must reside in constant address space"),
    ),
    (
        "a program-scope variable in 2.0",
        CL2,
        "global int x = 3; kernel void f(global int *p) { x += p[1]; *p = x; }",
        Gives(5),
    ),
    (
        "a program-scope variable in 3.0",
        CL3,
        "global int x = 3; kernel void f(global int *p) { x += p[1]; *p = x; }",
        Gives(5),
    ),
    (
        "one without a qualifier in 3.0",
        CL3,
        "int x = 4; kernel void f(global int *p) { x++; *p = x; }",
        Gives(5),
    ),
    (
        "one that has no value is zero in 3.0",
        CL3,
        "int x; kernel void f(global int *p) { *p = x - 1; }",
        Gives(-1),
    ),
    (
        "a static variable of a function in 3.0",
        CL3,
        "kernel void f(global int *p) { static int x = 6; *p = x++; }",
        Gives(6),
    ),
    (
        "a program-scope pointer in 3.0",
        CL3,
        "global int x = 3; global int *y = &x; kernel void f(global int *p) { *y += 1; *p = x; }",
        Gives(4),
    ),
];

const CONSTANT: &[Case] = &[
    (
        "a program-scope variable",
        CL1,
        "constant int t[2] = {5, 6}; kernel void f(global int *p) { *p = t[*p & 1]; }",
        Gives(6),
    ),
    (
        "a program-scope variable without a qualifier in 1.2",
        CL1,
        "int x = 3; kernel void f(global int *p) { *p = x; }",
        Fails("must reside in constant address space"),
    ),
    (
        "a program-scope variable in private",
        CL1,
        "private int x = 3; kernel void f(global int *p) { *p = x; }",
        Fails("must reside in constant address space"),
    ),
    (
        "a program-scope variable without a value",
        CL1,
        "constant int t; kernel void f(global int *p) { *p = t; }",
        Fails("must be initialized"),
    ),
    (
        "a value that is computed at compile time",
        CL1,
        "constant int a = 3 * 4 + sizeof(int4); kernel void f(global int *p) { *p = a; }",
        Gives(28),
    ),
    (
        "a value that is not known at compile time",
        CL1,
        "kernel void f(global int *p) { constant int t = *p; *p = t; }",
        Fails("not a compile-time constant"),
    ),
    (
        "in a kernel's outermost scope",
        CL1,
        "kernel void f(global int *p) { constant int t[2] = {5, 6}; *p = t[*p & 1]; }",
        Gives(6),
    ),
    (
        "in a kernel without a value",
        CL1,
        "kernel void f(global int *p) { constant int t; *p = t; }",
        Fails("must be initialized"),
    ),
    (
        "in an inner block",
        CL1,
        "kernel void f(global int *p) { if (*p) { constant int t = 1; *p = t; } }",
        Fails("outermost scope of a kernel"),
    ),
    (
        "in a helper",
        CL1,
        "int h(void) { constant int t = 1; return t; } kernel void f(global int *p) { *p = h(); }",
        Fails("constant address space"),
    ),
    (
        "a write through a pointer",
        CL1,
        "kernel void f(constant int *p) { *p = 1; }",
        Fails("read-only variable"),
    ),
    (
        "a write to a variable",
        CL1,
        "kernel void f(global int *p) { constant int t[1] = {1}; t[0] = 2; }",
        Fails("read-only variable"),
    ),
    (
        "a write to a string",
        CL1,
        "kernel void f(global int *p) { \"text\"[0] = 2; }",
        Fails("read-only variable"),
    ),
    (
        "a string in a private pointer",
        CL1,
        "kernel void f(global int *p) { char *c = \"text\"; *p = *c; }",
        Fails("changes address space"),
    ),
    (
        "a string in a generic pointer",
        CL3,
        "kernel void f(global int *p) { const char *c = \"text\"; *p = *c; }",
        Fails("changes address space"),
    ),
    (
        "a string in a constant pointer",
        CL1,
        "kernel void f(global int *p) { constant char *c = \"text\"; *p = c[1]; }",
        Gives('e' as i32),
    ),
    (
        "a pointer to an image",
        CL1,
        "kernel void f(constant image2d_t *p) {}",
        Fails("invalid in OpenCL"),
    ),
    (
        "an image",
        CL1,
        "kernel void f(constant image2d_t p) {}",
        Fails("may not be qualified with an address space"),
    ),
    (
        "a program-scope image",
        CL1,
        "constant image2d_t x; kernel void f(global int *p) {}",
        Fails("can only be used as a function parameter"),
    ),
];

const LOCAL: &[Case] = &[
    (
        "a variable",
        CL1,
        "kernel void f(global int *p) { local float4 b; b.x = 3; *p = b.x; }",
        Gives(3),
    ),
    (
        "a pointer",
        CL1,
        "local int *h(local int *q) { return q + 1; } kernel void f(global int *p) { local int b[2]; *h(b) = 8; *p = b[1]; }",
        Gives(8),
    ),
    (
        "a variable with a value",
        CL1,
        "kernel void f(global int *p) { local float4 b = (float4)(0); *p = b.x; }",
        Fails("cannot have an initializer"),
    ),
    (
        "a variable with a value in 3.0",
        CL3,
        "kernel void f(global int *p) { local int b = 2; *p = b; }",
        Fails("cannot have an initializer"),
    ),
    (
        "an array with values",
        CL1,
        "kernel void f(global int *p) { local int b[2] = {1, 2}; *p = b[0]; }",
        Fails("cannot have an initializer"),
    ),
    (
        "in an inner block",
        CL1,
        "kernel void f(global int *p) { if (*p) { local int b; b = 1; *p = b; } }",
        Fails("outermost scope of a kernel"),
    ),
    (
        "in a loop's body in 3.0",
        CL3,
        "kernel void f(global int *p) { for (;;) { local int b; b = 1; *p = b; } }",
        Fails("outermost scope of a kernel"),
    ),
    (
        "in a helper",
        CL1,
        "int h(void) { local int b; b = 1; return b; } kernel void f(global int *p) { *p = h(); }",
        Fails("local address space"),
    ),
    (
        "at program scope",
        CL1,
        "local int x; kernel void f(global int *p) { *p = x; }",
        Fails("must reside in constant address space"),
    ),
    (
        "at program scope in 3.0",
        CL3,
        "local int x; kernel void f(global int *p) { *p = x; }",
        Fails("must reside in global or constant address space"),
    ),
];

const PRIVATE: &[Case] = &[
    (
        "what is too large for registers",
        CL1,
        "kernel void f(global int *p) { int a[64]; for (int i = 0; i < 64; i++) a[i] = p[i]; p[0] = a[p[40] & 63]; }",
        Gives(42),
    ),
    ("bool as an argument", CL1, "kernel void f(bool b) {}", Fails("bool")),
    ("size_t as an argument", CL1, "kernel void f(size_t b) {}", Fails("size_t")),
];

const GENERIC: &[Case] = &[
    ("from global in 2.0", CL2, "kernel void f(global int *p) { int *q = p; *q = 5; }", Gives(5)),
    ("from three spaces, in a helper", CL3,
        "int h(int *q) { return *q; }
         kernel void f(global int *p) { local int b; int c = 200; b = 1000; *p = h(p + 4) + h(&b) + h(&c); }", Gives(1205)),
    ("which space is known at run time only", CL3,
        "kernel void f(global int *p, constant int *c, local int *l) { l[0] = 70; int *q = *p ? l : (int *)p; *p = *q; }", Gives(70)),
    ("to_global, to_local, to_private", CL3,
        "int h(int *q) { return (to_global(q) != 0) + 10 * (to_local(q) != 0) + 100 * (to_private(q) != 0); }
         kernel void f(global int *p) { local int b; int c; *p = h(p) + 2 * h(&b) + 3 * h(&c); }", Gives(321)),
    ("what to_global gives is the pointer", CL3,
        "kernel void f(global int *p) { int *q = p + 2; global int *r = to_global(q); p[0] = *r; }", Gives(3)),
    ("get_fence", CL3,
        "kernel void f(global int *p) { local int b; int *q = &b, *r = p;
         *p = (get_fence(q) == CLK_LOCAL_MEM_FENCE) + 2 * (get_fence(r) == CLK_GLOBAL_MEM_FENCE); }", Gives(3)),
    ("a cast back to a named space", CL3,
        "kernel void f(global int *p) { int *q = p + 3; global int *r = (global int *)q; p[0] = *r; }", Gives(4)),
    ("back without a cast", CL3, "kernel void f(global int *p) { int *q = p; global int *r = q; }", Fails("changes address space")),
    ("from constant", CL3, "kernel void f(constant int *p) { int *q = (int *)p; }", Fails("changes address space")),
    ("to constant", CL3, "kernel void f(global int *p) { int *q = p; constant int *r = (constant int *)q; }",
        Fails("changes address space")),
    ("in 1.2 there is none", CL1, "kernel void f(global int *p) { int *q = p; *q = 1; }", Fails("changes address space")),
];

/// Tries all cases of a kind; all that came out otherwise are told.
fn try_all(cases: &[Case]) {
    let setup = Setup::new(0);
    let mut wrong = Vec::new();
    for (what, options, source, verdict) in cases {
        let (program, result, log) = setup.build(source, options);
        match verdict {
            Fails(words) => {
                let said = log.contains("error:") && log.contains(words);
                if result != CL_BUILD_PROGRAM_FAILURE || !said {
                    wrong
                        .push(format!("{what}: {result}, and the log is without `{words}`\n{log}"));
                }
            }
            Gives(value) if result == 0 => {
                let got = value_of(&setup, program);
                if got != *value {
                    wrong.push(format!("{what}: {got} instead of {value}"));
                }
            }
            Gives(_) => wrong.push(format!("{what}: {result}\n{log}")),
        }
        cl!(clReleaseProgram(program));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `p[0]` after the kernel `f` of a program.
fn value_of(setup: &Setup, program: cl_program) -> i32 {
    let mut error = 0;
    let kernel = cl!(clCreateKernel(program, c"f".as_ptr(), &mut error));
    assert_eq!(error, 0);
    let numbers: Vec<i32> = (1..=64).collect();
    let (p, c) =
        (setup.buffer(&numbers), setup.buffer(&numbers.iter().map(|n| 10 * n).collect::<Vec<_>>()));
    assert_eq!(set(kernel, 0, &p), 0);
    // Some have no more.
    if set(kernel, 1, &c) != CL_INVALID_ARG_INDEX {
        assert_eq!(cl!(clSetKernelArg(kernel, 2, 256, null())), 0);
    }
    let result = (setup.run(kernel, 1, None), cl!(clFinish(setup.queue)));
    let value = if result == (0, 0) { setup.read::<i32>(p, 1)[0] } else { i32::MIN };
    cl!(clReleaseKernel(kernel));
    for mem in [p, c] {
        cl!(clReleaseMemObject(mem));
    }
    value
}

#[test]
fn pointers_as_arguments() {
    try_all(POINTERS);
}

#[test]
fn global() {
    try_all(GLOBAL);
}

#[test]
fn constant() {
    try_all(CONSTANT);
}

#[test]
fn local() {
    try_all(LOCAL);
}

#[test]
fn private() {
    try_all(PRIVATE);
}

#[test]
fn generic() {
    try_all(GENERIC);
}

/// No assignment and no cast leads from one named space to another, in any version.
#[test]
fn no_way_leads_from_one_named_space_to_another() {
    let setup = Setup::new(0);
    let spaces = ["global", "constant", "local", "private"];
    for options in [CL1, CL3] {
        for to in spaces {
            // All ways to one space are errors of one build.
            let others: Vec<&str> = spaces.into_iter().filter(|s| *s != to).collect();
            let mut source = String::new();
            for from in &others {
                source += &format!("void assign_{from}({from} int *q) {{ {to} int *r = q; }}\n");
                source += &format!(
                    "void cast_{from}({from} int *q) {{ {to} int *r = ({to} int *)q; }}\n"
                );
            }
            let (program, result, log) = setup.build(&source, options);
            assert_eq!(result, CL_BUILD_PROGRAM_FAILURE, "{source}");
            for line in 1..=2 * others.len() {
                let at = format!("program.cl:{line}:");
                let said =
                    log.lines().any(|l| l.starts_with(&at) && l.contains("changes address space"));
                assert!(said, "line {line} of\n{source}{log}");
            }
            cl!(clReleaseProgram(program));
        }
    }
}

/// 64 KB of constant memory and eight constant arguments, which all work-groups share.
#[test]
fn constant_memory_is_large_enough_and_shared() {
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o, constant int *a, constant int *b, constant int *c, constant int *d,
            constant int *e, constant int *g, constant int *h, constant int *big) {
        int i = get_global_id(0);
        o[i] = a[0] + b[0] + c[0] + d[0] + e[0] + g[0] + h[0] + big[16383 - i];
    }";
    let kernel = setup.kernel(source, CL1, "f");
    let out = setup.buffer(&[0i32; 256]);
    assert_eq!(set(kernel, 0, &out), 0);
    for n in 1..8u32 {
        assert_eq!(set(kernel, n, &setup.buffer(&[10i32.pow(n)])), 0);
    }
    let big: Vec<i32> = (0..16384).collect();
    assert_eq!(set(kernel, 8, &setup.buffer(&big)), 0);
    assert_eq!(setup.run(kernel, 256, Some(32)), 0);
    let expected: Vec<i32> = (0..256).map(|i| 11_111_110 + 16383 - i).collect();
    assert_eq!(setup.read::<i32>(out, 256), expected);
    // A table of the program's own of that size.
    let source = "constant uchar t[65536] = {1, 2, 3}; kernel void f(global int *o) { o[0] = t[2] + t[65535] + t[o[1]]; }";
    let kernel = setup.kernel(source, CL1, "f");
    let out = setup.buffer(&[0i32, 1]);
    assert_eq!((set(kernel, 0, &out), setup.run(kernel, 1, None)), (0, 0));
    assert_eq!(setup.read::<i32>(out, 1), [5]);
}

/// What a kernel has of local memory, and what its arguments ask for, is held against the device at the enqueue.
#[test]
fn local_memory_has_a_limit() {
    let setup = Setup::new(0);
    let mut most = 0u64;
    let to = std::ptr::from_mut(&mut most).cast();
    let nowhere = std::ptr::null_mut();
    assert_eq!(cl!(clGetDeviceInfo(setup.device, CL_DEVICE_LOCAL_MEM_SIZE, 8, to, nowhere)), 0);
    let source = "kernel void f(global int *o, local int *l) { local int own[256];
        for (int i = 0; i < 256; i++) own[i] = i; l[0] = 2; *o = own[*o + 1] + l[0]; }";
    let kernel = setup.kernel(source, CL1, "f");
    let out = setup.buffer(&[0i32]);
    assert_eq!(set(kernel, 0, &out), 0);
    let ask = |bytes: u64| cl!(clSetKernelArg(kernel, 1, bytes as usize, null()));
    assert_eq!((ask(most), setup.run(kernel, 1, None)), (0, CL_OUT_OF_RESOURCES));
    assert_eq!((ask(most - 1024 + 1), setup.run(kernel, 1, None)), (0, CL_OUT_OF_RESOURCES));
    assert_eq!((ask(most - 1024), setup.run(kernel, 1, None)), (0, 0));
    assert_eq!(setup.read::<i32>(out, 1), [3]);
    // Variables alone: the build warns, and another kernel of the program runs.
    let source = format!(
        "kernel void big(global int *o) {{ local int l[{}]; l[*o] = 1; barrier(1); *o = l[*o + 1]; }}
        kernel void small(global int *o) {{ *o = 7; }}",
        most / 4 + 1
    );
    let (program, result, log) = setup.build(&source, CL1);
    let words = format!("warning: kernel 'big' has {} bytes of local memory", most + 4);
    assert!(result == 0 && log.contains(&words) && !log.contains("cuda"), "{log}");
    let mut error = 0;
    for (name, expected) in [(c"big", CL_OUT_OF_RESOURCES), (c"small", 0)] {
        let kernel = cl!(clCreateKernel(program, name.as_ptr(), &mut error));
        assert_eq!(set(kernel, 0, &out), 0);
        assert_eq!((error, setup.run(kernel, 1, None)), (0, expected));
    }
    assert_eq!(setup.read::<i32>(out, 1), [7]);
}
