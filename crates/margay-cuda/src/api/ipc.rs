// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory and events of other processes.

use std::ffi::c_uint;

use margay_runtime::ipc::Bytes;
use margay_runtime::{CudaError, Result};

use super::{give, healthy, opaque, required, rt};
use crate::sys::*;

fn to_c(bytes: Bytes) -> [std::ffi::c_char; 64] {
    bytes.map(|byte| byte as std::ffi::c_char)
}

fn from_c(chars: [std::ffi::c_char; 64]) -> Bytes {
    chars.map(|char| char as u8)
}

pub unsafe fn cuIpcGetMemHandle(to: *mut CUipcMemHandle, address: CUdeviceptr) -> Result<()> {
    healthy()?;
    required(to)?;
    let reserved = to_c(rt()?.export_memory(address)?);
    unsafe { give(to, CUipcMemHandle { reserved }) }
}

pub unsafe fn cuIpcOpenMemHandle_v2(
    to: *mut CUdeviceptr,
    handle: CUipcMemHandle,
    flags: c_uint,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    if flags & !CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS != 0 {
        return Err(CudaError::InvalidValue);
    }
    let address = rt()?.open_memory(&context, &from_c(handle.reserved))?;
    unsafe { give(to, address) }
}

pub unsafe fn cuIpcCloseMemHandle(address: CUdeviceptr) -> Result<()> {
    healthy()?;
    rt()?.close_memory(address)
}

pub unsafe fn cuIpcGetEventHandle(to: *mut CUipcEventHandle, event: CUevent) -> Result<()> {
    healthy()?;
    required(to)?;
    let reserved = to_c(super::event::find(event)?.export()?);
    unsafe { give(to, CUipcEventHandle { reserved }) }
}

pub unsafe fn cuIpcOpenEventHandle(to: *mut CUevent, handle: CUipcEventHandle) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let event = context.open_event(&from_c(handle.reserved))?;
    unsafe { give(to, opaque(event.handle)) }
}

// The handles are the runtime's too.
const _: () = assert!(size_of::<CUipcMemHandle>() == size_of::<Bytes>());
