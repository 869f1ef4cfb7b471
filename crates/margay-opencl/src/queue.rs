// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command queues: which commands a new one must wait for.
//!
//! Invariant: of an in-order queue, a command starts when the one before it has ended, however it ended. Of
//! an out-of-order queue, only barriers and wait lists order.

use std::sync::Arc;

use opencl_sys::{
    CL_INVALID_COMMAND_QUEUE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE,
    cl_bitfield, cl_int,
};
use parking_lot::Mutex;

use crate::Result;
use crate::command::{Event, telling};
use crate::context::Context;
use crate::device::Device;
use crate::object::{Id, Object, Table};

/// How a command takes its place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Plain,
    /// Waits for all that is in the queue (a marker without a list).
    Marker,
    /// Later commands wait for it; `all`: it waits for all that is in the queue.
    Barrier {
        all: bool,
    },
}

#[derive(Default)]
struct State {
    /// Commands that have not ended, in order.
    pending: Vec<Arc<Event>>,
    /// The last barrier, while it has not ended.
    barrier: Option<Arc<Event>>,
    /// Errors of commands (by the number of their handle) that ended badly, until a call has reported them.
    failures: Vec<(usize, cl_int)>,
}

/// A command queue.
pub struct Queue {
    id: Id,
    pub context: Arc<Context>,
    pub device: Arc<Device>,
    properties: Mutex<cl_bitfield>,
    /// `clCreateCommandQueueWithProperties`'s list with its zero; `None` from `clCreateCommandQueue`.
    pub listed: Option<Vec<u64>>,
    state: Mutex<State>,
}

static QUEUES: Table<Queue> = Table::new();

impl Object for Queue {
    const INVALID: cl_int = CL_INVALID_COMMAND_QUEUE;
    // Its events hold it, and are no use of it.
    const USE_KEEPS_HANDLE: bool = false;
    fn table() -> &'static Table<Self> {
        &QUEUES
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

impl Queue {
    pub fn new(
        id: Id,
        context: Arc<Context>,
        device: Arc<Device>,
        properties: cl_bitfield,
        listed: Option<Vec<u64>>,
    ) -> Queue {
        let properties = Mutex::new(properties);
        Queue { id, context, device, properties, listed, state: Mutex::default() }
    }

    pub fn properties(&self) -> cl_bitfield {
        *self.properties.lock()
    }

    pub fn set_property(&self, mask: cl_bitfield, on: bool) {
        let mut properties = self.properties.lock();
        *properties = if on { *properties | mask } else { *properties & !mask };
    }

    pub fn profiles(&self) -> bool {
        self.properties() & CL_QUEUE_PROFILING_ENABLE != 0
    }

    fn in_order(&self) -> bool {
        self.properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0
    }

    /// Puts a command's event in its place; what it must wait for comes out.
    pub fn place(&self, event: &Arc<Event>, order: Order) -> Vec<Arc<Event>> {
        let mut state = self.state.lock();
        let mut after = Vec::new();
        match order {
            _ if self.in_order() => after.extend(state.pending.last().cloned()),
            Order::Marker | Order::Barrier { all: true } => after.clone_from(&state.pending),
            Order::Plain | Order::Barrier { all: false } => after.extend(state.barrier.clone()),
        }
        state.pending.push(event.clone());
        if matches!(order, Order::Barrier { .. }) {
            state.barrier = Some(event.clone());
        }
        after
    }

    /// A command of this queue has ended.
    pub fn ended(&self, event: &Event) {
        let mut state = self.state.lock();
        let is = |e: &Arc<Event>| std::ptr::eq(&**e, event);
        // Dropped outside the lock: the last reference may be one of these.
        let at = state.pending.iter().position(is);
        let removed = at.map(|i| state.pending.remove(i));
        let barrier =
            if state.barrier.as_ref().is_some_and(is) { state.barrier.take() } else { None };
        drop(state);
        drop((removed, barrier));
    }

    /// A command of this queue is about to end badly.
    pub fn failed(&self, event: &Event, status: cl_int) {
        self.state.lock().failures.push((event.handle().addr(), status));
    }

    /// A call has told the program of this command's error.
    pub fn told(&self, event: &Event) {
        let handle = event.handle().addr();
        self.state.lock().failures.retain(|(of, _)| *of != handle);
    }

    /// Waits for all commands; the first error since the last such call comes out.
    pub fn finish(&self) -> Result<()> {
        let pending = self.state.lock().pending.clone();
        for event in &pending {
            event.wait();
        }
        self.take_failure()
    }

    /// The first error of a command that no call has reported; the program has been told of all.
    pub fn take_failure(&self) -> Result<()> {
        let mut state = self.state.lock();
        let first = state.failures.first().map_or(Ok(()), |(_, error)| Err(*error));
        // What the context's function hears is still to be told to the one that waits outside.
        if !telling() {
            state.failures.clear();
        }
        first
    }

    /// After a blocking command reported its own error.
    pub fn forget_failures(&self) {
        self.state.lock().failures.clear();
    }
}
