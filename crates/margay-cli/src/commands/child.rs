// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that runs as our child, because there is something to do when it has ended.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::failure::Failure;

/// The child's process, for the handler of signals.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Passes a signal on. The terminal sends SIGINT to the child by itself.
extern "C" fn pass_on(signal: libc::c_int) {
    let child = CHILD.load(Ordering::Relaxed);
    if signal != libc::SIGINT && child > 0 {
        // SAFETY: a system call, allowed in a handler.
        unsafe { libc::kill(child, signal) };
    }
}

/// Runs the program to its end, however that comes; signals to us are passed on to it.
pub fn run(command: &mut Command) -> Result<ExitStatus, Failure> {
    run_with(command, |_| ()).map(|(status, ())| status)
}

/// As [`run`]; `meanwhile` is done before the end is waited for.
pub fn run_with<T>(
    command: &mut Command,
    meanwhile: impl FnOnce(&mut Child) -> T,
) -> Result<(ExitStatus, T), Failure> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler calls only what may be called in one.
        unsafe { libc::signal(signal, pass_on as *const () as libc::sighandler_t) };
    }
    let program = PathBuf::from(command.get_program());
    let failed = |error| Failure::Start { program: program.clone(), error };
    let mut child = command.spawn().map_err(failed)?;
    CHILD.store(child.id() as i32, Ordering::Relaxed);
    let done = meanwhile(&mut child);
    let status = child.wait().map_err(failed)?;
    CHILD.store(0, Ordering::Relaxed);
    Ok((status, done))
}

/// The exit code that stands for how a program ended: its own, or 128 + N for signal N.
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code & 0xff).unwrap_or(1)
}
