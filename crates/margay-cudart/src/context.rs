// SPDX-License-Identifier: MIT OR Apache-2.0
//! The context that a thread's calls work in: the driver's current one if there is any, else the primary
//! context of the thread's device, made when it is first needed.
//!
//! Invariant: a primary context is retained once a process. After a reset, threads that still have the
//! old one current move to the new one at their next call.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Mutex;

use crate::cu;
use crate::driver;
use crate::error::{Error, Result, check};
use crate::sys;

/// A device's primary context, and how often it was reset.
#[derive(Clone, Copy, Default)]
struct Primary {
    /// The handle as a number; 0 if not retained.
    context: usize,
    resets: u32,
}

static PRIMARIES: Mutex<Vec<Primary>> = Mutex::new(Vec::new());

thread_local! {
    /// The device that the thread chose; 0 if it never did.
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// The primary context that we made current here last, with its device and count of resets.
    static MADE_CURRENT: Cell<(usize, i32, u32)> = const { Cell::new((0, 0, 0)) };
}

/// The number of devices; an error if there is none.
pub fn device_count() -> Result<i32> {
    driver::init()?;
    let mut count = 0;
    // SAFETY: `count` may be written.
    check(unsafe { cu::cuDeviceGetCount(&mut count) })?;
    Ok(count)
}

/// The ordinal as a driver's device, if there is such a device.
pub fn device(ordinal: i32) -> Result<cu::CUdevice> {
    if !(0..device_count()?).contains(&ordinal) {
        return Err(Error(sys::cudaErrorInvalidDevice));
    }
    let mut device = 0;
    // SAFETY: `device` may be written.
    check(unsafe { cu::cuDeviceGet(&mut device, ordinal) })?;
    Ok(device)
}

fn with_primary<T>(ordinal: i32, work: impl FnOnce(&mut Primary) -> T) -> T {
    let mut all = PRIMARIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let at = usize::try_from(ordinal).unwrap_or(0);
    if all.len() <= at {
        all.resize(at + 1, Primary::default());
    }
    work(&mut all[at])
}

/// The primary context of a device, retained.
pub fn primary(ordinal: i32) -> Result<cu::CUcontext> {
    retained(ordinal).map(|primary| std::ptr::with_exposed_provenance_mut(primary.context))
}

fn retained(ordinal: i32) -> Result<Primary> {
    let device = device(ordinal)?;
    with_primary(ordinal, |primary| {
        if primary.context == 0 {
            let mut context = null_mut();
            // SAFETY: `context` may be written.
            check(unsafe { cu::cuDevicePrimaryCtxRetain(&mut context, device) })?;
            primary.context = context.expose_provenance();
        }
        Ok(*primary)
    })
}

fn make_current(ordinal: i32) -> Result<()> {
    let primary = retained(ordinal)?;
    let context = std::ptr::with_exposed_provenance_mut(primary.context);
    // SAFETY: the context was retained.
    check(unsafe { cu::cuCtxSetCurrent(context) })?;
    MADE_CURRENT.with(|made| made.set((primary.context, ordinal, primary.resets)));
    Ok(())
}

fn current() -> Result<Option<cu::CUcontext>> {
    let mut context = null_mut();
    // SAFETY: `context` may be written.
    check(unsafe { cu::cuCtxGetCurrent(&mut context) })?;
    if context.is_null() {
        return Ok(None);
    }
    let (made, ordinal, resets) = MADE_CURRENT.with(Cell::get);
    let was_reset = made == context.expose_provenance()
        && with_primary(ordinal, |primary| primary.resets != resets);
    Ok(if was_reset { None } else { Some(context) })
}

/// Makes sure that the thread has a context, and gives it.
pub fn ensure() -> Result<cu::CUcontext> {
    driver::init()?;
    if let Some(context) = current()? {
        return Ok(context);
    }
    make_current(DEVICE.with(Cell::get))?;
    current()?.ok_or(Error(sys::cudaErrorDeviceUninitialized))
}

/// `cudaSetDevice`: since CUDA 12 it makes the primary context at once.
pub fn set_device(ordinal: i32) -> Result<()> {
    device(ordinal)?;
    DEVICE.with(|device| device.set(ordinal));
    make_current(ordinal)
}

/// The ordinal of the device that the thread's next call works on.
pub fn current_device() -> Result<i32> {
    driver::init()?;
    if current()?.is_some() {
        let mut device = 0;
        // SAFETY: `device` may be written.
        check(unsafe { cu::cuCtxGetDevice(&mut device) })?;
        return Ok(device);
    }
    Ok(DEVICE.with(Cell::get))
}

/// Whether the device's primary context exists.
pub fn is_active(ordinal: i32) -> Result<bool> {
    let device = device(ordinal)?;
    let (mut flags, mut active) = (0, 0);
    // SAFETY: both may be written.
    check(unsafe { cu::cuDevicePrimaryCtxGetState(device, &mut flags, &mut active) })?;
    Ok(active != 0)
}

/// `cudaDeviceReset`: destroys the primary context of the thread's device.
pub fn reset() -> Result<()> {
    let ordinal = current_device()?;
    let device = device(ordinal)?;
    with_primary(ordinal, |primary| {
        if primary.context == 0 {
            return Ok(());
        }
        // SAFETY: plain calls; the reset takes the retained count along.
        unsafe {
            check(cu::cuDevicePrimaryCtxReset_v2(device))?;
            primary.context = 0;
            primary.resets += 1;
            check(cu::cuCtxSetCurrent(null_mut()))
        }
    })
}
