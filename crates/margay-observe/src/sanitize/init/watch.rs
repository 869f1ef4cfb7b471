// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watches a launch for undefined values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use margay_exec::fault::Access;
use margay_exec::observe::{AccessEvent, BlockEvent, EventPlace, Interest, Observer, Watch};
use margay_exec::program::Code;
use margay_ir::{Attr, FuncId, Inst, Op, Space, Term, Ty, Value};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::memory::{Bits, Globals};
use super::taint::{self, Operand, Taint};
use crate::sanitize::finding::{Actor, Check, Finding, Severity};
use crate::sanitize::view::View;

/// Watches one launch.
pub struct InitObserver<'a> {
    view: View<'a>,
    globals: &'a Globals,
    blocks: Mutex<HashMap<u32, Arc<Mutex<State>>>>,
    reported: Mutex<HashSet<(u32, u32)>>,
}

impl<'a> InitObserver<'a> {
    pub fn new(view: View<'a>, globals: &'a Globals) -> InitObserver<'a> {
        InitObserver { view, globals, blocks: Mutex::default(), reported: Mutex::default() }
    }

    fn state(&self, block: u32) -> Arc<Mutex<State>> {
        let make = || {
            let shared = Bits::unwritten(self.view.shared_bytes.into());
            Arc::new(Mutex::new(State { shared, local: HashMap::new(), files: HashMap::new() }))
        };
        self.blocks.lock().entry(block).or_insert_with(make).clone()
    }
}

impl Observer for InitObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES | Interest::RUNS | Interest::BLOCKS
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(InitWatch { all: self, block: None, pending: Vec::new(), range: None })
    }
}

/// Where an undefined value came from.
#[derive(Clone, Copy, Debug)]
struct Origin {
    pc: u32,
    space: Space,
    address: u64,
}

/// The undefined registers of a warp in one function: none, as a rule.
#[derive(Debug, Default)]
struct File {
    registers: HashMap<u32, (Box<Taint>, Origin, bool)>,
}

#[derive(Debug)]
struct State {
    shared: Bits,
    /// By thread of the block.
    local: HashMap<u32, HashMap<u64, u8>>,
    files: HashMap<(u32, FuncId), File>,
}

/// An access that waits for its instruction's turn.
struct Pending {
    pc: u32,
    space: Space,
    access: Access,
    bytes: u32,
    mask: u32,
    addresses: [u64; 32],
}

struct InitWatch<'w, 'a> {
    all: &'w InitObserver<'a>,
    block: Option<(u32, Arc<Mutex<State>>)>,
    pending: Vec<Pending>,
    /// The range of global memory that was looked up last.
    range: Option<(u64, u64, Option<Arc<Bits>>)>,
}

/// What a use of an undefined value is.
enum Use {
    Branch,
    Address,
    Atomic,
    Result,
}

impl InitWatch<'_, '_> {
    fn state(&mut self, block: u32) -> Arc<Mutex<State>> {
        match &self.block {
            Some((id, state)) if *id == block => state.clone(),
            _ => {
                let state = self.all.state(block);
                self.block = Some((block, state.clone()));
                state
            }
        }
    }

    /// The bits of global memory at an address, if it is watched.
    fn global(&mut self, address: u64) -> Option<(u64, Arc<Bits>)> {
        if let Some((base, end, bits)) = &self.range
            && (*base..*end).contains(&address)
        {
            return bits.as_ref().map(|b| (*base, b.clone()));
        }
        let found = self.all.globals.find(address);
        if let Some((base, bits)) = &found {
            self.range = Some((*base, base + bits.size(), Some(bits.clone())));
        }
        found
    }

    /// Bits of up to eight bytes at an address: set where a byte was never written.
    fn unwritten(&mut self, state: &State, p: &Pending, thread: u32, at: u64, bytes: u32) -> u8 {
        match p.space {
            Space::Shared if at < 1 << 24 => state.shared.get(at, bytes),
            Space::Global => self.global(at).map_or(0, |(base, bits)| bits.get(at - base, bytes)),
            Space::Local => {
                let Some(own) = state.local.get(&thread) else {
                    return ((1u32 << bytes.min(8)) - 1) as u8;
                };
                let byte = |n: u64| {
                    let word = own.get(&((at + n) / 8)).copied().unwrap_or(u8::MAX);
                    word >> ((at + n) % 8) & 1
                };
                (0..u64::from(bytes.min(8))).fold(0, |b, n| b | byte(n) << n)
            }
            // A block of the cluster; and what kernels cannot write.
            Space::Shared | Space::Const | Space::Param | Space::Generic => 0,
        }
    }

    fn write(
        &mut self,
        state: &mut State,
        p: &Pending,
        thread: u32,
        at: u64,
        bytes: u32,
        unwritten: u8,
    ) {
        match p.space {
            Space::Shared if at < 1 << 24 => state.shared.put(at, bytes, unwritten),
            Space::Global => {
                if let Some((base, bits)) = self.global(at) {
                    bits.put(at - base, bytes, unwritten);
                }
            }
            Space::Local => {
                let own = state.local.entry(thread).or_default();
                for n in 0..u64::from(bytes.min(8)) {
                    let word = own.entry((at + n) / 8).or_insert(u8::MAX);
                    let bit = 1 << ((at + n) % 8);
                    *word = if unwritten >> n & 1 != 0 { *word | bit } else { *word & !bit };
                }
            }
            Space::Shared | Space::Const | Space::Param | Space::Generic => {}
        }
    }

    fn report(&self, what: Use, at: EventPlace, pc: u32, lane: usize, origin: Origin) {
        let all = self.all;
        if !all.reported.lock().insert((pc, origin.pc)) {
            return all.view.sink.again(Check::Init, all.view.kernel(), pc, origin.pc);
        }
        let (code, action, message) = match what {
            Use::Branch => {
                ("init/branch", "branch", "a branch depends on a value that was never written")
            }
            Use::Address => (
                "init/address",
                "access",
                "an address was computed from a value that was never written",
            ),
            Use::Atomic => {
                ("init/atomic", "atomic", "an atomic changes memory that was never written")
            }
            Use::Result => (
                "init/result",
                "write",
                "a result was computed from a value that was never written",
            ),
        };
        let view = &all.view;
        let space = view.space_name(origin.space);
        let cure = match (origin.space, view.opencl) {
            (Space::Shared, _) => {
                format!("write the {space} memory before it is read, and put a barrier between")
            }
            (Space::Global, false) => {
                "fill the allocation first: cudaMemset, cudaMemcpy or a kernel".to_owned()
            }
            (Space::Global, true) => {
                "fill the buffer first: clEnqueueFillBuffer, clEnqueueWriteBuffer or a kernel"
                    .to_owned()
            }
            (Space::Local | Space::Const | Space::Param | Space::Generic, _) => {
                "give the variable a value on every path that leads to the use".to_owned()
            }
        };
        let thread = view.tid(at.warp as u16, lane as u8);
        let actor = |action: &str, pc| Actor {
            action: action.to_owned(),
            block: at.ctaid,
            thread: Some(thread),
            source: view.source(pc),
        };
        let finding = Finding {
            check: Check::Init,
            severity: Severity::Error,
            code: code.to_owned(),
            kernel: view.kernel().to_owned(),
            message: message.to_owned(),
            cure,
            space: Some(space.to_owned()),
            address: Some(origin.address),
            bytes: None,
            object: view.object(origin.space, origin.address),
            actors: vec![actor(action, pc), actor("read of memory never written", origin.pc)],
            count: 1,
        };
        view.sink.add(finding, Some((pc, origin.pc)));
    }

    /// One instruction, executed by the lanes `mask` (and its guard).
    fn step(&mut self, state: &mut State, at: EventPlace, pc: u32, mask: u32) {
        let Some(view) = self.all.view.program.instruction(pc) else { return };
        let key = (at.warp, view.id);
        let inst = match view.code {
            Code::Inst(inst) => inst,
            Code::Term(term) => {
                let pred = match term {
                    Term::CondBr { pred, .. } => Some(pred.0),
                    Term::BrTable { index: Value::Reg(reg), .. } => Some(reg.0),
                    Term::BrTable { index: Value::Imm(_), .. }
                    | Term::Br(_)
                    | Term::Ret
                    | Term::Exit => None,
                };
                if let Some(reg) = pred
                    && let Some((lane, origin)) = undefined(state, key, reg, mask)
                {
                    self.report(Use::Branch, at, pc, lane, origin);
                    // Once is enough: what follows is as undefined.
                    forget(state, key, reg);
                }
                return;
            }
            Code::Nothing => return,
        };
        match inst.op {
            Op::Ld | Op::St | Op::Atom | Op::CpAsync => self.access(state, at, pc, inst, key),
            Op::Call | Op::Syscall => {
                for reg in &inst.dsts {
                    forget(state, key, reg.0);
                }
                // The results of a call are in its attribute.
                if let Attr::Call(_) = inst.attr {
                    state.files.remove(&key);
                }
            }
            _ => self.compute(state, inst, key, mask),
        }
    }

    fn compute(&mut self, state: &mut State, inst: &Inst, key: (u32, FuncId), mask: u32) {
        let Some(file) = state.files.get(&key) else { return };
        if file.registers.is_empty() {
            return;
        }
        let source = |v: &Value| match v {
            Value::Reg(reg) => file.registers.get(&reg.0),
            Value::Imm(_) => None,
        };
        let Some((_, origin, derived)) = inst.srcs.iter().find_map(source) else {
            if inst.guard.is_none() {
                for reg in &inst.dsts {
                    clear(state, key, reg.0, mask);
                }
            }
            return;
        };
        let (origin, mut derived) = (*origin, *derived);
        let mut out: Taint = [0; 32];
        for lane in (0..32usize).filter(|l| mask >> l & 1 != 0) {
            let taint = |reg| file.registers.get(&reg).map_or(0, |(t, ..)| t[lane]);
            let operands: Vec<Operand> = inst.srcs.iter().map(|v| Operand::of(v, taint)).collect();
            let (bits, computed) = taint::result(inst, &operands);
            out[lane] = bits;
            derived |= computed;
        }
        let crosses = matches!(
            inst.op,
            Op::Shfl | Op::Vote | Op::Ballot | Op::MatchAny | Op::MatchAll | Op::Redux | Op::BarRed
        );
        // Values of other lanes come in: undefined for sure only if all are.
        let sure = (0..32).filter(|l| mask >> l & 1 != 0).all(|l: usize| out[l] != 0);
        if crosses && !sure {
            out = [0; 32];
        }
        for reg in &inst.dsts {
            if inst.guard.is_some() {
                let old = file_bits(state, key, reg.0);
                for (new, old) in out.iter_mut().zip(old) {
                    *new &= old;
                }
            }
            put(state, key, reg.0, mask, &out, origin, derived);
        }
    }

    fn access(
        &mut self,
        state: &mut State,
        at: EventPlace,
        pc: u32,
        inst: &Inst,
        key: (u32, FuncId),
    ) {
        if let Some(Value::Reg(reg)) = inst.srcs.first()
            && let Some(p) = self.pending.iter().find(|p| p.pc == pc)
            && let Some((lane, origin)) = undefined(state, key, reg.0, p.mask)
        {
            self.report(Use::Address, at, pc, lane, origin);
            forget(state, key, reg.0);
        }
        let mut taken = Vec::new();
        self.pending.retain_mut(|p| {
            let ours = p.pc == pc;
            if ours {
                taken.push(Pending { addresses: p.addresses, ..*p });
            }
            !ours
        });
        let elements = match inst.op {
            Op::Ld => inst.dsts.len(),
            Op::St => inst.srcs.len().saturating_sub(1),
            _ => 1,
        }
        .max(1) as u32;
        let mut loaded: Vec<Taint> = vec![[0; 32]; elements as usize];
        let (mut seen, mut origin) = (0, None);
        for p in &taken {
            seen |= p.mask;
            let each = (p.bytes / elements).max(1);
            for lane in (0..32usize).filter(|l| p.mask >> l & 1 != 0) {
                let thread = at.warp * 32 + lane as u32;
                let address = p.addresses[lane];
                let stored = |e: usize| match inst.srcs.get(1 + e) {
                    Some(Value::Reg(reg)) => state
                        .files
                        .get(&key)
                        .and_then(|f| f.registers.get(&reg.0))
                        .map(|(t, origin, derived)| (t[lane], *origin, *derived))
                        .filter(|(t, ..)| *t != 0),
                    Some(Value::Imm(_)) | None => None,
                };
                let parts: SmallVec<[_; 4]> = match inst.op {
                    Op::St => (0..elements as usize).map(stored).collect(),
                    _ => SmallVec::new(),
                };
                if inst.op == Op::St && p.space == Space::Global {
                    let full = u64::MAX >> (64 - 8 * each.min(8));
                    let whole = parts.iter().all(|s| s.is_some_and(|(t, ..)| t & full == full));
                    let derived =
                        parts.iter().flatten().find(|(t, _, derived)| *derived && t & full != 0);
                    let first = parts.iter().flatten().next();
                    if let Some((_, origin, _)) = derived.or(if whole { first } else { None }) {
                        let origin = *origin;
                        self.report(Use::Result, at, pc, lane, origin);
                    }
                }
                for e in 0..elements {
                    let start = address + u64::from(e * each);
                    let mut done = 0;
                    while done < each {
                        let part = (each - done).min(8);
                        let here = start + u64::from(done);
                        match (inst.op, p.access) {
                            (Op::Ld, _) => {
                                let bits = self.unwritten(state, p, thread, here, part);
                                if bits != 0 {
                                    origin.get_or_insert(Origin {
                                        pc,
                                        space: p.space,
                                        address: here,
                                    });
                                    loaded[e as usize][lane] |= spread(bits);
                                }
                            }
                            (Op::Atom, _) => {
                                let bits = self.unwritten(state, p, thread, here, part);
                                if bits != 0 {
                                    let origin = Origin { pc, space: p.space, address: here };
                                    self.report(Use::Atomic, at, pc, lane, origin);
                                }
                                self.write(state, p, thread, here, part, 0);
                            }
                            (Op::St, _) => {
                                let taint = parts[e as usize].map_or(0, |(t, ..)| t);
                                self.write(state, p, thread, here, part, gather(taint));
                            }
                            (_, Access::Write) => self.write(state, p, thread, here, part, 0),
                            (_, Access::Read | Access::Atomic) => {}
                        }
                        done += part;
                    }
                }
            }
        }
        if inst.op == Op::Ld {
            for (reg, taint) in inst.dsts.iter().zip(&mut loaded) {
                if signed_wider(inst) {
                    taint.iter_mut().filter(|t| **t != 0).for_each(|t| *t = u64::MAX);
                }
                match origin {
                    Some(origin) => put(state, key, reg.0, seen, taint, origin, false),
                    None => clear(state, key, reg.0, seen),
                }
            }
        } else if inst.op == Op::Atom {
            for reg in &inst.dsts {
                clear(state, key, reg.0, seen);
            }
        }
    }
}

/// A load that extends a narrow value by its sign: its upper bits follow from the value.
fn signed_wider(inst: &Inst) -> bool {
    matches!(inst.attr, Attr::Mem(mem) if mem.signed)
        && matches!(inst.ty, Ty::I8 | Ty::I16 | Ty::I32)
}

/// A bit a byte to eight bits a byte.
fn spread(bytes: u8) -> u64 {
    (0..8).filter(|n| bytes >> n & 1 != 0).fold(0, |t, n| t | 0xff << (8 * n))
}

/// Bytes with any undefined bit.
fn gather(taint: u64) -> u8 {
    (0..8).filter(|n| taint >> (8 * n) & 0xff != 0).fold(0, |b, n| b | 1 << n)
}

fn undefined(state: &State, key: (u32, FuncId), reg: u32, mask: u32) -> Option<(usize, Origin)> {
    let (taint, origin, _) = state.files.get(&key)?.registers.get(&reg)?;
    let lane = (0..32).find(|&l| mask >> l & 1 != 0 && taint[l] != 0)?;
    Some((lane, *origin))
}

fn file_bits(state: &State, key: (u32, FuncId), reg: u32) -> Taint {
    let found = state.files.get(&key).and_then(|f| f.registers.get(&reg));
    found.map_or([0; 32], |(t, ..)| **t)
}

fn forget(state: &mut State, key: (u32, FuncId), reg: u32) {
    if let Some(file) = state.files.get_mut(&key) {
        file.registers.remove(&reg);
    }
}

/// The lanes `mask` of a register are defined now.
fn clear(state: &mut State, key: (u32, FuncId), reg: u32, mask: u32) {
    if let Some(file) = state.files.get_mut(&key)
        && let Some((taint, ..)) = file.registers.get_mut(&reg)
    {
        for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
            taint[lane] = 0;
        }
        if taint.iter().all(|&t| t == 0) {
            file.registers.remove(&reg);
        }
    }
}

fn put(
    state: &mut State,
    key: (u32, FuncId),
    reg: u32,
    mask: u32,
    taint: &Taint,
    origin: Origin,
    derived: bool,
) {
    if taint.iter().all(|&t| t == 0) {
        return clear(state, key, reg, mask);
    }
    let registers = &mut state.files.entry(key).or_default().registers;
    let entry = registers.entry(reg).or_insert_with(|| (Box::new([0; 32]), origin, derived));
    for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
        entry.0[lane] = taint[lane];
    }
    (entry.1, entry.2) = (origin, derived);
}

impl Watch for InitWatch<'_, '_> {
    fn access(&mut self, event: &AccessEvent<'_>) {
        let &AccessEvent { at, space, access, bytes, mask, addresses, .. } = event;
        self.pending.push(Pending { pc: at.pc, space, access, bytes, mask, addresses: *addresses });
    }

    fn run(&mut self, at: EventPlace, end: u32, mask: u32) {
        let state = self.state(self.all.view.linear(at.ctaid));
        let state = &mut *state.lock();
        for pc in at.pc..end {
            self.step(state, at, pc, mask);
        }
        // What is left belongs to an instruction that will be tried again.
        self.pending.clear();
    }

    fn block_ends(&mut self, block: &BlockEvent) {
        self.all.blocks.lock().remove(&self.all.view.linear(block.ctaid));
        (self.block, self.range) = (None, None);
    }
}
