// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices, contexts, streams, modules and memory of the virtual GPU: what an API crate needs
//! between its C functions and the engine.
//!
//! Invariant: everything here returns the driver's error codes and none of it trusts a handle or
//! a device address that came from the program. Objects are found in tables, ranges in records.

pub mod activity;
pub mod array;
mod caller;
pub mod capture;
pub mod conditional;
pub mod context;
pub mod copy;
pub mod device;
mod device_heap;
pub mod device_runtime;
pub mod error;
pub mod event;
pub mod fatbin;
pub mod function;
pub mod graph;
pub mod handle;
mod held;
pub mod image;
pub mod ipc;
pub mod launch;
pub mod library;
pub mod limits;
pub mod link;
pub mod logs;
pub mod managed;
pub mod memory;
pub mod memory_op;
pub mod module;
pub mod order;
pub mod pool;
mod print_fifo;
mod queue;
pub mod report;
pub mod runtime;
pub mod settings;
mod signal;
pub mod stream;
pub mod texture;
pub mod thread;
pub mod usage;
pub mod virtual_memory;
mod watch;

pub use context::Context;
pub use error::{CudaError, Result};
pub use handle::Handle;
pub use margay_observe::tool::{Promise, Wanted};
pub use runtime::{Runtime, init, initialized};
