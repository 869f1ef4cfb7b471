// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every error code that the specification names for a function of OpenCL 3.0 and that can happen here, by a call
//! with one thing wrong in it.
//!
//! Each test notes what it saw, and compares it with its section of `docs/opencl-errors.md`, which lists what
//! cannot happen too. `MARGAY_BLESS=1` with `--test-threads=1` writes the sections.

mod enqueue;
mod images;
mod kernels;
mod memory;
mod platforms;
mod programs;
mod queues;
mod scenarios;
mod transfers;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::ptr::null_mut;

use crate::cl;
use crate::common::*;

thread_local! {
    /// Functions, and the codes that they have given in this test.
    static SEEN: RefCell<BTreeMap<&'static str, BTreeSet<&'static str>>> = RefCell::default();
}

fn note(function: &'static str, code: &'static str) {
    SEEN.with_borrow_mut(|seen| seen.entry(function).or_default().insert(code));
}

/// Calls that must return the code.
macro_rules! fails {
    ($code:ident: $($name:ident($($argument:expr),* $(,)?)),+ $(,)?) => {{
        $(
            let got = cl!($name($($argument),*));
            assert_eq!(got, $code, "{}: {}", stringify!($code), stringify!($name($($argument),*)));
            $crate::error_codes::note(stringify!($name), stringify!($code));
        )+
    }};
}

/// Calls that must make nothing and leave the code where errors go, which is their last argument.
macro_rules! refuses {
    ($code:ident: $($name:ident($($argument:expr),* $(,)?)),+ $(,)?) => {{
        $(
            let mut error = 1;
            let made = cl!($name($($argument,)* &mut error));
            let call = stringify!($name($($argument),*));
            assert_eq!(error, $code, "{}: {call}", stringify!($code));
            assert!(made.is_null(), "{call}");
            $crate::error_codes::note(stringify!($name), stringify!($code));
        )+
    }};
}

/// Calls that must make something; what they make.
macro_rules! makes {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let mut error = 1;
        let made = cl!($name($($argument,)* &mut error));
        assert_eq!(error, 0, "{}", stringify!($name($($argument),*)));
        made
    }};
}

/// Queries: a parameter that is none, and too little room for the one that is given.
macro_rules! asks {
    ($name:ident($($argument:expr),*), $what:expr) => {{
        let (mut small, none) = (0u8, null_mut());
        let to = std::ptr::from_mut(&mut small).cast::<c_void>();
        fails!(CL_INVALID_VALUE:
            $name($($argument,)* 0xdead, 0, none, none.cast()),
            $name($($argument,)* $what, 0, to, none.cast()));
    }};
}

use {asks, fails, makes, refuses};

/// Compares what the test has seen with its section of the page.
fn told(section: &str) {
    let mut expected = "| Function | Errors |\n|---|---|\n".to_owned();
    for (function, codes) in SEEN.take() {
        let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        expected += &format!("| `{function}` | {} |\n", codes.join(", "));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/opencl-errors.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let head = format!("\n## {section}\n\n");
    let (before, rest) = page.split_once(&head).unwrap_or_else(|| panic!("no section {section}"));
    // A section is its table, and ends with an empty line.
    let (table, after) = rest.split_once("\n\n").map_or((rest, ""), |(t, a)| (t, a));
    if std::env::var_os("MARGAY_BLESS").is_some() {
        let new = format!("{before}{head}{expected}\n{after}");
        std::fs::write(&path, new).expect("a page to write");
        return;
    }
    let advice = "docs/opencl-errors.md is old: MARGAY_BLESS=1 cargo test --workspace --test opencl \
                  error_codes -- --test-threads=1 writes it";
    assert!(table.trim_end() == expected.trim_end(), "{advice}\n{section}:\n{expected}");
}

/// The page's last section: what every device says of itself.
#[test]
fn what_cannot_happen() {
    let setup = Setup::new(0);
    let number = |what| {
        let (mut value, none) = (0u64, null_mut());
        let to = std::ptr::from_mut(&mut value).cast::<c_void>();
        assert_eq!(cl!(clGetDeviceInfo(setup.device, what, 8, to, none)), 0);
        value
    };
    for what in [CL_DEVICE_IMAGE_SUPPORT, CL_DEVICE_AVAILABLE, CL_DEVICE_MAX_NUM_SUB_GROUPS] {
        assert_ne!(number(what), 0, "{what:#x}");
    }
    assert_eq!(number(CL_DEVICE_SVM_CAPABILITIES), CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
    assert_ne!(number(CL_DEVICE_EXECUTION_CAPABILITIES) & CL_EXEC_NATIVE_KERNEL, 0);
    let absent = [
        CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
        CL_DEVICE_PIPE_SUPPORT,
        CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES,
        CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
    ];
    for what in absent {
        assert_eq!(number(what), 0, "{what:#x}");
    }
    let (mut size, il, none) = (0, CL_DEVICE_IL_VERSION, null_mut());
    assert_eq!(cl!(clGetDeviceInfo(setup.device, il, 0, none, &mut size)), 0);
    assert_eq!(size, 1, "an empty name");
}

/// Something valid of each kind, in two contexts.
struct World {
    setup: Setup,
    other: Setup,
    buffer: cl_mem,
    second: cl_mem,
    image: cl_mem,
    image2: cl_mem,
    sampler: cl_sampler,
    program: cl_program,
    kernel: cl_kernel,
    /// An event of the other context.
    foreign: cl_event,
    svm: *mut c_void,
    svm2: *mut c_void,
    host: Vec<u64>,
}

const O: [usize; 3] = [0; 3];
const R: [usize; 3] = [4, 1, 1];
const ONE: &str = "kernel void f(global int *o) { o[get_global_id(0)] = 1; }";
const FLOATS: cl_image_format =
    cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_FLOAT };

fn shape(image_type: cl_mem_object_type, sizes: [usize; 4]) -> cl_image_desc {
    cl_image_desc {
        image_type,
        image_width: sizes[0],
        image_height: sizes[1],
        image_depth: sizes[2],
        image_array_size: sizes[3],
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    }
}

const PLANE: cl_mem_object_type = CL_MEM_OBJECT_IMAGE2D;

impl World {
    fn new() -> World {
        let (setup, other) = (Setup::new(0), Setup::new(0));
        let context = setup.context;
        let desc = shape(PLANE, [4, 4, 0, 0]);
        let image = || makes!(clCreateImage(context, 0, &FLOATS, &desc, null_mut()));
        let (program, built, log) = setup.build(ONE, "");
        assert_eq!(built, 0, "{log}");
        let kernel = makes!(clCreateKernel(program, c"f".as_ptr()));
        let buffer = setup.buffer(&[0u8; 256]);
        assert_eq!(set(kernel, 0, &buffer), 0);
        World {
            buffer,
            second: setup.buffer(&[0u8; 256]),
            image: image(),
            image2: image(),
            sampler: makes!(clCreateSampler(context, 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST)),
            program,
            kernel,
            foreign: makes!(clCreateUserEvent(other.context)),
            svm: cl!(clSVMAlloc(context, 0, 256, 0)),
            svm2: cl!(clSVMAlloc(context, 0, 256, 0)),
            host: vec![0; 64],
            setup,
            other,
        }
    }

    /// 512 bytes.
    fn host(&mut self) -> *mut c_void {
        self.host.as_mut_ptr().cast()
    }

    /// A buffer of 256 bytes with flags.
    fn with(&self, flags: cl_mem_flags) -> cl_mem {
        makes!(clCreateBuffer(self.setup.context, flags, 256, null_mut()))
    }

    fn image_with(&self, flags: cl_mem_flags) -> cl_mem {
        let desc = shape(PLANE, [4, 4, 0, 0]);
        makes!(clCreateImage(self.setup.context, flags, &FLOATS, &desc, null_mut()))
    }

    /// An event that has failed.
    fn failed(&self) -> cl_event {
        let event = makes!(clCreateUserEvent(self.setup.context));
        assert_eq!(cl!(clSetUserEventStatus(event, -5)), 0);
        event
    }
}

impl Drop for World {
    fn drop(&mut self) {
        cl!(clSetUserEventStatus(self.foreign, 0));
        cl!(clReleaseEvent(self.foreign));
        for mem in [self.buffer, self.second, self.image, self.image2] {
            cl!(clReleaseMemObject(mem));
        }
        cl!(clReleaseSampler(self.sampler));
        cl!(clReleaseKernel(self.kernel));
        cl!(clReleaseProgram(self.program));
        cl!(clSVMFree(self.setup.context, self.svm));
        cl!(clSVMFree(self.setup.context, self.svm2));
    }
}
