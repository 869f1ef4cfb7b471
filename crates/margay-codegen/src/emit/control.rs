// SPDX-License-Identifier: MIT OR Apache-2.0
//! Terminators, and who runs next while lanes are apart.

use margay_ir::{Class, Term, Value};

use super::Gen;
use super::value::Val;
use crate::Reason;
use crate::analysis::Set;

/// So many blocks are asked one after the other whether lanes wait there; then the chain goes on
/// block by block.
impl Gen<'_> {
    /// The head of a block's copy for some lanes.
    pub fn begin_apart(&mut self, b: usize) {
        self.mask = self.ins(format!("load i32, ptr %w{b}"));
        self.line(format!("store i32 0, ptr %w{b}"));
        if self.facts.joins.has(b) {
            let live =
                if self.options.full { "-1".to_owned() } else { self.ins("load i32, ptr %live") };
            let mask = self.mask.clone();
            let together = self.ins(format!("icmp eq i32 {mask}, {live}"));
            let (apart, meet) = (self.label(), self.block_copy(false, b));
            self.line(format!("br i1 {together}, label %{meet}, label %{apart}"));
            self.begin(&apart);
        }
    }

    /// The end of a block.
    pub fn terminator(&mut self, term: &Term, n: usize) {
        match term {
            Term::Exit => self.end_lanes(),
            Term::Ret if self.f.is_entry => self.end_lanes(),
            Term::Ret => self.leave_at_end(n),
            Term::Br(to) => {
                self.flush();
                let mask = self.mask.clone();
                self.go(to.0 as usize, &mask);
            }
            Term::CondBr { pred, negated, then, els } => {
                let (then, els) = (then.0 as usize, els.0 as usize);
                let (yes, no) = if *negated { (els, then) } else { (then, els) };
                let p = self.read(*pred);
                self.flush();
                self.branch(&p, yes, no, *negated);
            }
            Term::BrTable { index, targets } => {
                let v = self.bits(*index, Class::W);
                match v {
                    Val::Lin { base, lin, .. } if lin.is_uniform() && !self.apart => {
                        let exit = self.exit(Reason::Interpret, n, None);
                        self.flush();
                        let mut table = String::new();
                        let mut labels = Vec::new();
                        for (i, t) in targets.iter().enumerate() {
                            let label = self.label();
                            table += &format!(" i32 {i}, label %{label}");
                            labels.push((label, t.0 as usize));
                        }
                        self.line(format!("switch i32 {base}, label %{exit} [{table} ]"));
                        let mask = self.mask.clone();
                        for (label, t) in labels {
                            self.begin(&label);
                            self.go(t, &mask);
                        }
                    }
                    Val::Lin { .. } | Val::Vec { .. } => self.leave_at_end(n),
                }
                let _ = matches!(index, Value::Imm(_));
            }
        }
    }

    fn leave_at_end(&mut self, n: usize) {
        let exit = self.exit(Reason::Interpret, n, None);
        self.line(format!("br label %{exit}"));
    }

    /// All lanes that run go to `to`.
    pub(super) fn go(&mut self, to: usize, mask: &str) {
        if self.apart {
            self.send(to, mask);
            self.run_next(Some(to), &[to]);
        } else {
            self.back_edge(to);
            let to = self.block_copy(false, to);
            self.line(format!("br label %{to}"));
        }
    }

    /// Where a branch goes on whose predicate is `p`; `negated` if those take it for whom it does not hold.
    fn branch(&mut self, p: &Val, yes: usize, no: usize, negated: bool) {
        let mask = self.mask.clone();
        if yes == no {
            if self.options.watched.counts {
                self.count_joint_branch(p, &mask, negated);
            }
            return self.go(yes, &mask);
        }
        match p {
            Val::Lin { base, .. } => {
                let (a, b) = (self.label(), self.label());
                self.line(format!("br i1 {base}, label %{a}, label %{b}"));
                self.begin(&a);
                self.count_taken(if negated { "0" } else { &mask });
                self.go(yes, &mask);
                self.begin(&b);
                self.count_taken(if negated { &mask } else { "0" });
                self.go(no, &mask);
            }
            Val::Vec { name, .. } => {
                let lanes = self.lane_bits(name);
                let bits = lanes.bits;
                if self.apart {
                    let taken = self.ins(format!("and i32 {bits}, {mask}"));
                    let rest = self.all_but(&mask, &taken);
                    self.count_parted(&taken, &rest, negated);
                    self.send(yes, &taken);
                    self.send(no, &rest);
                    self.run_next(None, &[yes, no]);
                    return;
                }
                let taken = if self.options.full {
                    bits
                } else {
                    self.ins(format!("and i32 {bits}, {mask}"))
                };
                let (all, some, none, part) =
                    (self.label(), self.label(), self.label(), self.label());
                let every = match lanes.every.filter(|_| self.options.full) {
                    Some(every) => every,
                    None => self.ins(format!("icmp eq i32 {taken}, {mask}")),
                };
                self.line(format!("br i1 {every}, label %{all}, label %{some}"));
                self.begin(&some);
                let nobody = match lanes.nobody.filter(|_| self.options.full) {
                    Some(nobody) => nobody,
                    None => self.ins(format!("icmp eq i32 {taken}, 0")),
                };
                self.line(format!("br i1 {nobody}, label %{none}, label %{part}"));
                self.begin(&all);
                self.count_taken(if negated { "0" } else { &mask });
                self.go(yes, &mask);
                self.begin(&none);
                self.count_taken(if negated { &mask } else { "0" });
                self.go(no, &mask);
                self.begin(&part);
                let rest = self.all_but(&mask, &taken);
                self.count_parted(&taken, &rest, negated);
                self.line(format!("store i32 {taken}, ptr %w{yes}"));
                self.line(format!("store i32 {rest}, ptr %w{no}"));
                let first = self.block_copy(true, yes.min(no));
                self.line(format!("br label %{first}"));
            }
        }
    }

    /// Counts a branch for those lanes whose predicate holds, and the rest.
    fn count_parted(&mut self, holds: &str, rest: &str, negated: bool) {
        if !self.options.watched.counts {
            return;
        }
        self.count_taken(if negated { rest } else { holds });
        let some = self.ins(format!("icmp ne i32 {holds}, 0"));
        let others = self.ins(format!("icmp ne i32 {rest}, 0"));
        let both = self.ins(format!("and i1 {some}, {others}"));
        let both = self.ins(format!("zext i1 {both} to i64"));
        self.count_divergent(&both);
    }

    /// The same for a branch that goes to one block either way.
    fn count_joint_branch(&mut self, p: &Val, mask: &str, negated: bool) {
        let all = self.spread(p, Class::P);
        let bits = self.ins(format!("bitcast <32 x i1> {all} to i32"));
        let holds = self.ins(format!("and i32 {bits}, {mask}"));
        let rest = self.all_but(mask, &holds);
        self.count_parted(&holds, &rest, negated);
    }

    /// The lanes of a mask but for some of it. As an exclusive or of words LLVM 19 turns it, with AVX-512, into one of mask
    /// registers and back without end where a scatter needs it: seeds 7104000521 and 7113000589 of the fuzzer.
    fn all_but(&mut self, mask: &str, some: &str) -> String {
        self.ins(format!("sub i32 {mask}, {some}"))
    }

    /// Lanes are to go on at a block, beside those that wait there.
    fn send(&mut self, to: usize, mask: &str) {
        let waits = self.facts.waiting[self.block].as_ref().is_some_and(|w| w.has(to));
        let mut all = mask.to_owned();
        if waits {
            let before = self.ins(format!("load i32, ptr %w{to}"));
            all = self.ins(format!("or i32 {before}, {mask}"));
        }
        self.line(format!("store i32 {all}, ptr %w{to}"));
    }

    /// Runs the lowest block that has lanes. `sure`, if any, has some.
    fn run_next(&mut self, sure: Option<usize>, new: &[usize]) {
        let mut all = Set::new(self.f.blocks.len());
        if let Some(w) = &self.facts.waiting[self.block] {
            all.add(w);
        }
        for &b in new {
            all.insert(b);
        }
        let order: Vec<usize> = all.iter().collect();
        let last = sure.or(new.iter().copied().max());
        for (i, &b) in order.iter().enumerate() {
            if Some(b) == sure || i + 1 == order.len() || (new.len() > 1 && Some(b) == last) {
                self.enter_apart(b, &order);
                return;
            }
            let waits = self.ins(format!("load i32, ptr %w{b}"));
            let some = self.ins(format!("icmp ne i32 {waits}, 0"));
            let (here, further) = (self.label(), self.label());
            self.line(format!("br i1 {some}, label %{here}, label %{further}"));
            self.begin(&here);
            self.enter_apart(b, &order);
            self.begin(&further);
        }
        // Nobody is left.
        self.line(format!("br label %done{}", self.tail));
    }

    /// Runs block `b` for the lanes that wait there.
    fn enter_apart(&mut self, b: usize, order: &[usize]) {
        if b <= self.block && self.facts.headers.has(b) {
            let fuel = self.ins("load i64, ptr %fuel");
            let ok = self.ins(format!("icmp sgt i64 {fuel}, 0"));
            let mut live = self.facts.live_in[b].clone();
            let others: Vec<usize> = order.iter().copied().filter(|&o| o != b).collect();
            for &o in &others {
                live.add(&self.facts.live_in[o]);
            }
            let (start, stop) = (self.places.start(b), self.label());
            self.forget();
            let mask = self.ins(format!("load i32, ptr %w{b}"));
            let exit = self.exit_with(Reason::Fuel, start, &live, None, &mask, &others);
            self.expect(&ok, &stop);
            let to = self.block_copy(true, b);
            self.line(format!("br label %{to}"));
            self.begin(&stop);
            self.line(format!("br label %{exit}"));
            return;
        }
        let to = self.block_copy(true, b);
        self.line(format!("br label %{to}"));
    }

    /// Before a jump backwards: leaves if the fuel is used up.
    fn back_edge(&mut self, to: usize) {
        if to > self.block {
            return;
        }
        let fuel = self.ins("load i64, ptr %fuel");
        let ok = self.ins(format!("icmp sgt i64 {fuel}, 0"));
        let resume = self.entry_at.get(&(to, 0, false)).copied();
        let live = self.facts.live_in[to].clone();
        let (pc, mask) = (self.places.start(to), self.mask.clone());
        self.forget();
        let exit = self.exit_with(Reason::Fuel, pc, &live, resume, &mask, &[]);
        self.expect(&ok, &exit);
    }

    /// The lanes that run have ended.
    fn end_lanes(&mut self) {
        if !self.apart {
            self.line(format!("br label %done{}", self.tail));
            return;
        }
        self.flush();
        let mask = self.mask.clone();
        let live = self.ins("load i32, ptr %live");
        let gone = self.ins(format!("xor i32 {mask}, -1"));
        let left = self.ins(format!("and i32 {live}, {gone}"));
        self.set_alive(&left);
        let over = self.label();
        let some = self.label();
        let any = self.ins(format!("icmp ne i32 {left}, 0"));
        self.line(format!("br i1 {any}, label %{some}, label %{over}"));
        self.begin(&over);
        self.line(format!("br label %done{}", self.tail));
        self.begin(&some);
        self.run_next(None, &[]);
    }
}
