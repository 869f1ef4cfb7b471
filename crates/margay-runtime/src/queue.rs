// SPDX-License-Identifier: MIT OR Apache-2.0
//! An in-order queue of work with a thread of its own: what a stream is made of.
//!
//! Invariant: work runs in the order it was pushed, each item after the tickets that it depends
//! on. Tickets are only ever taken of work that is already queued, so waiting cannot deadlock.
//! The thread starts with the first item and ends after a moment of idleness; if the system
//! refuses a thread, the pusher does the work itself. Items that come often are looked for before
//! it sleeps, and ends before who waits does ([`margay_exec::rhythm`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use margay_exec::rhythm::{self, Rhythm};
use margay_exec::threads;
use margay_observe::tool::{Clock, Order};
use parking_lot::{Condvar, Mutex};

use crate::{activity, held, order};

/// Idle time after which a queue's thread ends.
const IDLE: Duration = Duration::from_millis(500);

/// Work of one queue item.
pub type Work = Box<dyn FnOnce() + Send>;

struct Item {
    after: Vec<Ticket>,
    work: Work,
    order: Option<Order>,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    has_thread: bool,
    /// What the last item comes after, and itself; empty unless somebody asks.
    clock: Arc<Clock>,
}

/// See the module's header.
pub struct Queue {
    /// From 1.
    number: u64,
    /// Items pushed so far, which is the last one's sequence number, and items that have ended. Written under the lock of
    /// `state`; those who spin read them without.
    pushed: AtomicU64,
    ended: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for Queue {
    fn default() -> Queue {
        let (pushed, ended) = (AtomicU64::new(0), AtomicU64::new(0));
        let (state, changed) = (Mutex::default(), Condvar::new());
        Queue { number: order::fresh(), pushed, ended, state, changed }
    }
}

/// A point in a queue: reached when the item, and so all before it, have ended.
#[derive(Clone)]
pub struct Ticket {
    queue: Arc<Queue>,
    sequence: u64,
    clock: Arc<Clock>,
}

impl Ticket {
    /// Whether the point is reached: the host program asks.
    pub fn is_done(&self) -> bool {
        held::open();
        let done = self.is_reached();
        if done {
            order::host_learns(&self.clock);
        }
        done
    }

    /// As [`Ticket::is_done`], for the runtime's own use: the host program learns nothing.
    pub fn is_reached(&self) -> bool {
        self.queue.ended.load(Ordering::Acquire) >= self.sequence
    }

    /// Blocks the host program until the point is reached.
    pub fn wait(&self) {
        held::open();
        self.block();
        order::host_learns(&self.clock);
    }

    fn block(&self) {
        rhythm::spin(rhythm::AWAIT, || self.is_reached());
        if self.is_reached() {
            return;
        }
        let _waiting = activity::wait();
        let mut state = self.queue.state.lock();
        while !self.is_reached() {
            self.queue.changed.wait(&mut state);
        }
    }
}

impl Queue {
    /// Appends work that starts once all of `after` is done.
    pub fn push(self: &Arc<Self>, after: Vec<Ticket>, work: Work) -> Ticket {
        margay_exec::jit::may_exit_here();
        activity::queued();
        let mut state = self.state.lock();
        let sequence = self.pushed.load(Ordering::Relaxed) + 1;
        let order = order::is_kept().then(|| {
            let mut nodes = order::nodes();
            // A conditional node's body is part of the item that runs it and waits for it: what comes before and
            // after that item comes before and after the body.
            if let Some(mut of) = order::current() {
                state.clock = of.clock.clone();
                of.nodes.append(&mut nodes);
                return of;
            }
            let mut clock = order::host_knows();
            order::join(&mut clock, &state.clock);
            after.iter().for_each(|ticket| order::join(&mut clock, &ticket.clock));
            clock.insert(self.number, sequence);
            state.clock = Arc::new(clock);
            let (queue, clock) = (self.number, state.clock.clone());
            Order { queue, sequence, clock, nodes, commands: None }
        });
        state.items.push_back(Item { after, work, order });
        self.pushed.store(sequence, Ordering::Release);
        let ticket = Ticket { queue: self.clone(), sequence, clock: state.clock.clone() };
        if state.has_thread {
            self.changed.notify_all();
            return ticket;
        }
        state.has_thread = true;
        drop(state);
        let queue = self.clone();
        let thread = std::thread::Builder::new().name("margay-stream".into());
        if thread.spawn(move || queue.serve(true)).is_err() {
            held::open();
            self.serve(false);
        }
        ticket
    }

    /// The point after everything pushed so far, reached or not; `None` if nothing ever was pushed.
    pub fn last(self: &Arc<Self>) -> Option<Ticket> {
        let state = self.state.lock();
        let (sequence, clock) = (self.pushed.load(Ordering::Relaxed), state.clock.clone());
        (sequence > 0).then(|| Ticket { queue: self.clone(), sequence, clock })
    }

    /// Whether nothing is left to do.
    pub fn is_empty(&self) -> bool {
        let _state = self.state.lock();
        self.ended.load(Ordering::Relaxed) == self.pushed.load(Ordering::Relaxed)
    }

    /// Runs items until there has been nothing to do for a while.
    fn serve(&self, linger: bool) {
        let _own = linger.then(threads::own);
        let mut state = self.state.lock();
        let mut rhythm = Rhythm::default();
        loop {
            let Some(item) = state.items.pop_front() else {
                if let Some(look) = rhythm.look().filter(|_| linger) {
                    let pushed = self.pushed.load(Ordering::Relaxed);
                    drop(state);
                    look.until(|| self.pushed.load(Ordering::Acquire) != pushed);
                    state = self.state.lock();
                    continue;
                }
                let idle = !linger || self.changed.wait_for(&mut state, IDLE).timed_out();
                if idle && state.items.is_empty() {
                    state.has_thread = false;
                    return;
                }
                continue;
            };
            drop(state);
            rhythm.note();
            for ticket in &item.after {
                ticket.block();
            }
            // A panic is a bug of ours; the queue must go on, or the program hangs.
            let work = std::panic::AssertUnwindSafe(item.work);
            let run = move || {
                let work = work;
                let _running = held::enter();
                let _working = activity::work();
                order::during(item.order, || (work.0)());
            };
            if std::panic::catch_unwind(run).is_err() {
                eprintln!("margay: internal error in a stream's work; please report it");
            }
            rhythm.ended();
            state = self.state.lock();
            self.ended.fetch_add(1, Ordering::Release);
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

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
        assert!(!a.is_empty() && !first.is_done());
        b.push(vec![first], note(2, 0));
        let last = b.push(vec![], note(3, 0));
        last.wait();
        assert_eq!(*log.lock(), [1, 2, 3]);
        assert!(a.is_empty() && b.is_empty());
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
