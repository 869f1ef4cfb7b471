// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIMD in a word: `…2` on two halfwords, `…4` on four bytes. `WIDTH` is the bits of a part.

use crate::ops::Ops;
use crate::value::{I32, Mask};

/// Applies `f` to the parts, zero-extended, and keeps the low bits of each result.
#[inline(always)]
fn unsigned<O: Ops, const WIDTH: i32>(
    a: I32<O>,
    b: I32<O>,
    f: impl Fn(I32<O>, I32<O>) -> I32<O>,
) -> I32<O> {
    each::<O, WIDTH>(a.k(0), |at| f(part::<O, WIDTH>(a, at), part::<O, WIDTH>(b, at)))
}

/// The same, sign-extended.
#[inline(always)]
fn signed<O: Ops, const WIDTH: i32>(
    a: I32<O>,
    b: I32<O>,
    f: impl Fn(I32<O>, I32<O>) -> I32<O>,
) -> I32<O> {
    let extended = |v: I32<O>, at: i32| (v << (32 - WIDTH - at)) >> (32 - WIDTH);
    each::<O, WIDTH>(a.k(0), |at| f(extended(a, at), extended(b, at)))
}

/// The word whose part at each bit is what `f` gives for it.
#[inline(always)]
fn each<O: Ops, const WIDTH: i32>(zero: I32<O>, f: impl Fn(i32) -> I32<O>) -> I32<O> {
    let mut word = zero;
    let mut at = 0;
    while at < 32 {
        word = word | ((f(at) & ((1 << WIDTH) - 1)) << at);
        at += WIDTH;
    }
    word
}

#[inline(always)]
fn part<O: Ops, const WIDTH: i32>(v: I32<O>, at: i32) -> I32<O> {
    v.shr_logical(at) & ((1 << WIDTH) - 1)
}

/// The sum of the parts.
#[inline(always)]
fn sum<O: Ops, const WIDTH: i32>(v: I32<O>) -> I32<O> {
    let mut sum = part::<O, WIDTH>(v, 0);
    let mut at = WIDTH;
    while at < 32 {
        sum = sum + part::<O, WIDTH>(v, at);
        at += WIDTH;
    }
    sum
}

#[inline(always)]
fn min<O: Ops>(x: I32<O>, y: I32<O>) -> I32<O> {
    x.lt(y).select(x, y)
}
#[inline(always)]
fn max<O: Ops>(x: I32<O>, y: I32<O>) -> I32<O> {
    x.gt(y).select(x, y)
}
#[inline(always)]
fn neg<O: Ops>(x: I32<O>) -> I32<O> {
    x.k(0) - x
}
#[inline(always)]
fn abs<O: Ops>(x: I32<O>) -> I32<O> {
    max(x, neg(x))
}

/// The largest signed part.
const fn largest(width: i32) -> i32 {
    (1 << (width - 1)) - 1
}

/// Clamped to a signed part.
#[inline(always)]
fn saturated<O: Ops, const WIDTH: i32>(x: I32<O>) -> I32<O> {
    max(min(x, x.k(largest(WIDTH))), x.k(-largest(WIDTH) - 1))
}

/// 1 where a comparison holds.
#[inline(always)]
fn one<O: Ops>(x: I32<O>, m: Mask<O>) -> I32<O> {
    m.select(x.k(1), 0)
}
/// All bits where a comparison holds.
#[inline(always)]
fn all<O: Ops>(x: I32<O>, m: Mask<O>) -> I32<O> {
    m.select(x.k(-1), 0)
}

macro_rules! simd {
    ($( $name:ident $kind:ident |$x:ident, $y:ident| $f:expr; )*) => { $(
        #[inline(always)]
        pub fn $name<O: Ops, const WIDTH: i32>(a: I32<O>, b: I32<O>) -> I32<O> {
            $kind::<O, WIDTH>(a, b, |$x, $y| $f)
        }
    )* };
}

simd! {
    vabsdiffs signed |x, y| abs(x - y);
    vabsdiffu unsigned |x, y| abs(x - y);
    vadd unsigned |x, y| x + y;
    vsub unsigned |x, y| x - y;
    vaddss signed |x, y| saturated::<O, WIDTH>(x + y);
    vsubss signed |x, y| saturated::<O, WIDTH>(x - y);
    vaddus unsigned |x, y| min(x + y, x.k((1 << WIDTH) - 1));
    vsubus unsigned |x, y| max(x - y, x.k(0));
    vavgs signed |x, y| (x + y + one(x, !(x + y).lt(0))) >> 1;
    vavgu unsigned |x, y| (x + y + 1) >> 1;
    vhaddu unsigned |x, y| (x + y) >> 1;
    vmaxs signed |x, y| max(x, y);
    vmaxu unsigned |x, y| max(x, y);
    vmins signed |x, y| min(x, y);
    vminu unsigned |x, y| min(x, y);
    vcmpeq unsigned |x, y| all(x, x.equals(y));
    vcmpne unsigned |x, y| all(x, !x.equals(y));
    vcmpges signed |x, y| all(x, !x.lt(y));
    vcmpgeu unsigned |x, y| all(x, !x.lt(y));
    vcmpgts signed |x, y| all(x, x.gt(y));
    vcmpgtu unsigned |x, y| all(x, x.gt(y));
    vcmples signed |x, y| all(x, !x.gt(y));
    vcmpleu unsigned |x, y| all(x, !x.gt(y));
    vcmplts signed |x, y| all(x, x.lt(y));
    vcmpltu unsigned |x, y| all(x, x.lt(y));
    vseteq unsigned |x, y| one(x, x.equals(y));
    vsetne unsigned |x, y| one(x, !x.equals(y));
    vsetges signed |x, y| one(x, !x.lt(y));
    vsetgeu unsigned |x, y| one(x, !x.lt(y));
    vsetgts signed |x, y| one(x, x.gt(y));
    vsetgtu unsigned |x, y| one(x, x.gt(y));
    vsetles signed |x, y| one(x, !x.gt(y));
    vsetleu unsigned |x, y| one(x, !x.gt(y));
    vsetlts signed |x, y| one(x, x.lt(y));
    vsetltu unsigned |x, y| one(x, x.lt(y));
}

#[inline(always)]
pub fn vabs<O: Ops, const WIDTH: i32>(a: I32<O>) -> I32<O> {
    signed::<O, WIDTH>(a, a, |x, _| abs(x))
}

#[inline(always)]
pub fn vabsss<O: Ops, const WIDTH: i32>(a: I32<O>) -> I32<O> {
    signed::<O, WIDTH>(a, a, |x, _| min(abs(x), x.k(largest(WIDTH))))
}

#[inline(always)]
pub fn vneg<O: Ops, const WIDTH: i32>(a: I32<O>) -> I32<O> {
    signed::<O, WIDTH>(a, a, |x, _| neg(x))
}

#[inline(always)]
pub fn vnegss<O: Ops, const WIDTH: i32>(a: I32<O>) -> I32<O> {
    signed::<O, WIDTH>(a, a, |x, _| min(neg(x), x.k(largest(WIDTH))))
}

#[inline(always)]
pub fn vsads<O: Ops, const WIDTH: i32>(a: I32<O>, b: I32<O>) -> I32<O> {
    sum::<O, WIDTH>(signed::<O, WIDTH>(a, b, |x, y| abs(x - y)))
}

#[inline(always)]
pub fn vsadu<O: Ops, const WIDTH: i32>(a: I32<O>, b: I32<O>) -> I32<O> {
    sum::<O, WIDTH>(unsigned::<O, WIDTH>(a, b, |x, y| abs(x - y)))
}
