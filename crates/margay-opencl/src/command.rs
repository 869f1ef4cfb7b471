// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands and events: a graph in which a command starts when all that it waits for has ended.
//!
//! Invariant: no lock is held while a command, a callback or another object's code runs. A command that is
//! waited for by its event list and ended badly ends the waiting one with
//! CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST; the order of a queue alone passes no error on.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use margay_exec::rhythm::{self, Rhythm};
use margay_runtime::activity;
use margay_runtime::order::{self, Before, Place};
use opencl_sys::{
    CL_COMPLETE, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT, CL_OUT_OF_RESOURCES, CL_QUEUED, CL_RUNNING, CL_SUBMITTED, cl_command_type,
    cl_event, cl_int,
};
use parking_lot::{Condvar, Mutex};

use crate::Result;
use crate::context::{Context, UserData};
use crate::object::{self, Id, Object, Table};
use crate::queue::{Order, Queue};

/// What a command does.
pub type Work = Box<dyn FnOnce() -> Result<()> + Send>;

/// `clSetEventCallback`'s function.
pub type Callback = unsafe extern "C" fn(cl_event, cl_int, *mut std::ffi::c_void);

struct Watcher {
    /// Called when the status is this or past it.
    trigger: cl_int,
    call: Callback,
    data: UserData,
}

/// Nanoseconds of the device's clock at which a command reached its states.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub queued: u64,
    pub submitted: u64,
    pub started: u64,
    pub ended: u64,
}

struct State {
    /// CL_QUEUED down to CL_COMPLETE, or a negative error.
    status: cl_int,
    times: Times,
    watchers: Vec<Watcher>,
    /// Commands that wait for this one, and whether their event list says so.
    dependents: Vec<(Arc<Command>, bool)>,
    /// The context's function is being told why the command ended badly.
    reporting: bool,
}

thread_local! {
    /// What the command that runs in this thread has to tell the context's function.
    static REPORTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// This thread is inside of the context's function.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps a report of the command that runs in this thread until the command has ended: the program's function may wait
/// for it.
pub fn report_at_end(text: String) {
    REPORTS.with_borrow_mut(|reports| reports.push(text));
}

/// An event.
pub struct Event {
    id: Id,
    pub context: Arc<Context>,
    /// `None` for user events.
    pub queue: Option<Arc<Queue>>,
    pub kind: cl_command_type,
    /// What it comes after, for who asks.
    pub place: Arc<Place>,
    state: Mutex<State>,
    /// Its status is an end: for those who spin, without the lock.
    has_ended: AtomicBool,
    changed: Condvar,
}

static EVENTS: Table<Event> = Table::new();

impl Object for Event {
    const INVALID: cl_int = CL_INVALID_EVENT;
    fn table() -> &'static Table<Self> {
        &EVENTS
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

/// A command that waits.
struct Command {
    event: Arc<Event>,
    /// Events that it still waits for.
    remaining: AtomicUsize,
    failed: AtomicBool,
    work: Mutex<Option<Work>>,
    /// Kept if somebody asks.
    before: Mutex<Option<Before>>,
}

/// The clock of all devices, which is the host's.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether this thread is inside of the context's function, which has just been told of an error.
pub fn telling() -> bool {
    TELLING.get()
}

impl Event {
    pub fn new(
        id: Id,
        context: Arc<Context>,
        queue: Option<Arc<Queue>>,
        kind: cl_command_type,
        status: cl_int,
    ) -> Event {
        let times = Times { queued: now(), ..Times::default() };
        let (watchers, dependents) = (Vec::new(), Vec::new());
        let state = State { status, times, watchers, dependents, reporting: false };
        let (place, state, changed) = (Arc::default(), Mutex::new(state), Condvar::new());
        let has_ended = AtomicBool::new(status <= CL_COMPLETE);
        Event { id, context, queue, kind, place, state, has_ended, changed }
    }

    pub fn status(&self) -> cl_int {
        self.state.lock().status
    }

    /// The status, which the host program asks for.
    pub fn shown_status(&self) -> cl_int {
        let status = self.status();
        if status <= CL_COMPLETE {
            self.place.seen();
        }
        status
    }

    pub fn times(&self) -> Times {
        self.state.lock().times
    }

    /// Waits for the end, and until the context's function knows of it; the status then.
    pub fn wait(&self) -> cl_int {
        // That function itself may wait for any command.
        let also_reports = !telling();
        rhythm::spin(rhythm::AWAIT, || self.has_ended.load(Ordering::Acquire));
        let mut state = self.state.lock();
        if state.status > CL_COMPLETE {
            let _waiting = activity::wait();
            while state.status > CL_COMPLETE {
                self.changed.wait(&mut state);
            }
        }
        let limit = Instant::now() + MOST_TELLING;
        while also_reports && state.reporting {
            if self.changed.wait_until(&mut state, limit).timed_out() {
                break;
            }
        }
        let status = state.status;
        drop(state);
        self.place.seen();
        status
    }

    /// Tells the context's function; who waits for the event goes on then.
    fn tell(&self, reports: &[String]) {
        TELLING.set(true);
        reports.iter().for_each(|text| self.context.report(text));
        TELLING.set(false);
        self.state.lock().reporting = false;
        self.changed.notify_all();
    }

    /// Goes on to a status that is not an end.
    fn advance(self: &Arc<Self>, status: cl_int) {
        let mut state = self.state.lock();
        state.status = status;
        match status {
            CL_SUBMITTED => state.times.submitted = now(),
            _ => state.times.started = now(),
        }
        let due = due(&mut state);
        drop(state);
        if !due.is_empty() {
            // Not here: the function may wait for this very command.
            let event = self.clone();
            execute(Box::new(move || event.call(due, status)));
        }
    }

    /// Ends the event. False if it had ended.
    pub fn end(self: &Arc<Self>, status: cl_int) -> bool {
        let Some(ready) = self.end_with(status) else { return false };
        ready.into_iter().for_each(Command::start);
        true
    }

    /// Ends the event, if it had not ended: the commands that may run now, unless the program's functions were to be told
    /// first, which may wait for these commands.
    fn end_with(self: &Arc<Self>, status: cl_int) -> Option<Vec<Arc<Command>>> {
        // The program's own.
        if self.queue.is_none() {
            self.place.reached();
        }
        // Known to the queue before anybody who waits for this event goes on.
        if let (Some(queue), true) = (&self.queue, status < 0) {
            queue.failed(self, status);
        }
        let mut state = self.state.lock();
        if state.status <= CL_COMPLETE {
            return None;
        }
        state.status = status;
        let end = now();
        let times = &mut state.times;
        for time in [&mut times.submitted, &mut times.started] {
            if *time == 0 {
                *time = end;
            }
        }
        times.ended = end.max(times.started);
        let due = due(&mut state);
        let dependents = std::mem::take(&mut state.dependents);
        self.changed.notify_all();
        self.has_ended.store(true, Ordering::Release);
        drop(state);
        if let Some(queue) = &self.queue {
            queue.ended(self);
        }
        let ready = dependents.into_iter().filter_map(|(c, explicit)| c.resolved(explicit, status));
        let mut ready: Vec<_> = ready.collect();
        if !due.is_empty() {
            ready.drain(..).for_each(Command::start);
            self.call(due, status);
        }
        Some(ready)
    }

    /// Calls the program's functions, in a thread of their own order: this one.
    fn call(self: &Arc<Self>, due: Vec<Watcher>, status: cl_int) {
        if status <= CL_COMPLETE && !due.is_empty() {
            self.place.seen();
        }
        for Watcher { trigger, call, data } in due {
            let status = if status < 0 { status } else { trigger };
            // The handle is good while the function runs.
            let kept = self.clone();
            // SAFETY: the program's function, with its own data.
            unsafe { call(kept.handle(), status, data.get()) };
        }
    }

    /// `clSetEventCallback`.
    pub fn watch(self: &Arc<Self>, trigger: cl_int, call: Callback, data: UserData) {
        let mut state = self.state.lock();
        state.watchers.push(Watcher { trigger, call, data });
        if state.status > trigger {
            return;
        }
        let status = state.status;
        let due = due(&mut state);
        drop(state);
        let event = self.clone();
        execute(Box::new(move || event.call(due, status)));
    }
}

/// Takes out what is to be called at the present status, in the order of registration.
fn due(state: &mut State) -> Vec<Watcher> {
    let status = state.status;
    let (due, later) =
        std::mem::take(&mut state.watchers).into_iter().partition(|w| status <= w.trigger);
    state.watchers = later;
    due
}

impl Command {
    /// One event that this command waits for has ended: the command itself, if that was the last.
    fn resolved(self: Arc<Self>, explicit: bool, status: cl_int) -> Option<Arc<Self>> {
        if explicit && status < 0 {
            self.failed.store(true, Ordering::Release);
        }
        let last = self.remaining.fetch_sub(1, Ordering::AcqRel) == 1;
        last.then(|| {
            self.event.advance(CL_SUBMITTED);
            self
        })
    }

    /// Runs it on some thread, soon.
    fn start(self: Arc<Self>) {
        execute(Box::new(move || self.run()));
    }

    /// Runs it, and then what may run after it: to wake another thread takes as long as a small kernel.
    fn run(self: Arc<Self>) {
        let mut next = Some(self);
        while let Some(command) = next {
            let mut ready = command.run_alone();
            next = ready.pop();
            ready.into_iter().for_each(Command::start);
        }
    }

    /// Runs it: what may run after it.
    fn run_alone(self: Arc<Self>) -> Vec<Arc<Self>> {
        let work = self.work.lock().take();
        let before = self.before.lock().take();
        let order = before
            .zip(self.event.queue.as_ref())
            .map(|(before, queue)| before.start(&self.event.place, queue.as_told(), &queue.chains));
        if self.failed.load(Ordering::Acquire) {
            drop(work);
            let status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
            return self.event.end_with(status).unwrap_or_default();
        }
        self.event.advance(CL_RUNNING);
        let run = || order::during(order, || work.map_or(Ok(()), |work| work()));
        let run = AssertUnwindSafe(run);
        let status = match catch_unwind(run) {
            Ok(Ok(())) => CL_COMPLETE,
            Ok(Err(error)) => error,
            Err(_) => {
                eprintln!("margay: internal error in a command; please report it");
                CL_OUT_OF_RESOURCES
            }
        };
        let reports = REPORTS.take();
        if reports.is_empty() {
            return self.event.end_with(status).unwrap_or_default();
        }
        self.event.state.lock().reporting = true;
        // The program's function may wait for what runs after this.
        self.event.end(status);
        self.event.tell(&reports);
        Vec::new()
    }
}

/// Events of a wait list, checked.
///
/// # Safety
/// `list` is null or has `count` elements.
pub unsafe fn wait_list(
    context: &Context,
    count: u32,
    list: *const cl_event,
) -> Result<Vec<Arc<Event>>> {
    if (count == 0) != list.is_null() {
        return Err(opencl_sys::CL_INVALID_EVENT_WAIT_LIST);
    }
    // SAFETY: the caller promises it.
    let handles = unsafe { crate::answer::list(list, count as usize) }.unwrap_or_default();
    let mut out = Vec::with_capacity(handles.len());
    for handle in handles {
        let event =
            object::get::<Event>(*handle).map_err(|_| opencl_sys::CL_INVALID_EVENT_WAIT_LIST)?;
        if event.context.handle() != context.handle() {
            return Err(CL_INVALID_CONTEXT);
        }
        out.push(event);
    }
    Ok(out)
}

/// Appends a command to a queue.
pub fn enqueue(
    queue: &Arc<Queue>,
    kind: cl_command_type,
    wait: &[Arc<Event>],
    order: Order,
    work: Work,
) -> Arc<Event> {
    let context = queue.context.clone();
    let event =
        object::internal(|id| Event::new(id, context, Some(queue.clone()), kind, CL_QUEUED));
    let (after, mut places) = queue.place(&event, order);
    let before = order::is_kept().then(|| {
        places.extend(wait.iter().map(|e| e.place.clone()));
        Before::new(places)
    });
    let command = Arc::new(Command {
        event: event.clone(),
        remaining: AtomicUsize::new(1),
        failed: AtomicBool::new(false),
        work: Mutex::new(Some(work)),
        before: Mutex::new(before),
    });
    let edges = after.iter().map(|e| (e, false)).chain(wait.iter().map(|e| (e, true)));
    for (other, explicit) in edges {
        command.remaining.fetch_add(1, Ordering::AcqRel);
        let mut state = other.state.lock();
        if state.status > CL_COMPLETE {
            state.dependents.push((command.clone(), explicit));
            continue;
        }
        let status = state.status;
        drop(state);
        // The last of them is none of these.
        let _waits = command.clone().resolved(explicit, status);
    }
    if let Some(command) = command.resolved(false, CL_COMPLETE) {
        command.start();
    }
    event
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Pool {
    jobs: VecDeque<Job>,
    /// Threads that sleep, and that look for a job.
    idle: usize,
    looking: usize,
    threads: usize,
}

static POOL: Mutex<Pool> =
    Mutex::new(Pool { jobs: VecDeque::new(), idle: 0, looking: 0, threads: 0 });
static WAKE: Condvar = Condvar::new();
/// Jobs so far: for those who look.
static JOBS: AtomicUsize = AtomicUsize::new(0);
/// Native kernels and callbacks may wait for other commands, hence many threads.
const MOST_THREADS: usize = 64;
/// How long a wait goes on for the context's function to return: that may hang upon the thread that waits.
const MOST_TELLING: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_millis(500);

/// Runs a job on some thread, soon.
fn execute(job: Job) {
    margay_exec::jit::may_exit_here();
    activity::queued();
    let mut pool = POOL.lock();
    pool.jobs.push_back(job);
    JOBS.fetch_add(1, Ordering::Release);
    let free = pool.idle + pool.looking;
    if free >= pool.jobs.len() || pool.threads >= MOST_THREADS {
        if pool.looking < pool.jobs.len() {
            WAKE.notify_one();
        }
        return;
    }
    pool.threads += 1;
    drop(pool);
    let thread = std::thread::Builder::new().name("margay-opencl".into());
    if thread.spawn(|| serve(true)).is_err() {
        // The system refuses a thread: do the work here.
        serve(false);
    }
}

fn serve(linger: bool) {
    let _own = linger.then(margay_exec::threads::own);
    let mut pool = POOL.lock();
    let mut rhythm = Rhythm::default();
    loop {
        if let Some(job) = pool.jobs.pop_front() {
            drop(pool);
            rhythm.note();
            let working = activity::work();
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                eprintln!("margay: internal error in a command; please report it");
            }
            drop(working);
            rhythm.ended();
            pool = POOL.lock();
            continue;
        }
        if !linger {
            break;
        }
        if let Some(look) = rhythm.look() {
            pool.looking += 1;
            let jobs = JOBS.load(Ordering::Relaxed);
            drop(pool);
            look.until(|| JOBS.load(Ordering::Acquire) != jobs);
            pool = POOL.lock();
            pool.looking -= 1;
            continue;
        }
        pool.idle += 1;
        let idle = WAKE.wait_for(&mut pool, IDLE).timed_out();
        pool.idle -= 1;
        if idle && pool.jobs.is_empty() {
            break;
        }
    }
    pool.threads -= 1;
}
