// SPDX-License-Identifier: MIT OR Apache-2.0
//! All rules, by code.

use crate::rule::{Group, Rule};
use crate::rules;

/// Every rule, in the order of its code.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    rules::ALL.iter().copied()
}

/// A rule by code (any case) or name.
pub fn find(word: &str) -> Option<&'static Rule> {
    all().find(|r| r.code.eq_ignore_ascii_case(word) || r.name == word)
}

/// The text of `docs/rules.md`.
pub fn documentation() -> String {
    let mut text = String::from(
        "<!-- Generated from crates/margay-rules/src/rules by `MARGAY_BLESS=1 cargo test -p margay-rules --test docs`. -->\n\
         # The rules of `margay check`\n\n\
         Each rule has a code, an illegal and a legal example (both are its tests), and the section of the manual that \
         says so. `margay check --explain CODE` prints one. A rule's severity is set in `margay.toml`, and one line is \
         excused by `// margay: allow(CODE)` on it or above it. See [check.md](check.md) for the command.\n\n",
    );
    text.push_str("| code | name | severity | summary |\n|---|---|---|---|\n");
    for rule in all() {
        text.push_str(&format!(
            "| [{code}](#{anchor}) | {} | {} | {} |\n",
            rule.name,
            rule.severity,
            rule.summary.replace('|', "\\|"),
            code = rule.code,
            anchor = format!("{} {}", rule.code, rule.name).to_lowercase().replace(' ', "-"),
        ));
    }
    text.push('\n');
    for group in Group::ALL {
        text.push_str(&format!("# {}\n\n", group.title()));
        for rule in all().filter(|r| r.group == group) {
            text.push_str(&rule.explain());
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
