// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding functions by name and version.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Once;

use margay_runtime::{CudaError, Result};

use super::{offer, required, text};
use crate::exports::{ENTRIES, SYMBOLS};
use crate::sys::*;

/// A symbol's address in this library.
fn symbol(name: &str) -> Option<*const c_void> {
    let at = SYMBOLS.binary_search_by(|(n, _)| (*n).cmp(name)).ok()?;
    Some(SYMBOLS[at].1.0)
}

pub unsafe fn cuGetProcAddress_v2(
    name: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    status: *mut CUdriverProcAddressQueryResult,
) -> Result<()> {
    required(to)?;
    let name = unsafe { text(name)? };
    let per_thread = match flags {
        f if f == CU_GET_PROC_ADDRESS_DEFAULT as u64 => false,
        f if f == CU_GET_PROC_ADDRESS_LEGACY_STREAM as u64 => false,
        f if f == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM as u64 => true,
        _ => return Err(CudaError::InvalidValue),
    };
    let version = u32::try_from(version).map_err(|_| CudaError::InvalidValue)?;
    let mut rows = ENTRIES.iter().filter(|(plain, ..)| *plain == name);
    let known = rows.clone().next().is_some();
    let row = rows.rfind(|(_, since, ..)| *since <= version);
    let found = row
        .and_then(|(_, _, plain, variant)| symbol(variant.filter(|_| per_thread).unwrap_or(plain)));
    // SAFETY: checked for null, and the program's to write.
    unsafe { to.write(found.unwrap_or(std::ptr::null()).cast_mut()) };
    let code = match (found, known) {
        (Some(_), _) => CU_GET_PROC_ADDRESS_SUCCESS,
        (None, true) => CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
        (None, false) => CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
    };
    // An unknown name is no error, whether or not there is a status to say so (measured).
    unsafe { offer(status, code) };
    Ok(())
}

/// The form of CUDA 11, without a status.
pub unsafe fn cuGetProcAddress(
    name: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
) -> Result<()> {
    unsafe { cuGetProcAddress_v2(name, to, version, flags, std::ptr::null_mut()) }
}

/// The undocumented tables of NVIDIA's own libraries: none is here, and what asks for them cannot
/// go on. That is NVIDIA's runtime, which a program has inside it unless it was told otherwise.
pub unsafe fn cuGetExportTable(table: *mut *const c_void, id: *const CUuuid) -> Result<()> {
    required(id)?;
    required(table)?;
    // SAFETY: checked for null, and the program's to write.
    unsafe { table.write(std::ptr::null()) };
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        margay_runtime::report::say(
            "NVIDIA's CUDA runtime, linked into this program or library, works with NVIDIA's driver only. \
             Relink with `nvcc -cudart shared` and run it with `margay run`, or compile with `margay cc`",
        )
    });
    Err(CudaError::NotSupported)
}
