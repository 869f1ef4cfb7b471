// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of `float`, and those of them that `half` has, too. The reference is double precision, rounded once.

use half::f16;

use super::{
    Function, PI, any, fdim, fract, gamma_sign, ilogb, integer, powr, quotient, rootn, row, tanpi,
};

/// Of `float` and of `half`.
pub const BOTH: &[Function] = &[
    row("acos", 4.0, 1, 1.0, |x, _| x.acos()),
    row("acosh", 4.0, 1, 1e10, |x, _| x.acosh()),
    row("acospi", 5.0, 1, 1.0, |x, _| x.acos() / PI),
    row("asin", 4.0, 1, 1.0, |x, _| x.asin()),
    row("asinh", 4.0, 1, 1e10, |x, _| pxfm::f_asinh(x)),
    row("asinpi", 5.0, 1, 1.0, |x, _| x.asin() / PI),
    row("atan", 5.0, 1, 1e30, |x, _| x.atan()),
    row("atanh", 5.0, 1, 1.0, |x, _| pxfm::f_atanh(x)),
    row("atanpi", 5.0, 1, 1e30, |x, _| x.atan() / PI),
    row("atan2", 6.0, 2, 1e10, |x, y| x.atan2(y)),
    row("atan2pi", 6.0, 2, 1e10, |x, y| x.atan2(y) / PI),
    row("cbrt", 2.0, 1, 1e30, |x, _| x.cbrt()),
    row("cos", 4.0, 1, 1e4, |x, _| x.cos()),
    row("cosh", 4.0, 1, 80.0, |x, _| x.cosh()),
    row("cospi", 4.0, 1, 1e3, |x, _| pxfm::f_cospi(x)),
    row("erf", 16.0, 1, 4.0, |x, _| pxfm::f_erf(x)),
    row("erfc", 16.0, 1, 8.0, |x, _| pxfm::f_erfc(x)),
    row("exp", 3.0, 1, 80.0, |x, _| x.exp()),
    row("exp2", 3.0, 1, 120.0, |x, _| x.exp2()),
    row("exp10", 3.0, 1, 37.0, |x, _| 10f64.powf(x)),
    row("expm1", 3.0, 1, 80.0, |x, _| x.exp_m1()),
    row("fdim", 0.0, 2, 1e10, fdim),
    row("fmod", 0.0, 2, 1e4, |x, y| x % y),
    row("hypot", 4.0, 2, 1e10, |x, y| x.hypot(y)),
    row("log", 3.0, 1, 1e30, |x, _| x.ln()),
    row("log1p", 2.0, 1, 1e10, |x, _| x.ln_1p()),
    row("log2", 3.0, 1, 1e30, |x, _| x.log2()),
    row("log10", 3.0, 1, 1e30, |x, _| x.log10()),
    row("pow", 16.0, 2, 20.0, |x, y| x.powf(y)),
    row("powr", 16.0, 2, 20.0, |x, y| powr(x, y, f64::powf)),
    row("rsqrt", 2.0, 1, 1e30, |x, _| 1.0 / x.sqrt()),
    row("sin", 4.0, 1, 1e4, |x, _| x.sin()),
    row("sinh", 4.0, 1, 80.0, |x, _| x.sinh()),
    row("sinpi", 4.0, 1, 1e3, |x, _| pxfm::f_sinpi(x)),
    row("sqrt", 0.0, 1, 1e30, |x, _| x.sqrt()),
    row("tan", 5.0, 1, 1e4, |x, _| x.tan()),
    row("tanh", 5.0, 1, 20.0, |x, _| x.tanh()),
    row("tanpi", 6.0, 1, 1e3, tanpi),
    row("tgamma", 16.0, 1, 42.0, |x, _| if x == 0.0 { 1.0 / x } else { libm::tgamma(x) }),
    row("sincos", 4.0, 1, 1e4, |x, _| x.sin()).by("sincos(x[i], &s)"),
    row("sincos's cosine", 4.0, 1, 1e4, |x, _| x.cos()).by("(sincos(x[i], &s), s)"),
    row("pown", 16.0, 2, 20.0, |x, y| x.powf(f64::from(integer(y)))).by("pown(x[i], INTEGER(y[i]))"),
    row("rootn", 16.0, 2, 200.0, |x, y| rootn(x, integer(y), f64::powf)).by("rootn(x[i], INTEGER(y[i]))"),
    row("degrees", 2.0, 1, 1e3, |x, _| x * (180.0 / PI)),
    row("radians", 2.0, 1, 1e3, |x, _| x * (PI / 180.0)),
    row("x / y", 2.5, 2, 1e10, |x, y| x / y).by("x[i] / y[i]"),
    row("1 / x", 2.5, 1, 1e10, |x, _| 1.0 / x).by("(T)1 / x[i]"),
    any("lgamma", 1, 30.0, |x, _| libm::lgamma(x)),
    any("mad", 2, 1e3, |x, y| x.mul_add(y, -x)).by("mad(x[i], y[i], -x[i])"),
    row("ceil", 0.0, 1, 1e6, |x, _| x.ceil()),
    row("copysign", 0.0, 2, 1e6, |x, y| x.copysign(y)),
    row("fabs", 0.0, 1, 1e6, |x, _| x.abs()),
    row("floor", 0.0, 1, 1e6, |x, _| x.floor()),
    row("fma", 0.0, 2, 1e3, |x, y| x.mul_add(y, -x)).by("fma(x[i], y[i], -x[i])"),
    row("fmax", 0.0, 2, 1e6, |x, y| x.max(y)),
    row("fmin", 0.0, 2, 1e6, |x, y| x.min(y)),
    row("frexp", 0.0, 1, 1e30, |x, _| libm::frexp(x).0).by("frexp(x[i], &q)"),
    row("frexp's exponent", 0.0, 1, 1e30, |x, _| if x.is_finite() { f64::from(libm::frexp(x).1) } else { 0.0 })
        .by("(frexp(x[i], &q), isfinite(x[i]) ? (T)q : (T)0)"),
    row("ilogb", 0.0, 1, 1e30, ilogb).by("(T)ilogb(x[i])"),
    row("ldexp", 0.0, 2, 1e2, |x, y| libm::ldexp(x, integer(y))).by("ldexp(x[i], INTEGER(y[i]))"),
    row("logb", 0.0, 1, 1e30, |x, _| if x == 0.0 { -f64::INFINITY } else if x.is_infinite() { x.abs() } else if x.is_nan() { x } else { ilogb(x, x) }),
    row("maxmag", 0.0, 2, 1e6, |x, y| if x.abs() > y.abs() { x } else if y.abs() > x.abs() { y } else { x.max(y) }),
    row("minmag", 0.0, 2, 1e6, |x, y| if x.abs() < y.abs() { x } else if y.abs() < x.abs() { y } else { x.min(y) }),
    row("modf", 0.0, 1, 1e6, |x, _| if x.is_infinite() { 0.0 } else { x.fract() }).by("modf(x[i], &s)"),
    row("modf's whole", 0.0, 1, 1e6, |x, _| x.trunc()).by("(modf(x[i], &s), s)"),
    row("remainder", 0.0, 2, 1e4, libm::remainder),
    row("remquo", 0.0, 2, 1e4, libm::remainder).by("remquo(x[i], y[i], &q)"),
    row("remquo's quotient", 0.0, 2, 1e4, quotient)
        .by("(remquo(x[i], y[i], &q), isfinite(x[i]) && !isnan(y[i]) && y[i] != 0 ? (T)(q % 128) : (T)0)"),
    row("rint", 0.0, 1, 1e6, |x, _| x.round_ties_even()),
    row("round", 0.0, 1, 1e6, |x, _| x.round()),
    row("trunc", 0.0, 1, 1e6, |x, _| x.trunc()),
    row("sign", 0.0, 1, 1e6, |x, _| if x.is_nan() { 0.0 } else if x == 0.0 { x } else { x.signum() }),
    row("clamp", 0.0, 2, 1e6, |x, y| x.max(-1.5).min(y.abs())).by("clamp(x[i], (T)-1.5, fabs(y[i]))").numbers(),
    any("mix", 2, 1e3, |x, y| x + (y - x) * 0.25).by("mix(x[i], y[i], (T)0.25)"),
    any("smoothstep", 1, 4.0, |x, _| { let t = ((x + 1.0) / 3.0).clamp(0.0, 1.0); t * t * (3.0 - 2.0 * t) })
        .by("smoothstep((T)-1, (T)2, x[i])"),
    row("step", 0.0, 2, 1e6, |x, y| if y < x { 0.0 } else { 1.0 }),
    row("lgamma_r's sign", 0.0, 1, 30.0, gamma_sign).by("(lgamma_r(x[i], &q), x[i] <= 0 && floor(x[i]) == x[i] ? (T)1 : (T)q)"),
];

/// Of `half` alone.
pub const HALF: &[Function] = &[
    row("fract", 0.0, 1, 1e6, |x, _| fract(x, 1.0 - 1.0 / 2048.0, |r| f16::from_f64(r).to_f64()))
        .by("fract(x[i], &s)"),
    row("fract's whole", 0.0, 1, 1e6, |x, _| x.floor()).by("(fract(x[i], &s), s)"),
    row("nextafter", 0.0, 2, 1e6, |x, y| next_half(f16::from_f64(x), f16::from_f64(y)).to_f64()),
    row("length", 2.25, 2, 1e10, |x, y| (2.0 * (x * x + y * y)).sqrt())
        .by("length((T4)(x[i], y[i], y[i], x[i]))")
        .finite(),
    row("distance", 4.0, 2, 1e10, |x, y| ((x - y) * (x - y) + (y + x) * (y + x)).sqrt())
        .by("distance((T2)(x[i], y[i]), (T2)(y[i], -x[i]))")
        .finite(),
    row("normalize", 4.0, 2, 1e10, |x, y| x / (x * x + y * y + 1.0).sqrt())
        .by("normalize((T3)(x[i], y[i], 1)).x")
        .finite(),
];

fn next_half(x: f16, y: f16) -> f16 {
    let (bits, up) = (x.to_bits(), y > x);
    if x.is_nan() || y.is_nan() {
        f16::NAN
    } else if x == y {
        y
    } else if bits & 0x7fff == 0 {
        f16::from_bits(if up { 1 } else { 0x8001 })
    } else if up == (bits & 0x8000 == 0) {
        f16::from_bits(bits + 1)
    } else {
        f16::from_bits(bits - 1)
    }
}

/// Of `float` alone.
pub const SINGLE: &[Function] = &[
    row("fract", 0.0, 1, 1e6, |x, _| {
        fract(x, f64::from(1.0 - f32::EPSILON / 2.0), |r| f64::from(r as f32))
    })
    .by("fract(x[i], &s)"),
    row("fract's whole", 0.0, 1, 1e6, |x, _| x.floor()).by("(fract(x[i], &s), s)"),
    row("nextafter", 0.0, 2, 1e6, |x, y| f64::from(libm::nextafterf(x as f32, y as f32))),
    row("length", 4.75, 2, 1e10, |x, y| (2.0 * (x * x + y * y)).sqrt())
        .by("length((T4)(x[i], y[i], y[i], x[i]))")
        .finite(),
    row("distance", 6.5, 2, 1e10, |x, y| ((x - y) * (x - y) + (y + x) * (y + x)).sqrt())
        .by("distance((T2)(x[i], y[i]), (T2)(y[i], -x[i]))")
        .finite(),
    row("normalize", 5.0, 2, 1e10, |x, y| x / (x * x + y * y + 1.0).sqrt())
        .by("normalize((T3)(x[i], y[i], 1)).x")
        .finite(),
    // Of the root of a dot product, which is not to underflow.
    row("fast_length", 8193.5, 2, 1e10, |x, y| x.hypot(1.0 + y.abs()))
        .by("fast_length((T2)(x[i], 1 + fabs(y[i])))")
        .finite(),
    row("fast_distance", 8195.5, 2, 1e10, |x, y| x.hypot(1.0 + y.abs()))
        .by("fast_distance((T2)(x[i], 1), (T2)(0, -fabs(y[i])))")
        .finite(),
    row("fast_normalize", 8195.0, 2, 1e10, |x, y| x / (x * x + y * y + 1.0).sqrt())
        .by("fast_normalize((T3)(x[i], y[i], 1)).x")
        .finite(),
    row("half_cos", 8192.0, 1, 6e4, |x, _| x.cos()).finite(),
    row("half_divide", 8192.0, 2, 1e10, |x, y| x / y).finite(),
    row("half_exp", 8192.0, 1, 80.0, |x, _| x.exp()).finite(),
    row("half_exp2", 8192.0, 1, 120.0, |x, _| x.exp2()).finite(),
    row("half_exp10", 8192.0, 1, 37.0, |x, _| 10f64.powf(x)).finite(),
    row("half_log", 8192.0, 1, 1e30, |x, _| x.ln()).finite(),
    row("half_log2", 8192.0, 1, 1e30, |x, _| x.log2()).finite(),
    row("half_log10", 8192.0, 1, 1e30, |x, _| x.log10()).finite(),
    row("half_powr", 8192.0, 2, 20.0, |x, y| powr(x, y, f64::powf)).finite(),
    row("half_recip", 8192.0, 1, 1e30, |x, _| 1.0 / x).finite(),
    row("half_rsqrt", 8192.0, 1, 1e30, |x, _| 1.0 / x.sqrt()).finite(),
    row("half_sin", 8192.0, 1, 6e4, |x, _| x.sin()).finite(),
    row("half_sqrt", 8192.0, 1, 1e30, |x, _| x.sqrt()).finite(),
    row("half_tan", 8192.0, 1, 6e4, |x, _| x.tan()).finite(),
    any("native_cos", 1, 3.0, |x, _| x.cos()).finite(),
    any("native_divide", 2, 1e10, |x, y| x / y).finite(),
    any("native_exp", 1, 80.0, |x, _| x.exp()).finite(),
    any("native_exp2", 1, 120.0, |x, _| x.exp2()).finite(),
    any("native_exp10", 1, 37.0, |x, _| 10f64.powf(x)).finite(),
    any("native_log", 1, 1e30, |x, _| x.ln()).finite(),
    any("native_log2", 1, 1e30, |x, _| x.log2()).finite(),
    any("native_log10", 1, 1e30, |x, _| x.log10()).finite(),
    any("native_powr", 2, 20.0, |x, y| powr(x, y, f64::powf)).finite(),
    any("native_recip", 1, 1e30, |x, _| 1.0 / x).finite(),
    any("native_rsqrt", 1, 1e30, |x, _| 1.0 / x.sqrt()).finite(),
    any("native_sin", 1, 3.0, |x, _| x.sin()).finite(),
    any("native_sqrt", 1, 1e30, |x, _| x.sqrt()).finite(),
    any("native_tan", 1, 1.5, |x, _| x.tan()).finite(),
];
