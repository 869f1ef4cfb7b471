// SPDX-License-Identifier: MIT OR Apache-2.0
//! f32 operations on bit patterns.
//!
//! To nearest they are the host's own; in the other directions the operation runs in f64, rounded
//! to odd, and is narrowed once (see [`crate::semantics::rounding`]). That is exact also where the
//! f32 result is subnormal or overflows, since nothing of either kind happens in f64.

use crate::semantics::rounding::{RM, RN, add_to_odd, narrow_f32, to_odd};

/// The NaN that every f32 operation gives.
pub const NAN: u32 = 0x7fff_ffff;
const SIGN: u32 = 0x8000_0000;
const MIN_NORMAL: u32 = 0x0080_0000;
const ONE: u32 = 0x3f80_0000;

/// A subnormal becomes zero of the same sign.
#[inline(always)]
pub fn flush(a: u32) -> u32 {
    if a & !SIGN < MIN_NORMAL { a & SIGN } else { a }
}

/// An operand's value.
#[inline(always)]
pub fn input<const FTZ: bool>(a: u32) -> f32 {
    f32::from_bits(if FTZ { flush(a) } else { a })
}

/// A result's bits.
#[inline(always)]
pub fn output<const FTZ: bool, const SAT: bool>(r: f32) -> u32 {
    let bits = if r.is_nan() { NAN } else { r.to_bits() };
    let bits = if FTZ { flush(bits) } else { bits };
    if SAT { saturate(bits) } else { bits }
}

/// Whether a result, rounded to 24 bits as if its exponent had no lower end, is below the smallest
/// normal: `.ftz` makes it zero, although it rounds to the smallest normal as a subnormal would. (As
/// recorded on an H200 for products, sums of products and quotients; what becomes the smallest
/// normal in 24 bits stays.) `odd` is the exact result, or that rounded to odd. Not for `RNA`.
#[inline(always)]
fn tiny<const R: u8>(odd: f64) -> bool {
    // 2^-126 less half of its last place below, and less the whole of it.
    const HALF: f64 = f64::from_bits((1023 - 127) << 52 | ((1 << 52) - (1 << 28)));
    const WHOLE: f64 = f64::from_bits((1023 - 127) << 52 | ((1 << 52) - (1 << 29)));
    if R == RN { odd.abs() < HALF } else { odd.abs() <= WHOLE }
}

/// [`output`] of a result that may be [`tiny`].
#[inline(always)]
pub fn output_small<const R: u8, const FTZ: bool, const SAT: bool>(r: f32, odd: f64) -> u32 {
    let flushed = if FTZ && tiny::<R>(odd) { f32::from_bits(r.to_bits() & SIGN) } else { r };
    output::<FTZ, SAT>(flushed)
}

/// [`tiny`] for rounding to nearest, without a detour through f64: a result of an operation whose
/// operands were scaled by this, where it is normal, is rounded to 24 bits.
const SCALE: f32 = f32::from_bits((127 + 32) << 23);
/// [`output`] to nearest, given the result of the scaled operation: what overflows, or is NaN, in
/// that is not small.
#[inline(always)]
fn output_scaled<const FTZ: bool, const SAT: bool>(r: f32, scaled: f32) -> u32 {
    const LIMIT: f32 = f32::from_bits((127 - 126 + 32) << 23);
    let small = FTZ && scaled.abs() < LIMIT;
    output::<FTZ, SAT>(if small { f32::from_bits(r.to_bits() & SIGN) } else { r })
}

/// Clamps to [0, 1]; NaN and -0 become +0.
#[inline(always)]
pub fn saturate(a: u32) -> u32 {
    let x = f32::from_bits(a);
    let low = if x > 0.0 { a } else { 0 };
    if x > 1.0 { ONE } else { low }
}

/// The sign that an exact zero sum has when rounding down.
#[inline(always)]
fn zero_sum<const R: u8>(r: f32, a_sign: bool, b_sign: bool) -> f32 {
    if R == RM && r == 0.0 { f32::from_bits(if a_sign | b_sign { SIGN } else { 0 }) } else { r }
}

#[inline(always)]
pub fn add<const R: u8, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    let (x, y) = (input::<FTZ>(a), input::<FTZ>(b));
    let r = if R == RN {
        x + y
    } else {
        let r = narrow_f32::<R>(add_to_odd(x as f64, y as f64));
        zero_sum::<R>(r, x.is_sign_negative(), y.is_sign_negative())
    };
    output::<FTZ, SAT>(r)
}

#[inline(always)]
pub fn sub<const R: u8, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    add::<R, FTZ, SAT>(a, b ^ SIGN)
}

#[inline(always)]
pub fn mul<const R: u8, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    let (x, y) = (input::<FTZ>(a), input::<FTZ>(b));
    if R == RN {
        return output_scaled::<FTZ, SAT>(x * y, x * SCALE * y);
    }
    // 24 by 24 bits fit in an f64.
    let product = x as f64 * y as f64;
    output_small::<R, FTZ, SAT>(narrow_f32::<R>(product), product)
}

#[inline(always)]
pub fn fma<const R: u8, const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    let (x, y, z) = (input::<FTZ>(a), input::<FTZ>(b), input::<FTZ>(c));
    if R == RN {
        return output_scaled::<FTZ, SAT>(x.mul_add(y, z), (x * SCALE).mul_add(y, z * SCALE));
    }
    let product = x as f64 * y as f64;
    let odd = add_to_odd(product, z as f64);
    let r = narrow_f32::<R>(odd);
    // A zero that is not exact was rounded to, and has its sign already.
    let r = if product + z as f64 == 0.0 {
        zero_sum::<R>(r, product.is_sign_negative(), z.is_sign_negative())
    } else {
        r
    };
    output_small::<R, FTZ, SAT>(r, odd)
}

/// The bits of a quotient.
#[inline(always)]
fn quotient<const R: u8, const FTZ: bool, const SAT: bool>(x: f32, y: f32) -> u32 {
    if R == RN {
        return output_scaled::<FTZ, SAT>(x / y, x * SCALE / y);
    }
    let (x, y) = (x as f64, y as f64);
    let q = x / y;
    let rest = (-q).mul_add(y, x);
    let odd = to_odd(q, if y < 0.0 { -rest } else { rest });
    output_small::<R, FTZ, SAT>(narrow_f32::<R>(odd), odd)
}

#[inline(always)]
pub fn div<const R: u8, const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
    quotient::<R, FTZ, SAT>(input::<FTZ>(a), input::<FTZ>(b))
}

#[inline(always)]
pub fn rcp<const R: u8, const FTZ: bool>(a: u32) -> u32 {
    quotient::<R, FTZ, false>(1.0, input::<FTZ>(a))
}

#[inline(always)]
pub fn sqrt<const R: u8, const FTZ: bool>(a: u32) -> u32 {
    let x = input::<FTZ>(a);
    let r = if R == RN {
        x.sqrt()
    } else {
        let x = x as f64;
        let s = x.sqrt();
        narrow_f32::<R>(to_odd(s, (-s).mul_add(s, x)))
    };
    output::<FTZ, false>(r)
}

/// The sign is flipped; NaN gives the canonical NaN.
#[inline(always)]
pub fn neg<const FTZ: bool>(a: u32) -> u32 {
    output::<FTZ, false>(f32::from_bits(a ^ SIGN))
}

/// The sign is cleared; NaN gives the canonical NaN.
#[inline(always)]
pub fn abs<const FTZ: bool>(a: u32) -> u32 {
    output::<FTZ, false>(f32::from_bits(a & !SIGN))
}

/// Magnitude of `b`, sign of `a`.
#[inline(always)]
pub fn copysign(a: u32, b: u32) -> u32 {
    (a & SIGN) | (b & !SIGN)
}

/// `MAX` picks maximum or minimum. -0 is less than +0; a NaN operand gives the other one unless
/// `NAN_WINS`; `XORSIGN` compares magnitudes and gives the result both signs' exclusive or.
#[inline(always)]
pub fn minmax<const MAX: bool, const FTZ: bool, const NAN_WINS: bool, const XORSIGN: bool>(
    a: u32,
    b: u32,
) -> u32 {
    let (a, b) = if FTZ { (flush(a), flush(b)) } else { (a, b) };
    let (x, y) = if XORSIGN { (a & !SIGN, b & !SIGN) } else { (a, b) };
    let (fx, fy) = (f32::from_bits(x), f32::from_bits(y));
    let better = if MAX { fx > fy } else { fx < fy };
    let mut r = if better | fy.is_nan() { x } else { y };
    if fx == fy {
        r = if MAX { x & y } else { x | y };
    }
    if XORSIGN {
        r |= (a ^ b) & SIGN;
    }
    let nan = if NAN_WINS { fx.is_nan() | fy.is_nan() } else { fx.is_nan() & fy.is_nan() };
    if nan { NAN } else { r }
}
