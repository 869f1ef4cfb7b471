// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handlers of floating-point ops and conversions, by op, type and attribute.

use margay_ir::{Attr, FloatAttr, FloatCmp, Inst, MinMaxAttr, Op, Ty};

use crate::lanes::{Handler, bin, bin_each, hot2, hot3, tri, tri_each, un};
use crate::semantics::compare;
use crate::semantics::float::{double, single};
use crate::semantics::half_float::{bf16, f16};
use crate::semantics::rounding::{RM, RN, RP, RZ, code};

/// Picks the monomorphic function of an f32 op. To nearest it runs in wide vectors.
macro_rules! f32_op {
    ($attr:expr, $hot:ident, $wide:ident, $each:ident, $f:ident) => {
        match (code($attr.round), $attr.ftz, $attr.sat) {
            (RN, false, false) => Some($hot(single::$f::<RN, false, false>)),
            (RN, true, false) => Some($wide(single::$f::<RN, true, false>)),
            (RN, false, true) => Some($wide(single::$f::<RN, false, true>)),
            (RN, true, true) => Some($wide(single::$f::<RN, true, true>)),
            (RZ, false, false) => Some($each(single::$f::<RZ, false, false>)),
            (RZ, true, false) => Some($each(single::$f::<RZ, true, false>)),
            (RZ, false, true) => Some($each(single::$f::<RZ, false, true>)),
            (RZ, true, true) => Some($each(single::$f::<RZ, true, true>)),
            (RM, false, false) => Some($each(single::$f::<RM, false, false>)),
            (RM, true, false) => Some($each(single::$f::<RM, true, false>)),
            (RM, false, true) => Some($each(single::$f::<RM, false, true>)),
            (RM, true, true) => Some($each(single::$f::<RM, true, true>)),
            (RP, false, false) => Some($each(single::$f::<RP, false, false>)),
            (RP, true, false) => Some($each(single::$f::<RP, true, false>)),
            (RP, false, true) => Some($each(single::$f::<RP, false, true>)),
            (RP, true, true) => Some($each(single::$f::<RP, true, true>)),
            _ => None,
        }
    };
}
/// An f32 op without saturation.
macro_rules! f32_plain {
    ($attr:expr, $wide:ident, $each:ident, $f:ident) => {
        match (code($attr.round), $attr.ftz) {
            (RN, false) => Some($wide(single::$f::<RN, false>)),
            (RN, true) => Some($wide(single::$f::<RN, true>)),
            (RZ, false) => Some($each(single::$f::<RZ, false>)),
            (RZ, true) => Some($each(single::$f::<RZ, true>)),
            (RM, false) => Some($each(single::$f::<RM, false>)),
            (RM, true) => Some($each(single::$f::<RM, true>)),
            (RP, false) => Some($each(single::$f::<RP, false>)),
            (RP, true) => Some($each(single::$f::<RP, true>)),
            _ => None,
        }
    };
}
macro_rules! f64_op {
    ($attr:expr, $wide:ident, $each:ident, $f:ident) => {
        match code($attr.round) {
            RN => Some($wide(double::$f::<RN>)),
            RZ => Some($each(double::$f::<RZ>)),
            RM => Some($each(double::$f::<RM>)),
            RP => Some($each(double::$f::<RP>)),
            _ => None,
        }
    };
}
macro_rules! half_op {
    ($m:ident, $attr:expr, $how:ident, $f:ident) => {
        match ($attr.ftz, $attr.sat) {
            (false, false) => Some($how($m::$f::<false, false>)),
            (true, false) => Some($how($m::$f::<true, false>)),
            (false, true) => Some($how($m::$f::<false, true>)),
            (true, true) => Some($how($m::$f::<true, true>)),
        }
    };
}
macro_rules! half_fma {
    ($m:ident, $attr:expr) => {
        match ($attr.ftz, $attr.sat, $attr.relu) {
            (false, false, false) => Some(tri($m::fma::<false, false, false>)),
            (true, false, false) => Some(tri($m::fma::<true, false, false>)),
            (false, true, false) => Some(tri($m::fma::<false, true, false>)),
            (true, true, false) => Some(tri($m::fma::<true, true, false>)),
            (false, false, true) => Some(tri($m::fma::<false, false, true>)),
            (true, false, true) => Some(tri($m::fma::<true, false, true>)),
            (false, true, true) => Some(tri($m::fma::<false, true, true>)),
            (true, true, true) => Some(tri($m::fma::<true, true, true>)),
        }
    };
}
/// Arithmetic in every format.
macro_rules! arithmetic {
    ($ty:expr, $attr:expr, $f:ident) => {
        match $ty {
            Ty::F32 => f32_op!($attr, hot2, bin, bin_each, $f),
            Ty::F64 => f64_op!($attr, hot2, bin_each, $f),
            Ty::F16 => half_op!(f16, $attr, bin, $f),
            Ty::BF16 => half_op!(bf16, $attr, bin, $f),
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => None,
        }
    };
}
macro_rules! sign {
    ($ty:expr, $attr:expr, $f:ident) => {
        match ($ty, $attr.ftz) {
            (Ty::F32, false) => Some(un(single::$f::<false>)),
            (Ty::F32, true) => Some(un(single::$f::<true>)),
            (Ty::F64, _) => Some(un(double::$f)),
            (Ty::F16, false) => Some(un(f16::$f::<false>)),
            (Ty::F16, true) => Some(un(f16::$f::<true>)),
            (Ty::BF16, false) => Some(un(bf16::$f::<false>)),
            (Ty::BF16, true) => Some(un(bf16::$f::<true>)),
            (Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64, _) => None,
        }
    };
}
macro_rules! minmax_ftz {
    ($m:ident, $max:literal, $a:expr) => {
        match ($a.ftz, $a.nan, $a.xorsign_abs) {
            (false, false, false) => Some(bin($m::minmax::<$max, false, false, false>)),
            (true, false, false) => Some(bin($m::minmax::<$max, true, false, false>)),
            (false, true, false) => Some(bin($m::minmax::<$max, false, true, false>)),
            (true, true, false) => Some(bin($m::minmax::<$max, true, true, false>)),
            (false, false, true) => Some(bin($m::minmax::<$max, false, false, true>)),
            (true, false, true) => Some(bin($m::minmax::<$max, true, false, true>)),
            (false, true, true) => Some(bin($m::minmax::<$max, false, true, true>)),
            (true, true, true) => Some(bin($m::minmax::<$max, true, true, true>)),
        }
    };
}
macro_rules! minmax {
    ($ty:expr, $max:literal, $a:expr) => {
        match $ty {
            Ty::F32 => minmax_ftz!(single, $max, $a),
            Ty::F16 => minmax_ftz!(f16, $max, $a),
            Ty::BF16 => minmax_ftz!(bf16, $max, $a),
            Ty::F64 => match ($a.nan, $a.xorsign_abs) {
                (false, false) => Some(bin(double::minmax::<$max, false, false>)),
                (true, false) => Some(bin(double::minmax::<$max, true, false>)),
                (false, true) => Some(bin(double::minmax::<$max, false, true>)),
                (true, true) => Some(bin(double::minmax::<$max, true, true>)),
            },
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => None,
        }
    };
}
macro_rules! compare_in {
    ($m:ident, $cmp:expr, $ftz:literal) => {
        Some(match $cmp {
            FloatCmp::Eq => bin(compare::$m::eq::<$ftz>),
            FloatCmp::Ne => bin(compare::$m::ne::<$ftz>),
            FloatCmp::Lt => bin(compare::$m::lt::<$ftz>),
            FloatCmp::Le => bin(compare::$m::le::<$ftz>),
            FloatCmp::Gt => bin(compare::$m::gt::<$ftz>),
            FloatCmp::Ge => bin(compare::$m::ge::<$ftz>),
            FloatCmp::EqU => bin(compare::$m::equ::<$ftz>),
            FloatCmp::NeU => bin(compare::$m::neu::<$ftz>),
            FloatCmp::LtU => bin(compare::$m::ltu::<$ftz>),
            FloatCmp::LeU => bin(compare::$m::leu::<$ftz>),
            FloatCmp::GtU => bin(compare::$m::gtu::<$ftz>),
            FloatCmp::GeU => bin(compare::$m::geu::<$ftz>),
            FloatCmp::Num => bin(compare::$m::num::<$ftz>),
            FloatCmp::Nan => bin(compare::$m::nan::<$ftz>),
        })
    };
}

fn fcmp(ty: Ty, cmp: FloatCmp, ftz: bool) -> Option<Handler> {
    match (ty, ftz) {
        (Ty::F32, false) => compare_in!(single, cmp, false),
        (Ty::F32, true) => compare_in!(single, cmp, true),
        (Ty::F64, _) => compare_in!(double, cmp, false),
        (Ty::F16, false) => compare_in!(f16, cmp, false),
        (Ty::F16, true) => compare_in!(f16, cmp, true),
        (Ty::BF16, false) => compare_in!(bf16, cmp, false),
        (Ty::BF16, true) => compare_in!(bf16, cmp, true),
        (Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64, _) => None,
    }
}

pub(super) fn float_attr(inst: &Inst) -> FloatAttr {
    match inst.attr {
        Attr::Float(a) => a,
        _ => FloatAttr::default(),
    }
}

fn minmax_attr(inst: &Inst) -> MinMaxAttr {
    match inst.attr {
        Attr::MinMax(a) => a,
        _ => MinMaxAttr::default(),
    }
}

/// The handler of a floating-point op; `None` if it is not one, or not with these modifiers.
pub(super) fn handler(inst: &Inst) -> Option<Handler> {
    let (ty, a) = (inst.ty, float_attr(inst));
    match inst.op {
        Op::FAdd => arithmetic!(ty, a, add),
        Op::FSub => arithmetic!(ty, a, sub),
        Op::FMul => arithmetic!(ty, a, mul),
        Op::FFma => match ty {
            Ty::F32 if a.relu => None,
            Ty::F32 => f32_op!(a, hot3, tri, tri_each, fma),
            Ty::F64 => f64_op!(a, hot3, tri_each, fma),
            Ty::F16 => half_fma!(f16, a),
            Ty::BF16 => half_fma!(bf16, a),
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => None,
        },
        Op::FDiv if ty == Ty::F32 => f32_op!(a, hot2, bin, bin_each, div),
        Op::FDiv if ty == Ty::F64 => f64_op!(a, bin, bin_each, div),
        Op::FRcp if ty == Ty::F32 => f32_plain!(a, un, un, rcp),
        Op::FRcp if ty == Ty::F64 => f64_op!(a, un, un, rcp),
        Op::FSqrt if ty == Ty::F32 => f32_plain!(a, un, un, sqrt),
        Op::FSqrt if ty == Ty::F64 => f64_op!(a, un, un, sqrt),
        Op::FNeg => sign!(ty, a, neg),
        Op::FAbs => sign!(ty, a, abs),
        Op::FMin => minmax!(ty, false, minmax_attr(inst)),
        Op::FMax => minmax!(ty, true, minmax_attr(inst)),
        Op::FCopySign if ty == Ty::F32 => Some(bin(single::copysign)),
        Op::FCopySign if ty == Ty::F64 => Some(bin(double::copysign)),
        Op::FCmp => match inst.attr {
            Attr::FloatCmp { cmp, ftz } => fcmp(ty, cmp, ftz),
            _ => None,
        },
        _ => None,
    }
}
