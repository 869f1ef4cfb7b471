// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which registers are live where: the estimate of register pressure, and results that nobody reads.
//!
//! Only registers that are live into some block take part in the data-flow problem; the many
//! that live and die inside one block cost nothing.
//!
//! Limit: the estimate is of virtual registers as PTX has them. An assembler that renames, spills and
//! rematerialises uses fewer or more; the figure is good for a warning and for occupancy, not for a
//! refusal.

use super::cfg::Cfg;
use crate::inst::{Attr, CallArg, Callee, Inst, Reg, Term, Value};
use crate::module::{Function, Param};
use crate::types::Class;

/// Calls `f` for each register that the instruction reads, guard included.
pub fn for_each_use(inst: &Inst, mut f: impl FnMut(Reg)) {
    let mut value = |v: &Value| {
        if let Value::Reg(r) = v {
            f(*r);
        }
    };
    inst.srcs.iter().for_each(&mut value);
    if let Attr::Call(call) = &inst.attr {
        match &call.callee {
            Callee::Direct(_) => {}
            Callee::Indirect(v) => value(v),
        }
        for arg in &call.args {
            if let CallArg::Value(v, _) = arg {
                value(v);
            }
        }
    }
    if let Some(guard) = inst.guard {
        f(guard.pred);
    }
}

/// Calls `f` for each register that the instruction writes, results of a call included.
pub fn for_each_def(inst: &Inst, mut f: impl FnMut(Reg)) {
    inst.dsts.iter().copied().for_each(&mut f);
    if let Attr::Call(call) = &inst.attr {
        for ret in &call.rets {
            if let CallArg::Value(Value::Reg(r), _) = ret {
                f(*r);
            }
        }
    }
}

/// The register that a terminator reads.
pub fn term_use(term: &Term) -> Option<Reg> {
    match term {
        Term::CondBr { pred, .. } => Some(*pred),
        Term::BrTable { index: Value::Reg(r), .. } => Some(*r),
        Term::BrTable { index: Value::Imm(_), .. } | Term::Br(_) | Term::Ret | Term::Exit => None,
    }
}

/// The registers that parameters, or results, are in.
pub fn placed(params: &[Param]) -> impl Iterator<Item = Reg> + '_ {
    params.iter().filter_map(|p| match p.place {
        Some(CallArg::Value(Value::Reg(r), _)) => Some(r),
        Some(CallArg::Value(Value::Imm(_), _) | CallArg::Frame { .. }) | None => None,
    })
}

/// A set of the registers that cross block borders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn new(bits: usize) -> Set {
        Set(vec![0; bits.div_ceil(64)])
    }
    fn insert(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }
    fn remove(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(w, &bits)| {
            (0..64).filter(move |b| bits >> b & 1 == 1).map(move |b| w * 64 + b)
        })
    }
}

/// Registers live at the end of each block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Register of each number in the sets.
    crossing: Vec<Reg>,
    live_out: Vec<Set>,
}

impl Liveness {
    /// Solves the function. Registers must be in range (verified or freshly lowered IR).
    pub fn new(function: &Function) -> Liveness {
        let (crossing, number) = crossing(function);
        let count = function.blocks.len();
        let bits = crossing.len();
        let mut gen_ = vec![Set::new(bits); count];
        let mut kill = vec![Set::new(bits); count];
        for (b, block) in function.blocks.iter().enumerate() {
            let (gen_, kill) = (&mut gen_[b], &mut kill[b]);
            let used = |r: Reg, gen_: &mut Set| {
                if let Some(i) = number[r.0 as usize] {
                    gen_.insert(i as usize);
                }
            };
            if let Some(r) = term_use(&block.term) {
                used(r, gen_);
            }
            if matches!(block.term, Term::Ret) {
                placed(&function.rets).for_each(|r| used(r, gen_));
            }
            for inst in block.insts.iter().rev() {
                if inst.guard.is_none() {
                    for_each_def(inst, |r| {
                        if let Some(i) = number[r.0 as usize] {
                            gen_.remove(i as usize);
                            kill.insert(i as usize);
                        }
                    });
                }
                for_each_use(inst, |r| used(r, gen_));
            }
        }
        let cfg = Cfg::new(function);
        let mut live_in = gen_.clone();
        let mut live_out = vec![Set::new(bits); count];
        let mut work: Vec<usize> = (0..count).collect();
        let mut queued = vec![true; count];
        while let Some(b) = work.pop() {
            queued[b] = false;
            let mut out = std::mem::replace(&mut live_out[b], Set(vec![]));
            for succ in &cfg.succs[b] {
                for (o, i) in out.0.iter_mut().zip(&live_in[succ.0 as usize].0) {
                    *o |= i;
                }
            }
            let mut grew = false;
            for (w, i) in live_in[b].0.iter_mut().enumerate() {
                let new = *i | (out.0[w] & !kill[b].0[w]);
                grew |= new != *i;
                *i = new;
            }
            live_out[b] = out;
            if grew {
                for pred in &cfg.preds[b] {
                    let p = pred.0 as usize;
                    if !std::mem::replace(&mut queued[p], true) {
                        work.push(p);
                    }
                }
            }
        }
        Liveness { crossing, live_out }
    }

    /// Registers live at the end of a block.
    pub fn live_out(&self, block: usize) -> impl Iterator<Item = Reg> + '_ {
        self.live_out[block].iter().map(|i| self.crossing[i])
    }

    /// Registers that are live where a block begins, by number.
    pub fn before(&self, function: &Function, block: usize) -> Vec<bool> {
        let mut live = vec![false; function.regs.len()];
        self.at_end(function, block, &mut live);
        function.blocks[block].insts.iter().rev().for_each(|inst| step(inst, &mut live));
        live
    }

    /// Registers that are read after the instruction `index` of a block, or after its end, by number.
    pub fn after(&self, function: &Function, block: usize, index: usize) -> Vec<bool> {
        let mut live = vec![false; function.regs.len()];
        for r in self.live_out(block) {
            live[r.0 as usize] = true;
        }
        let own = &function.blocks[block];
        if index < own.insts.len() {
            self.at_end(function, block, &mut live);
            own.insts[index + 1..].iter().rev().for_each(|inst| step(inst, &mut live));
        }
        live
    }

    /// Calls `f` with the block and index of each instruction none of whose results is read later,
    /// backwards within a block. One that `goes` reads nothing, so that what it alone read is dead too.
    pub fn for_each_dead(
        &self,
        function: &Function,
        goes: impl Fn(&Inst) -> bool,
        mut f: impl FnMut(usize, usize),
    ) {
        let mut live = vec![false; function.regs.len()];
        for (b, block) in function.blocks.iter().enumerate() {
            live.fill(false);
            self.at_end(function, b, &mut live);
            for (i, inst) in block.insts.iter().enumerate().rev() {
                let mut wanted = false;
                for_each_def(inst, |r| wanted |= live[r.0 as usize]);
                if !wanted {
                    f(b, i);
                    if goes(inst) {
                        continue;
                    }
                }
                step(inst, &mut live);
            }
        }
    }

    fn at_end(&self, function: &Function, block: usize, live: &mut [bool]) {
        for r in self.live_out(block) {
            live[r.0 as usize] = true;
        }
        let term = &function.blocks[block].term;
        if let Some(r) = term_use(term) {
            live[r.0 as usize] = true;
        }
        if matches!(term, Term::Ret) {
            placed(&function.rets).for_each(|r| live[r.0 as usize] = true);
        }
    }
}

/// Moves a live set from after an instruction to before it.
fn step(inst: &Inst, live: &mut [bool]) {
    if inst.guard.is_none() {
        for_each_def(inst, |r| live[r.0 as usize] = false);
    }
    for_each_use(inst, |r| live[r.0 as usize] = true);
}

/// Registers that some block reads before it writes them, and the number of each.
fn crossing(function: &Function) -> (Vec<Reg>, Vec<Option<u32>>) {
    let mut number = vec![None; function.regs.len()];
    let mut list = Vec::new();
    let mut written_in = vec![u32::MAX; function.regs.len()];
    for (b, block) in function.blocks.iter().enumerate() {
        let mut read = |r: Reg, written_in: &[u32]| {
            let r_index = r.0 as usize;
            if written_in[r_index] != b as u32 && number[r_index].is_none() {
                number[r_index] = Some(list.len() as u32);
                list.push(r);
            }
        };
        for inst in &block.insts {
            for_each_use(inst, |r| read(r, &written_in));
            if inst.guard.is_none() {
                for_each_def(inst, |r| written_in[r.0 as usize] = b as u32);
            }
        }
        if let Some(r) = term_use(&block.term) {
            read(r, &written_in);
        }
        if matches!(block.term, Term::Ret) {
            placed(&function.rets).for_each(|r| read(r, &written_in));
        }
    }
    (list, number)
}

/// The greatest number of 32-bit registers that live at once; predicates do not count.
pub fn register_pressure(function: &Function) -> u32 {
    pressure(function, |r| match function.regs[r.0 as usize] {
        Class::P => 0,
        Class::W => 1,
        Class::D => 2,
    })
}

/// The greatest sum of the weights of registers that live at once.
pub fn pressure(function: &Function, words: impl Fn(Reg) -> u32) -> u32 {
    let liveness = Liveness::new(function);
    let mut most = 0;
    let mut live = vec![false; function.regs.len()];
    for (b, block) in function.blocks.iter().enumerate() {
        live.fill(false);
        liveness.at_end(function, b, &mut live);
        let mut now: u32 = (0..live.len()).filter(|i| live[*i]).map(|i| words(Reg(i as u32))).sum();
        most = most.max(now);
        for inst in block.insts.iter().rev() {
            // What an instruction writes occupies a register even if nobody reads it.
            let mut unread = 0;
            for_each_def(inst, |r| {
                if !live[r.0 as usize] {
                    unread += words(r);
                }
            });
            most = most.max(now.saturating_add(unread));
            if inst.guard.is_none() {
                for_each_def(inst, |r| {
                    if std::mem::replace(&mut live[r.0 as usize], false) {
                        now -= words(r);
                    }
                });
            }
            for_each_use(inst, |r| {
                if !std::mem::replace(&mut live[r.0 as usize], true) {
                    now += words(r);
                }
            });
            most = most.max(now);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    fn function(regs: &str, body: &str) -> Function {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\nentry \"k\" visible {{\nregs {regs}\n{body}\n}}\n"
        );
        parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).functions.remove(0)
    }

    #[test]
    fn values_around_a_loop_stay_live() {
        let f = function(
            "w*4 p d",
            "b0:\n %0 = mov.i32 0x1\n %1 = mov.i32 0x2\n br b1\n\
             b1:\n %2 = add.i32 %0, %1\n %4 = icmp.i32 {eq} %2, 0x7\n condbr %4, b1, b2\n\
             b2:\n %3 = mov.i32 %2\n ret",
        );
        let liveness = Liveness::new(&f);
        assert_eq!(liveness.live_out(0).collect::<Vec<_>>(), [Reg(0), Reg(1)]);
        assert_eq!(liveness.live_out(1).collect::<Vec<_>>(), [Reg(0), Reg(1), Reg(2)]);
        let mut dead = vec![];
        liveness.for_each_dead(&f, |_| true, |b, i| dead.push((b, i)));
        assert_eq!(dead, [(2, 0)]);
        assert_eq!(register_pressure(&f), 3);
    }

    #[test]
    fn a_guarded_write_does_not_end_the_life_of_the_old_value() {
        let f = function(
            "w*2 p d",
            "b0:\n %0 = mov.i32 0x1\n %0 = mov.i32 0x2 @%2\n %1 = add.i32 %0, %0\n st.i32 {global} %3, %1\n ret",
        );
        let mut dead = vec![];
        Liveness::new(&f).for_each_dead(&f, |i| !i.dsts.is_empty(), |b, i| dead.push((b, i)));
        // The store has no destination: it is "dead" only in that nothing reads a result of it.
        assert_eq!(dead, [(0, 3)]);
        assert_eq!(register_pressure(&f), 3);
    }
}
