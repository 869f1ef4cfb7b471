// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops that run lane by lane where a counter tells the number of turns before the first, beside the interpreter.

mod beside;

use beside::{JIT, agrees, kernel, numbers, result};

/// Words that indices lead to.
const TABLE: u32 = 4096;
/// Threads of all that run.
const THREADS: u32 = 96;

const ONE_BLOCK: ([u32; 3], [u32; 3]) = ([1; 3], [THREADS, 1, 1]);

/// A loop that goes on as `branch` says after `compare`: it walks through memory in steps of `stride` bytes, takes what the indices
/// there lead to, and counts in steps of `step`. A thread begins at the word, and with the count, that `in` has for it behind the table.
fn walk(ty: &str, step: i64, compare: &str, branch: &str, stride: i64) -> String {
    let wide = ty.ends_with("64");
    let (counter, widen) = match wide {
        true => ("%d9", "cvt.s64.s32 %d9, %r12;"),
        false => ("%r12", ""),
    };
    let add = if wide { "add.s64" } else { "add.s32" };
    kernel(&format!(
        "mul.wide.u32 %d4, %r5, 4;\nadd.s64 %d4, %d0, %d4;\nld.global.u32 %r11, [%d4+{start}];\nld.global.u32 %r12, [%d4+{count}];\n{widen}\n\
         mul.wide.s32 %d5, %r11, 4;\nadd.s64 %d5, %d0, %d5;\nmov.u32 %r22, 1;\n\
         LOOP:\nld.global.u32 %r20, [%d5];\nrem.u32 %r20, %r20, {TABLE};\nmul.wide.u32 %d6, %r20, 4;\nadd.s64 %d6, %d0, %d6;\n\
         ld.global.u32 %r21, [%d6];\nmad.lo.u32 %r22, %r22, 3, %r21;\nadd.s64 %d5, %d5, {stride};\n{add} {counter}, {counter}, {step};\n\
         setp.{compare};\n{branch} bra LOOP;\nst.global.u32 [%d3], %r22;",
        start = 4 * TABLE,
        count = 4 * (TABLE + THREADS),
    ))
}

/// The table, where threads begin, and their counts.
fn input(start: impl Fn(u32) -> i32, count: impl Fn(u32) -> i32) -> Vec<u32> {
    let starts = (0..THREADS).map(|t| start(t) as u32);
    let counts = (0..THREADS).map(|t| count(t) as u32);
    numbers(TABLE as usize).into_iter().chain(starts).chain(counts).collect()
}

fn check(text: &str, input: &[u32], what: &str) {
    let threads = THREADS as usize;
    agrees(text, (input, threads), 1000, ONE_BLOCK, what);
    agrees(text, (input, threads), 1000, ([3, 1, 1], [THREADS / 3, 1, 1]), what);
}

/// Whether a kernel comes to its end, compiled.
fn runs(text: &str, input: &[u32]) -> bool {
    result(text, (input, THREADS as usize), 1000, ONE_BLOCK, JIT[0]).is_ok()
}

/// Turns of a thread: few, many, or one.
fn turns(t: u32) -> i32 {
    match t % 7 {
        0 => 1,
        3 => 300,
        _ => (t * 5 % 23) as i32 + 1,
    }
}

struct Counter {
    ty: &'static str,
    step: i32,
    /// What is compared, and what is branched on.
    compare: &'static str,
    branch: &'static str,
    /// The count of a thread that takes `turns`.
    count: fn(i32) -> i32,
}

/// `%r8` is 1000.
const COUNTERS: [Counter; 14] = [
    Counter {
        ty: "s32",
        step: -2,
        compare: "ne.s32 %p1, %r12, 0",
        branch: "@%p1",
        count: |n| 2 * n,
    },
    Counter {
        ty: "s32",
        step: -2,
        compare: "eq.s32 %p1, %r12, 0",
        branch: "@!%p1",
        count: |n| 2 * n,
    },
    Counter {
        ty: "s32",
        step: 3,
        compare: "ne.u32 %p1, 7, %r12",
        branch: "@%p1",
        count: |n| 7 - 3 * n,
    },
    Counter {
        ty: "s32",
        step: 1,
        compare: "lt.s32 %p1, %r12, %r8",
        branch: "@%p1",
        count: |n| 1000 - n,
    },
    Counter {
        ty: "s32",
        step: 1,
        compare: "ge.s32 %p1, %r12, %r8",
        branch: "@!%p1",
        count: |n| 1000 - n,
    },
    Counter {
        ty: "s32",
        step: 7,
        compare: "le.s32 %p1, %r12, -3",
        branch: "@%p1",
        count: |n| -2 - 7 * n,
    },
    Counter {
        ty: "s32",
        step: 7,
        compare: "gt.s32 %p1, -3, %r12",
        branch: "@%p1",
        count: |n| 1 - 7 * n,
    },
    Counter {
        ty: "s32",
        step: -1,
        compare: "gt.s32 %p1, %r12, -5",
        branch: "@%p1",
        count: |n| n - 5,
    },
    Counter {
        ty: "s32",
        step: -3,
        compare: "ge.s32 %p1, %r12, %r8",
        branch: "@%p1",
        count: |n| 3 * n + 998,
    },
    Counter {
        ty: "u32",
        step: 4,
        compare: "lt.u32 %p1, %r12, -16",
        branch: "@%p1",
        count: |n| -17 - 4 * n,
    },
    Counter {
        ty: "u32",
        step: 1,
        compare: "le.u32 %p1, %r12, %r8",
        branch: "@%p1",
        count: |n| 1001 - n,
    },
    Counter {
        ty: "u32",
        step: -1,
        compare: "gt.u32 %p1, %r12, 2",
        branch: "@%p1",
        count: |n| n + 2,
    },
    Counter {
        ty: "u32",
        step: -2,
        compare: "lt.u32 %p1, %r12, %r8",
        branch: "@!%p1",
        count: |n| 2 * n + 999,
    },
    Counter {
        ty: "s64",
        step: -5,
        compare: "ne.s64 %p1, %d9, 10",
        branch: "@%p1",
        count: |n| 5 * n + 10,
    },
];

impl Counter {
    fn walk(&self, stride: i64) -> String {
        walk(self.ty, self.step.into(), self.compare, self.branch, stride)
    }
}

#[test]
fn counters_of_all_kinds_take_their_turns() {
    for c in &COUNTERS {
        for stride in [4, 8, -4, -12] {
            let start =
                |t: u32| if stride > 0 { t as i32 * 3 } else { TABLE as i32 - 1 - t as i32 };
            let input = input(start, |t| (c.count)(turns(t)));
            check(&c.walk(stride), &input, &format!("{}, {}, {stride}", c.compare, c.branch));
        }
    }
}

#[test]
fn limits_that_lie_behind_are_met_after_one_turn() {
    for (step, compare) in [
        (1, "lt.s32 %p1, %r12, -2000000000"),
        (-1, "gt.s32 %p1, %r12, 2000000000"),
        (3, "le.u32 %p1, %r12, 5"),
        (-3, "ge.u32 %p1, %r12, -5"),
    ] {
        let input = input(|t| t as i32, |t| 100 + t as i32);
        check(&walk("s32", step, compare, "@%p1", 4), &input, compare);
    }
}

#[test]
fn a_turn_that_leaves_memory_faults_as_interpreted() {
    let all = (TABLE + 2 * THREADS) as i32;
    for c in &COUNTERS {
        // One thread's last turn, another one's first, or one that goes on far below.
        for (stride, who, start) in [
            (4, 13, all - 300),
            (4, 13, all - 299),
            (8, 70, all),
            (-4, 45, 298),
            (-4, 45, 299),
            (4, 33, -1),
        ] {
            let begins = |t: u32| match t == who {
                true => start,
                false if stride > 0 => 10,
                false => 2000,
            };
            let count = |t: u32| (c.count)(if t == who { 300 } else { turns(t) });
            let what = format!("{}, {stride}, {who}, {start}", c.compare);
            check(&c.walk(stride), &input(begins, count), &what);
        }
    }
}

#[test]
fn counters_that_would_wrap_around_go_on_until_they_leave_memory() {
    // The count of one thread, and of the others, whose first turn is their last.
    for (step, compare, count, others) in [
        // It passes by its limit.
        (-2, "ne.s32 %p1, %r12, 0", 7, 2),
        (2, "ne.s32 %p1, %r12, 0", 8, -2),
        (-1, "ne.s32 %p1, %r12, 5", 5, 6),
        // The last number on this side of the limit is so near the end of its type that the next one is none.
        (8, "le.s32 %p1, %r12, 2147483640", 2147483632, 2147483634),
        (8, "lt.s32 %p1, %r12, 2147483647", 2147483600, 2147483639),
        (-8, "ge.s32 %p1, %r12, -2147483644", -2147483635, -2147483640),
        (8, "le.u32 %p1, %r12, -8", -16, -15),
        (-8, "ge.u32 %p1, %r12, 3", 12, 10),
    ] {
        let text = walk("s32", step, compare, "@%p1", 4);
        for who in [0, 50] {
            let input = input(|_| 0, |t| if t == who { count } else { others });
            check(&text, &input, compare);
        }
        assert!(runs(&text, &input(|_| 0, |_| others)), "{compare}");
    }
}

#[test]
fn limits_that_floats_are_have_the_bits_that_the_comparison_sees() {
    // The canonical NaN is a large number; what the host makes of two infinities is a negative one.
    let text = walk("s32", 1, "lt.s32 %p1, %r12, %r32", "@%p1", 4).replace(
        "mov.u32 %r22, 1;",
        "mov.u32 %r22, 1;\nmul.wide.s32 %d7, %r12, 4;\nadd.s64 %d7, %d0, %d7;\nld.global.b32 %r30, [%d7];\n\
         ld.global.b32 %r31, [%d7+4];\nadd.f32 %r32, %r30, %r31;",
    );
    let mut input = input(|t| t as i32, |_| 0);
    (input[0], input[1]) = (f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits());
    check(&text, &input, "a NaN");
    (input[0], input[1]) = (f32::from_bits(9).to_bits(), f32::from_bits(8).to_bits());
    check(&text, &input, "a number of turns");
}

#[test]
fn addresses_may_go_on_before_the_loads_and_several_loads_share_them() {
    for (stride, low, high) in [(4, -4, 4), (8, 0, 12), (-4, -8, 8), (12, -12, -4)] {
        let text = walk("s32", -1, "ne.s32 %p1, %r12, 0", "@%p1", stride);
        let text = text.replace(&format!("add.s64 %d5, %d5, {stride};\n"), "").replace(
            "ld.global.u32 %r20, [%d5];",
            &format!(
                "add.s64 %d5, %d5, {stride};\nld.global.u32 %r20, [%d5+{low}];\nld.global.u32 %r33, [%d5+{high}];\n\
                 xor.b32 %r20, %r20, %r33;"
            ),
        );
        let all = (TABLE + 2 * THREADS) as i32;
        let (words, furthest) = ((stride / 4) as i32, low.max(high) / 4);
        let (nearest, turns) = (low.min(high) / 4, 40);
        // The last turn of thread 20 ends where the memory does, or a word behind; of a walk back, a word before it begins.
        let last = match stride > 0 {
            true => all - 1 - furthest - turns * words,
            false => -nearest - turns * words,
        };
        for beyond in [0, 1] {
            let begins = |t: u32| match t == 20 {
                true => last + beyond * words.signum(),
                false => 1000 + t as i32,
            };
            let input = input(begins, |t| if t == 20 { turns } else { t as i32 % 9 + 1 });
            let what = format!("{stride}, {low}, {high}, {beyond}");
            check(&text, &input, &what);
            assert_eq!(runs(&text, &input), beyond == 0, "{what}");
        }
    }
}

#[test]
fn misaligned_walks_fault_as_interpreted() {
    // A step that is no multiple of what is loaded, from the second turn on; a shared start that is none, from the first.
    let c = &COUNTERS[0];
    let input = input(|t| t as i32, |t| (c.count)(turns(t)));
    check(&c.walk(6), &input, "by six");
    let text = c.walk(4).replace("mov.u32 %r22, 1;", "mov.u32 %r22, 1;\nadd.s64 %d5, %d5, 2;");
    check(&text, &input, "from two");
}
