// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the checks know of programs, once for all their launches.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use margay_exec::program::Program;
use parking_lot::Mutex;

use super::{indices, init, race, sync};
use crate::words::Words;

/// What is known of a program, as far as somebody asked.
#[derive(Default)]
pub struct Known {
    words: OnceLock<Words>,
    init: OnceLock<Arc<init::Facts>>,
    race: OnceLock<Arc<race::Facts>>,
    sync: OnceLock<Arc<sync::Facts>>,
    index_calls: OnceLock<Arc<[u32]>>,
}

impl Known {
    /// Of the kernel's language.
    pub fn words(&self, program: &Program) -> Words {
        *self.words.get_or_init(|| Words::of_module(&program.module().ir))
    }

    pub fn init(&self, program: &Program) -> Arc<init::Facts> {
        self.init.get_or_init(|| Arc::new(init::Facts::of(program))).clone()
    }

    pub fn race(&self, program: &Program) -> Arc<race::Facts> {
        self.race.get_or_init(|| Arc::new(race::Facts::of(program))).clone()
    }

    pub fn sync(&self, program: &Program) -> Arc<sync::Facts> {
        self.sync.get_or_init(|| Arc::new(sync::Facts::of(program))).clone()
    }

    /// Calls of the function that is told of wrong indices, by their addresses in the code, in order.
    pub fn index_calls(&self, program: &Program) -> Arc<[u32]> {
        self.index_calls.get_or_init(|| indices::calls(program)).clone()
    }
}

/// Programs that are kept at least, whether they live or not.
const KEPT: usize = 64;

/// A program that was looked at, as long as it lives.
type Entry = (Weak<Program>, Arc<Known>);

/// What is known of programs, by their addresses, which nothing else has while there is an entry.
#[derive(Default)]
pub struct Programs(Mutex<HashMap<usize, Entry>>);

impl Programs {
    /// What is known of a program.
    pub fn known(&self, program: &Arc<Program>) -> Arc<Known> {
        let mut known = self.0.lock();
        let at = Arc::as_ptr(program) as usize;
        if known.len() >= KEPT && !known.contains_key(&at) {
            known.retain(|_, (program, _)| program.strong_count() > 0);
        }
        let new = || (Arc::downgrade(program), Arc::default());
        known.entry(at).or_insert_with(new).1.clone()
    }
}
