// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as GitHub Actions' workflow commands, which annotate a pull request.

use std::fmt::Write as _;

use crate::finding::{Report, Severity};

/// A line a finding.
pub fn render(reports: &[Report]) -> String {
    let mut out = String::new();
    for report in reports {
        for finding in &report.findings {
            let command = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Hint | Severity::Off => "notice",
            };
            let title = finding.code.unwrap_or("clang");
            let mut message = finding.message.clone();
            for line in finding.notes.iter().chain(&finding.help) {
                message.push('\n');
                message.push_str(line);
            }
            let place = finding.place.as_ref().map_or(String::new(), |place| {
                let (start, end) = report.sources.positions(place);
                format!(
                    "file={},line={},col={},endLine={},endColumn={},",
                    property(&place.file.display().to_string()),
                    start.line,
                    start.column,
                    end.line,
                    end.column
                )
            });
            let _ = writeln!(out, "::{command} {place}title={title}::{}", data(&message));
        }
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
