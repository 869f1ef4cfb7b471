// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last error, and names and sentences of errors.

use std::ffi::{CStr, c_char};
use std::ptr::null;

use crate::cu;
use crate::entry::Told;
use crate::error;
use crate::sys::cudaError_t;

pub unsafe fn cudaGetLastError() -> Told {
    Told(error::take())
}

pub unsafe fn cudaPeekAtLastError() -> Told {
    Told(error::peek())
}

const UNRECOGNISED: &CStr = c"unrecognized error code";

pub unsafe fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    error::name(error).unwrap_or(UNRECOGNISED).as_ptr()
}

/// Sentences of the errors that only the runtime has; libcuda knows the others.
const OWN: &[(u32, &CStr)] = &[
    (9, c"invalid configuration argument"),
    (12, c"invalid pitch argument"),
    (13, c"invalid device symbol"),
    (16, c"invalid host pointer"),
    (17, c"invalid device pointer"),
    (18, c"invalid texture reference"),
    (19, c"texture is not bound to a pointer"),
    (20, c"invalid channel descriptor"),
    (21, c"invalid copy direction for memcpy"),
    (22, c"attempt to take address of non-constant data"),
    (23, c"fetch from texture failed"),
    (24, c"cannot fetch from a texture that is not bound"),
    (25, c"incorrect use of __syncthreads()"),
    (26, c"linear filtering not supported for non-float type"),
    (27, c"read as normalized float not supported for 32-bit non float type"),
    (28, c"device emulation mode and device execution mode cannot be mixed"),
    (31, c"feature not yet implemented"),
    (32, c"memory size or pointer value too large to fit in 32 bit"),
    (34, c"CUDA driver is a stub library"),
    (35, c"CUDA driver version is insufficient for CUDA runtime version"),
    (36, c"API call is not supported in the installed CUDA driver"),
    (37, c"invalid surface reference"),
    (43, c"duplicate global variable looked up by string name"),
    (44, c"duplicate texture looked up by string name"),
    (45, c"duplicate surface looked up by string name"),
    (46, c"CUDA-capable device(s) is/are busy or unavailable"),
    (49, c"cannot launch a kernel while previous invocations are incomplete"),
    (52, c"__global__ function call is not configured"),
    (53, c"invalid previous launch"),
    (65, c"launch would exceed maximum depth of nested launches"),
    (66, c"launch failed: a texture of file scope was used"),
    (67, c"launch failed: a surface of file scope was used"),
    (68, c"cudaDeviceSynchronize failed: depth of the nested grid exceeds the limit"),
    (69, c"launch failed: pending launches exceed the limit"),
    (98, c"invalid device function"),
    (103, c"the startup self-tests of the software failed"),
    (127, c"startup failure in cuda runtime"),
    (10000, c"api failure base"),
];

pub unsafe fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    if let Some((_, text)) = OWN.iter().find(|(code, _)| *code == error) {
        return text.as_ptr();
    }
    let mut text = null();
    // SAFETY: the output may be written; the function needs no initialisation.
    if error::name(error).is_some() && unsafe { cu::cuGetErrorString(error, &mut text) } == 0 {
        return text;
    }
    UNRECOGNISED.as_ptr()
}
