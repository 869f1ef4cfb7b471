// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of NVIDIA's cuda-samples against what an H200's profiler counted for them.
//!
//! `tests/vectors/h200/samples` has the launches and the counters, not the programs. They are compiled here, as
//! they were for the card, from the checkout that `MARGAY_CUDA_SAMPLES` names; without one the test says that it is
//! skipped. `transformations.txt` names the cells that differ, each with its reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Place, clang};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/samples");

/// Launch, line (0 is all) and counter.
type Cell = (usize, u64, String);

fn lines(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(VECTORS).join(name)).unwrap();
    text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect()
}

/// A buffer as `../profile/record.cpp` fills it, as a NumPy file.
fn buffer(place: &Place, word: &str) -> String {
    let count = word[1..].parse::<usize>().unwrap() / 4;
    let mut state = 12345u32;
    let words: Vec<u32> = (0..count)
        .map(|i| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match &word[..1] {
                "z" => 0,
                "f" => (i as f32).to_bits(),
                "r" => state,
                other => panic!("buffers of kind {other}"),
            }
        })
        .collect();
    let mut header = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({count},), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    words.iter().for_each(|w| bytes.extend(w.to_le_bytes()));
    let name = format!("{word}.npy");
    place.write(&name, bytes);
    format!("@{name}")
}

fn compile(place: &Place, samples: &Path, module: &str) -> String {
    let name = format!("{}.ptx", module.replace('/', "_"));
    if !place.path(&name).exists() {
        let source = samples.join("Samples").join(format!("{module}.cu"));
        let include = format!("-I{}", samples.join("Common").display());
        let beside = format!("-I{}", source.parent().unwrap().display());
        let source = source.to_string_lossy();
        let words = ["cc", "-ptx", "-arch=sm_90", "-lineinfo", &include, &beside, "-o", &name];
        let words: Vec<&str> = words.into_iter().chain([&*source]).collect();
        let got = place.margay(&words);
        assert_eq!(got.code, 0, "{module}: {}", got.stderr);
    }
    name
}

/// What margay counts for a launch.
fn counted(
    place: &Place,
    samples: &Path,
    launch: usize,
    line: &str,
    out: &mut BTreeMap<Cell, u64>,
) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ptx = compile(place, samples, words[0]);
    let arguments: Vec<String> = words[5..]
        .iter()
        .map(|w| if w.parse::<u64>().is_ok() { format!("u32:{w}") } else { buffer(place, w) })
        .collect();
    let mut line = vec!["launch", "--profile=p.json", "--show=0", &ptx, words[1]];
    line.extend(["--grid", words[2], "--block", words[3], "--shared", words[4]]);
    line.extend(arguments.iter().map(String::as_str));
    let got = place.margay(&line);
    assert_eq!(got.code, 0, "{}: {}", words[1], got.stderr);
    let report: Value =
        serde_json::from_slice(&std::fs::read(place.path("p.json")).unwrap()).unwrap();
    let kernel = &report["kernels"][0];
    let mut add = |line: u64, name: &str, value: u64| {
        *out.entry((launch, line, name.to_owned())).or_default() += value;
    };
    for (name, value) in kernel["totals"][0]["metrics"].as_object().unwrap() {
        let compared = name.starts_with("l1tex__t_") || name.starts_with("smsp__sass");
        if compared && name.contains("_op_") {
            add(0, name, value.as_u64().unwrap());
        }
    }
    for access in kernel["accesses"].as_array().unwrap() {
        // The card's profiler counts a header's access at the header's line.
        let in_header = access["header"].is_string();
        if in_header || !access["file"].as_str().unwrap().contains("/Samples/") {
            continue;
        }
        let (at, counts) = (access["line"].as_u64().unwrap(), &access["gpus"][0]);
        match access["space"].as_str().unwrap() {
            "shared" => add(at, "shared_wavefronts", counts["wavefronts_sass"].as_u64().unwrap()),
            "global" => add(at, "global_sectors", counts["sectors"].as_u64().unwrap()),
            _ => {}
        }
    }
}

#[test]
fn cuda_samples_as_an_h200_counts() {
    let test = "cuda_samples_as_an_h200_counts";
    let Some(samples) = std::env::var_os("MARGAY_CUDA_SAMPLES").map(PathBuf::from) else {
        eprintln!("skipped: {test}: MARGAY_CUDA_SAMPLES names no checkout of NVIDIA/cuda-samples");
        return;
    };
    if !clang(test) {
        return;
    }
    let place = Place::empty();
    let launches = lines("launches.txt");
    let mut ours = BTreeMap::new();
    for (n, line) in launches.iter().enumerate() {
        counted(&place, &samples, n, line, &mut ours);
    }
    let mut cells: BTreeMap<Cell, u64> = BTreeMap::new();
    for line in lines("counters.csv") {
        let words: Vec<&str> = line.split(',').collect();
        let key = (words[0].parse().unwrap(), words[1].parse().unwrap(), words[2].to_owned());
        cells.insert(key, words[3].parse().unwrap());
    }
    let mut named: BTreeMap<Cell, u64> = BTreeMap::new();
    for line in lines("transformations.txt") {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        assert!(words[4].contains(": "), "{line} has no reason");
        let key = (words[0].parse().unwrap(), words[1].parse().unwrap(), words[2].to_owned());
        named.insert(key, words[3].parse().unwrap());
    }
    // What one side has and the other does not is a cell too.
    for (key, _) in ours.iter().filter(|(_, value)| **value != 0) {
        cells.entry(key.clone()).or_default();
    }
    let (mut equal, mut wrong) = (0, Vec::new());
    for (key, theirs) in &cells {
        let ours = ours.get(key).copied().unwrap_or(0);
        equal += usize::from(ours == *theirs);
        match (ours == *theirs, named.get(key)) {
            (true, None) => {}
            (false, Some(expected)) if *expected == ours => {}
            (true, Some(_)) => wrong.push(format!("{key:?} is equal, and named as different")),
            (false, _) => wrong.push(format!("{} {} {} {ours} | {theirs}", key.0, key.1, key.2)),
        }
    }
    let all = cells.len();
    assert!(wrong.is_empty(), "{equal} of {all} equal; margay | card\n{}", wrong.join("\n"));
    assert!(launches.len() >= 20 && all >= 400, "{all}");
}
