// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an H200's profiler counted for real kernels, against what the profile counts for the same PTX.
//!
//! `tests/vectors/h200/profile` has the kernels, the launches and the recorded counters. ptxas changes some
//! accesses on its way to machine code; `transformations.txt` names each cell that is therefore not
//! equal, with what margay counts and why. Any other difference fails, and so does an entry that has
//! become equal.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::{Bench, shape};

fn vectors(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/profile"))
        .join(name)
}

/// As `record.cpp` fills its buffers.
fn contents(word: &str) -> Vec<u8> {
    let bytes: usize = word[1..].parse().unwrap();
    let mut state = 12345u32;
    let mut words = (0..).map(|i: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (i, state)
    });
    let mut out: Vec<u8> = match &word[..1] {
        "z" => Vec::new(),
        "f" => words.by_ref().take(bytes / 4).flat_map(|(i, _)| (i as f32).to_le_bytes()).collect(),
        "d" => {
            words.by_ref().take(bytes / 8).flat_map(|(i, _)| f64::from(i).to_le_bytes()).collect()
        }
        "r" => words.by_ref().take(bytes / 4).flat_map(|(_, s)| s.to_le_bytes()).collect(),
        other => panic!("buffers of kind {other}"),
    };
    out.resize(bytes, 0);
    out
}

/// Kernel, line (0 is all) and counter.
type Cell = (String, u32, String);

/// The report of all launches on the list.
fn profiled() -> margay_observe::report::Report {
    let mut bench = Bench::new(&["h200"]);
    let list = std::fs::read_to_string(vectors("launches.txt")).unwrap();
    for line in list.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let module = bench.load(&vectors(&format!("{}.ptx", words[0])));
        let value = |w: &&str| match w.parse::<u64>() {
            Ok(n) => n,
            Err(_) => bench.buffer(&contents(w)),
        };
        let values: Vec<u64> = words[5..].iter().map(value).collect();
        bench.launch(&module, words[1], shape(words[2]), shape(words[3]), &values);
    }
    bench.report()
}

/// What margay counts.
fn counted(report: &margay_observe::report::Report) -> BTreeMap<Cell, u64> {
    let mut out = BTreeMap::new();
    for kernel in &report.kernels {
        let mut add = |line: u32, name: &str, value: u64| {
            *out.entry((kernel.symbol.clone(), line, name.to_owned())).or_default() += value;
        };
        for (name, value) in &kernel.totals[0].metrics {
            add(0, name, *value);
        }
        for access in kernel.accesses.iter().filter(|a| a.line != 0) {
            let counts = &access.gpus[0].counts;
            // The card's profiler counts at the header's line.
            let header = access.header.as_ref().and_then(|h| h.rsplit(':').next()?.parse().ok());
            let line = header.unwrap_or(access.line);
            match &*access.space {
                "shared" => add(line, "shared_wavefronts", counts.wavefronts_sass),
                "global" => add(line, "global_sectors", counts.sectors),
                _ => {}
            }
        }
    }
    out
}

/// L1 is modelled. How near its hit rates are to those that the card counted for the same launches is what
/// `docs/profile.md` says.
fn caches_are_near(report: &margay_observe::report::Report) {
    let recorded = std::fs::read_to_string(vectors("caches.csv")).unwrap();
    let (mut errors, mut told) = (Vec::new(), String::new());
    for line in recorded.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split(',').collect();
        let (sectors, hits): (f64, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        let kernel = report.kernels.iter().find(|k| k.symbol == words[0]).unwrap();
        let global = kernel.accesses.iter().filter(|a| a.space == "global" && a.kind == "load");
        let (mut ours, mut all) = (0, 0);
        for access in global {
            ours += access.caches.l1_hits;
            all += access.caches.l1_hits + access.caches.l1_misses;
        }
        let ours = 100.0 * ours as f64 / (all.max(1)) as f64;
        let theirs = 100.0 * hits / sectors.max(1.0);
        told += &format!("{} {ours:.1} {theirs:.1}\n", words[0]);
        errors.push((ours - theirs).abs());
    }
    errors.sort_by(f64::total_cmp);
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let (middle, ninth) = (errors[errors.len() / 2], errors[errors.len() * 9 / 10]);
    eprintln!(
        "L1 hit rates: {mean:.1} points off on average, median {middle:.1}, 90 % within {ninth:.1}"
    );
    assert!(mean < 10.0, "{mean:.1}\n{told}");
}

#[test]
fn as_an_h200_counts() {
    let report = profiled();
    caches_are_near(&report);
    let counted = counted(&report);
    let recorded = std::fs::read_to_string(vectors("counters.csv")).unwrap();
    let reasons = std::fs::read_to_string(vectors("transformations.txt")).unwrap();
    let content = |text: &'static str| text.lines().filter(|l| !l.starts_with('#'));
    let mut named: BTreeMap<Cell, u64> = BTreeMap::new();
    for line in content(Box::leak(reasons.into_boxed_str())) {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        assert!(words[4].contains(": "), "{line} has no reason");
        let key = (words[0].to_owned(), words[1].parse().unwrap(), words[2].to_owned());
        named.insert(key, words[3].parse().unwrap());
    }
    // What one side has and the other does not is a cell too.
    let mut cells: BTreeMap<Cell, u64> = named.keys().map(|k| (k.clone(), 0)).collect();
    for line in content(Box::leak(recorded.into_boxed_str())) {
        let words: Vec<&str> = line.split(',').collect();
        let key = (words[0].to_owned(), words[1].parse().unwrap(), words[2].to_owned());
        cells.insert(key, words[3].parse().unwrap());
    }
    let compared = |k: &Cell| k.1 != 0 || k.2.starts_with("l1tex__t_") || k.2.contains("_op_");
    let other = |k: &Cell| k.2.starts_with("smsp__inst");
    for (key, ours) in &counted {
        if *ours != 0 && compared(key) && !other(key) {
            cells.entry(key.clone()).or_default();
        }
    }
    let (mut real, mut equal, mut wrong) = (0, 0, Vec::new());
    for (key, theirs) in &cells {
        let ours = counted.get(key).copied().unwrap_or(0);
        if !key.0.starts_with("probe_") {
            real += 1;
            equal += usize::from(ours == *theirs);
        }
        match (ours == *theirs, named.get(key)) {
            (true, None) => {}
            (false, Some(expected)) if *expected == ours => {}
            (true, Some(_)) => wrong.push(format!("{key:?} is equal, and named as different")),
            (false, _) => wrong.push(format!("{key:?}: {ours}, an H200 has {theirs}")),
        }
    }
    assert!(wrong.is_empty(), "{equal} of {real} equal\n{}", wrong.join("\n"));
    assert!(real >= 400, "{real}");
    assert!(equal as f64 >= 0.95 * real as f64, "{equal} of {real}");
    let kernels: std::collections::BTreeSet<&String> = cells.keys().map(|k| &k.0).collect();
    assert_eq!(kernels.len(), 57);
}
