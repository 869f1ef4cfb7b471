// SPDX-License-Identifier: MIT OR Apache-2.0
//! Platforms, and functions by name.

use std::ffi::{c_char, c_void};

use opencl_sys::*;

use super::device::EXTENSIONS;
use super::{give_list, text};
use crate::Result;
use crate::answer::Answer;
use crate::device::{platform, platform_of};
use crate::object::Object;

/// The versions as `cl_version` has them: 10 bits major, 10 minor, 12 patch.
pub const fn version(major: u32, minor: u32, patch: u32) -> cl_version {
    major << 22 | minor << 12 | patch
}

/// What OpenCL's version strings end with.
pub const MARGAY: &str = concat!("margay ", env!("CARGO_PKG_VERSION"));

/// Joins names as extension strings have them.
pub fn names(list: &[(&str, cl_version)]) -> String {
    list.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

/// A `cl_name_version`.
pub fn name_version(name: &str, version: cl_version) -> cl_name_version {
    let mut out = cl_name_version { version, name: [0; CL_NAME_VERSION_MAX_NAME_SIZE] };
    for (to, from) in out.name.iter_mut().zip(name.bytes().take(CL_NAME_VERSION_MAX_NAME_SIZE - 1))
    {
        *to = from;
    }
    out
}

pub unsafe fn clGetPlatformIDs(
    num_entries: cl_uint,
    platforms: *mut cl_platform_id,
    num_platforms: *mut cl_uint,
) -> Result<()> {
    let all: Vec<cl_platform_id> = platform().iter().map(|p| p.handle()).collect();
    // SAFETY: the caller keeps the contract.
    unsafe { give_list(&all, num_entries, platforms, num_platforms)? };
    // With cl_khr_icd, none is an error.
    if all.is_empty() { Err(CL_PLATFORM_NOT_FOUND_KHR) } else { Ok(()) }
}

pub unsafe fn clIcdGetPlatformIDsKHR(
    num_entries: cl_uint,
    platforms: *mut cl_platform_id,
    num_platforms: *mut cl_uint,
) -> Result<()> {
    // SAFETY: the caller keeps the contract.
    unsafe { clGetPlatformIDs(num_entries, platforms, num_platforms) }
}

pub unsafe fn clGetPlatformInfo(
    platform: cl_platform_id,
    param_name: cl_platform_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    platform_of(platform)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_PLATFORM_PROFILE => answer.text("FULL_PROFILE"),
        CL_PLATFORM_VERSION => answer.text(&format!("OpenCL 3.0 {MARGAY}")),
        CL_PLATFORM_NUMERIC_VERSION => answer.value(version(3, 0, 0)),
        CL_PLATFORM_NAME => answer.text("margay"),
        CL_PLATFORM_VENDOR => answer.text("margay"),
        CL_PLATFORM_EXTENSIONS => answer.text(&names(EXTENSIONS)),
        CL_PLATFORM_EXTENSIONS_WITH_VERSION => {
            let list: Vec<_> = EXTENSIONS.iter().map(|(n, v)| name_version(n, *v)).collect();
            answer.slice(&list)
        }
        CL_PLATFORM_HOST_TIMER_RESOLUTION => answer.value(1u64),
        CL_PLATFORM_ICD_SUFFIX_KHR => answer.text("MARGAY"),
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clGetExtensionFunctionAddress(func_name: *const c_char) -> *mut c_void {
    // SAFETY: the caller keeps the contract.
    let Some(name) = (unsafe { text(func_name) }) else { return std::ptr::null_mut() };
    let table = crate::exports::NAMES;
    match table.binary_search_by(|(n, _)| (*n).cmp(name.as_str())) {
        Ok(at) => table[at].1.0.cast_mut(),
        Err(_) => std::ptr::null_mut(),
    }
}

pub unsafe fn clGetExtensionFunctionAddressForPlatform(
    platform: cl_platform_id,
    func_name: *const c_char,
) -> *mut c_void {
    match platform_of(platform) {
        // SAFETY: the caller keeps the contract.
        Ok(_) => unsafe { clGetExtensionFunctionAddress(func_name) },
        Err(_) => std::ptr::null_mut(),
    }
}

pub unsafe fn clUnloadCompiler() -> Result<()> {
    Ok(())
}

pub unsafe fn clUnloadPlatformCompiler(platform: cl_platform_id) -> Result<()> {
    if platform.is_null() {
        return Err(CL_INVALID_PLATFORM);
    }
    platform_of(platform).map(drop)
}
