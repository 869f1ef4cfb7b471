// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocations that were freed, to name what is used after that.

use std::collections::{BTreeMap, VecDeque};

use margay_exec::mem::AllocationInfo;

/// Most that are remembered.
const MOST: usize = 4096;

/// Freed allocations by address, unless something else is there now. No two overlap, as none that live do.
#[derive(Debug, Default)]
pub struct Freed {
    by_base: BTreeMap<u64, AllocationInfo>,
    /// Bases and numbers in the order in which they were freed; of some, something else is there now.
    order: VecDeque<(u64, u64)>,
}

impl Freed {
    /// Forgets what was where something is now: `gone` has their numbers.
    pub fn allocated(&mut self, now: &AllocationInfo, mut gone: impl FnMut(u64)) {
        let end = now.base.saturating_add(now.size.max(1));
        while let Some((&base, last)) = self.by_base.range(..end).next_back()
            && base.saturating_add(last.size) > now.base
        {
            gone(last.id);
            self.by_base.remove(&base);
        }
    }

    /// Remembers one more: `gone` has the numbers of those that are forgotten for it.
    pub fn add(&mut self, allocation: &AllocationInfo, mut gone: impl FnMut(u64)) {
        if let Some(before) = self.by_base.insert(allocation.base, allocation.clone()) {
            gone(before.id);
        }
        self.order.push_back((allocation.base, allocation.id));
        if self.order.len() > MOST
            && let Some((base, id)) = self.order.pop_front()
            && self.by_base.get(&base).is_some_and(|f| f.id == id)
        {
            gone(id);
            self.by_base.remove(&base);
        }
    }

    /// The freed allocation that was at an address.
    pub fn at(&self, address: u64) -> Option<AllocationInfo> {
        let (base, last) = self.by_base.range(..=address).next_back()?;
        (address - base < last.size).then(|| last.clone())
    }
}

#[cfg(test)]
mod tests {
    use margay_exec::mem::{AddressSpace, AllocKind};

    use super::*;

    #[test]
    fn the_oldest_and_what_was_replaced_are_forgotten() {
        let space = AddressSpace::new().unwrap();
        let base = space.alloc(64, 16, AllocKind::Device, 0, "a").unwrap();
        let real = space.find(base).unwrap();
        let other = |n: u64| AllocationInfo { base: 0x1000 + 64 * n, id: n, ..real.clone() };
        let mut freed = Freed::default();
        let mut gone = Vec::new();
        (0..=MOST as u64).for_each(|n| freed.add(&other(n), |id| gone.push(id)));
        assert_eq!(freed.at(0x1000), None);
        assert_eq!(freed.at(0x1000 + 64 + 63).map(|f| f.id), Some(1));
        // Two are overlapped by what is there now.
        let now = AllocationInfo { base: 0x1000 + 96, size: 64, ..real.clone() };
        freed.allocated(&now, |id| gone.push(id));
        gone.sort();
        assert_eq!(gone, [0, 1, 2]);
        assert_eq!([1, 2, 3].map(|n| freed.at(0x1000 + 64 * n).is_some()), [false, false, true]);
    }
}
