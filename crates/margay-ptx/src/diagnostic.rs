// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a text, and where.

use crate::span::{LineColumn, Span};
use std::fmt;

/// An error in a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub span: Span,
    /// Line and column of the span's start, from 1.
    pub position: LineColumn,
    /// What is wrong, without a place and without a full stop.
    pub message: String,
    /// What could have stood there; empty when there is nothing to suggest.
    pub expected: Vec<String>,
}

impl Diagnostic {
    /// The message with what was expected, without a place.
    pub fn text(&self) -> String {
        match &self.expected[..] {
            [] => self.message.clone(),
            [one] => format!("{}; expected {one}", self.message),
            [many @ .., last] => {
                format!("{}; expected {} or {last}", self.message, many.join(", "))
            }
        }
    }

    /// The message, the line it is about, and a caret under the place.
    ///
    /// `name` is what to call the text (a file name); `source` is the text that was parsed.
    pub fn render(&self, name: &str, source: &str) -> String {
        let start = (self.span.start as usize).min(source.len());
        let bytes = source.as_bytes();
        let line_start = bytes[..start].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        let line_end =
            bytes[start..].iter().position(|&b| b == b'\n').map_or(source.len(), |i| start + i);
        // Long lines are cut, so that a megabyte on one line does not become a megabyte of message.
        let from = floor(source, line_start.max(start.saturating_sub(120)));
        let to = floor(source, line_end.min(start + 120));
        let shown = source.get(from..to).unwrap_or("").replace('\t', " ");
        let before = source.get(from..floor(source, start)).unwrap_or("").chars().count();
        let under = source.get(
            floor(source, start)
                ..floor(source, (self.span.end as usize).clamp(start, to.max(start))),
        );
        let carets = under.unwrap_or("").chars().count().max(1);
        let number = self.position.line.to_string();
        let margin = " ".repeat(number.len());
        format!(
            "error: {}\n{margin}--> {name}:{}\n{margin} |\n{number} | {shown}\n{margin} | {}{}\n",
            self.text(),
            self.position,
            " ".repeat(before),
            "^".repeat(carets)
        )
    }
}

fn floor(source: &str, mut at: usize) -> usize {
    at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.text())
    }
}

impl std::error::Error for Diagnostic {}
