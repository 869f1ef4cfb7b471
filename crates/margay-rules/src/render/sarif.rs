// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as SARIF 2.1.0 (OASIS), for code-scanning services.

use serde_json::{Value, json};

use crate::finding::{Finding, Place, Report, Severity, Sources};
use crate::registry;

/// One run over all files.
pub fn render(reports: &[Report]) -> String {
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|r| r.findings.iter().map(move |f| result(f, &r.sources)))
        .collect();
    let rules: Vec<Value> = registry::all()
        .map(|rule| {
            json!({
                "id": rule.code,
                "name": rule.name,
                "shortDescription": { "text": rule.summary },
                "fullDescription": { "text": rule.what },
                "help": { "text": rule.why, "markdown": rule.explain() },
                "defaultConfiguration": {
                    "level": level(rule.severity),
                    "enabled": rule.severity != Severity::Off
                },
            })
        })
        .collect();
    let failures: Vec<Value> = reports
        .iter()
        .filter_map(|r| r.unreadable.as_ref())
        .map(|why| json!({ "level": "error", "message": { "text": why } }))
        .collect();
    let run = json!({
        "tool": { "driver": {
            "name": "margay check",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        } },
        "invocations": [{
            "executionSuccessful": failures.is_empty(),
            "toolExecutionNotifications": failures,
        }],
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    format!("{log:#}\n")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
        Severity::Off => "none",
    }
}

/// A file as SARIF wants it: a relative reference, or a file URL.
fn uri(path: &std::path::Path) -> String {
    let mut text = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                text.push(byte as char);
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    if path.is_absolute() { format!("file://{text}") } else { text }
}

fn location(place: &Place, sources: &Sources) -> Value {
    let (start, end) = sources.positions(place);
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&place.file) },
        "region": {
            "startLine": start.line, "startColumn": start.column,
            "endLine": end.line, "endColumn": end.column,
        },
    } })
}

fn result(finding: &Finding, sources: &Sources) -> Value {
    let mut text = finding.message.clone();
    for line in finding.notes.iter().chain(&finding.help) {
        text.push('\n');
        text.push_str(line);
    }
    let rule = match (finding.code, finding.option.as_str()) {
        (Some(code), _) => code.to_string(),
        (None, "") => "clang".to_string(),
        (None, option) => format!("clang{option}"),
    };
    let related: Vec<Value> = finding
        .more
        .iter()
        .map(|l| {
            let mut at = location(&l.place, sources);
            at["message"] = json!({ "text": l.text });
            at
        })
        .collect();
    let mut result = json!({
        "ruleId": rule,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": finding.place.iter().map(|p| location(p, sources)).collect::<Vec<_>>(),
        "relatedLocations": related,
    });
    if let Some(fix) = &finding.fix {
        let changes: Vec<Value> = fix
            .edits
            .iter()
            .map(|e| {
                let at = location(&e.place, sources);
                json!({
                    "artifactLocation": at["physicalLocation"]["artifactLocation"],
                    "replacements": [{
                        "deletedRegion": at["physicalLocation"]["region"],
                        "insertedContent": { "text": e.replacement },
                    }],
                })
            })
            .collect();
        result["fixes"] =
            json!([{ "description": { "text": fix.title }, "artifactChanges": changes }]);
    }
    result
}
