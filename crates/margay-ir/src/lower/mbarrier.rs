// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mbarrier`: barriers in shared memory, composed of atomic operations on their 64-bit object.
//!
//! The object is opaque to programs, so its layout is ours: arrivals that are still awaited in bits 0
//! to 19, arrivals that each phase awaits in 20 to 39, bytes of asynchronous copies still awaited
//! (signed) in 40 to 60, and the parity of the phase in bit 63. An operation reads the object, works
//! out the next one and swaps it in, again and again until nobody came between (PTX ISA, "mbarrier").
//!
//! Before each such sequence (of a wait after it) [`Op::Mbarrier`] says what it is, for who checks programs; the accesses
//! themselves are marked with [`Cache::Mbarrier`].
//!
//! `try_wait` does not suspend: it answers at once, which its callers' loops allow for. Asynchronous
//! copies are complete when they are issued.

use margay_ptx::ast::{Instruction, ModifierCursor, OperandKind, ScalarType};

use super::function::Lower;
use super::memory::{take_scope, take_space, word};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Cache, Class, Scope, Sem, Space, Ty};

const COUNT_BITS: u64 = 20;
const EXPECTED_AT: u64 = 20;
const TX_AT: u64 = 40;
const TX_BITS: u64 = 21;
const PHASE_AT: u64 = 63;

/// The modifier of asynchronous operations that tell a barrier how many bytes they moved.
pub(super) const COMPLETE_TX: &str = "mbarrier::complete_tx::bytes";

/// Where a barrier is, and how operations on it are ordered.
pub(super) struct Barrier {
    base: Value,
    mem: MemAttr,
}

/// What an operation does to the object.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Arrivals, in a 32-bit value.
    arrive: Value,
    /// The arrivals also leave for good.
    drop: bool,
    /// Bytes by which the transaction count rises or, negative, falls.
    tx: Value,
}

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let name = inst.opcode().strip_prefix("mbarrier.").unwrap_or(inst.opcode());
    match name {
        "init" => l.mbarrier_init(inst, m),
        "inval" => {
            // The memory may be used for something else from now on: nothing has to happen.
            let barrier = l.mbarrier_at(inst, m, 0)?;
            m.next_type();
            l.tell_mbarrier(&barrier, MbarrierOp::Inval, Value::Imm(0));
            Ok(())
        }
        "arrive" => l.mbarrier_arrive(inst, m, false),
        "arrive_drop" => l.mbarrier_arrive(inst, m, true),
        "expect_tx" | "complete_tx" => {
            let barrier = l.mbarrier_at(inst, m, 0)?;
            m.next_type();
            let bytes = l.src_at(inst, 1, ScalarType::U32)?;
            let (op, tx) = match name {
                "expect_tx" => (MbarrierOp::ExpectTx, bytes),
                _ => {
                    let less = l.value(Op::Neg, Ty::I32, &[bytes], Attr::None);
                    (MbarrierOp::CompleteTx, less)
                }
            };
            let change = Change { arrive: Value::Imm(0), drop: false, tx };
            l.branch_if_guarded(|l| {
                l.tell_mbarrier(&barrier, op, bytes);
                l.mbarrier_change(&barrier, change, None);
            });
            Ok(())
        }
        "test_wait" | "try_wait" => l.mbarrier_wait(inst, m),
        "pending_count" => {
            m.next_type();
            let state = l.src_at(inst, 1, ScalarType::B64)?;
            let dst = l.dst_at(inst, 0, ScalarType::U32)?;
            let count = l.field(Op::BfeU, state, 0, COUNT_BITS);
            l.emit_from(Op::Trunc, Ty::I32, Ty::I64, &[dst], &[count], Attr::None);
            Ok(())
        }
        other => Err(Stop::unsupported(format!("the engine has no `mbarrier.{other}` yet"))),
    }
}

impl Lower<'_, '_> {
    /// The barrier that operand `i` names; takes the space, the order and the scope.
    fn mbarrier_at(
        &mut self,
        inst: &Instruction,
        m: &mut ModifierCursor<'_>,
        i: usize,
    ) -> Lowered<Barrier> {
        let sem = match m.take_any(&["relaxed", "acquire", "release"]) {
            Some("relaxed") => Sem::Relaxed,
            Some("acquire") => Sem::Acquire,
            // An arrival that ends a phase also sees what the others did before theirs.
            Some(_) | None => Sem::AcqRel,
        };
        let scope = take_scope(m).unwrap_or(Scope::Cta);
        let space = take_space(inst, m);
        self.barrier_at(inst, i, space, (sem, scope))
    }

    /// The barrier that operand `i` names, in shared memory, for accesses of this order and scope.
    fn barrier_at(
        &mut self,
        inst: &Instruction,
        i: usize,
        said: Option<Space>,
        (sem, scope): (Sem, Scope),
    ) -> Lowered<Barrier> {
        let operand = self.operand(inst, i)?;
        let place = self.place(operand)?;
        let space = match self.access_space(said, &place, operand)? {
            space @ (Space::Shared | Space::Generic) => space,
            Space::Global | Space::Local | Space::Const | Space::Param => {
                return Err(Stop::error(operand.span, "an mbarrier must be in shared memory"));
            }
        };
        let mem = MemAttr {
            space,
            signed: false,
            sem,
            scope,
            cache: Cache::Mbarrier,
            offset: place.offset,
        };
        Ok(Barrier { base: place.base, mem })
    }

    /// For who checks programs.
    fn tell_mbarrier(&mut self, barrier: &Barrier, op: MbarrierOp, operand: Value) {
        let attr = Attr::Mbarrier { op, mem: barrier.mem };
        self.emit(Op::Mbarrier, Ty::I32, &[], &[barrier.base, operand], attr);
    }

    fn field(&mut self, op: Op, object: Value, at: u64, bits: u64) -> Value {
        let srcs = [object, Value::Imm(at), Value::Imm(bits)];
        self.value(op, Ty::I64, &srcs, Attr::None)
    }

    fn mbarrier_init(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let barrier = self.mbarrier_at(inst, m, 0)?;
        m.next_type();
        let count = self.src_at(inst, 1, ScalarType::U32)?;
        self.tell_mbarrier(&barrier, MbarrierOp::Init, count);
        let count = self.value_from(Op::ZExt, Ty::I64, Ty::I32, &[count], Attr::None);
        let expected = self.value(Op::Shl, Ty::I64, &[count, Value::Imm(EXPECTED_AT)], Attr::None);
        let object = self.value(Op::Or, Ty::I64, &[count, expected], Attr::None);
        // No atomic operation: others have to be kept from the object until it is there.
        let mem = MemAttr { sem: Sem::Weak, ..barrier.mem };
        self.emit(Op::St, Ty::I64, &[], &[barrier.base, object], Attr::Mem(mem));
        Ok(())
    }

    fn mbarrier_arrive(
        &mut self,
        inst: &Instruction,
        m: &mut ModifierCursor<'_>,
        drop: bool,
    ) -> Lowered {
        let expect_tx = word(inst, m, "expect_tx");
        // A promise that the phase does not end here; whether it does is seen all the same.
        let completes = !m.take("noComplete");
        let barrier = self.mbarrier_at(inst, m, 1)?;
        m.next_type();
        let operand = match inst.operands.len() {
            0..=2 => Value::Imm(u64::from(!expect_tx)),
            _ => self.src_at(inst, 2, ScalarType::U32)?,
        };
        let change = match expect_tx {
            true => Change { arrive: Value::Imm(1), drop, tx: operand },
            false => Change { arrive: operand, drop, tx: Value::Imm(0) },
        };
        let state = self.operand(inst, 0)?;
        let dst = match state.kind {
            OperandKind::Sink => None,
            _ => Some(self.dst(state, ScalarType::B64)?),
        };
        let op = match (drop, completes) {
            (true, _) => MbarrierOp::ArriveDrop,
            (false, true) => MbarrierOp::Arrive,
            (false, false) => MbarrierOp::ArriveNoComplete,
        };
        self.branch_if_guarded(|l| {
            if expect_tx {
                l.tell_mbarrier(&barrier, MbarrierOp::ExpectTx, change.tx);
            }
            l.tell_mbarrier(&barrier, op, change.arrive);
            l.mbarrier_change(&barrier, change, dst);
        });
        Ok(())
    }

    /// Applies a change; `state` gets the object as it was before.
    fn mbarrier_change(&mut self, barrier: &Barrier, change: Change, state: Option<Reg>) {
        let again = self.new_block();
        let done = self.new_block();
        self.start_block(again);
        let relaxed = MemAttr { sem: Sem::Relaxed, ..barrier.mem };
        let old = self.value(Op::Ld, Ty::I64, &[barrier.base], Attr::Mem(relaxed));
        let new = self.mbarrier_next(old, change);
        let attr = Attr::Atom { op: AtomOp::Cas, mem: barrier.mem, ftz: false };
        let found = self.value(Op::Atom, Ty::I64, &[barrier.base, old, new], attr);
        let pred = self.temp(Class::P);
        self.emit(Op::ICmp, Ty::I64, &[pred], &[found, old], Attr::IntCmp(IntCmp::Eq));
        self.terminate(Term::CondBr { pred, negated: false, then: done, els: again });
        self.start_block(done);
        if let Some(dst) = state {
            self.mov(Ty::I64, dst, old);
        }
    }

    /// The object after a change, in the next phase if this one is complete.
    fn mbarrier_next(&mut self, old: Value, change: Change) -> Value {
        let one_phase = Value::Imm(1 << PHASE_AT);
        let pending = self.field(Op::BfeU, old, 0, COUNT_BITS);
        let mut expected = self.field(Op::BfeU, old, EXPECTED_AT, COUNT_BITS);
        let tx = self.field(Op::BfeS, old, TX_AT, TX_BITS);
        let phase = self.value(Op::And, Ty::I64, &[old, one_phase], Attr::None);
        let arrive = self.value_from(Op::ZExt, Ty::I64, Ty::I32, &[change.arrive], Attr::None);
        let more = self.value_from(Op::SExt, Ty::I64, Ty::I32, &[change.tx], Attr::None);
        if change.drop {
            expected = self.value(Op::Sub, Ty::I64, &[expected, arrive], Attr::None);
        }
        let pending = self.value(Op::Sub, Ty::I64, &[pending, arrive], Attr::None);
        let tx = self.value(Op::Add, Ty::I64, &[tx, more], Attr::None);
        let awaited = self.value(Op::Or, Ty::I64, &[pending, tx], Attr::None);
        let zero = [awaited, Value::Imm(0)];
        let over = self.value_in(Class::P, Op::ICmp, Ty::I64, &zero, Attr::IntCmp(IntCmp::Eq));
        let pending = self.value(Op::Select, Ty::I64, &[expected, pending, over], Attr::None);
        let flip = self.value(Op::Select, Ty::I64, &[one_phase, Value::Imm(0), over], Attr::None);
        let phase = self.value(Op::Xor, Ty::I64, &[phase, flip], Attr::None);
        let mut object = phase;
        for (value, at, bits) in
            [(pending, 0, COUNT_BITS), (expected, EXPECTED_AT, COUNT_BITS), (tx, TX_AT, TX_BITS)]
        {
            let srcs = [value, object, Value::Imm(at), Value::Imm(bits)];
            object = self.value(Op::Bfi, Ty::I64, &srcs, Attr::None);
        }
        object
    }

    fn mbarrier_wait(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let parity = word(inst, m, "parity");
        let barrier = self.mbarrier_at(inst, m, 1)?;
        m.next_type();
        let mem = match barrier.mem.sem {
            Sem::Relaxed => barrier.mem,
            _ => MemAttr { sem: Sem::Acquire, ..barrier.mem },
        };
        // A fourth operand says how long the wait may take at most: here it takes no time.
        let waited = if parity {
            let parity = self.src_at(inst, 2, ScalarType::U32)?;
            let wide = self.value_from(Op::ZExt, Ty::I64, Ty::I32, &[parity], Attr::None);
            self.value(Op::Shl, Ty::I64, &[wide, Value::Imm(PHASE_AT)], Attr::None)
        } else {
            self.src_at(inst, 2, ScalarType::B64)?
        };
        let object = self.value(Op::Ld, Ty::I64, &[barrier.base], Attr::Mem(mem));
        // The phase is over when the barrier is in one of the other parity.
        let differ = self.value(Op::Xor, Ty::I64, &[object, waited], Attr::None);
        let dst = self.dst_at(inst, 0, ScalarType::Pred)?;
        let srcs = [differ, Value::Imm(0)];
        let over = self.value_in(Class::P, Op::ICmp, Ty::I64, &srcs, Attr::IntCmp(IntCmp::LtS));
        let choice = [Value::Imm(1), Value::Imm(0), over];
        let told = self.value(Op::Select, Ty::I32, &choice, Attr::None);
        self.tell_mbarrier(&Barrier { mem, ..barrier }, MbarrierOp::Wait, told);
        self.mov(Ty::Pred, dst, over);
        Ok(())
    }

    /// The barrier that operand `i` names and that an asynchronous operation tells of its end: a release in the
    /// cluster's scope (PTX ISA, "st.async", "red.async"). Its address is as generic as the operation's own.
    pub(super) fn completed_barrier(
        &mut self,
        inst: &Instruction,
        i: usize,
        said: Option<Space>,
    ) -> Lowered<Barrier> {
        self.barrier_at(inst, i, said, (Sem::Release, Scope::Cluster))
    }

    /// `complete-tx` of so many bytes.
    pub(super) fn complete_bytes(&mut self, barrier: &Barrier, bytes: u32) {
        let tx = Value::Imm(u64::from(bytes.wrapping_neg()));
        let change = Change { arrive: Value::Imm(0), drop: false, tx };
        self.tell_mbarrier(barrier, MbarrierOp::CompleteTx, Value::Imm(u64::from(bytes)));
        self.mbarrier_change(barrier, change, None);
    }

    /// `cp.async.mbarrier.arrive`: the thread's copies are complete already, so the arrival that they
    /// would trigger happens now. Without `.noinc` it awaits itself: nothing changes.
    pub(super) fn copies_arrive(
        &mut self,
        inst: &Instruction,
        m: &mut ModifierCursor<'_>,
    ) -> Lowered {
        let arrives = m.take("noinc");
        let barrier = self.mbarrier_at(inst, m, 0)?;
        m.next_type();
        if !arrives {
            // An operation on the object all the same.
            self.tell_mbarrier(&barrier, MbarrierOp::ExpectTx, Value::Imm(0));
            return Ok(());
        }
        let change = Change { arrive: Value::Imm(1), drop: false, tx: Value::Imm(0) };
        self.branch_if_guarded(|l| {
            l.tell_mbarrier(&barrier, MbarrierOp::Arrive, change.arrive);
            l.mbarrier_change(&barrier, change, None);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::check;

    #[test]
    fn an_arrival_swaps_the_next_object_in() {
        check(
            "mbarrier.arrive.shared.b64 %d0, [s];",
            expect![[r#"
                b0:
                  %0 = addr {var=2}
                  mbarrier {arrive shared acq_rel cta mbarrier} %0, 0x1
                  br b1
                b1:
                  %2 = ld.i64 {shared relaxed cta mbarrier} %0
                  %3 = bfe.u.i64 %2, 0x0, 0x14
                  %4 = bfe.u.i64 %2, 0x14, 0x14
                  %5 = bfe.s.i64 %2, 0x28, 0x15
                  %6 = and.i64 %2, 0x8000000000000000
                  %7 = zext.i64.i32 0x1
                  %8 = sext.i64.i32 0x0
                  %9 = sub.i64 %3, %7
                  %10 = add.i64 %5, %8
                  %11 = or.i64 %9, %10
                  %12 = icmp.i64 {eq} %11, 0x0
                  %13 = select.i64 %4, %9, %12
                  %14 = select.i64 0x8000000000000000, 0x0, %12
                  %15 = xor.i64 %6, %14
                  %16 = bfi.i64 %13, %15, 0x0, 0x14
                  %17 = bfi.i64 %4, %16, 0x14, 0x14
                  %18 = bfi.i64 %10, %17, 0x28, 0x15
                  %19 = atom.i64 {cas shared acq_rel cta mbarrier} %0, %2, %18
                  %20 = icmp.i64 {eq} %19, %2
                  condbr %20, b2, b1
                b2:
                  %1 = mov.i64 %2
                  exit
            "#]],
        );
    }

    #[test]
    fn initialisation_and_waits() {
        check(
            "mbarrier.init.shared.b64 [s], 32; mbarrier.test_wait.shared.b64 %p0, [s], %d0; mbarrier.try_wait.parity.shared::cta.b64 %p0, [s], %r0, 100; mbarrier.pending_count.b64 %r0, %d0; mbarrier.inval.shared.b64 [s];",
            expect![[r#"
                b0:
                  %0 = addr {var=2}
                  mbarrier {init shared acq_rel cta mbarrier} %0, 0x20
                  %1 = zext.i64.i32 0x20
                  %2 = shl.i64 %1, 0x14
                  %3 = or.i64 %1, %2
                  st.i64 {shared cta mbarrier} %0, %3
                  %4 = addr {var=2}
                  %6 = ld.i64 {shared acquire cta mbarrier} %4
                  %7 = xor.i64 %6, %5
                  %9 = icmp.i64 {lt.s} %7, 0x0
                  %10 = select.i32 0x1, 0x0, %9
                  mbarrier {wait shared acquire cta mbarrier} %4, %10
                  %8 = mov.pred %9
                  %11 = addr {var=2}
                  %13 = zext.i64.i32 %12
                  %14 = shl.i64 %13, 0x3f
                  %15 = ld.i64 {shared acquire cta mbarrier} %11
                  %16 = xor.i64 %15, %14
                  %17 = icmp.i64 {lt.s} %16, 0x0
                  %18 = select.i32 0x1, 0x0, %17
                  mbarrier {wait shared acquire cta mbarrier} %11, %18
                  %8 = mov.pred %17
                  %19 = bfe.u.i64 %5, 0x0, 0x14
                  %12 = trunc.i32.i64 %19
                  %20 = addr {var=2}
                  mbarrier {inval shared acq_rel cta mbarrier} %20, 0x0
                  exit
            "#]],
        );
    }

    #[test]
    fn every_form_is_lowered() {
        let text = crate::lower::testing::kernel(
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [s], 64; mbarrier.arrive_drop.shared.b64 %d0, [s], 2; mbarrier.arrive.noComplete.shared.b64 %d0, [s], 2; @%p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [s], 16; mbarrier.complete_tx.relaxed.cta.shared.b64 [s], %r0; cp.async.mbarrier.arrive.noinc.shared.b64 [s]; cp.async.mbarrier.arrive.b64 [%d0];",
        );
        assert!(!text.contains("unsupported"), "{text}");
        assert_eq!(text.matches("{cas").count(), 6);
    }
}
