// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be known of a whole function before code is made: shapes of registers, where lanes may
//! wait while others run, which registers live, which may hold a NaN that is not canonical yet.
//!
//! Shapes and divergence depend on one another: a branch on a varying predicate parts the lanes, and
//! a register that is written while other lanes wait where it is live is varying. Both only grow, so
//! they are found together, from nothing known to be different.

use std::collections::HashMap;

use margay_ir::analysis::cfg::successors;
use margay_ir::analysis::liveness::{for_each_def, for_each_use, placed, term_use};
use margay_ir::{
    Attr, Class, Function, Inst, MemAttr, Op, Reg, Sem, ShflMode, Space, Sreg, Term, Ty, Value,
};

use crate::Options;
use crate::shape::{self, LANES, Lin, Shape, Steps};

/// A set of small numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    pub fn new(size: usize) -> Set {
        Set(vec![0; size.div_ceil(64)])
    }
    pub fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 != 0
    }
    pub fn insert(&mut self, i: usize) -> bool {
        let new = !self.has(i);
        self.0[i / 64] |= 1 << (i % 64);
        new
    }
    pub fn remove(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }
    /// All numbers below `size`, and perhaps a few above.
    pub fn full(size: usize) -> Set {
        Set(vec![u64::MAX; size.div_ceil(64)])
    }
    /// Makes it [`Set::full`].
    pub fn fill(&mut self) {
        self.0.fill(u64::MAX);
    }
    /// Removes what the other set lacks. Whether that was anything.
    pub fn keep(&mut self, other: &Set) -> bool {
        let mut shrank = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            shrank |= *a & !*b != 0;
            *a &= b;
        }
        shrank
    }
    pub fn add(&mut self, other: &Set) -> bool {
        let mut grew = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            grew |= *b & !*a != 0;
            *a |= b;
        }
        grew
    }
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(w, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let b = left.trailing_zeros() as usize;
                    left &= left - 1;
                    w * 64 + b
                })
            })
        })
    }
}

/// See the module.
pub struct Facts {
    pub shapes: Vec<Shape>,
    /// Registers whose NaNs are made canonical only where their bits are looked at.
    pub lazy: Vec<bool>,
    pub live_in: Vec<Set>,
    pub live_out: Vec<Set>,
    /// For each block that may run while other lanes wait: the blocks where they may.
    pub waiting: Vec<Option<Set>>,
    /// Registers live where others may wait.
    pub kept: Vec<Option<Set>>,
    pub succs: Vec<Vec<usize>>,
    /// Blocks that need code for some lanes: where all that live are there, that for all serves.
    pub apart: Set,
    /// Blocks where lanes that parted may be together again.
    pub joins: Set,
    /// Targets of backward edges.
    pub headers: Set,
    /// Registers whose planes hold their values where a block's code for all lanes begins, and where any code for some does.
    pub planes: Vec<Set>,
    pub planes_apart: Set,
    /// Parameters that are multiples of 16.
    pointers: Vec<u32>,
    /// The window that a register's generic addresses lie in, if that is known and nobody watches.
    windows: Vec<Option<Space>>,
    /// Whether somebody watches.
    watched: bool,
    /// Address of the local frame, if all lanes have one.
    local_frame: Option<u64>,
    /// Moves, by their addresses, of registers that have just been given a constant.
    constant_moves: HashMap<*const Inst, u64>,
}

/// One step backwards over an instruction.
pub fn step_back(inst: &Inst, live: &mut Set) {
    if inst.guard.is_none() {
        for_each_def(inst, |r| live.remove(r.0 as usize));
    }
    for_each_use(inst, |r| {
        live.insert(r.0 as usize);
    });
}

impl Facts {
    pub fn new(f: &Function, options: &Options) -> Facts {
        let count = f.blocks.len();
        let succs: Vec<Vec<usize>> = f
            .blocks
            .iter()
            .map(|b| successors(&b.term).iter().map(|s| s.0 as usize).collect())
            .collect();
        let (live_in, live_out) = liveness(f, &succs);
        let mut headers = Set::new(count);
        for (b, to) in succs.iter().enumerate() {
            for &t in to.iter().filter(|&&t| t <= b) {
                headers.insert(t);
            }
        }
        let mut facts = Facts {
            shapes: vec![Shape::None; f.regs.len()],
            lazy: lazy(f),
            live_in,
            live_out,
            waiting: vec![None; count],
            kept: vec![None; count],
            succs,
            apart: Set::new(count),
            joins: Set::new(count),
            headers,
            planes: Vec::new(),
            planes_apart: Set::new(f.regs.len()),
            pointers: if options.plain { crate::pointers(f) } else { Vec::new() },
            windows: match options.watched.any() {
                true => vec![None; f.regs.len()],
                false => margay_ir::analysis::windows::windows(f),
            },
            watched: options.watched.any(),
            local_frame: crate::emit::local_frame(f),
            constant_moves: constant_moves(f),
        };
        facts.solve(f, options);
        facts.joins = facts.find_joins(f);
        facts.apart = facts.find_apart(f, options);
        (facts.planes, facts.planes_apart) = crate::planes::find(f, &facts);
        facts
    }

    /// Whether a write to `r` in block `b` must leave the lanes that wait elsewhere alone.
    pub fn must_keep(&self, b: usize, r: Reg) -> bool {
        self.kept[b].as_ref().is_some_and(|k| k.has(r.0 as usize))
    }

    pub fn shape(&self, r: Reg) -> &Shape {
        &self.shapes[r.0 as usize]
    }

    /// The window in which an access by generic addresses is likely to go: shared memory's or local memory's.
    pub fn window(&self, inst: &Inst, mem: &MemAttr) -> Option<Space> {
        match inst.srcs.first() {
            Some(&Value::Reg(r)) if mem.space == Space::Generic => self.windows[r.0 as usize],
            Some(_) | None => None,
        }
    }

    /// Whether all lanes of one load at one address read one value. A generic address may be local memory's, so only loads count that
    /// ask for that where they fail: not those for which a window is likely, or which a guard leaves to the handler.
    pub fn loads_once(&self, inst: &Inst, mem: &MemAttr) -> bool {
        mem.sem == Sem::Weak
            && match mem.space {
                Space::Global | Space::Shared | Space::Param | Space::Const => true,
                Space::Generic => {
                    !self.watched && inst.guard.is_none() && self.window(inst, mem).is_none()
                }
                Space::Local => false,
            }
    }

    /// Whether the lanes of one fragment may want different ways at the end of the block.
    pub fn parts(&self, f: &Function, b: usize) -> bool {
        match &f.blocks[b].term {
            Term::CondBr { pred, then, els, .. } => then != els && !self.shape(*pred).is_uniform(),
            Term::BrTable { index: Value::Reg(r), .. } => !self.shape(*r).is_uniform(),
            Term::BrTable { .. } | Term::Br(_) | Term::Ret | Term::Exit => false,
        }
    }

    fn solve(&mut self, f: &Function, options: &Options) {
        // What no instruction writes before it is read is zero in a new frame, or an argument.
        for r in self.live_in.first().into_iter().flat_map(|s| s.iter().collect::<Vec<_>>()) {
            self.shapes[r] = if f.is_entry { Shape::lin(Lin::constant(0)) } else { Shape::Varying };
        }
        for r in placed(&f.params) {
            self.shapes[r.0 as usize] = Shape::Varying;
        }
        loop {
            let mut grew = false;
            for (b, block) in f.blocks.iter().enumerate() {
                for inst in &block.insts {
                    let mut found = self.results(inst, options);
                    let mut n = 0;
                    for_each_def(inst, |r| {
                        let mut s = found
                            .get_mut(n)
                            .map_or(Shape::Varying, |s| std::mem::replace(s, Shape::None));
                        n += 1;
                        if let Some(g) = inst.guard
                            && !self.shape(g.pred).is_uniform()
                        {
                            s = Shape::Varying;
                        }
                        if self.must_keep(b, r) {
                            s = Shape::Varying;
                        }
                        let old = &self.shapes[r.0 as usize];
                        let new = old.join(&s);
                        if new != *old {
                            self.shapes[r.0 as usize] = new;
                            grew = true;
                        }
                    });
                }
            }
            if !grew && !self.spread(f) {
                return;
            }
        }
    }

    /// Finds where lanes may wait, from the branches that part them. Whether anything is new.
    fn spread(&mut self, f: &Function) -> bool {
        let count = f.blocks.len();
        let mut work: Vec<usize> = (0..count).collect();
        let mut any = false;
        while let Some(b) = work.pop() {
            // Lanes that are all together.
            if self.parts(f, b) {
                any |= self.go_on(f, b, &Set::new(count), &mut work);
            }
            if let Some(w) = self.waiting[b].clone() {
                any |= self.go_on(f, b, &w, &mut work);
            }
        }
        any
    }

    /// Block `b` was run while lanes wait at `others`: who may run next, and who waits then.
    fn go_on(&mut self, f: &Function, b: usize, others: &Set, work: &mut Vec<usize>) -> bool {
        let next = self.succs[b].clone();
        if next.is_empty() || self.parts(f, b) {
            return self.go_to(&next, others, work);
        }
        // All lanes go one way.
        next.iter().fold(false, |any, &s| self.go_to(&[s], others, work) | any)
    }

    /// Lanes are sent to all of `targets` while others wait at `others`.
    fn go_to(&mut self, targets: &[usize], others: &Set, work: &mut Vec<usize>) -> bool {
        let count = self.succs.len();
        let mut all = others.clone();
        for &s in targets {
            all.insert(s);
        }
        let last = targets.iter().copied().max().unwrap_or(usize::MAX);
        let order: Vec<usize> = all.iter().collect();
        let mut any = false;
        for (n, &next) in order.iter().enumerate().take_while(|&(_, &j)| j <= last) {
            let mut rest = Set::new(count);
            let mut kept = Set::new(self.shapes.len());
            for &w in &order[n + 1..] {
                rest.insert(w);
                kept.add(&self.live_in[w]);
            }
            let slot = self.waiting[next].get_or_insert_with(|| {
                any = true;
                work.push(next);
                Set::new(count)
            });
            if slot.add(&rest) {
                any = true;
                work.push(next);
            }
            let slot = self.kept[next].get_or_insert_with(|| Set::new(kept.0.len() * 64));
            slot.add(&kept);
        }
        any
    }

    /// Blocks that run while others wait; and where code for all counts on 32 lanes, those that are
    /// reached after some have ended.
    fn find_apart(&self, f: &Function, options: &Options) -> Set {
        let count = f.blocks.len();
        let mut apart = Set::new(count);
        let waits = |b: usize| self.waiting[b].as_ref().is_some_and(|w| w.iter().next().is_some());
        let mut work: Vec<usize> = (0..count).filter(|&b| waits(b)).collect();
        let mut after = Set::new(count);
        while let Some(b) = work.pop() {
            if !apart.has(b) {
                apart.insert(b);
            }
            let ends = match f.blocks[b].term {
                Term::Exit => true,
                Term::Ret => f.is_entry,
                Term::Br(_) | Term::CondBr { .. } | Term::BrTable { .. } => false,
            };
            if !ends || !options.full {
                continue;
            }
            // Whoever waited there goes on without those that ended.
            let mut reach: Vec<usize> = self.waiting[b].iter().flat_map(|w| w.iter()).collect();
            while let Some(r) = reach.pop() {
                if after.has(r) {
                    continue;
                }
                after.insert(r);
                reach.extend(&self.succs[r]);
                if self.waiting[r].is_some() && !apart.has(r) {
                    apart.insert(r);
                    work.push(r);
                }
            }
        }
        apart
    }

    /// Immediate post-dominators of the blocks at which lanes part.
    fn find_joins(&self, f: &Function) -> Set {
        let count = f.blocks.len();
        let mut joins = Set::new(count);
        // Post-dominators by sets; the exit of all is one more node.
        let full = {
            let mut s = Set::new(count + 1);
            (0..=count).for_each(|i| {
                s.insert(i);
            });
            s
        };
        let mut post = vec![full; count];
        let mut changed = true;
        while changed {
            changed = false;
            for b in (0..count).rev() {
                let mut new: Option<Set> = None;
                for &s in &self.succs[b] {
                    new = Some(match new {
                        None => post[s].clone(),
                        Some(mut n) => {
                            n.0.iter_mut().zip(&post[s].0).for_each(|(a, b)| *a &= b);
                            n
                        }
                    });
                }
                let mut new = new.unwrap_or_else(|| {
                    let mut s = Set::new(count + 1);
                    s.insert(count);
                    s
                });
                new.insert(b);
                if new != post[b] {
                    post[b] = new;
                    changed = true;
                }
            }
        }
        for b in (0..count).filter(|&b| self.parts(f, b)) {
            let size = |x: usize| post[x].iter().count();
            let near = post[b].iter().filter(|&x| x != b && x < count).max_by_key(|&x| size(x));
            if let Some(j) = near {
                joins.insert(j);
            }
        }
        joins
    }

    /// The shape of a source operand.
    pub fn operand(&self, v: Value) -> Shape {
        match v {
            Value::Reg(r) => self.shape(r).clone(),
            Value::Imm(bits) => Shape::lin(Lin::constant(bits)),
        }
    }

    /// The shapes of an instruction's results, if each lane's operands have these.
    pub fn results(&self, inst: &Inst, options: &Options) -> Vec<Shape> {
        let one = |s: Shape| vec![s];
        let operands: Vec<Shape> = inst.srcs.iter().map(|&v| self.operand(v)).collect();
        if operands.contains(&Shape::None) {
            // Not reached yet.
            return vec![Shape::None; inst.dsts.len()];
        }
        if let Some(&bits) = self.constant_moves.get(&std::ptr::from_ref(inst)) {
            return one(Shape::lin(Lin::constant(bits)));
        }
        let lins: Option<Vec<&Lin>> = operands
            .iter()
            .map(|s| match s {
                Shape::Lin(l) => Some(&**l),
                Shape::None | Shape::Varying => None,
            })
            .collect();
        let uniform = operands.iter().all(Shape::is_uniform);
        match inst.op {
            Op::Sreg => match inst.attr {
                Attr::Sreg(s) if inst.ty == Ty::I32 => one(sreg(s, options)),
                _ => one(Shape::Varying),
            },
            Op::Addr => match inst.attr {
                Attr::Address { of: margay_ir::AddrOf::Local(at), addend } => {
                    match self.local_frame {
                        Some(frame) => {
                            let at = frame.wrapping_add(at as u64).wrapping_add(addend as u64);
                            one(Shape::lin(Lin::constant(at)))
                        }
                        None => one(Shape::Varying),
                    }
                }
                _ => one(Shape::lin(Lin { align: 2, ..Lin::uniform() })),
            },
            Op::Select => {
                let (a, b, p) = (&operands[0], &operands[1], &operands[2]);
                one(if p.is_uniform() { a.join(b) } else { Shape::Varying })
            }
            Op::Ld => {
                let Attr::Mem(mem) = inst.attr else {
                    return vec![Shape::Varying; inst.dsts.len()];
                };
                if !uniform || !self.loads_once(inst, &mem) {
                    return vec![Shape::Varying; inst.dsts.len()];
                }
                let at = match inst.srcs[0] {
                    Value::Imm(base) if mem.space == Space::Param => {
                        Some((base as i64 + mem.offset) as u32)
                    }
                    Value::Imm(_) | Value::Reg(_) => None,
                };
                if at.is_some_and(|at| self.pointers.contains(&at)) {
                    return vec![Shape::lin(Lin { align: 4, ..Lin::uniform() }); inst.dsts.len()];
                }
                vec![Shape::uniform(); inst.dsts.len()]
            }
            Op::Cvta | Op::CvtaTo => match (&lins, inst.attr.clone()) {
                (Some(l), Attr::Space(_)) => {
                    let mut x = (*l[0]).clone();
                    x.constant = None;
                    x.most = u64::MAX;
                    x.align = x.align.min(4);
                    one(Shape::lin(x))
                }
                _ => one(Shape::Varying),
            },
            Op::ActiveMask => one(Shape::uniform()),
            _ if tells_all_the_same(inst, &operands) => vec![Shape::uniform(); inst.dsts.len()],
            Op::Builtin if uniform => vec![Shape::uniform(); inst.dsts.len()],
            op if is_pure(op) => match lins {
                Some(l) => one(shape::apply(inst, &l).map_or(Shape::Varying, Shape::lin)),
                None => one(Shape::Varying),
            },
            _ => vec![Shape::Varying; inst.dsts.len() + calls_results(inst)],
        }
    }
}

/// Whether an op across lanes gives all that run one result: what all get that name one mask, or one lane's value.
pub fn tells_all_the_same(inst: &Inst, operands: &[Shape]) -> bool {
    let uniform = |n: usize| operands.get(n).is_none_or(Shape::is_uniform);
    match inst.op {
        Op::Ballot | Op::Vote | Op::Redux => uniform(1),
        Op::Shfl => {
            let whole = matches!(inst.srcs.get(2), Some(Value::Imm(c)) if c & 0x1f1f == 0x1f);
            matches!(inst.attr, Attr::Shfl(ShflMode::Idx)) && whole && uniform(1)
        }
        _ => false,
    }
}

fn calls_results(inst: &Inst) -> usize {
    match &inst.attr {
        Attr::Call(c) => c.rets.len(),
        _ => 0,
    }
}

/// Whether an op's results depend on its operands alone, lane by lane.
pub fn is_pure(op: Op) -> bool {
    // The table's rows run from moves to conversions before memory begins.
    op < Op::Ld
}

/// Threads of a dimension of a block, those of the last warp's missing lanes with them.
pub fn widest(threads: u32) -> u64 {
    threads.next_multiple_of(LANES as u32) as u64
}

/// The shape of a special register.
pub fn sreg(s: Sreg, options: &Options) -> Shape {
    let [bx, by, bz] = options.block.map(u64::from);
    let lane: Steps = std::array::from_fn(|l| l as i64);
    let by_lane = |f: &dyn Fn(u64) -> u64| -> Steps { std::array::from_fn(|l| f(l as u64) as i64) };
    let small = |most: u64| Shape::lin(Lin { most, ..Lin::uniform() });
    match s {
        Sreg::NTid(d) => Shape::lin(Lin::constant(options.block[d as usize % 3] as u64)),
        Sreg::CtaId(d) | Sreg::NCtaId(d) if options.plain => {
            let blocks = crate::PLAIN_THREADS / widest(options.block[d as usize % 3]);
            small(if matches!(s, Sreg::CtaId(_)) { blocks.saturating_sub(1) } else { blocks })
        }
        Sreg::CtaId(_) | Sreg::NCtaId(_) => small(0x7fff_ffff),
        Sreg::EnvReg(n) if n < 32 => {
            let known = options.environment >> n & 1 != 0;
            match crate::usual(n, options.block).filter(|_| known) {
                Some(value) => Shape::lin(Lin::constant(value as u64)),
                None => small(u32::MAX as u64),
            }
        }
        Sreg::WarpId => small(31),
        Sreg::NWarpId => small(32),
        Sreg::LaneId => Shape::lin(Lin::steps(lane, Some(0), 64, 0)),
        Sreg::Tid(d) => {
            let first = (bx == LANES as u64).then_some(0);
            if by == 1 && bz == 1 {
                return match d {
                    0 => Shape::lin(Lin::steps(lane, None, 5, (bx - 1) & !31)),
                    _ => Shape::lin(Lin::constant(0)),
                };
            }
            if bx.is_multiple_of(LANES as u64) {
                return match d {
                    0 => Shape::lin(Lin::steps(lane, first, 5, bx - 32)),
                    1 => small(by.next_multiple_of(32) - 1),
                    _ => small(bz.next_multiple_of(32) - 1),
                };
            }
            if !(LANES as u64).is_multiple_of(bx) {
                return Shape::Varying;
            }
            let rows = LANES as u64 / bx;
            match d {
                0 => Shape::lin(Lin::steps(by_lane(&|l| l % bx), Some(0), 64, 0)),
                1 if by.is_multiple_of(rows) => {
                    let steps = by_lane(&|l| l / bx);
                    Shape::lin(Lin::steps(steps, None, rows.trailing_zeros(), by - rows))
                }
                _ if by.is_multiple_of(rows) => small(1023),
                1 if rows.is_multiple_of(by) => {
                    Shape::lin(Lin::steps(by_lane(&|l| l / bx % by), Some(0), 64, 0))
                }
                _ if rows.is_multiple_of(by) => {
                    let steps = by_lane(&|l| l / (bx * by));
                    Shape::lin(Lin::steps(steps, None, (rows / by).trailing_zeros(), bz))
                }
                _ => Shape::Varying,
            }
        }
        // Read by the interpreter's handler.
        _ => Shape::Varying,
    }
}

/// Moves of a register whose value is a constant there, though it has others elsewhere: `i = best = 0`
/// before a loop.
fn constant_moves(f: &Function) -> HashMap<*const Inst, u64> {
    let mut found = HashMap::new();
    for block in &f.blocks {
        let mut known: HashMap<Reg, u64> = HashMap::new();
        for inst in &block.insts {
            let value = match (inst.op, inst.srcs.as_slice(), inst.guard) {
                (Op::Mov, [Value::Imm(bits)], None) => Some(*bits),
                (Op::Mov, [Value::Reg(r)], None) => known.get(r).copied(),
                _ => None,
            };
            if let (Some(bits), Some(Value::Reg(_))) = (value, inst.srcs.first()) {
                found.insert(std::ptr::from_ref(inst), bits);
            }
            for_each_def(inst, |r| {
                known.remove(&r);
            });
            if let (Some(bits), Some(&d)) = (value, inst.dsts.first()) {
                known.insert(d, bits);
            }
        }
    }
    found
}

fn liveness(f: &Function, succs: &[Vec<usize>]) -> (Vec<Set>, Vec<Set>) {
    let (count, regs) = (f.blocks.len(), f.regs.len());
    let mut live_in = vec![Set::new(regs); count];
    let mut live_out = vec![Set::new(regs); count];
    let mut changed = true;
    while changed {
        changed = false;
        for (b, block) in f.blocks.iter().enumerate().rev() {
            let mut live = Set::new(regs);
            for &s in &succs[b] {
                live.add(&live_in[s]);
            }
            live_out[b] = live.clone();
            if let Some(r) = term_use(&block.term) {
                live.insert(r.0 as usize);
            }
            if matches!(block.term, Term::Ret) {
                placed(&f.rets).for_each(|r| {
                    live.insert(r.0 as usize);
                });
            }
            for inst in block.insts.iter().rev() {
                step_back(inst, &mut live);
            }
            if live != live_in[b] {
                live_in[b] = live;
                changed = true;
            }
        }
    }
    (live_in, live_out)
}

/// Whether code is made for this floating-point operation that may leave any NaN.
pub fn makes_lazy_nan(inst: &Inst) -> bool {
    // A double's NaN keeps its bits.
    inst.ty == Ty::F32 && crate::emit::float_is_native(inst)
}

/// Registers written only by floating-point arithmetic on f32, and by moves between such.
fn lazy(f: &Function) -> Vec<bool> {
    let mut lazy = vec![false; f.regs.len()];
    let mut wrote = vec![false; f.regs.len()];
    let insts = || f.blocks.iter().flat_map(|b| &b.insts);
    for inst in insts() {
        for_each_def(inst, |r| wrote[r.0 as usize] = true);
    }
    for (r, l) in lazy.iter_mut().enumerate() {
        *l = wrote[r] && f.regs[r] == Class::W;
    }
    for r in placed(&f.params).chain(placed(&f.rets)) {
        lazy[r.0 as usize] = false;
    }
    let number = |v: &Value, class: Class, lazy: &[bool]| match v {
        Value::Reg(r) => lazy[r.0 as usize],
        Value::Imm(bits) => match class {
            Class::W => !f32::from_bits(*bits as u32).is_nan(),
            Class::D => !f64::from_bits(*bits).is_nan(),
            Class::P => false,
        },
    };
    loop {
        let mut changed = false;
        for inst in insts() {
            let class = inst.ty.class();
            let ok = match inst.op {
                Op::Mov => number(&inst.srcs[0], class, &lazy),
                Op::Select => {
                    number(&inst.srcs[0], class, &lazy) && number(&inst.srcs[1], class, &lazy)
                }
                _ => makes_lazy_nan(inst),
            };
            if !ok {
                for_each_def(inst, |r| {
                    changed |= lazy[r.0 as usize];
                    lazy[r.0 as usize] = false;
                });
            }
        }
        if !changed {
            return lazy;
        }
    }
}
