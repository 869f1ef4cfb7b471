// SPDX-License-Identifier: MIT OR Apache-2.0
//! One op on one lane, chosen at run time: what the lane functions mean, without an engine.
//!
//! For tests (of lowering, of engines against each other, of vectors recorded on a card) and for
//! folding constants. Speed is no concern here.

mod convert;

use margay_ir::{Attr, FloatAttr, FloatCmp, MinMaxAttr, Op, Ty};

use super::float::{double, single};
use super::half_float::{bf16, f16};
use super::int::{self, w8, w16, w32, w64};
use super::rounding::{RM, RN, RP, RZ, code};
use super::{approx, bits, compare, logic};

/// Runs `$body` with `$R` bound to the const parameter of a rounding direction.
macro_rules! rounded {
    ($round:expr, $R:ident => $body:expr) => {
        match code($round) {
            RN => {
                const $R: u8 = RN;
                Some($body)
            }
            RZ => {
                const $R: u8 = RZ;
                Some($body)
            }
            RM => {
                const $R: u8 = RM;
                Some($body)
            }
            RP => {
                const $R: u8 = RP;
                Some($body)
            }
            _ => None,
        }
    };
}
/// Runs `$body` with `$F` bound to a boolean const parameter.
macro_rules! flagged {
    ($flag:expr, $F:ident => $body:expr) => {
        if $flag {
            const $F: bool = true;
            $body
        } else {
            const $F: bool = false;
            $body
        }
    };
}
use {flagged, rounded};

/// The result's bits of an op on operands' bits; a predicate is 0 or 1. `None` if the op involves
/// memory, other lanes or control, or has no lane function for these types and modifiers.
pub fn eval(op: Op, ty: Ty, from: Ty, attr: &Attr, srcs: &[u64]) -> Option<u64> {
    let s = |i: usize| srcs.get(i).copied().unwrap_or(0);
    let (a, b, c) = (s(0), s(1), s(2));
    match op {
        Op::Mov => Some(a),
        Op::Select => Some(if c != 0 { a } else { b }),
        Op::PAnd => Some(a & b),
        Op::POr => Some(a | b),
        Op::PXor => Some(a ^ b),
        Op::PNot => Some(a ^ 1),
        Op::Lop3 => match attr {
            Attr::Lop3(table) => {
                Some(logic::lop3(a as u32, b as u32, c as u32, logic::Lut::new(*table)).into())
            }
            _ => None,
        },
        Op::ShfL | Op::ShfR => match attr {
            Attr::Clamp(clamp) => {
                let (a, b, c) = (a as u32, b as u32, c as u32);
                Some(u64::from(flagged!(*clamp, C => if op == Op::ShfL {
                    bits::shf_l::<C>(a, b, c)
                } else {
                    bits::shf_r::<C>(a, b, c)
                })))
            }
            _ => None,
        },
        Op::Prmt => Some(bits::prmt(a as u32, b as u32, c as u32).into()),
        Op::Fns => Some(bits::fns(a as u32, b as u32, c as u32).into()),
        Op::MulWideS => Some(int::mulwide_s(a as u32, b as u32)),
        Op::MulWideU => Some(int::mulwide_u(a as u32, b as u32)),
        Op::MadWideS => Some(int::madwide_s(a as u32, b as u32, c)),
        Op::MadWideU => Some(int::madwide_u(a as u32, b as u32, c)),
        Op::Add
        | Op::Sub
        | Op::AddSatS
        | Op::SubSatS
        | Op::Mul
        | Op::MulHiS
        | Op::MulHiU
        | Op::Mad
        | Op::DivS
        | Op::DivU
        | Op::RemS
        | Op::RemU
        | Op::Neg
        | Op::Abs
        | Op::MinS
        | Op::MinU
        | Op::MaxS
        | Op::MaxU
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Shl
        | Op::ShrU
        | Op::ShrS => integer(op, ty, srcs),
        Op::Popc | Op::Clz | Op::BRev | Op::BFindS | Op::BFindU | Op::BfeS | Op::BfeU | Op::Bfi => {
            bit_field(op, ty, srcs)
        }
        Op::ICmp => match attr {
            Attr::IntCmp(cmp) => Some(u64::from(match ty {
                Ty::I8 => w8::icmp(*cmp)(a as u32, b as u32),
                Ty::I16 => w16::icmp(*cmp)(a as u32, b as u32),
                Ty::I32 => w32::icmp(*cmp)(a as u32, b as u32),
                Ty::I64 => w64::icmp(*cmp)(a, b),
                Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => return None,
            })),
            _ => None,
        },
        Op::SExt | Op::ZExt | Op::Trunc => width(op, ty, from, a),
        Op::FAdd
        | Op::FSub
        | Op::FMul
        | Op::FFma
        | Op::FDiv
        | Op::FSqrt
        | Op::FRcp
        | Op::FNeg
        | Op::FAbs => arithmetic(op, ty, float(attr)?, srcs),
        Op::FMin | Op::FMax => match attr {
            Attr::MinMax(m) => minmax(op == Op::FMax, ty, m, a, b),
            _ => None,
        },
        Op::FCopySign => match ty {
            Ty::F32 => Some(single::copysign(a as u32, b as u32).into()),
            Ty::F64 => Some(double::copysign(a, b)),
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 | Ty::BF16 => None,
        },
        Op::FCmp => match attr {
            Attr::FloatCmp { cmp, ftz } => fcmp(ty, *cmp, *ftz, a, b),
            _ => None,
        },
        Op::FRcpApprox
        | Op::FDivApprox
        | Op::FDivFull
        | Op::FSqrtApprox
        | Op::FRsqrtApprox
        | Op::FEx2
        | Op::FLg2
        | Op::FSin
        | Op::FCos
        | Op::FTanh => approximate(op, ty, float(attr)?, a, b),
        Op::FToF
        | Op::FRound
        | Op::FToS
        | Op::FToU
        | Op::SToF
        | Op::UToF
        | Op::FToTf32
        | Op::FToE4M3
        | Op::FToE5M2
        | Op::E4M3ToF
        | Op::E5M2ToF => convert::eval(op, ty, from, float(attr)?, a),
        // Memory, other lanes, control, and the device library.
        Op::Ld
        | Op::St
        | Op::Atom
        | Op::AtomWide
        | Op::CpAsync
        | Op::CpAsyncCommit
        | Op::CpAsyncWait
        | Op::Prefetch
        | Op::Cvta
        | Op::CvtaTo
        | Op::IsSpace
        | Op::Mapa
        | Op::GetCtaRank
        | Op::Addr
        | Op::Alloca
        | Op::StackSave
        | Op::StackRestore
        | Op::Sreg
        | Op::ActiveMask
        | Op::Vote
        | Op::Ballot
        | Op::MatchAny
        | Op::MatchAll
        | Op::Shfl
        | Op::Redux
        | Op::Elect
        | Op::BarWarp
        | Op::Bar
        | Op::BarRed
        | Op::BarCluster
        | Op::Fence
        | Op::Mbarrier
        | Op::NanoSleep
        | Op::Call
        | Op::Builtin
        | Op::Tex
        | Op::SurfStore
        | Op::Syscall
        | Op::Trap
        | Op::Brkpt
        | Op::Unsupported => None,
    }
}

fn float(attr: &Attr) -> Option<FloatAttr> {
    match attr {
        Attr::Float(f) => Some(*f),
        _ => None,
    }
}

fn integer(op: Op, ty: Ty, srcs: &[u64]) -> Option<u64> {
    let s = |i: usize| srcs.get(i).copied().unwrap_or(0);
    macro_rules! at {
        ($w:ident, $lane:ty) => {{
            let (a, b, c) = (s(0) as $lane, s(1) as $lane, s(2) as $lane);
            let n = s(1) as u32;
            u64::from(match op {
                Op::Add => $w::add(a, b),
                Op::Sub => $w::sub(a, b),
                Op::AddSatS => $w::add_sat_s(a, b),
                Op::SubSatS => $w::sub_sat_s(a, b),
                Op::Mul => $w::mul(a, b),
                Op::MulHiS => $w::mulhi_s(a, b),
                Op::MulHiU => $w::mulhi_u(a, b),
                Op::Mad => $w::mad(a, b, c),
                Op::DivS => $w::div_s(a, b),
                Op::DivU => $w::div_u(a, b),
                Op::RemS => $w::rem_s(a, b),
                Op::RemU => $w::rem_u(a, b),
                Op::Neg => $w::neg(a),
                Op::Abs => $w::abs(a),
                Op::MinS => $w::min_s(a, b),
                Op::MinU => $w::min_u(a, b),
                Op::MaxS => $w::max_s(a, b),
                Op::MaxU => $w::max_u(a, b),
                Op::And => $w::and(a, b),
                Op::Or => $w::or(a, b),
                Op::Xor => $w::xor(a, b),
                Op::Not => $w::not(a),
                Op::Shl => $w::shl(a, n),
                Op::ShrU => $w::shr_u(a, n),
                Op::ShrS => $w::shr_s(a, n),
                // The caller sends the ops above only.
                _ => return None,
            })
        }};
    }
    Some(match ty {
        Ty::I16 => at!(w16, u32),
        Ty::I32 => at!(w32, u32),
        Ty::I64 => at!(w64, u64),
        Ty::Pred | Ty::I8 | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => return None,
    })
}

fn bit_field(op: Op, ty: Ty, srcs: &[u64]) -> Option<u64> {
    let s = |i: usize| srcs.get(i).copied().unwrap_or(0);
    macro_rules! at {
        ($w:ident, $lane:ty) => {{
            let (a, b) = (s(0) as $lane, s(1) as $lane);
            match op {
                Op::Popc => $w::popc(a).into(),
                Op::Clz => $w::clz(a).into(),
                Op::BFindS => $w::bfind_s(a).into(),
                Op::BFindU => $w::bfind_u(a).into(),
                Op::BRev => $w::brev(a).into(),
                Op::BfeS => $w::bfe_s(a, s(1) as u32, s(2) as u32).into(),
                Op::BfeU => $w::bfe_u(a, s(1) as u32, s(2) as u32).into(),
                Op::Bfi => $w::bfi(a, b, s(2) as u32, s(3) as u32).into(),
                _ => return None,
            }
        }};
    }
    use bits::{w32, w64};
    Some(match ty {
        Ty::I32 => at!(w32, u32),
        Ty::I64 => at!(w64, u64),
        Ty::Pred | Ty::I8 | Ty::I16 | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => return None,
    })
}

fn width(op: Op, ty: Ty, from: Ty, a: u64) -> Option<u64> {
    if ty.is_float() || from.is_float() || ty == Ty::Pred || from == Ty::Pred {
        return None;
    }
    let (to, from) = (u64::MAX >> (64 - ty.bits()), from.bits());
    let up = 64 - from;
    Some(match op {
        Op::SExt => ((a << up) as i64 >> up) as u64 & to,
        _ => (a << up) >> up & to,
    })
}

fn arithmetic(op: Op, ty: Ty, f: FloatAttr, srcs: &[u64]) -> Option<u64> {
    let s = |i: usize| srcs.get(i).copied().unwrap_or(0);
    let (a, b, c) = (s(0), s(1), s(2));
    let (x, y, z) = (a as u32, b as u32, c as u32);
    macro_rules! half {
        ($m:ident) => {
            flagged!(f.ftz, Z => flagged!(f.sat, S => match op {
                Op::FAdd => $m::add::<Z, S>(x, y),
                Op::FSub => $m::sub::<Z, S>(x, y),
                Op::FMul => $m::mul::<Z, S>(x, y),
                Op::FFma => flagged!(f.relu, L => $m::fma::<Z, S, L>(x, y, z)),
                Op::FNeg => $m::neg::<Z>(x),
                Op::FAbs => $m::abs::<Z>(x),
                _ => return None,
            }))
        };
    }
    match ty {
        Ty::F32 if f.relu => None,
        Ty::F32 => rounded!(f.round, R => flagged!(f.ftz, Z => flagged!(f.sat, S => match op {
            Op::FAdd => single::add::<R, Z, S>(x, y),
            Op::FSub => single::sub::<R, Z, S>(x, y),
            Op::FMul => single::mul::<R, Z, S>(x, y),
            Op::FFma => single::fma::<R, Z, S>(x, y, z),
            Op::FDiv => single::div::<R, Z, S>(x, y),
            Op::FSqrt => single::sqrt::<R, Z>(x),
            Op::FRcp => single::rcp::<R, Z>(x),
            Op::FNeg => single::neg::<Z>(x),
            Op::FAbs => single::abs::<Z>(x),
            _ => return None,
        })))
        .map(u64::from),
        Ty::F64 => rounded!(f.round, R => match op {
            Op::FAdd => double::add::<R>(a, b),
            Op::FSub => double::sub::<R>(a, b),
            Op::FMul => double::mul::<R>(a, b),
            Op::FFma => double::fma::<R>(a, b, c),
            Op::FDiv => double::div::<R>(a, b),
            Op::FSqrt => double::sqrt::<R>(a),
            Op::FRcp => double::rcp::<R>(a),
            Op::FNeg => double::neg(a),
            Op::FAbs => double::abs(a),
            _ => return None,
        }),
        Ty::F16 if code(f.round) == RN => Some(half!(f16).into()),
        Ty::BF16 if code(f.round) == RN => Some(half!(bf16).into()),
        Ty::F16 | Ty::BF16 => None,
        Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => None,
    }
}

fn minmax(max: bool, ty: Ty, m: &MinMaxAttr, a: u64, b: u64) -> Option<u64> {
    if m.abs {
        return None;
    }
    let (x, y) = (a as u32, b as u32);
    flagged!(max, M => flagged!(m.ftz, Z => flagged!(m.nan, N => flagged!(m.xorsign_abs, X => {
        Some(match ty {
            Ty::F32 => single::minmax::<M, Z, N, X>(x, y).into(),
            Ty::F64 => double::minmax::<M, N, X>(a, b),
            Ty::F16 => f16::minmax::<M, Z, N, X>(x, y).into(),
            Ty::BF16 => bf16::minmax::<M, Z, N, X>(x, y).into(),
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => return None,
        })
    }))))
}

fn fcmp(ty: Ty, cmp: FloatCmp, ftz: bool, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (a as u32, b as u32);
    let holds = flagged!(ftz, Z => match ty {
        Ty::F32 => compare::single::fcmp::<Z>(cmp)(x, y),
        Ty::F64 => compare::double::fcmp::<Z>(cmp)(a, b),
        Ty::F16 => compare::f16::fcmp::<Z>(cmp)(x, y),
        Ty::BF16 => compare::bf16::fcmp::<Z>(cmp)(x, y),
        Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => return None,
    });
    Some(holds.into())
}

fn approximate(op: Op, ty: Ty, f: FloatAttr, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (a as u32, b as u32);
    flagged!(f.ftz, Z => Some(match (ty, op) {
        (Ty::F32, Op::FRcpApprox) => approx::rcp::<Z>(x).into(),
        (Ty::F32, Op::FDivApprox) => approx::div::<Z>(x, y).into(),
        (Ty::F32, Op::FDivFull) => approx::div_full::<Z>(x, y).into(),
        (Ty::F32, Op::FSqrtApprox) => approx::sqrt::<Z>(x).into(),
        (Ty::F32, Op::FRsqrtApprox) => approx::rsqrt::<Z>(x).into(),
        (Ty::F32, Op::FEx2) => approx::ex2::<Z>(x).into(),
        (Ty::F32, Op::FLg2) => approx::lg2::<Z>(x).into(),
        (Ty::F32, Op::FSin) => approx::sin(x).into(),
        (Ty::F32, Op::FCos) => approx::cos(x).into(),
        (Ty::F32, Op::FTanh) => approx::tanh(x).into(),
        (Ty::F16, Op::FEx2) => approx::ex2_f16::<Z>(x).into(),
        (Ty::BF16, Op::FEx2) => approx::ex2_bf16::<Z>(x).into(),
        (Ty::F16, Op::FTanh) => approx::tanh_f16(x).into(),
        (Ty::BF16, Op::FTanh) => approx::tanh_bf16(x).into(),
        (Ty::F64, Op::FRcpApprox) => approx::rcp_f64(a),
        (Ty::F64, Op::FRsqrtApprox) if Z => approx::rsqrt_f64_ftz(a),
        (Ty::F64, Op::FRsqrtApprox) => approx::rsqrt_f64(a),
        // PTX has no such form.
        _ => return None,
    }))
}

#[cfg(test)]
mod tests;
