// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses that are said to race with nothing do not: against what kernels with loops and masks really access.

mod common;

use std::fmt::Write;

use common::{Device, Run, module};
use margay_exec::alone::alone;
use margay_exec::fault::Access;
use margay_exec::observe::{AccessEvent, BarrierEvent, Interest, Observer, Watch};
use margay_exec::program::Program;
use margay_ir::Space;
use parking_lot::Mutex;

const THREADS: u32 = 64;
const BLOCKS: u32 = 2;

/// What a thread accessed of shared memory, between which barriers.
#[derive(Clone, Copy)]
struct Accessed {
    block: u32,
    round: usize,
    thread: u32,
    at: (u64, u64),
    writes: bool,
    pc: u32,
}

#[derive(Default)]
struct Recorder(Mutex<Vec<Accessed>>);

struct Worker<'a> {
    recorder: &'a Recorder,
    /// Of each warp of each block.
    rounds: [[usize; THREADS as usize / 32]; BLOCKS as usize],
}

impl Observer for Recorder {
    fn interest(&self) -> Interest {
        Interest::all()
    }
    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(Worker { recorder: self, rounds: Default::default() })
    }
}

impl Watch for Worker<'_> {
    fn access(&mut self, e: &AccessEvent<'_>) {
        if e.space != Space::Shared {
            return;
        }
        let round = self.rounds[e.at.ctaid[0] as usize][e.at.warp as usize];
        let lanes = (0..32u32).filter(|lane| e.mask >> lane & 1 != 0);
        self.recorder.0.lock().extend(lanes.map(|lane| {
            let first = e.addresses[lane as usize];
            let writes = e.access != Access::Read;
            let thread = 32 * e.at.warp + lane;
            let at = (first, first + u64::from(e.bytes));
            Accessed { block: e.at.ctaid[0], round, thread, at, writes, pc: e.at.pc }
        }));
    }
    fn barrier(&mut self, e: &BarrierEvent) {
        self.rounds[e.at.ctaid[0] as usize][e.at.warp as usize] += 1;
    }
}

/// Numbers that are alike on every machine.
struct Random(u64);

impl Random {
    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        of[(self.0 >> 33) as usize % of.len()]
    }
}

/// How many turns a loop takes that ends by a comparison, if it ends soon.
fn turns(from: i32, by: i32, cmp: &str, to: i32) -> Option<u32> {
    let mut value = from;
    (1..=24).find(|_| {
        value = value.wrapping_add(by);
        !match cmp {
            "lt.s32" => value < to,
            "le.s32" => value <= to,
            "lt.u32" => (value as u32) < to as u32,
            "gt.s32" => value > to,
            "ge.u32" => value as u32 >= to as u32,
            _ => value != to,
        }
    })
}

/// The comparison of the operands the other way round.
fn turned(cmp: &str) -> &str {
    match cmp {
        "lt.s32" => "gt.s32",
        "le.s32" => "ge.s32",
        "lt.u32" => "gt.u32",
        "gt.s32" => "lt.s32",
        "ge.u32" => "le.u32",
        _ => cmp,
    }
}

/// The comparison that holds where this one does not.
fn opposite(cmp: &str) -> &str {
    match cmp {
        "lt.s32" => "ge.s32",
        "le.s32" => "gt.s32",
        "lt.u32" => "ge.u32",
        "gt.s32" => "le.s32",
        "ge.u32" => "lt.u32",
        _ => "eq.s32",
    }
}

/// A loop that accesses shared memory in each turn, at a place of the thread's own, one that the turn gives, and maybe one
/// that only a mask or the like bounds. `n` makes its registers and labels its own.
fn one_loop(random: &mut Random, n: usize) -> String {
    let (from, by, cmp, to, turns) = loop {
        let by = random.one_of(&[4, 8, 16, -4, 1, 260]);
        let from = random.one_of(&[0, 8, 64, 640, -16]);
        let to = from + by * random.one_of(&[1, 2, 4, 8, 16]) + random.one_of(&[0, 0, 3, -1]);
        let cmp = random.one_of(&["ne.s32", "lt.s32", "le.s32", "lt.u32", "gt.s32", "ge.u32"]);
        // Most go on because of what they compare.
        if let Some(turns) = turns(from, by, cmp, to)
            && (turns > 1 || random.one_of(&[0, 0, 0, 1]) == 1)
        {
            break (from, by, cmp, to, turns as i32);
        }
    };
    let step = random.one_of(&[0, 4, 16, 64, 256]);
    // Often as much as the loop goes through, so that one more turn meets the next thread's.
    let own = match random.one_of(&[4, 8, 64, 68, 1028, 0, 0, 0]) {
        0 if (1..=1028).contains(&(step * turns)) => step * turns,
        0 => 4,
        own => own,
    };
    let base = 8192 + 1024 * random.one_of(&[0, 0, 4, 12]);
    // What is compared is a part of the address, too, in some, and so is what only a mask or the like bounds.
    let sums = step == 0 && from % 4 == 0 && by % 4 == 0 && from.min(from + by * turns) >= 0;
    let bounds = [
        "",
        "",
        "and.b32 %rN, %r3, 15;",
        "and.b32 %rN, %r3, 12;",
        "shr.u32 %rN, %r3, 29;",
        "rem.u32 %rN, %r3, 5;",
        "min.u32 %rN, %r3, 6;",
        "bfe.u32 %rN, %r3, 9, 2;",
    ];
    let (bound, each) = (random.one_of(&bounds), random.one_of(&[4, 260, 1028]));
    // Registers: what is counted, and the thread's own part.
    let (r, d) = (10 * n, 20 * n);
    let (count, place, mine) = (format!("%r{r}"), format!("%d{d}"), format!("%d{}", d + 1));
    let (mut next, mut free) = (d + 1, vec![r + 1, r + 6, r + 7]);
    let mut access = |random: &mut Random| {
        let mut code = format!("add.u64 %d{}, {mine}, {place};", next + 1);
        next += 1;
        if sums {
            let _ = write!(
                code,
                "cvt.s64.s32 %d{0}, {count}; add.u64 %d{1}, %d{next}, %d{0};",
                next + 1,
                next + 2
            );
            next += 2;
        }
        if !bound.is_empty() {
            let own = free.pop().unwrap();
            let _ = write!(
                code,
                "{3} mul.wide.u32 %d{1}, %r{0}, {each}; add.u64 %d{2}, %d{next}, %d{1};",
                own,
                next + 1,
                next + 2,
                bound.replace("rN", &format!("r{own}"))
            );
            next += 2;
        }
        let what = random.one_of(&[
            "ld.shared.u32 %r4, [%dN];",
            "st.shared.u32 [%dN], %r2;",
            "st.shared.u32 [%dN], %r2;",
        ]);
        code + &what.replace('N', &next.to_string())
    };
    let counts = format!("add.s32 {count}, {count}, {by}; add.u64 {place}, {place}, {step};");
    let turn = match random.one_of(&[0, 0, 1, 2]) {
        0 => format!("{} {counts}", access(random)),
        1 => format!("{counts} {}", access(random)),
        _ => format!("{} {counts} {}", access(random), access(random)),
    };
    let after = match random.one_of(&[0, 0, 0, 1]) {
        0 => String::new(),
        _ => access(random),
    };
    // The end is written there, or is a parameter's.
    let (end, known) = match random.one_of(&[false, true]) {
        true => (
            format!("%r{}", r + 4),
            format!("cvt.u32.u64 %r{}, %a2; add.s32 %r{}, %r{}, {to};", r + 3, r + 4, r + 3),
        ),
        false => (to.to_string(), String::new()),
    };
    let before = format!(
        "{known} mul.wide.u32 %d{a}, %r2, {own}; mov.u64 %d{b}, tile; add.u64 {mine}, %d{b}, %d{a};",
        a = d + 18,
        b = d + 19
    );
    let init =
        format!("mov.u32 {count}, {from}; mov.u64 {place}, {base}; mov.u64 %d{}, {from};", d + 17);
    // Some leave early.
    let leave = match random.one_of(&[0, 0, 0, 1]) {
        1 => format!("setp.gt.u32 %p{0}, %r2, {count}; @%p{0} bra END{n};", n + 4),
        _ => String::new(),
    };
    // Some count in 64 bits what they compare, or compare the other way round, or leave where it holds.
    let long = !sums && random.one_of(&[false, false, true]);
    let (counts_long, compared) = match long {
        true => (
            format!("add.u64 %d{0}, %d{0}, {by}; cvt.u32.u64 %r{1}, %d{0};", d + 17, r + 8),
            format!("%r{}", r + 8),
        ),
        false => (String::new(), count.clone()),
    };
    let again = match random.one_of(&[0, 1, 2, 3]) {
        0 => format!("setp.{cmp} %p{n}, {compared}, {end}; @%p{n} bra LOOP{n};"),
        1 => format!("setp.{} %p{n}, {end}, {compared}; @%p{n} bra LOOP{n};", turned(cmp)),
        2 => format!("setp.{} %p{n}, {compared}, {end}; @!%p{n} bra LOOP{n};", opposite(cmp)),
        _ => format!(
            "setp.{} %p{n}, {compared}, {end}; @%p{n} bra END{n}; bra.uni LOOP{n};",
            opposite(cmp)
        ),
    };
    let inner = format!("LOOP{n}: {leave} {turn} {counts_long} {again} END{n}: {after}");
    // Some go through the loop again: it begins anew, or is gone on with.
    let outer = |what: String| {
        let (count, p) = (r + 5, n + 8);
        format!(
            "AGAIN{n}: {what} add.s32 %r{count}, %r{count}, 1; setp.lt.s32 %p{p}, %r{count}, 3; @%p{p} bra AGAIN{n};"
        )
    };
    match random.one_of(&[0, 0, 0, 1, 2, 2]) {
        1 => format!("{before} mov.u32 %r{}, 0; {}\n", r + 5, outer(format!("{init}\n{inner}\n"))),
        // It ends again, however far it is.
        2 if by > 0 && cmp.starts_with('l') && (cmp != "lt.u32" || to >= 0)
            || by < 0 && cmp == "gt.s32" =>
        {
            format!("{before} {init} mov.u32 %r{}, 0; {}\n", r + 5, outer(format!("\n{inner}\n")))
        }
        _ => format!("{before} {init}\n{inner}\n"),
    }
}

#[test]
fn who_is_said_to_be_alone_is() {
    let mut random = Random(5);
    let (mut said, mut alone_in_truth, mut all) = (0, 0, 0);
    for round in 0..400 {
        let loops: Vec<String> = (1..=random.one_of(&[1, 2, 3]))
            .map(|n| {
                let bar = random.one_of(&["", "bar.sync 0;"]);
                format!("{}{bar}\n", one_loop(&mut random, n))
            })
            .collect();
        // A value that nobody knows before.
        let body = format!(
            "mov.u32 %r2, %tid.x; ld.global.u32 %r3, [%a0]; mad.lo.u32 %r3, %r2, %r3, 7;
             xor.b32 %r3, %r3, %r2; {}",
            loops.concat()
        );
        let device = Device::new();
        let m = device.load(&module(".shared .align 16 .b8 tile[131072];", &body));
        let program = Program::link(&m, m.ir.function("k").unwrap()).unwrap();
        let buffer = device.buffer(&[random.one_of(&[1u32, 5, 0x9e37_79b1]); 64]);
        let params: Vec<u8> = [buffer, buffer, 0].iter().flat_map(|p| p.to_le_bytes()).collect();
        let run = Run { threads: 1, ..Run::new(BLOCKS, THREADS) };
        let config = run.config(params.clone());
        let found = alone(&program, &config, &device.memory);
        let recorder = Recorder::default();
        run.go_observed(&device, &program, params, Some(&recorder))
            .unwrap_or_else(|e| panic!("{e:?}:\n{body}"));
        let accessed = recorder.0.into_inner();
        let mut meets = vec![false; program.code_len() as usize];
        let mut sorted = accessed.clone();
        sorted.sort_by_key(|a| (a.block, a.round, a.at));
        for (n, a) in sorted.iter().enumerate() {
            let near = sorted[n + 1..]
                .iter()
                .take_while(|b| (b.block, b.round) == (a.block, a.round) && b.at.0 < a.at.1);
            for b in near.filter(|b| b.thread != a.thread && (a.writes || b.writes)) {
                meets[a.pc as usize] = true;
                meets[b.pc as usize] = true;
            }
        }
        let mut pcs: Vec<u32> = accessed.iter().map(|a| a.pc).collect();
        pcs.sort_unstable();
        pcs.dedup();
        for pc in pcs {
            let (told, truth) = (found[pc as usize], !meets[pc as usize]);
            assert!(!told || truth, "round {round}, instruction {pc}:\n{body}");
            all += 1;
            said += u32::from(told);
            alone_in_truth += u32::from(truth);
        }
    }
    println!("{said} said to be alone, {alone_in_truth} are, of {all}");
    assert!(
        said > alone_in_truth / 4 && alone_in_truth < all * 9 / 10,
        "{said} of {alone_in_truth}"
    );
}
