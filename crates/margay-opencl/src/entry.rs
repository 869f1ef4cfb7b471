// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of implemented functions, and what stands between a C caller and each of them.
//!
//! To implement a function, move its name into the list behind the module of [`crate::api`] that has the
//! Rust function of the same name; rustc then compares the signatures.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use opencl_sys::{CL_INVALID_OPERATION, CL_OUT_OF_RESOURCES, cl_int};
use parking_lot::Mutex;

use crate::Result;

/// Read by `build.rs`; expands to nothing.
macro_rules! implemented {
    ($($module:ident: $($name:ident)*;)*) => {};
}

implemented! {
    platform: clGetPlatformIDs clIcdGetPlatformIDsKHR clGetPlatformInfo clGetExtensionFunctionAddress
        clGetExtensionFunctionAddressForPlatform clUnloadCompiler clUnloadPlatformCompiler;
    device: clGetDeviceIDs clGetDeviceInfo clRetainDevice clReleaseDevice clCreateSubDevices
        clGetDeviceAndHostTimer clGetHostTimer clSetDefaultDeviceCommandQueue;
    context: clCreateContext clCreateContextFromType clRetainContext clReleaseContext clGetContextInfo
        clSetContextDestructorCallback;
    queue: clCreateCommandQueue clCreateCommandQueueWithProperties clCreateCommandQueueWithPropertiesKHR
        clRetainCommandQueue clReleaseCommandQueue clGetCommandQueueInfo clSetCommandQueueProperty
        clFlush clFinish;
    memory: clCreateBuffer clCreateBufferWithProperties clCreateSubBuffer clRetainMemObject
        clReleaseMemObject clGetMemObjectInfo clSetMemObjectDestructorCallback;
    program: clCreateProgramWithSource clCreateProgramWithBinary clCreateProgramWithBuiltInKernels
        clCreateProgramWithIL clRetainProgram clReleaseProgram clGetProgramInfo clGetProgramBuildInfo clSetProgramReleaseCallback
        clSetProgramSpecializationConstant;
    build: clBuildProgram clCompileProgram clLinkProgram;
    kernel: clCreateKernel clCreateKernelsInProgram clCloneKernel clRetainKernel clReleaseKernel
        clSetKernelArg clSetKernelArgSVMPointer clSetKernelExecInfo clGetKernelInfo clGetKernelArgInfo
        clGetKernelWorkGroupInfo clGetKernelSubGroupInfo clGetKernelSubGroupInfoKHR
        clGetKernelSuggestedLocalWorkSizeKHR;
    launch: clEnqueueNDRangeKernel clEnqueueTask clEnqueueNativeKernel;
    event: clWaitForEvents clGetEventInfo clCreateUserEvent clRetainEvent clReleaseEvent
        clSetUserEventStatus clSetEventCallback clGetEventProfilingInfo clEnqueueMarker clEnqueueBarrier
        clEnqueueWaitForEvents clEnqueueMarkerWithWaitList clEnqueueBarrierWithWaitList;
    transfer: clEnqueueUnmapMemObject clEnqueueMigrateMemObjects;
    buffer_transfer: clEnqueueReadBuffer clEnqueueWriteBuffer clEnqueueCopyBuffer clEnqueueReadBufferRect
        clEnqueueWriteBufferRect clEnqueueCopyBufferRect clEnqueueFillBuffer clEnqueueMapBuffer;
    svm: clSVMAlloc clSVMFree clEnqueueSVMFree clEnqueueSVMMemcpy clEnqueueSVMMemFill clEnqueueSVMMap
        clEnqueueSVMUnmap clEnqueueSVMMigrateMem;
    image: clCreateImage clCreateImageWithProperties clCreateImage2D clCreateImage3D
        clGetSupportedImageFormats clGetImageInfo clCreatePipe clGetPipeInfo;
    image_transfer: clEnqueueReadImage clEnqueueWriteImage clEnqueueCopyImage clEnqueueCopyImageToBuffer
        clEnqueueCopyBufferToImage clEnqueueFillImage clEnqueueMapImage;
    sampler: clCreateSampler clCreateSamplerWithProperties clRetainSampler clReleaseSampler
        clGetSamplerInfo;
}

fn caught<T>(name: &str, call: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(call));
    if result.is_err() {
        eprintln!("margay: internal error in {name}; please report it");
    }
    result.ok()
}

/// Runs an implementation: a panic becomes CL_OUT_OF_RESOURCES and a line on stderr.
pub fn guard(name: &'static str, call: impl FnOnce() -> Result<()>) -> cl_int {
    match caught(name, call) {
        Some(Ok(())) => 0,
        Some(Err(error)) => error,
        None => CL_OUT_OF_RESOURCES,
    }
}

/// Runs an implementation that makes a handle or a pointer; without one the result is null.
///
/// # Safety
/// `errcode_ret` is null or writable.
pub unsafe fn creates<T, M: Made<T>>(
    name: &'static str,
    errcode_ret: *mut cl_int,
    call: impl FnOnce() -> Result<M>,
) -> *mut T {
    let (pointer, code) = match caught(name, call) {
        Some(Ok(made)) => made.parts(),
        Some(Err(error)) => (std::ptr::null_mut(), error),
        None => (std::ptr::null_mut(), CL_OUT_OF_RESOURCES),
    };
    if !errcode_ret.is_null() {
        // SAFETY: not null, and the caller promises the rest.
        unsafe { errcode_ret.write_unaligned(code) };
    }
    pointer
}

/// What a function that makes something gives: a pointer, or one beside an error (`clLinkProgram`).
pub trait Made<T> {
    fn parts(self) -> (*mut T, cl_int);
}

impl<T> Made<T> for *mut T {
    fn parts(self) -> (*mut T, cl_int) {
        (self, 0)
    }
}

impl<T> Made<T> for (*mut T, cl_int) {
    fn parts(self) -> (*mut T, cl_int) {
        self
    }
}

/// Runs an implementation whose result has no place for an error.
pub fn plain<T: Nothing>(name: &'static str, call: impl FnOnce() -> T) -> T {
    caught(name, call).unwrap_or_else(T::nothing)
}

/// Results that have a value for "nothing".
pub trait Nothing {
    fn nothing() -> Self;
}

impl Nothing for () {
    fn nothing() {}
}

impl<T> Nothing for *mut T {
    fn nothing() -> *mut T {
        std::ptr::null_mut()
    }
}

/// Answers for a function that is not implemented, and says so the first time.
pub fn refused(name: &'static str) -> cl_int {
    static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    if SAID.lock().insert(name) {
        margay_runtime::report::warn(&format!(
            "{name} is not supported and returns CL_INVALID_OPERATION; if a program needs it, please report \
             the name and the program"
        ));
    }
    CL_INVALID_OPERATION
}
