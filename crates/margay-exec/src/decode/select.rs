// SPDX-License-Identifier: MIT OR Apache-2.0
//! From one IR instruction to one decoded instruction: the table from ops to handlers.

use margay_ir::{self as ir, AddrOf, Attr, Class, Inst as IrInst, Op, Sem, Slot, Space, Ty};

use super::function::{Decoder, Frame};
use super::select_convert::{self, Choice};
use super::{select_float, select_int};
use crate::barrier;
use crate::handlers::address::SLOT_BITS;
use crate::handlers::texture::{TextureAccess, TextureSite};
use crate::handlers::{atomic, control, copy, memory, special, warp_ops};
use crate::interp::Counter;
use crate::lanes::{Handler, Inst, plain, un};
use crate::program::{CallSite, LinkError, MeetSite, SyscallSite, Target, function_handle};

/// An instruction that this engine does not run.
fn gap(d: &Decoder<'_>, inst: &IrInst, reason: &str) -> LinkError {
    let loc = d.module.ir.locs.get(inst.loc.0 as usize);
    LinkError::Unsupported(ir::Unsupported {
        form: inst.to_string(),
        reason: reason.to_owned(),
        ptx_line: loc.map_or(0, |l| l.ptx_line),
    })
}

const NO_COMBINATION: &str = "the engine has no lane function for these types and modifiers";

/// Decodes one instruction.
pub(super) fn instruction(
    d: &mut Decoder<'_>,
    f: &Frame<'_>,
    inst: &IrInst,
) -> Result<Inst, LinkError> {
    match inst.op {
        Op::Mov
        | Op::Select
        | Op::PAnd
        | Op::POr
        | Op::PXor
        | Op::PNot
        | Op::Add
        | Op::Sub
        | Op::AddSatS
        | Op::SubSatS
        | Op::Mul
        | Op::MulHiS
        | Op::MulHiU
        | Op::MulWideS
        | Op::MulWideU
        | Op::Mad
        | Op::MadWideS
        | Op::MadWideU
        | Op::DivS
        | Op::DivU
        | Op::RemS
        | Op::RemU
        | Op::Neg
        | Op::Abs
        | Op::MinS
        | Op::MinU
        | Op::MaxS
        | Op::MaxU
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Shl
        | Op::ShrU
        | Op::ShrS
        | Op::ShfL
        | Op::ShfR
        | Op::Lop3
        | Op::Prmt
        | Op::Popc
        | Op::Clz
        | Op::BRev
        | Op::BFindS
        | Op::BFindU
        | Op::Fns
        | Op::BfeS
        | Op::BfeU
        | Op::Bfi
        | Op::ICmp
        | Op::SExt
        | Op::ZExt
        | Op::Trunc => {
            let handler = select_int::handler(inst).ok_or_else(|| gap(d, inst, NO_COMBINATION))?;
            let mut i = by_signature(d, f, inst, handler)?;
            if let Attr::Lop3(table) = inst.attr {
                i.imm = table as u64;
            }
            Ok(i)
        }
        Op::FAdd
        | Op::FSub
        | Op::FMul
        | Op::FFma
        | Op::FDiv
        | Op::FSqrt
        | Op::FRcp
        | Op::FNeg
        | Op::FAbs
        | Op::FMin
        | Op::FMax
        | Op::FCopySign
        | Op::FCmp => {
            let handler =
                select_float::handler(inst).ok_or_else(|| gap(d, inst, NO_COMBINATION))?;
            by_signature(d, f, inst, handler)
        }
        Op::FRcpApprox
        | Op::FDivApprox
        | Op::FDivFull
        | Op::FSqrtApprox
        | Op::FRsqrtApprox
        | Op::FEx2
        | Op::FLg2
        | Op::FSin
        | Op::FCos
        | Op::FTanh
        | Op::FToF
        | Op::FRound
        | Op::FToS
        | Op::FToU
        | Op::SToF
        | Op::UToF
        | Op::FToTf32
        | Op::FToE4M3
        | Op::FToE5M2
        | Op::E4M3ToF
        | Op::E5M2ToF => match select_convert::choose(inst) {
            Some(Choice::Lifted(handler)) => by_signature(d, f, inst, handler),
            Some(Choice::Through(lane)) => {
                let wide = |ty: Ty| ty.class() == Class::D;
                let handler = select_convert::through(wide(inst.from), wide(inst.ty));
                let mut i = by_signature(d, f, inst, handler)?;
                i.aux = d.lane_functions.len() as u32;
                d.lane_functions.push(lane);
                Ok(i)
            }
            None => Err(gap(d, inst, NO_COMBINATION)),
        },
        Op::Ld | Op::St => access(d, f, inst),
        Op::Atom => atomic_access(d, f, inst),
        Op::AtomWide => wide_atomic_access(d, f, inst),
        Op::CpAsync => async_copy(d, f, inst),
        // Copies are made at once, so a group has always landed.
        Op::CpAsyncCommit | Op::CpAsyncWait | Op::Prefetch => {
            d.blank(f, plain::<memory::Hint>(), inst.guard)
        }
        Op::Cvta | Op::CvtaTo | Op::IsSpace | Op::Mapa | Op::GetCtaRank => {
            let Attr::Space(space) = inst.attr else { return wrong_attr(d, f, inst) };
            by_signature(d, f, inst, special::space_op(inst.op, space))
        }
        Op::Addr => address(d, f, inst),
        Op::Alloca => {
            let mut i = by_signature(d, f, inst, plain::<special::Alloca>())?;
            i.aux = f.local_top;
            d.uses_alloca = true;
            Ok(i)
        }
        Op::StackSave => {
            let mut i = by_signature(d, f, inst, un(|a: u32| a as u64))?;
            i.a = f.local_top;
            Ok(i)
        }
        Op::StackRestore => {
            let mut i = by_signature(d, f, inst, un(|a: u64| a as u32))?;
            i.d = f.local_top;
            Ok(i)
        }
        Op::Sreg => {
            let Attr::Sreg(sreg) = inst.attr else { return wrong_attr(d, f, inst) };
            if matches!(sreg, ir::Sreg::EnvReg(1 | 2)) {
                d.reads_workspace = true;
            }
            let mut i = by_signature(d, f, inst, special::sreg(inst.ty == Ty::I64))?;
            i.aux = d.sregs.len() as u32;
            d.sregs.push(sreg);
            Ok(i)
        }
        Op::ActiveMask => by_signature(d, f, inst, plain::<special::ActiveMask>()),
        Op::Vote
        | Op::Ballot
        | Op::MatchAny
        | Op::MatchAll
        | Op::Shfl
        | Op::Redux
        | Op::Elect
        | Op::BarWarp => warp_wide(d, f, inst),
        Op::Bar | Op::BarRed | Op::BarCluster => barrier_op(d, f, inst),
        Op::Fence => d.blank(f, plain::<special::Fence>(), inst.guard),
        Op::Mbarrier => {
            let Attr::Mbarrier { mem, .. } = inst.attr else { return wrong_attr(d, f, inst) };
            let mut i = by_signature(d, f, inst, plain::<special::Mbarrier>())?;
            i.imm = mem.offset as u64;
            i.c = u32::from(mem.space == Space::Generic);
            Ok(i)
        }
        Op::NanoSleep => by_signature(d, f, inst, plain::<control::NanoSleep>()),
        Op::Call => call(d, f, inst),
        Op::Builtin => builtin(d, f, inst),
        Op::Tex | Op::SurfStore => texture(d, f, inst),
        Op::Syscall => syscall(d, f, inst),
        Op::Trap | Op::Brkpt => d.blank(f, plain::<control::Trap>(), inst.guard),
        Op::Unsupported => match &inst.attr {
            Attr::Message(why) => Err(gap(d, inst, why)),
            _ => Err(gap(d, inst, "not run by this engine")),
        },
    }
}

fn wrong_attr<T>(d: &Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<T, LinkError> {
    d.malformed(f, format!("`{inst}` carries the wrong attribute"))
}

fn slot_class(slot: Slot, inst: &IrInst) -> Class {
    match slot {
        Slot::T | Slot::TMany | Slot::TOpt => inst.ty.class(),
        Slot::F => inst.from.class(),
        Slot::P | Slot::POpt => Class::P,
        Slot::W | Slot::WOpt => Class::W,
        Slot::D => Class::D,
    }
}

/// Operands in the order of the op's row: sources to a, b, c and aux, the destination to d.
fn by_signature(
    d: &mut Decoder<'_>,
    f: &Frame<'_>,
    inst: &IrInst,
    handler: Handler,
) -> Result<Inst, LinkError> {
    let row = inst.op.info();
    let mut i = d.blank(f, handler, inst.guard)?;
    if inst.dsts.len() != row.dsts.len() || inst.srcs.len() != row.srcs.len() {
        return d.malformed(f, format!("`{inst}` has the wrong number of operands"));
    }
    if let (Some(&slot), Some(&reg)) = (row.dsts.first(), inst.dsts.first()) {
        i.d = d.reg(f, reg, slot_class(slot, inst))?;
    }
    for (n, (&slot, &value)) in row.srcs.iter().zip(&inst.srcs).enumerate() {
        let operand = d.value(f, value, slot_class(slot, inst))?;
        match n {
            0 => i.a = operand,
            1 => i.b = operand,
            2 => i.c = operand,
            _ => i.aux = operand,
        }
    }
    Ok(i)
}

fn source(d: &Decoder<'_>, f: &Frame<'_>, inst: &IrInst, n: usize) -> Result<ir::Value, LinkError> {
    match inst.srcs.get(n) {
        Some(&v) => Ok(v),
        None => d.malformed(f, format!("`{inst}` lacks an operand")),
    }
}

fn new_slot(d: &mut Decoder<'_>, counter: Counter) -> u32 {
    let slot = d.slots & ((1 << SLOT_BITS) - 1);
    d.slots = (d.slots + 1).min((1 << SLOT_BITS) - 2);
    slot | (counter as u32) << SLOT_BITS
}

fn is_strong(sem: Sem) -> bool {
    match sem {
        Sem::Weak => false,
        Sem::Volatile
        | Sem::Relaxed
        | Sem::Acquire
        | Sem::Release
        | Sem::AcqRel
        | Sem::SeqCst
        | Sem::Mmio => true,
    }
}

fn access(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Mem(mem) = inst.attr else { return wrong_attr(d, f, inst) };
    let loads = inst.op == Op::Ld;
    let values: Vec<ir::Value> = match loads {
        true => inst.dsts.iter().map(|&r| ir::Value::Reg(r)).collect(),
        false => inst.srcs.iter().skip(1).copied().collect(),
    };
    let bytes = values.len() as u32 * inst.ty.bits() / 8;
    if !bytes.is_power_of_two() || bytes > 32 {
        return d.malformed(f, format!("`{inst}` accesses {bytes} bytes a lane"));
    }
    let class = match values.iter().find_map(|v| match v {
        ir::Value::Reg(r) => Some(*r),
        ir::Value::Imm(_) => None,
    }) {
        Some(r) => d.class_of(f, r)?,
        None => inst.ty.class(),
    };
    let strong = is_strong(mem.sem);
    let handler = if loads {
        memory::load(mem.space, strong, inst.ty, class, mem.signed)
    } else {
        memory::store(mem.space, strong, inst.ty, class)
    };
    let handler = handler.ok_or_else(|| gap(d, inst, NO_COMBINATION))?;
    let mut i = d.blank(f, handler, inst.guard)?;
    let address = source(d, f, inst, 0)?;
    i.a = d.value(f, address, Class::D)?;
    i.imm = mem.offset as u64;
    i.c = values.len() as u32;
    i.aux = d.extra.len() as u32;
    for value in &values {
        let operand = d.value(f, *value, class)?;
        if values.len() == 1 && loads {
            i.d = operand;
        } else if values.len() == 1 {
            i.b = operand;
        } else {
            d.extra.push(operand);
        }
    }
    let read_only = matches!(mem.cache, ir::Cache::NonCoherent | ir::Cache::Uniform);
    let counter = match (mem.space, loads) {
        (Space::Global, true) if read_only => Counter::ReadOnlyLoad,
        (Space::Global, true) => Counter::GlobalLoad,
        (Space::Shared, true) => Counter::SharedLoad,
        (Space::Local, true) => Counter::LocalLoad,
        (Space::Const, true) => Counter::ConstLoad,
        (Space::Param, _) => Counter::ParamLoad,
        (Space::Generic, true) => Counter::GenericLoad,
        (Space::Global | Space::Const, false) => Counter::GlobalStore,
        (Space::Shared, false) => Counter::SharedStore,
        (Space::Local, false) => Counter::LocalStore,
        (Space::Generic, false) => Counter::GenericStore,
    };
    i.slot = new_slot(d, counter);
    Ok(i)
}

fn atomic_access(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Atom { op, mem, ftz } = inst.attr else { return wrong_attr(d, f, inst) };
    let handler = atomic::handler(op, inst.ty, mem.space, ftz, !inst.dsts.is_empty())
        .ok_or_else(|| gap(d, inst, NO_COMBINATION))?;
    let mut i = d.blank(f, handler, inst.guard)?;
    let class = inst.ty.class();
    let address = source(d, f, inst, 0)?;
    i.a = d.value(f, address, Class::D)?;
    let value = source(d, f, inst, 1)?;
    i.b = d.value(f, value, class)?;
    // Without a second operand the first stands in; only `cas` reads it.
    i.c = match inst.srcs.get(2) {
        Some(&v) => d.value(f, v, class)?,
        None if op == ir::AtomOp::Cas => return d.malformed(f, "`cas` needs two values"),
        None => i.b,
    };
    if let Some(&r) = inst.dsts.first() {
        i.d = d.reg(f, r, class)?;
    }
    i.imm = mem.offset as u64;
    i.slot = new_slot(d, Counter::Atomic);
    Ok(i)
}

/// As [`atomic_access`], of 128 bits: what the handler lists goes to `extra`.
fn wide_atomic_access(
    d: &mut Decoder<'_>,
    f: &Frame<'_>,
    inst: &IrInst,
) -> Result<Inst, LinkError> {
    let Attr::Atom { op, mem, .. } = inst.attr else { return wrong_attr(d, f, inst) };
    let handler = atomic::wide(op, mem.space).ok_or_else(|| gap(d, inst, NO_COMBINATION))?;
    let values = if op == ir::AtomOp::Cas { 4 } else { 2 };
    let (&[low, high], true) = (inst.dsts.as_slice(), inst.srcs.len() == 1 + values) else {
        return d.malformed(f, "an atomic of 128 bits has two halves of each value");
    };
    let mut i = d.blank(f, handler, inst.guard)?;
    i.a = d.value(f, inst.srcs[0], Class::D)?;
    i.b = d.value(f, inst.srcs[1], Class::D)?;
    i.d = d.reg(f, low, Class::D)?;
    i.aux = d.extra.len() as u32;
    let upper = d.reg(f, high, Class::D)?;
    d.extra.push(upper);
    for &value in &inst.srcs[2..] {
        let operand = d.value(f, value, Class::D)?;
        d.extra.push(operand);
    }
    i.imm = mem.offset as u64;
    i.slot = new_slot(d, Counter::Atomic);
    Ok(i)
}

fn async_copy(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Copy { bytes, shared_offset, global_offset, .. } = inst.attr else {
        return wrong_attr(d, f, inst);
    };
    let mut i = d.blank(f, plain::<copy::CpAsync>(), inst.guard)?;
    let (to, from) = (source(d, f, inst, 0)?, source(d, f, inst, 1)?);
    i.a = d.value(f, to, Class::D)?;
    i.b = d.value(f, from, Class::D)?;
    i.c = match inst.srcs.get(2) {
        Some(&v) => d.value(f, v, Class::W)?,
        None => d.constant(Class::W, bytes as u64),
    };
    i.aux = d.copies.len() as u32;
    d.copies.push(copy::Shape { bytes, shared_offset, global_offset });
    i.slot = new_slot(d, Counter::GlobalLoad);
    Ok(i)
}

fn address(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Address { of, addend } = inst.attr else { return wrong_attr(d, f, inst) };
    let fixed = match of {
        AddrOf::Global(g) => {
            let Some(variable) = d.module.ir.globals.get(g.0 as usize) else {
                return d.malformed(f, format!("variable {} does not exist", g.0));
            };
            match variable.space {
                Space::Shared => Some(d.shared.offsets.get(&g).copied().unwrap_or(0) as u64),
                Space::Generic | Space::Global | Space::Local | Space::Const | Space::Param => {
                    match d.module.addresses.get(g.0 as usize) {
                        Some(&a) if a != 0 => Some(a),
                        _ => {
                            let caller = f.function.name.to_string();
                            let callee = variable.name.to_string();
                            return Err(LinkError::Undefined { caller, callee });
                        }
                    }
                }
            }
        }
        AddrOf::Func(id) => Some(function_handle(d.module.uid, id)),
        AddrOf::Param(offset) => Some(offset as u64),
        AddrOf::Local(_) => None,
    };
    let mut i = d.blank(f, un(|a: u64| a), inst.guard)?;
    let Some(&dst) = inst.dsts.first() else {
        return d.malformed(f, format!("`{inst}` has no destination"));
    };
    i.d = d.reg(f, dst, Class::D)?;
    match (fixed, of) {
        (Some(at), _) => i.a = d.constant(Class::D, at.wrapping_add(addend as u64)),
        (None, AddrOf::Local(offset)) => {
            i.handler = plain::<special::AddrLocal>();
            i.a = f.local_base;
            i.imm = (offset as u64).wrapping_add(addend as u64);
        }
        (None, AddrOf::Global(_) | AddrOf::Func(_) | AddrOf::Param(_)) => {
            return wrong_attr(d, f, inst);
        }
    }
    Ok(i)
}

fn warp_wide(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let row = inst.op.info();
    let handler = warp_ops::handler(inst).ok_or_else(|| gap(d, inst, NO_COMBINATION))?;
    let mut i = d.blank(f, handler, inst.guard)?;
    let mut operands = [0u32; 4];
    let mut has_mask = false;
    for (n, &slot) in row.srcs.iter().enumerate() {
        operands[n] = match inst.srcs.get(n) {
            Some(&v) => {
                has_mask = true;
                d.value(f, v, slot_class(slot, inst))?
            }
            None => {
                has_mask = false;
                d.constant(slot_class(slot, inst), u64::MAX)
            }
        };
    }
    [i.a, i.b, i.c, i.aux] = operands;
    // Ops without a member mask work on the lanes that happen to be together: 0.
    if has_mask {
        d.meets.push(MeetSite {
            op: inst.op,
            ty: inst.ty,
            attr: inst.attr.clone(),
            sources: row.srcs.iter().map(|&slot| slot_class(slot, inst)).collect(),
            dst: row.dsts.first().map(|&slot| slot_class(slot, inst)),
        });
        i.imm = d.meets.len() as u64;
    }
    if let Attr::Shfl(_) | Attr::Vote(_) | Attr::Redux(_) | Attr::None = inst.attr {
        let mut dsts = inst.dsts.iter().zip(row.dsts);
        if let Some((&r, &slot)) = dsts.next() {
            i.d = d.reg(f, r, slot_class(slot, inst))?;
        }
        // A second destination is always a predicate; a scratch word stands in for none.
        i.slot = match dsts.next() {
            Some((&r, _)) => d.reg(f, r, Class::P)? | warp_ops::HAS_PREDICATE,
            None => 0,
        };
    }
    Ok(i)
}

fn barrier_op(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Barrier { kind, aligned, .. } = inst.attr else { return wrong_attr(d, f, inst) };
    let mut i = d.blank(f, plain::<control::Barrier>(), inst.guard)?;
    let cluster = inst.op == Op::BarCluster;
    // Sources: id, then a count that may be missing, then (for reductions) a predicate.
    let (mut count, mut pred) = (None, None);
    for (n, &v) in inst.srcs.iter().enumerate() {
        let is_last = n + 1 == inst.srcs.len();
        match n {
            0 => i.a = d.value(f, v, Class::W)?,
            _ if inst.op == Op::BarRed && is_last => pred = Some(d.value(f, v, Class::P)?),
            _ => count = Some(d.value(f, v, Class::W)?),
        }
    }
    i.b = count.unwrap_or(0);
    i.c = match pred {
        Some(p) => p,
        None if inst.op == Op::BarRed => return d.malformed(f, "a reduction needs a predicate"),
        None => d.constant(Class::P, 1),
    };
    if let Some(&r) = inst.dsts.first() {
        i.d = d.reg(f, r, inst.ty.class())?;
    }
    i.imm = barrier::pack(kind, cluster, aligned, count.is_some());
    Ok(i)
}

fn call(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Call(call) = &inst.attr else { return wrong_attr(d, f, inst) };
    let mut site = CallSite {
        target: Target::Function(0),
        args: Vec::new(),
        rets: Vec::new(),
        caller_top: f.local_top,
        from_top: call.top.map_or(0, |top| top.wrapping_sub(f.function.frame_size) as i32),
    };
    for &a in &call.args {
        site.args.push(d.call_arg(f, a)?);
    }
    for &r in &call.rets {
        site.rets.push(d.call_arg(f, r)?);
    }
    site.target = match call.callee {
        ir::Callee::Direct(id) => match d.index.get(&id) {
            Some(&at) => Target::Function(at),
            None => return d.malformed(f, "a callee is not in the call graph"),
        },
        ir::Callee::Indirect(v) => Target::Handles(d.value(f, v, Class::D)?),
    };
    let mut i = d.blank(f, plain::<control::Call>(), inst.guard)?;
    i.aux = d.calls.len() as u32;
    d.calls.push(site);
    Ok(i)
}

fn builtin(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Builtin(which) = inst.attr else { return wrong_attr(d, f, inst) };
    let (args, rets) = (which.args(), which.rets());
    if inst.srcs.len() != args.len() || inst.dsts.len() != rets.len() {
        return d.malformed(f, format!("`{inst}` has the wrong number of operands"));
    }
    let mut operands = Vec::new();
    for (&v, ty) in inst.srcs.iter().zip(args) {
        operands.push((d.value(f, v, ty.class())?, ty.class()));
    }
    for (&r, ty) in inst.dsts.iter().zip(rets) {
        operands.push((d.reg(f, r, ty.class())?, ty.class()));
    }
    let mut i = d.blank(f, plain::<special::Builtin>(), inst.guard)?;
    i.aux = d.builtins.len() as u32;
    d.builtins.push(special::BuiltinSite::new(which, args.len(), operands));
    Ok(i)
}

fn texture(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Texture(attr) = inst.attr else { return wrong_attr(d, f, inst) };
    let (args, rets) = (attr.args(), attr.rets());
    if inst.srcs.len() != args.len() || inst.dsts.len() != rets.len() {
        return d.malformed(f, format!("`{inst}` has the wrong number of operands"));
    }
    let mut site = TextureSite { attr, sources: Default::default(), results: Default::default() };
    for (&v, ty) in inst.srcs.iter().zip(&args) {
        site.sources.push((d.value(f, v, ty.class())?, ty.class()));
    }
    for (&r, ty) in inst.dsts.iter().zip(&rets) {
        site.results.push((d.reg(f, r, ty.class())?, ty.class()));
    }
    let mut i = d.blank(f, crate::lanes::wide::<TextureAccess>(), inst.guard)?;
    i.aux = d.textures.len() as u32;
    d.textures.push(site);
    Ok(i)
}

fn syscall(d: &mut Decoder<'_>, f: &Frame<'_>, inst: &IrInst) -> Result<Inst, LinkError> {
    let Attr::Syscall(call) = inst.attr else { return wrong_attr(d, f, inst) };
    let mut site = SyscallSite { call, dst: None, args: Vec::new() };
    let classes: &[Class] = match call {
        ir::Syscall::Vprintf | ir::Syscall::Printf => &[Class::D, Class::D],
        ir::Syscall::Malloc | ir::Syscall::Free => &[Class::D],
        ir::Syscall::AssertFail => &[Class::D, Class::D, Class::W, Class::D, Class::D],
        ir::Syscall::Runtime => {
            const D: Class = Class::D;
            &[Class::W, D, D, D, D, D, D, D, D, D, D]
        }
    };
    if inst.srcs.len() != classes.len() {
        return d.malformed(f, format!("`{inst}` takes {} arguments", classes.len()));
    }
    for (&v, &class) in inst.srcs.iter().zip(classes) {
        let class = match v {
            ir::Value::Reg(r) => d.class_of(f, r)?,
            ir::Value::Imm(_) => class,
        };
        site.args.push((d.value(f, v, class)?, class));
    }
    if let Some(&r) = inst.dsts.first() {
        let class = d.class_of(f, r)?;
        site.dst = Some((d.reg(f, r, class)?, class));
    }
    let mut i = d.blank(f, plain::<control::Syscall>(), inst.guard)?;
    i.aux = d.syscalls.len() as u32;
    d.syscalls.push(site);
    Ok(i)
}
