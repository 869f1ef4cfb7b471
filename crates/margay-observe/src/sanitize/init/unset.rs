// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that may be read before anything has set them, by function.
//!
//! They are those that live where a function begins; most have none. What is left of them is followed only if it may come to
//! a use that matters, on whichever path: a vector of three that is stored as one of four has a last register that is
//! never set, and no launch needs to be followed for it.
//!
//! In OpenCL C whatever begins without a value is marked by the compiler (`margay_opencl_c`), and what other registers
//! are never set is padding.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use margay_exec::program::{Code, Program};
use margay_ir::analysis::cfg::Cfg;
use margay_ir::analysis::liveness::{Liveness, for_each_def, for_each_use, placed, term_use};
use margay_ir::{Attr, CallArg, FuncId, Function, Inst, Op, Reg, Term, Value};
use parking_lot::Mutex;

use super::taint::moves;

/// How functions are named that the OpenCL compiler has variables begin with; a number and the variable's name follow.
const MARK: &str = "__margay_undefined_";

/// The variable that a function's result stands for; empty if it has no name.
pub fn variable(function: &Function) -> Option<&str> {
    let rest = function.name.strip_prefix(MARK)?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('_')?;
    // LLVM makes names differ that two modules have.
    Some(name.split(['.', '$']).next().unwrap_or_default())
}

/// A register, and the address of the first instruction that reads it.
pub type Unset = (Reg, u32);

/// What is to be followed of each function's registers.
pub struct Registers {
    /// The program's compiler marks what has no value.
    marked: bool,
    known: Mutex<HashMap<FuncId, Arc<[Unset]>>>,
}

impl Registers {
    pub fn new(marked: bool) -> Registers {
        Registers { marked, known: Mutex::default() }
    }

    /// Registers of a function that nothing may have set where they are read, and that may matter there.
    pub fn of(&self, program: &Program, id: FuncId) -> Arc<[Unset]> {
        if self.marked {
            return Arc::default();
        }
        self.known.lock().entry(id).or_insert_with(|| find(program, id)).clone()
    }
}

fn find(program: &Program, id: FuncId) -> Arc<[Unset]> {
    let function = &program.module().ir.functions[id.0 as usize];
    let unset = unset(function);
    if unset.is_empty() || !matters(function, &unset) {
        return Arc::default();
    }
    let mut first: BTreeMap<Reg, u32> = BTreeMap::new();
    for pc in 0..program.code_len() {
        let Some(view) = program.instruction(pc).filter(|view| view.id == id) else { continue };
        let mut read = |reg: Reg| {
            first.entry(reg).or_insert(pc);
        };
        match view.code {
            Code::Inst(inst) => for_each_use(inst, read),
            Code::Term(term) => term_use(term).into_iter().for_each(&mut read),
            Code::Nothing => {}
        }
    }
    unset.into_iter().filter_map(|reg| Some((reg, *first.get(&reg)?))).collect()
}

/// Registers that are live where a function begins, but for its parameters.
fn unset(function: &Function) -> Vec<Reg> {
    if function.blocks.is_empty() {
        return Vec::new();
    }
    let mut live = Liveness::new(function).before(function, 0);
    placed(&function.params).for_each(|reg| live[reg.0 as usize] = false);
    let live = (0..function.regs.len() as u32).map(Reg).filter(|reg| live[reg.0 as usize]);
    live.filter(|&reg| !is_set_with_its_guard(function, reg)).collect()
}

/// Whether each use of a register has the guard of what has set it just before, as the address of an access that is
/// guarded.
fn is_set_with_its_guard(function: &Function, reg: Reg) -> bool {
    let guard = |inst: &Inst| inst.guard.map(|g| (g.pred, g.negated));
    function.blocks.iter().all(|block| {
        // Under which guard the register was set, while that is what it was.
        let mut set = None;
        for inst in &block.insts {
            let mut used = false;
            for_each_use(inst, |r| used |= r == reg);
            if used && (set.is_none() || set != guard(inst)) {
                return false;
            }
            let (mut defined, mut changed) = (false, false);
            for_each_def(inst, |r| {
                defined |= r == reg;
                changed |= set.is_some_and(|(pred, _)| pred == r);
            });
            if defined {
                set = guard(inst);
            } else if changed {
                set = None;
            }
        }
        term_use(&block.term) != Some(reg)
    })
}

/// How far a value may be undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum May {
    Not,
    /// As it came.
    Moved,
    Computed,
}

/// Whether what these registers hold where the function begins may come to a use that counts, if every path may be taken.
fn matters(function: &Function, unset: &[Reg]) -> bool {
    let cfg = Cfg::new(function);
    let mut at: Vec<Option<Vec<May>>> = vec![None; function.blocks.len()];
    let mut begin = vec![May::Not; function.regs.len()];
    unset.iter().for_each(|reg| begin[reg.0 as usize] = May::Moved);
    at[0] = Some(begin);
    let mut work = vec![0];
    while let Some(b) = work.pop() {
        let Some(mut may) = at[b].clone() else { continue };
        let block = &function.blocks[b];
        if block.insts.iter().any(|inst| step(inst, &mut may)) {
            return true;
        }
        if term_use(&block.term).is_some_and(|reg| may[reg.0 as usize] != May::Not) {
            return true;
        }
        if matches!(block.term, Term::Ret)
            && placed(&function.rets).any(|reg| may[reg.0 as usize] != May::Not)
        {
            return true;
        }
        for next in &cfg.succs[b] {
            let next = next.0 as usize;
            let joined = match &at[next] {
                None => may.clone(),
                Some(known) => known.iter().zip(&may).map(|(a, b)| *a.max(b)).collect(),
            };
            if at[next].as_ref() != Some(&joined) {
                at[next] = Some(joined);
                work.push(next);
            }
        }
    }
    false
}

/// Follows one instruction: whether it is a use that counts.
fn step(inst: &Inst, may: &mut [May]) -> bool {
    let of = |value: &Value| match value {
        Value::Reg(reg) => may[reg.0 as usize],
        Value::Imm(_) => May::Not,
    };
    if inst.guard.is_some_and(|guard| may[guard.pred.0 as usize] != May::Not) {
        return true;
    }
    let any = inst.srcs.iter().map(of).max().unwrap_or(May::Not);
    let uses = match (inst.op, &inst.attr) {
        (Op::St, _) => {
            let stored = || inst.srcs.iter().skip(1).map(of);
            let address = inst.srcs.first().map_or(May::Not, of);
            address != May::Not
                || stored().any(|may| may == May::Computed)
                || stored().all(|may| may != May::Not)
        }
        (_, Attr::Call(call)) => {
            any != May::Not
                || call.args.iter().any(|arg| match arg {
                    CallArg::Value(value, _) => of(value) != May::Not,
                    CallArg::Frame { .. } => false,
                })
        }
        // Whatever else has no result, or works on memory.
        (Op::Ld | Op::Atom | Op::AtomWide | Op::Syscall | Op::Tex | Op::SurfStore, _) => {
            any != May::Not
        }
        _ => inst.dsts.is_empty() && any != May::Not,
    };
    let chosen = inst.op == Op::Select && inst.srcs.get(2).is_some_and(|p| of(p) != May::Not);
    let out = match any {
        May::Moved if moves(inst) && !chosen => May::Moved,
        May::Not => May::Not,
        May::Moved | May::Computed => May::Computed,
    };
    for_each_def(inst, |reg| {
        let own = &mut may[reg.0 as usize];
        // Where the guard does not hold it keeps what it had.
        *own = if inst.guard.is_some() { (*own).max(out) } else { out };
    });
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers that may be unset, and whether they matter.
    fn of(body: &str) -> (Vec<u32>, bool) {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\n\
             entry \"k\" visible {{\nregs w*4 p*2 d\n{body}\n}}\n"
        );
        let module = margay_ir::text::parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let found = unset(&module.functions[0]);
        let matter = matters(&module.functions[0], &found);
        (found.iter().map(|reg| reg.0).collect(), matter)
    }

    #[test]
    fn what_is_set_on_every_path_is_none() {
        let body = "b0:\n %6 = ld.i64 {param} 0x0\n %0 = mov.i32 0x1\n br b1\nb1:\n st.i32 {global} %6, %0\n exit";
        assert_eq!(of(body), (vec![], false));
    }

    #[test]
    fn what_is_set_on_one_path_is() {
        let body = "b0:\n %6 = ld.i64 {param} 0x0\n %1 = ld.i32 {global} %6\n %4 = icmp.i32 {eq} %1, 0x7\n \
             condbr %4, b1, b2\nb1:\n %0 = mov.i32 0x1\n br b2\nb2:\n st.i32 {global} %6, %0\n exit";
        assert_eq!(of(body), (vec![0], true));
        // So is what is set under a guard.
        let body = "b0:\n %6 = ld.i64 {param} 0x0\n %4 = icmp.i32 {eq} 0x7, 0x8\n %0 = mov.i32 0x1 @%4\n \
             st.i32 {global} %6, %0\n exit";
        assert_eq!(of(body), (vec![0], true));
    }

    #[test]
    fn what_is_set_and_used_under_one_guard_is_none() {
        let begin =
            "b0:\n %6 = ld.i64 {param} 0x0\n %4 = icmp.i32 {eq} 0x7, 0x8\n %0 = mov.i32 0x1 @%4\n";
        let with = |more: &str| of(&format!("{begin} {more}\n exit"));
        assert_eq!(with("st.i32 {global} %6, %0 @%4"), (vec![], false));
        assert_eq!(with("st.i32 {global} %6, %0 @!%4"), (vec![0], true));
        let changed = "%4 = icmp.i32 {eq} 0x7, 0x9\n st.i32 {global} %6, %0 @%4";
        assert_eq!(with(changed), (vec![0], true));
        assert_eq!(with("st.i32 {global} %6, %0"), (vec![0], true));
    }

    #[test]
    fn padding_does_not_matter_and_what_is_computed_does() {
        let begin = "b0:\n %6 = ld.i64 {param} 0x0\n %0 = mov.i32 0x1\n";
        assert_eq!(
            of(&format!("{begin} st.i32 {{global}} %6, %0, %0, %0, %3\n exit")),
            (vec![3], false)
        );
        let copied = format!("{begin} %2 = mov.i32 %3\n st.i32 {{global}} %6, %0, %2\n exit");
        assert_eq!(of(&copied), (vec![3], false));
        let added = format!("{begin} %2 = add.i32 %3, 0x1\n st.i32 {{global}} %6, %0, %2\n exit");
        assert_eq!(of(&added), (vec![3], true));
        assert_eq!(of(&format!("{begin} st.i32 {{global}} %6, %3\n exit")), (vec![3], true));
        assert_eq!(of(&format!("{begin} condbr %5, b1, b1\nb1:\n exit")), (vec![5], true));
    }
}
