// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ops across lanes. What they give does not depend on who has arrived where all are there, or all that are named by one mask;
//! else the code is left, and the interpreter waits for the others.

use std::rc::Rc;

use margay_ir::{Attr, Class, Inst, Op, ReduxOp, ShflMode, Space, Value, VoteMode};

use super::memory::{Access, Place};
use super::value::Val;
use super::{Gen, vector_of};
use crate::analysis::tells_all_the_same;
use crate::shape::{LANES, Lin, Shape};

impl Gen<'_> {
    /// Writes a warp-wide op. False if it is left to its handler.
    pub fn warp_op(&mut self, n: usize, inst: &Inst) -> bool {
        if inst.guard.is_some() {
            return false;
        }
        let operands: Vec<Shape> = inst.srcs.iter().map(|&v| self.facts.operand(v)).collect();
        let one = tells_all_the_same(inst, &operands);
        match (inst.op, &inst.attr) {
            (Op::ActiveMask, _) => {
                let mask = self.mask.clone();
                self.assign_scalar(inst, mask);
                true
            }
            (Op::BarWarp, _) => {
                self.await_lanes(n, inst.srcs.first());
                true
            }
            (Op::Ballot, _) if one => {
                self.await_lanes(n, inst.srcs.get(1));
                let bits = self.votes(inst.srcs[0]);
                self.assign_scalar(inst, bits);
                true
            }
            (Op::Vote, &Attr::Vote(mode)) if one => {
                self.await_lanes(n, inst.srcs.get(1));
                let bits = self.votes(inst.srcs[0]);
                let mask = self.mask.clone();
                let all = self.ins(format!("icmp eq i32 {bits}, {mask}"));
                let any = self.ins(format!("icmp ne i32 {bits}, 0"));
                let p = match mode {
                    VoteMode::All => all,
                    VoteMode::Any => any,
                    VoteMode::Uni => {
                        let none = self.ins(format!("xor i1 {any}, true"));
                        self.ins(format!("or i1 {all}, {none}"))
                    }
                };
                self.assign_scalar(inst, p);
                true
            }
            (Op::Shfl, Attr::Shfl(_)) if !inst.dsts.is_empty() => {
                self.await_lanes(n, inst.srcs.get(3));
                let written = one && self.broadcast(inst) || self.shuffle(inst);
                if !written {
                    self.shuffle_by_value(inst);
                }
                true
            }
            (Op::Redux, &Attr::Redux(op)) if one => match whole_numbers(op) {
                Some((name, neutral)) => {
                    self.await_lanes(n, inst.srcs.get(1));
                    self.reduce(inst, name, neutral);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// Goes on where all lanes that the running ones name have arrived or exited.
    fn await_lanes(&mut self, n: usize, named: Option<&Value>) {
        let Some(&named) = named else { return };
        if !self.apart || self.options.lockstep {
            return;
        }
        let alive = self.ins("load i32, ptr %live");
        let mask = self.mask.clone();
        let others = self.ins(format!("xor i32 {mask}, -1"));
        let others = self.ins(format!("and i32 {alive}, {others}"));
        let missing = match self.bits(named, Class::W) {
            Val::Lin { base, lin, .. } if lin.is_uniform() => {
                self.ins(format!("and i32 {base}, {others}"))
            }
            v => {
                let all = self.spread(&v, Class::W);
                let others = self.splat("i32", &others);
                let both = self.ins(format!("and <32 x i32> {all}, {others}"));
                let wait = self.ins(format!("icmp ne <32 x i32> {both}, zeroinitializer"));
                let bits = self.ins(format!("bitcast <32 x i1> {wait} to i32"));
                self.ins(format!("and i32 {bits}, {mask}"))
            }
        };
        let arrived = self.ins(format!("icmp eq i32 {missing}, 0"));
        let exit = self.exit(crate::Reason::Interpret, n, None);
        self.expect(&arrived, &exit);
    }

    /// The result of all lanes that run.
    fn assign_scalar(&mut self, inst: &Inst, base: String) {
        self.assign(inst, Val::Lin { base, u: None, lin: Rc::new(Lin::uniform()) });
    }

    /// One lane's value for all.
    fn broadcast(&mut self, inst: &Inst) -> bool {
        let Val::Lin { base: lane, .. } = self.bits(inst.srcs[1], Class::W) else { return false };
        let v = self.bits(inst.srcs[0], Class::W);
        let all = self.spread(&v, Class::W);
        let lane = self.ins(format!("and i32 {lane}, 31"));
        let one = self.ins(format!("extractelement <32 x i32> {all}, i32 {lane}"));
        self.assign_scalar(inst, one);
        if let Some(&p) = inst.dsts.get(1) {
            self.put(
                p,
                Val::Lin { base: "true".to_owned(), u: None, lin: Rc::new(Lin::uniform()) },
            );
        }
        true
    }

    /// A shuffle by constants: which lane each reads is known.
    fn shuffle(&mut self, inst: &Inst) -> bool {
        let (Attr::Shfl(mode), &[value, Value::Imm(b), Value::Imm(c), ..]) =
            (&inst.attr, inst.srcs.as_slice())
        else {
            return false;
        };
        let (b, clamp, segment) = ((b & 31) as i64, (c & 31) as i64, (c >> 8 & 31) as i64);
        let mut from = [0; LANES];
        let mut inside = [0; LANES];
        for lane in 0..LANES as i64 {
            let least = lane & segment;
            let most = least | (clamp & !segment);
            let (source, ok) = match mode {
                ShflMode::Up => (lane - b, lane - b >= most),
                ShflMode::Down => (lane + b, lane + b <= most),
                ShflMode::Bfly => (lane ^ b, lane ^ b <= most),
                ShflMode::Idx => {
                    let source = least | (b & !segment);
                    (source, source <= most)
                }
            };
            from[lane as usize] = if ok { source & 31 } else { lane };
            inside[lane as usize] = ok as i64;
        }
        let v = self.bits(value, Class::W);
        let all = self.spread(&v, Class::W);
        let pick = vector_of("i32", from);
        let name = self
            .ins(format!("shufflevector <32 x i32> {all}, <32 x i32> poison, <32 x i32> {pick}"));
        let Some(&d) = inst.dsts.first() else { return false };
        self.put(d, Val::Vec { name, addr: None });
        if let Some(&p) = inst.dsts.get(1) {
            self.put(p, Val::Vec { name: vector_of("i1", inside), addr: None });
        }
        true
    }

    /// A shuffle whose source lanes are known when the code runs: by way of the stack.
    fn shuffle_by_value(&mut self, inst: &Inst) {
        let (Attr::Shfl(mode), &[value, b, c, ..], Some(&d)) =
            (&inst.attr, inst.srcs.as_slice(), inst.dsts.first())
        else {
            return;
        };
        let [v, b, c] = [value, b, c].map(|x| {
            let x = self.bits(x, Class::W);
            self.spread(&x, Class::W)
        });
        let lane = vector_of("i32", 0..LANES as i64);
        let mut op = |text: &str, a: &str, b: &str| self.ins(format!("{text} <32 x i32> {a}, {b}"));
        let b = op("and", &b, "splat (i32 31)");
        let clamp = op("and", &c, "splat (i32 31)");
        let segment = op("lshr", &c, "splat (i32 8)");
        let segment = op("and", &segment, "splat (i32 31)");
        let others = op("xor", &segment, "splat (i32 -1)");
        let least = op("and", &segment, &lane);
        let most = op("and", &clamp, &others);
        let most = op("or", &least, &most);
        let from = match mode {
            ShflMode::Up => op("sub", &lane, &b),
            ShflMode::Down => op("add", &lane, &b),
            ShflMode::Bfly => op("xor", &lane, &b),
            ShflMode::Idx => {
                let b = op("and", &b, &others);
                op("or", &least, &b)
            }
        };
        let inside = match mode {
            ShflMode::Up => op("icmp sge", &from, &most),
            ShflMode::Down | ShflMode::Bfly | ShflMode::Idx => op("icmp sle", &from, &most),
        };
        let from =
            self.ins(format!("select <32 x i1> {inside}, <32 x i32> {from}, <32 x i32> {lane}"));
        let index = self.ins(format!("and <32 x i32> {from}, splat (i32 31)"));
        // Volatile, so that LLVM does not take the vector apart instead.
        self.lane_buffers.insert("lane_v".to_owned());
        self.line(format!("store volatile <32 x i32> {v}, ptr %lane_v, align 64"));
        let base = self.ins("ptrtoint ptr %lane_v to i64");
        let access = Access {
            space: Space::Local,
            size: 4,
            count: 1,
            offset: 0,
            write: false,
            ranked: false,
        };
        let name =
            self.gather(&access, 0, &Place::Index { base, index, scale: 4, everywhere: true });
        self.put(d, Val::Vec { name, addr: None });
        if let Some(&p) = inst.dsts.get(1) {
            self.put(p, Val::Vec { name: inside, addr: None });
        }
    }

    /// One number of all lanes that run; `neutral` is what changes nothing.
    fn reduce(&mut self, inst: &Inst, name: &str, neutral: i32) {
        let v = self.bits(inst.srcs[0], Class::W);
        let mut all = self.spread(&v, Class::W);
        if !self.all() {
            let lanes = self.lanes();
            all = self.ins(format!(
                "select <32 x i1> {lanes}, <32 x i32> {all}, <32 x i32> splat (i32 {neutral})"
            ));
        }
        let f = format!("@llvm.vector.reduce.{name}.v32i32");
        self.declare(format!("declare i32 {f}(<32 x i32>)"));
        let one = self.ins(format!("call i32 {f}(<32 x i32> {all})"));
        self.assign_scalar(inst, one);
    }

    /// The lanes that run and whose predicate holds.
    fn votes(&mut self, p: Value) -> String {
        let v = self.raw(p, Class::P);
        let bits = match &v {
            Val::Lin { base, .. } => self.ins(format!("sext i1 {base} to i32")),
            v => {
                let all = self.spread(v, Class::P);
                self.lane_bits(&all).bits
            }
        };
        if self.all() {
            return bits;
        }
        let mask = self.mask.clone();
        self.ins(format!("and i32 {bits}, {mask}"))
    }
}

/// LLVM's name of a reduction of integers, and the number that changes none.
fn whole_numbers(op: ReduxOp) -> Option<(&'static str, i32)> {
    Some(match op {
        ReduxOp::Add => ("add", 0),
        ReduxOp::MinS => ("smin", i32::MAX),
        ReduxOp::MinU => ("umin", -1),
        ReduxOp::MaxS => ("smax", i32::MIN),
        ReduxOp::MaxU => ("umax", 0),
        ReduxOp::And => ("and", -1),
        ReduxOp::Or => ("or", 0),
        ReduxOp::Xor => ("xor", 0),
        ReduxOp::FMin { .. } | ReduxOp::FMax { .. } => return None,
    })
}
