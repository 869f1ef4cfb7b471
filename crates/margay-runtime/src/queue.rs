// SPDX-License-Identifier: MIT OR Apache-2.0
//! An in-order queue of work with a thread of its own: what a stream is made of.
//!
//! Invariant: work runs in the order it was pushed, each item after the tickets that it depends
//! on. Tickets are only ever taken of work that is already queued, so waiting cannot deadlock.
//! The thread starts with the first item and ends after a moment of idleness; if the system
//! refuses a thread, the pusher does the work itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Idle time after which a queue's thread ends.
const IDLE: Duration = Duration::from_millis(500);

/// Work of one queue item.
pub type Work = Box<dyn FnOnce() + Send>;

struct Item {
    after: Vec<Ticket>,
    work: Work,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    /// Items pushed so far; the last one's sequence number.
    pushed: u64,
    /// Items that have ended.
    ended: u64,
    has_thread: bool,
}

/// See the module's header.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

/// A point in a queue: reached when the item, and so all before it, have ended.
#[derive(Clone)]
pub struct Ticket {
    queue: Arc<Queue>,
    sequence: u64,
}

impl Ticket {
    pub fn is_done(&self) -> bool {
        self.queue.state.lock().ended >= self.sequence
    }

    /// Blocks until the point is reached.
    pub fn wait(&self) {
        let mut state = self.queue.state.lock();
        while state.ended < self.sequence {
            self.queue.changed.wait(&mut state);
        }
    }
}

impl Queue {
    /// Appends work that starts once all of `after` is done.
    pub fn push(self: &Arc<Self>, after: Vec<Ticket>, work: Work) -> Ticket {
        let mut state = self.state.lock();
        state.items.push_back(Item { after, work });
        state.pushed += 1;
        let ticket = Ticket { queue: self.clone(), sequence: state.pushed };
        if state.has_thread {
            self.changed.notify_all();
            return ticket;
        }
        state.has_thread = true;
        drop(state);
        let queue = self.clone();
        let thread = std::thread::Builder::new().name("margay-stream".into());
        if thread.spawn(move || queue.serve(true)).is_err() {
            self.serve(false);
        }
        ticket
    }

    /// The point after everything pushed so far; `None` if that has been reached.
    pub fn tail(self: &Arc<Self>) -> Option<Ticket> {
        let state = self.state.lock();
        (state.ended < state.pushed).then(|| Ticket { queue: self.clone(), sequence: state.pushed })
    }

    /// Runs items until there has been nothing to do for a while.
    fn serve(&self, linger: bool) {
        let mut state = self.state.lock();
        loop {
            let Some(item) = state.items.pop_front() else {
                let idle = !linger || self.changed.wait_for(&mut state, IDLE).timed_out();
                if idle && state.items.is_empty() {
                    state.has_thread = false;
                    return;
                }
                continue;
            };
            drop(state);
            for ticket in &item.after {
                ticket.wait();
            }
            // A panic is a bug of ours; the queue must go on, or the program hangs.
            let work = std::panic::AssertUnwindSafe(item.work);
            let run = move || {
                let work = work;
                (work.0)();
            };
            if std::panic::catch_unwind(run).is_err() {
                eprintln!("margay: internal error in a stream's work; please report it");
            }
            state = self.state.lock();
            state.ended += 1;
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn in_order_and_after_dependencies() {
        let (a, b) = (Arc::new(Queue::default()), Arc::new(Queue::default()));
        let log = Arc::new(Mutex::new(Vec::new()));
        let note = |n: u32, ms: u64| -> Work {
            let log = log.clone();
            Box::new(move || {
                std::thread::sleep(Duration::from_millis(ms));
                log.lock().push(n);
            })
        };
        let first = a.push(vec![], note(1, 30));
        assert!(a.tail().is_some() && !first.is_done());
        b.push(vec![first], note(2, 0));
        let last = b.push(vec![], note(3, 0));
        last.wait();
        assert_eq!(*log.lock(), [1, 2, 3]);
        assert!(a.tail().is_none() && b.tail().is_none());
    }

    #[test]
    fn goes_on_after_a_panic() {
        let queue = Arc::new(Queue::default());
        let count = Arc::new(AtomicU32::new(0));
        queue.push(vec![], Box::new(|| panic!("expected by the test")));
        let seen = count.clone();
        queue.push(vec![], Box::new(move || seen.store(1, Ordering::SeqCst))).wait();
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}
