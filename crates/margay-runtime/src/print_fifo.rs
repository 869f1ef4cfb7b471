// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buffer between device `printf` and the program's stdout.
//!
//! Invariant: text reaches the C library's `stdout`, so that it keeps its place among what the
//! program itself prints. The buffer is circular, as the guide says ("Formatted Output"): when it
//! is full, the oldest text is lost. A card counts its own records against the limit; here the
//! formatted text counts.

use std::collections::VecDeque;

use parking_lot::Mutex;

struct Fifo {
    texts: VecDeque<Box<[u8]>>,
    bytes: u64,
    limit: u64,
}

/// See the module's header.
pub struct PrintFifo {
    fifo: Mutex<Fifo>,
}

unsafe extern "C" {
    /// The C library's stream, which the `libc` crate does not name.
    static stdout: *mut libc::FILE;
}

impl PrintFifo {
    pub fn new(limit: u64) -> PrintFifo {
        PrintFifo { fifo: Mutex::new(Fifo { texts: VecDeque::new(), bytes: 0, limit }) }
    }

    pub fn set_limit(&self, limit: u64) {
        self.fifo.lock().limit = limit;
    }

    /// Appends the output of one call of one thread.
    pub fn push(&self, text: &[u8]) {
        let mut fifo = self.fifo.lock();
        fifo.bytes += text.len() as u64;
        fifo.texts.push_back(text.into());
        while fifo.bytes > fifo.limit {
            let Some(lost) = fifo.texts.pop_front() else { break };
            fifo.bytes -= lost.len() as u64;
        }
    }

    /// Takes all text out.
    fn take(&self) -> VecDeque<Box<[u8]>> {
        let mut fifo = self.fifo.lock();
        fifo.bytes = 0;
        std::mem::take(&mut fifo.texts)
    }

    /// Writes all text to stdout, at the points where a card's driver does.
    pub fn flush(&self) {
        let texts = self.take();
        if texts.is_empty() {
            return;
        }
        for text in &texts {
            // SAFETY: the pointer and length are of one live slice; stdout is the C library's own.
            unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
        }
        // SAFETY: as above.
        unsafe { libc::fflush(stdout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_text_is_lost() {
        let fifo = PrintFifo::new(8);
        for text in ["aaaa", "bbbb", "cc"] {
            fifo.push(text.as_bytes());
        }
        let kept: Vec<Box<[u8]>> = fifo.take().into();
        assert_eq!(kept, [Box::from(*b"bbbb") as Box<[u8]>, Box::from(*b"cc")]);
        assert!(fifo.take().is_empty());
    }
}
