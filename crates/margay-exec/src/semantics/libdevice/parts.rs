// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounding to integral values, parts and classes of numbers, minimum and maximum, remainders,
//! `fma`. All exact, or rounded once.

use super::lane::{NAN32, NAN64, lane_functions};
const SIGN64: u64 = 1 << 63;

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

lane_functions! {

    nan(_tag: u64) -> u64 { NAN64 & !SIGN64 }
    nanf(_tag: u64) -> u32 { NAN32 }


    fmod(a: f64, b: f64) -> f64 { a % b }
    fmodf(a: f32, b: f32) -> f32 { a % b }
    remainder(a: f64, b: f64) -> f64 { remainder_and_quotient(a, b).0 }
    remainderf(a: f32, b: f32) -> f32 { remainder_and_quotient(f64::from(a), f64::from(b)).0 as f32 }
    remquo(a: f64, b: f64) -> (f64, i32) { remainder_and_quotient(a, b) }
    remquof(a: f32, b: f32) -> (f32, i32) {{
        let (rest, quotient) = remainder_and_quotient(f64::from(a), f64::from(b));
        (rest as f32, quotient)
    }}

    rcp64h(x: u64) -> u64 { reciprocal_high(x) }
}
