// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a worker has found of memory, by address: objects that kernels allocate are each an allocation of their own, and whoever
//! follows pointers to them meets another with every access. Compiled code reads the table, too.

use margay_codegen::{RECENT, recent};

use super::{AddressSpace, Extent, Reach};

/// The extents that were found last, each at a place that its addresses name.
pub struct Recent {
    /// Of the address space when they were found.
    epoch: u64,
    extents: Box<[Extent; RECENT]>,
}

impl Recent {
    /// Nothing was found yet in an address space of this epoch.
    pub fn new(epoch: u64) -> Recent {
        Recent { epoch, extents: Box::new([Extent::default(); RECENT]) }
    }

    /// The table, where it is as long as the worker lives.
    pub fn table(&self) -> *const Extent {
        self.extents.as_ptr()
    }

    /// Forgets what was found in another epoch.
    pub fn renew(&mut self, epoch: u64) {
        if self.epoch != epoch {
            self.extents.fill(Extent::default());
            self.epoch = epoch;
        }
    }

    /// What the address space says of the `bytes` at an address, where its epoch is `epoch`.
    pub fn extent_for(
        &mut self,
        (memory, epoch): (&AddressSpace, u64),
        (address, bytes): (u64, u64),
        reach: Reach,
    ) -> Extent {
        self.renew(epoch);
        let place = &mut self.extents[recent(address)];
        if !(place.lo <= address && bytes <= place.hi.saturating_sub(address)) {
            *place = memory.extent_for(address, reach);
        }
        *place
    }
}
