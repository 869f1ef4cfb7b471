// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bessel functions: as in double precision, with short polynomials.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, LOG2_E};

use crate::double::bessel::{self, hankel, piece, signed, special, wave, whole};
use crate::double::exponential::{SHIFT, nearest};
use crate::double::gamma::quarter_of_octave;
use crate::double::orders::{j_of_order, slow, slow_jn, slow_yn, y_of_order};
use crate::double::trig;
use crate::ops::Ops;
use crate::single::power::{exp2_wide, log2_wide};
use crate::single::tables;
use crate::table::Checked;
use crate::value::{F32, F64, I32};

/// e^a / √a times a polynomial in 1/a, for a of 8 and above.
#[inline(always)]
fn modified_from_8<O: Ops>(a: F64<O>, p: [f64; 9]) -> F64<O> {
    let a = a.max(1.0).min(200.0);
    exp2_wide(a * LOG2_E) * (a.k(1.0) / a).poly(p) / a.sqrt()
}

#[inline(always)]
pub fn i0f<O: Ops>(x: F32<O>) -> F32<O> {
    let x = x.wide();
    let a = x.abs();
    let series = (a * a).poly([
        4.773217165936935e-25,
        1.0574942023354511e-22,
        7.733960225447426e-20,
        2.862020060005716e-17,
        9.402516061061232e-15,
        2.4022716027732055e-12,
        4.709621152758932e-10,
        6.781666560043505e-08,
        6.781685679287016e-06,
        0.0004340277684995788,
        0.015625000027048107,
        0.24999999996905267,
        1.000000000005861,
    ]);
    let far = modified_from_8(
        a,
        [
            -9.72267296240158,
            14.307739312387302,
            -3.342311805836138,
            0.5302597604843898,
            0.0150005958350846,
            0.030369476111926516,
            0.028025793530267615,
            0.04986805766564139,
            0.3989422792400998,
        ],
    );
    let r = a.lt(8.0).select(series, far);
    x.is_nan().select(x, r).narrow().canonical()
}

#[inline(always)]
pub fn i1f<O: Ops>(x: F32<O>) -> F32<O> {
    let x = x.wide();
    let a = x.abs();
    let series = (a * a).poly([
        1.1460832451744363e-23,
        2.3291947608890772e-21,
        1.545626216289178e-18,
        5.153365891198172e-16,
        1.5042654553976885e-13,
        3.363245596017423e-11,
        5.651525939110651e-09,
        6.781670155494762e-07,
        5.425348146727897e-05,
        0.0026041666348843476,
        0.06250000004273418,
        0.4999999999905008,
    ]) * a;
    let far = modified_from_8(
        a,
        [
            5.864111253616996,
            -13.506938954610579,
            3.2089971385823,
            -0.5467197490497545,
            -0.027752738462089834,
            -0.042064985548971943,
            -0.04672595642790695,
            -0.149603631207395,
            0.3989422815791282,
        ],
    );
    let r = a.lt(8.0).select(series, far).copysign(x);
    x.is_nan().select(x, r).narrow().canonical()
}

/// Sine and cosine of `x`, |x| up to a few billions.
#[inline(always)]
fn sincos<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    /// What the double nearest to π/2 lacks.
    const HALF_PI_LOW: f64 = 6.123233995736766e-17;
    let (n, quadrant) = nearest(x.mul_add(FRAC_2_PI, SHIFT));
    let r = n.mul_add(-HALF_PI_LOW, n.mul_add(-FRAC_PI_2, x));
    let s = r * r;
    let sin = s.poly([
        2.7181214525964706e-06,
        -0.00019839312251216943,
        0.008333329304786209,
        -0.16666666640796562,
        1.0,
    ]) * r;
    let cos = s.poly([
        -2.717478817032365e-07,
        2.4798960710939013e-05,
        -0.0013888880659319424,
        0.041666666553425366,
        -0.4999999999948937,
        1.0,
    ]);
    trig::rotate(quadrant, sin, cos)
}

#[inline(always)]
fn hankel_0<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    hankel(
        x,
        [
            3.490676337369224,
            -0.5428208836040478,
            0.11199864014044668,
            -0.0703122102917571,
            0.999999999910038,
        ],
        [1.2032764634476065, -0.22256756753342755, 0.07322865397386881, -0.1249999934493649],
    )
}

#[inline(always)]
fn hankel_1<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    hankel(
        x,
        [
            -4.007590770095873,
            0.6434507124882407,
            -0.14402397878409012,
            0.11718717589891472,
            1.0000000001006533,
        ],
        [-1.4034391577247514, 0.27245548706302186, -0.10252378401029996, 0.3749999926033991],
    )
}

/// J0 of a magnitude, whose sine and cosine are given.
#[inline(always)]
fn j0_of<O: Ops>(a: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    let near = piece::<O, 9>(&tables::J0_WIDE, whole(a), a);
    a.lt(8.0).select(near, wave(a, hankel_0(a), c + s, c - s))
}

/// J1 of a magnitude.
#[inline(always)]
fn j1_of<O: Ops>(a: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    let near = piece::<O, 9>(&tables::J1_WIDE, whole(a), a);
    a.lt(8.0).select(near, wave(a, hankel_1(a), s - c, s + c))
}

#[inline(always)]
pub fn j0f<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let x = x.wide();
    let a = x.abs();
    let r = j0_of(a, sincos(a));
    Checked { value: x.is_nan().select(x, r).narrow().canonical(), slow: trig::slow(x) }
}

#[inline(always)]
pub fn j1f<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let x = x.wide();
    let a = x.abs();
    let r = signed(j1_of(a, sincos(a)), x);
    Checked { value: x.is_nan().select(x, r).narrow().canonical(), slow: trig::slow(x) }
}

/// (2/π) ln x for positive floats.
#[inline(always)]
fn log_part<O: Ops>(x: F64<O>) -> F64<O> {
    log2_wide(x) * (FRAC_2_PI * std::f64::consts::LN_2)
}

/// Y0 of a positive number.
#[inline(always)]
fn y0_of<O: Ops>(x: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    let square = x * x;
    let j = square.poly([
        -0.00043064856790118436,
        0.015624472559710719,
        -0.24999997363912338,
        0.9999999997940717,
    ]);
    let rest = square.poly([
        0.0005338729288807607,
        -0.016073229861471208,
        0.17760597997785194,
        -0.07380429482049922,
    ]);
    let low = log_part(x).mul_add(j, rest);
    let near = piece::<O, 9>(&tables::Y0_WIDE, quarter_of_octave(x, 7.999), x);
    let far = wave(x, hankel_0(x), s - c, c + s);
    x.lt(0.5).select(low, x.lt(8.0).select(near, far))
}

#[inline(always)]
pub fn y0f<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let x = x.wide();
    let y = y0_of(x, sincos(x));
    Checked { value: special(x, y).narrow().canonical(), slow: trig::slow(x) & x.gt(0.0) }
}

/// Y1 of a positive number.
#[inline(always)]
fn y1_of<O: Ops>(x: F64<O>, (s, c): (F64<O>, F64<O>)) -> F64<O> {
    let square = x * x;
    let j = square.poly([
        -5.391535764962126e-05,
        0.0026041138830558207,
        -0.062499997361748064,
        0.49999999997939,
    ]);
    let rest = square.poly([
        7.11478827711143e-05,
        -0.0029552280967812005,
        0.05434868430001268,
        -0.19605709061608093,
    ]);
    let low = log_part(x).mul_add(j, rest) * x - x.k(FRAC_2_PI) / x;
    let near = piece::<O, 9>(&tables::Y1_WIDE, quarter_of_octave(x, 7.999), x);
    let far = wave(x, hankel_1(x), -(s + c), s - c);
    x.lt(0.5).select(low, x.lt(8.0).select(near, far))
}

#[inline(always)]
pub fn y1f<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let x = x.wide();
    let y = y1_of(x, sincos(x));
    Checked { value: special(x, y).narrow().canonical(), slow: trig::slow(x) & x.gt(0.0) }
}

#[inline(always)]
pub fn jnf<O: Ops>(n: I32<O>, x: F32<O>) -> Checked<F32<O>, O> {
    let x = x.wide();
    let a = x.abs();
    let j = j_of_order(n, x, j0_of(a, sincos(a)), j1_of(a, sincos(a)));
    Checked { value: j.narrow().canonical(), slow: slow(n, x) }
}

#[inline(always)]
pub fn ynf<O: Ops>(n: I32<O>, x: F32<O>) -> Checked<F32<O>, O> {
    let x = x.wide();
    let y = y_of_order(n, x, y0_of(x, sincos(x)), y1_of(x, sincos(x)));
    Checked { value: y.narrow().canonical(), slow: slow(n, x) & x.gt(0.0) }
}

pub fn slow_jnf((n, x): (i32, f32)) -> f32 {
    slow_jn((n, x.into())) as f32
}
pub fn slow_ynf((n, x): (i32, f32)) -> f32 {
    slow_yn((n, x.into())) as f32
}
pub fn slow_j0f(x: f32) -> f32 {
    bessel::slow_j0(x.into()) as f32
}
pub fn slow_j1f(x: f32) -> f32 {
    bessel::slow_j1(x.into()) as f32
}
pub fn slow_y0f(x: f32) -> f32 {
    bessel::slow_y0(x.into()) as f32
}
pub fn slow_y1f(x: f32) -> f32 {
    bessel::slow_y1(x.into()) as f32
}
