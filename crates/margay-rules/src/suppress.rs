// SPDX-License-Identifier: MIT OR Apache-2.0
//! `// margay: allow(MG204)` at the end of a line or on the line above; `// margay: allow-file(MG204)` for
//! all of a file. Several codes or names go between commas. What names no rule is itself a finding.

use std::collections::BTreeSet;
use std::path::Path;

use crate::finding::{Finding, Place, Severity, position};
use crate::registry;
use crate::rules::meta::unknown_code;

/// The comments of one file.
#[derive(Debug, Default)]
pub struct Allowed {
    /// Line (from 1) and code.
    lines: BTreeSet<(usize, &'static str)>,
    file: BTreeSet<&'static str>,
    /// Findings about the comments themselves.
    pub unknown: Vec<Finding>,
}

const MARK: &str = "margay:";

impl Allowed {
    /// Reads all comments of a text.
    pub fn read(path: &Path, text: &str) -> Allowed {
        let mut allowed = Allowed::default();
        let mut offset = 0;
        let mut pending: Vec<&'static str> = Vec::new();
        for (number, line) in text.split('\n').enumerate().map(|(i, l)| (i + 1, l)) {
            let comment = line.find("//").or_else(|| line.find("/*"));
            let alone = comment.is_some_and(|at| line[..at].trim().is_empty());
            let mut here = Vec::new();
            if let Some(at) = comment
                && let Some(mark) = line[at..].find(MARK)
            {
                allowed.read_comment(path, offset + at + mark, &line[at + mark..], &mut here);
            }
            if alone {
                pending.append(&mut here);
            } else if !line.trim().is_empty() {
                let all = here.into_iter().chain(std::mem::take(&mut pending));
                allowed.lines.extend(all.map(|code| (number, code)));
            }
            offset += line.len() + 1;
        }
        allowed
    }

    fn read_comment(
        &mut self,
        path: &Path,
        start: usize,
        text: &str,
        here: &mut Vec<&'static str>,
    ) {
        let body = text[MARK.len()..].trim_start();
        let (whole_file, rest) = match body.strip_prefix("allow-file") {
            Some(rest) => (true, rest),
            None => match body.strip_prefix("allow") {
                Some(rest) => (false, rest),
                // Prose that happens to say "margay:".
                None => return,
            },
        };
        let Some(list) = rest.trim_start().strip_prefix('(').and_then(|l| l.split(')').next())
        else {
            return;
        };
        for word in list.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match registry::find(word) {
                Some(rule) if whole_file => drop(self.file.insert(rule.code)),
                Some(rule) => here.push(rule.code),
                None => {
                    let at = start + text.find(word).unwrap_or(0);
                    let place = Place { file: path.to_path_buf(), start: at, end: at + word.len() };
                    self.unknown.push(unknown_code::finding(place, word));
                }
            }
        }
    }

    /// Whether a finding of this file is allowed.
    pub fn allows(&self, finding: &Finding, text: &str) -> bool {
        let (Some(code), Some(place)) = (finding.code, &finding.place) else { return false };
        // An error of clang's stops the compiler: a comment cannot make it legal.
        if finding.by_clang && finding.severity == Severity::Error {
            return false;
        }
        self.file.contains(code) || self.lines.contains(&(position(text, place.start).line, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_files() {
        let text = "a // margay: allow(MG104)\n// margay: allow(MG101, MG102)\n\nb\n// margay: allow-file(kernel-returns-void)\nc // margay: allow(MG9999)\n";
        let allowed = Allowed::read(Path::new("x.cu"), text);
        assert!(allowed.lines.contains(&(1, "MG104")));
        assert!(allowed.lines.contains(&(4, "MG101")) && allowed.lines.contains(&(4, "MG102")));
        assert!(allowed.file.contains("MG101"));
        assert_eq!(allowed.unknown.len(), 1);
        assert_eq!(
            text.get(allowed.unknown[0].place.as_ref().unwrap().start..).map(|t| &t[..6]),
            Some("MG9999")
        );
    }
}
