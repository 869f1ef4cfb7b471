// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places in the source text: byte ranges, and their lines and columns.
//!
//! A [`Span`] is two byte offsets; a [`LineIndex`] turns an offset into a line and a column. Texts
//! are limited to 4 GiB, which the parser checks before it makes any span.

use std::fmt;

/// A half-open range of byte offsets into the text that was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset of the byte after the last one.
    pub end: u32,
}

impl Span {
    /// The range from `start` up to, not including, `end`.
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Length in bytes.
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span covers no byte.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The text under the span; empty when `source` is not the text that was parsed.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// A line and a column, both counted from 1; the column counts bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Where each line of a text begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes `source`. Lines end at `\n`.
    pub fn new(source: &str) -> LineIndex {
        let newlines = source.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(i, _)| i as u32 + 1)).collect();
        LineIndex { starts }
    }

    /// The line and column of a byte offset.
    pub fn locate(&self, offset: u32) -> LineColumn {
        let line = self.starts.partition_point(|&s| s <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        LineColumn { line: line as u32, column: offset - start + 1 }
    }

    /// The 1-based line on which a span begins.
    pub fn line(&self, span: Span) -> u32 {
        self.locate(span.start).line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns() {
        let index = LineIndex::new("ab\ncd\n");
        let at = |offset| index.locate(offset).to_string();
        assert_eq!(
            (at(0), at(2), at(3), at(5), at(6)),
            ("1:1".into(), "1:3".into(), "2:1".into(), "2:3".into(), "3:1".into())
        );
    }
}
