// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a group of blocks goes in a circle.
//!
//! What threads do follows from their registers, their local memory, where they are, and what they read. So if a group is in a
//! state in which it was before, and nothing was written since, it will be there again and again, until somebody else writes
//! what it reads. Polling is the most common circle, but not all that polls goes in one: a loop that counts how often it has
//! looked may give up some time.

use std::time::{Duration, Instant};

use crate::buffer::Buffer;
use crate::handlers::control::LONGEST_SLEEP;

/// After so many rounds behind the one whose state was kept nobody looks for it any more.
const WINDOW: u64 = 256;

/// Nobody sleeps longer.
const SLEEP: Duration = Duration::from_nanos(LONGEST_SLEEP);

/// Rounds that took so long are those of a large grid.
const LONG: Duration = Duration::from_secs(2);

/// A digest of a state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    pub fn new() -> Digest {
        Digest(0x9e37_79b9_7f4a_7c15)
    }

    pub fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x517c_c1b7_2722_0a95);
    }

    pub fn add_words(&mut self, buffer: &Buffer, offset: u32, bytes: u32) {
        buffer.words_of(offset, bytes).for_each(|word| self.add(u64::from(word)));
    }

    pub fn add_buffer(&mut self, buffer: &Buffer) {
        buffer.words().for_each(|word| self.add(word));
    }
}

/// A state of a group that was kept to be compared with later ones.
struct Kept {
    state: Digest,
    /// When it was there, at first.
    at: Instant,
    /// The round in which it was there last.
    round: u64,
}

/// What is known of a group's rounds since something was written last.
#[derive(Default)]
pub struct Circle {
    kept: Option<Kept>,
    /// When a state was kept first.
    first: Option<Instant>,
    rounds: u64,
    closed: bool,
}

impl Circle {
    /// One more round is over in which nothing was written. Whether its state is of interest, where the first is that of round
    /// `patience`.
    pub fn turns(&mut self, patience: u64) -> bool {
        self.rounds += 1;
        let is_near = |kept: &Kept| self.rounds - kept.round <= WINDOW;
        self.rounds.is_power_of_two() && self.rounds >= patience
            || self.kept.as_ref().is_some_and(is_near)
    }

    /// What the state is after that round: whether the circle has closed. The one that later ones are compared with is replaced
    /// after 1, 2, 4, 8, … rounds (Brent's method).
    pub fn state(&mut self, state: Digest, sleeps: bool) -> bool {
        if let Some(kept) = &mut self.kept
            && kept.state == state
        {
            kept.round = self.rounds;
            // Whoever slept has gone round as well.
            let all = !sleeps || kept.at.elapsed() > 2 * SLEEP;
            self.closed |= all;
            return all;
        }
        if self.rounds.is_power_of_two() {
            self.first.get_or_insert_with(Instant::now);
            self.kept = Some(Kept { state, at: Instant::now(), round: self.rounds });
        }
        false
    }

    /// Whether it has not closed though there was reason to: after so many rounds, or a fifth of them that took long, and long
    /// enough for all who slept.
    pub fn is_lost(&self, rounds: u64) -> bool {
        let Some(first) = self.first else { return false };
        let spent = first.elapsed();
        let enough = if spent > LONG { rounds / 5 } else { rounds };
        self.rounds > enough && spent > 20 * SLEEP && !self.closed
    }

    /// Whether it has closed.
    pub fn has_closed(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many rounds a sequence of states is known to be a circle.
    fn closes(patience: u64, state: impl Fn(u64) -> u64) -> Option<u64> {
        let mut circle = Circle::default();
        (1..100_000).find(|&round| {
            let mut digest = Digest::new();
            digest.add(state(round));
            circle.turns(patience) && circle.state(digest, false)
        })
    }

    #[test]
    fn a_state_that_comes_back_is_found() {
        assert_eq!(closes(1, |_| 7), Some(2));
        assert_eq!(closes(16, |_| 7), Some(17));
        // From a state on that is not the first, and as long as it is kept for.
        assert_eq!(closes(2, |n| if n < 9 { n } else { 100 + n % 5 }), Some(21));
        assert_eq!(closes(2, |n| n % 200), Some(456));
        assert_eq!(closes(2, |n| n % 1000), None, "that is too long a way");
    }

    #[test]
    fn what_counts_goes_in_no_circle() {
        assert_eq!(closes(1, |n| n), None);
        let circle = Circle::default();
        assert!(!circle.has_closed() && !circle.is_lost(0));
    }

    #[test]
    fn the_state_of_who_sleeps_is_compared_once_all_have_woken() {
        let mut circle = Circle::default();
        let digest = Digest::new();
        assert!(circle.turns(1) && !circle.state(digest, true));
        assert!(circle.turns(1) && !circle.state(digest, true));
        std::thread::sleep(3 * SLEEP);
        assert!(circle.turns(1) && circle.state(digest, true) && circle.has_closed());
    }
}
