// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of sine and cosine that are too large for a few multiples of π/2: Payne and Hanek's
//! way, in integers, one lane at a time.

/// 2/π in binary, the point after the first 64 bits.
const TWO_OVER_PI: [u64; 22] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
    0xa9e3_9161_5ee6_1b08,
];

/// The quadrant (0 to 3) of a finite `x`, |x| ≥ 2, and what is left of it, in [-π/4, π/4], as a
/// sum of two doubles.
#[inline(always)]
pub fn quadrant(x: f64) -> (i32, f64, f64) {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1075;
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    // |x| = mantissa * 2^exponent. Of 2/π only the 256 bits from two before the product's point on
    // matter; bits before those add multiples of 4 to the quotient.
    let at = (exponent - 2 + 64) as usize;
    let (limb, shift) = (at / 64, at % 64);
    let words: [u64; 4] = std::array::from_fn(|i| {
        let [high, low] = [TWO_OVER_PI[limb + i], TWO_OVER_PI[limb + i + 1]];
        high << shift | low >> 1 >> (63 - shift)
    });
    let mut product = [0u64; 4];
    let mut carry = 0u128;
    for i in (0..4).rev() {
        let t = u128::from(words[i]) * u128::from(mantissa) + carry;
        product[i] = t as u64;
        carry = t >> 64;
    }
    // The two highest bits are the quadrant, the rest its fraction.
    let mut n = (product[0] >> 62) as i32;
    let mut fraction: [u64; 3] = std::array::from_fn(|i| product[i] << 2 | product[i + 1] >> 62);
    let negative = fraction[0] >> 63 != 0;
    if negative {
        n += 1;
        let mut borrow = true;
        for word in fraction.iter_mut().rev() {
            let (v, b) = (!*word).overflowing_add(u64::from(borrow));
            *word = v;
            borrow = b;
        }
    }
    // As a double-double: 53 leading bits, then 53 more.
    let zeros = if fraction[0] != 0 {
        fraction[0].leading_zeros()
    } else {
        64 + fraction[1].leading_zeros()
    };
    let take = |from: u32| {
        let (i, s) = ((from / 64) as usize, from % 64);
        let next = fraction.get(i + 1).copied().unwrap_or(0);
        let here = fraction.get(i).copied().unwrap_or(0);
        (u128::from(here) << 64 | u128::from(next)) << s >> 75
    };
    let unit = |from: u32| f64::from_bits(u64::from(1023 - from - 53) << 52);
    let hi = take(zeros) as f64 * unit(zeros);
    let lo = take(zeros + 53) as f64 * unit(zeros + 53);
    // Times π/2.
    const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;
    const HALF_PI_LOW: f64 = 6.123_233_995_736_766e-17;
    let r = hi * HALF_PI;
    let rest = hi.mul_add(HALF_PI, -r) + hi.mul_add(HALF_PI_LOW, lo * HALF_PI);
    let (r, rest) = (r + rest, rest - ((r + rest) - r));
    let sign = if negative != (x < 0.0) { -1.0 } else { 1.0 };
    let n = (if x < 0.0 { -n } else { n }) & 3;
    (n, sign * r, sign * rest)
}
