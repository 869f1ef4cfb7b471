// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings as SARIF 2.1.0 (OASIS), for code-scanning services.
//!
//! GitHub takes less than the standard allows ("SARIF support for code scanning"): each result needs a location, each
//! location a valid URI, and rules have descriptions and help.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::rules;
use crate::sanitize::finding::{Actor, Finding, Severity};
use crate::words::Words;

/// Where files are.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// What stands for a finding that has no place.
    pub program: PathBuf,
    /// Files below it are named as they are from here.
    pub here: PathBuf,
}

/// One run.
pub fn sarif(launches: u64, findings: &[Finding], places: &Places) -> String {
    // The first of each code, which all have the same cure, near enough.
    let mut first: BTreeMap<&str, &Finding> = BTreeMap::new();
    for finding in findings {
        first.entry(&finding.code).or_insert(finding);
    }
    let rules: Vec<Value> = first.values().map(|f| rule(f)).collect();
    let number = |f: &Finding| first.keys().position(|code| *code == f.code);
    let results: Vec<Value> = findings.iter().map(|f| result(f, number(f), places)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "margay run --check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [{ "executionSuccessful": launches > 0 }],
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn rule(finding: &Finding) -> Value {
    let meaning = rules::meaning(&finding.code);
    json!({
        "id": finding.code,
        "name": rules::identifier(&finding.code),
        "shortDescription": { "text": meaning },
        "fullDescription": { "text": meaning },
        "help": { "text": format!("{meaning} Likely cure: {}.", finding.cure) },
        "defaultConfiguration": { "level": level(finding.severity) },
        "properties": { "tags": [finding.check.name()] },
    })
}

/// A file's URI: relative where it is below the directory, else absolute.
fn uri(file: &Path, here: &Path) -> String {
    let encoded = |path: &Path| {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(percent_encoded(name.as_encoded_bytes())),
            Component::ParentDir => Some("..".to_owned()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        });
        parts.collect::<Vec<_>>().join("/")
    };
    let is_above = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    // A name that climbs out may be anywhere: from the directory on it is absolute.
    let whole = here.join(file);
    match whole.strip_prefix(here) {
        Ok(below) if !is_above(below) && below.components().next().is_some() => encoded(below),
        Ok(_) | Err(_) => format!("file:///{}", encoded(&normal(&whole))),
    }
}

/// A path without `..`, as far as its text says.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut out, part| {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
        out
    })
}

/// A part of a path as it may be in a URI (RFC 3986, section 2.3).
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, &byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into());
            }
            _ => out += &format!("%{byte:02X}"),
        }
        out
    })
}

fn location(actor: &Actor, words: Words, here: &Path) -> Option<Value> {
    let s = &actor.source;
    let file = s.file.as_ref()?;
    let message = match actor.is_of_memory() {
        true => format!("{} here", actor.action),
        false => format!("{} by {}", actor.action, actor.who(words)),
    };
    let mut region = json!({ "startLine": s.line.max(1) });
    if s.column > 0 {
        region["startColumn"] = s.column.into();
    }
    Some(json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(Path::new(file), here) },
            "region": region,
        },
        "message": { "text": message },
    }))
}

/// For a finding whose place is not known.
fn of_program(places: &Places) -> Value {
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&places.program, &places.here) },
            "region": { "startLine": 1 },
        },
        "message": { "text": "somewhere in the program" },
    })
}

fn result(finding: &Finding, rule: Option<usize>, places: &Places) -> Value {
    let side = |a: &Actor| location(a, finding.words, &places.here);
    let mut sides = finding.sides().filter_map(side).chain(
        // If that is all there is, it is a side already.
        finding
            .actors
            .iter()
            .filter(|a| a.is_of_memory() && !finding.life().is_empty())
            .filter_map(side),
    );
    let is_placed = finding.sides().any(|a| a.source.file.is_some());
    let first = if is_placed { sides.next() } else { None };
    let mut related: Vec<Value> = sides.collect();
    for (n, place) in related.iter_mut().enumerate() {
        place["id"] = (n + 1).into();
    }
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": { "text": format!("{}. {}", finding.message, finding.cure) },
        "locations": [first.unwrap_or_else(|| of_program(places))],
        "relatedLocations": related,
        "occurrenceCount": finding.count,
        "properties": {
            "kernel": finding.kernel,
            "space": finding.space,
            "object": finding.object,
            "address": finding.address,
        },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = rule.into();
    }
    result
}

#[cfg(test)]
mod tests {
    use crate::sanitize::finding::{ALLOCATED, Check, Source};

    use super::*;

    fn places() -> Places {
        Places { program: "./my app".into(), here: "/home/me/my dir".into() }
    }

    fn finding(actors: Vec<Actor>) -> Finding {
        Finding {
            check: Check::Memory,
            severity: Severity::Error,
            code: "memory/invalid-copy".to_owned(),
            kernel: String::new(),
            message: "a copy".to_owned(),
            cure: "check the size".to_owned(),
            space: None,
            address: None,
            bytes: None,
            object: None,
            words: Words::Cuda,
            actors,
            count: 1,
        }
    }

    fn at(file: &str, line: u32) -> Source {
        Source { file: Some(file.to_owned()), line, ..Source::default() }
    }

    #[test]
    fn uris_are_valid_and_relative_where_they_can_be() {
        let here = Path::new("/home/me/my dir");
        for (file, expected) in [
            ("/home/me/my dir/src/a b.cu", "src/a%20b.cu"),
            ("src/a:b%.cu", "src/a%3Ab%25.cu"),
            ("./x.cu", "x.cu"),
            ("../y.cu", "file:///home/me/y.cu"),
            ("/home/me/my dir/../y.cu", "file:///home/me/y.cu"),
            ("/opt/ü.cu", "file:///opt/%C3%BC.cu"),
        ] {
            assert_eq!(uri(Path::new(file), here), expected, "{file}");
        }
    }

    /// What GitHub asks of a file ("SARIF support for code scanning", supported properties).
    #[test]
    fn it_has_what_code_scanning_asks_for() {
        let copy = |source| vec![Actor::host("cudaMemcpy", source)];
        let mut both = copy(at("/home/me/my dir/a.cu", 7));
        both.push(Actor::host(ALLOCATED, at("b.cu", 3)));
        let mut unplaced = copy(Source::default());
        unplaced.push(Actor::host(ALLOCATED, at("b.cu", 3)));
        let mut leak = finding(vec![Actor::host(ALLOCATED, at("b.cu", 3))]);
        leak.code = "memory/leak".to_owned();
        let all = [finding(both), finding(Vec::new()), finding(unplaced), leak];
        let text = sarif(1, &all, &places());
        let log: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), 2);
        for rule in rules {
            for part in ["shortDescription", "fullDescription", "help"] {
                assert!(rule[part]["text"].as_str().is_some_and(|t| !t.is_empty()), "{rule}");
            }
            assert!(rule["name"].is_string() && rule["defaultConfiguration"]["level"].is_string());
        }
        let results = run["results"].as_array().unwrap();
        for result in results {
            assert_eq!(
                rules[result["ruleIndex"].as_u64().unwrap() as usize]["id"],
                result["ruleId"]
            );
            assert!(result["message"]["text"].is_string());
            let locations = result["locations"].as_array().unwrap();
            assert_eq!(locations.len(), 1);
            for place in locations.iter().chain(result["relatedLocations"].as_array().unwrap()) {
                let place = (&place["physicalLocation"], &place["message"]["text"]);
                let uri = place.0["artifactLocation"]["uri"].as_str().unwrap();
                assert!(!uri.is_empty() && !uri.contains(' '), "{uri}");
                assert!(place.0["region"]["startLine"].as_u64().unwrap() >= 1);
                assert!(place.1.is_string());
            }
        }
        let uris = |n: usize, list: &str| -> Vec<&str> {
            let list = results[n][list].as_array().unwrap().iter();
            list.map(|p| p["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap())
                .collect()
        };
        assert_eq!(
            (uris(0, "locations"), uris(0, "relatedLocations")),
            (vec!["a.cu"], vec!["b.cu"])
        );
        assert_eq!((uris(1, "locations"), uris(1, "relatedLocations")), (vec!["my%20app"], vec![]));
        assert_eq!(
            (uris(2, "locations"), uris(2, "relatedLocations")),
            (vec!["my%20app"], vec!["b.cu"])
        );
        assert_eq!((uris(3, "locations"), uris(3, "relatedLocations")), (vec!["b.cu"], vec![]));
    }

    #[test]
    fn a_run_that_checked_nothing_is_a_whole_file_too() {
        let log: Value = serde_json::from_str(&sarif(0, &[], &places())).unwrap();
        assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
        assert_eq!(log["runs"][0]["results"], json!([]));
    }
}
