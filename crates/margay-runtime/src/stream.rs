// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams and the ordering between them.
//!
//! Invariant: the legacy default stream's rules hold (CUDA C++ Programming Guide, "Default
//! Stream"): its work starts after all earlier work of the context's blocking streams and their
//! later work starts after it. Non-blocking streams take no part.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::capture::Part;
use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::order;
use crate::queue::{Queue, Ticket, Work};
use crate::thread;

/// How a stream takes part in the legacy default stream's synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// The legacy default stream itself.
    Legacy,
    /// A thread's own default stream: blocking.
    PerThread,
    Blocking,
    NonBlocking,
}

/// `CU_STREAM_LEGACY` as a handle.
pub const LEGACY: Handle = 1;
/// `CU_STREAM_PER_THREAD` as a handle.
pub const PER_THREAD: Handle = 2;

/// Lowest and greatest priority that `cuCtxGetStreamPriorityRange` offers.
pub const PRIORITY_RANGE: (i32, i32) = (0, -5);

/// A stream of a context.
pub struct Stream {
    pub handle: Handle,
    pub kind: StreamKind,
    /// Clamped to [`PRIORITY_RANGE`]; it has no effect on order.
    pub priority: i32,
    pub context: Handle,
    pub device: u32,
    queue: Arc<Queue>,
    pub(crate) capture: Mutex<Option<Part>>,
    /// `CUstreamAttrValue`s that were set, by attribute: hints, which the getter gives back.
    pub attributes: Mutex<HashMap<u32, [u8; 64]>>,
}

/// What an API means by stream 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultStream {
    Legacy,
    /// The `_ptds` and `_ptsz` entry points.
    PerThread,
}

/// The streams of a context, for ordering.
#[derive(Default)]
pub(crate) struct StreamSet {
    legacy: Option<Arc<Stream>>,
    per_thread: Vec<(u64, Arc<Stream>)>,
    /// Queues of all streams, destroyed ones too until they have drained.
    queues: Vec<(StreamKind, Arc<Queue>)>,
    last_legacy: Option<Ticket>,
}

impl StreamSet {
    /// What a new item of a stream of this kind must wait for.
    fn dependencies(&mut self, kind: StreamKind) -> Vec<Ticket> {
        match kind {
            StreamKind::NonBlocking => Vec::new(),
            StreamKind::Blocking | StreamKind::PerThread => {
                self.last_legacy.iter().cloned().collect()
            }
            StreamKind::Legacy => {
                let blocking = |k: StreamKind| match k {
                    StreamKind::Blocking | StreamKind::PerThread => true,
                    StreamKind::Legacy | StreamKind::NonBlocking => false,
                };
                let queues = self.queues.iter().filter(|(k, _)| blocking(*k));
                queues.filter_map(|(_, q)| q.last()).collect()
            }
        }
    }
}

impl Context {
    fn new_stream(&self, set: &mut StreamSet, kind: StreamKind, priority: i32) -> Arc<Stream> {
        let (lowest, greatest) = PRIORITY_RANGE;
        let queue = Arc::new(Queue::default());
        set.queues.push((kind, queue.clone()));
        if kind != StreamKind::Legacy {
            order::several();
        }
        Arc::new(Stream {
            handle: handle::fresh(),
            kind,
            priority: priority.clamp(greatest, lowest),
            context: self.handle,
            device: self.device,
            queue,
            capture: Mutex::default(),
            attributes: Mutex::default(),
        })
    }

    /// `cuStreamCreateWithPriority`.
    pub fn create_stream(&self, non_blocking: bool, priority: i32) -> Arc<Stream> {
        let kind = if non_blocking { StreamKind::NonBlocking } else { StreamKind::Blocking };
        let stream = self.new_stream(&mut self.streams.lock(), kind, priority);
        crate::runtime::get().streams.insert(stream.handle, stream.clone());
        stream
    }

    /// Finds the stream that a handle from the program means in this context.
    pub fn stream(&self, handle: Handle, default: DefaultStream) -> Result<Arc<Stream>> {
        let per_thread = match handle {
            0 => default == DefaultStream::PerThread,
            LEGACY => false,
            PER_THREAD => true,
            other => {
                let found = crate::runtime::get().streams.get(other);
                return found.ok_or(CudaError::InvalidHandle);
            }
        };
        let mut set = self.streams.lock();
        if per_thread {
            let me = thread::number();
            if let Some((_, stream)) = set.per_thread.iter().find(|(t, _)| *t == me) {
                return Ok(stream.clone());
            }
            let stream = self.new_stream(&mut set, StreamKind::PerThread, 0);
            set.per_thread.push((me, stream.clone()));
            return Ok(stream);
        }
        if set.legacy.is_none() {
            set.legacy = Some(self.new_stream(&mut set, StreamKind::Legacy, 0));
        }
        set.legacy.clone().ok_or(CudaError::Unknown)
    }

    /// Appends work to a stream of this context, after what the default stream's rules and
    /// `extra` ask for.
    pub(crate) fn push(&self, stream: &Stream, extra: Option<Ticket>, work: Work) -> Ticket {
        let mut set = self.streams.lock();
        let mut after = set.dependencies(stream.kind);
        after.extend(extra);
        let ticket = stream.queue.push(after, work);
        if stream.kind == StreamKind::Legacy {
            set.last_legacy = Some(ticket.clone());
        }
        ticket
    }

    /// Waits until work pushed to the stream now could start.
    pub(crate) fn wait_turn(&self, stream: &Stream) {
        let tickets = {
            let mut set = self.streams.lock();
            let mut tickets = set.dependencies(stream.kind);
            tickets.extend(stream.queue.last());
            tickets
        };
        tickets.iter().for_each(Ticket::wait);
    }

    /// Waits for all work of the context.
    pub(crate) fn drain(&self) {
        self.tails().iter().for_each(Ticket::wait);
    }

    /// The ends of all work that the context's streams have had.
    pub(crate) fn tails(&self) -> Vec<Ticket> {
        let mut set = self.streams.lock();
        // Queues that nobody can push to any more and that are empty are forgotten, unless the order counts.
        set.queues.retain(|(_, q)| Arc::strong_count(q) > 1 || !q.is_empty() || order::is_kept());
        set.queues.iter().filter_map(|(_, q)| q.last()).collect()
    }
}

impl Stream {
    /// The context, which may have gone.
    pub fn owner(&self) -> Result<Arc<Context>> {
        crate::runtime::get().contexts.get(self.context).ok_or(CudaError::ContextIsDestroyed)
    }

    /// The handle by which reports name it: default streams have the program's names for them.
    pub fn shown(&self) -> Handle {
        match self.kind {
            StreamKind::Legacy => LEGACY,
            StreamKind::PerThread => PER_THREAD,
            StreamKind::Blocking | StreamKind::NonBlocking => self.handle,
        }
    }

    /// `cuStreamQuery` without the sticky error: whether all work has ended.
    pub fn is_idle(&self) -> bool {
        self.queue.last().is_none_or(|ticket| ticket.is_done())
    }

    /// `cuStreamSynchronize`.
    pub fn synchronize(&self) -> Result<()> {
        self.forbid_capture()?;
        let context = self.owner()?;
        self.wait();
        context.fifo.flush();
        context.check()
    }

    /// Waits for all work pushed so far.
    pub fn wait(&self) {
        if let Some(ticket) = self.queue.last() {
            ticket.wait();
        }
    }
}
