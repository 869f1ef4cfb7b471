// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomics: lane after lane in ascending order, as the interpreter has them, or once for the warp where
//! all lanes name one address and order does not show.
//!
//! Lanes' addresses and values go through a buffer on the stack, from which a loop reads them: that is
//! shorter than taking vectors apart. Only this thread of the host touches a block's shared
//! memory, so plain loads and stores serve there; on global memory the host's atomics do.
//!
//! Limit: 16-bit atomics, and the least and greatest of floats, are the handler's.

use std::fmt::Write as _;

use margay_ir::{AtomOp, Attr, Class, FloatAttr, Inst, Op, Reg, Round, Space, Ty, Value};

use super::memory::{Access, GUEST, Place};
use super::value::{Val, scalar, vector};
use super::watch::Kind;
use super::{Gen, POLL_COST, WHOLE_POLL_COST, io, vector_of};
use crate::shape::{LANES, Lin};

/// Lanes whose steps are written one after the other.
const UNROLL: usize = 8;

/// One atomic, as its steps need it.
pub(super) struct Step<'a> {
    pub op: AtomOp,
    ty: Ty,
    /// `i32` or `i64`.
    pub int: &'static str,
    pub shared: bool,
    /// The old values are a result.
    pub keep: bool,
    ftz: bool,
    pub place: &'a Place,
}

impl Step<'_> {
    /// Whether its step has a loop of its own.
    fn repeats(&self) -> bool {
        self.op == AtomOp::FAdd && !self.shared
    }
}

/// An operation whose order among equals does not show in memory.
fn gathers(op: AtomOp) -> bool {
    match op {
        AtomOp::Add
        | AtomOp::And
        | AtomOp::Or
        | AtomOp::Xor
        | AtomOp::MinS
        | AtomOp::MinU
        | AtomOp::MaxS
        | AtomOp::MaxU => true,
        AtomOp::Exch | AtomOp::Cas | AtomOp::Inc | AtomOp::Dec => false,
        AtomOp::FAdd | AtomOp::FMin | AtomOp::FMax => false,
    }
}

/// What `atomicrmw` calls it.
fn rmw(op: AtomOp) -> Option<&'static str> {
    Some(match op {
        AtomOp::Add => "add",
        AtomOp::And => "and",
        AtomOp::Or => "or",
        AtomOp::Xor => "xor",
        AtomOp::Exch => "xchg",
        AtomOp::MinS => "min",
        AtomOp::MinU => "umin",
        AtomOp::MaxS => "max",
        AtomOp::MaxU => "umax",
        AtomOp::Inc => "uinc_wrap",
        AtomOp::Dec => "udec_wrap",
        AtomOp::Cas | AtomOp::FAdd | AtomOp::FMin | AtomOp::FMax => return None,
    })
}

impl Gen<'_> {
    /// Writes an atomic. False if it is left to its handler.
    pub fn atomic(&mut self, n: usize, inst: &Inst) -> bool {
        let Attr::Atom { op, mem, ftz } = inst.attr else { return false };
        let int = match (inst.ty, op) {
            (_, AtomOp::FMin | AtomOp::FMax) => return false,
            (Ty::I32 | Ty::F32, _) => "i32",
            (Ty::I64 | Ty::F64, _) => "i64",
            (Ty::Pred | Ty::I8 | Ty::I16 | Ty::F16 | Ty::BF16, _) => return false,
        };
        let shared = mem.space == Space::Shared;
        if inst.guard.is_some()
            || !matches!(mem.space, Space::Shared | Space::Global | Space::Generic)
            || inst.dsts.len() > 1
        {
            return false;
        }
        let (class, size) = if int == "i32" { (Class::W, 4) } else { (Class::D, 8) };
        let access = Access {
            space: mem.space,
            size,
            count: 1,
            offset: mem.offset,
            write: true,
            ranked: false,
        };
        let address = self.bits(inst.srcs[0], Class::D);
        let operands: Vec<Val> = inst.srcs[1..].iter().map(|&v| self.bits(v, class)).collect();
        let (slow, join) = (self.label(), self.label());
        let undone = self.save_for_handler(n, inst);
        let Some(place) = self.checked_place(n, &access, &address, &slow) else { return false };
        self.watch_access(n, &access, &address, Kind::Atomic, None);
        let keep = inst.dsts.first().copied();
        let step = Step { op, ty: inst.ty, int, shared, keep: keep.is_some(), ftz, place: &place };
        let result = self
            .at_one_address(&step, &operands, class)
            .or_else(|| {
                // Where it is bins there is no result, and both ways go on at the same place.
                self.by_bins(&step, &access, &operands, &join);
                self.by_indices(&step, &access, &operands, class)
            })
            .unwrap_or_else(|| self.lane_by_lane(&step, &operands, class));
        if keep.is_some() {
            self.count_poll();
        }
        let from = self.here();
        self.line(format!("br label %{join}"));
        let slow_values = self.slow_path(n, inst, &slow, &join, undone);
        self.begin(&join);
        if let (Some(r), Some((other, block))) = (keep, slow_values.first()) {
            let ty = vector(class);
            let name = self.ins(format!("phi {ty} [ {result}, %{from} ], [ {other}, %{block} ]"));
            self.put(r, Val::Vec { name, addr: None });
        }
        true
    }

    /// Who asks memory again and again must give way to whoever he waits for.
    pub(super) fn count_poll(&mut self) {
        let at = self.io(io!(polls));
        let polls = self.ins(format!("load i64, ptr {at}, !alias.scope !1, !noalias !2"));
        let more = self.ins(format!("add i64 {polls}, 1"));
        self.line(format!("store i64 {more}, ptr {at}, !alias.scope !1, !noalias !2"));
        self.take_poll_cost();
    }

    /// Fuel for an access that may be one of a loop that waits.
    pub fn take_poll_cost(&mut self) {
        let fuel = self.ins("load i64, ptr %fuel");
        // A watched warp has the fuel of one that is entered singly.
        let whole = self.options.blocks && !self.options.watched.any();
        let cost = if whole { WHOLE_POLL_COST } else { POLL_COST };
        let less = self.ins(format!("sub i64 {fuel}, {cost}"));
        self.line(format!("store i64 {less}, ptr %fuel"));
        if self.options.blocks {
            // It is no instruction that was executed.
            let spent = self.ins("load i64, ptr %spent");
            let less = self.ins(format!("sub i64 {spent}, {cost}"));
            self.line(format!("store i64 {less}, ptr %spent"));
        }
    }

    /// One atomic for the warp. The old values of the lanes, if they are asked for.
    fn at_one_address(&mut self, s: &Step<'_>, operands: &[Val], class: Class) -> Option<String> {
        let Place::Lin { at, form, .. } = s.place else { return None };
        let (true, true, [value]) = (form.is_uniform(), gathers(s.op), operands) else {
            return None;
        };
        let same = match value {
            Val::Lin { base, lin, .. } if lin.is_uniform() => Some(base.clone()),
            Val::Lin { .. } | Val::Vec { .. } => None,
        };
        // What each lane finds follows from how many go before it, if all add the same.
        if s.keep && !(s.op == AtomOp::Add && same.is_some()) {
            return None;
        }
        let (int, wide) = (s.int, vector(class));
        let mask = self.mask.clone();
        let p = self.ins(format!("inttoptr i64 {at} to ptr"));
        let total = match (&same, s.op) {
            (Some(v), AtomOp::Add | AtomOp::Xor) => {
                let lanes = if self.all() {
                    LANES.to_string()
                } else {
                    self.declare("declare i32 @llvm.ctpop.i32(i32)");
                    let n = self.ins(format!("call i32 @llvm.ctpop.i32(i32 {mask})"));
                    if int == "i64" { self.ins(format!("zext i32 {n} to i64")) } else { n }
                };
                if s.op == AtomOp::Add {
                    self.ins(format!("mul {int} {v}, {lanes}"))
                } else {
                    let odd = self.ins(format!("and {int} {lanes}, 1"));
                    self.ins(format!("mul {int} {v}, {odd}"))
                }
            }
            (Some(v), _) => v.clone(),
            (None, op) => {
                let mut all = self.spread(value, class);
                let (name, neutral) = match op {
                    AtomOp::Add => ("add", 0),
                    AtomOp::Or => ("or", 0),
                    AtomOp::Xor => ("xor", 0),
                    AtomOp::And => ("and", -1),
                    AtomOp::MaxU => ("umax", 0),
                    AtomOp::MinU => ("umin", -1),
                    AtomOp::MaxS if int == "i32" => ("smax", i32::MIN as i64),
                    AtomOp::MaxS => ("smax", i64::MIN),
                    AtomOp::MinS if int == "i32" => ("smin", i32::MAX as i64),
                    AtomOp::MinS => ("smin", i64::MAX),
                    AtomOp::Exch | AtomOp::Cas | AtomOp::Inc | AtomOp::Dec => return None,
                    AtomOp::FAdd | AtomOp::FMin | AtomOp::FMax => return None,
                };
                if !self.all() {
                    let lanes = self.lanes();
                    all = self.ins(format!(
                        "select <32 x i1> {lanes}, {wide} {all}, {wide} splat ({int} {neutral})"
                    ));
                }
                let f = format!("@llvm.vector.reduce.{name}.v32{int}");
                self.declare(format!("declare {int} {f}({wide})"));
                self.ins(format!("call {int} {f}({wide} {all})"))
            }
        };
        let (old, changed) = self.update(s, &p, &[total]);
        self.note_change(changed);
        if !s.keep {
            return Some(String::new());
        }
        let v = same?;
        let before = if self.all() {
            vector_of(int, 0..LANES as i64)
        } else {
            let below = vector_of("i32", (0..LANES).map(|l| ((1i64 << l) - 1) as i32 as i64));
            let every = self.splat("i32", &mask);
            let earlier = self.ins(format!("and <32 x i32> {every}, {below}"));
            self.declare("declare <32 x i32> @llvm.ctpop.v32i32(<32 x i32>)");
            let n = self.ins(format!("call <32 x i32> @llvm.ctpop.v32i32(<32 x i32> {earlier})"));
            if int == "i64" { self.ins(format!("zext <32 x i32> {n} to <32 x i64>")) } else { n }
        };
        let (v, old) = (self.splat(int, &v), self.splat(int, &old));
        let more = self.ins(format!("mul {wide} {v}, {before}"));
        Some(self.ins(format!("add {wide} {old}, {more}")))
    }

    /// A step for each lane where all run and indices say where, in shared memory, if nobody asks for the old values: that
    /// takes two indices out of a vector at a time, where a loop waits for what was just stored in a buffer.
    fn by_indices(
        &mut self,
        s: &Step<'_>,
        a: &Access,
        operands: &[Val],
        class: Class,
    ) -> Option<String> {
        if s.keep || !s.shared || !self.all() || self.options.watched.any() {
            return None;
        }
        let pointers = self.indexed_pointers(a, 0, s.place)?;
        let values: Vec<Result<String, String>> = operands
            .iter()
            .map(|v| match v {
                Val::Lin { base, lin, .. } if lin.is_uniform() => Ok(base.clone()),
                v => Err(self.spread(v, class)),
            })
            .collect();
        let wide = vector(class);
        for (lane, p) in pointers.iter().enumerate() {
            let own: Vec<String> = values
                .iter()
                .map(|v| match v {
                    Ok(same) => same.clone(),
                    Err(all) => self.ins(format!("extractelement {wide} {all}, i64 {lane}")),
                })
                .collect();
            self.update(s, p, &own);
        }
        self.note_change(None);
        Some(String::new())
    }

    /// A loop over the lanes that run. The old values, if they are asked for.
    fn lane_by_lane(&mut self, s: &Step<'_>, operands: &[Val], class: Class) -> String {
        let (int, wide) = (s.int, vector(class));
        // Accesses to the buffers are volatile so that LLVM does not take vectors apart instead.
        let fill = |g: &mut Self, name: &str, ty: &str, value: &str| {
            g.lane_buffers.insert(name.to_owned());
            g.line(format!("store volatile {ty} {value}, ptr %{name}, align 64"));
        };
        match s.place {
            Place::Index { index, .. } => fill(self, "lane_at", "<32 x i32>", index),
            Place::Each { at, .. } => fill(self, "lane_at", "<32 x i64>", at),
            Place::Lin { at, u, form, .. } => {
                let lin = Lin { form: (**form).clone(), ..Lin::uniform() };
                let v = Val::Lin { base: at.clone(), u: u.clone(), lin: std::rc::Rc::new(lin) };
                let all = self.spread(&v, Class::D);
                fill(self, "lane_at", "<32 x i64>", &all);
            }
        }
        let mut fixed = Vec::new();
        for (i, v) in operands.iter().enumerate() {
            fixed.push(match v {
                Val::Lin { base, lin, .. } if lin.is_uniform() => Some(base.clone()),
                v => {
                    let all = self.spread(v, class);
                    fill(self, ["lane_v", "lane_w"][i & 1], wide, &all);
                    None
                }
            });
        }
        self.lane_buffers.insert("lane_n".to_owned());
        let whole = self.all();
        let start = if whole { "0".to_owned() } else { self.mask.clone() };
        self.line(format!("store i32 {start}, ptr %lane_n"));
        if s.keep {
            self.lane_buffers.insert("lane_r".to_owned());
        }
        let (again, out) = (self.label(), self.label());
        self.line(format!("br label %{again}"));
        self.begin(&again);
        let at = self.ins("load i32, ptr %lane_n");
        let unroll = if whole && !s.repeats() { UNROLL } else { 1 };
        let mut changed: Option<String> = None;
        for k in 0..unroll {
            let lane = if whole {
                self.ins(format!("add i32 {at}, {k}"))
            } else {
                self.declare("declare i32 @llvm.cttz.i32(i32, i1)");
                self.ins(format!("call i32 @llvm.cttz.i32(i32 {at}, i1 true)"))
            };
            let lane = self.ins(format!("zext i32 {lane} to i64"));
            let p = self.lane_address(s.place, &lane);
            let values: Vec<String> = fixed
                .iter()
                .enumerate()
                .map(|(i, v)| match v {
                    Some(v) => v.clone(),
                    None => self.read_buffer(["lane_v", "lane_w"][i & 1], int, &lane),
                })
                .collect();
            let (old, new) = self.update(s, &p, &values);
            if s.keep {
                let to = self.ins(format!("getelementptr {int}, ptr %lane_r, i64 {lane}"));
                self.line(format!("store volatile {int} {old}, ptr {to}"));
            }
            changed = match (changed, new) {
                (Some(a), Some(b)) => Some(self.ins(format!("or i1 {a}, {b}"))),
                (a, b) => a.or(b),
            };
        }
        self.note_change(changed);
        let (next, more) = if whole {
            let next = self.ins(format!("add i32 {at}, {unroll}"));
            let more = self.ins(format!("icmp ne i32 {next}, {LANES}"));
            (next, more)
        } else {
            let less = self.ins(format!("sub i32 {at}, 1"));
            let next = self.ins(format!("and i32 {at}, {less}"));
            let more = self.ins(format!("icmp ne i32 {next}, 0"));
            (next, more)
        };
        self.line(format!("store i32 {next}, ptr %lane_n"));
        self.line(format!("br i1 {more}, label %{again}, label %{out}"));
        self.begin(&out);
        if !s.keep {
            return String::new();
        }
        self.ins(format!("load volatile {wide}, ptr %lane_r, align 64"))
    }

    fn read_buffer(&mut self, name: &str, ty: &str, lane: &str) -> String {
        let p = self.ins(format!("getelementptr {ty}, ptr %{name}, i64 {lane}"));
        self.ins(format!("load volatile {ty}, ptr {p}"))
    }

    fn lane_address(&mut self, place: &Place, lane: &str) -> String {
        match place {
            Place::Index { base, scale, .. } => {
                let index = self.read_buffer("lane_at", "i32", lane);
                let wide = self.ins(format!("sext i32 {index} to i64"));
                let p = self.ins(format!("inttoptr i64 {base} to ptr"));
                self.ins(format!("getelementptr [{scale} x i8], ptr {p}, i64 {wide}"))
            }
            Place::Each { .. } | Place::Lin { .. } => {
                let at = self.read_buffer("lane_at", "i64", lane);
                self.ins(format!("inttoptr i64 {at} to ptr"))
            }
        }
    }

    /// Remembers that memory changed: always if that is not known.
    ///
    /// Who runs whole blocks does not ask, unless somebody watches: warps that poll are handed over first.
    pub(super) fn note_change(&mut self, changed: Option<String>) {
        if self.tells_late() {
            return;
        }
        let Some(changed) = changed else { return self.io_store("i32", "1", io!(changed)) };
        let at = self.io(io!(changed));
        let before = self.ins(format!("load i32, ptr {at}, !alias.scope !1, !noalias !2"));
        let new = self.ins(format!("zext i1 {changed} to i32"));
        let both = self.ins(format!("or i32 {before}, {new}"));
        self.line(format!("store i32 {both}, ptr {at}, !alias.scope !1, !noalias !2"));
    }

    /// The step of one lane: the old value, and whether the new one differs, where that is asked for.
    pub(super) fn update(
        &mut self,
        s: &Step<'_>,
        p: &str,
        v: &[String],
    ) -> (String, Option<String>) {
        let int = s.int;
        let align = if int == "i32" { 4 } else { 8 };
        if s.shared {
            let old = self.ins(format!("load {int}, ptr {p}, align {align}, {GUEST}"));
            let new = self.updated(s, &old, v);
            self.line(format!("store {int} {new}, ptr {p}, align {align}, {GUEST}"));
            let changed = s.keep.then(|| self.ins(format!("icmp ne {int} {old}, {new}")));
            return (old, changed);
        }
        let old = if let Some(op) = rmw(s.op) {
            let v = &v[0];
            self.ins(format!("atomicrmw {op} ptr {p}, {int} {v} seq_cst, align {align}"))
        } else if s.op == AtomOp::Cas {
            let (v, w) = (&v[0], &v[1]);
            let pair = self.ins(format!(
                "cmpxchg ptr {p}, {int} {v}, {int} {w} seq_cst seq_cst, align {align}"
            ));
            self.ins(format!("extractvalue {{ {int}, i1 }} {pair}, 0"))
        } else {
            self.lane_buffers.insert("lane_o".to_owned());
            let (again, out) = (self.label(), self.label());
            let first = self.ins(format!("load atomic {int}, ptr {p} monotonic, align {align}"));
            self.line(format!("store {int} {first}, ptr %lane_o"));
            self.line(format!("br label %{again}"));
            self.begin(&again);
            let old = self.ins(format!("load {int}, ptr %lane_o"));
            let new = self.updated(s, &old, v);
            let pair = self.ins(format!(
                "cmpxchg weak ptr {p}, {int} {old}, {int} {new} seq_cst seq_cst, align {align}"
            ));
            let now = self.ins(format!("extractvalue {{ {int}, i1 }} {pair}, 0"));
            let done = self.ins(format!("extractvalue {{ {int}, i1 }} {pair}, 1"));
            self.line(format!("store {int} {now}, ptr %lane_o"));
            self.line(format!("br i1 {done}, label %{out}, label %{again}"));
            self.begin(&out);
            self.ins(format!("load {int}, ptr %lane_o"))
        };
        if !s.keep {
            return (old, None);
        }
        let new = self.updated(s, &old, v);
        let changed = self.ins(format!("icmp ne {int} {old}, {new}"));
        (old, Some(changed))
    }

    /// The new value.
    fn updated(&mut self, s: &Step<'_>, old: &str, v: &[String]) -> String {
        let int = s.int;
        let call = |g: &mut Self, name: &str| {
            g.declare(format!("declare {int} @llvm.{name}.{int}({int}, {int})"));
            g.ins(format!("call {int} @llvm.{name}.{int}({int} {old}, {int} {})", v[0]))
        };
        match s.op {
            AtomOp::Add => self.ins(format!("add {int} {old}, {}", v[0])),
            AtomOp::And => self.ins(format!("and {int} {old}, {}", v[0])),
            AtomOp::Or => self.ins(format!("or {int} {old}, {}", v[0])),
            AtomOp::Xor => self.ins(format!("xor {int} {old}, {}", v[0])),
            AtomOp::MinS => call(self, "smin"),
            AtomOp::MaxS => call(self, "smax"),
            AtomOp::MinU => call(self, "umin"),
            AtomOp::MaxU => call(self, "umax"),
            AtomOp::Exch => v[0].clone(),
            AtomOp::Cas => {
                let equal = self.ins(format!("icmp eq {int} {old}, {}", v[0]));
                self.ins(format!("select i1 {equal}, {int} {}, {int} {old}", v[1]))
            }
            AtomOp::Inc => {
                let over = self.ins(format!("icmp uge {int} {old}, {}", v[0]));
                let up = self.ins(format!("add {int} {old}, 1"));
                self.ins(format!("select i1 {over}, {int} 0, {int} {up}"))
            }
            AtomOp::Dec => {
                let zero = self.ins(format!("icmp eq {int} {old}, 0"));
                let over = self.ins(format!("icmp ugt {int} {old}, {}", v[0]));
                let turn = self.ins(format!("or i1 {zero}, {over}"));
                let down = self.ins(format!("sub {int} {old}, 1"));
                self.ins(format!("select i1 {turn}, {int} {}, {int} {down}", v[0]))
            }
            AtomOp::FAdd | AtomOp::FMin | AtomOp::FMax => {
                let attr = FloatAttr { round: Round::Nearest, ftz: s.ftz, ..Default::default() };
                let sum = Inst {
                    op: Op::FAdd,
                    ty: s.ty,
                    from: s.ty,
                    dsts: Default::default(),
                    srcs: [Value::Imm(0), Value::Imm(0)].into_iter().collect(),
                    guard: None,
                    attr: Attr::Float(attr),
                    loc: Default::default(),
                };
                // In shared memory the other way round, as the interpreter does.
                let sources = match s.shared && s.ty == Ty::F64 {
                    true => [v[0].clone(), old.to_owned()],
                    false => [old.to_owned(), v[0].clone()],
                };
                // What becomes a float here is one on this way alone.
                let floats = self.floats.clone();
                let sum = self.float_op(&sum, &sources, false);
                let sum = sum.unwrap_or_else(|| old.to_owned());
                self.floats = floats;
                match s.ty {
                    Ty::F32 => self.canonical_bits(&sum, Class::W, false),
                    _ => sum,
                }
            }
        }
    }

    /// The buffers that atomics and loops of single lanes use.
    pub fn lane_buffers(&self) -> String {
        let mut text = String::new();
        for b in &self.lane_buffers {
            let ty = match b.as_str() {
                "lane_n" | "lone_lanes" | "lone_turns" | "lone_more" | "part_turns" => {
                    "i32".to_owned()
                }
                name if name.starts_with("lone_skips") => "i32".to_owned(),
                name => match name.strip_prefix("lone_one").and_then(|r| r.parse().ok()) {
                    Some(r) => scalar(self.class(Reg(r))).to_owned(),
                    None => self.part_type(name).unwrap_or_else(|| "[32 x i64]".to_owned()),
                },
            };
            let _ = writeln!(text, "  %{b} = alloca {ty}, align 64");
            if b.starts_with("lone_skips") {
                let _ = writeln!(text, "  store i32 0, ptr %{b}");
            }
        }
        text
    }
}

const _: () = assert!(LANES.is_multiple_of(UNROLL));
