// SPDX-License-Identifier: MIT OR Apache-2.0
//! `__nv_*` functions that are one IR op or a few, as their documentation defines them: the ones that matter
//! for speed. All others are [`crate::builtin::Builtin`]s.

use super::arith::integer::{distance, low24};
use super::function::Lower;
use crate::builtin::Builtin;
use crate::inst::{Attr, FloatAttr, IntCmp, MinMaxAttr, Value};
use crate::ops::Op;
use crate::types::{Class, Round, Ty};

/// A function of one result that is one op on its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plain {
    pub op: Op,
    /// Of the op.
    pub ty: Ty,
    /// Second type of conversions, otherwise `ty`.
    pub from: Ty,
    pub args: &'static [Ty],
    pub ret: Ty,
    pub attr: Attr,
}

fn plain(op: Op, ty: Ty, args: &'static [Ty], ret: Ty, attr: Attr) -> Plain {
    Plain { op, ty, from: ty, args, ret, attr }
}

fn float(round: Round) -> Attr {
    Attr::Float(FloatAttr { round, ..FloatAttr::default() })
}

const I: Ty = Ty::I32;
const L: Ty = Ty::I64;
const F: Ty = Ty::F32;
const D: Ty = Ty::F64;

/// Looks a name up.
pub(super) fn by_name(name: &str) -> Option<Plain> {
    let name = name.strip_prefix("__nv_")?;
    if let Some(found) = rounded(name) {
        return Some(found);
    }
    let none = Attr::None;
    let min_max = Attr::MinMax(MinMaxAttr::default());
    let nearest = float(Round::Nearest);
    Some(match name {
        "abs" => plain(Op::Abs, I, &[I], I, none),
        "llabs" => plain(Op::Abs, L, &[L], L, none),
        "min" => plain(Op::MinS, I, &[I, I], I, none),
        "max" => plain(Op::MaxS, I, &[I, I], I, none),
        "umin" => plain(Op::MinU, I, &[I, I], I, none),
        "umax" => plain(Op::MaxU, I, &[I, I], I, none),
        "llmin" => plain(Op::MinS, L, &[L, L], L, none),
        "llmax" => plain(Op::MaxS, L, &[L, L], L, none),
        "ullmin" => plain(Op::MinU, L, &[L, L], L, none),
        "ullmax" => plain(Op::MaxU, L, &[L, L], L, none),
        "mulhi" => plain(Op::MulHiS, I, &[I, I], I, none),
        "umulhi" => plain(Op::MulHiU, I, &[I, I], I, none),
        "mul64hi" => plain(Op::MulHiS, L, &[L, L], L, none),
        "umul64hi" => plain(Op::MulHiU, L, &[L, L], L, none),
        "popc" => plain(Op::Popc, I, &[I], I, none),
        "popcll" => plain(Op::Popc, L, &[L], I, none),
        "clz" => plain(Op::Clz, I, &[I], I, none),
        "clzll" => plain(Op::Clz, L, &[L], I, none),
        "brev" => plain(Op::BRev, I, &[I], I, none),
        "brevll" => plain(Op::BRev, L, &[L], L, none),
        "float_as_int" | "float_as_uint" | "int_as_float" | "uint_as_float" => {
            plain(Op::Mov, I, &[I], I, none)
        }
        "double_as_longlong" | "longlong_as_double" => plain(Op::Mov, L, &[L], L, none),
        "fabsf" => plain(Op::FAbs, F, &[F], F, nearest),
        "fabs" => plain(Op::FAbs, D, &[D], D, nearest),
        "fminf" => plain(Op::FMin, F, &[F, F], F, min_max),
        "fmaxf" => plain(Op::FMax, F, &[F, F], F, min_max),
        "fmin" => plain(Op::FMin, D, &[D, D], D, min_max),
        "fmax" => plain(Op::FMax, D, &[D, D], D, min_max),
        "fmaf" => plain(Op::FFma, F, &[F, F, F], F, nearest),
        "fma" => plain(Op::FFma, D, &[D, D, D], D, nearest),
        "sqrtf" => plain(Op::FSqrt, F, &[F], F, nearest),
        "sqrt" => plain(Op::FSqrt, D, &[D], D, nearest),
        "floorf" => plain(Op::FRound, F, &[F], F, float(Round::Down)),
        "floor" => plain(Op::FRound, D, &[D], D, float(Round::Down)),
        "ceilf" => plain(Op::FRound, F, &[F], F, float(Round::Up)),
        "ceil" => plain(Op::FRound, D, &[D], D, float(Round::Up)),
        "truncf" => plain(Op::FRound, F, &[F], F, float(Round::Zero)),
        "trunc" => plain(Op::FRound, D, &[D], D, float(Round::Zero)),
        "rintf" | "nearbyintf" => plain(Op::FRound, F, &[F], F, nearest),
        "rint" | "nearbyint" => plain(Op::FRound, D, &[D], D, nearest),
        "llrintf" => Plain { op: Op::FToS, ty: L, from: F, args: &[F], ret: L, attr: nearest },
        "llrint" => Plain { op: Op::FToS, ty: L, from: D, args: &[D], ret: L, attr: nearest },
        "float2half_rn" => {
            Plain { op: Op::FToF, ty: Ty::F16, from: F, args: &[F], ret: Ty::I16, attr: nearest }
        }
        "half2float" => {
            Plain { op: Op::FToF, ty: F, from: Ty::F16, args: &[Ty::I16], ret: F, attr: nearest }
        }
        _ => return None,
    })
}

/// A function of one result that is a few ops on its arguments.
pub(super) struct Composed {
    pub args: &'static [Ty],
    pub ret: Ty,
    pub write: fn(&mut Lower<'_, '_>, &[Value]) -> Value,
}

/// Looks a name up.
pub(super) fn composed(name: &str) -> Option<Composed> {
    let name = name.strip_prefix("__nv_")?;
    let of = |args, write| Composed { args, ret: I, write };
    Some(match name {
        "double2hiint" => of(&[D], |l, a| {
            let high = l.value(Op::ShrU, L, &[a[0], Value::Imm(32)], Attr::None);
            l.value_from(Op::Trunc, I, L, &[high], Attr::None)
        }),
        "double2loint" => of(&[D], |l, a| l.value_from(Op::Trunc, I, L, a, Attr::None)),
        "hiloint2double" => Composed { args: &[I, I], ret: D, write: double_of_words },
        "llround" => {
            Composed { args: &[D], ret: L, write: |l, a| away_from_0(l, D, Builtin::Round, a) }
        }
        "llroundf" => {
            Composed { args: &[F], ret: L, write: |l, a| away_from_0(l, F, Builtin::Roundf, a) }
        }
        "nan" => Composed { args: &[L], ret: D, write: |_, _| Value::Imm(0x7ff8_0000_0000_0000) },
        "nanf" => Composed { args: &[L], ret: F, write: |_, _| Value::Imm(0x7fff_ffff) },
        "ffs" => of(&[I], |l, a| first_set(l, I, a[0])),
        "ffsll" => of(&[L], |l, a| first_set(l, L, a[0])),
        "mul24" => of(&[I, I], |l, a| product24(l, Op::BfeS, a)),
        "umul24" => of(&[I, I], |l, a| product24(l, Op::BfeU, a)),
        "sad" => of(&[I, I, I], |l, a| sad(l, true, a)),
        "usad" => of(&[I, I, I], |l, a| sad(l, false, a)),
        "hadd" => of(&[I, I], |l, a| average(l, Op::And, Op::Add, Op::ShrS, a)),
        "uhadd" => of(&[I, I], |l, a| average(l, Op::And, Op::Add, Op::ShrU, a)),
        "rhadd" => of(&[I, I], |l, a| average(l, Op::Or, Op::Sub, Op::ShrS, a)),
        "urhadd" => of(&[I, I], |l, a| average(l, Op::Or, Op::Sub, Op::ShrU, a)),
        "byte_perm" => of(&[I, I, I], |l, a| l.value(Op::Prmt, I, a, Attr::None)),
        _ => return None,
    })
}

/// The double of an upper and a lower word.
fn double_of_words(l: &mut Lower<'_, '_>, words: &[Value]) -> Value {
    let [high, low] = [0, 1].map(|i| l.value_from(Op::ZExt, L, I, &words[i..=i], Attr::None));
    let high = l.value(Op::Shl, L, &[high, Value::Imm(32)], Attr::None);
    l.value(Op::Or, L, &[high, low], Attr::None)
}

/// The nearest integer, of two the one that is farther from 0.
fn away_from_0(l: &mut Lower<'_, '_>, ty: Ty, round: Builtin, x: &[Value]) -> Value {
    let whole = l.value(Op::Builtin, ty, x, Attr::Builtin(round));
    l.value_from(Op::FToS, L, ty, &[whole], float(Round::Zero))
}

/// One more than the number of the lowest bit that is set, 0 of 0.
fn first_set(l: &mut Lower<'_, '_>, ty: Ty, x: Value) -> Value {
    let turned = l.value(Op::BRev, ty, &[x], Attr::None);
    let below = l.value_in(Class::W, Op::Clz, ty, &[turned], Attr::None);
    let number = l.value(Op::Add, I, &[below, Value::Imm(1)], Attr::None);
    let nothing = l.value_in(Class::P, Op::ICmp, ty, &[x, Value::Imm(0)], Attr::IntCmp(IntCmp::Eq));
    l.value(Op::Select, I, &[Value::Imm(0), number, nothing], Attr::None)
}

/// The low word of the product of the factors' low 24 bits.
fn product24(l: &mut Lower<'_, '_>, extract: Op, factors: &[Value]) -> Value {
    let low: Vec<Value> = factors.iter().map(|&f| low24(l, extract, f)).collect();
    l.value(Op::Mul, I, &low, Attr::None)
}

/// `c + |a - b|`.
fn sad(l: &mut Lower<'_, '_>, signed: bool, a: &[Value]) -> Value {
    let between = distance(l, I, signed, &a[..2]);
    l.value(Op::Add, I, &[between, a[2]], Attr::None)
}

/// Half of the sum, which needs no wider type: what both have and half of what one has, or what any has without that.
fn average(l: &mut Lower<'_, '_>, common: Op, join: Op, half: Op, a: &[Value]) -> Value {
    let common = l.value(common, I, a, Attr::None);
    let either = l.value(Op::Xor, I, a, Attr::None);
    let rest = l.value(half, I, &[either, Value::Imm(1)], Attr::None);
    l.value(join, I, &[common, rest], Attr::None)
}

/// Functions with a rounding direction at the end: `fadd_rn`, `double2int_rz`, …
fn rounded(name: &str) -> Option<Plain> {
    let (stem, round) = name.rsplit_once('_')?;
    let attr = float(match round {
        "rn" => Round::Nearest,
        "rz" => Round::Zero,
        "rd" => Round::Down,
        "ru" => Round::Up,
        _ => return None,
    });
    let convert =
        |op, ty: Ty, from: Ty, args| Plain { op, ty, from, args, ret: ty, attr: attr.clone() };
    Some(match stem {
        "fadd" => plain(Op::FAdd, F, &[F, F], F, attr),
        "fsub" => plain(Op::FSub, F, &[F, F], F, attr),
        "fmul" => plain(Op::FMul, F, &[F, F], F, attr),
        "fdiv" => plain(Op::FDiv, F, &[F, F], F, attr),
        "frcp" => plain(Op::FRcp, F, &[F], F, attr),
        "fsqrt" => plain(Op::FSqrt, F, &[F], F, attr),
        "fmaf" | "fmaf_ieee" => plain(Op::FFma, F, &[F, F, F], F, attr),
        "dadd" => plain(Op::FAdd, D, &[D, D], D, attr),
        "dsub" => plain(Op::FSub, D, &[D, D], D, attr),
        "dmul" => plain(Op::FMul, D, &[D, D], D, attr),
        "ddiv" => plain(Op::FDiv, D, &[D, D], D, attr),
        "drcp" => plain(Op::FRcp, D, &[D], D, attr),
        "dsqrt" => plain(Op::FSqrt, D, &[D], D, attr),
        "fma" => plain(Op::FFma, D, &[D, D, D], D, attr),
        "float2int" => convert(Op::FToS, I, F, &[F]),
        "float2uint" => convert(Op::FToU, I, F, &[F]),
        "float2ll" => convert(Op::FToS, L, F, &[F]),
        "float2ull" => convert(Op::FToU, L, F, &[F]),
        "double2int" => convert(Op::FToS, I, D, &[D]),
        "double2uint" => convert(Op::FToU, I, D, &[D]),
        "double2ll" => convert(Op::FToS, L, D, &[D]),
        "double2ull" => convert(Op::FToU, L, D, &[D]),
        "double2float" => convert(Op::FToF, F, D, &[D]),
        "int2float" => convert(Op::SToF, F, I, &[I]),
        "uint2float" => convert(Op::UToF, F, I, &[I]),
        "ll2float" => convert(Op::SToF, F, L, &[L]),
        "ull2float" => convert(Op::UToF, F, L, &[L]),
        "int2double" => convert(Op::SToF, D, I, &[I]),
        "uint2double" => convert(Op::UToF, D, I, &[I]),
        "ll2double" => convert(Op::SToF, D, L, &[L]),
        "ull2double" => convert(Op::UToF, D, L, &[L]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_builtins_agree_on_signatures() {
        let classes = |tys: &[Ty]| tys.iter().map(|t| t.class()).collect::<Vec<_>>();
        let mut both = 0;
        for builtin in Builtin::ALL {
            if let Some(plain) = by_name(builtin.name()) {
                assert_eq!(classes(plain.args), classes(builtin.args()), "{}", builtin.name());
                assert_eq!(classes(&[plain.ret]), classes(builtin.rets()), "{}", builtin.name());
                both += 1;
            }
            if let Some(composed) = composed(builtin.name()) {
                assert_eq!(classes(composed.args), classes(builtin.args()), "{}", builtin.name());
                assert_eq!(classes(&[composed.ret]), classes(builtin.rets()), "{}", builtin.name());
                both += 1;
            }
        }
        assert!(both > 0 || Builtin::ALL.len() < 20);
    }

    #[test]
    fn types_and_attributes_are_those_of_the_op_table() {
        for name in ["__nv_fadd_rz", "__nv_float2ll_rd", "__nv_fmaxf", "__nv_clzll", "__nv_abs"] {
            let plain = by_name(name).expect(name);
            assert!(plain.op.info().types.contains(&plain.ty), "{name}");
            assert_eq!(plain.op.info().srcs.len(), plain.args.len(), "{name}");
        }
        assert_eq!(by_name("__nv_sinf"), None);
        assert_eq!(by_name("fadd_rn"), None);
    }
}
