// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts: what a program has on one device.
//!
//! Invariant: a kernel's fault is sticky. From then on every call in the context gives that
//! error, until the context is destroyed or its device's primary context is reset.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use margay_arch::Gpu;
use margay_exec::mem::{Devices, Reach};
use margay_exec::program::Program;
use margay_ir::Syscall;
use parking_lot::Mutex;

use crate::device_heap::DeviceHeap;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::print_fifo::PrintFifo;
use crate::runtime::{self, Runtime};
use crate::stream::StreamSet;
use crate::thread;

/// `cuCtxSetLimit`'s limits that can be set. Bytes, or counts for the last three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    /// Of each thread.
    pub stack: u64,
    pub print_fifo: u64,
    pub heap: u64,
    pub launch_depth: u64,
    pub pending_launches: u64,
    pub l2_fetch: u64,
    pub persisting_l2: u64,
}

impl ContextLimits {
    /// What a fresh context has. The FIFO is 64 KiB a multiprocessor (measured), at least the
    /// documented megabyte.
    fn of(gpu: &Gpu) -> Self {
        let sm_count = gpu.card.sm_count.value;
        // Three sixteenths of the cache, where lines can be kept (measured).
        let can_keep = gpu.cc().major >= 8;
        let persisting_l2 = if can_keep { u64::from(gpu.card.l2_bytes.value) * 3 / 16 } else { 0 };
        ContextLimits {
            stack: 1 << 10,
            print_fifo: (u64::from(sm_count) << 16).max(1 << 20),
            heap: 8 << 20,
            launch_depth: 2,
            pending_launches: 2048,
            l2_fetch: 64,
            persisting_l2,
        }
    }
}

/// A context. The lock order is `streams` last.
pub struct Context {
    pub handle: Handle,
    pub device: u32,
    pub is_primary: bool,
    /// `CU_CTX_*` flags as given. Scheduling flags change nothing: waiting always blocks.
    pub flags: AtomicU32,
    /// `cuFuncCache`: kept for the getter.
    pub cache_config: AtomicU32,
    /// Shared-memory bank size: kept for the getter.
    pub shared_config: AtomicU32,
    /// How often it is used: once since its creation, and once for each `cuCtxAttach`.
    pub uses: AtomicU32,
    /// Never repeats in the process (`cuCtxGetId`).
    pub id: u64,
    error: AtomicU32,
    gone: AtomicBool,
    pub(crate) streams: Mutex<StreamSet>,
    limits: Mutex<ContextLimits>,
    /// A kernel that may print was launched: the FIFO's size is fixed.
    prints: AtomicBool,
    /// A kernel that may allocate was launched: the heap's size is fixed.
    allocates: AtomicBool,
    pub(crate) fifo: PrintFifo,
    pub(crate) heap: DeviceHeap,
    peers: Mutex<HashSet<Handle>>,
}

impl Context {
    pub(crate) fn create(handle: Handle, device: u32, is_primary: bool, flags: u32) -> Arc<Self> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let limits = ContextLimits::of(&runtime::get().devices[device as usize].gpu);
        let context = Arc::new(Context {
            handle,
            device,
            is_primary,
            flags: AtomicU32::new(flags),
            cache_config: AtomicU32::new(0),
            shared_config: AtomicU32::new(1),
            uses: AtomicU32::new(1),
            id: IDS.fetch_add(1, Ordering::Relaxed),
            error: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            streams: Mutex::default(),
            prints: AtomicBool::new(false),
            allocates: AtomicBool::new(false),
            fifo: PrintFifo::new(limits.print_fifo),
            heap: DeviceHeap::new(device, limits.heap),
            limits: Mutex::new(limits),
            peers: Mutex::default(),
        });
        runtime::get().contexts.insert(handle, context.clone());
        context
    }

    /// `Ok` unless a kernel has faulted in this context.
    pub fn check(&self) -> Result<()> {
        if self.gone.load(Ordering::Acquire) {
            return Err(CudaError::ContextIsDestroyed);
        }
        match CudaError::from_code(self.error.load(Ordering::Acquire)) {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Makes an error sticky. The first one stays.
    pub(crate) fn fail(&self, error: CudaError) {
        let _ = self.error.compare_exchange(0, error.code(), Ordering::AcqRel, Ordering::Acquire);
    }

    /// `cuCtxSynchronize`: waits for everything, prints what kernels printed, and reports.
    pub fn synchronize(&self) -> Result<()> {
        crate::capture::check_unsafe_call()?;
        self.drain();
        self.fifo.flush();
        self.check()
    }

    pub fn limits(&self) -> ContextLimits {
        *self.limits.lock()
    }

    /// What a launch of this kernel fixes.
    pub(crate) fn launches(&self, program: &Program) {
        for call in program.syscalls() {
            match call {
                Syscall::Vprintf => self.prints.store(true, Ordering::Release),
                Syscall::Malloc | Syscall::Free => self.allocates.store(true, Ordering::Release),
                Syscall::Printf | Syscall::AssertFail | Syscall::Runtime => {}
            }
        }
    }

    /// Changes limits. The FIFO and the heap cannot change once a kernel that could use them was launched
    /// (CUDA Runtime API, `cudaDeviceSetLimit`); steps and least sizes are those of an H200
    /// (`tests/contract/limits.cu`).
    pub fn set_limits(&self, change: impl FnOnce(&mut ContextLimits)) -> Result<()> {
        crate::capture::check_unsafe_call()?;
        let device = runtime::get().device(self.device)?;
        let mut limits = self.limits.lock();
        let mut wanted = *limits;
        change(&mut wanted);
        let heap = wanted.heap != limits.heap && self.allocates.load(Ordering::Acquire);
        let fifo = wanted.print_fifo != limits.print_fifo && self.prints.load(Ordering::Acquire);
        if heap || fifo {
            return Err(CudaError::InvalidValue);
        }
        let per_thread = u64::from(device.gpu.limits.local_per_thread.value);
        // The frame of a kernel needs a part of it (measured: 256 KiB of 512 are accepted, all is not).
        if wanted.stack >= per_thread {
            return Err(CudaError::InvalidValue);
        }
        let total = device.total_memory();
        if wanted.heap > total || wanted.print_fifo > total {
            return Err(CudaError::OutOfMemory);
        }
        wanted.heap = wanted.heap.next_multiple_of(64 << 10).max(4 << 20);
        wanted.print_fifo = wanted.print_fifo.next_multiple_of(256).max(512 << 10);
        let slice = u64::from(device.gpu.card.l2_bytes.value) / 16;
        wanted.persisting_l2 = wanted.persisting_l2.next_multiple_of(slice.max(1));
        self.fifo.set_limit(wanted.print_fifo);
        self.heap.set_limit(wanted.heap);
        *limits = wanted;
        Ok(())
    }

    /// `cuCtxEnablePeerAccess` from this context to `peer`.
    pub fn enable_peer(&self, peer: &Context) -> Result<()> {
        if peer.handle == self.handle || peer.device == self.device {
            return Err(CudaError::InvalidDevice);
        }
        match self.peers.lock().insert(peer.handle) {
            true => Ok(()),
            false => Err(CudaError::PeerAccessAlreadyEnabled),
        }
    }

    /// Whether peer access to a context is enabled.
    pub(crate) fn reaches(&self, peer: Handle) -> bool {
        self.peers.lock().contains(&peer)
    }

    /// Whose memory kernels of this context may touch.
    pub(crate) fn reach(&self) -> Reach {
        let rt = runtime::get();
        let devices = self
            .peers
            .lock()
            .iter()
            .filter_map(|&h| rt.contexts.get(h).map(|c| c.device))
            .collect::<Vec<_>>();
        let peers = devices.into_iter().map(Devices::one).fold(Devices::NONE, Devices::with);
        Reach { own: Devices::one(self.device), peers }
    }

    pub fn disable_peer(&self, peer: &Context) -> Result<()> {
        match self.peers.lock().remove(&peer.handle) {
            true => Ok(()),
            false => Err(CudaError::PeerAccessNotEnabled),
        }
    }

    /// Ends the context: waits for its work, then frees all that belongs to it.
    pub(crate) fn destroy(&self) {
        self.drain();
        self.fifo.flush();
        if self.gone.swap(true, Ordering::AcqRel) {
            return;
        }
        let rt = runtime::get();
        let mine = self.handle;
        rt.contexts.remove(mine);
        rt.streams.drain_where(|s| s.context == mine);
        rt.events.drain_where(|e| e.context == mine);
        rt.functions.drain_where(|f| f.module.context == mine);
        for library in rt.libraries.all_where(|_| true) {
            library.forget_context(mine);
        }
        for module in rt.modules.drain_where(|m| m.context == mine) {
            module.release();
        }
        self.heap.release();
        rt.release_context_objects(mine);
        rt.release_context_arrays(mine);
        rt.release_context_memory(mine);
    }
}

impl Runtime {
    /// The calling thread's context: the sticky error is checked by the caller where it applies.
    pub fn current(&self) -> Result<Arc<Context>> {
        if thread::in_callback() {
            return Err(CudaError::NotPermitted);
        }
        let handle = thread::current().ok_or(CudaError::InvalidContext)?;
        self.contexts.get(handle).ok_or(CudaError::ContextIsDestroyed)
    }

    /// The context with this handle.
    pub fn context(&self, handle: Handle) -> Result<Arc<Context>> {
        self.contexts.get(handle).ok_or(CudaError::InvalidContext)
    }

    /// `cuCtxCreate`: a new context, made current.
    pub fn create_context(&self, device: u32, flags: u32) -> Result<Arc<Context>> {
        self.device(device)?;
        let context = Context::create(handle::fresh(), device, false, flags);
        thread::push(context.handle)?;
        Ok(context)
    }

    /// A new context that is current nowhere.
    pub fn separate_context(&self, device: u32) -> Result<Arc<Context>> {
        self.device(device)?;
        Ok(Context::create(handle::fresh(), device, false, 0))
    }

    /// `cuCtxDestroy`: pops it where the calling thread has it current.
    pub fn destroy_context(&self, handle: Handle) -> Result<()> {
        let context = self.context(handle)?;
        if context.is_primary {
            return Err(CudaError::InvalidContext);
        }
        context.destroy();
        if thread::current() == Some(handle) {
            thread::pop();
        }
        Ok(())
    }
}
