// SPDX-License-Identifier: MIT OR Apache-2.0
//! Half-precision operations against `rustc_apfloat`, which computes in the format itself.

use super::*;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Half};

const F16: &[u32] = &[
    0, 1, 2, 3, 0x1ff, 0x200, 0x3fe, 0x3ff, 0x400, 0x401, 0x7ff, 0x1400, 0x1401, 0x2bff, 0x3555,
    0x37ff, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4248, 0x63ff, 0x6400, 0x6bff, 0x7800,
    0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff,
];
const BF16: &[u32] = &[
    0, 1, 2, 3, 0x3f, 0x40, 0x7e, 0x7f, 0x80, 0x81, 0xff, 0x1fff, 0x2000, 0x2001, 0x3eab, 0x3f7f,
    0x3f80, 0x3f81, 0x3fc0, 0x4000, 0x4049, 0x5f80, 0x6000, 0x7eff, 0x7f7e, 0x7f7f, 0x7f80, 0x7f81,
    0x7fc0, 0x7fff,
];

/// A small generator, so that a failure repeats.
struct Random(u64);
impl Random {
    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 48) as u32
    }
}

macro_rules! against_apfloat {
    ($test:ident, $format:ident, $ap:ident, $edges:expr) => {
        #[test]
        fn $test() {
            let expect = |x: $ap| if x.is_nan() { NAN } else { x.to_bits() as u32 };
            let ap = |a: u32| $ap::from_bits(a as u128);
            let check = |a: u32, b: u32, c: u32| {
                let (x, y, z) = (ap(a), ap(b), ap(c));
                let name = format!("{a:#x} {b:#x} {c:#x}");
                assert_eq!($format::add::<false, false>(a, b), expect((x + y).value), "add {name}");
                assert_eq!($format::sub::<false, false>(a, b), expect((x - y).value), "sub {name}");
                assert_eq!($format::mul::<false, false>(a, b), expect((x * y).value), "mul {name}");
                assert_eq!(
                    $format::fma::<false, false, false>(a, b, c),
                    expect(x.mul_add(y, z).value),
                    "fma {name}"
                );
            };
            let edges: Vec<u32> = $edges.iter().flat_map(|&a| [a, a | SIGN]).collect();
            for &a in &edges {
                for &b in &edges {
                    for &c in &edges {
                        check(a, b, c);
                    }
                }
            }
            let mut random = Random(7);
            for _ in 0..200_000 {
                check(random.bits(), random.bits(), random.bits());
                // Close exponents, where sums cancel and roundings tie.
                let a = random.bits();
                check(a, a ^ (random.bits() & 0x83ff), random.bits() & 0xc0ff);
            }
        }
    };
}

against_apfloat!(f16_arithmetic, f16, Half, F16);
against_apfloat!(bf16_arithmetic, bf16, BFloat, BF16);

#[test]
fn f16_widens_and_narrows_without_loss() {
    for a in 0..=0xffffu32 {
        let back = f32_to_f16(f16_to_f32(a));
        assert_eq!(back, if f16::is_nan(a) { NAN } else { a });
        if !f16::is_nan(a) {
            assert_eq!(f16_to_f32(a), half::f16::from_bits(a as u16).to_f32_const());
        }
        let back = f32_to_bf16(bf16_to_f32(a));
        assert_eq!(back, if bf16::is_nan(a) { NAN } else { a });
    }
}

#[test]
fn narrowing_rounds_as_the_half_crate_does() {
    let check = |bits: u32| {
        let x = f32::from_bits(bits);
        if x.is_nan() {
            assert_eq!((f32_to_f16(x), f32_to_bf16(x)), (NAN, NAN));
            return;
        }
        assert_eq!(f32_to_f16(x), half::f16::from_f32_const(x).to_bits() as u32, "{bits:#x}");
        assert_eq!(f32_to_bf16(x), half::bf16::from_f32_const(x).to_bits() as u32, "{bits:#x}");
        assert_eq!(f64_to_f16::<RN>(x as f64), f32_to_f16(x), "{bits:#x}");
        assert_eq!(f64_to_bf16::<RN>(x as f64), f32_to_bf16(x), "{bits:#x}");
    };
    // Every f16 and the points half-way to its neighbours, and one bit to each side of those.
    for a in 0..=0xffffu32 {
        let x = f16_to_f32(a).to_bits();
        for near in [x, x.wrapping_add(0x1000), x.wrapping_add(0xfff), x.wrapping_add(0x1001)] {
            check(near);
            check(near.wrapping_sub(0x1000));
        }
        for low in [0x7fff, 0x8000, 0x8001, 0xffff] {
            check(a << 16 | low);
        }
    }
    for near in [0x3300_0000, 0x3300_0001, 0x32ff_ffff, 0x3380_0000, 0x33c0_0000, 0x477f_efff] {
        check(near);
    }
}

#[test]
fn flush_saturate_relu() {
    assert_eq!(f16::add::<true, false>(0x0001, 0x83ff), 0x0000, "inputs are flushed");
    assert_eq!(f16::add::<true, false>(0x8001, 0x83ff), 0x8000);
    assert_eq!(f16::mul::<true, false>(0x0400, 0xb800), 0x8000, "results are flushed");
    assert_eq!(f16::add::<false, true>(0x3c00, 0x3c00), 0x3c00);
    assert_eq!(f16::add::<false, true>(0xbc00, 0x0000), 0);
    assert_eq!(f16::add::<false, true>(0x7e00, 0x0000), 0);
    assert_eq!(f16::fma::<false, false, true>(0xbc00, 0x3c00, 0), 0);
    assert_eq!(f16::fma::<false, false, true>(0x7e00, 0x3c00, 0), NAN);
    assert_eq!(bf16::fma::<false, false, true>(0x3f80, 0x4000, 0x3f80), 0x4040);
    assert_eq!(
        f16::add::<false, false>(0xffff_3c00, 0xffff_3c00),
        0x4000,
        "high halves are ignored"
    );
}

#[test]
fn minimum_and_maximum() {
    let (nan, one, two, neg) = (0x7e00, 0x3c00, 0x4000, 0xc200);
    assert_eq!(f16::minmax::<false, false, false, false>(nan, one), one);
    assert_eq!(f16::minmax::<true, false, false, false>(one, nan), one);
    assert_eq!(f16::minmax::<true, false, true, false>(one, nan), NAN);
    assert_eq!(f16::minmax::<false, false, false, false>(nan, nan), NAN);
    assert_eq!(f16::minmax::<false, false, false, false>(0, 0x8000), 0x8000);
    assert_eq!(f16::minmax::<true, false, false, false>(0x8000, 0), 0);
    assert_eq!(f16::minmax::<true, false, false, true>(two, neg), 0xc200, "|-3| with one sign");
    assert_eq!(f16::minmax::<false, false, false, true>(two, neg), 0xc000);
    assert_eq!(f16::minmax::<true, true, false, false>(1, 0x83ff), 0);
}
