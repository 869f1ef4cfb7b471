// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: loading device code into the current context.

use std::ffi::{c_char, c_uint, c_void};

use margay_runtime::fatbin::Image;
use margay_runtime::image::{CompileOptions, LoadFailure};
use margay_runtime::{CudaError, Result};

use super::jit::Options;
use super::{give, handle, healthy, opaque, required, rt, text};
use crate::sys::*;

pub unsafe fn cuModuleLoad(to: *mut CUmodule, path: *const c_char) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let bytes = read_file(unsafe { text(path)? })?;
    let outcome = Image::of(&bytes)
        .map_err(LoadFailure::from)
        .and_then(|i| context.load_image(&i, CompileOptions::default()));
    unsafe {
        let module =
            Options::read(0, std::ptr::null_mut(), std::ptr::null_mut())?.finish(outcome)?;
        give(to, opaque(module.handle))
    }
}

/// A file of device code.
pub fn read_file(path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|_| CudaError::FileNotFound)
}

pub unsafe fn cuModuleLoadData(to: *mut CUmodule, image: *const c_void) -> Result<()> {
    let none = std::ptr::null_mut();
    unsafe { cuModuleLoadDataEx(to, image, 0, none, std::ptr::null_mut()) }
}

pub unsafe fn cuModuleLoadDataEx(
    to: *mut CUmodule,
    image: *const c_void,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    required(image)?;
    unsafe {
        let options = Options::read(count, options, values)?;
        let image = Image::at(image.cast());
        let outcome =
            image.map_err(LoadFailure::from).and_then(|i| context.load_image(&i, options.compile));
        give(to, opaque(options.finish(outcome)?.handle))
    }
}

pub unsafe fn cuModuleLoadFatBinary(to: *mut CUmodule, image: *const c_void) -> Result<()> {
    unsafe { cuModuleLoadData(to, image) }
}

pub unsafe fn cuModuleUnload(module: CUmodule) -> Result<()> {
    healthy()?;
    rt()?.unload_module(handle(module))
}

fn find(module: CUmodule) -> Result<std::sync::Arc<margay_runtime::module::Module>> {
    rt()?.modules.get(handle(module)).ok_or(CudaError::InvalidHandle)
}

pub unsafe fn cuModuleGetFunction(
    to: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> Result<()> {
    healthy()?;
    required(to)?;
    let name = unsafe { text(name)? };
    let function = find(module)?.function(name)?;
    unsafe { give(to, opaque(function.handle)) }
}

pub unsafe fn cuModuleGetGlobal_v2(
    address: *mut CUdeviceptr,
    bytes: *mut usize,
    module: CUmodule,
    name: *const c_char,
) -> Result<()> {
    healthy()?;
    let name = unsafe { text(name)? };
    let variable = find(module)?.variable(name)?;
    unsafe {
        super::offer(address, variable.address);
        super::offer(bytes, variable.size as usize);
    }
    Ok(())
}

pub unsafe fn cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode) -> Result<()> {
    let eager = rt()?.settings.eager_loading;
    let answer = if eager { CU_MODULE_EAGER_LOADING } else { CU_MODULE_LAZY_LOADING };
    unsafe { give(mode, answer) }
}

pub unsafe fn cuModuleGetFunctionCount(count: *mut c_uint, module: CUmodule) -> Result<()> {
    healthy()?;
    unsafe { give(count, find(module)?.kernel_names().len() as c_uint) }
}

pub unsafe fn cuModuleEnumerateFunctions(
    to: *mut CUfunction,
    count: c_uint,
    module: CUmodule,
) -> Result<()> {
    healthy()?;
    required(to)?;
    let module = find(module)?;
    for (at, name) in module.kernel_names().iter().take(count as usize).enumerate() {
        // SAFETY: the program's array has `count` elements.
        unsafe { to.add(at).write(opaque(module.function(name)?.handle)) };
    }
    Ok(())
}
