// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bit ops against the manual's own loops, bit by bit.

use super::*;

const WORDS: [u64; 12] = [
    0,
    1,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff,
    0xf0f0_1234,
    0x8000_0000_0000_0000,
    u64::MAX,
    0x0123_4567_89ab_cdef,
    0xfedc_ba98_7654_3210,
    0x0000_0001_0000_0000,
    0xa5a5_5a5a_dead_beef,
];
const FIELDS: [u32; 14] = [0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256 + 3];

/// Eight bits of each for 32-bit values, all for 64-bit ones.
fn field_by_width(width: u32, pos: u32, len: u32) -> (u32, u32) {
    if width == 32 { (pos & 0xff, len & 0xff) } else { (pos, len) }
}

fn bfe_by_bits(a: u64, width: u32, pos: u32, len: u32, signed: bool) -> u64 {
    let msb = width - 1;
    let (pos, len) = field_by_width(width, pos, len);
    let sign = if !signed || len == 0 { 0 } else { a >> (pos + len - 1).min(msb) & 1 };
    (0..=msb).fold(0, |d, i| {
        let bit = if i < len && pos + i <= msb { a >> (pos + i) & 1 } else { sign };
        d | bit << i
    })
}
fn bfi_by_bits(a: u64, b: u64, width: u32, pos: u32, len: u32) -> u64 {
    let (pos, len) = field_by_width(width, pos, len);
    let mut f = b;
    for i in (0..len).take_while(|i| pos + i < width) {
        f = f & !(1 << (pos + i)) | (a >> i & 1) << (pos + i);
    }
    f
}

#[test]
fn fields() {
    for &a in &WORDS {
        let x = a as u32;
        for &pos in &FIELDS {
            for &len in &FIELDS {
                let name = format!("{a:#x} pos {pos} len {len}");
                let lo = x as u64;
                assert_eq!(
                    w32::bfe_u(x, pos, len) as u64,
                    bfe_by_bits(lo, 32, pos, len, false),
                    "{name}"
                );
                assert_eq!(
                    w32::bfe_s(x, pos, len) as u64,
                    bfe_by_bits(lo, 32, pos, len, true),
                    "{name}"
                );
                assert_eq!(w64::bfe_u(a, pos, len), bfe_by_bits(a, 64, pos, len, false), "{name}");
                assert_eq!(w64::bfe_s(a, pos, len), bfe_by_bits(a, 64, pos, len, true), "{name}");
                for &b in &WORDS {
                    assert_eq!(
                        w32::bfi(x, b as u32, pos, len) as u64,
                        bfi_by_bits(lo, b as u32 as u64, 32, pos, len),
                        "{name}"
                    );
                    assert_eq!(w64::bfi(a, b, pos, len), bfi_by_bits(a, b, 64, pos, len), "{name}");
                }
            }
        }
    }
}

#[test]
fn counts() {
    assert_eq!((w32::popc(0xf0f0_0001), w64::popc(u64::MAX)), (9, 64));
    assert_eq!((w32::clz(0), w64::clz(0), w32::clz(1)), (32, 64, 31));
    assert_eq!((w32::brev(1), w64::brev(1)), (1 << 31, 1 << 63));
    assert_eq!((w32::bfind_u(0), w32::bfind_u(1), w32::bfind_u(u32::MAX)), (u32::MAX, 0, 31));
    assert_eq!((w32::bfind_s(0), w32::bfind_s(u32::MAX)), (u32::MAX, u32::MAX));
    assert_eq!((w32::bfind_s(0x8000_0000), w32::bfind_s(0xffff_fffe)), (30, 0));
    assert_eq!((w64::bfind_u(1 << 40), w64::bfind_s(!(1 << 40))), (40, 40));
    assert_eq!((w64::bfind_u(0), w64::bfind_s(u64::MAX)), (u32::MAX, u32::MAX));
}

#[test]
fn funnel_shifts() {
    let (a, b) = (0x89ab_cdef, 0x0123_4567);
    for c in [0, 1, 8, 31, 32, 33, 40, u32::MAX] {
        let at = c.min(32);
        let both = (b as u64) << 32 | a as u64;
        assert_eq!(shf_l::<true>(a, b, c), if at == 32 { a } else { ((both << at) >> 32) as u32 });
        assert_eq!(shf_r::<true>(a, b, c), if at == 32 { b } else { (both >> at) as u32 });
        assert_eq!(shf_l::<false>(a, b, c), shf_l::<true>(a, b, c % 32));
        assert_eq!(shf_r::<false>(a, b, c), shf_r::<true>(a, b, c % 32));
    }
}

#[test]
fn byte_permutes() {
    let (a, b) = (0x8312_1110, 0x2726_a524);
    assert_eq!(prmt(a, b, 0x3210), a);
    assert_eq!(prmt(a, b, 0x7654), b);
    assert_eq!(prmt(a, b, 0x0123), 0x1011_1283);
    assert_eq!(prmt(a, b, 0xb05d), 0xff10_a5ff);
    assert_eq!(prmt(a, b, 0x8888), 0);
    assert_eq!(prmt(a, b, 0xffff_3210), a, "only the low sixteen bits select");
}

fn fns_by_loop(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == i32::MIN {
        return 0;
    }
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let mut pos = base as i64;
    let mut count = (offset as i64).abs() - 1;
    while (0..32).contains(&pos) {
        if mask >> pos & 1 == 1 {
            if count == 0 {
                return pos as u32;
            }
            count -= 1;
        }
        pos += (offset as i64).signum();
    }
    u32::MAX
}

#[test]
fn nth_set_bit() {
    for &mask in &WORDS {
        for base in 0..32 {
            for offset in [0, 1, 2, 3, 16, 31, 32, 33, -1, -2, -5, -32, -33, i32::MIN, i32::MAX] {
                let mask = mask as u32;
                assert_eq!(
                    fns(mask, base, offset as u32),
                    fns_by_loop(mask, base, offset),
                    "{mask:#x} {base} {offset}"
                );
            }
        }
    }
    assert_eq!(fns(u32::MAX, 32, 0), u32::MAX);
}
