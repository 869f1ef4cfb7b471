// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages that are closed to the process, and the handler of the faults that accesses to them are.
//!
//! Invariant: faults that are not ours go to the handler that was there before, as if ours were not.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// What a fault was about.
pub struct Fault {
    pub address: u64,
    /// A write, as far as the processor tells.
    pub writes: bool,
    /// Where the instruction is.
    pc: u64,
}

/// What the process may do with pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    None,
    Read,
    All,
}

/// Answers whether a fault is mended, so that the instruction can be tried again.
pub type Handler = fn(&Fault) -> bool;

/// What handles faults that are not ours.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());
/// A [`Handler`], or 0.
static OURS: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a page of the host.
pub fn page() -> u64 {
    static PAGE: OnceLock<u64> = OnceLock::new();
    // SAFETY: asks for a number.
    *PAGE
        .get_or_init(|| u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096))
}

/// Whether this host tells reads from writes.
pub fn is_supported() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

/// Lets the process do this with whole pages from now on. False if the system refuses.
pub fn protect(pages: Range<u64>, allowed: Protection) -> bool {
    let flags = match allowed {
        Protection::None => libc::PROT_NONE,
        Protection::Read => libc::PROT_READ,
        Protection::All => libc::PROT_READ | libc::PROT_WRITE,
    };
    let bytes = (pages.end - pages.start) as usize;
    // SAFETY: the pages are of the guest's memory, to which nothing of this program refers.
    unsafe { libc::mprotect(pages.start as *mut libc::c_void, bytes, flags) == 0 }
}

/// Has this handler asked first, also where the program has put another in its place. False if the system refuses.
pub fn install(handler: Handler) -> bool {
    OURS.store(handler as usize, Ordering::Release);
    // SAFETY: all zeros is an action.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: reads the action in force.
    if unsafe { libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut now) } != 0 {
        return false;
    }
    let own = handle as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
    if now.sa_sigaction == own as usize {
        return true;
    }
    // A handler may look at it at any time: it stays.
    BEFORE.store(Box::leak(Box::new(now)), Ordering::Release);
    // SAFETY: as above.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = own as usize;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler is of this library, which is never unloaded, and does what a handler may.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const new, std::ptr::null_mut()) == 0 }
}

extern "C" fn handle(number: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system calls this with a fault's information and context; the error number is this thread's.
    unsafe {
        let error = libc::__errno_location();
        let kept = *error;
        let fault = Fault::of(info, context);
        let ours = OURS.load(Ordering::Acquire);
        if (*info).si_code == SEGV_ACCERR && ours != 0 {
            let ours: Handler = std::mem::transmute::<usize, Handler>(ours);
            if ours(&fault) {
                *error = kept;
                return;
            }
        }
        *error = kept;
        pass_on(number, info, context);
    }
}

/// `SEGV_ACCERR`: the page is there, and does not allow it.
const SEGV_ACCERR: i32 = 2;

/// Does what would have been done without us.
///
/// # Safety
/// In a handler, with what it was given.
unsafe fn pass_on(number: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.load(Ordering::Acquire);
    // SAFETY: actions that were in force are never freed; they say how their function is to be called.
    unsafe {
        let action = before.as_ref().map_or(libc::SIG_DFL, |b| b.sa_sigaction);
        if matches!(action, libc::SIG_DFL | libc::SIG_IGN) {
            // The instruction is tried again, and ends the process.
            libc::signal(number, libc::SIG_DFL);
            return;
        }
        let asks = before.as_ref().is_some_and(|b| b.sa_flags & libc::SA_SIGINFO != 0);
        if asks {
            type Asks = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
            std::mem::transmute::<usize, Asks>(action)(number, info, context);
        } else {
            std::mem::transmute::<usize, extern "C" fn(i32)>(action)(number);
        }
    }
}

impl Fault {
    /// # Safety
    /// In a handler, with what it was given.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe fn of(info: *mut libc::siginfo_t, context: *mut libc::c_void) -> Fault {
        // SAFETY: by the contract; the processor's error code has a bit for writes (Intel SDM, volume 3A, 4.7).
        unsafe {
            let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            Fault {
                address: (*info).si_addr() as u64,
                writes: registers[libc::REG_ERR as usize] & 2 != 0,
                pc: registers[libc::REG_RIP as usize] as u64,
            }
        }
    }

    /// # Safety
    /// In a handler, with what it was given.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    unsafe fn of(info: *mut libc::siginfo_t, _context: *mut libc::c_void) -> Fault {
        // SAFETY: by the contract.
        Fault { address: unsafe { (*info).si_addr() } as u64, writes: true, pc: 0 }
    }

    /// Calls `each` with the number and the place of the instruction and of the calls that led to it, each one behind the
    /// instruction itself, as long as it answers true.
    pub fn frames(&self, mut each: impl FnMut(usize, u64) -> bool) {
        let (mut number, mut met) = (0, false);
        let walk = |frame: &backtrace::Frame| {
            let at = frame.ip() as u64;
            if !met && at != self.pc {
                return true;
            }
            let behind = if met { at } else { at + 1 };
            met = true;
            number += 1;
            each(number - 1, behind)
        };
        // SAFETY: the walk writes to no memory but this thread's stack. Nothing here is another thread's.
        unsafe { backtrace::trace_unsynchronized(walk) };
        if !met {
            each(0, self.pc + 1);
        }
    }
}
