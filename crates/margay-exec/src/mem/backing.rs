// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files without a name that stand behind parts of the arena: what mappings and other processes share.
//!
//! Invariant: an address of the arena is always mapped by something. What a file leaves becomes fresh
//! anonymous memory at once, so that a stale pointer of the host program reads zeros and kills nothing.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Shared memory: a file that lives in memory.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
}

impl SharedFile {
    /// A file of zeros. Its memory is taken when it is touched.
    pub fn create(bytes: u64) -> io::Result<SharedFile> {
        // SAFETY: a NUL-terminated name; the call touches nothing else.
        let fd = unsafe { libc::memfd_create(c"margay".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and is nobody else's.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        file.set_len(bytes)?;
        Ok(SharedFile { file })
    }

    /// One that another process made.
    pub fn from_fd(fd: OwnedFd) -> SharedFile {
        SharedFile { file: File::from(fd) }
    }

    pub fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Makes the file at least so long.
    pub fn grow(&self, bytes: u64) -> io::Result<()> {
        match self.bytes()? < bytes {
            true => self.file.set_len(bytes),
            false => Ok(()),
        }
    }

    /// Gives whole pages of the file back to the host; they read as zeros from then on.
    pub fn punch(&self, offset: u64, bytes: u64) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (offset, bytes) = (offset as libc::off_t, bytes as libc::off_t);
        // SAFETY: changes the file only. Where it fails the memory stays taken until the file goes.
        unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset, bytes) };
    }

    /// Another descriptor of the same file, to be handed out.
    pub fn duplicate(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.file)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

fn map(at: u64, bytes: u64, flags: libc::c_int, fd: libc::c_int, offset: u64) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the callers pass whole pages of the arena, which are this crate's own.
    let got = unsafe {
        libc::mmap(
            at as *mut libc::c_void,
            bytes as usize,
            protection,
            flags | libc::MAP_FIXED,
            fd,
            offset as libc::off_t,
        )
    };
    if got == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Puts a part of a file behind whole pages of the arena.
pub(super) fn map_file(at: u64, bytes: u64, file: &SharedFile, offset: u64) -> io::Result<()> {
    map(at, bytes, libc::MAP_SHARED, file.file.as_raw_fd(), offset)
}

/// Puts fresh anonymous memory there.
pub(super) fn map_nothing(at: u64, bytes: u64) -> io::Result<()> {
    map(at, bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0)
}
