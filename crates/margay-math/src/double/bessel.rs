// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bessel functions of order 0 and 1.
//!
//! Up to 8 they come from tables of polynomials, which have the zeros there as centres, so that errors
//! are relative. Y below ½ is the logarithm times J, and a series.
//!
//! From 8 on, the modified ones, I, are e^x / √x times a polynomial in 1/x. J and Y are Hankel's
//! √(2/πx) (P cos(x - φ) - Q sin(x - φ)) and the like, with polynomials in 1/x² as P and x Q: the error
//! is a unit of the amplitude. Lanes whose sine is slow are slow.

use std::f64::consts::FRAC_2_PI;

use crate::double::exponential::{SHIFT, exp_kernel_in_two, scale, split_at_ln2_in_two};
use crate::double::gamma::quarter_of_octave;
use crate::double::logarithm::log;
use crate::double::tables;
use crate::double::trig;
use crate::ops::Ops;
use crate::scalar::Scalar;
use crate::table::Checked;
use crate::value::{F64, I32};

/// e^a / √a times a polynomial in 1/a, for a of 8 and above: one for up to 16, one beyond.
#[inline(always)]
fn modified_from_8<O: Ops>(a: F64<O>, near: [f64; 14], far: [f64; 14]) -> F64<O> {
    let a = a.max(1.0).min(800.0);
    let z = a.k(1.0) / a;
    let p = a.lt(16.0).select(z.poly(near), z.poly(far)) / a.sqrt();
    let (r, r_low, n) = split_at_ln2_in_two(a);
    let (high, low) = exp_kernel_in_two(r, r_low);
    scale(high.mul_add(p, low * p), n)
}

#[inline(always)]
pub fn i0<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let near = piece::<O, 13>(&tables::I0, whole(a), a);
    let far = modified_from_8(
        a,
        [
            -11622999.89424812,
            11359352.663396792,
            -4614055.951252104,
            947611.5517114446,
            -76684.07904816969,
            -9310.121509268942,
            3538.3385525891617,
            -510.6225260475703,
            45.5542485957583,
            -2.672348389526231,
            0.1393191455411241,
            0.025131206813277834,
            0.049913688822965964,
            0.398941954910304,
        ],
        [
            690100.5948153125,
            -224281.11049553283,
            34421.30640642324,
            -3046.0199097452746,
            193.06023675095184,
            -5.042966687209882,
            0.9016592513077096,
            0.22417391654511445,
            0.09066072961326725,
            0.04474168702517396,
            0.02921940835686756,
            0.028050629080402647,
            0.04986778505019674,
            0.39894228040143265,
        ],
    );
    let r = a.lt(8.0).select(near, far);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn i1<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let near = piece::<O, 13>(&tables::I1, whole(a), a);
    let far = modified_from_8(
        a,
        [
            13514266.366888562,
            -13608085.788522884,
            5819179.023069344,
            -1332801.6684685198,
            158736.56867239333,
            -3027.8845635437588,
            -2187.344204124875,
            401.1922470848845,
            -39.01292903094366,
            2.3711035283747144,
            -0.14196120903818357,
            -0.04402340277040791,
            -0.1496467935869198,
            0.3989425913731446,
        ],
        [
            -730798.0658487079,
            237477.36798752833,
            -36475.54178206676,
            3226.6752269553767,
            -205.2905269178286,
            5.174926931418147,
            -1.020738124642085,
            -0.26543952324782377,
            -0.11079831260611811,
            -0.057525143946780585,
            -0.040907170669191126,
            -0.046751048473571914,
            -0.14960335515055603,
            0.3989422804014327,
        ],
    );
    let r = a.lt(8.0).select(near, far).copysign(x);
    x.is_nan().select(x, r).canonical()
}

/// A row of a table, with a centre in two parts and N coefficients.
#[inline(always)]
pub(crate) fn piece<O: Ops, const N: usize>(
    table: &'static [f64],
    row: I32<O>,
    x: F64<O>,
) -> F64<O> {
    let row = row * (N + 2) as i32;
    let t = (x - row.lookup(table)) - (row + 1).lookup(table);
    let mut sum = (row + (N + 1) as i32).lookup(table);
    let mut i = N as i32;
    while i > 1 {
        sum = sum.mul_add(t, (row + i).lookup(table));
        i -= 1;
    }
    sum
}

/// The integral part of `x` in [0, 8), as a row.
#[inline(always)]
pub(crate) fn whole<O: Ops>(x: F64<O>) -> I32<O> {
    (x.min(7.999).trunc() + SHIFT).bits().truncate()
}

/// An order's P(1/x²) and Q(1/x²) / x.
#[inline(always)]
pub(crate) fn hankel<O: Ops, const P: usize, const Q: usize>(
    x: F64<O>,
    p: [f64; P],
    q: [f64; Q],
) -> (F64<O>, F64<O>) {
    let inverse = x.k(1.0) / x;
    let z = inverse * inverse;
    (z.poly(p), z.poly(q) * inverse)
}

#[inline(always)]
fn hankel_0<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    hankel(
        x,
        [
            -15045818636.567812,
            1700563350.7417402,
            -91791955.7704572,
            3304030.583395558,
            -97640.47728557233,
            2923.7541403852842,
            -109.58225748659926,
            6.072947358912436,
            -0.5724997475212092,
            0.11215209825926763,
            -0.07031249999956596,
            1.0,
        ],
        [
            -2868979207.449598,
            304458861.92675775,
            -15551334.08768899,
            542761.6323201351,
            -16389.101100520707,
            542.8118755760397,
            -24.354851880268313,
            1.7276806853395374,
            -0.2271079567860438,
            0.07324218748284286,
            -0.12499999999999889,
        ],
    )
}

#[inline(always)]
fn hankel_1<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    hankel(
        x,
        [
            16035109213.063675,
            -1814159647.6625848,
            98085466.37879223,
            -3541001.5549505353,
            105213.99457170663,
            -3181.1940917432044,
            121.13709605099207,
            -6.882753956444963,
            0.676590814135184,
            -0.14419555520894173,
            0.1171874999995397,
            1.0,
        ],
        [
            3061652960.3766637,
            -325288860.7041373,
            16649523.880409835,
            -583302.191906781,
            17738.393635827768,
            -594.8052239481366,
            27.221585272171772,
            -1.9934820490359513,
            0.2775763988496614,
            -0.1025390624817867,
            0.37499999999999883,
        ],
    )
}

/// The amplitude √(1/πx) times a P + b Q; 0 for infinity.
#[inline(always)]
pub(crate) fn wave<O: Ops>(x: F64<O>, (p, q): (F64<O>, F64<O>), a: F64<O>, b: F64<O>) -> F64<O> {
    const FRAC_1_SQRT_PI: f64 = 0.5641895835477563;
    let wave = (a * p + b * q) * (x.k(FRAC_1_SQRT_PI) / x.sqrt());
    x.lt(f64::INFINITY).select(wave, 0.0)
}

// The functions from 8 on, from sine and cosine of x: those of x - π/4 are (s - c) / √2 and
// (c + s) / √2.
#[inline(always)]
fn j0_far<O: Ops>(x: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    wave(x, hankel_0(x), c + s, c - s)
}
#[inline(always)]
fn y0_far<O: Ops>(x: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    wave(x, hankel_0(x), s - c, c + s)
}
#[inline(always)]
fn j1_far<O: Ops>(x: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    wave(x, hankel_1(x), s - c, s + c)
}
#[inline(always)]
fn y1_far<O: Ops>(x: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    wave(x, hankel_1(x), -(s + c), s - c)
}

/// J0 of a magnitude, whose sine and cosine are given.
#[inline(always)]
pub(crate) fn j0_of<O: Ops>(a: F64<O>, sincos: (F64<O>, F64<O>)) -> F64<O> {
    let near = piece::<O, 13>(&tables::J0, whole(a), a);
    a.lt(8.0).select(near, j0_far(a, sincos))
}

/// J1 of a magnitude.
#[inline(always)]
pub(crate) fn j1_of<O: Ops>(a: F64<O>, sincos: (F64<O>, F64<O>)) -> F64<O> {
    let near = piece::<O, 13>(&tables::J1, whole(a), a);
    a.lt(8.0).select(near, j1_far(a, sincos))
}

/// `r` with the sign changed where `sign` has one.
#[inline(always)]
pub(crate) fn signed<O: Ops>(r: F64<O>, sign: F64<O>) -> F64<O> {
    (r.bits() ^ (sign.bits() & i64::MIN)).as_float()
}

#[inline(always)]
pub fn j0<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let a = x.abs();
    let r = j0_of(a, trig::sincos_of(a));
    Checked { value: x.is_nan().select(x, r).canonical(), slow: trig::slow(x) }
}

#[inline(always)]
pub fn j1<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let a = x.abs();
    let r = signed(j1_of(a, trig::sincos_of(a)), x);
    Checked { value: x.is_nan().select(x, r).canonical(), slow: trig::slow(x) }
}

/// Y where it is not a number.
#[inline(always)]
pub(crate) fn special<O: Ops>(x: F64<O>, y: F64<O>) -> F64<O> {
    let y = x.equals(0.0).select(x.k(f64::NEG_INFINITY), y);
    let y = x.lt(0.0).select(x.k(f64::NAN), y);
    x.is_nan().select(x, y)
}

/// Y0 of a positive number.
#[inline(always)]
pub(crate) fn y0_of<O: Ops>(x: F64<O>, sincos: (F64<O>, F64<O>)) -> F64<O> {
    let square = x * x;
    let j = square.poly([
        4.688521804703122e-10,
        -6.781611954445998e-08,
        6.781683904965335e-06,
        -0.00043402777776703364,
        0.015624999999999552,
        -0.25,
        1.0,
    ]);
    let rest = square.poly([
        -7.656902305665949e-10,
        1.035835176122844e-07,
        -9.495004993465437e-06,
        0.0005386026668431298,
        -0.016073968025937652,
        0.17760601686906713,
        -0.07380429510868723,
    ]);
    let low = (log(x) * FRAC_2_PI).mul_add(j, rest);
    let near = piece::<O, 14>(&tables::Y0, quarter_of_octave(x, 7.999), x);
    x.lt(0.5).select(low, x.lt(8.0).select(near, y0_far(x, sincos)))
}

#[inline(always)]
pub fn y0<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let y = y0_of(x, trig::sincos_of(x));
    Checked { value: special(x, y).canonical(), slow: trig::slow(x) & x.gt(0.0) }
}

/// Y1 of a positive number.
#[inline(always)]
pub(crate) fn y1_of<O: Ops>(x: F64<O>, sincos: (F64<O>, F64<O>)) -> F64<O> {
    let square = x * x;
    let j = square.poly([
        3.3508144262855727e-11,
        -5.651358296872452e-09,
        6.781683950993758e-07,
        -5.425347222155047e-05,
        0.0026041666666666388,
        -0.0625,
        0.5,
    ]);
    let rest = square.poly([
        -5.624886120077783e-11,
        8.931800132766896e-09,
        -9.926740483973846e-07,
        7.164268749855462e-05,
        -0.0029553053360797843,
        0.05434868816051024,
        -0.19605709064623894,
    ]);
    let low = (log(x) * FRAC_2_PI).mul_add(j, rest) * x - x.k(FRAC_2_PI) / x;
    let near = piece::<O, 14>(&tables::Y1, quarter_of_octave(x, 7.999), x);
    x.lt(0.5).select(low, x.lt(8.0).select(near, y1_far(x, sincos)))
}

#[inline(always)]
pub fn y1<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let y = y1_of(x, trig::sincos_of(x));
    Checked { value: special(x, y).canonical(), slow: trig::slow(x) & x.gt(0.0) }
}

/// Sine and cosine of a slow lane.
fn slow_sincos(x: f64) -> (F64<Scalar>, F64<Scalar>) {
    let (sin, cos) = trig::slow_sincos(x);
    (F64 { o: Scalar, v: sin }, F64 { o: Scalar, v: cos })
}

pub fn slow_j0(x: f64) -> f64 {
    j0_far(F64 { o: Scalar, v: x.abs() }, slow_sincos(x.abs())).v
}
pub fn slow_j1(x: f64) -> f64 {
    j1_far(F64 { o: Scalar, v: x.abs() }, slow_sincos(x.abs())).v * x.signum()
}
pub fn slow_y0(x: f64) -> f64 {
    y0_far(F64 { o: Scalar, v: x }, slow_sincos(x)).v
}
pub fn slow_y1(x: f64) -> f64 {
    y1_far(F64 { o: Scalar, v: x }, slow_sincos(x)).v
}
