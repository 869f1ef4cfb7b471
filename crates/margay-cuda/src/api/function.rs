// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions: their attributes, names and parameters.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};
use std::sync::{Arc, Mutex};

use margay_runtime::function::Function;
use margay_runtime::{CudaError, Result};

use super::{give, handle, healthy, offer, opaque, required, rt};
use crate::sys::*;

/// The function of a `CUfunction`, or of a `CUkernel` that stands for one.
pub fn find(function: CUfunction) -> Result<Arc<Function>> {
    let context = healthy()?;
    rt()?.launchable(handle(function), &context)
}

/// A name as C text that lives as long as the process; each name once.
pub fn name_pointer(name: &str) -> *const c_char {
    static NAMES: Mutex<Option<HashMap<String, CString>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let names = names.get_or_insert_default();
    if let Some(found) = names.get(name) {
        return found.as_ptr();
    }
    let text = super::library::c_string(name);
    // The heap text does not move when the map does.
    let pointer = text.as_ptr();
    names.insert(name.to_owned(), text);
    pointer
}

pub fn attribute(function: &Function, attribute: CUfunction_attribute) -> Result<c_int> {
    let info = function.info()?;
    let settings = *function.settings.lock();
    let module = &function.module.loaded.ir;
    let int = |n: u32| c_int::try_from(n).unwrap_or(c_int::MAX);
    let required_cluster = function.code().limits.reqnctapercluster;
    let cluster = required_cluster.unwrap_or(settings.required_cluster);
    Ok(match attribute {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => int(function.max_threads()?),
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => int(info.static_shared),
        CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => int(info.const_bytes),
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => int(info.local_bytes),
        CU_FUNC_ATTRIBUTE_NUM_REGS => int(function.registers()?.0),
        CU_FUNC_ATTRIBUTE_PTX_VERSION => int(module.sm),
        CU_FUNC_ATTRIBUTE_BINARY_VERSION => {
            let device = &rt()?.devices[function.module.device as usize];
            int(device.gpu.cc().sm())
        }
        CU_FUNC_ATTRIBUTE_CACHE_MODE_CA => 0,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => int(function.dynamic_shared_limit()?),
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => settings.carveout,
        CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET => {
            c_int::from(function.code().limits.explicit_cluster && required_cluster.is_none())
        }
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => int(cluster[0]),
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => int(cluster[1]),
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => int(cluster[2]),
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
            c_int::from(settings.non_portable_cluster)
        }
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => int(settings.cluster_scheduling),
        _ => return Err(CudaError::InvalidValue),
    })
}

pub fn set_attribute(
    function: &Function,
    attribute: CUfunction_attribute,
    value: c_int,
) -> Result<()> {
    let unsigned = || u32::try_from(value).map_err(|_| CudaError::InvalidValue);
    let set_cluster = |at: usize| {
        let value = unsigned()?;
        if function.code().limits.reqnctapercluster.is_some() {
            // Fixed when the kernel was compiled.
            return Err(CudaError::NotPermitted);
        }
        function.settings.lock().required_cluster[at] = value;
        Ok(())
    };
    match attribute {
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => function.set_max_dynamic_shared(value),
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
            if !(-1..=100).contains(&value) {
                return Err(CudaError::InvalidValue);
            }
            function.settings.lock().carveout = value;
            Ok(())
        }
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => set_cluster(0),
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => set_cluster(1),
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => set_cluster(2),
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
            if !(0..=1).contains(&value) {
                return Err(CudaError::InvalidValue);
            }
            function.settings.lock().non_portable_cluster = value == 1;
            Ok(())
        }
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
            if !(0..=2).contains(&value) {
                return Err(CudaError::InvalidValue);
            }
            function.settings.lock().cluster_scheduling = unsigned()?;
            Ok(())
        }
        _ => Err(CudaError::InvalidValue),
    }
}

pub fn set_cache_config(function: &Function, config: CUfunc_cache) -> Result<()> {
    if config > CU_FUNC_CACHE_PREFER_EQUAL {
        return Err(CudaError::InvalidValue);
    }
    function.settings.lock().cache_config = config;
    Ok(())
}

/// Offset and size of a parameter.
pub unsafe fn param_info(
    function: &Function,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> Result<()> {
    let param = function.code().params.get(index).ok_or(CudaError::InvalidValue)?;
    unsafe {
        give(offset, param.offset as usize)?;
        offer(size, param.size as usize);
    }
    Ok(())
}

pub unsafe fn cuFuncGetAttribute(
    value: *mut c_int,
    which: CUfunction_attribute,
    function: CUfunction,
) -> Result<()> {
    required(value)?;
    let function = find(function)?;
    unsafe { give(value, attribute(&function, which)?) }
}

pub unsafe fn cuFuncSetAttribute(
    function: CUfunction,
    which: CUfunction_attribute,
    value: c_int,
) -> Result<()> {
    set_attribute(&*find(function)?, which, value)
}

pub unsafe fn cuFuncSetCacheConfig(function: CUfunction, config: CUfunc_cache) -> Result<()> {
    set_cache_config(&*find(function)?, config)
}

/// Only the memory model of 3.x listens to it.
pub unsafe fn cuFuncSetSharedMemConfig(function: CUfunction, config: CUsharedconfig) -> Result<()> {
    let function = find(function)?;
    if config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE {
        return Err(CudaError::InvalidValue);
    }
    function.settings.lock().shared_config = config;
    Ok(())
}

pub unsafe fn cuFuncGetModule(to: *mut CUmodule, function: CUfunction) -> Result<()> {
    required(to)?;
    unsafe { give(to, opaque(find(function)?.module.handle)) }
}

pub unsafe fn cuFuncGetName(to: *mut *const c_char, function: CUfunction) -> Result<()> {
    required(to)?;
    unsafe { give(to, name_pointer(find(function)?.name())) }
}

pub unsafe fn cuFuncGetParamInfo(
    function: CUfunction,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> Result<()> {
    required(offset)?;
    unsafe { param_info(&*find(function)?, index, offset, size) }
}

pub unsafe fn cuFuncGetParamCount(function: CUfunction, count: *mut usize) -> Result<()> {
    unsafe { give(count, find(function)?.code().params.len()) }
}

pub unsafe fn cuFuncIsLoaded(
    state: *mut CUfunctionLoadingState,
    function: CUfunction,
) -> Result<()> {
    find(function)?;
    unsafe { give(state, CU_FUNCTION_LOADING_STATE_LOADED) }
}

/// Links it now, so that what cannot run is known.
pub unsafe fn cuFuncLoad(function: CUfunction) -> Result<()> {
    find(function)?.program().map(drop)
}
