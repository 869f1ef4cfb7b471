// SPDX-License-Identifier: MIT OR Apache-2.0
//! margay's IR: about a hundred operations on typed virtual registers over basic blocks, for one
//! lane of a warp. Registers are mutable, as in PTX: this is not SSA.
//!
//! Invariant: verified IR never panics an engine. The crate does no I/O and runs nothing.

pub mod analysis;
pub mod builtin;
pub mod inst;
mod library;
pub mod link;
pub mod lower;
pub mod module;
pub mod ops;
pub mod passes;
pub mod text;
pub mod texture;
pub mod types;
pub mod verify;

pub use builtin::Builtin;
pub use inst::*;
pub use lower::{LowerError, lower, lower_for};
pub use module::*;
pub use ops::{AttrKind, Op, OpInfo, Slot};
pub use texture::{Opaque, TextureAttr};
pub use types::{Cache, Class, Round, Scope, Sem, Space, Ty};
pub use verify::{VerifyError, verify};
