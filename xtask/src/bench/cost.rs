// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a profile costs: the bench kernels with and without an observer, in turns, in one process.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use margay_exec::jit::Engine;
use margay_observe::constant_cache::ConstantCache;
use margay_observe::profile::Profiler;

use super::case::Case;
use super::engine;

/// The GPU whose rules count.
const GPU: &str = "h200";

/// Milliseconds of a case, the least of all turns.
struct Cost {
    name: &'static str,
    plain: f64,
    profiled: f64,
}

/// Prints, for each case, how many times longer it takes with all counters on.
pub fn run(
    root: &Path,
    cases: &[Case],
    threads: usize,
    turns: usize,
    markdown: Option<&str>,
) -> Result<(), String> {
    let mut costs = Vec::new();
    for case in cases {
        eprintln!("{} on {threads} thread(s)", case.name);
        costs.push(measure(root, case, threads, turns)?);
    }
    let text = table(&costs);
    print!("{text}");
    match markdown {
        Some(path) => std::fs::write(path, text).map_err(|e| format!("{path}: {e}")),
        None => Ok(()),
    }
}

/// Compares the profiles of both engines, to the byte.
pub fn compare(root: &Path, cases: &[Case]) -> Result<(), String> {
    let gpu = margay_arch::find(GPU).ok_or("the model knows no such GPU")?;
    let mut differ = Vec::new();
    for case in cases {
        let contents: Vec<Vec<u8>> =
            case.buffers.iter().enumerate().map(|(i, b)| b.contents(i as u32)).collect();
        // In memory that stays where it is: which lines the model of L2 looks at depends on addresses.
        let mut ours = engine::prepare(root, case)?;
        let directory = std::env::temp_dir().join(format!("margay-cost-{}", std::process::id()));
        std::fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
        let mut profiles = Vec::new();
        for engine in [Engine::Interp, Engine::Jit] {
            ours.engine = Some(engine);
            let constants = Arc::new(ConstantCache::start(&[gpu], None));
            let profiler = Profiler::start(&directory, vec![gpu], constants);
            // What is known from a launch before must not show.
            for _ in 0..2 {
                ours.fill(&contents);
                ours.run_under(case, 1, Some((&*profiler, gpu)))?;
            }
            let profile = serde_json::to_string(&profiler.snapshot(true));
            profiles.push(profile.map_err(|e| e.to_string())?);
        }
        // Of no consequence if it fails: it is a temporary folder.
        let _ = std::fs::remove_dir_all(&directory);
        if profiles[0] == profiles[1] {
            println!("{}: {} bytes, alike", case.name, profiles[0].len());
            continue;
        }
        for (name, profile) in ["interp", "jit"].iter().zip(&profiles) {
            let path = std::env::temp_dir().join(format!("{}.{name}.json", case.name));
            std::fs::write(&path, profile).map_err(|e| format!("{}: {e}", path.display()))?;
            println!("{}: differs, see {}", case.name, path.display());
        }
        differ.push(case.name);
    }
    match differ.is_empty() {
        true => Ok(()),
        false => Err(format!("profiles differ: {}", differ.join(", "))),
    }
}

fn measure(root: &Path, case: &Case, threads: usize, turns: usize) -> Result<Cost, String> {
    let gpu = margay_arch::find(GPU).ok_or("the model knows no such GPU")?;
    let contents: Vec<Vec<u8>> =
        case.buffers.iter().enumerate().map(|(i, b)| b.contents(i as u32)).collect();
    let mut ours = engine::prepare(root, case)?;
    // What is counted stays in memory, but for a file that is written while a case runs for a second.
    let directory = std::env::temp_dir().join(format!("margay-cost-{}", std::process::id()));
    std::fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let constants = Arc::new(ConstantCache::start(&[gpu], None));
    let profiler = Profiler::start(&directory, vec![gpu], constants);
    let mut cost = Cost { name: case.name, plain: f64::INFINITY, profiled: f64::INFINITY };
    let mut plain_results = Vec::new();
    // The first turn compiles, and compares results.
    for turn in 0..=turns {
        ours.fill(&contents);
        let plain = ours.run(case, threads)?.milliseconds;
        if turn == 0 {
            plain_results = results(&ours, case);
        }
        ours.fill(&contents);
        let profiled = ours.run_under(case, threads, Some((&*profiler, gpu)))?.milliseconds;
        if turn > 0 {
            (cost.plain, cost.profiled) = (cost.plain.min(plain), cost.profiled.min(profiled));
        } else if threads == 1 && results(&ours, case) != plain_results {
            return Err(format!("{}: results differ with an observer", case.name));
        }
    }
    drop(profiler);
    // Of no consequence if it fails: it is a temporary folder.
    let _ = std::fs::remove_dir_all(&directory);
    Ok(cost)
}

fn results(ours: &engine::Prepared, case: &Case) -> Vec<Vec<u8>> {
    case.buffers.iter().enumerate().map(|(i, b)| ours.read(i, b.bytes())).collect()
}

fn table(costs: &[Cost]) -> String {
    let mut text = String::from("| kernel | plain | profiled | × |\n|---|---|---|---|\n");
    let mut logs = 0.0;
    for Cost { name, plain, profiled } in costs {
        let ratio = profiled / plain;
        logs += ratio.ln();
        let _ = writeln!(text, "| {name} | {plain:.2} | {profiled:.2} | {ratio:.2} |");
    }
    let mean = (logs / costs.len().max(1) as f64).exp();
    let _ = writeln!(text, "| **geometric mean** | | | **{mean:.2}** |");
    text
}
