// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that a launch may come to need: of its kernel for single warps, and of the functions that it calls.
//!
//! A call that stays one is made by the scheduler, which has the frames. What is called runs in code of its own, entered for the
//! lanes that called it, and so does the caller behind the call.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use margay_codegen::Options;
use margay_ir::{Op, Term};

use super::Engine;
use super::choice::single_core;
use super::kernel::{Kernel, Wait};
use super::run::chosen;
use crate::interp::Env;
use crate::lanes::FULL;
use crate::program::Program;

/// So often code is asked for until a compilation has ended.
const TRIES: u64 = 16;

/// Code that is made once somebody comes to need it.
pub(super) struct Lazy {
    made: OnceLock<Option<Arc<Kernel>>>,
    /// With `auto`, sixteen times the compilations that had ended when it was last asked for, and how often since.
    asked: AtomicU64,
}

impl Default for Lazy {
    fn default() -> Lazy {
        Lazy { made: OnceLock::new(), asked: AtomicU64::new(u64::MAX) }
    }
}

impl Lazy {
    /// What there is already.
    pub fn made(&self) -> Option<&Arc<Kernel>> {
        self.made.get()?.as_ref()
    }

    /// Says what it is.
    pub fn set(&self, made: Option<Arc<Kernel>>) {
        let _ = self.made.set(made);
    }

    /// The code of a function. With `auto` another thread makes it, and there is none until then.
    pub fn get(&self, env: &Env<'_>, function: u32, options: &Options) -> Option<&Kernel> {
        let kernels = &env.program.kernels;
        let make = |wait| kernels.get(env.program, function, options, wait);
        if let Some(made) = self.made.get() {
            return made.as_deref();
        }
        if chosen(env) != Engine::Auto || single_core() {
            return self.made.get_or_init(|| make(Wait::Compile)).as_deref();
        }
        // The interpreter goes on meanwhile. Somebody else may be asking, so once is not enough.
        let landed = kernels.landed() * TRIES;
        let asked = self.asked.load(Relaxed);
        let next = if asked >= landed && asked < u64::MAX { asked + 1 } else { landed + 1 };
        if next < landed + TRIES
            && self.asked.compare_exchange(asked, next, Relaxed, Relaxed).is_ok()
            && let Some(made) = make(Wait::Cached).or_else(|| make(Wait::Background))
        {
            let _ = self.made.set(Some(made));
        }
        self.made.get()?.as_deref()
    }
}

/// Code of the functions that a kernel calls.
pub(super) struct Called {
    /// All but the first, which is the kernel.
    functions: Vec<Function>,
    /// For all lanes of a warp, and for some.
    options: [Options; 2],
}

struct Function {
    /// Its lanes ask what others of the warp do, or wait for them.
    meets: bool,
    code: [Lazy; 2],
}

impl Called {
    /// None is made yet. `options` are the kernel's for single warps.
    pub fn new(program: &Program, options: &Options) -> Called {
        let function = |f: &crate::program::DecodedFunction| Function {
            meets: meets(&program.module.ir.functions[f.id.0 as usize]),
            code: Default::default(),
        };
        Called {
            functions: program.functions.iter().skip(1).map(function).collect(),
            options: [true, false].map(|full| Options { full, ..options.clone() }),
        }
    }

    /// Code of a function for the lanes that called it; `others` of the warp may stand elsewhere.
    pub fn get(&self, env: &Env<'_>, function: u32, mask: u32, others: bool) -> Option<&Kernel> {
        let of = self.functions.get((function as usize).checked_sub(1)?)?;
        // Code takes those that did not enter with it for ended.
        if others && of.meets {
            return None;
        }
        let part = usize::from(mask != FULL);
        of.code[part].get(env, function, &self.options[part])
    }
}

/// Whether lanes of a function ask what others of the warp do.
fn meets(function: &margay_ir::Function) -> bool {
    let among = |op: Op| {
        margay_codegen::waits(op)
            || matches!(op, Op::ActiveMask | Op::Bar | Op::BarRed | Op::BarCluster)
    };
    let mut insts = function.blocks.iter().flat_map(|b| &b.insts);
    insts.any(|i| among(i.op)) || function.blocks.iter().any(|b| b.term == Term::Exit)
}
