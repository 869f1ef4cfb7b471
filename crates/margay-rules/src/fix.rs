// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applies safe fixes.
//!
//! Invariant: a fix is applied whole or not at all, and of two that overlap the first wins; the rest is found
//! again by the next run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::finding::{Edit, Report};

/// The files' new texts, and how many fixes they have.
pub fn fixed(report: &Report) -> (BTreeMap<PathBuf, String>, usize) {
    let mut taken: Vec<&Edit> = Vec::new();
    let mut count = 0;
    for finding in &report.findings {
        let Some(fix) = finding.fix.as_ref().filter(|f| f.safe && !f.edits.is_empty()) else {
            continue;
        };
        let valid = fix.edits.iter().all(|e| {
            let text = report.sources.text(&e.place.file);
            let (start, end) = (e.place.start, e.place.end);
            start <= end && text.is_char_boundary(start) && text.is_char_boundary(end)
        });
        let overlaps = fix.edits.iter().any(|e| {
            taken.iter().any(|t| {
                t.place.file == e.place.file
                    && e.place.start <= t.place.end
                    && t.place.start <= e.place.end
            })
        });
        if valid && !overlaps {
            taken.extend(&fix.edits);
            count += 1;
        }
    }
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    taken.sort_by_key(|e| std::cmp::Reverse(e.place.start));
    for edit in taken {
        let text = texts
            .entry(edit.place.file.clone())
            .or_insert_with(|| report.sources.text(&edit.place.file).to_string());
        text.replace_range(edit.place.start..edit.place.end, &edit.replacement);
    }
    (texts, count)
}
