// SPDX-License-Identifier: MIT OR Apache-2.0
//! What libcudart does without a device: versioned symbols, the last error, launch configurations, and
//! the refusal of functions that are not implemented. No libcuda is needed.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;

struct Library(*mut c_void);

impl Library {
    fn open() -> Library {
        let test = std::env::current_exe().unwrap();
        let path: PathBuf = test.with_file_name("libcudart.so");
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a plain library.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        assert!(
            !handle.is_null(),
            "cannot open {}; `cargo build --workspace` makes it",
            path.display()
        );
        Library(handle)
    }

    /// The function of this name with the version that programs ask for.
    fn function<F: Copy>(&self, name: &CStr) -> F {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        // SAFETY: the handle is open, the strings end with NUL.
        let found = unsafe { libc::dlvsym(self.0, name.as_ptr(), c"libcudart.so.12".as_ptr()) };
        assert!(!found.is_null(), "no {name:?} of version libcudart.so.12");
        // SAFETY: the caller names the function's type.
        unsafe { std::mem::transmute_copy(&found) }
    }
}

type Status = unsafe extern "C" fn() -> u32;

#[test]
fn symbols_have_the_version_of_the_library() {
    let library = Library::open();
    for name in [c"cudaMalloc", c"cudaLaunchKernel_ptsz", c"cudaMemcpy_ptds", c"cudaProfilerStart"]
    {
        library.function::<Status>(name);
    }
    library.function::<Status>(c"__cudaRegisterFatBinary");
    library.function::<Status>(c"__cudaLaunchKernel");
}

#[test]
fn errors_have_names() {
    let library = Library::open();
    let name: unsafe extern "C" fn(u32) -> *const c_char = library.function(c"cudaGetErrorName");
    // SAFETY: the function gives C strings.
    let name = |code| unsafe { CStr::from_ptr(name(code)) }.to_str().unwrap();
    assert_eq!(name(0), "cudaSuccess");
    assert_eq!(name(13), "cudaErrorInvalidSymbol");
    assert_eq!(name(9999), "unrecognized error code");
    let text: unsafe extern "C" fn(u32) -> *const c_char = library.function(c"cudaGetErrorString");
    // SAFETY: as above.
    let text = |code| unsafe { CStr::from_ptr(text(code)) }.to_str().unwrap();
    assert_eq!(text(9), "invalid configuration argument");
    assert_eq!(text(98), "invalid device function");
    assert_eq!(text(9999), "unrecognized error code");
}

#[test]
fn the_last_error_is_peeked_at_and_taken() {
    let library = Library::open();
    let last: Status = library.function(c"cudaGetLastError");
    let peek: Status = library.function(c"cudaPeekAtLastError");
    let missing: unsafe extern "C" fn(*mut c_void) -> u32 =
        library.function(c"cudaGraphicsUnregisterResource");
    // SAFETY: the functions have these types.
    unsafe {
        assert_eq!(last(), 0);
        assert_eq!(missing(std::ptr::null_mut()), 801, "not implemented");
        assert_eq!((peek(), peek()), (801, 801));
        assert_eq!((last(), last()), (801, 0));
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

#[test]
fn configurations_are_a_stack() {
    let library = Library::open();
    let push: unsafe extern "C" fn(Dim3, Dim3, usize, *mut c_void) -> u32 =
        library.function(c"__cudaPushCallConfiguration");
    let pop: unsafe extern "C" fn(*mut Dim3, *mut Dim3, *mut usize, *mut *mut c_void) -> u32 =
        library.function(c"__cudaPopCallConfiguration");
    let (mut grid, mut block) = (Dim3::default(), Dim3::default());
    let (mut shared, mut stream) = (0, std::ptr::null_mut());
    let mut popped = || {
        // SAFETY: all outputs may be written.
        let code = unsafe { pop(&mut grid, &mut block, &mut shared, &mut stream) };
        (code, grid.x, block.z, shared, stream.addr())
    };
    let dim = |x, z| Dim3 { x, y: 1, z };
    // SAFETY: the stream is only handed back.
    unsafe {
        assert_eq!(push(dim(3, 1), dim(4, 5), 6, std::ptr::without_provenance_mut(7)), 0);
        assert_eq!(push(dim(8, 1), dim(1, 9), 0, std::ptr::null_mut()), 0);
    }
    assert_eq!(popped(), (0, 8, 9, 0, 0));
    assert_eq!(popped(), (0, 3, 5, 6, 7));
    assert_eq!(popped().0, 52, "cudaErrorMissingConfiguration");
}
