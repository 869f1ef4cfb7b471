// SPDX-License-Identifier: MIT OR Apache-2.0
//! The address spaces' rules (OpenCL C specification, "Address Space Qualifiers"): what is illegal fails the
//! build with clang's message in the log, what is legal builds.

use crate::cl;
use crate::common::*;

const CL3: &str = "-cl-std=CL3.0";
const CL2: &str = "-cl-std=CL2.0";

/// (what, options, source, a part of the error or "" where it is legal)
const CASES: &[(&str, &str, &str, &str)] = &[
    ("a plain pointer argument", "", "kernel void f(int *p) {}", "pointer"),
    ("a private pointer argument", "", "kernel void f(private int *p) {}", "pointer"),
    (
        "a private pointer of a helper",
        "",
        "void h(int *p, private int *q) { *p = *q; } kernel void f(global int *o) { int a, b = 1; h(&a, &b); *o = a; }",
        "",
    ),
    (
        "global, constant and local arguments",
        "",
        "kernel void f(global int *a, constant int *b, local int *c) { c[0] = b[0]; a[0] = c[0]; }",
        "",
    ),
    ("a pointer to a pointer in 1.2", "", "kernel void f(global int *global *p) {}", "pointer"),
    (
        "a local pointer to global",
        "",
        "kernel void f(global int *p) { global int *q = p; *q = 1; }",
        "",
    ),
    (
        "a global variable in a function",
        "",
        "kernel void f(global int *p) { global int x; *p = x; }",
        "global",
    ),
    (
        "a program-scope global in 1.2",
        "",
        "global int x; kernel void f(global int *p) { *p = x; }",
        "address space",
    ),
    (
        "a program-scope global in 2.0",
        CL2,
        "global int x = 3; kernel void f(global int *p) { *p = x; }",
        "",
    ),
    (
        "a program-scope global in 3.0",
        CL3,
        "global int x = 3; kernel void f(global int *p) { *p = x; }",
        "",
    ),
    (
        "a program-scope constant",
        "",
        "constant int t[2] = {1, 2}; kernel void f(global int *p) { *p = t[*p & 1]; }",
        "",
    ),
    (
        "a program-scope constant without a value",
        "",
        "constant int t; kernel void f(global int *p) { *p = t; }",
        "initializ",
    ),
    (
        "a constant in a kernel",
        "",
        "kernel void f(global int *p) { constant int t[2] = {1, 2}; *p = t[*p & 1]; }",
        "",
    ),
    (
        "a constant in a kernel without a value",
        "",
        "kernel void f(global int *p) { constant int t; *p = t; }",
        "initializ",
    ),
    (
        "a constant that is not one at compile time",
        "",
        "kernel void f(global int *p) { constant int t = *p; *p = t; }",
        "constant",
    ),
    ("a write to constant", "", "kernel void f(constant int *p) { *p = 1; }", "const"),
    (
        "a string in a private pointer",
        "",
        "kernel void f(global int *p) { char *c = \"text\"; *p = *c; }",
        "address space",
    ),
    (
        "a string in a constant pointer",
        "",
        "kernel void f(global int *p) { constant char *c = \"text\"; *p = *c; }",
        "",
    ),
    (
        "a local variable",
        "",
        "kernel void f(global int *p) { local float4 b; b.x = 1; *p = b.x; }",
        "",
    ),
    (
        "a local variable with a value",
        "",
        "kernel void f(global int *p) { local float4 b = (float4)(0); *p = b.x; }",
        "initializ",
    ),
    (
        "a local variable in an inner block",
        "",
        "kernel void f(global int *p) { if (*p) { local int b; b = 1; *p = b; } }",
        "local",
    ),
    (
        "a local variable in a helper",
        "",
        "int h(void) { local int b; b = 1; return b; } kernel void f(global int *p) { *p = h(); }",
        "local",
    ),
    (
        "global from local",
        "",
        "kernel void f(global int *p, local int *q) { p = q; }",
        "address space",
    ),
    (
        "a cast from local to global",
        "",
        "kernel void f(global int *p, local int *q) { p = (global int *)q; }",
        "address space",
    ),
    (
        "private from global in 1.2",
        "",
        "kernel void f(global int *p) { private int *q = p; *q = 1; }",
        "address space",
    ),
    ("generic from global in 2.0", CL2, "kernel void f(global int *p) { int *q = p; *q = 1; }", ""),
    (
        "generic from global in 3.0",
        CL3,
        "kernel void f(global int *p, local int *l) { int *q = *p ? p : (int *)l; *q = 1; }",
        "",
    ),
    (
        "to_global in 3.0",
        CL3,
        "kernel void f(global int *p) { int *q = p; global int *r = to_global(q); *r = to_local(q) == 0; }",
        "",
    ),
    (
        "generic from constant",
        CL3,
        "kernel void f(constant int *p) { int *q = (int *)p; }",
        "address space",
    ),
    ("bool as an argument", "", "kernel void f(bool b) {}", "bool"),
    ("size_t as an argument", "", "kernel void f(size_t b) {}", "size_t"),
    (
        "recursion's frame",
        "",
        "kernel void f(global int *p) { int a[64]; for (int i = 0; i < 64; i++) a[i] = p[i]; p[0] = a[p[1] & 63]; }",
        "",
    ),
];

#[test]
fn rules() {
    let setup = Setup::new(0);
    let mut wrong = Vec::new();
    for (what, options, source, error) in CASES {
        let (program, result, log) = setup.build(source, options);
        let as_said = match error.is_empty() {
            true => result == 0,
            false => {
                result == CL_BUILD_PROGRAM_FAILURE && log.contains("error:") && log.contains(error)
            }
        };
        if !as_said {
            wrong.push(format!("{what}: {result}\n{log}"));
        }
        cl!(clReleaseProgram(program));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
