// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries and their kernels, which belong to no context.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use margay_runtime::fatbin::Image;
use margay_runtime::function::Function;
use margay_runtime::image::LoadFailure;
use margay_runtime::library::{Kernel, Library};
use margay_runtime::managed::{HostVariable, HostVariables};
use margay_runtime::{CudaError, Result};

use super::jit::Options;
use super::{
    device, give, handle, healthy, offer, opaque, required, rt, rt_outside_callback, text,
};
use crate::sys::*;

/// The capability to compile for at once: the current context's, else the first device's.
fn capability() -> Result<u32> {
    let rt = rt()?;
    let ordinal = rt.current().map_or(0, |context| context.device);
    Ok(rt.device(ordinal)?.gpu.cc().sm())
}

#[expect(clippy::too_many_arguments, reason = "cuda.h")]
pub unsafe fn cuLibraryLoadData(
    to: *mut CUlibrary,
    code: *const c_void,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    count: c_uint,
    library_options: *mut CUlibraryOption,
    library_values: *mut *mut c_void,
    library_count: c_uint,
) -> Result<()> {
    let rt = rt()?;
    required(to)?;
    required(code)?;
    unsafe {
        let host = read_library_options(library_count, library_options, library_values)?;
        let options = Options::read(count, options, values)?;
        let sm = capability()?;
        let image = Image::at(code.cast()).map_err(LoadFailure::from);
        let outcome = image.and_then(|image| rt.load_library(&image, sm, options.compile, host));
        give(to, opaque(options.finish(outcome)?.handle))
    }
}

/// A row of the data table: a host variable that may be the storage of a managed one.
#[repr(C)]
struct HostRow {
    name: *const c_char,
    host: *mut c_void,
    size: usize,
}

/// The image is always copied, so "binary is preserved" holds in any case. The form of the "universal
/// table" is between NVIDIA's runtime and driver; margay's own is rows of [`HostRow`].
unsafe fn read_library_options(
    count: c_uint,
    options: *mut CUlibraryOption,
    values: *mut *mut c_void,
) -> Result<HostVariables> {
    if count > 0 && (options.is_null() || values.is_null()) {
        return Err(CudaError::InvalidValue);
    }
    let mut host = HostVariables::default();
    for at in 0..count as usize {
        // SAFETY: the program's arrays have `count` elements.
        let (option, value) = unsafe { (options.add(at).read(), values.add(at).read()) };
        match option {
            CU_LIBRARY_BINARY_IS_PRESERVED => {}
            CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE => {
                let table = value.cast::<CUlibraryHostUniversalFunctionAndDataTable>();
                required(table)?;
                // SAFETY: the option's value points to this structure.
                host.0.extend(unsafe { host_variables(&*table)? });
            }
            _ => return Err(CudaError::InvalidValue),
        }
    }
    Ok(host)
}

unsafe fn host_variables(
    table: &CUlibraryHostUniversalFunctionAndDataTable,
) -> Result<Vec<HostVariable>> {
    let rows = table.dataWindowSize / size_of::<HostRow>();
    if !table.functionTable.is_null() || !table.dataWindowSize.is_multiple_of(size_of::<HostRow>())
    {
        return Err(CudaError::NotSupported);
    }
    if rows > 0 {
        required(table.dataTable)?;
    }
    (0..rows)
        .map(|at| {
            // SAFETY: the table has as many rows as its size says.
            let row = unsafe { &*table.dataTable.cast::<HostRow>().add(at) };
            // SAFETY: the row's name is a C string.
            let name = unsafe { text(row.name)? }.to_owned();
            let address = row.host.expose_provenance() as u64;
            Ok(HostVariable { name, address, size: row.size as u64 })
        })
        .collect()
}

#[expect(clippy::too_many_arguments, reason = "cuda.h")]
pub unsafe fn cuLibraryLoadFromFile(
    to: *mut CUlibrary,
    path: *const c_char,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    count: c_uint,
    library_options: *mut CUlibraryOption,
    library_values: *mut *mut c_void,
    library_count: c_uint,
) -> Result<()> {
    let rt = rt()?;
    required(to)?;
    unsafe {
        let host = read_library_options(library_count, library_options, library_values)?;
        let options = Options::read(count, options, values)?;
        let bytes = super::module::read_file(text(path)?)?;
        let sm = capability()?;
        let image = Image::of(&bytes).map_err(LoadFailure::from);
        let outcome = image.and_then(|image| rt.load_library(&image, sm, options.compile, host));
        give(to, opaque(options.finish(outcome)?.handle))
    }
}

pub unsafe fn cuLibraryUnload(library: CUlibrary) -> Result<()> {
    rt_outside_callback()?.unload_library(handle(library))
}

fn find(library: CUlibrary) -> Result<Arc<Library>> {
    rt()?.libraries.get(handle(library)).ok_or(CudaError::InvalidHandle)
}

fn find_kernel(kernel: CUkernel) -> Result<Arc<Kernel>> {
    rt()?.kernels.get(handle(kernel)).ok_or(CudaError::InvalidHandle)
}

pub unsafe fn cuLibraryGetKernel(
    to: *mut CUkernel,
    library: CUlibrary,
    name: *const c_char,
) -> Result<()> {
    let library = find(library)?;
    required(to)?;
    let kernel = library.kernel(unsafe { text(name)? })?;
    unsafe { give(to, opaque(kernel)) }
}

pub unsafe fn cuLibraryGetModule(to: *mut CUmodule, library: CUlibrary) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let module = find(library)?.module(&context)?;
    unsafe { give(to, opaque(module.handle)) }
}

pub unsafe fn cuLibraryGetGlobal(
    address: *mut CUdeviceptr,
    bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> Result<()> {
    let context = healthy()?;
    let name = unsafe { text(name)? };
    let variable = find(library)?.module(&context)?.variable(name)?;
    unsafe {
        offer(address, variable.address);
        offer(bytes, variable.size as usize);
    }
    Ok(())
}

pub unsafe fn cuLibraryGetManaged(
    address: *mut CUdeviceptr,
    bytes: *mut usize,
    library: CUlibrary,
    name: *const c_char,
) -> Result<()> {
    let context = healthy()?;
    let name = unsafe { text(name)? };
    let variable = find(library)?.module(&context)?.variable(name)?;
    if !variable.managed {
        return Err(CudaError::NotFound);
    }
    unsafe {
        offer(address, variable.address);
        offer(bytes, variable.size as usize);
    }
    Ok(())
}

pub unsafe fn cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) -> Result<()> {
    let library = find(library)?;
    unsafe { give(count, library.kernel_names().len() as c_uint) }
}

pub unsafe fn cuLibraryEnumerateKernels(
    to: *mut CUkernel,
    count: c_uint,
    library: CUlibrary,
) -> Result<()> {
    let library = find(library)?;
    required(to)?;
    for (at, name) in library.kernel_names().iter().take(count as usize).enumerate() {
        // SAFETY: the program's array has `count` elements.
        unsafe { to.add(at).write(opaque(library.kernel(name)?)) };
    }
    Ok(())
}

/// The kernel's function in the current context.
fn function(kernel: CUkernel) -> Result<Arc<Function>> {
    let kernel = find_kernel(kernel)?;
    let context = healthy()?;
    rt()?.kernel_function(&kernel, &context)
}

/// The kernel's function on a device: in the current context, or else in the active primary one.
fn function_on(kernel: CUkernel, dev: CUdevice) -> Result<Arc<Function>> {
    let kernel = find_kernel(kernel)?;
    let device = device(dev)?;
    let rt = rt()?;
    match rt.current() {
        Ok(context) if context.device == device.ordinal => rt.kernel_function(&kernel, &context),
        Ok(_) | Err(_) => {
            let context = device.active_primary().ok_or(CudaError::InvalidContext)?;
            rt.kernel_function(&kernel, &context)
        }
    }
}

pub unsafe fn cuKernelGetFunction(to: *mut CUfunction, kernel: CUkernel) -> Result<()> {
    required(to)?;
    unsafe { give(to, opaque(function(kernel)?.handle)) }
}

pub unsafe fn cuKernelGetName(to: *mut *const c_char, kernel: CUkernel) -> Result<()> {
    required(to)?;
    let kernel = find_kernel(kernel)?;
    unsafe { give(to, super::function::name_pointer(&kernel.name)) }
}

pub unsafe fn cuKernelGetLibrary(to: *mut CUlibrary, kernel: CUkernel) -> Result<()> {
    required(to)?;
    let kernel = find_kernel(kernel)?;
    unsafe { give(to, opaque(kernel.library)) }
}

pub unsafe fn cuKernelGetAttribute(
    value: *mut c_int,
    attribute: CUfunction_attribute,
    kernel: CUkernel,
    dev: CUdevice,
) -> Result<()> {
    required(value)?;
    let function = function_on(kernel, dev)?;
    unsafe { give(value, super::function::attribute(&function, attribute)?) }
}

pub unsafe fn cuKernelSetAttribute(
    attribute: CUfunction_attribute,
    value: c_int,
    kernel: CUkernel,
    dev: CUdevice,
) -> Result<()> {
    super::function::set_attribute(&*function_on(kernel, dev)?, attribute, value)
}

pub unsafe fn cuKernelSetCacheConfig(
    kernel: CUkernel,
    config: CUfunc_cache,
    dev: CUdevice,
) -> Result<()> {
    super::function::set_cache_config(&*function_on(kernel, dev)?, config)
}

pub unsafe fn cuKernelGetParamInfo(
    kernel: CUkernel,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> Result<()> {
    required(offset)?;
    unsafe { super::function::param_info(&*function(kernel)?, index, offset, size) }
}

pub unsafe fn cuKernelGetParamCount(kernel: CUkernel, count: *mut usize) -> Result<()> {
    unsafe { give(count, function(kernel)?.code().params.len()) }
}

/// A C string from text that has no NUL inside.
pub fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}
