// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic in a given rounding direction.
//!
//! To nearest is the host's own arithmetic; the directed ones go through exact software floats.

use rustc_apfloat::Float;
use rustc_apfloat::Round::{self, TowardNegative, TowardPositive, TowardZero};
use rustc_apfloat::ieee::{Double, Single};

use super::lane::lane_functions;

macro_rules! directed {
    ($($format:ident $float:ident $bits:ident: $add:ident $sub:ident $mul:ident $div:ident $fma:ident)*) => { $(
        fn $add(a: $float, b: $float, round: Round) -> $float {
            let [a, b] = [a, b].map(|v| $format::from_bits(v.to_bits().into()));
            $float::from_bits(a.add_r(b, round).value.to_bits() as $bits)
        }
        fn $sub(a: $float, b: $float, round: Round) -> $float {
            let [a, b] = [a, b].map(|v| $format::from_bits(v.to_bits().into()));
            $float::from_bits(a.sub_r(b, round).value.to_bits() as $bits)
        }
        fn $mul(a: $float, b: $float, round: Round) -> $float {
            let [a, b] = [a, b].map(|v| $format::from_bits(v.to_bits().into()));
            $float::from_bits(a.mul_r(b, round).value.to_bits() as $bits)
        }
        fn $div(a: $float, b: $float, round: Round) -> $float {
            let [a, b] = [a, b].map(|v| $format::from_bits(v.to_bits().into()));
            $float::from_bits(a.div_r(b, round).value.to_bits() as $bits)
        }
        fn $fma(a: $float, b: $float, c: $float, round: Round) -> $float {
            let [a, b, c] = [a, b, c].map(|v| $format::from_bits(v.to_bits().into()));
            $float::from_bits(a.mul_add_r(b, c, round).value.to_bits() as $bits)
        }
    )* };
}

directed! {
    Single f32 u32: add_f32 sub_f32 mul_f32 div_f32 fma_f32
    Double f64 u64: add_f64 sub_f64 mul_f64 div_f64 fma_f64
}

/// The root to nearest, moved by one place if the exact root lies on the other side.
fn sqrt_f64(x: f64, round: Round) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return x.sqrt();
    }
    if x < 2f64.powi(-900) {
        // The residual below would underflow.
        return sqrt_f64(x * 2f64.powi(200), round) * 2f64.powi(-100);
    }
    let root = x.sqrt();
    let rest = root.mul_add(-root, x);
    if rest > 0.0 && round == TowardPositive {
        root.next_up()
    } else if rest < 0.0 && round != TowardPositive {
        root.next_down()
    } else {
        root
    }
}

fn sqrt_f32(x: f32, round: Round) -> f32 {
    if !(x > 0.0 && x < f32::INFINITY) {
        return x.sqrt();
    }
    let root = x.sqrt();
    // Exact: 24 bits squared.
    let square = f64::from(root) * f64::from(root);
    if square < f64::from(x) && round == TowardPositive {
        root.next_up()
    } else if square > f64::from(x) && round != TowardPositive {
        root.next_down()
    } else {
        root
    }
}

/// A sum of two doubles, the second below half a unit in the last place of the first.
#[derive(Clone, Copy)]
struct Wide {
    hi: f64,
    lo: f64,
}

impl Wide {
    /// `a * b`, exactly (no underflow assumed).
    fn product(a: f64, b: f64) -> Wide {
        let hi = a * b;
        Wide { hi, lo: libm::fma(a, b, -hi) }
    }

    /// 1 / square root, as a double-double.
    fn rsqrt(self) -> Wide {
        let r = 1.0 / self.hi.sqrt();
        let square = Wide::product(r, r);
        // 1 - r² (hi + lo), where r² hi is close to 1.
        let p = Wide::product(square.hi, self.hi);
        let rest = (1.0 - p.hi) - p.lo - square.lo * self.hi - square.hi * self.lo;
        let hi = r + 0.5 * r * rest;
        Wide { hi, lo: (r - hi) + 0.5 * r * rest }
    }
}

/// Correctly rounded: the double-double's low part decides where the high part is a tie.
fn rsqrt_f32(x: f32) -> f32 {
    if !(x > 0.0 && x < f32::INFINITY) {
        return (1.0 / f64::from(x).sqrt()) as f32;
    }
    let Wide { hi, lo } = Wide { hi: f64::from(x), lo: 0.0 }.rsqrt();
    // To odd: an even last bit moves toward the rest, so that the next rounding sees it.
    let odd = match (hi.to_bits() & 1 == 0, lo > 0.0, lo < 0.0) {
        (true, true, _) => f64::from_bits(hi.to_bits() + 1),
        (true, _, true) => f64::from_bits(hi.to_bits() - 1),
        (true, false, false) | (false, _, _) => hi,
    };
    odd as f32
}

lane_functions! {
    fadd_rn(a: f32, b: f32) -> f32 { a + b }
    fadd_rd(a: f32, b: f32) -> f32 { add_f32(a, b, TowardNegative) }
    fadd_ru(a: f32, b: f32) -> f32 { add_f32(a, b, TowardPositive) }
    fadd_rz(a: f32, b: f32) -> f32 { add_f32(a, b, TowardZero) }
    fsub_rn(a: f32, b: f32) -> f32 { a - b }
    fsub_rd(a: f32, b: f32) -> f32 { sub_f32(a, b, TowardNegative) }
    fsub_ru(a: f32, b: f32) -> f32 { sub_f32(a, b, TowardPositive) }
    fsub_rz(a: f32, b: f32) -> f32 { sub_f32(a, b, TowardZero) }
    fmul_rn(a: f32, b: f32) -> f32 { a * b }
    fmul_rd(a: f32, b: f32) -> f32 { mul_f32(a, b, TowardNegative) }
    fmul_ru(a: f32, b: f32) -> f32 { mul_f32(a, b, TowardPositive) }
    fmul_rz(a: f32, b: f32) -> f32 { mul_f32(a, b, TowardZero) }
    fdiv_rn(a: f32, b: f32) -> f32 { a / b }
    fdiv_rd(a: f32, b: f32) -> f32 { div_f32(a, b, TowardNegative) }
    fdiv_ru(a: f32, b: f32) -> f32 { div_f32(a, b, TowardPositive) }
    fdiv_rz(a: f32, b: f32) -> f32 { div_f32(a, b, TowardZero) }
    frcp_rn(a: f32) -> f32 { 1.0 / a }
    frcp_rd(a: f32) -> f32 { div_f32(1.0, a, TowardNegative) }
    frcp_ru(a: f32) -> f32 { div_f32(1.0, a, TowardPositive) }
    frcp_rz(a: f32) -> f32 { div_f32(1.0, a, TowardZero) }
    fsqrt_rn(a: f32) -> f32 { a.sqrt() }
    fsqrt_rd(a: f32) -> f32 { sqrt_f32(a, TowardNegative) }
    fsqrt_ru(a: f32) -> f32 { sqrt_f32(a, TowardPositive) }
    fsqrt_rz(a: f32) -> f32 { sqrt_f32(a, TowardZero) }
    fmaf_rn(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    fmaf_rd(a: f32, b: f32, c: f32) -> f32 { fma_f32(a, b, c, TowardNegative) }
    fmaf_ru(a: f32, b: f32, c: f32) -> f32 { fma_f32(a, b, c, TowardPositive) }
    fmaf_rz(a: f32, b: f32, c: f32) -> f32 { fma_f32(a, b, c, TowardZero) }
    fmaf_ieee_rn(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    fmaf_ieee_rd(a: f32, b: f32, c: f32) -> f32 { fma_f32(a, b, c, TowardNegative) }
    fmaf_ieee_ru(a: f32, b: f32, c: f32) -> f32 { fma_f32(a, b, c, TowardPositive) }
    fmaf_ieee_rz(a: f32, b: f32, c: f32) -> f32 { fma_f32(a, b, c, TowardZero) }
    dadd_rn(a: f64, b: f64) -> f64 { a + b }
    dadd_rd(a: f64, b: f64) -> f64 { add_f64(a, b, TowardNegative) }
    dadd_ru(a: f64, b: f64) -> f64 { add_f64(a, b, TowardPositive) }
    dadd_rz(a: f64, b: f64) -> f64 { add_f64(a, b, TowardZero) }
    dsub_rn(a: f64, b: f64) -> f64 { a - b }
    dsub_rd(a: f64, b: f64) -> f64 { sub_f64(a, b, TowardNegative) }
    dsub_ru(a: f64, b: f64) -> f64 { sub_f64(a, b, TowardPositive) }
    dsub_rz(a: f64, b: f64) -> f64 { sub_f64(a, b, TowardZero) }
    dmul_rn(a: f64, b: f64) -> f64 { a * b }
    dmul_rd(a: f64, b: f64) -> f64 { mul_f64(a, b, TowardNegative) }
    dmul_ru(a: f64, b: f64) -> f64 { mul_f64(a, b, TowardPositive) }
    dmul_rz(a: f64, b: f64) -> f64 { mul_f64(a, b, TowardZero) }
    ddiv_rn(a: f64, b: f64) -> f64 { a / b }
    ddiv_rd(a: f64, b: f64) -> f64 { div_f64(a, b, TowardNegative) }
    ddiv_ru(a: f64, b: f64) -> f64 { div_f64(a, b, TowardPositive) }
    ddiv_rz(a: f64, b: f64) -> f64 { div_f64(a, b, TowardZero) }
    drcp_rn(a: f64) -> f64 { 1.0 / a }
    drcp_rd(a: f64) -> f64 { div_f64(1.0, a, TowardNegative) }
    drcp_ru(a: f64) -> f64 { div_f64(1.0, a, TowardPositive) }
    drcp_rz(a: f64) -> f64 { div_f64(1.0, a, TowardZero) }
    dsqrt_rn(a: f64) -> f64 { a.sqrt() }
    dsqrt_rd(a: f64) -> f64 { sqrt_f64(a, TowardNegative) }
    dsqrt_ru(a: f64) -> f64 { sqrt_f64(a, TowardPositive) }
    dsqrt_rz(a: f64) -> f64 { sqrt_f64(a, TowardZero) }
    fma_rn(a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
    fma_rd(a: f64, b: f64, c: f64) -> f64 { fma_f64(a, b, c, TowardNegative) }
    fma_ru(a: f64, b: f64, c: f64) -> f64 { fma_f64(a, b, c, TowardPositive) }
    fma_rz(a: f64, b: f64, c: f64) -> f64 { fma_f64(a, b, c, TowardZero) }
    frsqrt_rn(a: f32) -> f32 { rsqrt_f32(a) }
}
