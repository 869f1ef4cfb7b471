// SPDX-License-Identifier: MIT OR Apache-2.0
//! Critical sections in programs for compute capabilities before 7.0.
//!
//! There, a volatile write behind a fence is taken for a flag. But the fence at a section's end belongs to the lock: what the
//! thread accessed in the section and writes after it has left, without a fence of its own, is data that is no longer protected.

use margay_exec::fault::Access;
use margay_exec::observe::AccessEvent;
use margay_ir::Space;
use smallvec::SmallVec;

use super::facts::Role;

/// Words that are kept of a section. Of longer ones the first ones are.
const MOST: usize = 16;

/// Where a thread is, or was last.
#[derive(Debug)]
struct Section {
    warp: u16,
    lane: u8,
    /// What it compared and swapped before.
    lock: u64,
    left: bool,
    /// What it accessed inside by strong accesses.
    words: SmallVec<[u64; 4]>,
}

/// The sections of a block's threads.
#[derive(Debug, Default)]
pub struct Sections(Vec<Section>);

impl Sections {
    /// Notes a strong access. Returns the lanes that write what they accessed in a section that they have left.
    pub fn note(&mut self, event: &AccessEvent<'_>, role: Role) -> u32 {
        if self.0.is_empty() && !role.compares {
            return 0;
        }
        let warp = event.at.warp as u16;
        let mut behind = 0;
        for lane in (0..32u8).filter(|l| event.mask >> l & 1 != 0) {
            let shared = u64::from(event.space == Space::Shared) << 63;
            let word = event.addresses[usize::from(lane)] | shared;
            let own = self.0.iter_mut().find(|s| (s.warp, s.lane) == (warp, lane));
            match own {
                Some(section) if role.compares => {
                    (section.lock, section.left) = (word, false);
                    section.words.clear();
                }
                None if role.compares => {
                    let words = SmallVec::new();
                    self.0.push(Section { warp, lane, lock: word, left: false, words });
                }
                Some(section) if section.lock == word => {
                    section.left |= event.access != Access::Read;
                }
                Some(section) if section.left => {
                    let writes = event.access != Access::Read;
                    behind |= u32::from(writes && section.words.contains(&word)) << lane;
                }
                Some(section) if section.words.len() < MOST && !section.words.contains(&word) => {
                    section.words.push(word);
                }
                Some(_) | None => {}
            }
        }
        behind
    }

    /// Lanes of a warp execute a fence: what they write from here on may be a flag again.
    pub fn fenced(&mut self, warp: u16, mask: u32) {
        self.0.retain(|s| !(s.left && s.warp == warp && mask >> s.lane & 1 != 0));
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
