// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's functions that the driver calls, and that call back.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::cl;
use crate::common::*;

/// What a callback gets as its data. Never freed: a test that has heard its callback may end before
/// the driver's thread has left it.
struct Desk {
    queue: cl_command_queue,
    kernel: cl_kernel,
    said: Mutex<Sender<String>>,
}

impl Desk {
    fn new(setup: &Setup, kernel: cl_kernel) -> (&'static mut Desk, Receiver<String>) {
        let (said, heard) = channel();
        let desk = Desk { queue: setup.queue, kernel, said: Mutex::new(said) };
        (Box::leak(Box::new(desk)), heard)
    }

    fn data(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// # Safety
    /// The data of a desk.
    unsafe fn of<'a>(data: *mut c_void) -> &'a Desk {
        // SAFETY: the caller promises it.
        unsafe { &*data.cast::<Desk>() }
    }

    fn say(&self, text: impl Into<String>) {
        let _ = self.said.lock().expect("no panic holds it").send(text.into());
    }
}

type ErrorCallback = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;

fn heard(from: &Receiver<String>) -> String {
    from.recv_timeout(Duration::from_secs(60)).expect("the callback is called")
}

unsafe extern "C" fn built(program: cl_program, data: *mut c_void) {
    let (mut error, mut count) = (0, 0);
    let kernel = cl!(clCreateKernel(program, c"f".as_ptr(), &mut error));
    cl!(clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, 4, (&raw mut count).cast(), null_mut()));
    cl!(clReleaseKernel(kernel));
    // SAFETY: the test's data.
    unsafe { Desk::of(data) }.say(format!("{error} {count}"));
}

#[test]
fn a_build_tells_its_end() {
    let setup = Setup::new(0);
    let (desk, said) = Desk::new(&setup, null_mut());
    for (source, expected) in [("kernel void f() {}", "0 1"), ("kernel void f() { x }", "-45 1")] {
        let program = setup.source(source);
        let result = cl!(clBuildProgram(program, 0, null(), null(), Some(built), desk.data()));
        assert!(matches!(result, 0 | CL_BUILD_PROGRAM_FAILURE));
        assert_eq!(heard(&said), expected);
        cl!(clReleaseProgram(program));
    }
    let data_alone = cl!(clBuildProgram(setup.source(" "), 0, null(), null(), None, desk.data()));
    assert_eq!(data_alone, CL_INVALID_VALUE);
}

unsafe extern "C" fn more(event: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: the test's data.
    let desk = unsafe { Desk::of(data) };
    let (size, mut next) = (1usize, null_mut());
    // A command of the same queue, but none that blocks.
    let result = cl!(clEnqueueNDRangeKernel(
        desk.queue,
        desk.kernel,
        1,
        null(),
        &size,
        null(),
        1,
        &event,
        &mut next
    ));
    cl!(clFlush(desk.queue));
    cl!(clReleaseEvent(next));
    desk.say(format!("{status} {result}"));
}

#[test]
fn an_event_s_callback_enqueues() {
    for properties in [0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let setup = Setup::new(properties);
        let kernel = setup.kernel("kernel void f(global int *o) { atomic_inc(o); }", "", "f");
        let count = setup.buffer(&[0i32]);
        assert_eq!(set(kernel, 0, &count), 0);
        let (desk, said) = Desk::new(&setup, kernel);
        for n in 0..20 {
            let mut event = null_mut();
            assert_eq!(cl!(clEnqueueMarkerWithWaitList(setup.queue, 0, null(), &mut event)), 0);
            assert_eq!(cl!(clSetEventCallback(event, CL_COMPLETE, Some(more), desk.data())), 0);
            assert_eq!((n, heard(&said)), (n, "0 0".into()));
            cl!(clReleaseEvent(event));
        }
        assert_eq!(cl!(clFinish(setup.queue)), 0);
        assert_eq!(setup.read::<i32>(count, 1), [20]);
    }
}

unsafe extern "C" fn first(_: cl_mem, data: *mut c_void) {
    // SAFETY: the test's data.
    unsafe { Desk::of(data) }.say("first");
}

unsafe extern "C" fn second(_: cl_mem, data: *mut c_void) {
    // SAFETY: the test's data.
    let desk = unsafe { Desk::of(data) };
    let mut count = 0u32;
    let to = std::ptr::from_mut(&mut count).cast();
    let asked = cl!(clGetCommandQueueInfo(desk.queue, CL_QUEUE_REFERENCE_COUNT, 4, to, null_mut()));
    desk.say(format!("second {asked}"));
}

/// Destructors run in reverse, when the last reference and the last command are gone.
#[test]
fn an_object_tells_its_end() {
    let setup = Setup::new(0);
    let (desk, said) = Desk::new(&setup, null_mut());
    let mem = setup.buffer(&[1i32]);
    assert_eq!(cl!(clSetMemObjectDestructorCallback(mem, Some(first), desk.data())), 0);
    assert_eq!(cl!(clSetMemObjectDestructorCallback(mem, Some(second), desk.data())), 0);
    assert_eq!(cl!(clSetMemObjectDestructorCallback(mem, None, desk.data())), CL_INVALID_VALUE);
    cl!(clRetainMemObject(mem));
    cl!(clReleaseMemObject(mem));
    assert!(said.try_recv().is_err());
    cl!(clReleaseMemObject(mem));
    assert_eq!((heard(&said), heard(&said)), ("second 0".into(), "first".into()));
}

unsafe extern "C" fn wrong(info: *const c_char, _: *const c_void, _: usize, data: *mut c_void) {
    // SAFETY: the driver gives text; the data are the test's.
    unsafe { Desk::of(data).say(CStr::from_ptr(info).to_string_lossy()) };
}

/// A kernel's fault reaches the context's function, with its place.
#[test]
fn a_context_is_told_of_errors() {
    let setup = Setup::new(0);
    let (desk, said) = Desk::new(&setup, null_mut());
    let mut error = 0;
    let context =
        cl!(clCreateContext(null(), 1, &setup.device, Some(wrong), desk.data(), &mut error));
    let queue = cl!(clCreateCommandQueue(context, setup.device, 0, &mut error));
    let own = std::mem::ManuallyDrop::new(Setup { device: setup.device, context, queue });
    let kernel = own.kernel("kernel void f(global int *o) {\n  o[1l << 43] = 1; }", "", "f");
    assert_eq!((set(kernel, 0, &own.buffer(&[0i32])), own.run(kernel, 1, None)), (0, 0));
    assert_eq!(cl!(clFinish(queue)), CL_OUT_OF_RESOURCES);
    let text = heard(&said);
    assert!(text.contains("kernel f") && text.contains("program.cl:2"), "{text}");
    // The queue works on.
    let kernel = own.kernel("kernel void f(global int *o) { *o = 3; }", "", "f");
    let mem = own.buffer(&[0i32]);
    assert_eq!((set(kernel, 0, &mem), own.run(kernel, 1, None)), (0, 0));
    assert_eq!(own.read::<i32>(mem, 1), [3]);
}

unsafe extern "C" fn wrong_and_waiting(
    _: *const c_char,
    _: *const c_void,
    _: usize,
    data: *mut c_void,
) {
    // SAFETY: the data are the test's.
    let desk = unsafe { Desk::of(data) };
    let finished = cl!(clFinish(desk.queue));
    let size = 1usize;
    let (none, list) = (null_mut(), null());
    let run = cl!(clEnqueueNDRangeKernel(
        desk.queue,
        desk.kernel,
        1,
        null(),
        &size,
        null(),
        0,
        list,
        none
    ));
    let again = cl!(clFinish(desk.queue));
    desk.say(format!("{finished} {run} {again}"));
}

/// The context's function may wait for the queue whose command it is told of.
#[test]
fn a_context_s_function_waits_for_the_queue() {
    let setup = Setup::new(0);
    let good = setup.kernel("kernel void f() {}", "", "f");
    let (desk, said) = Desk::new(&setup, good);
    let (mut error, data) = (0, desk.data());
    let tell: ErrorCallback = Some(wrong_and_waiting);
    let context = cl!(clCreateContext(null(), 1, &setup.device, tell, data, &mut error));
    let queue = cl!(clCreateCommandQueue(context, setup.device, 0, &mut error));
    let own = std::mem::ManuallyDrop::new(Setup { device: setup.device, context, queue });
    desk.queue = queue;
    desk.kernel = own.kernel("kernel void f() {}", "", "f");
    let bad = own.kernel("kernel void f(global int *o) { o[1l << 43] = 1; }", "", "f");
    assert_eq!((set(bad, 0, &own.buffer(&[0i32])), own.run(bad, 1, None)), (0, 0));
    // A second command behind it, which the function's wait waits for as well.
    assert_eq!(own.run(desk.kernel, 1, None), 0);
    // Both are told, and nobody else.
    let told = CL_OUT_OF_RESOURCES;
    assert_eq!(cl!(clFinish(queue)), told);
    // The second wait comes after the program's where the machine is busy.
    let (text, early) = (heard(&said), format!("{told} 0 {told}"));
    assert!(text == early || text == format!("{told} 0 0"), "{text}");
    assert_eq!(cl!(clFinish(queue)), 0);
}

unsafe extern "C" fn running(event: cl_event, _: cl_int, data: *mut c_void) {
    let waited = cl!(clWaitForEvents(1, &event));
    // SAFETY: the data are the test's.
    unsafe { Desk::of(data) }.say(waited.to_string());
}

/// Undefined by the specification, and no reason to hang.
#[test]
fn an_event_s_callback_waits_for_the_event() {
    let setup = Setup::new(0);
    let kernel = setup.kernel("kernel void f() {}", "", "f");
    let (desk, said) = Desk::new(&setup, kernel);
    for trigger in [CL_SUBMITTED, CL_RUNNING, CL_COMPLETE] {
        let (mut error, mut event, size) = (0, null_mut(), 1usize);
        let gate = cl!(clCreateUserEvent(setup.context, &mut error));
        let (q, k, e) = (setup.queue, kernel, &mut event);
        let run = cl!(clEnqueueNDRangeKernel(q, k, 1, null(), &size, null(), 1, &gate, e));
        assert_eq!((error, run), (0, 0));
        assert_eq!(cl!(clSetEventCallback(event, trigger, Some(running), desk.data())), 0);
        assert_eq!(cl!(clSetUserEventStatus(gate, CL_COMPLETE)), 0);
        assert_eq!((trigger, heard(&said)), (trigger, "0".into()));
        assert_eq!(cl!(clFinish(setup.queue)), 0);
    }
}

unsafe extern "C" fn native(block: *mut c_void) {
    let (mut size, mut platform) = (0, null_mut());
    cl!(clGetPlatformIDs(1, &mut platform, null_mut()));
    cl!(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, null_mut(), &mut size));
    // SAFETY: the test's block: a pointer to the buffer's memory, and a number.
    unsafe {
        let (memory, number) = block.cast::<(*mut i32, i32)>().read();
        memory.write(number + size as i32);
    }
}

#[test]
fn a_native_kernel_calls_back() {
    let setup = Setup::new(0);
    let mem = setup.buffer(&[0i32]);
    let mut block: (*mut i32, i32) = (null_mut(), 40);
    let at = std::ptr::from_mut(&mut block).cast::<c_void>();
    let (mut place, size) = (at.cast_const(), size_of_val(&block));
    let result = cl!(clEnqueueNativeKernel(
        setup.queue,
        Some(native),
        at,
        size,
        1,
        &mem,
        &mut place,
        0,
        null(),
        null_mut()
    ));
    assert_eq!(result, 0);
    assert_eq!(setup.read::<i32>(mem, 1), [41]);
}
