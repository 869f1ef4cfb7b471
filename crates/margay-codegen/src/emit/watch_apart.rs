// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of one block that are counted at once though code may leave between them: those of global memory through one register,
//! and those of parameters and of private local memory whose addresses are known.
//!
//! One look tells whether all of them are counted, as one: [`WatchedAccess::apart`]. Where they are not, each is reported at its own
//! place, so that caches see them in order, and the last one says that more like them may be counted.
//!
//! Invariant: where code leaves between them, the count is taken back, and those that were made are reported by themselves.

use std::mem::offset_of;

use margay_ir::{Attr, Inst, MemAttr, Op, Reg, Space, Value};

use super::Gen;
use super::checks_steps;
use super::memory::Access;
use super::value::Val;
use super::watch::{Place, places_between};
use super::watch_together::only_computes;
use crate::shape::{Pattern, Shape};
use crate::{Cells, WatchedAccess, WatchedMember};

/// Accesses that are counted at once.
#[derive(Clone)]
pub(super) struct Apart {
    /// What the members' distances are from.
    base: String,
    /// From it to where the first one begins.
    first: i64,
    grain: u32,
    lines: Vec<Place>,
    /// Whether they are counted.
    counted: String,
    /// The whole's number.
    site: usize,
    members: Vec<Member>,
}

#[derive(Clone, Copy)]
struct Member {
    /// Its instruction in the block.
    n: usize,
    /// From the base to its own address.
    at: i64,
    number: usize,
}

/// What members have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Through {
    /// A register, to global memory.
    Reg(Reg),
    /// Addresses in this space are known, and the same for all lanes.
    Known(Space),
}

impl Gen<'_> {
    /// Counts an access of instruction `n` with others, or reports it by itself where they are not counted. False if it is none of
    /// several.
    pub(super) fn tell_apart(&mut self, n: usize, a: &Access, address: &Val) -> bool {
        let through = match address {
            Val::Lin { u: None, lin, .. } if lin.form.q.is_none() => match a.space {
                Space::Local | Space::Param if lin.is_uniform() && lin.constant.is_some() => {
                    Some(Through::Known(a.space))
                }
                Space::Global if !a.write => {
                    match self.f.blocks[self.block].insts[n].srcs.first() {
                        Some(&Value::Reg(r)) => Some(Through::Reg(r)),
                        Some(Value::Imm(_)) | None => None,
                    }
                }
                _ => None,
            },
            _ => None,
        };
        let Some(through) = through else { return false };
        if !self.apart_groups.iter().any(|g| g.members.iter().any(|m| m.n == n)) {
            self.begin_group(n, through, address);
        }
        self.tell_member(n)
    }

    /// The same for a parameter, of these bytes.
    pub(super) fn tell_param_apart(&mut self, n: usize) -> bool {
        if !self.apart_groups.iter().any(|g| g.members.iter().any(|m| m.n == n)) {
            let lin = std::rc::Rc::new(crate::shape::Lin::uniform());
            let zero = Val::Lin { base: "0".to_owned(), u: None, lin };
            self.begin_group(n, Through::Known(Space::Param), &zero);
        }
        self.tell_member(n)
    }

    /// Looks for others from instruction `n` on, and counts them all if they may be.
    fn begin_group(&mut self, n: usize, through: Through, address: &Val) {
        let watched = self.options.watched;
        let counts = watched.accesses && watched.counts && watched.notes_all;
        if !counts || self.in_strips || self.leave_at.is_some() || !self.all() {
            return;
        }
        let Val::Lin { base, lin, .. } = address else { return };
        let found = self.find_apart(n, through);
        let (Some(&(_, first, bytes)), true) = (found.first(), found.len() > 1) else { return };
        let base = match through {
            Through::Reg(_) => base.clone(),
            Through::Known(_) => "0".to_owned(),
        };
        let form = match through {
            Through::Reg(_) => lin.form.clone(),
            Through::Known(_) => Pattern { pat: [0; crate::LANES], q: None },
        };
        let lines = match through {
            Through::Known(_) => Some(Vec::new()),
            Through::Reg(_) => {
                let steps = |pick: fn(i64, i64) -> i64| {
                    let lanes = form.pat.iter().copied().reduce(pick).unwrap_or(0);
                    lanes + found.iter().map(|m| m.1 - first).reduce(pick).unwrap_or(0)
                };
                let (from, last) = (steps(i64::min), steps(i64::max));
                let aligned = found.iter().all(|m| m.2.is_power_of_two() && m.2 <= 128);
                places_between(from, last).filter(|_| aligned)
            }
        };
        let Some(lines) = lines else { return };
        let members: Vec<Member> = found
            .iter()
            .map(|&(n, at, _)| {
                let number = self.watched_site(WatchedAccess::told(self.pc(n), form.clone()));
                Member { n, at, number }
            })
            .collect();
        let grain = WatchedAccess::grain(bytes);
        let site = self.watched_site(WatchedAccess {
            pc: self.pc(n),
            form,
            cells: true,
            grain,
            members: members
                .iter()
                .map(|m| WatchedMember { number: m.number as u32, more: m.at - first })
                .collect(),
            apart: true,
        });
        let mut group = Apart { base, first, grain, lines, counted: String::new(), site, members };
        let inside = match through {
            Through::Known(_) => None,
            Through::Reg(_) => {
                let lo = self.apart_field(&group, offset_of!(Cells, lo));
                let span = self.apart_field(&group, offset_of!(Cells, span));
                let at = self.ins(format!("add i64 {}, {first}", group.base));
                let from = self.ins(format!("sub i64 {at}, {lo}"));
                Some(self.ins(format!("icmp ult i64 {from}, {span}")))
            }
        };
        let (cell, count) = self.apart_cell(&group);
        let mut ok = self.ins(format!("icmp ne i64 {count}, {}", Cells::UNKNOWN as i64));
        if let Some(inside) = inside {
            ok = self.ins(format!("and i1 {inside}, {ok}"));
        }
        if !group.lines.is_empty() {
            let plain = self.apart_unmarked(&group);
            ok = self.ins(format!("and i1 {ok}, {plain}"));
        }
        let one = self.ins(format!("zext i1 {ok} to i64"));
        let more = self.ins(format!("add i64 {count}, {one}"));
        self.line(format!("store i64 {more}, ptr {cell}, {}", super::blocks::ENGINE));
        group.counted = ok;
        self.apart_groups.push(group);
    }

    /// Members from instruction `n` on: their instructions, the distances, and bytes of a lane.
    fn find_apart(&self, n: usize, through: Through) -> Vec<(usize, i64, u64)> {
        let f = self.f;
        let mut found = Vec::new();
        for (m, inst) in f.blocks[self.block].insts.iter().enumerate().skip(n) {
            match inst.attr {
                Attr::Mem(mem) if self.stays(inst, &mem) => {
                    let told = !self.is_silent(m);
                    found.extend(self.member_at(m, inst, &mem, through).filter(|_| told));
                }
                _ if only_computes(inst)
                    || matches!(inst.attr, Attr::None) && checks_steps(inst) => {}
                _ => break,
            }
            if matches!(through, Through::Reg(r) if inst.dsts.contains(&r)) {
                break;
            }
        }
        found
    }

    /// Whether code of an access goes on behind it, or leaves by way of [`Gen::before_leaving`].
    fn stays(&self, inst: &Inst, mem: &MemAttr) -> bool {
        let moves = match inst.op {
            Op::Ld => !inst.dsts.is_empty(),
            Op::St => inst.srcs.len() > 1,
            _ => false,
        };
        let space = match mem.space {
            Space::Shared | Space::Const => true,
            Space::Param => inst.op == Op::Ld,
            Space::Local => self.private,
            // A store may wait for its turn.
            Space::Global => inst.op == Op::Ld || self.held || !self.options.hold,
            Space::Generic => false,
        };
        moves && space && Self::is_direct(inst, mem)
    }

    fn member_at(
        &self,
        n: usize,
        inst: &Inst,
        mem: &MemAttr,
        through: Through,
    ) -> Option<(usize, i64, u64)> {
        let access = Self::access(inst, mem);
        let bytes = access.bytes();
        match through {
            Through::Reg(r) => {
                let address = self.facts.operand(Value::Reg(r));
                let Shape::Lin(lin) = address else { return None };
                let is = mem.space == Space::Global
                    && inst.op == Op::Ld
                    && inst.srcs.first() == Some(&Value::Reg(r))
                    && lin.form.q.is_none()
                    && self.options.plain
                    && self.roots[r.0 as usize].is_some();
                is.then_some((n, mem.offset, bytes))
            }
            Through::Known(space) => {
                if mem.space != space {
                    return None;
                }
                let Shape::Lin(lin) = self.facts.operand(*inst.srcs.first()?) else { return None };
                let at = lin.constant.filter(|_| lin.is_uniform())?;
                let at = at.checked_add_signed(mem.offset)?;
                let end = match space {
                    Space::Param => self.f.param_size as u64,
                    _ => super::private::frame(self.f)? + self.f.frame_size as u64,
                };
                let own = self.variable(n, 1).map_or(0..end, |own| own.first..own.end);
                let last = at.checked_add(bytes);
                let fits = at >= own.start && last.is_some_and(|last| last <= own.end);
                let whole = bytes.is_power_of_two() && at.is_multiple_of(bytes);
                (fits && whole).then_some((n, at as i64, bytes))
            }
        }
    }

    /// Reports a member where the whole is not counted. False if the instruction is none.
    fn tell_member(&mut self, n: usize) -> bool {
        let is_of = |g: &Apart| g.members.iter().any(|m| m.n == n);
        let Some(which) = self.apart_groups.iter().position(is_of) else { return false };
        let group = self.apart_groups[which].clone();
        let Some(&member) = group.members.iter().find(|m| m.n == n) else { return false };
        let last = group.members.last().is_some_and(|m| m.n == n);
        let (tell, join) = (self.label(), self.label());
        self.line(format!("br i1 {}, label %{join}, label %{tell}, !prof !0", group.counted));
        let target = join.clone();
        self.aside(|g| {
            g.begin(&tell);
            g.report_member(&group, member);
            if last {
                g.offer_whole(&group, &target);
            }
            g.line(format!("br label %{target}"));
        });
        self.begin(&join);
        if last {
            self.apart_groups.remove(which);
        }
        true
    }

    fn report_member(&mut self, group: &Apart, member: Member) {
        let notes = self.io_load("ptr", super::io!(notes));
        let at = self.ins(format!("add i64 {}, {}", group.base, member.at));
        self.call_keeping(member.number as u32, "-1", (&at, "0"), &notes);
    }

    /// All members were reported: says so, if they might be counted from now on.
    fn offer_whole(&mut self, group: &Apart, otherwise: &str) {
        let (_, count) = self.apart_cell(group);
        let never = self.apart_field(group, offset_of!(Cells, u));
        let unknown = self.ins(format!("icmp eq i64 {count}, {}", Cells::UNKNOWN as i64));
        let may = self.ins(format!("icmp eq i64 {never}, 0"));
        let mut ask = self.ins(format!("and i1 {unknown}, {may}"));
        if !group.lines.is_empty() {
            let plain = self.apart_unmarked(group);
            ask = self.ins(format!("and i1 {ask}, {plain}"));
        }
        let offer = self.label();
        self.line(format!("br i1 {ask}, label %{offer}, label %{otherwise}"));
        self.begin(&offer);
        let at = self.ins(format!("add i64 {}, {}", group.base, group.first));
        self.call_keeping(group.site as u32, "-1", (&at, "0"), "null");
    }

    /// Where code goes that leaves before instruction `n` for a label: what is counted and will not be made is taken back.
    pub(super) fn before_leaving(&mut self, n: usize, label: String) -> String {
        if self.apart_groups.is_empty() {
            return label;
        }
        let groups = self.apart_groups.clone();
        let first = self.label();
        let begins = first.clone();
        let end = label;
        self.aside(|g| {
            g.begin(&begins);
            for group in &groups {
                let (undo, next) = (g.label(), g.label());
                g.line(format!("br i1 {}, label %{undo}, label %{next}", group.counted));
                g.begin(&undo);
                let (cell, count) = g.apart_cell(group);
                let less = g.ins(format!("sub i64 {count}, 1"));
                g.line(format!("store i64 {less}, ptr {cell}, {}", super::blocks::ENGINE));
                for member in group.members.iter().filter(|m| m.n < n) {
                    g.report_member(group, *member);
                }
                g.line(format!("br label %{next}"));
                g.begin(&next);
            }
            g.line(format!("br label %{end}"));
        });
        first
    }

    fn apart_field(&mut self, group: &Apart, offset: usize) -> String {
        let all = self.io_load("ptr", super::io!(cells));
        let at = self.cells_at(group.site) + offset;
        let p = self.ins(format!("getelementptr i8, ptr {all}, i64 {at}"));
        self.ins(format!("load i64, ptr {p}, {}", super::blocks::ENGINE))
    }

    /// The whole's cell, and what it counts.
    fn apart_cell(&mut self, group: &Apart) -> (String, String) {
        let at = self.ins(format!("add i64 {}, {}", group.base, group.first));
        self.cell_of(group.site, &at, group.grain)
    }

    fn apart_unmarked(&mut self, group: &Apart) -> String {
        let at = self.ins(format!("add i64 {}, {}", group.base, group.first));
        self.unmarked(&at, "0", &group.lines)
    }
}
