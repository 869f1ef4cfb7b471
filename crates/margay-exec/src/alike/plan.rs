// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a launch's kernel does to its registers, and with that which of its accesses a block can tell of others.
//!
//! If data decide nothing, all of them: the plan is [whole](Plan::whole). Else those that are made whatever data are, at
//! places that follow from numbers: the rest is the block's own, and told by its code as ever.

use std::collections::HashMap;

use margay_ir::analysis::liveness::Liveness;
use margay_ir::analysis::parts;
use margay_ir::{Attr, Function, Inst, IntCmp, Op, Reg, Sem, Space};

use super::kind::{Kind, Kinds, Moves, STILL};
use super::steps::What;
use crate::interp::Env;

/// What a launch's kernel does to its registers.
pub struct Plan {
    /// Instructions whose operands are to be looked at, and what for, in the order of the code.
    pub steps: Vec<(u32, What)>,
    /// By instruction: whether it is one of them.
    pub asked: Vec<bool>,
    /// By instruction: how the address of an access moves, if all blocks make it alike.
    pub places: Vec<Option<Moves>>,
    /// Data decide nothing: a block tells all that others do.
    pub whole: bool,
}

/// Why there is none: at an instruction, if one is to blame.
pub enum Unlike {
    /// The code's ways or addresses depend on memory, or threads tell each other something: so it is in each launch.
    Code(Option<String>),
    /// Other parameters, or another grid, might do.
    Launch(Option<String>),
}

impl std::fmt::Display for Unlike {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Unlike::Code(at) | Unlike::Launch(at)) = self;
        f.write_str(match self {
            Unlike::Code(_) => "what they do depends on more than their numbers",
            Unlike::Launch(_) => "in this launch their numbers decide more than distances",
        })?;
        at.iter().try_for_each(|at| write!(f, ": {at}"))
    }
}

impl Plan {
    pub fn step_at(&self, pc: u32) -> Option<usize> {
        self.steps.binary_search_by_key(&pc, |(at, _)| *at).ok()
    }

    /// Addresses of the accesses that a block tells of others, ascending.
    pub fn told(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.places).filter(|(_, moves)| moves.is_some()).map(|(pc, _)| pc)
    }

    /// The plan of a launch.
    pub fn of(env: &Env<'_>) -> Result<Plan, Unlike> {
        let program = env.program;
        let [only] = program.functions.as_slice() else { return Err(Unlike::Code(None)) };
        let f = &program.module.ir.functions[only.id.0 as usize];
        let mut insts = f.blocks.iter().flat_map(|b| &b.insts);
        if let Some(inst) = insts.find(|inst| !is_known(inst)) {
            return Err(Unlike::Code(Some(inst.to_string())));
        }
        let (kinds, parts) = kinds(env, f);
        let mut plan = Plan {
            steps: Vec::new(),
            asked: vec![false; program.code.len()],
            places: vec![None; program.code.len()],
            whole: !parts.contains(&true),
        };
        let mut own = None;
        let mut edges: HashMap<Reg, Vec<(IntCmp, u64)>> = HashMap::new();
        for inst in f.blocks.iter().flat_map(|b| &b.insts) {
            if let Some((r, cmp, n)) = kinds.edge(inst) {
                edges.entry(r).or_default().push((cmp, n));
            }
        }
        for ((block, start), by_data) in f.blocks.iter().zip(&only.starts).zip(&parts) {
            for (inst, pc) in block.insts.iter().zip(*start..) {
                if *by_data {
                    if waits(inst.op) {
                        return Err(Unlike::Code(Some(inst.to_string())));
                    }
                    own = own.or(is_access(inst.op).then_some(inst));
                    continue;
                }
                let result = |n: usize| match kinds.result(inst, n) {
                    (Kind::Extreme(r), _) => {
                        kinds.edges(inst, edges.remove(&r).unwrap_or_default())
                    }
                    (_, what) => what,
                };
                for what in (0..inst.dsts.len()).filter_map(result).take(1) {
                    plan.steps.push((pc, what));
                    plan.asked[pc as usize] = true;
                }
                if is_access(inst.op) {
                    let moves = place(&kinds, inst);
                    own = own.or(moves.is_none().then_some(inst));
                    plan.places[pc as usize] = moves;
                } else if waits(inst.op) {
                    waits_alike(&kinds, inst)?;
                }
            }
        }
        plan.whole &= own.is_none();
        // Whoever tells of parameters alone spares little.
        let counts = |pc: u32| program.inst(pc).is_some_and(|i| space(i) != Some(Space::Param));
        if !plan.whole && !plan.told().any(counts) {
            return Err(Unlike::Code(own.map(|inst| inst.to_string())));
        }
        Ok(plan)
    }
}

/// Whether it is known well enough what an instruction does.
fn is_known(inst: &Inst) -> bool {
    match (inst.op, &inst.attr) {
        (Op::Ld | Op::St, Attr::Mem(_)) | (Op::Atom, Attr::Atom { .. }) => true,
        (op, _) if op < Op::Ld => true,
        (Op::Prefetch | Op::Cvta | Op::CvtaTo | Op::IsSpace | Op::Addr | Op::Sreg, _) => true,
        (Op::ActiveMask | Op::Fence, _) => true,
        (op, _) => waits(op) || op == Op::Builtin,
    }
}

fn is_access(op: Op) -> bool {
    matches!(op, Op::Ld | Op::St | Op::Atom)
}

/// The space that an access names.
fn space(inst: &Inst) -> Option<Space> {
    match &inst.attr {
        Attr::Mem(mem) | Attr::Atom { mem, .. } => Some(mem.space),
        _ => None,
    }
}

/// Whether lanes may wait for others there.
fn waits(op: Op) -> bool {
    matches!(op, Op::Vote | Op::Ballot | Op::MatchAny | Op::MatchAll | Op::Shfl | Op::Redux)
        || matches!(op, Op::Elect | Op::BarWarp | Op::Bar | Op::BarRed)
}

/// The kinds of all registers, and by block of the code whether it is a part that data decide.
fn kinds<'a>(env: &Env<'a>, f: &Function) -> (Kinds<'a>, Vec<bool>) {
    let known = &env.program.kernels.alike;
    let unwritten = known.unwritten.get_or_init(|| Liveness::new(f).before(f, 0));
    let mut kinds = Kinds::new(env.config, f, unwritten);
    let mut parts = vec![false; f.blocks.len()];
    let mut marked = vec![false; f.blocks.len()];
    loop {
        let mut changed = false;
        for (block, by_data) in f.blocks.iter().zip(&parts) {
            for inst in &block.insts {
                for (n, r) in inst.dsts.iter().enumerate() {
                    let before = kinds.reg(*r);
                    let own = if *by_data { Kind::Data } else { kinds.result(inst, n).0 };
                    let after = before.or(own);
                    changed |= after != before;
                    kinds.of[r.0 as usize] = after;
                }
            }
        }
        if changed {
            continue;
        }
        let decided = |b: &usize| {
            let kind = kinds.decider(&f.blocks[*b].term);
            !marked[*b] && kind != Kind::Unset && !kind.is_still()
        };
        let new: Vec<usize> = (0..f.blocks.len()).filter(decided).collect();
        if new.is_empty() {
            return (kinds, parts);
        }
        for b in new {
            marked[b] = true;
            parts::mark(f, b, &mut parts);
        }
    }
}

/// How the address of an access moves, if all blocks make it alike.
fn place(kinds: &Kinds<'_>, inst: &Inst) -> Option<Moves> {
    let Attr::Mem(mem) = &inst.attr else { return None };
    let guard = inst.guard.map_or(Kind::Common, |g| kinds.reg(g.pred));
    if !guard.is_still() || mem.sem != Sem::Weak {
        return None;
    }
    match inst.srcs.first().map_or(Kind::Common, |v| kinds.value(*v)) {
        Kind::Moves(by) => matches!(mem.space, Space::Global | Space::Generic).then_some(by),
        kind => kind.is_still().then_some(STILL),
    }
}

/// Whether what something is decided by is the same for all blocks.
fn is_still(kind: Kind, what: impl Fn() -> String) -> Result<(), Unlike> {
    match kind {
        Kind::Fixed(_) | Kind::Common | Kind::Unset => Ok(()),
        Kind::Moves(_) => Err(Unlike::Launch(Some(what()))),
        Kind::Data | Kind::Extreme(_) => Err(Unlike::Code(Some(what()))),
    }
}

/// What lanes wait for does not depend on data.
fn waits_alike(kinds: &Kinds<'_>, inst: &Inst) -> Result<(), Unlike> {
    let still = |kind: Kind| is_still(kind, || inst.to_string());
    let operand = |n: usize| inst.srcs.get(n).map_or(Kind::Common, |v| kinds.value(*v));
    still(inst.guard.map_or(Kind::Common, |g| kinds.reg(g.pred)))?;
    match inst.op {
        Op::Bar | Op::BarRed => {
            still(operand(0))?;
            // Of the one the number of threads, of the other too, and a predicate that says nothing of the ways.
            still(if inst.op == Op::Bar || inst.srcs.len() > 2 { operand(1) } else { Kind::Common })
        }
        Op::MatchAny | Op::MatchAll => still(operand(1)),
        // Lanes meet there by their masks.
        _ => still(operand(inst.op.info().srcs.len().saturating_sub(1))),
    }
}
