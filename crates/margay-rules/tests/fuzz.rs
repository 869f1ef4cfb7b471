// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fuzzer that needs nothing but stable Rust: damages the rules' examples by bytes, words and lines, and
//! holds every check to its promises: it ends without a panic, every form renders, every place lies in its
//! text, and `--fix` leaves valid text.
//!
//! `MARGAY_FUZZ_SECONDS` says how long (2 by default), `MARGAY_FUZZ_SEED` repeats a run.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use margay_rules::rule::{Example, Group};
use margay_rules::{Settings, check, fix, registry, render};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn damage(text: &str, other: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, b"{}[]();,.<>&*+-=0x\"/\n#\xc3"[random.below(23)]),
            3 => bytes.truncate(at),
            4 => {
                let words: Vec<&str> = other.split_whitespace().collect();
                let word = words[random.below(words.len())];
                bytes.splice(at..at, format!(" {word} ").into_bytes());
            }
            _ => {
                let lines: Vec<&str> = other.lines().collect();
                let line = lines[random.below(lines.len())];
                bytes.splice(at..at, format!("\n{line}\n").into_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

#[test]
fn damaged_programs_break_no_promise() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seconds = number("MARGAY_FUZZ_SECONDS").unwrap_or(2);
    let seed = number("MARGAY_FUZZ_SEED").unwrap_or(20_261_121) | 1;
    let examples: Vec<(bool, &Example)> = registry::all()
        .flat_map(|r| {
            [(r.group == Group::OpenCl, &r.illegal), (r.group == Group::OpenCl, &r.legal)]
        })
        .collect();
    let mut random = Random(seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut tried, mut parsed) = (0u64, 0u64);
    while Instant::now() < end || tried < 10 {
        let (opencl, example) = examples[random.below(examples.len())];
        let (_, other) = examples[random.below(examples.len())];
        let text = damage(example.source, other.source, &mut random);
        let path = Path::new(if opencl { "fuzz.cl" } else { "fuzz.cu" });
        let report = check::text(path, &text, &support::environment(example), &Settings::default());
        let context = || format!("MARGAY_FUZZ_SEED={seed}, try {tried}, on this text:\n{text}");
        if let Some(why) = &report.unreadable {
            assert!(!why.contains("internal error"), "{why}\n{}", context());
        } else {
            parsed += 1;
        }
        for place in report.findings.iter().filter_map(|f| f.place.as_ref()) {
            let length = report.sources.text(&place.file).len();
            assert!(
                place.start <= place.end && place.end <= length,
                "{place:?} of {length}\n{}",
                context()
            );
        }
        let shown = render::text::render(&report, false);
        assert_eq!(report.findings.is_empty(), shown.is_empty(), "{}", context());
        let _ = fix::fixed(&report);
        let reports = [report];
        assert!(serde_json::from_str::<serde_json::Value>(&render::json::render(&reports)).is_ok());
        assert!(
            serde_json::from_str::<serde_json::Value>(&render::sarif::render(&reports)).is_ok()
        );
        let _ = render::github::render(&reports);
        tried += 1;
    }
    println!("{tried} damaged programs, {parsed} of them checked");
    assert!(parsed > 0, "nothing parsed: the fuzzer tests little");
}
