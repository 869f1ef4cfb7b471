// SPDX-License-Identifier: MIT OR Apache-2.0
//! The forms that findings are printed in.

pub mod github;
pub mod json;
pub mod sarif;
pub mod text;
