// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is told of races, and of what could not be watched.

use std::sync::atomic::Ordering;

use margay_exec::observe::AccessEvent;
use margay_ir::Space;

use super::order::Thread;
use super::shadow::{Kind, Mark, Width};
use super::watch::RaceObserver;
use crate::sanitize::finding::{Actor, Check, Finding, Severity};

/// A pair of accesses that was reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pair {
    pub first: u32,
    pub second: u32,
    pub space: Space,
    /// Both wrote the same: that they write something else at times is another finding.
    pub same_value: bool,
}

impl RaceObserver<'_> {
    pub(super) fn report(
        &self,
        event: &AccessEvent<'_>,
        lane: usize,
        me: Mark,
        other: Mark,
        same_value: bool,
    ) {
        let (first, second) = (other.pc.min(me.pc), other.pc.max(me.pc));
        let pair = Pair { first, second, space: event.space, same_value };
        let fresh = self.reported.lock().insert(pair);
        if !fresh {
            return self.view.sink.again(Check::Race, self.view.kernel(), (first, second), 1);
        }
        let name = |kind: Kind| match kind {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Atomic => "atomic",
        };
        let (mine, theirs) = (me.kind(), other.kind());
        let narrow = me.scopes_too_narrow(other);
        let code = if narrow {
            "race/scope"
        } else if mine == Kind::Atomic || theirs == Kind::Atomic {
            "race/atomic-plain"
        } else if mine.writes() && theirs.writes() {
            "race/write-write"
        } else {
            "race/read-write"
        };
        let (a, b) = (me.thread(), other.thread());
        let words = self.view.words;
        // A widened mark's own thread may be any of several, this one too.
        let apart = if a.block != b.block || other.width() == Width::Blocks {
            Width::Blocks
        } else if a.warp != b.warp || other.width() == Width::Warps {
            Width::Warps
        } else {
            Width::Lanes
        };
        let place = match apart {
            Width::Blocks => words.say("two blocks", "two work-groups"),
            Width::Warps => words.say("two warps of a block", "two sub-groups of a work-group"),
            Width::Lanes | Width::Thread => {
                words.say("two lanes of a warp", "two work-items of a sub-group")
            }
        };
        let actor = |mark: Mark, thread: Thread, known: bool| Actor {
            action: name(mark.kind()).to_owned(),
            block: self.view.ctaid(thread.block),
            thread: known.then(|| self.view.tid(thread.warp, thread.lane)),
            host: false,
            source: self.view.source(mark.pc),
        };
        let address = event.addresses[lane];
        let mut message =
            format!("{} and {} by {place}, and nothing orders them", name(theirs), name(mine),);
        if same_value {
            message += "; both write the same value, which is harmless on today's GPUs and undefined \
                        by the language";
        }
        if me.morally_strong(other) {
            message += "; volatile accesses of a warp's lanes came in order before compute capability 7.0 alone";
        }
        self.view.sink.add(
            Finding {
                check: Check::Race,
                severity: if same_value { Severity::Note } else { Severity::Error },
                code: if same_value { "race/same-value" } else { code }.to_owned(),
                kernel: self.view.kernel().to_owned(),
                message,
                cure: self.cure(narrow, event.space, apart, mine, theirs),
                space: Some(self.view.space_name(event.space).to_owned()),
                address: Some(address),
                bytes: Some(event.bytes),
                object: self.view.object(event.space, address),
                words,
                actors: vec![actor(me, a, true), actor(other, b, other.width() == Width::Thread)],
                count: 1,
            },
            Some((first, second)),
        );
    }

    /// Says once that the shadow found no room.
    pub(super) fn tell_full(&self) {
        if self.full.swap(true, Ordering::Relaxed) {
            return;
        }
        self.tell_incomplete(
            "the kernel touches more global memory than the check of races has room for, at 8 bytes a byte: a part of \
             it was not watched",
            "take a smaller problem, check fewer kernels (--kernel-filter), or allow more by MARGAY_CHECK_MEMORY, in \
             MiB",
        );
    }

    /// Says that it is not told apart any more what was released by words.
    pub(super) fn tell_passed(&self) {
        self.tell_incomplete(
            "the kernel's threads synchronise by more words than the check of races has room for: who reads one of them counts \
             as coming after all that was done before, so that races may have been missed",
            "take a smaller problem, check fewer kernels (--kernel-filter), or allow more by MARGAY_CHECK_MEMORY, in \
             MiB, of which an eighth is for these",
        );
    }

    /// Says that it is not known any more which blocks read a word.
    pub(super) fn tell_unsure(&self) {
        self.tell_incomplete(
            "more groups of blocks read words of their own than the check of races keeps apart: who writes such a word after \
             the last of them counts as coming after all of them, so that races may have been missed",
            "take a smaller problem, or check fewer kernels (--kernel-filter)",
        );
    }

    /// Says once that a store did not go where its pointer points.
    pub(super) fn tell_strayed(&self) {
        if self.strayed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.tell_incomplete(
            "a store goes to another allocation than its pointer points into: reads of that allocation were not \
             watched, because no pointer that is stored through points there",
            "compute each address from the pointer to the allocation that it is in",
        );
    }

    /// Says that something was not watched.
    fn tell_incomplete(&self, message: &str, cure: &str) {
        self.view.sink.add(
            Finding {
                check: Check::Race,
                severity: Severity::Warning,
                code: "race/incomplete".to_owned(),
                kernel: self.view.kernel().to_owned(),
                message: message.to_owned(),
                cure: cure.to_owned(),
                space: Some(self.view.space_name(Space::Global).to_owned()),
                address: None,
                bytes: None,
                object: None,
                words: self.view.words,
                actors: Vec::new(),
                count: 1,
            },
            None,
        );
    }

    fn cure(&self, narrow: bool, space: Space, apart: Width, mine: Kind, theirs: Kind) -> String {
        let words = self.view.words;
        let barrier = match space {
            Space::Global => words.say("__syncthreads()", "barrier(CLK_GLOBAL_MEM_FENCE)"),
            _ => words.say("__syncthreads()", "barrier(CLK_LOCAL_MEM_FENCE)"),
        };
        if narrow {
            return words
                .say(
                    "the atomics' scope is a block, and the threads are in different blocks: use the device scope \
                     (without `_block`)",
                    "the atomics' scope is a work-group, and the work-items are in different ones: use \
                     memory_scope_device",
                )
                .to_owned();
        }
        let atomic = mine == Kind::Atomic || theirs == Kind::Atomic;
        if atomic && apart != Width::Blocks {
            return format!("make the plain access atomic too, or put {barrier} between");
        }
        if atomic {
            return words
                .say(
                    "make the plain access atomic too, or order the blocks by a kernel boundary or grid.sync(), or by \
                     __threadfence() and an atomic flag of device scope",
                    "make the plain access atomic too, or order the work-groups by a kernel boundary, or by \
                     mem_fence(CLK_GLOBAL_MEM_FENCE) and an atomic flag of device scope",
                )
                .to_owned();
        }
        if apart == Width::Blocks {
            return words
                .say(
                    "let each block write its own part, or order them by a kernel boundary or grid.sync(), or by \
                     __threadfence() and an atomic flag of device scope",
                    "let each work-group write its own part, or order them by a kernel boundary, or by \
                     mem_fence(CLK_GLOBAL_MEM_FENCE) and an atomic flag of device scope",
                )
                .to_owned();
        }
        if apart <= Width::Lanes {
            return words
                .say(
                    "put __syncwarp() between: from compute capability 7.0 on the lanes of a warp run apart",
                    "put barrier() or sub_group_barrier() between: work-items of a sub-group need not run in step",
                )
                .to_owned();
        }
        match space {
            Space::Shared => format!("put {barrier} between the two accesses"),
            _ => format!(
                "put {barrier} between the two accesses, or use {} and its like",
                words.say("atomicAdd", "atomic_add")
            ),
        }
    }
}
