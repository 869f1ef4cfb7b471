// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to shared memory that are counted at once, where a launch is watched: those of a block through one register, between
//! which nothing may leave the code.
//!
//! Invariant: all of them have passed their check when the first is made, so that each will be.

use margay_ir::{Attr, Class, Inst, MemAttr, Op, Reg, Space, Value};

use super::value::Val;
use super::{Gen, checks_steps, must_leave};
use crate::shape::Pattern;
use crate::{WatchedAccess, WatchedMember};

/// Accesses through one register: its value, and their instructions.
struct Group {
    reg: Reg,
    base: String,
    form: Pattern,
    accesses: Vec<usize>,
}

/// Whether code is made for a load or a store as such.
fn is_plain(inst: &Inst, mem: &MemAttr) -> bool {
    let moves = match inst.op {
        Op::Ld => !inst.dsts.is_empty(),
        Op::St => inst.srcs.len() > 1,
        _ => false,
    };
    moves && Gen::is_direct(inst, mem)
}

/// Whether an op computes and does nothing else: it neither leaves the code nor reports anything.
pub(super) fn only_computes(inst: &Inst) -> bool {
    match inst.attr {
        Attr::None => !checks_steps(inst) && !must_leave(inst.op) && inst.op != Op::Elect,
        Attr::Float(_)
        | Attr::MinMax(_)
        | Attr::IntCmp(_)
        | Attr::FloatCmp { .. }
        | Attr::Clamp(_)
        | Attr::Lop3(_) => true,
        Attr::Mem(_)
        | Attr::Atom { .. }
        | Attr::Copy { .. }
        | Attr::Space(_)
        | Attr::Address { .. }
        | Attr::Sreg(_)
        | Attr::Vote(_)
        | Attr::Shfl(_)
        | Attr::Redux(_)
        | Attr::Barrier { .. }
        | Attr::Fence { .. }
        | Attr::Mbarrier { .. }
        | Attr::Call(_)
        | Attr::Builtin(_)
        | Attr::Syscall(_)
        | Attr::Texture(_)
        | Attr::Message(_) => false,
    }
}

impl Gen<'_> {
    /// Counts the accesses to shared memory from instruction `n` on that are made whatever happens, those through each register at
    /// once. The first has been checked; the others are here, as far as their addresses are known.
    pub(super) fn tell_together(&mut self, n: usize) {
        let watched = self.options.watched;
        let counts = watched.accesses && watched.counts && watched.notes_all;
        // Strips are written in another order.
        if !counts || self.in_strips || self.leave_at.is_some() || !self.all() {
            return;
        }
        let f = self.f;
        let insts = &f.blocks[self.block].insts;
        let (mut groups, mut written): (Vec<Group>, Vec<Reg>) = (Vec::new(), Vec::new());
        for (m, inst) in insts.iter().enumerate().skip(n) {
            match inst.attr {
                Attr::Mem(mem) if mem.space == Space::Shared && is_plain(inst, &mem) => {
                    let Some(&Value::Reg(r)) = inst.srcs.first() else { break };
                    match groups.iter_mut().find(|group| group.reg == r) {
                        Some(_) if written.contains(&r) => break,
                        Some(group) => group.accesses.push(m),
                        None => match self.known_group(n, r, &written) {
                            Some((base, form)) => {
                                groups.push(Group { reg: r, base, form, accesses: vec![m] });
                            }
                            None => break,
                        },
                    }
                }
                _ if only_computes(inst) => {}
                _ => break,
            }
            written.extend(&inst.dsts);
        }
        for mut group in groups {
            group.accesses.retain(|m| !self.is_silent(*m));
            if group.accesses.len() > 1 {
                self.tell_group(&group, insts);
            }
        }
    }

    /// The address in a register that is accessed before it is written again, checked for all accesses.
    fn known_group(&mut self, n: usize, r: Reg, written: &[Reg]) -> Option<(String, Pattern)> {
        if written.contains(&r) {
            return None;
        }
        let Val::Lin { base, u: None, lin } = self.bits(Value::Reg(r), Class::D) else {
            return None;
        };
        self.check_together(n, r, (&base, None), &lin)?;
        Some((base, lin.form.clone()))
    }

    fn tell_group(&mut self, group: &Group, insts: &[Inst]) {
        let mut first = None;
        let mut members = Vec::new();
        for &m in &group.accesses {
            let Attr::Mem(mem) = insts[m].attr else { continue };
            let access = Self::access(&insts[m], &mem);
            let (from, _) = *first.get_or_insert((access.offset, access.bytes()));
            let one = WatchedAccess::told(self.pc(m), group.form.clone());
            let number = self.watched_site(one) as u32;
            members.push(WatchedMember { number, more: access.offset - from });
            self.told.insert(m);
        }
        let (Some((offset, bytes)), Some(&m)) = (first, group.accesses.first()) else { return };
        let base = self.ins(format!("add i64 {}, {offset}", group.base));
        let (pc, form) = (self.pc(m), group.form.clone());
        let grain = WatchedAccess::grain(bytes);
        let whole = WatchedAccess { grain, members, ..WatchedAccess::told(pc, form) };
        let site = self.watched_site(WatchedAccess { cells: true, ..whole });
        self.count_in_cells(site, &base, "0", grain, &[]);
    }
}
