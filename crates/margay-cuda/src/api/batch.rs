// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies that say more of themselves, one or many in a call.
//!
//! Limit: sources are read as stream order has it, or before the call returns where they are pageable
//! memory of the host, whatever access order is allowed: that is within every order's promise.

use std::ffi::c_uint;

use margay_runtime::{CudaError, Result};

use super::copy::cuMemcpyAsync;
use super::{healthy, required, stream_of};
use crate::sys::*;

unsafe fn check_attributes(attributes: *const CUmemcpyAttributes) -> Result<()> {
    required(attributes)?;
    // SAFETY: not null, and the program's.
    let a = unsafe { attributes.read_unaligned() };
    let known = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
    match a.srcAccessOrder {
        CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
        | CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
        | CU_MEMCPY_SRC_ACCESS_ORDER_ANY
            if a.flags & !known == 0 =>
        {
            Ok(())
        }
        _ => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuMemcpyWithAttributesAsync(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    attributes: *mut CUmemcpyAttributes,
    stream: CUstream,
) -> Result<()> {
    unsafe {
        check_attributes(attributes)?;
        cuMemcpyAsync(to, from, bytes, stream)
    }
}

/// Which copy was wrong, for the form that tells.
const NO_COPY: usize = usize::MAX;

#[expect(clippy::too_many_arguments, reason = "the C function's")]
unsafe fn all(
    to: *mut CUdeviceptr,
    from: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    first_uses: *mut usize,
    attribute_count: usize,
    failed: &mut usize,
    stream: CUstream,
) -> Result<()> {
    for pointer in [to.cast_const().cast::<u8>(), from.cast(), sizes.cast(), first_uses.cast()] {
        required(pointer)?;
    }
    // The default stream takes no batches.
    if count == 0 || attribute_count == 0 || attribute_count > count || stream.is_null() {
        return Err(CudaError::InvalidValue);
    }
    let context = healthy()?;
    stream_of(&context, stream)?.forbid_capture()?;
    for at in 0..attribute_count {
        // SAFETY: the program's arrays have so many elements.
        unsafe {
            check_attributes(attributes.add(at))?;
            let first = first_uses.add(at).read_unaligned();
            let before = if at == 0 { None } else { Some(first_uses.add(at - 1).read_unaligned()) };
            // The first one is for the first copy, and each next for a later copy.
            if before.map_or(first != 0, |before| first <= before) || first >= count {
                return Err(CudaError::InvalidValue);
            }
        }
    }
    for at in 0..count {
        // SAFETY: as above.
        let copied = unsafe {
            let (to, from) = (to.add(at).read_unaligned(), from.add(at).read_unaligned());
            let bytes = sizes.add(at).read_unaligned();
            match bytes {
                0 => Err(CudaError::InvalidValue),
                bytes => cuMemcpyAsync(to, from, bytes, stream),
            }
        };
        if copied.is_err() {
            *failed = at;
            return copied;
        }
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the C function's")]
pub unsafe fn cuMemcpyBatchAsync_v2(
    to: *mut CUdeviceptr,
    from: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    first_uses: *mut usize,
    attribute_count: usize,
    stream: CUstream,
) -> Result<()> {
    let mut failed = NO_COPY;
    unsafe {
        all(to, from, sizes, count, attributes, first_uses, attribute_count, &mut failed, stream)
    }
}

/// The first form says which copy was wrong, or that it was none.
#[expect(clippy::too_many_arguments, reason = "the C function's")]
pub unsafe fn cuMemcpyBatchAsync(
    to: *mut CUdeviceptr,
    from: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: *mut CUmemcpyAttributes,
    first_uses: *mut usize,
    attribute_count: usize,
    fail_index: *mut usize,
    stream: CUstream,
) -> Result<()> {
    let mut failed = NO_COPY;
    unsafe {
        let done = all(
            to,
            from,
            sizes,
            count,
            attributes,
            first_uses,
            attribute_count,
            &mut failed,
            stream,
        );
        if done.is_err() {
            super::offer(fail_index, failed);
        }
        done
    }
}

/// As `cuLaunchHostFunc`, with a say in how the stream waits for the function: always blocked here.
pub unsafe fn cuLaunchHostFunc_v2(
    stream: CUstream,
    function: CUhostFn,
    data: *mut std::ffi::c_void,
    mode: c_uint,
) -> Result<()> {
    match mode {
        CU_HOST_TASK_BLOCKING | CU_HOST_TASK_SPINWAIT => unsafe {
            super::launch::cuLaunchHostFunc(stream, function, data)
        },
        _ => Err(CudaError::InvalidValue),
    }
}
