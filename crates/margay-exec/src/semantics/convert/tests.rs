// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions against 128-bit integers, `rustc_apfloat` and the formats' definitions.

use super::*;
use crate::semantics::rounding::RNA;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, Round as ApRound};

const VALUES: [f64; 40] = [
    0.0,
    0.25,
    0.5,
    0.75,
    1.0,
    1.5,
    2.5,
    3.5,
    126.5,
    127.0,
    127.5,
    128.0,
    254.5,
    255.0,
    255.5,
    256.0,
    32767.0,
    32767.5,
    32768.0,
    65504.0,
    65535.0,
    65535.5,
    65536.0,
    2147483520.0,
    2147483647.0,
    2147483647.5,
    2147483648.0,
    4294967040.0,
    4294967295.0,
    4294967295.5,
    4294967296.0,
    9.2e18,
    9223372036854774784.0,
    9223372036854775808.0,
    1.8e19,
    18446744073709549568.0,
    18446744073709551616.0,
    1e30,
    1e300,
    f64::INFINITY,
];

/// The rounding and clamping that PTX describes, in 128-bit integers.
fn reference<const R: u8>(x: f64, low: i128, high: i128) -> i128 {
    let floor = x.floor();
    let rounded = match R {
        RZ => x.trunc(),
        RM => floor,
        RP => x.ceil(),
        _ => {
            let rest = x - floor;
            let even = (floor / 2.0).floor() * 2.0 == floor;
            if rest > 0.5 || (rest == 0.5 && !even) { floor + 1.0 } else { floor }
        }
    };
    (rounded as i128).clamp(low, high)
}

fn check_to_integer<const R: u8>() {
    for v in VALUES.iter().flat_map(|&v| [v, -v]) {
        let (d, f) = (v.to_bits(), v as f32);
        let (s, exact) = (f.to_bits(), f as f64);
        let name = format!("{v:e} direction {R}");
        let range = |bits: u32| (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
        let signed = |x, bits| reference::<R>(x, range(bits).0, range(bits).1);
        let unsigned = |x, bits: u32| reference::<R>(x, 0, (1i128 << bits) - 1);
        assert_eq!(ftos8::<F32, R, false>(s), signed(exact, 8) as u8 as u32, "{name}");
        assert_eq!(ftos16::<F32, R, false>(s), signed(exact, 16) as u16 as u32, "{name}");
        assert_eq!(ftos32::<F32, R, false>(s), signed(exact, 32) as u32, "{name}");
        assert_eq!(ftos64::<F32, R, false>(s), signed(exact, 64) as u64, "{name}");
        assert_eq!(ftou8::<F32, R, false>(s), unsigned(exact, 8) as u32, "{name}");
        assert_eq!(ftou16::<F32, R, false>(s), unsigned(exact, 16) as u32, "{name}");
        assert_eq!(ftou32::<F32, R, false>(s), unsigned(exact, 32) as u32, "{name}");
        assert_eq!(ftou64::<F32, R, false>(s), unsigned(exact, 64) as u64, "{name}");
        assert_eq!(ftos32::<F64, R, false>(d), signed(v, 32) as u32, "{name}");
        assert_eq!(ftou32::<F64, R, false>(d), unsigned(v, 32) as u32, "{name}");
        assert_eq!(ftos64::<F64, R, false>(d), signed(v, 64) as u64, "{name}");
        assert_eq!(ftou64::<F64, R, false>(d), unsigned(v, 64) as u64, "{name}");
        assert_eq!(ftos16::<F64, R, false>(d), signed(v, 16) as u16 as u32, "{name}");
        let h = f32_to_f16(f);
        assert_eq!(
            ftos32::<F16, R, false>(h),
            signed(f16_to_f32(h) as f64, 32) as u32,
            "f16 {name}"
        );
        if v.abs() < 1e15 {
            let want = match R {
                RZ => v.trunc(),
                RM => v.floor(),
                RP => v.ceil(),
                _ => v.round_ties_even(),
            };
            assert_eq!(fround::<F64, R, false, false>(d), want.to_bits(), "{name}");
        }
    }
}

#[test]
fn to_integers() {
    check_to_integer::<RN>();
    check_to_integer::<RZ>();
    check_to_integer::<RM>();
    check_to_integer::<RP>();
}

#[test]
fn nan_to_integers() {
    let (s, d) = (f32::NAN.to_bits(), f64::NAN.to_bits());
    assert_eq!(ftos32::<F32, RZ, false>(s), 0);
    assert_eq!(ftou16::<F32, RZ, false>(s), 0);
    assert_eq!(ftos64::<F32, RZ, false>(s), 1 << 63);
    assert_eq!(ftou64::<F16, RZ, false>(0x7e00), 1 << 63);
    assert_eq!(ftos32::<F64, RZ, false>(d), 1 << 31);
    assert_eq!(ftou64::<F64, RZ, false>(d), 1 << 63);
}

#[test]
fn flushing_matters_when_rounding_away_from_zero() {
    assert_eq!(ftos32::<F32, RP, false>(1), 1);
    assert_eq!(ftos32::<F32, RP, true>(1), 0);
    assert_eq!(fround::<F32, RM, true, false>(0x8000_0001), 0x8000_0000);
    assert_eq!(ftof::<F32, F64, RN, true, false>(1), 0);
    assert_eq!(ftof::<F64, F32, RN, true, false>(1e-40f64.to_bits()), 0);
    assert_eq!(ftof::<F64, F32, RN, false, false>(1e-40f64.to_bits()), 1e-40f32.to_bits());
    assert_eq!(ftof::<F32, F16, RN, true, false>(1e-7f32.to_bits()), 2, "f16 results are kept");
}

fn check_from_integer<const R: u8>(round: ApRound) {
    let edges = [
        0u64,
        1,
        2,
        127,
        128,
        255,
        2049,
        32767,
        32768,
        65519,
        65520,
        65535,
        0x100_0001,
        0x1ff_ffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x8000_0001,
        (1 << 53) + 1,
        u64::MAX >> 1,
        1 << 63,
        (1 << 63) + 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    for a in edges {
        let w = a as u32;
        let single = |v: i128| Single::from_i128_r(v, round).value.to_bits() as u32;
        let double = |v: i128| Double::from_i128_r(v, round).value.to_bits() as u64;
        let half = |v: i128| Half::from_i128_r(v, round).value.to_bits() as u32;
        assert_eq!(s32tof::<F32, R, false>(w), single(w as i32 as i128), "{a:#x}");
        assert_eq!(u32tof::<F32, R, false>(w), single(w as i128), "{a:#x}");
        assert_eq!(s64tof::<F32, R, false>(a), single(a as i64 as i128), "{a:#x}");
        assert_eq!(u64tof::<F32, R, false>(a), single(a as i128), "{a:#x}");
        assert_eq!(s64tof::<F64, R, false>(a), double(a as i64 as i128), "{a:#x}");
        assert_eq!(u64tof::<F64, R, false>(a), double(a as i128), "{a:#x}");
        assert_eq!(s32tof::<F64, R, false>(w), double(w as i32 as i128), "{a:#x}");
        assert_eq!(u64tof::<F16, R, false>(a), half(a as i128), "{a:#x}");
        assert_eq!(s16tof::<F16, R, false>(w), half(w as i16 as i128), "{a:#x}");
        assert_eq!(u16tof::<F16, R, false>(w), half(w as u16 as i128), "{a:#x}");
        assert_eq!(s8tof::<F32, R, false>(w), single(w as i8 as i128), "{a:#x}");
        assert_eq!(u8tof::<F64, R, false>(w), double(w as u8 as i128), "{a:#x}");
    }
}

#[test]
fn from_integers() {
    check_from_integer::<RN>(ApRound::NearestTiesToEven);
    check_from_integer::<RZ>(ApRound::TowardZero);
    check_from_integer::<RM>(ApRound::TowardNegative);
    check_from_integer::<RP>(ApRound::TowardPositive);
    assert_eq!(s32tof::<F32, RN, true>(5), 1f32.to_bits());
    assert_eq!(s32tof::<F32, RN, true>(-5i32 as u32), 0);
}

#[test]
fn between_formats() {
    let pi = std::f64::consts::PI;
    assert_eq!(ftof::<F64, F32, RN, false, false>(pi.to_bits()), 0x4049_0fdb);
    assert_eq!(ftof::<F64, F32, RZ, false, false>(pi.to_bits()), 0x4049_0fda);
    assert_eq!(ftof::<F64, F16, RN, false, false>(pi.to_bits()), 0x4248);
    assert_eq!(ftof::<F64, F16, RP, false, false>(pi.to_bits()), 0x4249);
    assert_eq!(ftof::<F32, BF16, RN, false, false>(0x4049_0fdb), 0x4049);
    assert_eq!(ftof::<F32, BF16, RP, false, false>(0x4049_0fdb), 0x404a);
    // 1 + 2^-11 + 2^-40 is above a tie of f16, but an f32 on the way would make it one.
    let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(ftof::<F64, F16, RN, false, false>(above.to_bits()), 0x3c01);
    assert_eq!(ftof::<F64, F32, RN, false, false>(0xfff0_0000_4000_0001), 0xffc0_0002);
    assert_eq!(ftof::<F16, F32, RN, false, false>(0xfe01), single::NAN);
    assert_eq!(ftof::<BF16, F32, RN, false, false>(0xff81), 0xff81_0000);
    assert_eq!(ftof::<BF16, F32, RN, false, true>(0xff81), 0);
    assert_eq!(ftof::<BF16, F16, RN, false, false>(0xff81), 0x7fff);
    assert_eq!(ftof::<F32, F32, RN, false, true>(2f32.to_bits()), 1f32.to_bits());
    assert_eq!(ftof::<F32, F16, RN, false, true>((-2f32).to_bits()), 0);
    assert_eq!(ftof::<F32, F16, RZ, false, false>(1e6f32.to_bits()), 0x7bff);
}

#[test]
fn tf32() {
    let next = 0x3f80_2000;
    assert_eq!(ftotf32::<RNA, false>(0x3f80_1000), next, "a tie goes away from zero");
    assert_eq!(ftotf32::<RN, false>(0x3f80_1000), 0x3f80_0000, "a tie goes to even");
    assert_eq!(ftotf32::<RN, false>(0x3f80_3000), 0x3f80_4000);
    assert_eq!(ftotf32::<RN, false>(0x3f80_1001), next);
    assert_eq!(ftotf32::<RZ, false>(0x3f80_1fff), 0x3f80_0000);
    assert_eq!(ftotf32::<RNA, false>(0x7f7f_ffff), 0x7f80_0000);
    assert_eq!(ftotf32::<RNA, false>(0xffc0_0123), 0xffc0_0000);
    assert_eq!(ftotf32::<RN, false>(0xffc0_0123), 0x7fff_e000);
    assert_eq!(ftotf32::<RN, true>(0xbf80_1000), 0);
}

#[test]
fn bytes_round_trip() {
    for a in 0..=255u32 {
        let h = e4m3tof::<false>(a);
        let nan = a & 0x7f == 0x7f;
        assert_eq!(ftoe4m3::<F16, false>(h), if nan { 0x7f } else { a });
        if !nan {
            let (e, m) = ((a >> 3 & 15) as i32, (a & 7) as f32);
            let value = if e == 0 { m / 512.0 } else { (1.0 + m / 8.0) * 2f32.powi(e - 7) };
            let value = if a & 0x80 != 0 { -value } else { value };
            assert_eq!(f16_to_f32(h), value);
            assert_eq!(ftoe4m3::<F32, false>(value.to_bits()), a);
        }
        let h = e5m2tof::<false>(a);
        let back = ftoe5m2::<F16, false>(h);
        let want = match a & 0x7f {
            0x7c => a & 0x80 | 0x7b,
            0x7d.. => 0x7f,
            _ => a,
        };
        assert_eq!(back, want, "infinity becomes the largest value");
    }
}

#[test]
fn bytes_round_to_even_and_clamp() {
    let f = f32::to_bits;
    assert_eq!(ftoe4m3::<F32, false>(f(1.0625)), 0x38, "a tie between 1 and 1.125");
    assert_eq!(ftoe4m3::<F32, false>(f(1.1875)), 0x3a);
    assert_eq!(ftoe4m3::<F32, false>(f(464.0)), 0x7e);
    assert_eq!(ftoe4m3::<F32, false>(f(f32::NEG_INFINITY)), 0xfe);
    assert_eq!(ftoe4m3::<F32, true>(f(-3.0)), 0);
    assert_eq!(ftoe4m3::<F32, false>(f(2f32.powi(-10))), 0, "half the smallest, a tie");
    assert_eq!(ftoe4m3::<F32, false>(f(2f32.powi(-10) * 1.0001)), 1);
    assert_eq!(ftoe4m3::<F32, false>(f(-1e-30)), 0x80);
    assert_eq!(ftoe5m2::<F32, false>(f(1e9)), 0x7b);
    assert_eq!(ftoe5m2::<F32, false>(f(1.125)), 0x3c);
    assert_eq!(e4m3tof::<true>(0xb8), 0);
    assert_eq!(e5m2tof::<true>(0xfc), 0);
    assert_eq!(e5m2tof::<false>(0xff), NAN_F16);
}
const NAN_F16: u32 = crate::semantics::half_float::NAN;
