// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of this chapter, a file each.

pub mod unknown_code;
