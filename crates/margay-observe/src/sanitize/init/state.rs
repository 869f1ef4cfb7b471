// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a block that runs: memory of its own that nothing has written, and registers whose values
//! nothing has defined.

use std::collections::HashMap;
use std::ops::Range;

use margay_ir::{FuncId, Space};

use super::memory::Bits;
use super::taint::Taint;

/// Where an undefined value came from: an instruction, and what it read.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub pc: u32,
    pub what: Unwritten,
    /// All that has no value may be padding of structures, and was only moved since.
    pub padding: bool,
}

/// What has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    Memory {
        space: Space,
        address: u64,
    },
    /// A register of the program.
    Register,
    /// A variable that the compiler has marked, by the function that stands for it.
    Variable(FuncId),
    /// What a shuffle gives for a lane that does not execute it (PTX ISA, "shfl.sync").
    Lane,
}

impl Origin {
    /// The instruction at `pc` read memory.
    pub fn memory(pc: u32, space: Space, address: u64) -> Origin {
        Origin::new(pc, Unwritten::Memory { space, address })
    }

    pub fn new(pc: u32, what: Unwritten) -> Origin {
        Origin { pc, what, padding: false }
    }
}

/// The undefined registers of a warp in one function, each with whether it was computed.
#[derive(Debug, Default)]
pub struct File {
    pub registers: HashMap<u32, (Box<Taint>, Origin, bool)>,
}

/// Whether a byte that was never written may be padding of a structure: it is one of fewer than 16 between bytes that were, and what
/// follows is aligned, and large enough to be the member that needs this, or what precedes is more than half of what is aligned so:
/// every other element of an array is none. `around` are the 32 bytes before it and the 32 from it on, by bits that are set if they
/// were not.
pub fn may_be_padding(address: u64, [before, from]: [u32; 2]) -> bool {
    let (back, on) = (before.leading_ones(), from.trailing_ones());
    let (hole, end) = (back + on, address + u64::from(on));
    let align = (hole + 1).next_power_of_two();
    let member = from.checked_shr(on).unwrap_or(u32::MAX).trailing_zeros();
    let precedes = before.checked_shl(back).unwrap_or(u32::MAX).leading_zeros();
    hole < 16 && end.is_multiple_of(align.into()) && (member >= align || 2 * precedes > align)
}

/// A warp and a function.
pub type Key = (u32, FuncId);

#[derive(Debug)]
pub struct State {
    pub shared: Bits,
    /// By thread of the block; grows with what is touched. A byte is written that is so here or in `together`.
    local: Vec<LocalBits>,
    /// By warp: what all its lanes wrote at once.
    together: Vec<LocalBits>,
    /// By warp: up to where all its lanes' local memory is known to be written, from the start of the kernel's frame on.
    settled: Vec<u64>,
    /// By warp; without those that have no undefined register: nearly always none.
    files: Vec<Vec<(FuncId, File)>>,
    /// How often it was asked whether all shared memory is written.
    asked: u32,
    /// The same of holes.
    asked_of_holes: u32,
}

/// Bytes of a thread's local memory, a bit each: 1 is "never written", and so is what lies beyond.
#[derive(Clone, Debug, Default)]
struct LocalBits(Vec<u64>);

impl LocalBits {
    fn get(&self, at: u64, bytes: u32) -> u8 {
        let word = |n: u64| self.0.get(n as usize).copied().unwrap_or(u64::MAX);
        let (index, bit) = (at / 64, at % 64);
        let mut found = word(index) >> bit;
        if bit > 56 {
            found |= word(index + 1) << (64 - bit);
        }
        found as u8 & ((1u32 << bytes.min(8)) - 1) as u8
    }

    fn put(&mut self, at: u64, bytes: u32, unwritten: u8) {
        let bytes = u64::from(bytes.min(8));
        let words = ((at + bytes).div_ceil(64)) as usize;
        if self.0.len() < words {
            self.0.resize(words, u64::MAX);
        }
        let mask = (1u64 << bytes) - 1;
        let (index, bit) = ((at / 64) as usize, at % 64);
        let unwritten = u64::from(unwritten) & mask;
        self.0[index] = self.0[index] & !(mask << bit) | unwritten << bit;
        if bit + bytes > 64 {
            let next = &mut self.0[index + 1];
            *next = *next & !(mask >> (64 - bit)) | unwritten >> (64 - bit);
        }
    }
}

impl State {
    pub fn new(shared_bytes: u32, threads: u32) -> State {
        State {
            shared: Bits::unwritten(shared_bytes.into()),
            local: vec![LocalBits::default(); threads as usize],
            together: vec![LocalBits::default(); threads.div_ceil(32) as usize],
            settled: vec![0; threads.div_ceil(32) as usize],
            files: (0..threads.div_ceil(32)).map(|_| Vec::new()).collect(),
            asked: 0,
            asked_of_holes: 0,
        }
    }

    /// As new, for another block of the launch.
    pub fn renew(&mut self) {
        self.shared.forget();
        (self.asked, self.asked_of_holes) = (0, 0);
        self.local.iter_mut().chain(&mut self.together).for_each(|own| own.0.clear());
        self.settled.fill(0);
        self.files.iter_mut().for_each(Vec::clear);
    }

    /// Whether all of a warp's local memory in this range, which is always the same, is written.
    pub fn is_local_written(&mut self, warp: u32, frame: &Range<u64>) -> bool {
        let Some(&known) = self.settled.get(warp as usize) else { return false };
        let mut at = known.max(frame.start);
        let lanes = warp * 32..warp * 32 + 32;
        while at < frame.end {
            let bytes = (frame.end - at).min(8);
            let written = |thread| self.local(thread, at, bytes as u32) == 0;
            if self.local_together(warp, at, bytes as u32) != 0 && !lanes.clone().all(written) {
                break;
            }
            at += bytes;
        }
        self.settled[warp as usize] = at;
        at >= frame.end
    }

    /// Whether all of the block's shared memory is known to be written. The look at it comes ever less often.
    pub fn is_shared_written(&mut self) -> bool {
        self.asked += 1;
        self.shared.is_whole() || self.asked.is_power_of_two() && self.shared.look()
    }

    /// The same but for a few ranges of it, as the padding of tiles is.
    pub fn is_shared_written_but(&mut self, holes: &mut Vec<Range<u64>>) -> bool {
        if self.is_shared_written() {
            return true;
        }
        self.asked_of_holes += 1;
        self.asked_of_holes.is_power_of_two() && self.shared.holes(holes)
    }

    /// Bits of up to eight bytes of a thread's local memory: set where a byte was never written.
    pub fn local(&self, thread: u32, at: u64, bytes: u32) -> u8 {
        let own = self.local.get(thread as usize).map_or(0, |own| own.get(at, bytes));
        if own == 0 { 0 } else { own & self.local_together(thread / 32, at, bytes) }
    }

    /// The same of all lanes of a warp, as far as they wrote at once; set also where each wrote by itself.
    pub fn local_together(&self, warp: u32, at: u64, bytes: u32) -> u8 {
        self.together.get(warp as usize).map_or(0, |all| all.get(at, bytes))
    }

    pub fn write_local(&mut self, thread: u32, at: u64, bytes: u32, unwritten: u8) {
        if unwritten != 0 {
            self.settled[(thread / 32) as usize] = 0;
            self.divide(thread / 32, at, bytes);
        }
        if let Some(own) = self.local.get_mut(thread as usize) {
            own.put(at, bytes, unwritten);
        }
    }

    /// All lanes of a warp write up to eight bytes at one address of theirs.
    pub fn write_local_together(&mut self, warp: u32, at: u64, bytes: u32) {
        if let Some(all) = self.together.get_mut(warp as usize) {
            all.put(at, bytes, 0);
        }
    }

    /// What a warp's lanes wrote at once counts as written by each: one of them is to be unwritten there.
    fn divide(&mut self, warp: u32, at: u64, bytes: u32) {
        let Some(all) = self.together.get_mut(warp as usize) else { return };
        let known = all.get(at, bytes);
        if known.count_ones() == bytes.min(8) {
            return;
        }
        all.put(at, bytes, u8::MAX);
        let lanes = warp as usize * 32..(warp as usize * 32 + 32).min(self.local.len());
        for own in self.local.get_mut(lanes).into_iter().flatten() {
            own.put(at, bytes, own.get(at, bytes) & known);
        }
    }

    /// Whether every register of a warp is defined.
    pub fn is_defined(&self, warp: u32) -> bool {
        self.files.get(warp as usize).is_none_or(Vec::is_empty)
    }

    pub fn file(&self, (warp, function): Key) -> Option<&File> {
        let files = self.files.get(warp as usize)?;
        files.iter().find(|(f, _)| *f == function).map(|(_, file)| file)
    }

    /// All registers of a warp in a function are defined.
    pub fn forget_all(&mut self, (warp, function): Key) {
        if let Some(files) = self.files.get_mut(warp as usize) {
            files.retain(|(f, _)| *f != function);
        }
    }

    /// Changes a file, and drops it if nothing is left of it.
    fn change(&mut self, (warp, function): Key, change: impl FnOnce(&mut File)) {
        let Some(files) = self.files.get_mut(warp as usize) else { return };
        let Some(at) = files.iter().position(|(f, _)| *f == function) else { return };
        change(&mut files[at].1);
        if files[at].1.registers.is_empty() {
            files.swap_remove(at);
        }
    }

    /// The first of the lanes `mask` in which a register is undefined.
    pub fn undefined(&self, key: Key, reg: u32, mask: u32) -> Option<(usize, Origin)> {
        let (taint, origin, _) = self.file(key)?.registers.get(&reg)?;
        let lane = (0..32).find(|&l| mask >> l & 1 != 0 && taint[l] != 0)?;
        Some((lane, *origin))
    }

    /// The undefined bits of a register.
    pub fn bits(&self, key: Key, reg: u32) -> Taint {
        let found = self.file(key).and_then(|f| f.registers.get(&reg));
        found.map_or([0; 32], |(t, ..)| **t)
    }

    /// A register is defined now, or was reported, which is enough once: what follows from it is as undefined.
    pub fn forget(&mut self, key: Key, reg: u32) {
        self.change(key, |file| {
            file.registers.remove(&reg);
        });
    }

    /// The lanes `mask` of a register are defined now.
    pub fn clear(&mut self, key: Key, reg: u32, mask: u32) {
        self.change(key, |file| {
            let Some((taint, ..)) = file.registers.get_mut(&reg) else { return };
            for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
                taint[lane] = 0;
            }
            if taint.iter().all(|&t| t == 0) {
                file.registers.remove(&reg);
            }
        });
    }

    /// The lanes `mask` of all registers, or of those that `goes` says, are defined now.
    pub fn clear_where(&mut self, key: Key, mask: u32, goes: impl Fn(u32) -> bool) {
        self.change(key, |file| {
            file.registers.retain(|&reg, (taint, ..)| {
                if goes(reg) {
                    for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
                        taint[lane] = 0;
                    }
                }
                taint.iter().any(|&t| t != 0)
            });
        });
    }

    /// The lanes `mask` of all registers are defined now.
    pub fn clear_all(&mut self, key: Key, mask: u32) {
        self.clear_where(key, mask, |_| true);
    }

    /// The lanes `mask` of a register have these undefined bits now.
    pub fn put(
        &mut self,
        key: Key,
        reg: u32,
        mask: u32,
        taint: &Taint,
        origin: Origin,
        derived: bool,
    ) {
        if taint.iter().all(|&t| t == 0) {
            return self.clear(key, reg, mask);
        }
        let (warp, function) = key;
        let Some(files) = self.files.get_mut(warp as usize) else { return };
        let at = files.iter().position(|(f, _)| *f == function).unwrap_or_else(|| {
            files.push((function, File::default()));
            files.len() - 1
        });
        let new = || (Box::new([0; 32]), origin, derived);
        let entry = files[at].1.registers.entry(reg).or_insert_with(new);
        for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
            entry.0[lane] = taint[lane];
        }
        // One origin stands for all lanes: not the one that may be padding.
        let others = (0..32).any(|lane| mask >> lane & 1 == 0 && entry.0[lane] != 0);
        if !(others && origin.padding && !entry.1.padding) {
            entry.1 = origin;
        }
        entry.2 = derived;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_bytes_cross_words_and_grow() {
        let mut state = State::new(0, 2);
        assert_eq!(state.local(1, 1000, 4), 0xf);
        state.write_local(1, 60, 8, 0b0100_0001);
        assert_eq!(state.local(1, 60, 8), 0b0100_0001);
        assert_eq!(state.local(1, 59, 2), 0b11);
        assert_eq!(state.local(1, 68, 1), 1);
        assert_eq!(state.local(0, 60, 8), 0xff);
    }

    #[test]
    fn what_lanes_wrote_at_once_can_be_taken_back_from_one() {
        let mut state = State::new(0, 40);
        state.write_local_together(0, 61, 8);
        state.write_local(33, 61, 4, 0);
        let each = |state: &State| [0, 31, 32, 33].map(|thread| state.local(thread, 62, 4));
        assert_eq!((each(&state), state.local_together(0, 62, 4)), ([0, 0, 0xf, 0b1000], 0));
        state.write_local(31, 62, 2, 0b10);
        state.write_local(39, 62, 2, 0b10);
        assert_eq!(each(&state), [0, 0b10, 0xf, 0b1000]);
        assert_eq!((state.local_together(0, 62, 4), state.local(0, 61, 8)), (0b11, 0));
        state.write_local_together(0, 62, 2);
        assert_eq!(each(&state), [0, 0, 0xf, 0b1000]);
    }

    #[test]
    fn padding_ends_where_a_member_may_begin() {
        // `struct { char a; short b; double c; }`: one byte behind `a`, four behind `b`.
        assert!(may_be_padding(1, [0, 0b1]));
        let behind = |n: u32| [u32::MAX.checked_shl(32 - n).unwrap_or(0), 0xf >> n];
        assert!((0..4u32).all(|n| may_be_padding(4 + u64::from(n), behind(n))));
        // An array of characters that ends too early: nothing begins at an odd address.
        assert!(!may_be_padding(12, [0, 0b1]) && !may_be_padding(5, [0, 0b11]));
        // Every other character, and word: what follows would do with less.
        let every_other = |n: u32| {
            let own = u32::MAX.checked_shr(32 - n).unwrap_or(0);
            let before = (0..32).step_by(2 * n as usize).fold(0, |all, at| all | own << at);
            may_be_padding(n.into(), [before, before])
        };
        assert_eq!([1, 2, 4, 8].map(every_other), [false; 4]);
        assert!(may_be_padding(4, [0x0fff_ffff, 0xf]), "an integer, and a double that follows");
        assert!(may_be_padding(20, [0x000f_0fff, 0xf0fff]), "the end of what is aligned to 16");
        // More than any padding.
        assert!(!may_be_padding(16, [0, 0xffff]) && !may_be_padding(24, [0xff00_0000, 0xff]));
        assert!(!may_be_padding(0, [u32::MAX; 2]));
        // Up to a vector.
        assert!(may_be_padding(4, [0, 0xfff]) && !may_be_padding(8, [0, 0xfff]));
    }

    #[test]
    fn a_file_goes_with_its_last_register() {
        let mut state = State::new(0, 32);
        let (key, origin) = ((0, FuncId(3)), Origin::memory(1, Space::Shared, 0));
        state.put(key, 7, 0b11, &[0xff; 32], origin, false);
        assert!(!state.is_defined(0) && state.undefined(key, 7, 0b10).is_some());
        assert!(state.undefined(key, 7, 0b100).is_none());
        state.clear(key, 7, 0b01);
        assert!(!state.is_defined(0));
        state.clear(key, 7, 0b10);
        assert!(state.is_defined(0));
    }
}
