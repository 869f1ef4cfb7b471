// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races of a kernel with the host program, which touched managed memory before it waited for the kernel.
//!
//! CUDA C++ Programming Guide, "Coherency and Concurrency": a launch is asynchronous, and the host must synchronise before
//! it touches what the kernel writes, or writes what it reads. What the kernel accesses strongly, and with the scope of the
//! system, is a flag between the two.

use std::collections::HashSet;
use std::ops::Range;

use margay_exec::fault::Access;
use margay_exec::observe::{AccessEvent, Interest, Observer, PatternedEvent, Watch};
use margay_ir::{Attr, Scope, Sem, Space};
use parking_lot::Mutex;

use super::finding::{Actor, Check, Finding, Severity, Source};
use super::form::Forms;
use super::memory::verb;
use super::view::View;
use crate::tool::HostAccess;

/// Watches a launch that the host program did not leave alone.
pub struct HostObserver<'a> {
    view: View<'a>,
    /// By address.
    accesses: Vec<&'a HostAccess>,
    /// Lines of the kernel and accesses that were reported.
    reported: Mutex<HashSet<(u32, usize)>>,
}

impl<'a> HostObserver<'a> {
    /// For a launch in whose time the host program did this, if it did anything.
    pub fn of(accesses: &'a [HostAccess], view: View<'a>) -> Option<Box<dyn Observer + 'a>> {
        let mut accesses: Vec<&HostAccess> = accesses.iter().collect();
        accesses.sort_by_key(|access| access.address);
        let any = !accesses.is_empty();
        any.then(|| Box::new(HostObserver { view, accesses, reported: Mutex::default() }) as _)
    }

    /// What the host did in a range, by number.
    fn within(&self, memory: &Range<u64>) -> Range<usize> {
        let at = |address: u64| self.accesses.partition_point(|a| a.address < address);
        at(memory.start)..at(memory.end)
    }

    /// Whether the instruction is one side of a flag.
    fn is_flag(&self, pc: u32) -> bool {
        let Some(inst) = self.view.program.inst(pc) else { return false };
        match &inst.attr {
            Attr::Mem(mem) | Attr::Atom { mem, .. } => {
                mem.sem == Sem::Volatile || mem.sem != Sem::Weak && mem.scope == Scope::Sys
            }
            _ => false,
        }
    }

    fn report(&self, event: &AccessEvent<'_>, lane: usize, number: usize) {
        let (pc, view, host) = (event.at.pc, &self.view, self.accesses[number]);
        let own = view.source(pc);
        let line = if own.line == 0 { own.ptx_line } else { own.line };
        // A statement that reads and writes is one.
        if !self.reported.lock().insert((line, number)) {
            return;
        }
        let did = if host.writes { "write" } else { "read" };
        let place = host.place.clone().unwrap_or_default();
        let source = Source {
            file: place.file,
            line: place.line,
            column: place.column,
            function: place.function,
            ..Source::default()
        };
        let finding = Finding {
            check: Check::Race,
            severity: Severity::Error,
            code: "race/host".to_owned(),
            kernel: view.kernel().to_owned(),
            message: format!(
                "{} by the kernel and {did} by the host program, which has not waited for the kernel",
                verb(event.access)
            ),
            cure: "wait first: cudaDeviceSynchronize, cudaStreamSynchronize or an event".to_owned(),
            space: Some(view.space_name(event.space).to_owned()),
            address: Some(host.address),
            bytes: None,
            object: view.object(event.space, host.address),
            words: view.words,
            actors: vec![
                Actor {
                    action: verb(event.access).to_owned(),
                    block: event.at.ctaid,
                    thread: Some(view.tid(event.at.warp as u16, lane as u8)),
                    host: false,
                    source: own,
                },
                Actor { action: did.to_owned(), host: true, source, ..Actor::default() },
            ],
            count: 1,
        };
        view.sink.add(finding, None);
    }
}

impl Observer for HostObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
    }

    fn is_quiet(&self, memory: Range<u64>) -> bool {
        // Reads of what the host only read.
        self.within(&memory).all(|n| !self.accesses[n].writes)
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(HostWatch(self, Forms::default()))
    }
}

struct HostWatch<'w, 'a>(&'w HostObserver<'a>, Forms);

impl Watch for HostWatch<'_, '_> {
    /// Local memory is not the host's.
    fn is_settled(&mut self, _ctaid: [u32; 3], _warp: u32) -> bool {
        true
    }

    fn patterned(&mut self, event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        let range = self.1.span(event);
        let far = range.is_some_and(|memory| self.0.within(&memory).is_empty());
        if event.space == Space::Global && !far {
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
            for number in self.0.within(&(address..address.saturating_add(event.bytes.into()))) {
                let host = self.0.accesses[number];
                let conflict = host.writes || event.access != Access::Read;
                if conflict && !self.0.is_flag(event.at.pc) {
                    self.0.report(event, lane, number);
                }
            }
        }
    }
}
