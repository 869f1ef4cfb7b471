// SPDX-License-Identifier: MIT OR Apache-2.0
//! One lane on the host: the interpreter's implementation of [`Ops`].
//!
//! Everything is inlined, so that a loop over lanes becomes vector code in a caller compiled for
//! vectors. `mul_add` is an instruction where the caller's target has one and the C library's
//! `fma` elsewhere; both round once, so results do not depend on it.

use crate::ops::Ops;

/// One lane on the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

macro_rules! float_ops {
    ($f:ident: $add:ident $sub:ident $mul:ident $div:ident $fma:ident $sqrt:ident $neg:ident
     $abs:ident $rint:ident $floor:ident $ceil:ident $trunc:ident $eq:ident $lt:ident $le:ident
     $nan:ident $select:ident $constant:ident) => {
        #[inline(always)]
        fn $constant(self, v: $f) -> $f {
            v
        }
        #[inline(always)]
        fn $add(self, a: $f, b: $f) -> $f {
            a + b
        }
        #[inline(always)]
        fn $sub(self, a: $f, b: $f) -> $f {
            a - b
        }
        #[inline(always)]
        fn $mul(self, a: $f, b: $f) -> $f {
            a * b
        }
        #[inline(always)]
        fn $div(self, a: $f, b: $f) -> $f {
            a / b
        }
        #[inline(always)]
        fn $fma(self, a: $f, b: $f, c: $f) -> $f {
            a.mul_add(b, c)
        }
        #[inline(always)]
        fn $sqrt(self, a: $f) -> $f {
            a.sqrt()
        }
        #[inline(always)]
        fn $neg(self, a: $f) -> $f {
            -a
        }
        #[inline(always)]
        fn $abs(self, a: $f) -> $f {
            a.abs()
        }
        #[inline(always)]
        fn $rint(self, a: $f) -> $f {
            a.round_ties_even()
        }
        #[inline(always)]
        fn $floor(self, a: $f) -> $f {
            a.floor()
        }
        #[inline(always)]
        fn $ceil(self, a: $f) -> $f {
            a.ceil()
        }
        #[inline(always)]
        fn $trunc(self, a: $f) -> $f {
            a.trunc()
        }
        #[inline(always)]
        fn $eq(self, a: $f, b: $f) -> bool {
            a == b
        }
        #[inline(always)]
        fn $lt(self, a: $f, b: $f) -> bool {
            a < b
        }
        #[inline(always)]
        fn $le(self, a: $f, b: $f) -> bool {
            a <= b
        }
        #[inline(always)]
        fn $nan(self, a: $f) -> bool {
            a.is_nan()
        }
        #[inline(always)]
        fn $select(self, m: bool, a: $f, b: $f) -> $f {
            if m { a } else { b }
        }
    };
}

macro_rules! integer_ops {
    ($i:ident $u:ident $width:literal: $add:ident $sub:ident $mul:ident $and:ident $or:ident
     $xor:ident $shl:ident $shr:ident $sar:ident $eq:ident $lt:ident $ult:ident $select:ident
     $constant:ident) => {
        #[inline(always)]
        fn $constant(self, v: $i) -> $i {
            v
        }
        #[inline(always)]
        fn $add(self, a: $i, b: $i) -> $i {
            a.wrapping_add(b)
        }
        #[inline(always)]
        fn $sub(self, a: $i, b: $i) -> $i {
            a.wrapping_sub(b)
        }
        #[inline(always)]
        fn $mul(self, a: $i, b: $i) -> $i {
            a.wrapping_mul(b)
        }
        #[inline(always)]
        fn $and(self, a: $i, b: $i) -> $i {
            a & b
        }
        #[inline(always)]
        fn $or(self, a: $i, b: $i) -> $i {
            a | b
        }
        #[inline(always)]
        fn $xor(self, a: $i, b: $i) -> $i {
            a ^ b
        }
        #[inline(always)]
        fn $shl(self, a: $i, n: $i) -> $i {
            a << (n & ($width - 1))
        }
        #[inline(always)]
        fn $shr(self, a: $i, n: $i) -> $i {
            (a as $u >> (n & ($width - 1))) as $i
        }
        #[inline(always)]
        fn $sar(self, a: $i, n: $i) -> $i {
            a >> (n & ($width - 1))
        }
        #[inline(always)]
        fn $eq(self, a: $i, b: $i) -> bool {
            a == b
        }
        #[inline(always)]
        fn $lt(self, a: $i, b: $i) -> bool {
            a < b
        }
        #[inline(always)]
        fn $ult(self, a: $i, b: $i) -> bool {
            (a as $u) < b as $u
        }
        #[inline(always)]
        fn $select(self, m: bool, a: $i, b: $i) -> $i {
            if m { a } else { b }
        }
    };
}

impl Ops for Scalar {
    type F32 = f32;
    type F64 = f64;
    type I32 = i32;
    type I64 = i64;
    type Mask = bool;

    float_ops! { f32: add_f32 sub_f32 mul_f32 div_f32 fma_f32 sqrt_f32 neg_f32 abs_f32 rint_f32
    floor_f32 ceil_f32 trunc_f32 eq_f32 lt_f32 le_f32 is_nan_f32 select_f32 const_f32 }
    float_ops! { f64: add_f64 sub_f64 mul_f64 div_f64 fma_f64 sqrt_f64 neg_f64 abs_f64 rint_f64
    floor_f64 ceil_f64 trunc_f64 eq_f64 lt_f64 le_f64 is_nan_f64 select_f64 const_f64 }
    integer_ops! { i32 u32 32: add_i32 sub_i32 mul_i32 and_i32 or_i32 xor_i32 shl_i32 shr_i32
    sar_i32 eq_i32 lt_i32 ult_i32 select_i32 const_i32 }
    integer_ops! { i64 u64 64: add_i64 sub_i64 mul_i64 and_i64 or_i64 xor_i64 shl_i64 shr_i64
    sar_i64 eq_i64 lt_i64 ult_i64 select_i64 const_i64 }

    // Not the bit operations of the trait: LLVM 22 turns those into a wrong `vpternlogq` in some
    // loops for AVX-512 (`tests/functions.rs` would tell).
    #[inline(always)]
    fn copysign_f32(self, a: f32, sign: f32) -> f32 {
        a.copysign(sign)
    }
    #[inline(always)]
    fn copysign_f64(self, a: f64, sign: f64) -> f64 {
        a.copysign(sign)
    }
    #[inline(always)]
    fn and_mask(self, a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn or_mask(self, a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn not_mask(self, a: bool) -> bool {
        !a
    }
    #[inline(always)]
    fn f32_as_i32(self, a: f32) -> i32 {
        a.to_bits() as i32
    }
    #[inline(always)]
    fn i32_as_f32(self, a: i32) -> f32 {
        f32::from_bits(a as u32)
    }
    #[inline(always)]
    fn f64_as_i64(self, a: f64) -> i64 {
        a.to_bits() as i64
    }
    #[inline(always)]
    fn i64_as_f64(self, a: i64) -> f64 {
        f64::from_bits(a as u64)
    }
    #[inline(always)]
    fn f32_to_f64(self, a: f32) -> f64 {
        f64::from(a)
    }
    #[inline(always)]
    fn f64_to_f32(self, a: f64) -> f32 {
        a as f32
    }
    #[inline(always)]
    fn i32_to_f32(self, a: i32) -> f32 {
        a as f32
    }
    #[inline(always)]
    fn i32_to_f64(self, a: i32) -> f64 {
        f64::from(a)
    }
    #[inline(always)]
    fn i64_to_f64(self, a: i64) -> f64 {
        a as f64
    }
    #[inline(always)]
    fn sign_extend(self, a: i32) -> i64 {
        i64::from(a)
    }
    #[inline(always)]
    fn zero_extend(self, a: i32) -> i64 {
        i64::from(a as u32)
    }
    #[inline(always)]
    fn truncate(self, a: i64) -> i32 {
        a as i32
    }
    #[inline(always)]
    fn lookup_f64(self, table: &'static [f64], index: i32) -> f64 {
        // Clamped, so that the bounds check needs no branch.
        table[(index as u32 as usize).min(table.len() - 1)]
    }
}
