// SPDX-License-Identifier: MIT OR Apache-2.0
//! The frame around the code: for one warp that is entered where it stands, or for whole blocks, one
//! after the other, each warp to its next barrier, hold or end in turn.
//!
//! Invariant: while the code runs, [`Gen::warp_number`] is the running warp's number and [`Gen::frame`] its register
//! frame; where a handler is called, and at exits, [`crate::Io::warp`] and [`crate::Io::ctaid`] say the same.

use std::fmt::Write as _;

use super::{Gen, io};
use crate::{AGAIN, AT_BARRIER, AT_DONE, Io, LANES, Parted, Turn};

/// Metadata of memory that only the engine touches, and of what never changes while code runs.
pub(super) const ENGINE: &str = "!alias.scope !1, !noalias !2";
pub(super) const FIXED: &str = "!invariant.load !6, !alias.scope !1, !noalias !2";

/// Lines of text that need names of their own.
pub(super) struct Lines {
    pub text: String,
    /// What their names begin with, before a number.
    prefix: String,
    next: u32,
}

impl Lines {
    pub fn new() -> Lines {
        Lines::named("%b".to_owned())
    }
    pub fn named(prefix: String) -> Lines {
        Lines { text: String::new(), prefix, next: 0 }
    }
    pub fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.text, "  {}", text.as_ref());
    }
    pub fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
    }
    pub fn ins(&mut self, text: impl AsRef<str>) -> String {
        self.next += 1;
        let name = format!("{}{}", self.prefix, self.next);
        let _ = writeln!(self.text, "  {name} = {}", text.as_ref());
        name
    }
    pub fn io(&mut self, offset: usize) -> String {
        self.ins(format!("getelementptr inbounds i8, ptr %io, i64 {offset}"))
    }
    pub fn get(&mut self, ty: &str, offset: usize) -> String {
        let p = self.io(offset);
        self.ins(format!("load {ty}, ptr {p}, {ENGINE}"))
    }
    /// A field that does not change while the code runs.
    pub fn fixed(&mut self, ty: &str, offset: usize) -> String {
        let p = self.io(offset);
        self.ins(format!("load {ty}, ptr {p}, {FIXED}"))
    }
    pub fn put(&mut self, ty: &str, value: &str, offset: usize) {
        let p = self.io(offset);
        self.line(format!("store {ty} {value}, ptr {p}, {ENGINE}"));
    }
}

impl Gen<'_> {
    /// Warps of a block.
    pub(super) fn warps(&self) -> u64 {
        let threads: u64 = self.options.block.iter().map(|&n| n as u64).product();
        threads.div_ceil(LANES as u64)
    }

    /// Whether the warps of a block have their turns as the scheduler gives them: who completes a barrier goes on, and
    /// then those after it, in a circle. Else they go in the order of their numbers.
    pub(super) fn in_turns(&self) -> bool {
        self.options.watched.any()
    }

    /// Whether which warp runs, and which of its lanes have not exited, is told only where that is asked for: by handlers, and
    /// by the engine after an exit. Who watches may ask at any access.
    ///
    /// It is for each turn of a warp, of which code between barriers may have few instructions: each store counts.
    pub(super) fn tells_late(&self) -> bool {
        self.options.blocks && !self.options.watched.any()
    }

    /// Whether lanes of the function part anywhere.
    pub(super) fn lanes_part(&self) -> bool {
        self.facts.waiting.iter().any(Option::is_some)
    }

    /// From here on these lanes have not exited.
    pub(super) fn set_alive(&mut self, alive: &str) {
        self.line(format!("store i32 {alive}, ptr %live"));
        if !self.tells_late() {
            self.io_store("i32", alive, io!(alive));
        }
    }

    /// Tells which warp runs, and which of its lanes have not exited.
    pub(super) fn tell_running(&mut self) {
        if !self.tells_late() {
            return;
        }
        self.io_store("i32", &self.warp_number(32), io!(warp));
        if self.lanes_part() {
            let alive = self.ins("load i32, ptr %live");
            self.io_store("i32", &alive, io!(alive));
        }
    }

    /// Whether those that have arrived at a barrier are told from those that may go on.
    fn marks_arrived(&self) -> bool {
        self.options.hold || self.in_turns()
    }

    /// Whether warps of a block may be left and entered again.
    fn resumes(&self) -> bool {
        self.exits.iter().any(|e| e.resume.is_some() && e.reason.goes_on())
    }

    /// The text from the function's start to its code.
    pub(super) fn opening(&self, allocas: &str) -> String {
        let mut t = Lines::new();
        t.label("begin");
        t.text.push_str(allocas);
        for (name, ty) in [
            ("live", "i32"),
            ("fuel", "i64"),
            ("c0", "i32"),
            ("c1", "i32"),
            ("c2", "i32"),
            ("part", "i32"),
            ("hold", "i32"),
            ("exit", "i32"),
        ] {
            t.line(format!("%{name} = alloca {ty}"));
        }
        if self.lone_lanes {
            t.line("%trash = alloca i64");
        }
        t.line(format!("%fuelp = getelementptr inbounds i8, ptr %io, i64 {}", io!(fuel)));
        t.line(format!("%fuel0 = load i64, ptr %fuelp, {ENGINE}"));
        for d in 0..3 {
            let c = t.get("i32", io!(ctaid) + 4 * d);
            t.line(format!("store i32 {c}, ptr %c{d}"));
        }
        if self.options.blocks {
            self.open_blocks(&mut t);
        } else {
            t.line("store i32 %lanes, ptr %live");
            t.line("store i64 %fuel0, ptr %fuel");
            t.line("store i32 0, ptr %part");
            let hold = t.get("i32", io!(hold));
            t.line(format!("store i32 {hold}, ptr %hold"));
            let wn = t.get("i32", io!(warp));
            t.line(format!("%wn = add i32 {wn}, 0"));
            t.line("%wn64 = zext i32 %wn to i64");
            let frame = t.fixed("ptr", io!(frame));
            t.line(format!("%frame = getelementptr i8, ptr {frame}, i64 0"));
            self.reset_waits(&mut t);
            let mut table = String::new();
            for (n, label) in self.entry_labels.iter().enumerate() {
                let _ = write!(table, " i32 {n}, label %{label}");
            }
            let first = &self.entry_labels[0];
            t.line(format!("switch i32 %entry, label %{first} [{table} ]"));
        }
        t.text
    }

    fn reset_waits(&self, t: &mut Lines) {
        for b in (0..self.f.blocks.len()).filter(|&b| self.facts.waiting[b].is_some()) {
            t.line(format!("store i32 0, ptr %w{b}"));
        }
    }

    /// From the first block to the code of the warp whose turn it is.
    fn open_blocks(&self, t: &mut Lines) {
        let resumes = self.resumes();
        for (name, ty) in [
            ("warp", "i32"),
            ("spent", "i64"),
            ("count", "i32"),
            ("waits", "i32"),
            ("later", "i32"),
            ("rounds", "i32"),
            ("held", "i32"),
            ("left", "i32"),
            ("stood", "i32"),
            ("solo", "i32"),
            ("skip", "i32"),
            ("mate", "i32"),
            ("teamfuel", "i64"),
        ] {
            t.line(format!("%{name} = alloca {ty}"));
        }
        t.line("store i32 0, ptr %solo");
        t.line(format!("store i32 {}, ptr %skip", super::teams::FEW));
        if self.in_turns() {
            let first = t.get("i32", io!(warp));
            t.line(format!("store i32 {first}, ptr %warp"));
            t.line(format!("store i32 {}, ptr %left", self.warps()));
        } else {
            t.line("store i32 0, ptr %warp");
        }
        t.line("store i64 0, ptr %spent");
        t.line("store i32 0, ptr %waits");
        t.line("store i32 0, ptr %later");
        for (name, offset) in [("count", io!(blocks)), ("rounds", io!(rounds)), ("held", io!(held))]
        {
            let v = t.get("i32", offset);
            t.line(format!("store i32 {v}, ptr %{name}"));
        }
        t.line(format!("%atp = getelementptr inbounds i8, ptr %io, i64 {}", io!(at)));
        t.line(format!("%at = load ptr, ptr %atp, {FIXED}"));
        t.line("br label %pick");
        t.label("pick");
        t.line("%wn = load i32, ptr %warp");
        t.line("%wn64 = zext i32 %wn to i64");
        if self.in_turns() {
            let left = t.ins("load i32, ptr %left");
            t.line(format!("%more = icmp ne i32 {left}, 0"));
        } else {
            t.line(format!("%more = icmp ult i32 %wn, {}", self.warps()));
        }
        t.line("br i1 %more, label %look, label %round");
        t.label("look");
        if resumes {
            t.line("%atw = getelementptr i32, ptr %at, i64 %wn64");
            t.line(format!("%stands = load i32, ptr %atw, {ENGINE}"));
            t.line(format!("%free = icmp ult i32 %stands, {AT_BARRIER}"));
            t.line("br i1 %free, label %run, label %next");
        } else {
            t.line("br label %run");
        }
        t.label("next");
        let mut next = t.ins("add i32 %wn, 1");
        if self.in_turns() {
            next = self.next_turn(t, &next);
        }
        t.line(format!("store i32 {next}, ptr %warp"));
        t.line("br label %pick");
        t.label("run");
        if self.by_regions() {
            // Each begins with what a warp needs.
            if resumes {
                t.line("store i32 %stands, ptr %stood");
            }
        } else {
            self.begin_warp(t);
        }
        let first = &self.entry_labels[0];
        if !resumes {
            t.line(format!("br label %{first}"));
            return;
        }
        let mut table = String::new();
        for (n, exit) in self.exits.iter().enumerate() {
            if let Some(entry) = exit.resume.filter(|_| exit.reason.goes_on()) {
                let label = &self.entry_labels[entry as usize];
                let _ = write!(table, " i32 {}, label %{label}", n as u32 + crate::FIRST_EXIT);
            }
        }
        t.line(format!("switch i32 %stands, label %{first} [{table} ]"));
    }

    /// A warp has had its turn: one less is left. Who is next in the circle, from the number after its own.
    pub(super) fn next_turn(&self, t: &mut Lines, next: &str) -> String {
        let left = t.ins("load i32, ptr %left");
        let less = t.ins(format!("sub i32 {left}, 1"));
        t.line(format!("store i32 {less}, ptr %left"));
        let over = t.ins(format!("icmp eq i32 {next}, {}", self.warps()));
        t.ins(format!("select i1 {over}, i32 0, i32 {next}"))
    }

    /// What a warp of a block needs whose turn it is.
    pub(super) fn begin_warp(&self, t: &mut Lines) {
        let (tail, warp) = (&self.tail, self.warp_number(32));
        let frame = t.fixed("ptr", io!(frame));
        let bytes = t.fixed("i64", io!(frame_bytes));
        let skip = t.ins(format!("mul i64 {bytes}, {}", self.warp_number(64)));
        t.line(format!("%frame{tail} = getelementptr i8, ptr {frame}, i64 {skip}"));
        t.line("store i32 -1, ptr %live");
        t.line("store i64 %fuel0, ptr %fuel");
        t.line("store i32 0, ptr %part");
        if !self.tells_late() {
            t.put("i32", &warp, io!(warp));
            if self.lanes_part() {
                t.put("i32", "-1", io!(alive));
            }
        }
        if self.options.hold {
            let held = t.ins("load i32, ptr %held");
            let own = t.ins(format!("lshr i32 {held}, {warp}"));
            let own = t.ins(format!("and i32 {own}, 1"));
            let hold = t.ins(format!("xor i32 {own}, 1"));
            t.line(format!("store i32 {hold}, ptr %hold"));
        } else {
            t.line("store i32 0, ptr %hold");
        }
        self.reset_waits(t);
    }

    /// Says how much fuel is left; with whole blocks, of what all warps together used.
    pub(super) fn keep_fuel(&self, t: &mut Lines) {
        let fuel = t.ins("load i64, ptr %fuel");
        if !self.options.blocks {
            t.line(format!("store i64 {fuel}, ptr %fuelp, {ENGINE}"));
            return;
        }
        let spent = t.ins("load i64, ptr %spent");
        let left = t.ins(format!("sub i64 {fuel}, {spent}"));
        t.line(format!("store i64 {left}, ptr %fuelp, {ENGINE}"));
    }

    /// The text from the code to the function's end.
    pub(super) fn closing(&self) -> String {
        let mut t = Lines::new();
        // Names beyond the opening's.
        t.next = 100_000;
        t.label("fault");
        self.keep_fuel(&mut t);
        self.fence_streams(&mut t);
        t.line("ret i32 1");
        let resumes = self.resumes();
        if self.by_regions() {
            self.region_ends(&mut t, resumes);
        } else {
            t.label("done");
            if !self.options.blocks {
                self.keep_fuel(&mut t);
                t.line("ret i32 0");
                return t.text;
            }
            self.add_spent(&mut t);
            if resumes {
                t.line(format!("store i32 {}, ptr %atw, {ENGINE}", AT_DONE as i32));
            }
            t.line("br label %next");
        }
        t.label("round");
        if resumes {
            let waits = t.ins("load i32, ptr %waits");
            let any = t.ins(format!("icmp ne i32 {waits}, 0"));
            t.line(format!("br i1 {any}, label %rest, label %over"));
            t.label("rest");
            let barriers = crate::has_barriers(self.f);
            if self.options.hold {
                let later = t.ins("load i32, ptr %later");
                t.line("store i32 0, ptr %later");
                let some = t.ins(format!("icmp ne i32 {later}, 0"));
                t.line(format!("br i1 {some}, label %retry, label %complete"));
                t.label("retry");
                // Others may wait at a barrier while those that held go on to their ends.
                t.line(format!("store i32 {}, ptr %waits", i32::from(barriers)));
                match self.in_turns() {
                    // Who held is next in the circle. Nobody holds twice.
                    true => t.line(format!("store i32 {}, ptr %left", self.warps())),
                    false => t.line("store i32 0, ptr %warp"),
                }
                t.line("br label %pick");
            } else {
                t.line("br label %complete");
            }
            t.label("complete");
            t.line("store i32 0, ptr %waits");
            if self.in_turns() {
                let last = t.get("i32", io!(warp));
                t.line(format!("store i32 {last}, ptr %warp"));
                t.line(format!("store i32 {}, ptr %left", self.warps()));
                self.tell_turn(&mut t, Turn::Opens);
            } else {
                t.line("store i32 0, ptr %warp");
            }
            if self.marks_arrived() {
                self.open_barrier(&mut t);
            }
            let rounds = t.ins("load i32, ptr %rounds");
            let less = t.ins(format!("sub i32 {rounds}, 1"));
            t.line(format!("store i32 {less}, ptr %rounds"));
            let some = t.ins(format!("icmp ne i32 {less}, 0"));
            t.line(format!("br i1 {some}, label %pick, label %pause, !prof !0"));
            t.label("pause");
            t.line("store i64 0, ptr %fuel");
            let spent = t.ins("load i64, ptr %spent");
            let left = t.ins(format!("sub i64 %fuel0, {spent}"));
            t.line(format!("store i64 {left}, ptr %fuelp, {ENGINE}"));
            let held = t.ins("load i32, ptr %held");
            t.put("i32", &held, io!(held));
            self.fence_streams(&mut t);
            t.line(format!("ret i32 {AGAIN}"));
            t.label("over");
        }
        self.tell_turn(&mut t, Turn::Ends);
        let count = t.ins("load i32, ptr %count");
        let less = t.ins(format!("sub i32 {count}, 1"));
        t.line(format!("store i32 {less}, ptr %count"));
        t.put("i32", &less, io!(blocks));
        let some = t.ins(format!("icmp ne i32 {less}, 0"));
        t.line(format!("br i1 {some}, label %advance, label %end"));
        t.label("end");
        let spent = t.ins("load i64, ptr %spent");
        let left = t.ins(format!("sub i64 %fuel0, {spent}"));
        t.line(format!("store i64 {left}, ptr %fuelp, {ENGINE}"));
        self.fence_streams(&mut t);
        t.line("ret i32 0");
        t.label("advance");
        self.advance(&mut t, resumes);
        self.tell_turn(&mut t, Turn::Begins);
        t.line("br label %pick");
        t.text
    }

    /// Tells whoever watches of blocks and barriers.
    fn tell_turn(&self, t: &mut Lines, what: Turn) {
        if !self.options.watched.blocks {
            return;
        }
        let hook = t.fixed("ptr", io!(turn));
        let context = t.fixed("ptr", io!(context));
        t.line(format!("call void {hook}(ptr {context}, i32 {})", what as u32));
    }

    /// Lets the warps that have arrived at the barrier go on.
    fn open_barrier(&self, t: &mut Lines) {
        let keep = !AT_BARRIER as i32;
        if self.warps() <= 8 {
            // Each was stored by itself: a vector of them would wait until all are in the cache.
            for warp in 0..self.warps() {
                let p = t.ins(format!("getelementptr i32, ptr %at, i64 {warp}"));
                let at = t.ins(format!("load i32, ptr {p}, {ENGINE}"));
                let open = t.ins(format!("and i32 {at}, {keep}"));
                t.line(format!("store i32 {open}, ptr {p}, {ENGINE}"));
            }
            return;
        }
        let at = t.ins(format!("load <32 x i32>, ptr %at, align 4, {ENGINE}"));
        let open = t.ins(format!("and <32 x i32> {at}, splat (i32 {keep})"));
        t.line(format!("store <32 x i32> {open}, ptr %at, align 4, {ENGINE}"));
    }

    /// Adds what the warp used to the sum.
    pub(super) fn add_spent(&self, t: &mut Lines) {
        let fuel = t.ins("load i64, ptr %fuel");
        let used = t.ins(format!("sub i64 %fuel0, {fuel}"));
        let spent = t.ins("load i64, ptr %spent");
        let sum = t.ins(format!("add i64 {spent}, {used}"));
        t.line(format!("store i64 {sum}, ptr %spent"));
    }

    /// The next block: its place, and memory as a block finds it.
    fn advance(&self, t: &mut Lines, resumes: bool) {
        // x, then y, then z.
        let mut carry = "true".to_owned();
        for d in 0..3 {
            let c = t.ins(format!("load i32, ptr %c{d}"));
            let n = t.fixed("i32", io!(nctaid) + 4 * d);
            let one = t.ins(format!("zext i1 {carry} to i32"));
            let up = t.ins(format!("add i32 {c}, {one}"));
            let over = t.ins(format!("icmp eq i32 {up}, {n}"));
            let new = t.ins(format!("select i1 {over}, i32 0, i32 {up}"));
            t.line(format!("store i32 {new}, ptr %c{d}"));
            t.put("i32", &new, io!(ctaid) + 4 * d);
            carry = over;
        }
        t.line("store i32 0, ptr %warp");
        if self.in_turns() {
            t.line(format!("store i32 {}, ptr %left", self.warps()));
        }
        t.line("store i32 0, ptr %held");
        if resumes {
            t.line(format!("store <32 x i32> zeroinitializer, ptr %at, align 4, {ENGINE}"));
            let rounds = t.get("i32", io!(rounds));
            t.line(format!("store i32 {rounds}, ptr %rounds"));
        }
        for (at, size, per) in
            [(io!(shared), io!(shared_size), 1), (io!(local), io!(local_stride), self.warps() * 32)]
        {
            let p = t.fixed("ptr", at);
            let bytes = t.fixed("i64", size);
            let bytes = t.ins(format!("mul i64 {bytes}, {per}"));
            let some = t.ins(format!("icmp ne i64 {bytes}, 0"));
            t.line(format!("br i1 {some}, label %clear{at}, label %cleared{at}"));
            t.label(&format!("clear{at}"));
            t.line(format!("call void @llvm.memset.p0.i64(ptr {p}, i8 0, i64 {bytes}, i1 false)"));
            t.line(format!("br label %cleared{at}"));
            t.label(&format!("cleared{at}"));
        }
    }

    /// The end of an exit's code: to the caller, or to the block's next warp.
    pub(super) fn end_exit(&mut self, number: &str, reason: crate::Reason, resumes: bool) {
        let stays = self.options.blocks && resumes && reason.goes_on();
        if !stays {
            self.tell_running();
        }
        let mut t = Lines::new();
        self.next += 40;
        t.next = 1_000_000 + self.next * 64;
        if !stays {
            self.keep_fuel(&mut t);
            if self.options.blocks {
                let held = t.ins("load i32, ptr %held");
                t.put("i32", &held, io!(held));
            }
            self.fence_streams(&mut t);
            t.line(format!("ret i32 {number}"));
        } else {
            self.add_spent(&mut t);
            t.line("store i32 1, ptr %waits");
            let mut stands = number.parse::<u32>().unwrap_or(0);
            if reason == crate::Reason::Hold {
                t.line("store i32 1, ptr %later");
                let held = t.ins("load i32, ptr %held");
                let own = t.ins(format!("shl i32 1, {}", self.warp_number(32)));
                let all = t.ins(format!("or i32 {held}, {own}"));
                t.line(format!("store i32 {all}, ptr %held"));
            } else if self.marks_arrived() {
                stands |= AT_BARRIER;
            }
            t.line(format!("store i32 {stands}, ptr %atw{}, {ENGINE}", self.tail));
            let next = if self.by_regions() { "step" } else { "next" };
            t.line(format!("br label %{next}{}", self.tail));
        }
        let text = t.text;
        self.text(&text);
    }

    /// A pointer to a field of the running warp's [`Parted`].
    pub(super) fn parted(&mut self, offset: usize) -> String {
        let base = self.io_load("ptr", io!(parted));
        let warp = self.warp_number(64);
        let skip = self.ins(format!("mul i64 {warp}, {}", std::mem::size_of::<Parted>()));
        let at = self.ins(format!("add i64 {skip}, {offset}"));
        self.ins(format!("getelementptr i8, ptr {base}, i64 {at}"))
    }
}

const _: () = assert!(std::mem::size_of::<Io>() < 2048);
