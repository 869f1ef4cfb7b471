// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an access costs more than it must, in one sentence, and what helps, in another.
//!
//! A cause is read off the pattern that costs most; the gain of a cure is counted on all of them.

mod constant;
mod global;
mod shared;

use margay_arch::{MemoryModel, Space};

use super::build::{exists, in_sectors, weight};
use super::cures::{Change, cost, total};
use super::schema::{Cure, Finding, Kernel, Variable};
use super::shape::Shape;
use crate::profile::raw::{RawKernel, RawPattern, RawSite, Sums, VariableKind};
use crate::words::Words;

/// Cures that gain less than this part of the cost are not worth a change.
const LEAST_GAIN: f64 = 0.05;
/// Fewer reads of constants than this mostly fill the cache for the first time.
const LEAST_LOOKUPS: u64 = 1000;

/// The pattern whose executions together cost most above what they must.
pub fn worst<'a>(site: &'a RawSite, model: &MemoryModel) -> Option<&'a RawPattern> {
    site.patterns.iter().max_by_key(|p| {
        let (weight, excess) = weight(&site.space, &cost(model, site, p, None));
        (excess * p.count, weight * p.count)
    })
}

/// Fills in the findings of a kernel's accesses, which are in the order of the sites.
pub fn find(kernel: &mut Kernel, raw: &RawKernel, models: &[MemoryModel]) {
    let words = Words::of_raw(raw);
    for (n, site) in raw.sites.iter().enumerate() {
        for (g, model) in models.iter().enumerate() {
            let variable = &kernel.variables[site.variable as usize];
            if !exists(site, model) {
                continue;
            }
            if let Some(form) = &site.texture {
                let finding = super::textures::find(site, form, variable, words);
                kernel.accesses[n].gpus[g].finding = finding;
                continue;
            }
            let Some(pattern) = worst(site, model) else { continue };
            let case = Case {
                raw,
                site,
                pattern,
                shape: Shape::of(pattern),
                one: cost(model, site, pattern, None),
                total: site.counts.get(g).copied().unwrap_or_default(),
                model,
                variable,
                words,
                g,
            };
            let finding = case.find();
            kernel.accesses[n].gpus[g].finding = finding;
        }
    }
}

/// An access on one GPU.
struct Case<'a> {
    raw: &'a RawKernel,
    site: &'a RawSite,
    pattern: &'a RawPattern,
    shape: Shape,
    /// One execution of the pattern.
    one: Sums,
    /// All executions.
    total: Sums,
    model: &'a MemoryModel,
    variable: &'a Variable,
    words: Words,
    /// Number of the GPU.
    g: usize,
}

/// A number with its thousands apart.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn bytes(n: i64) -> String {
    match n.abs() {
        1 => "1 byte".into(),
        n => format!("{} bytes", number(n as u64)),
    }
}

fn plural(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", number(n)) }
}

impl Case<'_> {
    fn find(&self) -> Option<Finding> {
        match (&*self.site.space, &*self.site.kind) {
            ("shared", "atomic" | "reduction") => self.shared_atomic(),
            ("shared", _) => self.shared(),
            ("global", "atomic" | "reduction") => self.global_atomic(),
            ("global", _) => self.global(),
            ("local", _) => self.local(),
            ("constant" | "parameter", _) => self.constant(),
            // Textures and surfaces have no patterns.
            (_, _) => None,
        }
    }

    fn lanes(&self) -> u64 {
        u64::from(self.pattern.mask.count_ones())
    }

    fn width(&self) -> i64 {
        i64::from(self.site.width)
    }

    /// The variable's name, or words for what has none.
    fn name(&self) -> String {
        match self.variable.kind {
            VariableKind::Variable
            | VariableKind::DynamicShared
            | VariableKind::Allocation
            | VariableKind::Texture
            | VariableKind::Unknown => format!("`{}`", self.variable.name),
            VariableKind::Stack => "the stack".into(),
            VariableKind::Parameters => self.words.say("the parameters", "the arguments").into(),
        }
    }

    /// Most lanes at one address.
    fn most_equal(&self) -> u64 {
        let mut distances = self.pattern.distances.clone();
        distances.sort_unstable();
        let runs = distances.chunk_by(|a, b| a == b);
        runs.map(|run| run.len() as u64).max().unwrap_or(0)
    }

    /// Sites that a change to the variable's layout touches.
    fn siblings(&self) -> impl Iterator<Item = &RawSite> {
        let (space, variable) = (&self.site.space, self.site.variable);
        self.raw.sites.iter().filter(move |s| s.variable == variable && s.space == *space)
    }

    /// A cure with its gain, if it has one. `unit` picks what is counted.
    fn cure(
        &self,
        kind: &str,
        text: String,
        unit: &str,
        change: Change,
        all: bool,
    ) -> Option<Cure> {
        let pick = |s: &Sums| match unit {
            "wavefronts" => s.wavefronts,
            "sectors" => s.sectors,
            "transactions" => s.transactions,
            _ => s.requests,
        };
        let sites: Vec<&RawSite> = match all {
            true => self.siblings().collect(),
            false => vec![self.site],
        };
        let exact: u64 = sites.iter().filter_map(|s| s.counts.get(self.g)).map(pick).sum();
        let kept = pick(&total(self.model, sites.iter().copied(), None));
        let after = total(self.model, sites.iter().copied(), Some(change));
        // In another space another thing is counted.
        let after = match change {
            Change::Move(Space::Shared) => after.wavefronts,
            Change::Move(Space::Constant) => after.requests,
            Change::Move(Space::Global) if in_sectors(self.model) => after.sectors,
            Change::Move(_) => after.transactions,
            _ => pick(&after),
        };
        let cure = self.told(kind, text, unit, (exact, kept, after), all)?;
        Some(Cure { change: Some(change), ..cure })
    }

    fn told(
        &self,
        kind: &str,
        text: String,
        unit: &str,
        (exact, kept, after): (u64, u64, u64),
        whole_variable: bool,
    ) -> Option<Cure> {
        if kept == 0 || after as f64 > kept as f64 * (1.0 - LEAST_GAIN) {
            return None;
        }
        let after = if exact == kept {
            after
        } else {
            (after as f64 * exact as f64 / kept as f64).round() as u64
        };
        Some(Cure {
            kind: kind.into(),
            text,
            unit: unit.into(),
            before: exact,
            after,
            whole_variable,
            change: None,
            picture: None,
            coverage: kept as f64 / exact.max(1) as f64,
        })
    }

    /// The best of several; of equals the first.
    fn best(cures: impl IntoIterator<Item = Option<Cure>>) -> Option<Cure> {
        cures.into_iter().flatten().min_by_key(|c| c.after)
    }
}
