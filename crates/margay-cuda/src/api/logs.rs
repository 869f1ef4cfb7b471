// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of errors and warnings.

use std::ffi::{CString, c_char, c_uint, c_void};
use std::io::Write;
use std::sync::Arc;

use margay_runtime::logs::{self, Level};
use margay_runtime::{CudaError, Result};

use super::launch::UserData;
use super::{give, handle, opaque, required, text};
use crate::sys::*;

pub unsafe fn cuLogsRegisterCallback(
    callback: CUlogsCallback,
    data: *mut c_void,
    to: *mut CUlogsCallbackHandle,
) -> Result<()> {
    let function = callback.ok_or(CudaError::InvalidValue)?;
    let user = UserData(data);
    let call = move |level: Level, message: &str| {
        let user = &user;
        let level = match level {
            Level::Error => CU_LOG_LEVEL_ERROR,
            Level::Warning => CU_LOG_LEVEL_WARNING,
        };
        let Ok(message) = CString::new(message) else { return };
        let length = message.as_bytes().len();
        // SAFETY: the program's function with the program's data, and a text that lives through the call.
        unsafe { function(user.0, level, message.as_ptr().cast_mut(), length) };
    };
    let registered = logs::register(Arc::new(call));
    // The program may do without the handle.
    unsafe { super::offer(to, opaque(registered)) };
    Ok(())
}

pub unsafe fn cuLogsUnregisterCallback(callback: CUlogsCallbackHandle) -> Result<()> {
    logs::unregister(handle(callback))
}

pub unsafe fn cuLogsCurrent(to: *mut CUlogIterator, flags: c_uint) -> Result<()> {
    no_flags(flags)?;
    unsafe { give(to, logs::current()) }
}

fn no_flags(flags: c_uint) -> Result<()> {
    if flags == 0 { Ok(()) } else { Err(CudaError::InvalidValue) }
}

/// Dumps from where the iterator is, and moves it on; without one, all.
unsafe fn dump(iterator: *mut CUlogIterator, room: usize) -> Result<String> {
    // SAFETY: null, or the program's.
    let from = (!iterator.is_null()).then(|| unsafe { iterator.read_unaligned() });
    let (text, next) = logs::dump(from, room);
    unsafe { super::offer(iterator, next) };
    Ok(text)
}

pub unsafe fn cuLogsDumpToFile(
    iterator: *mut CUlogIterator,
    path: *const c_char,
    flags: c_uint,
) -> Result<()> {
    no_flags(flags)?;
    let path = unsafe { text(path)? };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let mut file = file.map_err(|_| CudaError::InvalidValue)?;
    let text = unsafe { dump(iterator, usize::MAX)? };
    file.write_all(text.as_bytes()).map_err(|_| CudaError::OperatingSystem)
}

pub unsafe fn cuLogsDumpToMemory(
    iterator: *mut CUlogIterator,
    buffer: *mut c_char,
    size: *mut usize,
    flags: c_uint,
) -> Result<()> {
    no_flags(flags)?;
    required(buffer)?;
    required(size)?;
    // SAFETY: not null, and the program's.
    let room = unsafe { size.read_unaligned() };
    // A byte is for the end.
    let room = room.checked_sub(1).ok_or(CudaError::InvalidValue)?;
    let text = unsafe { dump(iterator, room)? };
    // SAFETY: the buffer has `size` bytes, of which the text takes at most all but one.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), text.len());
        buffer.add(text.len()).write(0);
        give(size, text.len())
    }
}
