// SPDX-License-Identifier: MIT OR Apache-2.0
//! `__nv_*` functions that are plain IR ops.
