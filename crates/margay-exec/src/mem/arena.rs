// SPDX-License-Identifier: MIT OR Apache-2.0
//! One large reservation of host address space, from which every device, managed and pinned
//! allocation is carved.
//!
//! The reservation is `PROT_NONE` and costs nothing. Address ranges become readable and writable
//! in chunks the first time they are handed out and stay so: a freed range gives its pages back
//! (`MADV_DONTNEED`) but is never unmapped, so that a stale pointer used by a racing thread of the
//! host reads zeros instead of killing the process. Whether a *guest* may touch an address is the
//! allocation table's business, not the page tables'.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::backing::{self, SharedFile};

/// Chunk that is made accessible at once, and the card's page size in `MARGAY_BOUNDS=page`.
pub const CHUNK: u64 = 2 << 20;
/// Allocations from this size on get the host's large pages where it has them.
const HUGE: u64 = 2 * CHUNK;
/// Smallest unit handed out, and the least alignment, as `cudaMalloc` has it.
pub const GRANULE: u64 = 256;
/// What the host maps at once: an alignment of this keeps an allocation's pages its own.
pub const HOST_PAGE: u64 = 4096;

/// Owner of a reserved range of host addresses.
pub struct Reservation {
    base: u64,
    size: u64,
}

impl Reservation {
    /// Reserves `size` bytes, aligned to [`CHUNK`].
    pub fn new(size: u64) -> io::Result<Reservation> {
        let with_slack = size + CHUNK;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing.
        let got = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                with_slack as usize,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if got == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = got as u64;
        let base = start.next_multiple_of(CHUNK);
        let unmap = |from: u64, to: u64| {
            if to > from {
                // SAFETY: the range is the unused slack of the mapping that was just made.
                unsafe { libc::munmap(from as *mut libc::c_void, (to - from) as usize) };
            }
        };
        unmap(start, base);
        unmap(base + size, start + with_slack);
        Ok(Reservation { base, size })
    }

    pub fn base(&self) -> u64 {
        self.base
    }

    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range is ours and nobody holds addresses into it once its owner is gone.
        unsafe { libc::munmap(self.base as *mut libc::c_void, self.size as usize) };
    }
}

/// First-fit allocator over a reservation. Not synchronised: the address space holds the lock.
pub struct Arena {
    range: Reservation,
    /// Everything below is accessible.
    committed_end: u64,
    /// Everything from here on was never handed out (so it is still zero).
    fresh_from: u64,
    /// Free ranges below `fresh_from`: start to length.
    holes: BTreeMap<u64, u64>,
    /// Bytes that each live range takes, gap included, by start.
    taken: BTreeMap<u64, u64>,
    /// Live ranges that a file stands behind, by start.
    shared: BTreeMap<u64, Arc<SharedFile>>,
    used: u64,
}

impl Arena {
    pub fn new() -> io::Result<Arena> {
        let mut last = None;
        for gib in [4096u64, 512, 128, 32, 8, 2] {
            match Reservation::new(gib << 30) {
                Ok(range) => {
                    let base = range.base();
                    return Ok(Arena {
                        range,
                        committed_end: base,
                        fresh_from: base,
                        holes: BTreeMap::new(),
                        taken: BTreeMap::new(),
                        shared: BTreeMap::new(),
                        used: 0,
                    });
                }
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory)))
    }

    /// Whether the reservation covers the address.
    pub fn covers(&self, address: u64) -> bool {
        address.wrapping_sub(self.range.base()) < self.range.size()
    }

    pub fn free_bytes(&self) -> u64 {
        self.range.size() - self.used
    }

    /// Zero-filled bytes; `None` if no range is large enough or the host has no memory.
    pub fn alloc(&mut self, size: u64, align: u64) -> Option<u64> {
        let align = align.max(GRANULE);
        if size > self.range.size() {
            return None;
        }
        // A gap behind each object keeps an access just past its end from meeting a neighbour.
        let gap = (size / 16).next_multiple_of(512).clamp(512, 1 << 20);
        let unit = if align >= HOST_PAGE { HOST_PAGE } else { GRANULE };
        let want = (size.max(1) + gap).next_multiple_of(unit);
        let hole = self.holes.iter().find_map(|(&start, &len)| {
            let at = start.next_multiple_of(align);
            (at + want <= start + len).then_some((start, len, at))
        });
        let at = match hole {
            Some((start, len, at)) => {
                self.holes.remove(&start);
                if at > start {
                    self.holes.insert(start, at - start);
                }
                if at + want < start + len {
                    self.holes.insert(at + want, start + len - at - want);
                }
                self.clear(at, size);
                at
            }
            None => {
                let at = self.fresh_from.next_multiple_of(align);
                let end = at.checked_add(want)?;
                if end > self.range.base() + self.range.size() || !self.commit(end) {
                    return None;
                }
                if at > self.fresh_from {
                    self.holes.insert(self.fresh_from, at - self.fresh_from);
                }
                self.fresh_from = end;
                at
            }
        };
        self.taken.insert(at, want);
        self.used += want;
        if size >= HUGE {
            self.prefer_huge_pages(at, size);
        }
        Some(at)
    }

    /// Asks the host for large pages behind a range: with pages of 4 KiB a kernel that streams through arrays
    /// spends much of its time on address translation. A host without them says no, and nothing is lost.
    fn prefer_huge_pages(&self, at: u64, size: u64) {
        let from = at / CHUNK * CHUNK;
        let to = (at + size).next_multiple_of(CHUNK).min(self.committed_end);
        // SAFETY: whole chunks of our reservation; the advice changes no contents.
        unsafe {
            libc::madvise(from as *mut libc::c_void, (to - from) as usize, libc::MADV_HUGEPAGE)
        };
    }

    /// Gives a range back; its pages return to the host.
    pub fn free(&mut self, at: u64) {
        let Some(len) = self.taken.remove(&at) else { return };
        if self.shared.remove(&at).is_some() {
            // The pages are the range's own: see `share`.
            let _ = backing::map_nothing(at, len);
        } else {
            self.discard(at, at + len);
        }
        self.make_hole(at, len);
    }

    /// Gives a range back that was allocated with the alignment of a page and that files may stand behind.
    pub fn release(&mut self, at: u64) {
        let Some(len) = self.taken.remove(&at) else { return };
        let _ = backing::map_nothing(at, len);
        self.make_hole(at, len);
    }

    fn make_hole(&mut self, at: u64, len: u64) {
        self.used -= len;
        let mut start = at;
        let mut end = at + len;
        if let Some((&before, &before_len)) = self.holes.range(..at).next_back()
            && before + before_len == at
        {
            self.holes.remove(&before);
            start = before;
        }
        if let Some(after_len) = self.holes.remove(&end) {
            end += after_len;
        }
        self.holes.insert(start, end - start);
    }

    /// Moves a live range, which was allocated with the alignment of a page, into a file that other
    /// processes can map, and keeps its bytes. Nothing may write to it meanwhile.
    pub fn share(&mut self, at: u64, size: u64) -> io::Result<Arc<SharedFile>> {
        if let Some(file) = self.shared.get(&at) {
            return Ok(file.clone());
        }
        if !at.is_multiple_of(HOST_PAGE) || !self.taken.contains_key(&at) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let bytes = size.max(1).next_multiple_of(HOST_PAGE);
        let file = Arc::new(SharedFile::create(bytes)?);
        // SAFETY: a live range of ours, of at least so many bytes.
        let contents = unsafe { std::slice::from_raw_parts(at as *const u8, size as usize) };
        // Pages that nobody wrote to stay holes.
        for (index, page) in contents.chunks(HOST_PAGE as usize).enumerate() {
            if page.iter().any(|&byte| byte != 0) {
                file.file().write_all_at(page, index as u64 * HOST_PAGE)?;
            }
        }
        backing::map_file(at, bytes, &file, 0)?;
        self.shared.insert(at, file.clone());
        Ok(file)
    }

    /// Puts a part of a file behind pages of a live range.
    pub fn back(&mut self, at: u64, bytes: u64, file: &SharedFile, offset: u64) -> io::Result<()> {
        self.inside(at, bytes)?;
        backing::map_file(at, bytes, file, offset)
    }

    /// Ends [`Arena::back`].
    pub fn unback(&mut self, at: u64, bytes: u64) -> io::Result<()> {
        self.inside(at, bytes)?;
        backing::map_nothing(at, bytes)
    }

    fn inside(&self, at: u64, bytes: u64) -> io::Result<()> {
        let whole = at.is_multiple_of(HOST_PAGE) && bytes.is_multiple_of(HOST_PAGE) && bytes > 0;
        let owner = self.taken.range(..=at).next_back();
        match owner.is_some_and(|(&from, &len)| bytes <= len && at - from <= len - bytes) {
            true if whole => Ok(()),
            true | false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }

    fn commit(&mut self, end: u64) -> bool {
        if end <= self.committed_end {
            return true;
        }
        let limit = self.range.base() + self.range.size();
        let to = end.next_multiple_of(CHUNK).min(limit);
        let bytes = (to - self.committed_end) as usize;
        // SAFETY: the range lies inside our reservation and nothing uses it yet.
        let rc = unsafe {
            libc::mprotect(
                self.committed_end as *mut libc::c_void,
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
            )
        };
        if rc != 0 {
            return false;
        }
        self.committed_end = to;
        true
    }

    /// Whole pages inside go back to the host and read as zero afterwards.
    fn discard(&self, from: u64, to: u64) {
        let first = from.next_multiple_of(HOST_PAGE);
        let last = to / HOST_PAGE * HOST_PAGE;
        if last > first {
            // SAFETY: committed pages of ours that no live allocation shares.
            unsafe {
                libc::madvise(
                    first as *mut libc::c_void,
                    (last - first) as usize,
                    libc::MADV_DONTNEED,
                )
            };
        }
    }

    /// Zeroes a recycled range: its whole pages were discarded when it was freed, and its edges
    /// share pages with neighbours.
    fn clear(&self, at: u64, size: u64) {
        self.discard(at, at + size);
        let first = at.next_multiple_of(HOST_PAGE).min(at + size);
        let last = ((at + size) / HOST_PAGE * HOST_PAGE).max(first);
        // SAFETY: both ranges lie inside the committed range that is being handed out.
        unsafe {
            std::ptr::write_bytes(at as *mut u8, 0, (first - at) as usize);
            std::ptr::write_bytes(last as *mut u8, 0, (at + size - last) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycled_memory_is_zero_and_aligned() {
        let mut arena = Arena::new().unwrap();
        let mut rng = 1u64;
        let mut live: Vec<(u64, u64)> = Vec::new();
        for step in 0..2000u64 {
            rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if live.len() > 40 || (rng >> 60) < 6 && !live.is_empty() {
                let (at, _) = live.swap_remove((rng >> 33) as usize % live.len());
                arena.free(at);
                continue;
            }
            let size = (rng >> 40) % 20000 + 1;
            let align = 1u64 << ((rng >> 20) % 14);
            let at = arena.alloc(size, align).unwrap();
            assert_eq!(at % align.max(GRANULE), 0);
            for &(other, len) in &live {
                assert!(at + size <= other || other + len <= at, "overlap at step {step}");
            }
            // SAFETY: the arena just handed out these bytes.
            let bytes = unsafe { std::slice::from_raw_parts_mut(at as *mut u8, size as usize) };
            assert!(bytes.iter().all(|&b| b == 0), "not zero at step {step}");
            bytes.fill(0xaa);
            live.push((at, size));
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        let mut arena = Arena::new().unwrap();
        assert_eq!(arena.alloc(u64::MAX - 5, 1), None);
        assert_eq!(arena.alloc(1 << 60, 1), None);
    }
}
