// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bench's table, as Markdown and as JSON: machine, date, milliseconds, ratios, geometric means.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

/// One case at one thread count.
#[derive(Default)]
pub struct Row {
    pub name: &'static str,
    pub threads: usize,
    /// Median milliseconds by runner; `margay` is ours.
    pub medians: BTreeMap<&'static str, f64>,
    /// Warp instructions that margay executed, as far as the engine counts them.
    pub warp_instructions: u64,
    /// Results that differ.
    pub wrong: Vec<String>,
}

pub struct Table {
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
    threads: Vec<usize>,
    turns: usize,
}

impl Row {
    /// How many times faster margay is than `peer`.
    fn ratio(&self, peer: &str) -> Option<f64> {
        Some(self.medians.get(peer)? / self.medians.get("margay")?)
    }
}

impl Table {
    pub fn new(threads: &[usize], turns: usize) -> Table {
        Table { rows: Vec::new(), notes: Vec::new(), threads: threads.to_vec(), turns }
    }

    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    fn peers(&self) -> BTreeSet<&'static str> {
        let names = self.rows.iter().flat_map(|row| row.medians.keys().copied());
        names.filter(|name| *name != "margay").collect()
    }

    /// The same for the fastest of all OpenMP variants, where there are several.
    fn best_native(&self, threads: usize) -> Option<(f64, f64)> {
        let is_native = |name: &&str| name.starts_with("openmp");
        if self.peers().iter().filter(|name| is_native(name)).count() < 2 {
            return None;
        }
        let rows = self.rows.iter().filter(|row| row.threads == threads);
        summary(rows.filter_map(|row| {
            let natives = row.medians.keys().filter(|name| is_native(name));
            natives.filter_map(|name| row.ratio(name)).min_by(f64::total_cmp)
        }))
    }

    /// Geometric mean and least of the ratios to `peer` at a thread count.
    fn summary(&self, peer: &str, threads: usize) -> Option<(f64, f64)> {
        let rows = self.rows.iter().filter(|row| row.threads == threads);
        summary(rows.filter_map(|row| row.ratio(peer)))
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        let peers = self.peers();
        let _ = writeln!(
            out,
            "Machine: {}. Date: {}. Medians of {} turns, ms.",
            machine(),
            today(),
            self.turns
        );
        for note in &self.notes {
            let _ = writeln!(out, "- {note}");
        }
        for &threads in &self.threads {
            let _ = write!(out, "\n{threads} thread(s)\n\n| kernel | margay |");
            for peer in &peers {
                let _ = write!(out, " {peer} | x {peer} |");
            }
            let _ = write!(out, "\n|---|---|{}\n", "---|---|".repeat(peers.len()));
            for row in self.rows.iter().filter(|row| row.threads == threads) {
                let ours = row.medians.get("margay").copied().unwrap_or(f64::NAN);
                let _ = write!(out, "| {} | {ours:.2} |", row.name);
                for peer in &peers {
                    let cell = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.2}"));
                    let theirs = row.medians.get(peer).copied();
                    let _ = write!(out, " {} | {} |", cell(theirs), cell(row.ratio(peer)));
                }
                let _ = writeln!(out);
            }
            for peer in &peers {
                if let Some((mean, least)) = self.summary(peer, threads) {
                    let _ = writeln!(out, "\n{peer}: geometric mean {mean:.2}, least {least:.2}");
                }
            }
            if let Some((mean, least)) = self.best_native(threads) {
                let _ =
                    writeln!(out, "\nbest of OpenMP's: geometric mean {mean:.2}, least {least:.2}");
            }
        }
        out
    }

    pub fn json(&self) -> String {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "kernel": row.name,
                    "threads": row.threads,
                    "milliseconds": row.medians,
                    "warp_instructions": row.warp_instructions,
                    "wrong": row.wrong,
                })
            })
            .collect();
        let whole = serde_json::json!({
            "machine": machine(),
            "date": today(),
            "turns": self.turns,
            "notes": self.notes,
            "rows": rows,
        });
        format!("{whole:#}\n")
    }
}

/// Geometric mean and least.
fn summary(ratios: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ratios: Vec<f64> = ratios.collect();
    let least = ratios.iter().copied().min_by(f64::total_cmp)?;
    let mean = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
    Some((mean.exp(), least))
}

/// The processor, its cores, and what of its features matters.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map(|l| l.trim_start_matches(['\t', ' ', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let features =
        ["avx2", "fma", "avx512f"].into_iter().filter(|f| text.contains(f)).collect::<Vec<_>>();
    format!("{}, {cores} cores, {}", model.unwrap_or("unknown CPU"), features.join(" "))
}

/// The date.
pub fn today() -> String {
    let output = Command::new("date").arg("+%Y-%m-%d").output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}
