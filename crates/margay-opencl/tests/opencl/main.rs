// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL as a program sees it: the driver is opened as the loader opens it, and every call goes through the
//! C functions. What is expected is the specification's.

#![allow(
    clippy::macro_metavars_in_unsafe,
    reason = "`cl!` is an unsafe call, and tests write nothing else in it"
)]

mod accuracy;
mod address_spaces;
mod builtins;
mod callbacks;
mod calls;
mod common;
mod constants;
mod devices;
mod error_codes;
mod errors;
mod faults;
mod fuzz;
mod images;
mod integers;
mod language;
mod profile;
mod sub_groups;
