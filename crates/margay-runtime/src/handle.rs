// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles: numbers that stand for objects, looked up and never dereferenced.
//!
//! Invariant: a handle is never used twice in a process, so a stale one is always noticed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

/// An opaque object name, as it crosses the C border in a pointer. Never 0, 1 or 2, which are the
/// special streams.
pub type Handle = u64;

/// Handles look like pointers far from any mapping, so that a debugger shows what they are.
static NEXT: AtomicU64 = AtomicU64::new(0x0000_6d67_0000_1000);

/// A fresh handle, unique in the process.
pub fn fresh() -> Handle {
    NEXT.fetch_add(0x10, Ordering::Relaxed)
}

/// All live objects of one kind.
pub struct Table<T> {
    map: RwLock<HashMap<Handle, Arc<T>>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { map: RwLock::new(HashMap::new()) }
    }
}

impl<T> Table<T> {
    pub fn insert(&self, handle: Handle, object: Arc<T>) {
        self.map.write().insert(handle, object);
    }

    pub fn get(&self, handle: Handle) -> Option<Arc<T>> {
        self.map.read().get(&handle).cloned()
    }

    /// Takes the object out; of several callers one gets it.
    pub fn remove(&self, handle: Handle) -> Option<Arc<T>> {
        self.map.write().remove(&handle)
    }

    /// Removes and returns what `pick` chooses.
    pub fn drain_where(&self, pick: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut map = self.map.write();
        let keys: Vec<Handle> = map.iter().filter(|(_, v)| pick(v)).map(|(k, _)| *k).collect();
        keys.into_iter().filter_map(|k| map.remove(&k)).collect()
    }

    /// Live objects for which `pick` holds.
    pub fn all_where(&self, pick: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        self.map.read().values().filter(|v| pick(v)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_handles_are_noticed() {
        let table = Table::default();
        let a = fresh();
        table.insert(a, Arc::new(1));
        assert_eq!(table.get(a).as_deref(), Some(&1));
        assert!(table.remove(a).is_some() && table.remove(a).is_none());
        assert!(table.get(a).is_none() && fresh() != a);
    }
}
