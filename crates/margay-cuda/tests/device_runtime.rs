// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that launch kernels, in PTX as compilers write it (CUDA C++ Programming Guide, "Device-side Launch from
//! PTX"), with the names that the guide gives the functions and with those of NVIDIA's headers of CUDA 12.

mod common;

use std::ptr::null_mut;

use common::*;

const HEADER: &str = ".version 7.0\n.target sm_52\n.address_size 64\n";

/// Adds its number to a place.
const CHILD: &str = "\
.visible .entry child(.param .u64 to, .param .u8 by)
{
    .reg .b32 %r<3>;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    ld.param.u8 %r1, [by];
    atom.global.add.u32 %r2, [%to], %r1;
    ret;
}
";

/// Fills a buffer for `child` at `%buf`.
const FILL: &str = "\
    st.u64 [%buf], %to;
    st.u8 [%buf+8], 5;
";

/// Links a kernel `parent` with `child`, runs it in one thread, and returns what the place holds then.
fn run(body: &str, declarations: &str) -> u32 {
    let session = Session::new();
    let text = format!(
        "{HEADER}{declarations}{CHILD}.visible .entry parent(.param .u64 to)\n{{\n    .reg .pred %p;\n    .reg .b32 %r<8>;\n    \
         .reg .b64 %to, %buf, %f, %q<8>;\n    ld.param.u64 %to, [to];\n    mov.u64 %f, child;\n{body}    ret;\n}}\n\0"
    );
    let (mut state, mut image, mut size) = (null_mut(), null_mut(), 0);
    let mut module = null_mut();
    // SAFETY: no options; a text with its size; an image that lives as long as its linker.
    unsafe {
        ok(cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state));
        let kind = CUjitInputType::CU_JIT_INPUT_PTX;
        let data = text.as_ptr().cast_mut().cast();
        ok(cuLinkAddData_v2(
            state,
            kind,
            data,
            text.len(),
            c"a".as_ptr(),
            0,
            null_mut(),
            null_mut(),
        ));
        ok(cuLinkComplete(state, &mut image, &mut size));
        ok(cuModuleLoadData(&mut module, image));
        ok(cuLinkDestroy(state));
    }
    let mut to = session.alloc(64);
    upload(to, &[0u32; 16]);
    ok(launch(
        function(module, "parent"),
        [1, 1, 1],
        [1, 1, 1],
        0,
        null_mut(),
        &mut [arg(&mut to)],
    ));
    // SAFETY: no arguments.
    ok(unsafe { cuCtxSynchronize() });
    download::<u32>(to, 1)[0]
}

fn version_2(prefix: &str) -> u32 {
    let declarations = format!(
        ".extern .func (.param .b64 r) {prefix}GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 \
         .b8 b[12], .param .b32 s);\n.extern .func (.param .b32 r) {prefix}LaunchDeviceV2(.param .b64 p, .param .b64 s);\n"
    );
    let body = format!(
        "{{\n.param .b64 f;\n.param .align 4 .b8 g[12];\n.param .align 4 .b8 b[12];\n.param .b32 s;\n.param .b64 r;\n\
         st.param.b64 [f], %f;\nst.param.b32 [g], 2;\nst.param.b32 [g+4], 1;\nst.param.b32 [g+8], 1;\nst.param.b32 [b], 3;\n\
         st.param.b32 [b+4], 1;\nst.param.b32 [b+8], 1;\nst.param.b32 [s], 0;\n\
         call (r), {prefix}GetParameterBufferV2, (f, g, b, s);\nld.param.b64 %buf, [r];\n}}\n{FILL}\
         {{\n.param .b64 p;\n.param .b64 s;\n.param .b32 r;\nst.param.b64 [p], %buf;\nst.param.b64 [s], 0;\n\
         call (r), {prefix}LaunchDeviceV2, (p, s);\nld.param.b32 %r1, [r];\n}}\n\
         atom.global.add.u32 %r2, [%to], %r1;\n"
    );
    run(&body, &declarations)
}

#[test]
fn both_names_of_a_launch() {
    if real() {
        // A driver wants NVIDIA's libcudadevrt.a for this.
        return;
    }
    // Two blocks of three threads add 5 each; the error, which is 0, is added as well.
    assert_eq!(version_2("cuda"), 30);
    assert_eq!(version_2("__cudaCDP2"), 30);
}

/// The launch as it was before CUDA 12: a buffer by size, and the kernel with it.
fn version_1(function: &str, size: u32, block: u32) -> u32 {
    let declarations = ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 s);\n\
        .extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12], .param \
        .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n";
    let body = format!(
        "{{\n.param .b64 a;\n.param .b64 s;\n.param .b64 r;\nst.param.b64 [a], 8;\nst.param.b64 [s], {size};\n\
         call (r), cudaGetParameterBuffer, (a, s);\nld.param.b64 %buf, [r];\n}}\n{FILL}\
         {{\n.param .b64 f;\n.param .b64 p;\n.param .align 4 .b8 g[12];\n.param .align 4 .b8 b[12];\n.param .b32 s;\n.param .b64 t;\n\
         .param .b32 r;\nmov.u64 %q1, {function};\nst.param.b64 [f], %q1;\nst.param.b64 [p], %buf;\nst.param.b32 [g], 1;\n\
         st.param.b32 [g+4], 1;\nst.param.b32 [g+8], 1;\nst.param.b32 [b], {block};\nst.param.b32 [b+4], 1;\nst.param.b32 [b+8], 1;\n\
         st.param.b32 [s], 0;\nst.param.b64 [t], 3;\ncall (r), cudaLaunchDevice, (f, p, g, b, s, t);\nld.param.b32 %r1, [r];\n}}\n\
         atom.global.add.u32 %r2, [%to], %r1;\n"
    );
    run(&body, declarations)
}

#[test]
fn a_launch_of_before_cuda_12_and_its_errors() {
    if real() {
        // A driver wants NVIDIA's libcudadevrt.a for this.
        return;
    }
    assert_eq!(version_1("child", 9, 4), 20);
    // cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorInvalidDeviceFunction.
    assert_eq!(version_1("child", 8, 4), 1);
    assert_eq!(version_1("child", 9, 5000), 9);
    assert_eq!(version_1("12345", 9, 4), 98);
}

#[test]
fn questions_about_the_device_and_the_kernel() {
    if real() {
        // A driver wants NVIDIA's libcudadevrt.a for this.
        return;
    }
    let declarations = ".extern .func (.param .b32 r) cudaGetDeviceCount(.param .b64 n);\n\
        .extern .func (.param .b32 r) __cudaCDP2FuncGetAttributes(.param .b64 a, .param .b64 f);\n\
        .extern .func (.param .b32 r) cudaOccupancyMaxActiveBlocksPerMultiprocessor(.param .b64 n, .param .b64 f, .param \
        .b32 b, .param .b64 s);\n.extern .func (.param .b32 r) cudaDeviceGetAttribute(.param .b64 n, .param .b32 a, .param .b32 d);\n";
    // Each answer goes to its own place; all that succeed add nothing.
    let body = "{\n.param .b64 n;\n.param .b32 r;\nadd.u64 %q1, %to, 4;\nst.param.b64 [n], %q1;\ncall (r), cudaGetDeviceCount, (n);\n\
        ld.param.b32 %r1, [r];\n}\natom.global.add.u32 %r2, [%to], %r1;\nld.u32 %r3, [%to+4];\natom.global.add.u32 %r2, [%to], %r3;\n\
        {\n.param .b64 a;\n.param .b64 f;\n.param .b32 r;\n.local .align 8 .b8 where[64];\nmov.u64 %q2, where;\ncvta.local.u64 %q2, %q2;\n\
        st.param.b64 [a], %q2;\nst.param.b64 [f], %f;\ncall (r), __cudaCDP2FuncGetAttributes, (a, f);\nld.param.b32 %r1, [r];\n\
        atom.global.add.u32 %r2, [%to], %r1;\nld.u32 %r3, [%q2+24];\natom.global.add.u32 %r2, [%to], %r3;\n}\n\
        {\n.param .b64 n;\n.param .b64 f;\n.param .b32 b;\n.param .b64 s;\n.param .b32 r;\nst.param.b64 [n], %q1;\nst.param.b64 [f], %f;\n\
        st.param.b32 [b], 1024;\nst.param.b64 [s], 0;\ncall (r), cudaOccupancyMaxActiveBlocksPerMultiprocessor, (n, f, b, s);\n\
        ld.param.b32 %r1, [r];\n}\natom.global.add.u32 %r2, [%to], %r1;\nld.u32 %r3, [%to+4];\natom.global.add.u32 %r2, [%to], %r3;\n\
        {\n.param .b64 n;\n.param .b32 a;\n.param .b32 d;\n.param .b32 r;\nst.param.b64 [n], %q1;\nst.param.b32 [a], 10;\nst.param.b32 [d], 0;\n\
        call (r), cudaDeviceGetAttribute, (n, a, d);\nld.param.b32 %r1, [r];\n}\natom.global.add.u32 %r2, [%to], %r1;\n\
        ld.u32 %r3, [%to+4];\natom.global.add.u32 %r2, [%to], %r3;\n";
    // One device; 1024 threads a block; 2 such blocks on a multiprocessor; warps of 32.
    assert_eq!(run(body, declarations), 1 + 1024 + 2 + 32);
}
