// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buffers of a case in memory that a runner owns, aligned as a device's allocations are.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Bytes at a 256-byte boundary.
pub struct Aligned {
    start: *mut u8,
    layout: Layout,
}

impl Aligned {
    pub fn new(bytes: usize) -> Aligned {
        let layout = Layout::from_size_align(bytes.max(256), 256).expect("a bench buffer fits");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Aligned { start, layout }
    }

    pub fn address(&self) -> *mut u8 {
        self.start
    }

    pub fn fill(&mut self, contents: &[u8]) {
        assert!(contents.len() <= self.layout.size());
        // SAFETY: the range is ours, long enough by the assertion, and apart from `contents`.
        unsafe { self.start.copy_from_nonoverlapping(contents.as_ptr(), contents.len()) }
    }

    pub fn read(&self, bytes: usize) -> Vec<u8> {
        assert!(bytes <= self.layout.size());
        // SAFETY: the range is ours, initialised, and long enough by the assertion.
        unsafe { std::slice::from_raw_parts(self.start, bytes) }.to_vec()
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start, self.layout) }
    }
}
