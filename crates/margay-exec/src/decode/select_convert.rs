// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handlers of conversions, approximations and the narrow formats.
//!
//! Conversions have hundreds of combinations of formats, rounding and modifiers. The frequent ones
//! are lifted to vectors like any op; the others go through a pointer to their lane function, which
//! keeps them small.

use margay_ir::{FloatAttr, Inst, Op, Ty};

use super::select_float::float_attr;
use crate::interp::Cx;
use crate::lanes::{self, Flow, Handler, Kernel, Lane, WARP, active, bin, plain, un};
use crate::semantics::approx;
use crate::semantics::convert::{self, BF16, F16, F32, F64, Format};
use crate::semantics::rounding::{RM, RN, RNA, RP, RZ, code};

/// One lane of a conversion, both sides zero-extended.
pub type LaneFn = fn(u64) -> u64;

/// A handler, and for [`Through`] the function that it calls.
pub(super) enum Choice {
    Lifted(Handler),
    Through(LaneFn),
}

/// Calls the lane function at `aux` in the active lanes.
struct Through<const FROM_D: bool, const TO_D: bool>;
impl<const FROM_D: bool, const TO_D: bool> Kernel for Through<FROM_D, TO_D> {
    unsafe fn run(cx: &mut Cx<'_>, i: &lanes::Inst) -> Flow {
        let f = cx.env.program.lane_functions[i.aux as usize];
        let mut r = [0u64; WARP];
        // SAFETY: operands were decoded for this frame with these classes.
        unsafe {
            for l in active(cx.mask) {
                let a = if FROM_D { cx.double(i.a, l) } else { cx.word(i.a, l) as u64 };
                r[l] = f(a);
            }
            if TO_D {
                u64::put(cx.plane(i.d), &r, cx.mask);
            } else {
                u32::put(cx.plane(i.d), &r.map(|v| v as u32), cx.mask);
            }
        }
        Flow::Next
    }
}

/// The handler that goes with [`Choice::Through`].
pub(super) fn through(from_d: bool, to_d: bool) -> Handler {
    match (from_d, to_d) {
        (false, false) => plain::<Through<false, false>>(),
        (false, true) => plain::<Through<false, true>>(),
        (true, false) => plain::<Through<true, false>>(),
        (true, true) => plain::<Through<true, true>>(),
    }
}

/// Bits of a lane, by class.
trait Bits: Copy {
    fn from64(v: u64) -> Self;
    fn to64(self) -> u64;
}
impl Bits for u32 {
    #[inline(always)]
    fn from64(v: u64) -> u32 {
        v as u32
    }
    #[inline(always)]
    fn to64(self) -> u64 {
        self as u64
    }
}
impl Bits for u64 {
    #[inline(always)]
    fn from64(v: u64) -> u64 {
        v
    }
    #[inline(always)]
    fn to64(self) -> u64 {
        self
    }
}

/// Turns the run-time choice of a rounding direction into a const parameter.
macro_rules! by_round {
    ($attr:expr, $m:ident, $($x:tt)*) => {
        match code($attr.round) {
            RN => Some($m!(RN, $($x)*)),
            RZ => Some($m!(RZ, $($x)*)),
            RM => Some($m!(RM, $($x)*)),
            RP => Some($m!(RP, $($x)*)),
            _ => None,
        }
    };
}
macro_rules! by_format {
    ($ty:expr, $f:ident, [$($before:ty),*], $($arg:expr),*) => {
        match $ty {
            Ty::F16 => $f::<$($before,)* F16>($($arg),*),
            Ty::BF16 => $f::<$($before,)* BF16>($($arg),*),
            Ty::F32 => $f::<$($before,)* F32>($($arg),*),
            Ty::F64 => $f::<$($before,)* F64>($($arg),*),
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => None,
        }
    };
}

fn ftof<A: Format, T: Format>(a: FloatAttr) -> Option<LaneFn>
where
    A::Bits: Bits,
    T::Bits: Bits,
{
    macro_rules! at {
        ($r:ident,) => {
            match (a.ftz, a.sat) {
                (false, false) => {
                    |v| convert::ftof::<A, T, $r, false, false>(A::Bits::from64(v)).to64()
                }
                (true, false) => {
                    |v| convert::ftof::<A, T, $r, true, false>(A::Bits::from64(v)).to64()
                }
                (false, true) => {
                    |v| convert::ftof::<A, T, $r, false, true>(A::Bits::from64(v)).to64()
                }
                (true, true) => {
                    |v| convert::ftof::<A, T, $r, true, true>(A::Bits::from64(v)).to64()
                }
            }
        };
    }
    by_round!(a, at,)
}

fn from_format<T: Format>(from: Ty, a: FloatAttr) -> Option<LaneFn>
where
    T::Bits: Bits,
{
    match from {
        Ty::F16 => ftof::<F16, T>(a),
        Ty::BF16 => ftof::<BF16, T>(a),
        Ty::F32 => ftof::<F32, T>(a),
        Ty::F64 => ftof::<F64, T>(a),
        Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => None,
    }
}

fn fround<T: Format>(a: FloatAttr) -> Option<LaneFn>
where
    T::Bits: Bits,
{
    macro_rules! at {
        ($r:ident,) => {
            match (a.ftz, a.sat) {
                (false, false) => {
                    |v| convert::fround::<T, $r, false, false>(T::Bits::from64(v)).to64()
                }
                (true, false) => {
                    |v| convert::fround::<T, $r, true, false>(T::Bits::from64(v)).to64()
                }
                (false, true) => {
                    |v| convert::fround::<T, $r, false, true>(T::Bits::from64(v)).to64()
                }
                (true, true) => |v| convert::fround::<T, $r, true, true>(T::Bits::from64(v)).to64(),
            }
        };
    }
    by_round!(a, at,)
}

macro_rules! to_integer {
    ($name:ident, $f8:ident, $f16:ident, $f32:ident, $f64:ident) => {
        fn $name<A: Format>(to: Ty, a: FloatAttr) -> Option<LaneFn>
        where
            A::Bits: Bits,
        {
            macro_rules! at {
                ($r:ident, $f:ident) => {
                    match a.ftz {
                        false => |v| convert::$f::<A, $r, false>(A::Bits::from64(v)).to64(),
                        true => |v| convert::$f::<A, $r, true>(A::Bits::from64(v)).to64(),
                    }
                };
            }
            match to {
                Ty::I8 => by_round!(a, at, $f8),
                Ty::I16 => by_round!(a, at, $f16),
                Ty::I32 => by_round!(a, at, $f32),
                Ty::I64 => by_round!(a, at, $f64),
                Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => None,
            }
        }
    };
}
to_integer!(ftos, ftos8, ftos16, ftos32, ftos64);
to_integer!(ftou, ftou8, ftou16, ftou32, ftou64);

macro_rules! from_integer {
    ($name:ident, $f8:ident, $f16:ident, $f32:ident, $f64:ident) => {
        fn $name<T: Format>(from: Ty, a: FloatAttr) -> Option<LaneFn>
        where
            T::Bits: Bits,
        {
            macro_rules! at {
                ($r:ident, $f:ident) => {
                    match a.sat {
                        false => |v| convert::$f::<T, $r, false>(Bits::from64(v)).to64(),
                        true => |v| convert::$f::<T, $r, true>(Bits::from64(v)).to64(),
                    }
                };
            }
            match from {
                Ty::I8 => by_round!(a, at, $f8),
                Ty::I16 => by_round!(a, at, $f16),
                Ty::I32 => by_round!(a, at, $f32),
                Ty::I64 => by_round!(a, at, $f64),
                Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => None,
            }
        }
    };
}
from_integer!(stof, s8tof, s16tof, s32tof, s64tof);
from_integer!(utof, u8tof, u16tof, u32tof, u64tof);

/// The conversions that programs are full of.
fn frequent(inst: &Inst, a: FloatAttr) -> Option<Handler> {
    if a.ftz || a.sat {
        return None;
    }
    Some(match (inst.op, inst.ty, inst.from, code(a.round)) {
        (Op::FToF, Ty::F64, Ty::F32, _) => un(convert::ftof::<F32, F64, RN, false, false>),
        (Op::FToF, Ty::F32, Ty::F64, RN) => un(convert::ftof::<F64, F32, RN, false, false>),
        (Op::FToF, Ty::F32, Ty::F16, _) => un(convert::ftof::<F16, F32, RN, false, false>),
        (Op::FToF, Ty::F16, Ty::F32, RN) => un(convert::ftof::<F32, F16, RN, false, false>),
        (Op::FToS, Ty::I32, Ty::F32, RZ) => un(convert::ftos32::<F32, RZ, false>),
        (Op::FToU, Ty::I32, Ty::F32, RZ) => un(convert::ftou32::<F32, RZ, false>),
        (Op::FToS, Ty::I32, Ty::F64, RZ) => un(convert::ftos32::<F64, RZ, false>),
        (Op::SToF, Ty::F32, Ty::I32, RN) => un(convert::s32tof::<F32, RN, false>),
        (Op::UToF, Ty::F32, Ty::I32, RN) => un(convert::u32tof::<F32, RN, false>),
        (Op::SToF, Ty::F64, Ty::I32, _) => un(convert::s32tof::<F64, RN, false>),
        (Op::UToF, Ty::F64, Ty::I32, _) => un(convert::u32tof::<F64, RN, false>),
        (Op::FRound, Ty::F32, _, RM) => un(convert::fround::<F32, RM, false, false>),
        (Op::FRound, Ty::F32, _, RZ) => un(convert::fround::<F32, RZ, false, false>),
        _ => return None,
    })
}

fn conversion(inst: &Inst) -> Option<LaneFn> {
    let (ty, from, a) = (inst.ty, inst.from, float_attr(inst));
    match inst.op {
        Op::FToF => by_format!(ty, from_format, [], from, a),
        Op::FRound => by_format!(ty, fround, [], a),
        Op::FToS => by_format!(from, ftos, [], ty, a),
        Op::FToU => by_format!(from, ftou, [], ty, a),
        Op::SToF => by_format!(ty, stof, [], from, a),
        Op::UToF => by_format!(ty, utof, [], from, a),
        _ => None,
    }
}

fn narrow(inst: &Inst) -> Option<Handler> {
    let a = float_attr(inst);
    match (inst.op, inst.from, a.relu) {
        (Op::FToTf32, _, relu) => match (code(a.round), relu) {
            (RNA, false) => Some(un(convert::ftotf32::<RNA, false>)),
            (RNA, true) => Some(un(convert::ftotf32::<RNA, true>)),
            (RN, false) => Some(un(convert::ftotf32::<RN, false>)),
            (RN, true) => Some(un(convert::ftotf32::<RN, true>)),
            (RZ, false) => Some(un(convert::ftotf32::<RZ, false>)),
            (RZ, true) => Some(un(convert::ftotf32::<RZ, true>)),
            _ => None,
        },
        (Op::FToE4M3, Ty::F32, false) => Some(un(convert::ftoe4m3::<F32, false>)),
        (Op::FToE4M3, Ty::F32, true) => Some(un(convert::ftoe4m3::<F32, true>)),
        (Op::FToE4M3, Ty::F16, false) => Some(un(convert::ftoe4m3::<F16, false>)),
        (Op::FToE4M3, Ty::F16, true) => Some(un(convert::ftoe4m3::<F16, true>)),
        (Op::FToE4M3, Ty::BF16, false) => Some(un(convert::ftoe4m3::<BF16, false>)),
        (Op::FToE4M3, Ty::BF16, true) => Some(un(convert::ftoe4m3::<BF16, true>)),
        (Op::FToE5M2, Ty::F32, false) => Some(un(convert::ftoe5m2::<F32, false>)),
        (Op::FToE5M2, Ty::F32, true) => Some(un(convert::ftoe5m2::<F32, true>)),
        (Op::FToE5M2, Ty::F16, false) => Some(un(convert::ftoe5m2::<F16, false>)),
        (Op::FToE5M2, Ty::F16, true) => Some(un(convert::ftoe5m2::<F16, true>)),
        (Op::FToE5M2, Ty::BF16, false) => Some(un(convert::ftoe5m2::<BF16, false>)),
        (Op::FToE5M2, Ty::BF16, true) => Some(un(convert::ftoe5m2::<BF16, true>)),
        (Op::E4M3ToF, _, false) => Some(un(convert::e4m3tof::<false>)),
        (Op::E4M3ToF, _, true) => Some(un(convert::e4m3tof::<true>)),
        (Op::E5M2ToF, _, false) => Some(un(convert::e5m2tof::<false>)),
        (Op::E5M2ToF, _, true) => Some(un(convert::e5m2tof::<true>)),
        (_, _, _) => None,
    }
}

fn approximation(inst: &Inst) -> Option<Handler> {
    let a = float_attr(inst);
    if a.sat || a.relu {
        return None;
    }
    match (inst.op, inst.ty, a.ftz) {
        (Op::FRcpApprox, Ty::F32, false) => Some(un(approx::rcp::<false>)),
        (Op::FRcpApprox, Ty::F32, true) => Some(un(approx::rcp::<true>)),
        (Op::FRcpApprox, Ty::F64, _) => Some(un(approx::rcp_f64)),
        (Op::FDivApprox, Ty::F32, false) => Some(bin(approx::div::<false>)),
        (Op::FDivApprox, Ty::F32, true) => Some(bin(approx::div::<true>)),
        (Op::FDivFull, Ty::F32, false) => Some(bin(approx::div_full::<false>)),
        (Op::FDivFull, Ty::F32, true) => Some(bin(approx::div_full::<true>)),
        (Op::FSqrtApprox, Ty::F32, false) => Some(un(approx::sqrt::<false>)),
        (Op::FSqrtApprox, Ty::F32, true) => Some(un(approx::sqrt::<true>)),
        (Op::FRsqrtApprox, Ty::F32, false) => Some(un(approx::rsqrt::<false>)),
        (Op::FRsqrtApprox, Ty::F32, true) => Some(un(approx::rsqrt::<true>)),
        (Op::FRsqrtApprox, Ty::F64, false) => Some(un(approx::rsqrt_f64)),
        (Op::FRsqrtApprox, Ty::F64, true) => Some(un(approx::rsqrt_f64_ftz)),
        (Op::FEx2, Ty::F32, false) => Some(un(approx::ex2::<false>)),
        (Op::FEx2, Ty::F32, true) => Some(un(approx::ex2::<true>)),
        (Op::FEx2, Ty::F16, false) => Some(un(approx::ex2_f16::<false>)),
        (Op::FEx2, Ty::F16, true) => Some(un(approx::ex2_f16::<true>)),
        (Op::FEx2, Ty::BF16, false) => Some(un(approx::ex2_bf16::<false>)),
        (Op::FEx2, Ty::BF16, true) => Some(un(approx::ex2_bf16::<true>)),
        (Op::FLg2, Ty::F32, false) => Some(un(approx::lg2::<false>)),
        (Op::FLg2, Ty::F32, true) => Some(un(approx::lg2::<true>)),
        (Op::FSin, Ty::F32, _) => Some(un(approx::sin)),
        (Op::FCos, Ty::F32, _) => Some(un(approx::cos)),
        (Op::FTanh, Ty::F32, _) => Some(un(approx::tanh)),
        (Op::FTanh, Ty::F16, _) => Some(un(approx::tanh_f16)),
        (Op::FTanh, Ty::BF16, _) => Some(un(approx::tanh_bf16)),
        (_, _, _) => None,
    }
}

/// What runs a conversion or an approximation; `None` if it is neither, or not with these
/// modifiers.
pub(super) fn choose(inst: &Inst) -> Option<Choice> {
    frequent(inst, float_attr(inst))
        .or_else(|| narrow(inst))
        .or_else(|| approximation(inst))
        .map(Choice::Lifted)
        .or_else(|| conversion(inst).map(Choice::Through))
}
