// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds kernels to what the program promised of its buffers.
//!
//! OpenCL 3.0, section 5.2.1: writing to a buffer created with `CL_MEM_READ_ONLY`, or reading from one created with
//! `CL_MEM_WRITE_ONLY`, inside a kernel is undefined. A sub-buffer's own flags are not looked at: its bytes may be
//! reached by the parent too.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use margay_exec::fault::Access;
use margay_exec::mem::AllocationInfo;
use margay_exec::observe::{AccessEvent, Interest, Observer, PatternedEvent, Watch};
use margay_ir::Space;
use parking_lot::Mutex;

use super::finding::{Actor, Check, Finding, Severity};
use super::form::Forms;
use super::memory::verb;
use super::view::View;
use crate::tool::Promise;

/// A range of addresses, its end and what was promised of it; by its start.
type Ranges = BTreeMap<u64, (u64, Promise)>;

/// What was promised of the allocations that live.
#[derive(Debug, Default)]
pub struct Promises(Mutex<Ranges>);

impl Promises {
    pub fn made(&self, allocation: &AllocationInfo, promise: Promise) {
        let end = allocation.base.saturating_add(allocation.size);
        self.0.lock().insert(allocation.base, (end, promise));
    }

    pub fn freed(&self, base: u64) {
        self.0.lock().remove(&base);
    }

    /// An observer for a launch, if anything was promised.
    pub fn observer<'a>(&self, view: View<'a>) -> Option<Box<dyn Observer + 'a>> {
        let ranges = self.0.lock().clone();
        let watched = !ranges.is_empty();
        watched.then(|| Box::new(PromiseObserver { view, ranges, reported: Mutex::default() }) as _)
    }
}

/// Whether an access of memory breaks what was promised of it.
fn breaks(promise: Promise, access: Access) -> bool {
    match (promise, access) {
        (Promise::ReadOnly, Access::Write | Access::Atomic)
        | (Promise::WriteOnly, Access::Read | Access::Atomic) => true,
        (Promise::ReadOnly, Access::Read) | (Promise::WriteOnly, Access::Write) => false,
    }
}

struct PromiseObserver<'a> {
    view: View<'a>,
    ranges: Ranges,
    /// Instructions and the allocations that they should not have touched so.
    reported: Mutex<HashSet<(u32, u64)>>,
}

impl Observer for PromiseObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
    }

    fn is_quiet(&self, memory: Range<u64>) -> bool {
        !self.concerns(&memory, Access::Read)
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(PromiseWatch(self, Forms::default()))
    }
}

struct PromiseWatch<'w, 'a>(&'w PromiseObserver<'a>, Forms);

impl Watch for PromiseWatch<'_, '_> {
    fn patterned(&mut self, event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        let kept = |memory: Range<u64>| !self.0.concerns(&memory, event.access);
        let range = self.1.span(event);
        if event.space == Space::Global && !range.is_some_and(kept) {
            event.with_addresses(|event| self.access(event));
        }
        None
    }

    fn access(&mut self, event: &AccessEvent<'_>) {
        if event.space != Space::Global {
            return;
        }
        for lane in (0..32usize).filter(|l| event.mask >> l & 1 != 0) {
            let address = event.addresses[lane];
            let Some((&base, &(end, promise))) = self.0.ranges.range(..=address).next_back() else {
                continue;
            };
            if address < end && breaks(promise, event.access) {
                self.0.report(event, lane, base, promise);
            }
        }
    }
}

impl PromiseObserver<'_> {
    /// Whether such an access of a part of `memory` breaks a promise.
    fn concerns(&self, memory: &Range<u64>, access: Access) -> bool {
        let before = self.ranges.range(..memory.end).rev();
        // Allocations do not overlap.
        let mut inside = before.take_while(|(_, (end, _))| *end > memory.start);
        inside.any(|(_, &(_, promise))| breaks(promise, access))
    }

    fn report(&self, event: &AccessEvent<'_>, lane: usize, base: u64, promise: Promise) {
        let (pc, view) = (event.at.pc, &self.view);
        if !self.reported.lock().insert((pc, base)) {
            return view.sink.again(Check::Memory, view.kernel(), (pc, pc), 1);
        }
        let (code, flag, done) = match promise {
            Promise::ReadOnly => ("memory/read-only-buffer", "CL_MEM_READ_ONLY", "written"),
            Promise::WriteOnly => ("memory/write-only-buffer", "CL_MEM_WRITE_ONLY", "read"),
        };
        let finding = Finding {
            check: Check::Memory,
            severity: Severity::Error,
            code: code.to_owned(),
            kernel: view.kernel().to_owned(),
            message: format!("a buffer that was created with {flag} is {done} by a kernel"),
            cure: "create the buffer with CL_MEM_READ_WRITE, or pass the one that was meant"
                .to_owned(),
            space: Some(view.space_name(event.space).to_owned()),
            address: Some(event.addresses[lane]),
            bytes: Some(event.bytes),
            object: view.object(event.space, event.addresses[lane]),
            words: view.words,
            actors: vec![Actor {
                action: verb(event.access).to_owned(),
                block: event.at.ctaid,
                thread: Some(view.tid(event.at.warp as u16, lane as u8)),
                host: false,
                source: view.source(pc),
            }],
            count: 1,
        };
        view.sink.add(finding, Some((pc, pc)));
    }
}
