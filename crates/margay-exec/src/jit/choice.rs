// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a launch that began in the interpreter gets compiled code (`--engine auto`).
//!
//! What is still to be interpreted is known from the blocks that are done, as long as blocks are alike. Code is worth having
//! when it takes less than that to get. Where nothing tells, as in a grid of few blocks or a series of small
//! launches, what was interpreted decides: who has waited for a time may wait for it again, and has lost no more than
//! that. `cargo xtask bench --choice` measures what is lost.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::kernel::Wait;
use super::make::open_in_background;
use super::run::{LaunchCode, chosen};
use super::{Engine, background};
use crate::interp::Env;
use crate::lanes::WARP;
use crate::workers::cores_lately;

/// Time of interpreting after which the cache is looked at, at least and by instructions: so long does it take about.
const LOOK_AFTER: Duration = Duration::from_micros(200);
const LOOK_PER_INST: Duration = Duration::from_micros(1);
/// Instructions of all warps after which a launch looks before its first block, as far as anybody can tell that from the kernel
/// alone: a quarter of a millisecond of interpreting. Blocks may be long, and those that are begun in the interpreter stay there.
const LOOK_AT_ONCE: u64 = 5_000;
/// The same by the kernel's instructions: hashing one takes as long as interpreting so many.
const LOOK_AT_ONCE_PER_INST: u64 = 30;
/// Time that making a kernel's text takes, by instructions, about.
const TEXT_PER_INST: Duration = Duration::from_micros(40);
/// Time that LLVM takes, by instructions, where there is no text yet.
const COMPILE_PER_INST: Duration = Duration::from_micros(1500);
/// Time that opening LLVM takes, and its first steps.
const OPENING: Duration = Duration::from_millis(60);
/// What is to come must be so many times longer than what the launching thread does itself for it: a guess from
/// few blocks may be wrong.
const SURE: u32 = 4;

/// So many blocks tell how long the others take, once they have taken this share of what is to be spent.
const FEW: u64 = 8;
const LOOK_SHARE: u32 = 8;

/// How far a launch has gone.
const LOOKS: u32 = 0;
const WRITES: u32 = 1;
const INTERPRETS: u32 = 2;
const COMPILES: u32 = 3;

/// What of a grid is done.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub groups: u64,
    pub of: u64,
    /// Threads that the launch may have.
    pub threads: u64,
}

/// Whether nothing can be compiled beside the interpreter.
pub fn single_core() -> bool {
    cores_lately() == 1
}

/// Whether a launch is likely to be so long that the cache is looked at before it begins.
pub fn looks_at_once(env: &Env<'_>) -> bool {
    let threads: u64 = env.config.block.iter().map(|&n| n as u64).product();
    let blocks = env.config.grid.iter().fold(1u64, |n, &of| n.saturating_mul(of as u64));
    let warps = blocks.saturating_mul(threads.div_ceil(WARP as u64));
    let enough = LOOK_AT_ONCE.max(LOOK_AT_ONCE_PER_INST * env.program.code.len() as u64);
    warps.saturating_mul(env.program.kernels.accesses(env.program).weight) >= enough
}

/// Called between blocks, and between the slices of a long one.
pub fn consider(env: &Env<'_>, done: Done) {
    if chosen(env) != Engine::Auto || env.jit.get().is_some() {
        return;
    }
    let kernels = &env.program.kernels;
    let stage = env.stage.load(Relaxed);
    if stage != LOOKS {
        let landed = kernels.landed();
        if env.landed.swap(landed, Relaxed) != landed {
            LaunchCode::make(env, Wait::Made);
        }
        if stage == COMPILES || env.jit.get().is_some() || kernels.is_away() {
            return;
        }
    }
    let (elapsed, before) = (env.started.elapsed(), kernels.spent());
    let spent = elapsed + before;
    let insts = env.program.code.len() as u32;
    let next = |from: u32| env.stage.compare_exchange(from, from + 1, Relaxed, Relaxed).is_ok();
    if stage == LOOKS {
        if spent >= LOOK_AFTER.max(LOOK_PER_INST * insts) && next(LOOKS) {
            LaunchCode::make(env, Wait::Cached);
        }
        return;
    }
    // What is left, if that is known well enough to spend `cost` on it: the first blocks meet cold caches, and a worker that
    // is not on a core for a moment has slow ones.
    let left = |cost: Duration| match done.groups {
        n if n >= FEW && elapsed >= cost / LOOK_SHARE => {
            before + elapsed.mul_f64(done.of.saturating_sub(n) as f64 / n as f64)
        }
        _ => Duration::ZERO,
    };
    if stage == WRITES {
        // The text tells for how long LLVM will be at it.
        let text = TEXT_PER_INST * insts;
        let (far, free) = (left(text) >= text * SURE * 2, done.threads < cores_lately() as u64);
        // Where no core is free the launch pays for it whoever does it.
        let worth = far || free || left(text) >= text * 2 || spent >= text * SURE;
        if worth && next(WRITES) {
            // One who does it himself need not wait for another to have a turn on a busy machine.
            LaunchCode::make(env, if far { Wait::TextHere } else { Wait::Text });
        }
        return;
    }
    let compiling = kernels.compiling().unwrap_or(COMPILE_PER_INST * insts);
    let opened = background::has_opened();
    let all = if opened { compiling } else { compiling + OPENING };
    // A thread of its own would only take time from those that there are.
    let instead = if single_core() {
        left(all) >= all * 2 || spent >= all
    } else {
        done.threads >= cores_lately() as u64 && left(all) >= all * SURE
    };
    if instead {
        if next(INTERPRETS) {
            LaunchCode::make(env, Wait::Compile);
        }
    } else if single_core() {
        // Not yet.
    } else if opened {
        // Nobody waits for it: it may begin early.
        if (left(compiling) >= compiling || spent >= compiling / 4) && next(INTERPRETS) {
            LaunchCode::make(env, Wait::Background);
        }
    } else if left(all) >= all * 3 / 2 || spent >= (compiling / 4).max(OPENING / 2) {
        // Only a process that ends at once waits for it.
        open_in_background();
    }
}
