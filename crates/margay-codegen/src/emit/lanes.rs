// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which lanes a predicate holds for, as a word, where scalars tell: a thread's number compared with a bound is true
//! from the first lane to one that a subtraction gives. Branches look at the word, and the vector is made only
//! where something selects by it.

use margay_ir::{Attr, Inst, IntCmp, Op, Ty};

use super::Gen;
use super::value::Val;
use crate::shape::{Bound, LANES, Lin, Pattern};

/// So many comparisons of scalars are cheaper than one of vectors.
const FEW: usize = 4;

/// The lanes for which a predicate holds.
#[derive(Clone, Debug)]
pub(super) struct LaneBits {
    pub bits: String,
    /// Whether it holds for all 32, or for none, where that is known sooner.
    pub every: Option<String>,
    pub nobody: Option<String>,
}

impl LaneBits {
    fn of(bits: String) -> LaneBits {
        LaneBits { bits, every: None, nobody: None }
    }
}

/// The period of a pattern that counts from 0 in steps of 1, again and again.
fn period(form: &Pattern) -> Option<usize> {
    let counts = |m: usize| (0..LANES).all(|l| form.pat[l] == (l % m) as i64);
    [LANES, LANES / 2, LANES / 4].into_iter().find(|&m| form.q.is_none() && counts(m))
}

impl Gen<'_> {
    /// Keeps which lanes a predicate holds for that was just written as the vector `name`, if scalars tell.
    pub(super) fn note_lanes(&mut self, inst: &Inst, name: &str) {
        let found = match inst.op {
            Op::ICmp => self.compare_scalars(inst),
            Op::PAnd | Op::POr | Op::PXor | Op::PNot => self.combine(inst),
            _ => None,
        };
        if let Some(found) = found {
            self.lane_bits.insert(name.to_owned(), found);
        }
    }

    /// Keeps the word of a predicate's lanes.
    pub(super) fn keep_bits(&mut self, name: &str, bits: String) {
        self.lane_bits.insert(name.to_owned(), LaneBits::of(bits));
    }

    /// The lanes for which the predicate `name` holds.
    pub(super) fn lane_bits(&mut self, name: &str) -> LaneBits {
        match self.lane_bits.get(name) {
            Some(known) => known.clone(),
            None => LaneBits::of(self.ins(format!("bitcast <32 x i1> {name} to i32"))),
        }
    }

    fn compare_scalars(&mut self, inst: &Inst) -> Option<LaneBits> {
        let Attr::IntCmp(cmp) = inst.attr else { return None };
        if inst.ty != Ty::I32 {
            return None;
        }
        let values = self.operands(inst);
        let [Val::Lin { base: x, lin: a, .. }, Val::Lin { base: y, lin: b, .. }] =
            values.as_slice()
        else {
            return None;
        };
        if a.form.q.is_some() || b.form.q.is_some() {
            return None;
        }
        let (x, y, a, b) = (x.clone(), y.clone(), a.clone(), b.clone());
        if let Some(bits) = self.few_values(cmp, &x, &y, &a.form, &b.form) {
            return Some(LaneBits::of(bits));
        }
        let (steps, flipped) = match (a.is_uniform(), b.is_uniform()) {
            (false, true) => (&a, false),
            (true, false) => (&b, true),
            _ => return None,
        };
        let (x, y) = if flipped { (y, x) } else { (x, y) };
        let period = period(&steps.form)?;
        match Bound::of(cmp, flipped) {
            Some(bound) => Some(self.up_to(&bound, &x, &y, steps, period)),
            None => Some(self.the_one(cmp == IntCmp::Ne, &x, &y, period)),
        }
    }

    /// Lanes with few different values: a comparison for each.
    fn few_values(
        &mut self,
        cmp: IntCmp,
        x: &str,
        y: &str,
        a: &Pattern,
        b: &Pattern,
    ) -> Option<String> {
        let mut parts: Vec<((i64, i64), u32)> = Vec::new();
        for l in 0..LANES {
            let pair = (a.pat[l], b.pat[l]);
            match parts.iter_mut().find(|p| p.0 == pair) {
                Some(part) => part.1 |= 1 << l,
                None => parts.push((pair, 1 << l)),
            }
            if parts.len() > FEW {
                return None;
            }
        }
        let mut all: Option<String> = None;
        for ((p, q), lanes) in parts {
            let (x, y) = (self.plus(x, p), self.plus(y, q));
            let holds = self.ins(format!("icmp {} i32 {x}, {y}", super::int::predicate(cmp)));
            let own = self.ins(format!("select i1 {holds}, i32 {}, i32 0", lanes as i32));
            all = Some(match all {
                Some(all) => self.ins(format!("or i32 {all}, {own}")),
                None => own,
            });
        }
        all
    }

    fn plus(&mut self, x: &str, more: i64) -> String {
        if more == 0 { x.to_owned() } else { self.ins(format!("add i32 {x}, {more}")) }
    }

    /// The lanes of `x + lane` below `y`, or the others.
    fn up_to(&mut self, bound: &Bound, x: &str, y: &str, lin: &Lin, period: usize) -> LaneBits {
        let ext = if bound.signed { "sext" } else { "zext" };
        let small = lin.most <= i32::MAX as u64;
        let from = self.ins(format!("{} i32 {x} to i64", if small { "zext" } else { ext }));
        let to = self.ins(format!("{ext} i32 {y} to i64"));
        let mut lanes = self.ins(format!("sub i64 {to}, {from}"));
        if bound.or_equal {
            lanes = self.ins(format!("add i64 {lanes}, 1"));
        }
        let mut bits = self.first_lanes(&lanes, period);
        if !small {
            // Those past the largest value go on from the least.
            let top = if bound.signed { 1i64 << 31 } else { 1i64 << 32 };
            let before = self.ins(format!("sub i64 {top}, {from}"));
            let before = self.first_lanes(&before, period);
            let around = self.ins(format!("add i64 {lanes}, {}", 1i64 << 32));
            let around = self.first_lanes(&around, period);
            let bend = self.ins(format!("xor i32 {before}, -1"));
            let around = self.ins(format!("and i32 {around}, {bend}"));
            bits = self.ins(format!("and i32 {bits}, {before}"));
            bits = self.ins(format!("or i32 {bits}, {around}"));
        }
        let mut found = LaneBits::of(bits);
        if small {
            found.every = Some(self.ins(format!("icmp sge i64 {lanes}, {period}")));
            found.nobody = Some(self.ins(format!("icmp sle i64 {lanes}, 0")));
        }
        if bound.below { found } else { self.others(&found) }
    }

    /// The first so many lanes of each period.
    fn first_lanes(&mut self, lanes: &str, period: usize) -> String {
        self.declare("declare i64 @llvm.smin.i64(i64, i64)");
        self.declare("declare i64 @llvm.smax.i64(i64, i64)");
        let n = self.ins(format!("call i64 @llvm.smax.i64(i64 {lanes}, i64 0)"));
        let n = self.ins(format!("call i64 @llvm.smin.i64(i64 {n}, i64 {period})"));
        let above = self.ins(format!("shl i64 -1, {n}"));
        let own = self.ins(format!("xor i64 {above}, -1"));
        let own = self.ins(format!("trunc i64 {own} to i32"));
        self.repeat(&own, period)
    }

    /// The first lanes' word in all periods.
    fn repeat(&mut self, own: &str, period: usize) -> String {
        let times: u32 = (0..LANES).step_by(period).fold(0, |x, l| x | 1 << l);
        if times == 1 {
            own.to_owned()
        } else {
            self.ins(format!("mul i32 {own}, {}", times as i32))
        }
    }

    /// The lane of each period where `x + lane` is `y`, or the others.
    fn the_one(&mut self, others: bool, x: &str, y: &str, period: usize) -> LaneBits {
        let lane = self.ins(format!("sub i32 {y}, {x}"));
        let nobody = self.ins(format!("icmp uge i32 {lane}, {period}"));
        let low = self.ins(format!("and i32 {lane}, 31"));
        let own = self.ins(format!("shl i32 1, {low}"));
        let own = self.ins(format!("select i1 {nobody}, i32 0, i32 {own}"));
        let bits = self.repeat(&own, period);
        let found = LaneBits { bits, every: Some("false".to_owned()), nobody: Some(nobody) };
        if others { self.others(&found) } else { found }
    }

    fn others(&mut self, b: &LaneBits) -> LaneBits {
        let bits = self.ins(format!("xor i32 {}, -1", b.bits));
        LaneBits { bits, every: b.nobody.clone(), nobody: b.every.clone() }
    }

    /// An op on predicates whose lanes are known.
    fn combine(&mut self, inst: &Inst) -> Option<LaneBits> {
        let mut known = Vec::new();
        for v in self.operands(inst) {
            known.push(match v {
                Val::Vec { name, .. } => self.lane_bits.get(&name)?.clone(),
                Val::Lin { base, .. } => LaneBits::of(self.ins(format!("sext i1 {base} to i32"))),
            });
        }
        let op = match (inst.op, known.as_slice()) {
            (Op::PNot, [x]) => return Some(self.others(&x.clone())),
            (Op::PAnd, [_, _]) => "and",
            (Op::POr, [_, _]) => "or",
            (Op::PXor, [_, _]) => "xor",
            _ => return None,
        };
        let bits = self.ins(format!("{op} i32 {}, {}", known[0].bits, known[1].bits));
        Some(LaneBits::of(bits))
    }
}
