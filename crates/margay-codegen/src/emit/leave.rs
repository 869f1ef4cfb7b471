// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries and exits: live registers between values and planes.

use margay_ir::{Attr, BarKind, Class, Inst, Op, Reg, Value};

use std::mem::offset_of;
use std::sync::Arc;

use super::value::{Val, scalar, vector};
use super::{Gen, io, lin_of};
use crate::analysis::Set;
use crate::shape::Shape;
use crate::{Entry, Exit, FIRST_EXIT, Parted, Reason, Stored};

/// The number of a barrier of the whole block that every lane names alike.
pub fn plain_barrier(inst: &Inst) -> Option<u8> {
    let whole = matches!(inst.attr, Attr::Barrier { kind: BarKind::Sync, .. });
    match inst.srcs.as_slice() {
        [Value::Imm(id)] if whole && *id < 16 && inst.guard.is_none() && inst.op == Op::Bar => {
            Some(*id as u8)
        }
        _ => None,
    }
}

/// An exit of the block that is being written.
pub(super) struct Left {
    /// Its place in the list of all exits.
    number: usize,
    label: String,
    /// The lanes that run.
    mask: String,
    live: Set,
    /// Registers whose planes have their values.
    planes: Set,
    /// Live registers that the slots lack.
    changed: Vec<(usize, Val)>,
}

impl Gen<'_> {
    fn stored(&self, live: &Set) -> Vec<Stored> {
        live.iter()
            .map(|r| {
                let class = self.f.regs[r];
                // Of flags that says that all lanes have the same.
                let lin = lin_of(&self.facts.shapes[r]).map(|l| {
                    let mut patterns = self.patterns.borrow_mut();
                    patterns.entry(r).or_insert_with(|| Arc::new(l.form.clone())).clone()
                });
                Stored { reg: r as u32, plane: self.places.plane(Reg(r as u32)), class, lin }
            })
            .collect()
    }

    /// A pointer into a register's plane.
    fn plane_at(&mut self, r: Reg, lane: usize) -> String {
        let size = match self.class(r) {
            Class::P => 0,
            Class::W => 4,
            Class::D => 8,
        };
        let at = self.places.plane(r) as usize + lane * size;
        let frame = self.frame();
        self.ins(format!("getelementptr inbounds i8, ptr {frame}, i64 {at}"))
    }

    /// Stores a value as an exit leaves it.
    fn store_compact(&mut self, r: Reg, v: &Val) {
        let class = self.class(r);
        let at = self.plane_at(r, 0);
        let ty = scalar(class);
        match v {
            Val::Lin { base, .. } if class == Class::P => {
                let all = self.ins(format!("sext i1 {base} to i32"));
                self.line(format!("store i32 {all}, ptr {at}, !alias.scope !1, !noalias !2"));
            }
            Val::Lin { base, u, lin } => {
                self.line(format!("store {ty} {base}, ptr {at}, !alias.scope !1, !noalias !2"));
                if let (Some(u), Some((lane, sign))) = (u, lin.form.second_lane()) {
                    let step = self.ins(format!("mul {ty} {u}, {sign}"));
                    let sum = self.ins(format!("add {ty} {base}, {step}"));
                    let sum = self.ins(format!("add {ty} {sum}, {}", lin.form.pat[lane]));
                    let at = self.plane_at(r, lane);
                    self.line(format!("store {ty} {sum}, ptr {at}, !alias.scope !1, !noalias !2"));
                }
            }
            Val::Vec { name, .. } => self.store_vector(r, name),
        }
    }

    fn store_vector(&mut self, r: Reg, name: &str) {
        let class = self.class(r);
        let at = self.plane_at(r, 0);
        if class == Class::P {
            let bits = self.lane_bits(name).bits;
            self.line(format!("store i32 {bits}, ptr {at}, !alias.scope !1, !noalias !2"));
        } else {
            let ty = vector(class);
            self.line(format!(
                "store {ty} {name}, ptr {at}, align 64, !alias.scope !1, !noalias !2"
            ));
        }
    }

    /// Stores every lane of a register in its plane.
    pub fn spill_whole(&mut self, r: Reg) {
        let v = self.read(r);
        let v = self.settle(r, v);
        let name = self.spread(&v, self.class(r));
        self.store_vector(r, &name);
    }

    /// The value that a plane has, where lane 0 or, after a handler in some lanes, any of these runs.
    pub fn load_plane(&mut self, r: Reg, after_handler: bool) -> Val {
        let class = self.class(r);
        let shape = self.facts.shapes[r.0 as usize].clone();
        let at = self.plane_at(r, 0);
        match (shape, class) {
            (Shape::Lin(lin), Class::P) => {
                let bits = self.ins(format!("load i32, ptr {at}, !alias.scope !1, !noalias !2"));
                let bits = if after_handler && !self.all() {
                    let mask = self.mask.clone();
                    self.ins(format!("and i32 {bits}, {mask}"))
                } else {
                    self.ins(format!("and i32 {bits}, 1"))
                };
                let base = self.ins(format!("icmp ne i32 {bits}, 0"));
                Val::Lin { base, u: None, lin }
            }
            (Shape::Lin(lin), _) => {
                let ty = scalar(class);
                let mut from = at;
                if after_handler && !self.all() {
                    let lane = self.running_lane();
                    let lane = self.ins(format!("zext i32 {lane} to i64"));
                    from = self.ins(format!("getelementptr {ty}, ptr {from}, i64 {lane}"));
                }
                let base = self.ins(format!("load {ty}, ptr {from}, !alias.scope !1, !noalias !2"));
                let u = lin.form.second_lane().map(|(lane, sign)| {
                    let at = self.plane_at(r, lane);
                    let there =
                        self.ins(format!("load {ty}, ptr {at}, !alias.scope !1, !noalias !2"));
                    let step = self.ins(format!("sub {ty} {there}, {base}"));
                    let step = self.ins(format!("sub {ty} {step}, {}", lin.form.pat[lane]));
                    self.ins(format!("mul {ty} {step}, {sign}"))
                });
                Val::Lin { base, u, lin }
            }
            (Shape::None | Shape::Varying, Class::P) => {
                let bits = self.ins(format!("load i32, ptr {at}, !alias.scope !1, !noalias !2"));
                let name = self.flags(&bits);
                Val::Vec { name, addr: None }
            }
            (Shape::None | Shape::Varying, _) => {
                let ty = vector(class);
                let name = self
                    .ins(format!("load {ty}, ptr {at}, align 64, !alias.scope !1, !noalias !2"));
                Val::Vec { name, addr: None }
            }
        }
    }

    /// The entry at the function's start.
    pub fn start_entry(&mut self) {
        let label = self.label();
        let live = self.facts.live_in.first().cloned().unwrap_or_else(|| Set::new(0));
        let stored = self.stored(&live);
        let fresh = self.f.is_entry;
        self.entries.push(Entry {
            pc: self.places.start(0),
            live: if fresh { vec![] } else { stored },
            inside: false,
            apart: false,
        });
        self.entry_labels.push(label.clone());
        self.entry_at.insert((usize::MAX, 0, false), 0);
        if self.by_regions() {
            return;
        }
        self.aside(|g| {
            g.begin(&label);
            let mut regs: Vec<Reg> = live.iter().map(|r| Reg(r as u32)).collect();
            if !fresh {
                g.copy_slots(&mut regs, false);
            }
            for r in regs {
                if fresh {
                    g.zero_slot(r);
                } else {
                    let v = g.load_plane(r, false);
                    g.write_slot(r, &v);
                }
            }
            g.line("br label %C0");
        });
    }

    pub(super) fn zero_slot(&mut self, r: Reg) {
        self.use_slot(r);
        let class = self.class(r);
        let ty = match self.facts.shapes[r.0 as usize] {
            Shape::Lin(_) => scalar(class),
            Shape::None | Shape::Varying => self.slot_type(class),
        };
        self.line(format!("store {ty} zeroinitializer, ptr %r{}{}", r.0, self.slot_end(r)));
    }

    /// An entry before an instruction, or at a block.
    ///
    /// With regions the code there is theirs; `held` if it begins with the store that the warp waited with. A store behind a
    /// barrier has the barrier's entry, which is planned first: there it asks once more whether it is its turn.
    pub fn add_entry(&mut self, b: usize, inst: usize, target: String, held: bool) -> u32 {
        let key = (b, inst, self.apart);
        if let Some(&n) = self.entry_at.get(&key) {
            return n;
        }
        let number = self.entries.len() as u32;
        let mut live = match self.live.get(&inst) {
            Some(live) if b == self.block && inst != 0 => live.clone(),
            _ => self.facts.live_in[b].clone(),
        };
        let mut pending = Vec::new();
        if self.apart {
            if let Some(kept) = &self.facts.kept[b] {
                live.add(kept);
            }
            pending = self.facts.waiting[b].iter().flat_map(|w| w.iter()).collect();
        }
        let pc = self.places.pc(b, inst);
        let inside = target != format!("C{b}");
        self.entries.push(Entry { pc, live: self.stored(&live), inside, apart: self.apart });
        let label = self.label();
        self.entry_labels.push(label.clone());
        self.entry_at.insert(key, number);
        if self.by_regions() {
            self.plan_region(number, key, live, pending, held);
            return number;
        }
        self.aside(|g| {
            g.begin(&label);
            g.load_live(&live);
            if g.apart {
                g.take_parted(&pending);
            }
            g.line(format!("br label %{target}"));
        });
        number
    }

    /// Puts what lives at an entry into slots.
    pub(super) fn load_live(&mut self, live: &Set) {
        let mut regs: Vec<Reg> = live.iter().map(|r| Reg(r as u32)).collect();
        self.copy_slots(&mut regs, false);
        for r in regs {
            if lin_of(&self.facts.shapes[r.0 as usize]).is_some_and(|l| l.constant.is_some()) {
                continue;
            }
            let v = self.load_plane(r, false);
            self.write_slot(r, &v);
        }
    }

    /// Code that leaves before instruction `n` of the block; its label. What all such exits of a block
    /// have in common is written once, by [`Gen::end_exits`].
    pub fn exit(&mut self, reason: Reason, n: usize, resume: Option<u32>) -> String {
        if let Some(team) = &self.team {
            return team.bail.clone();
        }
        if let Some(part) = &self.part {
            return part.failed.clone();
        }
        let n = self.leave_at.unwrap_or(n);
        let mut live = self.live.get(&n).cloned().unwrap_or_else(|| {
            debug_assert!(false, "liveness before instruction {n} is not known");
            self.facts.live_in[self.block].clone()
        });
        let mut pending = Vec::new();
        if self.apart {
            let b = self.block;
            if let Some(kept) = &self.facts.kept[b] {
                live.add(kept);
            }
            pending = self.facts.waiting[b].iter().flat_map(|w| w.iter()).collect();
        }
        let (pc, mask) = (self.pc(n), self.mask.clone());
        if resume.is_some() {
            self.flush_pooled(&live);
            let label = self.exit_with(reason, pc, &live, resume, &mask, &pending);
            return self.before_leaving(n, label);
        }
        let label = self.label();
        let waiting = pending.iter().map(|&b| self.places.start(b)).collect();
        let apart = self.apart;
        self.exits.push(Exit { reason, pc, live: Vec::new(), resume, pending: waiting, apart });
        self.leaving.add(&live);
        let changed = live.iter().filter(|&n| self.dirty.has(n));
        let changed = changed.filter_map(|n| Some((n, self.current[n].clone()?))).collect();
        let (number, planes) = (self.exits.len() - 1, self.planes.clone());
        let left = Left { number, label: label.clone(), mask, live, planes, changed };
        if self.pool.is_some() {
            self.aside(|g| {
                g.begin(&left.label);
                for (n, v) in &left.changed {
                    g.write_slot(Reg(*n as u32), v);
                }
                g.end_own_exit(&left);
            });
        }
        self.left.push(left);
        self.before_leaving(n, label)
    }

    /// The end of an exit's own code.
    fn end_own_exit(&mut self, left: &Left) {
        self.line(format!("store i32 {}, ptr %part", left.mask));
        self.line(format!("store i32 {}, ptr %exit", FIRST_EXIT + left.number as u32));
        self.line(format!("br label %{}", self.common_exit));
    }

    /// Writes what the exits of the block that was just written have in common.
    ///
    /// What an exit of the block finds changed and not in its slot goes straight to its plane, at each of them. By way of
    /// the slot, of which LLVM makes a choice of as many values as there are exits, the code before the exits would keep it on
    /// the stack and load it again from there.
    pub fn end_exits(&mut self) {
        let exits = std::mem::take(&mut self.left);
        let live = std::mem::replace(&mut self.leaving, Set::new(self.f.regs.len()));
        if exits.is_empty() {
            return;
        }
        let stored = self.stored(&live);
        for left in &exits {
            self.exits[left.number].live.clone_from(&stored);
        }
        let mut straight = Set::new(self.f.regs.len());
        if self.pool.is_none() {
            exits.iter().flat_map(|left| &left.changed).for_each(|(n, _)| {
                straight.insert(*n);
            });
        }
        let pending: Vec<usize> = match self.apart {
            true => self.facts.waiting[self.block].iter().flat_map(|w| w.iter()).collect(),
            false => Vec::new(),
        };
        let label = self.common_exit.clone();
        self.forget();
        self.aside(|g| {
            if g.pool.is_none() {
                for left in &exits {
                    g.own_exit(left, &straight);
                }
            }
            g.begin(&label);
            let settles = |g: &Self, r: Reg| g.facts.lazy[r.0 as usize] && g.class(r) != Class::P;
            for r in straight.iter().map(|r| Reg(r as u32)) {
                if settles(g, r) {
                    let v = g.load_plane(r, false);
                    let v = g.settle_value(&v, g.class(r));
                    g.store_compact(r, &v);
                }
            }
            let mut rest = Set::new(g.f.regs.len());
            for left in &exits {
                left.live.iter().filter(|&r| !straight.has(r) && !left.planes.has(r)).for_each(
                    |r| {
                        rest.insert(r);
                    },
                );
            }
            let mut regs: Vec<Reg> = rest.iter().map(|r| Reg(r as u32)).collect();
            g.copy_slots(&mut regs, true);
            for r in regs {
                let mut v = g.read_slot(r);
                if settles(g, r) {
                    v = g.settle_value(&v, g.class(r));
                }
                g.store_compact(r, &v);
            }
            let mask = g.ins("load i32, ptr %part");
            g.io_store("i32", &mask, io!(mask));
            for (n, b) in pending.iter().enumerate() {
                let waits = g.ins(format!("load i32, ptr %w{b}"));
                g.io_store("i32", &waits, io!(pending) + n * 4);
            }
            let number = g.ins("load i32, ptr %exit");
            g.end_exit(&number, Reason::Interpret, false);
        });
    }

    /// The code of one exit up to what it has in common with others: registers that any of them finds changed are stored.
    fn own_exit(&mut self, left: &Left, straight: &Set) {
        self.begin(&left.label);
        for (n, v) in &left.changed {
            self.store_compact(Reg(*n as u32), v);
        }
        let is_changed = |n: usize| left.changed.iter().any(|(c, _)| *c == n);
        for n in straight.iter().filter(|&n| left.live.has(n) && !left.planes.has(n)) {
            if !is_changed(n) {
                let v = self.read_slot(Reg(n as u32));
                self.store_compact(Reg(n as u32), &v);
            }
        }
        self.end_own_exit(left);
    }

    /// Code that leaves for `pc` with these registers live; its label.
    pub fn exit_with(
        &mut self,
        reason: Reason,
        pc: u32,
        live: &Set,
        resume: Option<u32>,
        mask: &str,
        pending: &[usize],
    ) -> String {
        let label = self.label();
        let number = FIRST_EXIT + self.exits.len() as u32;
        let stored = self.stored(live);
        let waiting = pending.iter().map(|&b| self.places.start(b)).collect();
        let apart = self.apart;
        self.exits.push(Exit { reason, pc, live: stored, resume, pending: waiting, apart });
        let target = label.clone();
        self.aside(|g| {
            g.begin(&target);
            let absent = live.iter().filter(|&r| !g.planes.has(r));
            let mut regs: Vec<Reg> = absent.map(|r| Reg(r as u32)).collect();
            g.copy_slots(&mut regs, true);
            for r in regs {
                let class = g.class(r);
                let lazy = g.facts.lazy[r.0 as usize];
                let mut v = match g.current[r.0 as usize].clone() {
                    Some(v) => v,
                    None => g.read_slot(r),
                };
                if lazy && class != Class::P {
                    v = g.settle_value(&v, class);
                }
                g.store_compact(r, &v);
            }
            let goes_on = resume.is_some() && reason.goes_on();
            let stays = g.options.blocks && goes_on;
            if goes_on && g.apart {
                g.keep_parted(mask, pending);
            }
            if !stays {
                g.io_store("i32", mask, io!(mask));
                for (n, b) in pending.iter().enumerate() {
                    let waits = g.ins(format!("load i32, ptr %w{b}"));
                    g.io_store("i32", &waits, io!(pending) + n * 4);
                }
            }
            g.end_exit(&number.to_string(), reason, resume.is_some());
        });
        label
    }

    /// Keeps which lanes are where while a warp holds.
    fn keep_parted(&mut self, mask: &str, pending: &[usize]) {
        let alive = self.ins("load i32, ptr %live");
        let put = |g: &mut Self, value: &str, offset: usize| {
            let at = g.parted(offset);
            g.line(format!("store i32 {value}, ptr {at}, !alias.scope !1, !noalias !2"));
        };
        put(self, mask, offset_of!(Parted, mask));
        put(self, &alive, offset_of!(Parted, alive));
        for (n, b) in pending.iter().enumerate() {
            let waits = self.ins(format!("load i32, ptr %w{b}"));
            put(self, &waits, offset_of!(Parted, pending) + n * 4);
        }
    }

    /// The opposite of [`Gen::keep_parted`].
    pub(super) fn take_parted(&mut self, pending: &[usize]) {
        let get = |g: &mut Self, offset: usize| {
            let at = g.parted(offset);
            g.ins(format!("load i32, ptr {at}, !alias.scope !1, !noalias !2"))
        };
        let mask = get(self, offset_of!(Parted, mask));
        self.line(format!("store i32 {mask}, ptr %part"));
        let alive = get(self, offset_of!(Parted, alive));
        self.set_alive(&alive);
        for (n, b) in pending.iter().enumerate() {
            let waits = get(self, offset_of!(Parted, pending) + n * 4);
            self.line(format!("store i32 {waits}, ptr %w{b}"));
        }
    }

    /// Goes on in the middle of a block, where a region begins and planes have all values.
    pub(super) fn begin_within(&mut self, b: usize, inst: usize, held: bool) {
        self.planes.fill();
        self.go_on_within(b, inst, held);
    }

    /// The same with what planes have.
    pub(super) fn go_on_within(&mut self, b: usize, inst: usize, held: bool) {
        self.block = b;
        self.forget();
        self.dirty = Set::new(self.f.regs.len());
        self.mask_vector = None;
        self.find_live(b);
        self.look_around(b);
        self.mask = match self.apart {
            true => self.ins("load i32, ptr %part"),
            false => "-1".to_owned(),
        };
        self.held = held;
        self.in_turn = held.then_some((b, inst));
        self.rest_of_block(inst);
        self.in_turn = None;
    }

    /// Goes on after an exit, where the code is entered again.
    fn resume_here(&mut self, label: &str) {
        self.begin(label);
        self.held = false;
        self.forget();
        self.dirty = Set::new(self.f.regs.len());
        self.mask_vector = None;
        if !self.options.full {
            self.mask = self.ins("load i32, ptr %live");
        }
    }

    /// A barrier of the whole block.
    pub fn barrier(&mut self, n: usize, inst: &Inst) {
        let id = plain_barrier(inst).unwrap_or(0);
        self.leave_and_resume(n, n + 1, Reason::Barrier { id });
    }

    fn leave_and_resume(&mut self, n: usize, next: usize, reason: Reason) {
        if self.by_regions() {
            let resume = reason.goes_on();
            let resume = resume.then(|| self.add_entry(self.block, next, String::new(), false));
            let exit = self.exit(reason, n, resume);
            self.line(format!("br label %{exit}"));
            return;
        }
        let label = self.label();
        let resume = self.add_entry(self.block, next, label.clone(), false);
        let exit = self.exit(reason, n, Some(resume));
        self.line(format!("br label %{exit}"));
        self.resume_here(&label);
    }

    /// An op that only the interpreter runs.
    pub fn leave_for(&mut self, n: usize) {
        if self.apart {
            let exit = self.exit(Reason::Interpret, n, None);
            self.line(format!("br label %{exit}"));
        } else {
            self.leave_and_resume(n, n + 1, Reason::Interpret);
        }
    }

    /// Goes on with text that nothing reaches, if an op that is not the block's last left for good.
    pub fn after_leaving(&mut self) {
        if self.apart || self.by_regions() {
            let label = self.label();
            self.begin(&label);
        }
    }

    /// Before a store to global memory: a warp's first one waits until its siblings had a turn.
    pub fn hold(&mut self, n: usize) {
        if !self.options.hold || self.held || self.in_turn == Some((self.block, n)) {
            return;
        }
        let guarded = self.f.blocks[self.block].insts[n].guard.is_some();
        let hold = self.ins("load i32, ptr %hold");
        let mut ok = self.ins(format!("icmp eq i32 {hold}, 0"));
        if let Some(guard) = self.f.blocks[self.block].insts[n].guard {
            // Where no lane stores, none waits.
            let p = self.read(guard.pred);
            let lanes = self.spread(&p, Class::P);
            let mut lanes = self.lane_bits(&lanes).bits;
            if guard.negated {
                lanes = self.ins(format!("xor i32 {lanes}, -1"));
            }
            let mask = self.mask.clone();
            let storing = self.ins(format!("and i32 {lanes}, {mask}"));
            let none = self.ins(format!("icmp eq i32 {storing}, 0"));
            ok = self.ins(format!("or i1 {ok}, {none}"));
        }
        let leaves = self.apart && !self.options.blocks && !self.options.watched.any();
        if leaves || self.by_regions() {
            let (reason, resume) = match self.by_regions() {
                true => (Reason::Hold, Some(self.add_entry(self.block, n, String::new(), true))),
                false => (Reason::Interpret, None),
            };
            let exit = self.exit(reason, n, resume);
            self.expect(&ok, &exit);
            self.held = !guarded;
            return;
        }
        let go_on = self.label();
        let resume = self.add_entry(self.block, n, go_on.clone(), false);
        let exit = self.exit(Reason::Hold, n, Some(resume));
        self.flush_all();
        if self.apart {
            let mask = self.mask.clone();
            self.line(format!("store i32 {mask}, ptr %part"));
        }
        self.line(format!("br i1 {ok}, label %{go_on}, label %{exit}, !prof !0"));
        self.resume_here(&go_on);
        if self.apart {
            self.mask = self.ins("load i32, ptr %part");
        }
        // Nobody stores first twice, but where no lane did.
        self.held = !guarded;
    }

    /// Puts every value that the slots lack into them.
    pub fn flush_all(&mut self) {
        let dirty: Vec<usize> = self.dirty.iter().collect();
        for n in dirty {
            if let Some(v) = self.current[n].clone() {
                self.write_slot(Reg(n as u32), &v);
            }
            self.dirty.remove(n);
        }
    }
}
