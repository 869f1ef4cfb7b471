// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ops across lanes, where all 32 are there: what they give then does not depend on who has arrived.

use margay_ir::{Attr, Class, Inst, Op, ShflMode, Value, VoteMode};

use super::value::Val;
use super::{Gen, vector_of};
use crate::shape::LANES;

impl Gen<'_> {
    /// Whether the op concerns all lanes and all are there.
    fn whole(&self, mask: Option<&Value>) -> bool {
        self.all()
            && match mask {
                None => true,
                Some(Value::Imm(m)) => *m as u32 == u32::MAX,
                Some(Value::Reg(_)) => false,
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
            Op::Shfl if self.whole(inst.srcs.get(3)) => self.shuffle(inst),
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

    /// The lanes whose predicate holds.
    fn votes(&mut self, p: Value) -> String {
        let v = self.raw(p, Class::P);
        let all = self.spread(&v, Class::P);
        self.lane_bits(&all).bits
    }
}
