// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that compile while launches are interpreted.
//!
//! Invariant: LLVM's own destructors, which run when the process exits, never meet a thread that is
//! still inside LLVM: a handler registered after LLVM was loaded, and so called before them, waits.

use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};

/// Threads at once.
const LIMIT: usize = 2;

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

/// Runs `work` on a thread of its own. False if there are enough of them, or none can be had.
pub fn start(work: impl FnOnce() + Send + 'static) -> bool {
    static ONCE: Once = Once::new();
    // SAFETY: the handler is a function of this library; where that is unloaded, it runs before.
    ONCE.call_once(|| unsafe {
        libc::atexit(wait_for_all);
    });
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
