// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cuda_profiler_api.h`. The bindings have only one of its two functions; the other is exported here.

use crate::context::ensure;
use crate::cu;
use crate::entry::guard;
use crate::error::{Result, check};
use crate::sys::cudaError_t;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaProfilerStart() -> cudaError_t {
    // SAFETY: the driver's function has no parameters.
    guard("cudaProfilerStart", || ensure().and_then(|_| check(unsafe { cu::cuProfilerStart() })))
}

pub unsafe fn cudaProfilerStop() -> Result<()> {
    ensure()?;
    check(cu::cuProfilerStop())
}
