// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounding to integral values, parts and classes of numbers, minimum and maximum, remainders,
//! `fma`. All exact, or rounded once.

use super::lane::{NAN32, NAN64, lane_functions};

const SIGN32: u32 = 1 << 31;
const SIGN64: u64 = 1 << 63;

/// Minimum as C's `fmin`: a number beats NaN, and -0 is below +0.
fn minimum(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (false, true) => a,
        (false, false) if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        (false, false) => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}

fn maximum(a: f64, b: f64) -> f64 {
    -minimum(-a, -b)
}

/// Positive difference; NaN if either is.
fn positive_difference(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a > b {
        a - b
    } else {
        0.0
    }
}

/// `__fdividef`: 0 for divisors above 2^126, where a card's reciprocal has underflowed.
fn fast_divide(a: f32, b: f32) -> f32 {
    let magnitude = b.abs();
    if magnitude > 2f32.powi(126) && magnitude < f32::INFINITY {
        if a.is_finite() { f32::copysign(0.0, a) * f32::copysign(1.0, b) } else { f32::NAN }
    } else {
        a / b
    }
}

/// The exponent as an integer; CUDA gives `INT_MIN` for 0 and for NaN, `INT_MAX` for infinity.
fn integer_exponent(x: f64) -> i32 {
    if x == 0.0 || x.is_nan() {
        i32::MIN
    } else if x.is_infinite() {
        i32::MAX
    } else {
        libm::ilogb(x)
    }
}

fn float_exponent(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if !x.is_finite() {
        x.abs()
    } else {
        f64::from(libm::ilogb(x))
    }
}

/// Every float times a power of two between these is exact in double precision, so the one
/// rounding is the conversion; beyond them the result is infinite or zero either way.
fn scale_f32(x: f32, n: i32) -> f32 {
    libm::scalbn(f64::from(x), n.clamp(-400, 400)) as f32
}

/// Remainder and the low three bits of the quotient, with the quotient's sign.
fn remainder_and_quotient(a: f64, b: f64) -> (f64, i32) {
    if a.is_nan() || b.is_nan() || a.is_infinite() || b == 0.0 {
        return (f64::NAN, 0);
    }
    let (rest, quotient) = libm::remquo(a, b);
    let low = (quotient.unsigned_abs() & 7) as i32;
    (rest, if a.is_sign_negative() != b.is_sign_negative() { -low } else { low })
}

/// High word of an approximate reciprocal (`rcp.approx.ftz.f64`): the low word does not take part.
fn reciprocal_high(bits: u64) -> u64 {
    const HIGH: u64 = 0xffff_ffff_0000_0000;
    let x = f64::from_bits(bits & HIGH);
    let sign = bits & SIGN64;
    if x.is_nan() {
        return 0x7fff_ffff_0000_0000;
    }
    if x.abs() < f64::MIN_POSITIVE {
        return sign | f64::INFINITY.to_bits();
    }
    let r = 1.0 / x;
    if r.abs() < f64::MIN_POSITIVE { sign } else { r.to_bits() & HIGH }
}

fn saturate(x: f32) -> f32 {
    // Also NaN gives 0.
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

lane_functions! {
    ceil(x: f64) -> f64 { x.ceil() }
    ceilf(x: f32) -> f32 { x.ceil() }
    floor(x: f64) -> f64 { x.floor() }
    floorf(x: f32) -> f32 { x.floor() }
    trunc(x: f64) -> f64 { x.trunc() }
    truncf(x: f32) -> f32 { x.trunc() }
    round(x: f64) -> f64 { x.round() }
    roundf(x: f32) -> f32 { x.round() }
    rint(x: f64) -> f64 { x.round_ties_even() }
    rintf(x: f32) -> f32 { x.round_ties_even() }
    nearbyint(x: f64) -> f64 { x.round_ties_even() }
    nearbyintf(x: f32) -> f32 { x.round_ties_even() }

    fabs(x: u64) -> u64 { x & !SIGN64 }
    fabsf(x: u32) -> u32 { x & !SIGN32 }
    copysign(x: u64, y: u64) -> u64 { (x & !SIGN64) | (y & SIGN64) }
    copysignf(x: u32, y: u32) -> u32 { (x & !SIGN32) | (y & SIGN32) }
    signbitd(x: u64) -> i32 { i32::from(x & SIGN64 != 0) }
    signbitf(x: u32) -> i32 { i32::from(x & SIGN32 != 0) }
    isfinited(x: f64) -> i32 { i32::from(x.is_finite()) }
    finitef(x: f32) -> i32 { i32::from(x.is_finite()) }
    isinfd(x: f64) -> i32 { i32::from(x.is_infinite()) }
    isinff(x: f32) -> i32 { i32::from(x.is_infinite()) }
    isnand(x: f64) -> i32 { i32::from(x.is_nan()) }
    isnanf(x: f32) -> i32 { i32::from(x.is_nan()) }
    nan(_tag: u64) -> u64 { NAN64 & !SIGN64 }
    nanf(_tag: u64) -> u32 { NAN32 }

    fma(a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
    fmaf(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    fast_fdividef(a: f32, b: f32) -> f32 { fast_divide(a, b) }
    fdim(a: f64, b: f64) -> f64 { positive_difference(a, b) }
    fdimf(a: f32, b: f32) -> f32 { positive_difference(f64::from(a), f64::from(b)) as f32 }
    fmax(a: f64, b: f64) -> f64 { maximum(a, b) }
    fmaxf(a: f32, b: f32) -> f32 { maximum(f64::from(a), f64::from(b)) as f32 }
    fmin(a: f64, b: f64) -> f64 { minimum(a, b) }
    fminf(a: f32, b: f32) -> f32 { minimum(f64::from(a), f64::from(b)) as f32 }
    saturatef(x: f32) -> f32 { saturate(x) }

    fmod(a: f64, b: f64) -> f64 { a % b }
    fmodf(a: f32, b: f32) -> f32 { a % b }
    remainder(a: f64, b: f64) -> f64 { remainder_and_quotient(a, b).0 }
    remainderf(a: f32, b: f32) -> f32 { remainder_and_quotient(f64::from(a), f64::from(b)).0 as f32 }
    remquo(a: f64, b: f64) -> (f64, i32) { remainder_and_quotient(a, b) }
    remquof(a: f32, b: f32) -> (f32, i32) {{
        let (rest, quotient) = remainder_and_quotient(f64::from(a), f64::from(b));
        (rest as f32, quotient)
    }}

    frexp(x: f64) -> (f64, i32) { libm::frexp(x) }
    frexpf(x: f32) -> (f32, i32) { libm::frexpf(x) }
    modf(x: f64) -> (f64, f64) { libm::modf(x) }
    modff(x: f32) -> (f32, f32) { libm::modff(x) }
    ilogb(x: f64) -> i32 { integer_exponent(x) }
    ilogbf(x: f32) -> i32 { integer_exponent(f64::from(x)) }
    logb(x: f64) -> f64 { float_exponent(x) }
    logbf(x: f32) -> f32 { float_exponent(f64::from(x)) as f32 }
    ldexp(x: f64, n: i32) -> f64 { libm::scalbn(x, n) }
    ldexpf(x: f32, n: i32) -> f32 { scale_f32(x, n) }
    scalbn(x: f64, n: i32) -> f64 { libm::scalbn(x, n) }
    scalbnf(x: f32, n: i32) -> f32 { scale_f32(x, n) }
    nextafter(x: f64, y: f64) -> f64 { libm::nextafter(x, y) }
    nextafterf(x: f32, y: f32) -> f32 { libm::nextafterf(x, y) }
    rcp64h(x: u64) -> u64 { reciprocal_high(x) }
}
