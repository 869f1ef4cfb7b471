// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bodies of device functions in place of their calls.
//!
//! Compiled code ends at a call, and what is called is interpreted. So a kernel is run with the bodies of what it calls directly
//! inside, as an assembler inlines them: arguments and results become copies, a `ret` a jump behind the call, and the callee's
//! frame lies where a call would have put it, so local addresses are the same.
//!
//! A call by a handle becomes comparisons with the functions that it may reach, each with a call of its own. Of functions that may
//! call themselves one body is put inside, and what it calls of them stays a call, which has its frame where it would have been,
//! too: a thread comes as deep as without. So do calls of functions that take stack as they
//! run, or in such ones, those for which there is no room, whose results are no whole registers, or whose arguments nobody could copy by plain moves.

mod handles;
mod moved;
mod slots;

use std::collections::{BTreeSet, HashMap, HashSet};

use smallvec::smallvec;

use moved::Moved;
use slots::{Owners, Slot, promote};

use crate::analysis::liveness::{Liveness, placed};
use crate::inst::*;
use crate::module::*;
use crate::ops::Op;
use crate::types::{Class, Space, Ty};

/// Instructions and blocks of a kernel up to which bodies are put in: what compiles in less than a second.
const MOST_INSTRUCTIONS: usize = 6_000;
const MOST_BLOCKS: usize = 600;
/// Instructions of a function that may call itself up to which its body is put in, and how many such bodies.
const MOST_RECURSIVE: usize = 400;
const MOST_ROUNDS: usize = 8;
/// Bytes of an argument in memory that are copied word by word.
const MOST_COPIED: u32 = 256;
/// Bytes that a call takes from the stack beside the callee's frame: the return address.
pub const CALL_OVERHEAD: u32 = 16;

/// A kernel, or a function that stays a call, with what it calls.
pub struct Inlined {
    pub function: Function,
    /// Locations of what was put in, numbered from the first that was asked for.
    pub locs: Vec<Origin>,
}

/// Where an instruction that was put in came from.
pub struct Origin {
    pub loc: SrcLoc,
    pub function: FuncId,
    /// The location of the call, which may have been put in itself.
    pub call: LocId,
}

/// A kernel or a function with the bodies of what it calls; `None` if there is no call that can be replaced.
///
/// `stack` is where a thread's local memory begins, `first_loc` the number of the first location of what is put in. Into a function,
/// whose frame may lie anywhere, only bodies without a frame are put.
pub fn inline(module: &Module, id: FuncId, stack: u32, first_loc: usize) -> Option<Inlined> {
    let kernel = module.functions.get(id.0 as usize)?;
    if !kernel.blocks.iter().flat_map(|b| &b.insts).any(|i| i.op == Op::Call) || takes_stack(kernel)
    {
        return None;
    }
    let mut inliner = Inliner {
        module,
        id,
        frame: stack.next_multiple_of(kernel.frame_align.max(16).next_power_of_two()),
        ends: vec![kernel.frame_size; kernel.blocks.len()],
        order: (0..kernel.blocks.len()).collect(),
        instructions: kernel.blocks.iter().map(|b| b.insts.len() + 1).sum(),
        out: kernel.clone(),
        owners: vec![0; kernel.blocks.len()],
        bodies: vec![None],
        rounds: 0,
        compared: HashSet::new(),
        slots: Vec::new(),
        addresses: HashMap::new(),
        moved: HashSet::new(),
        first_loc,
        locs: Vec::new(),
        known_locs: HashMap::new(),
        fit: HashMap::new(),
        recursive: HashMap::new(),
    };
    let (mut at, mut changed) = (0, false);
    while at < inliner.order.len() {
        changed |= inliner.expand_first(at);
        at += 1;
    }
    if !changed {
        return None;
    }
    let Inliner { out, owners: blocks, addresses, moved, slots, .. } = &mut inliner;
    // Who calls a function reads and writes its frame, too.
    if out.is_entry {
        promote(out, slots, &Owners { blocks, addresses, moved });
    }
    inliner.note_tops();
    inliner.lay_out();
    let Inliner { mut out, locs, .. } = inliner;
    super::run_on(&mut out);
    Some(Inlined { function: out, locs })
}

/// What a function may call: by handles any whose address is taken.
pub fn callees<'a>(module: &'a Module, f: &'a Function) -> impl Iterator<Item = FuncId> + 'a {
    let calls = f.blocks.iter().flat_map(|b| &b.insts).filter_map(|inst| match &inst.attr {
        Attr::Call(call) => Some(call.callee),
        _ => None,
    });
    calls.flat_map(|callee| {
        let (one, all) = match callee {
            Callee::Direct(id) => (Some(id), [].iter()),
            Callee::Indirect(_) => (None, module.functions.iter()),
        };
        let taken = |(n, f): (usize, &Function)| f.address_taken.then_some(FuncId(n as u32));
        one.into_iter().chain(all.enumerate().filter_map(taken))
    })
}

struct Inliner<'a> {
    module: &'a Module,
    /// What calls are put into.
    id: FuncId,
    /// The kernel. Blocks keep their numbers until they are laid out.
    out: Function,
    /// Where the kernel's frame begins in a thread's local memory.
    frame: u32,
    /// Where in the kernel's frame that of each block's function ends.
    ends: Vec<u32>,
    /// The number of the body that each block is of; the kernel's own is 0.
    owners: Vec<u32>,
    /// Of each body the function, and the body that called it. The kernel's own has none.
    bodies: Vec<Option<(FuncId, u32)>>,
    /// Bodies of functions that may call themselves.
    rounds: usize,
    /// Blocks whose calls by handles have comparisons before them.
    compared: HashSet<usize>,
    /// Arguments and results in memory, of the calls that were replaced.
    slots: Vec<Slot>,
    /// Whose frame the addresses are of that copies need.
    addresses: HashMap<Reg, u32>,
    /// What these copies move.
    moved: HashSet<Reg>,
    /// Blocks as they will stand.
    order: Vec<usize>,
    instructions: usize,
    first_loc: usize,
    locs: Vec<Origin>,
    /// By the call's location and the callee's own.
    known_locs: HashMap<(FuncId, LocId, LocId), LocId>,
    /// Whether bodies of functions may be put in at all.
    fit: HashMap<FuncId, bool>,
    recursive: HashMap<FuncId, bool>,
}

impl Inliner<'_> {
    /// Puts a body in place of the first call of a block for which that goes. The callee's blocks and the rest follow it.
    fn expand_first(&mut self, at: usize) -> bool {
        let block = self.order[at];
        (0..self.out.blocks[block].insts.len())
            .any(|n| self.expand(at, n) || self.compare_handle(at, n))
    }

    fn expand(&mut self, at: usize, n: usize) -> bool {
        let block = self.order[at];
        let inst = &self.out.blocks[block].insts[n];
        let (Attr::Call(call), None) = (&inst.attr, inst.guard) else { return false };
        let Callee::Direct(id) = call.callee else { return false };
        let (call, loc) = (call.clone(), inst.loc);
        let module = self.module;
        let Some(callee) = module.functions.get(id.0 as usize) else { return false };
        let size: usize = callee.blocks.iter().map(|b| b.insts.len() + 1).sum();
        let passed = call.args.len() + call.rets.len();
        let more = size + 4 * passed + 1;
        if self.instructions + more > MOST_INSTRUCTIONS
            || self.out.blocks.len() + callee.blocks.len() + 1 > MOST_BLOCKS
            || !self.may_enter(self.owners[block], id)
        {
            return false;
        }
        // As a call would have it, which aligns the address itself.
        let align = callee.frame_align.max(16).next_power_of_two();
        let top =
            self.frame.checked_add(self.ends[block]).and_then(|n| n.checked_add(CALL_OVERHEAD));
        let start = top.and_then(|n| n.checked_next_multiple_of(align)).map(|n| n - self.frame);
        let Some((start, end)) = start.and_then(|s| Some((s, s.checked_add(callee.frame_size)?)))
        else {
            return false;
        };
        let moved = Moved {
            regs: self.out.regs.len() as u32,
            frame: start,
            first_block: self.out.blocks.len() as u32,
        };
        self.out.regs.extend(&callee.regs);
        let (own, body) = (self.owners[block], self.bodies.len() as u32);
        let Some((arguments, results)) = self.copies(&call, callee, &moved, (own, body), loc)
        else {
            self.out.regs.truncate(moved.regs as usize);
            self.addresses.retain(|r, _| r.0 < moved.regs);
            self.moved.retain(|r| r.0 < moved.regs);
            return false;
        };
        self.bodies.push(Some((id, own)));
        self.rounds += usize::from(self.calls_itself(id));
        // A call's registers are 0 until they are set, in each round of a loop.
        let before = Liveness::new(callee).before(callee, 0);
        let given: Vec<Reg> = placed(&callee.params).collect();
        let unset: Vec<Reg> = (0..callee.regs.len() as u32)
            .map(Reg)
            .filter(|r| before[r.0 as usize] && !given.contains(r))
            .collect();
        let behind = BlockId(moved.first_block + callee.blocks.len() as u32);
        for block in &callee.blocks {
            let mut insts: Vec<Inst> = block.insts.iter().map(|i| moved.inst(i)).collect();
            insts.iter_mut().for_each(|i| i.loc = self.loc((id, loc), i.loc));
            if block.term == Term::Ret {
                insts.extend(results.iter().cloned());
            }
            let term = moved.term(&block.term, behind);
            let term_loc = self.loc((id, loc), block.term_loc);
            self.out.blocks.push(Block { label: None, insts, term, term_loc });
            self.ends.push(end);
            self.owners.push(body);
        }
        let head = &mut self.out.blocks[block];
        let rest = head.insts.split_off(n + 1);
        head.insts.pop();
        head.insts.extend(arguments);
        head.insts
            .extend(unset.iter().map(|&r| zero(callee.regs[r.0 as usize], moved.reg(r), loc)));
        let term = std::mem::replace(&mut head.term, Term::Br(BlockId(moved.first_block)));
        let term_loc = std::mem::replace(&mut head.term_loc, loc);
        self.out.blocks.push(Block { label: None, insts: rest, term, term_loc });
        self.ends.push(self.ends[block]);
        self.owners.push(own);
        self.order.splice(at + 1..at + 1, moved.first_block as usize..=behind.0 as usize);
        self.instructions += more;
        if callee.frame_size > 0 {
            self.out.frame_size = self.out.frame_size.max(end);
        }
        true
    }

    /// Copies of arguments and of results.
    fn copies(
        &mut self,
        call: &CallAttr,
        callee: &Function,
        moved: &Moved,
        (own, body): (u32, u32),
        loc: LocId,
    ) -> Option<(Vec<Inst>, Vec<Inst>)> {
        if call.args.len() != callee.params.len() || call.rets.len() != callee.rets.len() {
            return None;
        }
        let (mut arguments, mut results) = (Vec::new(), Vec::new());
        let mut slots = Vec::new();
        let mut slot = |owner: u32, arg: CallArg| {
            if let CallArg::Frame { offset, size } = arg {
                slots.push(Slot { owner, start: offset, end: offset + size });
            }
        };
        for (&arg, param) in call.args.iter().zip(&callee.params) {
            let to = moved.argument(param.place?);
            self.copy((own, arg), (body, to), loc, &mut arguments)?;
            slot(own, arg);
            slot(body, to);
        }
        for (&ret, result) in call.rets.iter().zip(&callee.rets) {
            let from = moved.argument(result.place?);
            self.copy((body, from), (own, ret), loc, &mut results)?;
            slot(body, from);
            slot(own, ret);
        }
        self.slots.extend(slots);
        Some((arguments, results))
    }

    /// What a call copies from one place to another; `None` if moves, loads and stores do not say it.
    fn copy(
        &mut self,
        (owner, from): (u32, CallArg),
        (other, to): (u32, CallArg),
        loc: LocId,
        out: &mut Vec<Inst>,
    ) -> Option<()> {
        match (from, to) {
            (CallArg::Value(v, _), CallArg::Value(Value::Reg(r), _)) => {
                let class = *self.out.regs.get(r.0 as usize)?;
                let ty = word_of(class)?;
                let v = match v {
                    Value::Reg(from) if self.out.regs.get(from.0 as usize) == Some(&class) => v,
                    Value::Reg(_) => return None,
                    Value::Imm(bits) if class == Class::W => Value::Imm(bits & 0xffff_ffff),
                    Value::Imm(_) => v,
                };
                out.push(inst(Op::Mov, ty, &[r], &[v], Attr::None, loc));
            }
            (CallArg::Value(v, ty), CallArg::Frame { offset, size }) => {
                let ty = int_of(ty.bits().div_ceil(8).min(size), offset)?;
                let fits = match v {
                    Value::Reg(r) => holds(*self.out.regs.get(r.0 as usize)?, ty),
                    Value::Imm(_) => true,
                };
                fits.then_some(())?;
                let at = self.address(other, offset, loc, out);
                out.push(inst(Op::St, ty, &[], &[at, v], local(), loc));
            }
            (CallArg::Frame { offset, size }, CallArg::Value(Value::Reg(r), ty)) => {
                let ty = int_of(ty.bits().div_ceil(8).min(size), offset)?;
                holds(*self.out.regs.get(r.0 as usize)?, ty).then_some(())?;
                let at = self.address(owner, offset, loc, out);
                out.push(inst(Op::Ld, ty, &[r], &[at], local(), loc));
            }
            (CallArg::Frame { offset: from, size }, CallArg::Frame { offset: to, size: room }) => {
                let bytes = size.min(room);
                (bytes <= MOST_COPIED).then_some(())?;
                let mut done = 0;
                while done < bytes {
                    let least = |n: &u32| {
                        (from + done).is_multiple_of(*n) && (to + done).is_multiple_of(*n)
                    };
                    let n = [8, 4, 2, 1].into_iter().find(|n| *n <= bytes - done && least(n))?;
                    let ty = int_of(n, 0)?;
                    let r = register(&mut self.out, ty.class());
                    self.moved.insert(r);
                    let at = self.address(owner, from + done, loc, out);
                    out.push(inst(Op::Ld, ty, &[r], &[at], local(), loc));
                    let at = self.address(other, to + done, loc, out);
                    out.push(inst(Op::St, ty, &[], &[at, Value::Reg(r)], local(), loc));
                    done += n;
                }
            }
            (_, CallArg::Value(Value::Imm(_), _)) => return None,
        }
        Some(())
    }

    fn address(&mut self, owner: u32, offset: u32, loc: LocId, out: &mut Vec<Inst>) -> Value {
        let r = register(&mut self.out, Class::D);
        self.addresses.insert(r, owner);
        let attr = Attr::Address { of: AddrOf::Local(offset), addend: 0 };
        out.push(inst(Op::Addr, Ty::I64, &[r], &[], attr, loc));
        Value::Reg(r)
    }

    /// A location of a function, as one of the kernel's.
    fn loc(&mut self, (function, call): (FuncId, LocId), loc: LocId) -> LocId {
        let first = self.first_loc;
        let (locs, module) = (&mut self.locs, self.module);
        *self.known_locs.entry((function, call, loc)).or_insert_with(|| {
            let loc = module.locs.get(loc.0 as usize).cloned().unwrap_or_default();
            locs.push(Origin { loc, function, call });
            LocId((first + locs.len() - 1) as u32)
        })
    }

    /// Whether a function's body may be put into another body, room aside.
    fn may_enter(&mut self, body: u32, id: FuncId) -> bool {
        if id == self.id {
            return false;
        }
        let mut outer = self.bodies[body as usize];
        while let Some((function, caller)) = outer {
            if function == id {
                return false;
            }
            outer = self.bodies[caller as usize];
        }
        self.fits(id)
    }

    /// Whether a function's body may be put in at all.
    fn fits(&mut self, id: FuncId) -> bool {
        if let Some(&known) = self.fit.get(&id) {
            return known;
        }
        let mut size = 0;
        let plain = self.module.functions.get(id.0 as usize).is_some_and(|f| {
            size = f.blocks.iter().map(|b| b.insts.len() + 1).sum();
            !f.is_entry
                && (self.out.is_entry || f.frame_size == 0)
                && !f.blocks.is_empty()
                && f.unsupported.is_empty()
                && !takes_stack(f)
        });
        let again = plain && self.calls_itself(id);
        // A call looks whether there is stack left, but for functions that need none. A kernel's frame has room in any case.
        let room = self.out.is_entry && size <= MOST_RECURSIVE && self.rounds < MOST_ROUNDS;
        let fits = plain && (!again || room);
        if !again {
            self.fit.insert(id, fits);
        }
        fits
    }

    /// Whether a function may come to call itself.
    fn calls_itself(&mut self, id: FuncId) -> bool {
        let known = self.recursive.get(&id).copied();
        known.unwrap_or_else(|| {
            let recursive = self.may_call(id, id);
            self.recursive.insert(id, recursive);
            recursive
        })
    }

    /// Whether a function may come to call another: calls by handles may call any whose address is taken.
    fn may_call(&self, from: FuncId, to: FuncId) -> bool {
        let (mut seen, mut to_do) = (BTreeSet::new(), vec![from]);
        while let Some(id) = to_do.pop() {
            let Some(f) = self.module.functions.get(id.0 as usize) else { continue };
            for callee in callees(self.module, f) {
                if callee == to {
                    return true;
                }
                if seen.insert(callee) {
                    to_do.push(callee);
                }
            }
        }
        false
    }

    /// Calls that are left take their stack from where they would have.
    fn note_tops(&mut self) {
        let frame = self.out.frame_size;
        for (block, &end) in self.out.blocks.iter_mut().zip(&self.ends) {
            for inst in &mut block.insts {
                if let Attr::Call(call) = &mut inst.attr {
                    call.top = (end != frame).then_some(end);
                }
            }
        }
    }

    /// Blocks in their order, and jumps to where they are then.
    fn lay_out(&mut self) {
        let mut places = vec![0; self.order.len()];
        for (at, &block) in self.order.iter().enumerate() {
            places[block] = at as u32;
        }
        let mut blocks: Vec<Option<Block>> =
            std::mem::take(&mut self.out.blocks).into_iter().map(Some).collect();
        let in_order = self.order.iter().filter_map(|&b| blocks[b].take());
        self.out.blocks = in_order.collect();
        let place = |b: &mut BlockId| *b = BlockId(places[b.0 as usize]);
        for block in &mut self.out.blocks {
            match &mut block.term {
                Term::Br(to) => place(to),
                Term::CondBr { then, els, .. } => [then, els].into_iter().for_each(place),
                Term::BrTable { targets, .. } => targets.iter_mut().for_each(place),
                Term::Ret | Term::Exit => {}
            }
        }
    }
}

/// Whether a function takes stack as it runs.
fn takes_stack(f: &Function) -> bool {
    let mut insts = f.blocks.iter().flat_map(|b| &b.insts);
    insts.any(|i| matches!(i.op, Op::Alloca | Op::StackSave | Op::StackRestore))
}

/// A new register.
fn register(f: &mut Function, class: Class) -> Reg {
    f.regs.push(class);
    Reg(f.regs.len() as u32 - 1)
}

fn inst(op: Op, ty: Ty, dsts: &[Reg], srcs: &[Value], attr: Attr, loc: LocId) -> Inst {
    let mut new =
        Inst { op, ty, from: ty, dsts: smallvec![], srcs: smallvec![], guard: None, attr, loc };
    new.dsts.extend(dsts.iter().copied());
    new.srcs.extend(srcs.iter().copied());
    new
}

fn local() -> Attr {
    Attr::Mem(MemAttr::plain(Space::Local))
}

/// Sets a register to 0.
fn zero(class: Class, r: Reg, loc: LocId) -> Inst {
    let ty = word_of(class).unwrap_or(Ty::Pred);
    inst(Op::Mov, ty, &[r], &[Value::Imm(0)], Attr::None, loc)
}

/// The type by which a register is copied whole.
fn word_of(class: Class) -> Option<Ty> {
    match class {
        Class::P => None,
        Class::W => Some(Ty::I32),
        Class::D => Some(Ty::I64),
    }
}

/// The integer of so many bytes, if one may lie at an offset of the frame.
fn int_of(bytes: u32, offset: u32) -> Option<Ty> {
    let ty = match bytes {
        1 => Ty::I8,
        2 => Ty::I16,
        4 => Ty::I32,
        8 => Ty::I64,
        _ => return None,
    };
    offset.is_multiple_of(bytes).then_some(ty)
}

/// Whether a register of a class takes what an access of a type moves.
fn holds(class: Class, ty: Ty) -> bool {
    match class {
        Class::P => false,
        Class::W => ty != Ty::I64,
        Class::D => true,
    }
}

#[cfg(test)]
mod tests;
