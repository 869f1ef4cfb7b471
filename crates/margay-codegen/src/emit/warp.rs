// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ops across lanes, where all 32 are there: what they give then does not depend on who has arrived.

use margay_ir::{Attr, Class, Inst, Op, Value, VoteMode};

use super::Gen;
use super::value::Val;

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
            _ => false,
        }
    }

    /// The lanes whose predicate holds.
    fn votes(&mut self, p: Value) -> String {
        let v = self.raw(p, Class::P);
        let all = self.spread(&v, Class::P);
        self.ins(format!("bitcast <32 x i1> {all} to i32"))
    }
}
