// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fuzzer that needs nothing but stable Rust: damages the filetests at random, by bytes, words and
//! lines, and holds every outcome to the promises: no panic, errors that render, printing that
//! parses back to itself, and IR that verifies.
//!
//! `MARGAY_FUZZ_SECONDS` says how long (2 by default; `make test` gives it a minute), and
//! `MARGAY_FUZZ_SEED` repeats a run: a failure prints the seed and the text. The coverage-guided fuzzer
//! is in `fuzz/`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in
        ["../../tests/filetests/run", "../../tests/filetests/fail", "../margay-ptx/tests/ptx"]
    {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder of PTX") {
            let path = entry.expect("a directory entry").path();
            if path.extension().is_some_and(|e| e == "ptx") {
                texts.push(std::fs::read_to_string(path).expect("readable PTX"));
            }
        }
    }
    texts.sort();
    texts
}

/// Damages a text in one to four places.
fn damage(text: &str, other: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, b"{}[]();,.@!%_<>+-0x\"/\n"[random.below(22)]),
            3 => bytes.truncate(at),
            4 => {
                let words: Vec<&str> = other.split_whitespace().collect();
                let word = words[random.below(words.len())];
                bytes.splice(at..at, format!(" {word} ").into_bytes());
            }
            _ => {
                let lines: Vec<&str> = other.lines().collect();
                let end =
                    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n);
                bytes.splice(at..end, lines[random.below(lines.len())].bytes());
            }
        }
    }
    margay_ptx::text_of(&bytes).into_owned()
}

/// Checks all promises; returns whether the text lowered.
fn check(text: &str) -> bool {
    let mut module = match margay_ptx::parse(text) {
        Ok(module) => module,
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a reason");
            errors.iter().for_each(|e| assert!(!e.render("fuzz", text).is_empty()));
            return false;
        }
    };
    let printed = margay_ptx::print(&module);
    let mut again = margay_ptx::parse(&printed)
        .unwrap_or_else(|e| panic!("what was printed does not parse: {}\n{printed}", e[0]));
    assert_eq!(margay_ptx::print(&again), printed, "printing is not stable");
    let lowered = margay_ir::lower(&module);
    if let Ok(ir) = &lowered
        && let Err(errors) = margay_ir::verify(ir)
    {
        panic!("lowered to IR that does not verify: {}", errors[0]);
    }
    module.erase_spans();
    again.erase_spans();
    assert!(module == again, "the round trip changed the tree");
    lowered.is_ok()
}

#[test]
fn damaged_ptx_breaks_no_promise() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seconds = number("MARGAY_FUZZ_SECONDS").unwrap_or(2);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
    let seed = number("MARGAY_FUZZ_SEED").unwrap_or(clock) | 1;
    let texts = corpus();
    let mut random = Random(seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut tried, mut lowered) = (0u64, 0u64);
    while Instant::now() < end || tried < 50 {
        let text = &texts[random.below(texts.len())];
        let other = &texts[random.below(texts.len())];
        let damaged = damage(text, other, &mut random);
        match catch_unwind(AssertUnwindSafe(|| check(&damaged))) {
            Ok(ok) => lowered += u64::from(ok),
            Err(_) => panic!("MARGAY_FUZZ_SEED={seed}, try {tried}, on this text:\n{damaged}"),
        }
        tried += 1;
    }
    println!("{tried} damaged modules, {lowered} of them lowered");
    assert!(lowered > 0, "nothing lowered: the fuzzer tests little");
}
