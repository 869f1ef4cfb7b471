// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is there to write memory of the device: for a launch whose threads all wait for somebody to do that.
//!
//! Work of queues, the commands of OpenCL among it, counts while it runs, and the host program as long as one of its threads does
//! anything else than wait: for the device, or for other threads of the program, as those do that wait for these to end or that
//! libraries keep for later.
//!
//! Invariant: [`count`] changes before work begins, after it has ended, and whenever a thread of the host program begins or ends to
//! wait for the device. So if nobody was there at two times, and it was the same at both, nobody wrote in between. What the host
//! program writes by itself before it waits changes nothing here.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use margay_exec::launch::Others;
use margay_exec::threads;
use parking_lot::Mutex;

use crate::memory::mappings;

/// Work that runs and does not wait.
static BUSY: AtomicI64 = AtomicI64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);
/// Memory or events are shared with other processes.
static SHARED: AtomicBool = AtomicBool::new(false);
/// Threads of the host program that wait for the device.
static WAITING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

thread_local! {
    /// This thread runs work.
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

fn change(busy: i64) {
    BUSY.fetch_add(busy, Ordering::AcqRel);
    COUNT.fetch_add(1, Ordering::AcqRel);
}

/// Work that runs, until this is dropped.
pub struct Working {
    before: bool,
}

/// Work that runs inside of other work which goes on beside it, until this is dropped.
pub(crate) struct More(());

/// The calling thread begins work that the one it is in does not wait for with all that it does.
pub(crate) fn more_work() -> More {
    change(1);
    More(())
}

impl Drop for More {
    fn drop(&mut self) {
        change(-1);
    }
}

/// The calling thread begins some work.
pub fn work() -> Working {
    let before = WORKS.replace(true);
    if !before {
        change(1);
    }
    Working { before }
}

impl Drop for Working {
    fn drop(&mut self) {
        WORKS.set(self.before);
        if !self.before {
            change(-1);
        }
    }
}

/// The calling thread waits until this is dropped.
pub struct Waiting {
    thread: Option<u32>,
}

/// The calling thread, be it the host program's or one that runs work, begins to wait for the device.
pub fn wait() -> Waiting {
    if WORKS.get() {
        change(-1);
        return Waiting { thread: None };
    }
    let thread = threads::number();
    WAITING.lock().push(thread);
    change(0);
    Waiting { thread: Some(thread) }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(thread) = self.thread else { return change(1) };
        change(0);
        let mut waiting = WAITING.lock();
        if let Some(at) = waiting.iter().position(|&t| t == thread) {
            waiting.swap_remove(at);
        }
    }
}

/// A launch that runs as work does nothing any more, or does something again.
pub(crate) fn launch_waits(waits: bool) {
    match waits {
        true => _ = BUSY.fetch_sub(1, Ordering::AcqRel),
        // It may have written already.
        false => change(1),
    }
}

/// Work was appended to a queue, which may begin soon.
pub fn queued() {
    change(0);
}

/// From now on other processes may write memory of the device.
pub(crate) fn share() {
    SHARED.store(true, Ordering::Release);
}

/// Changes whenever work begins or ends, or a thread begins or ends to wait.
pub(crate) fn count() -> u64 {
    COUNT.load(Ordering::Acquire)
}

/// Who else may write memory at this moment.
pub(crate) fn others() -> Others {
    let busy = BUSY.load(Ordering::Acquire) > 0;
    let processes = SHARED.load(Ordering::Acquire);
    // To look at all threads takes a while.
    let parked = if busy || processes { None } else { parked() };
    let (host, threads) = (parked.is_none(), parked.unwrap_or(0));
    Others { busy, host, signals: host || handles_signals(), processes, threads }
}

/// Whether the host program handles signals that others send.
fn handles_signals() -> bool {
    // Those by which a thread's own instructions fail, and of writing to whom nobody reads.
    let own = [libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE];
    let own = own.iter().chain(&[libc::SIGSEGV, libc::SIGPIPE]).map(|n| 1u64 << (n - 1));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Those that the C library has for itself.
    let libc_own = 0b11 << 31;
    caught.is_none_or(|caught| caught & !(own.fold(libc_own, |all, n| all | n)) != 0)
}

/// Whether all threads of the host program wait, for the device or for one that does, as far as that can be known: a number of
/// those that wait for others, which is another once any of them has run. They are looked at one by one, and may wake each other
/// meanwhile.
fn parked() -> Option<u64> {
    let waiting = WAITING.lock().clone();
    let mut all = DefaultHasher::new();
    for entry in std::fs::read_dir("/proc/self/task").ok()? {
        let thread = entry.ok()?.file_name().to_str()?.parse().ok()?;
        if waiting.contains(&thread) || threads::is_own(thread) || has_ended(thread) {
            continue;
        }
        let turns = turns(thread)?;
        if !is_parked(thread) {
            return None;
        }
        (thread, turns).hash(&mut all);
    }
    Some(all.finish())
}

/// How often a thread has run.
fn turns(thread: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let counts = status.lines().filter(|line| line.contains("ctxt_switches:"));
    let counts = counts.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Some(counts.sum())
}

/// Whether a thread has ended, as the first of a process may before the others.
fn has_ended(thread: u32) -> bool {
    // The state comes behind the name, which is in parentheses and may be anything.
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    let state = |stat: String| stat.rsplit_once(") ")?.1.chars().next();
    stat.is_ok_and(|stat| matches!(state(stat), Some('Z' | 'X')))
}

/// Whether a thread waits for another one of this process, for however long that takes.
fn is_parked(thread: u32) -> bool {
    // Number and arguments of the system call that it is in, or `running`.
    let call = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall"));
    let call = call.unwrap_or_default();
    let mut words = call.split_ascii_whitespace();
    let number = words.next().and_then(|word| word.parse().ok());
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let arguments: Vec<u64> = words.map_while(hex).collect();
    let &[address, operation, _, timeout, ..] = arguments.as_slice() else { return false };
    let is_alone = operation & libc::FUTEX_PRIVATE_FLAG as u64 != 0 || !is_shared(address);
    let waits = matches!(
        operation as libc::c_int & libc::FUTEX_CMD_MASK,
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET
    );
    number == Some(libc::SYS_futex) && waits && timeout == 0 && is_alone
}

/// Whether other processes may have what lies at an address of the host program, as far as that can be known.
pub(crate) fn is_shared(address: u64) -> bool {
    let found = mappings().into_iter().find(|(range, _)| range.contains(&address));
    found.is_none_or(|(_, rights)| rights[3] != b'p')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn memory_of_this_process_alone_is_not_shared() {
        let own = 5u8;
        assert!(!is_shared(&raw const own as u64));
        assert!(is_shared(16), "nothing is known of it");
    }

    /// One test, as all of a process count together.
    #[test]
    fn work_and_waits_are_counted() {
        let busy = || BUSY.load(Ordering::Acquire);
        let (before, count_before) = (busy(), count());
        let work_of_a_queue = work();
        let inner = work();
        assert_eq!(busy(), before + 1, "work inside of work is the same work");
        drop(inner);
        let waits = wait();
        assert_eq!(busy(), before, "work that waits does nothing");
        drop(waits);
        assert_eq!(busy(), before + 1);
        launch_waits(true);
        assert_eq!(busy(), before);
        launch_waits(false);
        drop(work_of_a_queue);
        assert_eq!(busy(), before);
        assert_ne!(count(), count_before);

        assert_eq!(parked(), None, "this thread runs");
        // One that waits for this one, and one that will go on by itself.
        let (gate, later) = (std::sync::Barrier::new(2), Duration::from_millis(300));
        let (send, numbers) = std::sync::mpsc::channel();
        std::thread::scope(|s| {
            for parks in [true, false] {
                let (gate, send) = (&gate, send.clone());
                s.spawn(move || {
                    send.send((parks, threads::number())).unwrap();
                    match parks {
                        true => drop(gate.wait()),
                        false => std::thread::sleep(later),
                    }
                });
            }
            for (parks, thread) in numbers.iter().take(2) {
                // It needs a moment to get there.
                let seen = (0..50).any(|_| {
                    std::thread::sleep(Duration::from_millis(1));
                    is_parked(thread)
                });
                assert_eq!(seen, parks);
                assert!(turns(thread).is_some_and(|turns| turns > 0));
            }
            gate.wait();
        });
        let waits = wait();
        assert!(WAITING.lock().contains(&threads::number()));
        drop(waits);
        assert!(WAITING.lock().is_empty());
    }
}
