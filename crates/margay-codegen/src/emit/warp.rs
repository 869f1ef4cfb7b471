// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ops across lanes, where all 32 are there: what they give then does not depend on who has arrived.

use margay_ir::{Attr, Class, Inst, Op, ReduxOp, ShflMode, Space, Value, VoteMode};

use super::memory::{Access, Place};
use super::value::Val;
use super::{Gen, vector_of};
use crate::shape::{LANES, Shape};

impl Gen<'_> {
    /// Whether the op concerns all lanes and all are there.
    fn whole(&self, mask: Option<&Value>) -> bool {
        self.all()
            && match mask {
                None => true,
                Some(&m) => match self.facts.operand(m) {
                    Shape::Lin(lin) => lin.known() == Some([u32::MAX.into(); LANES]),
                    Shape::None | Shape::Varying => false,
                },
            }
    }

    /// Writes a warp-wide op. False if it is left to its handler.
    pub fn warp_op(&mut self, inst: &Inst) -> bool {
        if inst.guard.is_some() {
            return false;
        }
        match inst.op {
            Op::ActiveMask if self.all() => {
                self.assign(inst, Val::Vec { name: "splat (i32 -1)".to_owned(), addr: None });
                true
            }
            Op::BarWarp => self.whole(inst.srcs.first()),
            Op::Ballot if self.whole(inst.srcs.get(1)) => {
                let bits = self.votes(inst.srcs[0]);
                let name = self.splat("i32", &bits);
                self.assign(inst, Val::Vec { name, addr: None });
                true
            }
            Op::Vote if self.whole(inst.srcs.get(1)) => {
                let bits = self.votes(inst.srcs[0]);
                let Attr::Vote(mode) = inst.attr else { return false };
                let all = self.ins(format!("icmp eq i32 {bits}, -1"));
                let any = self.ins(format!("icmp ne i32 {bits}, 0"));
                let p = match mode {
                    VoteMode::All => all,
                    VoteMode::Any => any,
                    VoteMode::Uni => {
                        let none = self.ins(format!("xor i1 {any}, true"));
                        self.ins(format!("or i1 {all}, {none}"))
                    }
                };
                let name = self.splat("i1", &p);
                self.assign(inst, Val::Vec { name, addr: None });
                true
            }
            Op::Shfl if self.whole(inst.srcs.get(3)) => {
                self.shuffle(inst) || self.shuffle_by_value(inst)
            }
            Op::Redux if self.whole(inst.srcs.get(1)) => self.reduce(inst),
            _ => false,
        }
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
    fn shuffle_by_value(&mut self, inst: &Inst) -> bool {
        let (Attr::Shfl(mode), &[value, b, c, ..], Some(&d)) =
            (&inst.attr, inst.srcs.as_slice(), inst.dsts.first())
        else {
            return false;
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
        true
    }

    /// One number of all lanes'.
    fn reduce(&mut self, inst: &Inst) -> bool {
        let Attr::Redux(op) = inst.attr else { return false };
        let name = match op {
            ReduxOp::Add => "add",
            ReduxOp::MinS => "smin",
            ReduxOp::MinU => "umin",
            ReduxOp::MaxS => "smax",
            ReduxOp::MaxU => "umax",
            ReduxOp::And => "and",
            ReduxOp::Or => "or",
            ReduxOp::Xor => "xor",
            ReduxOp::FMin { .. } | ReduxOp::FMax { .. } => return false,
        };
        let v = self.bits(inst.srcs[0], Class::W);
        let all = self.spread(&v, Class::W);
        let f = format!("@llvm.vector.reduce.{name}.v32i32");
        self.declare(format!("declare i32 {f}(<32 x i32>)"));
        let one = self.ins(format!("call i32 {f}(<32 x i32> {all})"));
        let name = self.splat("i32", &one);
        self.assign(inst, Val::Vec { name, addr: None });
        true
    }

    /// The lanes whose predicate holds.
    fn votes(&mut self, p: Value) -> String {
        let v = self.raw(p, Class::P);
        let all = self.spread(&v, Class::P);
        self.lane_bits(&all).bits
    }
}
