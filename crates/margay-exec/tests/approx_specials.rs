// SPDX-License-Identifier: MIT OR Apache-2.0
//! Approximate operations against an H200's answers for NaN, infinities, zeros and subnormals, and for
//! every half (`tests/vectors/h200/record/approximations.cu` recorded them).
//!
//! Bit for bit wherever an argument or the result is NaN, infinite, zero or subnormal. Where one is subnormal, the card
//! computes an ordinary result from the scaled argument, or scales an ordinary result; so do we, by its own tables.

use std::collections::BTreeMap;
use std::io::Read;

use margay_exec::semantics::approx;

const SPECIALS: &[u8] = include_bytes!("../../../tests/vectors/h200/approx_specials.txt.zst");
const HALVES: &[u8] = include_bytes!("../../../tests/vectors/h200/approx_halves.bin.zst");

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn ours(form: &str, a: u64, b: u64) -> u64 {
    let (x, y) = (a as u32, b as u32);
    match form {
        "rcp.approx.f32" => approx::rcp::<false>(x).into(),
        "rcp.approx.ftz.f32" => approx::rcp::<true>(x).into(),
        "sqrt.approx.f32" => approx::sqrt::<false>(x).into(),
        "sqrt.approx.ftz.f32" => approx::sqrt::<true>(x).into(),
        "rsqrt.approx.f32" => approx::rsqrt::<false>(x).into(),
        "rsqrt.approx.ftz.f32" => approx::rsqrt::<true>(x).into(),
        "ex2.approx.f32" => approx::ex2::<false>(x).into(),
        "ex2.approx.ftz.f32" => approx::ex2::<true>(x).into(),
        "lg2.approx.f32" => approx::lg2::<false>(x).into(),
        "lg2.approx.ftz.f32" => approx::lg2::<true>(x).into(),
        "sin.approx.f32" | "sin.approx.ftz.f32" => approx::sin(x).into(),
        "cos.approx.f32" | "cos.approx.ftz.f32" => approx::cos(x).into(),
        "tanh.approx.f32" => approx::tanh(x).into(),
        "div.approx.f32" => approx::div::<false>(x, y).into(),
        "div.approx.ftz.f32" => approx::div::<true>(x, y).into(),
        "div.full.f32" => approx::div_full::<false>(x, y).into(),
        "div.full.ftz.f32" => approx::div_full::<true>(x, y).into(),
        "rcp.approx.ftz.f64" => approx::rcp_f64(a),
        "rsqrt.approx.f64" => approx::rsqrt_f64(a),
        "rsqrt.approx.ftz.f64" => approx::rsqrt_f64_ftz(a),
        other => panic!("{other} has no function"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// NaN, infinite or zero.
    Special,
    Subnormal,
    Normal,
}

fn kind(form: &str, bits: u64) -> Kind {
    let (fraction, all) = if form.ends_with("f64") { (52, 0x7ff) } else { (23, 0xff) };
    match bits >> fraction & all {
        0 if bits & ((1 << fraction) - 1) == 0 => Kind::Special,
        0 => Kind::Subnormal,
        field if field == all => Kind::Special,
        _ => Kind::Normal,
    }
}

/// By how much a result may miss the card's that is neither NaN, infinite nor zero, in last places.
fn slack(form: &str) -> u64 {
    match form.split_once('.').map_or("", |(name, _)| name) {
        "rcp" | "rsqrt" if form.ends_with(".ftz.f64") => 1 << 32,
        "sqrt" | "rcp" | "ex2" => 1,
        "rsqrt" | "div" | "lg2" => 2,
        // Near its zeros, and for large arguments: `src/semantics/approx/tests.rs` bounds them.
        "sin" | "cos" | "tanh" => u64::MAX,
        other => panic!("{other} has no bound"),
    }
}

#[test]
fn specials_and_subnormals() {
    let text = String::from_utf8(unpack(SPECIALS)).unwrap();
    let mut wrong = Vec::new();
    let mut tally: BTreeMap<(&str, Kind), [u64; 3]> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let form = words.next().unwrap();
        let numbers: Vec<u64> = words.map(|w| u64::from_str_radix(w, 16).unwrap()).collect();
        let (card, args) = numbers.split_last().unwrap();
        let result = ours(form, args[0], args.get(1).copied().unwrap_or(0));
        let least = numbers.iter().chain([&result]).map(|v| kind(form, *v)).min().unwrap();
        let off = result.abs_diff(*card);
        let entry = tally.entry((form, least)).or_default();
        entry[0] += 1;
        entry[1] += u64::from(off != 0);
        entry[2] = entry[2].max(off);
        let allowed = match least {
            Kind::Special | Kind::Subnormal => 0,
            Kind::Normal if form.starts_with("lg2") => u64::MAX,
            Kind::Normal => slack(form),
        };
        if off > allowed {
            wrong.push(format!("{line}: {result:x}"));
        }
    }
    for ((form, kind), [rows, differ, most]) in &tally {
        println!("{form} {kind:?}: {rows} rows, {differ} differ, by {most} at most");
    }
    assert_eq!(tally.values().map(|[rows, ..]| rows).sum::<u64>(), 41_288);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(100)].join("\n"));
}

/// Powers have the card's bits for all halves. Tangents may be one off where argument and result are
/// ordinary: the card's are coarser than PTX asks.
#[test]
fn every_half() {
    let bytes = unpack(HALVES);
    let card = |table: usize, a: u32| {
        let at = (table * 65536 + a as usize) * 2;
        u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
    };
    assert_eq!(bytes.len(), 4 * 65536 * 2);
    for a in 0..65536 {
        assert_eq!(approx::ex2_f16::<false>(a), card(0, a), "ex2.approx.f16 {a:04x}");
        assert_eq!(approx::ex2_bf16::<true>(a), card(1, a), "ex2.approx.ftz.bf16 {a:04x}");
        let near = |ours: u32, card: u32, least: u32, infinite: u32| {
            let ordinary = |v: u32| (least..infinite).contains(&(v & 0x7fff));
            ours.abs_diff(card) <= u32::from(ordinary(a) && ordinary(card))
        };
        let ours = approx::tanh_f16(a);
        assert!(near(ours, card(2, a), 0x0400, 0x7c00), "tanh.approx.f16 {a:04x}: {ours:04x}");
        let ours = approx::tanh_bf16(a);
        assert!(near(ours, card(3, a), 0x0080, 0x7f80), "tanh.approx.bf16 {a:04x}: {ours:04x}");
    }
}
