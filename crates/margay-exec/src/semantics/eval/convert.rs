// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conversions' part of [`super::eval`].

use margay_ir::{FloatAttr, Op, Round, Ty};

use super::{flagged, rounded};
use crate::semantics::convert::{
    self as cvt, BF16, F16, F32, F64, Format, e4m3tof, e5m2tof, ftoe4m3, ftoe5m2, ftotf32,
};
use crate::semantics::rounding::{RM, RN, RNA, RP, RZ, code};

/// Operands' and results' bits as they stand in an evaluator's 64-bit slot.
trait Slot: Format {
    fn read(a: u64) -> Self::Bits;
    fn write(a: Self::Bits) -> u64;
}
macro_rules! slot {
    ($($format:ty => $lane:ty),*) => { $(
        impl Slot for $format {
            fn read(a: u64) -> $lane { a as $lane }
            fn write(a: $lane) -> u64 { a.into() }
        }
    )* };
}
slot!(F16 => u32, BF16 => u32, F32 => u32, F64 => u64);

/// Binds `$T` to the format of a type.
macro_rules! format {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            Ty::F16 => {
                type $T = F16;
                $body
            }
            Ty::BF16 => {
                type $T = BF16;
                $body
            }
            Ty::F32 => {
                type $T = F32;
                $body
            }
            Ty::F64 => {
                type $T = F64;
                $body
            }
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => None,
        }
    };
}

pub(super) fn eval(op: Op, ty: Ty, from: Ty, f: FloatAttr, a: u64) -> Option<u64> {
    let x = a as u32;
    match op {
        Op::FToF => format!(from, A => format!(ty, T => between::<A, T>(f, a))),
        Op::FRound => format!(ty, T => rounded!(f.round, R => {
            flagged!(f.ftz, Z => flagged!(f.sat, S => {
                T::write(cvt::fround::<T, R, Z, S>(T::read(a)))
            }))
        })),
        Op::FToS | Op::FToU => format!(from, A => to_integer::<A>(op == Op::FToS, ty, f, a)),
        Op::SToF | Op::UToF => format!(ty, T => from_integer::<T>(op == Op::SToF, from, f, a)),
        Op::FToTf32 => {
            let value = match f.round {
                Round::NearestAway => flagged!(f.relu, L => ftotf32::<RNA, L>(x)),
                Round::Nearest => flagged!(f.relu, L => ftotf32::<RN, L>(x)),
                Round::Zero => flagged!(f.relu, L => ftotf32::<RZ, L>(x)),
                Round::Down | Round::Up => return None,
            };
            Some(value.into())
        }
        Op::FToE4M3 => format!(from, A => {
            Some(flagged!(f.relu, L => ftoe4m3::<A, L>(A::read(a))).into())
        }),
        Op::FToE5M2 => format!(from, A => {
            Some(flagged!(f.relu, L => ftoe5m2::<A, L>(A::read(a))).into())
        }),
        Op::E4M3ToF => Some(flagged!(f.relu, L => e4m3tof::<L>(x)).into()),
        Op::E5M2ToF => Some(flagged!(f.relu, L => e5m2tof::<L>(x)).into()),
        // The caller sends conversions only.
        _ => None,
    }
}

fn between<A: Slot, T: Slot>(f: FloatAttr, a: u64) -> Option<u64> {
    let value = rounded!(f.round, R => flagged!(f.ftz, Z => flagged!(f.sat, S => {
        cvt::ftof::<A, T, R, Z, S>(A::read(a))
    })))?;
    Some(T::write(if f.relu { T::relu(value) } else { value }))
}

fn to_integer<A: Slot>(signed: bool, ty: Ty, f: FloatAttr, a: u64) -> Option<u64> {
    let a = A::read(a);
    rounded!(f.round, R => flagged!(f.ftz, Z => match (signed, ty) {
        (true, Ty::I8) => cvt::ftos8::<A, R, Z>(a).into(),
        (true, Ty::I16) => cvt::ftos16::<A, R, Z>(a).into(),
        (true, Ty::I32) => cvt::ftos32::<A, R, Z>(a).into(),
        (true, Ty::I64) => cvt::ftos64::<A, R, Z>(a),
        (false, Ty::I8) => cvt::ftou8::<A, R, Z>(a).into(),
        (false, Ty::I16) => cvt::ftou16::<A, R, Z>(a).into(),
        (false, Ty::I32) => cvt::ftou32::<A, R, Z>(a).into(),
        (false, Ty::I64) => cvt::ftou64::<A, R, Z>(a),
        (_, Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64) => return None,
    }))
}

fn from_integer<T: Slot>(signed: bool, from: Ty, f: FloatAttr, a: u64) -> Option<u64> {
    let x = a as u32;
    let value = rounded!(f.round, R => flagged!(f.sat, S => match (signed, from) {
        (true, Ty::I8) => cvt::s8tof::<T, R, S>(x),
        (true, Ty::I16) => cvt::s16tof::<T, R, S>(x),
        (true, Ty::I32) => cvt::s32tof::<T, R, S>(x),
        (true, Ty::I64) => cvt::s64tof::<T, R, S>(a),
        (false, Ty::I8) => cvt::u8tof::<T, R, S>(x),
        (false, Ty::I16) => cvt::u16tof::<T, R, S>(x),
        (false, Ty::I32) => cvt::u32tof::<T, R, S>(x),
        (false, Ty::I64) => cvt::u64tof::<T, R, S>(a),
        (_, Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64) => return None,
    }))?;
    Some(T::write(value))
}
