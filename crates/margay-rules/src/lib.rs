// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay check`: the rules of function qualifiers, memory spaces and launches, before anything runs.
//!
//! libclang parses each pass of a program (`front`); the user's part becomes a tree (`tree`); rules read it
//! through derived facts (`analysis`) and give findings. Each rule is a file below `rules/` with its
//! documentation, its examples (which are its tests) and its check. Invariant: a rule speaks only when it is
//! certain. Limit: templates are read uninstantiated.

pub mod analysis;
pub mod check;
pub mod compile_commands;
pub mod config;
pub mod finding;
pub mod fix;
pub mod front;
pub mod lsp;
pub mod registry;
pub mod render;
pub mod rule;
pub mod rules;
pub mod suppress;
pub mod tree;

pub use check::Settings;
pub use finding::{Finding, Report, Severity};
pub use front::{Environment, Language};
pub use rule::Rule;
