// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a block's threads released, as far as anybody may still know it apart from what was released later.

use std::sync::Arc;

use super::order::Tick;

/// Some of a block's threads released something, or may have, one soon after the other: all that the block did up to the first
/// tick, and of what it did up to the last some. Whoever learns of any of it knows the former, and none of what is later.
pub type Release = (Tick, Tick);

/// Releases that are told apart. What comes later is as if it were part of the last.
const MOST: usize = 512;
/// Those that are kept at least before it is looked for some that nobody knows.
const FEW: usize = 4;

/// What has a part in a release: all that knows what it was has one, in the hands of threads or in a variable. So a release
/// that has no other is known to nobody, and never will be.
pub type Hold = Arc<()>;

/// The releases of a block, in order.
#[derive(Debug, Default)]
pub struct Releases {
    list: Vec<Release>,
    /// One of each.
    holds: Vec<Hold>,
    /// How often some were forgotten.
    forgotten: u32,
    /// How many were left then.
    left: usize,
}

impl Releases {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn list(&self) -> &[Release] {
        &self.list
    }

    /// Changes when any but the last become others.
    pub fn forgotten(&self) -> u32 {
        self.forgotten
    }

    /// Others may learn of all this, from now on, whoever has a part in it. It is one with the last if they overlap.
    pub fn note(&mut self, (all, last): Release) -> Hold {
        if let (Some((_, end)), Some(hold)) = (self.list.last_mut(), self.holds.last())
            && all < *end
        {
            *end = last.max(*end);
            return hold.clone();
        }
        if self.list.len() >= (2 * self.left).clamp(FEW, MOST) {
            self.forget();
        }
        if self.list.len() == MOST
            && let (Some((_, end)), Some(hold)) = (self.list.last_mut(), self.holds.last())
        {
            *end = Tick::MAX;
            return hold.clone();
        }
        let hold = Hold::default();
        self.list.push((all, last));
        self.holds.push(hold.clone());
        hold
    }

    /// Forgets those that nobody knows any more: what lies between two others is alike then. None of them becomes longer
    /// any more.
    pub fn forget(&mut self) {
        let held = |n: usize| Arc::strong_count(&self.holds[n]) > 1;
        let held: Vec<bool> = (0..self.holds.len()).map(held).collect();
        let (mut first, mut second) = (held.iter(), held.iter());
        self.list.retain(|_| first.next() == Some(&true));
        self.holds.retain(|_| second.next() == Some(&true));
        self.left = self.list.len();
        self.forgotten += u32::from(self.left < held.len());
    }

    /// These, of which nothing else has a part.
    #[cfg(test)]
    pub fn of(list: &[Release], forgotten: u32) -> Releases {
        let holds = list.iter().map(|_| Hold::default()).collect();
        Releases { list: list.to_vec(), holds, forgotten, left: 0 }
    }

    /// Those of another block, from now on.
    pub fn clear(&mut self) {
        *self = Releases::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_forgotten() {
        let mut releases = Releases::default();
        let known = releases.note((10, 15));
        // The same one.
        assert!(Arc::ptr_eq(&known, &releases.note((12, 20))));
        // What begins where another ends is not.
        assert!(!Arc::ptr_eq(&known, &releases.note((20, 25))));
        (3..100).for_each(|n| drop(releases.note((10 * n, 10 * n + 5))));
        assert_eq!(releases.list()[0], (10, 20));
        assert!(releases.list().len() <= FEW && releases.forgotten() > 1);
        assert_eq!(releases.list().last(), Some(&(990, 995)));
        let count = releases.forgotten();
        releases.forget();
        assert_eq!((releases.list(), releases.forgotten()), (&[(10, 20)][..], count + 1));
        releases.forget();
        assert_eq!(releases.forgotten(), count + 1);
        drop(known);
        releases.forget();
        assert!(releases.is_empty());
    }

    #[test]
    fn too_many_that_are_known_become_one() {
        let mut releases = Releases::default();
        let all: Vec<Hold> = (1..600).map(|n| releases.note((10 * n, 10 * n + 5))).collect();
        assert_eq!((releases.list().len(), releases.forgotten()), (MOST, 0));
        assert_eq!(releases.list().last().map(|last| last.1), Some(Tick::MAX));
        assert!(Arc::ptr_eq(&all[511], &all[598]) && !Arc::ptr_eq(&all[510], &all[511]));
    }
}
