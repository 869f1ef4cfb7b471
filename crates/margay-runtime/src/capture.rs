// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stream capture: work that is asked for becomes nodes of a graph (CUDA C++ Programming Guide,
//! "Creating a Graph Using Stream Capture").
//!
//! Invariant: a capture that was used wrongly is invalid from then on: all its streams answer
//! CUDA_ERROR_STREAM_CAPTURE_INVALIDATED until it is ended, which gives no graph.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::error::{CudaError, Result};
use crate::graph::{Graph, NodeWork};
use crate::handle::Handle;
use crate::runtime;
use crate::stream::{Stream, StreamKind};
use crate::thread;

/// `CUstreamCaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Global,
    ThreadLocal,
    Relaxed,
}

/// A capture under way.
pub struct Capture {
    pub id: u64,
    pub graph: Arc<Graph>,
    /// The stream that it began in.
    pub origin: Handle,
    context: Handle,
    mode: Mode,
    thread: u64,
    valid: AtomicBool,
    ended: AtomicBool,
    /// It goes into a graph that the program had before.
    borrowed: bool,
}

/// A stream's part in a capture: what its next node depends on.
#[derive(Clone)]
pub struct Part {
    pub capture: Arc<Capture>,
    pub dependencies: Vec<Handle>,
}

/// Captures under way in the process, with the streams that take part.
#[derive(Default)]
pub(crate) struct Captures(Mutex<Vec<(Arc<Capture>, Arc<Stream>)>>);

thread_local! {
    static THREAD_MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// `cuThreadExchangeStreamCaptureMode`.
pub fn exchange_mode(mode: Mode) -> Mode {
    THREAD_MODE.with(|m| m.replace(mode))
}

impl Capture {
    fn check(&self) -> Result<()> {
        match self.valid.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(CudaError::StreamCaptureInvalidated),
        }
    }

    pub fn is_valid(&self) -> bool {
        self.valid.load(Ordering::Acquire)
    }

    pub(crate) fn invalidate(&self) {
        self.valid.store(false, Ordering::Release);
    }
}

/// Refuses a call that a capture forbids (allocation, waiting for everything): it also spoils the
/// captures that forbid it.
pub fn check_unsafe_call() -> Result<()> {
    let Ok(rt) = runtime::initialized() else { return Ok(()) };
    let all = rt.captures.0.lock();
    if all.is_empty() {
        return Ok(());
    }
    let mode = THREAD_MODE.with(Cell::get);
    let me = thread::number();
    let forbids = |c: &Capture| match (mode, c.mode) {
        (Mode::Relaxed, _) | (_, Mode::Relaxed) => false,
        (Mode::ThreadLocal, _) | (_, Mode::ThreadLocal) => c.thread == me,
        (Mode::Global, Mode::Global) => true,
    };
    let mut forbidden = false;
    for (capture, _) in all.iter().filter(|(c, _)| forbids(c)) {
        capture.invalidate();
        forbidden = true;
    }
    if forbidden { Err(CudaError::StreamCaptureUnsupported) } else { Ok(()) }
}

impl Stream {
    /// The capture that this stream takes part in.
    pub fn part(&self) -> Option<Part> {
        self.capture.lock().clone()
    }

    /// Makes a node of the work if the stream captures. Without a capture, work in the legacy stream
    /// is refused while a stream that synchronises with it captures.
    pub(crate) fn intercept(&self, work: impl FnOnce() -> NodeWork) -> Result<Option<Handle>> {
        let mut part = self.capture.lock();
        let Some(part) = part.as_mut() else {
            return self.check_implicit().map(|()| None);
        };
        part.capture.check()?;
        let added = part.capture.graph.add(&part.dependencies, work(), None);
        match added {
            Ok(node) => {
                part.dependencies = vec![node];
                Ok(Some(node))
            }
            Err(error) => {
                part.capture.invalidate();
                Err(error)
            }
        }
    }

    /// As [`Stream::intercept`], for what cannot be captured.
    pub fn forbid_capture(&self) -> Result<()> {
        match self.capture.lock().as_ref() {
            None => self.check_implicit(),
            Some(part) => {
                part.capture.check()?;
                part.capture.invalidate();
                Err(CudaError::StreamCaptureUnsupported)
            }
        }
    }

    fn check_implicit(&self) -> Result<()> {
        if self.kind != StreamKind::Legacy {
            return Ok(());
        }
        let mut implicit = false;
        for (capture, stream) in runtime::get().captures.0.lock().iter() {
            let blocking = match stream.kind {
                StreamKind::Blocking | StreamKind::PerThread => true,
                StreamKind::Legacy | StreamKind::NonBlocking => false,
            };
            if blocking && capture.context == self.context && capture.mode != Mode::Relaxed {
                capture.invalidate();
                implicit = true;
            }
        }
        if implicit { Err(CudaError::StreamCaptureImplicit) } else { Ok(()) }
    }

    /// `cuStreamBeginCapture`, or `cuStreamBeginCaptureToGraph` with a graph and its nodes.
    pub fn begin_capture(
        self: &Arc<Self>,
        mode: Mode,
        into: Option<(Arc<Graph>, Vec<Handle>)>,
    ) -> Result<()> {
        if self.kind == StreamKind::Legacy {
            return Err(CudaError::StreamCaptureUnsupported);
        }
        let mut part = self.capture.lock();
        if part.is_some() {
            return Err(CudaError::IllegalState);
        }
        static IDS: AtomicU64 = AtomicU64::new(1);
        let borrowed = into.is_some();
        let rt = runtime::get();
        let (graph, dependencies) = match into {
            Some(into) => into,
            None => (rt.create_graph(), Vec::new()),
        };
        for node in &dependencies {
            graph.node(*node)?;
        }
        let capture = Arc::new(Capture {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            graph,
            origin: self.handle,
            context: self.context,
            mode,
            thread: thread::number(),
            valid: AtomicBool::new(true),
            ended: AtomicBool::new(false),
            borrowed,
        });
        *part = Some(Part { capture: capture.clone(), dependencies });
        rt.captures.0.lock().push((capture, self.clone()));
        Ok(())
    }

    /// `cuStreamEndCapture`.
    pub fn end_capture(self: &Arc<Self>) -> Result<Arc<Graph>> {
        let part = self.part().ok_or(CudaError::IllegalState)?;
        let capture = part.capture;
        if capture.origin != self.handle {
            // Measured: the attempt spoils the capture.
            capture.invalidate();
            return Err(CudaError::StreamCaptureUnmatched);
        }
        // Measured: the attempt ends the capture, and gives no graph.
        let foreign = capture.mode != Mode::Relaxed && capture.thread != thread::number();
        let rt = runtime::get();
        // All streams leave; what they did last must come before the end.
        let mut loose = false;
        let before = ancestors(&capture.graph, &part.dependencies);
        let mut all = rt.captures.0.lock();
        all.retain(|(c, stream)| {
            if !Arc::ptr_eq(c, &capture) {
                return true;
            }
            let last = stream.capture.lock().take();
            let last = last.map(|p| p.dependencies).unwrap_or_default();
            loose |= last.iter().any(|node| !before.contains(node));
            false
        });
        drop(all);
        capture.ended.store(true, Ordering::Release);
        let outcome = match (capture.is_valid(), loose) {
            _ if foreign => Err(CudaError::StreamCaptureWrongThread),
            (false, _) => Err(CudaError::StreamCaptureInvalidated),
            (true, true) => Err(CudaError::StreamCaptureUnjoined),
            (true, false) => Ok(capture.graph.clone()),
        };
        if outcome.is_err() && !capture.borrowed {
            rt.destroy_graph(capture.graph.handle)?;
        }
        outcome
    }

    /// Makes later work depend on these nodes too: on an event of the capture.
    pub(crate) fn join(self: &Arc<Self>, capture: &Arc<Capture>, nodes: &[Handle]) -> Result<()> {
        if capture.ended.load(Ordering::Acquire) {
            return Err(CudaError::CapturedEvent);
        }
        capture.check()?;
        let mut part = self.capture.lock();
        match part.as_mut() {
            Some(mine) if Arc::ptr_eq(&mine.capture, capture) => {
                for node in nodes {
                    if !mine.dependencies.contains(node) {
                        mine.dependencies.push(*node);
                    }
                }
                Ok(())
            }
            Some(mine) => {
                mine.capture.invalidate();
                capture.invalidate();
                Err(CudaError::StreamCaptureMerge)
            }
            None if self.kind == StreamKind::Legacy => {
                capture.invalidate();
                Err(CudaError::StreamCaptureImplicit)
            }
            None => {
                *part = Some(Part { capture: capture.clone(), dependencies: nodes.to_vec() });
                runtime::get().captures.0.lock().push((capture.clone(), self.clone()));
                Ok(())
            }
        }
    }

    /// `cuStreamUpdateCaptureDependencies`.
    pub fn set_dependencies(&self, nodes: &[Handle], add: bool) -> Result<()> {
        let mut part = self.capture.lock();
        let part = part.as_mut().ok_or(CudaError::IllegalState)?;
        part.capture.check()?;
        for node in nodes {
            part.capture.graph.node(*node)?;
        }
        if !add {
            part.dependencies.clear();
        }
        part.dependencies.extend_from_slice(nodes);
        Ok(())
    }

    /// A destroyed stream: without the one that it began in a capture cannot end. What another one did
    /// last must still be joined.
    pub fn leave_capture(&self) {
        let part = self.capture.lock();
        if let Some(part) = part.as_ref().filter(|p| p.capture.origin == self.handle) {
            part.capture.invalidate();
            let gone = part.capture.id;
            runtime::get().captures.0.lock().retain(|(c, _)| c.id != gone);
        }
    }
}

/// The nodes and all that they depend on.
fn ancestors(graph: &Graph, nodes: &[Handle]) -> HashSet<Handle> {
    let all = graph.nodes();
    let mut found: HashSet<Handle> = HashSet::new();
    let mut left = nodes.to_vec();
    while let Some(node) = left.pop() {
        if found.insert(node)
            && let Some(node) = all.iter().find(|n| n.handle == node)
        {
            left.extend(&node.dependencies);
        }
    }
    found
}
