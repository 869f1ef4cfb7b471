// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions (PTX ISA, `cvt`): between floating-point formats, to and from integers, to integral
//! values, and the narrow formats tf32, e4m3 and e5m2.
//!
//! The formats are types ([`F16`], [`BF16`], [`F32`], [`F64`]), so that one generic function covers
//! a row: `ftof::<F64, F32, RZ, false, false>`. `.ftz` concerns the f32 side only. A NaN that
//! comes from an f64 or goes to one keeps its sign and as much of its payload as fits; bf16 to f32
//! is a shift and keeps all; else NaN becomes canonical. (All as recorded on an H200.)

mod narrow;

pub use narrow::{e4m3tof, e5m2tof, ftoe4m3, ftoe5m2, ftotf32};

use super::float::{double, single};
use super::half_float::{self, bf16, bf16_to_f32, f16, f16_to_f32, f32_to_bf16, f32_to_f16};
use super::rounding::{RM, RN, RP, RZ, from_integer, narrow_f32};

/// A floating-point format, as a type.
pub trait Format: Copy + 'static {
    /// How a lane holds it.
    type Bits: Copy;
    /// Whether this is bf16, whose widening to f32 is a shift.
    const IS_BF16: bool = false;
    /// Whether every value is an f32.
    const FITS_F32: bool;
    /// An operand's value; exact.
    fn widen<const FTZ: bool>(a: Self::Bits) -> f64;
    /// An operand's value, if [`Format::FITS_F32`]; rounded to nearest else.
    fn widen_f32<const FTZ: bool>(a: Self::Bits) -> f32;
    /// One rounding.
    fn narrow<const R: u8, const FTZ: bool>(x: f64) -> Self::Bits;
    /// One rounding, from f32.
    fn narrow_f32<const R: u8, const FTZ: bool>(x: f32) -> Self::Bits;
    /// As [`Format::narrow_f32`], of a bf16 as it stands: a format that holds it whole keeps NaN too.
    #[inline(always)]
    fn narrow_bf16<const R: u8>(x: f32) -> Self::Bits {
        Self::narrow_f32::<R, false>(x)
    }
    /// One rounding of an integer.
    fn integer<const R: u8>(negative: bool, magnitude: u64) -> Self::Bits;
    /// Clamps to [0, 1], NaN to +0.
    fn saturate(a: Self::Bits) -> Self::Bits;
    /// Below +0 becomes +0; NaN becomes canonical.
    fn relu(a: Self::Bits) -> Self::Bits;
}

#[derive(Clone, Copy, Debug)]
pub struct F16;
#[derive(Clone, Copy, Debug)]
pub struct BF16;
#[derive(Clone, Copy, Debug)]
pub struct F32;
#[derive(Clone, Copy, Debug)]
pub struct F64;

impl Format for F16 {
    type Bits = u32;
    const FITS_F32: bool = true;
    #[inline(always)]
    fn widen<const FTZ: bool>(a: u32) -> f64 {
        f16_to_f32(a) as f64
    }
    #[inline(always)]
    fn widen_f32<const FTZ: bool>(a: u32) -> f32 {
        f16_to_f32(a)
    }
    #[inline(always)]
    fn narrow<const R: u8, const FTZ: bool>(x: f64) -> u32 {
        let bits = half_float::f64_to_f16::<R>(x);
        if x.is_nan() { nan_of_double(x, 10, 0x7e00, 15) } else { bits }
    }
    #[inline(always)]
    fn narrow_f32<const R: u8, const FTZ: bool>(x: f32) -> u32 {
        if R == RN { f32_to_f16(x) } else { half_float::f64_to_f16::<R>(x as f64) }
    }
    #[inline(always)]
    fn integer<const R: u8>(negative: bool, magnitude: u64) -> u32 {
        from_integer::<5, 10, R>(negative, magnitude) as u32
    }
    #[inline(always)]
    fn saturate(a: u32) -> u32 {
        f16::saturate(a)
    }
    #[inline(always)]
    fn relu(a: u32) -> u32 {
        f16::relu(a)
    }
}

impl Format for BF16 {
    type Bits = u32;
    const IS_BF16: bool = true;
    const FITS_F32: bool = true;
    #[inline(always)]
    fn widen<const FTZ: bool>(a: u32) -> f64 {
        bf16_to_f32(a) as f64
    }
    #[inline(always)]
    fn widen_f32<const FTZ: bool>(a: u32) -> f32 {
        bf16_to_f32(a)
    }
    #[inline(always)]
    fn narrow<const R: u8, const FTZ: bool>(x: f64) -> u32 {
        let bits = half_float::f64_to_bf16::<R>(x);
        if x.is_nan() { nan_of_double(x, 7, 0x7fc0, 15) } else { bits }
    }
    #[inline(always)]
    fn narrow_f32<const R: u8, const FTZ: bool>(x: f32) -> u32 {
        if R == RN { f32_to_bf16(x) } else { half_float::f64_to_bf16::<R>(x as f64) }
    }
    #[inline(always)]
    fn integer<const R: u8>(negative: bool, magnitude: u64) -> u32 {
        from_integer::<8, 7, R>(negative, magnitude) as u32
    }
    #[inline(always)]
    fn saturate(a: u32) -> u32 {
        bf16::saturate(a)
    }
    #[inline(always)]
    fn relu(a: u32) -> u32 {
        bf16::relu(a)
    }
}

impl Format for F32 {
    type Bits = u32;
    const FITS_F32: bool = true;
    #[inline(always)]
    fn widen<const FTZ: bool>(a: u32) -> f64 {
        single::input::<FTZ>(a) as f64
    }
    #[inline(always)]
    fn widen_f32<const FTZ: bool>(a: u32) -> f32 {
        single::input::<FTZ>(a)
    }
    #[inline(always)]
    fn narrow<const R: u8, const FTZ: bool>(x: f64) -> u32 {
        let bits = single::output_small::<R, FTZ, false>(narrow_f32::<R>(x), x);
        if x.is_nan() { nan_of_double(x, 23, 0x7fc0_0000, 31) } else { bits }
    }
    #[inline(always)]
    fn narrow_f32<const R: u8, const FTZ: bool>(x: f32) -> u32 {
        single::output::<FTZ, false>(x)
    }
    #[inline(always)]
    fn narrow_bf16<const R: u8>(x: f32) -> u32 {
        x.to_bits()
    }
    #[inline(always)]
    fn integer<const R: u8>(negative: bool, magnitude: u64) -> u32 {
        from_integer::<8, 23, R>(negative, magnitude) as u32
    }
    #[inline(always)]
    fn saturate(a: u32) -> u32 {
        single::saturate(a)
    }
    #[inline(always)]
    fn relu(a: u32) -> u32 {
        let x = f32::from_bits(a);
        let clamped = if x > 0.0 { a } else { 0 };
        if x.is_nan() { single::NAN } else { clamped }
    }
}

impl Format for F64 {
    type Bits = u64;
    const FITS_F32: bool = false;
    #[inline(always)]
    fn widen<const FTZ: bool>(a: u64) -> f64 {
        f64::from_bits(a)
    }
    #[inline(always)]
    fn widen_f32<const FTZ: bool>(a: u64) -> f32 {
        f64::from_bits(a) as f32
    }
    #[inline(always)]
    fn narrow<const R: u8, const FTZ: bool>(x: f64) -> u64 {
        quiet(x)
    }
    #[inline(always)]
    fn narrow_f32<const R: u8, const FTZ: bool>(x: f32) -> u64 {
        quiet(x as f64)
    }
    #[inline(always)]
    fn integer<const R: u8>(negative: bool, magnitude: u64) -> u64 {
        from_integer::<11, 52, R>(negative, magnitude)
    }
    #[inline(always)]
    fn saturate(a: u64) -> u64 {
        double::saturate(a)
    }
    #[inline(always)]
    fn relu(a: u64) -> u64 {
        let x = f64::from_bits(a);
        let clamped = if x > 0.0 { a } else { 0 };
        if x.is_nan() { double::CANONICAL_NAN } else { clamped }
    }
}

/// The NaN that an f64's becomes in a format of `fraction` bits: its sign and the top of its
/// payload, quieted.
#[inline(always)]
fn nan_of_double(x: f64, fraction: u32, quiet_nan: u32, sign: u32) -> u32 {
    let bits = x.to_bits();
    let payload = (bits >> (52 - fraction)) as u32 & ((1 << fraction) - 1);
    payload | quiet_nan | ((bits >> 63) as u32) << sign
}

#[inline(always)]
fn quiet(x: f64) -> u64 {
    let bits = x.to_bits();
    if x.is_nan() { bits | 1 << 51 } else { bits }
}

/// Between formats. From a format to itself it only flushes and clamps.
#[inline(always)]
pub fn ftof<A: Format, T: Format, const R: u8, const FTZ: bool, const SAT: bool>(
    a: A::Bits,
) -> T::Bits {
    let r = if A::IS_BF16 && !FTZ {
        T::narrow_bf16::<R>(A::widen_f32::<FTZ>(a))
    } else if A::FITS_F32 {
        T::narrow_f32::<R, FTZ>(A::widen_f32::<FTZ>(a))
    } else {
        T::narrow::<R, FTZ>(A::widen::<FTZ>(a))
    };
    if SAT { T::saturate(r) } else { r }
}

#[inline(always)]
fn integral_f32<const R: u8>(x: f32) -> f32 {
    match R {
        RZ => x.trunc(),
        RM => x.floor(),
        RP => x.ceil(),
        _ => x.round_ties_even(),
    }
}
#[inline(always)]
fn integral_f64<const R: u8>(x: f64) -> f64 {
    match R {
        RZ => x.trunc(),
        RM => x.floor(),
        RP => x.ceil(),
        _ => x.round_ties_even(),
    }
}

/// To an integral value in the same format; keeps the sign of zero.
#[inline(always)]
pub fn fround<T: Format, const R: u8, const FTZ: bool, const SAT: bool>(a: T::Bits) -> T::Bits {
    let r = if T::FITS_F32 {
        T::narrow_f32::<RN, FTZ>(integral_f32::<R>(T::widen_f32::<FTZ>(a)))
    } else {
        T::narrow::<RN, FTZ>(integral_f64::<R>(T::widen::<FTZ>(a)))
    };
    if SAT { T::saturate(r) } else { r }
}

/// What NaN becomes: 0 between types of at most 32 bits, else only the top bit, signed or not.
const fn nan_integer<A: Format>(bits: u32) -> u64 {
    if A::FITS_F32 && bits < 64 { 0 } else { 1 << (bits - 1) }
}

macro_rules! to_integer {
    ($name:ident, $lane:ty, $bits:expr, $int:ty, $unsigned:ty, $doc:literal) => {
        #[doc = $doc]
        #[inline(always)]
        pub fn $name<A: Format, const R: u8, const FTZ: bool>(a: A::Bits) -> $lane {
            let (value, nan) = if A::FITS_F32 {
                let x = A::widen_f32::<FTZ>(a);
                (integral_f32::<R>(x) as $int, x.is_nan())
            } else {
                let x = A::widen::<FTZ>(a);
                (integral_f64::<R>(x) as $int, x.is_nan())
            };
            let value = value as $unsigned as $lane;
            if nan { nan_integer::<A>($bits) as $lane } else { value }
        }
    };
}

to_integer!(ftos8, u32, 8, i8, u8, "To a signed 8-bit integer, clamped; zero-extended.");
to_integer!(ftos16, u32, 16, i16, u16, "To a signed 16-bit integer, clamped; zero-extended.");
to_integer!(ftos32, u32, 32, i32, u32, "To a signed 32-bit integer, clamped.");
to_integer!(ftos64, u64, 64, i64, u64, "To a signed 64-bit integer, clamped.");
to_integer!(ftou8, u32, 8, u8, u8, "To an unsigned 8-bit integer, clamped.");
to_integer!(ftou16, u32, 16, u16, u16, "To an unsigned 16-bit integer, clamped.");
to_integer!(ftou32, u32, 32, u32, u32, "To an unsigned 32-bit integer, clamped.");
to_integer!(ftou64, u64, 64, u64, u64, "To an unsigned 64-bit integer, clamped.");

macro_rules! from_integer {
    ($name:ident, $lane:ty, $int:ty, $doc:literal) => {
        #[doc = $doc]
        #[inline(always)]
        pub fn $name<T: Format, const R: u8, const SAT: bool>(a: $lane) -> T::Bits {
            let value = a as $int;
            let r = if size_of::<$int>() <= 4 {
                // Exact in f64, so that only the narrowing rounds.
                T::narrow::<R, false>(value as f64)
            } else {
                #[allow(unused_comparisons)]
                let negative = value < 0;
                let bits = value as u64;
                T::integer::<R>(negative, if negative { bits.wrapping_neg() } else { bits })
            };
            if SAT { T::saturate(r) } else { r }
        }
    };
}

from_integer!(s8tof, u32, i8, "From a signed 8-bit integer.");
from_integer!(s16tof, u32, i16, "From a signed 16-bit integer.");
from_integer!(s32tof, u32, i32, "From a signed 32-bit integer.");
from_integer!(s64tof, u64, i64, "From a signed 64-bit integer.");
from_integer!(u8tof, u32, u8, "From an unsigned 8-bit integer.");
from_integer!(u16tof, u32, u16, "From an unsigned 16-bit integer.");
from_integer!(u32tof, u32, u32, "From an unsigned 32-bit integer.");
from_integer!(u64tof, u64, u64, "From an unsigned 64-bit integer.");

#[cfg(test)]
mod tests;
