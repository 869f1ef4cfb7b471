// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of docs/check.md is what margay says of each case.

mod support;

use std::path::Path;

use margay_rules::rule::Example;
use margay_rules::{Settings, Severity, check};

#[test]
fn the_table_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/check.md")).expect("docs/check.md");
    let environment = support::environment(&Example::new(""));
    let mut seen = 0;
    let mut wrong = String::new();
    for row in
        page.lines().filter(|l| l.starts_with("| ") && (l.contains(".cu |") || l.contains(".cl |")))
    {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (case, verdict, rules) = (cells[0], cells[3], cells[4]);
        let file = root.join("tests/diag").join(case);
        let report = check::file(&file, &environment, &Settings::default());
        let counted: Vec<_> =
            report.findings.iter().filter(|f| f.severity > Severity::Hint).collect();
        let worst = counted.iter().map(|f| f.severity).max();
        let said = match worst {
            Some(Severity::Error) => "error",
            Some(Severity::Warning) => "warning",
            Some(Severity::Hint | Severity::Off) | None => "accepts",
        };
        let mut codes: Vec<&str> = counted.iter().filter_map(|f| f.code).collect();
        codes.sort_unstable();
        codes.dedup();
        if said != verdict || codes.join(", ") != rules {
            wrong += &format!("{case}: {said} {codes:?}, the page has {verdict} {rules}\n");
        }
        seen += 1;
    }
    let cases = std::fs::read_dir(root.join("tests/diag")).expect("the cases").count();
    assert_eq!(seen, cases, "rows and cases");
    assert!(wrong.is_empty(), "\n{wrong}");
}
