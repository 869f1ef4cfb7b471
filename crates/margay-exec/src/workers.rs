// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that help with grids, kept between launches.
//!
//! Invariant: a task ends before [`with_help`] returns, so it may borrow from its caller. A thread
//! that has not begun the task by then never does.
//!
//! A thread that is called often looks for the next task before it sleeps, and so does a caller for the end of what it
//! waits for (`rhythm.rs`).
//!
//! Limit: in the child of a `fork` there are no such threads; launches there do without help.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::rhythm::{AWAIT, Rhythm, has_room, spin};

/// Processors that this thread may use, and of what share the control group's quota leaves: both as last found.
static CORES: Mutex<(usize, usize)> = Mutex::new((0, 0));
static LATELY: AtomicUsize = AtomicUsize::new(0);

/// Processors that this thread may use now. Only where it may run tells that at once; a quota is in files, which take as long to
/// read as a short launch takes, and is asked for again where the other has changed.
pub fn cores() -> usize {
    let may = allowed();
    let mut known = CORES.lock();
    if known.0 != may || may == 0 {
        *known = (may, std::thread::available_parallelism().map_or(1, |n| n.get()));
    }
    LATELY.store(known.1, Ordering::Relaxed);
    known.1
}

/// As [`cores`] found them last.
pub fn cores_lately() -> usize {
    match LATELY.load(Ordering::Relaxed) {
        0 => cores(),
        lately => lately,
    }
}

/// Processors on which this thread may run; 0 if the system does not say.
fn allowed() -> usize {
    // SAFETY: plain data, of which all zeros is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes the set, whose size is told.
    let told = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    // SAFETY: reads the set.
    if told == 0 { unsafe { libc::CPU_COUNT(&set) as usize } } else { 0 }
}

struct Job {
    id: u64,
    /// The caller's closure, with its lifetime forgotten.
    task: *const (dyn Fn() + Sync),
    /// Threads that may still join, and those that have and are not done.
    wanted: usize,
    running: usize,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

// SAFETY: the closure is `Sync`, and lives as long as the job is listed.
unsafe impl Send for Job {}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    next: u64,
    threads: usize,
    /// Threads that sleep, and that look for work.
    idle: usize,
    looking: usize,
}

struct Crew {
    state: Mutex<State>,
    /// Something is to be done.
    work: Condvar,
    /// A thread is done with a task.
    done: Condvar,
    /// How often somebody called, and how often a task ended: for those that spin.
    calls: AtomicU64,
    ends: AtomicU64,
}

static CREW: Crew = Crew {
    state: Mutex::new(State { jobs: Vec::new(), next: 0, threads: 0, idle: 0, looking: 0 }),
    work: Condvar::new(),
    done: Condvar::new(),
    calls: AtomicU64::new(0),
    ends: AtomicU64::new(0),
};

fn serve() {
    let _own = crate::threads::own();
    let mut state = CREW.state.lock();
    // A call that another thread took, or whose task had ended before this one woke, counts as well.
    let mut rhythm = Rhythm::default();
    loop {
        let Some(job) = state.jobs.iter_mut().find(|j| j.wanted > 0) else {
            if let Some(look) = rhythm.look() {
                state.looking += 1;
                let calls = CREW.calls.load(Ordering::Acquire);
                drop(state);
                look.until(|| CREW.calls.load(Ordering::Acquire) != calls);
                state = CREW.state.lock();
                state.looking -= 1;
            } else {
                state.idle += 1;
                CREW.work.wait(&mut state);
                state.idle -= 1;
                rhythm.note();
            }
            continue;
        };
        job.wanted -= 1;
        job.running += 1;
        let (id, task) = (job.id, job.task);
        drop(state);
        // A panic is a defect of ours; it goes on in the caller.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the job is listed and counts this thread, so its caller waits.
            unsafe { (*task)() }
        }));
        state = CREW.state.lock();
        if let Some(job) = state.jobs.iter_mut().find(|j| j.id == id) {
            job.running -= 1;
            if let Err(panic) = outcome {
                job.panic = Some(panic);
            }
        }
        CREW.ends.fetch_add(1, Ordering::Release);
        CREW.done.notify_all();
        rhythm.note();
    }
}

/// Threads that look for work, and so begin what they are called for at once.
pub fn looking() -> usize {
    CREW.state.lock().looking
}

/// Asks for up to `most` threads to run a task too.
pub struct Help<'a> {
    task: &'a (dyn Fn() + Sync),
    most: usize,
    called: usize,
    id: Option<u64>,
}

impl Help<'_> {
    /// Threads that were called.
    pub fn called(&self) -> usize {
        self.called
    }

    /// Whether no more may be called.
    pub fn all_called(&self) -> bool {
        self.called == self.most
    }

    /// Calls threads until so many were called, or as many as there may be.
    pub fn call(&mut self, wanted: usize) {
        let more = wanted.min(self.most).saturating_sub(self.called);
        if more == 0 {
            return;
        }
        self.called += more;
        let mut state = CREW.state.lock();
        let listed = self.id.and_then(|id| state.jobs.iter_mut().find(|j| j.id == id));
        if let Some(job) = listed {
            job.wanted += more;
        } else {
            state.next += 1;
            let id = state.next;
            // SAFETY: only the lifetime is changed; the job is taken off the list, and its threads are
            // waited for, before the borrow ends.
            let task = unsafe {
                std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(self.task)
            };
            state.jobs.push(Job { id, task, wanted: more, running: 0, panic: None });
            self.id = Some(id);
        }
        // Threads that are about to be idle are not counted: a few more than needed come about.
        // Who looks may be another's already.
        let wanted: usize = state.jobs.iter().map(|j| j.wanted).sum();
        let looking = state.looking.saturating_sub(wanted - more);
        let asleep = more.saturating_sub(looking);
        let missing = (state.idle..asleep).len();
        let idle = state.idle;
        for _ in 0..missing.min((self.most * 2 + 2).saturating_sub(state.threads)) {
            let started = std::thread::Builder::new().name("margay-worker".into()).spawn(serve);
            if started.is_err() {
                // Fewer helpers are slower, not wrong.
                break;
            }
            state.threads += 1;
        }
        // Who looks finds the job listed: this comes after, and under the lock.
        CREW.calls.fetch_add(1, Ordering::Release);
        drop(state);
        if asleep < idle {
            for _ in 0..asleep {
                CREW.work.notify_one();
            }
        } else {
            CREW.work.notify_all();
        }
    }

    /// Waits for those that came; what one of them panicked with.
    fn finish(&mut self) -> Option<Box<dyn std::any::Any + Send>> {
        let id = self.id.take()?;
        let started = Instant::now();
        let mut state = CREW.state.lock();
        while let Some(at) = state.jobs.iter().position(|j| j.id == id) {
            state.jobs[at].wanted = 0;
            if state.jobs[at].running == 0 {
                return state.jobs.swap_remove(at).panic;
            }
            let spent = started.elapsed();
            if spent < AWAIT && has_room() {
                let ends = CREW.ends.load(Ordering::Acquire);
                drop(state);
                spin(AWAIT - spent, || CREW.ends.load(Ordering::Acquire) != ends);
                state = CREW.state.lock();
            } else {
                CREW.done.wait(&mut state);
            }
        }
        None
    }
}

impl Drop for Help<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Calls `own` with the means to let up to `most` threads run `task` beside it, and returns when all
/// have ended.
pub fn with_help(most: usize, task: &(dyn Fn() + Sync), own: impl FnOnce(&mut Help<'_>)) {
    let mut help = Help { task, most, called: 0, id: None };
    own(&mut help);
    if let Some(panic) = help.finish() {
        resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::with_help;

    #[test]
    fn tasks_end_before_their_caller_goes_on() {
        for round in 0..200 {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let task = || {
                begun.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                ended.fetch_add(1, Ordering::SeqCst);
            };
            with_help(round % 4, &task, |help| {
                help.call(1);
                help.call(usize::MAX);
                task();
            });
            let begun = begun.load(Ordering::SeqCst);
            assert!((1..=1 + round % 4).contains(&begun));
            assert_eq!(begun, ended.load(Ordering::SeqCst));
        }
    }

    #[test]
    fn helpers_do_come() {
        let met = std::sync::Barrier::new(3);
        let task = || {
            met.wait();
        };
        with_help(2, &task, |help| {
            help.call(1);
            assert_eq!((help.called(), help.all_called()), (1, false));
            help.call(5);
            assert_eq!((help.called(), help.all_called()), (2, true));
            task();
        });
    }
}
