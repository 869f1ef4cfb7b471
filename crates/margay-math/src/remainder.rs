// SPDX-License-Identifier: MIT OR Apache-2.0
//! What division leaves. The quotient's integer is at most one too large where it is below 2^53, and what it
//! leaves is a double, exactly; lanes with larger ones are slow. Single precision is done in double.

use crate::ops::Ops;
use crate::table::Checked;
use crate::value::{F32, F64, I32, Mask};

/// |a| as a multiple of |b| and what is left, in [0, |b|); NaN if there is none.
struct Division<O: Ops> {
    divisor: F64<O>,
    quotient: F64<O>,
    rest: F64<O>,
    slow: Mask<O>,
}

#[inline(always)]
fn divide<O: Ops>(a: F64<O>, b: F64<O>) -> Division<O> {
    /// 2^53
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let (x, y) = (a.abs(), b.abs());
    let guess = x / y;
    let finite = x.lt(f64::INFINITY);
    let slow = !guess.lt(LARGEST) & finite & y.gt(0.0);
    let guess = guess.trunc();
    let rest = (-guess).mul_add(y, x);
    let over = rest.lt(0.0);
    // An infinite divisor goes into nothing, and 0 times it is NaN.
    let whole = finite & y.equals(f64::INFINITY);
    Division {
        divisor: y,
        quotient: over.select(guess - 1.0, guess),
        rest: whole.select(x, over.select(rest + y, rest)),
        slow,
    }
}

/// The remainder of the nearest integer, of the even one if two are as near, and that integer's magnitude.
#[inline(always)]
fn nearest<O: Ops>(a: F64<O>, b: F64<O>) -> Checked<(F64<O>, F64<O>), O> {
    let Division { divisor, quotient, rest, slow } = divide(a, b);
    // Exact where it is not far from `rest`, which is what counts.
    let other = divisor - rest;
    let odd = !(quotient * 0.5).trunc().equals(quotient * 0.5);
    let past = rest.gt(other) | (rest.equals(other) & odd);
    let r = past.select(rest - divisor, rest);
    let r = (r.bits() ^ (a.bits() & i64::MIN)).as_float();
    Checked { value: (r, past.select(quotient + 1.0, quotient)), slow }
}

/// The low three bits of a quotient's magnitude, with its sign; 0 of NaN.
#[inline(always)]
fn low_bits<O: Ops>(quotient: F64<O>, rest: F64<O>, negative: Mask<O>) -> I32<O> {
    /// Adding this leaves an integer below 2^52 in the low bits.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let low = quotient - (quotient * 0.125).trunc() * 8.0;
    let bits = (low + SHIFT).bits().truncate() & 7;
    let signed = negative.select(bits.k(0) - bits, bits);
    rest.is_nan().select(bits.k(0), signed)
}

#[inline(always)]
pub fn fmod<O: Ops>(a: F64<O>, b: F64<O>) -> Checked<F64<O>, O> {
    let Division { rest, slow, .. } = divide(a, b);
    Checked { value: rest.copysign(a).canonical(), slow }
}

#[inline(always)]
pub fn fmodf<O: Ops>(a: F32<O>, b: F32<O>) -> Checked<F32<O>, O> {
    let Division { rest, slow, .. } = divide(a.wide(), b.wide());
    Checked { value: rest.narrow().copysign(a).canonical(), slow }
}

#[inline(always)]
pub fn remainder<O: Ops>(a: F64<O>, b: F64<O>) -> Checked<F64<O>, O> {
    let Checked { value: (rest, _), slow } = nearest(a, b);
    Checked { value: rest.canonical(), slow }
}

#[inline(always)]
pub fn remainderf<O: Ops>(a: F32<O>, b: F32<O>) -> Checked<F32<O>, O> {
    let Checked { value: (rest, _), slow } = nearest(a.wide(), b.wide());
    Checked { value: rest.narrow().canonical(), slow }
}

#[inline(always)]
pub fn remquo<O: Ops>(a: F64<O>, b: F64<O>) -> Checked<(F64<O>, I32<O>), O> {
    let Checked { value: (rest, quotient), slow } = nearest(a, b);
    let low = low_bits(quotient, rest, a.sign_differs(b));
    Checked { value: (rest.canonical(), low), slow }
}

#[inline(always)]
pub fn remquof<O: Ops>(a: F32<O>, b: F32<O>) -> Checked<(F32<O>, I32<O>), O> {
    let (a, b) = (a.wide(), b.wide());
    let Checked { value: (rest, quotient), slow } = nearest(a, b);
    let low = low_bits(quotient, rest, a.sign_differs(b));
    Checked { value: (rest.narrow().canonical(), low), slow }
}

/// One lane, of any quotient.
pub fn slow_remquo((a, b): (f64, f64)) -> (f64, i32) {
    if a.is_nan() || b.is_nan() || a.is_infinite() || b == 0.0 {
        return (f64::from_bits(0xfff8_0000_0000_0000), 0);
    }
    let (rest, quotient) = libm::remquo(a, b);
    let low = (quotient.unsigned_abs() & 7) as i32;
    (rest, if a.is_sign_negative() != b.is_sign_negative() { -low } else { low })
}
pub fn slow_remquof((a, b): (f32, f32)) -> (f32, i32) {
    let (rest, quotient) = slow_remquo((a.into(), b.into()));
    (if rest.is_nan() { f32::from_bits(0x7fff_ffff) } else { rest as f32 }, quotient)
}
pub fn slow_remainder(args: (f64, f64)) -> f64 {
    slow_remquo(args).0
}
pub fn slow_remainderf(args: (f32, f32)) -> f32 {
    slow_remquof(args).0
}
pub fn slow_fmod((a, b): (f64, f64)) -> f64 {
    libm::fmod(a, b)
}
pub fn slow_fmodf((a, b): (f32, f32)) -> f32 {
    libm::fmodf(a, b)
}
