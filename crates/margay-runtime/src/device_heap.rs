// SPDX-License-Identifier: MIT OR Apache-2.0
//! The heap of device `malloc` and `free`.
//!
//! Invariant: blocks live until they are freed or the context ends, across launches; each is an
//! allocation of its own, so that accesses are held to its exact size. The heap never shrinks or
//! grows: beyond the limit `malloc` gives null.

use std::collections::HashMap;

use margay_exec::mem::AllocKind;
use parking_lot::Mutex;

use crate::{runtime, watch};

struct Blocks {
    /// Size with rounding, by address.
    live: HashMap<u64, u64>,
    used: u64,
    limit: u64,
}

/// See the module's header.
pub struct DeviceHeap {
    device: u32,
    blocks: Mutex<Blocks>,
}

impl DeviceHeap {
    pub fn new(device: u32, limit: u64) -> DeviceHeap {
        DeviceHeap { device, blocks: Mutex::new(Blocks { live: HashMap::new(), used: 0, limit }) }
    }

    pub fn set_limit(&self, limit: u64) {
        self.blocks.lock().limit = limit;
    }

    /// A generic address aligned to 16 bytes or more, or 0.
    pub fn malloc(&self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let Some(rounded) = bytes.checked_next_multiple_of(16) else { return 0 };
        let mut blocks = self.blocks.lock();
        if rounded > blocks.limit.saturating_sub(blocks.used) {
            return 0;
        }
        let memory = &runtime::get().memory;
        match memory.alloc(bytes, 16, AllocKind::Heap, self.device, "device malloc") {
            Ok(address) => {
                blocks.used += rounded;
                blocks.live.insert(address, rounded);
                watch::allocated(runtime::get(), address);
                address
            }
            Err(_) => 0,
        }
    }

    /// False if `address` is not the start of a live block.
    pub fn free(&self, address: u64) -> bool {
        let mut blocks = self.blocks.lock();
        let Some(rounded) = blocks.live.remove(&address) else { return false };
        blocks.used -= rounded;
        watch::freed(runtime::get(), address);
        runtime::get().memory.free(address).is_ok()
    }

    /// Frees everything. For tools it stays allocated: no kernel has freed it.
    pub(crate) fn release(&self) {
        let mut blocks = self.blocks.lock();
        blocks.used = 0;
        for (address, _) in std::mem::take(&mut blocks.live) {
            // Each address came from `alloc` and was not freed since.
            let _ = runtime::get().memory.free(address);
        }
    }
}
