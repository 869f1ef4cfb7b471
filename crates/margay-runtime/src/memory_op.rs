// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on one value in memory in stream order: wait for it, write it (CUDA driver API, "Stream
//! Memory Operations").
//!
//! Invariant: an operation's word lies in an allocation when it is asked for and each time it is looked
//! at; where it does not any more, the context fails as by a kernel's illegal access.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::activity;
use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::graph::NodeWork;
use crate::runtime;
use crate::stream::Stream;

/// How a wait compares the word `w` with its value `v` (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Cyclically: `(w - v) >= 0` as a signed number.
    Geq,
    Eq,
    /// `(w & v) != 0`.
    And,
    /// `~(w | v) != 0`.
    Nor,
}

/// What is done to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Wait(Compare),
    Write,
    Add,
    And,
    Or,
}

/// One operation on a word of 4 bytes, or 8 if it is wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOp {
    pub action: Action,
    pub address: u64,
    pub wide: bool,
    pub value: u64,
}

impl MemoryOp {
    fn bytes(self) -> u64 {
        if self.wide { 8 } else { 4 }
    }

    fn check(self) -> Result<()> {
        let there = runtime::get().records.holds(self.address, self.bytes());
        match there && self.address.is_multiple_of(self.bytes()) {
            true => Ok(()),
            false => Err(CudaError::InvalidValue),
        }
    }

    fn load(self) -> u64 {
        // SAFETY: an aligned word of an allocation; everybody reaches it atomically.
        unsafe {
            match self.wide {
                true => (*(self.address as *const AtomicU64)).load(Ordering::SeqCst),
                false => u64::from((*(self.address as *const AtomicU32)).load(Ordering::SeqCst)),
            }
        }
    }

    fn change(self) {
        macro_rules! apply {
            ($atomic:ty, $value:expr) => {{
                // SAFETY: as in `load`.
                let word = unsafe { &*(self.address as *const $atomic) };
                match self.action {
                    Action::Write => word.store($value, Ordering::SeqCst),
                    Action::Add => drop(word.fetch_add($value, Ordering::SeqCst)),
                    Action::And => drop(word.fetch_and($value, Ordering::SeqCst)),
                    Action::Or => drop(word.fetch_or($value, Ordering::SeqCst)),
                    Action::Wait(_) => {}
                }
            }};
        }
        match self.wide {
            true => apply!(AtomicU64, self.value),
            false => apply!(AtomicU32, self.value as u32),
        }
    }

    fn holds(self, compare: Compare) -> bool {
        let (word, value) = (self.load(), self.value);
        match (compare, self.wide) {
            (Compare::Geq, true) => word.wrapping_sub(value) as i64 >= 0,
            (Compare::Geq, false) => (word as u32).wrapping_sub(value as u32) as i32 >= 0,
            (Compare::Eq, true) => word == value,
            (Compare::Eq, false) => word as u32 == value as u32,
            (Compare::And, _) => word & value != 0,
            (Compare::Nor, true) => !(word | value) != 0,
            (Compare::Nor, false) => !(word as u32 | value as u32) != 0,
        }
    }

    /// Does it. False if its memory has gone.
    fn run(self) -> bool {
        let Action::Wait(compare) = self.action else {
            let there = self.check().is_ok();
            if there {
                self.change();
            }
            return there;
        };
        let mut rest = Duration::from_micros(10);
        // It writes nothing.
        let _waiting = activity::wait();
        loop {
            if self.check().is_err() {
                return false;
            }
            if self.holds(compare) || runtime::CANCEL.load(Ordering::Acquire) {
                return true;
            }
            std::thread::sleep(rest);
            rest = (rest * 2).min(Duration::from_millis(1));
        }
    }
}

impl Context {
    /// `cuStreamBatchMemOp`: the operations one after the other, in stream order.
    pub fn memory_ops(self: &Arc<Self>, stream: &Stream, ops: &[MemoryOp]) -> Result<()> {
        self.check()?;
        ops.iter().try_for_each(|op| op.check())?;
        let list: Arc<[MemoryOp]> = ops.into();
        let context = self.handle;
        let node = || NodeWork::MemoryOps { context, ops: list.clone() };
        if stream.intercept(node)?.is_some() {
            return Ok(());
        }
        let context = self.clone();
        let work = move || {
            if context.check().is_ok() && !list.iter().all(|op| op.run()) {
                context.fail(CudaError::IllegalAddress);
            }
        };
        self.push(stream, None, Box::new(work));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_those_of_the_manual() {
        let word = AtomicU32::new(5);
        let address = std::ptr::from_ref(&word) as u64;
        let holds = |compare, value| {
            MemoryOp { action: Action::Wait(compare), address, wide: false, value }.holds(compare)
        };
        assert!(holds(Compare::Geq, 5) && holds(Compare::Geq, 4) && !holds(Compare::Geq, 6));
        // A counter that wraps: 5 comes after 0xffff_fffe.
        assert!(holds(Compare::Geq, 0xffff_fffe));
        assert!(holds(Compare::Eq, 5) && !holds(Compare::Eq, 4));
        assert!(holds(Compare::And, 4) && !holds(Compare::And, 2));
        assert!(holds(Compare::Nor, 0) && !holds(Compare::Nor, 0xffff_fffa));
    }
}
