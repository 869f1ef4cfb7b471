// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads, stores, cache hints, asynchronous copies.
//!
//! Cache operators, eviction priorities, prefetch sizes and cache policies cannot change a result: the
//! operators are kept for the memory model's counts, the others are accepted and dropped here.

use margay_ptx::ast::{Instruction, ModifierCursor, Operand, OperandKind, ScalarType};

use super::function::Lower;
use super::mbarrier::COMPLETE_TX;
use super::names::{Entity, RegVar, Slot};
use super::operand::{bits_type, int_ty};
use super::space::{Place, SPACES, space_of};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Cache, Scope, Sem, Space, Ty};

/// Whether a word stands in the opcode's name or among its modifiers; takes it from the latter.
pub(super) fn word(inst: &Instruction, m: &mut ModifierCursor<'_>, name: &str) -> bool {
    inst.opcode().split('.').any(|w| w == name) || m.take(name)
}

/// Takes eviction priorities, prefetch sizes and `.L2::cache_hint`. Whether a cache policy follows
/// the operands.
pub(super) fn take_hints(inst: &Instruction, m: &mut ModifierCursor<'_>) -> bool {
    let mut policy = false;
    for modifier in &inst.modifiers {
        if modifier.name.starts_with("L1::") || modifier.name.starts_with("L2::") {
            m.take(modifier.name);
            policy |= modifier.name == "L2::cache_hint";
        }
    }
    policy
}

/// Takes the state space, if there is one.
pub(super) fn take_space(inst: &Instruction, m: &mut ModifierCursor<'_>) -> Option<Space> {
    if inst.opcode().contains(".global") {
        return Some(Space::Global);
    }
    if let Some(space) = m.take_any(SPACES) {
        return space_of(space);
    }
    // `.const[3]`: the banks of PTX before 2.2 are parts of one constant space.
    let bank = inst.modifiers.iter().find(|mo| mo.name.starts_with("const["))?;
    m.take(bank.name);
    Some(Space::Const)
}

/// Takes ordering and scope of an access.
pub(super) fn take_order(m: &mut ModifierCursor<'_>) -> (Sem, Scope) {
    if m.take("weak") {
        return (Sem::Weak, Scope::default());
    }
    if m.take("volatile") {
        // Volatile is relaxed with system scope, by the manual.
        return (Sem::Volatile, Scope::Sys);
    }
    if m.take("mmio") {
        let sem = match m.take_any(&["relaxed", "acquire", "release"]) {
            Some("acquire") => Sem::Acquire,
            Some("release") => Sem::Release,
            Some(_) | None => Sem::Mmio,
        };
        // Asynchronous ones may name a narrower scope; devices are reached in the system's.
        take_scope(m);
        return (sem, Scope::Sys);
    }
    let sem = match m.take_any(&["relaxed", "acquire", "release", "acq_rel"]) {
        Some("relaxed") => Sem::Relaxed,
        Some("acquire") => Sem::Acquire,
        Some("release") => Sem::Release,
        Some("acq_rel") => Sem::AcqRel,
        Some(_) | None => return (Sem::Weak, Scope::default()),
    };
    (sem, take_scope(m).unwrap_or_default())
}

pub(super) fn take_scope(m: &mut ModifierCursor<'_>) -> Option<Scope> {
    Some(match m.take_any(&["cta", "cluster", "gpu", "sys"])? {
        "cta" => Scope::Cta,
        "cluster" => Scope::Cluster,
        "gpu" => Scope::Gpu,
        _ => Scope::Sys,
    })
}

fn take_cache(inst: &Instruction, m: &mut ModifierCursor<'_>) -> Cache {
    let op = m.take_any(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
    if inst.opcode() == "ldu" {
        return Cache::Uniform;
    }
    if word(inst, m, "nc") {
        return Cache::NonCoherent;
    }
    match op {
        Some("ca") => Cache::Ca,
        Some("cg") => Cache::Cg,
        Some("cs") => Cache::Cs,
        Some("lu") => Cache::Lu,
        Some("cv") => Cache::Cv,
        Some("wb") => Cache::Wb,
        Some("wt") => Cache::Wt,
        Some(_) | None => Cache::Default,
    }
}

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode() {
        "ld" | "ld.global.nc" | "ld.global" | "ldu" => l.load(inst, m),
        "st" | "st.async" => l.store(inst, m),
        "prefetch" | "prefetchu" => l.prefetch(inst, m),
        // These only say that lines are or are not worth keeping: data that is discarded reads
        // as anything, so it may as well read as it was.
        "discard" | "applypriority" => {
            m.take("L2");
            l.prefetch(inst, m)
        }
        "createpolicy" => {
            // A policy is opaque and nothing but a cache reads it.
            for modifier in &inst.modifiers {
                m.take(modifier.name);
            }
            let dst = l.dst_at(inst, 0, ScalarType::B64)?;
            l.mov(Ty::I64, dst, Value::Imm(0));
            Ok(())
        }
        other => Err(Stop::unsupported(format!("the engine has no `{other}` yet"))),
    }
}

/// What precedes the address in a load or store.
struct Access {
    space: Option<Space>,
    sem: Sem,
    scope: Scope,
    cache: Cache,
    count: usize,
    ty: ScalarType,
}

impl Access {
    fn take(inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered<Access> {
        let (sem, scope) = take_order(m);
        let space = take_space(inst, m);
        let cache = take_cache(inst, m);
        // Of a uniform data cache that a card may use: no difference here.
        m.take("unified");
        take_hints(inst, m);
        let count = usize::from(m.vector());
        let Some(ty) = m.next_type() else {
            return Err(Stop::error(inst.opcode_span, "a load or store needs a type"));
        };
        Ok(Access { space, sem, scope, cache, count, ty })
    }

    /// The attribute, once the address is known.
    fn attr(&self, space: Space, place: &Place, signed: bool) -> Attr {
        let mut mem = MemAttr {
            space,
            signed,
            sem: self.sem,
            scope: self.scope,
            cache: self.cache,
            offset: place.offset,
        };
        mem.enter(space);
        Attr::Mem(mem)
    }
}

impl Lower<'_, '_> {
    /// The space that an access goes to: what the instruction says, what the variable is in, or
    /// generic. `.param` of a device function is the frame.
    pub(super) fn access_space(
        &self,
        said: Option<Space>,
        place: &Place,
        operand: &Operand,
    ) -> Lowered<Space> {
        let said = match said {
            Some(Space::Param) if !self.out.is_entry => Some(Space::Local),
            // An argument slot of a call, in a kernel.
            Some(Space::Param) if place.space == Some(Space::Local) => Some(Space::Local),
            other => other,
        };
        match (said, place.space) {
            (None | Some(Space::Generic), None) => Ok(Space::Generic),
            (None | Some(Space::Generic), Some(space)) | (Some(space), None) => Ok(space),
            (Some(a), Some(b)) if a == b => Ok(a),
            (Some(_), Some(_)) => {
                Err(Stop::error(operand.span, "the variable is in another state space"))
            }
        }
    }

    /// The register that holds an argument slot or parameter, if the operand names one whole.
    fn slot_register(&mut self, operand: &Operand) -> Option<(Reg, u32)> {
        let name = match &operand.kind {
            OperandKind::Address(a) if a.offset == 0 => match a.base {
                margay_ptx::ast::Base::Name(name) => name,
                margay_ptx::ast::Base::Absolute(_) => return None,
            },
            OperandKind::Name(name) => *name,
            _ => return None,
        };
        match self.find(name) {
            Some(Entity::Slot(Slot::Reg { reg, size })) => Some((reg, size)),
            _ => None,
        }
    }

    fn load(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let access = Access::take(inst, m)?;
        let (dst, address) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        if let Some((reg, size)) = self.slot_register(address) {
            let value =
                self.read(RegVar { reg, ty: bits_type(size) }, bits_of(access.ty), address.span)?;
            let to = self.dst(dst, access.ty)?;
            self.mov(int_ty(access.ty.bits()), to, value);
            return Ok(());
        }
        let place = self.place(address)?;
        let space = self.access_space(access.space, &place, address)?;
        if access.ty.bits() == 128 {
            return self.load_wide(dst, &access, space, &place);
        }
        if access.ty.bits() < 8 {
            return Err(Stop::error(inst.opcode_span, "memory holds no such type"));
        }
        let vars = self.dst_vars(dst)?;
        if vars.len() != access.count {
            return Err(Stop::error(dst.span, format!("{} registers are needed", access.count)));
        }
        let mem = int_ty(access.ty.bits());
        let signed = access.ty.is_signed();
        // The load itself extends to 32 or 64 bits, if all elements go to registers of one width.
        let width = vars.iter().flatten().map(|v| v.ty.bits()).max().unwrap_or(access.ty.bits());
        let direct =
            vars.iter().flatten().all(|v| v.ty.bits() == width && width >= access.ty.bits())
                && (!signed || width >= 32 || width == access.ty.bits());
        let mut regs = Vec::with_capacity(vars.len());
        for var in &vars {
            regs.push(match var {
                Some(var) if direct && var.ty != ScalarType::Pred => var.reg,
                Some(var) => self.write(*var, access.ty, dst.span)?,
                None => self.temp(if direct { int_ty(width).class() } else { mem.class() }),
            });
        }
        let extends = direct && signed && width > access.ty.bits();
        let attr = access.attr(space, &place, extends);
        self.emit(Op::Ld, mem, &regs, &[place.base], attr);
        Ok(())
    }

    fn load_wide(
        &mut self,
        dst: &Operand,
        access: &Access,
        space: Space,
        place: &Place,
    ) -> Lowered {
        if access.count > 1 {
            return Err(Stop::unsupported("a vector of 128-bit elements"));
        }
        let regs = self.dst_wide(dst)?;
        let attr = access.attr(space, place, false);
        self.emit(Op::Ld, Ty::I64, &regs, &[place.base], attr);
        Ok(())
    }

    fn store(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let completes = m.take(COMPLETE_TX);
        if completes {
            // The scope of what the barrier is told, which is always this one.
            m.take("cluster");
        }
        let access = Access::take(inst, m)?;
        let (address, source) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        if let Some((reg, size)) = self.slot_register(address) {
            let value = self.src(source, access.ty)?;
            let (ty, from) = (int_ty(size * 8), int_ty(access.ty.bits()));
            match value {
                Value::Reg(_) if ty != from => {
                    self.emit_from(Op::ZExt, ty, from, &[reg], &[value], Attr::None);
                }
                Value::Reg(_) | Value::Imm(_) => self.mov(ty, reg, value),
            }
            return Ok(());
        }
        let place = self.place(address)?;
        let space = self.access_space(access.space, &place, address)?;
        match space {
            Space::Param => {
                return Err(Stop::error(address.span, "kernel parameters are read-only"));
            }
            // A store to constant memory faults when it runs.
            Space::Generic | Space::Global | Space::Shared | Space::Local | Space::Const => {}
        }
        let (ty, values) = if access.ty.bits() == 128 {
            if access.count > 1 {
                return Err(Stop::unsupported("a vector of 128-bit elements"));
            }
            (Ty::I64, self.src_wide(source)?.to_vec())
        } else {
            let values = self.stored(source, access.ty)?;
            if values.len() != access.count {
                let message = format!("{} values are needed", access.count);
                return Err(Stop::error(source.span, message));
            }
            (int_ty(access.ty.bits()), values)
        };
        if access.ty.bits() < 8 {
            return Err(Stop::error(inst.opcode_span, "memory holds no such type"));
        }
        let mut srcs = vec![place.base];
        srcs.extend(values);
        let attr = access.attr(space, &place, false);
        if completes {
            let barrier = self.completed_barrier(inst, 2, access.space)?;
            let bytes = access.ty.bits() / 8 * access.count as u32;
            self.branch_if_guarded(|l| {
                l.emit(Op::St, ty, &[], &srcs, attr);
                l.complete_bytes(&barrier, bytes);
            });
            return Ok(());
        }
        self.emit(Op::St, ty, &[], &srcs, attr);
        Ok(())
    }

    fn prefetch(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        if m.take("tensormap") {
            return Err(Stop::unsupported("tensor maps"));
        }
        let space = take_space(inst, m);
        take_hints(inst, m);
        m.take_any(&["L1", "L2"]);
        let address = self.operand(inst, 0)?;
        let place = self.place(address)?;
        let space = self.access_space(space, &place, address)?;
        let attr = Attr::Mem(MemAttr { offset: place.offset, ..MemAttr::plain(space) });
        self.emit(Op::Prefetch, Ty::I8, &[], &[place.base], attr);
        Ok(())
    }

    fn cp_async(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let cache = match m.take_any(&["ca", "cg"]) {
            Some("cg") => Cache::Cg,
            Some(_) | None => Cache::Ca,
        };
        m.take_any(&["shared", "shared::cta"]);
        m.take("global");
        let policy = take_hints(inst, m);
        let (to, from) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        let (to_place, from_place) = (self.place(to)?, self.place(from)?);
        if self.access_space(Some(Space::Shared), &to_place, to)? != Space::Shared
            || self.access_space(Some(Space::Global), &from_place, from)? != Space::Global
        {
            return Err(Stop::error(
                inst.opcode_span,
                "the copy goes from global to shared memory",
            ));
        }
        let size = self.operand(inst, 2)?;
        let bytes = match &size.kind {
            OperandKind::Immediate(imm) => imm.as_u64().unwrap_or(0),
            _ => return Err(Stop::error(size.span, "the size must be a constant")),
        };
        if !matches!((bytes, cache), (16, _) | (4 | 8, Cache::Ca)) {
            return Err(Stop::error(size.span, "the size is 4, 8 or 16, and 16 with `.cg`"));
        }
        let last = inst.operands.len() - usize::from(policy);
        let mut srcs = vec![to_place.base, from_place.base];
        if last > 3 {
            let operand = self.operand(inst, 3)?;
            let is_predicate = match &operand.kind {
                OperandKind::Name(name) => {
                    matches!(self.find(*name), Some(Entity::Reg(v)) if v.ty == ScalarType::Pred)
                }
                OperandKind::Not(_) => true,
                _ => false,
            };
            srcs.push(if is_predicate {
                // `ignore-src`: nothing is read, zeros are written.
                let ignore = self.pred(operand)?;
                let choices = [Value::Imm(0), Value::Imm(bytes), ignore];
                self.value(Op::Select, Ty::I32, &choices, Attr::None)
            } else {
                self.src(operand, ScalarType::U32)?
            });
        }
        let attr = Attr::Copy {
            bytes: bytes as u32,
            shared_offset: to_place.offset,
            global_offset: from_place.offset,
            cache,
        };
        self.emit(Op::CpAsync, Ty::I8, &[], &srcs, attr);
        Ok(())
    }
}

pub(super) fn lower_async(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode() {
        "cp.async" => l.cp_async(inst, m),
        "cp.async.commit_group" => {
            l.emit(Op::CpAsyncCommit, Ty::Pred, &[], &[], Attr::None);
            Ok(())
        }
        // Waiting for all groups waits for those that were asked for.
        "cp.async.wait_group" | "cp.async.wait_all" => {
            l.emit(Op::CpAsyncWait, Ty::Pred, &[], &[], Attr::None);
            Ok(())
        }
        "cp.async.mbarrier.arrive" => l.copies_arrive(inst, m),
        other => Err(Stop::unsupported(format!("the engine has no `{other}` yet"))),
    }
}

/// Untyped bits of a type's width.
pub(super) fn bits_of(ty: ScalarType) -> ScalarType {
    bits_type(ty.bits() / 8)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::{check, errors};

    #[test]
    fn loads_of_every_space() {
        check(
            "ld.param.u64 %d0, [a]; ld.param.b32 %r0, [b]; ld.global.u32 %r0, [%d0+8]; ld.shared.u32 %r0, [s+4]; ld.const.u32 %r1, [c]; ld.u32 %r1, [%d0-4]; ld.global.nc.v4.f32 {%r0, %r1, %r2, %r3}, [%d0]; ldu.global.u32 %r2, [%d0]; ld.local.u8 %h0, [%d1];",
            expect![[r#"
                b0:
                  %0 = ld.i64 {param} 0x0
                  %1 = ld.i32 {param offset=8} 0x0
                  %1 = ld.i32 {global offset=8} %0
                  %2 = addr {var=2}
                  %1 = ld.i32 {shared offset=4} %2
                  %3 = addr {var=1}
                  %4 = ld.i32 {const} %3
                  %4 = ld.i32 {generic offset=-4} %0
                  %1, %4, %5, %6 = ld.i32 {global nc} %0
                  %5 = ld.i32 {global ldu} %0
                  %8 = ld.i8 {local} %7
                  exit
            "#]],
        );
    }

    #[test]
    fn narrow_loads_extend_into_their_register() {
        check(
            "ld.global.u8 %r0, [%d0]; ld.global.s8 %r0, [%d0]; ld.global.s8 %h0, [%d0]; ld.global.s32 %d1, [%d0]; ld.global.s16 %h1, [%d0]; ld.global.v2.s8 {%h0, %h1}, [%d0];",
            expect![[r#"
                b0:
                  %1 = ld.i8 {global} %0
                  %1 = ld.i8 {global signed} %0
                  %3 = ld.i8 {global} %0
                  %2 = sext.i16.i8 %3
                  %4 = ld.i32 {global signed} %0
                  %5 = ld.i16 {global} %0
                  %6, %7 = ld.i8 {global} %0
                  %2 = sext.i16.i8 %6
                  %5 = sext.i16.i8 %7
                  exit
            "#]],
        );
    }

    #[test]
    fn order_scope_and_hints() {
        check(
            "ld.volatile.global.u32 %r0, [%d0]; ld.acquire.sys.global.u32 %r0, [%d0]; ld.relaxed.gpu.u32 %r0, [%d0]; st.release.cta.shared.u32 [s], %r0; st.global.cs.u32 [%d0], %r0; ld.global.L1::no_allocate.L2::128B.u32 %r0, [%d0]; ld.global.L2::cache_hint.u32 %r0, [%d0], %d1; ld.mmio.relaxed.sys.u32 %r0, [%d0];",
            expect![[r#"
                b0:
                  %1 = ld.i32 {global volatile sys} %0
                  %1 = ld.i32 {global acquire sys} %0
                  %1 = ld.i32 {generic relaxed} %0
                  %2 = addr {var=2}
                  st.i32 {shared release cta} %2, %1
                  st.i32 {global cs} %0, %1
                  %1 = ld.i32 {global} %0
                  %1 = ld.i32 {global} %0
                  %1 = ld.i32 {generic mmio sys} %0
                  exit
            "#]],
        );
    }

    #[test]
    fn stores_take_low_bits() {
        check(
            "st.global.u8 [%d0], %r0; st.global.u32 [%d0], %d1; st.v2.b16 [%d0], {%h0, %h1}; st.global.b128 [%d0], %q0; st.global.f32 [%d0], 0f40000000; st.u16 [1024], 7;",
            expect![[r#"
                b0:
                  st.i8 {global} %0, %1
                  %3 = trunc.i32.i64 %2
                  st.i32 {global} %0, %3
                  st.i16 {generic} %0, %4, %5
                  st.i64 {global} %0, %6, %7
                  st.i32 {global} %0, 0x40000000
                  st.i16 {generic} 0x400, 0x7
                  exit
            "#]],
        );
    }

    #[test]
    fn guards_stay() {
        check(
            "@%p0 ld.global.u32 %r0, [%d0]; @!%p1 st.global.u32 [%d0], %r0; @%p0 ld.global.s8 %h0, [%d0];",
            expect![[r#"
                b0:
                  %2 = ld.i32 {global} %1 @%0
                  st.i32 {global} %1, %2 @!%3
                  %5 = ld.i8 {global} %1 @%0
                  %4 = sext.i16.i8 %5 @%0
                  exit
            "#]],
        );
    }

    #[test]
    fn asynchronous_copies() {
        check(
            "cp.async.ca.shared.global [s], [%d0], 4; cp.async.cg.shared.global [%r0+16], [%d0+32], 16, %r1; cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all;",
            expect![[r#"
                b0:
                  %0 = addr {var=2}
                  cp.async {bytes=4 shared_offset=0 global_offset=0 ca} %0, %1
                  %3 = zext.i64.i32 %2
                  cp.async {bytes=16 shared_offset=16 global_offset=32 cg} %3, %1, %4
                  cp.async.commit
                  cp.async.wait
                  cp.async.wait
                  exit
            "#]],
        );
    }

    #[test]
    fn hints_without_effect() {
        check(
            "prefetch.global.L2 [%d0]; discard.global.L2 [%d0], 128; createpolicy.fractional.L2::evict_first.b64 %d1; prefetchu.L1 [%d0];",
            expect![[r#"
                b0:
                  prefetch {global} %0
                  prefetch {global} %0
                  %1 = mov.i64 0x0
                  prefetch {generic} %0
                  exit
            "#]],
        );
    }

    #[test]
    fn wrong_accesses() {
        expect![[r#"
            PTX 6:14: kernel parameters are read-only
            PTX 7:15: a predicate and `.u32` do not go together
            PTX 8:15: the register has 32 bits, `.u64` needs 64
            PTX 9:18: the variable is in another state space
            PTX 10:18: 2 registers are needed
            PTX 11:18: `nowhere` is not declared
        "#]].assert_eq(&errors(".const .b32 c;\n.entry k(.param .b32 a) { .reg .b32 r; .reg .b64 d; .reg .pred p;\nst.param.u32 [a], r;\nld.global.u32 p, [d];\nld.global.u64 r, [d];\nld.shared.u32 r, [c];\nld.global.v2.u32 {r, r, r, r}, [d];\nld.global.u32 r, [nowhere];\n}"));
    }
}
