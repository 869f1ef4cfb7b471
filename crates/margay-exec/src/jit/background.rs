// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that compile while launches are interpreted.
//!
//! Invariant: LLVM's own destructors, which run when the process exits, never meet a thread that is
//! still inside LLVM: a handler registered after them, and so called before them, waits. Some of LLVM's
//! are registered when it first compiles, so a small module is compiled first and the handler is
//! registered again.
//!
//! Limit: a process that exits within the milliseconds of that first module may meet them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};

/// Threads at once; one that compiles counts twice.
const LIMIT: usize = 4;

struct Running {
    /// The process that counts: a child of `fork` has none of these threads.
    process: u32,
    threads: usize,
    exiting: bool,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { process: 0, threads: 0, exiting: false });
static DONE: Condvar = Condvar::new();

fn running() -> MutexGuard<'static, Running> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if running.process != process {
        *running = Running { process, threads: 0, exiting: false };
    }
    running
}

extern "C" fn wait_for_all() {
    let mut running = running();
    running.exiting = true;
    while running.threads > 0 {
        running = DONE.wait(running).unwrap_or_else(PoisonError::into_inner);
    }
}

static READY: AtomicBool = AtomicBool::new(false);

/// Whether LLVM has set up what it sets up when it first compiles.
pub fn is_ready() -> bool {
    READY.load(Ordering::Relaxed)
}

fn register() {
    // SAFETY: the handler is a function of this library; where that is unloaded, it runs before.
    unsafe { libc::atexit(wait_for_all) };
}

/// A thread that is inside LLVM.
pub struct Inside(());

impl Inside {
    /// `first` is what is to be compiled before anything else. `None` once the process exits.
    pub fn enter(first: impl FnOnce()) -> Option<Inside> {
        static EARLY: Once = Once::new();
        EARLY.call_once(register);
        {
            let mut running = running();
            if running.exiting {
                return None;
            }
            running.threads += 1;
        }
        let inside = Inside(());
        static FIRST: Once = Once::new();
        FIRST.call_once(|| {
            first();
            register();
            READY.store(true, Ordering::Relaxed);
        });
        Some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut running = running();
        running.threads = running.threads.saturating_sub(1);
        DONE.notify_all();
    }
}

/// Runs `work` on a thread of its own. False if there are enough of them, or none can be had.
pub fn start(work: impl FnOnce() + Send + 'static) -> bool {
    {
        let mut running = running();
        if running.threads >= LIMIT || running.exiting {
            return false;
        }
        running.threads += 1;
    }
    let thread = std::thread::Builder::new().name("margay-compile".into()).spawn(|| {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let mut running = running();
        running.threads = running.threads.saturating_sub(1);
        DONE.notify_all();
    });
    if thread.is_err() {
        let mut running = running();
        running.threads = running.threads.saturating_sub(1);
    }
    thread.is_ok()
}
