// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command queues: which commands a new one must wait for.
//!
//! Invariant: of an in-order queue, a command starts when the one before it has ended, however it ended. Of
//! an out-of-order queue, only barriers and wait lists order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use margay_runtime::order::{self, Chains, CommandQueue, Place};
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
    /// For who asks what comes before what, ended or not: the commands whose end the host program may not know of, and
    /// the last barrier.
    places: Vec<Arc<Place>>,
    barrier_place: Option<Arc<Place>>,
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
    /// From 1, as they were made.
    number: u64,
    pub chains: Chains,
}

static MADE: AtomicU64 = AtomicU64::new(0);

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
        let number = MADE.fetch_add(1, Ordering::Relaxed) + 1;
        if number > 1 || properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0 {
            order::several();
        }
        let (properties, state, chains) =
            (Mutex::new(properties), Mutex::default(), Chains::default());
        Queue { id, context, device, properties, listed, state, number, chains }
    }

    /// For who asks what comes before what.
    pub fn as_told(&self) -> CommandQueue {
        CommandQueue { number: self.number, in_order: self.in_order() }
    }

    pub fn properties(&self) -> cl_bitfield {
        *self.properties.lock()
    }

    pub fn set_property(&self, mask: cl_bitfield, on: bool) {
        let mut properties = self.properties.lock();
        *properties = if on { *properties | mask } else { *properties & !mask };
        if *properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0 {
            order::several();
        }
    }

    pub fn profiles(&self) -> bool {
        self.properties() & CL_QUEUE_PROFILING_ENABLE != 0
    }

    fn in_order(&self) -> bool {
        self.properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0
    }

    /// Puts a command's event in its place; what it must wait for comes out, and for who asks, what it comes after,
    /// but for its wait list.
    pub fn place(&self, event: &Arc<Event>, order: Order) -> (Vec<Arc<Event>>, Vec<Arc<Place>>) {
        let mut state = self.state.lock();
        let places =
            if order::is_kept() { self.comes_after(&mut state, event, order) } else { Vec::new() };
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
        (after, places)
    }

    /// The places that a new command comes after, and its own among them for those that follow.
    fn comes_after(&self, state: &mut State, event: &Event, order: Order) -> Vec<Arc<Place>> {
        let place = event.place.clone();
        if self.in_order() {
            return std::mem::replace(&mut state.places, vec![place]);
        }
        let mut after: Vec<_> = state.barrier_place.iter().cloned().collect();
        match order {
            Order::Plain | Order::Barrier { all: false } => {}
            Order::Marker | Order::Barrier { all: true } => {
                after.extend(state.places.iter().cloned())
            }
        }
        match order {
            Order::Plain | Order::Marker => {}
            Order::Barrier { all } => {
                state.barrier_place = Some(place.clone());
                if all {
                    state.places.clear();
                }
            }
        }
        state.places.push(place);
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
        let state = self.state.lock();
        let (pending, places) = (state.pending.clone(), state.places.clone());
        drop(state);
        // The last first: who waits for each in turn is woken by each.
        for event in pending.iter().rev() {
            event.wait();
        }
        places.iter().for_each(|place| place.seen());
        // The host program knows of those, and tells the commands that come.
        let known = |place: &Arc<Place>| places.iter().any(|p| Arc::ptr_eq(p, place));
        if !self.in_order() {
            self.state.lock().places.retain(|place| !known(place));
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
