// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: points in streams, with the time at which they were reached.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use crate::capture::Part;
use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::ipc::{self, SharedEvent};
use crate::order;
use crate::queue::Ticket;
use crate::runtime;
use crate::stream::{DefaultStream, Stream};

#[derive(Clone)]
struct Recording {
    ticket: Ticket,
    time: Arc<OnceLock<Instant>>,
}

/// An event of a context.
pub struct Event {
    pub handle: Handle,
    pub context: Handle,
    pub device: u32,
    /// Made without `CU_EVENT_DISABLE_TIMING`.
    pub timing: bool,
    recording: Mutex<Option<Recording>>,
    /// It was recorded in a capture: the nodes that it stands for.
    captured: Mutex<Option<Part>>,
    /// What it shares with other processes.
    shared: Option<Arc<SharedEvent>>,
}

impl Context {
    /// `cuEventCreate`.
    pub fn create_event(&self, timing: bool) -> Arc<Event> {
        self.make_event(timing, None)
    }

    /// `cuEventCreate` with `CU_EVENT_INTERPROCESS`.
    pub fn create_shared_event(&self) -> Result<Arc<Event>> {
        Ok(self.make_event(false, Some(Arc::new(SharedEvent::create()?))))
    }

    /// `cuIpcOpenEventHandle`: an event of another process.
    pub fn open_event(&self, handle: &ipc::Bytes) -> Result<Arc<Event>> {
        Ok(self.make_event(false, Some(Arc::new(SharedEvent::open(handle)?))))
    }

    fn make_event(&self, timing: bool, shared: Option<Arc<SharedEvent>>) -> Arc<Event> {
        let event = Arc::new(Event {
            shared,
            handle: handle::fresh(),
            context: self.handle,
            device: self.device,
            timing,
            recording: Mutex::new(None),
            captured: Mutex::new(None),
        });
        runtime::get().events.insert(event.handle, event.clone());
        event
    }
}

impl Event {
    fn owner(&self) -> Result<Arc<Context>> {
        runtime::get().contexts.get(self.context).ok_or(CudaError::ContextIsDestroyed)
    }

    /// An event of a capture stands for nothing that the host could ask about; who asks spoils the capture
    /// (CUDA C++ Programming Guide, "Prohibited and Unhandled Operations" and "Invalidation").
    fn not_captured(&self) -> Result<()> {
        match &*self.captured.lock() {
            Some(part) => {
                part.capture.invalidate();
                Err(CudaError::CapturedEvent)
            }
            None => Ok(()),
        }
    }

    /// `cuIpcGetEventHandle`.
    pub fn export(&self) -> Result<ipc::Bytes> {
        match &self.shared {
            Some(shared) => shared.name(self.device),
            None => Err(CudaError::InvalidHandle),
        }
    }

    /// `cuEventRecord`: the event now stands for the end of the stream's present work.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if stream.context != self.context {
            return Err(CudaError::InvalidHandle);
        }
        let context = stream.owner()?;
        context.check()?;
        if let Some(part) = stream.part() {
            if !part.capture.is_valid() {
                return Err(CudaError::StreamCaptureInvalidated);
            }
            *self.captured.lock() = Some(part);
            return Ok(());
        }
        *self.captured.lock() = None;
        let time = Arc::new(OnceLock::new());
        let reached = time.clone();
        let mut recording = self.recording.lock();
        let shared = self.shared.clone().map(|shared| (shared.ask(), shared));
        let work = Box::new(move || {
            let _ = reached.set(Instant::now());
            if let Some((number, shared)) = shared {
                shared.reach(number);
            }
        });
        let ticket = context.push(stream, None, work);
        *recording = Some(Recording { ticket, time });
        Ok(())
    }

    /// `cuCtxRecordEvent`: the event now stands for the end of all present work of its context.
    pub fn record_all(&self, context: &Arc<Context>) -> Result<()> {
        context.check()?;
        crate::capture::check_unsafe_call()?;
        let stream = context.create_stream(true, 0);
        for before in context.tails() {
            context.push(&stream, Some(before), Box::new(|| ()));
        }
        let recorded = self.record(&stream);
        runtime::get().streams.remove(stream.handle);
        recorded
    }

    /// `cuCtxWaitEvent`: all later work of the context, in the streams that it has now, starts after it.
    pub fn hold_all(&self, context: &Arc<Context>) -> Result<()> {
        context.check()?;
        crate::capture::check_unsafe_call()?;
        let mine = |s: &Stream| s.context == context.handle;
        for stream in runtime::get().streams.all_where(mine) {
            self.hold(&stream)?;
        }
        for default in [DefaultStream::Legacy, DefaultStream::PerThread] {
            self.hold(&context.stream(0, default)?)?;
        }
        Ok(())
    }

    /// `cuEventQuery`: an event that was never recorded counts as reached.
    pub fn query(&self) -> Result<()> {
        self.owner()?.check()?;
        self.not_captured()?;
        if let Some(shared) = &self.shared {
            return match shared.is_reached(shared.last()) {
                true => Ok(()),
                false => Err(CudaError::NotReady),
            };
        }
        match &*self.recording.lock() {
            Some(recording) if !recording.ticket.is_done() => Err(CudaError::NotReady),
            Some(_) | None => Ok(()),
        }
    }

    /// `cuEventSynchronize`.
    pub fn synchronize(&self) -> Result<()> {
        let context = self.owner()?;
        self.not_captured()?;
        let recording = self.recording.lock().clone();
        if let Some(shared) = &self.shared {
            if !shared.wait(shared.last()) {
                return Err(CudaError::ExternalDevice);
            }
        } else if let Some(recording) = recording {
            recording.ticket.wait();
        }
        context.fifo.flush();
        context.check()
    }

    /// `cuStreamWaitEvent`: later work of the stream starts after the event.
    pub fn hold(&self, stream: &Arc<Stream>) -> Result<()> {
        let context = stream.owner()?;
        context.check()?;
        if let Some(part) = &*self.captured.lock() {
            return stream.join(&part.capture, &part.dependencies);
        }
        if stream.part().is_some() {
            // What the event stands for is outside of the capture.
            return Err(match stream.forbid_capture() {
                Err(CudaError::StreamCaptureInvalidated) => CudaError::StreamCaptureInvalidated,
                Ok(()) | Err(_) => CudaError::StreamCaptureIsolation,
            });
        }
        if let Some(shared) = self.shared.clone() {
            let (number, waiting) = (shared.last(), context.clone());
            if !shared.is_reached(number) {
                let work = move || {
                    if !shared.wait(number) {
                        waiting.fail(CudaError::ExternalDevice);
                    }
                };
                context.push(stream, None, Box::new(work));
            }
            return Ok(());
        }
        let recording = self.recording.lock().clone();
        let after = recording.filter(|r| order::is_kept() || !r.ticket.is_reached());
        if let Some(recording) = after {
            context.push(stream, Some(recording.ticket), Box::new(|| ()));
        }
        Ok(())
    }

    /// `cuEventElapsedTime` from this event to `end`, in milliseconds.
    pub fn elapsed_to(&self, end: &Event) -> Result<f32> {
        if !self.timing || !end.timing || self.context != end.context {
            return Err(CudaError::InvalidHandle);
        }
        self.owner()?.check()?;
        let reached = |event: &Event| -> Result<Instant> {
            let recording = event.recording.lock().clone().ok_or(CudaError::InvalidHandle)?;
            if !recording.ticket.is_done() {
                return Err(CudaError::NotReady);
            }
            recording.time.get().copied().ok_or(CudaError::NotReady)
        };
        let (start, end) = (reached(self)?, reached(end)?);
        Ok(match end.checked_duration_since(start) {
            Some(after) => after.as_secs_f64() * 1e3,
            None => -(start.duration_since(end).as_secs_f64() * 1e3),
        } as f32)
    }
}
