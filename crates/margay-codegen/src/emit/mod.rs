// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making the text.
//!
//! Every block of the function exists up to twice (with [`regions`], in each): for all lanes together, with plain branches, and
//! for some of them while others wait, with masks. A branch that parts the lanes goes from the first
//! copy to the second; where all lanes are together again, at the branch's join, control returns.
//! Lanes that wait are kept in a mask for each block, and the lowest block that has any runs next.
//!
//! Registers are stack slots at the borders of blocks, which LLVM turns into values, and values of
//! the text within them.

mod atomic;
mod bins;
mod blocks;
mod bounds;
mod check;
mod control;
mod copy;
mod float;
mod guarded;
mod half;
mod inside;
mod int;
mod lane_checks;
mod lane_loop;
mod lanes;
mod leave;
mod lone;
mod math;
mod memory;
mod merge;
mod multiples;
mod one_block;
mod packed;
mod part_loop;
mod pool;
mod prefetch;
mod private;
mod regions;
mod scatter;
mod streams;
mod strips;
mod strong;
mod teams;
mod turns;
mod value;
mod warp;
mod watch;
mod watch_apart;
mod watch_together;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use margay_ir::{Attr, Function, Inst, Op, Reg, Value};

use crate::analysis::{Facts, Set, is_pure};
use crate::shape::{LANES, Lin, Pattern, Shape, may_narrow};
use crate::{Code, Entry, Exit, Options, Outline, Places, RoomGroup, RoomSite, Root, SYMBOL};

pub(crate) use float::is_native as float_is_native;
pub(crate) use guarded::{stores_row, stores_under_masks};
pub use leave::plain_barrier;
pub(crate) use private::frame as local_frame;
pub(crate) use strips::is_written_out;
use value::Val;

/// Offsets in [`crate::Io`].
macro_rules! io {
    ($field:ident) => {
        std::mem::offset_of!(crate::Io, $field)
    };
}
pub(crate) use io;

/// Fuel that a strong access takes, as in the interpreter.
const POLL_COST: i64 = 200;
/// The same in code for whole blocks, whose warps have more fuel: who polls must give way as early.
const WHOLE_POLL_COST: i64 = 4_000;

pub(crate) struct Gen<'a> {
    pub f: &'a Function,
    pub places: &'a dyn Places,
    pub options: &'a Options,
    pub facts: &'a Facts,
    /// Where text goes; the cold stream takes its place while exits are written.
    out: String,
    cold: String,
    next: u32,
    declares: BTreeSet<String>,
    /// Constant tables that formulas look up.
    tables: Vec<&'static [f64]>,
    /// Values of registers since the block began, and which of them the slots do not have yet.
    current: Vec<Option<Val>>,
    dirty: Set,
    canonical: HashMap<u32, Val>,
    /// The largest values of varying integers, by their names.
    tops: HashMap<String, u64>,
    /// The lanes for which predicates hold, by their names, where scalars tell.
    lane_bits: HashMap<String, lanes::LaneBits>,
    /// Registers that have slots.
    slots: Set,
    entries: Vec<Entry>,
    /// Label of each entry, and its number by block, instruction, and whether lanes are apart.
    entry_labels: Vec<String>,
    entry_at: HashMap<(usize, usize, bool), u32>,
    exits: Vec<Exit>,
    /// Patterns of registers, as entries and exits tell them.
    patterns: RefCell<HashMap<usize, Arc<Pattern>>>,
    pub block: usize,
    /// Other lanes wait.
    pub apart: bool,
    /// The lanes that run: a scalar and, once asked for, a vector.
    mask: String,
    mask_vector: Option<String>,
    /// Registers live before each instruction of the block that may leave.
    live: HashMap<usize, Set>,
    /// Shared accesses that were checked together.
    checked: HashMap<u32, String>,
    /// Global accesses that were checked together: the rooms by which they were.
    inside: HashMap<inside::Through, usize>,
    /// Accesses of the block that are counted already, with one before them.
    told: BTreeSet<usize>,
    /// Accesses of the block of which some are still to be made, that are counted at once.
    apart_groups: Vec<watch_apart::Apart>,
    /// What loads of the block will give, by their numbers: an earlier one brought it along.
    merged: HashMap<usize, String>,
    /// Bits of the processor's vectors.
    vector_bits: u32,
    has_avx2: bool,
    /// See [`merge::has_fast_gathers`].
    fast_gathers: bool,
    /// Lanes that lie apart are read and written one by one: there are no masks for it, or it is faster.
    lone_lanes: bool,
    /// Exits of the block that end alike, and what is live at any of them.
    left: Vec<leave::Left>,
    /// The label of what they have in common.
    common_exit: String,
    leaving: Set,
    /// Registers whose planes have their values.
    planes: Set,
    /// The pointer behind each register.
    roots: Vec<Option<Root>>,
    /// See [`packed::counted`].
    counted: Set,
    groups: Vec<RoomGroup>,
    group_of: HashMap<Root, u32>,
    /// Pointers behind what is only stored: see [`streams`].
    streams: BTreeSet<Root>,
    /// Local memory lies word by word of all lanes.
    pub private: bool,
    rooms: Vec<RoomSite>,
    room_of: HashMap<RoomSite, usize>,
    /// Names of the buffers that atomics use.
    lane_buffers: BTreeSet<String>,
    /// The loop around the block, and where addresses of earlier iterations are kept.
    around: prefetch::Around,
    reach: prefetch::Reach,
    last_addresses: BTreeSet<String>,
    watched: Vec<crate::WatchedAccess>,
    /// The room by which the access that is being written was checked.
    room: Option<usize>,
    /// Long runs of lane-wise ops are written as strips: those of the block, by their first instructions.
    in_strips: bool,
    /// Where slots lie then.
    pool: Option<pool::Pool>,
    strips: HashMap<usize, Rc<strips::Strip>>,
    /// The turn of the strip that is being written.
    turn: Option<Rc<strips::Turn>>,
    /// Where code leaves that is written before it is its turn.
    leave_at: Option<usize>,
    /// A store of the block has waited for the warp's siblings before.
    held: bool,
    /// Floats by the names of their bits, where both are at hand.
    floats: HashMap<String, String>,
    /// The largest values of registers that are in their slots.
    slot_tops: HashMap<u32, u64>,
    /// Linear registers that strips have as vectors.
    stepped: BTreeSet<u32>,
    /// The regions, where the code has some, and the end of the names of the one that is being written.
    regions: Option<regions::Regions>,
    tail: String,
    /// The team that is being written, and the end of the names of its members' slots.
    team: Option<teams::Team>,
    /// The part of a loop that is being written.
    part: Option<part_loop::Part>,
    suffix: String,
    /// Slots of members: registers, and those ends.
    member_slots: BTreeSet<(usize, String)>,
    /// The store, by block and instruction, whose turn it is where the region begins.
    in_turn: Option<(usize, usize)>,
}

/// Makes the text of a function.
pub(crate) fn emit(
    f: &Function,
    places: &dyn Places,
    options: &Options,
    facts: &Facts,
    cpu: &str,
    features: &str,
) -> Code {
    let begin = |form| Gen::new(f, places, options, facts, (cpu, features), form);
    let one_body = |form| {
        let mut g = begin(form);
        g.write_blocks();
        g
    };
    let in_strips = || {
        let pays = strips::pays(f, facts, options, vector_bits(cpu, features));
        let g = pays.then(|| one_body(Form::Strips))?;
        g.pool.as_ref().is_none_or(|pool| pool.bytes() <= pool::MOST_BYTES).then_some(g)
    };
    let by_regions = || {
        let mut g = regions::pay(options).then(|| begin(Form::Regions))?;
        g.write_regions().then_some(g)
    };
    let code = in_strips().or_else(by_regions).unwrap_or_else(|| one_body(Form::Plain));
    code.finish(cpu, features)
}

/// How the code is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One body for all entries.
    Plain,
    /// The same, in loops over parts of the warp.
    Strips,
    /// A body for each entry.
    Regions,
}

/// Bits of a processor's vectors.
pub(crate) fn vector_bits(cpu: &str, features: &str) -> u32 {
    if cpu == "x86-64-v4" || features.contains("+avx512vl") { 512 } else { 256 }
}

impl<'a> Gen<'a> {
    fn new(
        f: &'a Function,
        places: &'a dyn Places,
        options: &'a Options,
        facts: &'a Facts,
        (cpu, features): (&str, &str),
        form: Form,
    ) -> Gen<'a> {
        let strips = form == Form::Strips;
        let mut g = Gen {
            f,
            places,
            options,
            facts,
            out: String::new(),
            cold: String::new(),
            next: 0,
            declares: BTreeSet::new(),
            tables: Vec::new(),
            current: vec![None; f.regs.len()],
            dirty: Set::new(f.regs.len()),
            canonical: HashMap::new(),
            tops: HashMap::new(),
            lane_bits: HashMap::new(),
            slots: Set::new(f.regs.len()),
            entries: Vec::new(),
            entry_labels: Vec::new(),
            entry_at: HashMap::new(),
            exits: Vec::new(),
            patterns: RefCell::default(),
            block: 0,
            apart: false,
            mask: String::new(),
            mask_vector: None,
            live: HashMap::new(),
            checked: HashMap::new(),
            inside: HashMap::new(),
            told: BTreeSet::new(),
            apart_groups: Vec::new(),
            merged: HashMap::new(),
            fast_gathers: merge::has_fast_gathers(cpu),
            vector_bits: vector_bits(cpu, features),
            has_avx2: cpu == "x86-64-v3" || features.contains("+avx2"),
            lone_lanes: vector_bits(cpu, features) == 256 || merge::has_slow_masked_gathers(cpu),
            left: Vec::new(),
            common_exit: String::new(),
            leaving: Set::new(f.regs.len()),
            planes: Set::new(f.regs.len()),
            roots: crate::roots::roots(f),
            counted: packed::counted(f),
            groups: Vec::new(),
            streams: streams::written_only(f, options),
            private: private::is_private(f, options),
            group_of: HashMap::new(),
            rooms: Vec::new(),
            room_of: HashMap::new(),
            lane_buffers: BTreeSet::new(),
            around: prefetch::Around::default(),
            reach: prefetch::Reach::of(cpu),
            last_addresses: BTreeSet::new(),
            watched: Vec::new(),
            room: None,
            in_strips: strips,
            pool: strips.then(|| pool::Pool::new(f, facts)),
            strips: HashMap::new(),
            turn: None,
            leave_at: None,
            held: false,
            floats: HashMap::new(),
            slot_tops: HashMap::new(),
            stepped: BTreeSet::new(),
            regions: (form == Form::Regions).then(regions::Regions::default),
            tail: String::new(),
            team: None,
            part: None,
            suffix: String::new(),
            member_slots: BTreeSet::new(),
            in_turn: None,
        };
        g.start_entry();
        g
    }

    /// Writes all blocks once.
    fn write_blocks(&mut self) {
        for b in 0..self.f.blocks.len() {
            if self.options.loops && self.facts.headers.has(b) {
                self.add_entry(b, 0, format!("C{b}"), false);
            }
        }
        for b in 0..self.f.blocks.len() {
            self.block(b, false);
        }
        for b in 0..self.f.blocks.len() {
            if self.facts.waiting[b].is_some() {
                self.block(b, true);
            }
        }
    }
}

impl Gen<'_> {
    /// A new name.
    pub fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    pub fn label(&mut self) -> String {
        self.next += 1;
        format!("L{}", self.next)
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str("  ");
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    /// Writes an instruction with a result.
    pub fn ins(&mut self, text: impl AsRef<str>) -> String {
        let name = self.name();
        let _ = writeln!(self.out, "  {name} = {}", text.as_ref());
        name
    }

    /// Writes lines as they are.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub fn begin(&mut self, label: &str) {
        let _ = writeln!(self.out, "{label}:");
    }

    pub fn declare(&mut self, text: impl Into<String>) {
        self.declares.insert(text.into());
    }

    /// Writes what `work` writes out of the way of the hot path.
    pub fn aside(&mut self, work: impl FnOnce(&mut Self)) {
        std::mem::swap(&mut self.out, &mut self.cold);
        work(self);
        std::mem::swap(&mut self.out, &mut self.cold);
    }

    /// Goes on at a new label if `ok`, else to `otherwise`, which is unlikely.
    pub fn expect(&mut self, ok: &str, otherwise: &str) {
        let go_on = self.label();
        self.line(format!("br i1 {ok}, label %{go_on}, label %{otherwise}, !prof !0"));
        self.begin(&go_on);
    }

    /// The same for the check of an access.
    pub fn expect_inside(&mut self, ok: &str, otherwise: &str) {
        if !cfg!(feature = "unchecked") {
            self.expect(ok, otherwise);
        }
    }

    /// A pointer to a field of [`crate::Io`].
    pub fn io(&mut self, offset: usize) -> String {
        self.ins(format!("getelementptr inbounds i8, ptr %io, i64 {offset}"))
    }

    /// The value of a field of [`crate::Io`] that stays as it is while the code runs.
    pub fn io_load(&mut self, ty: &str, offset: usize) -> String {
        let at = self.io(offset);
        self.ins(format!("load {ty}, ptr {at}, {}", blocks::FIXED))
    }

    pub fn io_store(&mut self, ty: &str, value: &str, offset: usize) {
        let at = self.io(offset);
        self.line(format!("store {ty} {value}, ptr {at}, !alias.scope !1, !noalias !2"));
    }

    /// Whether all 32 lanes run.
    pub fn all(&self) -> bool {
        !self.apart && self.options.full
    }

    /// The lanes that run, as a vector.
    pub fn lanes(&mut self) -> String {
        if self.all() {
            return "splat (i1 true)".to_owned();
        }
        if let Some(v) = &self.mask_vector {
            return v.clone();
        }
        let mask = self.mask.clone();
        let v = match self.turn.clone() {
            Some(turn) => self.part_lanes(&turn),
            None => self.flags(&mask),
        };
        self.mask_vector = Some(v.clone());
        v
    }

    /// The bits of a word as flags of the lanes.
    pub fn flags(&mut self, bits: &str) -> String {
        if self.vector_bits == 512 {
            return self.ins(format!("bitcast i32 {bits} to <32 x i1>"));
        }
        // Without mask registers LLVM takes the word apart bit by bit; a comparison is three instructions a vector.
        let all = self.splat("i32", bits);
        let own = vector_of("i32", (0..LANES).map(|l| (1u32 << l) as i32 as i64));
        let both = self.ins(format!("and <32 x i32> {all}, {own}"));
        self.ins(format!("icmp ne <32 x i32> {both}, zeroinitializer"))
    }

    pub fn pc(&self, inst: usize) -> u32 {
        self.places.pc(self.block, inst)
    }

    /// Forgets the values of registers; they are in their slots.
    fn forget(&mut self) {
        self.current.iter_mut().for_each(|v| *v = None);
        self.canonical.clear();
        self.checked.clear();
        self.inside.clear();
        self.merged.clear();
        self.apart_groups.clear();
        self.slot_tops.clear();
        self.floats.clear();
    }

    fn block(&mut self, b: usize, apart: bool) {
        (self.block, self.apart) = (b, apart);
        self.told.clear();
        self.forget();
        self.mask_vector = None;
        self.held = false;
        self.planes = match apart {
            true => self.facts.planes_apart.clone(),
            false => self.facts.planes[b].clone(),
        };
        self.find_strips(b);
        self.find_live(b);
        self.look_around(b);
        let label = self.block_copy(apart, b);
        self.begin(&label);
        if apart && !self.facts.apart.has(b) {
            // Nobody waits, and so all are here.
            self.line(format!("store i32 0, ptr %w{b}"));
            let all = self.block_copy(false, b);
            self.line(format!("br label %{all}"));
            return;
        }
        if apart {
            self.begin_apart(b);
        } else if self.options.full {
            self.mask = "-1".to_owned();
        } else {
            self.mask = self.ins("load i32, ptr %live");
        }
        self.count_block(b);
        self.lane_loop(b);
        self.part_loop(b);
        let fuel = self.ins("load i64, ptr %fuel");
        let less = self.ins(format!("sub i64 {fuel}, {}", self.f.blocks[b].insts.len() + 1));
        self.line(format!("store i64 {less}, ptr %fuel"));
        self.rest_of_block(0);
    }

    /// Writes the block from instruction `n` on.
    fn rest_of_block(&mut self, mut n: usize) {
        let f = self.f;
        let block = &f.blocks[self.block];
        self.count_written(block.insts.len() - n);
        // A region may have one block from its head and from the middle on.
        self.common_exit = self.label();
        let mut whole = true;
        while whole && n < block.insts.len() {
            if let Some(strip) = self.strips.get(&n).cloned() {
                self.written_from_here(&block.insts[n..strip.end]);
                self.strip(n, &strip);
                n = strip.end;
            } else {
                whole = self.instruction(n, &block.insts[n]);
                self.written_from_here(&block.insts[n..=n]);
                n += 1;
            }
        }
        if whole {
            self.terminator(&block.term, block.insts.len());
        }
        self.end_exits();
    }

    /// Whose planes hold their values behind these instructions.
    fn written_from_here(&mut self, insts: &[Inst]) {
        for inst in insts {
            crate::planes::step(inst, &mut self.planes);
        }
    }

    /// Registers live before each instruction, for those that may leave.
    fn find_live(&mut self, b: usize) {
        self.live.clear();
        let block = &self.f.blocks[b];
        let mut live = self.facts.live_out[b].clone();
        if let Some(r) = margay_ir::analysis::liveness::term_use(&block.term) {
            live.insert(r.0 as usize);
        }
        if matches!(block.term, margay_ir::Term::Ret) {
            for p in &self.f.rets {
                if let Some(margay_ir::CallArg::Value(Value::Reg(r), _)) = p.place {
                    live.insert(r.0 as usize);
                }
            }
        }
        self.live.insert(block.insts.len(), live.clone());
        for (n, inst) in block.insts.iter().enumerate().rev() {
            crate::analysis::step_back(inst, &mut live);
            let after = block.insts.get(n.wrapping_sub(1)).is_some_and(may_leave);
            if may_leave(inst) || after || self.strips.contains_key(&n) {
                self.live.insert(n, live.clone());
            }
        }
    }

    // Arms of one shape: an op's code, or else the handler.
    #[allow(clippy::collapsible_match, clippy::collapsible_if)]
    /// Writes one instruction. False if the rest of the block cannot be reached.
    fn instruction(&mut self, n: usize, inst: &Inst) -> bool {
        match inst.op {
            Op::Bar if !self.apart && leave::plain_barrier(inst).is_some() => {
                self.barrier(n, inst);
                return !self.by_regions();
            }
            _ if must_leave(inst.op) => {
                self.leave_for(n);
                return !self.apart && !self.by_regions();
            }
            // Only the interpreter tells what these do to values that were never written.
            Op::AtomWide | Op::CpAsync if self.options.watched.admissions => {
                self.leave_for(n);
                return !self.apart && !self.by_regions();
            }
            Op::Sreg => {
                if self.special(n, inst) {
                    return true;
                }
            }
            Op::Addr => {
                if let Some(Shape::Lin(lin)) = self.facts.results(inst, self.options).first()
                    && let Some(bits) = lin.constant
                {
                    let base = value::literal(margay_ir::Class::D, bits);
                    self.assign(inst, Val::Lin { base, u: None, lin: lin.clone() });
                    return true;
                }
                if let Some(at) = self.places.constant(self.pc(n)) {
                    let consts = self.io_load("ptr", io!(consts));
                    let p = self.ins(format!("getelementptr i8, ptr {consts}, i64 {at}"));
                    let base = self.ins(format!("load i64, ptr {p}, !alias.scope !1, !noalias !2"));
                    let Shape::Lin(lin) = &self.facts.results(inst, self.options)[0] else {
                        return self.by_handler(n, inst);
                    };
                    self.assign(inst, Val::Lin { base, u: None, lin: lin.clone() });
                    return true;
                }
            }
            Op::Ld => {
                if self.load(n, inst) {
                    return true;
                }
            }
            Op::St => {
                if self.store(n, inst) {
                    return true;
                }
            }
            Op::Atom => {
                if self.atomic(n, inst) {
                    return true;
                }
            }
            Op::Cvta | Op::CvtaTo => {
                if self.convert_address(inst) {
                    return true;
                }
            }
            Op::Fence if !self.options.watched.fences => {
                self.line("fence seq_cst");
                return true;
            }
            Op::CpAsync => {
                if self.copy(n, inst) {
                    return true;
                }
            }
            Op::CpAsyncCommit | Op::CpAsyncWait | Op::Prefetch => return true,
            Op::Mbarrier if !self.options.watched.warp_syncs => return true,
            op if self.options.watched.warp_syncs && (waits(op) || op == Op::BarWarp) => {
                if !self.all() {
                    // The handler may have to wait, and would report it again afterwards.
                    self.leave_for(n);
                    return !self.apart;
                }
            }
            Op::Vote | Op::Ballot | Op::Shfl | Op::Redux | Op::BarWarp | Op::ActiveMask => {
                if self.warp_op(n, inst) {
                    return true;
                }
            }
            Op::Builtin => {
                if self.formula(n, inst) {
                    return true;
                }
            }
            op if is_pure(op) => {
                if self.formula(n, inst) || self.pure(n, inst) {
                    return true;
                }
            }
            _ => {}
        }
        self.by_handler(n, inst)
    }

    /// Writes a lane-wise op. False if there is no lowering.
    fn pure(&mut self, n: usize, inst: &Inst) -> bool {
        let shape = self.facts.results(inst, self.options).into_iter().next();
        if let Some(Shape::Lin(lin)) = shape {
            return self.linear(n, inst, &lin);
        }
        let address = self.address_form(inst);
        let most = self.most_of_result(inst);
        let Some(name) = self.lanewise(inst, true) else { return false };
        self.note_most(&name, most);
        self.note_lanes(inst, &name);
        self.assign(inst, Val::Vec { name, addr: address.map(Rc::new) });
        true
    }

    /// Runs the interpreter's handler on planes. False if the rest cannot be reached.
    fn by_handler(&mut self, n: usize, inst: &Inst) -> bool {
        if self.team.is_some() {
            self.fail_team();
            return true;
        }
        let pc = self.pc(n);
        self.line(format!("; {:?} by its handler", inst.op));
        for &v in &inst.srcs {
            if let Value::Reg(r) = v {
                self.spill_whole(r);
            }
        }
        if let Some(g) = inst.guard {
            self.spill_whole(g.pred);
        }
        let guarded = inst.guard.is_some();
        for &r in &inst.dsts {
            if guarded || !self.all() {
                self.spill_whole(r);
            }
        }
        // The handler may know no guard: see `selects.rs`.
        let mask = match inst.guard {
            Some(guard) => {
                let some = self.lanes_of(guard);
                self.ins(format!("bitcast <32 x i1> {some} to i32"))
            }
            None => self.mask.clone(),
        };
        let status = self.call_handler(pc, &mask);
        if matches!(inst.attr, Attr::Mem(_) | Attr::Atom { .. }) {
            self.take_poll_cost();
        }
        let asks = self.options.watched.admissions && memory::may_be_turned_away(inst.op);
        self.after_handler(n, &status, asks || waits(inst.op));
        for &r in &inst.dsts {
            let v = self.load_plane(r, true);
            self.put(r, v);
        }
        true
    }

    /// Calls the handler of the instruction at `pc`.
    pub fn call_handler(&mut self, pc: u32, mask: &str) -> String {
        self.tell_running();
        let op = self.io_load("ptr", io!(op));
        let context = self.io_load("ptr", io!(context));
        self.ins(format!("call i32 {op}(ptr {context}, i32 {pc}, i32 {mask})"))
    }

    /// The same where hardly ever anything is called: LLVM keeps its registers across.
    pub fn call_handler_keeping(&mut self, pc: u32, mask: &str) -> String {
        self.tell_running();
        let op = self.io_load("ptr", io!(op_keeping));
        let context = self.io_load("ptr", io!(context));
        self.ins(format!(
            "call i32 asm sideeffect \"callq *$1\", \"={{eax}},r,{{rdi}},{{esi}},{{edx}},~{{memory}},\
             ~{{dirflag}},~{{fpsr}},~{{flags}}\"(ptr {op}, ptr {context}, i32 {pc}, i32 {mask})"
        ))
    }

    /// Leaves if a handler faulted or did not execute.
    pub fn after_handler(&mut self, n: usize, status: &str, waits: bool) {
        let ok = self.ins(format!("icmp eq i32 {status}, 0"));
        let bad = self.label();
        self.expect(&ok, &bad);
        let status = status.to_owned();
        let exit = waits.then(|| self.exit(crate::Reason::Interpret, n, None));
        self.aside(|g| {
            g.begin(&bad);
            match exit {
                Some(label) => {
                    let fault = g.ins(format!("icmp eq i32 {status}, 1"));
                    g.line(format!("br i1 {fault}, label %fault, label %{label}"));
                }
                None => g.line("br label %fault"),
            }
        });
    }

    fn finish(mut self, cpu: &str, features: &str) -> Code {
        let mut text = String::with_capacity(self.out.len() + self.cold.len() + 4096);
        let mut allocas = self.lane_buffers();
        allocas.push_str(&self.strip_buffers());
        if let Some(pool) = &self.pool {
            allocas.push_str(&pool.opening());
        }
        let own = self.slots.iter().filter(|&r| !self.is_pooled(Reg(r as u32)));
        let members = self.member_slots.iter().map(|(r, suffix)| (*r, suffix.as_str()));
        for (r, suffix) in own.map(|r| (r, "")).chain(members) {
            let class = self.f.regs[r];
            match &self.facts.shapes[r] {
                Shape::Lin(lin) => {
                    let ty = value::scalar(class);
                    let _ = writeln!(allocas, "  %r{r}{suffix} = alloca {ty}");
                    if lin.form.q.is_some() {
                        let _ = writeln!(allocas, "  %u{r}{suffix} = alloca {ty}");
                    }
                }
                Shape::None | Shape::Varying => {
                    let ty = self.slot_type(class);
                    let _ = writeln!(allocas, "  %r{r}{suffix} = alloca {ty}");
                }
            }
        }
        for at in &self.last_addresses {
            let _ = writeln!(allocas, "  %{at} = alloca i64\n  store i64 0, ptr %{at}");
        }
        if self.options.watched.accesses {
            let _ = writeln!(allocas, "  %watched = alloca <32 x i64>, align 64");
        }
        if self.options.watched.values {
            let _ = writeln!(allocas, "  %stored = alloca <32 x i64>, align 64");
        }
        for b in 0..self.f.blocks.len() {
            if self.facts.waiting[b].is_some() {
                let _ = writeln!(allocas, "  %w{b} = alloca i32");
            }
        }
        let _ = writeln!(
            text,
            "define i32 @{SYMBOL}(ptr noalias nocapture align 8 dereferenceable({}) %io, \
             i32 %entry, i32 %lanes) #0 {{",
            std::mem::size_of::<crate::Io>()
        );
        self.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)");
        if !self.streams.is_empty() {
            self.declare("declare void @llvm.x86.sse.sfence()");
        }
        text.push_str(&self.opening(&allocas));
        text.push_str(&self.out);
        text.push_str(&self.cold);
        text.push_str(&self.closing());
        text.push_str("}\n");
        for (n, table) in self.tables.iter().enumerate() {
            let values: Vec<String> =
                table.iter().map(|v| format!("double 0x{:016X}", v.to_bits())).collect();
            let _ = writeln!(
                text,
                "@table{n} = private constant [{} x double] [{}], align 64",
                table.len(),
                values.join(", ")
            );
        }
        if let Some(pool) = &self.pool {
            text.push_str(&pool.tables());
        }
        for d in &self.declares {
            text.push_str(d);
            text.push('\n');
        }
        let mut features = features.to_owned();
        if self.lone_lanes && self.vector_bits == 512 {
            features.push_str(",+prefer-no-gather,+prefer-no-scatter");
        }
        let _ = writeln!(
            text,
            "attributes #0 = {{ nounwind noredzone \"target-cpu\"=\"{cpu}\" \"target-features\"=\"{features}\" \
             \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"0\" \
             \"no-trapping-math\"=\"true\" }}\n\
             !0 = !{{!\"branch_weights\", i32 100000, i32 1}}\n\
             !1 = !{{!3}}\n!2 = !{{!4}}\n!3 = !{{!3, !5, !\"engine\"}}\n!4 = !{{!4, !5, !\"guest\"}}\n\
             !5 = !{{!5}}\n!6 = !{{}}\n!7 = !{{i64 {}}}\n!8 = !{{i64 {}}}\n!9 = !{{i64 8}}\n!10 = !{{i32 1}}",
            self.f.param_size.max(1),
            (self.rooms.len() * std::mem::size_of::<crate::Room>()).max(1)
        );
        Code {
            text,
            strips: self.in_strips,
            outline: Outline {
                entries: std::mem::take(&mut self.entries),
                exits: std::mem::take(&mut self.exits),
                private: self.private,
                groups: std::mem::take(&mut self.groups),
                rooms: std::mem::take(&mut self.rooms),
                watched: std::mem::take(&mut self.watched),
            },
        }
    }
}

/// Ops that only the interpreter runs, and after which it may enter the code again.
pub(crate) fn must_leave(op: Op) -> bool {
    matches!(
        op,
        Op::Bar
            | Op::BarRed
            | Op::BarCluster
            | Op::Call
            | Op::Syscall
            | Op::NanoSleep
            | Op::Trap
            | Op::Brkpt
            | Op::Unsupported
    )
}

/// Ops that wait for lanes that have not arrived.
pub fn waits(op: Op) -> bool {
    matches!(
        op,
        Op::Vote
            | Op::Ballot
            | Op::MatchAny
            | Op::MatchAll
            | Op::Shfl
            | Op::Redux
            | Op::Elect
            | Op::BarWarp
    )
}

/// Whether an op makes 64 bits of 32, or keeps 32 of 64: a linear value that turns out to be none any more leaves the code.
fn checks_steps(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::SExt | Op::ZExt | Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU
    ) || may_narrow(inst)
}

/// Whether code for the instruction may have to leave with live registers.
fn may_leave(inst: &Inst) -> bool {
    must_leave(inst.op)
        || checks_steps(inst)
        || matches!(
            inst.op,
            Op::Ld
                | Op::St
                | Op::Atom
                | Op::AtomWide
                | Op::Vote
                | Op::Ballot
                | Op::MatchAny
                | Op::MatchAll
                | Op::Shfl
                | Op::Redux
                | Op::Elect
                | Op::BarWarp
                | Op::CpAsync
        )
}

/// The only destination of an instruction.
pub(crate) fn destination(inst: &Inst) -> Option<Reg> {
    inst.dsts.first().copied()
}

pub(crate) fn lin_of(shape: &Shape) -> Option<Rc<Lin>> {
    match shape {
        Shape::Lin(l) => Some(l.clone()),
        Shape::None | Shape::Varying => None,
    }
}

/// A constant vector.
pub(crate) fn vector_of(ty: &str, values: impl IntoIterator<Item = i64>) -> String {
    let one = |v: i64| match ty {
        "i1" => format!("i1 {}", v != 0),
        _ => format!("{ty} {v}"),
    };
    let items: Vec<String> = values.into_iter().map(one).collect();
    format!("<{}>", items.join(", "))
}
