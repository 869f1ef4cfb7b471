// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver, opened once, and what every test needs.

use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

pub use opencl_sys::*;

struct Driver(usize);

/// The driver's file, beside the tests.
pub fn driver_path() -> PathBuf {
    let exe = std::env::current_exe().expect("a test has a place");
    let beside = exe.parent().expect("target/…/deps");
    let name = "libmargay_opencl.so";
    let path = [beside.join(name), beside.join("..").join(name)].into_iter().find(|p| p.exists());
    path.expect("cargo built the driver")
}

/// The function that finds functions.
fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        // Reports of faults are expected here; small work needs no threads.
        // SAFETY: before the driver's first thread.
        unsafe {
            std::env::set_var("MARGAY_LOG", "off");
            std::env::set_var("MARGAY_THREADS", "1");
        }
        let path = CString::new(driver_path().into_os_string().into_encoded_bytes());
        let path = path.expect("no zero in paths");
        // SAFETY: a library of ours, opened as the loader does.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "the driver opens");
        // SAFETY: the library is open.
        let find = unsafe { libc::dlsym(library, c"clGetExtensionFunctionAddress".as_ptr()) };
        assert!(!find.is_null());
        Driver(find as usize)
    })
}

/// A function's address.
pub fn find(name: &str) -> *mut c_void {
    let name = CString::new(name).expect("a name");
    // SAFETY: the symbol has this type.
    let find: unsafe extern "C" fn(*const c_char) -> *mut c_void =
        unsafe { std::mem::transmute(driver().0) };
    // SAFETY: a terminated name.
    unsafe { find(name.as_ptr()) }
}

/// `cl!(clFinish(queue))`: calls the driver's function.
#[macro_export]
macro_rules! cl {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let address = $crate::common::find(stringify!($name));
        assert!(!address.is_null(), stringify!($name));
        // SAFETY: the driver's function has the bindings' type, and tests pass what it asks for.
        #[allow(unused_unsafe)]
        unsafe {
            let call: $crate::common::types::$name = std::mem::transmute(address);
            call.expect("an address")($($argument),*)
        }
    }};
}

/// Function types under the functions' names.
#[allow(non_camel_case_types)]
pub mod types {
    use opencl_sys::cl_function_types::*;
    use opencl_sys::*;

    macro_rules! names {
        ($($name:ident $ty:ident;)*) => { $(pub type $name = $ty;)* };
    }
    names! {
        clBuildProgram clBuildProgram_t; clCloneKernel clCloneKernel_t; clCompileProgram clCompileProgram_t;
        clCreateBuffer clCreateBuffer_t; clCreateBufferWithProperties clCreateBufferWithProperties_t;
        clCreateCommandQueue clCreateCommandQueue_t;
        clCreateCommandQueueWithProperties clCreateCommandQueueWithProperties_t;
        clCreateCommandQueueWithPropertiesKHR clCreateCommandQueueWithPropertiesKHR_t;
        clCreateContext clCreateContext_t; clCreateContextFromType clCreateContextFromType_t;
        clCreateImage clCreateImage_t; clCreateImage2D clCreateImage2D_t; clCreateImage3D clCreateImage3D_t;
        clCreateImageWithProperties clCreateImageWithProperties_t; clCreateKernel clCreateKernel_t;
        clCreateKernelsInProgram clCreateKernelsInProgram_t; clCreatePipe clCreatePipe_t;
        clCreateProgramWithBinary clCreateProgramWithBinary_t;
        clCreateProgramWithBuiltInKernels clCreateProgramWithBuiltInKernels_t;
        clCreateProgramWithIL clCreateProgramWithIL_t; clCreateProgramWithSource clCreateProgramWithSource_t;
        clCreateSampler clCreateSampler_t; clCreateSamplerWithProperties clCreateSamplerWithProperties_t;
        clCreateSubBuffer clCreateSubBuffer_t; clCreateSubDevices clCreateSubDevices_t;
        clCreateUserEvent clCreateUserEvent_t; clEnqueueBarrier clEnqueueBarrier_t;
        clEnqueueBarrierWithWaitList clEnqueueBarrierWithWaitList_t; clEnqueueCopyBuffer clEnqueueCopyBuffer_t;
        clEnqueueCopyBufferRect clEnqueueCopyBufferRect_t; clEnqueueCopyBufferToImage clEnqueueCopyBufferToImage_t;
        clEnqueueCopyImage clEnqueueCopyImage_t; clEnqueueCopyImageToBuffer clEnqueueCopyImageToBuffer_t;
        clEnqueueFillBuffer clEnqueueFillBuffer_t; clEnqueueFillImage clEnqueueFillImage_t;
        clEnqueueMapBuffer clEnqueueMapBuffer_t; clEnqueueMapImage clEnqueueMapImage_t;
        clEnqueueMarker clEnqueueMarker_t; clEnqueueMarkerWithWaitList clEnqueueMarkerWithWaitList_t;
        clEnqueueMigrateMemObjects clEnqueueMigrateMemObjects_t; clEnqueueNDRangeKernel clEnqueueNDRangeKernel_t;
        clEnqueueNativeKernel clEnqueueNativeKernel_t; clEnqueueReadBuffer clEnqueueReadBuffer_t;
        clEnqueueReadBufferRect clEnqueueReadBufferRect_t; clEnqueueReadImage clEnqueueReadImage_t;
        clEnqueueSVMFree clEnqueueSVMFree_t; clEnqueueSVMMap clEnqueueSVMMap_t;
        clEnqueueSVMMemFill clEnqueueSVMMemFill_t; clEnqueueSVMMemcpy clEnqueueSVMMemcpy_t;
        clEnqueueSVMMigrateMem clEnqueueSVMMigrateMem_t; clEnqueueSVMUnmap clEnqueueSVMUnmap_t;
        clEnqueueTask clEnqueueTask_t; clEnqueueUnmapMemObject clEnqueueUnmapMemObject_t;
        clEnqueueWaitForEvents clEnqueueWaitForEvents_t; clEnqueueWriteBuffer clEnqueueWriteBuffer_t;
        clEnqueueWriteBufferRect clEnqueueWriteBufferRect_t; clEnqueueWriteImage clEnqueueWriteImage_t;
        clFinish clFinish_t; clFlush clFlush_t; clGetCommandQueueInfo clGetCommandQueueInfo_t;
        clGetContextInfo clGetContextInfo_t; clGetDeviceAndHostTimer clGetDeviceAndHostTimer_t;
        clGetDeviceIDs clGetDeviceIDs_t; clGetDeviceInfo clGetDeviceInfo_t; clGetEventInfo clGetEventInfo_t;
        clGetEventProfilingInfo clGetEventProfilingInfo_t;

        clGetHostTimer clGetHostTimer_t; clGetImageInfo clGetImageInfo_t; clGetKernelArgInfo clGetKernelArgInfo_t;
        clGetKernelInfo clGetKernelInfo_t; clGetKernelSubGroupInfo clGetKernelSubGroupInfo_t;
        clGetKernelSubGroupInfoKHR clGetKernelSubGroupInfoKHR_t;
        clGetKernelSuggestedLocalWorkSizeKHR clGetKernelSuggestedLocalWorkSizeKHR_t;
        clGetKernelWorkGroupInfo clGetKernelWorkGroupInfo_t; clGetMemObjectInfo clGetMemObjectInfo_t;
        clGetPipeInfo clGetPipeInfo_t; clGetPlatformIDs clGetPlatformIDs_t; clGetPlatformInfo clGetPlatformInfo_t;
        clGetProgramBuildInfo clGetProgramBuildInfo_t; clGetProgramInfo clGetProgramInfo_t;
        clGetSamplerInfo clGetSamplerInfo_t; clGetSupportedImageFormats clGetSupportedImageFormats_t;
        clIcdGetPlatformIDsKHR clIcdGetPlatformIDsKHR_t; clLinkProgram clLinkProgram_t;
        clReleaseCommandQueue clReleaseCommandQueue_t; clReleaseContext clReleaseContext_t;
        clReleaseDevice clReleaseDevice_t; clReleaseEvent clReleaseEvent_t; clReleaseKernel clReleaseKernel_t;
        clReleaseMemObject clReleaseMemObject_t; clReleaseProgram clReleaseProgram_t;
        clReleaseSampler clReleaseSampler_t; clRetainCommandQueue clRetainCommandQueue_t;
        clRetainContext clRetainContext_t; clRetainDevice clRetainDevice_t; clRetainEvent clRetainEvent_t;
        clRetainKernel clRetainKernel_t; clRetainMemObject clRetainMemObject_t; clRetainProgram clRetainProgram_t;
        clRetainSampler clRetainSampler_t; clSVMAlloc clSVMAlloc_t; clSVMFree clSVMFree_t;
        clSetCommandQueueProperty clSetCommandQueueProperty_t;
        clSetContextDestructorCallback clSetContextDestructorCallback_t;
        clSetDefaultDeviceCommandQueue clSetDefaultDeviceCommandQueue_t; clSetEventCallback clSetEventCallback_t;
        clSetKernelArg clSetKernelArg_t; clSetKernelArgSVMPointer clSetKernelArgSVMPointer_t;
        clSetKernelExecInfo clSetKernelExecInfo_t;
        clSetMemObjectDestructorCallback clSetMemObjectDestructorCallback_t;
        clSetProgramReleaseCallback clSetProgramReleaseCallback_t;
        clSetProgramSpecializationConstant clSetProgramSpecializationConstant_t;
        clSetUserEventStatus clSetUserEventStatus_t;
        clUnloadPlatformCompiler clUnloadPlatformCompiler_t; clWaitForEvents clWaitForEvents_t;
    }
}

/// A context with a queue on the first device.
pub struct Setup {
    pub device: cl_device_id,
    pub context: cl_context,
    pub queue: cl_command_queue,
}

impl Setup {
    pub fn new(properties: cl_command_queue_properties) -> Setup {
        let (mut platform, mut device, mut error) = (null_mut(), null_mut(), 0);
        assert_eq!(cl!(clGetPlatformIDs(1, &mut platform, null_mut())), 0);
        assert_eq!(
            cl!(clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &mut device, null_mut())),
            0
        );
        let context = cl!(clCreateContext(null(), 1, &device, None, null_mut(), &mut error));
        assert_eq!(error, 0);
        let queue = cl!(clCreateCommandQueue(context, device, properties, &mut error));
        assert_eq!(error, 0);
        Setup { device, context, queue }
    }

    /// A program, unbuilt.
    pub fn source(&self, text: &str) -> cl_program {
        let (mut string, length, mut error) = (text.as_ptr().cast::<c_char>(), text.len(), 0);
        let program =
            cl!(clCreateProgramWithSource(self.context, 1, &mut string, &length, &mut error));
        assert_eq!(error, 0);
        program
    }

    /// The program, what its build returned, and its log.
    pub fn build(&self, text: &str, options: &str) -> (cl_program, cl_int, String) {
        let program = self.source(text);
        let options = CString::new(options).expect("no zero");
        let result = cl!(clBuildProgram(program, 0, null(), options.as_ptr(), None, null_mut()));
        (program, result, self.log(program))
    }

    pub fn log(&self, program: cl_program) -> String {
        let mut size = 0;
        let what = CL_PROGRAM_BUILD_LOG;
        let null = null_mut();
        assert_eq!(cl!(clGetProgramBuildInfo(program, self.device, what, 0, null, &mut size)), 0);
        let mut text = vec![0u8; size];
        let to = text.as_mut_ptr().cast();
        cl!(clGetProgramBuildInfo(program, self.device, what, size, to, null_mut()));
        String::from_utf8_lossy(&text[..size - 1]).into_owned()
    }

    /// A kernel of a program that builds.
    pub fn kernel(&self, text: &str, options: &str, name: &str) -> cl_kernel {
        let (program, result, log) = self.build(text, options);
        assert_eq!(result, 0, "{log}");
        let (name, mut error) = (CString::new(name).expect("no zero"), 0);
        let kernel = cl!(clCreateKernel(program, name.as_ptr(), &mut error));
        assert_eq!(error, 0);
        cl!(clReleaseProgram(program));
        kernel
    }

    pub fn buffer<T: Copy>(&self, values: &[T]) -> cl_mem {
        let mut error = 0;
        let from = values.as_ptr().cast::<c_void>().cast_mut();
        let size = size_of_val(values);
        let mem = cl!(clCreateBuffer(self.context, CL_MEM_COPY_HOST_PTR, size, from, &mut error));
        assert_eq!(error, 0);
        mem
    }

    pub fn read<T: Copy + Default>(&self, mem: cl_mem, count: usize) -> Vec<T> {
        let mut out = vec![T::default(); count];
        let (size, to) = (size_of_val(&out[..]), out.as_mut_ptr().cast());
        let result =
            cl!(clEnqueueReadBuffer(self.queue, mem, 1, 0, size, to, 0, null(), null_mut()));
        assert_eq!(result, 0);
        out
    }

    /// Enqueues a one-dimensional range.
    pub fn run(&self, kernel: cl_kernel, global: usize, local: Option<usize>) -> cl_int {
        let local = local.as_ref().map_or(null(), std::ptr::from_ref);
        let none = null_mut();
        cl!(clEnqueueNDRangeKernel(self.queue, kernel, 1, null(), &global, local, 0, null(), none))
    }
}

/// Sets an argument from a value.
pub fn set<T>(kernel: cl_kernel, index: u32, value: &T) -> cl_int {
    cl!(clSetKernelArg(kernel, index, size_of::<T>(), std::ptr::from_ref(value).cast()))
}

impl Drop for Setup {
    fn drop(&mut self) {
        cl!(clReleaseCommandQueue(self.queue));
        cl!(clReleaseContext(self.context));
    }
}
