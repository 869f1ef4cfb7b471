// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory: banks, and atomics on one word.

use margay_arch::Generation;

use super::super::cures::Change;
use super::super::schema::Finding;
use super::super::shape::Shape;
use super::{Case, bytes, number};
use crate::profile::raw::VariableKind;

impl Case<'_> {
    pub(super) fn shared(&self) -> Option<Finding> {
        let ways = self.one.wavefronts;
        if self.total.conflicts() == 0 || self.one.conflicts() == 0 {
            return None;
        }
        let (name, w) = (self.name(), self.width());
        let tesla = self.model.generation.is_tesla();
        let banks = if tesla { 16 } else { 32 };
        let mut hit: Vec<i64> = self
            .pattern
            .distances
            .iter()
            .map(|d| (d + i64::from(self.pattern.alignment)).div_euclid(4).rem_euclid(banks))
            .collect();
        hit.sort_unstable();
        hit.dedup();
        let where_ = match &*hit {
            [_] => "one bank".into(),
            several => format!("{} of {banks} banks", several.len()),
        };
        let least = self.one.wavefronts_ideal;
        let head =
            format!("{} lanes hit {where_} in {ways} passes where {least} would do", self.lanes());
        let cause = match self.shape {
            Shape::Stride(s) if tesla && w == 8 && s == 8 => format!(
                "{head}: 8-byte words go as two 4-byte requests, whose lanes are two banks apart"
            ),
            Shape::Stride(s) if w < 4 && s.abs() < 4 => format!(
                "{head}: {} lanes share each 4-byte word of {name}, and a bank gives one word to one lane",
                4 / s.abs().max(1)
            ),
            Shape::Stride(s) if s.abs() >= 4 * banks => {
                format!("{head}: column access of {name}, whose rows are {} apart", bytes(s))
            }
            Shape::Stride(s) => {
                format!("{head}: neighbouring lanes are {} apart in {name}", bytes(s))
            }
            Shape::Rows { lanes, stride, row } => format!(
                "{head}: groups of {lanes} lanes with {} between lanes and {} between groups in {name}",
                bytes(stride),
                bytes(row)
            ),
            Shape::Uniform | Shape::Single => format!("{head}: wide words of {name}"),
            Shape::Scattered => {
                format!("{head}: the lanes' places in {name} follow from data")
            }
        };
        let mut cures = Vec::new();
        let mut pitches: Vec<i64> = match self.shape {
            Shape::Stride(s) => vec![s.abs()],
            Shape::Rows { stride, row, .. } => vec![row.abs(), stride.abs()],
            Shape::Single | Shape::Uniform | Shape::Scattered => Vec::new(),
        };
        pitches.push(4 * banks);
        let by = w.max(4);
        if w == 8 && tesla {
            let text = format!(
                "keep the high and the low words of {name} in two arrays of 4-byte words, and put them together after loading"
            );
            cures.push(self.cure("split-words", text, "wavefronts", Change::SplitWords, true));
        }
        if w < 4 {
            let text = format!("give each element of {name} a 4-byte word of its own");
            let change = Change::WordEach { width: w };
            cures.push(self.cure("word-each", text, "wavefronts", change, true));
        }
        for pitch in pitches {
            if pitch < 2 * w || pitch % w != 0 || pitch % 4 != 0 {
                continue;
            }
            let change = Change::Pad { pitch, by };
            cures.push(self.cure("pad", self.pad_text(pitch, by), "wavefronts", change, true));
            if pitch <= 64 && pitch < 4 * banks {
                let text = format!(
                    "make an array for each member of the {}-byte structures in {name}",
                    number(pitch as u64)
                );
                let change = Change::MemberArrays { size: pitch, width: w };
                cures.push(self.cure("member-arrays", text, "wavefronts", change, true));
            }
            if (pitch / w).count_ones() == 1 && pitch >= 4 * banks {
                let text = format!(
                    "store column c of row r of {name} at column c ^ r, which takes no more memory"
                );
                let change = Change::Swizzle { pitch, width: w };
                cures.push(self.cure("swizzle", text, "wavefronts", change, true));
            }
        }
        Some(Finding { rule: "bank-conflict".into(), cause, cure: Self::best(cures) })
    }

    pub(super) fn pad_text(&self, pitch: i64, by: i64) -> String {
        let (name, w) = (self.name(), self.width());
        let size = self.variable.size as i64;
        let columns = pitch / w;
        if self.variable.kind == VariableKind::Variable && size > pitch && size % pitch == 0 {
            let rows = size / pitch;
            return format!(
                "pad each row of {name} by {}: [{rows}][{}] instead of [{rows}][{columns}]",
                bytes(by),
                columns + by / w
            );
        }
        format!("leave {} free after every {} of {name}", bytes(by), bytes(pitch))
    }

    pub(super) fn shared_atomic(&self) -> Option<Finding> {
        let equal = self.most_equal();
        let ideal = self.one.wavefronts_ideal;
        if self.one.wavefronts <= ideal {
            return None;
        }
        let name = self.name();
        let locks = match self.model.generation {
            Generation::Tesla10 | Generation::Tesla12 | Generation::Fermi | Generation::Kepler => {
                true
            }
            Generation::Maxwell | Generation::Pascal | Generation::Volta => false,
        };
        let how = match locks {
            true => "one lock is held at a time, and the others try again",
            false => "they take turns",
        };
        let cause = if equal > 1 {
            format!(
                "{} of {} lanes update one word of {name}: {how}, {} passes in all",
                equal,
                self.lanes(),
                self.one.wavefronts
            )
        } else if locks {
            format!(
                "{} lanes update words of {name} that share locks (there are 256, and words 1 KB apart have the same): {} passes",
                self.lanes(),
                self.one.wavefronts
            )
        } else {
            format!(
                "{} lanes update different words of {name} in the same banks: {} passes",
                self.lanes(),
                self.one.wavefronts
            )
        };
        let cure = if equal > 1 {
            let text = format!(
                "combine what the lanes of a warp have for the same word of {name} ({}), and let one lane update it",
                self.words.say(
                    "shuffles, __match_any_sync, __reduce_add_sync",
                    "sub_group_reduce_add, sub_group_shuffle"
                )
            );
            self.cure("aggregate", text, "wavefronts", Change::OneLaneEach, false)
        } else {
            let change = Change::Pad { pitch: if locks { 1024 } else { 128 }, by: 4 };
            let text = self.pad_text(if locks { 1024 } else { 128 }, 4);
            self.cure("pad", text, "wavefronts", change, true)
        };
        Some(Finding { rule: "shared-atomic-contention".into(), cause, cure })
    }
}
