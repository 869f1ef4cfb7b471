// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watches a launch for undefined values.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use margay_exec::fault::Access;
use margay_exec::observe::{
    AccessEvent, ArgumentEvent, BlockEvent, EventPlace, Interest, Observer, PatternedEvent, Watch,
};
use margay_exec::program::Code;
use margay_exec::reach::Written;
use margay_ir::{Attr, Inst, Op, Space, Term, Ty, Value};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::mbarrier::is_part;
use super::facts::Facts;
use super::memory::{Bits, Globals};
use super::state::{Key, Origin, State, Unwritten, may_be_padding};
use super::taint::{self, Operand, Taint, gather, spread};
use super::unset::variable;
use crate::sanitize::finding::{Actor, Check, Finding, Severity};
use crate::sanitize::form::{Form, Forms, Order, extent};
use crate::sanitize::states::States;
use crate::sanitize::sync::lanes;
use crate::sanitize::view::View;

/// Watches one launch.
pub struct InitObserver<'a> {
    pub(super) view: View<'a>,
    globals: &'a Globals,
    reported: Mutex<HashSet<(u32, u32)>>,
    pub(super) facts: Arc<Facts>,
    written: Written,
    /// Whether accesses of these allocations need not be looked at, by their first addresses.
    quiet: Mutex<FxHashMap<u64, bool>>,
    /// Where the kernel's own variables are in local memory.
    frame: Range<u64>,
    /// The single ones, where they are known, and those in shared memory.
    locals: Vec<Range<u64>>,
    shared: Vec<Range<u64>>,
}

impl<'a> InitObserver<'a> {
    /// An observer for a launch; `None` where no value can be undefined: neither the program brings one in, nor can a load
    /// of global memory, all of which is written. Then what it writes is written already, too.
    pub fn new(view: View<'a>, globals: &'a Globals, written: Written) -> Option<InitObserver<'a>> {
        let facts = view.known.init(view.program);
        let begins_undefined = facts.begins_undefined || view.shared_bytes > 0;
        if !begins_undefined && globals.are_written(&(0..u64::MAX)) {
            return None;
        }
        let frame = view.program.frame();
        let variables = view.variables_at();
        Some(InitObserver {
            locals: variables.0,
            shared: variables.1,
            view,
            globals,
            reported: Mutex::default(),
            facts,
            written,
            quiet: Mutex::default(),
            frame,
        })
    }

    /// A block that has not run.
    fn fresh(&self, state: &mut State) {
        let Some(kernel) = self.facts.kernel else { return };
        let threads = self.view.threads();
        for warp in 0..threads.div_ceil(32) {
            let lanes = (threads - warp * 32).min(32);
            self.begin(state, (warp, kernel), u32::MAX >> (32 - lanes));
        }
    }

    /// What is known of a block that begins.
    fn begun(&self) -> Box<State> {
        let mut state = State::new(self.view.shared_bytes, self.view.threads());
        self.fresh(&mut state);
        Box::new(state)
    }
}

impl Observer for InitObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
            | Interest::RUNS
            | Interest::BLOCKS
            | Interest::ARGUMENTS
            | Interest::ADMISSIONS
            | Interest::CHOICES
    }

    /// It is enough to be asked, as long as all that a warp reads is defined.
    fn compiled(&self) -> Interest {
        match self.facts.kernel {
            Some(_) => self.interest(),
            // Code has lanes that are not all there shuffle by the interpreter, if somebody is told of it.
            None if self.facts.shuffles => {
                Interest::BLOCKS | Interest::ADMISSIONS | Interest::WARP_SYNCS
            }
            None => Interest::BLOCKS | Interest::ADMISSIONS,
        }
    }

    fn choices(&self) -> &[bool] {
        &self.facts.choices
    }

    /// What is written and stays so.
    fn is_quiet(&self, memory: Range<u64>) -> bool {
        let find = || !self.written.touches(&memory) && self.globals.are_written(&memory);
        *self.quiet.lock().entry(memory.start).or_insert_with(find)
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(InitWatch {
            all: self,
            states: States::default(),
            pending: Vec::new(),
            done: 0,
            chosen: VecDeque::new(),
            range: None,
            gap: 0..0,
            forms: Forms::default(),
            lookups: 0,
            told: RefCell::default(),
        })
    }
}

/// An access that waits for its instruction's turn.
struct Pending {
    block: u32,
    pc: u32,
    space: Space,
    access: Access,
    bytes: u32,
    mask: u32,
    addresses: [u64; 32],
}

/// What lanes of a warp access.
struct Lanes<'p> {
    block: u32,
    space: Space,
    bytes: u32,
    mask: u32,
    addresses: &'p [u64; 32],
}

impl Pending {
    fn lanes(&self) -> Lanes<'_> {
        let &Pending { block, space, bytes, mask, ref addresses, .. } = self;
        Lanes { block, space, bytes, mask, addresses }
    }
}

struct InitWatch<'w, 'a> {
    all: &'w InitObserver<'a>,
    states: States<State>,
    /// In the order of their instructions.
    pending: Vec<Pending>,
    /// How many of them had their turn.
    done: usize,
    /// Choices that wait for theirs.
    chosen: VecDeque<Choice>,
    /// The range of global memory that was looked up last.
    range: Option<(u64, u64, Arc<Bits>)>,
    /// Memory that is not watched.
    gap: Range<u64>,
    forms: Forms,
    /// Looks at bytes.
    lookups: u32,
    /// What has been reported, and how often since, which is told at the end: every lane of every warp may come to it.
    told: RefCell<FxHashMap<(u32, u32), u64>>,
}

impl Drop for InitWatch<'_, '_> {
    fn drop(&mut self) {
        let view = &self.all.view;
        for (&(pc, from), times) in self.told.get_mut() {
            view.sink.again(Check::Init, view.kernel(), (pc, from), *times);
        }
    }
}

/// What decides, at an instruction.
struct Choice {
    pc: u32,
    /// Lanes in which it has effect.
    mask: u32,
    operands: [u32; 2],
    /// Of a shuffle: the lane whose value each lane reads.
    sources: Option<[u8; 32]>,
}

/// After so many looks all of the memory is looked at: what is whole needs none.
const LOOKUPS: u32 = 4096;

/// In the address of the instruction that a value came from: it may be padding.
const FROM_PADDING: u32 = 1 << 31;

/// What a use of an undefined value is.
#[derive(Clone, Copy)]
enum Use {
    Branch,
    Address,
    Atomic,
    Result,
    /// A result that may be padding, copied in pieces.
    Padding,
}

impl InitWatch<'_, '_> {
    /// Does something with what is known of a block.
    #[inline]
    fn with_state<R>(
        &mut self,
        ctaid: [u32; 3],
        change: impl FnOnce(&mut Self, &mut State) -> R,
    ) -> R {
        let block = self.all.view.linear(ctaid);
        let mut state = self.states.take(block).unwrap_or_else(|| self.all.begun());
        let done = change(self, &mut state);
        self.states.put(block, state);
        done
    }

    /// The bits of global memory at an address, if it is watched.
    fn global(&mut self, address: u64) -> Option<(u64, &Bits)> {
        let known = self.range.as_ref().is_some_and(|r| (r.0..r.1).contains(&address));
        if !known {
            if self.gap.contains(&address) {
                return None;
            }
            let Some((base, bits)) = self.all.globals.find(address) else {
                self.gap = self.all.globals.gap(address);
                return None;
            };
            self.range = Some((base, base + bits.size(), bits));
        }
        self.range.as_ref().map(|(base, _, bits)| (*base, &**bits))
    }

    /// Bits of up to eight bytes at an address: set where a byte was never written.
    fn unwritten(&mut self, state: &State, p: &Lanes<'_>, thread: u32, at: u64, bytes: u32) -> u8 {
        match p.space {
            Space::Shared if at < 1 << 24 => state.shared.get(at, bytes),
            Space::Shared => self.in_cluster(p, at, |owner, at| match owner {
                Some(peer) => peer.shared.get(at, bytes),
                None => state.shared.get(at, bytes),
            }),
            Space::Global => self.global(at).map_or(0, |(base, bits)| bits.get(at - base, bytes)),
            Space::Local => state.local(thread, at, bytes),
            // What kernels cannot write.
            Space::Const | Space::Param | Space::Generic => 0,
        }
    }

    /// Whether the bytes that were never written, by their bits, may all be structures' padding.
    fn may_be_padding(
        &mut self,
        state: &State,
        p: &Lanes<'_>,
        thread: u32,
        (here, bits): (u64, u8),
    ) -> bool {
        let unwritten = |this: &mut Self, at: u64, bytes: u64| -> u32 {
            let bits = [0, 8, 16, 24].map(|n| {
                let part = bytes.saturating_sub(n).min(8) as u32;
                u32::from(this.unwritten(state, p, thread, at + n, part)) << n
            });
            bits[0] | bits[1] | bits[2] | bits[3]
        };
        // Where a variable ends, so does its padding.
        let variables = match p.space {
            Space::Local => &self.all.locals[..],
            Space::Shared => &self.all.shared[..],
            Space::Global | Space::Const | Space::Param | Space::Generic => &[],
        };
        let own = variables.iter().find(|own| own.contains(&here)).cloned().unwrap_or(0..u64::MAX);
        (0..8).filter(|n| bits >> n & 1 != 0).all(|n| {
            let at = here + n;
            let (back, on) = ((at - own.start.min(at)).min(32), own.end.saturating_sub(at).min(32));
            let before = u64::from(unwritten(self, at - back, back)) << (32 - back);
            may_be_padding(at, [before as u32, unwritten(self, at, on)])
        })
    }

    fn write(
        &mut self,
        state: &mut State,
        p: &Lanes<'_>,
        thread: u32,
        at: u64,
        bytes: u32,
        unwritten: u8,
    ) {
        match p.space {
            Space::Shared if at < 1 << 24 => state.shared.put(at, bytes, unwritten),
            Space::Shared => {
                self.in_cluster(p, at, |owner, at| {
                    match owner {
                        Some(peer) => peer.shared.put(at, bytes, unwritten),
                        None => state.shared.put(at, bytes, unwritten),
                    }
                    0
                });
            }
            Space::Global => {
                if let Some((base, bits)) = self.global(at) {
                    bits.put(at - base, bytes, unwritten);
                }
            }
            Space::Local => state.write_local(thread, at, bytes, unwritten),
            Space::Const | Space::Param | Space::Generic => {}
        }
    }

    /// Calls `look` with the block of the cluster whose shared memory an address is in (`None`: the own one), and the
    /// address there. What has ended counts as written.
    fn in_cluster(
        &self,
        p: &Lanes<'_>,
        at: u64,
        look: impl FnOnce(Option<&State>, u64) -> u8,
    ) -> u8 {
        let (owner, at) = self.all.view.shared_owner(p.block, at);
        if owner == p.block {
            return look(None, at);
        }
        self.states.peer(owner).map_or(0, |peer| look(Some(peer), at))
    }

    fn report(&self, what: Use, at: EventPlace, pc: u32, lane: usize, origin: Origin) {
        let all = self.all;
        let mut told = self.told.borrow_mut();
        // What one lane has from padding, another may have from elsewhere.
        let from = match what {
            Use::Padding => origin.pc | FROM_PADDING,
            Use::Branch | Use::Address | Use::Atomic | Use::Result => origin.pc,
        };
        if let Some(times) = told.get_mut(&(pc, from)) {
            *times += 1;
            return;
        }
        if !all.reported.lock().insert((pc, from)) {
            told.insert((pc, from), 1);
            return;
        }
        told.insert((pc, from), 0);
        let view = &all.view;
        let (code, action, begins) = match what {
            Use::Branch => ("init/branch", "branch", "a branch depends on"),
            Use::Address => ("init/address", "access", "an address was computed from"),
            Use::Atomic => ("init/atomic", "atomic", "an atomic changes"),
            Use::Result => ("init/result", "write", "a result was computed from"),
            Use::Padding => ("init/padding", "write", "what may be padding is copied from"),
        };
        let (message, read, cure) = match origin.what {
            Unwritten::Memory { space, .. } => (
                match what {
                    Use::Atomic | Use::Padding => "memory that was never written",
                    Use::Branch | Use::Address | Use::Result => "a value that was never written",
                },
                "read of memory never written",
                match what {
                    Use::Padding => "nothing is wrong if it is padding of a structure; else write it first".to_owned(),
                    Use::Branch | Use::Address | Use::Atomic | Use::Result => cure(view, space),
                },
            ),
            Unwritten::Register => (
                "a register that was never set",
                "read of a register never set",
                "set the register on every path that leads to the use".to_owned(),
            ),
            Unwritten::Variable(_) => (
                "a variable that was never set",
                "variable without a value",
                "give the variable a value on every path that leads to the use".to_owned(),
            ),
            Unwritten::Lane => (
                "the value of a lane that is not there: its thread has exited, never was, or went another way",
                "read of a lane that is not there",
                "let all lanes that are read take part in the shuffle, or use the result only where its source does"
                    .to_owned(),
            ),
        };
        let message = format!("{begins} {message}");
        let functions = &view.program.module().ir.functions;
        let (space, address, object) = match origin.what {
            Unwritten::Memory { space, address } => {
                (Some(view.space_name(space)), Some(address), view.object(space, address))
            }
            Unwritten::Register | Unwritten::Lane => (None, None, None),
            Unwritten::Variable(id) => {
                let name = variable(&functions[id.0 as usize]).filter(|name| !name.is_empty());
                (Some(view.space_name(Space::Local)), None, name.map(|name| format!("`{name}`")))
            }
        };
        let thread = view.tid(at.warp as u16, lane as u8);
        let actor = |action: &str, pc| Actor {
            action: action.to_owned(),
            block: at.ctaid,
            thread: Some(thread),
            host: false,
            source: view.source(pc),
        };
        let finding = Finding {
            check: Check::Init,
            severity: match what {
                Use::Padding => Severity::Note,
                Use::Branch | Use::Address | Use::Atomic | Use::Result => Severity::Error,
            },
            code: code.to_owned(),
            kernel: view.kernel().to_owned(),
            message,
            cure,
            space: space.map(str::to_owned),
            address,
            bytes: None,
            object,
            words: view.words,
            actors: vec![actor(action, pc), actor(read, origin.pc)],
            count: 1,
        };
        view.sink.add(finding, Some((pc, from)));
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
                    && let Some((lane, origin)) = state.undefined(key, reg, mask)
                {
                    self.report(Use::Branch, at, pc, lane, origin);
                    // Once is enough: what follows is as undefined.
                    state.forget(key, reg);
                }
                match term {
                    Term::Ret => self.all.leave(state, key, mask),
                    Term::CondBr { .. } | Term::BrTable { .. } | Term::Br(_) => {
                        self.all.drop_dead(state, pc, key, mask);
                    }
                    Term::Exit => state.clear_all(key, mask),
                }
                return;
            }
            Code::Nothing => return self.all.drop_dead(state, pc, key, mask),
        };
        match inst.op {
            op if is_access(op) => {
                self.guard(state, at, pc, inst, key, mask);
                self.access(state, at, pc, inst, key);
            }
            Op::Syscall => {
                for reg in &inst.dsts {
                    state.forget(key, reg.0);
                }
            }
            Op::Call => self.all.call(state, inst, key, mask),
            Op::Bar | Op::BarRed | Op::BarCluster | Op::BarWarp => {
                self.compute(state, pc, inst, key, mask);
                self.all.drop_dead(state, pc, key, mask);
            }
            _ => self.compute(state, pc, inst, key, mask),
        }
    }

    /// A choice was told.
    fn choose(&mut self, choice: Choice) {
        // Addresses only grow in a run: what is left of another is of an instruction that had to wait.
        if self.chosen.back().is_some_and(|last| last.pc >= choice.pc) {
            self.chosen.clear();
        }
        self.chosen.push_back(choice);
    }

    /// What was told of an instruction, whose turn it is.
    fn choice(&mut self, pc: u32) -> Option<Choice> {
        while self.chosen.front().is_some_and(|choice| choice.pc < pc) {
            self.chosen.pop_front();
        }
        match self.chosen.front() {
            Some(choice) if choice.pc == pc => self.chosen.pop_front(),
            Some(_) | None => None,
        }
    }

    /// A guard that decides, in lanes `mask`, whether an instruction does what counts.
    fn guard(&self, state: &mut State, at: EventPlace, pc: u32, inst: &Inst, key: Key, mask: u32) {
        if let Some(guard) = inst.guard
            && let Some((lane, origin)) = state.undefined(key, guard.pred.0, mask)
        {
            self.report(Use::Branch, at, pc, lane, origin);
            state.forget(key, guard.pred.0);
        }
    }

    fn compute(&mut self, state: &mut State, pc: u32, inst: &Inst, key: Key, mask: u32) {
        let choice = self.choice(pc);
        let sources =
            choice.as_ref().and_then(|choice| choice.sources.map(|from| (from, choice.mask)));
        derive(state, inst, key, mask, choice);
        // What it gives for a lane that does not execute it.
        if let (Some((sources, there)), Some(value)) = (sources, inst.dsts.first()) {
            let reads = |&lane: &u32| there >> sources[lane as usize] & 1 == 0;
            let absent = lanes(mask & there).filter(reads).fold(0, |all, lane| all | 1 << lane);
            if absent != 0 {
                let taint = [u32::MAX.into(); 32];
                let origin = Origin::new(pc, Unwritten::Lane);
                state.put(key, value.0, absent, &taint, origin, false);
            }
        }
    }

    fn access(&mut self, state: &mut State, at: EventPlace, pc: u32, inst: &Inst, key: Key) {
        if let Some(Value::Reg(reg)) = inst.srcs.first()
            && let Some(p) = self.pending.iter().find(|p| p.pc == pc)
            && let Some((lane, origin)) = state.undefined(key, reg.0, p.mask)
        {
            self.report(Use::Address, at, pc, lane, origin);
            state.forget(key, reg.0);
        }
        let pending = std::mem::take(&mut self.pending);
        let first = pending[self.done..].iter().position(|p| p.pc == pc);
        let first = first.map_or(pending.len(), |n| self.done + n);
        let ours = pending[first..].iter().take_while(|p| p.pc == pc);
        if first < pending.len() {
            self.done = first + ours.clone().count();
        }
        // As a rule every value is defined, and so is all that is read.
        let defined = state.is_defined(at.warp);
        let reads = match inst.op {
            Op::Ld | Op::Atom | Op::AtomWide => Some(true),
            Op::St => Some(false),
            _ => None,
        };
        let passes =
            |p: &Pending| reads.is_some_and(|reads| self.passes(state, at.warp, &p.lanes(), reads));
        if !(defined && ours.clone().all(passes)) {
            self.follow(state, at, pc, inst, key, ours);
        }
        self.pending = pending;
    }

    /// Notes an access of a warp whose registers are all defined, if it reads nothing undefined.
    fn passes(&mut self, state: &mut State, warp: u32, p: &Lanes<'_>, reads: bool) -> bool {
        let lanes = (0..32usize).filter(|l| p.mask >> l & 1 != 0);
        let bytes = u64::from(p.bytes);
        let (base, bits, low, span) = match p.space {
            Space::Const | Space::Param => return true,
            Space::Generic => return false,
            Space::Local => {
                for lane in lanes {
                    let (thread, at) = (warp * 32 + lane as u32, p.addresses[lane]);
                    for from in (0..p.bytes).step_by(8) {
                        let part = (p.bytes - from).min(8);
                        if reads && state.local(thread, at + u64::from(from), part) != 0 {
                            return false;
                        }
                        if !reads {
                            state.write_local(thread, at + u64::from(from), part, 0);
                        }
                    }
                }
                return true;
            }
            Space::Shared if extent(p.addresses, p.mask).1 < 1 << 24 => {
                // Beyond its end an access faults.
                if state.is_shared_written() {
                    return true;
                }
                if reads {
                    return state.shared.are_written(p.addresses, p.mask, 0, bytes);
                }
                state.shared.write_each(p.addresses, p.mask, 0, bytes);
                return true;
            }
            Space::Shared => {
                for lane in lanes {
                    for from in (0..p.bytes).step_by(8) {
                        let (part, at) =
                            ((p.bytes - from).min(8), p.addresses[lane] + u64::from(from));
                        if !reads {
                            self.write(state, p, warp * 32 + lane as u32, at, part, 0);
                        } else if self.unwritten(state, p, warp * 32 + lane as u32, at, part) != 0 {
                            return false;
                        }
                    }
                }
                return true;
            }
            Space::Global => {
                self.lookups = self.lookups.wrapping_add(1);
                let looks = self.lookups.is_multiple_of(LOOKUPS);
                let (low, high) = extent(p.addresses, p.mask);
                if self.global(low).is_none() {
                    return lanes.clone().all(|l| self.global(p.addresses[l]).is_none());
                }
                let Some((base, bits)) = self.global(low) else { return false };
                if high - base >= bits.size() {
                    return false;
                }
                if bits.is_whole() || looks && bits.look() {
                    return true;
                }
                (base, bits, low, high - low + bytes)
            }
        };
        if reads {
            // What lies between the lanes is looked at too as long as that is less work.
            return span <= 64 * u64::from(p.mask.count_ones())
                && bits.is_written(low - base, span)
                || bits.are_written(p.addresses, p.mask, base, bytes);
        }
        let dense = span == bytes * u64::from(p.mask.count_ones())
            && lanes.clone().zip(0..).all(|(l, n)| p.addresses[l] == low + n * bytes);
        if dense {
            bits.write(low - base, span);
        } else {
            bits.write_each(p.addresses, p.mask, base, bytes);
        }
        true
    }

    /// [`Watch::admits`], of a warp whose registers are all defined.
    fn admits_lanes(&mut self, state: &mut State, event: &AccessEvent<'_>) -> bool {
        let &AccessEvent { at, space, access, bytes, mask, addresses, .. } = event;
        let reads = access != Access::Write;
        let block = self.all.view.linear(at.ctaid);
        let p = Lanes { block, space, bytes, mask, addresses };
        if self.passes(state, at.warp, &p, reads) {
            return true;
        }
        if reads {
            return false;
        }
        for lane in (0..32usize).filter(|l| mask >> l & 1 != 0) {
            for from in (0..bytes).step_by(8) {
                let (thread, here) = (at.warp * 32 + lane as u32, addresses[lane]);
                let part = (bytes - from).min(8);
                self.write(state, &p, thread, here + u64::from(from), part, 0);
            }
        }
        true
    }

    /// The same where addresses follow from one.
    fn admits_form(&mut self, state: &mut State, event: &PatternedEvent<'_>) -> bool {
        let space = event.space;
        if matches!(space, Space::Const | Space::Param) {
            return true;
        }
        let reads = event.access != Access::Write;
        let found = self.forms.find(event);
        if let Some((at, Form { order: Order::Same, .. })) = found
            && space == Space::Local
        {
            let mut parts =
                (0..event.bytes).step_by(8).map(|n| (at + u64::from(n), (event.bytes - n).min(8)));
            if !reads {
                parts.for_each(|(at, bytes)| state.write_local_together(event.at.warp, at, bytes));
                return true;
            }
            if parts.all(|(at, bytes)| state.local_together(event.at.warp, at, bytes) == 0) {
                return true;
            }
        }
        if let Some((low, form)) = found.filter(|(_, f)| reads || f.order != Order::Other) {
            self.lookups = self.lookups.wrapping_add(1);
            let looks = self.lookups.is_multiple_of(LOOKUPS);
            let found = match space {
                Space::Shared if low < 1 << 24 => Some((0, &state.shared)),
                Space::Global => self.global(low),
                _ => None,
            };
            if let Some((base, bits)) = found
                && low - base + form.span <= bits.size()
            {
                if bits.is_whole() || looks && bits.look() {
                    return true;
                }
                if !reads {
                    bits.write(low - base, form.span);
                    return true;
                }
                // What lies between the lanes is looked at too.
                if form.span <= 2048 && bits.is_written(low - base, form.span) {
                    return true;
                }
            }
        }
        event.with_addresses(|event| self.admits_lanes(state, event))
    }

    /// Follows undefined values through an access.
    fn follow<'p>(
        &mut self,
        state: &mut State,
        at: EventPlace,
        pc: u32,
        inst: &Inst,
        key: Key,
        taken: impl Iterator<Item = &'p Pending>,
    ) {
        let elements = match inst.op {
            Op::Ld => inst.dsts.len(),
            Op::St => inst.srcs.len().saturating_sub(1),
            _ => 1,
        }
        .max(1) as u32;
        let mut loaded: Vec<Taint> = vec![[0; 32]; elements as usize];
        let (mut seen, mut origin) = (0, None);
        // Who uses an mbarrier that is none is told by synccheck.
        let opaque = is_part(&inst.attr);
        for p in taken {
            seen |= p.mask;
            let each = (p.bytes / elements).max(1);
            for lane in (0..32usize).filter(|l| p.mask >> l & 1 != 0) {
                let thread = at.warp * 32 + lane as u32;
                let address = p.addresses[lane];
                let stored = |e: usize| match inst.srcs.get(1 + e) {
                    Some(Value::Reg(reg)) => state
                        .file(key)
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
                    // What may be padding was only put elsewhere, be it by shifts.
                    let computed = |origin: &Origin, derived: bool| derived && !origin.padding;
                    let derived = parts
                        .iter()
                        .flatten()
                        .find(|(t, origin, derived)| computed(origin, *derived) && t & full != 0);
                    let first = parts.iter().flatten().next();
                    if let Some(&(_, origin, _)) = derived.or(if whole { first } else { None }) {
                        let what = if origin.padding { Use::Padding } else { Use::Result };
                        self.report(what, at, pc, lane, origin);
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
                                let bits = match opaque {
                                    true => 0,
                                    false => self.unwritten(state, &p.lanes(), thread, here, part),
                                };
                                if bits != 0 {
                                    let holes = (here, bits);
                                    let padding =
                                        self.may_be_padding(state, &p.lanes(), thread, holes);
                                    let new =
                                        Origin { padding, ..Origin::memory(pc, p.space, here) };
                                    let origin = origin.get_or_insert(new);
                                    // That of one lane stands for all.
                                    if origin.padding && !padding {
                                        *origin = new;
                                    }
                                    loaded[e as usize][lane] |= spread(bits);
                                }
                            }
                            (Op::Atom | Op::AtomWide, _) => {
                                let operand = inst.srcs.iter().skip(1).find_map(|v| match v {
                                    Value::Reg(reg) => state
                                        .undefined(key, reg.0, 1 << lane)
                                        .map(|(_, origin)| (reg.0, origin)),
                                    Value::Imm(_) => None,
                                });
                                if let Some((reg, origin)) = operand.filter(|_| !opaque) {
                                    self.report(Use::Result, at, pc, lane, origin);
                                    state.forget(key, reg);
                                }
                                let bits = self.unwritten(state, &p.lanes(), thread, here, part);
                                if bits != 0 && !opaque {
                                    let origin = Origin::memory(pc, p.space, here);
                                    self.report(Use::Atomic, at, pc, lane, origin);
                                }
                                self.write(state, &p.lanes(), thread, here, part, 0);
                            }
                            (Op::St, _) => {
                                let taint = parts[e as usize].map_or(0, |(t, ..)| t);
                                self.write(state, &p.lanes(), thread, here, part, gather(taint));
                            }
                            (_, Access::Write) => {
                                self.write(state, &p.lanes(), thread, here, part, 0)
                            }
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
                    Some(origin) => state.put(key, reg.0, seen, taint, origin, false),
                    None => state.clear(key, reg.0, seen),
                }
            }
        } else if matches!(inst.op, Op::Atom | Op::AtomWide) {
            for reg in &inst.dsts {
                state.clear(key, reg.0, seen);
            }
        }
    }
}

/// Follows undefined values through an instruction that the lanes `mask` execute; `choice` is what was told of it.
fn derive(state: &mut State, inst: &Inst, key: Key, mask: u32, choice: Option<Choice>) {
    let Some(file) = state.file(key) else { return };
    if file.registers.is_empty() {
        return;
    }
    let source = |v: &Value| match v {
        Value::Reg(reg) => file.registers.get(&reg.0),
        Value::Imm(_) => None,
    };
    // Lanes in which it has effect, as far as that is known.
    let effect = match (&choice, inst.guard) {
        (_, None) => Some(mask),
        (Some(choice), Some(_)) => Some(choice.mask & mask),
        (None, Some(_)) => None,
    };
    // Whether it has, if that is undefined.
    let guard = inst.guard.and_then(|guard| file.registers.get(&guard.pred.0));
    let Some((_, origin, derived)) = inst.srcs.iter().find_map(source).or(guard) else {
        if let Some(effect) = effect {
            for reg in &inst.dsts {
                state.clear(key, reg.0, effect);
            }
        }
        return;
    };
    let (mut origin, mut derived) = (*origin, *derived);
    // All that comes in may be padding, and nothing is computed.
    origin.padding &= taint::places(inst)
        && inst.srcs.iter().filter_map(source).all(|(_, origin, _)| origin.padding);
    let mut out: Taint = [0; 32];
    let (mut unsure_source, mut shuffles): (Taint, bool) = ([0; 32], false);
    match choice.as_ref().and_then(|choice| choice.sources) {
        Some(sources) => {
            let value = inst.srcs.first().and_then(source);
            let others = inst.srcs.get(1..).unwrap_or_default();
            shuffles = true;
            for lane in lanes(mask) {
                // Its own other operands say which lane it reads. One that is elsewhere has the value in another register.
                let (lane, from) = (lane as usize, sources[lane as usize]);
                let unsure = others.iter().filter_map(source).any(|(t, ..)| t[lane] != 0);
                let read = value.filter(|_| mask >> from & 1 != 0);
                let read = read.map_or(0, |(t, ..)| t[usize::from(from)]);
                out[lane] = if unsure { u32::MAX.into() } else { read };
                unsure_source[lane] = if unsure { u64::MAX } else { 0 };
                derived |= unsure;
            }
        }
        None => {
            for lane in lanes(mask) {
                let taint = |reg| file.registers.get(&reg).map_or(0, |(t, ..)| t[lane as usize]);
                let operands: Vec<Operand> =
                    inst.srcs.iter().map(|v| Operand::of(v, taint)).collect();
                let known = choice.as_ref().map(|c| c.operands.map(|all| all >> lane & 1 != 0));
                let (bits, computed) = taint::result(inst, &operands, known);
                out[lane as usize] = bits;
                derived |= computed;
            }
            let crosses = matches!(
                inst.op,
                Op::Shfl
                    | Op::Vote
                    | Op::Ballot
                    | Op::MatchAny
                    | Op::MatchAll
                    | Op::Redux
                    | Op::BarRed
            );
            // Values of other lanes come in: undefined for sure only if all are.
            if crosses && !lanes(mask).all(|lane| out[lane as usize] != 0) {
                out = [0; 32];
            }
        }
    }
    let unsure = guard.map_or([0; 32], |(taint, ..)| **taint);
    for (n, reg) in inst.dsts.iter().enumerate() {
        // What else a shuffle gives says whether the lane is one that can be read.
        let mut out = if n > 0 && shuffles { unsure_source } else { out };
        let old = state.bits(key, reg.0);
        for lane in 0..32 {
            match effect {
                // It may have this value, or the one before.
                _ if unsure[lane] != 0 => out[lane] = u64::MAX,
                Some(effect) if effect >> lane & 1 == 0 => out[lane] = old[lane],
                Some(_) => {}
                None => out[lane] &= old[lane],
            }
        }
        state.put(key, reg.0, mask, &out, origin, derived);
    }
}

/// The likely cure where memory was not written.
fn cure(view: &View<'_>, space: Space) -> String {
    match space {
        Space::Shared => {
            let name = view.space_name(space);
            format!("write the {name} memory before it is read, and put a barrier between")
        }
        Space::Global => view
            .words
            .say(
                "fill the allocation first: cudaMemset, cudaMemcpy or a kernel",
                "fill the buffer first: clEnqueueFillBuffer, clEnqueueWriteBuffer or a kernel",
            )
            .to_owned(),
        Space::Local | Space::Const | Space::Param | Space::Generic => {
            "give the variable a value on every path that leads to the use".to_owned()
        }
    }
}

/// A load that extends a narrow value by its sign: its upper bits follow from the value.
fn signed_wider(inst: &Inst) -> bool {
    matches!(inst.attr, Attr::Mem(mem) if mem.signed)
        && matches!(inst.ty, Ty::I8 | Ty::I16 | Ty::I32)
}

/// Whether [`InitWatch::access`] is for it.
pub(super) fn is_access(op: Op) -> bool {
    matches!(op, Op::Ld | Op::St | Op::Atom | Op::AtomWide | Op::CpAsync)
}

impl Watch for InitWatch<'_, '_> {
    fn access(&mut self, event: &AccessEvent<'_>) {
        // Of compiled code's it was asked.
        if event.compiled {
            return;
        }
        let &AccessEvent { at, space, access, bytes, mask, addresses, .. } = event;
        let (block, pc, addresses) = (self.all.view.linear(at.ctaid), at.pc, *addresses);
        self.pending.push(Pending { block, pc, space, access, bytes, mask, addresses });
    }

    fn patterned(&mut self, _event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        None
    }

    fn admits(&mut self, event: &AccessEvent<'_>) -> bool {
        self.with_state(event.at.ctaid, |this, state| this.admits_lanes(state, event))
    }

    fn admits_patterned(&mut self, event: &PatternedEvent<'_>) -> bool {
        self.with_state(event.at.ctaid, |this, state| this.admits_form(state, event))
    }

    fn admits_shared_reads(&mut self, ctaid: [u32; 3], holes: &mut Vec<Range<u64>>) -> bool {
        self.with_state(ctaid, |_, state| state.is_shared_written_but(holes))
    }

    fn is_settled(&mut self, ctaid: [u32; 3], warp: u32) -> bool {
        let frame = &self.all.frame;
        self.with_state(ctaid, |_, state| state.is_local_written(warp, frame))
    }

    fn interprets(&mut self, ctaid: [u32; 3], warp: u32) -> bool {
        self.with_state(ctaid, |_, state| !state.is_defined(warp))
    }

    fn run(&mut self, at: EventPlace, end: u32, mask: u32) {
        self.with_state(at.ctaid, |this, state| {
            let mut pc = at.pc;
            loop {
                // Where all values are defined, only memory can bring one in that is not.
                if state.is_defined(at.warp) {
                    pc = this.all.facts.next_access.get(pc as usize).copied().unwrap_or(u32::MAX);
                }
                if pc >= end {
                    break;
                }
                this.step(state, at, pc, mask);
                pc += 1;
            }
        });
        // What is left belongs to an instruction that will be tried again.
        self.pending.clear();
        self.done = 0;
        self.chosen.clear();
    }

    fn choice(&mut self, pc: u32, mask: u32, operands: [u32; 2]) {
        self.choose(Choice { pc, mask, operands, sources: None });
    }

    fn shuffle(&mut self, pc: u32, mask: u32, sources: &[u8; 32]) {
        self.choose(Choice { pc, mask, operands: [0; 2], sources: Some(*sources) });
    }

    fn argument(&mut self, event: &ArgumentEvent) {
        self.with_state(event.at.ctaid, |this, state| this.all.pass(state, event));
    }

    fn block_begins(&mut self, block: &BlockEvent) {
        let id = self.all.view.linear(block.ctaid);
        let state = match self.states.take_spare() {
            Some(mut state) => {
                state.renew();
                self.all.fresh(&mut state);
                state
            }
            None => self.all.begun(),
        };
        // Others of its cluster may write there before it does anything.
        self.states.put(id, state);
    }

    fn block_ends(&mut self, block: &BlockEvent) {
        if let Some(state) = self.states.take(self.all.view.linear(block.ctaid)) {
            self.states.keep(state);
        }
        (self.range, self.gap) = (None, 0..0);
    }
}
