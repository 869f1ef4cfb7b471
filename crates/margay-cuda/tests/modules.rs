// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules and libraries: loading, refusing, variables and logs.

mod common;

use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;

use common::*;

#[test]
fn variables_have_their_initial_values() {
    let session = Session::new();
    let module = session.load(KERNELS);
    let global = |name: &CStr| {
        let (mut address, mut size) = (0, 0);
        // SAFETY: pointers to locals.
        ok(unsafe { cuModuleGetGlobal_v2(&mut address, &mut size, module, name.as_ptr()) });
        (address, size)
    };
    let (counter, size) = global(c"counter");
    assert_eq!((size, download::<u32>(counter, 1)), (4, vec![7]));
    let (pointer, size) = global(c"pointer_to_counter");
    assert_eq!((size, download::<u64>(pointer, 1)), (8, vec![counter]));
    let (table, size) = global(c"table");
    assert_eq!((size, download::<u32>(table, 4)), (16, vec![10, 20, 30, 40]));
    upload(table, &[1u32, 2, 3, 4]);
    assert_eq!(download::<u32>(table, 4), [1, 2, 3, 4]);
    let (mut address, mut size) = (0, 0);
    // SAFETY: pointers to locals; a variable of a module is not freed by the program.
    unsafe {
        let name = c"no_such_variable".as_ptr();
        fails(cuModuleGetGlobal_v2(&mut address, &mut size, module, name), NOT_FOUND);
        fails(cuMemFree_v2(counter), INVALID_VALUE);
        ok(cuModuleUnload(module));
    }
}

#[test]
fn kernels_by_name() {
    let session = Session::new();
    let module = session.load(KERNELS);
    let mut function = null_mut();
    // SAFETY: pointers to locals, NUL-terminated names.
    unsafe {
        ok(cuModuleGetFunction(&mut function, module, c"add".as_ptr()));
        let mut again = null_mut();
        ok(cuModuleGetFunction(&mut again, module, c"add".as_ptr()));
        assert_eq!(function, again);
        fails(cuModuleGetFunction(&mut again, module, c"subtract".as_ptr()), NOT_FOUND);
        fails(cuModuleGetFunction(&mut again, module, std::ptr::null()), INVALID_VALUE);
        let mut count = 0;
        ok(cuModuleGetFunctionCount(&mut count, module));
        assert_eq!(count, 6);
        let (mut offset, mut size) = (0, 0);
        ok(cuFuncGetParamInfo(function, 3, &mut offset, &mut size));
        assert_eq!((offset, size), (24, 4));
        fails(cuFuncGetParamInfo(function, 4, &mut offset, &mut size), INVALID_VALUE);
        let mut name = std::ptr::null();
        ok(cuFuncGetName(&mut name, function));
        assert_eq!(CStr::from_ptr(name), c"add");
    }
}

/// Loads with log buffers; gives the result and the error log.
fn load_logged(ptx: &str) -> (CUresult, String) {
    let text = CString::new(ptx).unwrap();
    let mut log = vec![0u8; 4096];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] =
        [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
    let mut module = null_mut();
    // SAFETY: NUL-terminated text; the log's own extent.
    let result = unsafe {
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options, values)
    };
    let end = log.iter().position(|b| *b == 0).unwrap();
    (result, String::from_utf8_lossy(&log[..end]).into_owned())
}

#[test]
fn bad_ptx_is_refused_with_a_line() {
    let _session = Session::new();
    let head = ".version 7.0\n.target sm_52\n.address_size 64\n";
    let (result, log) =
        load_logged(&format!("{head}.visible .entry k()\n{{\n  junk.u32 %r1;\n}}\n"));
    fails(result, CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("line 6"), "{log}");
    let (result, log) = load_logged(&format!("{head}.visible .entry k()\n{{\n  ret;\n}}\n"));
    ok(result);
    assert_eq!(log, "");
    let (result, _) = load_logged(&KERNELS[..KERNELS.len() / 2]);
    fails(result, CUresult::CUDA_ERROR_INVALID_PTX);
    let mut module = null_mut();
    // SAFETY: pointers to locals.
    unsafe {
        fails(cuModuleLoadData(&mut module, std::ptr::null()), INVALID_VALUE);
        let path = c"/no/such/file.ptx".as_ptr();
        fails(cuModuleLoad(&mut module, path), CUresult::CUDA_ERROR_FILE_NOT_FOUND);
    }
}

#[test]
fn libraries_belong_to_no_context() {
    let _session = Session::new();
    let text = CString::new(KERNELS).unwrap();
    let mut library = null_mut();
    // SAFETY: pointers to locals, NUL-terminated text.
    unsafe {
        let code = text.as_ptr().cast();
        let (none, values) = (null_mut(), null_mut());
        ok(cuLibraryLoadData(&mut library, code, none, values, 0, null_mut(), null_mut(), 0));
        let mut kernel = null_mut();
        ok(cuLibraryGetKernel(&mut kernel, library, c"store".as_ptr()));
        let mut missing = null_mut();
        fails(cuLibraryGetKernel(&mut missing, library, c"nope".as_ptr()), NOT_FOUND);
        let mut count = 0;
        ok(cuLibraryGetKernelCount(&mut count, library));
        assert_eq!(count, 6);
        let (mut address, mut size) = (0, 0);
        ok(cuLibraryGetGlobal(&mut address, &mut size, library, c"counter".as_ptr()));
        assert_eq!(download::<u32>(address, 1), [7]);
        let (mut function, mut again) = (null_mut(), null_mut());
        ok(cuKernelGetFunction(&mut function, kernel));
        ok(cuKernelGetFunction(&mut again, kernel));
        assert_eq!(function, again);
        ok(cuLibraryUnload(library));
    }
}

#[test]
fn images_that_do_not_fit() {
    let session = Session::new();
    let try_load = |text: &str| {
        let text = CString::new(text).unwrap();
        let mut module = null_mut();
        // SAFETY: NUL-terminated text.
        unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) }
    };
    let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    let newer = (session.attribute(major) + 1) * 10;
    let kernel = ".visible .entry k() { ret; }";
    let invalid_ptx = CUresult::CUDA_ERROR_INVALID_PTX;
    let invalid_image = CUresult::CUDA_ERROR_INVALID_IMAGE;
    for (text, expected) in [
        ("".to_owned(), invalid_image),
        ("hello world".to_owned(), invalid_image),
        (format!(".version 8.7\n.target sm_{newer}\n.address_size 64\n{kernel}"), invalid_ptx),
        (format!(".version 7.0\n.target sm_52\n.address_size 32\n{kernel}"), invalid_ptx),
        (
            ".version 7.0\n.target sm_52\n.address_size 64\n.extern .func f();\n\
             .visible .entry k() { call f; ret; }"
                .to_owned(),
            invalid_ptx,
        ),
        (
            ".version 7.0\n.target sm_52\n.address_size 64\n.const .b8 a[65537];\n\
             .visible .entry k() { .reg .u32 %r; ld.const.u8 %r, [a]; ret; }"
                .to_owned(),
            invalid_ptx,
        ),
        (
            ".version 7.0\n.target sm_70\n.address_size 64\n\
             .visible .entry k(.param .b8 x[5000]) { ret; }"
                .to_owned(),
            invalid_ptx,
        ),
    ] {
        assert_eq!(try_load(&text), expected, "{text}");
    }
    ok(try_load(&format!(".version 7.0\n.target sm_52\n{kernel}")));
    ok(try_load(".version 1.4\n.target sm_10\n.entry k() { exit; }"));
}
