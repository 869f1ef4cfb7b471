// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handlers of integer, logic and width ops, by op and type.

use margay_ir::{Attr, Inst, IntCmp, Op, Ty};

use crate::lanes::{Handler, Kernel, bin, bin_each, hot1, hot2, hot3, quad, tri, un, wide};
use crate::semantics::{bits, int, logic};

macro_rules! int1 {
    ($ty:expr, $f:ident) => {
        match $ty {
            Ty::I8 => Some(un(int::w8::$f)),
            Ty::I16 => Some(un(int::w16::$f)),
            Ty::I32 => Some(un(int::w32::$f)),
            Ty::I64 => Some(un(int::w64::$f)),
            Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => None,
        }
    };
}
macro_rules! int2 {
    ($ty:expr, $f:ident) => {
        int2!($ty, $f, bin)
    };
    ($ty:expr, $f:ident, $how:ident) => {
        match $ty {
            Ty::I8 => Some($how(int::w8::$f)),
            Ty::I16 => Some($how(int::w16::$f)),
            Ty::I32 => Some($how(int::w32::$f)),
            Ty::I64 => Some($how(int::w64::$f)),
            Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => None,
        }
    };
}
macro_rules! bits_op {
    ($ty:expr, $how:ident, $f:ident) => {
        match $ty {
            Ty::I32 => Some($how(bits::w32::$f)),
            Ty::I64 => Some($how(bits::w64::$f)),
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => None,
        }
    };
}

/// `d = a` on predicates.
struct MovPred;
impl Kernel for MovPred {
    #[inline(always)]
    unsafe fn run(cx: &mut crate::interp::Cx<'_>, i: &crate::lanes::Inst) -> crate::lanes::Flow {
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let a = cx.pred(i.a);
            put_pred(cx, i, a);
        }
        crate::lanes::Flow::Next
    }
}

/// # Safety
/// `d` is a P plane of the frame.
#[inline(always)]
unsafe fn put_pred(cx: &mut crate::interp::Cx<'_>, i: &crate::lanes::Inst, bits: u32) {
    // SAFETY: by the contract.
    unsafe {
        let d = cx.plane(i.d) as *mut u32;
        *d = (*d & !cx.mask) | (bits & cx.mask);
    }
}

macro_rules! pred_op {
    ($name:ident, $e:expr) => {
        struct $name;
        impl Kernel for $name {
            unsafe fn run(
                cx: &mut crate::interp::Cx<'_>,
                i: &crate::lanes::Inst,
            ) -> crate::lanes::Flow {
                // SAFETY: operands were decoded for this frame; unused ones are plane 0.
                unsafe {
                    let f: fn(u32, u32, u32) -> u32 = $e;
                    let r = f(cx.pred(i.a), cx.pred(i.b), cx.pred(i.c));
                    put_pred(cx, i, r);
                }
                crate::lanes::Flow::Next
            }
        }
    };
}
pred_op!(AndPred, |a, b, _| a & b);
pred_op!(OrPred, |a, b, _| a | b);
pred_op!(XorPred, |a, b, _| a ^ b);
pred_op!(NotPred, |a, _, _| !a);
pred_op!(SelectPred, |a, b, p| (a & p) | (b & !p));

/// `lop3` by the truth table in `imm`.
struct Lop3Table;
impl Kernel for Lop3Table {
    #[inline(always)]
    unsafe fn run(cx: &mut crate::interp::Cx<'_>, i: &crate::lanes::Inst) -> crate::lanes::Flow {
        use crate::lanes::{Lane, WARP};
        let lut = logic::Lut::new(i.imm as u8);
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let (a, b, c) = (cx.plane(i.a), cx.plane(i.b), cx.plane(i.c));
            let mut r = [0u32; WARP];
            for (l, r) in r.iter_mut().enumerate() {
                *r = logic::lop3(u32::get(a, l), u32::get(b, l), u32::get(c, l), lut);
            }
            u32::put(cx.plane(i.d), &r, cx.mask);
        }
        crate::lanes::Flow::Next
    }
}

fn compare(ty: Ty, cmp: IntCmp) -> Option<Handler> {
    match cmp {
        IntCmp::Eq => int2!(ty, eq, hot2),
        IntCmp::Ne => int2!(ty, ne, hot2),
        IntCmp::LtS => int2!(ty, lt_s, hot2),
        IntCmp::LeS => int2!(ty, le_s, hot2),
        IntCmp::GtS => int2!(ty, gt_s, hot2),
        IntCmp::GeS => int2!(ty, ge_s, hot2),
        IntCmp::LtU => int2!(ty, lt_u, hot2),
        IntCmp::LeU => int2!(ty, le_u),
        IntCmp::GtU => int2!(ty, gt_u),
        IntCmp::GeU => int2!(ty, ge_u, hot2),
    }
}

/// `sext`, `zext` and `trunc` by both types.
fn width(op: Op, to: Ty, from: Ty) -> Option<Handler> {
    use int::width::{sext_w_d, sext_w_w, trunc_d_w, zext_w_d, zext_w_w};
    let signed = op == Op::SExt;
    Some(match (from.bits(), to.bits(), signed) {
        (8, 8, true) => un(sext_w_w::<8, 8>),
        (8, 16, true) => un(sext_w_w::<8, 16>),
        (8, 32, true) => un(sext_w_w::<8, 32>),
        (16, 8, true) => un(sext_w_w::<16, 8>),
        (16, 16, true) => un(sext_w_w::<16, 16>),
        (16, 32, true) => un(sext_w_w::<16, 32>),
        (32, 8, _) => un(zext_w_w::<32, 8>),
        (32, 16, _) => un(zext_w_w::<32, 16>),
        (32, 32, _) => un(zext_w_w::<32, 32>),
        (8, 64, true) => un(sext_w_d::<8>),
        (16, 64, true) => un(sext_w_d::<16>),
        (32, 64, true) => un(sext_w_d::<32>),
        (8, 8, false) => un(zext_w_w::<8, 8>),
        (8, 16, false) => un(zext_w_w::<8, 16>),
        (8, 32, false) => un(zext_w_w::<8, 32>),
        (16, 8, false) => un(zext_w_w::<16, 8>),
        (16, 16, false) => un(zext_w_w::<16, 16>),
        (16, 32, false) => un(zext_w_w::<16, 32>),
        (8, 64, false) => un(zext_w_d::<8>),
        (16, 64, false) => un(zext_w_d::<16>),
        (32, 64, false) => un(zext_w_d::<32>),
        (64, 8, _) => un(trunc_d_w::<8>),
        (64, 16, _) => un(trunc_d_w::<16>),
        (64, 32, _) => un(trunc_d_w::<32>),
        (64, 64, _) => un(|a: u64| a),
        _ => return None,
    })
}

/// The handler of an integer op; `None` if it is not one, or not with these types.
pub(super) fn handler(inst: &Inst) -> Option<Handler> {
    let ty = inst.ty;
    let words = || match ty {
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::F16 | Ty::BF16 | Ty::F32 => Some(false),
        Ty::I64 | Ty::F64 => Some(true),
        Ty::Pred => None,
    };
    match inst.op {
        Op::Mov => Some(match words() {
            None => wide::<MovPred>(),
            Some(false) => hot1(|a: u32| a),
            Some(true) => hot1(|a: u64| a),
        }),
        Op::Select => Some(match words() {
            None => wide::<SelectPred>(),
            Some(false) => tri(logic::select32),
            Some(true) => tri(logic::select64),
        }),
        Op::PAnd => Some(wide::<AndPred>()),
        Op::POr => Some(wide::<OrPred>()),
        Op::PXor => Some(wide::<XorPred>()),
        Op::PNot => Some(wide::<NotPred>()),
        Op::Add => int2!(ty, add, hot2),
        Op::Sub => int2!(ty, sub, hot2),
        Op::AddSatS => int2!(ty, add_sat_s),
        Op::SubSatS => int2!(ty, sub_sat_s),
        Op::Mul => int2!(ty, mul, hot2),
        Op::MulHiS => int2!(ty, mulhi_s),
        Op::MulHiU => int2!(ty, mulhi_u),
        Op::MulWideS => Some(hot2(int::mulwide_s)),
        Op::MulWideU => Some(hot2(int::mulwide_u)),
        Op::Mad => match ty {
            Ty::I16 => Some(tri(int::w16::mad)),
            Ty::I32 => Some(hot3(int::w32::mad)),
            Ty::I64 => Some(hot3(int::w64::mad)),
            Ty::Pred | Ty::I8 | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => None,
        },
        Op::MadWideS => Some(tri(int::madwide_s)),
        Op::MadWideU => Some(tri(int::madwide_u)),
        Op::DivS => int2!(ty, div_s, bin_each),
        Op::DivU => int2!(ty, div_u, bin_each),
        Op::RemS => int2!(ty, rem_s, bin_each),
        Op::RemU => int2!(ty, rem_u, bin_each),
        Op::Neg => int1!(ty, neg),
        Op::Abs => int1!(ty, abs),
        Op::MinS => int2!(ty, min_s),
        Op::MinU => int2!(ty, min_u),
        Op::MaxS => int2!(ty, max_s),
        Op::MaxU => int2!(ty, max_u),
        Op::And => int2!(ty, and, hot2),
        Op::Or => int2!(ty, or, hot2),
        Op::Xor => int2!(ty, xor, hot2),
        Op::Not => int1!(ty, not),
        Op::Shl => int2!(ty, shl, hot2),
        Op::ShrU => int2!(ty, shr_u, hot2),
        Op::ShrS => int2!(ty, shr_s, hot2),
        Op::ShfL => match inst.attr {
            Attr::Clamp(true) => Some(tri(bits::shf_l::<true>)),
            _ => Some(tri(bits::shf_l::<false>)),
        },
        Op::ShfR => match inst.attr {
            Attr::Clamp(true) => Some(tri(bits::shf_r::<true>)),
            _ => Some(tri(bits::shf_r::<false>)),
        },
        Op::Lop3 => Some(wide::<Lop3Table>()),
        Op::Prmt => Some(tri(bits::prmt)),
        Op::Popc => bits_op!(ty, un, popc),
        Op::Clz => bits_op!(ty, un, clz),
        Op::BRev => bits_op!(ty, un, brev),
        Op::BFindS => bits_op!(ty, un, bfind_s),
        Op::BFindU => bits_op!(ty, un, bfind_u),
        Op::Fns => Some(crate::lanes::tri_each(bits::fns)),
        Op::BfeS => bits_op!(ty, tri, bfe_s),
        Op::BfeU => bits_op!(ty, tri, bfe_u),
        Op::Bfi => bits_op!(ty, quad, bfi),
        Op::ICmp => match inst.attr {
            Attr::IntCmp(cmp) => compare(ty, cmp),
            _ => None,
        },
        Op::SExt | Op::ZExt | Op::Trunc => width(inst.op, ty, inst.from),
        _ => None,
    }
}
