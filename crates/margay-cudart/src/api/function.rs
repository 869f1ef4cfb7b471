// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels by their host functions: attributes, settings, handles.

use std::ffi::{c_char, c_int, c_void};

use super::{give, required};
use crate::cu;
use crate::error::{Error, Result, check};
use crate::registry;
use crate::sys::*;

pub unsafe fn cudaFuncGetAttributes(
    to: *mut cudaFuncAttributes,
    func: *const c_void,
) -> Result<()> {
    required(to)?;
    let function = registry::function(func)?;
    let ask = |attribute| {
        let mut value = 0;
        check(cu::cuFuncGetAttribute(&mut value, attribute, function))?;
        Ok(value)
    };
    let size = |attribute| ask(attribute).map(|value| value as usize);
    // SAFETY: the structure is of integers.
    let mut all: cudaFuncAttributes = std::mem::zeroed();
    all.sharedSizeBytes = size(cu::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
    all.constSizeBytes = size(cu::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?;
    all.localSizeBytes = size(cu::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
    all.maxThreadsPerBlock = ask(cu::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    all.numRegs = ask(cu::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
    all.ptxVersion = ask(cu::CU_FUNC_ATTRIBUTE_PTX_VERSION)?;
    all.binaryVersion = ask(cu::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?;
    all.cacheModeCA = ask(cu::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA)?;
    all.maxDynamicSharedSizeBytes = ask(cu::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?;
    all.preferredShmemCarveout = ask(cu::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)?;
    all.clusterDimMustBeSet = ask(cu::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET)?;
    all.requiredClusterWidth = ask(cu::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)?;
    all.requiredClusterHeight = ask(cu::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)?;
    all.requiredClusterDepth = ask(cu::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)?;
    all.clusterSchedulingPolicyPreference =
        ask(cu::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)?;
    all.nonPortableClusterSizeAllowed =
        ask(cu::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)?;
    to.write(all);
    Ok(())
}

/// The driver's attribute of a settable one; they have the same numbers.
fn settable(attribute: cudaFuncAttribute) -> Result<cu::CUfunction_attribute> {
    match attribute {
        cudaFuncAttributeMaxDynamicSharedMemorySize
        | cudaFuncAttributePreferredSharedMemoryCarveout
        | cudaFuncAttributeClusterDimMustBeSet
        | cudaFuncAttributeRequiredClusterWidth
        | cudaFuncAttributeRequiredClusterHeight
        | cudaFuncAttributeRequiredClusterDepth
        | cudaFuncAttributeNonPortableClusterSizeAllowed
        | cudaFuncAttributeClusterSchedulingPolicyPreference => Ok(attribute),
        _ => Err(Error::INVALID_VALUE),
    }
}

pub unsafe fn cudaFuncSetAttribute(
    func: *const c_void,
    attribute: cudaFuncAttribute,
    value: c_int,
) -> Result<()> {
    let attribute = settable(attribute)?;
    check(cu::cuFuncSetAttribute(registry::function(func)?, attribute, value))
}

pub unsafe fn cudaFuncSetCacheConfig(func: *const c_void, config: cudaFuncCache) -> Result<()> {
    check(cu::cuFuncSetCacheConfig(registry::function(func)?, config))
}

pub unsafe fn cudaFuncSetSharedMemConfig(
    func: *const c_void,
    config: cudaSharedMemConfig,
) -> Result<()> {
    check(cu::cuFuncSetSharedMemConfig(registry::function(func)?, config))
}

pub unsafe fn cudaFuncGetName(name: *mut *const c_char, func: *const c_void) -> Result<()> {
    required(name)?;
    check(cu::cuFuncGetName(name, registry::function(func)?))
}

pub unsafe fn cudaFuncGetParamInfo(
    func: *const c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> Result<()> {
    required(offset)?;
    check(cu::cuFuncGetParamInfo(registry::function(func)?, index, offset, size))
}

pub unsafe fn cudaGetFuncBySymbol(to: *mut cudaFunction_t, symbol: *const c_void) -> Result<()> {
    required(to)?;
    give(to, registry::function(symbol)?.cast())
}

pub unsafe fn cudaGetKernel(to: *mut cudaKernel_t, func: *const c_void) -> Result<()> {
    required(to)?;
    give(to, registry::kernel(func)?.cast())
}

pub unsafe fn cudaKernelSetAttributeForDevice(
    kernel: cudaKernel_t,
    attribute: cudaFuncAttribute,
    value: c_int,
    device: c_int,
) -> Result<()> {
    let device = crate::context::device(device)?;
    check(cu::cuKernelSetAttribute(settable(attribute)?, value, kernel.cast(), device))
}
