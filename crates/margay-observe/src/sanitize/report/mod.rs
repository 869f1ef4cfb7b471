// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings for people and for machines.

mod github;
mod rules;
mod sarif;
mod text;

pub use github::github;
pub use sarif::{Places, sarif};
pub use text::text;

use serde_json::Value;

use super::finding::Finding;

/// All findings as one JSON document: `{"launches", "findings": […]}`; fields as in [`Finding`]. `compared` tells
/// how several schedules compared, if there were any.
pub fn json(launches: u64, compared: Option<Value>, findings: &[Finding]) -> String {
    let mut whole = serde_json::json!({ "launches": launches, "findings": findings });
    if let Some(compared) = compared {
        whole["schedules"] = compared;
    }
    format!("{whole:#}\n")
}
