// SPDX-License-Identifier: MIT OR Apache-2.0
//! The verifier: what an engine may rely on.
//!
//! Operand counts, classes, types and kinds of attributes come from the op table; what the table
//! cannot say (which types an atomic takes, which spaces can be stored to) stands here. Lowering
//! makes only IR that passes; IR text from elsewhere is checked before it runs.
//!
//! Invariant: every register, block, function, variable and location that verified IR names exists.

use crate::analysis::cfg::successors;
use crate::analysis::effects::may_be_guarded;
use crate::inst::*;
use crate::module::*;
use crate::ops::{AttrKind, Op, Slot};
use crate::types::{Class, Space, Ty};

/// A rule that a module breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct VerifyError {
    /// Function or variable.
    pub item: String,
    pub block: Option<u32>,
    /// The instruction, as IR text, or the terminator.
    pub instruction: Option<String>,
    pub message: String,
}

impl std::fmt::Display for VerifyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.item)?;
        if let Some(block) = self.block {
            write!(f, ", b{block}")?;
        }
        if let Some(instruction) = &self.instruction {
            write!(f, ", `{instruction}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Checks a whole module; every broken rule is reported.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut v = Verifier { module, errors: Vec::new(), item: "module".into(), at: None };
    v.module();
    for global in &module.globals {
        v.item = global.name.to_string();
        v.global(global);
    }
    for function in &module.functions {
        v.item = function.name.to_string();
        v.function(function);
    }
    if v.errors.is_empty() { Ok(()) } else { Err(v.errors) }
}

struct Verifier<'a> {
    module: &'a Module,
    errors: Vec<VerifyError>,
    item: String,
    at: Option<(u32, String)>,
}

type Check = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(message()) }
}

/// Largest number of elements of a vector access.
const MAX_ELEMENTS: usize = 8;

impl Verifier<'_> {
    fn fail(&mut self, message: String) {
        let (block, instruction) = match self.at.clone() {
            Some((block, text)) => (Some(block), Some(text)),
            None => (None, None),
        };
        self.errors.push(VerifyError { item: self.item.clone(), block, instruction, message });
    }

    fn check(&mut self, result: Check) {
        if let Err(message) = result {
            self.fail(message);
        }
    }

    fn module(&mut self) {
        let m = self.module;
        self.check(ensure(matches!(m.address_bits, 32 | 64), || {
            format!("addresses of {} bits", m.address_bits)
        }));
        for (i, loc) in m.locs.iter().enumerate() {
            let file = loc.file.is_none_or(|f| (f as usize) < m.files.len());
            self.check(ensure(file, || format!("location {i} names a file that is not there")));
            // Chains lead to lower numbers, so that following one ends.
            let inlined = loc.inlined_at.is_none_or(|c| (c as usize) < i);
            self.check(ensure(inlined, || format!("location {i} is inlined into a later one")));
        }
    }

    fn loc(&self, loc: LocId) -> Check {
        ensure(loc == LocId(0) || (loc.0 as usize) < self.module.locs.len(), || {
            format!("location {} is not there", loc.0)
        })
    }

    fn global(&mut self, g: &Global) {
        let space = matches!(g.space, Space::Global | Space::Const | Space::Shared);
        self.check(ensure(space, || format!("a variable in {:?} space", g.space)));
        let align = g.align.is_power_of_two();
        self.check(ensure(align, || format!("alignment {} is no power of two", g.align)));
        let fits = g.init.len() as u64 <= g.size;
        self.check(ensure(fits, || "more initial bytes than the variable has".into()));
        let plain = g.space != Space::Shared || (g.init.is_empty() && g.relocs.is_empty());
        self.check(ensure(plain, || "a shared variable with an initialiser".into()));
        let dynamic = !g.dynamic_shared || g.space == Space::Shared;
        self.check(ensure(dynamic, || "dynamic shared memory in another space".into()));
        for r in &g.relocs {
            let end = r.offset.checked_add(r.width.into());
            let holds = matches!(r.width, 1..=8)
                && end.is_some_and(|e| e <= g.size)
                && r.shift < 64
                && match r.target {
                    RelocTarget::Global(id) => (id.0 as usize) < self.module.globals.len(),
                    RelocTarget::Func(id) => (id.0 as usize) < self.module.functions.len(),
                };
            self.check(ensure(holds, || format!("relocation {r:?}")));
        }
    }

    fn function(&mut self, f: &Function) {
        let align = f.frame_align == 0 || f.frame_align.is_power_of_two();
        self.check(ensure(align, || format!("frame alignment {}", f.frame_align)));
        for p in f.params.iter().chain(&f.rets) {
            let result = self.param(f, p);
            self.check(result.map_err(|e| format!("parameter `{}`: {e}", p.name)));
        }
        let results = !f.is_entry || f.rets.is_empty();
        self.check(ensure(results, || "an entry with results".into()));
        for (b, block) in f.blocks.iter().enumerate() {
            for inst in &block.insts {
                // Text is made only for messages.
                let result = self.inst(f, inst);
                if let Err(message) = result {
                    self.at = Some((b as u32, inst.to_string()));
                    self.fail(message);
                    self.at = None;
                }
            }
            if let Err(message) = self.term(f, block) {
                self.at = Some((b as u32, block.term.to_string()));
                self.fail(message);
                self.at = None;
            }
        }
    }

    fn param(&self, f: &Function, p: &Param) -> Check {
        ensure(p.align.is_power_of_two(), || format!("alignment {}", p.align))?;
        if f.is_entry {
            ensure(p.place.is_none(), || "an entry's parameter has a place".into())?;
            let end = p.offset.checked_add(p.size);
            return ensure(end.is_some_and(|e| e <= f.param_size), || {
                "outside of the parameter block".into()
            });
        }
        match &p.place {
            None => ensure(f.blocks.is_empty(), || "no place".into()),
            Some(CallArg::Value(Value::Imm(_), _)) => Err("a constant as its place".into()),
            Some(place) => {
                ensure(place.size() == p.size, || "its place has another size".into())?;
                self.call_arg(f, place)
            }
        }
    }

    fn term(&self, f: &Function, block: &Block) -> Check {
        self.loc(block.term_loc)?;
        for to in successors(&block.term) {
            ensure((to.0 as usize) < f.blocks.len(), || format!("there is no block {to}"))?;
        }
        match &block.term {
            Term::CondBr { pred, .. } => class_is(f, *pred, Class::P),
            Term::BrTable { index, targets } => {
                value_is(f, *index, Class::W, 32)?;
                ensure(!targets.is_empty(), || "a table without targets".into())
            }
            Term::Br(_) | Term::Ret | Term::Exit => Ok(()),
        }
    }

    fn inst(&self, f: &Function, inst: &Inst) -> Check {
        let info = inst.op.info();
        self.loc(inst.loc)?;
        ensure(info.types.contains(&inst.ty), || format!("`{}` does not fit", inst.ty.name()))?;
        if let Some(guard) = inst.guard {
            ensure(may_be_guarded(inst.op), || "this op may not be guarded".into())?;
            class_is(f, guard.pred, Class::P)?;
        }
        ensure(attr_kind(&inst.attr) == info.attr, || {
            format!("needs an attribute of kind {:?}", info.attr)
        })?;
        match &inst.attr {
            Attr::Builtin(builtin) => builtin_operands(f, inst, builtin.args(), builtin.rets())?,
            Attr::Texture(texture) => {
                ensure(texture.writes() == (inst.op == Op::SurfStore), || {
                    "the form belongs to the other op".into()
                })?;
                builtin_operands(f, inst, &texture.args(), &texture.rets())?;
            }
            Attr::Syscall(call) => {
                let (args, ret) = call.signature();
                let rets: &[Ty] = match (&ret, inst.dsts.is_empty()) {
                    (Some(ty), false) => std::slice::from_ref(ty),
                    _ => &[],
                };
                builtin_operands(f, inst, args, rets)?;
            }
            _ => {
                self.dsts(f, inst, info.dsts)?;
                self.srcs(f, inst, info.srcs)?;
            }
        }
        self.attr(f, inst)
    }

    fn dsts(&self, f: &Function, inst: &Inst, slots: &[Slot]) -> Check {
        let slots = fill(slots, inst.dsts.len())?;
        for (reg, slot) in inst.dsts.iter().zip(slots) {
            let (class, _) = slot_class(slot, inst);
            if inst.op == Op::Ld {
                // Narrow loads extend into whatever register they are given, all of one class.
                let have = class_of(f, *reg)?;
                let wide = matches!((class, have), (Class::W, Class::D));
                ensure(have == class || wide, || format!("{reg} is of class {have:?}"))?;
                ensure(have == class_of(f, inst.dsts[0])?, || "mixed classes".into())?;
            } else {
                class_is(f, *reg, class)?;
            }
        }
        Ok(())
    }

    fn srcs(&self, f: &Function, inst: &Inst, slots: &[Slot]) -> Check {
        let slots = fill(slots, inst.srcs.len())?;
        for (value, slot) in inst.srcs.iter().zip(slots) {
            let (class, bits) = slot_class(slot, inst);
            value_is(f, *value, class, bits)?;
        }
        Ok(())
    }

    fn call_arg(&self, f: &Function, arg: &CallArg) -> Check {
        match arg {
            CallArg::Value(value, ty) => value_is(f, *value, ty.class(), ty.bits()),
            CallArg::Frame { offset, size } => {
                let end = offset.checked_add(*size);
                ensure(end.is_some_and(|e| e <= f.frame_size), || "outside of the frame".into())
            }
        }
    }

    /// What only the attribute, or attribute and op together, can break.
    fn attr(&self, f: &Function, inst: &Inst) -> Check {
        match &inst.attr {
            Attr::Mem(mem) => match inst.op {
                // A store to constant memory is a fault, not an error of the module.
                Op::St => ensure(mem.space != Space::Param, || "a store to parameters".into()),
                _ => Ok(()),
            },
            Attr::Atom { op, mem, .. } => {
                let space = matches!(mem.space, Space::Generic | Space::Global | Space::Shared);
                ensure(space, || "atomics work on global and shared memory".into())?;
                ensure(atom_takes(*op, inst.ty), || {
                    format!("no atomic {op:?} of {}", inst.ty.name())
                })?;
                let wide = inst.op == Op::AtomWide;
                ensure(!wide || matches!(op, AtomOp::Cas | AtomOp::Exch), || {
                    format!("no atomic {op:?} of 128 bits")
                })?;
                let values = if *op == AtomOp::Cas { 2 } else { 1 };
                let operands = 1 + if wide { 2 * values } else { values };
                ensure(inst.srcs.len() == operands, || format!("needs {operands} operands"))
            }
            Attr::Copy { bytes, .. } => {
                ensure(matches!(bytes, 4 | 8 | 16), || format!("a copy of {bytes} bytes"))
            }
            Attr::Space(space) => match inst.op {
                Op::Mapa | Op::GetCtaRank => {
                    ensure(matches!(space, Space::Generic | Space::Shared), || {
                        "clusters share shared memory only".into()
                    })
                }
                _ => ensure(*space != Space::Generic, || "needs a state space".into()),
            },
            Attr::Address { of, .. } => match of {
                AddrOf::Global(id) => ensure((id.0 as usize) < self.module.globals.len(), || {
                    "there is no such variable".into()
                }),
                AddrOf::Func(id) => ensure((id.0 as usize) < self.module.functions.len(), || {
                    "there is no such function".into()
                }),
                // One past the end is an address that a program may form.
                AddrOf::Local(offset) => {
                    ensure(*offset <= f.frame_size, || "outside of the frame".into())
                }
                AddrOf::Param(offset) => {
                    ensure(*offset <= f.param_size, || "outside of the parameter block".into())
                }
            },
            Attr::Sreg(sreg) => {
                ensure(sreg.widths().contains(&inst.ty), || "read in another width".into())?;
                ensure(sreg_index_holds(*sreg), || "there is no such special register".into())
            }
            Attr::Redux(op) => {
                let float = matches!(op, ReduxOp::FMin { .. } | ReduxOp::FMax { .. });
                ensure(float == (inst.ty == Ty::F32), || "the reduction has another type".into())
            }
            Attr::Barrier { kind, .. } => barrier_holds(inst, *kind),
            Attr::Call(call) => self.call(f, call),
            Attr::None
            | Attr::Float(_)
            | Attr::MinMax(_)
            | Attr::IntCmp(_)
            | Attr::FloatCmp { .. }
            | Attr::Clamp(_)
            | Attr::Lop3(_)
            | Attr::Vote(_)
            | Attr::Shfl(_)
            | Attr::Fence { .. }
            | Attr::Mbarrier { .. }
            | Attr::Builtin(_)
            | Attr::Syscall(_)
            | Attr::Texture(_)
            | Attr::Message(_) => Ok(()),
        }
    }

    fn call(&self, f: &Function, call: &CallAttr) -> Check {
        for arg in call.args.iter().chain(&call.rets) {
            self.call_arg(f, arg)?;
        }
        let constant = |r: &CallArg| matches!(r, CallArg::Value(Value::Imm(_), _));
        ensure(!call.rets.iter().any(constant), || "a constant as a result".into())?;
        let id = match call.callee {
            Callee::Indirect(value) => return value_is(f, value, Class::D, 64),
            Callee::Direct(id) => id,
        };
        let Some(callee) = self.module.functions.get(id.0 as usize) else {
            return Err("there is no such function".into());
        };
        ensure(!callee.is_entry, || "an entry cannot be called".into())?;
        ensure(CallArg::agree(&call.args, &callee.params), || {
            "the arguments are not those declared".into()
        })?;
        ensure(CallArg::agree(&call.rets, &callee.rets), || {
            "the results are not those declared".into()
        })
    }
}

fn class_of(f: &Function, reg: Reg) -> Result<Class, String> {
    f.regs.get(reg.0 as usize).copied().ok_or_else(|| format!("there is no register {reg}"))
}

fn class_is(f: &Function, reg: Reg, class: Class) -> Check {
    let have = class_of(f, reg)?;
    ensure(have == class, || format!("{reg} is of class {have:?}, not {class:?}"))
}

fn value_is(f: &Function, value: Value, class: Class, bits: u32) -> Check {
    match value {
        Value::Reg(reg) => class_is(f, reg, class),
        Value::Imm(imm) => {
            ensure(bits >= 64 || imm >> bits == 0, || format!("{imm:#x} has more than {bits} bits"))
        }
    }
}

/// Class and width of an operand slot.
fn slot_class(slot: Slot, inst: &Inst) -> (Class, u32) {
    match slot {
        Slot::T | Slot::TMany | Slot::TOpt => (inst.ty.class(), inst.ty.bits()),
        Slot::F => (inst.from.class(), inst.from.bits()),
        Slot::P | Slot::POpt => (Class::P, 1),
        Slot::W | Slot::WOpt => (Class::W, 32),
        Slot::D => (Class::D, 64),
    }
}

/// Width in bits of each source operand of a verified instruction.
pub(crate) fn operand_widths(inst: &Inst) -> Vec<u32> {
    let types = match &inst.attr {
        Attr::Builtin(builtin) => builtin.args(),
        Attr::Syscall(call) => call.signature().0,
        Attr::Texture(texture) => return texture.args().iter().map(|ty| ty.bits()).collect(),
        _ => {
            let slots = fill(inst.op.info().srcs, inst.srcs.len()).unwrap_or_default();
            return slots.into_iter().map(|slot| slot_class(slot, inst).1).collect();
        }
    };
    types.iter().map(|ty| ty.bits()).collect()
}

/// The slot of each of `count` operands: optional ones are filled from the left.
fn fill(slots: &[Slot], count: usize) -> Result<Vec<Slot>, String> {
    let optional = |s: &Slot| matches!(s, Slot::TOpt | Slot::POpt | Slot::WOpt);
    let required = slots.iter().filter(|s| !optional(s)).count();
    let many = slots.contains(&Slot::TMany);
    let Some(mut spare) = count.checked_sub(required) else {
        return Err(format!("{count} operands, at least {required} are needed"));
    };
    let mut out = Vec::with_capacity(count);
    for slot in slots {
        if *slot == Slot::TMany {
            out.extend(std::iter::repeat_n(*slot, 1 + spare));
            spare = 0;
        } else if !optional(slot) {
            out.push(*slot);
        } else if spare > 0 {
            out.push(*slot);
            spare -= 1;
        }
    }
    ensure(spare == 0, || format!("{count} operands are too many"))?;
    let elements = out.iter().filter(|s| **s == Slot::TMany).count();
    ensure(!many || elements <= MAX_ELEMENTS, || format!("{elements} elements are too many"))?;
    // A vector is aligned to its size, so its size is a power of two (PTX ISA, "Vectors").
    ensure(!many || elements.is_power_of_two(), || {
        format!("{elements} elements; a vector has 1, 2, 4 or 8")
    })?;
    Ok(out)
}

/// Operands of functions that have a signature of their own.
fn builtin_operands(f: &Function, inst: &Inst, args: &[Ty], rets: &[Ty]) -> Check {
    ensure(inst.srcs.len() == args.len(), || format!("needs {} operands", args.len()))?;
    ensure(inst.dsts.len() == rets.len(), || format!("has {} results", rets.len()))?;
    for (value, ty) in inst.srcs.iter().zip(args) {
        value_is(f, *value, ty.class(), ty.bits())?;
    }
    for (reg, ty) in inst.dsts.iter().zip(rets) {
        class_is(f, *reg, ty.class())?;
    }
    Ok(())
}

fn atom_takes(op: AtomOp, ty: Ty) -> bool {
    let int = matches!(ty, Ty::I32 | Ty::I64);
    match op {
        AtomOp::And
        | AtomOp::Or
        | AtomOp::Xor
        | AtomOp::Exch
        | AtomOp::Add
        | AtomOp::MinS
        | AtomOp::MinU
        | AtomOp::MaxS
        | AtomOp::MaxU => int,
        AtomOp::Cas => int || ty == Ty::I16,
        AtomOp::Inc | AtomOp::Dec => ty == Ty::I32,
        AtomOp::FAdd => ty.is_float(),
        AtomOp::FMin | AtomOp::FMax => matches!(ty, Ty::F16 | Ty::BF16),
    }
}

fn barrier_holds(inst: &Inst, kind: BarKind) -> Check {
    let holds = match inst.op {
        Op::Bar => match kind {
            BarKind::Sync => true,
            BarKind::Arrive => inst.srcs.len() == 2,
            BarKind::Wait | BarKind::RedPopc | BarKind::RedAnd | BarKind::RedOr => false,
        },
        Op::BarRed => match kind {
            BarKind::RedPopc => inst.ty == Ty::I32,
            BarKind::RedAnd | BarKind::RedOr => inst.ty == Ty::Pred,
            BarKind::Sync | BarKind::Arrive | BarKind::Wait => false,
        },
        _ => matches!(kind, BarKind::Arrive | BarKind::Wait),
    };
    ensure(holds, || format!("{kind:?} does not go with this op"))
}

fn sreg_index_holds(sreg: Sreg) -> bool {
    match sreg {
        Sreg::Tid(i)
        | Sreg::NTid(i)
        | Sreg::CtaId(i)
        | Sreg::NCtaId(i)
        | Sreg::ClusterId(i)
        | Sreg::NClusterId(i)
        | Sreg::ClusterCtaId(i)
        | Sreg::ClusterNCtaId(i) => i < 3,
        Sreg::Pm(i) => i < 8,
        Sreg::EnvReg(i) => i < 32,
        Sreg::ReservedSmemOffset(i) => i < 5,
        Sreg::LaneId
        | Sreg::WarpId
        | Sreg::NWarpId
        | Sreg::SmId
        | Sreg::NSmId
        | Sreg::GridId
        | Sreg::ClusterCtaRank
        | Sreg::ClusterNCtaRank
        | Sreg::IsExplicitCluster
        | Sreg::LaneMaskEq
        | Sreg::LaneMaskLe
        | Sreg::LaneMaskLt
        | Sreg::LaneMaskGe
        | Sreg::LaneMaskGt
        | Sreg::Clock
        | Sreg::ClockHi
        | Sreg::Clock64
        | Sreg::GlobalTimer
        | Sreg::GlobalTimerLo
        | Sreg::GlobalTimerHi
        | Sreg::TotalSmemSize
        | Sreg::AggrSmemSize
        | Sreg::DynamicSmemSize
        | Sreg::CurrentGraphExec => true,
    }
}

/// Which kind of attribute this is.
pub const fn attr_kind(attr: &Attr) -> AttrKind {
    match attr {
        Attr::None => AttrKind::None,
        Attr::Float(_) => AttrKind::Float,
        Attr::MinMax(_) => AttrKind::MinMax,
        Attr::IntCmp(_) => AttrKind::IntCmp,
        Attr::FloatCmp { .. } => AttrKind::FloatCmp,
        Attr::Clamp(_) => AttrKind::Clamp,
        Attr::Lop3(_) => AttrKind::Lop3,
        Attr::Mem(_) => AttrKind::Mem,
        Attr::Atom { .. } => AttrKind::Atom,
        Attr::Copy { .. } => AttrKind::Copy,
        Attr::Space(_) => AttrKind::Space,
        Attr::Address { .. } => AttrKind::Address,
        Attr::Sreg(_) => AttrKind::Sreg,
        Attr::Vote(_) => AttrKind::Vote,
        Attr::Shfl(_) => AttrKind::Shfl,
        Attr::Redux(_) => AttrKind::Redux,
        Attr::Barrier { .. } => AttrKind::Barrier,
        Attr::Fence { .. } => AttrKind::Fence,
        Attr::Mbarrier { .. } => AttrKind::Mbarrier,
        Attr::Call(_) => AttrKind::Call,
        Attr::Builtin(_) => AttrKind::Builtin,
        Attr::Syscall(_) => AttrKind::Syscall,
        Attr::Texture(_) => AttrKind::Texture,
        Attr::Message(_) => AttrKind::Message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    fn errors(body: &str) -> Vec<String> {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\n\
             entry \"k\" visible {{\nregs w*2 d*2 p*2\nb0:\n{body}\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        verify(&module).err().unwrap_or_default().iter().map(|e| e.message.clone()).collect()
    }

    #[test]
    fn right_instructions_pass() {
        for good in [
            "%0 = add.i32 %1, 0x5 @!%4",
            "%2 = ld.i8 {global signed} %3",
            "%0, %1 = ld.i32 {shared offset=8} 0x0",
            "%0, %1, %0, %1 = ld.i32 {shared} 0x0",
            "st.i64 {local} %2, %3, 0x7",
            "%0 = atom.i32 {cas shared} %2, %1, 0x1",
            "atom.f64 {fadd global} %2, %3",
            "%4 = bar.red.pred {and} 0x0, %1, %5",
            "%4 = bar.red.pred {and} 0x0, %5",
            "%0, %4 = shfl {idx} %1, 0x1, 0x1f, 0xffffffff",
            "%2 = sreg.i64 {clock64}",
        ] {
            assert_eq!(errors(&format!("{good}\nret")), [""; 0], "{good}");
        }
    }

    #[test]
    fn each_rule_is_checked() {
        for (bad, say) in [
            ("%0 = add.i32 %1, 0x1ffffffff", "more than 32 bits"),
            ("%0 = add.i32 %1, %2", "class D, not W"),
            ("%9 = add.i32 %1, %1", "no register %9"),
            ("%0 = add.f32 %1, %1", "`f32` does not fit"),
            ("%0 = add.i32 %1", "at least 2"),
            ("%0 = add.i32 %1, %1, %1", "too many"),
            ("%0 = add.i32 %1, %1 @%0", "class W, not P"),
            ("bar {sync} 0x0 @%4", "may not be guarded"),
            ("bar {arrive} 0x0", "Arrive"),
            ("st.i32 {param} %2, %0", "a store to parameters"),
            ("%0, %1, %0 = ld.i32 {shared} 0x0", "3 elements"),
            ("st.i32 {global} %2, %0, %1, %0", "3 elements"),
            ("%0 = atom.i32 {cas shared} %2, %1", "needs 3 operands"),
            ("%2 = atom.i64 {inc shared} %2, %3", "no atomic Inc"),
            ("%0 = sreg.i32 {clock64}", "another width"),
            ("%2 = addr {var=0}", "no such variable"),
            ("%2 = addr {local=8}", "outside of the frame"),
            ("%0 = add.i32 %1, %1 !7", "location 7"),
            ("call {fn=0 () -> ()}", "cannot be called"),
        ] {
            let got = errors(&format!("{bad}\nret"));
            assert!(got.iter().any(|e| e.contains(say)), "{bad}: {got:?}");
        }
        assert!(errors("br b4")[0].contains("no block b4"));
        assert!(errors("condbr %0, b0, b0")[0].contains("class W, not P"));
    }
}
