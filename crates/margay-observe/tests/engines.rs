// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled code tells an observer what the interpreter tells it: a profile is the same to the byte.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::{Bench, shape};
use margay_exec::jit::{Engine, counts, unavailable};
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
        self.bench.engine = Some(engine);
        for (at, bytes) in &self.buffers {
            // SAFETY: the buffer was made with this size.
            unsafe { (*at as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        self.bench.launch(&self.module, &self.kernel, self.grid, self.block, &self.values);
        let mut after = Vec::new();
        for (at, bytes) in &self.buffers {
            // SAFETY: as above.
            let now = unsafe { std::slice::from_raw_parts(*at as *const u8, bytes.len()) };
            after.extend_from_slice(now);
        }
        (serde_json::to_string_pretty(&self.bench.raw()).unwrap(), after)
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

fn compare(seed: Option<u64>, gpus: &[&str]) {
    if let Some(why) = unavailable() {
        eprintln!("skipped, nothing can be compiled: {why}");
        return;
    }
    let list = std::fs::read_to_string(format!("{VECTORS}/launches.txt")).unwrap();
    let only = std::env::var("MARGAY_ONLY").ok();
    let mut wrong = Vec::new();
    let lines = list.lines().filter(|l| !l.starts_with('#'));
    for line in lines.filter(|l| only.as_ref().is_none_or(|o| l.contains(o.as_str()))) {
        let mut launch = Launch::of(line, seed, gpus);
        let (interpreted, one) = launch.profile(Engine::Interp, gpus);
        let before = counts();
        let (compiled, two) = launch.profile(Engine::Jit, gpus);
        if seed.is_none() && counts() == before {
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
fn nor_does_one_for_several_gpus_and_a_seed() {
    compare(Some(7), &["gtx680", "h200"]);
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
    if let Some(why) = unavailable() {
        eprintln!("skipped, nothing can be compiled: {why}");
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
