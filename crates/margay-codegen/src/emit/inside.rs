// SPDX-License-Identifier: MIT OR Apache-2.0
//! One check for the accesses of a block to global memory that go through one register.
//!
//! Fields of a structure, the neighbours of a stencil, or what an unrolled loop reads of a row differ by constants. All of
//! them will be made, so the first is checked for all: whether the range from the lowest to the highest byte is inside of the
//! allocation. Where it is not, the interpreter goes on from the first and makes the fault where it is.
//!
//! Invariant: what is known of the allocation behind a pointer stays as it is while the code runs, so a check holds until
//! the block ends, or until the register changes.

use margay_ir::{Attr, Inst, Op, Reg, Space, Value};

use super::Gen;
use super::memory::{Access, Place, aligned};
use super::value::Val;
use crate::shape::{Lin, Pattern};

/// What a check was for: the register, and whether its accesses write.
pub(super) type Through = (u32, bool);

/// Constants beyond which accesses are none of one structure or row.
const FAR: i64 = 1 << 20;

/// The bytes around an address that accesses touch.
struct Reach {
    low: i64,
    high: i64,
    widest: i64,
    accesses: usize,
}

/// Whether the lowest and highest lane of a pattern with two scalars are known: a range with them is what lanes touch.
fn is_exact(form: &Pattern) -> bool {
    let Some(q) = &form.q else { return true };
    let (least, most) = (form.pat.iter().min(), form.pat.iter().max());
    let (fewest, greatest) = (q.iter().min(), q.iter().max());
    let has = |p, of| form.pat.iter().zip(q).any(|(a, b)| (Some(a), Some(b)) == (p, of));
    has(least, fewest) && has(most, greatest)
}

impl Gen<'_> {
    /// The place of an access to global memory, if it is one of several of the block through its register. The first checks
    /// them all.
    pub(super) fn inside(
        &mut self,
        n: usize,
        inst: &Inst,
        a: &Access,
        address: &Val,
    ) -> Option<Place> {
        let (Some(&Value::Reg(r)), Val::Lin { base, u, lin }) = (inst.srcs.first(), address) else {
            return None;
        };
        let global = matches!(a.space, Space::Global | Space::Generic);
        let rooted = self.roots[r.0 as usize].is_some();
        // Only some lanes: without masks more is asked of each access.
        let some = !self.all() && (self.lone_lanes || !self.has_range(&lin.form));
        let watched = self.options.watched.any();
        if !global || !rooted || !self.options.plain || some || watched || !is_exact(&lin.form) {
            return None;
        }
        let room = match self.inside.get(&(r.0, a.write)) {
            Some(&room) => room,
            None => {
                let reach = self.reach_of(n, r, a)?;
                self.check_inside(n, a, &reach, (base, u.as_deref()), lin)?
            }
        };
        self.inside.insert((r.0, a.write), room);
        self.room = Some(room);
        let at = self.add64(base, a.offset);
        Some(Place::Lin { at, u: u.clone(), form: Box::new(lin.form.clone()), whole: None })
    }

    /// What accesses like this one touch through a register from instruction `n` on; `None` if there is but one.
    fn reach_of(&self, n: usize, r: Reg, a: &Access) -> Option<Reach> {
        let mut reach = Reach { low: i64::MAX, high: i64::MIN, widest: 1, accesses: 0 };
        for other in &self.f.blocks[self.block].insts[n..] {
            if let Attr::Mem(m) = other.attr
                && matches!(m.space, Space::Global | Space::Generic)
                && other.op == if a.write { Op::St } else { Op::Ld }
                && other.srcs.first() == Some(&Value::Reg(r))
                && self.has_code(other, &m)
            {
                let bytes = Self::access(other, &m).bytes() as i64;
                if m.offset % bytes != 0 || m.offset.abs() > FAR {
                    return None;
                }
                reach.low = reach.low.min(m.offset);
                reach.high = reach.high.max(m.offset + bytes);
                reach.widest = reach.widest.max(bytes);
                reach.accesses += 1;
            }
            if super::must_leave(other.op) || other.dsts.contains(&r) {
                break;
            }
        }
        (reach.accesses > 1).then_some(reach)
    }

    /// Leaves unless all of a range is inside of the allocation. The room by which that was asked.
    fn check_inside(
        &mut self,
        n: usize,
        a: &Access,
        reach: &Reach,
        (base, u): (&str, Option<&str>),
        lin: &Lin,
    ) -> Option<usize> {
        let Reach { low, high, widest, .. } = *reach;
        if lin.form.pat.iter().any(|p| p % widest != 0) {
            return None;
        }
        self.flush_before(n);
        let at = self.add64(base, low);
        let (first, span) = self.far_range(&at, u, &lin.form);
        let known = span.parse::<u64>().ok();
        let behind = (high - low) as u64 - a.bytes() + known.unwrap_or(0);
        let (lo, starts, _) = self.bounds(n, a, behind)?;
        let room = self.room?;
        let from = self.ins(format!("sub i64 {first}, {lo}"));
        let starts = match known {
            Some(_) => starts,
            None => {
                self.declare("declare i64 @llvm.usub.sat.i64(i64, i64)");
                self.ins(format!("call i64 @llvm.usub.sat.i64(i64 {starts}, i64 {span})"))
            }
        };
        let mut ok = self.ins(format!("icmp ult i64 {from}, {starts}"));
        if widest > 1 && !aligned(lin, 0, widest) {
            let even = self.is_multiple(base, u, widest);
            ok = self.ins(format!("and i1 {ok}, {even}"));
        }
        let exit = self.exit(crate::Reason::Interpret, n, None);
        self.expect_inside(&ok, &exit);
        Some(room)
    }
}
