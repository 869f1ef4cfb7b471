// SPDX-License-Identifier: MIT OR Apache-2.0
//! Narrowing against `rustc_apfloat` in every direction.

use super::*;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round as ApRound};

fn values() -> Vec<f64> {
    let mut bits: Vec<u64> = vec![0, 1, 0x000f_ffff_ffff_ffff, 0x0010_0000_0000_0000];
    // Around each interesting exponent: exact values, ties, and one bit off a tie.
    for e in [
        -1022, -160, -150, -149, -140, -134, -133, -127, -126, -125, -26, -25, -24, -15, -14, -13,
        -1, 0, 1, 15, 16, 104, 126, 127, 128, 1023,
    ] {
        for fraction in [
            0u64,
            1,
            1 << 28,
            1 << 29,
            (1 << 29) - 1,
            (1 << 28) + 1,
            3 << 28,
            1 << 41,
            (1 << 41) + 1,
            (1 << 41) - 1,
            1 << 42,
            3 << 41,
            1 << 44,
            (1 << 44) + 1,
            3 << 44,
            (1 << 52) - 1,
            (1 << 52) - (1 << 28),
            (1 << 52) - (1 << 41),
            (1 << 52) - (1 << 44),
            0x5_5555_5555_5555,
            1 << 51,
            3 << 50,
        ] {
            bits.push(((e + 1023) as u64) << 52 | fraction);
        }
    }
    let mut state = 1u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let e = (state >> 33) % 300;
        bits.push((1023 - 150 + e) << 52 | state >> 12);
    }
    bits.push(f64::INFINITY.to_bits());
    bits.iter().flat_map(|&b| [f64::from_bits(b), -f64::from_bits(b)]).collect()
}

fn check<F: Float, const R: u8>(round: ApRound, ours: impl Fn(f64) -> u64)
where
    Double: FloatConvert<F>,
{
    for x in values() {
        let mut loses = false;
        let want = Double::from_bits(x.to_bits() as u128).convert_r(round, &mut loses);
        let want: F = want.value;
        assert_eq!(ours(x), want.to_bits() as u64, "{x:e} {:#x} {round:?}", x.to_bits());
    }
}

fn check_direction<const R: u8>(round: ApRound) {
    check::<Half, R>(round, narrow::<5, 10, R>);
    check::<BFloat, R>(round, narrow::<8, 7, R>);
    check::<Single, R>(round, narrow::<8, 23, R>);
    if R != RNA {
        check::<Single, R>(round, |x| narrow_f32::<R>(x).to_bits() as u64);
    }
}

#[test]
fn every_direction() {
    check_direction::<RN>(ApRound::NearestTiesToEven);
    check_direction::<RZ>(ApRound::TowardZero);
    check_direction::<RM>(ApRound::TowardNegative);
    check_direction::<RP>(ApRound::TowardPositive);
    check_direction::<RNA>(ApRound::NearestTiesToAway);
}

#[test]
fn integers() {
    let edges = [
        0u64,
        1,
        2,
        3,
        2049,
        2050,
        2051,
        4095,
        65503,
        65519,
        65520,
        65521,
        65535,
        65536,
        0xff_ffff,
        0x1ff_ffff,
        0x100_0001,
        (1 << 53) + 1,
        (1 << 53) + 3,
        (1 << 54) - 1,
        u64::MAX >> 1,
        1 << 63,
        (1 << 63) + 1024,
        (1 << 63) + 1025,
        u64::MAX,
    ];
    for m in edges {
        for negative in [false, true] {
            let exact = |round| {
                let v: Double = Double::from_u128_r(m as u128, round).value;
                (if negative && m != 0 { -v } else { v }).to_bits() as u64
            };
            assert_eq!(from_integer::<11, 52, RN>(negative, m), exact(ApRound::NearestTiesToEven));
            assert_eq!(from_integer::<11, 52, RZ>(negative, m), exact(ApRound::TowardZero));
            let (down, up) = if negative {
                (ApRound::TowardPositive, ApRound::TowardNegative)
            } else {
                (ApRound::TowardNegative, ApRound::TowardPositive)
            };
            assert_eq!(from_integer::<11, 52, RM>(negative, m), exact(down), "{m}");
            assert_eq!(from_integer::<11, 52, RP>(negative, m), exact(up), "{m}");
            let single = if negative { -(m as f32) } else { m as f32 };
            let single = if m == 0 { 0.0 } else { single };
            assert_eq!(from_integer::<8, 23, RN>(negative, m) as u32, single.to_bits(), "{m}");
            let half: Half = Half::from_u128_r(m as u128, ApRound::NearestTiesToEven).value;
            let half = if negative && m != 0 { -half } else { half };
            assert_eq!(from_integer::<5, 10, RN>(negative, m), half.to_bits() as u64, "{m}");
        }
    }
}
