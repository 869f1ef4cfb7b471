// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interned identifiers.
//!
//! Every register, variable, label, function and section name of a module is a [`Symbol`]: a dense
//! number that a table resolves to text. Equal names have equal numbers within one [`Symbols`], so
//! lowering may index a `Vec` by [`Symbol::index`]. Symbols of different modules do not compare.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// An interned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

impl Symbol {
    /// A dense number below [`Symbols::len`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of a module.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    text: String,
    /// End offset of each name in `text`; it starts where the one before ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Symbols {
    /// The symbol for `name`, made if need be.
    pub fn intern(&mut self, name: &str) -> Symbol {
        let hash = self.hasher.hash_one(name);
        let Symbols { text, ends, table, hasher } = self;
        if let Some(&id) = table.find(hash, |&id| resolve(text, ends, id) == name) {
            return Symbol(id);
        }
        let id = ends.len() as u32;
        text.push_str(name);
        ends.push(text.len() as u32);
        table.insert_unique(hash, id, |&id| hasher.hash_one(resolve(text, ends, id)));
        Symbol(id)
    }

    /// The symbol for `name` if the module uses that name at all.
    pub fn lookup(&self, name: &str) -> Option<Symbol> {
        let hash = self.hasher.hash_one(name);
        self.table
            .find(hash, |&id| resolve(&self.text, &self.ends, id) == name)
            .map(|&id| Symbol(id))
    }

    /// The name of a symbol; empty for a symbol of another module that has more of them.
    pub fn name(&self, symbol: Symbol) -> &str {
        resolve(&self.text, &self.ends, symbol.0)
    }

    /// How many distinct names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name at all.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn resolve<'a>(text: &'a str, ends: &[u32], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends.get(id - 1).map_or(0, |&e| e as usize) };
    ends.get(id).and_then(|&end| text.get(start..end as usize)).unwrap_or("")
}

impl PartialEq for Symbols {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for Symbols {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_equal_symbols() {
        let mut names = Symbols::default();
        let (a, b) = (names.intern("%r1"), names.intern("%r2"));
        assert_eq!(names.intern("%r1"), a);
        assert_ne!(a, b);
        assert_eq!((names.name(a), names.name(b), names.len()), ("%r1", "%r2", 2));
        assert_eq!((names.lookup("%r2"), names.lookup("%r3")), (Some(b), None));
    }
}
