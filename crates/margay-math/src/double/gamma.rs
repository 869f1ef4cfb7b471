// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gamma function and its logarithm.

use std::f64::consts::PI;

use crate::double::exponential::{LN_2_HIGH, LN_2_LOW, SHIFT, exp_kernel, nearest, scale};
use crate::double::logarithm::log;
use crate::double::power::log_in_two;
use crate::double::tables::{GAMMA, LOG_GAMMA};
use crate::ops::Ops;
use crate::value::{F64, I32, Mask};

/// a + b as the nearest double and what that lacks, whichever is larger.
#[inline(always)]
fn two_sum<O: Ops>(a: F64<O>, b: F64<O>) -> (F64<O>, F64<O>) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The distance of `x` to the nearest integer, signed, and whether that is odd. Beyond 2^53 all
/// doubles are even.
#[inline(always)]
fn from_integer<O: Ops>(x: F64<O>) -> (F64<O>, Mask<O>) {
    let n = x.rint();
    let half = n * 0.5;
    (x - n, !half.rint().equals(half))
}

/// sin(πf) for |f| up to ½.
#[inline(always)]
fn sin_of_half_turn<O: Ops>(f: F64<O>) -> F64<O> {
    /// What the double nearest to π lacks.
    const PI_LOW: f64 = 1.2246467991473532e-16;
    let s = f * f;
    let p = s.poly([
        7.68902220227275e-07,
        -2.190258872000326e-05,
        0.0004662994336329192,
        -0.007370430421553352,
        0.08214588656273752,
        -0.5992645293182511,
        2.550164039877278,
        -5.167712780049969,
    ]);
    f.mul_add(PI, f * (p * s + PI_LOW))
}

/// Γ of small integers. To 22! all are doubles.
static FACTORIALS: [f64; 24] = {
    let mut table = [1.0; 24];
    let mut n = 2;
    while n < 24 {
        table[n] = table[n - 1] * (n - 1) as f64;
        n += 1;
    }
    table
};

/// Up to 4 from a table, where |x| is below ½ as Γ(x + 1) / x. From there on the exponential of
/// Stirling's series, whose sum has two parts. Below -½ reflected: Γ(x) is -π / (|x| sin(π|x|) Γ(|x|)).
/// The power of two comes last, so that the ends of the range do not overflow early.
#[inline(always)]
pub fn tgamma<O: Ops>(x: F64<O>) -> F64<O> {
    let near_0 = x.abs().lt(0.5);
    let reflected = x.le(-0.5);
    // Beyond these all results overflow or vanish.
    let a = x.abs().min(200.0);
    let table = by_quarters::<O, 14>(&GAMMA, near_0.select(x + 1.0, a));
    let far = a.ge(4.0);
    let (high, low) = log_gamma_from_4(a, log_in_two(a));
    let (turns, n) = nearest(high.mul_add(std::f64::consts::LOG2_E, SHIFT));
    let r = turns.mul_add(-LN_2_HIGH, high) + turns.mul_add(-LN_2_LOW, low);
    let gamma = far.select(exp_kernel(r), table);
    let n = far.select(n, 0i64);
    let (f, odd) = from_integer(x.abs());
    let sine = sin_of_half_turn(f);
    let sine = odd.select(-sine, sine);
    let above = reflected.select(a.k(-PI), gamma);
    let below = reflected.select(a * sine * gamma, near_0.select(x, 1.0));
    let gamma = scale(above / below, reflected.select(n.k(0) - n, n));
    let gamma = x.equals(f64::INFINITY).select(x, gamma);
    let pole = reflected & f.equals(0.0);
    let gamma = (pole | x.equals(f64::NEG_INFINITY)).select(x.k(f64::NAN), gamma);
    // Small integers give integers.
    let integer = x.equals(x.rint()) & x.gt(0.0) & x.lt(24.0);
    let index = (integer.select(x, 1.0) + SHIFT).bits().truncate();
    let gamma = integer.select(index.lookup(&FACTORIALS), gamma);
    x.is_nan().select(x, gamma).canonical()
}

/// The row of an argument in a table by quarters of the octaves from ½ to a power of two, which
/// `end` is just below.
#[inline(always)]
pub(crate) fn quarter_of_octave<O: Ops>(x: F64<O>, end: f64) -> I32<O> {
    let bounded = x.min(end).max(0.5);
    bounded.bits().shr_logical(50i64).truncate() - 0xff8
}

/// A function of x in [½, 4), from a table of a centre and N coefficients.
#[inline(always)]
fn by_quarters<O: Ops, const N: usize>(table: &'static [f64], x: F64<O>) -> F64<O> {
    let row = quarter_of_octave(x, 3.999) * (N + 1) as i32;
    let t = x - row.lookup(table);
    let mut sum = (row + N as i32).lookup(table);
    let mut i = N as i32 - 1;
    while i > 0 {
        sum = sum.mul_add(t, (row + i).lookup(table));
        i -= 1;
    }
    sum
}

/// ½ ln 2π.
const HALF_LN_TAU: f64 = 0.9189385332046728;
/// ln π, and what the double lacks.
const LN_PI: f64 = 1.1447298858494002;
const LN_PI_LOW: f64 = 1.0265951162707826e-17;

/// ln Γ(x) for x from 4 on, as a sum of two doubles, from that of x: Stirling's series
/// (x - ½) (ln x - 1) - ½ + ½ ln 2π + S(1/x²) / x.
#[inline(always)]
fn log_gamma_from_4<O: Ops>(x: F64<O>, (ln, ln_low): (F64<O>, F64<O>)) -> (F64<O>, F64<O>) {
    let inverse = x.k(1.0) / x;
    let series = (inverse * inverse).poly([
        -0.17390223453032652,
        0.08600886758584872,
        -0.024319700618069158,
        0.0062109922628568095,
        -0.001912536810302213,
        0.0008416721483643017,
        -0.0005952373672605468,
        0.0007936507901805879,
        -0.002777777777771288,
        0.08333333333333333,
    ]);
    let less = ln - 1.0;
    let less_low = (ln - less) - 1.0 + ln_low;
    let y = x - 0.5;
    let high = y * less;
    let low = y.mul_add(less, -high) + y * less_low + series.mul_add(inverse, HALF_LN_TAU - 0.5);
    let sum = high + low;
    (sum, (high - sum) + low)
}

/// ln |Γ(x)|, where `ln` gives logarithms as sums of two doubles.
///
/// - From 4 on Stirling's series.
/// - From ½ to 4 the quotient by (x - 1) (x - 2), from a table: relative accuracy about the zeros.
/// - About 0 and from -2.5 on that of x + 1 or x + 3, less the logarithm of what Γ is larger by.
/// - Below -2.5 the reflection. Results near the zeros there have an error of a unit of its terms.
#[inline(always)]
pub(crate) fn log_gamma<O: Ops>(x: F64<O>, ln: impl Fn(F64<O>) -> (F64<O>, F64<O>)) -> F64<O> {
    let a = x.abs();
    let far = a.ge(4.0);
    let reflected = x.le(-2.5);
    let by_1 = a.lt(0.5);
    let by_3 = x.lt(0.0) & !reflected & !by_1;
    let plain = !(far | reflected | by_1 | by_3);
    // The table's argument, its smaller distance from 1 or 2, which is exact, and the other one.
    let moved = by_1.select(x + 1.0, by_3.select(x + 3.0, a));
    let exact = by_1.select(x, by_3.select(x + 1.0, a - 1.0));
    let by = by_1.select(x.k(-1.0), by_3.select(x.k(2.0), -2.0));
    let (other, other_low) = two_sum((by_1 | by_3).select(x, a), by);
    let product = exact * other;
    let product_low = exact.mul_add(other, -product) + exact * other_low;
    let quotient = by_quarters::<O, 13>(&LOG_GAMMA, moved);
    let table = product.mul_add(quotient, product_low * quotient);
    // Γ of x + 3 is larger by |x (x + 1) (x + 2)|, that of x + 1 by |x|.
    let cubic = x * product;
    let cubic_low = x.mul_add(product, -cubic) + x * product_low;
    let cubic_low = cubic.lt(0.0).select(-cubic_low, cubic_low);
    let factor = by_3.select(cubic.abs(), a);
    let (log_high, log_low) = ln(factor);
    let log_low = log_low + by_3.select(cubic_low, 0.0) / factor;
    let log_high = plain.select(x.k(0.0), log_high);
    let log_low = plain.select(x.k(0.0), log_low);
    // ln Γ of the magnitude, or of the table's argument.
    let (high, low) = log_gamma_from_4(a, (log_high, log_low));
    let (high, low) = (far.select(high, table), far.select(low, 0.0));
    // ln π - ln |x| - ln |sin πx| less that.
    let (f, _) = from_integer(a);
    let (rest, lost) = two_sum(x.k(LN_PI), -log(sin_of_half_turn(f).abs()));
    let (rest, rest_low) = two_sum(rest, -log_high);
    let (sum, sum_low) = two_sum(rest, -high);
    let reflection = sum + (sum_low + rest_low + lost + LN_PI_LOW - log_low - low);
    // The table's value less the logarithm; or the series.
    let (sum, sum_low) = two_sum(high, -far.select(x.k(0.0), log_high));
    let direct = sum + (sum_low + (low - far.select(x.k(0.0), log_low)));
    let r = reflected.select(reflection, direct) + 0.0;
    // The first result that rounds to infinity.
    const OVERFLOW: f64 = 2.5599833278516387e305;
    let pole = x.le(0.0) & f.equals(0.0);
    let r = (pole | a.ge(OVERFLOW)).select(x.k(f64::INFINITY), r);
    x.is_nan().select(x, r)
}

/// ln |Γ(x)|.
#[inline(always)]
pub fn lgamma<O: Ops>(x: F64<O>) -> F64<O> {
    log_gamma(x, log_in_two).canonical()
}
