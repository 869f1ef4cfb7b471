// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who comes after whom: vector clocks of the streams' queues and of the host program.
//!
//! Kept only where a tool asks for it (the check of races), and from the second stream on, or the first graph that is no
//! chain, or queue that is out of order: one stream is in order by itself. What the host program's threads tell each
//! other is not seen, so they count as one: what one of them waited for, all know. That may miss a race, and accuses
//! nobody.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use margay_observe::tool::CommandQueue;
use margay_observe::tool::{Clock, NodeOrder, Order};
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
    /// The nodes of graphs that this thread puts into queues.
    static NODES: RefCell<Vec<NodeOrder>> = const { RefCell::new(Vec::new()) };
}

/// A number that no queue and no launch of a graph has had.
pub fn fresh() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// A tool wants to know the order of launches and copies.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// A stream beside the default one was made, or what is in no order by itself.
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
        let clock = known.clone().unwrap_or_default();
        Order { queue: HOST, sequence, clock, nodes: Vec::new(), commands: None }
    }))
}

/// The nodes that what this thread queues now is part of.
pub fn nodes() -> Vec<NodeOrder> {
    NODES.with_borrow(Clone::clone)
}

/// The nodes of a graph that is launched now, in an order that its edges allow.
pub struct GraphNodes {
    launch: u64,
    after: Vec<Arc<[u64]>>,
}

impl GraphNodes {
    /// `after`: of each node, which earlier ones it depends on. `None` if nobody asks.
    pub fn new<'a>(after: impl Iterator<Item = Vec<usize>> + 'a) -> Option<GraphNodes> {
        if !is_kept() {
            return None;
        }
        let mut all: Vec<Arc<[u64]>> = Vec::new();
        for direct in after {
            let mut bits = vec![0; all.len().div_ceil(64)];
            for before in direct {
                bits[before / 64] |= 1 << (before % 64);
                bits.iter_mut().zip(&*all[before]).for_each(|(mine, theirs)| *mine |= theirs);
            }
            all.push(bits.into());
        }
        Some(GraphNodes { launch: fresh(), after: all })
    }

    /// Puts the work of a node into a queue.
    pub fn node<T>(all: &Option<GraphNodes>, number: usize, push: impl FnOnce() -> T) -> T {
        let Some(all) = all else { return push() };
        let node = NodeOrder { launch: all.launch, number, after: all.after[number].clone() };
        NODES.with_borrow_mut(|nodes| nodes.push(node));
        let result = push();
        NODES.with_borrow_mut(Vec::pop);
        result
    }
}

/// The place of a command of OpenCL's, known once it starts.
#[derive(Debug, Default)]
pub struct Place(Mutex<Option<Arc<Clock>>>);

impl Place {
    /// The host program has seen the end of the command.
    pub fn seen(&self) {
        if let Some(clock) = &*self.0.lock() {
            host_learns(clock);
        }
    }

    /// It is the host program that does it, now.
    pub fn reached(&self) {
        *self.0.lock() = is_kept().then(|| Arc::new(host_knows()));
    }
}

/// What a command waits for.
#[derive(Debug, Default)]
pub struct Before {
    host: Clock,
    places: Vec<Arc<Place>>,
}

impl Before {
    /// For a command that is queued now.
    pub fn new(places: Vec<Arc<Place>>) -> Before {
        Before { host: host_knows(), places }
    }

    /// The command starts: everything that it waits for has ended.
    pub fn start(self, place: &Place, commands: CommandQueue, chains: &Chains) -> Order {
        let mut clock = self.host;
        for before in self.places {
            if let Some(known) = &*before.0.lock() {
                join(&mut clock, known);
            }
        }
        let (queue, sequence) = chains.extend(&clock);
        clock.insert(queue, sequence);
        let clock = Arc::new(clock);
        *place.0.lock() = Some(clock.clone());
        Order { queue, sequence, clock, nodes: Vec::new(), commands: Some(commands) }
    }
}

/// Commands of one queue in as few chains as they come after each other: of a queue that is in order, one. Each chain
/// has a queue's number.
#[derive(Debug, Default)]
pub struct Chains(Mutex<Vec<(u64, u64)>>);

impl Chains {
    /// The place of what comes after all that `clock` knows.
    fn extend(&self, clock: &Clock) -> (u64, u64) {
        let mut chains = self.0.lock();
        let ends = |(number, last): &&mut (u64, u64)| clock.get(number) == Some(last);
        match chains.iter_mut().find(ends) {
            Some((number, last)) => {
                *last += 1;
                (*number, *last)
            }
            None => {
                let number = fresh();
                chains.push((number, 1));
                (number, 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_in_as_few_chains_as_can_be() {
        let (chains, commands) = (Chains::default(), CommandQueue { number: 1, in_order: false });
        let start = |before: &[&Arc<Place>]| {
            let place = Arc::new(Place::default());
            let places = before.iter().map(|p| Arc::clone(p)).collect();
            let order = Before { host: Clock::new(), places }.start(&place, commands, &chains);
            (order, place)
        };
        let (a, pa) = start(&[]);
        let (b, pb) = start(&[]);
        let (c, pc) = start(&[&pa]);
        assert!(!b.follows(&a) && !a.follows(&b) && c.follows(&a) && !c.follows(&b));
        let (d, _) = start(&[&pb, &pc]);
        assert!(d.follows(&a) && d.follows(&b) && d.follows(&c) && !a.follows(&d));
        assert_eq!(chains.0.lock().len(), 2);
    }
}
