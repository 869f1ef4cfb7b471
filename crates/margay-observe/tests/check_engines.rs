// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks find in compiled code what they find in the interpreter, and change no result.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use common::{Bench, nothing_compiles};
use margay_exec::jit::{Engine, counts};
use margay_exec::observe::{EventPlace, Interest, Observer, Watch};
use margay_observe::Tool;
use margay_observe::sanitize::finding::Check;
use margay_observe::sanitize::{Checks, Filter};
use margay_observe::tool::{CopyEvent, LaunchView, together};

const BYTES: usize = 1 << 14;

/// A kernel of three buffers `a`, `b` and `c`, of which the host has written `b` and half of `c`. `%rd1` to `%rd3`
/// are they, `%r1` the thread, `%r2` the block, `%r3` the thread of the grid, `%r4` the address of 4096 bytes of shared
/// memory, and `%rd4` four times `%r3`. All others begin as 0: kernels that read registers which nothing has set are
/// interpreted.
fn kernel(body: &str) -> String {
    let mut zeros = String::new();
    for n in 6..64 {
        let _ = write!(zeros, "mov.u32 %r{n}, 0; ");
    }
    for n in 5..32 {
        let _ = write!(zeros, "mov.u64 %rd{n}, 0; ");
    }
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[4096];\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {{\n\
         .local .align 16 .b8 own[64];\n\
         .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .pred %p<8>; .reg .f32 %f<8>;\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r5, %ntid.x;\n\
         mad.lo.u32 %r3, %r2, %r5, %r1; mul.wide.u32 %rd4, %r3, 4; mov.u32 %r4, tile;\n\
         {zeros}\n{body}\nret;\n}}\n"
    )
}

/// What is found, and what the buffers hold at the end.
fn run(text: &str, engine: Engine, threads: u32, wanted: &[Check]) -> (String, Vec<u8>) {
    run_with(text, engine, threads, wanted, |_| {})
}

fn run_with(
    text: &str,
    engine: Engine,
    threads: u32,
    wanted: &[Check],
    set_up: impl FnOnce(&Checks),
) -> (String, Vec<u8>) {
    run_grid(text, engine, (3, threads), (1, BYTES), wanted, set_up)
}

/// The same with so many blocks of so many threads, on so many threads of the host, and with buffers of so many bytes.
fn run_grid(
    text: &str,
    engine: Engine,
    (blocks, threads): (u32, u32),
    (workers, size): (usize, usize),
    wanted: &[Check],
    set_up: impl FnOnce(&Checks),
) -> (String, Vec<u8>) {
    let mut bench = Bench::new(&["h200"]);
    (bench.engine, bench.seed, bench.workers) = (Some(engine), None, workers);
    let module = bench.load_text(text);
    let wanted: BTreeSet<Check> = wanted.iter().copied().collect();
    let directory = std::env::temp_dir().join(format!(
        "margay-checks-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&directory).unwrap();
    let checks = Checks::start(&directory, wanted, Filter::default());
    set_up(&checks);
    let bytes: Vec<u8> = (0..size as u32).map(|i| ((i * 7) >> 3) as u8).collect();
    let buffers: Vec<u64> = (0..3).map(|_| bench.buffer(&bytes)).collect();
    for (n, &to) in buffers.iter().enumerate() {
        checks.allocated(&bench.memory.find(to).unwrap());
        let written = [0, size as u64, size as u64 / 2][n];
        let copy = CopyEvent { to, from: None, bytes: written, stream: 0, order: None };
        checks.copied(&copy);
    }
    bench.launch_under(&*checks, &module, "k", [blocks, 1, 1], [threads, 1, 1], &buffers);
    let mut after = Vec::new();
    for at in buffers {
        // SAFETY: the buffer was made with this size.
        after.extend_from_slice(unsafe { std::slice::from_raw_parts(at as *const u8, size) });
    }
    let mut findings = checks.report().findings;
    // Addresses are those of this run's buffers.
    for f in &mut findings {
        f.address = None;
    }
    let _ = std::fs::remove_dir_all(&directory);
    (serde_json::to_string_pretty(&findings).unwrap(), after)
}

const ALL: &[Check] = &[Check::Memory, Check::Race, Check::Init, Check::Sync];

/// The findings of all checks, which both engines agree on.
fn both(body: &str, threads: u32) -> String {
    both_of(&kernel(body), threads)
}

fn both_of(text: &str, threads: u32) -> String {
    let body = text;
    let (_, plain) = run(text, Engine::Interp, threads, &[]);
    for wanted in [&[Check::Init][..], ALL] {
        let (interpreted, one) = run(text, Engine::Interp, threads, wanted);
        let before = counts().functions();
        let (compiled, two) = run(text, Engine::Jit, threads, wanted);
        assert!(counts().functions() != before, "{threads} threads: nothing was compiled: {body}");
        assert!(plain == one && one == two, "{threads} threads: results differ: {body}");
        assert!(
            interpreted == compiled,
            "{threads} threads: {body}\n--- interpreted\n{interpreted}\n--- compiled\n{compiled}"
        );
        if wanted == ALL {
            let (single, three) =
                run_with(text, Engine::Jit, threads, wanted, Checks::look_one_by_one);
            assert!(
                two == three && pairs(&compiled) == pairs(&single),
                "{threads} threads: {body}\n--- by rounds\n{compiled}\n--- one by one\n{single}"
            );
            return compiled;
        }
    }
    unreachable!("all checks are the last")
}

/// Each finding's code, with the lines that it names: which of many threads stands for all may differ.
fn pairs(findings: &str) -> BTreeSet<(String, Vec<u64>)> {
    let list: Vec<serde_json::Value> = serde_json::from_str(findings).unwrap();
    let pair = |finding: &serde_json::Value| {
        let line = |actor: &serde_json::Value| actor["source"]["ptx_line"].as_u64().unwrap_or(0);
        let mut lines: Vec<u64> =
            finding["actors"].as_array().into_iter().flatten().map(line).collect();
        lines.sort_unstable();
        (finding["code"].to_string(), lines)
    };
    list.iter().map(pair).collect()
}

fn found(findings: &str, code: &str) -> bool {
    findings.contains(&format!("\"code\": \"{code}\""))
}

/// Each with what must be found in it, and in it alone.
#[test]
fn values_never_written_are_followed_from_compiled_code() {
    if nothing_compiles() {
        return;
    }
    let at = |base: &str| format!("add.u64 %rd5, {base}, %rd4;");
    let (a, b, c) = (at("%rd1"), at("%rd2"), at("%rd3"));
    let cases = [
        // Loaded and stored: a copy is none yet, what is computed is.
        (format!("{a} ld.global.u32 %r6, [%rd5]; add.u32 %r6, %r6, 1; {b} st.global.u32 [%rd5], %r6;"), "init/result"),
        (format!("{b} ld.global.u32 %r6, [%rd5]; {a} st.global.u32 [%rd5], %r6; ld.global.u32 %r7, [%rd5]; add.u32 %r7, %r7, 1; st.global.u32 [%rd5], %r7;"), ""),
        (format!("{a} ld.global.u32 %r6, [%rd5]; setp.eq.u32 %p1, %r6, 3; @%p1 bra OUT; st.global.u32 [%rd5], %r1; OUT:"), "init/branch"),
        (format!("{a} ld.global.u32 %r6, [%rd5]; and.b32 %r6, %r6, 0; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd6, %rd2; ld.global.u32 %r7, [%rd6]; st.global.u32 [%rd5], %r7;"), ""),
        (format!("{a} ld.global.u32 %r6, [%rd5]; and.b32 %r6, %r6, 7; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd6, %rd2; ld.global.u32 %r7, [%rd6]; st.global.u32 [%rd5], %r7;"), "init/address"),
        (format!("{a} red.global.add.u32 [%rd5], 1;"), "init/atomic"),
        // A part of a vector that nobody looks at.
        ("shl.b32 %r6, %r1, 4; add.u32 %r6, %r6, %r4; st.shared.u32 [%r6], %r1; st.shared.u32 [%r6+8], %r1; ld.shared.v4.u32 {%r7,%r8,%r9,%r10}, [%r6]; add.u32 %r7, %r7, %r9;".to_owned() + &b + "st.global.u32 [%rd5], %r7;", ""),
        ("shl.b32 %r6, %r1, 4; add.u32 %r6, %r6, %r4; st.shared.u32 [%r6], %r1; ld.shared.v4.u32 {%r7,%r8,%r9,%r10}, [%r6]; add.u32 %r7, %r7, %r9;".to_owned() + &b + "st.global.u32 [%rd5], %r7;", "init/result"),
        // Half of the lanes, in a loop whose rounds the code runs again.
        (format!("{c} mov.u32 %r8, 0; mov.u32 %r9, 0; LOOP: ld.global.u32 %r6, [%rd5]; add.u32 %r8, %r8, %r6; mov.u32 %r6, 0; add.u32 %r9, %r9, 1; add.u64 %rd5, %rd5, 2048; setp.lt.u32 %p1, %r9, 6; @%p1 bra LOOP; {b} st.global.u32 [%rd5], %r8;"), "init/result"),
        (format!("{c} mov.u32 %r8, 0; mov.u32 %r9, 0; LOOP: ld.global.u32 %r6, [%rd5]; add.u32 %r8, %r8, 1; mov.u32 %r6, 0; bar.sync 0; add.u32 %r9, %r9, 1; add.u64 %rd5, %rd5, 2048; setp.lt.u32 %p1, %r9, 6; @%p1 bra LOOP; {b} st.global.u32 [%rd5], %r8;"), ""),
        // Thread memory, and a load under a guard, which its handler makes.
        (format!("st.local.u32 [own], %r1; ld.local.u32 %r6, [own]; ld.local.u32 %r7, [own+4]; add.u32 %r6, %r6, %r7; {b} st.global.u32 [%rd5], %r6;"), "init/result"),
        // Written by all lanes at once, and then by one what nobody wrote; and by all again.
        (format!("st.local.u32 [own], %r1; {a} ld.global.u32 %r6, [%rd5]; setp.eq.u32 %p1, %r1, 5; @%p1 st.local.u32 [own], %r6; ld.local.u32 %r7, [own]; add.u32 %r7, %r7, 1; {b} st.global.u32 [%rd5], %r7;"), "init/result"),
        (format!("st.local.u32 [own], %r1; {a} ld.global.u32 %r6, [%rd5]; setp.eq.u32 %p1, %r1, 5; @%p1 st.local.u32 [own], %r6; mov.u32 %r6, 0; st.local.u32 [own], %r1; ld.local.u32 %r7, [own]; add.u32 %r7, %r7, 1; {b} st.global.u32 [%rd5], %r7;"), ""),
        (format!("setp.lt.u32 %p1, %r1, 9; mov.u32 %r6, 0; {a} @%p1 ld.global.u32 %r6, [%rd5]; add.u32 %r6, %r6, 1; {b} st.global.u32 [%rd5], %r6;"), "init/result"),
        (format!("setp.lt.u32 %p1, %r1, 9; mov.u32 %r6, 0; {a} @%p1 ld.volatile.global.u32 %r6, [%rd5]; {b} st.global.u32 [%rd5], %r1;"), ""),
        // Lanes apart.
        (format!("{b} setp.gt.u32 %p1, %r1, 20; @%p1 bra ELSE; {a} ld.global.u32 %r6, [%rd5]; add.u32 %r6, %r6, %r1; st.global.u32 [%rd5], %r6; bra JOIN; ELSE: st.global.u32 [%rd5], %r1; JOIN: add.u32 %r1, %r1, 1; st.global.u32 [%rd5], %r1;"), "init/result"),
    ];
    for (body, code) in &cases {
        for threads in [64, 128, 40, 20] {
            let findings = both(body, threads);
            let inits = ["init/result", "init/branch", "init/address", "init/atomic"];
            for other in inits {
                assert_eq!(found(&findings, other), other == *code, "{other}: {body}\n{findings}");
            }
        }
    }
}

/// Lanes 0 to 15 pass one mask, the others another.
#[test]
fn masks_that_differ_are_found() {
    if nothing_compiles() {
        return;
    }
    let out = "add.u64 %rd5, %rd2, %rd4; st.global.u32 [%rd5], %r7;";
    let ops = [
        "vote.sync.ballot.b32 %r7, %p1, %r6;",
        "vote.sync.all.pred %p2, %p1, %r6; selp.u32 %r7, 1, 0, %p2;",
        "shfl.sync.idx.b32 %r7, %r1, 16, 31, %r6;",
        "match.any.sync.b32 %r7, %r1, %r6;",
        "redux.sync.add.s32 %r7, %r1, %r6;",
        "bar.warp.sync %r6;",
    ];
    let cases = [("0xffffffff", "0xffff0000", true), ("0x0000ffff", "0xffff0000", false)];
    for op in ops {
        for (low, high, wrong) in cases {
            let masks = format!(
                "and.b32 %r9, %r1, 16; setp.lt.u32 %p1, %r9, 16; selp.u32 %r6, {low}, {high}, %p1;"
            );
            let findings = both(&format!("{masks} {op} {out}"), 64);
            assert_eq!(found(&findings, "sync/mask"), wrong, "{op}\n{findings}");
            assert!(!found(&findings, "sync/exited"), "{op}\n{findings}");
        }
    }
}

#[test]
fn races_are_found_alike() {
    if nothing_compiles() {
        return;
    }
    let row = "shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r4;";
    let out = "add.u64 %rd5, %rd2, %rd4; st.global.u32 [%rd5], %r7;";
    let cases = [
        // Rows of shared memory, with and without a barrier.
        (format!("{row} st.shared.u32 [%r6], %r1; bar.sync 0; ld.shared.u32 %r7, [%r6+128]; {out}"), ""),
        (format!("{row} st.shared.u32 [%r6], %r1; ld.shared.u32 %r7, [%r6+128]; {out}"), "race/read-write"),
        (format!("{row} st.shared.u32 [%r6], %r1; bar.sync 0; ld.shared.u32 %r7, [%r4+64]; st.shared.u32 [%r6], %r7; {out}"), "race/read-write"),
        (format!("{row} st.shared.u32 [%r6], %r1; bar.sync 0; ld.shared.u32 %r7, [%r6]; st.shared.u32 [%r6], %r7; bar.sync 0; st.shared.u32 [%r6+4], %r7; {out}"), ""),
        (format!("{row} st.shared.u32 [%r4], %r1; {out}"), "race/write-write"),
        // Rows of global memory: in order, all blocks the same words, and the same value.
        ("add.u64 %rd5, %rd3, %rd4; ld.global.u32 %r7, [%rd5]; add.u32 %r7, %r7, 1; st.global.u32 [%rd5], %r7;".to_owned(), ""),
        ("mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd5, %rd2; st.global.u32 [%rd5], %r3;".to_owned(), "race/write-write"),
        ("mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd5, %rd2; st.global.u32 [%rd5], %r1;".to_owned(), "race/same-value"),
        ("mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd5, %rd2; ld.global.u32 %r7, [%rd5]; add.u64 %rd6, %rd2, %rd4; st.global.u32 [%rd6], %r7;".to_owned(), "race/read-write"),
        ("mul.wide.u32 %rd5, %r3, 8; add.u64 %rd5, %rd5, %rd2; mov.u64 %rd6, 5; st.global.u64 [%rd5], %rd6; ld.global.u64 %rd7, [%rd5+8]; st.global.u64 [%rd5], %rd7;".to_owned(), "race/read-write"),
        // Through a pointer that is not stored through.
        ("sub.u64 %rd6, %rd3, %rd1; shr.u64 %rd7, %rd6, 2; shl.b64 %rd8, %rd7, 2; add.u64 %rd5, %rd1, %rd4; add.u64 %rd5, %rd5, %rd8; st.global.u32 [%rd5], %r1;".to_owned(), "race/incomplete"),
    ];
    for (body, code) in &cases {
        for threads in [64, 256, 100] {
            let findings = both(body, threads);
            let races =
                ["race/read-write", "race/write-write", "race/same-value", "race/incomplete"];
            for other in races {
                assert_eq!(found(&findings, other), other == *code, "{other}: {body}\n{findings}");
            }
        }
    }
}

/// What the addresses show is not kept: registers that are set once, so that they show something. Each case is looked at with
/// everything kept, too.
#[test]
fn races_that_addresses_rule_out_are_none() {
    if nothing_compiles() {
        return;
    }
    const RW: &str = "race/read-write";
    const WW: &str = "race/write-write";
    for threads in [64, 256, 100] {
        let half = 4 * threads;
        // As a prefix sum goes from one half of its tile to the other: the word that is `back` before the thread's, for
        // threads from `first` on.
        let step = |back: u32, first: u32| {
            format!(
                "st.shared.u32 [%y1+{half}], %r1; bar.sync 0; ld.shared.u32 %y2, [%y1+{half}]; \
                 setp.lt.u32 %p1, %r1, {first}; @%p1 bra SKIP; ld.shared.u32 %y3, [%y1+{}]; SKIP: \
                 st.shared.u32 [%y1], %y2;",
                half - 4 * back
            )
        };
        let turns = |inner: &str| {
            format!(
                "mov.u32 %y8, 0; TURN: {inner} add.u32 %y8, %y8, 1; setp.lt.u32 %p2, %y8, 3; @%p2 bra TURN;"
            )
        };
        let one =
            |at: u32| format!("setp.eq.u32 %p1, %r3, 70; @%p1 st.global.u32 [%rd3+{at}], %r1;");
        let cases = [
            ("its own", "ld.global.u32 %y2, [%x1]; add.u32 %y3, %y2, 1; st.global.u32 [%x1], %y3;".to_owned(), ""),
            ("the next one's", "ld.global.u32 %y2, [%x1+4]; st.global.u32 [%x1], %y2;".to_owned(), RW),
            ("of some", "setp.gt.u32 %p1, %r1, 9; @%p1 ld.global.u32 %y2, [%x1+-4]; st.global.u32 [%x1], %r1;".to_owned(), RW),
            ("behind all", format!("ld.global.u32 %y2, [%x1+{}]; st.global.u32 [%x1], %y2;", 3 * half), ""),
            ("the last of all", format!("ld.global.u32 %y2, [%x1+{}]; st.global.u32 [%x1], %y2;", 3 * half - 4), RW),
            ("wider than it is far", "mul.wide.u32 %x2, %r3, 8; add.u64 %x3, %rd3, %x2; st.global.u64 [%x3], %x2; ld.global.u32 %y2, [%x3+260];".to_owned(), RW),
            ("as wide as it is far", "mul.wide.u32 %x2, %r3, 8; add.u64 %x3, %rd3, %x2; st.global.u64 [%x3], %x2; ld.global.u32 %y2, [%x3+4];".to_owned(), ""),
            ("of all blocks", "mul.wide.u32 %x2, %r1, 4; add.u64 %x3, %rd3, %x2; st.global.u32 [%x3], %r3;".to_owned(), WW),
            ("by one thread", "setp.eq.u32 %p1, %r1, 3; mul.wide.u32 %x2, %r2, 4; add.u64 %x3, %rd3, %x2; @%p1 st.global.u32 [%x3], %r3;".to_owned(), ""),
            ("by two threads", "setp.lt.u32 %p1, %r1, 2; mul.wide.u32 %x2, %r2, 4; add.u64 %x3, %rd3, %x2; @%p1 st.global.u32 [%x3], %r3;".to_owned(), WW),
            ("kept to 32 bits", "cvt.u64.u32 %x2, %r3; shl.b64 %x3, %x2, 32; shr.s64 %x4, %x3, 30; add.u64 %x5, %rd3, %x4; st.global.u32 [%x5], %r1; ld.global.u32 %y2, [%x5];".to_owned(), ""),
            ("a step of a sum", step(2, 2), ""),
            ("one thread too many", step(2, 1), RW),
            ("one word too far", step(3, 2), RW),
            ("in turns", turns("st.shared.u32 [%y1], %r1; bar.sync 0; ld.shared.u32 %y2, [%r4+64]; bar.sync 0;"), ""),
            ("from turn to turn", turns("st.shared.u32 [%y1], %r1; bar.sync 0; ld.shared.u32 %y2, [%r4+64];"), RW),
            ("another barrier", "st.shared.u32 [%y1], %r1; bar.sync 1; ld.shared.u32 %y2, [%r4+64];".to_owned(), ""),
            ("read by all, written by one", turns("ld.global.u32 %y2, [%rd3+8];") + &one(8), RW),
            ("a row, written by one", turns("ld.global.u32 %y2, [%x6];") + &one(20), RW),
            ("wide words of half a warp", "and.b32 %y2, %r1, 31; setp.ge.u32 %p1, %y2, 16; @%p1 bra SKIP; mul.wide.u32 %x2, %y2, 8; \
              add.u64 %x3, %rd3, %x2; ld.global.u64 %x4, [%x3+256]; ld.global.u64 %x5, [%x3]; \
              setp.ge.u32 %p2, %r3, 16; @%p2 bra SKIP; st.global.u64 [%x3], %x4; SKIP:".to_owned(), RW),
            ("through a pointer from memory", "mul.wide.u32 %x2, %r3, 8; add.u64 %x3, %rd2, %x2; st.global.u64 [%x3], %rd3; \
              ld.global.u64 %x3, [%x3]; ld.global.u32 %y2, [%x3+20]; st.global.u32 [%x1], %r1;".to_owned(), RW),
            ("a row, written beside", turns("ld.global.u32 %y2, [%x6];") + &one(4 * threads), ""),
        ];
        for (name, body, code) in &cases {
            let body = format!(
                ".reg .b64 %x<8>; .reg .b32 %y<9>;\nadd.u64 %x1, %rd3, %rd4; mul.wide.u32 %x7, %r1, 4; \
                 add.u64 %x6, %rd3, %x7; shl.b32 %y0, %r1, 2; add.u32 %y1, %y0, %r4;\n{body}"
            );
            let text = kernel(&body);
            let (findings, after) = run(&text, Engine::Jit, threads, ALL);
            let others = [
                run(&text, Engine::Interp, threads, ALL),
                run_with(&text, Engine::Jit, threads, ALL, Checks::look_one_by_one),
            ];
            // Which of many threads stands for all may differ.
            for (other, left) in others {
                let alike = pairs(&findings) == pairs(&other);
                assert!(alike, "{name}, {threads}: {body}\n{findings}\n--- otherwise\n{other}");
                // What races may leave anything.
                assert!(!code.is_empty() || after == left, "{name}, {threads}: {body}");
            }
            for other in [RW, WW, "race/same-value", "race/incomplete"] {
                let told = found(&findings, other);
                assert_eq!(told, other == *code, "{name}, {threads}: {other}: {body}\n{findings}");
            }
        }
    }
}

/// However many workers run the blocks, what is found is the same: in rows, scattered over pages, and in words of several blocks.
#[test]
fn workers_find_the_same() {
    const BLOCKS: u32 = 3000;
    let scattered = "mul.lo.u32 %y1, %r3, 40503; and.b32 %y1, %y1, 0x3ffff; mul.wide.u32 %x1, %y1, 4; \
                     add.u64 %x1, %rd2, %x1; st.global.u32 [%x1], %r3;";
    let row = "add.u64 %x2, %rd1, %rd4; st.global.u32 [%x2], %r3; ld.global.u32 %y2, [%x2];";
    let tile = "shl.b32 %y3, %r1, 2; add.u32 %y3, %y3, %r4; st.shared.u32 [%y3], %r1; bar.sync 0; \
                xor.b32 %y4, %r1, 1; shl.b32 %y4, %y4, 2; add.u32 %y4, %y4, %r4; ld.shared.u32 %y5, [%y4];";
    // Two blocks write a word, or one reads what another writes.
    let word = "shr.u32 %y6, %r2, 1; mul.wide.u32 %x3, %y6, 4; add.u64 %x3, %rd3, %x3; \
                setp.ne.u32 %p1, %r1, 0; @%p1 bra SKIP; st.global.u32 [%x3], %r2; SKIP:";
    let read = "ld.global.u32 %y7, [%rd3+4096]; mul.wide.u32 %x3, %r2, 4; add.u64 %x3, %rd3, %x3; \
                setp.ne.u32 %p1, %r1, 5; @%p1 bra SKIP; st.global.u32 [%x3], %y7; SKIP:";
    for (last, code) in [("", ""), (word, "race/write-write"), (read, "race/read-write")] {
        let body = format!(".reg .b64 %x<8>; .reg .b32 %y<9>;\n{scattered}\n{row}\n{tile}\n{last}");
        let text = kernel(&body);
        let run = |workers, engine| {
            let shape = ((BLOCKS, 64), (workers, 1 << 20));
            run_grid(&text, engine, shape.0, shape.1, &[Check::Race, Check::Sync], |_| {})
        };
        let (one, _) = run(1, Engine::Jit);
        assert_eq!(found(&one, code), !code.is_empty(), "{code}: {one}");
        for (workers, engine) in [(2, Engine::Jit), (4, Engine::Jit), (4, Engine::Interp)] {
            let (several, _) = run(workers, engine);
            assert_eq!(
                pairs(&one),
                pairs(&several),
                "{workers} workers: {several}\n--- one\n{one}"
            );
        }
    }
}

/// A kernel whose tile has 16 rows of a word for each thread and `pad` more, which nothing is written to unless a case
/// does. All rows are written and read several times, so that accesses are noted at last; `last` and `after` are put in
/// its last turn but one, and behind: `%r6` is the thread's word of the first row, `%r7` what it has read, and `%p3` to `%p5` are for the
/// last thread, the first, and the first 32.
fn padded(threads: u32, pad: u32, last: &str, after: &str) -> String {
    let (row, rows) = (4 * (threads + pad), 16);
    let end = row * rows;
    format!(
        "shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r4; mov.u32 %r20, {row}; mov.u32 %r21, {end};\n\
         sub.u32 %r15, %r5, 1; setp.eq.u32 %p3, %r1, %r15; setp.eq.u32 %p4, %r1, 0; setp.lt.u32 %p5, %r1, 32;\n\
         WRITE: add.u32 %r8, %r6, %r9; st.shared.u32 [%r8], %r1; add.u32 %r9, %r9, %r20;\n\
         setp.lt.u32 %p1, %r9, %r21; @%p1 bra WRITE; bar.sync 0;\n\
         TURN: mov.u32 %r9, 0;\n\
         READ: add.u32 %r8, %r6, %r9; ld.shared.u32 %r10, [%r8]; add.u32 %r7, %r7, %r10;\n\
         add.u32 %r9, %r9, %r20; setp.lt.u32 %p1, %r9, %r21; @%p1 bra READ;\n\
         mov.u32 %r9, 0;\n\
         AGAIN: add.u32 %r8, %r6, %r9; st.shared.u32 [%r8], %r7; add.u32 %r9, %r9, %r20;\n\
         setp.lt.u32 %p1, %r9, %r21; @%p1 bra AGAIN; bar.sync 0;\n\
         add.u32 %r11, %r11, 1; setp.eq.u32 %p2, %r11, 6; @!%p2 bra NEXT;\n{last}\n\
         NEXT: setp.lt.u32 %p1, %r11, 7; @%p1 bra TURN;\n{after}\n\
         add.u64 %rd5, %rd2, %rd4; st.global.u32 [%rd5], %r7;"
    )
}

/// With so many bytes of shared memory.
fn in_tile(text: &str, bytes: u32) -> String {
    text.replace("tile[4096]", &format!("tile[{bytes}]"))
}

/// What a tile's padding hides: accesses of tiles that are written but for it are noted, and those of it are not.
#[test]
fn padding_of_tiles_is_looked_at() {
    if nothing_compiles() {
        return;
    }
    for (threads, pad) in [(128, 1), (40, 2)] {
        let row = 4 * (threads + pad);
        let (third, next) = (3 * row, 3 * row + 4);
        // The last thread has the first word of the padding behind its own; what all read one further has it, too.
        let reads = format!("@%p3 ld.shared.u32 %r12, [%r6+{next}]; add.u32 %r7, %r7, %r12;");
        let all_read = format!("ld.shared.u32 %r12, [%r6+{next}]; add.u32 %r7, %r7, %r12;");
        let writes = format!("@%p3 st.shared.u32 [%r6+{next}], %r1;");
        let other = format!("@%p4 st.shared.u32 [%r4+{}], %r1;", third + 4 * threads);
        let near = format!("@%p5 bra SKIP; ld.shared.u32 %r12, [%r6+{}]; SKIP:", third - 4);
        let (none, bar) = (String::new(), "bar.sync 0;");
        let further = format!("add.u32 %r6, %r6, 4; mov.u32 %r21, {};", row * 15);
        let cases: [(&str, String, String, &[&str]); 13] = [
            ("nothing", none.clone(), none.clone(), &[]),
            ("one is never written", reads.clone(), none.clone(), &["init/result"]),
            ("in a row", format!("{all_read} {bar}"), none.clone(), &["init/result"]),
            ("at last", none.clone(), all_read.clone(), &["init/result"]),
            ("by the loop's own load", further, none.clone(), &["init/result"]),
            ("and not used", format!("@%p3 ld.shared.u32 %r13, [%r6+{next}];"), none.clone(), &[]),
            ("written late", format!("{writes} {bar} {all_read} {bar}"), none.clone(), &[]),
            ("by another", format!("{other} {bar} {all_read} {bar}"), none.clone(), &[]),
            ("and read at last", writes.clone(), format!("{bar} {all_read}"), &[]),
            ("it races", format!("{other} {reads}"), none.clone(), &["race/read-write"]),
            ("twice", format!("{other} {writes}"), none.clone(), &["race/write-write"]),
            ("beside it", format!("{all_read} {writes}"), none.clone(), &["race/read-write"]),
            ("a noted one races", near, none, &["race/read-write"]),
        ];
        for (name, last, after, codes) in &cases {
            let body = padded(threads, pad, last, after);
            let findings = both_of(&in_tile(&kernel(&body), row * 16), threads);
            let known = ["race/read-write", "race/write-write", "race/same-value"];
            for code in known.iter().chain(&["init/result"]) {
                // Whether the other warp comes first decides what a race reads.
                if *code != "init/result" || !codes.iter().any(|code| code.starts_with("race")) {
                    let wanted = codes.contains(code);
                    let told = found(&findings, code);
                    assert_eq!(told, wanted, "{name}, {threads}: {code}: {body}\n{findings}");
                }
            }
        }
    }
}

/// Random numbers, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A body of accesses in one form or another, with barriers between some.
fn random_body(random: &mut Random) -> String {
    let mut body = String::from("mov.u32 %r20, 1; mov.u64 %rd20, 2; mov.u32 %r40, 0;\n");
    let bytes = random.below(4) == 0;
    for n in 0..3 + random.below(8) {
        let index = match random.below(7) {
            0 => "mov.u32 %r30, %r1;".to_owned(),
            1 => "mov.u32 %r30, %r3;".to_owned(),
            2 => format!("add.u32 %r30, %r1, {};", random.below(40)),
            3 => format!("xor.b32 %r30, %r1, {};", 1 << random.below(6)),
            4 => format!("mov.u32 %r30, {};", random.below(64)),
            5 => "shl.b32 %r30, %r1, 1;".to_owned(),
            _ => "mul.lo.u32 %r30, %r1, 33; and.b32 %r30, %r30, 127;".to_owned(),
        };
        let (width, value) =
            [("u32", "%r20"), ("u32", "%r20"), ("u64", "%rd20")][random.below(3) as usize];
        // Some kernels have smaller accesses, too.
        let width =
            if bytes && random.below(3) == 0 { ["u8", "u16"][n as usize % 2] } else { width };
        let value = if width == "u8" || width == "u16" { "%r20" } else { value };
        let size = match width {
            "u8" => 1,
            "u16" => 2,
            "u32" => 4,
            _ => 8,
        };
        let (space, address) = match random.below(4) {
            0 => ("global", "%rd1"),
            1 => ("global", "%rd2"),
            2 => ("global", "%rd3"),
            _ => ("shared", ""),
        };
        let place = match space {
            "shared" => {
                format!(
                    "and.b32 %r30, %r30, 255; mul.lo.u32 %r31, %r30, {size}; add.u32 %r31, %r31, %r4;"
                )
            }
            _ => format!("mul.wide.u32 %rd10, %r30, {size}; add.u64 %rd10, %rd10, {address};"),
        };
        let at = if space == "shared" { "%r31" } else { "%rd10" };
        let guard = ["", "", "@%p2 "][random.below(3) as usize];
        let access = match random.below(7) {
            0..=2 => format!("{guard}ld.{space}.{width} {value}, [{at}];"),
            3..=4 => format!("{guard}st.{space}.{width} [{at}], {value};"),
            5 if size >= 4 => format!("red.{space}.add.u32 [{at}], 1;"),
            _ => format!("st.{space}.{width} [{at}], {value};"),
        };
        let _ =
            writeln!(body, "{index} {place} setp.lt.u32 %p2, %r1, {}; {access}", random.below(70));
        match random.below(9) {
            0..=2 => body.push_str("bar.sync 0;\n"),
            8 => body.push_str("bar.warp.sync 0xffffffff;\n"),
            3 => body.push_str("mov.u32 %r20, %r1; mov.u64 %rd20, 3;\n"),
            4 => {
                let _ = writeln!(
                    body,
                    "setp.lt.u32 %p3, %r20, 1000; @%p3 bra S{n}; add.u32 %r40, %r40, 1; S{n}:"
                );
            }
            5 => body.push_str("membar.gl;\n"),
            // Some warps end, or some lanes of one, perhaps after a store; the others have a barrier before them.
            6 => {
                let bound = [32, 64, random.below(70)][random.below(3) as usize];
                let cmp = ["lt", "ge", "ne"][random.below(3) as usize];
                let _ = write!(body, "shr.u32 %r41, %r1, 5; setp.{cmp}.u32 %p4, ");
                match random.below(3) {
                    0 => drop(write!(body, "%r41, {};", random.below(4))),
                    _ => drop(write!(body, "%r1, {bound};")),
                }
                if random.below(2) == 0 {
                    body.push_str("add.u64 %rd11, %rd2, %rd4; @%p4 st.global.u32 [%rd11], %r20; ");
                }
                body.push_str("@%p4 exit; bar.sync 0;\n");
            }
            _ => {}
        }
    }
    body
}

#[test]
fn random_kernels_are_judged_alike() {
    if nothing_compiles() {
        return;
    }
    let seed: u64 =
        std::env::var("MARGAY_FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 =
        std::env::var("MARGAY_CHECK_KERNELS").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
    let mut findings = 0;
    for n in 0..count {
        let mut random = Random(seed.wrapping_add(n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let body = random_body(&mut random);
        let threads = [64, 128, 40, 32][random.below(4) as usize];
        findings += both(&body, threads).matches("\"code\"").count();
    }
    assert!(findings as u64 > count, "only {findings} findings: the kernels do nothing wrong");
}

/// Counts what is interpreted, beside the checks.
struct Counting<'a>(&'a Checks, std::sync::atomic::AtomicU64);

impl Tool for Counting<'_> {
    fn launch<'a>(&'a self, launch: &'a LaunchView<'a>) -> Option<Box<dyn Observer + 'a>> {
        let counter: Box<dyn Observer + 'a> = Box::new(Counter(&self.1));
        together(self.0.launch(launch).into_iter().chain([counter]).collect())
    }
}

struct Counter<'a>(&'a std::sync::atomic::AtomicU64);

impl Observer for Counter<'_> {
    fn interest(&self) -> Interest {
        Interest::RUNS
    }
    fn compiled(&self) -> Interest {
        Interest::empty()
    }
    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(Counter(self.0))
    }
}

impl Watch for Counter<'_> {
    fn run(&mut self, at: EventPlace, end: u32, _mask: u32) {
        self.0.fetch_add(u64::from(end - at.pc), std::sync::atomic::Ordering::Relaxed);
    }
}

/// A warp goes back to compiled code once what is undefined is not read any more, even if it is never overwritten.
#[test]
fn dead_values_keep_no_warp_out_of_compiled_code() {
    if nothing_compiles() {
        return;
    }
    let interpreted = |use_it: &str| {
        let text = kernel(&format!(
            "shl.b32 %r6, %r1, 3; add.u32 %r6, %r6, %r4; st.shared.u32 [%r6], %r1; ld.shared.v2.u32 {{%r7,%r8}}, [%r6]; \
             mov.u32 %r9, 0; LOOP: add.u32 %r7, %r7, %r9; xor.b32 %r7, %r7, 5; add.u32 %r9, %r9, 1; \
             setp.lt.u32 %p1, %r9, 200000; @%p1 bra LOOP; {use_it} add.u64 %rd5, %rd2, %rd4; st.global.u32 [%rd5], %r7;"
        ));
        let mut bench = Bench::new(&["h200"]);
        (bench.engine, bench.seed) = (Some(Engine::Jit), None);
        let module = bench.load_text(&text);
        let directory =
            std::env::temp_dir().join(format!("margay-checks-dead-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let checks = Checks::start(&directory, BTreeSet::from([Check::Init]), Filter::default());
        let buffers: Vec<u64> = (0..3).map(|_| bench.buffer(&[0; BYTES])).collect();
        let counting = Counting(&checks, Default::default());
        bench.launch_under(&counting, &module, "k", [1, 1, 1], [32, 1, 1], &buffers);
        let _ = std::fs::remove_dir_all(&directory);
        (counting.1.into_inner(), checks.report().findings.len())
    };
    let (dead, none) = interpreted("");
    let (alive, one) = interpreted("add.u32 %r7, %r7, %r8;");
    assert_eq!((none, one), (0, 1));
    assert!(dead < 200_000 && alive > 900_000, "{dead} and {alive} instructions were interpreted");
}

/// A load that its handler makes for compiled code is asked about once, not told as one of the interpreter's too.
#[test]
fn what_a_handler_does_for_compiled_code_is_the_codes() {
    if nothing_compiles() {
        return;
    }
    let body = r#"mov.u32 %r20, 1; mov.u64 %rd20, 2; mov.u32 %r40, 0;
mul.lo.u32 %r30, %r1, 33; and.b32 %r30, %r30, 127; mul.wide.u32 %rd10, %r30, 8; add.u64 %rd10, %rd10, %rd3; setp.lt.u32 %p2, %r1, 32; red.global.add.u32 [%rd10], 1;
mov.u32 %r20, %r1; mov.u64 %rd20, 3;
add.u32 %r30, %r1, 33; mul.wide.u32 %rd10, %r30, 4; add.u64 %rd10, %rd10, %rd1; setp.lt.u32 %p2, %r1, 47; st.global.u32 [%rd10], %r20;
bar.sync 0;
shl.b32 %r30, %r1, 1; and.b32 %r30, %r30, 255; mul.lo.u32 %r31, %r30, 8; add.u32 %r31, %r31, %r4; setp.lt.u32 %p2, %r1, 15; @%p2 st.shared.u64 [%r31], %rd20;
mov.u32 %r20, %r1; mov.u64 %rd20, 3;
mov.u32 %r30, %r3; mul.wide.u32 %rd10, %r30, 4; add.u64 %rd10, %rd10, %rd1; setp.lt.u32 %p2, %r1, 33; @%p2 ld.global.u32 %r20, [%rd10];
membar.gl;
xor.b32 %r30, %r1, 2; mul.wide.u32 %rd10, %r30, 4; add.u64 %rd10, %rd10, %rd2; setp.lt.u32 %p2, %r1, 13; @%p2 st.global.u32 [%rd10], %r20;
mov.u32 %r20, %r1; mov.u64 %rd20, 3;
xor.b32 %r30, %r1, 1; mul.wide.u32 %rd10, %r30, 4; add.u64 %rd10, %rd10, %rd3; setp.lt.u32 %p2, %r1, 19; ld.global.u32 %r20, [%rd10];
setp.lt.u32 %p3, %r20, 1000; @%p3 bra S5; add.u32 %r40, %r40, 1; S5:
mov.u32 %r30, 37; mul.wide.u32 %rd10, %r30, 4; add.u64 %rd10, %rd10, %rd2; setp.lt.u32 %p2, %r1, 50; @%p2 st.global.u32 [%rd10], %r20;
bar.sync 0;
"#;
    assert!(found(&both(body, 128), "init/result"));
}
