// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of the API, as findings tell of them: which one is at fault, and which allocated and freed the memory.

use std::collections::HashMap;

use margay_exec::mem::{AllocKind, AllocationInfo};
use parking_lot::Mutex;

use super::finding::{ALLOCATED, Actor, FREED, Finding, Source};
use crate::tool::{ApiCall, Caller, HostPlace};
use crate::words::Words;

/// Who allocated and freed memory.
#[derive(Debug, Default)]
struct Life {
    allocated: Option<Caller>,
    freed: Option<Caller>,
}

/// The lives of allocations, by their numbers.
#[derive(Debug, Default)]
pub struct Lives(Mutex<HashMap<u64, Life>>);

impl Lives {
    pub fn allocated(&self, allocation: &AllocationInfo, caller: Caller) {
        if is_asked_for(allocation) {
            self.0.lock().entry(allocation.id).or_default().allocated = Some(caller);
        }
    }

    pub fn freed(&self, allocation: &AllocationInfo, caller: Caller) {
        if let Some(life) = self.0.lock().get_mut(&allocation.id) {
            life.freed = Some(caller);
        }
    }

    /// Nobody will ask for it any more.
    pub fn forget(&self, id: u64) {
        self.0.lock().remove(&id);
    }

    /// Has the finding tell where the memory that it is about came from, and went.
    pub fn tell(&self, finding: &mut Finding, allocation: &AllocationInfo) {
        let (allocated, freed) = match self.0.lock().get(&allocation.id) {
            Some(life) => (life.allocated.clone(), life.freed.clone()),
            None => return,
        };
        // Lines are looked up without the lock.
        for (action, caller) in [(ALLOCATED, allocated), (FREED, freed)] {
            if let Some(place) = caller.and_then(|caller| caller.call().place) {
                finding.actors.push(Actor::host(action, source(place)));
            }
        }
    }
}

/// Whether the program asked for it by a call that is named after it.
fn is_asked_for(allocation: &AllocationInfo) -> bool {
    let is_call = allocation.label.starts_with("cu") || allocation.label.starts_with("cl");
    is_call && allocation.kind != AllocKind::Constant
}

fn source(place: HostPlace) -> Source {
    let HostPlace { function, file, line, column } = place;
    Source { file, line, column, function, ..Source::default() }
}

/// Has the finding tell which call was refused, and where.
pub fn tell(finding: &mut Finding, caller: Option<&Caller>) {
    let Some(ApiCall { name, place }) = caller.map(Caller::call) else { return };
    if name.is_none() && place.is_none() {
        return;
    }
    if name.as_deref().is_some_and(|name| name.starts_with("cl")) {
        finding.words = Words::OpenCl;
    }
    let action = name.as_deref().unwrap_or("call");
    finding.actors.insert(0, Actor::host(action, place.map(source).unwrap_or_default()));
}

#[cfg(test)]
mod tests {
    use margay_exec::mem::devices;

    use super::*;
    use crate::sanitize::memory;
    use crate::tool::{Refusal, Wanted};

    fn allocation(id: u64, label: &str) -> AllocationInfo {
        AllocationInfo {
            base: 0x1000,
            size: 100,
            kind: AllocKind::Device,
            device: 0,
            access: devices::Access::granted(devices::Devices::NONE),
            label: label.into(),
            id,
        }
    }

    fn caller(name: &'static str, line: u32) -> Caller {
        Caller::new(move || {
            let file = Some("a.cu".to_owned());
            let place = HostPlace { file, line, ..HostPlace::default() };
            ApiCall { name: Some(name.to_owned()), place: Some(place) }
        })
    }

    #[test]
    fn calls_and_lives_are_told() {
        let (lives, memory) = (Lives::default(), allocation(1, "cudaMalloc"));
        lives.allocated(&memory, caller("cudaMalloc", 3));
        lives.freed(&memory, caller("cudaFree", 5));
        lives.allocated(&allocation(2, "variable"), caller("cudaLaunchKernel", 4));
        let refusal = Refusal {
            wanted: Wanted::Copy,
            address: 0x1000,
            bytes: 101,
            nearest: Some(memory.clone()),
        };
        let mut finding = memory::refused(&refusal, None);
        tell(&mut finding, Some(&caller("cudaMemcpy", 9)));
        lives.tell(&mut finding, &memory);
        let sides: Vec<_> = finding.sides().map(|a| (a.action.as_str(), a.source.line)).collect();
        assert_eq!(sides, [("cudaMemcpy", 9)]);
        assert_eq!(finding.life(), ["allocated at a.cu:3", "freed at a.cu:5"]);
        // A variable has nobody who allocated it; nor what is forgotten.
        let before = finding.clone();
        lives.tell(&mut finding, &allocation(2, "variable"));
        lives.forget(1);
        lives.tell(&mut finding, &memory);
        assert_eq!(finding, before);
    }
}
