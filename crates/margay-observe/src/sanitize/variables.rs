// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of shared memory that leave the variable which their address is computed from, and come to another one of the
//! block's: nothing faults there, on a card neither.

use std::collections::HashSet;
use std::ops::Range;

use margay_exec::observe::{AccessEvent, Interest, Observer, Watch};
use margay_exec::variables::VariableSite;
use margay_ir::Space;
use parking_lot::Mutex;

use super::finding::{Actor, Check, Finding, Severity};
use super::memory::verb;
use super::view::View;

/// Watches a launch of a kernel with variables in shared memory.
pub struct VariableObserver<'a> {
    view: View<'a>,
    reported: Mutex<HashSet<u32>>,
}

impl<'a> VariableObserver<'a> {
    /// `None` if no access can leave its variable and stay in the block's shared memory.
    pub fn new(view: View<'a>) -> Option<VariableObserver<'a>> {
        let all = u64::from(view.shared_bytes);
        let is_all = |site: &VariableSite| site.first == 0 && site.end >= all;
        let only = view.program.variable_sites().iter().all(is_all);
        (!only).then(|| VariableObserver { view, reported: Mutex::default() })
    }

    fn report(&self, event: &AccessEvent<'_>) {
        let (view, pc) = (&self.view, event.at.pc);
        let times = u64::from(event.mask.count_ones());
        if !self.reported.lock().insert(pc) {
            return view.sink.again(Check::Memory, view.kernel(), (pc, pc), times);
        }
        let sites = view.program.variable_sites();
        let Some(site) = sites.iter().find(|site| site.pc == pc) else { return };
        let lane = event.mask.trailing_zeros() as usize & 31;
        let address = event.addresses[lane];
        let words = view.words;
        let name = view.object(Space::Shared, site.first).unwrap_or_default();
        let name = name.split(", byte").next().unwrap_or_default();
        let size = site.end.min(view.shared_bytes.into()) - site.first;
        let distance = match address.checked_sub(site.first) {
            None => format!("{} bytes before the start", site.first - address),
            Some(at) if at < size => {
                format!("{} bytes past the end", at + u64::from(event.bytes) - size)
            }
            Some(at) if at == size => "right past the end".to_owned(),
            Some(at) => format!("{} bytes past the end", at - size),
        };
        let there = match view.object(Space::Shared, address) {
            Some(other) => format!(", in {other}"),
            None => String::new(),
        };
        let space = view.space_name(Space::Shared);
        let finding = Finding {
            check: Check::Memory,
            severity: Severity::Error,
            code: "memory/shared-out-of-bounds".to_owned(),
            kernel: view.kernel().to_owned(),
            message: format!("{distance} of the {size} bytes of {name}{there}"),
            cure: "check the index against the array's size: what lies beside it is another variable's, and nothing faults"
                .to_owned(),
            space: Some(space.to_owned()),
            address: Some(address),
            bytes: Some(event.bytes),
            object: Some(name.to_owned()),
            words,
            actors: vec![Actor {
                action: verb(event.access).to_owned(),
                block: event.at.ctaid,
                thread: Some(view.tid(event.at.warp as u16, lane as u8)),
                host: false,
                source: view.source(pc),
            }],
            count: times,
        };
        view.sink.add(finding, Some((pc, pc)));
    }
}

impl Observer for VariableObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::VARIABLES
    }

    fn is_quiet(&self, _memory: Range<u64>) -> bool {
        true
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(VariableWatch(self))
    }
}

struct VariableWatch<'w, 'a>(&'w VariableObserver<'a>);

impl Watch for VariableWatch<'_, '_> {
    fn beyond(&mut self, event: &AccessEvent<'_>) {
        self.0.report(event);
    }
}
