// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer functions. All wrap, none traps.

use super::lane::lane_functions;

/// PTX `prmt` in its default mode: four selectors of four bits; bit 3 replicates the byte's sign.
fn permute_bytes(a: u32, b: u32, selectors: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let mut result = 0;
    for i in 0..4 {
        let selector = selectors >> (4 * i) & 0xf;
        let byte = (bytes >> (8 * (selector & 7))) as u8;
        let byte = if selector & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        result |= u32::from(byte) << (8 * i);
    }
    result
}

/// The low 24 bits, sign-extended.
fn low24(x: i32) -> i32 {
    x << 8 >> 8
}

lane_functions! {
    abs(a: i32) -> i32 { a.wrapping_abs() }
    llabs(a: i64) -> i64 { a.wrapping_abs() }
    brev(a: u32) -> u32 { a.reverse_bits() }
    brevll(a: u64) -> u64 { a.reverse_bits() }
    byte_perm(a: u32, b: u32, s: u32) -> u32 { permute_bytes(a, b, s) }
    clz(a: u32) -> u32 { a.leading_zeros() }
    clzll(a: u64) -> u32 { a.leading_zeros() }
    ffs(a: u32) -> u32 { if a == 0 { 0 } else { a.trailing_zeros() + 1 } }
    ffsll(a: u64) -> u32 { if a == 0 { 0 } else { a.trailing_zeros() + 1 } }
    popc(a: u32) -> u32 { a.count_ones() }
    popcll(a: u64) -> u32 { a.count_ones() }
    hadd(a: i32, b: i32) -> i32 { ((i64::from(a) + i64::from(b)) >> 1) as i32 }
    rhadd(a: i32, b: i32) -> i32 { ((i64::from(a) + i64::from(b) + 1) >> 1) as i32 }
    uhadd(a: u32, b: u32) -> u32 { ((u64::from(a) + u64::from(b)) >> 1) as u32 }
    urhadd(a: u32, b: u32) -> u32 { ((u64::from(a) + u64::from(b) + 1) >> 1) as u32 }
    max(a: i32, b: i32) -> i32 { a.max(b) }
    min(a: i32, b: i32) -> i32 { a.min(b) }
    umax(a: u32, b: u32) -> u32 { a.max(b) }
    umin(a: u32, b: u32) -> u32 { a.min(b) }
    llmax(a: i64, b: i64) -> i64 { a.max(b) }
    llmin(a: i64, b: i64) -> i64 { a.min(b) }
    ullmax(a: u64, b: u64) -> u64 { a.max(b) }
    ullmin(a: u64, b: u64) -> u64 { a.min(b) }
    mul24(a: i32, b: i32) -> i32 { low24(a).wrapping_mul(low24(b)) }
    umul24(a: u32, b: u32) -> u32 { (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff) }
    mulhi(a: i32, b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }
    umulhi(a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    mul64hi(a: i64, b: i64) -> i64 { ((i128::from(a) * i128::from(b)) >> 64) as i64 }
    umul64hi(a: u64, b: u64) -> u64 { ((u128::from(a) * u128::from(b)) >> 64) as u64 }
    sad(a: i32, b: i32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
    usad(a: u32, b: u32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
}
