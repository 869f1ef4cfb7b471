// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer ops and moves, for scalars and for vectors alike; linear values; special registers.
//!
//! An op on linear values has as its base the op of the bases (see [`crate::shape`]); only the second
//! scalar needs care.

use std::rc::Rc;

use margay_ir::{Attr, Class, Inst, IntCmp, Op, Sreg, Ty, Value};

use super::value::{Addr, Val, scalar, vector};
use super::{Gen, io, vector_of};
use crate::Reason;
use crate::shape::{
    LANES, Lin, SECOND, Shape, Widening, factor, may_narrow, narrowed_range, widens,
};

/// Class of a source operand of a lane-wise op.
pub fn operand_class(inst: &Inst, n: usize) -> Class {
    use margay_ir::Slot;
    match inst.op.info().srcs.get(n) {
        Some(Slot::T | Slot::TMany | Slot::TOpt) | None => inst.ty.class(),
        Some(Slot::F) => inst.from.class(),
        Some(Slot::P | Slot::POpt) => Class::P,
        Some(Slot::W | Slot::WOpt) => Class::W,
        Some(Slot::D) => Class::D,
    }
}

/// Class of the result of a lane-wise op.
pub fn result_class(inst: &Inst) -> Class {
    use margay_ir::Slot;
    match inst.op.info().dsts.first() {
        Some(Slot::T | Slot::TMany | Slot::TOpt) | None => inst.ty.class(),
        Some(Slot::F) => inst.from.class(),
        Some(Slot::P | Slot::POpt) => Class::P,
        Some(Slot::W | Slot::WOpt) => Class::W,
        Some(Slot::D) => Class::D,
    }
}

/// A type for one lane or for all.
pub fn typed(ty: &str, wide: bool) -> String {
    if wide { format!("<32 x {ty}>") } else { ty.to_owned() }
}

/// A constant for one lane or for all.
pub fn constant(ty: &str, value: impl std::fmt::Display, wide: bool) -> String {
    if wide { format!("splat ({ty} {value})") } else { value.to_string() }
}

/// What LLVM calls a comparison.
pub(super) fn predicate(cmp: IntCmp) -> &'static str {
    match cmp {
        IntCmp::Eq => "eq",
        IntCmp::Ne => "ne",
        IntCmp::LtS => "slt",
        IntCmp::LeS => "sle",
        IntCmp::GtS => "sgt",
        IntCmp::GeS => "sge",
        IntCmp::LtU => "ult",
        IntCmp::LeU => "ule",
        IntCmp::GtU => "ugt",
        IntCmp::GeU => "uge",
    }
}

fn int_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Pred => "i1",
        Ty::I8 => "i8",
        Ty::I16 | Ty::F16 | Ty::BF16 => "i16",
        Ty::I32 | Ty::F32 => "i32",
        Ty::I64 | Ty::F64 => "i64",
    }
}

/// Start and length of a bit field, if they are constants and it starts inside the value.
fn field(inst: &Inst, n: usize) -> Option<(u32, u32)> {
    match (inst.srcs.get(n), inst.srcs.get(n + 1)) {
        (Some(Value::Imm(start)), Some(Value::Imm(length))) => {
            // 32-bit fields are named by bytes, 64-bit ones by words.
            let cut = |n: u64| match inst.ty.bits() {
                64 => (n as u32).min(0xff),
                _ => n as u32 & 0xff,
            };
            let (start, length) = (cut(*start), cut(*length));
            (start < inst.ty.bits()).then_some((start, length))
        }
        _ => None,
    }
}

/// Ops to which a NaN is a NaN, whatever its bits.
fn is_transparent(inst: &Inst) -> bool {
    super::float::is_native(inst)
        || matches!(inst.op, Op::FCmp | Op::FToS | Op::FToU)
            && !matches!(inst.ty, Ty::F16 | Ty::BF16)
}

/// Whether there is code for a lane-wise op.
pub(super) fn has_lowering(inst: &Inst) -> bool {
    match inst.op {
        Op::Mov | Op::Select => true,
        Op::PAnd | Op::POr | Op::PXor | Op::PNot => true,
        Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::MulHiS | Op::MulHiU => true,
        Op::AddSatS | Op::SubSatS => true,
        Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU => true,
        Op::DivS | Op::DivU | Op::RemS | Op::RemU => true,
        Op::Neg | Op::Abs | Op::MinS | Op::MinU | Op::MaxS | Op::MaxU => true,
        Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl | Op::ShrU | Op::ShrS => true,
        Op::ShfL | Op::ShfR | Op::Lop3 | Op::Popc | Op::Clz | Op::BRev => true,
        Op::BFindU | Op::BFindS => true,
        Op::ICmp | Op::SExt | Op::ZExt | Op::Trunc => true,
        Op::BfeS | Op::BfeU => field(inst, 1).is_some(),
        Op::Bfi => field(inst, 2).is_some(),
        Op::Prmt => true,
        Op::Fns => false,
        _ => super::float::has_lowering(inst),
    }
}

impl Gen<'_> {
    /// The operands of a lane-wise op, as its lowering wants them.
    pub(super) fn operands(&mut self, inst: &Inst) -> Vec<Val> {
        let keeps = match (inst.op, super::destination(inst)) {
            // A move between registers that are both made canonical later.
            (Op::Mov | Op::Select, Some(d)) => self.facts.lazy[d.0 as usize],
            _ => is_transparent(inst),
        };
        inst.srcs
            .iter()
            .enumerate()
            .map(|(n, &v)| {
                let class = operand_class(inst, n);
                if keeps { self.raw(v, class) } else { self.bits(v, class) }
            })
            .collect()
    }

    /// The result of a lane-wise op: for all lanes, or for one. `None` if there is no lowering.
    pub fn lanewise(&mut self, inst: &Inst, wide: bool) -> Option<String> {
        if !has_lowering(inst) {
            return None;
        }
        let values = self.operands(inst);
        let mut args = Vec::new();
        for (n, v) in values.iter().enumerate() {
            let class = operand_class(inst, n);
            args.push(match v {
                Val::Lin { base, .. } if !wide => base.clone(),
                v => self.spread(v, class),
            });
        }
        let name = self.op(inst, &args, wide)?;
        let lazy = super::destination(inst).is_some_and(|d| self.facts.lazy[d.0 as usize]);
        if super::float::is_native(inst) && inst.ty == Ty::F32 && !lazy {
            return Some(self.canonical_bits(&name, result_class(inst), wide));
        }
        Some(name)
    }

    /// An op whose result is linear.
    pub fn linear(&mut self, n: usize, inst: &Inst, lin: &Rc<Lin>) -> bool {
        if !has_lowering(inst) {
            return self.uniform_by_handler(n, inst);
        }
        let values = self.operands(inst);
        let mut exact: [Option<String>; 2] = [None, None];
        for (i, v) in values.iter().enumerate() {
            let widened = matches!(
                (inst.op, i),
                (Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU, 0 | 1)
            ) || matches!(
                (inst.op, inst.ty, inst.from),
                (Op::SExt | Op::ZExt, Ty::I64, Ty::I32)
            );
            if !widened {
                continue;
            }
            let signed = matches!(inst.op, Op::SExt | Op::MulWideS | Op::MadWideS);
            if let Val::Lin { base, u, lin } = v
                && widens(lin, signed) == Widening::Checked
            {
                if self.all() || u.is_some() || even_step(lin).is_none() {
                    self.check_widening(n, base, u.as_deref(), lin, signed);
                } else {
                    exact[i & 1] = Some(self.widen_running(n, base, lin, signed));
                }
            }
        }
        if exact.iter().any(Option::is_some) {
            let base = self.widened(inst, &values, &exact);
            let u = lin.form.q.is_some().then(|| self.second(inst, &values));
            self.assign(inst, Val::Lin { base, u: u.flatten(), lin: lin.clone() });
            return true;
        }
        if may_narrow(inst) && lin.constant.is_none() && !lin.is_uniform() {
            return self.narrowed(n, inst, &values, lin);
        }
        let u = lin.form.q.is_some().then(|| self.second(inst, &values));
        debug_assert!(u.as_ref().is_none_or(Option::is_some), "{:?} has no second scalar", inst.op);
        let name = match lin.constant {
            Some(bits) => super::value::literal(result_class(inst), bits),
            None => {
                let Some(name) = self.lanewise(inst, false) else { return false };
                name
            }
        };
        self.assign(inst, Val::Lin { base: name, u: u.flatten(), lin: lin.clone() });
        true
    }

    /// A uniform result that only a handler makes: in all lanes, of which one is read.
    fn uniform_by_handler(&mut self, n: usize, inst: &Inst) -> bool {
        if inst.guard.is_some() || inst.dsts.len() != 1 {
            return false;
        }
        for &v in &inst.srcs {
            if let Value::Reg(r) = v {
                self.spill_whole(r);
            }
        }
        let keep = (!self.all()).then(|| std::mem::replace(&mut self.mask, "-1".to_owned()));
        let pc = self.pc(n);
        let status = self.call_handler(pc, "-1");
        let ok = self.ins(format!("icmp eq i32 {status}, 0"));
        self.expect(&ok, "fault");
        let d = inst.dsts[0];
        let v = self.load_plane(d, false);
        if let Some(mask) = keep {
            self.mask = mask;
        }
        self.put(d, v);
        true
    }

    /// Leaves for good unless a linear 32-bit value is the same in 64 bits.
    fn check_widening(&mut self, n: usize, base: &str, u: Option<&str>, lin: &Lin, signed: bool) {
        if u.is_none() {
            return self.check_carry(n, base, lin, signed);
        }
        let ext = if signed { "sext" } else { "zext" };
        let base = self.ins(format!("{ext} i32 {base} to i64"));
        let u = u.map(|u| self.ins(format!("sext i32 {u} to i64")));
        let range = (if signed { i64::from(i32::MIN) } else { 0 }, 1 << 32);
        self.check_range(n, &base, u.as_deref(), lin, range);
    }

    /// [`Gen::check_widening`] of a value with one scalar: whether that is far enough from where numbers of 32 bits wrap.
    fn check_carry(&mut self, n: usize, base: &str, lin: &Lin, signed: bool) {
        let low = lin.form.pat.iter().copied().min().unwrap_or(0).min(0);
        let high = lin.form.pat.iter().copied().max().unwrap_or(0).max(0);
        let (least, most) = match signed {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        let (from, to) = (least.saturating_sub(low), most.saturating_sub(high));
        let sign = if signed { 's' } else { 'u' };
        let ok = match (low, high) {
            _ if from > to => "false".to_owned(),
            (0, 0) => return,
            (0, _) => self.ins(format!("icmp {sign}le i32 {base}, {}", to as i32)),
            (_, 0) => self.ins(format!("icmp {sign}ge i32 {base}, {}", from as i32)),
            _ => {
                let above = self.ins(format!("sub i32 {base}, {}", from as i32));
                self.ins(format!("icmp ule i32 {above}, {}", (to - from) as u32 as i32))
            }
        };
        let exit = self.exit(Reason::Never, n, None);
        self.expect(&ok, &exit);
    }

    /// Leaves for good unless all lanes of a linear value, whose scalars have 64 bits, lie in a range: its least number,
    /// and how many there are.
    fn check_range(
        &mut self,
        n: usize,
        base: &str,
        u: Option<&str>,
        lin: &Lin,
        (from, count): (i64, u64),
    ) {
        let least = lin.form.pat.iter().copied().min().unwrap_or(0);
        let most = lin.form.pat.iter().copied().max().unwrap_or(0);
        let (mut low, mut high) = (
            self.ins(format!("add i64 {base}, {least}")),
            self.ins(format!("add i64 {base}, {most}")),
        );
        if let (Some(u), Some(q)) = (u, &lin.form.q) {
            let (qmin, qmax) = (q.iter().min().unwrap_or(&0), q.iter().max().unwrap_or(&0));
            let a = self.ins(format!("mul i64 {u}, {qmin}"));
            let b = self.ins(format!("mul i64 {u}, {qmax}"));
            self.declare("declare i64 @llvm.smin.i64(i64, i64)");
            self.declare("declare i64 @llvm.smax.i64(i64, i64)");
            let lower = self.ins(format!("call i64 @llvm.smin.i64(i64 {a}, i64 {b})"));
            let upper = self.ins(format!("call i64 @llvm.smax.i64(i64 {a}, i64 {b})"));
            low = self.ins(format!("add i64 {low}, {lower}"));
            high = self.ins(format!("add i64 {high}, {upper}"));
        }
        if from != 0 {
            low = self.ins(format!("sub i64 {low}, {from}"));
            high = self.ins(format!("sub i64 {high}, {from}"));
        }
        let a = self.ins(format!("icmp ult i64 {low}, {count}"));
        let b = self.ins(format!("icmp ult i64 {high}, {count}"));
        let ok = self.ins(format!("and i1 {a}, {b}"));
        let exit = self.exit(Reason::Never, n, None);
        self.expect(&ok, &exit);
    }

    /// The first lane that runs, and how far behind it the last one is; as `i32`.
    fn running_span(&mut self) -> (String, String) {
        self.declare("declare i32 @llvm.cttz.i32(i32, i1)");
        self.declare("declare i32 @llvm.ctlz.i32(i32, i1)");
        let mask = self.mask.clone();
        let first = self.ins(format!("call i32 @llvm.cttz.i32(i32 {mask}, i1 true)"));
        let above = self.ins(format!("call i32 @llvm.ctlz.i32(i32 {mask}, i1 true)"));
        let last = self.ins(format!("sub i32 31, {above}"));
        let lanes = self.ins(format!("sub i32 {last}, {first}"));
        (first, lanes)
    }

    /// Lane 0's number of a value with even steps, told from the first lane that runs; leaves for good unless all lanes
    /// that run lie in a range, as in [`Gen::check_range`].
    fn base_from_running(
        &mut self,
        n: usize,
        value: &str,
        (first, lanes): (&str, &str),
        step: i64,
        (from, count): (i64, u64),
    ) -> String {
        let lanes = self.ins(format!("zext i32 {lanes} to i64"));
        let span = self.ins(format!("mul i64 {lanes}, {step}"));
        let mut high = self.ins(format!("add i64 {value}, {span}"));
        if from != 0 {
            high = self.ins(format!("sub i64 {high}, {from}"));
        }
        let ok = self.ins(format!("icmp ult i64 {high}, {count}"));
        let exit = self.exit(Reason::Never, n, None);
        self.expect(&ok, &exit);
        let first = self.ins(format!("zext i32 {first} to i64"));
        let skip = self.ins(format!("mul i64 {first}, {step}"));
        self.ins(format!("sub i64 {value}, {skip}"))
    }

    /// The 64-bit base of a 32-bit value with even steps that is the same in 64 bits in the lanes that
    /// run; leaves for good if it is not.
    fn widen_running(&mut self, n: usize, base: &str, lin: &Lin, signed: bool) -> String {
        let ext = if signed { "sext" } else { "zext" };
        let step = even_step(lin).unwrap_or(0);
        let (first, lanes) = self.running_span();
        let skip = self.ins(format!("mul i32 {first}, {step}"));
        let value = self.ins(format!("add i32 {base}, {skip}"));
        let value = self.ins(format!("{ext} i32 {value} to i64"));
        let range = (if signed { i64::from(i32::MIN) } else { 0 }, 1 << 32);
        self.base_from_running(n, &value, (&first, &lanes), step, range)
    }

    /// A value that keeps its steps where the op takes nothing but zeros or sign bits from it, and leaves for good else.
    fn narrowed(&mut self, n: usize, inst: &Inst, values: &[Val], lin: &Rc<Lin>) -> bool {
        let range = narrowed_range(inst);
        let Some(Val::Lin { base, u, lin: own }) = values.first() else { return false };
        let op = |gen_: &mut Self, base: &str| match (inst.op, inst.srcs[1]) {
            (Op::ShrS, Value::Imm(by)) => gen_.ins(format!("ashr i64 {base}, {by}")),
            _ => gen_.ins(format!("and i64 {base}, {}", u32::MAX)),
        };
        // A running warp's lanes alone count where they can be told by their first and last.
        if !self.all()
            && u.is_none()
            && let Some(step) = even_step(lin)
        {
            let (first, lanes) = self.running_span();
            let wide = self.ins(format!("zext i32 {first} to i64"));
            let skip = self.ins(format!("mul i64 {wide}, {}", own.form.pat[1]));
            let value = self.ins(format!("add i64 {base}, {skip}"));
            let value = op(self, &value);
            let base = self.base_from_running(n, &value, (&first, &lanes), step, range);
            self.assign(inst, Val::Lin { base, u: None, lin: lin.clone() });
            return true;
        }
        let base = op(self, base);
        let u = u.as_ref().map(|u| match inst.op {
            Op::ShrS => op(self, u),
            _ => u.clone(),
        });
        if let Some(u) = &u {
            self.check_range(n, u, None, &Lin::uniform(), SECOND);
        }
        self.check_range(n, &base, u.as_deref(), lin, range);
        self.assign(inst, Val::Lin { base, u, lin: lin.clone() });
        true
    }

    /// The base of a widening op whose operands' 64-bit bases are `exact` where they are given.
    fn widened(&mut self, inst: &Inst, v: &[Val], exact: &[Option<String>; 2]) -> String {
        let signed = matches!(inst.op, Op::SExt | Op::MulWideS | Op::MadWideS);
        let ext = if signed { "sext" } else { "zext" };
        let base = |v: &Val| match v {
            Val::Lin { base, .. } => base.clone(),
            Val::Vec { name, .. } => name.clone(),
        };
        let mut wide = |n: usize| match &exact[n] {
            Some(name) => name.clone(),
            None => self.ins(format!("{ext} i32 {} to i64", base(&v[n]))),
        };
        let x = wide(0);
        if matches!(inst.op, Op::SExt | Op::ZExt) {
            return x;
        }
        let y = wide(1);
        let product = self.ins(format!("mul i64 {x}, {y}"));
        match v.get(2) {
            Some(c) => self.ins(format!("add i64 {product}, {}", base(c))),
            None => product,
        }
    }

    /// The second scalar of a linear result.
    fn second(&mut self, inst: &Inst, v: &[Val]) -> Option<String> {
        let class = result_class(inst);
        let ty = scalar(class);
        let parts = |v: &Val| match v {
            Val::Lin { base, u, lin } => (base.clone(), u.clone(), lin.clone()),
            Val::Vec { name, .. } => (name.clone(), None, Rc::new(Lin::uniform())),
        };
        match inst.op {
            Op::Mov | Op::Cvta | Op::CvtaTo => parts(&v[0]).1,
            Op::Select => {
                let p = parts(&v[2]).0;
                let (a, b) = (parts(&v[0]).1?, parts(&v[1]).1?);
                Some(self.ins(format!("select i1 {p}, {ty} {a}, {ty} {b}")))
            }
            // With zero, which has none.
            Op::Or | Op::Xor => parts(&v[0]).1.or(parts(&v[1]).1),
            Op::Add => self.sum_second(ty, parts(&v[0]).1, parts(&v[1]).1, false),
            Op::Sub => self.sum_second(ty, parts(&v[0]).1, parts(&v[1]).1, true),
            Op::SExt | Op::ZExt => {
                let u = parts(&v[0]).1?;
                Some(self.ins(format!("sext i32 {u} to i64")))
            }
            Op::Trunc => {
                let u = parts(&v[0]).1?;
                Some(self.ins(format!("trunc i64 {u} to i32")))
            }
            Op::Shl => {
                let (u, n) = (parts(&v[0]).1?, parts(&v[1]).2.constant?);
                Some(self.ins(format!("shl {ty} {u}, {n}")))
            }
            Op::Mul | Op::Mad | Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU => {
                let wide = !matches!(inst.op, Op::Mul | Op::Mad);
                let (x, y) = (parts(&v[0]), parts(&v[1]));
                let (x, y) = if y.2.is_uniform() { (x, y) } else { (y, x) };
                let mut by = y.0.clone();
                if wide {
                    let signed = matches!(inst.op, Op::MulWideS | Op::MadWideS);
                    let ext = if signed { "sext" } else { "zext" };
                    by = self.ins(format!("{ext} i32 {by} to i64"));
                }
                let product = match (&x.1, x.2.is_uniform()) {
                    (Some(u), _) => {
                        let mut u = u.clone();
                        if wide {
                            u = self.ins(format!("sext i32 {u} to i64"));
                        }
                        Some(self.ins(format!("mul {ty} {u}, {by}")))
                    }
                    (None, false) if y.2.constant.is_none() => {
                        let (g, _) = factor(&x.2.form.pat)?;
                        Some(self.ins(format!("mul {ty} {by}, {g}")))
                    }
                    _ => None,
                };
                let addend = v.get(2).and_then(|c| parts(c).1);
                self.sum_second(ty, product, addend, false)
            }
            _ => None,
        }
    }

    /// Four bytes of two words, by a selector of four nibbles.
    fn permute(&mut self, inst: &Inst, x: &str, y: &str, selector: &str, wide: bool) -> String {
        let word = typed("i32", wide);
        let k = |v: i64| constant("i32", v, wide);
        if let Some(&Value::Imm(selector)) = inst.srcs.get(2) {
            let lanes = if wide { LANES } else { 1 };
            let bytes = format!("<{} x i8>", lanes * 4);
            let nibble = |n: usize| (selector >> (4 * (n % 4)) & 15) as usize;
            let [a, b] = [x, y].map(|v| self.ins(format!("bitcast {word} {v} to {bytes}")));
            let from = |n: usize| {
                let own = n / 4 * 4 + (nibble(n) & 3);
                own + if nibble(n) & 4 == 0 { 0 } else { lanes * 4 }
            };
            let pick = vector_of("i32", (0..lanes * 4).map(|n| from(n) as i64));
            let mut v = self.ins(format!(
                "shufflevector {bytes} {a}, {bytes} {b}, <{} x i32> {pick}",
                lanes * 4
            ));
            if (0..4).any(|n| nibble(n) & 8 != 0) {
                // These give the byte's sign eight times.
                let by = vector_of("i8", (0..lanes * 4).map(|n| (nibble(n) as i64 >> 3) * 7));
                v = self.ins(format!("ashr {bytes} {v}, {by}"));
            }
            return self.ins(format!("bitcast {bytes} {v} to {word}"));
        }
        let long = typed("i64", wide);
        let [low, high] = [x, y].map(|v| self.ins(format!("zext {word} {v} to {long}")));
        let high = self.ins(format!("shl {long} {high}, {}", constant("i64", 32, wide)));
        let both = self.ins(format!("or {long} {high}, {low}"));
        let mut result = k(0);
        for n in 0..4 {
            let own = self.ins(format!("lshr {word} {selector}, {}", k(4 * n)));
            let place = self.ins(format!("and {word} {own}, {}", k(7)));
            let place = self.ins(format!("shl {word} {place}, {}", k(3)));
            let place = self.ins(format!("zext {word} {place} to {long}"));
            let moved = self.ins(format!("lshr {long} {both}, {place}"));
            let moved = self.ins(format!("trunc {long} {moved} to {word}"));
            // All bits of this are the byte's sign.
            let top = self.ins(format!("shl {word} {moved}, {}", k(24)));
            let sign = self.ins(format!("ashr {word} {top}, {}", k(31)));
            let signed = self.ins(format!("and {word} {own}, {}", k(8)));
            let signed = self.ins(format!("icmp ne {word} {signed}, {}", k(0)));
            let byte = self.ins(format!(
                "select {} {signed}, {word} {sign}, {word} {moved}",
                typed("i1", wide)
            ));
            let byte = self.ins(format!("and {word} {byte}, {}", k(255)));
            let byte = self.ins(format!("shl {word} {byte}, {}", k(8 * n)));
            result = self.ins(format!("or {word} {result}, {byte}"));
        }
        result
    }

    fn sum_second(
        &mut self,
        ty: &str,
        a: Option<String>,
        b: Option<String>,
        subtract: bool,
    ) -> Option<String> {
        let op = if subtract { "sub" } else { "add" };
        match (a, b) {
            (a, None) => a,
            (None, Some(b)) => Some(self.ins(format!("{op} {ty} 0, {b}"))),
            (Some(a), Some(b)) => Some(self.ins(format!("{op} {ty} {a}, {b}"))),
        }
    }

    /// A varying address as a scalar and 32-bit indices, if the op makes one.
    pub fn address_form(&mut self, inst: &Inst) -> Option<Addr> {
        if inst.ty != Ty::I64
            && !matches!(inst.op, Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU)
        {
            return None;
        }
        if inst.guard.is_some() || !inst.srcs.iter().any(|v| matches!(v, Value::Reg(_))) {
            return None;
        }
        let values: Vec<Val> =
            (0..inst.srcs.len()).map(|n| self.bits(inst.srcs[n], operand_class(inst, n))).collect();
        let constant = |v: &Val| match v {
            Val::Lin { lin, .. } if lin.is_uniform() => lin.constant,
            Val::Lin { .. } | Val::Vec { .. } => None,
        };
        let uniform = |v: &Val| match v {
            Val::Lin { base, lin, .. } if lin.is_uniform() => Some(base.clone()),
            Val::Lin { .. } | Val::Vec { .. } => None,
        };
        match inst.op {
            Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU => {
                let (x, k) = match (&values[0], constant(&values[1])) {
                    (Val::Vec { name, .. }, Some(k)) => (name.clone(), k),
                    _ => return None,
                };
                let signed = matches!(inst.op, Op::MulWideS | Op::MadWideS);
                let scale = k as u32 as i32 as i64;
                let of = |base| Addr { base, index: x, scale, signed };
                match values.get(2) {
                    Some(Val::Lin { base, lin, .. }) if lin.is_uniform() => Some(of(base.clone())),
                    Some(Val::Lin { base, lin, .. }) => {
                        self.with_steps(&of("0".to_owned()), base, lin)
                    }
                    Some(Val::Vec { .. }) => None,
                    None => Some(of("0".to_owned())),
                }
            }
            Op::SExt | Op::ZExt if inst.from == Ty::I32 => match &values[0] {
                Val::Vec { name, .. } => Some(Addr {
                    base: "0".to_owned(),
                    index: name.clone(),
                    scale: 1,
                    signed: inst.op == Op::SExt,
                }),
                Val::Lin { .. } => None,
            },
            Op::Add => {
                let (a, other) = match (&values[0], &values[1]) {
                    (Val::Vec { addr: Some(a), .. }, b) | (b, Val::Vec { addr: Some(a), .. }) => {
                        (a.clone(), b)
                    }
                    _ => return None,
                };
                let Some(base) = uniform(other) else {
                    let Val::Lin { base, lin, .. } = other else { return None };
                    return self.with_steps(&a, base, lin);
                };
                let base = self.ins(format!("add i64 {}, {base}", a.base));
                Some(Addr { base, ..(*a).clone() })
            }
            Op::Shl => {
                let Val::Vec { addr: Some(a), .. } = &values[0] else { return None };
                let n = constant(&values[1]).filter(|&n| n < 16)?;
                let base = self.ins(format!("shl i64 {}, {n}", a.base));
                Some(Addr { base, scale: a.scale << n, ..(**a).clone() })
            }
            _ => None,
        }
    }

    /// Exclusive or of lanes' flags in mask registers. LLVM 19 turns the negation of one whose operands come from words
    /// (`bitcast i32`) into a word's and back without end: seeds 8005000204, 8008000174 and 8014000157 of the fuzzer. So it does
    /// with an or of flags and one of the same flags' negation: seed 31500000000357.
    pub(super) fn xor_flags(&mut self, x: &str, y: &str) -> String {
        let [x, y] = [x, y].map(|v| self.ins(format!("bitcast <32 x i1> {v} to i32")));
        let word = self.ins(format!("xor i32 {x}, {y}"));
        let opaque = self.ins(format!("call i32 asm \"\", \"=r,0\"(i32 {word})"));
        self.flags(&opaque)
    }

    /// The lowering of an op on arguments of one lane or of all.
    fn op(&mut self, inst: &Inst, a: &[String], wide: bool) -> Option<String> {
        if inst.op >= Op::FAdd {
            return self.float_op(inst, a, wide);
        }
        let ty = int_type(inst.ty);
        let bits = inst.ty.bits();
        let class = inst.ty.class();
        let t = typed(ty, wide);
        // Narrow types work at their width and come back zero-extended.
        let narrow = bits < 32 && class == Class::W;
        let args: Vec<String> = a
            .iter()
            .enumerate()
            .map(|(n, x)| {
                let own = matches!(inst.op.info().srcs.get(n), Some(margay_ir::Slot::T));
                if narrow && own {
                    self.ins(format!("trunc {} {x} to {t}", typed("i32", wide)))
                } else {
                    x.clone()
                }
            })
            .collect();
        let (x, y) =
            (args.first().cloned().unwrap_or_default(), args.get(1).cloned().unwrap_or_default());
        let k = |v: i64| constant(ty, v, wide);
        let it = typed("i32", wide);
        let result = match inst.op {
            Op::Prmt => self.permute(inst, &x, &y, &args[2], wide),
            Op::Mov => x,
            Op::Select => {
                let p = typed("i1", wide);
                self.ins(format!("select {p} {}, {t} {x}, {t} {y}", args[2]))
            }
            Op::PAnd => self.ins(format!("and {t} {x}, {y}")),
            Op::POr => self.ins(format!("or {t} {x}, {y}")),
            Op::PXor if wide && self.vector_bits == 512 => self.xor_flags(&x, &y),
            Op::PXor => self.ins(format!("xor {t} {x}, {y}")),
            Op::PNot if wide && self.vector_bits == 512 => self.xor_flags(&x, "splat (i1 true)"),
            Op::PNot => {
                let one = constant("i1", "true", wide);
                self.ins(format!("xor {t} {x}, {one}"))
            }
            Op::Add => self.ins(format!("add {t} {x}, {y}")),
            Op::Sub => self.ins(format!("sub {t} {x}, {y}")),
            Op::Mul => self.ins(format!("mul {t} {x}, {y}")),
            Op::Mad => {
                let p = self.ins(format!("mul {t} {x}, {y}"));
                self.ins(format!("add {t} {p}, {}", args[2]))
            }
            Op::And => self.ins(format!("and {t} {x}, {y}")),
            Op::Or => self.ins(format!("or {t} {x}, {y}")),
            Op::Xor => self.ins(format!("xor {t} {x}, {y}")),
            Op::Not => self.ins(format!("xor {t} {x}, {}", k(-1))),
            Op::Neg => self.ins(format!("sub {t} {}, {x}", k(0))),
            Op::Abs => self.call(&format!("abs{}", suffix(ty, wide)), &t, &[&x], ", i1 false"),
            Op::MinS => self.call(&format!("smin{}", suffix(ty, wide)), &t, &[&x, &y], ""),
            Op::MaxS => self.call(&format!("smax{}", suffix(ty, wide)), &t, &[&x, &y], ""),
            Op::MinU => self.call(&format!("umin{}", suffix(ty, wide)), &t, &[&x, &y], ""),
            Op::MaxU => self.call(&format!("umax{}", suffix(ty, wide)), &t, &[&x, &y], ""),
            Op::AddSatS => self.call(&format!("sadd.sat{}", suffix(ty, wide)), &t, &[&x, &y], ""),
            Op::SubSatS => self.call(&format!("ssub.sat{}", suffix(ty, wide)), &t, &[&x, &y], ""),
            Op::MulHiS | Op::MulHiU => {
                let ext = if inst.op == Op::MulHiS { "sext" } else { "zext" };
                let double = typed(&format!("i{}", bits * 2), wide);
                let p = self.ins(format!("{ext} {t} {x} to {double}"));
                let q = self.ins(format!("{ext} {t} {y} to {double}"));
                let m = self.ins(format!("mul {double} {p}, {q}"));
                let by = constant(&format!("i{}", bits * 2), bits, wide);
                let h = self.ins(format!("lshr {double} {m}, {by}"));
                self.ins(format!("trunc {double} {h} to {t}"))
            }
            Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU => {
                let signed = matches!(inst.op, Op::MulWideS | Op::MadWideS);
                let ext = if signed { "sext" } else { "zext" };
                let d = typed("i64", wide);
                let p = self.ins(format!("{ext} {t} {x} to {d}"));
                let q = self.ins(format!("{ext} {t} {y} to {d}"));
                let m = self.ins(format!("mul {d} {p}, {q}"));
                match args.get(2) {
                    Some(c) => self.ins(format!("add {d} {m}, {c}")),
                    None => m,
                }
            }
            Op::Shl | Op::ShrU => {
                // The amount is a word of its own.
                let amount = self.resize(&y, 32, bits, wide);
                let most = constant("i32", bits, wide);
                let fits = self.ins(format!("icmp ult {it} {y}, {most}"));
                let op = if inst.op == Op::Shl { "shl" } else { "lshr" };
                let low = self.ins(format!("and {t} {amount}, {}", k(bits as i64 - 1)));
                let r = self.ins(format!("{op} {t} {x}, {low}"));
                self.ins(format!("select {} {fits}, {t} {r}, {t} {}", typed("i1", wide), k(0)))
            }
            Op::ShrS => {
                let most = constant("i32", bits - 1, wide);
                let n = self.call(&format!("umin{}", suffix("i32", wide)), &it, &[&y, &most], "");
                let n = self.resize(&n, 32, bits, wide);
                self.ins(format!("ashr {t} {x}, {n}"))
            }
            Op::ShfL | Op::ShfR => self.funnel(inst, &args, wide)?,
            Op::Lop3 => {
                let Attr::Lop3(table) = inst.attr else { return None };
                self.lop3(table, &args, wide)
            }
            Op::Popc | Op::Clz => {
                let (name, more) =
                    if inst.op == Op::Popc { ("ctpop", "") } else { ("ctlz", ", i1 false") };
                let r = self.call(&format!("{name}{}", suffix(ty, wide)), &t, &[&x], more);
                return Some(self.resize(&r, bits, 32, wide));
            }
            Op::BRev => self.call(&format!("bitreverse{}", suffix(ty, wide)), &t, &[&x], ""),
            Op::BFindU | Op::BFindS => {
                let mut v = x;
                if inst.op == Op::BFindS {
                    let sign = self.ins(format!("ashr {t} {v}, {}", k(bits as i64 - 1)));
                    v = self.ins(format!("xor {t} {v}, {sign}"));
                }
                let z = self.call(&format!("ctlz{}", suffix(ty, wide)), &t, &[&v], ", i1 false");
                // 31 - 32 is the answer for none.
                let r = self.ins(format!("sub {t} {}, {z}", k(bits as i64 - 1)));
                return Some(self.resize(&r, bits, 32, wide));
            }
            Op::BfeS | Op::BfeU => {
                let (start, length) = field(inst, 1)?;
                let (start, end) = (start as i64, (start + length).min(bits) as i64);
                if length == 0 {
                    k(0)
                } else {
                    // The field goes to the top, and from there to the bottom.
                    let up = self.ins(format!("shl {t} {x}, {}", k(bits as i64 - end)));
                    let op = if inst.op == Op::BfeS { "ashr" } else { "lshr" };
                    self.ins(format!("{op} {t} {up}, {}", k(bits as i64 - (end - start))))
                }
            }
            Op::Bfi => {
                let (start, length) = field(inst, 2)?;
                let end = (start + length).min(bits);
                let ones = |n: u32| if n >= 64 { u64::MAX } else { (1u64 << n) - 1 };
                let mask = ones(end) & !ones(start);
                let cut = |m: u64| crate::shape::wrap(m as i64, bits);
                let moved = self.ins(format!("shl {t} {x}, {}", k(start as i64)));
                let new = self.ins(format!("and {t} {moved}, {}", k(cut(mask))));
                let old = self.ins(format!("and {t} {y}, {}", k(cut(!mask))));
                self.ins(format!("or {t} {new}, {old}"))
            }
            Op::DivS | Op::DivU | Op::RemS | Op::RemU => self.divide(inst.op, bits, &x, &y, wide),
            Op::ICmp => {
                let Attr::IntCmp(cmp) = inst.attr else { return None };
                return Some(self.ins(format!("icmp {} {t} {x}, {y}", predicate(cmp))));
            }
            Op::SExt | Op::ZExt | Op::Trunc => {
                let from = inst.from.bits();
                let have = if inst.from.class() == Class::D { 64 } else { 32 };
                let want = if class == Class::D { 64 } else { 32 };
                let raw = a[0].clone();
                let low = self.resize(&raw, have, from, wide);
                let r = if inst.op == Op::SExt && from < bits {
                    let (f, t) =
                        (typed(&format!("i{from}"), wide), typed(&format!("i{bits}"), wide));
                    self.ins(format!("sext {f} {low} to {t}"))
                } else {
                    self.resize(&low, from, bits, wide)
                };
                return Some(self.resize(&r, bits, want, wide));
            }
            _ => return None,
        };
        if narrow {
            return Some(self.ins(format!("zext {t} {result} to {}", typed("i32", wide))));
        }
        Some(result)
    }

    /// Cuts or zero-extends.
    pub fn resize(&mut self, x: &str, from: u32, to: u32, wide: bool) -> String {
        let (f, t) = (typed(&format!("i{from}"), wide), typed(&format!("i{to}"), wide));
        match from.cmp(&to) {
            std::cmp::Ordering::Less => self.ins(format!("zext {f} {x} to {t}")),
            std::cmp::Ordering::Equal => x.to_owned(),
            std::cmp::Ordering::Greater => self.ins(format!("trunc {f} {x} to {t}")),
        }
    }

    /// Calls an intrinsic whose operands all have the result's type.
    pub fn call(&mut self, name: &str, ty: &str, args: &[&str], more: &str) -> String {
        let types: Vec<&str> = args.iter().map(|_| ty).collect();
        let extra = if more.is_empty() { "" } else { ", i1" };
        self.declare(format!("declare {ty} @llvm.{name}({}{extra})", types.join(", ")));
        let list: Vec<String> = args.iter().map(|a| format!("{ty} {a}")).collect();
        self.ins(format!("call {ty} @llvm.{name}({}{more})", list.join(", ")))
    }

    /// Quotients and remainders, with what a card gives for a division by zero.
    fn divide(&mut self, op: Op, bits: u32, x: &str, y: &str, wide: bool) -> String {
        let signed = matches!(op, Op::DivS | Op::RemS);
        let name = format!("i{bits}");
        let t = typed(&name, wide);
        let p = typed("i1", wide);
        let k = |v: i64| constant(&name, v, wide);
        let zero = self.ins(format!("icmp eq {t} {y}, {}", k(0)));
        let q = if wide && bits == 64 {
            self.divide_lanes(signed, x, y)
        } else {
            let mut by = self.ins(format!("select {p} {zero}, {t} {}, {t} {y}", k(1)));
            let mut minus = None;
            if signed {
                // The quotient by -1 overflows for the least number, so it is a negation instead.
                let m = self.ins(format!("icmp eq {t} {y}, {}", k(-1)));
                by = self.ins(format!("select {p} {m}, {t} {}, {t} {by}", k(1)));
                minus = Some(m);
            }
            let q = if wide {
                // Through doubles, whose quotient is never rounded across an integer.
                let d = typed("double", wide);
                let (to, from) = if signed { ("sitofp", "fptosi") } else { ("uitofp", "fptoui") };
                let a = self.ins(format!("{to} {t} {x} to {d}"));
                let b = self.ins(format!("{to} {t} {by} to {d}"));
                let q = self.ins(format!("fdiv {d} {a}, {b}"));
                self.ins(format!("{from} {d} {q} to {t}"))
            } else {
                let op = if signed { "sdiv" } else { "udiv" };
                self.ins(format!("{op} {t} {x}, {by}"))
            };
            match minus {
                Some(m) => {
                    let n = self.ins(format!("sub {t} {}, {x}", k(0)));
                    self.ins(format!("select {p} {m}, {t} {n}, {t} {q}"))
                }
                None => q,
            }
        };
        let r = if matches!(op, Op::RemS | Op::RemU) {
            let whole = self.ins(format!("mul {t} {q}, {y}"));
            self.ins(format!("sub {t} {x}, {whole}"))
        } else {
            q
        };
        self.ins(format!("select {p} {zero}, {t} {}, {t} {r}", k(-1)))
    }

    /// Quotients of 64 bits, of any value where the divisor is 0.
    ///
    /// The divisor is made at least 1 by `umax`, never by a `select`: LLVM 19 takes both arms of a `select` apart, and where it
    /// knows that a lane of one arm is 0 that arm has no meaning in *any* lane (`divide_by_lane.ptx`). Signed ones are those of the
    /// magnitudes, whose quotient by 1 overflows into what a negation gives.
    fn divide_lanes(&mut self, signed: bool, x: &str, y: &str) -> String {
        let t = typed("i64", true);
        let k = |v: i64| constant("i64", v, true);
        let magnitude = |emit: &mut Self, v: &str| match signed {
            true => emit.call(&format!("abs{}", suffix("i64", true)), &t, &[v], ", i1 false"),
            false => v.to_owned(),
        };
        let (a, b) = (magnitude(self, x), magnitude(self, y));
        let by = self.call(&format!("umax{}", suffix("i64", true)), &t, &[&b, &k(1)], "");
        let q = self.ins(format!("udiv {t} {a}, {by}"));
        if !signed {
            return q;
        }
        let signs = self.ins(format!("xor {t} {x}, {y}"));
        let differ = self.ins(format!("icmp slt {t} {signs}, {}", k(0)));
        let minus = self.ins(format!("sub {t} {}, {q}", k(0)));
        self.ins(format!("select {} {differ}, {t} {minus}, {t} {q}", typed("i1", true)))
    }

    fn funnel(&mut self, inst: &Inst, a: &[String], wide: bool) -> Option<String> {
        let Attr::Clamp(clamp) = inst.attr else { return None };
        let t = typed("i32", wide);
        let name = if inst.op == Op::ShfL { "fshl" } else { "fshr" };
        let mut turned =
            self.call(&format!("{name}{}", suffix("i32", wide)), &t, &[&a[1], &a[0], &a[2]], "");
        if wide && a[0] != a[1] {
            // LLVM 19 makes shifts by 32 of known amounts of which only some are none (`funnel_by_lane.ptx`).
            let amount = self.ins(format!("and {t} {}, {}", a[2], constant("i32", 31, wide)));
            let none = self.ins(format!("icmp eq {t} {amount}, {}", constant("i32", 0, wide)));
            let same = if inst.op == Op::ShfL { &a[1] } else { &a[0] };
            turned = self.ins(format!("select <32 x i1> {none}, {t} {same}, {t} {turned}"));
        }
        if !clamp {
            return Some(turned);
        }
        // From 32 on: the whole other word.
        let most = constant("i32", 32, wide);
        let fits = self.ins(format!("icmp ult {t} {}, {most}", a[2]));
        let other = if inst.op == Op::ShfL { &a[0] } else { &a[1] };
        Some(self.ins(format!("select {} {fits}, {t} {turned}, {t} {other}", typed("i1", wide))))
    }

    /// Three-input logic as its sum of products; LLVM finds the one instruction.
    fn lop3(&mut self, table: u8, a: &[String], wide: bool) -> String {
        let t = typed("i32", wide);
        let ones = constant("i32", -1, wide);
        let not: Vec<String> = a.iter().map(|x| self.ins(format!("xor {t} {x}, {ones}"))).collect();
        let mut sum: Option<String> = None;
        for i in 0..8 {
            if table >> i & 1 == 0 {
                continue;
            }
            let pick = |n: usize, bit: u32| if i >> bit & 1 != 0 { &a[n] } else { &not[n] };
            let (x, y, z) = (pick(0, 2).clone(), pick(1, 1).clone(), pick(2, 0).clone());
            let xy = self.ins(format!("and {t} {x}, {y}"));
            let term = self.ins(format!("and {t} {xy}, {z}"));
            sum = Some(match sum {
                Some(s) => self.ins(format!("or {t} {s}, {term}")),
                None => term,
            });
        }
        sum.unwrap_or_else(|| constant("i32", 0, wide))
    }

    /// A special register, if code is made for it.
    pub fn special(&mut self, n: usize, inst: &Inst) -> bool {
        let _ = n;
        let Attr::Sreg(s) = inst.attr else { return false };
        if inst.ty != Ty::I32 {
            return false;
        }
        let shape = crate::analysis::sreg(s, self.options);
        let lin = match &shape {
            Shape::Lin(lin) => Some(lin.clone()),
            Shape::None | Shape::Varying => None,
        };
        if let Some(lin) = &lin
            && let Some(bits) = lin.constant
        {
            let base = super::value::literal(Class::W, bits);
            self.assign(inst, Val::Lin { base, u: None, lin: lin.clone() });
            return true;
        }
        let [bx, by, _] = self.options.block;
        let base = match s {
            Sreg::CtaId(d) => self.ins(format!("load i32, ptr %c{}", d % 3)),
            Sreg::NCtaId(d) => self.io_load("i32", io!(nctaid) + 4 * (d as usize % 3)),
            Sreg::EnvReg(n) => self.io_load("i32", io!(envreg) + 4 * n as usize),
            Sreg::WarpId => self.warp_number(32),
            Sreg::NWarpId => self.io_load("i32", io!(warps)),
            Sreg::LaneMaskEq
            | Sreg::LaneMaskLt
            | Sreg::LaneMaskLe
            | Sreg::LaneMaskGt
            | Sreg::LaneMaskGe => {
                let values = (0..LANES as u32).map(|l| {
                    let eq = 1u32 << l;
                    let bits = match s {
                        Sreg::LaneMaskLt => eq - 1,
                        Sreg::LaneMaskLe => eq | (eq - 1),
                        Sreg::LaneMaskGt => !(eq | (eq - 1)),
                        Sreg::LaneMaskGe => !(eq - 1),
                        _ => eq,
                    };
                    bits as i32 as i64
                });
                let name = vector_of("i32", values);
                self.assign(inst, Val::Vec { name, addr: None });
                return true;
            }
            Sreg::Tid(d) => {
                let Some(_) = &lin else {
                    let d = d as usize % 3;
                    let p = if self.options.blocks {
                        let all = self.io_load("ptr", io!(tids));
                        let warp = self.warp_number(64);
                        let own = self.ins(format!("mul i64 {warp}, {}", 3 * 4 * LANES));
                        let at = self.ins(format!("add i64 {own}, {}", d * 4 * LANES));
                        self.ins(format!("getelementptr i8, ptr {all}, i64 {at}"))
                    } else {
                        self.io_load("ptr", io!(tid) + 8 * d)
                    };
                    let ty = vector(Class::W);
                    let name = self.ins(format!("load {ty}, ptr {p}, align 4"));
                    self.assign(inst, Val::Vec { name, addr: None });
                    return true;
                };
                let warp = self.warp_number(32);
                let first = self.ins(format!("mul i32 {warp}, 32"));
                match d {
                    0 if by == 1 && self.options.block[2] == 1 => first,
                    0 => self.ins(format!("urem i32 {first}, {bx}")),
                    1 => {
                        let row = self.ins(format!("udiv i32 {first}, {bx}"));
                        self.ins(format!("urem i32 {row}, {by}"))
                    }
                    _ => self.ins(format!("udiv i32 {first}, {}", bx * by)),
                }
            }
            _ => return false,
        };
        let Some(lin) = lin else { return false };
        self.assign(inst, Val::Lin { base, u: None, lin });
        true
    }
}

/// The distance from lane to lane, if it is the same everywhere and not negative.
fn even_step(lin: &Lin) -> Option<i64> {
    let step = lin.form.pat[1];
    let even = (0..LANES).all(|l| lin.form.pat[l] == step * l as i64);
    (even && lin.form.q.is_none() && (0..1 << 20).contains(&step)).then_some(step)
}

/// An intrinsic's type suffix.
pub fn suffix(ty: &str, wide: bool) -> String {
    if wide { format!(".v32{ty}") } else { format!(".{ty}") }
}
