// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: from sources and binaries, builds, compiled parts and links, queries.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use super::{ONE, World, asks, fails, makes, note, refuses, told};
use crate::cl;
use crate::common::*;

#[test]
fn making() {
    let w = World::new();
    let (context, device, none) = (w.setup.context, w.setup.device, null_mut::<c_void>());
    let (mut text, mut no_text) = (c"".as_ptr(), null::<c_char>());
    let (bytes, length) = (*b"junk", 4usize);
    let (mut binary, mut no_binary) = (bytes.as_ptr(), null());
    let (status, name) = (null_mut(), c"nothing".as_ptr());
    for junk in [none, device] {
        refuses!(CL_INVALID_CONTEXT:
            clCreateProgramWithSource(junk, 1, &mut text, null()),
            clCreateProgramWithBinary(junk, 1, &device, &length, &mut binary, status),
            clCreateProgramWithBuiltInKernels(junk, 1, &device, name),
            clCreateProgramWithIL(junk, bytes.as_ptr().cast(), 4));
    }
    refuses!(CL_INVALID_VALUE:
        clCreateProgramWithSource(context, 0, &mut text, null()),
        clCreateProgramWithSource(context, 1, null_mut(), null()),
        clCreateProgramWithSource(context, 1, &mut no_text, null()),
        clCreateProgramWithBinary(context, 0, &device, &length, &mut binary, status),
        clCreateProgramWithBinary(context, 1, null(), &length, &mut binary, status),
        clCreateProgramWithBinary(context, 1, &device, null(), &mut binary, status),
        clCreateProgramWithBinary(context, 1, &device, &length, null_mut(), status),
        clCreateProgramWithBinary(context, 1, &device, &0, &mut binary, status),
        clCreateProgramWithBinary(context, 1, &device, &length, &mut no_binary, status),
        clCreateProgramWithBuiltInKernels(context, 0, &device, name),
        clCreateProgramWithBuiltInKernels(context, 1, null(), name),
        clCreateProgramWithBuiltInKernels(context, 1, &device, null()),
        clCreateProgramWithBuiltInKernels(context, 1, &device, name));
    refuses!(CL_INVALID_DEVICE:
        clCreateProgramWithBinary(context, 1, &context, &length, &mut binary, status),
        clCreateProgramWithBuiltInKernels(context, 1, &context, name));
    refuses!(CL_INVALID_BINARY:
        clCreateProgramWithBinary(context, 1, &device, &length, &mut binary, status));
    // The status is the device's own.
    let mut status = 9;
    refuses!(CL_INVALID_BINARY:
        clCreateProgramWithBinary(context, 1, &device, &length, &mut binary, &mut status));
    assert_eq!(status, CL_INVALID_BINARY);
    refuses!(CL_INVALID_VALUE:
        clCreateProgramWithBinary(context, 1, &device, &0, &mut binary, &mut status));
    assert_eq!(status, CL_INVALID_VALUE);
    refuses!(CL_INVALID_OPERATION: clCreateProgramWithIL(context, bytes.as_ptr().cast(), 4));
    for junk in [none, device] {
        fails!(CL_INVALID_PROGRAM:
            clRetainProgram(junk), clReleaseProgram(junk), clSetProgramReleaseCallback(junk, None, none),
            clSetProgramSpecializationConstant(junk, 0, 4, bytes.as_ptr().cast()),
            clGetProgramInfo(junk, CL_PROGRAM_CONTEXT, 0, none, null_mut()),
            clGetProgramBuildInfo(junk, device, CL_PROGRAM_BUILD_LOG, 0, none, null_mut()));
    }
    fails!(CL_INVALID_OPERATION:
        clSetProgramReleaseCallback(w.program, Some(ended), none),
        clSetProgramSpecializationConstant(w.program, 0, 4, bytes.as_ptr().cast()));
    asks!(clGetProgramInfo(w.program), CL_PROGRAM_CONTEXT);
    asks!(clGetProgramBuildInfo(w.program, device), CL_PROGRAM_BUILD_STATUS);
    let log = CL_PROGRAM_BUILD_LOG;
    fails!(CL_INVALID_DEVICE: clGetProgramBuildInfo(w.program, context, log, 0, none, null_mut()));
    let unbuilt = w.setup.source(ONE);
    for what in [
        CL_PROGRAM_NUM_KERNELS,
        CL_PROGRAM_KERNEL_NAMES,
        CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT,
        CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT,
    ] {
        fails!(CL_INVALID_PROGRAM_EXECUTABLE: clGetProgramInfo(unbuilt, what, 0, none, null_mut()));
    }
    told("Programs");
}

unsafe extern "C" fn ended(_: cl_program, _: *mut c_void) {}

#[test]
fn builds() {
    let w = World::new();
    let (context, device, none) = (w.setup.context, w.setup.device, null_mut::<c_void>());
    let (p, o, no_header, no_name) = (w.setup.source(ONE), null(), null(), null_mut());
    let mut name = c"h.h".as_ptr();
    let header = w.setup.source("\n");
    for junk in [none, device] {
        fails!(CL_INVALID_PROGRAM:
            clBuildProgram(junk, 0, null(), o, None, none),
            clCompileProgram(junk, 0, null(), o, 0, no_header, no_name, None, none));
    }
    fails!(CL_INVALID_VALUE:
        clBuildProgram(p, 1, null(), o, None, none), clBuildProgram(p, 0, &device, o, None, none),
        clBuildProgram(p, 0, null(), o, None, context),
        clCompileProgram(p, 1, null(), o, 0, no_header, no_name, None, none),
        clCompileProgram(p, 0, &device, o, 0, no_header, no_name, None, none),
        clCompileProgram(p, 0, null(), o, 0, no_header, no_name, None, context),
        clCompileProgram(p, 0, null(), o, 0, &header, no_name, None, none),
        clCompileProgram(p, 0, null(), o, 0, no_header, &mut name, None, none),
        clCompileProgram(p, 0, null(), o, 1, &header, no_name, None, none),
        clCompileProgram(p, 0, null(), o, 1, no_header, &mut name, None, none));
    fails!(CL_INVALID_DEVICE:
        clBuildProgram(p, 1, &context, o, None, none),
        clCompileProgram(p, 1, &context, o, 0, no_header, no_name, None, none));
    for wrong in [c"-cl-no-such-option", c"-create-library"] {
        let wrong = wrong.as_ptr();
        fails!(CL_INVALID_BUILD_OPTIONS: clBuildProgram(p, 0, null(), wrong, None, none));
        fails!(CL_INVALID_COMPILER_OPTIONS:
            clCompileProgram(p, 0, null(), wrong, 0, no_header, no_name, None, none));
    }
    let bad = w.setup.source("kernel void f() { no; }");
    fails!(CL_BUILD_PROGRAM_FAILURE: clBuildProgram(bad, 0, null(), o, None, none));
    fails!(CL_COMPILE_PROGRAM_FAILURE:
        clCompileProgram(bad, 0, null(), o, 0, no_header, no_name, None, none));
    let foreign = w.other.source("\n");
    fails!(CL_INVALID_CONTEXT:
        clCompileProgram(p, 0, null(), o, 1, &foreign, &mut name, None, none));
    // It has kernels.
    let held = makes!(clCreateKernel(w.program, c"f".as_ptr()));
    fails!(CL_INVALID_OPERATION:
        clBuildProgram(w.program, 0, null(), o, None, none),
        clCompileProgram(w.program, 0, null(), o, 0, no_header, no_name, None, none));
    cl!(clReleaseKernel(held));
    links(&w);
    building(&w);
    told("Builds, compiled parts and links");
}

/// A program, compiled but not linked.
pub fn compiled(setup: &Setup, text: &str) -> cl_program {
    let (p, none) = (setup.source(text), null_mut());
    let code = cl!(clCompileProgram(p, 0, null(), null(), 0, null(), null_mut(), None, none));
    assert_eq!(code, 0);
    p
}

fn links(w: &World) {
    let (context, device, none) = (w.setup.context, w.setup.device, null_mut::<c_void>());
    let (o, n) = (null(), null());
    let p = compiled(&w.setup, ONE);
    let foreign = compiled(&w.other, ONE);
    for junk in [none, device] {
        refuses!(CL_INVALID_CONTEXT: clLinkProgram(junk, 0, n, o, 1, &p, None, none));
        refuses!(CL_INVALID_PROGRAM: clLinkProgram(context, 0, n, o, 1, &junk, None, none));
    }
    refuses!(CL_INVALID_CONTEXT: clLinkProgram(context, 0, n, o, 1, &foreign, None, none));
    refuses!(CL_INVALID_VALUE:
        clLinkProgram(context, 1, n, o, 1, &p, None, none),
        clLinkProgram(context, 0, &device, o, 1, &p, None, none),
        clLinkProgram(context, 0, n, o, 0, null(), None, none),
        clLinkProgram(context, 0, n, o, 0, &p, None, none),
        clLinkProgram(context, 0, n, o, 1, null(), None, none),
        clLinkProgram(context, 0, n, o, 1, &p, None, context));
    refuses!(CL_INVALID_DEVICE: clLinkProgram(context, 1, &context, o, 1, &p, None, none));
    let wrong = c"-cl-no-such-option".as_ptr();
    let compiling = c"-DN=1".as_ptr();
    refuses!(CL_INVALID_LINKER_OPTIONS:
        clLinkProgram(context, 0, n, wrong, 1, &p, None, none),
        clLinkProgram(context, 0, n, compiling, 1, &p, None, none));
    // One of two is compiled; none is; an executable is nothing to link.
    let source = w.setup.source("\n");
    refuses!(CL_INVALID_OPERATION:
        clLinkProgram(context, 0, n, o, 2, [p, source].as_ptr(), None, none),
        clLinkProgram(context, 0, n, o, 1, &source, None, none),
        clLinkProgram(context, 0, n, o, 1, &w.program, None, none));
    // A failed link gives a program too, for its log.
    let incomplete = compiled(&w.setup, "int g(void); kernel void f(global int *o) { *o = g(); }");
    let mut error = 0;
    let failed = cl!(clLinkProgram(context, 0, n, o, 1, &incomplete, None, none, &mut error));
    assert_eq!((error, failed.is_null()), (CL_LINK_PROGRAM_FAILURE, false));
    note("clLinkProgram", "CL_LINK_PROGRAM_FAILURE");
    // What was linked has neither a source nor a binary that it was made from.
    let linked = makes!(clLinkProgram(context, 0, n, o, 1, &p, None, none));
    fails!(CL_INVALID_OPERATION:
        clBuildProgram(linked, 0, null(), o, None, none),
        clCompileProgram(linked, 0, null(), o, 0, null(), null_mut(), None, none));
    unlinkable_binary(w, incomplete);
}

/// A program's binary for its one device.
pub fn binary(program: cl_program) -> Vec<u8> {
    let (mut size, none) = (0usize, null_mut());
    let to = std::ptr::from_mut(&mut size).cast::<c_void>();
    assert_eq!(cl!(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, 8, to, none)), 0);
    let mut bytes = vec![0u8; size];
    let mut pointer = bytes.as_mut_ptr();
    let to = std::ptr::from_mut(&mut pointer).cast::<c_void>();
    assert_eq!(cl!(clGetProgramInfo(program, CL_PROGRAM_BINARIES, 8, to, none)), 0);
    bytes
}

pub fn from_binary(setup: &Setup, bytes: &[u8]) -> cl_program {
    let (mut binary, length) = (bytes.as_ptr(), bytes.len());
    let (context, device) = (setup.context, setup.device);
    makes!(clCreateProgramWithBinary(context, 1, &device, &length, &mut binary, null_mut()))
}

/// A part that alone is no executable, as a binary: a build that fails leaves none.
fn unlinkable_binary(w: &World, part: cl_program) {
    let bytes = binary(part);
    let p = from_binary(&w.setup, &bytes);
    let none = null_mut::<c_void>();
    fails!(CL_BUILD_PROGRAM_FAILURE: clBuildProgram(p, 0, null(), null(), None, none));
    fails!(CL_INVALID_BINARY: clBuildProgram(p, 0, null(), null(), None, none));
}

/// A handle for another thread.
#[derive(Clone, Copy)]
struct Shared(cl_program);
// SAFETY: the driver's handles are for every thread.
unsafe impl Send for Shared {}

impl Shared {
    fn build(self) -> cl_int {
        cl!(clBuildProgram(self.0, 0, null(), null(), None, null_mut()))
    }
}

/// Another thread builds; what asks for the same program meanwhile is refused.
fn building(w: &World) {
    let (context, none) = (w.setup.context, null_mut::<c_void>());
    let state = |p: cl_program| {
        let mut state = 9;
        let to = std::ptr::from_mut(&mut state).cast::<c_void>();
        let what = CL_PROGRAM_BUILD_STATUS;
        cl!(clGetProgramBuildInfo(p, w.setup.device, what, 4, to, null_mut()));
        state
    };
    // This thread may sleep all through one build, but not through many.
    for attempt in 0..20 {
        let many: String = (0..400)
            .map(|i| format!("int f{i}(int x) {{ return x * {attempt} + {i}; }}\n"))
            .collect();
        let shared = Shared(w.setup.source(&format!("{many}{ONE}")));
        let p = shared.0;
        let other = std::thread::spawn(move || shared.build());
        while state(p) == CL_BUILD_NONE {
            std::hint::spin_loop();
        }
        let build = cl!(clBuildProgram(p, 0, null(), null(), None, none));
        let compile =
            cl!(clCompileProgram(p, 0, null(), null(), 0, null(), null_mut(), None, none));
        let mut link = 0;
        cl!(clLinkProgram(context, 0, null(), null(), 1, &p, None, none, &mut link));
        let in_time = state(p) == CL_BUILD_IN_PROGRESS;
        assert_eq!(other.join().expect("a build"), 0);
        if in_time {
            assert_eq!([build, compile, link], [CL_INVALID_OPERATION; 3]);
            return;
        }
    }
    panic!("no build was seen in progress");
}
