// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of shared or local memory that leave the variable which their address is computed from, and come to another one of
//! the block's, or of the thread's: nothing faults there, on a card neither.

use std::collections::HashSet;
use std::ops::Range;

use margay_exec::observe::{AccessEvent, Interest, Observer, Watch};
use margay_exec::variables::{Variable, VariableSite};
use margay_ir::Space;
use parking_lot::Mutex;

use super::finding::{Actor, Check, Finding, Severity};
use super::memory::verb;
use super::view::View;

/// Watches a launch of a kernel with variables in shared or local memory.
pub struct VariableObserver<'a> {
    view: View<'a>,
    reported: Mutex<HashSet<u32>>,
}

impl<'a> VariableObserver<'a> {
    /// `None` if no access can leave its variable and stay in the block's shared memory.
    pub fn new(view: View<'a>) -> Option<VariableObserver<'a>> {
        let may_leave = view.may_leave_variables();
        may_leave.then(|| VariableObserver { view, reported: Mutex::default() })
    }

    fn report(&self, event: &AccessEvent<'_>, site: &VariableSite) {
        let (view, pc) = (&self.view, event.at.pc);
        let times = u64::from(event.mask.count_ones());
        // Held until the first is told, as others only add to it.
        let mut reported = self.reported.lock();
        if !reported.insert(pc) {
            drop(reported);
            return view.sink.again(Check::Memory, view.kernel(), (pc, pc), times);
        }
        let lane = event.mask.trailing_zeros() as usize & 31;
        let address = event.addresses[lane];
        let words = view.words;
        let space = view.space_name(event.space);
        let (code, size, name, there) = match site.variable {
            // Nobody knows their names.
            Variable::Local(_) => {
                let name = format!("a variable in {space} memory");
                let there = self.other(site, address);
                ("memory/local-out-of-bounds", site.end - site.first, name, there)
            }
            Variable::Global(_) | Variable::Argument(_) => {
                let size = site.end.min(view.shared_bytes.into()) - site.first;
                let name = view.object(Space::Shared, site.first).unwrap_or_default();
                let name = name.split(", byte").next().unwrap_or_default().to_owned();
                let there = view.object(Space::Shared, address);
                ("memory/shared-out-of-bounds", size, name, there)
            }
        };
        let there = there.map_or(String::new(), |other| format!(", in {other}"));
        let many =
            |bytes: u64| if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
        let distance = match address.checked_sub(site.first) {
            None => format!("{} before the start", many(site.first - address)),
            Some(at) if at < size => {
                format!("{} past the end", many(at + u64::from(event.bytes) - size))
            }
            Some(at) if at == size => "right past the end".to_owned(),
            Some(at) => format!("{} past the end", many(at - size)),
        };
        let finding = Finding {
            check: Check::Memory,
            severity: Severity::Error,
            code: code.to_owned(),
            kernel: view.kernel().to_owned(),
            message: format!("{distance} of the {size} bytes of {name}{there}"),
            cure: "check the index against the array's size: what lies beside it is another variable's, and nothing faults"
                .to_owned(),
            space: Some(space.to_owned()),
            address: Some(address),
            bytes: Some(event.bytes),
            object: Some(name),
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

impl VariableObserver<'_> {
    /// Another variable in local memory, which an address is in.
    fn other(&self, site: &VariableSite, address: u64) -> Option<String> {
        let holds =
            |&(at, size): &(u64, u64)| at != site.first && (at..at + size).contains(&address);
        let (at, size) = self.view.program.locals().find(holds)?;
        Some(format!("byte {} of another one of {size} bytes", address - at))
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
    fn beyond(&mut self, event: &AccessEvent<'_>, site: &VariableSite) {
        self.0.report(event, site);
    }
}
