// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries of device code that the program loads itself, and entry points of the driver.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use super::{give, pointer, required};
use crate::context::ensure;
use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys::*;

pub use super::function::cudaKernelSetAttributeForDevice;

/// Options have the same numbers in both libraries.
#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaLibraryLoadData(
    to: *mut cudaLibrary_t,
    code: *const c_void,
    options: *mut cudaJitOption,
    values: *mut *mut c_void,
    count: c_uint,
    library_options: *mut cudaLibraryOption,
    library_values: *mut *mut c_void,
    library_count: c_uint,
) -> Result<()> {
    required(to)?;
    required(code)?;
    ensure()?;
    check(cu::cuLibraryLoadData(
        to.cast(),
        code,
        options,
        values,
        count,
        library_options,
        library_values,
        library_count,
    ))
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaLibraryLoadFromFile(
    to: *mut cudaLibrary_t,
    path: *const c_char,
    options: *mut cudaJitOption,
    values: *mut *mut c_void,
    count: c_uint,
    library_options: *mut cudaLibraryOption,
    library_values: *mut *mut c_void,
    library_count: c_uint,
) -> Result<()> {
    required(to)?;
    required(path)?;
    ensure()?;
    check(cu::cuLibraryLoadFromFile(
        to.cast(),
        path,
        options,
        values,
        count,
        library_options,
        library_values,
        library_count,
    ))
}

pub unsafe fn cudaLibraryUnload(library: cudaLibrary_t) -> Result<()> {
    ensure()?;
    check(cu::cuLibraryUnload(library.cast()))
}

pub unsafe fn cudaLibraryGetKernel(
    to: *mut cudaKernel_t,
    library: cudaLibrary_t,
    name: *const c_char,
) -> Result<()> {
    required(to)?;
    required(name)?;
    ensure()?;
    check(cu::cuLibraryGetKernel(to.cast(), library.cast(), name))
}

pub unsafe fn cudaLibraryGetGlobal(
    to: *mut *mut c_void,
    bytes: *mut usize,
    library: cudaLibrary_t,
    name: *const c_char,
) -> Result<()> {
    required(name)?;
    ensure()?;
    let mut address = 0;
    check(cu::cuLibraryGetGlobal(&mut address, bytes, library.cast(), name))?;
    if to.is_null() { Ok(()) } else { give(to, pointer(address)) }
}

pub unsafe fn cudaLibraryGetManaged(
    to: *mut *mut c_void,
    bytes: *mut usize,
    library: cudaLibrary_t,
    name: *const c_char,
) -> Result<()> {
    required(name)?;
    ensure()?;
    let mut address = 0;
    check(cu::cuLibraryGetManaged(&mut address, bytes, library.cast(), name))?;
    if to.is_null() { Ok(()) } else { give(to, pointer(address)) }
}

pub unsafe fn cudaLibraryGetKernelCount(count: *mut c_uint, library: cudaLibrary_t) -> Result<()> {
    required(count)?;
    ensure()?;
    check(cu::cuLibraryGetKernelCount(count, library.cast()))
}

pub unsafe fn cudaLibraryEnumerateKernels(
    to: *mut cudaKernel_t,
    count: c_uint,
    library: cudaLibrary_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuLibraryEnumerateKernels(to.cast(), count, library.cast()))
}

/// The version that this library's headers have, for entry points asked for without one.
const HEADER_VERSION: c_uint = if cfg!(cudart12) { 12090 } else { 13000 };

#[cfg_attr(cudart13, allow(dead_code, reason = "CUDA 13 has the next function only"))]
pub unsafe fn cudaGetDriverEntryPoint(
    symbol: *const c_char,
    to: *mut *mut c_void,
    flags: c_ulonglong,
    status: *mut cudaDriverEntryPointQueryResult,
) -> Result<()> {
    cudaGetDriverEntryPointByVersion(symbol, to, HEADER_VERSION, flags, status)
}

pub unsafe fn cudaGetDriverEntryPointByVersion(
    symbol: *const c_char,
    to: *mut *mut c_void,
    version: c_uint,
    flags: c_ulonglong,
    status: *mut cudaDriverEntryPointQueryResult,
) -> Result<()> {
    required(symbol)?;
    required(to)?;
    crate::driver::init()?;
    let version = c_int::try_from(version).map_err(|_| Error::INVALID_VALUE)?;
    let flags = match (flags, crate::entry::default_is_per_thread()) {
        (0, true) => c_ulonglong::from(cudaEnablePerThreadDefaultStream),
        (flags, _) => flags,
    };
    let mut found = 0;
    let code = cu::cuGetProcAddress_v2(symbol, to, version, flags, &mut found);
    if !status.is_null() {
        status.write(found);
        // With a place for the reason, an unknown symbol is no error.
        if code == cudaErrorSymbolNotFound {
            return Ok(());
        }
    }
    check(code)
}
