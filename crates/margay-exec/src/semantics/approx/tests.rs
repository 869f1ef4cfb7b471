// SPDX-License-Identifier: MIT OR Apache-2.0
//! Approximate operations against what an H200 gave: special values exactly, the rest within the
//! sum of the error that PTX allows a card and our own.

use super::*;
use crate::semantics::float::{double, single};

const RECORDED: &str = include_str!("../../../../../tests/vectors/h200/approx_math.txt");

fn ulps(a: u32, b: u32) -> u32 {
    let key = |x: u32| if x >> 31 != 0 { -((x & 0x7fff_ffff) as i64) } else { x as i64 };
    (key(a) - key(b)).unsigned_abs() as u32
}

/// How far a result may be from a card's.
enum Bound {
    Ulps(u32),
    /// Absolute within 2^-22 for results below, relative else (`lg2`).
    Logarithm,
    Absolute(f64),
    Relative(f64),
}

fn check(op: &str, input: u32, ours: u32, card: u32) -> Result<(), String> {
    if ours == card {
        return Ok(());
    }
    let bound = match op {
        "rcp.approx.f32" | "rcp.approx.ftz.f32" | "sqrt.approx.ftz.f32" => Bound::Ulps(1),
        "sqrt.approx.f32" => Bound::Ulps(1),
        "rsqrt.approx.f32" | "rsqrt.approx.ftz.f32" => Bound::Ulps(2),
        "ex2.approx.f32" | "ex2.approx.ftz.f32" => Bound::Ulps(2),
        "lg2.approx.f32" | "lg2.approx.ftz.f32" => Bound::Logarithm,
        // 2^-20.5 in one period; a card's own error grows with the argument.
        "sin.approx.f32" | "cos.approx.f32" => Bound::Absolute(6.8e-7),
        "tanh.approx.f32" => Bound::Relative(4.9e-4),
        _ => panic!("{op} has no bound"),
    };
    let subnormal = input & 0x7fff_ffff < 0x0080_0000;
    let (x, y) = (f32::from_bits(ours) as f64, f32::from_bits(card) as f64);
    let within = x.is_finite()
        && (!subnormal || y != 0.0)
        && y.is_finite()
        && match bound {
            Bound::Ulps(n) => ulps(ours, card) <= n,
            Bound::Logarithm => (x - y).abs() <= 2f64.powi(-22) || ulps(ours, card) <= 2,
            Bound::Absolute(e) => (x - y).abs() <= e,
            Bound::Relative(e) => ((x - y) / y).abs() <= e,
        };
    if within { Ok(()) } else { Err(format!("{op} {input:08x}: {ours:08x}, card {card:08x}")) }
}

#[test]
fn within_bounds_of_an_h200() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in RECORDED.lines() {
        let mut words = line.split(' ');
        let (op, a, card) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let a = u32::from_str_radix(a, 16).unwrap();
        let card = u32::from_str_radix(card, 16).unwrap();
        let ours = match op {
            "ex2.approx.f32" => ex2::<false>(a),
            "ex2.approx.ftz.f32" => ex2::<true>(a),
            "lg2.approx.f32" => lg2::<false>(a),
            "lg2.approx.ftz.f32" => lg2::<true>(a),
            "rcp.approx.f32" => rcp::<false>(a),
            "rcp.approx.ftz.f32" => rcp::<true>(a),
            "rsqrt.approx.f32" => rsqrt::<false>(a),
            "rsqrt.approx.ftz.f32" => rsqrt::<true>(a),
            "sqrt.approx.f32" => sqrt::<false>(a),
            "sqrt.approx.ftz.f32" => sqrt::<true>(a),
            "sin.approx.f32" => sin(a),
            "cos.approx.f32" => cos(a),
            "tanh.approx.f32" => tanh(a),
            _ => panic!("no such operation: {op}"),
        };
        count += 1;
        wrong.extend(check(op, a, ours, card).err());
    }
    assert!(count > 5000, "the vectors are gone");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

#[test]
fn quotients() {
    let d = |a: f32, b: f32| f32::from_bits(div::<false>(a.to_bits(), b.to_bits()));
    assert_eq!(d(1.0, 3.0), 1.0 / 3.0);
    assert_eq!(d(1.0, 1.5e38).to_bits(), 0);
    assert_eq!(d(-1e38, 1.5e38).to_bits(), 0x8000_0000);
    assert!(d(f32::INFINITY, 1.5e38).is_nan());
    assert_eq!(d(1.0, 2f32.powi(126)), 2f32.powi(-126));
    assert_eq!(d(f32::INFINITY, 2.0), f32::INFINITY);
    assert_eq!(div::<false>(0, 0), single::NAN);
    assert_eq!(div_full::<true>(1f32.to_bits(), 1), 0x7f80_0000);
}

#[test]
fn exponentials_and_logarithms_are_accurate() {
    for i in -4000..4000 {
        let x = i as f32 / 31.7;
        let exact = (x as f64).exp2();
        let ours = f32::from_bits(ex2::<false>(x.to_bits()));
        // A subnormal power is a card's: PTX allows 2.
        let most = if x < -126.0 { 2 } else { 1 };
        assert!(ulps(ours.to_bits(), (exact as f32).to_bits()) <= most, "ex2 {x}");
        let y = exact as f32;
        let ours = f32::from_bits(lg2::<false>(y.to_bits())) as f64;
        assert!((ours - (y as f64).log2()).abs() <= 1.2e-7 + ours.abs() * 1.2e-7, "lg2 {y}");
        let t = f32::from_bits(tanh(x.to_bits())) as f64;
        assert!((t - (x as f64).tanh()).abs() <= 1.5e-7 * t.abs(), "tanh {x}");
    }
}

#[test]
fn half_forms() {
    assert_eq!(ex2_f16::<false>(0x3c00), 0x4000);
    assert_eq!(ex2_f16::<false>(0xd000), 0, "2^-32 is below half of the smallest");
    assert_eq!(ex2_f16::<true>(0xcb80), 0, "2^-15 is flushed");
    assert_eq!(ex2_f16::<false>(0xcb80), 0x0200);
    assert_eq!(ex2_f16::<false>(0x7e01), 0x7fff);
    assert_eq!(ex2_bf16::<true>(0x3f80), 0x4000);
    assert_eq!(tanh_f16(0x7c00), 0x3c00);
    assert_eq!(tanh_f16(0xfc00), 0xbc00);
    assert_eq!(tanh_f16(1), 1);
    assert_eq!(tanh_bf16(0xff80), 0xbf80);
}

#[test]
fn double_forms() {
    const LOW_WORD: u64 = 0xffff_ffff;
    assert_eq!(rcp_f64(2f64.to_bits()), 0.5f64.to_bits());
    assert_eq!(rcp_f64(1), f64::INFINITY.to_bits(), "subnormals are flushed");
    assert_eq!(rcp_f64(3f64.to_bits()) & LOW_WORD, 0);
    assert_eq!(rcp_f64(0x7fef_ffff_ffff_ffff), 0, "and so are subnormal results");
    assert_eq!(rcp_f64(f64::NAN.to_bits()), 0x7fff_ffff_0000_0000);
    assert_eq!(rsqrt_f64_ftz(4f64.to_bits()), 0.5f64.to_bits());
    assert_eq!(rsqrt_f64(0), f64::INFINITY.to_bits());
    assert_eq!(rsqrt_f64(1 << 63), f64::NEG_INFINITY.to_bits());
    assert_eq!(rsqrt_f64((-1f64).to_bits()), double::GENERATED_NAN);
}
