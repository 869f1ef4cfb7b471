// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as one JSON object a file, for programs.

use serde_json::{Value, json};

use crate::finding::{Finding, Place, Report, Sources};
use crate::registry;

/// `{"version": 1, "findings": […], "could_not_check": […]}`. Lines and columns count from 1.
pub fn render(reports: &[Report]) -> String {
    let findings: Vec<Value> = reports
        .iter()
        .flat_map(|r| r.findings.iter().map(move |f| finding(f, &r.sources)))
        .collect();
    let unreadable: Vec<&String> = reports.iter().filter_map(|r| r.unreadable.as_ref()).collect();
    let all = json!({ "version": 1, "findings": findings, "could_not_check": unreadable });
    format!("{all:#}\n")
}

fn place(place: &Place, sources: &Sources) -> Value {
    let (start, end) = sources.positions(place);
    json!({ "file": place.file, "start": start, "end": end, "bytes": [place.start, place.end] })
}

/// One finding.
pub fn finding(finding: &Finding, sources: &Sources) -> Value {
    let more: Vec<Value> = finding
        .more
        .iter()
        .map(|l| json!({ "place": place(&l.place, sources), "text": l.text }))
        .collect();
    let fix = finding.fix.as_ref().map(|fix| {
        let edits: Vec<Value> = fix
            .edits
            .iter()
            .map(|e| json!({ "place": place(&e.place, sources), "replacement": e.replacement }))
            .collect();
        json!({ "title": fix.title, "safe": fix.safe, "edits": edits })
    });
    json!({
        "code": finding.code,
        "name": finding.code.and_then(registry::find).map(|r| r.name),
        "clang_option": (!finding.option.is_empty()).then_some(&finding.option),
        "by_clang": finding.by_clang,
        "severity": finding.severity,
        "message": finding.message,
        "label": finding.label,
        "place": finding.place.as_ref().map(|p| place(p, sources)),
        "related": more,
        "notes": finding.notes,
        "help": finding.help,
        "fix": fix,
    })
}
