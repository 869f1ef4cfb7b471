// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special values of the device library (C99 annex F, and the CUDA Math API where it differs), and
//! exact results of its rounded, converting and integer functions.

use margay_exec::semantics::libdevice::eval;
use margay_ir::{Builtin, Ty};

fn call(name: &str, args: &[u64]) -> Vec<u64> {
    let b = Builtin::by_name(&format!("__nv_{name}")).expect(name);
    assert_eq!(args.len(), b.args().len(), "{name}");
    let planes: Vec<[u64; 32]> = args.iter().map(|a| [*a; 32]).collect();
    let mut rets = vec![[0x5a5a; 32]; b.rets().len()];
    eval(b, &planes, 1 << 31, &mut rets);
    for plane in &rets {
        assert!(plane[..31].iter().all(|v| *v == 0x5a5a), "{name} wrote a lane that is off");
    }
    rets.iter().map(|plane| plane[31]).collect()
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Equal as values, NaN equal to NaN, and zeros by their sign.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Checks a double function and, by the same table, its single-precision twin.
fn check(name: &str, table: &[(&[f64], f64)]) {
    for (args, expected) in table {
        let bits: Vec<u64> = args.iter().map(|a| a.to_bits()).collect();
        let result = f64::from_bits(call(name, &bits)[0]);
        assert!(same(result, *expected), "{name}{args:?} = {result:?}, not {expected:?}");
        let bits: Vec<u64> = args.iter().map(|a| u64::from((*a as f32).to_bits())).collect();
        let result = f32::from_bits(call(&format!("{name}f"), &bits)[0] as u32);
        let expected = f64::from(*expected as f32);
        assert!(same(result.into(), expected), "{name}f{args:?} = {result:?}, not {expected:?}");
    }
}

#[test]
fn special_values_of_one_argument() {
    let odd_zero: &[(&[f64], f64)] = &[(&[0.0], 0.0), (&[-0.0], -0.0), (&[NAN], NAN)];
    for name in [
        "sin",
        "tan",
        "asin",
        "atan",
        "sinh",
        "tanh",
        "asinh",
        "atanh",
        "expm1",
        "log1p",
        "cbrt",
        "erf",
        "erfinv",
        "sinpi",
        "ceil",
        "floor",
        "trunc",
        "round",
        "rint",
        "nearbyint",
        "sqrt",
    ] {
        check(name, odd_zero);
    }
    for name in ["sin", "cos", "tan", "sinpi", "cospi"] {
        check(name, &[(&[INF], NAN), (&[-INF], NAN)]);
    }
    let half_pi = std::f64::consts::FRAC_PI_2;
    check("cos", &[(&[0.0], 1.0), (&[-0.0], 1.0), (&[NAN], NAN)]);
    check("cospi", &[(&[0.0], 1.0), (&[0.5], 0.0), (&[1.0], -1.0), (&[1e20], 1.0)]);
    check("sinpi", &[(&[0.5], 1.0), (&[1.5], -1.0), (&[-0.5], -1.0)]);
    check("asin", &[(&[1.5], NAN), (&[1.0], half_pi), (&[-INF], NAN)]);
    check("acos", &[(&[1.0], 0.0), (&[-1.5], NAN), (&[INF], NAN), (&[NAN], NAN)]);
    check("atan", &[(&[INF], half_pi), (&[-INF], -half_pi)]);
    check("sinh", &[(&[INF], INF), (&[-INF], -INF), (&[1000.0], INF)]);
    check("cosh", &[(&[INF], INF), (&[-INF], INF), (&[0.0], 1.0), (&[NAN], NAN)]);
    check("tanh", &[(&[INF], 1.0), (&[-INF], -1.0)]);
    check("asinh", &[(&[INF], INF), (&[-INF], -INF)]);
    check("acosh", &[(&[1.0], 0.0), (&[0.5], NAN), (&[-INF], NAN), (&[INF], INF)]);
    check("atanh", &[(&[1.0], INF), (&[-1.0], -INF), (&[2.0], NAN)]);
    check("exp", &[(&[0.0], 1.0), (&[-INF], 0.0), (&[INF], INF), (&[NAN], NAN), (&[1e4], INF)]);
    check("exp", &[(&[-1e4], 0.0)]);
    check("exp2", &[(&[-0.0], 1.0), (&[-INF], 0.0), (&[INF], INF), (&[10.0], 1024.0)]);
    check("exp10", &[(&[2.0], 100.0), (&[-INF], 0.0), (&[INF], INF), (&[NAN], NAN)]);
    check("expm1", &[(&[INF], INF), (&[-INF], -1.0)]);
    for name in ["log", "log2", "log10"] {
        check(name, &[(&[1.0], 0.0), (&[0.0], -INF), (&[-0.0], -INF), (&[-1.0], NAN)]);
        check(name, &[(&[INF], INF), (&[-INF], NAN), (&[NAN], NAN)]);
    }
    check("log2", &[(&[8.0], 3.0)]);
    check("log10", &[(&[1000.0], 3.0)]);
    check("log1p", &[(&[-1.0], -INF), (&[-2.0], NAN), (&[INF], INF)]);
    check("logb", &[(&[0.0], -INF), (&[-INF], INF), (&[NAN], NAN), (&[-10.0], 3.0)]);
    check("sqrt", &[(&[-1.0], NAN), (&[INF], INF), (&[9.0], 3.0)]);
    check("rsqrt", &[(&[0.0], INF), (&[-0.0], -INF), (&[INF], 0.0), (&[-1.0], NAN), (&[4.0], 0.5)]);
    check("cbrt", &[(&[27.0], 3.0), (&[INF], INF), (&[-INF], -INF)]);
    check(
        "rcbrt",
        &[(&[0.0], INF), (&[-0.0], -INF), (&[INF], 0.0), (&[-INF], -0.0), (&[8.0], 0.5)],
    );
    check("erf", &[(&[INF], 1.0), (&[-INF], -1.0)]);
    check("erfc", &[(&[INF], 0.0), (&[-INF], 2.0), (&[0.0], 1.0), (&[NAN], NAN)]);
    check("erfinv", &[(&[1.0], INF), (&[-1.0], -INF), (&[1.5], NAN)]);
    check(
        "erfcinv",
        &[(&[0.0], INF), (&[2.0], -INF), (&[1.0], 0.0), (&[3.0], NAN), (&[-1.0], NAN)],
    );
    check("erfcx", &[(&[0.0], 1.0), (&[-INF], INF), (&[INF], 0.0), (&[NAN], NAN)]);
    check(
        "normcdf",
        &[(&[0.0], 0.5), (&[INF], 1.0), (&[-INF], 0.0), (&[NAN], NAN), (&[-40.5], 0.0)],
    );
    check(
        "normcdfinv",
        &[(&[0.0], -INF), (&[1.0], INF), (&[0.5], 0.0), (&[1.5], NAN), (&[NAN], NAN)],
    );
    check(
        "tgamma",
        &[(&[0.0], INF), (&[-0.0], -INF), (&[-3.0], NAN), (&[INF], INF), (&[-INF], NAN)],
    );
    check("tgamma", &[(&[5.0], 24.0), (&[NAN], NAN), (&[200.0], INF)]);
    check("lgamma", &[(&[1.0], 0.0), (&[2.0], 0.0), (&[0.0], INF), (&[-3.0], INF), (&[-INF], INF)]);
    check("lgamma", &[(&[INF], INF), (&[NAN], NAN)]);
    check("j0", &[(&[0.0], 1.0), (&[INF], 0.0), (&[NAN], NAN)]);
    check("j1", &[(&[0.0], 0.0), (&[-0.0], -0.0), (&[INF], 0.0), (&[NAN], NAN)]);
    for name in ["y0", "y1"] {
        check(name, &[(&[0.0], -INF), (&[-1.0], NAN), (&[INF], 0.0), (&[NAN], NAN)]);
    }
    check("cyl_bessel_i0", &[(&[0.0], 1.0), (&[INF], INF), (&[-INF], INF), (&[NAN], NAN)]);
    check("cyl_bessel_i1", &[(&[0.0], 0.0), (&[INF], INF), (&[-INF], -INF), (&[NAN], NAN)]);
    check("rint", &[(&[0.5], 0.0), (&[1.5], 2.0), (&[-0.5], -0.0), (&[-INF], -INF)]);
    check("round", &[(&[0.5], 1.0), (&[-0.5], -1.0), (&[2.5], 3.0), (&[0.49999997], 0.0)]);
    check("ceil", &[(&[-0.5], -0.0), (&[INF], INF), (&[1.25], 2.0)]);
    check("fabs", &[(&[-0.0], 0.0), (&[-INF], INF)]);
}

#[test]
fn special_values_of_several_arguments() {
    let pi = std::f64::consts::PI;
    check("atan2", &[(&[0.0, 1.0], 0.0), (&[-0.0, 1.0], -0.0), (&[0.0, -1.0], pi)]);
    check("atan2", &[(&[-0.0, -1.0], -pi), (&[0.0, 0.0], 0.0), (&[-0.0, -0.0], -pi)]);
    check("atan2", &[(&[1.0, 0.0], pi / 2.0), (&[INF, INF], pi / 4.0), (&[NAN, 1.0], NAN)]);
    check("atan2", &[(&[INF, -INF], 3.0 * pi / 4.0), (&[-1.0, -INF], -pi), (&[1.0, INF], 0.0)]);
    // C99 F.9.4.4, line by line.
    check("pow", &[(&[0.0, -3.0], INF), (&[-0.0, -3.0], -INF), (&[-0.0, -2.0], INF)]);
    check("pow", &[(&[-0.0, -2.5], INF), (&[-0.0, 3.0], -0.0), (&[-0.0, 4.0], 0.0)]);
    check("pow", &[(&[-1.0, INF], 1.0), (&[-1.0, -INF], 1.0), (&[1.0, NAN], 1.0)]);
    check("pow", &[(&[NAN, 0.0], 1.0), (&[NAN, -0.0], 1.0), (&[-8.0, 1.0 / 3.0], NAN)]);
    check(
        "pow",
        &[(&[0.5, -INF], INF), (&[2.0, -INF], 0.0), (&[0.5, INF], 0.0), (&[2.0, INF], INF)],
    );
    check("pow", &[(&[-INF, -3.0], -0.0), (&[-INF, -2.0], 0.0), (&[-INF, 3.0], -INF)]);
    check("pow", &[(&[-INF, 2.0], INF), (&[INF, -1.0], 0.0), (&[INF, 0.5], INF)]);
    check("pow", &[(&[-2.0, 3.0], -8.0), (&[NAN, 1.0], NAN), (&[2.0, NAN], NAN)]);
    check("hypot", &[(&[INF, NAN], INF), (&[NAN, -INF], INF), (&[3.0, -4.0], 5.0)]);
    check("hypot", &[(&[NAN, 1.0], NAN), (&[0.0, -0.0], 0.0)]);
    check("rhypot", &[(&[INF, NAN], 0.0), (&[0.0, 0.0], INF), (&[3.0, 4.0], 0.2)]);
    check("norm3d", &[(&[2.0, 3.0, 6.0], 7.0), (&[INF, NAN, 0.0], INF)]);
    check("norm4d", &[(&[1.0, 1.0, 1.0, 1.0], 2.0), (&[NAN, 1.0, 1.0, 1.0], NAN)]);
    check(
        "rnorm3d",
        &[(&[0.0, 0.0, 0.0], INF), (&[0.0, INF, NAN], 0.0), (&[2.0, 4.0, 4.0], 1.0 / 6.0)],
    );
    check("rnorm4d", &[(&[1.0, 1.0, 1.0, 1.0], 0.5)]);
    check(
        "fmin",
        &[(&[0.0, -0.0], -0.0), (&[-0.0, 0.0], -0.0), (&[NAN, 1.0], 1.0), (&[1.0, NAN], 1.0)],
    );
    check(
        "fmax",
        &[(&[0.0, -0.0], 0.0), (&[-0.0, 0.0], 0.0), (&[NAN, NAN], NAN), (&[2.0, 3.0], 3.0)],
    );
    check(
        "fdim",
        &[(&[3.0, 1.0], 2.0), (&[1.0, 3.0], 0.0), (&[NAN, 1.0], NAN), (&[INF, INF], 0.0)],
    );
    check(
        "fmod",
        &[(&[5.5, 2.0], 1.5), (&[-5.5, 2.0], -1.5), (&[1.0, 0.0], NAN), (&[1.0, INF], 1.0)],
    );
    check("fmod", &[(&[-0.0, 1.0], -0.0), (&[INF, 1.0], NAN)]);
    check("remainder", &[(&[5.0, 2.0], 1.0), (&[7.0, 2.0], -1.0), (&[-4.0, 2.0], -0.0)]);
    check("remainder", &[(&[1.0, 0.0], NAN), (&[3.0, INF], 3.0)]);
    check("copysign", &[(&[1.0, -0.0], -1.0), (&[-2.0, 3.0], 2.0)]);
    check("nextafter", &[(&[1.0, 1.0], 1.0), (&[NAN, 1.0], NAN), (&[0.0, -0.0], -0.0)]);
    check("fma", &[(&[2.0, 3.0, 4.0], 10.0), (&[INF, 0.0, 1.0], NAN), (&[-0.0, 1.0, -0.0], -0.0)]);
    let tiny = f64::from_bits(call("nextafter", &[0, INF.to_bits()])[0]);
    assert_eq!(tiny, f64::from_bits(1));
}

fn d(x: f64) -> u64 {
    x.to_bits()
}

fn f(x: f32) -> u64 {
    u64::from(x.to_bits())
}

fn i(x: i32) -> u64 {
    u64::from(x as u32)
}

/// `(name, arguments, results)`, all bit patterns.
fn check_bits(table: &[(&str, &[u64], &[u64])]) {
    for (name, args, expected) in table {
        let result = call(name, args);
        assert_eq!(result, *expected, "{name}{args:x?} = {result:x?}, not {expected:x?}");
    }
}

#[test]
fn several_results() {
    check_bits(&[
        ("sincos", &[d(0.0)], &[d(0.0), d(1.0)]),
        ("sincosf", &[f(-0.0)], &[f(-0.0), f(1.0)]),
        ("sincospi", &[d(0.5)], &[d(1.0), d(0.0)]),
        ("sincospif", &[f(1.5)], &[f(-1.0), f(0.0)]),
        ("fast_sincosf", &[f(0.0)], &[f(0.0), f(1.0)]),
        ("frexp", &[d(48.0)], &[d(0.75), i(6)]),
        ("frexp", &[d(-0.0)], &[d(-0.0), i(0)]),
        ("frexp", &[1], &[d(0.5), i(-1073)]),
        ("frexpf", &[f(-0.375)], &[f(-0.75), i(-1)]),
        ("modf", &[d(-3.25)], &[d(-0.25), d(-3.0)]),
        ("modf", &[d(-INF)], &[d(-0.0), d(-INF)]),
        ("modff", &[f(5.5)], &[f(0.5), f(5.0)]),
        ("remquo", &[d(29.0), d(3.0)], &[d(-1.0), i(2)]), // 29 = 3 * 10 - 1, 10 mod 8 = 2
        ("remquo", &[d(-29.0), d(3.0)], &[d(1.0), i(-2)]),
        ("remquof", &[f(5.0), f(2.0)], &[f(1.0), i(2)]),
        ("remquof", &[f(7.0), f(-2.0)], &[f(-1.0), i(-4)]),
    ]);
}

#[test]
fn exponents_and_scaling() {
    check_bits(&[
        ("ilogb", &[d(0.0)], &[i(i32::MIN)]),
        ("ilogb", &[d(NAN)], &[i(i32::MIN)]),
        ("ilogb", &[d(-INF)], &[i(i32::MAX)]),
        ("ilogb", &[1], &[i(-1074)]),
        ("ilogbf", &[1], &[i(-149)]),
        ("ldexp", &[d(3.0), i(-1075)], &[2]), // 1.5 units: ties to even
        ("ldexp", &[d(1.0), i(5000)], &[d(INF)]),
        ("ldexpf", &[f(3.0), i(-150)], &[2]),
        ("ldexpf", &[f(1.0), i(i32::MIN)], &[0]),
        ("scalbnf", &[1, i(149)], &[f(1.0)]),
        ("scalbn", &[d(-1.0), i(10)], &[d(-1024.0)]),
        ("powi", &[d(-2.0), i(-3)], &[d(-0.125)]),
        ("powif", &[f(3.0), i(4)], &[f(81.0)]),
        ("jn", &[i(-1), d(1.0)], &[0xfff8_0000_0000_0000]),
        ("yn", &[i(3), d(0.0)], &[d(-INF)]),
        ("ynf", &[i(3), f(-1.0)], &[0x7fff_ffff]),
        ("saturatef", &[f(f32::NAN)], &[0]),
        ("saturatef", &[f(1.5)], &[f(1.0)]),
        ("saturatef", &[f(-0.5)], &[0]),
        ("fast_fdividef", &[f(1.0), f(1.5e38)], &[0]),
        ("fast_fdividef", &[f(f32::INFINITY), f(1.5e38)], &[0x7fff_ffff]),
        ("fast_fdividef", &[f(1.0), f(4.0)], &[f(0.25)]),
        ("fast_powf", &[f(-2.0), f(2.0)], &[0x7fff_ffff]),
        ("signbitd", &[d(-0.0)], &[1]),
        ("isnanf", &[0x7f80_0001], &[1]),
        ("isinfd", &[d(-INF)], &[1]),
        ("finitef", &[f(f32::INFINITY)], &[0]),
        ("rcp64h", &[d(2.0)], &[d(0.5)]),
        ("rcp64h", &[d(-0.0)], &[d(-INF)]),
        ("rcp64h", &[d(3.0)], &[0x3fd5_5555_0000_0000]),
    ]);
}

#[test]
fn rounding_directions() {
    let third = [0x3eaa_aaaa, 0x3eaa_aaab];
    let (max, inf) = (f(f32::MAX), f(f32::INFINITY));
    let wide_third = 0x3fd5_5555_5555_5555;
    check_bits(&[
        ("fdiv_rd", &[f(1.0), f(3.0)], &[third[0]]),
        ("fdiv_rz", &[f(1.0), f(3.0)], &[third[0]]),
        ("fdiv_rn", &[f(1.0), f(3.0)], &[third[1]]),
        ("fdiv_ru", &[f(1.0), f(3.0)], &[third[1]]),
        ("frcp_rd", &[f(-3.0)], &[0xbeaa_aaab]),
        ("frcp_ru", &[f(-3.0)], &[0xbeaa_aaaa]),
        ("fadd_rz", &[max, max], &[max]),
        ("fadd_ru", &[max, max], &[inf]),
        ("fadd_rn", &[max, max], &[inf]),
        ("fadd_rd", &[f(1.0), f(-1.0)], &[f(-0.0)]),
        ("fadd_ru", &[f(1.0), 1], &[0x3f80_0001]),
        ("fsub_rd", &[f(1.0), 1], &[0x3f7f_ffff]),
        ("fmul_ru", &[1, 1], &[1]),
        ("fmul_rd", &[1, 1], &[0]),
        ("fmaf_rz", &[0x3f80_0001, 0x3f80_0001, 0], &[0x3f80_0002]),
        ("fmaf_ru", &[0x3f80_0001, 0x3f80_0001, 0], &[0x3f80_0003]),
        ("fmaf_ieee_rd", &[f(1.0), f(1.0), 0x8000_0001], &[0x3f7f_ffff]),
        ("fsqrt_rd", &[f(2.0)], &[0x3fb5_04f3]),
        ("fsqrt_ru", &[f(2.0)], &[0x3fb5_04f4]),
        ("fsqrt_rz", &[f(-1.0)], &[0x7fff_ffff]),
        ("frsqrt_rn", &[f(4.0)], &[f(0.5)]),
        ("frsqrt_rn", &[f(0.0)], &[inf]),
        ("ddiv_rd", &[d(1.0), d(3.0)], &[wide_third]),
        ("ddiv_ru", &[d(1.0), d(3.0)], &[wide_third + 1]),
        ("drcp_rn", &[d(3.0)], &[wide_third]),
        ("dadd_ru", &[d(1.0), 1], &[0x3ff0_0000_0000_0001]),
        ("dmul_rz", &[d(f64::MAX), d(2.0)], &[d(f64::MAX)]),
        ("dsqrt_rd", &[d(2.0)], &[0x3ff6_a09e_667f_3bcc]),
        ("dsqrt_ru", &[d(2.0)], &[0x3ff6_a09e_667f_3bcd]),
        ("dsqrt_ru", &[1], &[0x1e60_0000_0000_0000]), // √2^-1074 = 2^-537, exactly
        ("dsqrt_rd", &[1], &[0x1e60_0000_0000_0000]),
        ("fma_ru", &[d(1.0), d(1.0), 1], &[0x3ff0_0000_0000_0001]),
        ("dsub_rz", &[d(1.0), 1], &[0x3fef_ffff_ffff_ffff]),
    ]);
}

#[test]
fn conversions() {
    let high = 1 << 63;
    check_bits(&[
        ("float2int_rn", &[f(2.5)], &[2]),
        ("float2int_rz", &[f(-2.9)], &[i(-2)]),
        ("float2int_rd", &[f(-2.1)], &[i(-3)]),
        ("float2int_ru", &[f(2.1)], &[3]),
        ("float2int_rn", &[f(f32::NAN)], &[0]),
        ("float2int_rn", &[f(1e20)], &[0x7fff_ffff]),
        ("float2uint_rz", &[f(-5.0)], &[0]),
        ("float2ll_rn", &[f(f32::NAN)], &[high]),
        ("float2ull_rn", &[f(f32::NAN)], &[high]),
        ("float2ull_rn", &[f(f32::INFINITY)], &[u64::MAX]),
        ("double2int_rn", &[d(NAN)], &[0x8000_0000]),
        ("double2uint_rn", &[d(NAN)], &[0x8000_0000]),
        ("double2uint_ru", &[d(4294967294.5)], &[0xffff_ffff]),
        ("double2ll_rd", &[d(-1e300)], &[high]),
        ("double2float_rd", &[d(1e300)], &[f(f32::MAX)]),
        ("double2float_ru", &[d(1e300)], &[f(f32::INFINITY)]),
        ("double2float_rz", &[d(0.1)], &[0x3dcc_cccc]),
        ("double2float_rn", &[d(0.1)], &[0x3dcc_cccd]),
        ("double2float_ru", &[1], &[1]),
        ("double2float_rd", &[1 | high], &[0x8000_0001]),
        ("int2float_rn", &[i(16777217)], &[f(16777216.0)]),
        ("int2float_ru", &[i(16777217)], &[f(16777218.0)]),
        ("int2float_rz", &[i(-16777217)], &[f(-16777216.0)]),
        ("int2float_rd", &[i(-16777217)], &[f(-16777218.0)]),
        ("uint2float_rz", &[i(-1)], &[0x4f7f_ffff]),
        ("ll2float_rn", &[u64::MAX], &[f(-1.0)]),
        ("ull2double_rz", &[u64::MAX], &[0x43ef_ffff_ffff_ffff]),
        ("ull2double_rn", &[u64::MAX], &[0x43f0_0000_0000_0000]),
        ("ull2float_rd", &[u64::MAX], &[0x5f7f_ffff]),
        ("llrint", &[d(-2.5)], &[(-2i64) as u64]),
        ("llround", &[d(-2.5)], &[(-3i64) as u64]),
        ("llroundf", &[f(f32::NAN)], &[high]),
        ("float2half_rn", &[f(65520.0)], &[0x7c00]),
        ("float2half_rn", &[f(1.0)], &[0x3c00]),
        ("half2float", &[0xc000], &[f(-2.0)]),
        ("half2float", &[0x0001], &[f(5.9604645e-8)]),
        ("double2hiint", &[0x1234_5678_9abc_def0], &[0x1234_5678]),
        ("double2loint", &[0x1234_5678_9abc_def0], &[0x9abc_def0]),
        ("hiloint2double", &[0x7ff4_0000, 1], &[0x7ff4_0000_0000_0001]),
        ("int_as_float", &[0x7fa0_0001], &[0x7fa0_0001]),
    ]);
}

#[test]
fn integers_and_simd() {
    check_bits(&[
        ("abs", &[i(i32::MIN)], &[0x8000_0000]),
        ("brev", &[1], &[0x8000_0000]),
        ("clz", &[0], &[32]),
        ("clzll", &[1], &[63]),
        ("ffs", &[0], &[0]),
        ("ffsll", &[1 << 40], &[41]),
        ("popcll", &[u64::MAX], &[64]),
        ("byte_perm", &[0x3322_1100, 0x7766_5544, 0x7531], &[0x7755_3311]),
        ("byte_perm", &[0x0000_0080, 0, 0x0008], &[0x8080_80ff]),
        ("hadd", &[i(i32::MIN), i(-1)], &[i(-1073741825)]),
        ("rhadd", &[i(-3), i(0)], &[i(-1)]),
        ("uhadd", &[u32::MAX.into(), u32::MAX.into()], &[u32::MAX.into()]),
        ("urhadd", &[1, 2], &[2]),
        ("mul24", &[0x00ff_ffff, 5], &[i(-5)]),
        ("umul24", &[0xff00_0003, 5], &[15]),
        ("mulhi", &[i(-1), i(1)], &[i(-1)]),
        ("umulhi", &[u32::MAX.into(), 2], &[1]),
        ("mul64hi", &[u64::MAX, 1], &[u64::MAX]),
        ("umul64hi", &[u64::MAX, 2], &[1]),
        ("sad", &[i(-1), i(2), 10], &[13]),
        ("usad", &[i(-1), 0, 1], &[0]),
        ("vabs2", &[0x8000_ffff], &[0x8000_0001]),
        ("vabsss2", &[0x8000_ffff], &[0x7fff_0001]),
        ("vadd4", &[0xff01_7f80, 0x0101_0180], &[0x0002_8000]),
        ("vaddss4", &[0xff01_7f80, 0x0101_0180], &[0x0002_7f80]),
        ("vaddus4", &[0xff01_7f80, 0x0101_0180], &[0xff02_80ff]),
        ("vsubus2", &[0x0001_0005, 0x0002_0003], &[0x0000_0002]),
        ("vavgs2", &[0xffff_0001, 0xfffe_0002], &[0xfffe_0002]),
        ("vavgu4", &[0x0103_05ff, 0x0204_0600], &[0x0204_0680]),
        ("vhaddu4", &[0x0103_05ff, 0x0204_0600], &[0x0103_057f]),
        ("vabsdiffs4", &[0x8000_ff01, 0x7f00_01ff], &[0xff00_0202]),
        ("vabsdiffu2", &[0x0001_ffff, 0x0003_0000], &[0x0002_ffff]),
        ("vsads2", &[0x8000_ffff, 0x7fff_0001], &[0x0001_0001]),
        ("vsadu4", &[0x01ff_0000, 0x0300_0005], &[2 + 255 + 5]),
        ("vmaxs2", &[0xffff_0001, 0x0000_0002], &[0x0000_0002]),
        ("vminu2", &[0xffff_0001, 0x0000_0002], &[0x0000_0001]),
        ("vcmpgts4", &[0x7f80_00ff, 0x807f_00fe], &[0xff00_00ff]),
        ("vcmpgtu4", &[0x7f80_00ff, 0x807f_00fe], &[0x00ff_00ff]),
        ("vseteq2", &[0x1234_5678, 0x1234_0000], &[0x0001_0000]),
        ("vnegss4", &[0x8001_ff00], &[0x7fff_0100]),
    ]);
}

/// Bessel functions of higher order, to CUDA's absolute bound (orders up to 128).
#[test]
fn bessel_functions_of_higher_order() {
    // Abramowitz and Stegun, tables 9.2 and 9.4.
    for (name, n, x, value) in [
        ("jn", 2, 1.0, 0.114_903_484_931_900_5),
        ("jn", 5, 10.0, -0.234_061_528_186_793_6),
        ("jn", 10, 10.0, 0.207_486_106_633_358_86),
        ("yn", 2, 1.0, -1.650_682_606_816_254_4),
        ("yn", 5, 10.0, 0.135_403_047_689_362_3),
    ] {
        let result = f64::from_bits(call(name, &[n, d(x)])[0]);
        assert!((result - value).abs() < 2.5e-12, "{name}({n}, {x}) = {result}, not {value}");
    }
}

/// Beyond the recurrences' orders: close to what they give just below, and quick.
#[test]
fn bessel_functions_of_large_order_continue() {
    let below = (1 << 20) - 1;
    for x in [1e3, 5e5, 2e6, 1e9] {
        for name in ["jn", "yn"] {
            let [a, b, c] =
                [below - 1, below, below + 1].map(|n| f64::from_bits(call(name, &[n, d(x)])[0]));
            // The recurrence itself: the value of the large order from the two before.
            let expected = 2.0 * below as f64 / x * b - a;
            let close = (c - expected).abs() <= 1e-5 * (a.abs() + b.abs() + c.abs());
            assert!(close || same(c, expected) || c.is_infinite(), "{name}({x}): {a} {b} {c}");
        }
    }
    for n in [1 << 21, i32::MAX as u64] {
        assert_eq!(call("jn", &[n, d(1.0)]), [0]);
        assert_eq!(call("yn", &[n, d(1.0)]), [d(-INF)]);
    }
}

/// Correct rounding is exhaustive over both parities of the exponent.
#[test]
fn frsqrt_rounds_correctly() {
    for bits in (0x3f80_0000u32..0x4080_0000).step_by(37) {
        let x = f64::from(f32::from_bits(bits));
        let r = f32::from_bits(call("frsqrt_rn", &[bits.into()])[0] as u32);
        // 1/√x lies between the midpoints around r: m² x against 1, exact in 53 + 24 bits by fma.
        for (midpoint, above) in [
            ((f64::from(r) + f64::from(r.next_up())) / 2.0, true),
            ((f64::from(r) + f64::from(r.next_down())) / 2.0, false),
        ] {
            let square = midpoint * midpoint; // exact: 25 bits squared
            let side = square.mul_add(x, -1.0);
            assert!(if above { side > 0.0 } else { side < 0.0 }, "{bits:x}");
        }
    }
}

/// Nothing panics, whatever the bits, and narrow results stay narrow.
#[test]
fn no_bits_panic() {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ (state >> 29)
    };
    let special = [
        0,
        1,
        1 << 63,
        d(1.0),
        d(-1.0),
        d(INF),
        d(-INF),
        d(NAN),
        d(f64::MAX),
        f(1.0),
        f(-1.0),
        f(f32::INFINITY),
        f(f32::MAX),
        0x7fc0_0000,
        0x8000_0000,
        u64::MAX,
        0x7fff_ffff,
        d(1e-310),
        d(710.0),
        d(-745.2),
        d(171.7),
        f(88.8),
        f(35.1),
        2,
    ];
    for &b in Builtin::ALL {
        for _ in 0..60 {
            let args: Vec<[u64; 32]> = b
                .args()
                .iter()
                .map(|_| {
                    std::array::from_fn(|_| {
                        let r = random();
                        if r % 3 == 0 { special[(r >> 32) as usize % special.len()] } else { r }
                    })
                })
                .collect();
            let mut rets = vec![[0; 32]; b.rets().len()];
            eval(b, &args, u32::MAX, &mut rets);
            for (plane, ty) in rets.iter().zip(b.rets()) {
                let width = match ty {
                    Ty::F64 | Ty::I64 => 64,
                    _ => ty.bits(),
                };
                assert!(width == 64 || plane.iter().all(|v| v >> width == 0), "{b:?}");
            }
        }
    }
}
