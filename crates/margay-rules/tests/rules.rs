// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every rule's examples: the illegal one is found, by that rule alone; in the legal one nothing is.

mod support;

use std::path::Path;

use margay_rules::rule::{Example, Group, Rule};
use margay_rules::{Finding, Settings, Severity, check, registry};

fn findings(rule: &Rule, example: &Example, unreadable: &mut String) -> Vec<Finding> {
    let name = if rule.group == Group::OpenCl || example.source.contains("kernel void") {
        "example.cl"
    } else {
        "example.cu"
    };
    let mut settings = Settings::default();
    // A rule that is off by default is on for its own examples.
    if rule.severity == Severity::Off {
        settings.severities.insert(rule.code, Severity::Warning);
    }
    let report =
        check::text(Path::new(name), example.source, &support::environment(example), &settings);
    if let Some(why) = report.unreadable {
        unreadable.push_str(&format!("{}: {why}\n", rule.code));
    }
    report.findings
}

fn shown(list: &[Finding]) -> String {
    list.iter().map(|f| format!("  {:?} {} {}\n", f.code, f.severity, f.message)).collect()
}

#[test]
fn examples() {
    let only = std::env::var("MARGAY_RULE").ok();
    let mut wrong = String::new();
    for rule in registry::all().filter(|r| only.as_deref().is_none_or(|o| o == r.code)) {
        let illegal = findings(rule, &rule.illegal, &mut wrong);
        if !illegal.iter().any(|f| f.code == Some(rule.code)) {
            wrong +=
                &format!("{}: not found in its illegal example:\n{}", rule.code, shown(&illegal));
        }
        let strange: Vec<Finding> = illegal
            .into_iter()
            .filter(|f| f.code != Some(rule.code) && f.severity > Severity::Hint)
            .collect();
        if !strange.is_empty() {
            wrong += &format!("{}: also in its illegal example:\n{}", rule.code, shown(&strange));
        }
        let legal = findings(rule, &rule.legal, &mut wrong);
        if !legal.is_empty() {
            wrong += &format!("{}: in its legal example:\n{}", rule.code, shown(&legal));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn codes_and_names_are_unique_and_in_order() {
    let mut last = "";
    let mut names = std::collections::BTreeSet::new();
    for rule in registry::all() {
        assert!(rule.code > last, "{} after {last}", rule.code);
        assert!(names.insert(rule.name), "two rules are called {}", rule.name);
        assert!(!rule.summary.ends_with('.') && !rule.manual.is_empty(), "{}", rule.code);
        assert!(
            rule.check.is_some()
                || !rule.clang.is_empty()
                || rule.code == "MG001"
                || rule.code == "MG116"
        );
        last = rule.code;
    }
}
