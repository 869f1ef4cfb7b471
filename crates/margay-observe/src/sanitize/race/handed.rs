// SPDX-License-Identifier: MIT OR Apache-2.0
//! What fences of sequential consistency are to other threads of the block, or of the warp, once all of it have met:
//! `__threadfence()`, a barrier or `__syncwarp()`, and one thread that signals for all; and one that waits for a signal, a
//! barrier, and a fence of each thread.
//!
//! Two such fences synchronise in the order that they have (PTX ISA, "Fence-SC order"). If the one came before the signal, in
//! causality order, and the other after whoever has read it, the second cannot be the first of the two: what it would then
//! release would come before the signal that was read. So it does not matter which threads signal and read. Of other fences, or
//! where the signal releases and not the fence, it does.

use margay_ir::Scope;
use smallvec::SmallVec;

use super::knowledge::Knowledge;

/// See the module's header.
#[derive(Debug, Default)]
pub struct Handed {
    /// What fences stand for, by their scopes.
    fenced: SmallVec<[(Scope, Knowledge); 1]>,
    /// What was read, from whomever, and from threads of the block alone.
    read: [Knowledge; 2],
}

impl Handed {
    pub fn is_empty(&self) -> bool {
        self.fenced.is_empty() && self.acquires_nothing()
    }

    pub fn acquires_nothing(&self) -> bool {
        self.read.iter().all(Knowledge::is_empty)
    }

    pub fn add_fenced(&mut self, scope: Scope, known: &Knowledge) {
        match self.fenced.iter_mut().find(|own| own.0 == scope) {
            Some((_, own)) => own.join(known),
            None => self.fenced.push((scope, known.clone())),
        }
    }

    pub fn add_read(&mut self, known: &Knowledge, same_block: bool) {
        self.read[usize::from(same_block)].join(known);
    }

    /// What a strong write of any of these threads releases.
    pub fn fenced(&self) -> &[(Scope, Knowledge)] {
        &self.fenced
    }

    /// What a fence of this scope acquires.
    pub fn acquired_by(&self, scope: Scope) -> Knowledge {
        let mut known = self.read[1].clone();
        if scope != Scope::Cta {
            known.join(&self.read[0]);
        }
        known
    }
}
