// SPDX-License-Identifier: MIT OR Apache-2.0
//! Relational functions, vector data, atomics, asynchronous copies and `printf`. (That every built-in function is
//! there is `margay-opencl-c`'s test; mathematics are in `accuracy.rs`, integers in `integers.rs`.)

use crate::cl;
use crate::common::*;
use crate::language::run;

const CL3: &str = "-cl-std=CL3.0";

/// A scalar's truth is 1, a vector's -1, in an integer as wide as the number.
#[test]
fn relational_functions() {
    for (ty, wide) in [("float", "int"), ("double", "long"), ("half", "short")] {
        let two = [
            ("isequal", [0, 1, 0, 0]),
            ("isnotequal", [1, 0, 1, 1]),
            ("isgreater", [0, 0, 1, 0]),
            ("isgreaterequal", [0, 1, 1, 0]),
            ("isless", [1, 0, 0, 0]),
            ("islessequal", [1, 1, 0, 0]),
            ("islessgreater", [1, 0, 1, 0]),
            ("isordered", [1, 1, 1, 0]),
            ("isunordered", [0, 0, 0, 1]),
        ];
        let one = [
            ("isfinite", [1, 1, 0, 0]),
            ("isinf", [0, 0, 1, 0]),
            ("isnan", [0, 0, 0, 1]),
            ("isnormal", [1, 0, 0, 0]),
            ("signbit", [0, 1, 1, 0]),
        ];
        let mut body = String::new();
        let mut expected = Vec::new();
        for (name, truth) in two {
            body += &format!(
                "V({name}(a, b)) for (int k = 0; k < 4; k++) *o++ = {name}(a[k], b[k]);\n"
            );
            expected.extend(truth.map(|t| -t).iter().chain(&truth));
        }
        for (name, truth) in one {
            body += &format!("V({name}(c)) for (int k = 0; k < 4; k++) *o++ = {name}(c[k]);\n");
            expected.extend(truth.map(|t| -t).iter().chain(&truth));
        }
        body += &format!("V(select(a, b, ({wide}4)(-1, 0, 1, -1)) == ({ty}4)(2, 2, 3, 0))
            V(bitselect(({wide}4)(0), ({wide}4)(-1), ({wide}4)(1, 2, 3, 4)))
            *o++ = select(1, 2, 1); *o++ = select((char)1, (char)2, (char)0); *o++ = any(({wide}4)(0, -1, 1, 0)); *o++ = any(({wide}4)(0, 1, 1, 0));
            *o++ = all(({wide}4)(-1)); *o++ = all(({wide}4)(-1, -1, 1, -1));\n");
        // The last pair has a NaN, which is equal to nothing.
        expected.extend([-1, -1, -1, 0, 1, 2, 3, 4, 2, 1, 1, 0, 1, 0]);
        let source = format!(
            "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
            #define V(v) {{ {wide}4 r = v; for (int k = 0; k < 4; k++) *o++ = r[k]; }}
            kernel void f(global int *o) {{ if (get_global_id(0)) return;
            {ty}4 a = ({ty}4)(1, 2, 3, NAN), b = ({ty}4)(2, 2, 1, 1), c = ({ty}4)(1, -0.0f, -INFINITY, NAN);
            {body} }}"
        );
        let got = run(CL3, &source, 160, 32);
        assert_eq!(got[..expected.len()], expected, "{ty}");
    }
}

/// Every length of vector, aligned or not, in every space.
#[test]
fn vectors_are_loaded_and_stored() {
    let mut body = String::new();
    for n in [2, 3, 4, 8, 16] {
        for (ty, step) in
            [("char", 1), ("ushort", 2), ("int", 4), ("double", 8), ("half", 2), ("long", 8)]
        {
            // From an address that is a multiple of the component's size only.
            body += &format!(
                "{{ global {ty} *from = (global {ty} *)(bytes + {step}); private {ty} mine[40]; local {ty} *shared = (local {ty} *)room;
                  {ty}{n} v = vload{n}(1, from); vstore{n}(v, 1, shared + 1); {ty}{n} w = vload{n}(1, shared + 1); vstore{n}(w, 0, mine + 1);
                  {ty}{n} x = vload{n}(0, mine + 1); int good = 1; for (int k = 0; k < {n}; k++) good &= x[k] == from[{n} + k]; *o++ = good; }}\n"
            );
        }
    }
    let source = format!(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        global uchar bytes[512] __attribute__((aligned(16))); kernel void f(global int *o) {{ local long room[64];
        for (int i = 0; i < 512; i++) bytes[i] = i % 120 / 2;\n{body} }}"
    );
    assert_eq!(run(CL3, &source, 30, 1), [1; 30]);
}

/// `vload_half` and `vstore_half` with every rounding; `vloada_half3` and `vstorea_half3` take the room of four.
#[test]
fn halves_are_loaded_and_stored() {
    let source = "kernel void f(global int *o) {
        global half *h = (global half *)(o + 20); global ushort *bits = (global ushort *)h;
        float x = 1.0f + 0x1p-11f + 0x1p-20f; float4 v = (float4)(x, -x, 65520.0f, 1e-8f);
        vstore_half(x, 0, h); vstore_half_rtz(x, 1, h); vstore_half_rtp(x, 2, h); vstore_half_rtn(-x, 3, h); vstore_half_rte((double)x, 4, h);
        for (int i = 0; i < 5; i++) o[i] = bits[i];
        vstore_half4(v, 2, h); for (int i = 0; i < 4; i++) o[5 + i] = bits[8 + i];
        vstorea_half3_rtz(v.xyz, 1, h); for (int i = 0; i < 3; i++) o[9 + i] = bits[4 + i];
        o[12] = (int)(vload_half(4, h) * 1024); o[13] = (int)vloada_half3(1, h).z; float2 p = vload_half2(2, h); o[14] = (int)(p.y * -1024); }";
    let got = run("", source, 64, 1);
    assert_eq!(got[..5], [0x3c01, 0x3c00, 0x3c01, 0xbc01, 0x3c01]);
    assert_eq!(got[5..9], [0x3c01, 0xbc01, 0x7c00, 0]);
    assert_eq!(got[9..15], [0x3c00, 0xbc00, 0x7bff, 1024, 65504, 1024]);
}

/// 1.x's atomic functions in both spaces: the old value comes back, the new one stays.
/// The number of `half` beside a double, by the way of rounding: 0 nearest, 1 to zero, 2 up, 3 down.
fn half_beside(x: f64, mode: usize) -> u16 {
    use half::f16;
    let nearest = f16::from_f64(x);
    let wide = nearest.to_f64();
    let too_far = match mode {
        0 => false,
        1 => wide.abs() > x.abs(),
        2 => wide < x,
        _ => wide > x,
    };
    if !too_far {
        return nearest.to_bits();
    }
    let (bits, outward) = (nearest.to_bits(), (mode == 2) == (x > 0.0) && mode != 1);
    match bits & 0x7fff {
        // From zero to the smallest number of the value's own sign.
        0 => u16::from(x < 0.0) << 15 | 1,
        _ if outward => bits + 1,
        _ => bits - 1,
    }
}

/// Beyond half's range, below its smallest step and between, with every rounding; as values and as stores.
#[test]
fn halves_are_rounded_in_every_way() {
    let mut values: Vec<f32> =
        vec![121382.6, 65504.0, 65519.0, 65520.0, 65536.0, 70000.0, 1e30, f32::INFINITY];
    values.extend([
        1e-8,
        2e-8,
        3e-8,
        5.9e-8,
        6e-8,
        6.1e-5,
        1e-40,
        0.1,
        1.0,
        1.0 + 1.0 / 2048.0,
        1.0 / 3.0,
        1000.7,
    ]);
    values.extend((0..400).map(|i| (i as f32 * 0.731).sin() * 2f32.powi(i % 50 - 28)));
    values.extend(values.clone().iter().map(|v| -v));
    let n = values.len();
    let setup = Setup::new(0);
    let modes = ["rte", "rtz", "rtp", "rtn"];
    let body: String = (0..4)
        .map(|m| {
            let mode = modes[m];
            format!(
                "o[{m}] = as_ushort(convert_half_{mode}(x)); o[{}] = as_ushort(convert_half_{mode}((double)x));
                vstore_half_{mode}(x, {}, (global half *)o); vstore_half_{mode}((double)x, 0, mine); o[{}] = *(private ushort *)mine;
                vstore_half2_{mode}((float2)(1, x), 1, shared); o[{}] = ((local ushort *)shared)[3];\n",
                4 + m, 8 + m, 12 + m, 16 + m
            )
        })
        .collect();
    let source = format!(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void f(global const float *in, global ushort *out) {{ local half shared[8]; private half mine[2];
        size_t i = get_global_id(0); float x = in[i]; global ushort *o = out + i * 20;\n{body} }}"
    );
    let kernel = setup.kernel(&source, "", "f");
    let (from, to) = (setup.buffer(&values), setup.buffer(&vec![0u16; n * 20]));
    assert_eq!((set(kernel, 0, &from), set(kernel, 1, &to)), (0, 0));
    assert_eq!(setup.run(kernel, n, Some(1)), 0);
    for (x, row) in values.iter().zip(setup.read::<u16>(to, n * 20).chunks(20)) {
        for (k, got) in row.iter().enumerate() {
            let expected = half_beside(f64::from(*x), k % 4);
            assert_eq!(
                *got,
                expected,
                "{x:e} {} in place {k}: {got:#x}, not {expected:#x}",
                modes[k % 4]
            );
        }
    }
}

/// Also of what the compiler knows.
#[test]
fn nan_saturates_to_zero() {
    let source = "kernel void f(global int *o) {
        volatile float late = NAN; float early = 0.0f / 0.0f;
        o[0] = convert_int_sat(NAN); o[1] = convert_char_sat(NAN); o[2] = convert_int4_sat((float4)(NAN, 1, 2, NAN)).w;
        o[3] = convert_int_sat(early); o[4] = convert_uchar_sat(late); o[5] = convert_uint_sat_rtp(NAN);
        o[6] = convert_uchar_sat(300.7f); o[7] = convert_char_sat_rtn(-3.2f); o[8] = convert_int_sat(-3e30f);
        o[9] = convert_ushort_sat_rte(2.5f); o[10] = convert_int_sat((double)NAN); o[11] = convert_short_sat(-40000.0f); }";
    for options in ["", CL3, "-cl-opt-disable"] {
        let expected = [0, 0, 0, 0, 0, 0, 255, -4, i32::MIN, 2, 0, -32768];
        assert_eq!(run(options, source, 12, 1), expected, "{options}");
    }
}

/// Not inlined at all, and called more often than it is inlined.
#[test]
fn inline_functions_are_functions() {
    let long: String =
        (0..60).map(|k| format!("x = x * {} + (x >> {});", 2 * k + 3, k % 7 + 1)).collect();
    let source = format!(
        "inline int h(int x) {{ return x + 1; }} inline int g(int x) {{ {long} return x; }}
        kernel void f(global int *o) {{ o[0] = h(o[1]); o[2] = g(o[3]) == g(o[3] + o[0] - 1); }}"
    );
    for options in ["", CL3, "-cl-opt-disable", "-cl-std=CL1.1 -cl-opt-disable"] {
        assert_eq!(run(options, &source, 4, 1)[..3], [1, 0, 1], "{options}");
    }
}

/// What clang offers without a pragma may be asked for with one.
#[test]
fn every_extension_of_the_device_may_be_enabled() {
    let setup = Setup::new(0);
    let mut list = vec![0u8; 8192];
    let (to, none) = (list.as_mut_ptr().cast(), std::ptr::null_mut());
    assert_eq!(cl!(clGetDeviceInfo(setup.device, CL_DEVICE_EXTENSIONS, list.len(), to, none)), 0);
    let list = String::from_utf8(list).unwrap();
    let language = list
        .trim_matches(char::from(0))
        .split(' ')
        .filter(|name| !name.contains("icd") && !name.is_empty());
    let pragma = |name: &str| format!("#pragma OPENCL EXTENSION {name} : enable\n");
    let source =
        language.map(pragma).collect::<String>() + "kernel void f(global int *o) { *o = 1; }";
    let (_, result, log) = setup.build(&source, "-cl-std=CL3.0 -Werror");
    assert_eq!(result, 0, "{log}");
}

#[test]
fn atomics_of_1_x() {
    let mut source = String::from("kernel void f(global int *o) { local int l; local uint u;\n");
    let mut expected = Vec::new();
    let cases: [(&str, i32); 10] = [
        ("add(p, 5)", 12),
        ("sub(p, 5)", 2),
        ("xchg(p, 5)", 5),
        ("inc(p)", 8),
        ("dec(p)", 6),
        ("cmpxchg(p, 7, 9)", 9),
        ("min(p, 3)", 3),
        ("max(p, 3)", 7),
        ("and(p, 5)", 5),
        ("or(p, 8)", 15),
    ];
    for (call, new) in cases {
        for (place, prefix) in [
            ("(volatile global int *)(o + 60)", "atomic_"),
            ("(volatile local int *)&l", "atomic_"),
            ("(volatile local uint *)&u", "atom_"),
        ] {
            let call = call.replacen("(p", &format!("({place}"), 1);
            source += &format!(
                "*({place}) = 7; *o++ = {prefix}{call}; o--; o[1] = *({place}); o += 2;\n"
            )
            .replace("o + 60", "base + 60");
            expected.extend([7, new]);
        }
    }
    let source = source.replace("{ local int l;", "{ global int *base = o; local int l;") + "}";
    let got = run("", &source, 64, 1);
    assert_eq!(got[..60], expected);
    // Compare and exchange leaves what is not as expected; exchange of a float.
    let source = "kernel void f(global int *o) { o[1] = 7; o[0] = atomic_cmpxchg(o + 1, 6, 9);
        o[3] = as_int(1.5f); o[2] = as_int(atomic_xchg((global float *)(o + 3), 2.5f)); }";
    assert_eq!(run("", source, 4, 1), [7, 7, 1.5f32.to_bits() as i32, 2.5f32.to_bits() as i32]);
}

/// C11's: every operation, with every order and scope that the device offers.
#[test]
fn atomics_of_c11() {
    let mut source =
        String::from("kernel void f(global int *o) { local atomic_int l; local atomic_ulong w;\n");
    let cases: [(&str, i32); 7] =
        [("add", 12), ("sub", 2), ("or", 7), ("xor", 2), ("and", 5), ("min", 5), ("max", 7)];
    let mut expected = Vec::new();
    for (name, new) in cases {
        source += &format!("atomic_init(&l, 7); *o++ = atomic_fetch_{name}(&l, 5); *o++ = atomic_load(&l);
            atomic_store(&w, 7ul); *o++ = (int)atomic_fetch_{name}_explicit(&w, 5ul, memory_order_acq_rel, memory_scope_work_group);
            *o++ = (int)atomic_load_explicit(&w, memory_order_acquire, memory_scope_device);\n");
        expected.extend([7, new, 7, new]);
    }
    source += "int e = 7; atomic_store_explicit(&l, 7, memory_order_release, memory_scope_work_group);
        *o++ = atomic_compare_exchange_strong(&l, &e, 9); *o++ = atomic_exchange(&l, 1); e = 5;
        *o++ = atomic_compare_exchange_weak_explicit(&l, &e, 9, memory_order_seq_cst, memory_order_relaxed, memory_scope_all_svm_devices); *o++ = e;
        local atomic_flag g; atomic_flag_clear(&g); *o++ = atomic_flag_test_and_set(&g); *o++ = atomic_flag_test_and_set(&g);
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device); }";
    expected.extend([1, 9, 0, 1, 0, 1]);
    let got = run(CL3, &source, 64, 1);
    assert_eq!(got[..expected.len()], expected);
}

/// With and without strides, both ways, of types that are no power of two.
#[test]
fn asynchronous_copies() {
    let source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void f(global int *o) { local int l[64]; local int3 t[8]; local half h[64]; int i = get_local_id(0);
        o[i] = i; o[i + 32] = i + 32; barrier(CLK_GLOBAL_MEM_FENCE);
        event_t e = async_work_group_strided_copy(l, o, 16, 4, 0);
        e = async_work_group_copy(l + 16, o + 40, 8, e);
        e = async_work_group_copy(t, (global int3 *)o, 8, e);
        e = async_work_group_copy(h, (global half *)o, 16, e);
        wait_group_events(1, &e); prefetch(o, 64);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (i == 0) { o[0] = l[5]; o[1] = l[16]; o[2] = t[3].z; o[3] = ((local ushort *)h)[6]; }
        barrier(CLK_GLOBAL_MEM_FENCE);
        e = async_work_group_strided_copy(o + 40, l, 8, 3, 0); wait_group_events(1, &e); }";
    let got = run("", source, 64, 32);
    assert_eq!(got[..4], [20, 40, 14, 3]);
    assert_eq!([got[40], got[43], got[46], got[61]], [0, 4, 8, 28]);
    assert_eq!([got[41], got[44]], [41, 44]);
}

/// The scenario of the next test: what a kernel prints goes to the process's standard output.
#[test]
#[ignore = "a scenario of the test below"]
fn prints() {
    let setup = Setup::new(0);
    let source = r#"#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void f(void) {
            printf("%d %5.2f %s %c %x %%\n", -3, 2.5f, "text", 'q', 255);
            printf("%v4d|%v2hlf|%.1v4hlf\n", (int4)(1, -2, 3, 4), (float2)(0.5f, -1.0f), (float4)(1, 2, 3, 4));
            printf("%v4hhd %v3hu %v2lu %v2lf\n", (char4)(-1, 2, 3, 4), (ushort3)(7, 8, 9), (ulong2)(1ul << 40, 2), (double2)(0.25, 4.0));
            printf("%v2hf %v8hlx\n", (half2)(1.5h, -2.0h), (uint8)(1, 2, 3, 4, 5, 6, 7, 255));
            printf("%p %ld %e\n", (global void *)0, -1l << 40, 12345.0);
        }"#;
    let kernel = setup.kernel(source, "", "f");
    assert_eq!((setup.run(kernel, 1, None), cl!(clFinish(setup.queue))), (0, 0));
}

#[test]
fn printf_with_vectors() {
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "builtins::prints"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    for line in [
        "-3  2.50 text q ff %\n",
        "1,-2,3,4|0.500000,-1.000000|1.0,2.0,3.0,4.0\n",
        "-1,2,3,4 7,8,9 1099511627776,2 0.250000,4.000000\n",
        "1.500000,-2.000000 1,2,3,4,5,6,7,ff\n",
        "-1099511627776 1.234500e+04\n",
    ] {
        assert!(said.contains(line), "{line:?} is not in {said}");
    }
}
