// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a warp is known not to come after, so that the clocks need not be asked again for each word.

use smallvec::SmallVec;

use super::order::{Block, Thread, Tick};
use super::quick::Quick;
use super::readers::NO_SET;
use super::shadow::{Mark, Width};

/// A kind of wide marks: width, block and warp (as far as they matter), or whether they are of shared memory, and their set,
/// where they are of several blocks, and whether they are strong.
type Key = (Width, u32, u16, bool);

/// The thread whose access is looked at, and what is asked of its clock again and again.
#[derive(Clone, Copy)]
pub struct Looker {
    pub me: Thread,
    /// [`Block::floor`].
    pub floor: Tick,
    /// [`Block::is_uniform`].
    pub uniform: bool,
    /// Of shared memory, which blocks of other clusters do not access.
    pub shared: bool,
}

/// From which stamps on wide marks are not ordered before what a warp does, until a thread of its block learns
/// something. Who does not know a mark's stamps up to one does not know them up to a later one.
#[derive(Default)]
pub struct Unordered {
    version: u64,
    warp: u16,
    from: SmallVec<[(Key, Tick); 4]>,
}

impl Unordered {
    fn key(mark: Mark, shared: bool) -> Key {
        let thread = mark.thread();
        match mark.width() {
            Width::Thread | Width::Lanes => {
                (Width::Lanes, thread.block, thread.warp, mark.strong())
            }
            Width::Warps => (Width::Warps, thread.block, 0, mark.strong()),
            Width::Blocks => (Width::Blocks, u32::from(shared), mark.set(), mark.strong()),
        }
    }

    pub fn is_current(&self, clock: &Block, warp: u16) -> bool {
        self.version == clock.version() && self.warp == warp
    }

    pub fn has(&self, mark: Mark, shared: bool) -> bool {
        self.from(Unordered::key(mark, shared)) <= mark.stamp
    }

    fn from(&self, key: Key) -> Tick {
        self.from.iter().find(|(k, _)| *k == key).map_or(Tick::MAX, |&(_, from)| from)
    }

    /// Tells the short ways what is known here.
    pub fn hint(&self, clock: &Block, looker: &Looker, quick: &mut Quick) {
        if looker.uniform && self.is_current(clock, looker.me.warp) {
            quick.warps_from = self.from((Width::Warps, looker.me.block, 0, false));
            quick.blocks_from = self.from((Width::Blocks, u32::from(looker.shared), NO_SET, false));
        }
    }

    pub fn add(&mut self, clock: &Block, looker: &Looker, mark: Mark) {
        let warp = looker.me.warp;
        if !self.is_current(clock, warp) || self.from.len() > 16 {
            *self = Unordered { version: clock.version(), warp, from: SmallVec::new() };
        }
        let key = Unordered::key(mark, looker.shared);
        match self.from.iter_mut().find(|(k, _)| *k == key) {
            Some((_, from)) => *from = mark.stamp.min(*from),
            None => self.from.push((key, mark.stamp)),
        }
    }
}
