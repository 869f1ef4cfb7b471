// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies and fills, in one to three dimensions, at once or in stream order.
//!
//! Invariant: device addresses are checked against the allocations before a byte moves. Pageable
//! host memory may be anywhere in the program. What is asynchronous follows the driver API's
//! "API synchronization behavior": pageable sources are read before the call returns, and copies
//! to pageable memory have ended when it does.

use std::sync::Arc;

use margay_exec::mem::AllocKind;
use margay_observe::tool::Wanted;

use crate::activity;
use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::graph::NodeWork;
use crate::handle::Handle;
use crate::held;
use crate::runtime::{self, Runtime};
use crate::stream::Stream;
use crate::watch;

/// What the API says an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Must lie in an allocation.
    Device,
    /// The program's own memory; pinned and managed memory is welcome too.
    Host,
    /// Found out by unified addressing.
    Any,
    /// Texels of an array, whose bounds were checked when the side was made.
    Array,
}

/// One side of a copy. Pitches are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub address: u64,
    pub place: Where,
    /// From row to row.
    pub pitch: u64,
    /// From slice to slice.
    pub slice: u64,
}

impl Side {
    /// A side of a one-dimensional copy.
    pub fn linear(address: u64, place: Where) -> Side {
        Side { address, place, pitch: 0, slice: 0 }
    }
}

/// Bytes a row, rows a slice, slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

impl Extent {
    pub fn linear(bytes: u64) -> Extent {
        Extent { width: bytes, height: 1, depth: 1 }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Bytes from the first to the last that is touched.
    fn span(self, side: &Side) -> Result<u64> {
        let rows = side.pitch.checked_mul(self.height - 1);
        let slices = side.slice.checked_mul(self.depth - 1);
        let sum = rows.zip(slices).and_then(|(r, s)| r.checked_add(s)?.checked_add(self.width));
        sum.ok_or(CudaError::InvalidValue)
    }
}

/// A checked copy.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    to: Side,
    from: Side,
    extent: Extent,
}

/// Checks one side; `true` if it is pageable host memory. The tools are told of what does not pass.
fn check_side(rt: &Runtime, side: &Side, extent: Extent) -> Result<bool> {
    let checked = pageable(rt, side, extent);
    if checked.is_err() {
        let bytes = extent.span(side).unwrap_or(u64::MAX);
        watch::refused(rt, Wanted::Copy, side.address, bytes);
    }
    checked
}

fn pageable(rt: &Runtime, side: &Side, extent: Extent) -> Result<bool> {
    let span = extent.span(side)?;
    if extent.height > 1 && side.pitch < extent.width {
        return Err(CudaError::InvalidValue);
    }
    if side.address == 0 || side.address.checked_add(span).is_none() {
        return Err(CudaError::InvalidValue);
    }
    if side.place == Where::Array {
        return Ok(false);
    }
    match rt.allocation(side.address) {
        Some(_) if rt.records.holds(side.address, span) => Ok(false),
        // Registered memory that goes on as pageable memory of the program.
        Some(record) if record.origin.is_host() && side.place != Where::Device => Ok(true),
        Some(_) => Err(CudaError::InvalidValue),
        None => match side.place {
            Where::Device => Err(CudaError::InvalidValue),
            // Where allocations are made, but none is: freed memory, or beyond an end.
            Where::Host | Where::Any if rt.memory.in_arena(side.address) => {
                Err(CudaError::InvalidValue)
            }
            Where::Host | Where::Any | Where::Array => Ok(true),
        },
    }
}

impl Plan {
    /// Tells the tools of each row.
    pub(crate) fn tell(&self, rt: &Runtime, stream: Handle) {
        if rt.tools.is_empty() {
            return;
        }
        let Extent { width, height, depth } = self.extent;
        for z in 0..depth {
            for y in 0..height {
                let at = |side: &Side| side.address + z * side.slice + y * side.pitch;
                watch::copied(rt, at(&self.to), Some(at(&self.from)), width, stream);
            }
        }
    }

    pub(crate) fn run(&self) {
        for z in 0..self.extent.depth {
            for y in 0..self.extent.height {
                let to = self.to.address + z * self.to.slice + y * self.to.pitch;
                let from = self.from.address + z * self.from.slice + y * self.from.pitch;
                // SAFETY: the range was checked against the allocations, or is host memory that
                // the program vouches for; `ptr::copy` allows overlap.
                unsafe {
                    std::ptr::copy(from as *const u8, to as *mut u8, self.extent.width as usize);
                }
            }
        }
    }

    /// Fills the target's rows with bytes.
    pub(crate) fn fill(&self, rt: &Runtime, stream: Handle, value: Element) {
        for z in 0..self.extent.depth {
            for y in 0..self.extent.height {
                let row = self.to.address + z * self.to.slice + y * self.to.pitch;
                watch::copied(rt, row, None, self.extent.width, stream);
                value.fill(row, self.extent.width / value.size());
            }
        }
    }

    /// Whether the checked sides are still there (an asynchronous free may have come between).
    fn still_valid(&self, rt: &Runtime, pageable: (bool, bool)) -> bool {
        let holds = |side: &Side| {
            side.place == Where::Array
                || self.extent.span(side).is_ok_and(|span| rt.records.holds(side.address, span))
        };
        (pageable.0 || holds(&self.to)) && (pageable.1 || holds(&self.from))
    }
}

/// A copy that a kernel asks for, between allocations of the device; `None` if nothing is to be copied.
pub(crate) fn planned(to: Side, from: Side, extent: Extent) -> Result<Option<Plan>> {
    if extent.is_empty() {
        return Ok(None);
    }
    let rt = runtime::get();
    for side in [&to, &from] {
        let heap = rt.memory.find(side.address).is_some_and(|info| {
            info.kind == AllocKind::Heap
                && extent.span(side).is_ok_and(|span| span <= info.base + info.size - side.address)
        });
        if !heap && check_side(rt, side, extent)? {
            return Err(CudaError::InvalidValue);
        }
    }
    Ok(Some(Plan { to, from, extent }))
}

impl Context {
    /// A copy that has ended when this returns, in the order of `stream`.
    pub fn copy(&self, stream: &Stream, to: Side, from: Side, extent: Extent) -> Result<()> {
        self.check()?;
        if extent.is_empty() {
            return Ok(());
        }
        let rt = runtime::get();
        check_side(rt, &to, extent)?;
        check_side(rt, &from, extent)?;
        stream.forbid_capture()?;
        held::open();
        self.wait_turn(stream);
        self.fifo.flush();
        self.check()?;
        let plan = Plan { to, from, extent };
        plan.tell(rt, stream.shown());
        let _working = activity::work();
        plan.run();
        Ok(())
    }

    /// A copy in stream order.
    pub fn copy_async(
        self: &Arc<Self>,
        stream: &Stream,
        to: Side,
        from: Side,
        extent: Extent,
    ) -> Result<()> {
        self.check()?;
        if extent.is_empty() {
            return Ok(());
        }
        let rt = runtime::get();
        let to_pageable = check_side(rt, &to, extent)?;
        let from_pageable = check_side(rt, &from, extent)?;
        let context = self.handle;
        if stream.intercept(|| NodeWork::Copy { context, to, from, extent })?.is_some() {
            return Ok(());
        }
        if to_pageable {
            return self.copy(stream, to, from, extent);
        }
        let mut plan = Plan { to, from, extent };
        let staged = from_pageable.then(|| stage(&mut plan));
        let handle = stream.shown();
        let context = self.clone();
        let work = move || {
            if context.check().is_err() {
                return;
            }
            let pageable = (false, staged.is_some());
            match plan.still_valid(runtime::get(), pageable) {
                true => {
                    plan.tell(runtime::get(), handle);
                    plan.run();
                }
                false => context.fail(CudaError::IllegalAddress),
            }
            drop(staged);
        };
        self.push(stream, None, Box::new(work));
        self.after_enqueue(stream)
    }

    /// A graph's copy, in stream order: pageable memory is read and written when it runs.
    pub(crate) fn copy_in_order(
        self: &Arc<Self>,
        stream: &Stream,
        to: Side,
        from: Side,
        extent: Extent,
    ) -> Result<()> {
        self.check()?;
        if extent.is_empty() {
            return Ok(());
        }
        let rt = runtime::get();
        let pageable = (check_side(rt, &to, extent)?, check_side(rt, &from, extent)?);
        let plan = Plan { to, from, extent };
        let context = self.clone();
        let handle = stream.shown();
        let work = move || {
            if context.check().is_err() {
                return;
            }
            let rt = runtime::get();
            match plan.still_valid(rt, pageable) {
                true => {
                    plan.tell(rt, handle);
                    plan.run();
                }
                false => context.fail(CudaError::IllegalAddress),
            }
        };
        self.push(stream, None, Box::new(work));
        self.after_enqueue(stream)
    }

    /// Fills rows with a repeated element of 1, 2 or 4 bytes. `width` counts elements.
    pub fn fill(
        self: &Arc<Self>,
        stream: &Stream,
        address: u64,
        pitch: u64,
        value: Element,
        (width, height): (u64, u64),
        blocking: bool,
    ) -> Result<()> {
        self.check()?;
        let bytes = width.checked_mul(value.size()).ok_or(CudaError::InvalidValue)?;
        let extent = Extent { width: bytes, height, depth: 1 };
        if extent.is_empty() {
            return Ok(());
        }
        let aligned = |v: u64| v.is_multiple_of(value.size());
        if !aligned(address) || (height > 1 && !aligned(pitch)) {
            return Err(CudaError::InvalidValue);
        }
        let side = Side { address, place: Where::Device, pitch, slice: 0 };
        check_side(runtime::get(), &side, extent)?;
        if blocking {
            stream.forbid_capture()?;
        } else {
            let (context, size) = (self.handle, (width, height));
            let node = || NodeWork::Fill { context, address, pitch, value, size };
            if stream.intercept(node)?.is_some() {
                return Ok(());
            }
        }
        let context = self.clone();
        let handle = stream.shown();
        let work = move || {
            if context.check().is_err() {
                return;
            }
            let plan = Plan { to: side, from: side, extent };
            if !plan.still_valid(runtime::get(), (false, true)) {
                return context.fail(CudaError::IllegalAddress);
            }
            for y in 0..height {
                watch::copied(runtime::get(), address + y * pitch, None, extent.width, handle);
                value.fill(address + y * pitch, width);
            }
        };
        if blocking {
            self.wait_turn(stream);
            self.check()?;
            work();
            return self.check();
        }
        self.push(stream, None, Box::new(work));
        self.after_enqueue(stream)
    }

    /// `CUDA_LAUNCH_BLOCKING`.
    pub(crate) fn after_enqueue(&self, stream: &Stream) -> Result<()> {
        if runtime::get().settings.launch_blocking {
            stream.wait();
            self.fifo.flush();
            return self.check();
        }
        Ok(())
    }
}

/// Reads a pageable source now, and makes the plan copy from what was read.
fn stage(plan: &mut Plan) -> Vec<u8> {
    let Extent { width, height, depth } = plan.extent;
    let mut bytes = Vec::with_capacity((width * height * depth) as usize);
    for z in 0..depth {
        for y in 0..height {
            let row = plan.from.address + z * plan.from.slice + y * plan.from.pitch;
            // SAFETY: host memory of the program, which it vouches for by passing it.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(row as *const u8, width as usize)
            });
        }
    }
    plan.from.address = bytes.as_ptr() as u64;
    plan.from.pitch = width;
    plan.from.slice = width * height;
    bytes
}

/// What a fill repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Byte(u8),
    Half(u16),
    Word(u32),
}

impl Element {
    pub(crate) fn size(self) -> u64 {
        match self {
            Element::Byte(_) => 1,
            Element::Half(_) => 2,
            Element::Word(_) => 4,
        }
    }

    fn fill(self, address: u64, count: u64) {
        let count = count as usize;
        // SAFETY: the caller checked that the row lies in an allocation and is aligned.
        unsafe {
            match self {
                Element::Byte(v) => std::ptr::write_bytes(address as *mut u8, v, count),
                Element::Half(v) => {
                    std::slice::from_raw_parts_mut(address as *mut u16, count).fill(v);
                }
                Element::Word(v) => {
                    std::slice::from_raw_parts_mut(address as *mut u32, count).fill(v);
                }
            }
        }
    }
}
