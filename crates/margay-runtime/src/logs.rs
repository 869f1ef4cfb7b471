// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of errors and warnings (CUDA C++ Programming Guide, "Error Log Management"): what failed, in
//! which call, for programs that ask and for the file that `CUDA_LOG_FILE` names.
//!
//! Invariant: the last [`KEPT`] entries are kept and none is lost without a dump's saying so; callbacks run
//! in the thread of the call that failed, with no lock held.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::thread;

/// Entries that are kept.
pub const KEPT: usize = 100;
/// Bytes that a dump has at most.
pub const LONGEST_DUMP: usize = 25600;

/// `CUlogLevel`'s numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Level {
    Error = 0,
    Warning = 1,
}

/// A program's function; it gets the entry's level and text.
pub type Callback = Arc<dyn Fn(Level, &str) + Send + Sync>;

#[derive(Default)]
struct Log {
    /// Entries so far, since the process began.
    count: u64,
    entries: VecDeque<Arc<str>>,
    callbacks: Vec<(Handle, Callback)>,
}

static LOG: Mutex<Log> =
    Mutex::new(Log { count: 0, entries: VecDeque::new(), callbacks: Vec::new() });
/// `CUDA_LOG_FILE`, read once.
static FILE: OnceLock<Option<Sink>> = OnceLock::new();

enum Sink {
    Stdout,
    Stderr,
    File(Mutex<std::fs::File>),
}

/// Opens what `CUDA_LOG_FILE` names: `stdout`, `stderr`, or a file that is appended to.
pub fn open(name: Option<&str>) {
    FILE.get_or_init(|| {
        let sink = match name? {
            "" => return None,
            "stdout" => Sink::Stdout,
            "stderr" => Sink::Stderr,
            path => match OpenOptions::new().create(true).append(true).open(path) {
                Ok(file) => Sink::File(Mutex::new(file)),
                Err(error) => {
                    eprintln!("margay: CUDA_LOG_FILE={path} is ignored: {error}");
                    return None;
                }
            },
        };
        Some(sink)
    });
}

/// Adds an entry of the call `api`.
pub fn record(level: Level, api: &str, message: &str) {
    let letter = match level {
        Level::Error => 'E',
        Level::Warning => 'W',
    };
    let text: Arc<str> =
        format!("[{}][{}][CUDA][{letter}][{api}] {message}", time(), std::process::id()).into();
    let callbacks: Vec<Callback> = {
        let mut log = LOG.lock();
        log.count += 1;
        log.entries.push_back(text.clone());
        if log.entries.len() > KEPT {
            log.entries.pop_front();
        }
        log.callbacks.iter().map(|(_, callback)| callback.clone()).collect()
    };
    if let Some(sink) = FILE.get().and_then(Option::as_ref) {
        // Nobody is left to tell if that fails.
        let _ = match sink {
            Sink::Stdout => writeln!(std::io::stdout().lock(), "{text}"),
            Sink::Stderr => writeln!(std::io::stderr().lock(), "{text}"),
            Sink::File(file) => writeln!(file.lock(), "{text}"),
        };
    }
    // A callback's own calls are not permitted, and it is not called for those.
    if thread::in_callback() {
        return;
    }
    for callback in callbacks {
        thread::as_callback(|| callback(level, &text));
    }
}

/// Hours, minutes, seconds and milliseconds of the day, UTC.
fn time() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (seconds, milliseconds) = (since.as_secs() % 86400, since.subsec_millis());
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{milliseconds:03}", seconds % 60)
}

/// `cuLogsRegisterCallback`.
pub fn register(callback: Callback) -> Handle {
    let handle = handle::fresh();
    LOG.lock().callbacks.push((handle, callback));
    handle
}

/// `cuLogsUnregisterCallback`.
pub fn unregister(handle: Handle) -> Result<()> {
    let mut log = LOG.lock();
    let before = log.callbacks.len();
    log.callbacks.retain(|(h, _)| *h != handle);
    if log.callbacks.len() < before { Ok(()) } else { Err(CudaError::InvalidValue) }
}

/// `cuLogsCurrent`: where the next entry will be.
pub fn current() -> u32 {
    LOG.lock().count as u32
}

/// The entries from `from` on, or all that are kept, a line each; and where the next dump begins. At most
/// `room` bytes: the oldest lines are left out, and a first line says so.
pub fn dump(from: Option<u32>, room: usize) -> (String, u32) {
    let log = LOG.lock();
    let oldest = log.count - log.entries.len() as u64;
    // The iterator is the low half of a count.
    let wanted = from.map_or(log.entries.len() as u64, |from| {
        u64::from((log.count as u32).wrapping_sub(from)).min(log.count)
    });
    let first = (log.count - wanted).max(oldest);
    let mut missing = first - (log.count - wanted);
    let mut lines: VecDeque<&str> =
        log.entries.iter().skip((first - oldest) as usize).map(|line| &**line).collect();
    let room = room.min(LONGEST_DUMP);
    let note = |missing: u64| match missing {
        0 => String::new(),
        n => format!("[{n} earlier entries were dropped]\n"),
    };
    loop {
        let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        let head = note(missing);
        if bytes + head.len() <= room || lines.is_empty() {
            let mut text = if head.len() <= room { head } else { String::new() };
            for line in lines {
                text.push_str(line);
                text.push('\n');
            }
            return (text, log.count as u32);
        }
        lines.pop_front();
        missing += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_callbacks_and_dumps() {
        let seen: Arc<Mutex<Vec<(Level, String)>>> = Arc::default();
        let heard = seen.clone();
        let handle = register(Arc::new(move |level, text: &str| {
            heard.lock().push((level, text.to_owned()));
            record(Level::Error, "inside", "heard by nobody");
        }));
        let start = current();
        record(Level::Error, "cuMemAlloc", "out of memory");
        unregister(handle).unwrap();
        assert_eq!(unregister(handle), Err(CudaError::InvalidValue));
        record(Level::Warning, "cuInit", "late");
        let (text, next) = dump(Some(start), usize::MAX);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), next), (3, start + 3));
        assert!(lines[0].ends_with("[CUDA][E][cuMemAlloc] out of memory"), "{text}");
        assert!(lines[2].ends_with("[CUDA][W][cuInit] late"), "{text}");
        assert_eq!(*seen.lock(), [(Level::Error, lines[0].to_owned())]);
        assert_eq!(dump(Some(next), usize::MAX).0, "");
        // The newest that fit, and a word about the others.
        let (short, _) = dump(Some(start), lines[2].len() + 40);
        assert_eq!(short, format!("[2 earlier entries were dropped]\n{}\n", lines[2]));
        for n in 0..KEPT + 5 {
            record(Level::Error, "many", &n.to_string());
        }
        let (all, _) = dump(None, usize::MAX);
        assert!(all.lines().count() <= KEPT && all.contains("] 104\n") && !all.contains("] 4\n"));
        assert!(dump(Some(start), usize::MAX).0.starts_with("[8 earlier entries were dropped]\n"));
    }
}
