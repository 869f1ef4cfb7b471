// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where undefined values go at calls and returns, and where they end: a register that is not read any more is none to
//! follow, and need not keep a warp out of compiled code.

use std::collections::HashMap;
use std::sync::Arc;

use margay_exec::observe::ArgumentEvent;
use margay_exec::program::Code;
use margay_ir::analysis::liveness::Liveness;
use margay_ir::{Attr, CallArg, Callee, Class, FuncId, Inst, Reg, Space, Value};
use parking_lot::Mutex;

use super::state::{Key, Origin, State, Unwritten};
use super::taint::{Taint, gather, spread};
use super::unset::variable;
use super::watch::InitObserver;

/// Which registers are read after an instruction, by its address.
#[derive(Default)]
pub struct Lives {
    functions: Mutex<HashMap<FuncId, Arc<Liveness>>>,
    after: Mutex<HashMap<u32, Arc<Vec<bool>>>>,
}

/// The register that a value is in.
fn register(place: Option<CallArg>) -> Option<u32> {
    match place {
        Some(CallArg::Value(Value::Reg(reg), _)) => Some(reg.0),
        Some(CallArg::Value(Value::Imm(_), _) | CallArg::Frame { .. }) | None => None,
    }
}

impl InitObserver<'_> {
    /// Whether a function's registers are one set a warp at any time, so that they can be followed through calls.
    fn follows_calls(&self) -> bool {
        !self.view.program.info().uses_recursion_or_indirect_calls
    }

    /// Lanes of a warp call a function: its registers are new to them.
    pub fn call(&self, state: &mut State, inst: &Inst, key: Key, mask: u32) {
        let Attr::Call(call) = &inst.attr else { return };
        match call.callee {
            Callee::Direct(callee) if self.follows_calls() => {
                state.clear_all((key.0, callee), mask);
                self.begin(state, (key.0, callee), mask);
            }
            Callee::Direct(_) | Callee::Indirect(_) => state.forget_all(key),
        }
    }

    /// Lanes begin a function: nobody has set these registers.
    pub fn begin(&self, state: &mut State, key: Key, mask: u32) {
        for &(reg, pc) in &*self.facts.registers.of(self.view.program, key.1) {
            let origin = Origin::new(pc, Unwritten::Register);
            state.put(key, reg.0, mask, &[self.whole(key.1, reg); 32], origin, false);
        }
    }

    /// All bits of a register.
    fn whole(&self, function: FuncId, reg: Reg) -> u64 {
        match self.view.program.module().ir.functions[function.0 as usize].regs[reg.0 as usize] {
            Class::P => 1,
            Class::W => u32::MAX.into(),
            Class::D => u64::MAX,
        }
    }

    /// Lanes return from a function: nothing is kept of those that hand nothing back.
    pub fn leave(&self, state: &mut State, key: Key, mask: u32) {
        let function = &self.view.program.module().ir.functions[key.1.0 as usize];
        if function.rets.is_empty() || !self.follows_calls() {
            state.clear_all(key, mask);
        }
    }

    /// An argument or a result is handed over.
    pub fn pass(&self, state: &mut State, event: &ArgumentEvent) {
        let warp = event.at.warp;
        let mut taint: Taint = [0; 32];
        let mut origin = None;
        let functions = &self.view.program.module().ir.functions;
        let caller = self.view.program.instruction(event.call);
        let callee = (warp, event.callee);
        // Registers in the caller and in the callee.
        let places = caller.as_ref().and_then(|view| {
            let Code::Inst(Inst { attr: Attr::Call(call), .. }) = view.code else { return None };
            let function = &functions[event.callee.0 as usize];
            let (outside, inside) = match event.returns {
                false => (call.args.get(event.index), function.params.get(event.index)),
                true => (call.rets.get(event.index), function.rets.get(event.index)),
            };
            let inside = inside.and_then(|param| param.place);
            Some(((warp, view.id), register(outside.copied()), register(inside)))
        });
        let Some((caller, outside, inside)) = places else { return };
        let (source, target) = match event.returns {
            false => ((caller, outside), (callee, inside)),
            true => ((callee, inside), (caller, outside)),
        };
        let follows = self.follows_calls();
        if let (true, (key, Some(reg))) = (follows, source)
            && let Some((bits, from, derived)) = state.file(key).and_then(|f| f.registers.get(&reg))
        {
            (taint, origin) = (**bits, Some((*from, *derived)));
        }
        let marks = variable(&functions[event.callee.0 as usize]).is_some();
        if marks && event.returns {
            // Whatever it computed.
            let what = Unwritten::Variable(event.callee);
            (taint, origin) = ([u64::MAX; 32], Some((Origin::new(event.call, what), true)));
        }
        let lanes = || (0..32usize).filter(|l| event.mask >> l & 1 != 0);
        for lane in lanes() {
            let thread = warp * 32 + lane as u32;
            for at in (0..event.bytes).step_by(8) {
                let part = (event.bytes - at).min(8);
                let mut unwritten = 0;
                if let (true, Some(from)) = (follows, &event.from) {
                    let address = from[lane] + u64::from(at);
                    unwritten = state.local(thread, address, part);
                    if unwritten != 0 && at == 0 {
                        taint[lane] = spread(unwritten);
                        let read = Origin::memory(event.at.pc, Space::Local, address);
                        origin.get_or_insert((read, false));
                    }
                } else if at == 0 {
                    unwritten = gather(taint[lane]);
                }
                if let Some(to) = &event.to {
                    let unwritten = unwritten & ((1u16 << part) - 1) as u8;
                    state.write_local(thread, to[lane] + u64::from(at), part, unwritten);
                }
            }
        }
        if let (true, (key, Some(reg))) = (follows, target) {
            match origin {
                Some((origin, derived)) => state.put(key, reg, event.mask, &taint, origin, derived),
                None => state.clear(key, reg, event.mask),
            }
        }
        let last = functions[event.callee.0 as usize].rets.len() == event.index + 1;
        if event.returns && last {
            state.clear_all(callee, event.mask);
        }
    }

    /// What is not read after the instruction at `pc` is not followed any further.
    pub fn drop_dead(&self, state: &mut State, pc: u32, key: Key, mask: u32) {
        if state.file(key).is_none() {
            return;
        }
        let Some(live) = self.live_after(pc) else { return };
        state.clear_where(key, mask, |reg| !live[reg as usize]);
    }

    fn live_after(&self, pc: u32) -> Option<Arc<Vec<bool>>> {
        let mut known = self.facts.lives.after.lock();
        if let Some(live) = known.get(&pc) {
            return Some(live.clone());
        }
        let view = self.view.program.instruction(pc)?;
        let mut functions = self.facts.lives.functions.lock();
        let liveness =
            functions.entry(view.id).or_insert_with(|| Arc::new(Liveness::new(view.function)));
        let insts = &view.function.blocks[view.block as usize].insts;
        let index = match view.code {
            Code::Inst(inst) => insts.iter().position(|i| std::ptr::eq(i, inst))?,
            Code::Term(_) | Code::Nothing => insts.len(),
        };
        let live = Arc::new(liveness.after(view.function, view.block as usize, index));
        known.insert(pc, live.clone());
        Some(live)
    }
}
