// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer ops against plain 128-bit arithmetic, over edge values of every width.

use super::*;
use margay_ir::IntCmp;

const EDGES: [u64; 22] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1234_5678_9abc_def0,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

fn unsigned(a: u64, bits: u32) -> u128 {
    (a & (u64::MAX >> (64 - bits))) as u128
}
fn signed(a: u64, bits: u32) -> i128 {
    let up = 128 - bits;
    ((a as u128) << up) as i128 >> up
}

macro_rules! check_width {
    ($test:ident, $w:ident, $lane:ty) => {
        #[test]
        fn $test() {
            let bits = $w::BITS;
            let keep = |x: i128| unsigned(x as u64, bits) as $lane;
            let (low, high) = (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
            for &a in &EDGES {
                for &b in &EDGES {
                    // Whatever stands above the width in a word must not matter.
                    let (x, y) = (a as $lane, b as $lane);
                    let (ua, ub) = (unsigned(a, bits), unsigned(b, bits));
                    let (sa, sb) = (signed(a, bits), signed(b, bits));
                    let check = |name: &str, got: $lane, want: $lane| {
                        assert_eq!(got, want, "{name} {a:#x} {b:#x} at {bits}");
                    };
                    check("add", $w::add(x, y), keep(sa + sb));
                    check("sub", $w::sub(x, y), keep(sa - sb));
                    check("add.sat", $w::add_sat_s(x, y), keep((sa + sb).clamp(low, high)));
                    check("sub.sat", $w::sub_sat_s(x, y), keep((sa - sb).clamp(low, high)));
                    check("mul", $w::mul(x, y), keep(sa.wrapping_mul(sb)));
                    check("mulhi.s", $w::mulhi_s(x, y), keep((sa * sb) >> bits));
                    check("mulhi.u", $w::mulhi_u(x, y), keep((ua * ub >> bits) as i128));
                    check("mad", $w::mad(x, y, 5), keep(sa.wrapping_mul(sb) + 5));
                    check("neg", $w::neg(x), keep(-sa));
                    check("abs", $w::abs(x), keep(sa.abs()));
                    check("min.s", $w::min_s(x, y), keep(sa.min(sb)));
                    check("max.s", $w::max_s(x, y), keep(sa.max(sb)));
                    check("min.u", $w::min_u(x, y), keep(ua.min(ub) as i128));
                    check("max.u", $w::max_u(x, y), keep(ua.max(ub) as i128));
                    check("and", $w::and(x, y), keep((ua & ub) as i128));
                    check("or", $w::or(x, y), keep((ua | ub) as i128));
                    check("xor", $w::xor(x, y), keep((ua ^ ub) as i128));
                    check("not", $w::not(x), keep(!ua as i128));
                    let n = (b as u32) as u128;
                    let wide = n.min(127) as u32;
                    check(
                        "shl",
                        $w::shl(x, b as u32),
                        keep(if n < bits as u128 { (ua << wide) as i128 } else { 0 }),
                    );
                    check("shr.u", $w::shr_u(x, b as u32), keep((ua >> wide) as i128));
                    check("shr.s", $w::shr_s(x, b as u32), keep(sa >> wide));
                    if ub == 0 {
                        let ones = keep(-1);
                        check("div.u by 0", $w::div_u(x, y), ones);
                        check("div.s by 0", $w::div_s(x, y), ones);
                        check("rem.u by 0", $w::rem_u(x, y), ones);
                        check("rem.s by 0", $w::rem_s(x, y), ones);
                    } else {
                        check("div.u", $w::div_u(x, y), keep((ua / ub) as i128));
                        check("div.s", $w::div_s(x, y), keep(sa / sb));
                        check("rem.u", $w::rem_u(x, y), keep((ua % ub) as i128));
                        check("rem.s", $w::rem_s(x, y), keep(sa % sb));
                    }
                    for (cmp, want) in [
                        (IntCmp::Eq, ua == ub),
                        (IntCmp::Ne, ua != ub),
                        (IntCmp::LtS, sa < sb),
                        (IntCmp::LeS, sa <= sb),
                        (IntCmp::GtS, sa > sb),
                        (IntCmp::GeS, sa >= sb),
                        (IntCmp::LtU, ua < ub),
                        (IntCmp::LeU, ua <= ub),
                        (IntCmp::GtU, ua > ub),
                        (IntCmp::GeU, ua >= ub),
                    ] {
                        assert_eq!($w::icmp(cmp)(x, y), want, "{cmp:?} {a:#x} {b:#x} at {bits}");
                    }
                }
            }
        }
    };
}

check_width!(eight_bits, w8, u32);
check_width!(sixteen_bits, w16, u32);
check_width!(thirty_two_bits, w32, u32);
check_width!(sixty_four_bits, w64, u64);

#[test]
fn the_smallest_by_minus_one_is_itself() {
    assert_eq!(w16::div_s(0x8000, 0xffff), 0x8000);
    assert_eq!(w32::div_s(0x8000_0000, u32::MAX), 0x8000_0000);
    assert_eq!(w64::div_s(1 << 63, u64::MAX), 1 << 63);
    assert_eq!(w64::rem_s(1 << 63, u64::MAX), 0);
}

#[test]
fn wide_products() {
    for &a in &EDGES {
        for &b in &EDGES {
            let (x, y) = (a as u32, b as u32);
            let product = signed(a, 32) * signed(b, 32);
            assert_eq!(mulwide_s(x, y), product as u64);
            assert_eq!(madwide_s(x, y, a), (product as u64).wrapping_add(a));
            let product = unsigned(a, 32) * unsigned(b, 32);
            assert_eq!(mulwide_u(x, y), product as u64);
            assert_eq!(madwide_u(x, y, b), (product as u64).wrapping_add(b));
        }
    }
}

#[test]
fn width_changes() {
    for &a in &EDGES {
        let x = a as u32;
        assert_eq!(width::sext_w_w::<8, 16>(x), signed(a, 8) as u16 as u32);
        assert_eq!(width::sext_w_w::<8, 32>(x), signed(a, 8) as u32);
        assert_eq!(width::sext_w_w::<16, 32>(x), signed(a, 16) as u32);
        assert_eq!(width::sext_w_d::<16>(x), signed(a, 16) as u64);
        assert_eq!(width::sext_w_d::<32>(x), signed(a, 32) as u64);
        assert_eq!(width::zext_w_w::<16, 32>(x), unsigned(a, 16) as u32);
        assert_eq!(width::zext_w_w::<32, 8>(x), unsigned(a, 8) as u32);
        assert_eq!(width::zext_w_d::<32>(x), unsigned(a, 32) as u64);
        assert_eq!(width::trunc_d_w::<32>(a), a as u32);
        assert_eq!(width::trunc_d_w::<8>(a), a as u8 as u32);
    }
}
