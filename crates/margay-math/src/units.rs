// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reciprocals, roots, powers and logarithms as an H200's function unit computes them, bit for bit: a quadratic in each of
//! 64 or 128 segments of the mantissa, whose square lacks its lower partial products; and what its compiler puts around
//! the unit where an argument or a result is subnormal.
//!
//! The formulas take them there, where a result with fewer bits shows how it came about; elsewhere correctly rounded results
//! are within PTX's bounds and faster. Limit: that is all that the functions are for, though most hold for all numbers.

mod coefficients;

use coefficients::{
    INVERSE_ROOT_OF_ONE, INVERSE_ROOT_OF_TWO, LOGARITHM, POWER, RECIPROCAL, ROOT_OF_ONE,
    ROOT_OF_TWO,
};

use crate::scalar::Scalar;
use crate::value::F32;

/// A function's values over one exponent.
struct Range {
    /// Bits of the mantissa below those that choose the segment.
    low_bits: u32,
    /// Bits of the result that the coefficients add to.
    base: u32,
    /// What C2 counts, in quarters of a last place.
    square_unit: i64,
    /// C0 in units of 2^-17 of the last place, C1 in last places, and C2.
    segments: &'static [(i64, i64, i64)],
}

/// `i * i / 2^(2 bits)` in units of 2^-15, without the partial products of lower columns.
fn square(i: u64, bits: u32) -> i64 {
    let low = 2 * bits - 15;
    let mut sum = 0;
    for a in (0..bits).filter(|a| i >> a & 1 != 0) {
        if 2 * a >= low {
            sum += 1 << (2 * a - low);
        }
        for b in (a + 1..bits).filter(|b| i >> b & 1 != 0 && a + b + 1 >= low) {
            sum += 1 << (a + b + 1 - low);
        }
    }
    sum
}

impl Range {
    /// The result for a mantissa of 23 bits.
    fn at(&self, mantissa: u32) -> f32 {
        let (c0, c1, c2) = self.segments[(mantissa >> self.low_bits) as usize];
        let i = u64::from(mantissa & ((1 << self.low_bits) - 1));
        let linear = ((c1 * i as i64) << 17) >> self.low_bits;
        let sum = c0 + linear + self.square_unit * c2 * square(i, self.low_bits);
        f32::from_bits(self.base.wrapping_add((sum >> 17) as u32))
    }
}

/// Exponent and mantissa of a finite number that is not zero.
fn parts(x: f32) -> (i32, u32) {
    let bits = x.to_bits();
    let (exponent, mantissa) = ((bits >> 23 & 0xff) as i32, bits & 0x7f_ffff);
    if exponent != 0 {
        return (exponent - 127, mantissa);
    }
    let shift = mantissa.leading_zeros() - 8;
    (-126 - shift as i32, mantissa << shift & 0x7f_ffff)
}

/// `x * 2^exponent`, rounded once.
fn scaled(x: f32, exponent: i32) -> f32 {
    // Both are exact in double precision: the exponent is at most 149 either way.
    (f64::from(x) * f64::from_bits(((1023 + exponent) as u64) << 52)) as f32
}

/// The reciprocal of a finite number that is not zero.
pub fn reciprocal(x: f32) -> f32 {
    let (exponent, mantissa) = parts(x);
    let of_mantissa = if mantissa == 0 { 1.0 } else { RECIPROCAL.at(mantissa) };
    scaled(of_mantissa, -exponent).copysign(x)
}

/// The inverse root of a positive finite number.
pub fn inverse_root(x: f32) -> f32 {
    let (exponent, mantissa) = parts(x);
    let of_mantissa = match (exponent & 1, mantissa) {
        (0, 0) => 1.0,
        (0, _) => INVERSE_ROOT_OF_ONE.at(mantissa),
        (_, _) => INVERSE_ROOT_OF_TWO.at(mantissa),
    };
    scaled(of_mantissa, -(exponent >> 1))
}

/// The root of a positive finite number.
pub fn root(x: f32) -> f32 {
    let (exponent, mantissa) = parts(x);
    let range = if exponent & 1 == 0 { &ROOT_OF_ONE } else { &ROOT_OF_TWO };
    scaled(range.at(mantissa), exponent >> 1)
}

/// 2 to a power between -152 and -126: the square of the power's half. The unit takes the complement of a negative number's
/// fraction for its negative.
pub fn power(x: f32) -> f32 {
    let size = -0.5 * x;
    let whole = size as i32;
    let fraction = ((size - whole as f32) * (1 << 23) as f32) as u32;
    let power = match fraction {
        0 => scaled(1.0, -whole),
        // The range is of powers from 1 to 2.
        _ => scaled(POWER.at(0x7f_ffff - fraction), -whole - 2),
    };
    power * power
}

/// The logarithm to the base 2 of a positive subnormal: that of 2^24 times as much, less 24. The unit takes the complement
/// of the sum of exponent and table for its size, and cuts that to a float.
pub fn logarithm(x: f32) -> f32 {
    let (exponent, mantissa) = parts(x);
    // Units of 2^-22: the range is of logarithms from 3 to 4.
    let table = LOGARITHM.at(mantissa).to_bits() - 3f32.to_bits();
    let size = -((exponent + 24) << 22) - table as i32;
    // Between 102 and 125: 17 bits of fraction.
    let cut = (size - 1) >> 5;
    -(cut as f32) / (1 << 17) as f32 - 24.0
}

/// A dividend times the reciprocal of a divisor, of which neither is zero, infinite or NaN; both scaled first.
fn product(a: f32, b: f32, scale: f32) -> f32 {
    let reciprocal = reciprocal(b * scale);
    if reciprocal.is_subnormal() { 0.0 * a * b } else { a * scale * reciprocal }
}

fn ordinary(a: f32, b: f32) -> bool {
    [a, b].iter().all(|x| x.is_finite() && *x != 0.0)
}

fn lane(v: f32) -> F32<Scalar> {
    F32 { o: Scalar, v }
}

/// `div.approx.f32`.
pub fn quotient((a, b): (f32, f32)) -> f32 {
    if !ordinary(a, b) {
        return crate::approx::div::<Scalar, false>(lane(a), lane(b)).v;
    }
    product(a, b, if b.is_subnormal() { 16_777_216.0 } else { 1.0 })
}

/// `div.full.f32`.
pub fn full_quotient((a, b): (f32, f32)) -> f32 {
    if !ordinary(a, b) {
        return crate::approx::div_full::<Scalar, false>(lane(a), lane(b)).v;
    }
    let large = b.abs() > f32::from_bits((126 + 127) << 23);
    product(
        a,
        b,
        if b.is_subnormal() {
            16_777_216.0
        } else if large {
            0.25
        } else {
            1.0
        },
    )
}

/// `rsqrt.approx.f64` of a positive subnormal: a step from the unit's inverse root of the upper word.
pub fn inverse_root_f64(x: f64) -> f64 {
    let x = x * (1u64 << 54) as f64;
    let exponent = ((x.to_bits() >> 52) as i32) - 1023;
    let mantissa = (x.to_bits() >> 29) as u32 & 0x7f_fff8;
    let seed = inverse_root(f32::from_bits(((127 + (exponent & 1)) as u32) << 23 | mantissa));
    let seed = f64::from_bits(f64::from(seed).to_bits() & !0xffff_ffff);
    let seed = seed * f64::from_bits(((1023 - (exponent >> 1)) as u64) << 52);
    let error = x.mul_add(-(seed * seed), 1.0);
    error.mul_add(0.375, 0.5).mul_add(error * seed, seed) * (1u64 << 27) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficients_are_the_recorded_ones() {
        let text = include_str!("../../../tests/vectors/h200/function_units.txt");
        let ranges = [
            ("rcp_1", &RECIPROCAL),
            ("rsq_1", &INVERSE_ROOT_OF_ONE),
            ("rsq_2", &INVERSE_ROOT_OF_TWO),
            ("sqrt_1", &ROOT_OF_ONE),
            ("sqrt_2", &ROOT_OF_TWO),
            ("ex2_1", &POWER),
            ("lg2_8", &LOGARITHM),
        ];
        for (name, range) in ranges {
            let rows: Vec<Vec<&str>> = text
                .lines()
                .map(|line| line.split(' ').collect::<Vec<_>>())
                .filter(|words| words[0] == name)
                .collect();
            assert_eq!(rows.len(), range.segments.len());
            assert_eq!(rows.len() << range.low_bits, 1 << 23);
            for (row, (c0, c1, c2)) in rows.iter().zip(range.segments) {
                assert_eq!(row[2], format!("{:#x}", range.base));
                assert_eq!(row[3..], [c0.to_string(), c1.to_string(), c2.to_string()]);
            }
        }
    }

    /// PTX: at most 1 unit for the reciprocal, 2^-22.9 for the inverse root.
    #[test]
    fn within_the_bounds_of_ptx() {
        for bits in (1..0x7f80_0000u32).step_by(104_729) {
            let x = f32::from_bits(bits);
            let exact = 1.0 / f64::from(x);
            let got = f64::from(reciprocal(x));
            assert!(!got.is_finite() || (got - exact).abs() <= exact * 1.2e-7 + 1.5e-45, "{x:e}");
            let exact = 1.0 / f64::from(x).sqrt();
            assert!((f64::from(inverse_root(x)) / exact - 1.0).abs() < 2f64.powf(-22.9), "{x:e}");
            let exact = f64::from(x).sqrt();
            assert!((f64::from(root(x)) / exact - 1.0).abs() < 2f64.powi(-22), "{x:e}");
        }
        for bits in (1..0x0080_0000u32).step_by(1009) {
            let x = f32::from_bits(bits);
            let exact = f64::from(x).log2();
            assert!((f64::from(logarithm(x)) - exact).abs() < 2e-5, "{x:e}");
            let wide = f64::from(x);
            let exact = 1.0 / (wide * 2f64.powi(-900)).sqrt();
            assert!(
                (inverse_root_f64(wide * 2f64.powi(-900)) / exact - 1.0).abs() < 1e-14,
                "{x:e}"
            );
        }
        for step in 0..2_500 {
            let x = -126.01 - step as f32 / 100.0;
            let exact = f64::from(x).exp2();
            assert!((f64::from(power(x)) - exact).abs() <= exact * 2f64.powi(-21) + 1.5e-45, "{x}");
        }
    }
}
