// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bessel functions of any order. Up to order 8 from those of order 0 and 1, by the recurrence
//! f(k + 1, x) = 2k / x f(k, x) - f(k - 1, x), which is stable for J as long as x is above the
//! order: below, a power series. Larger orders are slow lanes.

use crate::double::bessel::{self, j0_of, j1_of, signed, special, y0_of, y1_of};
use crate::double::trig;
use crate::ops::Ops;
use crate::table::Checked;
use crate::value::{F64, I32, Mask};

/// The largest order with a formula.
const LARGEST: i32 = 8;

/// By recurrence, where `n` is not above [`LARGEST`]. Where the result is -∞ it stays that.
#[inline(always)]
fn recur<O: Ops>(n: I32<O>, x: F64<O>, f0: F64<O>, f1: F64<O>) -> F64<O> {
    let h = x.k(2.0) / x;
    let (mut before, mut f) = (f0, f1);
    let mut r = n.lt(1).select(f0, f1);
    let mut k = 1;
    while k < LARGEST {
        let next = (h * f64::from(k)).mul_add(f, -before);
        let next = f.equals(f64::NEG_INFINITY).select(f, next);
        (before, f) = (f, next);
        r = n.gt(k).select(f, r);
        k += 1;
    }
    r
}

/// Terms of the power series.
const TERMS: i32 = 20;

/// 1 / (k (n + k)) for each order and term.
static RECIPROCALS: [f64; ((LARGEST + 1) * TERMS) as usize] = {
    let mut table = [0.0; ((LARGEST + 1) * TERMS) as usize];
    let mut i = 0;
    while i < table.len() {
        let (n, k) = (i as i32 / TERMS, i as i32 % TERMS + 1);
        table[i] = 1.0 / (k * (n + k)) as f64;
        i += 1;
    }
    table
};

/// (x/2)^n / n! (1 - s / (n + 1) (1 - s / (2 (n + 2)) (1 - ...))) where s is x²/4: for x up to n.
#[inline(always)]
fn series<O: Ops>(n: I32<O>, x: F64<O>) -> F64<O> {
    let n = n.below(LARGEST + 1).select(n, 0);
    let half = x * 0.5;
    let mut power = half;
    let mut k = 2;
    while k <= LARGEST {
        let next = power * half * (1.0 / f64::from(k));
        power = n.lt(k).select(power, next);
        k += 1;
    }
    let s = -(half * half);
    let row = n * TERMS - 1;
    let mut sum = x.k(1.0);
    let mut k = TERMS;
    while k > 0 {
        sum = (s * (row + k).lookup(&RECIPROCALS)).mul_add(sum, 1.0);
        k -= 1;
    }
    power * sum
}

/// J of order `n` from those of order 0 and 1 of the magnitude.
#[inline(always)]
pub(crate) fn j_of_order<O: Ops>(n: I32<O>, x: F64<O>, j0: F64<O>, j1: F64<O>) -> F64<O> {
    let a = x.abs();
    let low = n.gt(1) & a.le(n.to_f64());
    let r = low.select(series(n, a), recur(n, a, j0, j1));
    let odd = (n & 1).equals(1);
    let r = signed(r, odd.select(x, 0.0));
    let r = n.lt(0).select(r.k(f64::NAN), r);
    x.is_nan().select(x, r)
}

/// Y of order `n` from those of order 0 and 1. Orders below 0 are undefined for CUDA, unlike C's.
#[inline(always)]
pub(crate) fn y_of_order<O: Ops>(n: I32<O>, x: F64<O>, y0: F64<O>, y1: F64<O>) -> F64<O> {
    let y = special(x, recur(n, x, y0, y1));
    n.lt(0).select(y.k(f64::NAN), y)
}

/// Lanes of larger orders or arguments. None of them gives NaN.
#[inline(always)]
pub(crate) fn slow<O: Ops>(n: I32<O>, x: F64<O>) -> Mask<O> {
    let ordinary = x.abs().lt(f64::INFINITY) & n.gt(-1);
    ordinary & (n.gt(LARGEST) | trig::slow(x))
}

#[inline(always)]
pub fn jn<O: Ops>(n: I32<O>, x: F64<O>) -> Checked<F64<O>, O> {
    let a = x.abs();
    let sincos = trig::sincos_of(a);
    let j = j_of_order(n, x, j0_of(a, sincos), j1_of(a, sincos));
    Checked { value: j.canonical(), slow: slow(n, x) }
}

#[inline(always)]
pub fn yn<O: Ops>(n: I32<O>, x: F64<O>) -> Checked<F64<O>, O> {
    let sincos = trig::sincos_of(x);
    let y = y_of_order(n, x, y0_of(x, sincos), y1_of(x, sincos));
    Checked { value: y.canonical(), slow: slow(n, x) & x.gt(0.0) }
}

/// Orders from here on go by the leading term of Debye's expansions: a recurrence takes time in
/// proportion to the order, and the term's error falls with it. CUDA bounds errors up to order 128.
const LARGE_ORDER: i32 = 1 << 20;

/// J and Y of a large order, for positive `x`.
fn of_large_order(n: i32, x: f64) -> (f64, f64) {
    use std::f64::consts::{FRAC_2_PI, FRAC_PI_4};
    let n = f64::from(n);
    let cube_root = pxfm::f_cbrt(n);
    let d = (x - n) * (x + n);
    let r = d.abs().sqrt();
    if d.abs() < 4.0 * n * cube_root {
        // Where the order meets the argument: J and Y at x = n, of n to the power -1/3.
        (0.447_307_318_4 / cube_root, -0.774_759_002_1 / cube_root)
    } else if d > 0.0 {
        let phase = r - n * pxfm::f_acos(n / x) - FRAC_PI_4;
        let amplitude = (FRAC_2_PI / r).sqrt();
        (amplitude * pxfm::f_cos(phase), amplitude * pxfm::f_sin(phase))
    } else {
        let exponent = n * pxfm::f_acosh(n / x) - r;
        let amplitude = (FRAC_2_PI / r).sqrt();
        (0.5 * amplitude * pxfm::f_exp(-exponent), -amplitude * pxfm::f_exp(exponent))
    }
}

/// J of a slow lane.
pub fn slow_jn((n, x): (i32, f64)) -> f64 {
    match n {
        0 => bessel::slow_j0(x),
        1 => bessel::slow_j1(x),
        ..LARGE_ORDER => libm::jn(n, x),
        LARGE_ORDER.. => {
            let (j, _) = of_large_order(n, x.abs());
            if x < 0.0 && n % 2 == 1 { -j } else { j }
        }
    }
}

/// Y of a slow lane.
pub fn slow_yn((n, x): (i32, f64)) -> f64 {
    match n {
        0 => bessel::slow_y0(x),
        1 => bessel::slow_y1(x),
        ..LARGE_ORDER => libm::yn(n, x),
        LARGE_ORDER.. => of_large_order(n, x).1,
    }
}
