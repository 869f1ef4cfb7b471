// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds libcuda and its functions.
//!
//! Invariant: a process has one libcuda. One that is loaded already is taken, then the one beside this
//! library, then whichever the dynamic linker finds.

use std::ffi::{CStr, CString, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys;

struct Handle(NonNull<c_void>);
// SAFETY: a handle of dlopen may be used by any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

fn library() -> Option<&'static Handle> {
    static LIBRARY: OnceLock<Option<Handle>> = OnceLock::new();
    LIBRARY.get_or_init(open).as_ref()
}

fn open() -> Option<Handle> {
    let name = c"libcuda.so.1";
    let dlopen = |name: &CStr, flags| {
        // SAFETY: the name ends with NUL; libcuda's initialisers ask nothing of us.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | flags) }).map(Handle)
    };
    dlopen(name, libc::RTLD_NOLOAD)
        .or_else(|| beside().into_iter().find_map(|path| dlopen(&path, 0)))
        .or_else(|| dlopen(name, 0))
        .or_else(|| {
            eprintln!(
                "margay: libcudart finds no libcuda.so.1, neither beside itself nor in the \
                       dynamic linker's path"
            );
            None
        })
}

/// Where libcuda is when it was built or installed together with this library.
fn beside() -> Vec<CString> {
    // SAFETY: all zeros is a value of this structure.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here: fn() -> Vec<CString> = beside;
    // SAFETY: the address is of this function; `info` may be written.
    if unsafe { libc::dladdr(here as *const c_void, &mut info) } == 0 || info.dli_fname.is_null() {
        return Vec::new();
    }
    // SAFETY: dladdr gave a string that lives as long as this library.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes();
    let Some(slash) = path.iter().rposition(|byte| *byte == b'/') else { return Vec::new() };
    ["libcuda.so.1", "libcuda.so"]
        .iter()
        .filter_map(|name| CString::new([&path[..=slash], name.as_bytes()].concat()).ok())
        .collect()
}

/// A function of libcuda, looked up once. The error is the code that the caller returns.
pub fn resolve(slot: &AtomicPtr<c_void>, name: &CStr) -> std::result::Result<*mut c_void, u32> {
    let known = slot.load(Ordering::Acquire);
    if !known.is_null() {
        return Ok(known);
    }
    let library = library().ok_or(sys::cudaErrorInsufficientDriver)?;
    // SAFETY: the handle is dlopen's, the name ends with NUL.
    let address = unsafe { libc::dlsym(library.0.as_ptr(), name.as_ptr()) };
    if address.is_null() {
        return Err(sys::cudaErrorSharedObjectSymbolNotFound);
    }
    slot.store(address, Ordering::Release);
    Ok(address)
}

/// `cuInit`, once.
pub fn init() -> Result<()> {
    static OUTCOME: OnceLock<u32> = OnceLock::new();
    // SAFETY: cuInit may be called at any time.
    let code = *OUTCOME.get_or_init(|| unsafe { cu::cuInit(0) });
    // After a fork the driver must be asked again, which refuses.
    check(code).map_err(|error| match error {
        Error(sys::cudaErrorSharedObjectSymbolNotFound) => Error(sys::cudaErrorInsufficientDriver),
        other => other,
    })
}
