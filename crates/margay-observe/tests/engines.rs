// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled code tells an observer what the interpreter tells it: a profile is the same to the byte.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::Bench;
use margay_exec::jit::{Engine, counts, unavailable};
use margay_exec::program::LoadedModule;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/profile");

fn shape(text: &str) -> [u32; 3] {
    let mut out = [1; 3];
    for (o, n) in out.iter_mut().zip(text.split('x')) {
        *o = n.parse().unwrap();
    }
    out
}

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
