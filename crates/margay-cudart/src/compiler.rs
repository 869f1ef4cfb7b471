// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that code compiled by nvcc or clang calls on its own account: registration before `main`, and
//! the steps of `<<<...>>>`.
//!
//! Limit: no header declares these; their types are what both compilers emit calls with.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use crate::api::launch;
use crate::entry::{guard, not_supported};
use crate::error::{Error, Result};
use crate::registry::{Binary, Wrapper};
use crate::sys::{self, cudaError_t, cudaKernel_t, cudaStream_t, dim3};
use crate::{context, entry, error};

/// What a handle of `__cudaRegisterFatBinary` points to.
type Handle = *mut *mut c_void;

/// # Safety
/// `handle` came from `__cudaRegisterFatBinary` and was not unregistered.
unsafe fn binary(handle: Handle) -> Option<Arc<Binary>> {
    if handle.is_null() {
        return None;
    }
    let binary = handle.cast::<Binary>().cast_const();
    // SAFETY: the handle is an Arc's pointer, as the caller says; the count is raised for the clone.
    unsafe {
        Arc::increment_strong_count(binary);
        Some(Arc::from_raw(binary))
    }
}

/// Registration has no way to fail: a panic in it must only not cross the border.
fn quietly(name: &'static str, work: impl FnOnce()) {
    guard(name, || {
        work();
        entry::Told(0)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> Handle {
    // SAFETY: the caller's object file holds the wrapper.
    let binary = unsafe { Binary::of(wrapper.cast::<Wrapper>()) };
    Arc::into_raw(binary).cast_mut().cast()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd(handle: Handle) {
    quietly("__cudaRegisterFatBinaryEnd", || {
        // SAFETY: the handle is this library's.
        let Some(binary) = (unsafe { binary(handle) }) else { return };
        if binary.has_managed()
            && let Err(Error(code)) = context::ensure().and_then(|_| binary.library())
        {
            error::record(code);
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(handle: Handle) {
    quietly("__cudaUnregisterFatBinary", || {
        // SAFETY: the handle is this library's.
        if let Some(binary) = unsafe { binary(handle) } {
            binary.unregister();
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaInitModule(handle: Handle) -> c_char {
    let code = guard("__cudaInitModule", || {
        // SAFETY: the handle is this library's.
        let binary = unsafe { binary(handle) }.ok_or(Error::INVALID_VALUE)?;
        context::ensure()?;
        binary.library().map(drop)
    });
    c_char::from(code == sys::cudaSuccess)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: Handle,
    host: *const c_char,
    _device: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut dim3,
    _grid: *mut dim3,
    _warp_size: *mut c_int,
) {
    quietly("__cudaRegisterFunction", || {
        // SAFETY: the handle is this library's, the name is the object file's.
        unsafe {
            if let (Some(binary), false) = (binary(handle), name.is_null()) {
                binary.add_kernel(host.cast(), CStr::from_ptr(name));
            }
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: Handle,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _extern: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    quietly("__cudaRegisterVar", || {
        // SAFETY: the handle is this library's, the name is the object file's.
        unsafe {
            if let (Some(binary), false) = (binary(handle), name.is_null()) {
                let name = CStr::from_ptr(name);
                binary.add_variable(host.cast(), name, size, std::ptr::null_mut());
            }
        }
    });
}

/// nvcc's managed variables: host code reads the address from `*slot`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: Handle,
    slot: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _extern: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    quietly("__cudaRegisterManagedVar", || {
        // SAFETY: the handle is this library's, the name is the object file's.
        unsafe {
            if let (Some(binary), false) = (binary(handle), name.is_null() || slot.is_null()) {
                binary.add_variable(slot.cast(), CStr::from_ptr(name), size, slot);
            }
        }
    });
}

/// Host variables that device code names: nvcc emits this for its own tools only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterHostVar(
    _handle: Handle,
    _name: *const c_char,
    _host: *mut c_char,
    _size: usize,
) {
    not_supported("__cudaRegisterHostVar");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterTexture(
    _handle: Handle,
    _host: *const c_void,
    _device: *const *const c_void,
    _name: *const c_char,
    _dimensions: c_int,
    _normalized: c_int,
    _extern: c_int,
) {
    not_supported("__cudaRegisterTexture");
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterSurface(
    _handle: Handle,
    _host: *const c_void,
    _device: *const *const c_void,
    _name: *const c_char,
    _dimensions: c_int,
    _extern: c_int,
) {
    not_supported("__cudaRegisterSurface");
}

/// A launch's configuration, between its evaluation and the kernel's stub.
#[derive(Clone, Copy)]
struct Configuration {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Zero tells the caller to go on with the launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: *mut c_void,
) -> c_uint {
    guard("__cudaPushCallConfiguration", || {
        let configuration = Configuration { grid, block, shared, stream: stream.cast() };
        CONFIGURATIONS.with_borrow_mut(|all| all.push(configuration));
        entry::Told(0)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut dim3,
    block: *mut dim3,
    shared: *mut usize,
    stream: *mut c_void,
) -> cudaError_t {
    guard("__cudaPopCallConfiguration", || -> Result<()> {
        let configuration = CONFIGURATIONS
            .with_borrow_mut(Vec::pop)
            .ok_or(Error(sys::cudaErrorMissingConfiguration))?;
        if grid.is_null() || block.is_null() || shared.is_null() || stream.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the kernel's stub gives pointers to its own variables.
        unsafe {
            grid.write(configuration.grid);
            block.write(configuration.block);
            shared.write(configuration.shared);
            stream.cast::<cudaStream_t>().write(configuration.stream);
        }
        Ok(())
    })
}

/// nvcc 13: a kernel's handle, which the stub keeps for later launches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaGetKernel(
    kernel: *mut cudaKernel_t,
    host: *const c_void,
) -> cudaError_t {
    // SAFETY: the caller's contract is that of cudaGetKernel.
    guard("__cudaGetKernel", || unsafe { crate::api::function::cudaGetKernel(kernel, host) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel(
    kernel: cudaKernel_t,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    guard("__cudaLaunchKernel", || {
        context::ensure()?;
        // SAFETY: the caller's contract is that of cudaLaunchKernel.
        unsafe { launch::start(kernel.cast(), grid, block, arguments, shared, stream) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel_ptsz(
    kernel: cudaKernel_t,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
) -> cudaError_t {
    let stream = entry::per_thread_stream(stream);
    // SAFETY: as of the function called.
    unsafe { __cudaLaunchKernel(kernel, grid, block, arguments, shared, stream) }
}
