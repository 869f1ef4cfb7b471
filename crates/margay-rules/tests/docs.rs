// SPDX-License-Identifier: MIT OR Apache-2.0
//! docs/rules.md is what the rules say. `MARGAY_BLESS=1` writes it.

#[test]
fn the_page_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let text = margay_rules::registry::documentation();
    if std::env::var_os("MARGAY_BLESS").is_some() {
        std::fs::write(&path, &text).expect("writable docs/rules.md");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == text, "docs/rules.md is old: run with MARGAY_BLESS=1 to write it");
}
