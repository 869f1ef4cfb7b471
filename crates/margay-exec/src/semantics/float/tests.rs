// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every rounding direction of f32 and f64 against `rustc_apfloat`, over all pairs and triples of
//! edge values and a reproducible random set.

use super::{double, single};
use crate::semantics::rounding::{RM, RN, RP, RZ};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round as ApRound};

const F32: [u32; 28] = [
    0,
    1,
    2,
    0x0040_0000,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x00ff_ffff,
    0x1f80_0000,
    0x2000_0001,
    0x337f_ffff,
    0x3380_0000,
    0x3380_0001,
    0x3eaa_aaab,
    0x3f7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x3fff_ffff,
    0x4000_0000,
    0x4049_0fdb,
    0x4b7f_ffff,
    0x5f80_0000,
    0x7eff_ffff,
    0x7f7f_fffe,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fff_ffff,
];
const F64: [u64; 26] = [
    0,
    1,
    2,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x0350_0000_0000_0001,
    0x1ff0_0000_0000_0000,
    0x1fff_ffff_ffff_ffff,
    0x3c9f_ffff_ffff_ffff,
    0x3ca0_0000_0000_0000,
    0x3ca0_0000_0000_0001,
    0x3fd5_5555_5555_5555,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x4000_0000_0000_0000,
    0x4009_21fb_5444_2d18,
    0x4340_0000_0000_0000,
    0x5ff0_0000_0000_0000,
    0x7fdf_ffff_ffff_ffff,
    0x7fef_ffff_ffff_fffe,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x7ff8_0000_0000_0abc,
];

struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ self.0 >> 31
    }
}

fn check_single<const R: u8>(round: ApRound) {
    let want = |x: Single| if x.is_nan() { single::NAN } else { x.to_bits() as u32 };
    let ap = |a: u32| Single::from_bits(a as u128);
    let check = |a: u32, b: u32, c: u32| {
        let (x, y, z) = (ap(a), ap(b), ap(c));
        let name = format!("{a:#x} {b:#x} {c:#x} {round:?}");
        assert_eq!(
            single::add::<R, false, false>(a, b),
            want(x.add_r(y, round).value),
            "add {name}"
        );
        assert_eq!(
            single::sub::<R, false, false>(a, b),
            want(x.sub_r(y, round).value),
            "sub {name}"
        );
        assert_eq!(
            single::mul::<R, false, false>(a, b),
            want(x.mul_r(y, round).value),
            "mul {name}"
        );
        assert_eq!(
            single::div::<R, false, false>(a, b),
            want(x.div_r(y, round).value),
            "div {name}"
        );
        assert_eq!(
            single::fma::<R, false, false>(a, b, c),
            want(x.mul_add_r(y, z, round).value),
            "fma {name}"
        );
        let one = ap(1f32.to_bits());
        assert_eq!(single::rcp::<R, false>(a), want(one.div_r(x, round).value), "rcp {name}");
        check_root_single::<R>(a);
    };
    let edges: Vec<u32> = F32.iter().flat_map(|&a| [a, a | 1 << 31]).collect();
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                check(a, b, c);
            }
        }
    }
    let mut random = Random(R as u64);
    for _ in 0..50_000 {
        let (a, b) = (random.next() as u32, random.next() as u32);
        check(a, b, random.next() as u32);
        // Exponents near one another, and a third that nearly cancels the product.
        let b = (a & 0xff80_0000) ^ (b & 0x80ff_ffff);
        let product = (f32::from_bits(a) * f32::from_bits(b)).to_bits();
        check(a, b, product ^ 0x8000_0000 ^ (random.next() as u32 & 3));
    }
}

/// The root's defining inequality, in f64, where squares of f32 are exact.
fn check_root_single<const R: u8>(a: u32) {
    let x = f32::from_bits(a);
    let s = f32::from_bits(single::sqrt::<R, false>(a));
    if x.is_nan() || x < 0.0 {
        assert_eq!(s.to_bits(), single::NAN);
        return;
    }
    if x == 0.0 || x.is_infinite() {
        assert_eq!(s.to_bits(), a);
        return;
    }
    let square = |s: f32| s as f64 * s as f64;
    let (below, above) = (s.next_down(), s.next_up());
    match R {
        RZ | RM => assert!(square(s) <= x as f64 && square(above) > x as f64, "{a:#x}"),
        RP => assert!(square(s) >= x as f64 && square(below) < x as f64, "{a:#x}"),
        _ => assert_eq!(s, x.sqrt()),
    }
}

#[test]
fn single_to_nearest() {
    check_single::<RN>(ApRound::NearestTiesToEven);
}
#[test]
fn single_toward_zero() {
    check_single::<RZ>(ApRound::TowardZero);
}
#[test]
fn single_downward() {
    check_single::<RM>(ApRound::TowardNegative);
}
#[test]
fn single_upward() {
    check_single::<RP>(ApRound::TowardPositive);
}

/// The host's own arithmetic must agree with the exact one: a guard against a host (or a build)
/// that contracts or extends precision.
#[test]
fn double_to_nearest_is_exact() {
    let ap = |a: u64| Double::from_bits(a as u128);
    let same = |ours: u64, exact: Double, name: &str| {
        if exact.is_nan() {
            assert!(f64::from_bits(ours).is_nan(), "{name}");
        } else {
            assert_eq!(ours, exact.to_bits() as u64, "{name}");
        }
    };
    let edges: Vec<u64> = F64.iter().flat_map(|&a| [a, a | 1 << 63]).collect();
    for &a in &edges {
        for &b in &edges {
            let (x, y) = (ap(a), ap(b));
            same(double::add::<RN>(a, b), (x + y).value, "add");
            same(double::sub::<RN>(a, b), (x - y).value, "sub");
            same(double::mul::<RN>(a, b), (x * y).value, "mul");
            same(double::div::<RN>(a, b), (x / y).value, "div");
            for &c in &edges {
                let name = format!("fma {a:#x} {b:#x} {c:#x}");
                same(double::fma::<RN>(a, b, c), x.mul_add(y, ap(c)).value, &name);
            }
        }
    }
}

/// Directed f64 results bracket the exact value: checked through remainders, which the host
/// computes exactly away from the ends of the range.
#[test]
fn double_directed_brackets_the_exact_value() {
    let mut random = Random(3);
    for _ in 0..20_000 {
        let mut value = || f64::from_bits((random.next() % 400 + 823) << 52 | random.next() >> 12);
        let (x, y, z) = (value(), -value(), value());
        let (a, b, c) = (x.to_bits(), y.to_bits(), z.to_bits());
        let bracket = |down: u64, up: u64, zero: u64, near: u64| {
            let (d, u) = (f64::from_bits(down), f64::from_bits(up));
            assert!(d == u || d.next_up() == u, "{x:e} {y:e} {z:e}");
            assert!(near == down || near == up);
            assert_eq!(zero, if d < 0.0 { up } else { down });
            (d, u)
        };
        let (d, u) = bracket(
            double::mul::<RM>(a, b),
            double::mul::<RP>(a, b),
            double::mul::<RZ>(a, b),
            double::mul::<RN>(a, b),
        );
        assert!(x.mul_add(y, -d) >= 0.0 && x.mul_add(y, -u) <= 0.0);
        assert_eq!(d == u, x.mul_add(y, -d) == 0.0);
        let (d, u) = bracket(
            double::div::<RM>(a, b),
            double::div::<RP>(a, b),
            double::div::<RZ>(a, b),
            double::div::<RN>(a, b),
        );
        // y is negative: the order of remainders turns round.
        assert!(d.mul_add(-y, x) <= 0.0 && u.mul_add(-y, x) >= 0.0);
        let (d, u) = bracket(
            double::sqrt::<RM>(a),
            double::sqrt::<RP>(a),
            double::sqrt::<RZ>(a),
            double::sqrt::<RN>(a),
        );
        assert!(d.mul_add(-d, x) >= 0.0 && u.mul_add(-u, x) <= 0.0);
        bracket(
            double::fma::<RM>(a, b, c),
            double::fma::<RP>(a, b, c),
            double::fma::<RZ>(a, b, c),
            double::fma::<RN>(a, b, c),
        );
        bracket(
            double::add::<RM>(a, b),
            double::add::<RP>(a, b),
            double::add::<RZ>(a, b),
            double::add::<RN>(a, b),
        );
    }
}

#[test]
fn double_roots_of_tiny_values() {
    for a in [1u64, 2, 3, 0x000f_ffff_ffff_ffff, 0x0010_0000_0000_0001, 0x1fff_ffff_ffff_ffff] {
        let (d, u) = (double::sqrt::<RM>(a), double::sqrt::<RP>(a));
        let near = double::sqrt::<RN>(a);
        assert!(near == d || near == u);
        assert!(d == u || d + 1 == u, "{a:#x}");
        assert_eq!(double::sqrt::<RZ>(a), d);
    }
    // 2^-1074 = (2^-537)^2: exact, so all directions agree.
    assert_eq!(double::sqrt::<RM>(1), double::sqrt::<RP>(1));
    assert_ne!(double::sqrt::<RM>(2), double::sqrt::<RP>(2));
}

#[test]
fn double_nan_payloads() {
    let (a, b, c) = (0x7ff0_0000_0000_0123, 0xfff8_0000_0000_0456, 0x7ff8_0000_0000_0789);
    let one = 1f64.to_bits();
    assert_eq!(double::add::<RN>(a, one), a | 1 << 51);
    assert_eq!(double::add::<RN>(one, b), b);
    assert_eq!(double::mul::<RZ>(a, b), b);
    assert_eq!(double::div::<RN>(a, b), a | 1 << 51);
    assert_eq!(double::neg(b), b);
    assert_eq!(double::abs(a), a | 1 << 51);
    assert_eq!(double::fma::<RN>(a, one, c), c);
    assert_eq!(double::fma::<RM>(a, b, c), b);
    let infinity = f64::INFINITY.to_bits();
    assert_eq!(double::mul::<RN>(0, infinity), double::GENERATED_NAN);
    assert_eq!(double::sub::<RP>(infinity, infinity), double::GENERATED_NAN);
    assert_eq!(double::sqrt::<RN>((-1f64).to_bits()), double::GENERATED_NAN);
}

#[test]
fn flushing() {
    let (tiny, min) = (0x007f_ffff, 0x0080_0000);
    assert_eq!(single::add::<RN, true, false>(tiny, 0x8000_0000 | min), 0x8000_0000 | min);
    assert_eq!(single::mul::<RN, true, false>(min, 0xbf00_0000), 0x8000_0000);
    assert_eq!(single::mul::<RN, false, false>(min, 0xbf00_0000), 0x8040_0000);
    assert_eq!(single::div::<RP, true, false>(min, 0x4000_0000), 0);
    // Below the smallest normal in 24 bits: 2^-126 - 2^-150. As a subnormal it would round up.
    assert_eq!(single::mul::<RN, true, false>(min, 0x3f7f_ffff), 0);
    assert_eq!(single::mul::<RP, true, false>(min, 0x3f7f_ffff), 0);
    assert_eq!(single::mul::<RM, true, false>(min, 0xbf7f_ffff), 0x8000_0000);
    assert_eq!(single::fma::<RN, true, false>(min, 0x3f7f_ffff, 0), 0);
    assert_eq!(single::mul::<RN, false, false>(min, 0x3f7f_ffff), min);
    // (1 + 2^-13) (1 - 2^-13) 2^-126: the smallest normal in 24 bits too.
    assert_eq!(single::mul::<RN, true, false>(0x0080_0400, 0x3f7f_f800), min);
    assert_eq!(single::mul::<RP, true, false>(0x0080_0400, 0x3f7f_f800), min);
    assert_eq!(single::mul::<RZ, true, false>(0x0080_0400, 0x3f7f_f800), 0);
    assert_eq!(single::rcp::<RN, true>(tiny), 0x7f80_0000);
    assert_eq!(single::rcp::<RN, true>(0x8000_0001), 0xff80_0000);
    assert_eq!(single::sqrt::<RN, true>(tiny), 0);
    assert_eq!(single::fma::<RN, true, false>(0x3f80_0000, 1, 0x8000_0001), 0);
    assert_eq!(single::abs::<true>(0x8000_0001), 0);
    assert_eq!(single::neg::<true>(1), 0x8000_0000);
}

#[test]
fn saturation() {
    let sat = |x: f32, y: f32| single::add::<RN, false, true>(x.to_bits(), y.to_bits());
    assert_eq!(sat(0.75, 0.5), 1f32.to_bits());
    assert_eq!(sat(-0.75, 0.5), 0);
    assert_eq!(sat(-0.0, -0.0), 0);
    assert_eq!(sat(f32::NAN, 1.0), 0);
    assert_eq!(sat(f32::INFINITY, 1.0), 1f32.to_bits());
    assert_eq!(sat(0.25, 0.5), 0.75f32.to_bits());
}

#[test]
fn minimum_and_maximum() {
    let b = f32::to_bits;
    let min = single::minmax::<false, false, false, false>;
    let max = single::minmax::<true, false, false, false>;
    assert_eq!(min(b(0.0), b(-0.0)), b(-0.0));
    assert_eq!(max(b(-0.0), b(0.0)), b(0.0));
    assert_eq!(min(b(f32::NAN), b(3.0)), b(3.0));
    assert_eq!(max(b(3.0), b(f32::NAN)), b(3.0));
    assert_eq!(min(b(f32::NAN), b(f32::NAN)), single::NAN);
    assert_eq!(single::minmax::<false, false, true, false>(b(1.0), b(f32::NAN)), single::NAN);
    assert_eq!(single::minmax::<false, false, false, true>(b(-2.0), b(3.0)), b(-2.0));
    assert_eq!(single::minmax::<true, false, false, true>(b(-2.0), b(-3.0)), b(3.0));
    assert_eq!(single::minmax::<true, true, false, false>(1, 0x8000_0001), 0);
    let d = f64::to_bits;
    assert_eq!(double::minmax::<false, false, false>(d(0.0), d(-0.0)), d(-0.0));
    assert_eq!(double::minmax::<true, false, false>(d(f64::NAN), d(1.0)), d(1.0));
    assert_eq!(double::minmax::<true, true, false>(d(f64::NAN), d(1.0)), d(f64::NAN));
}
