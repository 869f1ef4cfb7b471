// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function as an assembler for the GPU sees it: what the hardware takes as an operand is no value, and what
//! an instruction computes on the way is none either.
//!
//! Constants, parameters and grid dimensions come from constant memory. A conversion, a copy or a scaling by a
//! constant that only addresses use is part of the instruction that adds. An address of shared or local memory
//! is 32 bits wide.

use smallvec::SmallVec;

use super::super::cfg::Cfg;
use super::super::liveness::{for_each_def, for_each_use, term_use};
use super::classes::{counters, narrow, uniform};
use super::feeds::{Feeds, Operand};
use crate::inst::{AddrOf, Attr, Inst, Reg, Sreg, Value};
use crate::module::Function;
use crate::ops::Op;
use crate::types::{Class, Space, Ty};

/// What matters of an instruction to its scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load(Space),
    Store(Space),
    /// Barriers, atomics, calls: nothing of memory moves across.
    Fence,
    Slow,
    Plain,
}

/// An instruction, by the values that it writes and reads.
#[derive(Clone, Debug)]
pub struct Node {
    pub defs: SmallVec<[u32; 2]>,
    pub uses: SmallVec<[u32; 4]>,
    pub kind: Kind,
    /// It writes only in some lanes, so that what was there before lives on.
    pub guarded: bool,
}

/// How much a value takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    /// As PTX has it.
    pub plain: u8,
    /// With constants free and narrow addresses.
    pub folded: u8,
    /// With what is the same in all lanes free as well: there are registers of a warp.
    pub varying: u8,
    pub predicate: u8,
    /// Of `varying`, what is in pairs of registers: 1 a pair.
    pub pair: u8,
    /// Of `varying`, what comes from global or local memory.
    pub loaded: u8,
    /// As `varying`, where a loop's counter that every lane has the same of is free too.
    pub counted: u8,
    /// As `varying`, where what one instruction computes from one other value is free: it is computed again.
    pub again: u8,
}

#[derive(Debug)]
pub struct Machine {
    pub blocks: Vec<Vec<Node>>,
    /// The same with what has to be brought into a thread's own registers first: see [`super::feeds`].
    pub fed: Vec<Vec<Node>>,
    /// Read by the end of the block.
    pub term: Vec<Option<u32>>,
    pub words: Vec<Words>,
    /// Values from here on are what instructions are fed with.
    pub feeds_from: u32,
    pub cfg: Cfg,
    /// Loops around each block.
    pub depth: Vec<u8>,
    /// Blocks of each natural loop.
    pub loops: Vec<Vec<u32>>,
}

struct Defs {
    /// The place of the only definition, if there is one and no more.
    single: Vec<Option<(u32, u32)>>,
    count: Vec<u32>,
}

impl Defs {
    fn of(function: &Function) -> Defs {
        let mut defs =
            Defs { single: vec![None; function.regs.len()], count: vec![0; function.regs.len()] };
        for (b, block) in function.blocks.iter().enumerate() {
            for (i, inst) in block.insts.iter().enumerate() {
                for_each_def(inst, |r| {
                    let r = r.0 as usize;
                    defs.count[r] += 1;
                    let single = defs.count[r] == 1 && inst.guard.is_none();
                    defs.single[r] = single.then_some((b as u32, i as u32));
                });
            }
        }
        defs
    }
}

fn is_constant(inst: &Inst) -> bool {
    let constant = matches!(inst.srcs.first(), None | Some(Value::Imm(_)));
    match &inst.attr {
        Attr::Mem(mem) => {
            inst.op == Op::Ld && matches!(mem.space, Space::Param | Space::Const) && constant
        }
        Attr::Address { of, .. } => !matches!(of, AddrOf::Local(_)),
        Attr::Sreg(s) => matches!(s, Sreg::NTid(_) | Sreg::NCtaId(_)),
        _ => matches!(inst.op, Op::Mov) && constant,
    }
}

/// Whether the result may be computed by the instruction that reads it, from its first source.
fn folds(inst: &Inst) -> bool {
    match inst.op {
        Op::MulWideS | Op::MulWideU | Op::Shl => {
            matches!(inst.srcs.get(1), Some(Value::Imm(_))) && inst.dsts.len() == 1
        }
        Op::SExt | Op::ZExt => inst.ty == Ty::I64 && inst.from == Ty::I32,
        _ => false,
    }
}

/// Whether an assembler rather computes the result again than keeps it.
fn cheap(inst: &Inst) -> bool {
    let plain = matches!(
        inst.op,
        Op::Add
            | Op::Sub
            | Op::Shl
            | Op::ShrU
            | Op::ShrS
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::MulWideS
            | Op::MulWideU
            | Op::MadWideS
            | Op::MadWideU
            | Op::SExt
            | Op::ZExt
            | Op::Mul
            | Op::Mad
    );
    plain && inst.srcs.iter().filter(|v| matches!(v, Value::Reg(_))).count() == 1
}

/// Whether the instruction is a copy for the hardware, where it has one source.
fn copies(inst: &Inst) -> bool {
    matches!(inst.op, Op::Mov | Op::Cvta | Op::CvtaTo)
        || inst.op == Op::Trunc && inst.from == Ty::I64
        || matches!(inst.op, Op::FNeg | Op::FAbs) && inst.ty != Ty::F64
}

impl Machine {
    pub fn of(function: &Function) -> Machine {
        let defs = Defs::of(function);
        let count = function.regs.len();
        let inst_of = |r: Reg| {
            defs.single[r.0 as usize].map(|(b, i)| &function.blocks[b as usize].insts[i as usize])
        };
        // Whether every reader of a 64-bit value adds it to another or takes it as an address.
        let mut adds = vec![true; count];
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            let adder = matches!(inst.op, Op::Add | Op::Sub | Op::MadWideS | Op::MadWideU)
                && inst.dsts.first().is_some_and(|d| function.regs[d.0 as usize] == Class::D);
            if !adder || inst.guard.is_some() {
                for_each_use(inst, |r| adds[r.0 as usize] = false);
            }
        }
        for block in &function.blocks {
            if let Some(r) = term_use(&block.term) {
                adds[r.0 as usize] = false;
            }
        }
        let mut free = vec![false; count];
        let mut alias: Vec<u32> = (0..count as u32).collect();
        for r in 0..count as u32 {
            let Some(inst) = inst_of(Reg(r)) else { continue };
            free[r as usize] = is_constant(inst);
            let folded = copies(inst) || folds(inst) && adds[r as usize];
            if let (true, Some(Value::Reg(from))) = (folded, inst.srcs.first()) {
                // A source that is written more than once may be another by the time of the use.
                if defs.single[from.0 as usize].is_some() && *from != Reg(r) {
                    alias[r as usize] = from.0;
                }
            }
        }
        for r in 0..count {
            // Chains are short; a cycle would be a use before its definition.
            let mut to = alias[r];
            for _ in 0..16 {
                to = alias[to as usize];
            }
            if alias[to as usize] != to {
                to = r as u32;
            }
            alias[r] = to;
        }
        let narrow = narrow(function);
        let uniform = uniform(function, &defs.single);
        let counters = counters(function, &uniform);
        let mut loaded = vec![false; count];
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            if matches!(kind(inst), Kind::Load(Space::Global | Space::Generic | Space::Local)) {
                inst.dsts.iter().for_each(|r| loaded[r.0 as usize] = true);
            }
        }
        let mut words: Vec<Words> = (0..count)
            .map(|r| {
                let (plain, predicate) = match function.regs[r] {
                    Class::P => (0, 1),
                    Class::W => (1, 0),
                    Class::D => (2, 0),
                };
                let folded = match (free[r], narrow[r]) {
                    (true, _) => 0,
                    (false, true) => plain.min(1),
                    (false, false) => plain,
                };
                let varying = if uniform[r] { 0 } else { folded };
                let counted = if counters[r] { 0 } else { varying };
                let cheap = inst_of(Reg(r as u32)).is_some_and(cheap);
                let again = if cheap { 0 } else { varying };
                let (pair, loaded) = (varying / 2, if loaded[r] { varying } else { 0 });
                Words { plain, folded, varying, predicate, pair, loaded, counted, again }
            })
            .collect();

        let to = |r: Reg| alias[r.0 as usize];
        let mut blocks = Vec::with_capacity(function.blocks.len());
        let mut fed = Vec::with_capacity(function.blocks.len());
        let mut feeds = Feeds::default();
        for block in &function.blocks {
            let mut nodes = Vec::with_capacity(block.insts.len());
            let mut with_feeds = Vec::with_capacity(block.insts.len());
            feeds.begin();
            for inst in &block.insts {
                let mut node = Node {
                    defs: SmallVec::new(),
                    uses: SmallVec::new(),
                    kind: kind(inst),
                    guarded: inst.guard.is_some(),
                };
                for_each_def(inst, |r| node.defs.push(r.0));
                let gone = |&r: &u32| free[r as usize] || alias[r as usize] != r;
                if !node.defs.is_empty() && node.defs.iter().all(gone) {
                    continue;
                }
                for_each_use(inst, |r| {
                    let r = to(r);
                    if !free[r as usize] && !node.uses.contains(&r) {
                        node.uses.push(r);
                    }
                });
                let operand = |v: &Value| match v {
                    Value::Imm(bits) => Operand::Constant(*bits),
                    Value::Reg(r) => {
                        let from = to(*r);
                        if free[from as usize] {
                            Operand::Parameter(from)
                        } else if uniform[from as usize] {
                            Operand::Uniform(from)
                        } else if from != r.0 && inst_of(*r).is_some_and(folds) {
                            Operand::Scaled
                        } else {
                            Operand::Own
                        }
                    }
                };
                let narrow = |v: &Value| matches!(v, Value::Reg(r) if narrow[r.0 as usize]);
                let mut feeding = node.clone();
                feeds.of(inst, operand, narrow, &mut words, &mut feeding, &mut with_feeds);
                with_feeds.push(feeding);
                nodes.push(node);
            }
            blocks.push(nodes);
            fed.push(with_feeds);
        }
        let term = function.blocks.iter().map(|b| term_use(&b.term).map(to)).collect();
        let cfg = Cfg::new(function);
        let (depth, loops) = loops(&cfg);
        Machine { blocks, fed, term, words, feeds_from: count as u32, cfg, depth, loops }
    }
}

fn kind(inst: &Inst) -> Kind {
    match (inst.op, &inst.attr) {
        (Op::Ld, Attr::Mem(mem)) => Kind::Load(mem.space),
        (Op::St, Attr::Mem(mem)) => Kind::Store(mem.space),
        (Op::Tex, _) => Kind::Load(Space::Const),
        (
            Op::Atom
            | Op::AtomWide
            | Op::Bar
            | Op::BarRed
            | Op::BarWarp
            | Op::BarCluster
            | Op::Fence
            | Op::Call
            | Op::Syscall
            | Op::CpAsync
            | Op::CpAsyncWait
            | Op::SurfStore
            | Op::Shfl
            | Op::Ballot
            | Op::Vote,
            _,
        ) => Kind::Fence,
        (
            Op::FDiv
            | Op::FSqrt
            | Op::FRcp
            | Op::Builtin
            | Op::DivS
            | Op::DivU
            | Op::RemS
            | Op::RemU,
            _,
        ) => Kind::Slow,
        _ => Kind::Plain,
    }
}

/// Natural loops, those of one header together, and how many are around each block.
fn loops(cfg: &Cfg) -> (Vec<u8>, Vec<Vec<u32>>) {
    let count = cfg.succs.len();
    let dominators = cfg.dominators();
    let mut depth = vec![0u8; count];
    let mut loops = Vec::new();
    let mut seen = vec![u32::MAX; count];
    for header in 0..count {
        let mut work: Vec<u32> = cfg.preds[header]
            .iter()
            .filter(|p| dominators.dominates(crate::inst::BlockId(header as u32), **p))
            .map(|p| p.0)
            .collect();
        if work.is_empty() || loops.len() >= 4096 {
            continue;
        }
        let mut body = vec![header as u32];
        seen[header] = header as u32;
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut seen[b as usize], header as u32) != header as u32 {
                body.push(b);
                work.extend(cfg.preds[b as usize].iter().map(|p| p.0));
            }
        }
        for &b in &body {
            depth[b as usize] = depth[b as usize].saturating_add(1);
        }
        loops.push(body);
    }
    (depth, loops)
}
