// SPDX-License-Identifier: MIT OR Apache-2.0
//! A map of numbers whose copies share all that is alike: what is known of many blocks goes from hand to hand, and little of it
//! is new each time.
//!
//! Each level has three bits of a number, so that a change makes small nodes alone, one for each level. Nodes that become
//! alike by joining are one again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const BITS: u32 = 3;
const PLACES: usize = 1 << BITS;

type Places<V> = [Option<Arc<V>>; PLACES];

#[derive(Debug)]
enum Below<T> {
    Nodes(Places<Node<T>>),
    Values(Places<T>),
}

#[derive(Debug)]
struct Node<T> {
    /// Values below it, and nodes, with itself.
    len: u32,
    nodes: u32,
    /// Something takes account of its bytes.
    is_counted: AtomicBool,
    below: Below<T>,
}

impl<T> Clone for Node<T> {
    fn clone(&self) -> Node<T> {
        let below = match &self.below {
            Below::Nodes(all) => Below::Nodes(all.clone()),
            Below::Values(all) => Below::Values(all.clone()),
        };
        Node { len: self.len, nodes: self.nodes, is_counted: AtomicBool::new(false), below }
    }
}

/// The place of a number in a node that has so many levels below it.
fn place(number: u32, height: u8) -> usize {
    (number >> (BITS * u32::from(height))) as usize % PLACES
}

fn is_same<V>(a: &Option<Arc<V>>, b: &Option<Arc<V>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// What places are after something was done to them.
enum Changed<V> {
    /// As they were, or as those of the other node.
    Own,
    Other,
    New(Places<V>),
}

/// Both sides' places; where both have something that is not one, it is what `both` makes of them.
fn join<V>(
    own: &Places<V>,
    other: &Places<V>,
    mut both: impl FnMut(&Arc<V>, &Arc<V>) -> Arc<V>,
) -> Changed<V> {
    let all: Places<V> = std::array::from_fn(|n| match (&own[n], &other[n]) {
        (Some(a), Some(b)) if !Arc::ptr_eq(a, b) => Some(both(a, b)),
        (a, b) => a.as_ref().or(b.as_ref()).cloned(),
    });
    let is = |side: &Places<V>| all.iter().zip(side).all(|(a, b)| is_same(a, b));
    match (is(own), is(other)) {
        (true, _) => Changed::Own,
        (_, true) => Changed::Other,
        _ => Changed::New(all),
    }
}

impl<T> Node<T> {
    fn new(below: Below<T>) -> Arc<Node<T>> {
        let mut node = Node { len: 0, nodes: 0, is_counted: AtomicBool::new(false), below };
        node.sum();
        Arc::new(node)
    }

    /// Counts what there is below it.
    fn sum(&mut self) {
        (self.len, self.nodes) = match &self.below {
            Below::Nodes(all) => all
                .iter()
                .flatten()
                .fold((0, 1), |(len, nodes), own| (len + own.len, nodes + own.nodes)),
            Below::Values(all) => (all.iter().flatten().count() as u32, 1),
        };
    }

    /// One with a value, and with so many levels below it.
    fn of(height: u8, number: u32, value: Arc<T>) -> Arc<Node<T>> {
        let n = place(number, height);
        let mut below = match height {
            0 => Below::Values(Places::default()),
            _ => Below::Nodes(Places::default()),
        };
        match &mut below {
            Below::Nodes(all) => all[n] = Some(Node::of(height - 1, number, value)),
            Below::Values(all) => all[n] = Some(value),
        }
        Node::new(below)
    }

    fn insert(self: &mut Arc<Node<T>>, height: u8, number: u32, value: Arc<T>) {
        let own = Arc::make_mut(self);
        let n = place(number, height);
        match &mut own.below {
            Below::Values(all) => all[n] = Some(value),
            Below::Nodes(all) => match &mut all[n] {
                Some(below) => below.insert(height - 1, number, value),
                none => *none = Some(Node::of(height - 1, number, value)),
            },
        }
        own.sum();
    }

    fn joined(
        self: &Arc<Node<T>>,
        other: &Arc<Node<T>>,
        both: &mut impl FnMut(&Arc<T>, &Arc<T>) -> Arc<T>,
    ) -> Arc<Node<T>> {
        let below = match (&self.below, &other.below) {
            (Below::Nodes(own), Below::Nodes(all)) => {
                match join(own, all, |own, other| own.joined(other, both)) {
                    Changed::New(all) => Below::Nodes(all),
                    Changed::Own => return self.clone(),
                    Changed::Other => return other.clone(),
                }
            }
            (Below::Values(own), Below::Values(all)) => match join(own, all, both) {
                Changed::New(all) => Below::Values(all),
                Changed::Own => return self.clone(),
                Changed::Other => return other.clone(),
            },
            (Below::Nodes(_), Below::Values(_)) | (Below::Values(_), Below::Nodes(_)) => {
                unreachable!("both are of one level")
            }
        };
        Node::new(below)
    }

    /// What is to be kept of it; `None` if that is nothing.
    fn kept(self: &Arc<Node<T>>, keep: &mut impl FnMut(&T) -> bool) -> Option<Arc<Node<T>>> {
        fn each<V>(own: &Places<V>, mut kept: impl FnMut(&Arc<V>) -> Option<Arc<V>>) -> Changed<V> {
            let all: Places<V> = std::array::from_fn(|n| kept(own[n].as_ref()?));
            match all.iter().zip(own).all(|(a, b)| is_same(a, b)) {
                true => Changed::Own,
                false => Changed::New(all),
            }
        }
        let below = match &self.below {
            Below::Nodes(all) => match each(all, |own| own.kept(keep)) {
                Changed::New(all) => Below::Nodes(all),
                Changed::Own | Changed::Other => return Some(self.clone()),
            },
            Below::Values(all) => match each(all, |own| keep(own).then(|| own.clone())) {
                Changed::New(all) => Below::Values(all),
                Changed::Own | Changed::Other => return Some(self.clone()),
            },
        };
        let node = Node::new(below);
        (node.len > 0).then_some(node)
    }

    fn each(&self, height: u8, first: u32, visit: &mut impl FnMut(u32, &Arc<T>)) {
        let number = |n: usize| first + ((n as u32) << (BITS * u32::from(height)));
        match &self.below {
            Below::Nodes(all) => {
                let all = all.iter().enumerate();
                for (n, own) in all.filter_map(|(n, own)| Some((n, own.as_ref()?))) {
                    own.each(height - 1, number(n), visit);
                }
            }
            Below::Values(all) => {
                let all = all.iter().enumerate();
                for (n, own) in all.filter_map(|(n, own)| Some((n, own.as_ref()?))) {
                    visit(number(n), own);
                }
            }
        }
    }

    fn count(&self, of_values: u64) -> u64 {
        if self.is_counted.load(Ordering::Relaxed) || self.is_counted.swap(true, Ordering::Relaxed)
        {
            return 0;
        }
        let below = match &self.below {
            Below::Nodes(all) => all.iter().flatten().map(|own| own.count(of_values)).sum(),
            Below::Values(_) => of_values,
        };
        below + Node::<T>::BYTES
    }

    /// What a node takes, with how often it is referred to and what is kept of it in any case.
    const BYTES: u64 = size_of::<Node<T>>() as u64 + 24;
}

/// See the module's header.
#[derive(Debug)]
pub struct Tree<T> {
    root: Option<Arc<Node<T>>>,
    /// Levels below the root.
    height: u8,
}

impl<T> Default for Tree<T> {
    fn default() -> Tree<T> {
        Tree { root: None, height: 0 }
    }
}

impl<T> Clone for Tree<T> {
    fn clone(&self) -> Tree<T> {
        Tree { root: self.root.clone(), height: self.height }
    }
}

impl<T> Tree<T> {
    pub fn len(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.len as usize)
    }

    /// Whether there is a place for a number.
    fn has_place(&self, number: u32) -> bool {
        u64::from(number) >> (BITS * (u32::from(self.height) + 1)) == 0
    }

    pub fn get(&self, number: u32) -> Option<&Arc<T>> {
        if !self.has_place(number) {
            return None;
        }
        let (mut node, mut height) = (self.root.as_ref()?, self.height);
        loop {
            let n = place(number, height);
            match &node.below {
                Below::Values(all) => return all[n].as_ref(),
                Below::Nodes(all) => node = all[n].as_ref()?,
            }
            height -= 1;
        }
    }

    /// One more level.
    fn lift(&mut self) {
        self.height += 1;
        if let Some(root) = self.root.take() {
            let mut all = Places::default();
            all[0] = Some(root);
            self.root = Some(Node::new(Below::Nodes(all)));
        }
    }

    pub fn insert(&mut self, number: u32, value: Arc<T>) {
        while !self.has_place(number) {
            self.lift();
        }
        match &mut self.root {
            Some(root) => root.insert(self.height, number, value),
            none => *none = Some(Node::of(self.height, number, value)),
        }
    }

    /// Adds what `other` has. Of a number that both have it is what `both` makes of the two, if they are not one.
    pub fn join(&mut self, other: &Tree<T>, mut both: impl FnMut(&Arc<T>, &Arc<T>) -> Arc<T>) {
        let mut other = other.clone();
        while self.height < other.height {
            self.lift();
        }
        while other.height < self.height {
            other.lift();
        }
        match (&mut self.root, other.root) {
            (Some(own), Some(other)) => *own = own.joined(&other, &mut both),
            (none @ None, other) => *none = other,
            (Some(_), None) => {}
        }
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.root = self.root.as_ref().and_then(|root| root.kept(&mut keep));
    }

    /// Calls `visit` on all, in order.
    pub fn each(&self, mut visit: impl FnMut(u32, &Arc<T>)) {
        if let Some(root) = &self.root {
            root.each(self.height, 0, &mut visit);
        }
    }

    /// The bytes of its nodes that were not counted before, of whichever tree; and so many for each of those that have values.
    pub fn count(&self, of_values: u64) -> u64 {
        self.root.as_ref().map_or(0, |root| root.count(of_values))
    }

    /// The bytes of all of its nodes.
    pub fn bytes(&self) -> u64 {
        self.root.as_ref().map_or(0, |root| u64::from(root.nodes) * Node::<T>::BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sanitize::random::random;

    type Model = BTreeMap<u32, u32>;

    fn check(tree: &Tree<u32>, model: &Model) {
        let mut all = Model::new();
        tree.each(|number, value| assert!(all.insert(number, **value).is_none()));
        assert_eq!((&all, tree.len()), (model, model.len()));
    }

    /// Whatever is inserted, joined and left out, all copies are what they were.
    #[test]
    fn a_tree_is_its_values() {
        let mut random = random(3);
        let mut all: Vec<(Tree<u32>, Model)> = vec![Default::default(); 12];
        for step in 0..3000 {
            let (a, b) = (random(12) as usize, random(12) as usize);
            let (mut tree, mut model) = all[a].clone();
            match random(40) {
                0 => {
                    let odd = random(2) as u32;
                    tree.retain(|value| value % 2 == odd);
                    model.retain(|_, value| *value % 2 == odd);
                }
                1..8 => {
                    tree.join(&all[b].0, |own, other| match own < other {
                        true => other.clone(),
                        false => own.clone(),
                    });
                    for (&number, &value) in &all[b].1 {
                        let own = model.entry(number).or_insert(value);
                        *own = value.max(*own);
                    }
                }
                _ => {
                    let most = [8, 9, 100, 5000, 1 << 32][random(5) as usize];
                    let (number, value) = (random(most) as u32, random(100) as u32);
                    tree.insert(number, Arc::new(value));
                    model.insert(number, value);
                }
            }
            for number in [0, 7, 8, 63, 64, 511, 512, u32::MAX, random(5000) as u32] {
                assert_eq!(tree.get(number).map(|value| **value), model.get(&number).copied());
            }
            if step % 10 == 0 {
                check(&tree, &model);
            }
            all[b] = (tree, model);
        }
        all.iter().for_each(|(tree, model)| check(tree, model));
        assert!(all.iter().any(|own| own.1.len() > 100));
    }

    /// A copy with one value more takes a node for each level, and who joins it has the same nodes.
    #[test]
    fn copies_share_what_is_alike() {
        let node = Node::<u32>::BYTES;
        let mut tree = Tree::default();
        (0..512).for_each(|number| tree.insert(number, Arc::new(number)));
        assert_eq!(tree.count(1), 73 * node + 64);
        assert_eq!((tree.count(1), tree.bytes()), (0, 73 * node));
        let mut more = tree.clone();
        more.insert(70, Arc::new(0));
        assert_eq!((more.count(1), more.bytes()), (3 * node + 1, 73 * node));
        // Nobody else has it.
        more.insert(71, Arc::new(0));
        assert_eq!(more.count(1), 0);
        let (mut own, mut calls) = (tree.clone(), 0);
        own.join(&more, |_, other| {
            calls += 1;
            other.clone()
        });
        assert_eq!((calls, own.count(1)), (2, 0));
        assert!(Arc::ptr_eq(own.root.as_ref().unwrap(), more.root.as_ref().unwrap()));
        more.join(&tree, |own, _| own.clone());
        more.retain(|_| true);
        assert_eq!(more.count(1), 0);
        // One that is higher shares what is below.
        let mut high = tree.clone();
        high.insert(512, Arc::new(0));
        assert_eq!((high.count(1), high.bytes()), (4 * node + 1, 77 * node));
        tree.join(&high, |_, _| unreachable!("they are one"));
        assert_eq!((tree.len(), tree.count(1)), (513, 0));
    }
}
