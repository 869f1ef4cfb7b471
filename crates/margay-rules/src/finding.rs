// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a check found, as plain data until it is rendered.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How bad a finding is; it decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Not reported.
    Off,
    /// Worth knowing; the exit code stays 0.
    Hint,
    /// Wrong, or wrong on some machine.
    Warning,
    /// The language forbids it.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Off => "off",
            Severity::Hint => "hint",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// Bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    pub file: PathBuf,
    pub start: usize,
    pub end: usize,
}

/// A place and what to say there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    pub place: Place,
    pub text: String,
}

/// One edit of a fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    pub place: Place,
    pub replacement: String,
}

/// A correction of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fix {
    pub title: String,
    pub edits: Vec<Edit>,
    /// `--fix` applies it: the program means what its author meant. Others are shown only.
    pub safe: bool,
}

/// A finding: clang's, or a rule's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's code; `None` for what is clang's alone.
    pub code: Option<&'static str>,
    /// clang's flag for its warning (`-Wunused-value`), empty if there is none.
    pub option: String,
    /// Whether the words are clang's.
    pub by_clang: bool,
    pub severity: Severity,
    pub message: String,
    pub place: Option<Place>,
    /// What the caret says.
    pub label: String,
    pub more: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
    pub fix: Option<Fix>,
}

impl Finding {
    pub fn new(code: &'static str, place: Place, message: impl Into<String>) -> Finding {
        Finding {
            code: Some(code),
            option: String::new(),
            by_clang: false,
            severity: Severity::Error,
            message: message.into(),
            place: Some(place),
            label: String::new(),
            more: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fix: None,
        }
    }

    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Finding {
        self.label = text.into();
        self
    }

    #[must_use]
    pub fn also(mut self, place: Place, text: impl Into<String>) -> Finding {
        self.more.push(Label { place, text: text.into() });
        self
    }

    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Finding {
        self.notes.push(text.into());
        self
    }

    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Finding {
        self.help.push(text.into());
        self
    }

    /// A fix that `--fix` applies.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<(Place, String)>) -> Finding {
        let edits = edits.into_iter().map(|(place, replacement)| Edit { place, replacement });
        self.fix = Some(Fix { title: title.into(), edits: edits.collect(), safe: true });
        self
    }

    /// A fix that needs a human's look.
    #[must_use]
    pub fn suggest(self, title: impl Into<String>, edits: Vec<(Place, String)>) -> Finding {
        let mut finding = self.fix(title, edits);
        if let Some(fix) = &mut finding.fix {
            fix.safe = false;
        }
        finding
    }
}

/// Line and column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// The texts that findings point into.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    texts: BTreeMap<PathBuf, String>,
}

impl Sources {
    pub fn add(&mut self, path: PathBuf, text: String) {
        self.texts.entry(path).or_insert(text);
    }

    pub fn text(&self, path: &std::path::Path) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&PathBuf, &String)> {
        self.texts.iter()
    }

    pub fn merge(&mut self, other: Sources) {
        for (path, text) in other.texts {
            self.add(path, text);
        }
    }

    /// The ends of a place.
    pub fn positions(&self, place: &Place) -> (Position, Position) {
        let text = self.text(&place.file);
        (position(text, place.start), position(text, place.end))
    }
}

/// Line and column of a byte.
pub fn position(text: &str, offset: usize) -> Position {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    Position { line, column: before[start..].chars().count() + 1 }
}

/// What a check of one file gave.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order of their places.
    pub findings: Vec<Finding>,
    pub sources: Sources,
    /// Why the file could not be checked, if so: it does not parse, and the findings say where.
    pub unreadable: Option<String>,
}

impl Report {
    /// 0, 1 (an error or a warning), 2 (could not check).
    pub fn exit_code(&self) -> u8 {
        if self.unreadable.is_some() {
            2
        } else {
            u8::from(self.findings.iter().any(|f| f.severity >= Severity::Warning))
        }
    }
}
