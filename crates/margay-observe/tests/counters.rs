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

use common::Bench;

fn vectors(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/profile")).join(name)
}

fn shape(text: &str) -> [u32; 3] {
    let mut out = [1; 3];
    for (o, n) in out.iter_mut().zip(text.split('x')) {
        *o = n.parse().unwrap();
    }
    out
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
        "d" => words.by_ref().take(bytes / 8).flat_map(|(i, _)| f64::from(i).to_le_bytes()).collect(),
        "r" => words.by_ref().take(bytes / 4).flat_map(|(_, s)| s.to_le_bytes()).collect(),
        other => panic!("buffers of kind {other}"),
    };
    out.resize(bytes, 0);
    out
}

/// Kernel and metric to count, as margay has them.
fn counted() -> BTreeMap<(String, String), u64> {
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
    let report = bench.report();
    let mut out = BTreeMap::new();
    for kernel in &report.kernels {
        for (name, value) in &kernel.totals[0].metrics {
            out.insert((kernel.symbol.clone(), name.clone()), *value);
        }
    }
    out
}

#[test]
fn as_an_h200_counts() {
    let counted = counted();
    let recorded = std::fs::read_to_string(vectors("counters.csv")).unwrap();
    let reasons = std::fs::read_to_string(vectors("transformations.txt")).unwrap();
    let mut named: BTreeMap<(String, String), (u64, String)> = BTreeMap::new();
    for line in reasons.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let key = (words[0].to_owned(), words[1].to_owned());
        named.insert(key, (words[2].parse().unwrap(), words[3].to_owned()));
    }
    let (mut cells, mut equal, mut wrong) = (0, 0, Vec::new());
    for line in recorded.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split(',').collect();
        let key = (words[0].to_owned(), words[1].to_owned());
        let theirs: u64 = words[2].parse().unwrap();
        let ours = counted.get(&key).copied().unwrap_or(0);
        cells += 1;
        equal += usize::from(ours == theirs);
        match (ours == theirs, named.remove(&key)) {
            (true, None) => {}
            (false, Some((expected, _))) if expected == ours => {}
            (true, Some(_)) => wrong.push(format!("{key:?} is equal, and named as different")),
            (false, _) => wrong.push(format!("{key:?}: {ours}, an H200 has {theirs}")),
        }
    }
    wrong.extend(named.keys().map(|k| format!("{k:?} is named and was not recorded")));
    assert!(wrong.is_empty(), "{} of {cells} equal\n{}", equal, wrong.join("\n"));
    assert!(cells >= 100, "{cells}");
    assert!(equal as f64 >= 0.95 * f64::from(cells), "{equal} of {cells}");
}
