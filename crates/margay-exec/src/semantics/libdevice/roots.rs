// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots and norms.
//!
//! Norms sum the squares in double-double after scaling by a power of two, so nothing overflows
//! or underflows on the way; single precision sums in double precision.

use super::lane::lane_functions;

/// A sum of two doubles, the second below half a unit in the last place of the first.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    pub hi: f64,
    pub lo: f64,
}

impl Wide {
    /// `a * b`, exactly (no underflow assumed).
    pub(super) fn product(a: f64, b: f64) -> Wide {
        let hi = a * b;
        Wide { hi, lo: libm::fma(a, b, -hi) }
    }

    fn add(self, other: Wide) -> Wide {
        let s = self.hi + other.hi;
        let t = s - self.hi;
        let lo = (self.hi - (s - t)) + (other.hi - t) + self.lo + other.lo;
        Wide { hi: s + lo, lo: lo - ((s + lo) - s) }
    }

    /// Square root, good to about 100 bits of the argument: half a unit in the last place.
    fn sqrt(self) -> f64 {
        if self.hi == 0.0 {
            return 0.0;
        }
        let root = self.hi.sqrt();
        root + (libm::fma(-root, root, self.hi) + self.lo) / (2.0 * root)
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

/// The sum of squares of `x * 2^-e` and `e`, chosen so that the largest is near 1.
fn sum_of_squares<const N: usize>(x: [f64; N]) -> (Wide, i32) {
    let largest = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let e = libm::ilogb(largest).clamp(-1074, 1023);
    let mut sum = Wide { hi: 0.0, lo: 0.0 };
    for v in x {
        let v = libm::scalbn(v, -e);
        sum = sum.add(Wide::product(v, v));
    }
    (sum, e)
}

/// Infinite as soon as one is, whatever the others; then NaN as soon as one is.
fn special<const N: usize>(x: &[f64; N]) -> Option<f64> {
    if x.iter().any(|v| v.is_infinite()) {
        Some(f64::INFINITY)
    } else if x.iter().any(|v| v.is_nan()) {
        Some(f64::NAN)
    } else if x.iter().all(|v| *v == 0.0) {
        Some(0.0)
    } else {
        None
    }
}

fn norm<const N: usize>(x: [f64; N]) -> f64 {
    special(&x).unwrap_or_else(|| {
        let (sum, e) = sum_of_squares(x);
        libm::scalbn(sum.sqrt(), e)
    })
}

fn reciprocal_norm<const N: usize>(x: [f64; N]) -> f64 {
    match special(&x) {
        Some(s) => 1.0 / s,
        None => {
            let (sum, e) = sum_of_squares(x);
            libm::scalbn(sum.rsqrt().hi, -e)
        }
    }
}

/// Squares of floats are exact in double precision and cannot overflow there.
fn sum_of_squares_f32<const N: usize>(x: [f32; N]) -> f64 {
    x.iter().map(|v| f64::from(*v) * f64::from(*v)).sum()
}

fn norm_f32<const N: usize>(x: [f32; N]) -> f32 {
    match special(&x.map(f64::from)) {
        Some(s) => s as f32,
        None => sum_of_squares_f32(x).sqrt() as f32,
    }
}

fn reciprocal_norm_f32<const N: usize>(x: [f32; N]) -> f32 {
    match special(&x.map(f64::from)) {
        Some(s) => (1.0 / s) as f32,
        None => (1.0 / sum_of_squares_f32(x).sqrt()) as f32,
    }
}

pub(super) fn rsqrt_f64(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return 1.0 / x.sqrt();
    }
    // An even power of two brings subnormals into the normal range.
    if x < f64::MIN_POSITIVE {
        return rsqrt_f64(x * 2f64.powi(108)) * 2f64.powi(54);
    }
    Wide { hi: x, lo: 0.0 }.rsqrt().hi
}

/// Correctly rounded: the double-double's low part decides where the high part is a tie.
pub(super) fn rsqrt_f32(x: f32) -> f32 {
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
    sqrt(x: f64) -> f64 { x.sqrt() }
    sqrtf(x: f32) -> f32 { x.sqrt() }
    rsqrt(x: f64) -> f64 { rsqrt_f64(x) }
    rsqrtf(x: f32) -> f32 { (1.0 / f64::from(x).sqrt()) as f32 }
    cbrt(x: f64) -> f64 { pxfm::f_cbrt(x) }
    cbrtf(x: f32) -> f32 { pxfm::f_cbrtf(x) }
    rcbrt(x: f64) -> f64 { pxfm::f_rcbrt(x) }
    rcbrtf(x: f32) -> f32 { pxfm::f_rcbrtf(x) }
    hypot(x: f64, y: f64) -> f64 { norm([x, y]) }
    hypotf(x: f32, y: f32) -> f32 { norm_f32([x, y]) }
    rhypot(x: f64, y: f64) -> f64 { reciprocal_norm([x, y]) }
    rhypotf(x: f32, y: f32) -> f32 { reciprocal_norm_f32([x, y]) }
    norm3d(x: f64, y: f64, z: f64) -> f64 { norm([x, y, z]) }
    norm3df(x: f32, y: f32, z: f32) -> f32 { norm_f32([x, y, z]) }
    norm4d(x: f64, y: f64, z: f64, w: f64) -> f64 { norm([x, y, z, w]) }
    norm4df(x: f32, y: f32, z: f32, w: f32) -> f32 { norm_f32([x, y, z, w]) }
    rnorm3d(x: f64, y: f64, z: f64) -> f64 { reciprocal_norm([x, y, z]) }
    rnorm3df(x: f32, y: f32, z: f32) -> f32 { reciprocal_norm_f32([x, y, z]) }
    rnorm4d(x: f64, y: f64, z: f64, w: f64) -> f64 { reciprocal_norm([x, y, z, w]) }
    rnorm4df(x: f32, y: f32, z: f32, w: f32) -> f32 { reciprocal_norm_f32([x, y, z, w]) }
}
