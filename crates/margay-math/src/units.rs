// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reciprocals and inverse roots as an H200's function unit computes them, bit for bit: a quadratic in each of 64 or 128
//! segments of the mantissa, whose square lacks its lower partial products.
//!
//! The formulas take them where an argument or a result is subnormal, for which programs may count on a card's
//! bits (PTX ISA, "rcp.approx", "rsqrt.approx"); elsewhere correctly rounded results are within PTX's bounds and faster.

mod coefficients;

use coefficients::{RECIPROCAL, ROOT_OF_ONE, ROOT_OF_TWO};

/// A function's values over one exponent.
struct Range {
    /// Bits of the mantissa below those that choose the segment.
    low_bits: u32,
    /// Bits of the result that the coefficients add to.
    base: u32,
    /// C0 in units of 2^-17 of the last place, C1 and C2 in last places.
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
        let sum = c0 + linear + 4 * c2 * square(i, self.low_bits);
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
        (0, _) => ROOT_OF_ONE.at(mantissa),
        (_, _) => ROOT_OF_TWO.at(mantissa),
    };
    scaled(of_mantissa, -(exponent >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficients_are_the_recorded_ones() {
        let text = include_str!("../../../tests/vectors/h200/function_units.txt");
        for (name, range) in
            [("rcp_1", &RECIPROCAL), ("rsq_1", &ROOT_OF_ONE), ("rsq_2", &ROOT_OF_TWO)]
        {
            let rows: Vec<Vec<&str>> = text
                .lines()
                .map(|line| line.split(' ').collect::<Vec<_>>())
                .filter(|words| words[0] == name)
                .collect();
            assert_eq!(rows.len(), range.segments.len());
            assert_eq!(rows.len() << range.low_bits, 1 << 23);
            for (row, (c0, c1, c2)) in rows.iter().zip(range.segments) {
                assert_eq!(row[2], format!("0x{:x}", range.base));
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
        }
    }
}
