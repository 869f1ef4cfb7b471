// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as SARIF 2.1.0 (OASIS), for code-scanning services.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sanitize::finding::{Actor, Finding, Severity};
use crate::words::Words;

/// One run.
pub fn sarif(findings: &[Finding]) -> String {
    let codes: BTreeSet<&str> = findings.iter().map(|f| f.code.as_str()).collect();
    let rules: Vec<Value> = codes.iter().map(|code| json!({ "id": code })).collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "margay run --check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn location(actor: &Actor, words: Words) -> Option<Value> {
    let s = &actor.source;
    let file = s.file.as_ref()?;
    let message = format!("{} by {}", actor.action, actor.who(words));
    let mut region = json!({ "startLine": s.line.max(1) });
    if s.column > 0 {
        region["startColumn"] = s.column.into();
    }
    Some(json!({
        "physicalLocation": { "artifactLocation": { "uri": file }, "region": region },
        "message": { "text": message },
    }))
}

fn result(finding: &Finding) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut places = finding.actors.iter().filter_map(|a| location(a, finding.words));
    let first: Vec<Value> = places.next().into_iter().collect();
    json!({
        "ruleId": finding.code,
        "level": level,
        "message": { "text": format!("{}. {}", finding.message, finding.cure) },
        "locations": first,
        "relatedLocations": places.collect::<Vec<_>>(),
        "occurrenceCount": finding.count,
        "properties": {
            "kernel": finding.kernel,
            "space": finding.space,
            "object": finding.object,
            "address": finding.address,
        },
    })
}
