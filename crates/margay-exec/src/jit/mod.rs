// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast engine: compiled code beside the interpreter.
//!
//! `margay-codegen` makes LLVM's text from a function, `libmargay_jit.so` makes an object of that,
//! and this module loads it, runs it, and hands over to the interpreter wherever the code leaves.
//! Everything that a launch can do works without it.
//!
//! Invariant: compiled code is entered for a warp only while its lanes were always scheduled lowest
//! address first, which is what its analysis rests on (see [`crate::warp::Warp`]).

mod background;
mod cache;
mod called;
mod choice;
mod hold;
mod holes;
mod kernel;
mod library;
mod make;
mod noted;
mod object;
mod overlap;
mod run;
mod saved;
mod watched_blocks;
mod watching;

use std::sync::OnceLock;

pub use crate::alike::rehearse_always;
pub use background::may_exit_here;
pub(crate) use choice::{Done, consider};
pub(crate) use hold::{Holds, who_holds};
pub(crate) use kernel::Kernels;
pub use make::{Counts, counts};
pub(crate) use make::{log, were_unwatched};
pub use noted::{NotedAccess, NotedAccesses, NotedAddresses, NotedList, PlainNote};
pub(crate) use run::{
    Arrived, Chunk, ChunkEnd, Fast, LaunchCode, Rooms, Stand, enter, entry, new_io,
};
pub(crate) use watching::{AccessSite, Tallies, tell};

/// Which engine runs kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// The interpreter alone.
    Interp,
    /// Compiled code for every launch, where LLVM can be had.
    Jit,
    /// Compiled code where it pays.
    #[default]
    Auto,
}

impl Engine {
    /// The name that `--engine` and `MARGAY_ENGINE` take.
    pub fn by_name(name: &str) -> Option<Engine> {
        match name {
            "interp" => Some(Engine::Interp),
            "jit" => Some(Engine::Jit),
            "auto" => Some(Engine::Auto),
            _ => None,
        }
    }
}

/// The engine that `MARGAY_ENGINE` chooses; an unknown name is reported once and means the default.
pub fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    *ENGINE.get_or_init(|| match std::env::var("MARGAY_ENGINE") {
        Ok(name) if !name.is_empty() => Engine::by_name(&name).unwrap_or_else(|| {
            eprintln!(
                "margay: MARGAY_ENGINE={name} is none of interp, jit and auto: it is ignored"
            );
            Engine::default()
        }),
        _ => Engine::default(),
    })
}

/// Why no code can be compiled in this process, if that is so.
pub fn unavailable() -> Option<String> {
    library::get().err()
}
