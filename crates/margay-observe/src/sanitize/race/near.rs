// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages that a worker has looked at lately, which it finds again without asking the shadow.
//!
//! A worker that no other runs beside ([`margay_exec::observe::Watch::alone`]) holds the locks of these pages as long as they
//! are here: nobody waits for them, and taking one for each access costs as much as looking at it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use parking_lot::{ArcMutexGuard, Mutex, MutexGuard, RawMutex};

use super::page::Page;

/// Pages that are kept at first, and where a worker comes back to more of them.
const FEW: usize = 512;
const MOST: usize = 1 << 14;

/// A page that is near.
enum Near {
    Held(ArcMutexGuard<RawMutex, Page>),
    Shared(Arc<Mutex<Page>>),
}

/// A page that is looked at.
pub enum Own<'n> {
    Held(&'n mut Page),
    Locked(MutexGuard<'n, Page>),
}

impl Deref for Own<'_> {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        match self {
            Own::Held(page) => page,
            Own::Locked(page) => page,
        }
    }
}

impl DerefMut for Own<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Page {
        match self {
            Own::Held(page) => page,
            Own::Locked(page) => page,
        }
    }
}

/// See the module's header.
pub struct NearPages {
    /// Each at its number's place.
    pages: Vec<Option<(u64, Near)>>,
    /// How many were here before and are not any more.
    missed: usize,
    alone: bool,
}

impl Default for NearPages {
    fn default() -> NearPages {
        NearPages { pages: none(FEW), missed: 0, alone: false }
    }
}

/// Where a page is kept of a power of two of places: rows of a matrix are powers of two apart, too.
#[inline]
pub fn place(number: u64, places: usize) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - places.trailing_zeros())) as usize
}

fn none(count: usize) -> Vec<Option<(u64, Near)>> {
    (0..count).map(|_| None).collect()
}

impl NearPages {
    /// Nobody else ever looks at a page. To be told before any is here.
    pub fn alone(&mut self) {
        debug_assert!(self.pages.iter().all(Option::is_none));
        self.alone = true;
    }

    /// Whether a page is here.
    #[inline]
    pub fn has(&self, number: u64) -> bool {
        let near = self.pages[place(number, self.pages.len())].as_ref();
        near.is_some_and(|(own, _)| *own == number)
    }

    #[inline]
    pub fn get(&mut self, number: u64) -> Option<Own<'_>> {
        let at = place(number, self.pages.len());
        match &mut self.pages[at] {
            Some((own, near)) if *own == number => Some(match near {
                Near::Held(page) => Own::Held(page),
                Near::Shared(page) => Own::Locked(page.lock()),
            }),
            Some(_) | None => None,
        }
    }

    /// Puts one here that is not; `new`: nobody has looked at it.
    pub fn put(&mut self, number: u64, page: Arc<Mutex<Page>>, new: bool) {
        let count = self.pages.len();
        self.missed += usize::from(!new);
        if self.missed > 4 * count && count < MOST {
            self.missed = 0;
            let old = std::mem::replace(&mut self.pages, none(4 * count));
            for (number, near) in old.into_iter().flatten() {
                let at = place(number, self.pages.len());
                self.pages[at] = Some((number, near));
            }
        }
        // There is always one to be had. Without, it would wait for itself.
        let held = self.alone.then(|| page.try_lock_arc()).flatten();
        debug_assert_eq!(held.is_some(), self.alone);
        let near = held.map_or_else(|| Near::Shared(page), Near::Held);
        let at = place(number, self.pages.len());
        self.pages[at] = Some((number, near));
    }
}

#[cfg(test)]
mod tests {
    use super::super::shadow::PAGE;
    use super::*;

    /// Who is alone holds what is near, and nothing else.
    #[test]
    fn pages_are_found_again() {
        for alone in [false, true] {
            let mut near = NearPages::default();
            if alone {
                near.alone();
            }
            let pages: Vec<_> =
                (0..4 * FEW).map(|_| Arc::new(Mutex::new(Page::new(PAGE, false)))).collect();
            for round in 0..8 {
                for (number, page) in pages.iter().enumerate() {
                    let number = number as u64;
                    if near.get(number).is_none() {
                        near.put(number, page.clone(), round == 0);
                    }
                    assert!(near.get(number).is_some());
                    assert_eq!(page.is_locked(), alone);
                }
            }
            assert!(near.pages.len() > FEW);
            let held = pages.iter().filter(|page| page.is_locked()).count();
            let here = near.pages.iter().flatten().count();
            assert_eq!(held, if alone { here } else { 0 });
            drop(near);
            assert!(pages.iter().all(|page| !page.is_locked()));
        }
    }
}
