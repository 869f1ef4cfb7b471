// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory and events of one process in another (CUDA C++ Programming Guide, "Interprocess
//! Communication").
//!
//! A handle names a file without a name by its process and descriptor; another process of the same user
//! opens it under `/proc`. An allocation moves into such a file when it is first exported; an event that
//! is made for it has a page there with the numbers of the records asked for and of those reached.
//!
//! Invariant: a handle of a process that has ended, or that was never one, is an error and opens nothing.
//! Limit: processes must see each other under `/proc`: one container, one user.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use margay_exec::mem::{AllocKind, SharedFile};

use crate::activity;
use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::memory::Origin;
use crate::runtime::{self, Runtime};

/// What `CUipcMemHandle` and `CUipcEventHandle` hold.
pub type Bytes = [u8; 64];

const MAGIC: u32 = 0x6970_676d;
const PAGE: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Memory = 1,
    Event = 2,
}

impl Kind {
    /// What a driver says of bytes that are no handle of this kind (measured on an H200).
    fn nonsense(self) -> CudaError {
        match self {
            Kind::Memory => CudaError::InvalidValue,
            Kind::Event => CudaError::MapFailed,
        }
    }
}

/// What a handle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name {
    kind: u32,
    pid: u32,
    /// Tells a process from a later one of the same number.
    started: u64,
    fd: u32,
    device: u32,
    size: u64,
}

/// When a process began, in ticks since the system's start.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses, in which anything may be.
    let rest = stat.rsplit_once(')')?.1;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

impl Name {
    fn here(kind: Kind, fd: &SharedFile, device: u32, size: u64) -> Result<Name> {
        activity::share();
        let pid = std::process::id();
        let started = start_time(pid).ok_or(CudaError::OperatingSystem)?;
        let fd = fd.as_fd().as_raw_fd() as u32;
        Ok(Name { kind: kind as u32, pid, started, fd, device, size })
    }

    fn bytes(self) -> Bytes {
        let words = [MAGIC, self.kind, self.pid, self.fd, self.device, 0];
        let mut out = [0; 64];
        for (at, word) in words.iter().enumerate() {
            out[at * 4..at * 4 + 4].copy_from_slice(&word.to_le_bytes());
        }
        out[24..32].copy_from_slice(&self.started.to_le_bytes());
        out[32..40].copy_from_slice(&self.size.to_le_bytes());
        out
    }

    fn read(bytes: &Bytes, kind: Kind) -> Result<Name> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at * 4 + i]));
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if word(0) != MAGIC || word(1) != kind as u32 {
            return Err(kind.nonsense());
        }
        let (pid, fd, device) = (word(2), word(3), word(4));
        Ok(Name { kind: word(1), pid, fd, device, started: long(24), size: long(32) })
    }

    fn open(self, kind: Kind) -> Result<SharedFile> {
        activity::share();
        if start_time(self.pid) != Some(self.started) {
            return Err(kind.nonsense());
        }
        let path = format!("/proc/{}/fd/{}", self.pid, self.fd);
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file: File = file.map_err(|_| CudaError::MapFailed)?;
        Ok(SharedFile::from_fd(OwnedFd::from(file)))
    }
}

/// Memory of another process that is open here.
pub(crate) struct Opened {
    handle: Bytes,
    base: u64,
    references: u64,
}

impl Runtime {
    /// `cuIpcGetMemHandle`: of an allocation of `cuMemAlloc`, by any address in it.
    pub fn export_memory(&self, address: u64) -> Result<Bytes> {
        let record = self.allocation(address).ok_or(CudaError::InvalidValue)?;
        if record.origin != Origin::Alloc {
            return Err(CudaError::InvalidValue);
        }
        self.wait_for_users(&record);
        let file = self.memory.share(record.base).map_err(|_| CudaError::OutOfMemory)?;
        Ok(Name::here(Kind::Memory, &file, record.device, record.size)?.bytes())
    }

    /// `cuIpcOpenMemHandle`: one address for each handle, however often it is opened.
    pub fn open_memory(&self, context: &Context, handle: &Bytes) -> Result<u64> {
        let name = Name::read(handle, Kind::Memory)?;
        if name.pid == std::process::id() {
            // As the driver has it: memory is not opened where it was made.
            return Err(CudaError::InvalidContext);
        }
        let mut all = self.opened.lock();
        if let Some(opened) = all.iter_mut().find(|o| o.handle == *handle) {
            opened.references += 1;
            return Ok(opened.base);
        }
        let file = name.open(Kind::Memory)?;
        let bytes = name.size.max(1).next_multiple_of(PAGE);
        if name.size == 0 || file.bytes().map_err(|_| CudaError::MapFailed)? < bytes {
            return Err(CudaError::InvalidHandle);
        }
        let base = self.memory.reserve(bytes, 1).map_err(|_| CudaError::OutOfMemory)?;
        let mapped = self.memory.map(base, bytes, &file, 0).is_ok();
        let (kind, label) = (AllocKind::Mapped, "cudaIpcOpenMemHandle");
        if !mapped || self.memory.grant(base, name.size, kind, context.device, label).is_err() {
            self.memory.unreserve(base);
            return Err(CudaError::MapFailed);
        }
        let owner = (context.device, context.handle);
        self.records.insert_foreign(self, base, name.size, Origin::Ipc, owner.0, owner.1);
        crate::watch::allocated(self, base);
        all.push(Opened { handle: *handle, base, references: 1 });
        Ok(base)
    }

    /// `cuIpcCloseMemHandle`: the last one ends the mapping, after the work that may use it.
    pub fn close_memory(&self, base: u64) -> Result<()> {
        let mut all = self.opened.lock();
        let at = all.iter().position(|o| o.base == base).ok_or(CudaError::InvalidValue)?;
        all[at].references -= 1;
        if all[at].references > 0 {
            return Ok(());
        }
        all.swap_remove(at);
        drop(all);
        self.contexts.all_where(|_| true).iter().for_each(|context| context.drain());
        self.end_opened(base);
        Ok(())
    }

    fn end_opened(&self, base: u64) {
        let Some(size) = self.allocation(base).map(|r| r.size) else { return };
        if self.records.remove_foreign(base, Origin::Ipc) {
            crate::watch::freed(self, base);
            self.memory.revoke(base);
            let _ = self.memory.unmap(base, size.next_multiple_of(PAGE));
            self.memory.unreserve(base);
        }
    }

    /// Closes what a context that ends has open.
    pub(crate) fn close_memory_of(&self, context: crate::Handle) {
        let mine = |o: &Opened| self.allocation(o.base).is_none_or(|r| r.context == context);
        let gone: Vec<u64> = {
            let mut all = self.opened.lock();
            let gone = all.iter().filter(|o| mine(o)).map(|o| o.base).collect();
            all.retain(|o| !mine(o));
            gone
        };
        gone.into_iter().for_each(|base| self.end_opened(base));
    }
}

/// What processes share of an event.
#[repr(C)]
struct Page {
    /// Records asked for.
    asked: AtomicU64,
    /// The greatest record that was reached.
    reached: AtomicU64,
    /// Who asked for the last one, so that nobody waits for a process that has ended.
    recorder: AtomicU32,
    padding: AtomicU32,
    recorder_started: AtomicU64,
}

/// The shared part of an event that was made for other processes.
pub(crate) struct SharedEvent {
    file: Arc<SharedFile>,
    at: u64,
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        runtime::get().memory.unreserve(self.at);
    }
}

impl SharedEvent {
    fn over(file: SharedFile) -> Result<SharedEvent> {
        let rt = runtime::get();
        let at = rt.memory.reserve(PAGE, 1).map_err(|_| CudaError::OutOfMemory)?;
        let event = SharedEvent { file: Arc::new(file), at };
        rt.memory.map(at, PAGE, &event.file, 0).map_err(|_| CudaError::MapFailed)?;
        Ok(event)
    }

    /// For `cuEventCreate` with `CU_EVENT_INTERPROCESS`.
    pub(crate) fn create() -> Result<SharedEvent> {
        let file = SharedFile::create(PAGE).map_err(|_| CudaError::OutOfMemory)?;
        SharedEvent::over(file)
    }

    /// `cuIpcGetEventHandle`.
    pub(crate) fn name(&self, device: u32) -> Result<Bytes> {
        Ok(Name::here(Kind::Event, &self.file, device, PAGE)?.bytes())
    }

    /// `cuIpcOpenEventHandle`.
    pub(crate) fn open(handle: &Bytes) -> Result<SharedEvent> {
        let name = Name::read(handle, Kind::Event)?;
        if name.pid == std::process::id() {
            return Err(CudaError::InvalidContext);
        }
        let file = name.open(Kind::Event)?;
        match file.bytes() {
            Ok(PAGE) => SharedEvent::over(file),
            Ok(_) | Err(_) => Err(CudaError::MapFailed),
        }
    }

    fn page(&self) -> &Page {
        // SAFETY: a page of the arena that is this event's until it is dropped; all that lies there is
        // atomic, and any bits are valid.
        unsafe { &*(self.at as *const Page) }
    }

    /// A record is asked for; its number.
    pub(crate) fn ask(&self) -> u64 {
        let page = self.page();
        let pid = std::process::id();
        page.recorder_started.store(start_time(pid).unwrap_or(0), Ordering::Release);
        page.recorder.store(pid, Ordering::Release);
        page.asked.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The record was reached.
    pub(crate) fn reach(&self, number: u64) {
        self.page().reached.fetch_max(number, Ordering::AcqRel);
    }

    /// The last record that anybody asked for.
    pub(crate) fn last(&self) -> u64 {
        self.page().asked.load(Ordering::Acquire)
    }

    pub(crate) fn is_reached(&self, number: u64) -> bool {
        self.page().reached.load(Ordering::Acquire) >= number
    }

    /// Waits for a record. False if the process that was to reach it has ended.
    pub(crate) fn wait(&self, number: u64) -> bool {
        let mut rest = Duration::from_micros(20);
        let mut looks = 0u32;
        while !self.is_reached(number) {
            looks += 1;
            if looks.is_multiple_of(64) {
                let page = self.page();
                let recorder = page.recorder.load(Ordering::Acquire);
                let started = page.recorder_started.load(Ordering::Acquire);
                if start_time(recorder) != Some(started) && !self.is_reached(number) {
                    return false;
                }
            }
            std::thread::sleep(rest);
            rest = (rest * 2).min(Duration::from_millis(2));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_says_what_it_names_and_nothing_else_is_one() {
        let pid = std::process::id();
        let started = start_time(pid).unwrap();
        let kind = Kind::Memory as u32;
        let name = Name { kind, pid, started, fd: 7, device: 1, size: 12345 };
        assert_eq!(Name::read(&name.bytes(), Kind::Memory), Ok(name));
        assert_eq!(Name::read(&name.bytes(), Kind::Event), Err(CudaError::MapFailed));
        assert_eq!(Name::read(&[0; 64], Kind::Memory), Err(CudaError::InvalidValue));
        let gone = Name { started: started + 1, ..name };
        assert_eq!(gone.open(Kind::Memory).err(), Some(CudaError::InvalidValue));
    }
}
