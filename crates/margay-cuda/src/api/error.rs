// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names and sentences of errors.

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use margay_runtime::{CudaError, Result};

use super::required;
use crate::sys::CUresult;

/// C strings live as long as the process.
fn table() -> &'static HashMap<u32, (CString, CString)> {
    static TABLE: OnceLock<HashMap<u32, (CString, CString)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let c = |text: &str| CString::new(text).unwrap_or_default();
        let rows = CudaError::ALL.iter().map(|e| (e.code(), (c(e.name()), c(e.text()))));
        rows.chain([(0, (c("CUDA_SUCCESS"), c("no error")))]).collect()
    })
}

unsafe fn answer(to: *mut *const c_char, text: Option<&'static CString>) -> Result<()> {
    required(to)?;
    let pointer = text.map_or(std::ptr::null(), |t| t.as_ptr());
    // SAFETY: not null, and the program's to write.
    unsafe { to.write(pointer) };
    text.map(drop).ok_or(CudaError::InvalidValue)
}

pub unsafe fn cuGetErrorName(error: CUresult, to: *mut *const c_char) -> Result<()> {
    unsafe { answer(to, table().get(&error).map(|(name, _)| name)) }
}

pub unsafe fn cuGetErrorString(error: CUresult, to: *mut *const c_char) -> Result<()> {
    unsafe { answer(to, table().get(&error).map(|(_, text)| text)) }
}
