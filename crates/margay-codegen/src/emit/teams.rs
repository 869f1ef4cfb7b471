// SPDX-License-Identifier: MIT OR Apache-2.0
//! Teams: several warps of a region side by side.
//!
//! A chain of operations of which each waits for the one before leaves most of a processor idle: a warp of a matrix product has
//! two or four such chains, where eight would keep it busy. So where the next warps of a block stand at the same place, their
//! code is written op by op, for one after the other, up to the first op with an effect (a store, a barrier, an atomic). What
//! they share, as the column that they multiply by, is loaded once.
//!
//! A team only computes and loads, and leaves no trace. Where a check fails, its warps go different ways, or the fuel is used up,
//! all is dropped and they run one by one from the region's start; so do the next ones, more of them each time. At the op with an
//! effect each warp goes on by itself, one after the other, from there; that code is written once more, so it must be short.
//!
//! Invariant: until the team has come to an op with an effect, planes, memory and where its warps stand are as before. Who leaves
//! the code behind that has done nothing for the warps after it.
//!
//! Limit: a warp's loads come before what the others of its team store, in a region. Threads that nothing orders may tell; where
//! stores wait for siblings' loads it is so anyway.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use margay_ir::analysis::liveness::{for_each_def, for_each_use};
use margay_ir::{Attr, Class, Inst, Op, Reg, Space, Sreg, Term, Value};

use super::blocks::{ENGINE, Lines};
use super::value::Val;
use super::{Gen, inside, io};
use crate::analysis::{Set, is_pure, step_back};
use crate::shape::Shape;

/// Instructions that are written for a team, at most: each is written for all its warps.
const MOST_OPS: usize = 120;
/// Instructions behind it that are written once more.
const MOST_REST: usize = 80;
/// Lane-wise ops without a loop from which on a team pays.
const LEAST_OPS: usize = 24;
/// How many warps run one by one after a team was dropped: the first time, and at most.
pub(super) const FEW: u32 = 8;
const MANY: u32 = 1 << 12;

/// What is known of a register while a member's code is written, as for a single warp.
#[derive(Default)]
struct Member {
    current: Vec<Option<Val>>,
    dirty: Option<Set>,
    canonical: HashMap<u32, Val>,
    checked: HashMap<u32, String>,
    inside: HashMap<inside::Through, usize>,
    merged: HashMap<usize, String>,
    asked: Vec<(Reg, i64)>,
}

/// The team that is being written.
pub(super) struct Team {
    /// Where a team goes that is dropped.
    pub bail: String,
    members: Vec<Member>,
    /// Registers that have the same value for all members: the first one's code and slots are everybody's.
    same: Set,
    /// An op has no code that could be written for a team.
    pub failed: bool,
}

/// Where members go on by themselves: before an instruction, or the end, of a block.
type Commit = (usize, usize);

/// What a team runs.
struct Plan {
    warps: usize,
    /// Blocks, and whether they run to their ends.
    blocks: BTreeMap<usize, Option<usize>>,
    commits: BTreeSet<Commit>,
    same: Set,
}

/// Whether an op gives all warps of a block the same if its operands are the same.
fn is_alike(inst: &Inst, result: Option<&Shape>) -> bool {
    match inst.attr {
        Attr::Sreg(
            Sreg::CtaId(_)
            | Sreg::NTid(_)
            | Sreg::NCtaId(_)
            | Sreg::LaneId
            | Sreg::NWarpId
            | Sreg::SmId
            | Sreg::NSmId
            | Sreg::GridId
            | Sreg::EnvReg(_),
        ) => true,
        Attr::Sreg(_) => matches!(result, Some(Shape::Lin(lin)) if lin.constant.is_some()),
        _ => true,
    }
}

impl Gen<'_> {
    /// Whether a team may run an instruction.
    fn is_for_teams(&self, inst: &Inst) -> bool {
        match (inst.op, &inst.attr) {
            (Op::Ld, Attr::Mem(m)) => {
                let known = matches!(
                    m.space,
                    Space::Global | Space::Generic | Space::Shared | Space::Param | Space::Const
                );
                let own = self.facts.window(inst, m) == Some(Space::Local);
                known && !own && Self::is_direct(inst, m) && !inst.dsts.is_empty()
            }
            (Op::Sreg | Op::Addr | Op::Cvta | Op::CvtaTo | Op::Builtin, _) => true,
            (Op::Vote | Op::Ballot | Op::Shfl | Op::Redux | Op::ActiveMask | Op::BarWarp, _) => {
                true
            }
            (op, _) => is_pure(op),
        }
    }

    /// What a team would run from an instruction on, if that pays.
    fn plan_team(&self, start: (usize, usize)) -> Option<Plan> {
        let f = self.f;
        let warps_of_block = self.warps() as usize;
        if self.options.watched.any() || warps_of_block < 2 || self.in_strips {
            return None;
        }
        let mut blocks = BTreeMap::new();
        let mut commits = BTreeSet::new();
        let mut to_do = vec![start];
        let mut starts_inside = start.1 != 0;
        let (mut ops, mut heavy, mut splits) = (0, 0, false);
        while let Some((b, from)) = to_do.pop() {
            if from == 0 && blocks.contains_key(&b) {
                continue;
            }
            let insts = &f.blocks[b].insts;
            let commit = self.commit_of(b, from);
            // Ends where lanes part, as no other branch does.
            if commit == Some(insts.len()) && matches!(f.blocks[b].term, Term::CondBr { .. }) {
                splits = true;
                if self.loop_around(b).is_some() {
                    return None;
                }
            }
            ops += commit.unwrap_or(insts.len()) - from;
            let varies = |i: &&Inst| {
                i.dsts.first().is_some_and(|&r| matches!(self.facts.shape(r), Shape::Varying))
            };
            heavy += insts[from..commit.unwrap_or(insts.len())].iter().filter(varies).count();
            if starts_inside {
                // The head of this block, if a loop leads there, is a block of its own.
                starts_inside = false;
            } else {
                blocks.insert(b, commit);
            }
            match commit {
                Some(n) => drop(commits.insert((b, n))),
                None => to_do.extend(self.facts.succs[b].iter().map(|&to| (to, 0))),
            }
            if ops > MOST_OPS {
                return None;
            }
        }
        let whole = |b: &usize| blocks.get(b) == Some(&None);
        let mut loops = Vec::new();
        for b in blocks.keys().copied().filter(whole) {
            for &to in self.facts.succs[b].iter().filter(|&&to| to <= b && whole(&to)) {
                loops.push((to, b));
            }
        }
        // Straight code of one warp and the next one's overlap by themselves if they are short; behind barriers warps come from planes.
        // What data choose between is in no straight code: spmv took a quarter longer.
        let straight = start == (0, 0) && heavy >= LEAST_OPS && !splits;
        if loops.is_empty() && !straight {
            return None;
        }
        (self.rest_of(&commits) <= MOST_REST).then_some(())?;
        let warps = self.team_size(&loops).min(warps_of_block);
        let same = self.same_for_all(start, &blocks);
        (warps > 1).then_some(Plan { warps, blocks, commits, same })
    }

    /// Before which instruction of a block, or its end, the members of a team that comes there go on by themselves, if they do in it.
    fn commit_of(&self, b: usize, from: usize) -> Option<usize> {
        let block = &self.f.blocks[b];
        let until = (from..block.insts.len()).find(|&n| !self.is_for_teams(&block.insts[n]));
        let ends = matches!(block.term, Term::Exit | Term::Ret | Term::BrTable { .. });
        until.or((ends || self.splits(b)).then_some(block.insts.len()))
    }

    /// Whether many a warp's lanes go different ways at the end of a block. Where the ends of what there is to do decide, few do.
    fn splits(&self, b: usize) -> bool {
        match self.f.blocks[b].term {
            Term::CondBr { pred, .. } => {
                matches!(self.facts.shape(pred), Shape::Varying)
                    && !self.is_bound(pred, &mut BTreeSet::new())
            }
            _ => false,
        }
    }

    /// Whether a register only ever compares sums of thread numbers, or is made of such: the ends of what there is to do, or its
    /// edges. Where all lanes' numbers are known it parts each warp.
    fn is_bound(&self, r: Reg, seen: &mut BTreeSet<Reg>) -> bool {
        if !matches!(self.facts.shape(r), Shape::Varying) || !seen.insert(r) {
            return true;
        }
        let mut bounds = |inst: &Inst| {
            let known = |v: &Value| match self.facts.operand(*v) {
                Shape::Lin(lin) => lin.known().is_some(),
                Shape::None | Shape::Varying => false,
            };
            let made_of_bounds = match inst.op {
                Op::ICmp => !inst.srcs.iter().all(known),
                Op::PAnd | Op::POr | Op::PXor | Op::PNot | Op::Mov => true,
                Op::MinS | Op::MinU | Op::MaxS | Op::MaxU => true,
                _ => false,
            };
            let mut bounds = |v: &Value| match v {
                Value::Reg(r) => self.is_bound(*r, seen),
                Value::Imm(_) => true,
            };
            made_of_bounds && inst.srcs.iter().all(&mut bounds)
        };
        let mut all = self.f.blocks.iter().flat_map(|b| &b.insts);
        all.all(|inst| {
            let mut sets = false;
            for_each_def(inst, |d| sets |= d == r);
            !sets || bounds(inst)
        })
    }

    /// Registers that have the same value for all warps of a block that run from a place on, on one way.
    fn same_for_all(&self, start: (usize, usize), blocks: &BTreeMap<usize, Option<usize>>) -> Set {
        let f = self.f;
        let mut same = Set::full(f.regs.len());
        let differs = |same: &mut Set, r: Reg| {
            // A constant is the same wherever it comes from.
            let constant = match &self.facts.shapes[r.0 as usize] {
                Shape::Lin(lin) => lin.constant.is_some(),
                Shape::None | Shape::Varying => false,
            };
            let changes = !constant && same.has(r.0 as usize);
            if changes {
                same.remove(r.0 as usize);
            }
            changes
        };
        if start != (0, 0) {
            let live = self.live_at(start.0, start.1);
            live.iter().for_each(|r| {
                differs(&mut same, Reg(r as u32));
            });
        }
        let heads = blocks.iter().map(|(&b, &until)| (b, 0, until));
        let all: Vec<_> = heads.chain([(start.0, start.1, None)]).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &(b, from, until) in &all {
                let insts = &f.blocks[b].insts;
                for inst in &insts[from..until.unwrap_or(insts.len())] {
                    let mut alike = true;
                    for_each_use(inst, |r| alike &= same.has(r.0 as usize));
                    let results = self.facts.results(inst, self.options);
                    if !alike || !is_alike(inst, results.first()) {
                        for_each_def(inst, |r| changed |= differs(&mut same, r));
                    }
                }
            }
        }
        same
    }

    /// Instructions that may run between a team's ends and the next place where warps wait.
    fn rest_of(&self, commits: &BTreeSet<Commit>) -> usize {
        let mut seen = BTreeSet::new();
        let mut to_do: Vec<Commit> = commits.iter().copied().collect();
        let mut all = 0;
        while let Some((b, from)) = to_do.pop() {
            let insts = &self.f.blocks[b].insts;
            let cut = insts[from..].iter().position(|i| super::must_leave(i.op));
            all += cut.unwrap_or(insts.len() - from) + 1;
            let more = self.facts.succs[b].iter().filter(|_| cut.is_none());
            to_do.extend(more.filter(|&&to| seen.insert(to)).map(|&to| (to, 0)));
        }
        all
    }

    /// How many warps the processor's registers are enough for.
    fn team_size(&self, loops: &[(usize, usize)]) -> usize {
        let vectors = |b: usize| -> usize {
            let live = &self.facts.live_in[b];
            let varying = live.iter().filter(|&r| matches!(self.facts.shapes[r], Shape::Varying));
            varying
                .map(|r| match self.f.regs[r] {
                    Class::P => 1,
                    Class::W => 32 * 32 / self.vector_bits as usize,
                    Class::D => 32 * 64 / self.vector_bits as usize,
                })
                .sum()
        };
        let most = loops.iter().map(|&(first, _)| vectors(first)).max().unwrap_or(2);
        let registers = if self.vector_bits == 512 { 18 } else { 8 };
        match registers / most.max(1) {
            4.. if !loops.is_empty() => 4,
            2.. => 2,
            _ => 1,
        }
    }

    /// Writes a region for teams, if that pays: the text of the region's head that chooses between them and a warp by itself,
    /// which goes on at the label that is returned.
    pub(super) fn write_team(
        &mut self,
        number: u32,
        start: (usize, usize),
        live: Option<&Set>,
    ) -> Option<String> {
        let plan = self.plan_team(start)?;
        let (single, begin, bail) = (self.label(), self.label(), self.label());
        let out = std::mem::take(&mut self.out);
        let cold = std::mem::take(&mut self.cold);
        let tail = self.tail.clone();
        let members = (0..plan.warps).map(|_| Member::default()).collect();
        let same = plan.same.clone();
        self.team = Some(Team { bail: bail.clone(), members, same, failed: false });
        self.team_head(&plan, &single, &begin);
        self.begin(&begin);
        self.team_begins(&plan, start.0, live);
        self.team_blocks(&plan, number, start);
        let team = self.team.take();
        self.tail = tail;
        self.begin(&bail);
        self.team_bails(&single);
        let text = std::mem::replace(&mut self.out, out);
        let aside = std::mem::replace(&mut self.cold, cold);
        if team.is_none_or(|team| team.failed) {
            return None;
        }
        self.out.push_str(&text);
        self.cold.push_str(&aside);
        if let Some(regions) = &mut self.regions {
            regions.teams.push(super::regions::Rests {
                number,
                warps: plan.warps,
                commits: plan.commits.into_iter().collect(),
                same: plan.same,
            });
        }
        Some(single)
    }

    /// Chooses between a team and a warp by itself.
    fn team_head(&mut self, plan: &Plan, single: &str, begin: &str) {
        let tail = self.tail.clone();
        let mut t = Lines::named(format!("%q{tail}_"));
        let solo = t.ins("load i32, ptr %solo");
        let none = t.ins(format!("icmp eq i32 {solo}, 0"));
        let less = t.ins(format!("sub i32 {solo}, 1"));
        let less = t.ins(format!("select i1 {none}, i32 0, i32 {less}"));
        t.line(format!("store i32 {less}, ptr %solo"));
        let most = self.warps() as i64 - plan.warps as i64;
        let there = t.ins(format!("icmp ule i32 %wn{tail}, {most}"));
        let ok = t.ins(format!("and i1 {none}, {there}"));
        // Whether the others stand here, too, is looked at only where they are warps of the block.
        t.line(format!("br i1 {ok}, label %look{tail}, label %{single}"));
        t.label(&format!("look{tail}"));
        let mut all = "true".to_owned();
        if self.may_wait() {
            let own = t.ins(format!("load i32, ptr %atw{tail}, {ENGINE}"));
            for i in 1..plan.warps {
                let at = t.ins(format!("getelementptr i32, ptr %atw{tail}, i64 {i}"));
                let at = t.ins(format!("load i32, ptr {at}, {ENGINE}"));
                let same = t.ins(format!("icmp eq i32 {at}, {own}"));
                all = t.ins(format!("and i1 {all}, {same}"));
            }
        }
        t.line(format!("br i1 {all}, label %{begin}, label %{single}"));
        self.text(&t.text);
    }

    /// Whether warps of the block may stand anywhere else than at its start.
    fn may_wait(&self) -> bool {
        self.options.hold || crate::has_barriers(self.f)
    }

    /// Gives each member its names and what lives at the start.
    fn team_begins(&mut self, plan: &Plan, first: usize, live: Option<&Set>) {
        let tail = self.tail.clone();
        let mut t = Lines::named(format!("%n{tail}_"));
        let bytes = t.fixed("i64", io!(frame_bytes));
        for i in 0..plan.warps {
            t.line(format!("%wn{tail}t{i} = add i32 %wn{tail}, {i}"));
            t.line(format!("%wn64{tail}t{i} = add i64 %wn64{tail}, {i}"));
            let skip = t.ins(format!("mul i64 {bytes}, {i}"));
            t.line(format!("%frame{tail}t{i} = getelementptr i8, ptr %frame{tail}, i64 {skip}"));
        }
        self.text(&t.text);
        (self.block, self.apart) = (first, false);
        self.mask = "-1".to_owned();
        self.mask_vector = None;
        self.forget();
        self.dirty = Set::new(self.f.regs.len());
        for i in 0..plan.warps {
            self.as_member(i, |g| match live {
                Some(live) => g.load_live(live),
                None => g.zero_slots(),
            });
        }
    }

    /// Writes something for one of the warps.
    fn as_member<T>(&mut self, i: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let tail = format!("{}t{i}", self.tail);
        let outer = std::mem::replace(&mut self.tail, tail);
        self.suffix = format!("t{i}");
        self.swap_member(i);
        let result = work(self);
        self.swap_member(i);
        self.suffix.clear();
        self.tail = outer;
        result
    }

    fn swap_member(&mut self, i: usize) {
        let size = self.f.regs.len();
        // Rows of threads shorter than a warp lie below one another: what one member asks for ahead is the others', too.
        let own_rows = self.options.block[0] >= crate::LANES as u32;
        let Some(member) = self.team.as_mut().and_then(|team| team.members.get_mut(i)) else {
            return;
        };
        if member.current.is_empty() {
            member.current = vec![None; size];
        }
        let dirty = member.dirty.get_or_insert_with(|| Set::new(size));
        std::mem::swap(&mut self.current, &mut member.current);
        std::mem::swap(&mut self.dirty, dirty);
        std::mem::swap(&mut self.canonical, &mut member.canonical);
        std::mem::swap(&mut self.checked, &mut member.checked);
        std::mem::swap(&mut self.inside, &mut member.inside);
        std::mem::swap(&mut self.merged, &mut member.merged);
        if own_rows {
            self.around.swap_done(&mut member.asked);
        }
    }

    /// Writes the blocks that a team runs.
    fn team_blocks(&mut self, plan: &Plan, number: u32, start: (usize, usize)) {
        let (b, from) = start;
        if from != 0 {
            self.team_block(plan, number, start, self.commit_of(b, from));
        } else {
            let label = self.team_label(b);
            self.line(format!("br label %{label}"));
        }
        for (&b, &commit) in &plan.blocks {
            let label = self.team_label(b);
            self.begin(&label);
            let fuel = self.ins("load i64, ptr %fuel");
            let less = self.ins(format!("sub i64 {fuel}, {}", self.f.blocks[b].insts.len() + 1));
            self.line(format!("store i64 {less}, ptr %fuel"));
            self.team_block(plan, number, (b, 0), commit);
        }
    }

    fn team_label(&self, b: usize) -> String {
        format!("T{b}{}", self.tail)
    }

    /// Writes a block for all members, up to where they part.
    fn team_block(
        &mut self,
        plan: &Plan,
        number: u32,
        (b, from): (usize, usize),
        commit: Option<usize>,
    ) {
        let f = self.f;
        self.block = b;
        self.told.clear();
        self.mask_vector = None;
        self.look_around(b);
        for i in 0..plan.warps {
            self.as_member(i, |g| {
                g.forget();
                g.around.swap_done(&mut Vec::new());
            });
        }
        let until = commit.unwrap_or(f.blocks[b].insts.len());
        for n in from..until {
            let inst = &f.blocks[b].insts[n];
            let alike = inst.dsts.iter().all(|r| plan.same.has(r.0 as usize));
            for i in 0..if alike { 1 } else { plan.warps } {
                self.as_member(i, |g| g.instruction(n, inst));
            }
            if alike {
                self.hand_on(&inst.dsts);
            }
        }
        if let Some(n) = commit {
            let live = self.live_at(b, n);
            for i in 0..plan.warps {
                self.as_member(i, |g| g.flush_live(&live));
            }
            let fuel = self.ins("load i64, ptr %fuel");
            self.line(format!("store i64 {fuel}, ptr %teamfuel"));
            self.line(format!("store i32 {FEW}, ptr %skip"));
            let rest = rest_label(number, (b, n), Some(0));
            self.line(format!("br label %{rest}"));
            return;
        }
        match &f.blocks[b].term {
            Term::Br(to) => {
                for i in 0..plan.warps {
                    self.as_member(i, Self::flush);
                }
                self.team_goes(to.0 as usize);
            }
            Term::CondBr { pred, negated, then, els } => {
                let (then, els) = (then.0 as usize, els.0 as usize);
                let (yes, no) = if *negated { (els, then) } else { (then, els) };
                self.team_branches(plan, *pred, yes, no);
            }
            Term::BrTable { .. } | Term::Exit | Term::Ret => self.fail_team(),
        }
    }

    /// Gives all members what the first one computed.
    fn hand_on(&mut self, results: &[Reg]) {
        let Some((first, others)) = self.team.as_mut().and_then(|t| t.members.split_first_mut())
        else {
            return;
        };
        for r in results {
            let n = r.0 as usize;
            for other in &mut *others {
                other.current[n].clone_from(&first.current[n]);
                other.canonical.remove(&r.0);
                other.checked.remove(&r.0);
                other.inside.retain(|through, _| through.0 != r.0);
            }
        }
    }

    /// The end of the name of a register's slot.
    pub(super) fn slot_end(&self, r: Reg) -> String {
        match &self.team {
            Some(team) if !self.suffix.is_empty() && team.same.has(r.0 as usize) => "t0".to_owned(),
            _ => self.suffix.clone(),
        }
    }

    /// Goes where all members go, or drops the team.
    fn team_branches(&mut self, plan: &Plan, pred: Reg, yes: usize, no: usize) {
        let (mut all, mut none) = ("true".to_owned(), "true".to_owned());
        let alike = plan.same.has(pred.0 as usize);
        for i in 0..plan.warps {
            if i > 0 && alike {
                self.as_member(i, Self::flush);
                continue;
            }
            let (every, nobody) = self.as_member(i, |g| {
                let p = g.read(pred);
                g.flush();
                match p {
                    Val::Lin { base, .. } => {
                        let not = g.ins(format!("xor i1 {base}, true"));
                        (base, not)
                    }
                    Val::Vec { name, .. } => {
                        let lanes = g.lane_bits(&name);
                        let bits = lanes.bits;
                        let every = lanes.every;
                        let every =
                            every.unwrap_or_else(|| g.ins(format!("icmp eq i32 {bits}, -1")));
                        let nobody = lanes.nobody;
                        let nobody =
                            nobody.unwrap_or_else(|| g.ins(format!("icmp eq i32 {bits}, 0")));
                        (every, nobody)
                    }
                }
            });
            all = self.ins(format!("and i1 {all}, {every}"));
            none = self.ins(format!("and i1 {none}, {nobody}"));
        }
        let (to_yes, other, to_no) = (self.label(), self.label(), self.label());
        self.line(format!("br i1 {all}, label %{to_yes}, label %{other}"));
        self.begin(&other);
        let bail = self.bail();
        self.line(format!("br i1 {none}, label %{to_no}, label %{bail}"));
        self.begin(&to_yes);
        self.team_goes(yes);
        self.begin(&to_no);
        self.team_goes(no);
    }

    fn team_goes(&mut self, to: usize) {
        if to <= self.block {
            let fuel = self.ins("load i64, ptr %fuel");
            let ok = self.ins(format!("icmp sgt i64 {fuel}, 0"));
            let bail = self.bail();
            self.expect(&ok, &bail);
        }
        let label = self.team_label(to);
        self.line(format!("br label %{label}"));
    }

    fn bail(&self) -> String {
        self.team.as_ref().map(|team| team.bail.clone()).unwrap_or_default()
    }

    /// There can be no team.
    pub(super) fn fail_team(&mut self) {
        if let Some(team) = &mut self.team {
            team.failed = true;
        }
        self.line("unreachable");
        let label = self.label();
        self.begin(&label);
    }

    /// Drops a team: its warps, and some more, run one by one.
    fn team_bails(&mut self, single: &str) {
        let skip = self.ins("load i32, ptr %skip");
        self.line(format!("store i32 {skip}, ptr %solo"));
        let more = self.ins(format!("shl i32 {skip}, 1"));
        let enough = self.ins(format!("icmp ugt i32 {more}, {MANY}"));
        let more = self.ins(format!("select i1 {enough}, i32 {MANY}, i32 {more}"));
        self.line(format!("store i32 {more}, ptr %skip"));
        self.line("store i64 %fuel0, ptr %fuel");
        self.line(format!("br label %{single}"));
    }

    /// Registers that live before an instruction of a block, or at its end.
    fn live_at(&self, b: usize, n: usize) -> Set {
        let block = &self.f.blocks[b];
        let mut live = self.facts.live_out[b].clone();
        if let Some(r) = margay_ir::analysis::liveness::term_use(&block.term) {
            live.insert(r.0 as usize);
        }
        for inst in block.insts[n..].iter().rev() {
            step_back(inst, &mut live);
        }
        live
    }

    /// Puts values that live on into slots.
    fn flush_live(&mut self, live: &Set) {
        let dirty: Vec<usize> = self.dirty.iter().collect();
        for n in dirty {
            if live.has(n)
                && let Some(v) = self.current[n].clone()
            {
                self.write_slot(Reg(n as u32), &v);
            }
            self.dirty.remove(n);
        }
    }

    /// Writes where the members of a team go on, one after the other.
    pub(super) fn begin_rest(&mut self, rests: &super::regions::Rests, commit: Commit) {
        let (number, (b, n)) = (rests.number, commit);
        let live = self.live_at(b, n);
        let base = format!("R{number}");
        (self.block, self.apart) = (b, false);
        let label = rest_label(number, commit, None);
        for i in 0..rests.warps {
            let own = rest_label(number, commit, Some(i));
            self.begin(&own);
            self.forget();
            for r in live.iter().map(|r| Reg(r as u32)) {
                let constant = match &self.facts.shapes[r.0 as usize] {
                    Shape::Lin(lin) => lin.constant.is_some(),
                    Shape::None | Shape::Varying => false,
                };
                if !constant {
                    let own = if rests.same.has(r.0 as usize) { 0 } else { i };
                    self.suffix = format!("t{own}");
                    let v = self.read_slot(r);
                    self.suffix.clear();
                    self.write_slot(r, &v);
                }
            }
            self.line(format!("store i32 %wn{base}t{i}, ptr %warp"));
            self.line(format!("store i32 {}, ptr %mate", i + 1));
            self.line(format!("br label %{label}"));
        }
        self.begin(&label);
        self.tail = format!("{base}c{b}_{n}");
        let mut t = Lines::named(format!("%h{}_", self.tail));
        self.name_warp(&mut t);
        let fuel = t.ins("load i64, ptr %teamfuel");
        t.line(format!("store i64 {fuel}, ptr %fuel"));
        self.text(&t.text);
        // What the team changed is in no plane.
        self.planes = self.facts.planes[b].clone();
        for inst in &self.f.blocks[b].insts[..n] {
            crate::planes::step(inst, &mut self.planes);
        }
        self.go_on_within(b, n, false);
    }
}

/// The label of where members go on, or of one's way there.
pub(super) fn rest_label(number: u32, (b, n): Commit, member: Option<usize>) -> String {
    match member {
        Some(i) => format!("rest{number}_{b}_{n}_{i}"),
        None => format!("rest{number}_{b}_{n}"),
    }
}
