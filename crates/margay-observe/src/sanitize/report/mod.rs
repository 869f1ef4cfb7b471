// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings for people and for machines.

mod github;
mod sarif;
mod text;

pub use github::github;
pub use sarif::sarif;
pub use text::text;

use super::finding::Finding;

/// All findings as one JSON document: `{"launches", "findings": […]}`; fields as in [`Finding`].
pub fn json(launches: u64, findings: &[Finding]) -> String {
    let whole = serde_json::json!({ "launches": launches, "findings": findings });
    format!("{whole:#}\n")
}
