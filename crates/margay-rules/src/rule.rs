// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a rule is: its documentation, its examples, which are its tests, and its check.

use margay_arch::ComputeCapability;

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};

/// The chapters of `docs/rules.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Meta,
    Functions,
    Variables,
    Launches,
    Barriers,
    OpenCl,
    Hints,
}

impl Group {
    pub const ALL: [Group; 7] = [
        Group::Meta,
        Group::Functions,
        Group::Variables,
        Group::Launches,
        Group::Barriers,
        Group::OpenCl,
        Group::Hints,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Group::Meta => "About margay's own comments",
            Group::Functions => "Functions (CUDA)",
            Group::Variables => "Variables (CUDA)",
            Group::Launches => "Launches (CUDA)",
            Group::Barriers => "Barriers",
            Group::OpenCl => "OpenCL C",
            Group::Hints => "Hints of the memory hierarchy",
        }
    }
}

/// A small program and what it is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    pub source: &'static str,
    /// The capability, as in `sm_90`.
    pub sm: u32,
    pub cuda_version: u32,
    /// The language standard, where it matters.
    pub standard: Option<&'static str>,
}

impl Example {
    pub const fn new(source: &'static str) -> Example {
        Example { source, sm: 90, cuda_version: 12090, standard: None }
    }

    pub const fn sm(self, sm: u32) -> Example {
        Example { sm, ..self }
    }

    pub const fn cuda(self, cuda_version: u32) -> Example {
        Example { cuda_version, ..self }
    }

    pub const fn standard(self, standard: &'static str) -> Example {
        Example { standard: Some(standard), ..self }
    }
}

/// The range of compute capabilities that a rule speaks about, as in `sm_XX`.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// From this one on.
    pub from: u32,
    /// Before this one.
    pub before: Option<u32>,
    /// Versions of the language or of CUDA, in words.
    pub versions: &'static str,
}

impl Holds {
    pub const ALWAYS: Holds = Holds { from: 10, before: None, versions: "" };

    pub const fn before(sm: u32) -> Holds {
        Holds { from: 10, before: Some(sm), versions: "" }
    }

    pub const fn from(sm: u32) -> Holds {
        Holds { from: sm, before: None, versions: "" }
    }

    pub const fn versions(versions: &'static str) -> Holds {
        Holds { from: 10, before: None, versions }
    }

    pub fn includes(&self, capability: ComputeCapability) -> bool {
        let sm = capability.sm();
        sm >= self.from && self.before.is_none_or(|b| sm < b)
    }

    /// In words, for the documentation.
    pub fn describe(&self) -> String {
        let dotted = |sm: u32| ComputeCapability::from_sm(sm).to_string();
        let range = match (self.from, self.before) {
            (10, None) => "all compute capabilities".to_string(),
            (from, None) => format!("compute capability {} and later", dotted(from)),
            (10, Some(before)) => format!("compute capabilities before {}", dotted(before)),
            (from, Some(before)) => {
                format!("compute capabilities from {} to before {}", dotted(from), dotted(before))
            }
        };
        match self.versions {
            "" => range,
            versions if self.from == 10 && self.before.is_none() => versions.to_string(),
            versions => format!("{range}; {versions}"),
        }
    }
}

/// A rule's own check of one pass. What it pushes has the rule's code.
pub type Check = fn(&Facts<'_>, &mut Vec<Finding>);

/// A rule.
pub struct Rule {
    /// `MG101`.
    pub code: &'static str,
    /// `kernel-returns-void`, which works wherever the code does.
    pub name: &'static str,
    pub group: Group,
    /// One line, without a full stop.
    pub summary: &'static str,
    pub severity: Severity,
    pub what: &'static str,
    pub why: &'static str,
    pub illegal: Example,
    pub legal: Example,
    /// The section of the manual that says so.
    pub manual: &'static str,
    pub holds: Holds,
    /// What `--fix` does, or the suggestion that is shown; empty if there is none.
    pub fix: &'static str,
    /// Parts of messages of clang's that are this rule; `*` stands for anything between two parts.
    pub clang: &'static [&'static str],
    /// What clang lets through.
    pub check: Option<Check>,
}

impl Rule {
    /// The rule's page, as `--explain` prints it and `docs/rules.md` has it.
    pub fn explain(&self) -> String {
        let fence = if self.group == Group::OpenCl { "c" } else { "cuda" };
        let heading = format!("## {} {}\n\n", self.code, self.name);
        let mut text = heading;
        text.push_str(&format!("{}.\n\n", self.summary));
        text.push_str(&format!("### What it does\n\n{}\n\n", self.what.trim()));
        text.push_str(&format!("### Why\n\n{}\n\n", self.why.trim()));
        for (title, example) in [("Illegal", &self.illegal), ("Legal", &self.legal)] {
            let title = match self.severity {
                Severity::Error => title,
                Severity::Warning | Severity::Hint | Severity::Off if title == "Illegal" => "Found",
                Severity::Warning | Severity::Hint | Severity::Off => "Better",
            };
            let target =
                if example.sm == 90 { String::new() } else { format!(" (sm_{})", example.sm) };
            text.push_str(&format!(
                "### {title}{target}\n\n```{fence}\n{}\n```\n\n",
                example.source.trim()
            ));
        }
        text.push_str(&format!("- Severity: {}\n", self.severity));
        text.push_str(&format!("- Holds for: {}\n", self.holds.describe()));
        text.push_str(&format!("- Manual: {}\n", self.manual));
        let by = match (self.clang.is_empty(), self.check.is_some()) {
            (false, true) => "clang, and margay where clang is silent",
            (false, false) => "clang",
            (true, _) => "margay",
        };
        text.push_str(&format!("- Found by: {by}\n"));
        if !self.fix.is_empty() {
            text.push_str(&format!("- Fix: {}\n", self.fix));
        }
        text
    }

    /// Whether a message of clang's is this rule.
    pub fn claims(&self, message: &str) -> bool {
        self.clang.iter().any(|pattern| {
            let mut rest = message;
            pattern.split('*').all(|part| match rest.find(part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
        })
    }
}
