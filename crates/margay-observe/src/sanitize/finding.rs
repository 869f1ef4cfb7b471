// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a check found: structured until it is printed, and one entry a site however often it happens.

use std::collections::{BTreeSet, HashMap};

use margay_exec::fault::Place;
use serde::{Deserialize, Serialize};

use crate::words::Words;

/// The four checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    Memory,
    Race,
    Init,
    Sync,
}

impl Check {
    pub const ALL: [Check; 4] = [Check::Memory, Check::Race, Check::Init, Check::Sync];

    /// Checks by name, separated by commas; `all` is every one. An unknown name is the error.
    pub fn parse_list(text: &str) -> Result<BTreeSet<Check>, String> {
        let mut checks = BTreeSet::new();
        for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match Check::ALL.iter().find(|c| c.name() == word) {
                Some(check) => drop(checks.insert(*check)),
                None if word == "all" => checks.extend(Check::ALL),
                None => return Err(word.to_owned()),
            }
        }
        if checks.is_empty() { Err(text.to_owned()) } else { Ok(checks) }
    }

    /// As the command line and the reports name it.
    pub const fn name(self) -> &'static str {
        match self {
            Check::Memory => "memory",
            Check::Race => "race",
            Check::Init => "init",
            Check::Sync => "sync",
        }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Wrong by the language.
    Error,
    /// Allowed, and likely not meant.
    Warning,
    /// Worth knowing, harmless on the hardware of today.
    Note,
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A place in the program's source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// From 1; 0 if unknown.
    pub line: u32,
    pub column: u32,
    /// Line in the PTX text, from 1; 0 if unknown.
    pub ptx_line: u32,
    /// The line's text, of a source that the program handed over as a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The device function.
    pub function: String,
}

impl From<Place> for Source {
    fn from(place: Place) -> Source {
        let Place { file, line, column, ptx_line, text, function, .. } = place;
        Source { file, line, column, ptx_line, text, function }
    }
}

/// One side of a finding: who did what, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// "write", "read", "atomic", "barrier", ….
    pub action: String,
    pub block: [u32; 3],
    /// `None`: one of several threads of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<[u32; 3]>,
    /// It was the host program; block and thread mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host: bool,
    pub source: Source,
}

impl Actor {
    /// Who it was, in the kernel's words.
    pub fn who(&self, words: Words) -> String {
        match self.host {
            true => "the host program".to_owned(),
            false => words.who(self.block, self.thread),
        }
    }
}

/// A finding. Two with equal [`Finding::site`]s are one that happened twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub check: Check,
    pub severity: Severity,
    /// Stable name of what is wrong: `race/write-write`, `sync/divergent-barrier`, ….
    pub code: String,
    pub kernel: String,
    /// What happened, in a sentence without its places.
    pub message: String,
    /// The likely cure, in a sentence.
    pub cure: String,
    /// "shared", "global", "local", ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Offset of shared and local memory, address of global memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u32>,
    /// The variable or allocation: "`tile` + 128", "the 4096 bytes of cudaMalloc".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The kernel's language, if it is not CUDA.
    #[serde(default, skip_serializing_if = "Words::are_cuda")]
    pub words: Words,
    /// The one at fault, then the other side if there is one.
    pub actors: Vec<Actor>,
    pub count: u64,
}

impl Finding {
    /// What makes a finding the same as another.
    pub fn site(&self) -> String {
        let mut site = format!("{}|{}", self.code, self.kernel);
        for actor in &self.actors {
            let s = &actor.source;
            let file = s.file.as_deref().unwrap_or("");
            // A loop that is unrolled makes several instructions of one place.
            let within = if s.line == 0 { s.ptx_line } else { s.column };
            site += &format!("|{}:{file}:{}:{within}", actor.action, s.line);
        }
        if self.actors.is_empty() {
            // What has no place is told apart by what it is about.
            site += &format!("|{}", self.object.as_deref().unwrap_or(&self.message));
        }
        site
    }
}

/// Findings by site, in the order in which each was first made.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    index: HashMap<String, usize>,
}

/// Most sites that are kept apart: a report of more helps nobody.
const MOST_SITES: usize = 1_000;

impl Findings {
    pub fn add(&mut self, finding: Finding) {
        let site = finding.site();
        match self.index.get(&site) {
            Some(&at) => self.list[at].count += finding.count,
            None if self.list.len() < MOST_SITES => {
                self.index.insert(site, self.list.len());
                self.list.push(finding);
            }
            None => self.list[MOST_SITES - 1].count += finding.count,
        }
    }

    /// The finding at this site was made so many times again.
    pub fn again(&mut self, site: &str, times: u64) {
        if let Some(&at) = self.index.get(site) {
            self.list[at].count += times;
        }
    }

    pub fn list(&self) -> &[Finding] {
        &self.list
    }
}
