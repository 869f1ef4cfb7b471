// SPDX-License-Identifier: MIT OR Apache-2.0
//! Zeroed, cache-line aligned host memory for register frames, shared and local memory, and a pool
//! that keeps such buffers for the next block.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

const LINE: usize = 64;

/// An owned, zeroed buffer.
pub struct Buffer {
    at: *mut u8,
    bytes: usize,
}

// SAFETY: a buffer owns its memory, like a `Vec`.
unsafe impl Send for Buffer {}

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        let bytes = bytes.max(1).next_multiple_of(LINE);
        // SAFETY: the size is not zero.
        let at = unsafe { alloc_zeroed(Self::layout(bytes)) };
        if at.is_null() {
            handle_alloc_error(Self::layout(bytes));
        }
        Buffer { at, bytes }
    }

    fn layout(bytes: usize) -> Layout {
        // The alignment is a power of two and sizes are far below the limit.
        Layout::from_size_align(bytes, LINE).unwrap_or(Layout::new::<u64>())
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.at
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The content, 8 bytes at a time.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        // SAFETY: the buffer's own bytes, aligned to a line and a multiple of it.
        unsafe { std::slice::from_raw_parts(self.at.cast::<u64>(), self.bytes / 8) }.iter().copied()
    }

    /// The content of a part, 4 bytes at a time. What is not in the buffer is left out.
    pub fn words_of(&self, offset: u32, bytes: u32) -> impl Iterator<Item = u32> {
        // SAFETY: the buffer's own bytes, aligned to a line.
        let all = unsafe { std::slice::from_raw_parts(self.at.cast::<u32>(), self.bytes / 4) };
        all.iter().skip(offset as usize / 4).take(bytes as usize / 4).copied()
    }

    /// Zeroes so many bytes from the start.
    pub fn clear(&mut self, bytes: usize) {
        // SAFETY: inside the buffer.
        unsafe { std::ptr::write_bytes(self.at, 0, bytes.min(self.bytes)) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.at, Self::layout(self.bytes)) };
    }
}

/// Buffers of finished blocks, by size.
#[derive(Default)]
pub struct Pool {
    free: Vec<Buffer>,
}

/// Kept buffers are scanned, so there are few.
const KEEP: usize = 64;
/// Larger ones are cheaper to get anew, zeroed, from the host's kernel.
const LARGE: usize = 1 << 20;

impl Pool {
    /// A zeroed buffer of at least `bytes`.
    pub fn take(&mut self, bytes: usize) -> Buffer {
        let want = bytes.max(1).next_multiple_of(LINE);
        match self.kept(want) {
            Some(mut buffer) => {
                buffer.clear(want);
                buffer
            }
            None => Buffer::new(want),
        }
    }

    /// The same, which may hold what somebody left there.
    pub fn take_as_left(&mut self, bytes: usize) -> Buffer {
        let want = bytes.max(1).next_multiple_of(LINE);
        self.kept(want).unwrap_or_else(|| Buffer::new(want))
    }

    /// The buffer of a size that was given back last.
    fn kept(&mut self, bytes: usize) -> Option<Buffer> {
        let at = self.free.iter().rposition(|b| b.bytes == bytes)?;
        Some(self.free.swap_remove(at))
    }

    pub fn give(&mut self, buffer: Buffer) {
        if self.free.len() < KEEP && buffer.bytes < LARGE {
            self.free.push(buffer);
        }
    }
}
