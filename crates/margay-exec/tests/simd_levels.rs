// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same bits whatever vectors the processor has: each level runs in a process of its own, and
//! all print the same. Needs a build that has the levels: release, or the feature `wide-handlers`.
#![cfg(any(not(debug_assertions), feature = "wide-handlers"))]

mod common;

use std::fmt::Write as _;
use std::process::Command;

use common::{Device, Run};

/// Operations on `%f1 %f2 %f3`, `%e1 %e2 %e3`, `%r1 %r2`, `%d1 %d2`; the result's register.
const OPS: &[(&str, &str)] = &[
    ("add.rn.f32 %f9, %f1, %f2;", "%f9"),
    ("add.rz.ftz.f32 %f9, %f1, %f2;", "%f9"),
    ("mul.rn.f32 %f9, %f1, %f2;", "%f9"),
    ("mul.rp.f32 %f9, %f1, %f2;", "%f9"),
    ("fma.rn.f32 %f9, %f1, %f2, %f3;", "%f9"),
    ("fma.rn.ftz.sat.f32 %f9, %f1, %f2, %f3;", "%f9"),
    ("div.rn.f32 %f9, %f1, %f2;", "%f9"),
    ("div.approx.f32 %f9, %f1, %f2;", "%f9"),
    ("sqrt.rn.f32 %f9, %f1;", "%f9"),
    ("rsqrt.approx.f32 %f9, %f1;", "%f9"),
    ("rcp.rn.f32 %f9, %f1;", "%f9"),
    ("sin.approx.f32 %f9, %f1;", "%f9"),
    ("ex2.approx.f32 %f9, %f1;", "%f9"),
    ("lg2.approx.f32 %f9, %f1;", "%f9"),
    ("min.f32 %f9, %f1, %f2;", "%f9"),
    ("max.NaN.f32 %f9, %f1, %f2;", "%f9"),
    ("add.rn.f64 %e9, %e1, %e2;", "%e9"),
    ("mul.rm.f64 %e9, %e1, %e2;", "%e9"),
    ("fma.rn.f64 %e9, %e1, %e2, %e3;", "%e9"),
    ("div.rn.f64 %e9, %e1, %e2;", "%e9"),
    ("sqrt.rn.f64 %e9, %e1;", "%e9"),
    ("cvt.rn.f32.f64 %f9, %e1;", "%f9"),
    ("cvt.f64.f32 %e9, %f1;", "%e9"),
    ("cvt.rzi.s32.f32 %r9, %f1;", "%r9"),
    ("cvt.rni.u32.f32 %r9, %f1;", "%r9"),
    ("cvt.rzi.s64.f64 %d9, %e1;", "%d9"),
    ("cvt.rn.f32.s32 %f9, %r1;", "%f9"),
    ("cvt.rn.f32.u64 %f9, %d1;", "%f9"),
    ("cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f9, %h1;", "%f9"),
    ("mul.lo.s32 %r9, %r1, %r2;", "%r9"),
    ("mul.hi.s32 %r9, %r1, %r2;", "%r9"),
    ("mul.wide.s32 %d9, %r1, %r2;", "%d9"),
    ("shf.l.wrap.b32 %r9, %r1, %r2, %r1;", "%r9"),
    ("prmt.b32 %r9, %r1, %r2, 0x3715;", "%r9"),
    ("popc.b32 %r9, %r1;", "%r9"),
    ("clz.b64 %r9, %d1;", "%r9"),
    ("brev.b32 %r9, %r1;", "%r9"),
    ("setp.lt.f32 %p1, %f1, %f2; selp.b32 %r9, %r1, %r2, %p1;", "%r9"),
    ("CALL32 __nv_sinf %f1", "%f9"),
    ("CALL32 __nv_expf %f1", "%f9"),
    ("CALL32 __nv_powf %f1 %f2", "%f9"),
    ("CALL64 __nv_sin %e1", "%e9"),
    ("CALL64 __nv_exp %e1", "%e9"),
    ("CALL64 __nv_pow %e1 %e2", "%e9"),
];

const CHILD: &str = "MARGAY_SIMD_LEVELS_CHILD";

/// `CALL32 function arguments…` as PTX; anything else is that.
fn expand(op: &str, declared: &mut String) -> String {
    let mut words = op.split(' ');
    let (width, result) = match words.next() {
        Some("CALL32") => (32, "%f9"),
        Some("CALL64") => (64, "%e9"),
        _ => return op.to_owned(),
    };
    let name = words.next().expect("a function");
    let args: Vec<_> = words.collect();
    let list = |f: &dyn Fn(usize) -> String| (0..args.len()).map(f).collect::<Vec<_>>().join(", ");
    let params = list(&|n| format!(".param .b{width} x{n}"));
    let _ = writeln!(declared, ".extern .func (.param .b{width} r) {name}({params});");
    let mut out = format!("{{ .param .b{width} res; ");
    for (n, arg) in args.iter().enumerate() {
        let _ = write!(out, ".param .b{width} x{n}; st.param.f{width} [x{n}], {arg}; ");
    }
    let names = list(&|n| format!("x{n}"));
    let _ = write!(out, "call (res), {name}, ({names}); ld.param.f{width} {result}, [res]; }}");
    out
}

/// One kernel that does all of [`OPS`] and stores each result, 8 bytes apart.
fn program() -> String {
    let (mut declared, mut body) = (String::new(), String::new());
    let size = OPS.len() * 8;
    let _ = write!(
        body,
        "mul.wide.u32 %d3, %t, 24; add.u64 %d3, %a0, %d3;
         ld.global.u64 %d1, [%d3]; ld.global.u64 %d2, [%d3+8]; ld.global.u64 %d4, [%d3+16];
         mov.b64 %e1, %d1; mov.b64 %e2, %d2; mov.b64 %e3, %d4;
         cvt.u32.u64 %r1, %d1; cvt.u32.u64 %r2, %d2; cvt.u32.u64 %r3, %d4;
         mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
         mul.wide.u32 %d5, %t, {size}; add.u64 %d5, %a1, %d5;"
    );
    for (n, (op, result)) in OPS.iter().enumerate() {
        let op = expand(op, &mut declared);
        let bits = if result.starts_with("%f") || result.starts_with("%r") { 32 } else { 64 };
        let _ = writeln!(body, "{op} st.global.b{bits} [%d5+{}], {result};", n * 8);
    }
    common::module(&declared, &body)
}

/// Random bits, and now and then a value of a size that functions like.
fn inputs() -> Vec<u64> {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let one = |n: usize, r: u64| match n % 4 {
        0 => r,
        // Of one magnitude as a double and, in the low half, as a float.
        1 => {
            (r & 0x800f_ffff_0000_0000) | 0x3ff0_0000_0000_0000 | (0x3f80_0000 ^ (r & 0x80ff_ffff))
        }
        2 => {
            (r & 0x803f_ffff_0000_0000) | 0x4000_0000_0000_0000 | (0x4000_0000 | (r & 0x83ff_ffff))
        }
        _ => r & 0x800f_ffff_807f_ffff,
    };
    (0..3 * 2048).map(|n| one(n / 3 + n, next())).collect()
}

fn results() -> String {
    let device = Device::new();
    let m = device.load(&program());
    let values = inputs();
    let threads = values.len() / 3;
    let a = device.buffer(&values);
    let out = device.buffer(&vec![0u64; threads * OPS.len()]);
    Run::new(threads as u32 / 128, 128).go(&device, &m, "k", &[a, out, 0]).unwrap();
    let got = device.read::<u64>(out, threads * OPS.len());
    let mut text = String::new();
    for (t, row) in got.chunks(OPS.len()).enumerate() {
        for ((op, _), bits) in OPS.iter().zip(row) {
            let _ = writeln!(text, "= {op} of {:x?}: {bits:x}", &values[t * 3..t * 3 + 3]);
        }
    }
    text
}

#[test]
fn every_level_gives_the_same_bits() {
    if std::env::var_os(CHILD).is_some() {
        print!("{}", results());
        return;
    }
    let at = |level: &str| {
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "every_level_gives_the_same_bits", "--nocapture"])
            .env("MARGAY_SIMD", level)
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        text.lines().filter(|l| l.starts_with("= ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let baseline = at("baseline");
    assert_eq!(baseline.len(), OPS.len() * inputs().len() / 3);
    // The empty one is the widest that there is.
    for level in ["avx2", ""] {
        for (a, b) in baseline.iter().zip(at(level)) {
            assert_eq!(*a, b, "baseline and `{level}`");
        }
    }
}
