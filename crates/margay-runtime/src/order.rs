// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who comes after whom: vector clocks of the streams' queues and of the host program.
//!
//! Kept only where a tool asks for it (the check of races), and from the second stream on: one stream is in order
//! by itself. What the host program's threads tell each other is not seen, so they count as one: what one of them
//! waited for, all know. That may miss a race, and accuses nobody.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use margay_observe::tool::{Clock, Order};
use parking_lot::Mutex;

/// The queue number of what the host does itself.
const HOST: u64 = 0;

static WANTED: AtomicBool = AtomicBool::new(false);
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// What the host program has waited for, and its own last step.
static KNOWN: Mutex<Option<Arc<Clock>>> = Mutex::new(None);

thread_local! {
    /// The item that a queue's thread works on.
    static CURRENT: RefCell<Option<Order>> = const { RefCell::new(None) };
}

/// A tool wants to know the order of launches and copies.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// A stream beside the default one was made.
pub fn several() {
    SEVERAL.store(true, Ordering::Relaxed);
}

pub fn is_kept() -> bool {
    WANTED.load(Ordering::Relaxed) && SEVERAL.load(Ordering::Relaxed)
}

/// `into` now comes after what `from` does.
pub fn join(into: &mut Clock, from: &Clock) {
    for (&queue, &sequence) in from {
        let known = into.entry(queue).or_default();
        *known = sequence.max(*known);
    }
}

/// The host program has waited for this.
pub fn host_learns(clock: &Clock) {
    if clock.is_empty() || CURRENT.with_borrow(Option::is_some) {
        return;
    }
    let mut known = KNOWN.lock();
    join(Arc::make_mut(known.get_or_insert_default()), clock);
}

/// What the host program has waited for up to now.
pub fn host_knows() -> Clock {
    KNOWN.lock().as_deref().cloned().unwrap_or_default()
}

/// Runs an item of a queue.
pub fn during<T>(order: Option<Order>, work: impl FnOnce() -> T) -> T {
    let before = CURRENT.replace(order);
    let result = work();
    CURRENT.set(before);
    result
}

/// The order of the item that this thread works on.
pub fn current() -> Option<Order> {
    CURRENT.with_borrow(Clone::clone)
}

/// The place of what this thread is about to do: its queue item's, or the host program's next step.
pub fn now() -> Option<Order> {
    if !is_kept() {
        return None;
    }
    Some(current().unwrap_or_else(|| {
        let mut known = KNOWN.lock();
        let clock = Arc::make_mut(known.get_or_insert_default());
        let step = clock.entry(HOST).or_default();
        *step += 1;
        let sequence = *step;
        Order { queue: HOST, sequence, clock: known.clone().unwrap_or_default() }
    }))
}
