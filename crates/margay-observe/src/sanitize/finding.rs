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

/// What an actor did that is no side of a finding, but tells where its memory came from, and went.
pub const ALLOCATED: &str = "allocated";
pub const FREED: &str = "freed";

impl Actor {
    /// The host program, which did this at that place.
    pub fn host(action: &str, source: Source) -> Actor {
        Actor { action: action.to_owned(), host: true, source, ..Actor::default() }
    }

    /// Whether it tells of the memory's life only.
    pub fn is_of_memory(&self) -> bool {
        self.host && (self.action == ALLOCATED || self.action == FREED)
    }

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
    /// The one at fault, then the other side if there is one, then where the memory was allocated and freed.
    pub actors: Vec<Actor>,
    pub count: u64,
}

impl Finding {
    /// Those who are at fault. Of memory that was never freed it is who allocated it.
    pub fn sides(&self) -> impl Iterator<Item = &Actor> {
        let only_memory = self.actors.iter().all(Actor::is_of_memory);
        self.actors.iter().filter(move |a| only_memory || !a.is_of_memory())
    }

    /// Where the memory was allocated and freed, in words. Nothing if that is all that the finding tells.
    pub fn life(&self) -> Vec<String> {
        let only_memory = self.actors.iter().all(Actor::is_of_memory);
        let told = self.actors.iter().filter(|a| !only_memory && a.is_of_memory());
        told.filter_map(|a| {
            let Source { file, line, function, .. } = &a.source;
            Some(match file {
                Some(file) => format!("{} at {file}:{line}", a.action),
                None if function.is_empty() => return None,
                None => format!("{} in {function}", a.action),
            })
        })
        .collect()
    }

    /// What makes a finding the same as another.
    pub fn site(&self) -> String {
        let one = |actor: &Actor| {
            let s = &actor.source;
            let file = s.file.as_deref().unwrap_or("");
            // A loop that is unrolled makes several instructions of one place.
            let within = if s.line == 0 { s.ptx_line } else { s.column };
            (file.to_owned(), s.line, within, actor.action.clone())
        };
        let mut sides: Vec<_> = self.sides().map(one).collect();
        // Which side came first is chance.
        sides.sort();
        let is_known = sides.iter().any(|(_, line, within, _)| (*line, *within) != (0, 0));
        let mut site = format!("{}|{}", self.code, self.kernel);
        for (file, line, within, action) in sides {
            site += &format!("|{action}:{file}:{line}:{within}");
        }
        if !is_known {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A finding of two sides, at lines of `a.cu`.
    fn race(first: (&str, u32), second: (&str, u32)) -> Finding {
        let actor = |(action, line): (&str, u32)| Actor {
            action: action.to_owned(),
            source: Source { file: Some("a.cu".into()), line, ..Source::default() },
            ..Actor::default()
        };
        Finding {
            check: Check::Race,
            severity: Severity::Error,
            code: "race/read-write".to_owned(),
            kernel: "k".to_owned(),
            message: String::new(),
            cure: String::new(),
            space: None,
            address: None,
            bytes: None,
            object: None,
            words: Words::Cuda,
            actors: vec![actor(first), actor(second)],
            count: 1,
        }
    }

    #[test]
    fn the_order_of_sides_makes_no_other_finding() {
        let mut findings = Findings::default();
        for finding in [
            race(("read", 5), ("write", 3)),
            race(("write", 3), ("read", 5)),
            race(("write", 5), ("write", 3)),
        ] {
            findings.add(finding);
        }
        let counts: Vec<u64> = findings.list().iter().map(|f| f.count).collect();
        assert_eq!(counts, [2, 1]);
        // What came first is told first.
        assert_eq!(findings.list()[0].actors[0].action, "read");
    }

    #[test]
    fn where_memory_came_from_is_no_side() {
        let at = |line| Source { file: Some("a.cu".into()), line, ..Source::default() };
        let mut finding = race(("write", 3), ("write", 4));
        let site = finding.site();
        finding.actors.push(Actor::host(ALLOCATED, at(7)));
        assert_eq!((finding.site(), finding.sides().count()), (site, 2));
        assert_eq!(finding.life(), ["allocated at a.cu:7"]);
        // Unless nothing else is told.
        finding.actors.drain(..2);
        assert_eq!((finding.sides().count(), finding.life()), (1, Vec::<String>::new()));
    }
}
