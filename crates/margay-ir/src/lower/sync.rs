// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers, fences and warp-wide instructions.
//!
//! Ops that wait for other threads are never guarded: a guard on them becomes a branch.

use margay_ptx::ast::{Instruction, ModifierCursor, OperandKind, ScalarType};

use super::function::Lower;
use super::memory::{take_scope, word};
use super::operand::{int_ty, ir_ty};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Scope, Sem, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let opcode = inst.opcode();
    match opcode.split('.').next().unwrap_or(opcode) {
        "bar" if word(inst, m, "warp") => {
            word(inst, m, "sync");
            let mask = l.src_at(inst, 0, ScalarType::B32)?;
            l.branch_if_guarded(|l| l.emit(Op::BarWarp, Ty::I32, &[], &[mask], Attr::None));
            Ok(())
        }
        // `bar` is `barrier.aligned`.
        "bar" => l.barrier(inst, m, true),
        "barrier" if word(inst, m, "cluster") => l.cluster_barrier(inst, m),
        "barrier" => {
            let aligned = m.take("aligned");
            l.barrier(inst, m, aligned)
        }
        "membar" | "fence" => l.fence(inst, m),
        "vote" => l.vote(inst, m),
        "match" => l.match_sync(inst, m),
        "activemask" => {
            let dst = l.dst_at(inst, 0, m.next_type().unwrap_or(ScalarType::B32))?;
            l.emit(Op::ActiveMask, Ty::I32, &[dst], &[], Attr::None);
            Ok(())
        }
        "redux" => l.redux(inst, m),
        "shfl" => l.shfl(inst, m),
        "elect" => l.elect(inst, m),
        "griddepcontrol" => {
            // Grids of one stream run one after another here: what a dependent grid would wait for
            // has always happened, and the hint to start it early changes no result.
            m.take_any(&["launch_dependents", "wait"]);
            Ok(())
        }
        "nanosleep" => {
            let ty = m.next_type().unwrap_or(ScalarType::U32);
            let time = l.src_at(inst, 0, ty)?;
            l.emit(Op::NanoSleep, Ty::I32, &[], &[time], Attr::None);
            Ok(())
        }
        "pmevent" => {
            // Triggers counters of a profiler that is not attached.
            m.take("mask");
            Ok(())
        }
        "setmaxnreg" => {
            // Hands registers from warp to warp on a card; registers here are not a shared pool.
            // It orders nothing that a result could show.
            m.take_any(&["inc", "dec"]);
            m.take("sync");
            m.take("aligned");
            m.next_type();
            Ok(())
        }
        _ => Err(Stop::unsupported(format!("the engine has no `{opcode}` yet"))),
    }
}

impl Lower<'_, '_> {
    fn barrier(
        &mut self,
        inst: &Instruction,
        m: &mut ModifierCursor<'_>,
        aligned: bool,
    ) -> Lowered {
        m.take("cta");
        match m.take_any(&["sync", "arrive", "red"]) {
            Some("sync") => self.plain_barrier(inst, BarKind::Sync, aligned),
            Some("arrive") => self.plain_barrier(inst, BarKind::Arrive, aligned),
            Some(_) => self.reducing_barrier(inst, m, aligned),
            None => Err(Stop::error(inst.opcode_span, "what the barrier is to do is missing")),
        }
    }

    fn plain_barrier(&mut self, inst: &Instruction, kind: BarKind, aligned: bool) -> Lowered {
        let mut srcs = Vec::with_capacity(2);
        for i in 0..inst.operands.len().clamp(1, 2) {
            srcs.push(self.src_at(inst, i, ScalarType::U32)?);
        }
        if kind == BarKind::Arrive && srcs.len() < 2 {
            return Err(Stop::error(inst.opcode_span, "`arrive` needs a thread count"));
        }
        let attr = Attr::Barrier { kind, aligned, orders: std::mem::take(&mut self.orders) };
        self.branch_if_guarded(|l| l.emit(Op::Bar, Ty::I32, &[], &srcs, attr));
        Ok(())
    }

    fn reducing_barrier(
        &mut self,
        inst: &Instruction,
        m: &mut ModifierCursor<'_>,
        aligned: bool,
    ) -> Lowered {
        let kind = match m.take_any(&["popc", "and", "or"]) {
            Some("popc") => BarKind::RedPopc,
            Some("and") => BarKind::RedAnd,
            Some(_) => BarKind::RedOr,
            None => return Err(Stop::error(inst.opcode_span, "the reduction is missing")),
        };
        let ty = m.next_type().unwrap_or(ScalarType::Pred);
        let expected = if kind == BarKind::RedPopc { ScalarType::U32 } else { ScalarType::Pred };
        if ty.bits() != expected.bits() {
            return Err(Stop::error(inst.opcode_span, "the result has another type"));
        }
        // d, id, [count,] p
        let last = inst.operands.len().saturating_sub(1);
        let mut srcs = Vec::with_capacity(3);
        for i in 1..last {
            srcs.push(self.src_at(inst, i, ScalarType::U32)?);
        }
        let operand = self.operand(inst, last)?;
        srcs.push(self.pred(operand)?);
        let dst = self.dst_at(inst, 0, expected)?;
        let ty = int_ty(expected.bits());
        let attr = Attr::Barrier { kind, aligned, orders: BarOrder::All };
        self.branch_if_guarded(|l| l.emit(Op::BarRed, ty, &[dst], &srcs, attr));
        Ok(())
    }

    fn cluster_barrier(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let kind = match m.take_any(&["arrive", "wait"]) {
            Some("arrive") => BarKind::Arrive,
            Some(_) => BarKind::Wait,
            None => return Err(Stop::error(inst.opcode_span, "`arrive` or `wait` is missing")),
        };
        // Memory is sequentially consistent at a barrier here, which `.relaxed` permits.
        let orders = match m.take_any(&["release", "relaxed", "acquire"]) {
            Some("relaxed") => BarOrder::Nothing,
            Some(_) | None => BarOrder::All,
        };
        let aligned = m.take("aligned");
        let attr = Attr::Barrier { kind, aligned, orders };
        self.branch_if_guarded(|l| l.emit(Op::BarCluster, Ty::Pred, &[], &[], attr));
        Ok(())
    }

    fn fence(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let proxy = word(inst, m, "proxy");
        if proxy {
            // Proxies are other paths to the same memory (texture, constant, asynchronous copies);
            // here there is one path. What remains is the order between the two sides.
            for modifier in &inst.modifiers {
                m.take(modifier.name);
            }
            let scope = match inst.modifiers.iter().find_map(|mo| match mo.name {
                "cta" => Some(Scope::Cta),
                "cluster" => Some(Scope::Cluster),
                "gpu" => Some(Scope::Gpu),
                _ => None,
            }) {
                Some(scope) => scope,
                None => Scope::Sys,
            };
            self.emit(Op::Fence, Ty::Pred, &[], &[], Attr::Fence { sem: Sem::AcqRel, scope });
            return Ok(());
        }
        // Of the initialisation of an mbarrier: a fence of all memory is stronger.
        m.take("mbarrier_init");
        m.take_any(&["sync_restrict::shared::cluster", "sync_restrict::shared::cta"]);
        let sem = match m.take_any(&["sc", "acq_rel", "acquire", "release"]) {
            Some("sc") => Sem::SeqCst,
            Some("acquire") => Sem::Acquire,
            Some("release") => Sem::Release,
            Some(_) => Sem::AcqRel,
            // `membar` is `fence.sc`; `fence` alone is `.acq_rel`.
            None if inst.opcode() == "membar" => Sem::SeqCst,
            None => Sem::AcqRel,
        };
        let scope = match take_scope(m) {
            Some(scope) => scope,
            None if m.take("gl") => Scope::Gpu,
            None => return Err(Stop::error(inst.opcode_span, "a fence needs a scope")),
        };
        self.emit(Op::Fence, Ty::Pred, &[], &[], Attr::Fence { sem, scope });
        Ok(())
    }

    /// The member mask of a `.sync` form: the last operand.
    fn member_mask(
        &mut self,
        inst: &Instruction,
        m: &mut ModifierCursor<'_>,
        i: usize,
    ) -> Lowered<Option<Value>> {
        if word(inst, m, "sync") {
            self.src_at(inst, i, ScalarType::B32).map(Some)
        } else {
            Ok(None)
        }
    }

    fn vote(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let mask = self.member_mask(inst, m, 2)?;
        let operand = self.operand(inst, 1)?;
        let mut srcs = vec![self.pred(operand)?];
        srcs.extend(mask);
        if word(inst, m, "ballot") {
            let ty = m.next_type().unwrap_or(ScalarType::B32);
            let dst = self.dst_at(inst, 0, ty)?;
            self.branch_if_guarded(|l| l.emit(Op::Ballot, Ty::I32, &[dst], &srcs, Attr::None));
            return Ok(());
        }
        let mode = match m.take_any(&["all", "any", "uni"]) {
            Some("all") => VoteMode::All,
            Some("any") => VoteMode::Any,
            Some(_) => VoteMode::Uni,
            None => return Err(Stop::error(inst.opcode_span, "the mode of the vote is missing")),
        };
        m.next_type();
        let dst = self.dst_at(inst, 0, ScalarType::Pred)?;
        let attr = Attr::Vote(mode);
        self.branch_if_guarded(|l| l.emit(Op::Vote, Ty::Pred, &[dst], &srcs, attr));
        Ok(())
    }

    fn match_sync(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let all = word(inst, m, "all");
        if !all {
            word(inst, m, "any");
        }
        word(inst, m, "sync");
        let ty = m.next_type().unwrap_or(ScalarType::B32);
        let value = self.src_at(inst, 1, ty)?;
        let mask = self.src_at(inst, 2, ScalarType::B32)?;
        let operand = self.operand(inst, 0)?;
        let (dst, pred) = self.dst_pair(operand, ScalarType::B32)?;
        let mut dsts = vec![dst];
        dsts.extend(pred);
        if !all && dsts.len() > 1 {
            return Err(Stop::error(inst.opcode_span, "`match.any` has no predicate result"));
        }
        let op = if all { Op::MatchAll } else { Op::MatchAny };
        let ty = int_ty(ty.bits());
        self.branch_if_guarded(|l| l.emit(op, ty, &dsts, &[value, mask], Attr::None));
        Ok(())
    }

    fn redux(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        word(inst, m, "sync");
        let Some(operation) = m.take_any(&["add", "min", "max", "and", "or", "xor"]) else {
            return Err(Stop::error(inst.opcode_span, "the reduction is missing"));
        };
        let (abs, nan) = (m.take("abs"), m.take("NaN"));
        let Some(ty) = m.next_type() else {
            return Err(Stop::error(inst.opcode_span, "`redux` needs a type"));
        };
        let float = ty == ScalarType::F32;
        let op = match (operation, float, ty.is_signed()) {
            ("min", true, _) => ReduxOp::FMin { abs, nan },
            ("max", true, _) => ReduxOp::FMax { abs, nan },
            (_, true, _) => {
                return Err(Stop::error(inst.opcode_span, "only `min` and `max` take `.f32`"));
            }
            ("add", ..) => ReduxOp::Add,
            ("min", _, true) => ReduxOp::MinS,
            ("min", ..) => ReduxOp::MinU,
            ("max", _, true) => ReduxOp::MaxS,
            ("max", ..) => ReduxOp::MaxU,
            ("and", ..) => ReduxOp::And,
            ("or", ..) => ReduxOp::Or,
            _ => ReduxOp::Xor,
        };
        let value = self.src_at(inst, 1, ty)?;
        let mask = self.src_at(inst, 2, ScalarType::B32)?;
        let dst = self.dst_at(inst, 0, ty)?;
        let ty = ir_ty(ty);
        self.branch_if_guarded(|l| {
            l.emit(Op::Redux, ty, &[dst], &[value, mask], Attr::Redux(op));
        });
        Ok(())
    }

    fn shfl(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let mask = self.member_mask(inst, m, 4)?;
        let mode = match m.take_any(&["up", "down", "bfly", "idx"]) {
            Some("up") => ShflMode::Up,
            Some("down") => ShflMode::Down,
            Some("bfly") => ShflMode::Bfly,
            Some(_) => ShflMode::Idx,
            None => {
                return Err(Stop::error(inst.opcode_span, "the mode of the shuffle is missing"));
            }
        };
        let ty = m.next_type().unwrap_or(ScalarType::B32);
        let mut srcs = vec![self.src_at(inst, 1, ty)?];
        for i in [2, 3] {
            srcs.push(self.src_at(inst, i, ScalarType::B32)?);
        }
        srcs.extend(mask);
        let operand = self.operand(inst, 0)?;
        let (dst, pred) = self.dst_pair(operand, ty)?;
        let mut dsts = vec![dst];
        dsts.extend(pred);
        self.branch_if_guarded(|l| {
            l.emit(Op::Shfl, Ty::I32, &dsts, &srcs, Attr::Shfl(mode));
        });
        Ok(())
    }

    fn elect(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        word(inst, m, "sync");
        let mask = self.src_at(inst, 1, ScalarType::B32)?;
        let operand = self.operand(inst, 0)?;
        let OperandKind::Pair(halves) = &operand.kind else {
            return Err(Stop::error(operand.span, "`elect` has two results, `d|p`"));
        };
        let dst = self.dst(&halves.0, ScalarType::B32)?;
        let pred = match halves.1.kind {
            OperandKind::Sink => self.temp(Class::P),
            _ => self.dst(&halves.1, ScalarType::Pred)?,
        };
        self.branch_if_guarded(|l| {
            l.emit(Op::Elect, Ty::I32, &[dst, pred], &[mask], Attr::None);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::check;

    #[test]
    fn barriers() {
        check(
            "bar.sync 0; bar.sync 1, 64; bar.arrive 1, 64; barrier.sync %r0; barrier.sync.aligned %r0, %r1; bar.red.popc.u32 %r0, 0, %p0; bar.red.and.pred %p1, 0, 32, !%p0; bar.warp.sync 0xffffffff; barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire;",
            expect![[r#"
                b0:
                  bar {sync aligned} 0x0
                  bar {sync aligned} 0x1, 0x40
                  bar {arrive aligned} 0x1, 0x40
                  bar {sync} %0
                  bar {sync aligned} %0, %1
                  %0 = bar.red.i32 {popc aligned} 0x0, %2
                  %3 = pnot %2
                  %4 = bar.red.pred {and aligned} 0x0, 0x20, %3
                  bar.warp 0xffffffff
                  bar.cluster {arrive aligned}
                  bar.cluster {wait}
                  exit
            "#]],
        );
    }

    #[test]
    fn guarded_barriers_branch() {
        check(
            "@%p0 bar.sync 0; @!%p1 shfl.sync.idx.b32 %r0|%p2, %r1, 0, 31, -1;",
            expect![[r#"
            b0:
              condbr %0, b1, b2
            b1:
              bar {sync aligned} 0x0
              br b2
            b2:
              condbr !%1, b3, b4
            b3:
              %3, %4 = shfl {idx} %2, 0x0, 0x1f, 0xffffffff
              br b4
            b4:
              exit
        "#]],
        );
    }

    #[test]
    fn fences() {
        check(
            "membar.gl; membar.cta; fence.sc.sys; fence.acq_rel.gpu; fence.cluster; fence.proxy.async; fence.mbarrier_init.release.cluster;",
            expect![[r#"
                b0:
                  fence {seq_cst gpu}
                  fence {seq_cst cta}
                  fence {seq_cst sys}
                  fence {acq_rel gpu}
                  fence {acq_rel cluster}
                  fence {acq_rel sys}
                  fence {release cluster}
                  exit
            "#]],
        );
    }

    #[test]
    fn votes_and_matches() {
        check(
            "vote.sync.any.pred %p0, !%p1, 0xff; vote.sync.ballot.b32 %r0, %p0, %r1; vote.all.pred %p0, %p1; vote.ballot.b32 %r0, %p1; match.any.sync.b64 %r0, %d0, -1; match.all.sync.b32 %r0|%p0, %r1, -1; activemask.b32 %r0; elect.sync %r0|%p0, -1; elect.sync _|%p0, -1;",
            expect![[r#"
                b0:
                  %1 = pnot %0
                  %2 = vote {any} %1, 0xff
                  %4 = ballot %2, %3
                  %2 = vote {all} %0
                  %4 = ballot %0
                  %4 = match.any.i64 %5, 0xffffffff
                  %4, %2 = match.all.i32 %3, 0xffffffff
                  %4 = activemask
                  %4, %2 = elect 0xffffffff
                  %6, %2 = elect 0xffffffff
                  exit
            "#]],
        );
    }

    #[test]
    fn shuffles_and_reductions() {
        check(
            "shfl.up.b32 %r0, %r1, 1, 0; shfl.sync.down.b32 %r0|%p0, %r1, %r2, 31, %r3; redux.sync.add.s32 %r0, %r1, -1; redux.sync.min.u32 %r0, %r1, -1; redux.sync.max.NaN.f32 %r0, %r1, -1;",
            expect![[r#"
                b0:
                  %1 = shfl {up} %0, 0x1, 0x0
                  %1, %4 = shfl {down} %0, %3, 0x1f, %2
                  %1 = redux.i32 {add} %0, 0xffffffff
                  %1 = redux.i32 {min.u} %0, 0xffffffff
                  %1 = redux.f32 {fmax nan} %0, 0xffffffff
                  exit
            "#]],
        );
    }

    #[test]
    fn hints() {
        check(
            "griddepcontrol.wait; pmevent 3; nanosleep.u32 20;",
            expect![[r#"
            b0:
              nanosleep 0x14
              exit
        "#]],
        );
    }
}
