// SPDX-License-Identifier: MIT OR Apache-2.0
//! What belongs to a host thread: its stack of contexts and its number.
//!
//! Invariant: nothing here needs a destructor, so that calls from thread or process exit work.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{CudaError, Result};
use crate::handle::Handle;

/// Deepest stack of contexts. Real programs use two or three.
const DEPTH: usize = 32;

#[derive(Clone, Copy)]
struct Stack {
    contexts: [Handle; DEPTH],
    len: usize,
}

thread_local! {
    static STACK: Cell<Stack> = const { Cell::new(Stack { contexts: [0; DEPTH], len: 0 }) };
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// A number for the calling thread that no other thread ever has.
pub fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NUMBER.with(|n| {
        if n.get() == 0 {
            n.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        n.get()
    })
}

/// The handle of the thread's current context, if it has one.
pub fn current() -> Option<Handle> {
    STACK.with(|s| {
        let stack = s.get();
        stack.len.checked_sub(1).map(|top| stack.contexts[top])
    })
}

pub fn push(context: Handle) -> Result<()> {
    STACK.with(|s| {
        let mut stack = s.get();
        let slot = stack.contexts.get_mut(stack.len).ok_or(CudaError::OutOfMemory)?;
        *slot = context;
        stack.len += 1;
        s.set(stack);
        Ok(())
    })
}

pub fn pop() -> Option<Handle> {
    STACK.with(|s| {
        let mut stack = s.get();
        stack.len = stack.len.checked_sub(1)?;
        let top = stack.contexts[stack.len];
        s.set(stack);
        Some(top)
    })
}

/// Replaces the top, as `cuCtxSetCurrent` does; `None` pops.
pub fn set(context: Option<Handle>) -> Result<()> {
    pop();
    match context {
        Some(context) => push(context),
        None => Ok(()),
    }
}

/// Whether the thread runs a stream's host function, in which CUDA calls are not allowed.
pub fn in_callback() -> bool {
    IN_CALLBACK.with(Cell::get)
}

/// Runs a host function of the program.
pub fn as_callback<R>(run: impl FnOnce() -> R) -> R {
    IN_CALLBACK.with(|c| c.set(true));
    let result = run();
    IN_CALLBACK.with(|c| c.set(false));
    result
}
