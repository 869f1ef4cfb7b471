// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory: segments and sectors, and atomics on one word.

use margay_arch::Space;

use super::super::build::in_sectors;
use super::super::cures::{Change, cost, total};
use super::super::schema::{Cure, Finding};
use super::super::shape::Shape;
use super::{Case, bytes, number};
use crate::profile::raw::{Home, RawSite, Sums};

impl Case<'_> {
    /// What global traffic is counted in.
    pub(super) fn unit(&self) -> &'static str {
        if in_sectors(self.model) { "sectors" } else { "transactions" }
    }

    pub(super) fn in_unit(&self, sums: &Sums) -> u64 {
        if in_sectors(self.model) { sums.sectors } else { sums.transactions }
    }

    pub(super) fn global(&self) -> Option<Finding> {
        let (name, w, unit) = (self.name(), self.width(), self.unit());
        let now = self.in_unit(&self.one);
        let ordered = cost(self.model, self.site, self.pattern, Some(Change::InOrder));
        let (least, moved) = (self.in_unit(&ordered), ordered.bytes_moved);
        let worse = now > least || self.one.bytes_moved > moved;
        // Lanes that read one word need no more than it.
        if !worse || (self.shape == Shape::Uniform && now <= 1) {
            return None;
        }
        let head = format!("{} lanes touch {now} {unit} where {least} would do", self.lanes());
        let (rule, cause, cure) = match self.shape {
            Shape::Uniform => {
                let text = format!(
                    "put {name} into constant memory, which broadcasts, or let one lane read it and share it"
                );
                let change = Change::Move(Space::Constant);
                let cause = format!("{head}: all lanes ask for the same word of {name}");
                ("uniform-access", cause, self.cure("to-constant", text, unit, change, false))
            }
            Shape::Stride(s) if s == w => {
                let past = self.pattern.alignment % 128;
                let cause = format!(
                    "{head}: the lanes go in order, from {} past a multiple of 128",
                    bytes(i64::from(past))
                );
                let text = format!(
                    "begin each row of {name} at a multiple of 128 bytes ({}a padded row, an index that starts aligned)",
                    self.words.say("cudaMallocPitch, ", "")
                );
                ("misaligned", cause, self.cure("align", text, unit, Change::Align, false))
            }
            Shape::Stride(s) if s == -w => {
                let cause = format!("{head}: the lanes go through {name} backwards");
                let text = format!("let lane k take element k of {name}, and reverse in registers");
                ("order", cause, self.cure("in-order", text, unit, Change::InOrder, false))
            }
            Shape::Stride(s) if s > w && s <= 128 && s % w == 0 => {
                let cause = format!(
                    "{head}: each lane takes {} of every {} of {name}, and the rest of a segment is moved for nothing",
                    bytes(w),
                    bytes(s)
                );
                let text = format!(
                    "keep the members of the {}-byte structures of {name} in arrays of their own",
                    number(s as u64)
                );
                let change = Change::MemberArrays { size: s, width: w };
                ("strided", cause, self.members(text, unit, change, s))
            }
            Shape::Stride(s) => {
                let cause = format!(
                    "{head}: neighbouring lanes are {} apart in {name}, each in a segment of its own",
                    bytes(s)
                );
                ("strided", cause, self.transposed(unit))
            }
            Shape::Rows { lanes, stride, row } if stride == w || stride == 0 => {
                let cause = format!(
                    "{head}: only {lanes} neighbouring lanes are neighbours in {name}; the next {lanes} are {} away",
                    bytes(row)
                );
                let text = format!(
                    "give {}, so that a warp takes one piece of {name}",
                    self.words.say(
                        "a block's rows in x 32 threads",
                        "a work-group's rows in dimension 0 32 work-items"
                    )
                );
                ("short-rows", cause, self.cure("wider-rows", text, unit, Change::InOrder, false))
            }
            Shape::Rows { lanes, stride, row } => {
                let cause = format!(
                    "{head}: {} between lanes, {} after every {lanes} in {name}",
                    bytes(stride),
                    bytes(row)
                );
                ("strided", cause, self.transposed(unit))
            }
            Shape::Single => return None,
            Shape::Scattered => {
                let cause = format!("{head}: the lanes' places in {name} follow from data");
                ("scattered", cause, None)
            }
        };
        Some(Finding { rule: rule.into(), cause, cure })
    }

    fn transposed(&self, unit: &str) -> Option<Cure> {
        let name = self.name();
        let text = format!(
            "let neighbouring lanes take neighbouring elements of {name}: exchange the roles of {} here, or read rows and turn them in a tile of {} memory",
            self.words.say("x and y", "dimensions 0 and 1"),
            self.words.space("shared")
        );
        self.cure("transpose-index", text, unit, Change::InOrder, false)
    }

    /// Arrays for members: counted on all accesses with that stride.
    fn members(&self, text: String, unit: &str, change: Change, stride: i64) -> Option<Cure> {
        let like = |s: &&RawSite| {
            let first = s.patterns.first();
            s.width == self.site.width && first.map(Shape::of) == Some(Shape::Stride(stride))
        };
        let sites: Vec<&RawSite> = self.siblings().filter(like).collect();
        let exact: u64 =
            sites.iter().filter_map(|s| s.counts.get(self.g)).map(|s| self.in_unit(s)).sum();
        let kept = self.in_unit(&total(self.model, sites.iter().copied(), None));
        let after = self.in_unit(&total(self.model, sites.iter().copied(), Some(change)));
        self.told("member-arrays", text, unit, (exact, kept, after), true)
    }

    /// Atomic for this device only.
    fn atomic_elsewhere(&self) -> Option<Finding> {
        let (place, other) = match self.variable.home {
            Home::Device => return None,
            Home::Host => ("the host's memory", "the host and other devices"),
            Home::Peer => ("another device's memory", "that device and the host"),
        };
        let cause = format!(
            "{} lies in {place}: this atomic is one for the {} of this device, not for {other}",
            self.name(),
            self.words.say("threads", "work-items")
        );
        Some(Finding { rule: "atomic-elsewhere".into(), cause, cure: None })
    }

    pub(super) fn global_atomic(&self) -> Option<Finding> {
        if let Some(finding) = self.atomic_elsewhere() {
            return Some(finding);
        }
        let equal = self.most_equal();
        if equal < 2 {
            return None;
        }
        let (name, unit) = (self.name(), self.unit());
        let cause = format!(
            "{equal} of {} lanes update one word of {name}: they take turns, {} {unit}",
            self.lanes(),
            self.in_unit(&self.one)
        );
        let text = format!(
            "combine what the lanes of a warp have for the same word of {name} ({}, and let one lane update it",
            self.words.say(
                "shuffles, __reduce_add_sync), or of a block in shared memory",
                "sub_group_reduce_add), or of a work-group in local memory"
            )
        );
        let cure = self.cure("aggregate", text, unit, Change::OneLaneEach, false);
        Some(Finding { rule: "atomic-contention".into(), cause, cure })
    }
}
