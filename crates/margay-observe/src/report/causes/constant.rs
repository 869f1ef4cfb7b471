// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that every thread has of its own, and memory that all read alike.

use margay_arch::Space;

use super::super::cures::Change;
use super::super::schema::{Cure, Finding};
use super::super::shape::Shape;
use super::{Case, LEAST_LOOKUPS, bytes, number, plural};

impl Case<'_> {
    pub(super) fn local(&self) -> Option<Finding> {
        let unit = self.unit();
        let (executions, all) = (self.site.executions, self.in_unit(&self.total));
        let cause = match self.shape {
            Shape::Uniform | Shape::Single => format!(
                "a {} array or spilled register lives in {} memory: {} {unit} in {}",
                self.words.say("thread's", "work-item's"),
                self.words.space("local"),
                number(all),
                plural(executions, "access").replace("accesss", "accesses")
            ),
            Shape::Stride(_) | Shape::Rows { .. } | Shape::Scattered => format!(
                "the lanes index their {} arrays differently: {} {unit} for {} lanes",
                self.words.say("local", "private"),
                self.in_unit(&self.one),
                self.lanes()
            ),
        };
        let cure = Cure {
            kind: "registers".into(),
            text: "index the array with constants (unroll the loop), or give the kernel more registers, so that it stays in registers".into(),
            unit: unit.into(),
            before: all,
            after: 0,
            whole_variable: false,
            change: None,
            picture: None,
            coverage: 1.0,
        };
        Some(Finding { rule: "local-memory".into(), cause, cure: Some(cure) })
    }

    /// More constants in use than the cache holds, by its model.
    fn constant_misses(&self) -> Option<Finding> {
        let (mut hits, mut misses) = (0, 0);
        for site in self.siblings() {
            hits += site.caches.constant_hits;
            misses += site.caches.constant_misses;
        }
        let lookups = hits + misses;
        if self.g != 0 || lookups < LEAST_LOOKUPS || misses * 10 < lookups {
            return None;
        }
        let cause = format!(
            "{} of {} reads of {} ({}) miss the constant cache (modelled): what does not fit it is better off in read-only global memory, behind a {} pointer",
            number(misses),
            number(lookups),
            self.name(),
            bytes(self.variable.size as i64),
            self.words.say("const __restrict__", "global const")
        );
        Some(Finding { rule: "constant-misses".into(), cause, cure: None })
    }

    pub(super) fn constant(&self) -> Option<Finding> {
        if self.total.replays == 0 || self.one.replays == 0 {
            return self.constant_misses();
        }
        let name = self.name();
        let mut distinct = self.pattern.distances.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let cause = format!(
            "{} lanes read {} different addresses of {name}: constant memory serves one at a time, {} requests",
            self.lanes(),
            distinct.len(),
            self.one.requests
        );
        let text = |how: &str| format!("keep {name} in {how}, where lanes may differ");
        let global = text(self.words.say(
            "global memory behind a const __restrict__ pointer",
            "global memory behind a global const pointer",
        ));
        let shared = text(self.words.say(
            "shared memory, copied there once a block",
            "local (shared) memory, copied there once a work-group",
        ));
        let cure = Self::best([
            self.cure("to-global", global, "requests", Change::Move(Space::Global), false),
            self.cure("to-shared", shared, "requests", Change::Move(Space::Shared), false),
        ]);
        Some(Finding { rule: "constant-serialisation".into(), cause, cure })
    }
}
