// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations that every function of this crate is made of.
//!
//! Each is specified to the bit, so two implementations that keep to the specification agree on
//! every function by construction. None branches, traps, reads or changes a floating-point
//! environment: rounding is to nearest (ties to even), subnormals are kept.
//!
//! The bits of a NaN that arithmetic makes are unspecified. No function lets them reach an integer:
//! results that may be NaN are made canonical at the end.

/// An implementation of the operations: one lane ([`Scalar`](crate::Scalar)), or vectors of lanes
/// in a compiler's intermediate representation. `Self` is a cheap handle, for example a reference
/// to an instruction builder.
///
/// Implement this, then call [`emit`](crate::emit). All values of one implementation have the same
/// number of lanes, and operations work lane by lane.
pub trait Ops: Copy {
    /// A lane of IEEE binary32.
    type F32: Copy;
    /// A lane of IEEE binary64.
    type F64: Copy;
    /// A lane of 32-bit integer, signed or not as the operation says.
    type I32: Copy;
    /// A lane of 64-bit integer.
    type I64: Copy;
    /// A lane of truth value.
    type Mask: Copy;

    // Constants, the same in all lanes.
    fn const_f32(self, v: f32) -> Self::F32;
    fn const_f64(self, v: f64) -> Self::F64;
    fn const_i32(self, v: i32) -> Self::I32;
    fn const_i64(self, v: i64) -> Self::I64;

    // Binary32 arithmetic, rounded once. `fma` is `a * b + c` with one rounding, never two.
    fn add_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn sub_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn mul_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn div_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn fma_f32(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    fn sqrt_f32(self, a: Self::F32) -> Self::F32;
    /// The sign bit flipped, of NaN too.
    fn neg_f32(self, a: Self::F32) -> Self::F32;
    /// The sign bit cleared, of NaN too.
    fn abs_f32(self, a: Self::F32) -> Self::F32;
    /// To the nearest integral value, ties to even, keeping the sign of zero.
    fn rint_f32(self, a: Self::F32) -> Self::F32;
    fn floor_f32(self, a: Self::F32) -> Self::F32;
    fn ceil_f32(self, a: Self::F32) -> Self::F32;
    fn trunc_f32(self, a: Self::F32) -> Self::F32;
    // Comparisons are false where an operand is NaN.
    fn eq_f32(self, a: Self::F32, b: Self::F32) -> Self::Mask;
    fn lt_f32(self, a: Self::F32, b: Self::F32) -> Self::Mask;
    fn le_f32(self, a: Self::F32, b: Self::F32) -> Self::Mask;
    fn is_nan_f32(self, a: Self::F32) -> Self::Mask;
    /// `a` where the mask is set, else `b`; bits are kept.
    fn select_f32(self, m: Self::Mask, a: Self::F32, b: Self::F32) -> Self::F32;

    // Binary64, likewise.
    fn add_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn sub_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn mul_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn div_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    fn fma_f64(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    fn sqrt_f64(self, a: Self::F64) -> Self::F64;
    fn neg_f64(self, a: Self::F64) -> Self::F64;
    fn abs_f64(self, a: Self::F64) -> Self::F64;
    fn rint_f64(self, a: Self::F64) -> Self::F64;
    fn floor_f64(self, a: Self::F64) -> Self::F64;
    fn ceil_f64(self, a: Self::F64) -> Self::F64;
    fn trunc_f64(self, a: Self::F64) -> Self::F64;
    fn eq_f64(self, a: Self::F64, b: Self::F64) -> Self::Mask;
    fn lt_f64(self, a: Self::F64, b: Self::F64) -> Self::Mask;
    fn le_f64(self, a: Self::F64, b: Self::F64) -> Self::Mask;
    fn is_nan_f64(self, a: Self::F64) -> Self::Mask;
    fn select_f64(self, m: Self::Mask, a: Self::F64, b: Self::F64) -> Self::F64;

    // 32-bit integers: all wrap. Shift counts are below 32; `shr` fills with zeros, `sar` with the
    // sign. `lt` compares as signed, `ult` as unsigned.
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn sub_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn mul_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn and_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn or_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn xor_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    fn shl_i32(self, a: Self::I32, n: Self::I32) -> Self::I32;
    fn shr_i32(self, a: Self::I32, n: Self::I32) -> Self::I32;
    fn sar_i32(self, a: Self::I32, n: Self::I32) -> Self::I32;
    fn eq_i32(self, a: Self::I32, b: Self::I32) -> Self::Mask;
    fn lt_i32(self, a: Self::I32, b: Self::I32) -> Self::Mask;
    fn ult_i32(self, a: Self::I32, b: Self::I32) -> Self::Mask;
    fn select_i32(self, m: Self::Mask, a: Self::I32, b: Self::I32) -> Self::I32;

    // 64-bit integers, likewise; shift counts are below 64.
    fn add_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn sub_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn mul_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn and_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn or_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn xor_i64(self, a: Self::I64, b: Self::I64) -> Self::I64;
    fn shl_i64(self, a: Self::I64, n: Self::I64) -> Self::I64;
    fn shr_i64(self, a: Self::I64, n: Self::I64) -> Self::I64;
    fn sar_i64(self, a: Self::I64, n: Self::I64) -> Self::I64;
    fn eq_i64(self, a: Self::I64, b: Self::I64) -> Self::Mask;
    fn lt_i64(self, a: Self::I64, b: Self::I64) -> Self::Mask;
    fn ult_i64(self, a: Self::I64, b: Self::I64) -> Self::Mask;
    fn select_i64(self, m: Self::Mask, a: Self::I64, b: Self::I64) -> Self::I64;

    // Truth values.
    fn and_mask(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn or_mask(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn not_mask(self, a: Self::Mask) -> Self::Mask;

    /// The magnitude of `a` with the sign of `sign`, NaN or not. An implementation with an
    /// instruction for it should use that.
    fn copysign_f32(self, a: Self::F32, sign: Self::F32) -> Self::F32 {
        let magnitude = self.and_i32(self.f32_as_i32(a), self.const_i32(i32::MAX));
        let sign = self.and_i32(self.f32_as_i32(sign), self.const_i32(i32::MIN));
        self.i32_as_f32(self.or_i32(magnitude, sign))
    }
    /// As [`Ops::copysign_f32`].
    fn copysign_f64(self, a: Self::F64, sign: Self::F64) -> Self::F64 {
        let magnitude = self.and_i64(self.f64_as_i64(a), self.const_i64(i64::MAX));
        let sign = self.and_i64(self.f64_as_i64(sign), self.const_i64(i64::MIN));
        self.i64_as_f64(self.or_i64(magnitude, sign))
    }

    // Reinterpretation of bits.
    fn f32_as_i32(self, a: Self::F32) -> Self::I32;
    fn i32_as_f32(self, a: Self::I32) -> Self::F32;
    fn f64_as_i64(self, a: Self::F64) -> Self::I64;
    fn i64_as_f64(self, a: Self::I64) -> Self::F64;

    // Conversions. Between floats and from integers: to nearest; integers are signed.
    fn f32_to_f64(self, a: Self::F32) -> Self::F64;
    fn f64_to_f32(self, a: Self::F64) -> Self::F32;
    fn i32_to_f32(self, a: Self::I32) -> Self::F32;
    fn i32_to_f64(self, a: Self::I32) -> Self::F64;
    fn i64_to_f64(self, a: Self::I64) -> Self::F64;
    fn sign_extend(self, a: Self::I32) -> Self::I64;
    fn zero_extend(self, a: Self::I32) -> Self::I64;
    fn truncate(self, a: Self::I64) -> Self::I32;

    /// `table[index]` in each lane; the index is always within the table, whatever the arguments of
    /// the function. Tables are constants of this crate, so their address is a fit key to cache.
    fn lookup_f64(self, table: &'static [f64], index: Self::I32) -> Self::F64;
}
