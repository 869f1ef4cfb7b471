// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual devices and their primary contexts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use margay_arch::Gpu;
use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::settings;

/// One virtual GPU of the process.
pub struct Device {
    /// As the program counts them.
    pub ordinal: u32,
    pub gpu: Gpu,
    pub uuid: [u8; 16],
    used: AtomicU64,
    primary: Mutex<Primary>,
}

struct Primary {
    /// The handle stays the same for the life of the process, as on a card.
    handle: Handle,
    context: Option<Arc<Context>>,
    references: u32,
    flags: u32,
}

impl Device {
    pub(crate) fn new(ordinal: u32, physical: u32, gpu: Gpu) -> Device {
        let primary = Primary { handle: handle::fresh(), context: None, references: 0, flags: 0 };
        Device {
            ordinal,
            gpu,
            uuid: settings::uuid(physical, &gpu),
            used: AtomicU64::new(0),
            primary: Mutex::new(primary),
        }
    }

    /// Bytes of device memory.
    pub fn total_memory(&self) -> u64 {
        self.gpu.card.memory_bytes.value
    }

    pub fn free_memory(&self) -> u64 {
        self.total_memory().saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Takes `bytes` of the card's memory into account.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<()> {
        let total = self.total_memory();
        let take = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= total);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(CudaError::OutOfMemory),
        }
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// `cuDevicePrimaryCtxRetain`.
    pub fn retain_primary(&self) -> Arc<Context> {
        let mut primary = self.primary.lock();
        primary.references += 1;
        if let Some(context) = &primary.context {
            return context.clone();
        }
        let context = Context::create(primary.handle, self.ordinal, true, primary.flags);
        primary.context = Some(context.clone());
        context
    }

    /// `cuDevicePrimaryCtxRelease`: the last release destroys it.
    pub fn release_primary(&self) -> Result<()> {
        let mut primary = self.primary.lock();
        primary.references = primary.references.checked_sub(1).ok_or(CudaError::InvalidContext)?;
        if primary.references > 0 {
            return Ok(());
        }
        if let Some(context) = primary.context.take() {
            context.destroy();
        }
        Ok(())
    }

    /// `cuDevicePrimaryCtxReset`: frees everything, whoever still holds it.
    pub fn reset_primary(&self) {
        let mut primary = self.primary.lock();
        primary.references = 0;
        if let Some(context) = primary.context.take() {
            context.destroy();
        }
    }

    /// Flags, and whether the primary context exists.
    pub fn primary_state(&self) -> (u32, bool) {
        let primary = self.primary.lock();
        (primary.flags, primary.context.is_some())
    }

    /// The primary context, if it exists now.
    pub fn active_primary(&self) -> Option<Arc<Context>> {
        self.primary.lock().context.clone()
    }

    /// `cuDevicePrimaryCtxSetFlags`.
    pub fn set_primary_flags(&self, flags: u32) {
        let mut primary = self.primary.lock();
        primary.flags = flags;
        if let Some(context) = &primary.context {
            context.flags.store(flags, Ordering::Relaxed);
        }
    }
}
