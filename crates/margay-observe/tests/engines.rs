// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled code tells an observer what the interpreter tells it: a profile is the same to the byte.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::{Bench, folded, nothing_compiles, shape};
use margay_exec::jit::{Engine, counts, rehearse_always};
use margay_exec::program::LoadedModule;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/profile");

fn contents(word: &str) -> Vec<u8> {
    let bytes: usize = word[1..].parse().unwrap();
    let mut state = 99u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    match &word[..1] {
        "z" => vec![0; bytes],
        "f" => (0..bytes / 4).flat_map(|i| (i as f32).to_le_bytes()).collect(),
        "d" => (0..bytes / 8).flat_map(|i| (i as f64).to_le_bytes()).collect(),
        _ => (0..bytes).map(|_| next()).collect(),
    }
}

/// A launch in memory that stays where it is: which lines the model of L2 looks at depends on addresses.
struct Launch {
    bench: Bench,
    module: Arc<LoadedModule>,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    values: Vec<u64>,
    buffers: Vec<(u64, Vec<u8>)>,
}

impl Launch {
    /// A line of the list of launches.
    fn of(line: &str, seed: Option<u64>, gpus: &[&str]) -> Launch {
        let mut bench = Bench::new(gpus);
        bench.seed = seed;
        let words: Vec<&str> = line.split_whitespace().collect();
        let module = bench.load(&PathBuf::from(VECTORS).join(format!("{}.ptx", words[0])));
        let mut buffers = Vec::new();
        let mut value = |word: &&str| match word.parse::<u64>() {
            Ok(n) => n,
            Err(_) => {
                let bytes = contents(word);
                let at = bench.buffer(&bytes);
                buffers.push((at, bytes));
                at
            }
        };
        let values = words[5..].iter().map(&mut value).collect();
        let (kernel, grid, block) = (words[1].to_owned(), shape(words[2]), shape(words[3]));
        Launch { bench, module, kernel, grid, block, values, buffers }
    }

    /// The profile of a run, and what the buffers hold afterwards.
    fn profile(&mut self, engine: Engine, gpus: &[&str]) -> (String, Vec<u8>) {
        self.bench.forget(gpus);
        self.fill();
        self.bench.engine = Some(engine);
        self.bench.launch(&self.module, &self.kernel, self.grid, self.block, &self.values);
        let raw = self.bench.raw();
        // From so many blocks on some are told by others, and less of where each was.
        let many = self.bench.seed.is_none() && self.grid.iter().product::<u32>() >= 128;
        let raw = if many { folded(raw) } else { raw };
        (serde_json::to_string_pretty(&raw).unwrap(), self.held())
    }

    /// What the buffers hold after a run that nobody watches.
    fn plain(&mut self, engine: Engine) -> Vec<u8> {
        self.fill();
        self.bench.engine = Some(engine);
        self.bench.launch_plain(&self.module, &self.kernel, self.grid, self.block, &self.values);
        self.held()
    }

    fn fill(&self) {
        for (at, bytes) in &self.buffers {
            // SAFETY: the buffer was made with this size.
            unsafe { (*at as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    fn held(&self) -> Vec<u8> {
        let mut after = Vec::new();
        for (at, bytes) in &self.buffers {
            // SAFETY: as above.
            let now = unsafe { std::slice::from_raw_parts(*at as *const u8, bytes.len()) };
            after.extend_from_slice(now);
        }
        after
    }
}

/// The first lines that differ.
fn difference(a: &str, b: &str) -> String {
    let differs = |(_, (a, b)): &(usize, (&str, &str))| a != b;
    let at = a.lines().zip(b.lines()).enumerate().find(differs).map_or(0, |(n, _)| n);
    let part =
        |t: &str| t.lines().skip(at.saturating_sub(12)).take(24).collect::<Vec<_>>().join("\n");
    format!("line {at}\n--- interpreted\n{}\n--- compiled\n{}", part(a), part(b))
}

/// Launches of so many blocks that L1 is a sample's.
const LARGE: &str = "
streams saxpy 600 256 0 f614400 f614400 150000
streams saxpy_misaligned 300 256 0 f307456 f307456 76800
streams saxpy_vector 300 256 0 f1228800 f1228800 76800
streams gather 400 256 0 f819200 r409600 102400
streams doubles 300 256 0 z614400 d614400 76800
streams bytes 300 256 0 z76800 f76800 76800
streams constant_lookup 300 256 0 z307200 r307200 76800
streams local_array 300 256 0 z307200 r307200 76800
transposes transpose_naive 20x20 32x8 0 z1638400 f1638400 640
transposes transpose_padded 20x20 32x8 0 z1638400 f1638400 640
matrices stencil_global 16x64 32x8 0 z1048576 f1048576 z4 512
matrices matmul_tile16 20x20 16x16 0 z409600 f409600 f409600 320
reductions reduce_sequential 512 256 0 z4096 f524288 131072
reductions scan_naive 300 256 0 z307200 f307200 76800
reductions histogram_shared 300 256 0 z1024 r307200 76800
kernels softmax 300 256 0 z2457600 f2457600 z4 256
";

fn compare(seed: Option<u64>, gpus: &[&str]) {
    let list = std::fs::read_to_string(format!("{VECTORS}/launches.txt")).unwrap();
    compare_all(&list, seed, gpus);
}

fn compare_all(list: &str, seed: Option<u64>, gpus: &[&str]) {
    if nothing_compiles() {
        return;
    }
    rehearse_always();
    let only = std::env::var("MARGAY_ONLY").ok();
    let mut wrong = Vec::new();
    let lines = list.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    for line in lines.filter(|l| only.as_ref().is_none_or(|o| l.contains(o.as_str()))) {
        let mut launch = Launch::of(line, seed, gpus);
        let (interpreted, one) = launch.profile(Engine::Interp, gpus);
        let before = counts().functions();
        let (compiled, two) = launch.profile(Engine::Jit, gpus);
        if seed.is_none() && counts().functions() == before {
            wrong.push(format!("{line}: nothing was compiled"));
        }
        if one != two {
            wrong.push(format!("{line}: results differ"));
        }
        if interpreted != compiled {
            wrong.push(format!("{line}: {}", difference(&interpreted, &compiled)));
        }
    }
    let n = wrong.len();
    assert!(wrong.is_empty(), "{n} launches:\n{}", wrong.join("\n\n"));
}

#[test]
fn a_profile_does_not_depend_on_the_engine() {
    compare(None, &["h200"]);
}

#[test]
fn nor_does_one_of_many_blocks() {
    compare_all(LARGE, None, &["h200"]);
    compare_all(LARGE, Some(7), &["h200"]);
}

#[test]
fn nor_does_one_for_several_gpus_and_a_seed() {
    compare(Some(7), &["gtx680", "h200"]);
}

/// Warps of a block leave compiled code one by one, between barriers and at different ones: what the others have not done
/// yet is not counted, and the barrier holds them. `CALL` is a call, which is interpreted.
const LEAVING: &str = ".version 8.3
.target sm_90
.address_size 64
.shared .align 4 .b8 tile[512];
.func (.reg .b32 %out) twice(.reg .b32 %in) { add.u32 %out, %in, %in; ret; }
.visible .entry leaving(.param .u64 a, .param .u64 b) {
.reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 128, %r1;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
mov.u32 %r9, 0; mov.u32 %r8, 0;
mov.u32 %r10, tile; shl.b32 %r11, %r1, 2; add.u32 %r11, %r11, %r10;
xor.b32 %r12, %r1, 127; shl.b32 %r12, %r12, 2; add.u32 %r12, %r12, %r10;
shr.u32 %r13, %r1, 5;
LOOP:
ld.global.u32 %r4, [%rd4];
add.u32 %r4, %r4, %r9;
st.shared.u32 [%r11], %r4;
bar.sync 0;
ld.shared.u32 %r5, [%r12];
add.u32 %r8, %r8, %r5;
add.u32 %r6, %r13, %r2;
rem.u32 %r6, %r6, 5;
setp.ne.u32 %p1, %r6, %r9;
@%p1 bra SKIP;
CALL
SKIP:
bar.sync 0;
add.u32 %r9, %r9, 1;
setp.lt.u32 %p3, %r9, 5;
@%p3 bra LOOP;
st.global.u32 [%rd5], %r8;
ret;
}
";

#[test]
fn nor_where_warps_leave_between_barriers() {
    if nothing_compiles() {
        return;
    }
    let gpus = &["h200"];
    for call in ["call (%r8), twice, (%r8);", "nanosleep.u32 100;"] {
        for blocks in [9, 300] {
            let mut bench = Bench::new(gpus);
            bench.seed = None;
            let module = bench.load_text(&LEAVING.replace("CALL", call));
            let bytes: Vec<u8> = (0..blocks * 512).map(|i| (i % 251) as u8).collect();
            let buffers =
                vec![(bench.buffer(&bytes), bytes.clone()), (bench.buffer(&bytes), bytes)];
            let values = buffers.iter().map(|b| b.0).collect();
            let (grid, block) = ([blocks, 1, 1], [128, 1, 1]);
            let kernel = "leaving".to_owned();
            let mut launch = Launch { bench, module, kernel, grid, block, values, buffers };
            let (interpreted, one) = launch.profile(Engine::Interp, gpus);
            let (compiled, two) = launch.profile(Engine::Jit, gpus);
            assert_eq!(one, two, "{blocks} {call}");
            let why = difference(&interpreted, &compiled);
            assert!(interpreted == compiled, "{blocks} {call}: {why}");
            assert!(launch.plain(Engine::Jit) == one, "{blocks} {call}: unobserved");
        }
    }
}

/// Lanes part before their first store; a loop has a barrier; `RED` is a barrier that only the scheduler runs.
const PARTING: &str = ".version 8.3
.target sm_90
.address_size 64
.shared .align 4 .b8 tile[512];
.visible .entry parting(.param .u64 a, .param .u64 b) {
.reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 128, %r1;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
mov.u32 %r6, 0; mov.u32 %r9, 0;
setp.lt.u32 %p1, %r1, 40;
@%p1 bra SKIP;
ld.global.u32 %r4, [%rd4];
st.global.u32 [%rd5], %r4;
SKIP:
mov.u32 %r10, tile; shl.b32 %r11, %r1, 2; add.u32 %r11, %r11, %r10;
LOOP:
st.shared.u32 [%r11], %r9;
bar.sync 0;
ld.shared.u32 %r5, [%r11];
setp.eq.u32 %p2, %r5, %r1;
RED
add.u32 %r9, %r9, 1;
st.global.u32 [%rd4], %r6;
setp.lt.u32 %p3, %r9, 5;
@%p3 bra LOOP;
ret;
}
";

#[test]
fn nor_where_lanes_part_and_the_scheduler_takes_over() {
    if nothing_compiles() {
        return;
    }
    let gpus = &["h200"];
    for red in ["", "bar.red.popc.u32 %r6, 1, %p2;"] {
        for (threads, seed) in [(128, None), (128, Some(3)), (100, None), (20, None)] {
            let mut bench = Bench::new(gpus);
            bench.seed = seed;
            let module = bench.load_text(&PARTING.replace("RED", red));
            let bytes: Vec<u8> = (0..4096u32).map(|i| i as u8).collect();
            let buffers =
                vec![(bench.buffer(&bytes), bytes.clone()), (bench.buffer(&bytes), bytes)];
            let values = buffers.iter().map(|b| b.0).collect();
            let (grid, block) = ([7, 1, 1], [threads, 1, 1]);
            let kernel = "parting".to_owned();
            let mut launch = Launch { bench, module, kernel, grid, block, values, buffers };
            let (interpreted, one) = launch.profile(Engine::Interp, gpus);
            let (compiled, two) = launch.profile(Engine::Jit, gpus);
            assert_eq!(one, two, "{threads} {seed:?} {red}");
            let why = difference(&interpreted, &compiled);
            assert!(interpreted == compiled, "{threads} {seed:?} {red}: {why}");
        }
    }
}

/// Bytes of a text and of one word, compared until they differ: lanes stop one by one, in more ways than patterns are kept.
const MATCHING: &str = ".version 8.3
.target sm_90
.address_size 64
.visible .entry matching(.param .u64 a, .param .u64 b, .param .u64 c) {
.reg .b32 %r<16>; .reg .b64 %rd<12>; .reg .pred %p<4>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 256, %r1;
cvt.u64.u32 %rd4, %r3;
add.u64 %rd5, %rd1, %rd4;
mov.u64 %rd6, %rd2;
mul.wide.u32 %rd7, %r3, 4;
add.u64 %rd8, %rd3, %rd7;
mov.u32 %r4, 0;
LOOP:
ld.global.u8 %r5, [%rd5]; ld.global.u8 %r6, [%rd6];
setp.ne.u32 %p1, %r5, %r6;
@%p1 bra DONE;
add.u64 %rd5, %rd5, 1; add.u64 %rd6, %rd6, 1;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, 8;
@%p2 bra LOOP;
DONE:
setp.ne.u32 %p3, %r4, 2;
@%p3 bra END;
st.global.u32 [%rd8], %r4;
END:
ret;
}
";

#[test]
fn nor_where_data_decides_which_lanes_go_on() {
    if nothing_compiles() {
        return;
    }
    for gpus in [&["h200"][..], &["h200", "gtx680"]] {
        for blocks in [3, 600] {
            let mut bench = Bench::new(gpus);
            let module = bench.load_text(MATCHING);
            let letters = |bytes: usize| -> Vec<u8> {
                contents(&format!("r{bytes}")).iter().map(|b| b & 1).collect()
            };
            let texts = [letters(blocks * 256 + 8), letters(8), vec![0; blocks * 1024]];
            let buffers: Vec<_> = texts.map(|text| (bench.buffer(&text), text)).into();
            let values = buffers.iter().map(|b| b.0).collect();
            let (grid, block) = ([blocks as u32, 1, 1], [256, 1, 1]);
            let kernel = "matching".to_owned();
            let mut launch = Launch { bench, module, kernel, grid, block, values, buffers };
            let (interpreted, one) = launch.profile(Engine::Interp, gpus);
            let (compiled, two) = launch.profile(Engine::Jit, gpus);
            assert_eq!(one, two, "{blocks}");
            let why = difference(&interpreted, &compiled);
            assert!(interpreted == compiled, "{blocks}: {why}");
        }
    }
}

/// Loads through one register, between which a handler finds for some blocks that a place is in `b`, and some of their warps leave
/// compiled code, as numbers that ascend from lane to lane in 32 bits do not in 64. Local
/// memory and parameters at known addresses; parameters also by lanes that data choose, in more ways than patterns are kept.
const APART: &str = ".version 8.3
.target sm_90
.address_size 64
.visible .entry apart(.param .align 16 .u64 a, .param .u64 b) {
.local .align 8 .b8 own[32];
.reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .pred %p<4>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 128, %r1;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd4, %rd1, %rd3; add.u64 %rd4, %rd4, 8; add.u64 %rd5, %rd2, %rd3;
sub.u64 %rd6, %rd2, %rd1; shr.s64 %rd6, %rd6, 2; shl.b64 %rd6, %rd6, 2;
rem.u32 %r4, %r2, 3;
setp.eq.u32 %p1, %r4, 0;
selp.b64 %rd7, %rd6, 0, %p1;
selp.b32 %r21, 2147483640, 5, %p1;
add.u64 %rd8, %rd4, %rd7;
mov.u64 %rd9, own;
mov.u32 %r8, 0; mov.u32 %r9, 0;
LOOP:
ld.global.u32 %r10, [%rd4+-8]; ld.global.u32 %r11, [%rd8];
add.s32 %r20, %r1, %r21; cvt.s64.s32 %rd12, %r20; shr.s64 %rd12, %rd12, 33; cvt.u32.u64 %r22, %rd12; add.u32 %r8, %r8, %r22;
ld.global.u32 %r12, [%rd4+4];
add.u32 %r8, %r8, %r10; add.u32 %r8, %r8, %r11;
st.local.u32 [%rd9], %r12; ld.local.u32 %r13, [%rd9+4]; st.local.u32 [%rd9+4], %r10;
ld.global.u32 %r14, [%rd4+8]; ld.local.u32 %r15, [%rd9];
add.u32 %r8, %r8, %r12; add.u32 %r8, %r8, %r13; add.u32 %r8, %r8, %r14; add.u32 %r8, %r8, %r15;
add.u32 %r9, %r9, 1;
setp.lt.u32 %p2, %r9, 4;
@%p2 bra LOOP;
and.b32 %r16, %r14, 1;
setp.ne.u32 %p3, %r16, 0;
@%p3 bra SKIP;
ld.param.v2.u64 {%rd10, %rd11}, [a]; ld.param.u32 %r17, [b];
cvt.u32.u64 %r18, %rd10; sub.u32 %r19, %r17, %r18;
add.u32 %r8, %r8, %r19;
SKIP:
st.global.u32 [%rd5], %r8;
ret;
}
";

#[test]
fn nor_where_code_leaves_between_accesses_that_are_counted_at_once() {
    if nothing_compiles() {
        return;
    }
    for gpus in [&["h200"][..], &["h200", "gtx680"]] {
        for blocks in [7, 600] {
            let mut bench = Bench::new(gpus);
            let module = bench.load_text(APART);
            let texts = [7, 11].map(|_| contents(&format!("r{}", blocks * 512 + 64)));
            let buffers: Vec<_> = texts.map(|text| (bench.buffer(&text), text)).into();
            let values = buffers.iter().map(|b| b.0).collect();
            let (grid, block) = ([blocks as u32, 1, 1], [128, 1, 1]);
            let kernel = "apart".to_owned();
            let mut launch = Launch { bench, module, kernel, grid, block, values, buffers };
            let (interpreted, one) = launch.profile(Engine::Interp, gpus);
            let before = counts().functions();
            let (compiled, two) = launch.profile(Engine::Jit, gpus);
            assert!(counts().functions() != before, "nothing was compiled");
            assert_eq!(one, two, "{blocks}");
            let why = difference(&interpreted, &compiled);
            assert!(interpreted == compiled, "{blocks}: {why}");
        }
    }
}
