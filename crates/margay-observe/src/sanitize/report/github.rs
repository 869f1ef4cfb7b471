// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as GitHub's workflow commands, which annotate the lines of a change.

use crate::sanitize::finding::{Finding, Severity};

/// One line a finding.
pub fn github(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let mut properties = vec![format!("title={}", property(&finding.code))];
        let mut message = finding.message.clone();
        for (n, actor) in finding.sides().enumerate() {
            let s = &actor.source;
            if n == 0
                && let Some(file) = &s.file
            {
                properties.push(format!("file={}", property(file)));
                properties.push(format!("line={}", s.line));
            }
            let thread = actor.who(finding.words);
            let place = match &s.file {
                Some(file) => format!(" at {file}:{}", s.line),
                None if s.function.is_empty() => String::new(),
                None => format!(" in {}", s.function),
            };
            message += &format!("\n{} by {thread}{place}", actor.action);
        }
        for told in finding.life() {
            message += &format!("\n{told}");
        }
        message += &format!("\n{}", finding.cure);
        out += &format!("::{level} {}::{}\n", properties.join(","), data(&message));
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
