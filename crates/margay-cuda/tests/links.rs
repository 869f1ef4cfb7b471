// SPDX-License-Identifier: MIT OR Apache-2.0
//! The linker. The codes and the logs of what cannot be linked are those that an H200 gave.

mod common;

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use common::*;

const HEADER: &str = ".version 7.0\n.target sm_52\n.address_size 64\n";
const MAIN: &str = "\
.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .align 4 .b32 offset;
.visible .entry k(.param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    {
        .param .b32 x;
        .param .b32 r;
        st.param.b32 [x], %r1;
        call (r), twice, (x);
        ld.param.b32 %r2, [r];
    }
    ld.global.u32 %r3, [offset];
    add.u32 %r2, %r2, %r3;
    mad.wide.u32 %rd1, %r1, 4, %rd1;
    st.global.u32 [%rd1], %r2;
    ret;
}
";
const TWICE: &str = "\
.visible .global .align 4 .b32 offset = 100;
.visible .func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
";

/// Links texts named `a`, `b`, …: the first error, the log, and the state with the image.
fn link(inputs: &[&str]) -> (CUresult, String, CUlinkState, *mut c_void) {
    let mut log = vec![0u8; 4096];
    let mut options = [
        CUjit_option::CU_JIT_WALL_TIME,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values: [*mut c_void; 3] =
        [null_mut(), log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
    let mut state = null_mut();
    let (mut image, mut size) = (null_mut(), 0);
    let mut result = CUresult::CUDA_SUCCESS;
    // SAFETY: arrays of three that live until the last call that uses them; texts with their sizes.
    unsafe {
        ok(cuLinkCreate_v2(3, options.as_mut_ptr(), values.as_mut_ptr(), &mut state));
        for (text, name) in inputs.iter().zip([c"a", c"b", c"c"]) {
            let text = CString::new(format!("{HEADER}{text}")).unwrap();
            let bytes = text.as_bytes_with_nul();
            let kind = CUjitInputType::CU_JIT_INPUT_PTX;
            let (none, data) = (null_mut(), bytes.as_ptr().cast_mut().cast());
            result = cuLinkAddData_v2(
                state,
                kind,
                data,
                bytes.len(),
                name.as_ptr(),
                0,
                none,
                null_mut(),
            );
            if result != CUresult::CUDA_SUCCESS {
                let again = cuLinkComplete(state, &mut image, &mut size);
                assert_ne!(again, CUresult::CUDA_SUCCESS);
                break;
            }
        }
        if result == CUresult::CUDA_SUCCESS {
            result = cuLinkComplete(state, &mut image, &mut size);
        }
    }
    let end = log.iter().position(|b| *b == 0).unwrap();
    // The size's option becomes the size used.
    assert_eq!(values[2].addr() as u32 as usize, end);
    (result, String::from_utf8_lossy(&log[..end]).into_owned(), state, image)
}

fn run(module: CUmodule) -> Vec<u32> {
    let mut to = 0;
    // SAFETY: a pointer to a local.
    ok(unsafe { cuMemAlloc_v2(&mut to, 16) });
    let k = function(module, "k");
    ok(launch(k, [1, 1, 1], [4, 1, 1], 0, null_mut(), &mut [arg(&mut to)]));
    download(to, 4)
}

#[test]
fn several_inputs_become_one_image() {
    let _session = Session::new();
    for inputs in [[MAIN, TWICE], [TWICE, MAIN]] {
        let (result, log, state, image) = link(&inputs);
        ok(result);
        assert_eq!(log, "");
        let (mut module, mut library) = (null_mut(), null_mut());
        // SAFETY: the image is the state's until it is destroyed; modules and libraries copy it.
        unsafe {
            ok(cuModuleLoadData(&mut module, image));
            let (none, values) = (null_mut(), null_mut());
            ok(cuLibraryLoadData(&mut library, image, none, values, 0, null_mut(), null_mut(), 0));
            ok(cuLinkDestroy(state));
            if !real() {
                fails(cuLinkDestroy(state), INVALID_HANDLE);
            }
            assert_eq!(run(module), [100, 102, 104, 106]);
            let mut module = null_mut();
            ok(cuLibraryGetModule(&mut module, library));
            assert_eq!(run(module), [100, 102, 104, 106]);
        }
    }
}

#[test]
fn one_input_alone() {
    let session = Session::new();
    let kernel = KERNELS.trim_start_matches(".version 7.0\n.target sm_52\n.address_size 64\n");
    let (result, _, state, image) = link(&[kernel]);
    ok(result);
    let mut module = null_mut();
    // SAFETY: as above.
    unsafe {
        ok(cuModuleLoadData(&mut module, image));
        ok(cuLinkDestroy(state));
    }
    session.function(module, "add");
}

#[test]
fn what_cannot_be_linked() {
    let _session = Session::new();
    let calls = ".extern .func f();\n.visible .entry k() { call f; ret; }";
    let f = ".visible .func f() { ret; }";
    let wider = ".visible .func f(.param .b32 x) { ret; }";
    let invalid_source = CUresult::CUDA_ERROR_INVALID_SOURCE;
    for (inputs, expected, says) in [
        (vec![calls, ""], invalid_source, "error   : Undefined reference to 'f' in 'a'"),
        (
            vec![f, f],
            invalid_source,
            "error   : Multiple definition of 'f' in 'b', first defined in 'a'",
        ),
        (vec![calls, wider], invalid_source, "error   : Prototype doesn't match for 'f' in 'b'"),
        (
            vec![".extern .global .b32 g;", ".visible .global .b64 g;"],
            invalid_source,
            "error   : Size doesn't match for 'g' in 'b', first specified in 'a'",
        ),
        (vec![calls, "junk"], CUresult::CUDA_ERROR_INVALID_PTX, "line 4"),
    ] {
        let (result, log, state, image) = link(&inputs);
        assert_eq!(result, expected, "{inputs:?}: {log}");
        assert!(log.contains(says), "{log}");
        assert!(image.is_null());
        // SAFETY: a live state.
        ok(unsafe { cuLinkDestroy(state) });
    }
    let (result, _, state, _) =
        link(&[".weak .func f() { ret; }\n.visible .entry k() { call f; ret; }", f]);
    ok(result);
    // SAFETY: a live state, then pointers to locals.
    unsafe {
        ok(cuLinkDestroy(state));
        let path = c"/no/such/file.ptx".as_ptr();
        let mut state = null_mut();
        ok(cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state));
        let kind = CUjitInputType::CU_JIT_INPUT_PTX;
        let missing = cuLinkAddFile_v2(state, kind, path, 0, null_mut(), null_mut());
        fails(missing, CUresult::CUDA_ERROR_FILE_NOT_FOUND);
        ok(cuLinkDestroy(state));
    }
}
