// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX forms that no single op computes, against the manual's definition of each, over edge values:
//! parser, lowering and lane functions together.

mod lane;

use lane::{Operand, run};

const WORDS: [u32; 14] = [
    0,
    1,
    2,
    31,
    32,
    0x7f80_ff01,
    0x8000_7fff,
    0x0102_0304,
    0xfefd_80ff,
    0x00ff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

fn word(bits: u32) -> Operand {
    Operand { ty: "b32", bits: bits.into() }
}

fn one(text: &str, ins: &[Operand]) -> u64 {
    run(text, &["b32"], ins).unwrap()[0]
}

fn unary(text: &str, f: impl Fn(u32) -> u32) {
    for a in WORDS {
        assert_eq!(one(text, &[word(a)]), f(a).into(), "{text} {a:#x}");
    }
}
fn binary(text: &str, f: impl Fn(u32, u32) -> u32) {
    for a in WORDS {
        for b in WORDS {
            assert_eq!(one(text, &[word(a), word(b)]), f(a, b).into(), "{text} {a:#x} {b:#x}");
        }
    }
}
fn ternary(text: &str, f: impl Fn(u32, u32, u32) -> u32) {
    for a in WORDS {
        for b in WORDS {
            for c in [0, 1, 0x7fff_ffff, 0x8000_0001, 0xffff_ffff] {
                let got = one(text, &[word(a), word(b), word(c)]);
                assert_eq!(got, f(a, b, c).into(), "{text} {a:#x} {b:#x} {c:#x}");
            }
        }
    }
}

fn s24(a: u32) -> i64 {
    ((a << 8) as i32 >> 8).into()
}
fn u24(a: u32) -> u64 {
    (a & 0xff_ffff).into()
}
fn clamp_s32(x: i64) -> u32 {
    x.clamp(i32::MIN.into(), i32::MAX.into()) as u32
}
fn byte(a: u32, i: u32, signed: bool) -> i64 {
    let b = (a >> (8 * i)) as u8;
    if signed { (b as i8).into() } else { b.into() }
}
fn half(a: u32, i: u32, signed: bool) -> i64 {
    let h = (a >> (16 * i)) as u16;
    if signed { (h as i16).into() } else { h.into() }
}

#[test]
fn products() {
    binary("mul24.lo.s32 %0, %1, %2", |a, b| (s24(a) * s24(b)) as u32);
    binary("mul24.hi.s32 %0, %1, %2", |a, b| ((s24(a) * s24(b)) >> 16) as u32);
    binary("mul24.hi.u32 %0, %1, %2", |a, b| ((u24(a) * u24(b)) >> 16) as u32);
    ternary("mad24.hi.sat.s32 %0, %1, %2, %3", |a, b, c| {
        clamp_s32(i64::from(((s24(a) * s24(b)) >> 16) as i32) + i64::from(c as i32))
    });
    ternary("mad24.lo.u32 %0, %1, %2, %3", |a, b, c| ((u24(a) * u24(b)) as u32).wrapping_add(c));
    ternary("mad.hi.sat.s32 %0, %1, %2, %3", |a, b, c| {
        let high = (i64::from(a as i32) * i64::from(b as i32)) >> 32;
        clamp_s32(high + i64::from(c as i32))
    });
    ternary("mad.lo.u32 %0, %1, %2, %3", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    ternary("sad.s32 %0, %1, %2, %3", |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c));
    ternary("sad.u32 %0, %1, %2, %3", |a, b, c| a.abs_diff(b).wrapping_add(c));
}

#[test]
fn dot_products() {
    for (text, sa, sb) in [
        ("dp4a.u32.u32 %0, %1, %2, %3", false, false),
        ("dp4a.s32.u32 %0, %1, %2, %3", true, false),
        ("dp4a.u32.s32 %0, %1, %2, %3", false, true),
        ("dp4a.s32.s32 %0, %1, %2, %3", true, true),
    ] {
        ternary(text, |a, b, c| {
            let sum: i64 = (0..4).map(|i| byte(a, i, sa) * byte(b, i, sb)).sum();
            (sum as u32).wrapping_add(c)
        });
    }
    for (text, base) in
        [("dp2a.lo.s32.u32 %0, %1, %2, %3", 0), ("dp2a.hi.s32.u32 %0, %1, %2, %3", 2)]
    {
        ternary(text, |a, b, c| {
            let sum: i64 = (0..2).map(|i| half(a, i, true) * byte(b, base + i, false)).sum();
            (sum as u32).wrapping_add(c)
        });
    }
}

#[test]
fn fields() {
    binary("bmsk.clamp.b32 %0, %1, %2", |a, b| {
        if a >= 32 {
            return 0;
        }
        (((1u64 << b.min(32)) - 1) << a) as u32
    });
    binary("bmsk.wrap.b32 %0, %1, %2", |a, b| (((1u64 << (b & 31)) - 1) << (a & 31)) as u32);
    let extend =
        |a: u32, n: u32| if n == 0 { 0 } else { ((a << (32 - n)) as i32 >> (32 - n)) as u32 };
    binary("szext.clamp.s32 %0, %1, %2", |a, b| extend(a, b.min(32)));
    binary("szext.wrap.s32 %0, %1, %2", |a, b| extend(a, b & 31));
    binary("szext.wrap.u32 %0, %1, %2", |a, b| a & ((1u64 << (b & 31)) - 1) as u32);
    unary("bfind.shiftamt.u32 %0, %1", |a| if a == 0 { u32::MAX } else { a.leading_zeros() });
    unary("cnot.b32 %0, %1", |a| (a == 0).into());
    binary("prmt.b32.f4e %0, %1, %2, 1", |a, b| (a >> 8) | b << 24);
    binary("prmt.b32.rc16 %0, %1, %2, 7", |a, _| (a >> 16) * 0x1_0001);
}

#[test]
fn packed_halves() {
    let join = |low: i64, high: i64| low as u16 as u32 | (high as u16 as u32) << 16;
    binary("add.u16x2 %0, %1, %2", |a, b| {
        join(half(a, 0, false) + half(b, 0, false), half(a, 1, false) + half(b, 1, false))
    });
    binary("min.s16x2 %0, %1, %2", |a, b| {
        join(half(a, 0, true).min(half(b, 0, true)), half(a, 1, true).min(half(b, 1, true)))
    });
    binary("max.s16x2.relu %0, %1, %2", |a, b| {
        let max = |i| half(a, i, true).max(half(b, i, true)).max(0);
        join(max(0), max(1))
    });
    binary("min.relu.s32 %0, %1, %2", |a, b| (a as i32).min(b as i32).max(0) as u32);
    // 1.5 + 2 and -1 + 1; a sum of 3.5 and of +0.
    let ins = [word(0xbc00_3e00), word(0x3c00_4000)];
    assert_eq!(one("add.f16x2 %0, %1, %2", &ins), 0x0000_4300);
    let ins = [word(0xbf80_3fc0), word(0x3f80_4000), word(0x4000_0000)];
    assert_eq!(one("fma.rn.relu.bf16x2 %0, %1, %2, %3", &ins), 0x3f80_4040);
    assert_eq!(one("neg.f16x2 %0, %1", &[word(0x3c00_8000)]), 0xbc00_0000);
}

#[test]
fn carries() {
    for (a, b) in [(u64::MAX, 1u64), (0xffff_ffff, 1), (1 << 63, 1 << 63), (5, 7), (0, 0)] {
        let ins = [word(a as u32), word((a >> 32) as u32), word(b as u32), word((b >> 32) as u32)];
        let add = "add.cc.u32 %0, %2, %4; addc.cc.u32 %1, %3, %5";
        let got = run(add, &["b32", "b32"], &ins).unwrap();
        assert_eq!(got[0] | got[1] << 32, a.wrapping_add(b), "{a:#x} + {b:#x}");
        let sub = "sub.cc.u32 %0, %2, %4; subc.u32 %1, %3, %5";
        let got = run(sub, &["b32", "b32"], &ins).unwrap();
        assert_eq!(got[0] | got[1] << 32, a.wrapping_sub(b), "{a:#x} - {b:#x}");
        let carry = "add.cc.u64 %0, %1, %2; addc.u64 %0, 0, 0";
        let ins = [Operand { ty: "b64", bits: a }, Operand { ty: "b64", bits: b }];
        let got = run(carry, &["b64"], &ins).unwrap()[0];
        assert_eq!(got, a.overflowing_add(b).1.into(), "carry of {a:#x} + {b:#x}");
    }
    // The manual's 64 by 64 bit product.
    let text = "mul.lo.u32 %0,%4,%6; mul.hi.u32 %1,%4,%6; mad.lo.cc.u32 %1,%5,%6,%1; \
                madc.hi.u32 %2,%5,%6,0; mad.lo.cc.u32 %1,%4,%7,%1; madc.hi.cc.u32 %2,%4,%7,%2; \
                addc.u32 %3,0,0; mad.lo.cc.u32 %2,%5,%7,%2; madc.hi.u32 %3,%5,%7,%3";
    let (a, b) = (0xfedc_ba98_7654_3210u64, 0x8000_0001_ffff_ffffu64);
    let ins = [word(a as u32), word((a >> 32) as u32), word(b as u32), word((b >> 32) as u32)];
    let got = run(text, &["b32"; 4], &ins).unwrap();
    let product = got.iter().rev().fold(0u128, |p, w| p << 32 | *w as u128);
    assert_eq!(product, a as u128 * b as u128);
}

#[test]
fn predicates() {
    for c in [0u64, 1] {
        for (a, b) in [(1u32, 2u32), (2, 1), (0xffff_ffff, 1)] {
            let ins = [word(a), word(b), Operand { ty: "pred", bits: c }];
            let less = (a as i32) < b as i32;
            let both = run("setp.lt.and.s32 %0|%1, %2, %3, %4", &["pred"; 2], &ins).unwrap();
            assert_eq!(both, [(less && c == 1) as u64, (!less && c == 1) as u64]);
            let not = run("setp.lt.xor.s32 %0|%1, %2, %3, !%4", &["pred"; 2], &ins).unwrap();
            assert_eq!(not, [(less != (c == 0)) as u64, (less == (c == 0)) as u64]);
            let set = run("set.lo.or.f32.u32 %0, %1, %2, %3", &["f32"], &ins).unwrap()[0];
            assert_eq!(set, if a < b || c == 1 { 0x3f80_0000 } else { 0 });
            let lop = run("lop3.or.b32 %0|%1, %2, %3, 0, 0xc0, %4", &["b32", "pred"], &ins);
            assert_eq!(lop.unwrap(), [(a & b).into(), (a & b != 0 || c == 1) as u64]);
        }
    }
    // Each half has its own predicate.
    let ins = [word(0x3c00_4000), word(0x4000_3c00)];
    assert_eq!(run("setp.gt.f16x2 %0|%1, %2, %3", &["pred"; 2], &ins).unwrap(), [1, 0]);
    assert_eq!(one("set.gt.f16x2.f16x2 %0, %1, %2", &ins), 0x0000_3c00);
    assert_eq!(one("set.lt.u32.f16x2 %0, %1, %2", &ins), 0xffff_0000);
    let slct = |c: f32| one("slct.f32.f32 %0, %1, %2, %3", &[word(7), word(8), word(c.to_bits())]);
    assert_eq!([slct(0.0), slct(-0.0), slct(-1.0), slct(f32::NAN)], [7, 7, 8, 8]);
    for (property, holds) in [
        ("finite", [true, true, true, false, false]),
        ("infinite", [false, false, false, true, false]),
        ("number", [true, true, true, true, false]),
        ("notanumber", [false, false, false, false, true]),
        ("normal", [true, false, true, false, false]),
        ("subnormal", [false, true, false, false, false]),
    ] {
        for (bits, want) in
            [0x8000_0000, 1, 0x3f80_0000, 0xff80_0000, 0x7fc0_0000].iter().zip(holds)
        {
            let text = format!("testp.{property}.f32 %0, %1");
            let ins = [Operand { ty: "f32", bits: *bits }];
            assert_eq!(run(&text, &["pred"], &ins).unwrap(), [want as u64], "{property} {bits:#x}");
        }
    }
}

#[test]
fn conversions() {
    unary("cvt.s32.s8 %0, %1", |a| a as i8 as u32);
    unary("cvt.u32.s16 %0, %1", |a| a as i16 as u32);
    unary("cvt.sat.u8.s32 %0, %1", |a| (a as i32).clamp(0, 255) as u32);
    unary("cvt.sat.s8.u32 %0, %1", |a| a.min(127));
    unary("cvt.sat.s16.s32 %0, %1", |a| (a as i32).clamp(-32768, 32767) as u32);
    unary("cvt.sat.u32.s32 %0, %1", |a| (a as i32).max(0) as u32);
    unary("cvt.sat.s32.u32 %0, %1", |a| a.min(i32::MAX as u32));
    binary("cvt.pack.sat.s16.s32 %0, %1, %2", |a, b| {
        let clamp = |x: u32| (x as i32).clamp(-32768, 32767) as u16 as u32;
        clamp(a) << 16 | clamp(b)
    });
    ternary("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3", |a, b, c| {
        let clamp = |x: u32| (x as i32).clamp(0, 255) as u32;
        c << 16 | clamp(a) << 8 | clamp(b)
    });
    ternary("cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3", |a, b, c| {
        let clamp = |x: u32| (x as i32).clamp(-8, 7) as u32 & 15;
        c << 8 | clamp(a) << 4 | clamp(b)
    });
    let f = |x: f32| Operand { ty: "f32", bits: x.to_bits().into() };
    assert_eq!(one("cvt.rn.f16x2.f32 %0, %1, %2", &[f(1.0), f(-2.0)]), 0x3c00_c000);
    assert_eq!(one("cvt.rz.relu.bf16x2.f32 %0, %1, %2", &[f(-1.0), f(3.0)]), 0x0000_4040);
    let huge = f(1e30);
    assert_eq!(one("cvt.rn.satfinite.f16x2.f32 %0, %1, %2", &[huge, f(f32::NAN)]), 0x7bff_7fff);
    assert_eq!(one("cvt.rn.f16x2.f32 %0, %1, %2", &[huge, f(0.0)]), 0x7c00_0000);
    assert_eq!(
        one("cvt.rna.tf32.f32 %0, %1", &[Operand { ty: "f32", bits: 0x3f80_1000 }]),
        0x3f80_2000
    );
    let bytes = run("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2", &["b16"], &[f(1.0), f(-1e9)]);
    assert_eq!(bytes.unwrap(), [0x38fe]);
    let bytes = run("cvt.rn.satfinite.relu.e5m2x2.f16x2 %0, %1", &["b16"], &[word(0x3c00_bc00)]);
    assert_eq!(bytes.unwrap(), [0x3c00]);
    let pair = Operand { ty: "b16", bits: 0x38b8 };
    assert_eq!(one("cvt.rn.f16x2.e4m3x2 %0, %1", &[pair]), 0x3c00_bc00);
    assert_eq!(one("cvt.rn.relu.f16x2.e4m3x2 %0, %1", &[pair]), 0x3c00_0000);
    assert_eq!(one("cvt.rni.sat.f32.f32 %0, %1", &[f(0.7)]), 0x3f80_0000);
    let refused = run("cvt.rn.satfinite.e2m1x2.f32 %0, %1, %2", &["b16"], &[f(1.0), f(1.0)]);
    assert!(refused.is_err(), "an unsupported format is named, not guessed");
}

#[test]
fn scalar_video() {
    let (u, s) = (|a: u32| i64::from(a), |a: u32| i64::from(a as i32));
    // The 34 bits of an intermediate result, and whole words as signed factors: as an H200 has it.
    let low_34 = |x: i128| (x << 94) >> 94;
    let clamp_u32 = |x: i128| x.clamp(0, u32::MAX.into()) as u32;
    binary("vadd.s32.u32.s32.sat %0, %1.b2, %2.h1", |a, b| {
        clamp_s32(byte(a, 2, false) + half(b, 1, true))
    });
    binary("vsub.u32.u32.u32.sat %0, %1, %2", |a, b| a.saturating_sub(b));
    binary("vabsdiff.u32.s32.s32 %0, %1, %2", |a, b| (s(a) - s(b)).unsigned_abs() as u32);
    ternary("vmax.s32.s32.u32.add %0, %1, %2, %3", |a, b, c| {
        (s(a).max(u(b)) as u32).wrapping_add(c)
    });
    ternary("vadd.u32.u32.u32.sat %0.b1, %1.b0, %2.b3, %3", |a, b, c| {
        let sum = (byte(a, 0, false) + byte(b, 3, false)).min(255) as u32;
        c & !0xff00 | sum << 8
    });
    ternary("vmin.s32.s32.s32.sat %0.h1, %1, %2, %3", |a, b, c| {
        let low = s(a).min(s(b)).clamp(-32768, 32767) as u16 as u32;
        c & 0xffff | low << 16
    });
    binary("vset.s32.u32.lt %0, %1.h0, %2", |a, b| (half(a, 0, true) < u(b)).into());
    binary("vshl.u32.u32.u32.sat.clamp %0, %1, %2", |a, b| {
        clamp_u32(low_34(i128::from(a) << b.min(32)))
    });
    binary("vshl.s32.s32.u32.sat.clamp %0, %1, %2", |a, b| {
        let wide = low_34(i128::from(a as i32) << b.min(32));
        wide.clamp(i32::MIN.into(), i32::MAX.into()) as u32
    });
    binary("vshr.s32.s32.u32.wrap %0, %1, %2", |a, b| ((a as i32) >> (b & 31)) as u32);
    binary("vshr.u32.u32.u32.clamp %0, %1, %2", |a, b| (u64::from(a) >> b.min(32)) as u32);
    let signed = |x: i128| x.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
    ternary("vmad.s32.u32.u32.sat.shr7 %0, -%1, %2, %3", |a, b, c| {
        signed((-(i128::from(a as i32) * i128::from(b as i32)) + i128::from(c as i32)) >> 7)
    });
    ternary("vmad.u32.u32.u32.sat %0, %1, %2, %3", |a, b, c| {
        clamp_u32(i128::from(s(a)) * i128::from(s(b)) + i128::from(s(c)))
    });
    ternary("vmad.s32.s32.u32.po.shr15 %0, %1, %2.h0, %3", |a, b, c| {
        ((s(a) * half(b, 0, false) + s(c) + 1) >> 15) as u32
    });
    ternary("vmad.s32.s32.s32 %0, %1, %2, -%3", |a, b, c| (s(a) * s(b) - s(c)) as u32);
}

#[test]
fn simd_video() {
    type Lane = fn(i64, i64) -> i64;
    let forms: [(&str, Lane); 6] = [
        ("vadd", |x, y| x + y),
        ("vsub", |x, y| x - y),
        ("vmin", |x, y| x.min(y)),
        ("vmax", |x, y| x.max(y)),
        ("vabsdiff", |x, y| (x - y).abs()),
        ("vavrg", |x, y| if x + y >= 0 { (x + y + 1) >> 1 } else { (x + y) >> 1 }),
    ];
    for (name, f) in forms {
        ternary(&format!("{name}2.s32.s32.u32.sat %0, %1, %2, %3"), |a, b, _| {
            let lane = |i| f(half(a, i, true), half(b, i, false)).clamp(-32768, 32767) as u16;
            u32::from(lane(0)) | u32::from(lane(1)) << 16
        });
        ternary(&format!("{name}4.u32.u32.s32 %0.b20, %1.b3210, %2.b7654, %3"), |a, b, c| {
            let lane = |i| f(byte(a, i, false), byte(b, i, true)) as u8;
            c & 0xff00_ff00 | u32::from(lane(0)) | u32::from(lane(2)) << 16
        });
        // Lanes of both sources, reversed and mixed, added up on c.
        ternary(&format!("{name}4.s32.s32.s32.add %0, %1.b0167, %2.b4433, %3"), |a, b, c| {
            let pick = |i: u32| byte(if i < 4 { a } else { b }, i % 4, true);
            let sum = f(pick(7), pick(3))
                + f(pick(6), pick(3))
                + f(pick(1), pick(4))
                + f(pick(0), pick(4));
            (sum as u32).wrapping_add(c)
        });
    }
    ternary("vset2.s32.s32.ge %0.h1, %1, %2, %3", |a, b, c| {
        c & 0xffff | u32::from(half(a, 1, true) >= half(b, 1, true)) << 16
    });
    ternary("vset4.u32.u32.ne.add %0, %1, %2, %3", |a, b, c| {
        let count = (0..4).filter(|&i| byte(a, i, false) != byte(b, i, false)).count();
        c.wrapping_add(count as u32)
    });
}

#[test]
fn modifiers_of_floats() {
    let f = |x: f32| Operand { ty: "f32", bits: x.to_bits().into() };
    let h = |bits: u64| Operand { ty: "b16", bits };
    let (one_third, tiny) = (f(1.0 / 3.0), Operand { ty: "f32", bits: 1 });
    assert_eq!(one("add.rp.f32 %0, %1, %2", &[f(1.0), tiny]), 0x3f80_0001);
    assert_eq!(one("add.rp.ftz.f32 %0, %1, %2", &[f(1.0), tiny]), 0x3f80_0000);
    assert_eq!(one("fma.rz.sat.f32 %0, %1, %2, %3", &[f(3.0), one_third, f(0.5)]), 0x3f80_0000);
    assert_eq!(one("div.rm.f32 %0, %1, %2", &[f(1.0), f(3.0)]), 0x3eaa_aaaa);
    assert_eq!(one("min.NaN.f32 %0, %1, %2", &[f(1.0), f(f32::NAN)]), 0x7fff_ffff);
    assert_eq!(one("max.xorsign.abs.f32 %0, %1, %2", &[f(-3.0), f(2.0)]), 0xc040_0000);
    assert_eq!(one("max.f32 %0, %1, %2, %3", &[f(-3.0), f(2.0), f(5.0)]), 0x40a0_0000);
    assert_eq!(one("min.abs.f32 %0, %1, %2, %3", &[f(-3.0), f(-2.0), f(5.0)]), 0x4000_0000);
    assert_eq!(one("add.rn.f32.f16 %0, %1, %2", &[h(0x3c00), f(0.25)]), 0x3fa0_0000);
    assert_eq!(one("fma.rn.f32.bf16 %0, %1, %2, %3", &[h(0x4000), h(0x4040), f(1.0)]), 0x40e0_0000);
    let pair = Operand { ty: "b64", bits: 0x4000_0000_3f80_0000 };
    let sum = run("add.rn.f32x2 %0, %1, %2", &["b64"], &[pair, pair]).unwrap();
    assert_eq!(sum, [0x4080_0000_4000_0000]);
    // The NaN that stands for what lies out of bounds makes 0, any other stays a NaN.
    let oob =
        |x| run("fma.rn.oob.f16 %0, %1, %2, %3", &["b16"], &[h(x), h(0x3c00), h(0x3c00)]).unwrap();
    assert_eq!((oob(0x7ff7), oob(0x7e00), oob(0x3c00)), (vec![0], vec![0x7fff], vec![0x4000]));
}
