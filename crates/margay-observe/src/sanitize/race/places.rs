// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers by places of memory, in little more than eight bytes each.

use std::collections::BTreeMap;

/// Pairs that are kept together at most.
const FULL: usize = 128;
/// By how many more there is room for.
const STEP: usize = 16;

/// Pairs of places and their numbers, in order: of a place the lower half, as the rest is the same.
#[derive(Debug, Default)]
struct Leaf {
    pairs: Vec<(u32, u32)>,
    /// Where the last new pair went. Most come one after the other, whereupon what is before them remains full.
    last: usize,
}

impl Leaf {
    fn insert(&mut self, at: usize, pair: (u32, u32)) {
        if self.pairs.len() == self.pairs.capacity() {
            self.pairs.reserve_exact(self.pairs.len().clamp(2, STEP));
        }
        self.pairs.insert(at, pair);
        self.last = at;
    }

    /// The pairs from a place on. Both keep no more room than they need, and some for the next.
    fn split(&mut self, at: usize) -> Leaf {
        let pairs = self.pairs.split_off(at);
        self.pairs.shrink_to(at + STEP / 2);
        Leaf { pairs, last: 0 }
    }
}

/// What all places of a leaf have alike: the owner of the memory, and the upper half of the address.
type Group = (u32, u32);

/// A number for some places, each an address in the memory of an owner.
#[derive(Debug, Default)]
pub struct Places {
    /// By the first place that may be in each, up to where the next begins.
    leaves: BTreeMap<(Group, u32), Leaf>,
}

fn parts(owner: u32, at: u64) -> (Group, u32) {
    ((owner, (at >> 32) as u32), at as u32)
}

impl Places {
    pub fn get(&self, owner: u32, at: u64) -> Option<u32> {
        let key = parts(owner, at);
        let ((group, _), leaf) = self.leaves.range(..=key).next_back()?;
        if *group != key.0 {
            return None;
        }
        let at = leaf.pairs.binary_search_by_key(&key.1, |pair| pair.0).ok()?;
        Some(leaf.pairs[at].1)
    }

    /// Returns the number that was there before.
    pub fn insert(&mut self, owner: u32, at: u64, number: u32) -> Option<u32> {
        let (group, place) = parts(owner, at);
        let found = self.leaves.range_mut(..=(group, place)).next_back();
        let Some((_, leaf)) = found.filter(|own| own.0.0 == group) else {
            let mut leaf = Leaf::default();
            leaf.insert(0, (place, number));
            self.leaves.insert((group, 0), leaf);
            return None;
        };
        let at = match leaf.pairs.binary_search_by_key(&place, |pair| pair.0) {
            Ok(at) => return Some(std::mem::replace(&mut leaf.pairs[at].1, number)),
            Err(at) => at,
        };
        if leaf.pairs.len() < FULL {
            leaf.insert(at, (place, number));
            return None;
        }
        // What comes in order, up or down, leaves full leaves behind.
        let cut = if at == leaf.last + 1 || at == leaf.last { at } else { FULL / 2 };
        let mut next = leaf.split(cut);
        let first = next.pairs.first().map_or(place, |pair| pair.0);
        match at <= cut && at < FULL {
            true => leaf.insert(at, (place, number)),
            false => next.insert(at - cut, (place, number)),
        }
        self.leaves.insert((group, first), next);
        None
    }

    /// All places, each with its owner.
    pub fn all(&self) -> impl Iterator<Item = (u32, u64)> {
        self.leaves.iter().flat_map(|(((owner, upper), _), leaf)| {
            let at = move |pair: &(u32, u32)| u64::from(*upper) << 32 | u64::from(pair.0);
            leaf.pairs.iter().map(move |pair| (*owner, at(pair)))
        })
    }

    /// Removes all places of an owner. Returns their numbers.
    pub fn remove_all(&mut self, owner: u32) -> Vec<u32> {
        let own = ((owner, 0), 0)..=((owner, u32::MAX), u32::MAX);
        let keys: Vec<_> = self.leaves.range(own).map(|(key, _)| *key).collect();
        let leaves = keys.iter().filter_map(|key| self.leaves.remove(key));
        leaves.flat_map(|leaf| leaf.pairs).map(|pair| pair.1).collect()
    }

    /// Returns the number that was there.
    pub fn remove(&mut self, owner: u32, at: u64) -> Option<u32> {
        let key = parts(owner, at);
        let (bound, leaf) = self.leaves.range_mut(..=key).next_back()?;
        if bound.0 != key.0 {
            return None;
        }
        let at = leaf.pairs.binary_search_by_key(&key.1, |pair| pair.0).ok()?;
        let (_, number) = leaf.pairs.remove(at);
        leaf.last = at.saturating_sub(1);
        // The first leaf stands for whatever is before the second.
        if leaf.pairs.is_empty() && bound.1 != 0 {
            let bound = *bound;
            self.leaves.remove(&bound);
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::sanitize::random::random;

    impl Places {
        /// Bytes of pairs, and those of all leaves.
        fn room(&self) -> (usize, usize) {
            let bytes = |leaf: &Leaf| 8 * leaf.pairs.capacity();
            let each = size_of::<(Group, u32)>() + size_of::<Leaf>();
            let count = self.leaves.len();
            (self.leaves.values().map(bytes).sum(), 2 * each * count)
        }
    }

    #[test]
    fn they_are_those_of_a_plain_map() {
        let orders: [fn(u64, u64) -> u64; 5] = [
            |n, _| 4 * n,
            |n, _| 4 * (20_000 - n),
            |_, draw| 4 * (draw % 20_000),
            |n, draw| 0xffff_ff00 + 64 * (n % 500) + draw % 8,
            |n, _| 128 * (n % 32 + 1000 * (n / 32 % 20)) + 4 * (n / 640),
        ];
        for (case, order) in orders.into_iter().enumerate() {
            let (mut places, mut plain) = (Places::default(), HashMap::new());
            let mut random = random(3 + case as u64);
            for n in 0..20_000 {
                let at = order(n, random(1 << 31));
                let owner = if case > 1 { random(3) as u32 } else { 7 };
                let number = random(1 << 31) as u32;
                match case > 1 && random(5) == 0 {
                    true => assert_eq!(places.remove(owner, at), plain.remove(&(owner, at))),
                    false => {
                        let before = plain.insert((owner, at), number);
                        assert_eq!(places.insert(owner, at, number), before);
                    }
                }
                let (owner, at) = (random(3) as u32, order(random(n + 1), random(1 << 31)));
                assert_eq!(places.get(owner, at), plain.get(&(owner, at)).copied());
            }
            for (&(owner, at), &number) in &plain {
                assert_eq!(places.get(owner, at), Some(number));
                assert_eq!(
                    places.get(owner, at + 1).is_some(),
                    plain.contains_key(&(owner, at + 1))
                );
            }
            let mut own: Vec<_> = plain.keys().copied().collect();
            own.sort_unstable();
            assert!(places.all().eq(own));
            let (pairs, leaves) = places.room();
            let each = (pairs + leaves) as f64 / plain.len() as f64;
            let of = |owner: u32| {
                let mut own: Vec<u32> =
                    plain.iter().filter(|own| own.0.0 == owner).map(|own| *own.1).collect();
                own.sort_unstable();
                own
            };
            for owner in [1, 7] {
                let mut numbers = places.remove_all(owner);
                numbers.sort_unstable();
                assert_eq!(numbers, of(owner));
                assert!(places.remove_all(owner).is_empty());
            }
            assert!(plain.iter().all(|(&(owner, at), &number)| {
                places.get(owner, at) == Some(number).filter(|_| ![1, 7].contains(&owner))
            }));
            println!("case {case}: {each:.1} bytes for each of {}", plain.len());
            // Those in order take hardly more than they are.
            let most = [9.1, 9.5, 14.5, 14.5, 14.5][case];
            assert!(each < most, "{each:.1} bytes");
        }
    }
}
