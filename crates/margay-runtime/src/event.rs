// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: points in streams, with the time at which they were reached.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::queue::Ticket;
use crate::runtime;
use crate::stream::Stream;

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
}

impl Context {
    /// `cuEventCreate`.
    pub fn create_event(&self, timing: bool) -> Arc<Event> {
        let event = Arc::new(Event {
            handle: handle::fresh(),
            context: self.handle,
            device: self.device,
            timing,
            recording: Mutex::new(None),
        });
        runtime::get().events.insert(event.handle, event.clone());
        event
    }
}

impl Event {
    fn owner(&self) -> Result<Arc<Context>> {
        runtime::get().contexts.get(self.context).ok_or(CudaError::ContextIsDestroyed)
    }

    /// `cuEventRecord`: the event now stands for the end of the stream's present work.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if stream.context != self.context {
            return Err(CudaError::InvalidHandle);
        }
        let context = stream.owner()?;
        context.check()?;
        let time = Arc::new(OnceLock::new());
        let reached = time.clone();
        let mut recording = self.recording.lock();
        let work = Box::new(move || {
            let _ = reached.set(Instant::now());
        });
        let ticket = context.push(stream, None, work);
        *recording = Some(Recording { ticket, time });
        Ok(())
    }

    /// `cuEventQuery`: an event that was never recorded counts as reached.
    pub fn query(&self) -> Result<()> {
        self.owner()?.check()?;
        match &*self.recording.lock() {
            Some(recording) if !recording.ticket.is_done() => Err(CudaError::NotReady),
            Some(_) | None => Ok(()),
        }
    }

    /// `cuEventSynchronize`.
    pub fn synchronize(&self) -> Result<()> {
        let context = self.owner()?;
        let recording = self.recording.lock().clone();
        if let Some(recording) = recording {
            recording.ticket.wait();
        }
        context.fifo.flush();
        context.check()
    }

    /// `cuStreamWaitEvent`: later work of the stream starts after the event.
    pub fn hold(&self, stream: &Stream) -> Result<()> {
        let context = stream.owner()?;
        context.check()?;
        let recording = self.recording.lock().clone();
        if let Some(recording) = recording.filter(|r| !r.ticket.is_done()) {
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
