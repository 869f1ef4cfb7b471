// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that compile while launches are interpreted.
//!
//! Invariant: LLVM's own destructors, which run when the process exits, never meet a thread that is
//! still inside LLVM: a handler registered after them, and so called before them, waits. Some of LLVM's
//! are registered when it first compiles, so a small module is compiled first and the handler is
//! registered again.
//!
//! A process that exits while LLVM is opened, or in the milliseconds of that first module, would meet them. So threads that
//! hand work in wait for that when they end: `exit` destroys what the calling thread has for itself before it calls any
//! handler. For a moment after that nobody begins to open it.
//!
//! Limit: `exit` called in those milliseconds by a thread that never launched anything, while others go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Threads at once; one that compiles counts twice.
const LIMIT: usize = 4;
/// How long a process takes to exit, about.
const EXITING: Duration = Duration::from_millis(100);

struct Running {
    /// The process that counts: a child of `fork` has none of these threads.
    process: u32,
    threads: usize,
    exiting: bool,
    opening: Opening,
    /// Threads that open LLVM, or compile its first module.
    first_steps: usize,
    /// When a thread ended last that had work done, as the one does that calls `exit`.
    ended: Option<Instant>,
}

/// How far LLVM is that a thread of its own opens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    NotYet,
    Begun,
    Ended,
    /// The process is a child of one that forked meanwhile: nobody will end it.
    Lost,
}

impl Running {
    const fn new(process: u32, opening: Opening) -> Running {
        Running { process, threads: 0, exiting: false, opening, first_steps: 0, ended: None }
    }
}

static RUNNING: Mutex<Running> = Mutex::new(Running::new(0, Opening::NotYet));
static DONE: Condvar = Condvar::new();

fn running() -> MutexGuard<'static, Running> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if running.process != process {
        let opening = match running.opening {
            Opening::Begun => Opening::Lost,
            _ if running.first_steps > 0 => Opening::Lost,
            other => other,
        };
        *running = Running::new(process, opening);
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

/// Whether LLVM cannot be used, as a thread that is not in this process has it half open.
pub fn is_lost() -> bool {
    running().opening == Opening::Lost
}

/// Whether a thread that opens LLVM has ended, with or without success.
pub fn has_opened() -> bool {
    is_ready() || running().opening == Opening::Ended
}

/// Has a thread of its own do `work`, which opens LLVM, unless one did or does.
pub fn open(work: impl FnOnce() + Send + 'static) {
    {
        let mut running = running();
        if running.opening != Opening::NotYet || running.exiting {
            return;
        }
        running.opening = Opening::Begun;
    }
    let ended = || running().opening = Opening::Ended;
    let begun = start(move || {
        // Also where it panics.
        struct Ends<F: Fn()>(F);
        impl<F: Fn()> Drop for Ends<F> {
            fn drop(&mut self) {
                (self.0)();
            }
        }
        let _ends = Ends(ended);
        work();
    });
    if !begun {
        running().opening = Opening::NotYet;
    }
}

/// A thread that opens LLVM, or compiles its first module.
pub struct FirstSteps(());

impl FirstSteps {
    /// Comes back a little later where the process may be about to exit, and with `None` if it does.
    pub fn begin() -> Option<FirstSteps> {
        let mut running = running();
        if let Some(left) = running.ended.and_then(|at| EXITING.checked_sub(at.elapsed())) {
            drop(running);
            std::thread::sleep(left);
            running = self::running();
        }
        if running.exiting {
            return None;
        }
        running.first_steps += 1;
        Some(FirstSteps(()))
    }
}

impl Drop for FirstSteps {
    fn drop(&mut self) {
        let mut running = running();
        running.first_steps = running.first_steps.saturating_sub(1);
        DONE.notify_all();
    }
}

/// Waits for whoever opens LLVM.
struct WaitsUntilOpened;

impl Drop for WaitsUntilOpened {
    fn drop(&mut self) {
        let mut running = running();
        while running.first_steps > 0 {
            running = DONE.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
        running.ended = Some(Instant::now());
    }
}

/// To be called on a thread that has work done which may open LLVM: should this thread end the process, it waits for that
/// first.
pub fn may_exit_here() {
    thread_local! {
        static LAST: WaitsUntilOpened = const { WaitsUntilOpened };
    }
    // Nothing to do if the thread is ending already.
    let _ = LAST.try_with(|_| ());
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
        // Before anything that the end of the process would wait for.
        let _steps = match is_ready() {
            true => None,
            false => Some(FirstSteps::begin()?),
        };
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
        let _own = crate::threads::own();
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
