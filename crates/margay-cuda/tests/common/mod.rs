// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the contract tests share. The tests call the C functions through the `cudarc` crate, which
//! loads the first `libcuda.so` of the library search path: under `cargo test` margay's, and a
//! real driver where the test's executable is run by hand on a machine that has one.

#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use cudarc::driver::sys::*;

/// The number of an error, which reads better in a failed assertion than a long name does alone.
#[track_caller]
pub fn ok(result: CUresult) {
    fails(result, CUresult::CUDA_SUCCESS);
}

/// Whether the library is a real driver: then what only margay promises is left out.
pub fn real() -> bool {
    std::env::var_os("MARGAY_CONTRACT_REAL").is_some()
}

/// Asserts an error by the end of its name: `fails(call, INVALID_VALUE)`.
#[track_caller]
pub fn fails(result: CUresult, with: CUresult) {
    if std::env::var_os("MARGAY_CONTRACT_PROBE").is_some() {
        let place = std::panic::Location::caller();
        let mark = if result == with { "  " } else { "!!" };
        eprintln!("{mark} {}:{} {result:?}, expected {with:?}", place.file(), place.line());
        return;
    }
    assert_eq!(result, with);
}

pub const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
pub const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
pub const NOT_FOUND: CUresult = CUresult::CUDA_ERROR_NOT_FOUND;

/// Held for writing by a test that uses an address after its end: the tests of a file share a
/// process, and the next allocation of any of them may get that address.
static STALE: RwLock<()> = RwLock::new(());

/// Keeps [`STALE`] for as long as a test runs.
enum Turn {
    Shared(#[expect(dead_code, reason = "held")] RwLockReadGuard<'static, ()>),
    Alone(#[expect(dead_code, reason = "held")] RwLockWriteGuard<'static, ()>),
}

/// A context of its own for one test, current in its thread.
pub struct Session {
    pub context: CUcontext,
    pub device: CUdevice,
    _turn: Turn,
}

impl Session {
    /// One for each test: a second one of the same thread could wait for itself.
    pub fn new() -> Session {
        // A test that failed leaves nothing here that the others need.
        Session::with(Turn::Shared(STALE.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// For a test that uses addresses which it has freed: no other test of the file runs meanwhile.
    pub fn alone() -> Session {
        Session::with(Turn::Alone(STALE.write().unwrap_or_else(PoisonError::into_inner)))
    }

    fn with(turn: Turn) -> Session {
        // SAFETY: pointers to locals.
        unsafe {
            ok(cuInit(0));
            let mut device = -1;
            ok(cuDeviceGet(&mut device, 0));
            let mut context = null_mut();
            ok(cuCtxCreate_v2(&mut context, 0, device));
            Session { context, device, _turn: turn }
        }
    }

    pub fn attribute(&self, attribute: CUdevice_attribute) -> i32 {
        let mut value = -1;
        // SAFETY: a pointer to a local.
        ok(unsafe { cuDeviceGetAttribute(&mut value, attribute, self.device) });
        value
    }

    pub fn alloc(&self, bytes: usize) -> CUdeviceptr {
        let mut address = 0;
        // SAFETY: a pointer to a local.
        ok(unsafe { cuMemAlloc_v2(&mut address, bytes) });
        address
    }

    pub fn load(&self, ptx: &str) -> CUmodule {
        load(ptx)
    }

    pub fn function(&self, module: CUmodule, name: &str) -> CUfunction {
        function(module, name)
    }
}

/// Loads a module into the current context.
pub fn load(ptx: &str) -> CUmodule {
    let text = CString::new(ptx).unwrap();
    let mut module = null_mut();
    // SAFETY: NUL-terminated text.
    ok(unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) });
    module
}

/// A kernel of a module.
pub fn function(module: CUmodule, name: &str) -> CUfunction {
    let name = CString::new(name).unwrap();
    let mut function = null_mut();
    // SAFETY: NUL-terminated text.
    ok(unsafe { cuModuleGetFunction(&mut function, module, name.as_ptr()) });
    function
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: made by `new`. After a fault the error is sticky, here too.
        let _ = unsafe { cuCtxDestroy_v2(self.context) };
    }
}

/// Copies values to the device.
#[track_caller]
pub fn upload<T: Copy>(to: CUdeviceptr, values: &[T]) {
    // SAFETY: the slice's own extent.
    ok(unsafe { cuMemcpyHtoD_v2(to, values.as_ptr().cast(), size_of_val(values)) });
}

/// Copies values from the device.
#[track_caller]
pub fn download<T: Copy + Default>(from: CUdeviceptr, count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    let bytes = size_of_val(&values[..]);
    // SAFETY: the vector's own extent.
    ok(unsafe { cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), from, bytes) });
    values
}

/// A launch with arguments by address.
pub fn launch(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: CUstream,
    arguments: &mut [*mut c_void],
) -> CUresult {
    let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
    let arguments = if arguments.is_empty() { null_mut() } else { arguments.as_mut_ptr() };
    // SAFETY: each test passes what its kernel takes.
    unsafe {
        cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, null_mut())
    }
}

/// The address of an argument.
pub fn arg<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// `c[i] = a[i] + b[i]` for `i < n`, and some small kernels for the tests of errors.
pub const KERNELS: &str = "\
.version 7.0
.target sm_52
.address_size 64

.visible .global .align 4 .b32 counter = 7;
.visible .global .align 8 .u64 pointer_to_counter = generic(counter);
.visible .const .align 4 .b32 table[4] = {10, 20, 30, 40};

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra done;
    cvta.to.global.u64 %rd4, %rd1;
    cvta.to.global.u64 %rd5, %rd2;
    cvta.to.global.u64 %rd6, %rd3;
    mul.wide.u32 %rd7, %r5, 4;
    add.s64 %rd8, %rd4, %rd7;
    add.s64 %rd9, %rd5, %rd7;
    add.s64 %rd10, %rd6, %rd7;
    ld.global.f32 %f1, [%rd8];
    ld.global.f32 %f2, [%rd9];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd10], %f3;
done:
    ret;
}

.visible .entry store(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}

.visible .entry bump(.param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd2], %r2;
    ret;
}

.visible .entry nothing()
{
    ret;
}

.visible .entry bounded() .maxntid 128, 1, 1
{
    ret;
}

.visible .entry static_shared(.param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 buffer[45056];
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 5;
    st.shared.u32 [buffer+45052], %r1;
    ld.shared.u32 %r2, [buffer+45052];
    st.global.u32 [%rd2], %r2;
    ret;
}
";
