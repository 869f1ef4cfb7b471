// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a check knows of the blocks that a worker runs.
//!
//! A block is one worker's from its beginning to its end, and so are the blocks of a cluster (`margay_exec::sched`): nobody else
//! asks for what is kept here, and there is no lock, which would cost more than most of what is done between two of them.

use rustc_hash::FxHashMap;

/// What is known of blocks of a worker, by number: of the one that ran last, and of others that have not ended.
pub struct States<S> {
    last: Option<(u32, Box<S>)>,
    others: FxHashMap<u32, Box<S>>,
    /// Of blocks that have ended, to be used again: as many as were there at once, at most.
    spare: Vec<Box<S>>,
}

impl<S> Default for States<S> {
    fn default() -> States<S> {
        States { last: None, others: FxHashMap::default(), spare: Vec::new() }
    }
}

impl<S> States<S> {
    /// Takes out what is known of a block that runs now, if there is anything. It is to be [put](States::put) back.
    #[inline]
    pub fn take(&mut self, block: u32) -> Option<Box<S>> {
        match self.last.take() {
            Some((id, state)) if id == block => Some(state),
            other => {
                self.others.extend(other);
                self.others.remove(&block)
            }
        }
    }

    /// What is known of a block that runs now.
    #[inline]
    pub fn put(&mut self, block: u32, state: Box<S>) {
        debug_assert!(self.peer(block).is_none(), "block {block} has one");
        self.others.extend(self.last.replace((block, state)));
    }

    /// What is known of another block than the one that runs.
    pub fn peer(&self, block: u32) -> Option<&S> {
        match &self.last {
            Some((id, state)) if *id == block => Some(state),
            Some(_) | None => self.others.get(&block).map(|state| &**state),
        }
    }

    pub fn peer_mut(&mut self, block: u32) -> Option<&mut S> {
        match &mut self.last {
            Some((id, state)) if *id == block => Some(state),
            Some(_) | None => self.others.get_mut(&block).map(|state| &mut **state),
        }
    }

    /// What was known of a block that has ended is to be used again.
    pub fn keep(&mut self, ended: Box<S>) {
        self.spare.push(ended);
    }

    /// What was known of a block that has ended, if none uses it again.
    pub fn take_spare(&mut self) -> Option<Box<S>> {
        self.spare.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_found_again() {
        let mut states = States::default();
        assert!(states.take(1).is_none() && states.take_spare().is_none());
        states.put(1, Box::new("one"));
        states.put(2, Box::new("two"));
        assert_eq!(
            (states.peer(1), states.peer(2), states.peer(3)),
            (Some(&"one"), Some(&"two"), None)
        );
        *states.peer_mut(1).unwrap() = "first";
        // The other stays while one is out.
        let two = states.take(2).unwrap();
        assert_eq!((states.peer(1), states.peer(2)), (Some(&"first"), None));
        states.put(2, two);
        assert_eq!(states.take(1), Some(Box::new("first")));
        assert_eq!(states.take(1), None);
        assert_eq!(states.peer_mut(2), Some(&mut "two"));
        let two = states.take(2).unwrap();
        states.keep(two);
        assert_eq!(states.peer(2), None);
        assert_eq!(states.take_spare(), Some(Box::new("two")));
        assert_eq!(states.take_spare(), None);
    }
}
