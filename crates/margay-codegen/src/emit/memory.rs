// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores.
//!
//! Invariant: memory is touched only for addresses that were checked, against the instruction's last
//! known extent or the size of shared memory. What fails the check goes to the interpreter's
//! handler, which finds another extent or makes the fault.

use std::mem::offset_of;
use std::rc::Rc;

use margay_ir::{Attr, Class, Inst, MemAttr, Op, Reg, Sem, Space, Ty, Value};

use super::value::{Val, scalar, vector};
use super::watch::Kind;
use super::{Gen, io, vector_of};
use crate::shape::{LANES, Lin, Pattern, Shape};
use crate::{Extent, Room, RoomGroup, RoomSite, VariableBounds};

/// A part of the lanes that one scalar or one consecutive access serves.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub first: usize,
    pub lanes: usize,
    /// All at one address, else consecutive.
    pub same: bool,
}

/// A checked access.
pub(super) struct Access {
    pub space: Space,
    /// Bytes of an element, elements, and all bytes of a lane.
    pub size: u64,
    pub count: u64,
    pub offset: i64,
    pub write: bool,
    /// Counts of bits are in the address: lanes that store may have places in a row.
    pub ranked: bool,
}

impl Access {
    pub fn bytes(&self) -> u64 {
        self.size * self.count
    }
}

/// Where the lanes' bytes are.
pub(super) enum Place {
    /// Host address of lane 0, and the pattern.
    /// `whole`: whether all 32 lanes may be read, where that is known when the code runs.
    Lin { at: String, u: Option<String>, form: Box<Pattern>, whole: Option<String> },
    /// Host base and 32-bit indices. `everywhere`: all lanes' may be read, also of those that do not run.
    Index { base: String, index: String, scale: i64, everywhere: bool },
    /// Host addresses; one that may be read, if it is at hand. `everywhere`: as above.
    Each { at: String, good: Option<String>, everywhere: bool },
}

pub(super) fn memory_type(size: u64) -> &'static str {
    match size {
        1 => "i8",
        2 => "i16",
        4 => "i32",
        _ => "i64",
    }
}

/// The handler's way of an access that fails its check: labels of its beginning and of where it ends, and the exit of one that
/// is turned away there.
struct Aside {
    slow: String,
    join: String,
    undone: Option<String>,
}

pub(super) const GUEST: &str = "!alias.scope !2, !noalias !1";

/// Cuts the lanes into few runs, if the pattern has such.
pub(super) fn runs(form: &Pattern, size: i64) -> Option<Vec<Run>> {
    let q = form.q.unwrap_or([0; LANES]);
    let mut runs: Vec<Run> = Vec::new();
    for l in 0..LANES {
        if let Some(run) = runs.last_mut() {
            let step = form.pat[l] - form.pat[l - 1];
            let alike = q[l] == q[l - 1] && (step == 0 || step == size);
            let same = step == 0;
            if alike && (run.lanes == 1 || run.same == same) {
                run.same = same;
                run.lanes += 1;
                continue;
            }
        }
        runs.push(Run { first: l, lanes: 1, same: false });
    }
    (runs.len() <= 4 && runs.iter().all(|r| r.lanes.is_power_of_two() && r.lanes >= 4))
        .then_some(runs)
}

impl Gen<'_> {
    pub(super) fn access(inst: &Inst, mem: &MemAttr) -> Access {
        let write = inst.op == Op::St;
        let count = if write { inst.srcs.len() as u64 - 1 } else { inst.dsts.len() as u64 };
        let size = inst.ty.bits() as u64 / 8;
        Access { space: mem.space, size, count, offset: mem.offset, write, ranked: false }
    }

    /// Whether code is made for the access at all.
    pub(super) fn is_direct(inst: &Inst, mem: &MemAttr) -> bool {
        inst.guard.is_none()
            && mem.sem == Sem::Weak
            && matches!(inst.ty, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
    }

    pub fn load(&mut self, n: usize, inst: &Inst) -> bool {
        let Attr::Mem(mem) = inst.attr else { return false };
        if !self.is_written(inst, &mem) || inst.dsts.is_empty() {
            return false;
        }
        if self.private && mem.space == Space::Local {
            if !self.private_access(n, inst, &mem) {
                self.leave_for(n);
                self.after_leaving();
            }
            return true;
        }
        let access = Self::access(inst, &mem);
        let address = self.bits(inst.srcs[0], Class::D);
        if mem.space == Space::Param {
            return self.load_param(n, inst, &mem, &access, &address);
        }
        let uniform = matches!(&address, Val::Lin { lin, .. } if lin.is_uniform());
        let once = uniform && self.facts.loads_once(inst, &mem);
        self.count_poll_in_loops(&mem);
        let (access, address) = self.in_window(inst, &mem, access, address);
        if let Some(place) = self.together(n, inst, &access, &address) {
            self.watch_access(n, &access, &address, Kind::Plain, None);
            for (e, &r) in inst.dsts.iter().enumerate() {
                let class = self.class(r);
                let v = match (&place, once) {
                    (Place::Lin { at, .. }, true) => {
                        let at = at.clone();
                        let name = self.load_one(&access, e as u64, &at);
                        let base = self.register_form(&name, access.size, class, mem.signed, false);
                        Val::Lin { base, u: None, lin: Rc::new(Lin::uniform()) }
                    }
                    _ => {
                        let name = self.load_lanes(&access, e as u64, &place);
                        let name = self.register_form(&name, access.size, class, mem.signed, true);
                        Val::Vec { name, addr: None }
                    }
                };
                self.put(r, v);
            }
            return true;
        }
        if let Some(name) = self.merged(n, inst, &access, &address) {
            self.put(inst.dsts[0], Val::Vec { name, addr: None });
            return true;
        }
        let Some((place, aside)) = self.place(n, inst, &access, &address) else { return false };
        let one = match &address {
            Val::Lin { base, .. } if once => self.reads_anywhere(&access).then(|| base.clone()),
            Val::Lin { .. } | Val::Vec { .. } => None,
        };
        self.watch_access(n, &access, &address, Kind::Plain, None);
        self.prefetch(n, inst, &access, &place);
        self.order_before(&mem);
        let mut fast = Vec::new();
        for e in 0..access.count {
            let class = self.class(inst.dsts[e as usize]);
            let name = if once {
                let Place::Lin { at, .. } = &place else { return false };
                let at = at.clone();
                self.load_one(&access, e, &at)
            } else {
                self.load_lanes(&access, e, &place)
            };
            let name = self.register_form(&name, access.size, class, mem.signed, !once);
            if !mem.signed && access.size < 4 {
                self.note_most(&name, u64::MAX >> (64 - 8 * access.size));
            }
            fast.push(name);
        }
        self.order_after(&mem);
        let result = |name: String| match once {
            true => Val::Lin { base: name, u: None, lin: Rc::new(Lin::uniform()) },
            false => Val::Vec { name, addr: None },
        };
        let Some(Aside { slow, join, undone }) = aside else {
            for (&r, name) in inst.dsts.iter().zip(fast) {
                self.put(r, result(name));
            }
            return true;
        };
        let from = self.here();
        self.line(format!("br label %{join}"));
        let (slow, found) = match one {
            Some(at) => self.look_up(n, inst, (&mem, &access, &at), (&slow, &join)),
            None => (slow, None),
        };
        let slow_values = self.slow_path(n, inst, &slow, &join, undone);
        self.begin(&join);
        // All values of the two ways first, as LLVM wants them; registers after that.
        let mut joined = Vec::new();
        for (i, &r) in inst.dsts.iter().enumerate() {
            let class = self.class(r);
            let ty = if once { scalar(class) } else { vector(class) };
            // The slow path has the register's own form.
            let (a, (b, block)) = (&fast[i], &slow_values[i]);
            let mut text = format!("phi {ty} [ {a}, %{from} ], [ {b}, %{block} ]");
            if let Some((values, block)) = &found {
                text += &format!(", [ {}, %{block} ]", values[i]);
            }
            joined.push(self.ins(text));
        }
        for (&r, name) in inst.dsts.iter().zip(joined) {
            self.put(r, result(name));
        }
        true
    }

    pub fn store(&mut self, n: usize, inst: &Inst) -> bool {
        let Attr::Mem(mem) = inst.attr else { return false };
        if self.store_guarded(n, inst, &mem) {
            return true;
        }
        if !self.is_written(inst, &mem) || inst.srcs.len() < 2 {
            // Its handler is not to wait; whoever watches is told in the interpreter's order.
            if self.options.watched.any() && matches!(mem.space, Space::Global | Space::Generic) {
                self.hold(n);
            }
            return false;
        }
        if matches!(mem.space, Space::Param | Space::Const) {
            return false;
        }
        if self.private && mem.space == Space::Local {
            if !self.private_access(n, inst, &mem) {
                self.leave_for(n);
                self.after_leaving();
            }
            return true;
        }
        // A strong one does not wait for siblings, in the interpreter neither.
        if mem.sem == Sem::Weak && matches!(mem.space, Space::Global | Space::Generic) {
            self.hold(n);
        }
        // Some words are written twice, which only those may be that nobody looks at meanwhile.
        let ranked = mem.sem == Sem::Weak && self.is_counted(inst.srcs[0]);
        let access = Access { ranked, ..Self::access(inst, &mem) };
        let address = self.bits(inst.srcs[0], Class::D);
        let class = inst.srcs[1..]
            .iter()
            .find_map(|v| match v {
                Value::Reg(r) => Some(self.class(*r)),
                Value::Imm(_) => None,
            })
            .unwrap_or(inst.ty.class());
        let values: Vec<Val> = inst.srcs[1..].iter().map(|&v| self.bits(v, class)).collect();
        let (access, address) = self.in_window(inst, &mem, access, address);
        if let Some(place) = self.together(n, inst, &access, &address) {
            let stored = values.first().map(|v| (v, class));
            self.watch_access(n, &access, &address, Kind::Plain, stored);
            for (e, v) in values.iter().enumerate() {
                self.store_lanes(&access, e as u64, &place, v, class);
            }
            self.note_change(None);
            return true;
        }
        let Some((place, aside)) = self.place(n, inst, &access, &address) else { return false };
        let room = self.room;
        let stored = values.first().map(|v| (v, class));
        self.watch_access(n, &access, &address, Kind::Plain, stored);
        let cached = self.stream(inst, &access, (&place, room), &values, class);
        self.prefetch(n, inst, &access, &place);
        self.order_before(&mem);
        for (e, v) in values.iter().enumerate() {
            self.store_lanes(&access, e as u64, &place, v, class);
        }
        self.order_after(&mem);
        self.end_stream(cached);
        if mem.space != Space::Local {
            self.note_change(None);
        }
        if let Some(Aside { slow, join, undone }) = aside {
            self.line(format!("br label %{join}"));
            self.slow_path(n, inst, &slow, &join, undone);
            self.begin(&join);
        }
        true
    }

    /// An access by generic addresses as one of the space that they likely lie in, and its addresses there. Where they do not the
    /// handler has the generic ones.
    fn in_window(
        &mut self,
        inst: &Inst,
        mem: &MemAttr,
        access: Access,
        address: Val,
    ) -> (Access, Val) {
        let Some(space) = self.facts.window(inst, mem) else { return (access, address) };
        let window = match space == Space::Local {
            true => io!(local_window),
            false => io!(shared_window),
        };
        let window = self.io_load("i64", window);
        let address = match address {
            Val::Lin { base, u, lin } => {
                let base = self.ins(format!("sub i64 {base}, {window}"));
                let lin = Lin { constant: None, most: u64::MAX, ..(*lin).clone() };
                Val::Lin { base, u, lin: Rc::new(lin) }
            }
            v => {
                let name = self.spread(&v, Class::D);
                let window = self.splat("i64", &window);
                let name = self.ins(format!("sub <32 x i64> {name}, {window}"));
                Val::Vec { name, addr: None }
            }
        };
        (Access { space, ..access }, address)
    }

    /// Whether a load, whose check was just written, may meet another allocation each time, or local memory.
    fn reads_anywhere(&self, a: &Access) -> bool {
        let group = self.room.map(|room| self.rooms[room].group as usize);
        match a.space {
            Space::Generic => true,
            Space::Global => {
                let rooted = group.is_some_and(|group| self.groups[group].root.is_some());
                !rooted && !self.options.watched.any()
            }
            Space::Shared | Space::Local | Space::Const | Space::Param => false,
        }
    }

    /// Where a load goes that gives all lanes one value, and whose address is in no room: by what was found of memory before it
    /// asks the handler. One address of local memory is another place for each lane, and the interpreter's. Returns where the
    /// handler begins, and the values where they were found, with the block they come from.
    fn look_up(
        &mut self,
        n: usize,
        inst: &Inst,
        (mem, a, base): (&MemAttr, &Access, &str),
        (slow, join): (&str, &str),
    ) -> (String, Option<(Vec<String>, String)>) {
        let exit = self.exit(crate::Reason::Interpret, n, None);
        let (handler, found) = (self.label(), self.label());
        let mut values = Vec::new();
        self.aside(|g| {
            g.begin(slow);
            let at = g.add64(base, a.offset);
            if a.space == Space::Generic {
                let window = g.io_load("i64", io!(local_window));
                let from = g.ins(format!("sub i64 {at}, {window}"));
                let own = g.ins(format!("icmp ult i64 {from}, {}", crate::LOCAL_WINDOW));
                let next = g.label();
                g.line(format!("br i1 {own}, label %{exit}, label %{next}"));
                g.begin(&next);
            }
            let table = g.io_load("ptr", io!(recent));
            let step = g.ins(format!("lshr i64 {at}, {}", crate::RECENT_STEP));
            let place = g.ins(format!("and i64 {step}, {}", crate::RECENT - 1));
            let size = size_of::<Extent>();
            let e = g.ins(format!("getelementptr [{size} x i8], ptr {table}, i64 {place}"));
            let field = |g: &mut Self, offset: usize| {
                let p = g.ins(format!("getelementptr i8, ptr {e}, i64 {offset}"));
                g.ins(format!("load i64, ptr {p}, {}", super::blocks::ENGINE))
            };
            let (lo, hi) = (field(g, offset_of!(Extent, lo)), field(g, offset_of!(Extent, hi)));
            g.declare("declare i64 @llvm.usub.sat.i64(i64, i64)");
            let from = g.ins(format!("sub i64 {at}, {lo}"));
            let all = g.ins(format!("sub i64 {hi}, {lo}"));
            let left = g.ins(format!("call i64 @llvm.usub.sat.i64(i64 {all}, i64 {from})"));
            let fits = g.ins(format!("icmp uge i64 {left}, {}", a.bytes()));
            let even = g.is_multiple(&at, None, a.bytes() as i64);
            let good = g.ins(format!("and i1 {fits}, {even}"));
            g.line(format!("br i1 {good}, label %{found}, label %{handler}"));
            g.begin(&found);
            for (e, &r) in inst.dsts.iter().enumerate() {
                let class = g.class(r);
                let name = g.load_one(a, e as u64, &at);
                values.push(g.register_form(&name, a.size, class, mem.signed, false));
            }
            g.line(format!("br label %{join}"));
        });
        (handler, Some((values, found)))
    }

    /// Where an access goes once it is checked, and what becomes of it where it fails if it does not leave.
    fn place(
        &mut self,
        n: usize,
        inst: &Inst,
        a: &Access,
        address: &Val,
    ) -> Option<(Place, Option<Aside>)> {
        if let Some(place) = self.inside(n, inst, a, address) {
            return Some((place, None));
        }
        self.flush_before(n);
        // Of a team, or of a part of a loop, nobody has done anything yet, so all may begin anew where a check fails.
        if self.team.is_some()
            || self.part.is_some()
            || self.leaves_if_out_of_bounds(inst, a, address)
        {
            let slow = self.exit(crate::Reason::Interpret, n, None);
            return Some((self.checked_place(n, a, address, &slow)?, None));
        }
        let (slow, join) = (self.label(), self.label());
        let undone = self.save_for_handler(n, inst);
        let place = self.checked_place(n, a, address, &slow)?;
        Some((place, Some(Aside { slow, join, undone })))
    }

    /// Whether an access that fails its check is the interpreter's from there on: it is a fault, but for
    /// strange pointers. Elsewhere the handler makes it, which may find another allocation.
    pub(super) fn leaves_if_out_of_bounds(&self, inst: &Inst, a: &Access, address: &Val) -> bool {
        // A range with a second pattern may be wider than what the lanes touch.
        if matches!(address, Val::Lin { lin, .. } if lin.form.q.is_some()) {
            return false;
        }
        let rooted = match inst.srcs.first() {
            Some(&Value::Reg(r)) => self.roots[r.0 as usize].is_some(),
            Some(Value::Imm(_)) | None => false,
        };
        let generic = matches!(&inst.attr, Attr::Mem(mem) if mem.space == Space::Generic);
        match a.space {
            Space::Shared | Space::Local | Space::Param => !generic,
            Space::Global | Space::Generic | Space::Const => self.options.plain && rooted,
        }
    }

    /// Shared accesses of a block through one linear address register are checked at once, before the
    /// first: all of them will be made. Where that fails the interpreter goes on from there.
    fn together(&mut self, n: usize, inst: &Inst, a: &Access, address: &Val) -> Option<Place> {
        let (Some(&Value::Reg(r)), Val::Lin { base, u, lin }) = (inst.srcs.first(), address) else {
            return None;
        };
        let named = matches!(&inst.attr, Attr::Mem(mem) if mem.space == Space::Shared);
        if a.space != Space::Shared || !named || !self.all() {
            return None;
        }
        if !self.checked.contains_key(&r.0) {
            self.check_together(n, r, (base, u.as_deref()), lin)?;
            self.tell_together(n);
        }
        let at = self.checked.get(&r.0)?.clone();
        let at = self.add64(&at, a.offset);
        Some(Place::Lin { at, u: u.clone(), form: Box::new(lin.form.clone()), whole: None })
    }

    /// Checks all accesses to shared memory through a register from instruction `n` on, if that was not done.
    pub(super) fn check_together(
        &mut self,
        n: usize,
        r: Reg,
        (base, u): (&str, Option<&str>),
        lin: &Lin,
    ) -> Option<()> {
        if self.checked.contains_key(&r.0) {
            return Some(());
        }
        let f = self.f;
        let (mut low, mut high, mut widest) = (i64::MAX, i64::MIN, 1i64);
        for other in &f.blocks[self.block].insts[n..] {
            if let Attr::Mem(m) = other.attr
                && m.space == Space::Shared
                && matches!(other.op, Op::Ld | Op::St)
                && other.srcs.first() == Some(&Value::Reg(r))
                && self.has_code(other, &m)
            {
                let access = Self::access(other, &m);
                let bytes = access.bytes() as i64;
                if m.offset % bytes != 0 || m.offset.abs() > 1 << 24 {
                    return None;
                }
                low = low.min(m.offset);
                high = high.max(m.offset + bytes);
                widest = widest.max(bytes);
            }
            if super::must_leave(other.op) || other.dsts.contains(&r) {
                break;
            }
        }
        if low >= high || lin.form.pat.iter().any(|p| p % widest != 0) {
            return None;
        }
        let (start, lim) = self.shared_bounds(n, (high - low - 1) as u64, 1);
        let at = self.add64(base, low);
        let (first, span) = self.far_range(&at, u, &lin.form);
        let first = self.add64(&first, -(start as i64));
        let room = self.ins(format!("call i64 @llvm.usub.sat.i64(i64 {lim}, i64 {span})"));
        let mut ok = self.ins(format!("icmp ult i64 {first}, {room}"));
        if widest > 1 && !aligned(lin, 0, widest) {
            let even = self.is_multiple(base, u, widest);
            ok = self.ins(format!("and i1 {ok}, {even}"));
        }
        let exit = self.exit(crate::Reason::Interpret, n, None);
        self.expect_inside(&ok, &exit);
        let host = self.io_load("i64", io!(shared));
        let at = self.ins(format!("add i64 {base}, {host}"));
        self.checked.insert(r.0, at);
        Some(())
    }

    /// Reads the registers that the slow path stores, so that their values are known here. The exit for an access that
    /// is turned away there.
    pub(super) fn save_for_handler(&mut self, n: usize, inst: &Inst) -> Option<String> {
        for &v in &inst.srcs {
            if let Value::Reg(r) = v {
                let v = self.read(r);
                self.settle(r, v);
            }
        }
        if !self.all() {
            for &r in &inst.dsts {
                self.read(r);
            }
            self.lanes();
        }
        let asks = self.options.watched.admissions && may_be_turned_away(inst.op);
        asks.then(|| self.exit(crate::Reason::Interpret, n, None))
    }

    /// Label of the block that is being written.
    pub(super) fn here(&mut self) -> String {
        let label = self.label();
        self.line(format!("br label %{label}"));
        self.begin(&label);
        label
    }

    /// The handler's way: operands to planes, results from planes. Returns each result's value, and
    /// the label it comes from.
    pub(super) fn slow_path(
        &mut self,
        n: usize,
        inst: &Inst,
        slow: &str,
        join: &str,
        undone: Option<String>,
    ) -> Vec<(String, String)> {
        let pc = self.pc(n);
        let mask = self.mask.clone();
        let mut results = Vec::new();
        let all = self.all();
        let fault = self.before_leaving(n, "fault".to_owned());
        self.aside(|g| {
            g.begin(slow);
            let mut regs: Vec<Reg> = inst
                .srcs
                .iter()
                .filter_map(|v| match v {
                    Value::Reg(r) => Some(*r),
                    Value::Imm(_) => None,
                })
                .collect();
            if !all {
                regs.extend(inst.dsts.iter().copied());
            }
            regs.extend(inst.guard.map(|guard| guard.pred));
            for r in regs {
                g.spill_whole(r);
            }
            let status = g.call_handler_keeping(pc, &mask);
            let ok = g.ins(format!("icmp eq i32 {status}, 0"));
            let back = g.label();
            match undone {
                None => g.line(format!("br i1 {ok}, label %{back}, label %{fault}")),
                Some(exit) => {
                    let bad = g.label();
                    g.line(format!("br i1 {ok}, label %{back}, label %{bad}"));
                    g.begin(&bad);
                    let failed = g.ins(format!("icmp eq i32 {status}, 1"));
                    g.line(format!("br i1 {failed}, label %{fault}, label %{exit}"));
                }
            }
            g.begin(&back);
            for &r in &inst.dsts {
                let class = g.class(r);
                let name = match inst_result_is_scalar(g, inst) {
                    true => {
                        // All lanes that run have it.
                        g.load_any_lane(r)
                    }
                    false => match g.load_plane_vector(r) {
                        Val::Vec { name, .. } => name,
                        v @ Val::Lin { .. } => g.spread(&v, class),
                    },
                };
                results.push((name, back.clone()));
            }
            g.line(format!("br label %{join}"));
        });
        results
    }

    fn load_plane_vector(&mut self, r: Reg) -> Val {
        let class = self.class(r);
        let at = self.places.plane(r);
        let frame = self.frame();
        let p = self.ins(format!("getelementptr inbounds i8, ptr {frame}, i64 {at}"));
        let ty = vector(class);
        let name = self.ins(format!("load {ty}, ptr {p}, align 64, !alias.scope !1, !noalias !2"));
        Val::Vec { name, addr: None }
    }

    /// A lane that runs.
    pub(super) fn running_lane(&mut self) -> String {
        if self.all() {
            return "0".to_owned();
        }
        self.declare("declare i32 @llvm.cttz.i32(i32, i1)");
        let mask = self.mask.clone();
        self.ins(format!("call i32 @llvm.cttz.i32(i32 {mask}, i1 true)"))
    }

    fn load_any_lane(&mut self, r: Reg) -> String {
        let ty = scalar(self.class(r));
        let at = self.places.plane(r);
        let frame = self.frame();
        let p = self.ins(format!("getelementptr inbounds i8, ptr {frame}, i64 {at}"));
        let lane = self.running_lane();
        let p = self.ins(format!("getelementptr {ty}, ptr {p}, i32 {lane}"));
        self.ins(format!("load {ty}, ptr {p}, !alias.scope !1, !noalias !2"))
    }

    fn load_param(
        &mut self,
        n: usize,
        inst: &Inst,
        mem: &MemAttr,
        access: &Access,
        at: &Val,
    ) -> bool {
        let Val::Lin { lin, .. } = at else { return false };
        let Some(base) = lin.constant.filter(|_| lin.is_uniform()) else { return false };
        let start = base.wrapping_add(mem.offset as u64);
        let fits =
            start.checked_add(access.bytes()).is_some_and(|end| end <= self.f.param_size as u64);
        if !fits || !start.is_multiple_of(access.bytes()) {
            return false;
        }
        self.watch_param(n, start);
        let field = self.io(io!(params));
        let params = self.ins(format!(
            "load ptr, ptr {field}, !dereferenceable !7, !align !9, {}",
            super::blocks::FIXED
        ));
        for (e, &r) in inst.dsts.iter().enumerate() {
            let class = self.class(r);
            let offset = start + e as u64 * access.size;
            let p = self.ins(format!("getelementptr i8, ptr {params}, i64 {offset}"));
            let ty = memory_type(access.size);
            let name = self.ins(format!(
                "load {ty}, ptr {p}, !invariant.load !6, !alias.scope !1, !noalias !2"
            ));
            let base = self.register_form(&name, access.size, class, mem.signed, false);
            self.put(r, Val::Lin { base, u: None, lin: Rc::new(Lin::uniform()) });
        }
        true
    }

    /// An element as its register holds it.
    pub(super) fn register_form(
        &mut self,
        name: &str,
        size: u64,
        class: Class,
        signed: bool,
        wide: bool,
    ) -> String {
        let from = memory_type(size);
        let to = scalar(class);
        if from == to {
            return name.to_owned();
        }
        let op = if signed { "sext" } else { "zext" };
        if wide {
            self.ins(format!("{op} <32 x {from}> {name} to <32 x {to}>"))
        } else {
            self.ins(format!("{op} {from} {name} to {to}"))
        }
    }

    /// Checks an access; goes to `slow` where that fails. `None` if no code is made for it.
    pub(super) fn checked_place(
        &mut self,
        n: usize,
        a: &Access,
        address: &Val,
        slow: &str,
    ) -> Option<Place> {
        self.room = None;
        if a.space == Space::Local {
            return self.local_place(n, a, address, slow);
        }
        let bytes = a.bytes() as i64;
        match address {
            Val::Lin { base, u, lin }
                if lin.form.pat.iter().all(|p| p % bytes == 0) && self.has_range(&lin.form) =>
            {
                let at = self.add64(base, a.offset);
                let (low, span) = self.far_range(&at, u.as_deref(), &lin.form);
                let known = span.parse::<u64>().ok();
                let (lo, lim, host) = self.bounds(n, a, known.unwrap_or(0))?;
                let from = self.ins(format!("sub i64 {low}, {lo}"));
                let room = match known {
                    Some(_) => lim.clone(),
                    None => {
                        // Starts that are good: those at which the whole span still fits.
                        self.declare("declare i64 @llvm.usub.sat.i64(i64, i64)");
                        self.ins(format!("call i64 @llvm.usub.sat.i64(i64 {lim}, i64 {span})"))
                    }
                };
                let inside = self.ins(format!("icmp ult i64 {from}, {room}"));
                let mut ok = inside;
                if bytes > 1 && !aligned(lin, a.offset, bytes) {
                    let even = self.is_multiple(&at, u.as_deref(), bytes);
                    ok = self.ins(format!("and i1 {ok}, {even}"));
                }
                self.expect_inside(&ok, slow);
                let whole = self.wholly_inside(a, &lin.form, &at, &lo, &lim);
                let at = match host {
                    Some(host) => self.ins(format!("add i64 {at}, {host}")),
                    None => at,
                };
                Some(Place::Lin { at, u: u.clone(), form: Box::new(lin.form.clone()), whole })
            }
            Val::Vec { addr: Some(addr), .. } if addr.checks(bytes) => {
                let bounds = self.bounds(n, a, 0)?;
                Some(self.indexed(a, addr, bounds, slow))
            }
            v => {
                let bounds = self.bounds(n, a, 0)?;
                let short = a.space == Space::Shared || self.is_short();
                Some(self.each(a, v, bounds, short, slow))
            }
        }
    }

    /// Whether the memory of the check that is being made has less than 4 GiB.
    pub(super) fn is_short(&self) -> bool {
        let root = self.room.and_then(|room| self.groups[self.rooms[room].group as usize].root);
        self.options.short && matches!(root, Some(crate::Root::Param(_)))
    }

    /// Whether all lanes may be read though only some are asked for. Without mask registers there is no load of some
    /// bytes or halves, and none of lanes that lie apart.
    fn wholly_inside(
        &mut self,
        a: &Access,
        form: &Pattern,
        at: &str,
        lo: &str,
        lim: &str,
    ) -> Option<String> {
        let native = a.size >= 4 && form.pat[1] == a.bytes() as i64;
        if self.all() || !self.lone_lanes || a.write || native || form.is_uniform() {
            return None;
        }
        let first = self.ins(format!("sub i64 {at}, {lo}"));
        let last = self.ins(format!("add i64 {first}, {}", form.pat[LANES - 1]));
        let begins = self.ins(format!("icmp ult i64 {first}, {lim}"));
        let ends = self.ins(format!("icmp ult i64 {last}, {lim}"));
        Some(self.ins(format!("and i1 {begins}, {ends}")))
    }

    /// Whether a condition holds in all lanes that run.
    pub(super) fn every(&mut self, good: &str) -> String {
        let bits = self.ins(format!("bitcast <32 x i1> {good} to i32"));
        let mask = self.mask.clone();
        if self.all() {
            return self.ins(format!("icmp eq i32 {bits}, -1"));
        }
        let both = self.ins(format!("and i32 {bits}, {mask}"));
        self.ins(format!("icmp eq i32 {both}, {mask}"))
    }

    /// First address of the memory, number of places in it at which an access that spans `span` more
    /// bytes may start, and what to add to make it a host address.
    pub(super) fn bounds(
        &mut self,
        n: usize,
        a: &Access,
        span: u64,
    ) -> Option<(String, String, Option<String>)> {
        let less = a.bytes() - 1 + span;
        match a.space {
            Space::Shared => {
                let (first, lim) = self.shared_bounds(n, less, a.bytes());
                let host = self.io_load("i64", io!(shared));
                Some((first.to_string(), lim, Some(host)))
            }
            Space::Global | Space::Generic | Space::Const => {
                let site = RoomSite {
                    group: self.group(n),
                    write: a.write,
                    constant: a.space == Space::Const,
                    less,
                };
                let room = *self.room_of.entry(site).or_insert_with(|| {
                    self.rooms.push(site);
                    self.rooms.len() - 1
                });
                self.room = Some(room);
                let lo = self.room_field(room, offset_of!(Room, lo));
                let starts = self.room_field(room, offset_of!(Room, starts));
                Some((lo, starts, None))
            }
            Space::Local | Space::Param => None,
        }
    }

    /// Where in shared memory what instruction `n` accesses begins, at a multiple of `align`, and how many places there are from
    /// there on for what has `less` bytes and one.
    fn shared_bounds(&mut self, n: usize, less: u64, align: u64) -> (u64, String) {
        let (first, end) = self.variable(n, align).map_or((0, u64::MAX), |v| (v.first, v.end));
        let size = match end {
            u64::MAX => self.io_load("i64", io!(shared_size)),
            // Of a launch with less of it than its variables take there is none.
            end => end.to_string(),
        };
        self.declare("declare i64 @llvm.usub.sat.i64(i64, i64)");
        let less = less + first;
        (first, self.ins(format!("call i64 @llvm.usub.sat.i64(i64 {size}, i64 {less})")))
    }

    /// The same of local memory.
    pub(super) fn local_bounds(&mut self, n: usize, bytes: u64) -> (u64, String) {
        let (first, size) = match self.variable(n, bytes) {
            Some(own) => (own.first, own.end.to_string()),
            None => (0, self.io_load("i64", io!(local_size))),
        };
        self.declare("declare i64 @llvm.usub.sat.i64(i64, i64)");
        let less = bytes - 1 + first;
        (first, self.ins(format!("call i64 @llvm.usub.sat.i64(i64 {size}, i64 {less})")))
    }

    /// The variable that instruction `n` accesses, if it is known and begins at a multiple of `align`.
    pub(super) fn variable(&self, n: usize, align: u64) -> Option<VariableBounds> {
        let (pc, variables) = (self.pc(n), &self.options.variables);
        let known = variables.binary_search_by_key(&pc, |own| own.pc).ok().map(|at| variables[at]);
        known.filter(|own| own.first.is_multiple_of(align))
    }

    /// A field of a room.
    pub(super) fn room_field(&mut self, room: usize, offset: usize) -> String {
        // With a known pointer behind it a room stays as it is while the code runs.
        let fixed = self.groups[self.rooms[room].group as usize].root.is_some();
        let field = self.io(io!(rooms));
        let scope = if fixed { super::blocks::FIXED } else { super::blocks::ENGINE };
        let table = self.ins(format!(
            "load ptr, ptr {field}, !dereferenceable !8, !align !9, {}",
            super::blocks::FIXED
        ));
        let at = room * size_of::<Room>() + offset;
        let p = self.ins(format!("getelementptr inbounds i8, ptr {table}, i64 {at}"));
        self.ins(format!("load i64, ptr {p}, {scope}"))
    }

    /// The accesses that share what is known of memory with instruction `n`.
    fn group(&mut self, n: usize) -> u32 {
        let f = self.f;
        let own = (self.pc(n), self.places.slot(self.pc(n)));
        let inst = &f.blocks[self.block].insts[n];
        // Of a copy into shared memory it is the other operand.
        let address = usize::from(inst.op == Op::CpAsync);
        let root = match inst.srcs.get(address) {
            Some(&Value::Reg(r)) => self.roots[r.0 as usize],
            Some(Value::Imm(_)) | None => None,
        };
        let known = match root {
            Some(root) => self.group_of.get(&root).copied(),
            None => self.groups.iter().position(|g| g.accesses == [own]).map(|g| g as u32),
        };
        let group = known.unwrap_or_else(|| {
            self.groups.push(RoomGroup { root, accesses: Vec::new() });
            let new = self.groups.len() as u32 - 1;
            if let Some(root) = root {
                self.group_of.insert(root, new);
            }
            new
        });
        let accesses = &mut self.groups[group as usize].accesses;
        if !accesses.contains(&own) {
            accesses.push(own);
        }
        group
    }

    pub(super) fn add64(&mut self, base: &str, offset: i64) -> String {
        if offset == 0 && base.starts_with('%') {
            return base.to_owned();
        }
        self.ins(format!("add i64 {base}, {offset}"))
    }

    /// Whether [`Gen::range`] is about the lanes that run, not about others too.
    pub(super) fn has_range(&self, form: &Pattern) -> bool {
        self.all() || form.is_uniform() || is_even(form) && form.pat[1] > 0
    }

    /// [`Gen::range`], but longer than any memory where a second scalar is so large that it would wrap.
    pub(super) fn far_range(
        &mut self,
        at: &str,
        u: Option<&str>,
        form: &Pattern,
    ) -> (String, String) {
        let (low, span) = self.range(at, u, form);
        let (Some(u), Some(_)) = (u, &form.q) else { return (low, span) };
        let large = self.ins(format!("add i64 {u}, 1099511627776"));
        let large = self.ins(format!("lshr i64 {large}, 41"));
        let long = self.ins(format!("sub i64 0, {large}"));
        (low, self.ins(format!("or i64 {span}, {long}")))
    }

    /// Whether both scalars of an address are multiples of a power of two.
    pub(super) fn is_multiple(&mut self, at: &str, u: Option<&str>, of: i64) -> String {
        let bits = match u {
            Some(u) => self.ins(format!("or i64 {at}, {u}")),
            None => at.to_owned(),
        };
        let odd = self.ins(format!("and i64 {bits}, {}", of - 1));
        self.ins(format!("icmp eq i64 {odd}, 0"))
    }

    /// The lowest address of a linear access, and how far above it the highest lies.
    fn range(&mut self, at: &str, u: Option<&str>, form: &Pattern) -> (String, String) {
        let step = form.pat[1];
        if !self.all() && is_even(form) && step > 0 {
            // From the first lane that runs to the last.
            self.declare("declare i32 @llvm.cttz.i32(i32, i1)");
            self.declare("declare i32 @llvm.ctlz.i32(i32, i1)");
            let mask = self.mask.clone();
            let first = self.ins(format!("call i32 @llvm.cttz.i32(i32 {mask}, i1 true)"));
            let above = self.ins(format!("call i32 @llvm.ctlz.i32(i32 {mask}, i1 true)"));
            let last = self.ins(format!("sub i32 31, {above}"));
            let lanes = self.ins(format!("sub i32 {last}, {first}"));
            let first = self.ins(format!("zext i32 {first} to i64"));
            let lanes = self.ins(format!("zext i32 {lanes} to i64"));
            let skip = self.ins(format!("mul i64 {first}, {step}"));
            let low = self.ins(format!("add i64 {at}, {skip}"));
            let span = self.ins(format!("mul i64 {lanes}, {step}"));
            return (low, span);
        }
        let least = form.pat.iter().copied().min().unwrap_or(0);
        let most = form.pat.iter().copied().max().unwrap_or(0);
        let mut low = self.add64(at, least);
        let mut span = (most - least).to_string();
        if let (Some(u), Some(q)) = (u, &form.q) {
            let (qmin, qmax) = (q.iter().min().unwrap_or(&0), q.iter().max().unwrap_or(&0));
            let a = self.ins(format!("mul i64 {u}, {qmin}"));
            let b = self.ins(format!("mul i64 {u}, {qmax}"));
            self.declare("declare i64 @llvm.smin.i64(i64, i64)");
            self.declare("declare i64 @llvm.smax.i64(i64, i64)");
            let lower = self.ins(format!("call i64 @llvm.smin.i64(i64 {a}, i64 {b})"));
            let upper = self.ins(format!("call i64 @llvm.smax.i64(i64 {a}, i64 {b})"));
            low = self.ins(format!("add i64 {low}, {lower}"));
            let wide = self.ins(format!("sub i64 {upper}, {lower}"));
            span = self.ins(format!("add i64 {wide}, {span}"));
        }
        (low, span)
    }

    /// Local memory: the same offset lies elsewhere for each lane.
    fn local_place(&mut self, n: usize, a: &Access, address: &Val, slow: &str) -> Option<Place> {
        let bytes = a.bytes();
        let (first, lim) = self.local_bounds(n, bytes);
        if let Val::Lin { base, lin, .. } = address
            && lin.is_uniform()
        {
            let at = self.add64(base, a.offset);
            let inside = self.add64(&at, -(first as i64));
            let mut ok = self.ins(format!("icmp ult i64 {inside}, {lim}"));
            if bytes > 1 && !aligned(lin, a.offset, bytes as i64) {
                let even = self.is_multiple(&at, None, bytes as i64);
                ok = self.ins(format!("and i1 {ok}, {even}"));
            }
            self.expect_inside(&ok, slow);
            let at = self.splat("i64", &at);
            return Some(self.own_rows(&at, true));
        }
        let name = self.spread(address, Class::D);
        let offset = self.splat("i64", &a.offset.to_string());
        let mut at = self.ins(format!("add <32 x i64> {name}, {offset}"));
        let joined = self.lone_lanes;
        if joined && !self.all() {
            let lanes = self.lanes();
            at = self.ins(format!(
                "select <32 x i1> {lanes}, <32 x i64> {at}, <32 x i64> splat (i64 {first})"
            ));
        }
        let inside = match first {
            0 => at.clone(),
            _ => self.ins(format!("sub <32 x i64> {at}, splat (i64 {first})")),
        };
        let ok = match joined {
            true => self.all_below(&inside, &lim, bytes as i64),
            false => self.each_below(&inside, &lim, bytes as i64),
        };
        self.expect_inside(&ok, slow);
        Some(self.own_rows(&at, joined))
    }

    /// Where the lanes' bytes at such offsets of their local memory are.
    fn own_rows(&mut self, at: &str, everywhere: bool) -> Place {
        let mut local = self.io_load("i64", io!(local));
        let stride = self.io_load("i64", io!(local_stride));
        if self.options.blocks {
            let bytes = self.ins(format!("mul i64 {stride}, {LANES}"));
            let warp = self.warp_number(64);
            let skip = self.ins(format!("mul i64 {bytes}, {warp}"));
            local = self.ins(format!("add i64 {local}, {skip}"));
        }
        let stride = self.splat("i64", &stride);
        let lanes = vector_of("i64", 0..LANES as i64);
        let each = self.ins(format!("mul <32 x i64> {stride}, {lanes}"));
        let at = self.ins(format!("add <32 x i64> {at}, {each}"));
        let local = self.splat("i64", &local);
        let at = self.ins(format!("add <32 x i64> {at}, {local}"));
        Place::Each { at, good: None, everywhere }
    }

    /// One element at lane 0's address.
    pub(super) fn load_one(&mut self, a: &Access, element: u64, at: &str) -> String {
        let at = self.ins(format!("add i64 {at}, {}", element * a.size));
        let p = self.ins(format!("inttoptr i64 {at} to ptr"));
        self.ins(format!("load {}, ptr {p}, align {}, {GUEST}", memory_type(a.size), a.size))
    }

    /// Pointers of all lanes.
    pub(super) fn pointers(&mut self, a: &Access, element: u64, place: &Place) -> String {
        let more = element * a.size;
        match place {
            Place::Each { at, .. } => {
                let at = self.ins(format!("add <32 x i64> {at}, splat (i64 {more})"));
                self.ins(format!("inttoptr <32 x i64> {at} to <32 x ptr>"))
            }
            Place::Index { base, index, scale, .. } => {
                let base = self.ins(format!("add i64 {base}, {more}"));
                let p = self.ins(format!("inttoptr i64 {base} to ptr"));
                let wide = self.ins(format!("sext <32 x i32> {index} to <32 x i64>"));
                self.ins(format!("getelementptr [{scale} x i8], ptr {p}, <32 x i64> {wide}"))
            }
            Place::Lin { at, u, form, .. } => {
                let at = self.ins(format!("add i64 {at}, {more}"));
                let lin = Lin { form: (**form).clone(), ..Lin::uniform() };
                let v = Val::Lin { base: at, u: u.clone(), lin: Rc::new(lin) };
                let all = self.spread(&v, Class::D);
                self.ins(format!("inttoptr <32 x i64> {all} to <32 x ptr>"))
            }
        }
    }

    /// Address of a lane of a linear access.
    pub(super) fn lane_pointer(&mut self, place: &Place, lane: usize, more: u64) -> String {
        let Place::Lin { at, u, form, .. } = place else { return "null".to_owned() };
        let mut at = self.ins(format!("add i64 {at}, {}", form.pat[lane] + more as i64));
        if let (Some(u), Some(q)) = (u, &form.q)
            && q[lane] != 0
        {
            let part = self.ins(format!("mul i64 {u}, {}", q[lane]));
            at = self.ins(format!("add i64 {at}, {part}"));
        }
        self.ins(format!("inttoptr i64 {at} to ptr"))
    }

    /// One element of all lanes.
    pub(super) fn load_lanes(&mut self, a: &Access, element: u64, place: &Place) -> String {
        let ty = memory_type(a.size);
        if let Place::Lin { form, whole, .. } = place {
            let row = runs(form, a.bytes() as i64).filter(|_| a.count == 1);
            let one = form.q.is_none() && row.as_ref().is_some_and(|r| r.len() == 1 && !r[0].same);
            if one && !self.all() {
                let p = self.lane_pointer(place, 0, 0);
                let lanes = self.lanes();
                let f = format!("@llvm.masked.load.v32{ty}.p0");
                self.declare(format!("declare <32 x {ty}> {f}(ptr, i32, <32 x i1>, <32 x {ty}>)"));
                let some = format!(
                    "call <32 x {ty}> {f}(ptr {p}, i32 {}, <32 x i1> {lanes}, <32 x {ty}> \
                     zeroinitializer), {GUEST}",
                    a.size
                );
                let Some(whole) = whole else { return self.ins(some) };
                let all = format!("load <32 x {ty}>, ptr {p}, align {}, {GUEST}", a.size);
                return self.all_or_some(whole, ty, |g| g.ins(all), |g| g.ins(some));
            }
            if self.all()
                && let Some(row) = row
            {
                return self.load_runs(a, &row, place);
            }
            if form.is_uniform() {
                let p = self.lane_pointer(place, 0, element * a.size);
                let one = self.ins(format!("load {ty}, ptr {p}, align {}, {GUEST}", a.size));
                return self.splat(ty, &one);
            }
            let step = a.bytes() as i64;
            let packed = form.q.is_none()
                && a.count > 1
                && (0..LANES).all(|l| form.pat[l] == step * l as i64);
            if packed && self.all() {
                let total = LANES as u64 * a.count;
                let p = self.lane_pointer(place, 0, 0);
                let all =
                    self.ins(format!("load <{total} x {ty}>, ptr {p}, align {}, {GUEST}", a.size));
                let pick = vector_of(
                    "i32",
                    (0..LANES as i64).map(|l| l * a.count as i64 + element as i64),
                );
                return self.ins(format!(
                    "shufflevector <{total} x {ty}> {all}, <{total} x {ty}> poison, <32 x i32> {pick}"
                ));
            }
        }
        if let Place::Lin { form, whole, .. } = place
            && self.lone_lanes
            && form.q.is_none()
            && (self.all() || whole.is_some() || a.size >= 4)
        {
            return self.load_one_by_one(a, element, place, whole.as_deref());
        }
        self.gather(a, element, place)
    }

    /// What `all` gives where the condition holds, which is likely, else what `some` does.
    pub(super) fn all_or_some(
        &mut self,
        whole: &str,
        ty: &str,
        all: impl FnOnce(&mut Self) -> String,
        some: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let (likely, other, join) = (self.label(), self.label(), self.label());
        self.line(format!("br i1 {whole}, label %{likely}, label %{other}, !prof !0"));
        self.begin(&likely);
        let x = all(self);
        self.line(format!("br label %{join}"));
        self.begin(&other);
        let y = some(self);
        // It may have blocks of its own.
        let last = self.label();
        self.line(format!("br label %{last}"));
        self.begin(&last);
        self.line(format!("br label %{join}"));
        self.begin(&join);
        self.ins(format!("phi <32 x {ty}> [ {x}, %{likely} ], [ {y}, %{last} ]"))
    }

    pub(super) fn gather(&mut self, a: &Access, element: u64, place: &Place) -> String {
        let ty = memory_type(a.size);
        if a.size == 4
            && let Some(pointers) = self.indexed_pointers(a, element, place)
        {
            return self.load_each(ty, &pointers);
        }
        let (p, lanes) = self.gathered(a, element, place);
        if a.size < 4 && a.space != Space::Local {
            return self.gather_small(&p, &lanes, a.size);
        }
        let f = format!("@llvm.masked.gather.v32{ty}.v32p0");
        self.declare(format!("declare <32 x {ty}> {f}(<32 x ptr>, i32, <32 x i1>, <32 x {ty}>)"));
        self.ins(format!(
            "call <32 x {ty}> {f}(<32 x ptr> {p}, i32 {}, <32 x i1> {lanes}, <32 x {ty}> \
             zeroinitializer), {GUEST}",
            a.size
        ))
    }

    /// The pointers of a gather and its lanes. Without mask registers a gather of some lanes is a branch for each;
    /// there those that do not run read what may be read, and nobody looks at it.
    pub(super) fn gathered(&mut self, a: &Access, element: u64, place: &Place) -> (String, String) {
        let lanes = self.lanes();
        let all = "splat (i1 true)".to_owned();
        let harmless = match place {
            Place::Index { everywhere: true, .. } | Place::Each { everywhere: true, .. } => {
                return (self.pointers(a, element, place), all);
            }
            Place::Each { at, good: Some(good), .. } if self.lone_lanes && !self.all() => {
                let good = self.splat("i64", good);
                let at = self
                    .ins(format!("select <32 x i1> {lanes}, <32 x i64> {at}, <32 x i64> {good}"));
                Place::Each { at, good: None, everywhere: true }
            }
            place => return (self.pointers(a, element, place), lanes),
        };
        (self.pointers(a, element, &harmless), all)
    }

    /// Bytes or halves by way of the words that hold them, since there is no gather of less. The rest
    /// of a word is memory of the same allocation, which is a multiple of words.
    fn gather_small(&mut self, p: &str, lanes: &str, size: u64) -> String {
        let at = self.ins(format!("ptrtoint <32 x ptr> {p} to <32 x i64>"));
        let whole = self.ins(format!("and <32 x i64> {at}, splat (i64 -4)"));
        let p = self.ins(format!("inttoptr <32 x i64> {whole} to <32 x ptr>"));
        let f = "@llvm.masked.gather.v32i32.v32p0";
        self.declare(format!("declare <32 x i32> {f}(<32 x ptr>, i32, <32 x i1>, <32 x i32>)"));
        let words = self.ins(format!(
            "call <32 x i32> {f}(<32 x ptr> {p}, i32 4, <32 x i1> {lanes}, <32 x i32> \
             zeroinitializer), {GUEST}"
        ));
        let low = self.ins(format!("trunc <32 x i64> {at} to <32 x i32>"));
        let byte = self.ins(format!("and <32 x i32> {low}, splat (i32 3)"));
        let bits = self.ins(format!("shl <32 x i32> {byte}, splat (i32 3)"));
        let moved = self.ins(format!("lshr <32 x i32> {words}, {bits}"));
        self.ins(format!("trunc <32 x i32> {moved} to <32 x {}>", memory_type(size)))
    }

    fn load_runs(&mut self, a: &Access, row: &[Run], place: &Place) -> String {
        let ty = memory_type(a.size);
        let Place::Lin { form, .. } = place else { return "poison".to_owned() };
        let q = form.q.unwrap_or([0; LANES]);
        let mut parts: Vec<(Run, String)> = Vec::new();
        for run in row {
            let twin = parts.iter().find(|(r, _)| {
                (r.lanes, r.same) == (run.lanes, run.same)
                    && form.pat[r.first] == form.pat[run.first]
                    && q[r.first] == q[run.first]
            });
            let name = match twin {
                Some((_, name)) => name.clone(),
                None => {
                    let p = self.lane_pointer(place, run.first, 0);
                    let n = run.lanes;
                    if run.same {
                        let one =
                            self.ins(format!("load {ty}, ptr {p}, align {}, {GUEST}", a.size));
                        let v = self
                            .ins(format!("insertelement <{n} x {ty}> poison, {ty} {one}, i64 0"));
                        self.ins(format!(
                            "shufflevector <{n} x {ty}> {v}, <{n} x {ty}> poison, <{n} x i32> \
                             zeroinitializer"
                        ))
                    } else {
                        self.ins(format!("load <{n} x {ty}>, ptr {p}, align {}, {GUEST}", a.size))
                    }
                }
            };
            parts.push((run.clone(), name));
        }
        if let [(_, name)] = parts.as_slice() {
            return name.clone();
        }
        // Widen each part to all lanes and choose.
        let mut whole = String::from("poison");
        for (run, name) in &parts {
            let n = run.lanes;
            let place: Vec<String> = (0..LANES)
                .map(|l| {
                    if (run.first..run.first + n).contains(&l) {
                        format!("i32 {}", l - run.first)
                    } else {
                        "i32 poison".to_owned()
                    }
                })
                .collect();
            let wide = self.ins(format!(
                "shufflevector <{n} x {ty}> {name}, <{n} x {ty}> poison, <32 x i32> <{}>",
                place.join(", ")
            ));
            if whole == "poison" {
                whole = wide;
                continue;
            }
            let choose = vector_of(
                "i32",
                (0..LANES as i64).map(|l| {
                    let own = (run.first..run.first + n).contains(&(l as usize));
                    if own { l + LANES as i64 } else { l }
                }),
            );
            whole = self.ins(format!(
                "shufflevector <32 x {ty}> {whole}, <32 x {ty}> {wide}, <32 x i32> {choose}"
            ));
        }
        whole
    }

    pub(super) fn store_lanes(
        &mut self,
        a: &Access,
        element: u64,
        place: &Place,
        v: &Val,
        class: Class,
    ) {
        let ty = memory_type(a.size);
        let narrow = ty != scalar(class);
        if let Place::Lin { form, .. } = place
            && form.is_uniform()
        {
            // One address: the last lane wins.
            let p = self.lane_pointer(place, 0, element * a.size);
            let mut one = match v {
                Val::Lin { base, lin, .. } if lin.is_uniform() => base.clone(),
                v => {
                    let all = self.spread(v, class);
                    let last = if self.all() {
                        "31".to_owned()
                    } else {
                        self.declare("declare i32 @llvm.ctlz.i32(i32, i1)");
                        let mask = self.mask.clone();
                        let above =
                            self.ins(format!("call i32 @llvm.ctlz.i32(i32 {mask}, i1 true)"));
                        self.ins(format!("sub i32 31, {above}"))
                    };
                    self.ins(format!("extractelement {} {all}, i32 {last}", vector(class)))
                }
            };
            if narrow {
                one = self.ins(format!("trunc {} {one} to {ty}", scalar(class)));
            }
            self.line(format!("store {ty} {one}, ptr {p}, align {}, {GUEST}", a.size));
            return;
        }
        let mut all = self.spread(v, class);
        if narrow {
            all = self.ins(format!("trunc {} {all} to <32 x {ty}>", vector(class)));
        }
        if let Place::Lin { form, .. } = place
            && a.count == 1
            && let Some(row) = runs(form, a.bytes() as i64)
        {
            if let ([Run { same: false, .. }], false) = (row.as_slice(), self.all()) {
                let p = self.lane_pointer(place, 0, 0);
                return self.store_row(a, &all, &p);
            }
            if self.all() {
                for run in row {
                    let p = self.lane_pointer(place, run.first, 0);
                    let n = run.lanes;
                    if run.same {
                        let last = run.first + n - 1;
                        let one = self.ins(format!("extractelement <32 x {ty}> {all}, i64 {last}"));
                        self.line(format!("store {ty} {one}, ptr {p}, align {}, {GUEST}", a.size));
                        continue;
                    }
                    let pick = vector_of("i32", (run.first..run.first + n).map(|l| l as i64));
                    let part = self.ins(format!(
                        "shufflevector <32 x {ty}> {all}, <32 x {ty}> poison, <{n} x i32> {pick}"
                    ));
                    self.line(format!(
                        "store <{n} x {ty}> {part}, ptr {p}, align {}, {GUEST}",
                        a.size
                    ));
                }
                return;
            }
        }
        if let Place::Lin { form, .. } = place
            && self.lone_lanes
            && form.q.is_none()
        {
            return self.store_one_by_one(a, element, place, &all);
        }
        let done = self.packs(a, place).then(|| self.label());
        if let Some(done) = &done {
            self.store_packed(a, place, &all, done);
        }
        self.store_scattered(a, element, place, &all);
        if let Some(done) = done {
            self.line(format!("br label %{done}"));
            self.begin(&done);
        }
    }

    /// A store of lanes that lie anywhere.
    fn store_scattered(&mut self, a: &Access, element: u64, place: &Place, all: &str) {
        if self.lone_lanes
            && self.all()
            && a.size >= 4
            && let Some(pointers) = self.indexed_pointers(a, element, place)
        {
            return self.store_each(a, all, 0, &pointers);
        }
        let p = self.pointers(a, element, place);
        self.scatter(a, all, &p);
    }

    /// Between the numbering of a space and generic addresses.
    pub fn convert_address(&mut self, inst: &Inst) -> bool {
        let Attr::Space(space) = inst.attr else { return false };
        let v = self.bits(inst.srcs[0], Class::D);
        let offset = match space {
            Space::Shared => io!(shared_window),
            Space::Local => io!(local_window),
            Space::Param => io!(params),
            Space::Global | Space::Const | Space::Generic => {
                let v = match (v, self.facts.results(inst, self.options).into_iter().next()) {
                    (Val::Lin { base, u, .. }, Some(Shape::Lin(lin))) => Val::Lin { base, u, lin },
                    (v, _) => v,
                };
                self.assign(inst, v);
                return true;
            }
        };
        let window = self.io_load("i64", offset);
        let op = if inst.op == Op::Cvta { "add" } else { "sub" };
        let shape = self.facts.results(inst, self.options).into_iter().next();
        let v = match (v, shape) {
            (Val::Lin { base, u, .. }, Some(Shape::Lin(lin))) => {
                let base = self.ins(format!("{op} i64 {base}, {window}"));
                Val::Lin { base, u, lin }
            }
            (v, _) => {
                let name = self.spread(&v, Class::D);
                let window = self.splat("i64", &window);
                let name = self.ins(format!("{op} <32 x i64> {name}, {window}"));
                Val::Vec { name, addr: None }
            }
        };
        self.assign(inst, v);
        true
    }
}

/// Ops whose handlers ask whether they may, where that is asked.
pub(super) fn may_be_turned_away(op: Op) -> bool {
    matches!(op, Op::Ld | Op::St | Op::Atom)
}

/// Whether the result of a load is one scalar.
fn inst_result_is_scalar(g: &Gen<'_>, inst: &Inst) -> bool {
    let Attr::Mem(mem) = inst.attr else { return false };
    g.facts.operand(inst.srcs[0]).is_uniform() && g.facts.loads_once(inst, &mem)
}

/// Whether each lane is as far from the one before.
fn is_even(form: &Pattern) -> bool {
    form.is_row(form.pat[1])
}

/// Whether the address is known to be a multiple of the access.
pub(super) fn aligned(lin: &Lin, offset: i64, bytes: i64) -> bool {
    let bits = match lin.form.q {
        Some(_) => lin.align.min(lin.second_align),
        None => lin.align,
    };
    (1i64 << bits.min(32)) % bytes == 0 && offset % bytes == 0
}
