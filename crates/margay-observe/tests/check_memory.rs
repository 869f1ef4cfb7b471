// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the checks of races and of initialisation take of memory, for each byte that a kernel touches.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use common::Bench;
use margay_exec::jit::{Engine, unavailable};
use margay_observe::Tool;
use margay_observe::sanitize::finding::Check;
use margay_observe::sanitize::{Checks, Filter};
use margay_observe::tool::CopyEvent;

/// Counts what is allocated now, and what was at most.
struct Counted;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: everything is the system's own allocator's.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

const BYTES: usize = 1 << 18;
/// The same of buffers of which little is touched, so that what a launch takes anyway counts for as little there.
const LARGE: usize = 1 << 22;
const SHARED: usize = 32 << 10;
const SPARSE: &str = "sparse";
const ALL: &str = "large";
/// And of those of which hardly a page is touched twice.
const HUGE: usize = 1 << 26;
const FAR: &str = "far";
/// Blocks are a warp each.
const SMALL: &str = "small block";
/// Threads that meet at hundreds of barriers.
const AGAIN: &str = "again and again";
/// Blocks that may wait for each other, so that all are there at once.
const AT_ONCE: &str = "a hash table";
/// Blocks run one after the other, as they do if no other schedule is asked for.
const IN_ORDER: &str = "in order";

/// A kernel of two buffers, `%rd1` and `%rd2`; `%r3` is the thread of the grid, `%r1` that of the block, `%r4` the address of
/// shared memory.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[{SHARED}];\n\
         .visible .entry k(.param .u64 a, .param .u64 b) {{\n\
         .local .align 16 .b8 own[2048];\n\
         .reg .b16 %h<9>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .pred %p<8>;\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r5, %ntid.x;\n\
         mad.lo.u32 %r3, %r2, %r5, %r1; mov.u32 %r4, tile;\n\
         {body}\nret;\n}}\n"
    )
}

/// How a kernel is run.
#[derive(Clone, Copy)]
struct Run<'a> {
    body: &'a str,
    engine: Engine,
    /// Blocks, and threads of each.
    grid: (u32, u32),
    /// Blocks of what is launched before it is measured.
    first: u32,
    /// Of each buffer.
    bytes: usize,
    in_order: bool,
    /// It may be said that something was not told apart.
    passes: bool,
}

/// What a check takes at most while the kernel runs.
fn taken(run: Run<'_>, check: Check) -> usize {
    let Run { body, engine, grid: (blocks, threads), first, bytes, in_order, passes } = run;
    let mut bench = Bench::new(&["h200"]);
    bench.engine = Some(engine);
    if in_order {
        bench.seed = None;
    }
    let module = bench.load_text(&kernel(body));
    let buffers = [bench.buffer(&vec![7; bytes]), bench.buffer(&vec![9; bytes])];
    let directory =
        std::env::temp_dir().join(format!("margay-check-memory-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let start = || Checks::start(&directory, BTreeSet::from([check]), Filter::default());
    let (before, checks) = (start(), start());
    let most = |launch: &dyn Fn()| {
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        launch();
        MOST.load(Ordering::Relaxed) - before
    };
    let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
    for at in buffers {
        for checks in [&before, &checks] {
            checks.allocated(&bench.memory.find(at).unwrap());
            let bytes = bytes as u64;
            checks.copied(&CopyEvent { to: at, from: None, bytes, stream: 0, order: None });
        }
    }
    // The first launches make what stays, but for what the checks themselves keep.
    let first = [first, 1, 1];
    bench.launch_plain(&module, "k", first, block, &buffers);
    bench.launch_under(&*before, &module, "k", first, block, &buffers);
    let plain = most(&|| bench.launch_plain(&module, "k", grid, block, &buffers));
    let watched = most(&|| bench.launch_under(&*checks, &module, "k", grid, block, &buffers));
    let _ = std::fs::remove_dir_all(&directory);
    // Where words take too much, less is told apart.
    let report = checks.report();
    let is_told = |code: &str| passes && code == "race/incomplete";
    assert!(report.findings.iter().all(|own| is_told(&own.code)), "{body}");
    watched.saturating_sub(plain)
}

/// Kernels that touch little here and there.
fn far_patterns() -> Vec<(&'static str, String, u32, usize, f64)> {
    let huge = HUGE as u32;
    // A place for so many bytes each, in which a thread does this.
    let each = |apart: u32, what: &str| {
        format!("mul.wide.u32 %rd5, %r3, {apart}; add.u64 %rd5, %rd5, %rd1; {what}")
    };
    let store = "st.global.u32 [%rd5], %r3;";
    // One of so many, far from where the threads beside it have theirs.
    let any = |places: u32| {
        format!(
            "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; cvt.u64.u32 %rd5, %r3; add.u64 %rd5, %rd5, %rd1;",
            places - 1
        )
    };
    let one_of = |threads: u32| {
        format!(
            "and.b32 %r6, %r3, {}; setp.ne.u32 %p1, %r6, 0; @%p1 ret; shr.u32 %r3, %r3, {};",
            threads - 1,
            threads.ilog2()
        )
    };
    // The same places again, by the threads of a block in another order.
    let read_by_another = |apart: u32| {
        format!(
            "{} bar.sync 0; xor.b32 %r3, %r3, 33; {}",
            each(apart, store),
            each(apart, "ld.global.u32 %r6, [%rd5];")
        )
    };
    let words = |apart: u32| (huge / apart, HUGE / apart as usize * 4);
    // Bytes anywhere between so many barriers, between each so many of which the block releases something: by one word, or
    // by another one each time.
    let by_one = ("", "red.release.gpu.global.add.u32 [%rd2], 1;");
    let by_another = (
        "mul.wide.u32 %rd6, %r8, 4; add.u64 %rd6, %rd6, %rd2;",
        "st.release.gpu.global.u32 [%rd6], %r8;",
    );
    let released = |barriers: u32, each: u32, threads: u32, (word, release): (&str, &str)| {
        let stores = (0..8).map(|n| format!("st.global.u8 [%rd5+{}], %r8;", n * threads));
        format!(
            "{} mov.u32 %r8, 0; LOOP: {word} bar.sync 0; {} rem.u32 %r9, %r8, {each}; add.u32 %r9, %r9, %r1; \
             setp.eq.u32 %p1, %r9, 0; @%p1 {release} add.u32 %r8, %r8, 1; \
             setp.lt.u32 %p1, %r8, {barriers}; @%p1 bra LOOP;",
            any(threads),
            stores.collect::<String>()
        )
    };
    let pattern =
        |name, body: String, (threads, touched): (u32, usize)| (name, body, threads, touched, 8.0);
    let mixed = "st.global.u32 [%rd5], %r3; st.global.u8 [%rd5+4], %r3; st.global.u16 [%rd5+10], %r3; \
                 st.global.u64 [%rd5+16], %rd5; ld.global.u8 %r6, [%rd5+5]; ld.global.u8 %r6, [%rd5+20];";
    vec![
        pattern("far: a word of each 512 bytes", each(512, store), words(512)),
        pattern("far: a word of each KB", each(1024, store), words(1024)),
        pattern("far: a word of each page", each(4096, store), words(4096)),
        pattern("far: a word of each 16 KB", each(16384, store), words(16384)),
        pattern(
            "far: a word of each page, written and read by another thread",
            read_by_another(4096),
            words(4096),
        ),
        pattern(
            "far: a word of each KB, written and read by another thread",
            read_by_another(1024),
            words(1024),
        ),
        pattern(
            "far: a word of each page, after barriers",
            format!("bar.sync 0; bar.sync 0; {}", each(4096, store)),
            words(4096),
        ),
        pattern(
            "far: a word of each page by one lane of each warp",
            format!("{} {}", one_of(32), each(4096, store)),
            (huge / 4096 * 32, HUGE / 1024),
        ),
        pattern(
            "far: a word of each page by one thread of each block, after barriers",
            format!("bar.sync 0; {} {}", one_of(128), each(4096, store)),
            (huge / 4096 * 128, HUGE / 1024),
        ),
        // By eight threads of as many blocks.
        pattern(
            "far: a word of each page, added to by several blocks",
            format!(
                "and.b32 %r3, %r3, {}; {}",
                huge / 4096 - 1,
                each(4096, "red.global.add.u32 [%rd5], 1;")
            ),
            (huge / 4096 * 8, HUGE / 1024),
        ),
        pattern(
            "far: a word of each KB, written, then added to by several threads",
            format!(
                "{} bar.sync 0; xor.b32 %r3, %r3, 33; {} xor.b32 %r3, %r3, 70; {}",
                each(1024, store),
                each(1024, "red.global.add.u32 [%rd5], 1;"),
                each(1024, "red.global.add.u32 [%rd5], 1;")
            ),
            words(1024),
        ),
        // One reads all, the others a part of it.
        pattern(
            "far: a word of each page, only read, by several blocks",
            format!(
                "setp.eq.u32 %p1, %r3, 0; @%p1 st.global.u32 [%rd1+8], %r3; and.b32 %r3, %r3, {}; {}",
                huge / 4096 - 1,
                each(4096, "ld.global.u32 %r6, [%rd5];")
            ),
            (huge / 4096 * 8, HUGE / 1024),
        ),
        // By whole warps, each of which reads one.
        pattern(
            "far: a word of each page, read by a warp",
            format!(
                "setp.eq.u32 %p1, %r3, 0; @%p1 st.global.u32 [%rd1+8], %r3; shr.u32 %r3, %r3, 5; {}",
                each(4096, "ld.global.u32 %r6, [%rd5];")
            ),
            (huge / 4096 * 32, HUGE / 1024),
        ),
        pattern("far: words, halves and bytes of each KB", each(1024, mixed), {
            (huge / 1024, HUGE / 1024 * 16)
        }),
        pattern(
            "far: a line of each page",
            format!(
                "and.b32 %r7, %r3, 31; shr.u32 %r3, %r3, 5; {} mul.wide.u32 %rd6, %r7, 4; \
                 add.u64 %rd5, %rd5, %rd6; st.global.u32 [%rd5], %r3;",
                each(4096, "")
            ),
            (huge / 4096 * 32, HUGE / 32),
        ),
        pattern(
            "far: a line of each page, lanes in another order",
            format!(
                "xor.b32 %r7, %r3, 31; and.b32 %r7, %r7, 31; shr.u32 %r3, %r3, 5; {} mul.wide.u32 %rd6, %r7, 4; \
                 add.u64 %rd5, %rd5, %rd6; st.global.u32 [%rd5], %r3;",
                each(4096, "")
            ),
            (huge / 4096 * 32, HUGE / 32),
        ),
        pattern(
            "far: the bytes of a line of each page",
            format!(
                "and.b32 %r7, %r3, 127; shr.u32 %r3, %r3, 7; {} cvt.u64.u32 %rd6, %r7; \
                 add.u64 %rd5, %rd5, %rd6; st.global.u8 [%rd5], %r3;",
                each(4096, "")
            ),
            (huge / 4096 * 128, HUGE / 32),
        ),
        pattern(
            "far: a half of each 256 bytes",
            each(256, "st.global.u16 [%rd5+2], %r3;"),
            (huge / 256, HUGE / 128),
        ),
        pattern(
            "far: a byte of each 256, anywhere",
            format!("{} st.global.u8 [%rd5], %r3;", any(huge)),
            (huge / 256, HUGE / 256),
        ),
        pattern(
            "far: a byte of each KB, anywhere",
            format!("{} st.global.u8 [%rd5], %r3;", any(huge)),
            (huge / 1024, HUGE / 1024),
        ),
        pattern(
            "far: a byte of each KB, anywhere, in a large grid",
            format!("{} {} st.global.u8 [%rd5], %r3;", one_of(128), any(huge)),
            (huge / 1024 * 128, HUGE / 1024),
        ),
        pattern(
            "sparse: an eighth of the bytes, anywhere, written and read by another thread, in a large grid",
            format!(
                "and.b32 %r6, %r3, 15; setp.eq.u32 %p1, %r6, 0; shr.u32 %r9, %r3, 4; mov.u32 %r3, %r9; {} \
                 @%p1 st.global.u8 [%rd5], %r3; bar.sync 0; xor.b32 %r3, %r9, 5; {} \
                 @%p1 ld.global.u8 %r6, [%rd5];",
                any(LARGE as u32),
                any(LARGE as u32)
            ),
            (LARGE as u32 / 8 * 16, LARGE / 8),
        ),
        pattern(
            "far: a word of each page, again and again between 300 barriers",
            format!(
                "{} mov.u32 %r8, 0; LOOP: bar.sync 0; st.global.u32 [%rd5], %r8; add.u32 %r8, %r8, 1; \
                 setp.lt.u32 %p1, %r8, 300; @%p1 bra LOOP;",
                each(4096, "")
            ),
            words(4096),
        ),
        (
            "sparse: a 128th of the bytes, anywhere, again and again between 300 barriers",
            format!(
                "{} mov.u32 %r8, 0; LOOP: bar.sync 0; st.global.u8 [%rd5], %r8; add.u32 %r8, %r8, 1; \
                 setp.lt.u32 %p1, %r8, 300; @%p1 bra LOOP;",
                any(LARGE as u32)
            ),
            LARGE as u32 / 128,
            LARGE / 128,
            8.0,
        ),
        (
            "an eighth of the memory, by bytes anywhere, again and again between 300 barriers",
            format!(
                "{} mov.u32 %r8, 0; LOOP: bar.sync 0; st.global.u8 [%rd5], %r8; add.u32 %r8, %r8, 1; \
                 setp.lt.u32 %p1, %r8, 300; @%p1 bra LOOP;",
                any(BYTES as u32 / 8)
            ),
            BYTES as u32 / 8,
            BYTES / 8,
            8.0,
        ),
        // By threads that may learn of other blocks: there is an atomic.
        (
            "bytes anywhere, again and again between 300 barriers, then counted",
            format!(
                "{} mov.u32 %r8, 0; LOOP: bar.sync 0; st.global.u8 [%rd5], %r8; add.u32 %r8, %r8, 1; \
                 setp.lt.u32 %p1, %r8, 300; @%p1 bra LOOP; setp.eq.u32 %p1, %r1, 0; @%p1 red.global.add.u32 [%rd2], 1;",
                any(BYTES as u32 / 4)
            ),
            BYTES as u32 / 4,
            BYTES / 4,
            8.0,
        ),
        // What is released twice may be known to others from then on. Of a block that releases something a KB stays, so that it
        // is to touch some.
        (
            "bytes anywhere, again and again between 300 barriers, with releases",
            released(300, 150, BYTES as u32 / 16, by_one),
            BYTES as u32 / 16,
            BYTES / 2,
            8.0,
        ),
        // What who released something knew is kept once for all lanes of an instruction.
        (
            "words, each released by a thread",
            "mul.wide.u32 %rd5, %r3, 4; add.u64 %rd5, %rd5, %rd1; st.release.gpu.global.u32 [%rd5], %r3;"
                .to_owned(),
            BYTES as u32 / 4,
            BYTES,
            8.0,
        ),
        (
            "words, each acquired and released by two threads",
            "mul.wide.u32 %rd5, %r3, 4; add.u64 %rd5, %rd5, %rd1; atom.acq_rel.gpu.global.add.u32 %r6, [%rd5], 1; \
             xor.b32 %r6, %r3, 165; mul.wide.u32 %rd5, %r6, 4; add.u64 %rd5, %rd5, %rd1; \
             atom.acq_rel.gpu.global.add.u32 %r6, [%rd5], 1;"
                .to_owned(),
            BYTES as u32 / 4,
            BYTES,
            8.0,
        ),
        (
            "words, each released by a thread's fence",
            "mul.wide.u32 %rd5, %r3, 4; add.u64 %rd5, %rd5, %rd1; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd5], %r3;"
                .to_owned(),
            BYTES as u32 / 4,
            BYTES,
            8.0,
        ),
        (
            "large: words anywhere, each released by a thread",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; mul.wide.u32 %rd5, %r3, 4; \
                 add.u64 %rd5, %rd5, %rd1; st.release.gpu.global.u32 [%rd5], %r3;",
                LARGE / 4 - 1
            ),
            LARGE as u32 / 4,
            LARGE,
            8.0,
        ),
        (
            "words, each released by two threads that acquire nothing",
            "mul.wide.u32 %rd5, %r3, 4; add.u64 %rd5, %rd5, %rd1; red.release.gpu.global.add.u32 [%rd5], 1; \
             xor.b32 %r6, %r3, 165; mul.wide.u32 %rd5, %r6, 4; add.u64 %rd5, %rd5, %rd1; \
             red.release.gpu.global.add.u32 [%rd5], 1;"
                .to_owned(),
            BYTES as u32 / 4,
            BYTES,
            8.0,
        ),
        // Each at a time of its own, which is kept for each.
        (
            "large: words in a row, each released by one thread of each block",
            "setp.ne.u32 %p1, %r1, 0; @%p1 ret; mul.wide.u32 %rd5, %r3, 4; add.u64 %rd5, %rd5, %rd1; \
             mov.u32 %r8, 0; LOOP: st.release.gpu.global.u32 [%rd5], %r8; add.u64 %rd5, %rd5, 4; \
             add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 128; @%p1 bra LOOP;"
                .to_owned(),
            LARGE as u32 / 4,
            LARGE,
            8.0,
        ),
        // What is known of threads by each of these takes more than they do, so that it is not told apart any more at times.
        (
            "large: words, added to by many threads that acquire and release, and what each writes",
            format!(
                "mul.wide.u32 %rd6, %r3, 16; add.u64 %rd6, %rd6, %rd2; st.global.v4.u32 [%rd6], {{%r3, %r3, %r3, %r3}}; \
                 mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; mul.wide.u32 %rd5, %r3, 4; \
                 add.u64 %rd5, %rd5, %rd1; atom.acq_rel.gpu.global.add.u32 %r6, [%rd5], 1;",
                LARGE / 256 - 1
            ),
            LARGE as u32 / 16,
            LARGE + LARGE / 64,
            8.0,
        ),
        (
            "sparse: a word of each line, released by a thread",
            "mul.wide.u32 %rd5, %r3, 128; add.u64 %rd5, %rd5, %rd1; st.release.gpu.global.u32 [%rd5], %r3;"
                .to_owned(),
            LARGE as u32 / 128,
            LARGE / 32,
            8.0,
        ),
        // Of those that are released nobody knows any but the last.
        (
            "bytes anywhere, again and again between 100 barriers, with a release between all",
            released(100, 1, BYTES as u32 / 16, by_one),
            BYTES as u32 / 16,
            BYTES / 2,
            8.0,
        ),
        // All of them are known as long as the block runs.
        (
            "bytes anywhere, again and again between 100 barriers, with a release by another word between all",
            released(100, 1, BYTES as u32 / 8, by_another),
            BYTES as u32 / 8,
            BYTES,
            8.0,
        ),
        (
            "bytes anywhere, again and again between 300 barriers by one thread and by another",
            format!(
                "mov.u32 %r9, %r3; mov.u32 %r8, 0; LOOP: bar.sync 0; xor.b32 %r3, %r9, 33; {} st.global.u8 [%rd5], %r8; \
                 bar.sync 0; mov.u32 %r3, %r9; {} ld.global.u8 %r6, [%rd5]; add.u32 %r8, %r8, 1; \
                 setp.lt.u32 %p1, %r8, 150; @%p1 bra LOOP;",
                any(BYTES as u32 / 4),
                any(BYTES as u32 / 4)
            ),
            BYTES as u32 / 4,
            BYTES / 4,
            8.0,
        ),
        (
            "sparse: a 32nd of the bytes, anywhere, by one lane of each warp",
            format!("{} {} st.global.u8 [%rd5], %r3;", one_of(32), any(LARGE as u32)),
            LARGE as u32,
            LARGE / 32,
            8.0,
        ),
        (
            "sparse: an eighth of the bytes, anywhere, written and read by another thread",
            format!(
                "mov.u32 %r9, %r3; {} st.global.u8 [%rd5], %r3; bar.sync 0; xor.b32 %r3, %r9, 33; {} \
                 ld.global.u8 %r6, [%rd5];",
                any(LARGE as u32),
                any(LARGE as u32)
            ),
            LARGE as u32 / 8,
            LARGE / 8,
            8.0,
        ),
        pattern(
            "sparse: a 64th of the bytes, anywhere, counted up",
            format!(
                "{} ld.global.u8 %r6, [%rd5]; add.u32 %r6, %r6, 1; st.global.u8 [%rd5], %r6;",
                any(LARGE as u32)
            ),
            (LARGE as u32 / 64, LARGE / 64),
        ),
        pattern(
            "a quarter of the bytes, anywhere",
            format!("{} st.global.u8 [%rd5], %r3;", any(BYTES as u32)),
            (BYTES as u32 / 4, BYTES / 4),
        ),
        pattern(
            "half of the bytes, anywhere",
            format!("{} st.global.u8 [%rd5], %r3;", any(BYTES as u32)),
            (BYTES as u32 / 2, BYTES / 2),
        ),
        pattern(
            "three quarters of the bytes, anywhere",
            format!("{} st.global.u8 [%rd5], %r3;", any(BYTES as u32)),
            (BYTES as u32 / 4 * 3, BYTES / 4 * 3),
        ),
        pattern(
            "half of the words, anywhere",
            format!("shl.b32 %r3, %r3, 0; {} and.b64 %rd5, %rd5, -4; {store}", {
                // Words by their first bytes.
                let far = "mul.lo.u32 %r3, %r3, 2654435761; shl.b32 %r3, %r3, 2;";
                format!(
                    "{far} and.b32 %r3, %r3, {}; cvt.u64.u32 %rd5, %r3; add.u64 %rd5, %rd5, %rd1;",
                    BYTES - 1
                )
            }),
            (BYTES as u32 / 8, BYTES / 2),
        ),
    ]
}

/// The kernels: their name, body, threads, the bytes that they touch, and what the check of races may take for each. Those
/// that touch little of their buffers have [`LARGE`] ones.
fn patterns() -> Vec<(&'static str, String, u32, usize, f64)> {
    // Lanes from the last to the first, which no row is made of.
    let back = "xor.b32 %r3, %r3, 31;";
    let at = |to: &str, base: &str, bytes: usize| {
        format!("mul.wide.u32 {to}, %r3, {bytes}; add.u64 {to}, {to}, {base};")
    };
    let (a1, a2, a4) = (at("%rd5", "%rd1", 1), at("%rd5", "%rd1", 2), at("%rd5", "%rd1", 4));
    let (b1, b4) = (at("%rd6", "%rd2", 1), at("%rd6", "%rd2", 4));
    let (all, large) = (BYTES as u32, LARGE as u32);
    // Far from where the threads beside it are.
    let any = |places: usize| {
        format!("mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {};", places - 1)
    };
    // Of so many threads one takes part.
    let one_of = |threads: u32| {
        format!(
            "and.b32 %r6, %r3, {}; setp.ne.u32 %p1, %r6, 0; @%p1 ret; shr.u32 %r3, %r3, {};",
            threads - 1,
            threads.ilog2()
        )
    };
    // Each thread counts in its own column of 256 rows of bytes.
    let count = "and.b32 %r6, %r7, 255; shl.b32 %r6, %r6, 7; add.u32 %r6, %r6, %r4; add.u32 %r6, %r6, %r1; \
                 ld.shared.u8 %h1, [%r6]; add.u16 %h1, %h1, 1; st.shared.u8 [%r6], %h1; \
                 mad.lo.u32 %r7, %r7, 1664525, 1013904223;\n";
    let histogram = format!(
        "mul.lo.u32 %r7, %r1, 2654435761; mov.u32 %r8, 0; shl.b32 %r6, %r1, 0; ZERO: add.u32 %r9, %r6, %r4; \
         st.shared.u8 [%r9], 0; add.u32 %r6, %r6, 128; setp.lt.u32 %p1, %r6, {SHARED}; @%p1 bra ZERO; LOOP: {} add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 256; \
         @%p1 bra LOOP;",
        count.repeat(4)
    );
    vec![
        ("rows of words", format!("{a4} st.global.u32 [%rd5], %r3;"), all / 4, BYTES, 2.5),
        ("words", format!("{back} {a4} st.global.u32 [%rd5], %r3;"), all / 4, BYTES, 8.0),
        (
            "copied words",
            format!("{back} {a4} {b4} ld.global.u32 %r6, [%rd5]; st.global.u32 [%rd6], %r6;"),
            all / 4,
            2 * BYTES,
            8.0,
        ),
        ("halves", format!("{a2} st.global.u16 [%rd5], %r3;"), all / 2, BYTES, 8.0),
        ("bytes", format!("{a1} st.global.u8 [%rd5], %r3;"), all, BYTES, 8.0),
        (
            "bytes counted up",
            format!(
                "{a1} ld.global.u8 %r6, [%rd5]; add.u32 %r6, %r6, 1; st.global.u8 [%rd5], %r6;"
            ),
            all,
            BYTES,
            8.0,
        ),
        (
            "copied bytes",
            format!("{a1} {b1} ld.global.u8 %r6, [%rd5]; st.global.u8 [%rd6], %r6;"),
            all,
            2 * BYTES,
            8.0,
        ),
        (
            "bytes written and read",
            format!("{a1} st.global.u8 [%rd5], %r3; ld.global.u8 %r6, [%rd5];"),
            all,
            BYTES,
            8.0,
        ),
        (
            "bytes of a structure",
            format!(
                "{back} {a4} st.global.u8 [%rd5+1], %r3; st.global.u16 [%rd5+2], %r3; ld.global.u8 %r6, [%rd5];"
            ),
            all / 4,
            BYTES,
            8.0,
        ),
        (
            "words anywhere",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a4} st.global.u32 [%rd5], %r3;",
                BYTES / 4 - 1
            ),
            all / 4,
            BYTES,
            8.0,
        ),
        (
            "bytes anywhere",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a1} st.global.u8 [%rd5], %r3;",
                BYTES - 1
            ),
            all,
            BYTES,
            8.0,
        ),
        (
            "bytes anywhere counted up",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a1} ld.global.u8 %r6, [%rd5]; \
                 add.u32 %r6, %r6, 1; st.global.u8 [%rd5], %r6;",
                BYTES - 1
            ),
            all,
            BYTES,
            8.0,
        ),
        (
            "bytes anywhere written and read",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a1} st.global.u8 [%rd5], %r3; \
                 ld.global.u8 %r6, [%rd5];",
                BYTES - 1
            ),
            all,
            BYTES,
            8.0,
        ),
        (
            "halves anywhere written and read",
            format!(
                "{} {a2} st.global.u16 [%rd5], %r3; ld.global.u16 %r6, [%rd5];",
                any(BYTES / 2)
            ),
            all / 2,
            BYTES,
            8.0,
        ),
        (
            "bytes anywhere only read",
            format!(
                "{} {a1} setp.eq.u32 %p1, %r3, 0; @%p1 st.global.u8 [%rd5], %r3; ld.global.u8 %r6, [%rd5];",
                any(BYTES)
            ),
            all,
            BYTES,
            8.0,
        ),
        (
            "bytes anywhere by one lane of each warp",
            format!("{} {} {a1} st.global.u8 [%rd5], %r3;", one_of(32), any(BYTES / 4)),
            all / 4 * 32,
            BYTES / 4,
            8.0,
        ),
        (
            "bytes anywhere by two lanes of each warp, written and read",
            format!(
                "{} {} {a1} st.global.u8 [%rd5], %r3; ld.global.u8 %r6, [%rd5];",
                one_of(16),
                any(BYTES / 4)
            ),
            all / 4 * 16,
            BYTES / 4,
            8.0,
        ),
        (
            "bytes anywhere by one thread of each block",
            format!("{} {} {a1} st.global.u8 [%rd5], %r3;", one_of(128), any(BYTES / 8)),
            all / 8 * 128,
            BYTES / 8,
            8.0,
        ),
        (
            "words anywhere by one lane of each warp",
            format!("{} {} {a4} st.global.u32 [%rd5], %r3;", one_of(32), any(BYTES / 4)),
            all / 4 * 32,
            BYTES,
            8.0,
        ),
        // Cells as they are, which are faster.
        (
            "words anywhere written and read",
            format!(
                "{} {a4} st.global.u32 [%rd5], %r3; ld.global.u32 %r6, [%rd5];",
                any(BYTES / 4)
            ),
            all / 4,
            BYTES,
            8.0,
        ),
        (
            "words anywhere added to",
            format!("{} {a4} red.global.add.u32 [%rd5], %r3;", any(BYTES / 4)),
            all / 4,
            BYTES,
            8.0,
        ),
        (
            "words anywhere written, then added to",
            format!(
                "{} {a4} st.global.u32 [%rd5], %r3; atom.global.add.u32 %r6, [%rd5], 1;",
                any(BYTES / 4)
            ),
            all / 4,
            BYTES,
            8.0,
        ),
        (
            "every other word",
            format!("shl.b32 %r3, %r3, 1; {a4} st.global.u32 [%rd5], %r3;"),
            all / 8,
            BYTES / 2,
            8.0,
        ),
        // What lies between counts for nothing here.
        (
            "sparse: every eighth word",
            format!("shl.b32 %r3, %r3, 3; {a4} st.global.u32 [%rd5], %r3;"),
            large / 32,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: every eighth word, written and read by another thread",
            format!(
                "shl.b32 %r3, %r3, 3; {a4} st.global.u32 [%rd5], %r3; bar.sync 0; xor.b32 %r3, %r3, 264; {a4} \
                 ld.global.u32 %r6, [%rd5];"
            ),
            large / 32,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: two words of structures of 64 bytes",
            format!(
                "shl.b32 %r3, %r3, 4; {a4} ld.global.u32 %r6, [%rd5+12]; st.global.u32 [%rd5+12], %r6; \
                 st.global.u32 [%rd5+40], %r3;"
            ),
            large / 64,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: a word of each line",
            format!("shl.b32 %r3, %r3, 5; {a4} st.global.u32 [%rd5], %r3;"),
            large / 128,
            LARGE / 32,
            8.0,
        ),
        (
            "sparse: a word of each line by one lane of each warp",
            format!("{} shl.b32 %r3, %r3, 5; {a4} st.global.u32 [%rd5], %r3;", one_of(32)),
            large / 128 * 32,
            LARGE / 32,
            8.0,
        ),
        (
            "sparse: a word of each 256 bytes",
            format!("shl.b32 %r3, %r3, 6; {a4} st.global.u32 [%rd5], %r3;"),
            large / 256,
            LARGE / 64,
            8.0,
        ),
        (
            "sparse: a byte of each word",
            format!("shl.b32 %r3, %r3, 2; {a1} st.global.u8 [%rd5+1], %r3;"),
            large / 4,
            LARGE / 4,
            8.0,
        ),
        (
            "sparse: a byte of each word, written and read",
            format!(
                "shl.b32 %r3, %r3, 2; {a1} st.global.u8 [%rd5+1], %r3; ld.global.u8 %r6, [%rd5+1];"
            ),
            large / 4,
            LARGE / 4,
            8.0,
        ),
        (
            "sparse: a half of each word",
            format!("shl.b32 %r3, %r3, 2; {a1} st.global.u16 [%rd5+2], %r3;"),
            large / 4,
            LARGE / 2,
            8.0,
        ),
        (
            "sparse: a byte of each eight",
            format!("shl.b32 %r3, %r3, 3; {a1} st.global.u8 [%rd5], %r3;"),
            large / 8,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: a byte of each eight, written and read",
            format!(
                "shl.b32 %r3, %r3, 3; {a1} st.global.u8 [%rd5], %r3; ld.global.u8 %r6, [%rd5];"
            ),
            large / 8,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: an eighth of the bytes, anywhere",
            format!("{} {a1} st.global.u8 [%rd5], %r3;", any(LARGE)),
            large / 8,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: an eighth of the bytes, anywhere, after barriers",
            format!("bar.sync 0; {} {a1} st.global.u8 [%rd5], %r3;", any(LARGE)),
            large / 8,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: a word of each 512 bytes",
            format!("shl.b32 %r3, %r3, 7; {a4} st.global.u32 [%rd5], %r3;"),
            large / 512,
            LARGE / 128,
            8.0,
        ),
        (
            "sparse: an eighth of the words, anywhere",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a4} st.global.u32 [%rd5], %r3;",
                LARGE / 4 - 1
            ),
            large / 32,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: an eighth of the words, anywhere, written and read",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a4} st.global.u32 [%rd5], %r3; \
                 ld.global.u32 %r6, [%rd5];",
                LARGE / 4 - 1
            ),
            large / 32,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: an eighth of the words, anywhere, written and read by another thread",
            format!(
                "mov.u32 %r9, %r3; mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a4} \
                 st.global.u32 [%rd5], %r3; bar.sync 0; xor.b32 %r3, %r9, 33; \
                 mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a4} ld.global.u32 %r6, [%rd5];",
                LARGE / 4 - 1,
                LARGE / 4 - 1
            ),
            large / 32,
            LARGE / 8,
            8.0,
        ),
        (
            "sparse: a quarter of the words, anywhere, written and read",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; {a4} st.global.u32 [%rd5], %r3; \
                 ld.global.u32 %r6, [%rd5];",
                LARGE / 4 - 1
            ),
            large / 16,
            LARGE / 4,
            8.0,
        ),
        (
            "sparse: a hash table, inserted into and looked up",
            format!(
                "mul.lo.u32 %r3, %r3, 2654435761; and.b32 %r3, %r3, {}; and.b32 %r3, %r3, 4294967294; {a4} \
                 atom.global.cas.b32 %r6, [%rd5], 117901063, %r3; st.global.u32 [%rd5+4], %r3; \
                 ld.global.u32 %r6, [%rd5+4];",
                LARGE / 4 - 1
            ),
            large / 64,
            LARGE / 8,
            8.0,
        ),
        (
            "bytes anywhere after barriers, by one lane of each warp",
            format!("bar.sync 0; {} {} {a1} st.global.u8 [%rd5], %r3;", one_of(32), any(BYTES / 4)),
            all / 4 * 32,
            BYTES / 4,
            8.0,
        ),
        (
            "bytes anywhere after barriers, by one thread of each small block, in order",
            format!("bar.sync 0; {} {} {a1} st.global.u8 [%rd5], %r3;", one_of(32), any(BYTES / 2)),
            all / 2 * 32,
            BYTES / 2,
            8.0,
        ),
        (
            "bytes anywhere after barriers, by one thread of each small block",
            format!("bar.sync 0; {} {} {a1} st.global.u8 [%rd5], %r3;", one_of(32), any(BYTES / 2)),
            all / 2 * 32,
            BYTES / 2,
            8.0,
        ),
        (
            "bytes anywhere after barriers, written and read",
            format!(
                "bar.sync 0; {} {a1} st.global.u8 [%rd5], %r3; bar.sync 0; ld.global.u8 %r6, [%rd5];",
                any(BYTES)
            ),
            all,
            BYTES,
            8.0,
        ),
        // Two threads for each byte.
        (
            "bytes anywhere written, and read by another thread",
            format!(
                "mov.u32 %r9, %r3; {} {a1} st.global.u8 [%rd5], %r3; bar.sync 0; \
                 xor.b32 %r3, %r9, 33; {} {a1} ld.global.u8 %r6, [%rd5];",
                any(BYTES),
                any(BYTES)
            ),
            all,
            BYTES,
            8.0,
        ),
        ("a byte histogram", histogram, 128, SHARED, 8.0),
        (
            "shared bytes anywhere",
            // Each thread has bytes of its own, in reverse order, which each reads of the next thread's.
            "mov.u32 %r8, 0; shl.b32 %r6, %r1, 8; add.u32 %r6, %r6, %r4; LOOP: xor.b32 %r9, %r8, 255; \
             add.u32 %r9, %r9, %r6; st.shared.u8 [%r9], %r8; add.u32 %r8, %r8, 1; \
             setp.lt.u32 %p1, %r8, 256; @%p1 bra LOOP; bar.sync 0; mov.u32 %r8, 0; xor.b32 %r6, %r6, 256; \
             AGAIN: add.u32 %r9, %r8, %r6; ld.shared.u8 %r10, [%r9]; add.u32 %r8, %r8, 1; \
             setp.lt.u32 %p1, %r8, 256; @%p1 bra AGAIN;"
                .to_owned(),
            128,
            SHARED,
            8.0,
        ),
    ]
}

/// The kernels that a process measures: the `n`th of each so many.
const SHARE: &str = "CHECK_MEMORY_SHARE";

/// What is allocated is counted for the whole process, so that there is one for each core.
#[test]
fn a_touched_byte_takes_little() {
    if let Ok(share) = std::env::var(SHARE) {
        let (n, of) = share.split_once('/').expect("a share");
        return measure(n.parse().unwrap(), of.parse().unwrap());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let start = |n: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["a_touched_byte_takes_little", "--exact", "--nocapture"])
            .env(SHARE, format!("{n}/{cores}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let started: Vec<_> = (0..cores).map(start).collect();
    let wait = |own: Child| own.wait_with_output().unwrap();
    let ends: Vec<Output> = std::thread::scope(|scope| {
        let all: Vec<_> = started.into_iter().map(|own| scope.spawn(move || wait(own))).collect();
        all.into_iter().map(|own| own.join().unwrap()).collect()
    });
    for end in &ends {
        print!("{}", String::from_utf8_lossy(&end.stdout));
        eprint!("{}", String::from_utf8_lossy(&end.stderr));
    }
    assert!(ends.iter().all(|end| end.status.success()), "see above");
}

/// Measures one of so many kernels, from the `n`th on.
fn measure(n: usize, of: usize) {
    let engines = match unavailable() {
        None => vec![("interpreted", Engine::Interp), ("compiled", Engine::Jit)],
        Some(why) => {
            eprintln!("nothing can be compiled: {why}");
            vec![("interpreted", Engine::Interp)]
        }
    };
    // `CHECK_MEMORY=name` measures those alone whose name has this.
    let wanted = std::env::var("CHECK_MEMORY").unwrap_or_default();
    let (mut above, mut count) = (Vec::new(), 0..);
    for &(how, engine) in &engines {
        let patterns = patterns().into_iter().chain(far_patterns());
        let patterns = patterns.filter(|pattern| pattern.0.contains(&wanted));
        // By one engine, as these take longest.
        let once = engines.len() > 1 && engine == Engine::Interp;
        let patterns = patterns.filter(|pattern| !once || !pattern.0.contains(AGAIN));
        for (name, body, threads, touched, most) in patterns {
            if count.next().is_some_and(|count: usize| count % of != n) {
                continue;
            }
            let block = threads.min(if name.contains(SMALL) { 32 } else { 128 });
            let bytes = match name {
                _ if name.starts_with(SPARSE) || name.starts_with(ALL) => LARGE,
                _ if name.starts_with(FAR) => HUGE,
                _ => BYTES,
            };
            let blocks = threads / block;
            let run = Run {
                body: &body,
                engine,
                grid: (blocks, block),
                first: if name.contains(AT_ONCE) { blocks } else { blocks.min(16) },
                bytes,
                in_order: name.ends_with(IN_ORDER),
                passes: name.starts_with(ALL),
            };
            let start = Instant::now();
            let per = |check| taken(run, check) as f64 / touched as f64;
            let (races, init) = (per(Check::Race), per(Check::Init));
            println!(
                "{how} {name}: {races:.2} bytes a byte for races, {init:.2} for initialisation ({:.1?})",
                start.elapsed()
            );
            if races > most || init > 3.0 {
                above.push(format!("{how} {name}: {races:.2} and {init:.2}, not {most} and 3"));
            }
        }
    }
    assert!(above.is_empty(), "{above:#?}");
    // Local memory: nobody else touches it, and initialisation alone is watched.
    let local = "mov.u32 %r6, 0; LOOP: cvt.u64.u32 %rd5, %r6; mov.u64 %rd6, own; add.u64 %rd6, %rd6, %rd5; \
                 st.local.u8 [%rd6], %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 2048; @%p1 bra LOOP;";
    let run = Run {
        body: local,
        engine: Engine::Interp,
        grid: (1, 512),
        first: 1,
        bytes: BYTES,
        in_order: false,
        passes: false,
    };
    let init = taken(run, Check::Init) as f64 / (512.0 * 2048.0);
    println!("local bytes: {init:.2} bytes a byte for initialisation");
    assert!(init <= 3.0, "{init:.2}");
}
