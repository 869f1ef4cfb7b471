// SPDX-License-Identifier: MIT OR Apache-2.0
//! Built-in functions that need the whole road: groups, atomics, conversions, vectors, barriers.

use std::ptr::{null, null_mut};

use crate::cl;
use crate::common::*;

/// Runs `f(global int *o)` over 64 items in groups of 32 or 64, or what `local` says.
pub fn run(options: &str, source: &str, items: usize, local: usize) -> Vec<i32> {
    let setup = Setup::new(0);
    let kernel = setup.kernel(source, options, "f");
    let out = setup.buffer(&vec![0i32; items]);
    assert_eq!(set(kernel, 0, &out), 0);
    assert_eq!(setup.run(kernel, items, Some(local)), 0);
    let values = setup.read(out, items);
    cl!(clReleaseMemObject(out));
    cl!(clReleaseKernel(kernel));
    values
}

#[test]
fn work_groups_and_sub_groups() {
    let source = "kernel void f(global int *o) { int i = get_local_id(0);
        o[get_global_id(0)] = work_group_reduce_add(i) * 1000 + work_group_scan_exclusive_add(1); }";
    // The last sub-group of 40 items has 8.
    let expected: Vec<i32> = (0..80).map(|i| 780_000 + i % 40).collect();
    assert_eq!(run("-cl-std=CL3.0", source, 80, 40), expected);
    let source = "kernel void f(global int *o) {
        o[get_global_id(0)] = sub_group_reduce_max((int)get_sub_group_local_id()) * 100
            + get_sub_group_id() * 10 + work_group_all(1) + work_group_any(0)
            + work_group_broadcast((int)get_local_id(0), 3); }";
    let expected: Vec<i32> = (0..40).map(|i| if i < 32 { 3104 } else { 714 }).collect();
    assert_eq!(run("-cl-std=CL3.0", source, 40, 40), expected);
}

#[test]
fn remainders_of_a_range() {
    let source = "kernel void f(global int *o) { o[get_global_id(0)] =
        get_local_size(0) * 1000 + get_group_id(0) * 100 + get_num_groups(0) * 10 + get_enqueued_local_size(0); }";
    let values = run("-cl-std=CL3.0", source, 10, 4);
    assert_eq!(values, [4034, 4034, 4034, 4034, 4134, 4134, 4134, 4134, 2234, 2234]);
}

#[test]
fn offsets() {
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o) { o[get_global_id(0) - get_global_offset(0)] =
        get_global_id(0) + 100 * get_global_offset(0) + 10000 * get_work_dim(); }";
    let kernel = setup.kernel(source, "", "f");
    let out = setup.buffer(&[0i32; 4]);
    set(kernel, 0, &out);
    let (offset, global, none) = (7usize, 4usize, null_mut());
    let result = cl!(clEnqueueNDRangeKernel(
        setup.queue,
        kernel,
        1,
        &offset,
        &global,
        null(),
        0,
        null(),
        none
    ));
    assert_eq!(result, 0);
    assert_eq!(setup.read::<i32>(out, 4), [10707, 10708, 10709, 10710]);
}

#[test]
fn atomics() {
    let source = "kernel void f(global int *o) { local int sum; if (get_local_id(0) == 0) sum = 0;
        barrier(CLK_LOCAL_MEM_FENCE); atomic_add(&sum, 2); atomic_max(o + 1, (int)get_global_id(0));
        barrier(CLK_LOCAL_MEM_FENCE); if (get_local_id(0) == 0) o[0] = sum; }";
    assert_eq!(run("", source, 64, 64)[..2], [128, 63]);
    let source = "kernel void f(global int *o) { atomic_fetch_add((global atomic_int *)o, 1);
        int e = 5; atomic_compare_exchange_strong((global atomic_int *)(o + 1), &e, 9);
        atomic_fetch_max_explicit((global atomic_int *)(o + 2), (int)get_global_id(0),
                                  memory_order_relaxed, memory_scope_device);
        atom_add((global long *)(o + 4), 1L << 33); }";
    assert_eq!(run("-cl-std=CL3.0", source, 64, 32)[..6], [64, 0, 63, 0, 0, 128]);
}

#[test]
fn conversions() {
    let source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void f(global int *o) { int i = get_global_id(0); float x = 2.5f + i;
        o[0] = convert_uchar_sat(300.0f); o[1] = convert_char_sat(-300); o[2] = convert_int_rte(2.5f);
        o[3] = convert_int_rtp(2.1f); o[4] = convert_int_rtn(-2.1f); o[5] = convert_int_rtz(-2.9f);
        o[6] = as_ushort(convert_half(65519.0f)); o[7] = as_ushort(convert_half(65520.0f));
        o[8] = as_ushort(convert_half_rtp(1.0f / 3)); o[9] = as_ushort(convert_half_rtz(-1e-8));
        o[10] = convert_int4((half4)(1.5h, -2.5h, 3.0h, 4.0h)).y; o[11] = convert_uint_sat(-1.0);
        half2 h = fma((half2)(2.0h), (half2)(3.0h), (half2)(1.0h)); o[12] = (int)h.y;
        vstore_half2((float2)(1.0f, -2.0f), 15, (global half *)o); }";
    let values = run("", source, 16, 1);
    assert_eq!(values[..6], [255, -128, 2, 3, -3, -2]);
    assert_eq!(values[6..10], [0x7bff, 0x7c00, 0x3556, 0x8000]);
    assert_eq!(values[10..13], [-2, 0, 7]);
    assert_eq!(values[15] as u32, 0xc000_3c00);
}

#[test]
fn asynchronous_copies_and_vectors() {
    let source = "kernel void f(global int *o) { local int l[64]; int i = get_local_id(0);
        for (int k = i; k < 64; k += 32) o[k] = k;
        barrier(CLK_GLOBAL_MEM_FENCE);
        event_t e = async_work_group_copy(l, o, 64, 0); wait_group_events(1, &e);
        int4 v = vload4(i % 16, l); v = shuffle(v, (uint4)(3, 2, 1, 0));
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (i < 16) vstore4(v, i, o); }";
    let values = run("", source, 64, 32);
    assert_eq!(values[..8], [3, 2, 1, 0, 7, 6, 5, 4]);
}

#[test]
fn shuffles_of_halves() {
    let source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void f(global int *o) { half4 a = (half4)(0, 1, 2, 3), b = a + 4;
        half2 r = shuffle(a, (ushort2)(3, 6)); o[0] = r.x; o[1] = r.y;
        half8 s = shuffle2(a, b, (ushort8)(7, 0, 4, 3, 12, 8, 1, 2)); for (int i = 0; i < 8; i++) o[2 + i] = s[i]; }";
    assert_eq!(run("", source, 16, 1)[..10], [3, 2, 7, 0, 4, 3, 4, 0, 1, 2]);
}

/// LLVM 19's back end dies of such a call; the build goes round it.
#[test]
fn short_vectors_as_arguments_of_functions_that_are_kept_apart() {
    let source = "int g(uchar3 v, int z) __attribute__((noinline)); int g(uchar3 v, int z) { return (v.x + v.y + v.z) ^ z; }
        kernel void f(global int *o) { uchar3 v = (uchar3)(o[1], o[2], 3); o[0] = g(v, 8); }";
    assert_eq!(run("", source, 4, 1)[0], 11);
}

/// What each build option does, seen from inside the program.
#[test]
fn build_options_act() {
    let setup = Setup::new(0);
    let include = directory("include");
    std::fs::write(format!("{include}/seven.h"), "#define SEVEN 7\n").unwrap();
    let names = "-DFOUR=4 -D FIVE=5 -DNOTHING";
    let source = "#include \"seven.h\"
        kernel void f(global int *o) { o[0] = FOUR + FIVE + SEVEN + NOTHING; }";
    let kernel = setup.kernel(source, &format!("{names} -I {include}"), "f");
    let out = setup.buffer(&[0i32; 4]);
    assert_eq!((set(kernel, 0, &out), setup.run(kernel, 1, None)), (0, 0));
    assert_eq!(setup.read::<i32>(out, 1), [17]);
    std::fs::remove_dir_all(&include).unwrap();
    let fast = "kernel void f(global int *o) {
        #ifdef __FAST_RELAXED_MATH__
        o[0] = 1;
        #endif
    }";
    assert_eq!(run("-cl-fast-relaxed-math", fast, 4, 1)[0], 1);
    assert_eq!(run("", fast, 4, 1)[0], 0);
    assert_eq!(
        run("-cl-opt-disable", "kernel void f(global int *o) { o[0] = get_global_size(0); }", 4, 1)
            [0],
        4
    );
    // Warnings are in the log, and are not with -w.
    let warns = "kernel void f(global int *o) { int x; *o = x; }";
    let log = |options: &str| setup.build(warns, options).2;
    assert!(log("-Wall").contains("warning: ") && log("-Wall -w").is_empty());
    assert_eq!(setup.build(warns, "-Wall -Werror").1, CL_BUILD_PROGRAM_FAILURE);
    assert_eq!(
        setup
            .build("kernel void f(global int *o) { *o = 1.0; }", "-cl-single-precision-constant")
            .1,
        0
    );
}

/// A directory of a test's own.
fn directory(name: &str) -> String {
    let place = format!("{}/{name}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::create_dir_all(&place).unwrap();
    place
}
