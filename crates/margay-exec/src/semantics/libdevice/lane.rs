// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a function of one lane to a function of planes.
//!
//! A lane's bit pattern is zero-extended in a `u64`. Results of type `f32` and `f64` that are NaN
//! become the canonical NaN of their format, so functions that must keep a pattern
//! (reinterpretation, `fabs`) work on integers.

pub use margay_math::planes::{Plane, PlaneFn};

/// NaN results of single-precision functions on a card.
pub(super) const NAN32: u32 = 0x7fff_ffff;
/// NaN results of double-precision functions.
pub(super) const NAN64: u64 = 0xfff8_0000_0000_0000;

/// The lane numbers of a mask.
pub(super) struct Lanes(pub u32);

impl Iterator for Lanes {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(lane as usize)
    }
}

/// A value of a lane.
pub(super) trait Lane: Copy {
    fn load(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integer_lane {
    ($($signed:ty as $unsigned:ty),*) => { $(
        impl Lane for $signed {
            fn load(bits: u64) -> Self { bits as $signed }
            fn bits(self) -> u64 { u64::from(self as $unsigned) }
        }
        impl Lane for $unsigned {
            fn load(bits: u64) -> Self { bits as $unsigned }
            fn bits(self) -> u64 { u64::from(self) }
        }
    )* };
}

integer_lane!(i16 as u16, i32 as u32, i64 as u64);

impl Lane for f32 {
    fn load(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn bits(self) -> u64 {
        u64::from(if self.is_nan() { NAN32 } else { self.to_bits() })
    }
}

impl Lane for f64 {
    fn load(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn bits(self) -> u64 {
        if self.is_nan() { NAN64 } else { self.to_bits() }
    }
}

/// One or two results of a lane.
pub(super) trait Results {
    fn store(self, rets: &mut [Plane], lane: usize);
}

impl<T: Lane> Results for T {
    fn store(self, rets: &mut [Plane], lane: usize) {
        rets[0][lane] = self.bits();
    }
}

impl<A: Lane, B: Lane> Results for (A, B) {
    fn store(self, rets: &mut [Plane], lane: usize) {
        rets[0][lane] = self.0.bits();
        rets[1][lane] = self.1.bits();
    }
}

/// Declares plane functions by what they do in a lane.
macro_rules! lane_functions {
    ($( $name:ident($($a:ident: $ty:ty),*) -> $ret:ty { $body:expr } )*) => { $(
        pub(super) fn $name(
            args: &[$crate::semantics::libdevice::lane::Plane],
            mask: u32,
            rets: &mut [$crate::semantics::libdevice::lane::Plane],
        ) {
            use $crate::semantics::libdevice::lane::{Lane, Lanes, Results};
            let [$($a),*] = args else {
                unreachable!("the verifier holds a builtin to its number of arguments")
            };
            for lane in Lanes(mask) {
                $( let $a = <$ty as Lane>::load($a[lane]); )*
                let result: $ret = $body;
                Results::store(result, rets, lane);
            }
        }
    )* };
}

pub(super) use lane_functions;
