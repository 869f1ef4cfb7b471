// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a change did: two reports, kernel by kernel.
//!
//! Kernels are matched by name. A number is worse if it is higher: passes, sectors, transactions,
//! requests, replays, instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Serialize;

use super::causes::number;
use super::schema::{Cell, Kernel, Report};

/// A number of a kernel that is not the same in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub kernel: String,
    /// `warp_instructions`, or a space and direction with what is counted: `shared_load wavefronts`.
    pub counter: String,
    pub before: u64,
    pub after: u64,
    /// In percent of what it was; `None` if it was 0.
    pub percent: Option<f64>,
}

/// Two reports compared on one GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diff {
    pub gpu: String,
    pub rows: Vec<Row>,
    /// Kernels of only one report.
    pub only_before: Vec<String>,
    pub only_after: Vec<String>,
    /// Launches of a kernel that both have, where their number differs.
    pub launches: Vec<Row>,
}

/// Why reports cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffError {
    /// No GPU that both count for; theirs are named.
    NoCommonGpu { before: Vec<String>, after: Vec<String> },
    /// The GPU that was asked for is not in both.
    UnknownGpu { name: String, common: Vec<String> },
}

impl std::fmt::Display for DiffError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DiffError::NoCommonGpu { before, after } => write!(
                f,
                "the reports have no GPU in common: the first counts for {}, the second for {}",
                before.join(", "),
                after.join(", ")
            ),
            DiffError::UnknownGpu { name, common } => {
                write!(f, "not both reports count for {name}; both do for {}", common.join(", "))
            }
        }
    }
}

/// The counters of a kernel on its GPU number `g`.
fn counters(report: &Report, kernel: &Kernel, g: usize) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::from([("warp_instructions".to_owned(), kernel.warp_instructions)]);
    out.insert("divergent_branches".into(), kernel.branches.divergent);
    let sectors = report.gpus[g].global_unit == "sectors";
    for (name, cell) in kernel.totals.get(g).iter().flat_map(|t| &t.spaces) {
        let Cell { counts, .. } = cell;
        let mut put = |unit: &str, value: u64| {
            out.insert(format!("{name} {unit}"), value);
        };
        put("requests", counts.requests);
        match name.split('_').next() {
            Some("shared") => put("wavefronts", counts.wavefronts),
            Some("constant" | "parameter") => put("replays", counts.replays),
            Some("texture" | "surface") => {
                put("texels", counts.texels);
                put("sectors", counts.sectors);
            }
            _ if sectors => put("sectors", counts.sectors),
            _ => put("transactions", counts.transactions),
        }
    }
    out
}

/// Compares on a GPU, or on the first that both have.
pub fn compare(before: &Report, after: &Report, gpu: Option<&str>) -> Result<Diff, DiffError> {
    let names = |r: &Report| -> Vec<String> { r.gpus.iter().map(|g| g.name.clone()).collect() };
    let (first, second) = (names(before), names(after));
    let common: Vec<String> = first.iter().filter(|n| second.contains(n)).cloned().collect();
    if common.is_empty() {
        return Err(DiffError::NoCommonGpu { before: first, after: second });
    }
    let wanted = match gpu {
        None => common[0].clone(),
        Some(name) => {
            let alias = margay_arch::find(name).map_or(name, |g| g.card.alias);
            let found = common.iter().find(|n| *n == alias);
            let unknown = || DiffError::UnknownGpu { name: name.into(), common: common.clone() };
            found.cloned().ok_or_else(unknown)?
        }
    };
    let at = |names: &[String]| names.iter().position(|n| *n == wanted).unwrap_or(0);
    let (g, h) = (at(&first), at(&second));
    let mut diff = Diff { gpu: wanted.clone(), ..Diff::default() };
    let by_name = |r: &Report, g| {
        let mut all: BTreeMap<String, (u64, BTreeMap<String, u64>)> = BTreeMap::new();
        for kernel in &r.kernels {
            // Modules loaded twice have a kernel twice.
            let entry = all.entry(kernel.name.clone()).or_default();
            entry.0 += kernel.launches;
            for (name, value) in counters(r, kernel, g) {
                *entry.1.entry(name).or_default() += value;
            }
        }
        all
    };
    let (olds, news) = (by_name(before, g), by_name(after, h));
    let kernels: BTreeSet<&String> = olds.keys().chain(news.keys()).collect();
    for name in kernels {
        match (olds.get(name), news.get(name)) {
            (Some(old), Some(new)) => {
                if old.0 != new.0 {
                    diff.launches.push(row(name, "launches", old.0, new.0));
                }
                let counters: BTreeSet<&String> = old.1.keys().chain(new.1.keys()).collect();
                for counter in counters {
                    let value = |of: &BTreeMap<String, u64>| of.get(counter).copied().unwrap_or(0);
                    let (a, b) = (value(&old.1), value(&new.1));
                    if a != b {
                        diff.rows.push(row(name, counter, a, b));
                    }
                }
            }
            (Some(_), None) => diff.only_before.push(name.clone()),
            (None, _) => diff.only_after.push(name.clone()),
        }
    }
    Ok(diff)
}

fn row(kernel: &str, counter: &str, before: u64, after: u64) -> Row {
    let percent = (before != 0).then(|| 100.0 * (after as f64 / before as f64 - 1.0));
    Row { kernel: kernel.into(), counter: counter.into(), before, after, percent }
}

impl Diff {
    /// Rows that grew by more than so many percent; one that was 0 before grew beyond any.
    pub fn worse_than(&self, threshold: f64) -> Vec<&Row> {
        let worse = |r: &&Row| r.after > r.before && r.percent.is_none_or(|p| p > threshold);
        self.rows.iter().filter(worse).collect()
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut out = format!("on {}\n", self.gpu);
        let change = |r: &Row| match r.percent {
            Some(p) => format!("{p:+.1} %"),
            None => "new".into(),
        };
        let mut last = "";
        for r in self.launches.iter().chain(&self.rows) {
            if r.kernel != last {
                let _ = writeln!(out, "{}", r.kernel);
                last = &r.kernel;
            }
            let _ = writeln!(
                out,
                "  {:<36}{:>16} → {:>16}{:>11}",
                r.counter.replace('_', " "),
                number(r.before),
                number(r.after),
                change(r)
            );
        }
        for name in &self.only_before {
            let _ = writeln!(out, "{name}: only in the first");
        }
        for name in &self.only_after {
            let _ = writeln!(out, "{name}: only in the second");
        }
        if self.rows.is_empty() && self.only_before.is_empty() && self.only_after.is_empty() {
            out.push_str("no kernel's counts differ\n");
        }
        out
    }
}
