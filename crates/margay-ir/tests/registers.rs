// SPDX-License-Identifier: MIT OR Apache-2.0
//! The register estimate against what ptxas 13.0 gave for `sm_90`, on kernels that it was not fitted to.

use margay_ir::analysis::registers::{estimate, features::Features, of_features};

/// Mean and 90th percentile of the errors relative to the true counts.
fn errors(pairs: &[(u32, u32)]) -> (f64, f64) {
    let off = pairs.iter().map(|&(is, true_)| f64::from(is.abs_diff(true_)) / f64::from(true_));
    let mut off: Vec<f64> = off.collect();
    off.sort_by(f64::total_cmp);
    (off.iter().sum::<f64>() / off.len() as f64, off[off.len() * 9 / 10])
}

/// Programs that no kernel of was trained on; `tools/register-model.py --held-out` wrote the table.
#[test]
fn programs_that_were_held_out() {
    let text = include_str!("registers/held_out.txt");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(' ').collect();
    assert_eq!(names[1..], *Features::NAMES, "the figures changed: train again");
    let kernels: Vec<(u32, u32)> = lines
        .map(|line| {
            let row: Vec<u32> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let features = Features::from_values(&row[1..]).unwrap();
            (of_features(&features).min(features.bound), row[0])
        })
        .collect();
    assert!(kernels.len() >= 150, "{}", kernels.len());
    let (mean, most) = errors(&kernels);
    println!("{} kernels: mean {mean:.4}, 90th percentile {most:.4}", kernels.len());
    assert!(mean <= 0.10 && most <= 0.25, "mean {mean:.4}, 90th percentile {most:.4}");
}

/// margay's own kernels, from their PTX.
#[test]
fn kernels_of_the_profile() {
    let mut registers = std::collections::BTreeMap::new();
    for line in include_str!("registers/profile.txt").lines().filter(|l| !l.starts_with('#')) {
        let (name, count) = line.split_once(' ').unwrap();
        registers.insert(name, count.parse::<u32>().unwrap());
    }
    let mut kernels = Vec::new();
    for file in ["kernels", "matrices", "reductions", "streams", "transposes"] {
        let path =
            format!("{}/../../tests/vectors/h200/profile/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let module = margay_ir::lower(&margay_ptx::parse(&text).unwrap()).unwrap();
        for function in module.functions.iter().filter(|f| f.is_entry) {
            let true_ =
                registers.remove(&*function.name).expect("a kernel that ptxas was asked of");
            kernels.push((estimate(function).min(Features::of(function).bound), true_));
        }
    }
    assert!(registers.is_empty(), "{registers:?}");
    let (mean, most) = errors(&kernels);
    println!("{} kernels: mean {mean:.4}, 90th percentile {most:.4}", kernels.len());
    assert!(mean <= 0.11 && most <= 0.25, "mean {mean:.4}, 90th percentile {most:.4}");
}
