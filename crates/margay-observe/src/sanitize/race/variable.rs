// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables through which threads synchronise.

use margay_ir::Scope;

use super::knowledge::Knowledge;

/// Which blocks released anything by a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    #[default]
    Nobody,
    One(u32),
    Several,
}

/// A variable through which threads synchronise: what they released by it.
#[derive(Debug, Default)]
pub struct SyncVariable {
    /// With a scope wider than a block.
    wide: Knowledge,
    /// For the block of the releasing thread only. Hardly any variable has such.
    narrow: Option<Box<[(u32, Knowledge)]>>,
    by: By,
    /// About the bytes of what is known of many blocks, as far as no other takes account of it.
    many: u64,
}

impl SyncVariable {
    /// One by which a thread of a block released this; `several`: of other blocks too, of which this has all.
    pub fn of(block: u32, narrow: bool, known: &Knowledge, several: bool) -> SyncVariable {
        let mut own = SyncVariable::default();
        own.release(block, if narrow { Scope::Cta } else { Scope::Sys }, known);
        if several {
            own.by = By::Several;
        }
        own
    }

    /// About the bytes that it takes.
    pub fn bytes(&self) -> u64 {
        let narrow = self.narrow.iter().flatten();
        let narrow = narrow.map(|own| size_of_val(own) as u64 + own.1.few_bytes()).sum::<u64>();
        size_of::<SyncVariable>() as u64 + self.wide.few_bytes() + narrow + self.many
    }

    /// All that was released by it, for blocks alone and for others.
    fn each(&self) -> impl Iterator<Item = &Knowledge> {
        self.narrow.iter().flatten().map(|own| &own.1).chain([&self.wide])
    }

    /// Whether anything was released for the block of the thread that did it alone, or for others.
    pub fn has(&self, narrow: bool) -> bool {
        if narrow { self.narrow.is_some() } else { !self.wide.is_empty() }
    }

    /// Whether only this block released anything.
    pub fn is_only_of(&self, block: u32) -> bool {
        self.by == By::One(block)
    }

    /// What a block learns that reads it with this scope.
    pub fn known(&self, block: u32, scope: Scope) -> Knowledge {
        let mut known = Knowledge::default();
        if scope != Scope::Cta || self.is_only_of(block) {
            known.join(&self.wide);
        }
        let narrow = self.narrow.iter().flatten().filter(|own| own.0 == block);
        narrow.for_each(|(_, own)| known.join(own));
        known
    }

    /// Whether anything was ever released by it.
    #[cfg(test)]
    pub fn is_released(&self) -> bool {
        self.by != By::Nobody
    }

    /// All that was released by it, for whomever.
    #[cfg(test)]
    pub fn all(&self) -> Knowledge {
        let mut known = self.wide.clone();
        self.narrow.iter().flatten().for_each(|own| known.join(&own.1));
        known
    }

    /// A thread of a block releases what it knows.
    pub fn release(&mut self, block: u32, scope: Scope, known: &Knowledge) {
        if scope == Scope::Cta {
            let mut narrow = self.narrow.take().map(Vec::from).unwrap_or_default();
            match narrow.iter_mut().find(|own| own.0 == block) {
                Some((_, own)) => own.join(known),
                None => narrow.push((block, known.clone())),
            }
            self.narrow = Some(narrow.into());
        } else {
            self.wide.join(known);
        }
        let many = self.many + self.each().map(Knowledge::count_many).sum::<u64>();
        self.many = many.min(self.each().map(Knowledge::most_many).sum());
        self.by = match self.by {
            By::Nobody => By::One(block),
            By::One(own) if own == block => self.by,
            By::One(_) | By::Several => By::Several,
        };
    }
}
