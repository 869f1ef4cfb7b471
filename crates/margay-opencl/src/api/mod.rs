// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL's functions, by noun. Each validates in the order of the specification's list of errors, does one
//! thing, and returns.
//!
//! The functions are `unsafe` with one contract, Khronos's: pointers are null or lead to what the
//! specification says. Null is checked, everything that can be checked is.

#![allow(non_snake_case, reason = "Khronos's names")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the module's header")]
#![allow(clippy::too_many_arguments, reason = "Khronos's signatures")]

pub mod buffer_transfer;
pub mod build;
pub mod context;
pub mod device;
pub mod event;
pub mod image;
pub mod image_transfer;
pub mod kernel;
pub mod launch;
pub mod memory;
pub mod platform;
pub mod program;
pub mod queue;
pub mod sampler;
pub mod svm;
pub mod transfer;

use std::sync::Arc;

use opencl_sys::{CL_INVALID_VALUE, cl_command_queue, cl_command_type, cl_event, cl_uint};

use crate::Result;
use crate::answer::{list, offer};
use crate::command::{self, Event, Work};
use crate::object::{self, Object};
use crate::queue::{Order, Queue};

/// A C string, which need not be UTF-8.
///
/// # Safety
/// Null, or NUL-terminated.
unsafe fn text(string: *const std::ffi::c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest.
    let bytes = unsafe { std::ffi::CStr::from_ptr(string) }.to_bytes();
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Gives handles out as `num_entries, list, num_ret` queries do.
///
/// # Safety
/// As the module's header says.
unsafe fn give_list<T: Copy>(
    items: &[T],
    entries: cl_uint,
    to: *mut T,
    count: *mut cl_uint,
) -> Result<()> {
    if (entries == 0 && !to.is_null()) || (to.is_null() && count.is_null()) {
        return Err(CL_INVALID_VALUE);
    }
    if !to.is_null() {
        for (i, item) in items.iter().take(entries as usize).enumerate() {
            // SAFETY: the program gave room for `entries`.
            unsafe { to.add(i).write_unaligned(*item) };
        }
    }
    // SAFETY: null or writable.
    unsafe { offer(count, items.len() as cl_uint) };
    Ok(())
}

/// What every enqueue function ends with.
struct Enqueue {
    queue: Arc<Queue>,
    wait: Vec<Arc<Event>>,
    event: *mut cl_event,
    blocking: bool,
    order: Order,
}

impl Enqueue {
    /// Checks the queue and the wait list.
    ///
    /// # Safety
    /// As the module's header says.
    unsafe fn new(
        queue: cl_command_queue,
        count: cl_uint,
        wait: *const cl_event,
        event: *mut cl_event,
    ) -> Result<Enqueue> {
        let queue = object::get::<Queue>(queue)?;
        // SAFETY: the caller promises it.
        let wait = unsafe { command::wait_list(&queue.context, count, wait)? };
        Ok(Enqueue { queue, wait, event, blocking: false, order: Order::Plain })
    }

    fn blocking(mut self, blocking: opencl_sys::cl_bool) -> Enqueue {
        self.blocking = blocking != 0;
        self
    }

    fn order(mut self, order: Order) -> Enqueue {
        self.order = order;
        self
    }

    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for a blocking call whose list has failed already.
    fn check_blocking(&self) -> Result<()> {
        match self.blocking && self.wait.iter().any(|e| e.status() < 0) {
            true => Err(opencl_sys::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
            false => Ok(()),
        }
    }

    /// Makes the command, gives its event out, and waits if the call blocks.
    fn push(self, kind: cl_command_type, work: Work) -> Result<()> {
        self.check_blocking()?;
        let event = command::enqueue(&self.queue, kind, &self.wait, self.order, work);
        if !self.event.is_null() {
            object::retain::<Event>(event.handle())?;
            // SAFETY: not null, and the program gave room for it.
            unsafe { self.event.write_unaligned(event.handle()) };
        }
        if !self.blocking {
            return Ok(());
        }
        match event.wait() {
            status if status < 0 => {
                self.queue.forget_failures();
                Err(status)
            }
            // An earlier command's failure must not pass as good data.
            _ => self.queue.take_failure(),
        }
    }
}

/// A three-element array of the program's.
///
/// # Safety
/// Null, or three elements.
unsafe fn triple(of: *const usize) -> Result<[u64; 3]> {
    // SAFETY: the caller promises it.
    let values = unsafe { list(of, 3) }.ok_or(CL_INVALID_VALUE)?;
    Ok([values[0] as u64, values[1] as u64, values[2] as u64])
}
