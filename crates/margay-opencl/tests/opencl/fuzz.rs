// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random sequences of calls, from fixed seeds: handles may be stale or of another kind, sizes and flags are
//! anything. No call may crash, hang, or give a code that is none. `MARGAY_FUZZ_SECONDS` makes it longer,
//! `MARGAY_FUZZ_SEED` another one.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use crate::cl;
use crate::common::*;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn size(&mut self) -> usize {
        [0, 1, 4, 16, 64, 256, 257, 1 << 20, usize::MAX][self.below(9)]
    }

    fn pick(&mut self, handles: &[*mut c_void]) -> *mut c_void {
        match self.below(12) {
            0 => null_mut(),
            _ => handles.get(self.below(handles.len().max(1))).copied().unwrap_or(null_mut()),
        }
    }
}

/// An image of random kind, format and size, over host memory or over another object.
fn image(r: &mut Random, context: cl_context, over: cl_mem, host: *mut c_void) -> (cl_mem, cl_int) {
    let mut side = || [0, 1, 2, 7, 64, 1 << 20, usize::MAX][r.below(7)];
    let mut desc = cl_image_desc {
        image_type: CL_MEM_OBJECT_IMAGE2D,
        image_width: side(),
        image_height: side(),
        image_depth: side(),
        image_array_size: side(),
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    };
    desc.image_type = CL_MEM_OBJECT_BUFFER + r.below(9) as u32;
    if r.below(4) == 0 {
        (desc.image_row_pitch, desc.image_slice_pitch) = (r.size(), r.size());
    }
    if r.below(3) == 0 {
        desc.buffer = over;
    }
    // The program's memory holds what it says: 64 rows of 64 texels of 16 bytes at most.
    let large = [desc.image_width, desc.image_height, desc.image_depth, desc.image_array_size];
    let volume = large.iter().fold(16usize, |p, n| p.saturating_mul((*n).max(1)));
    let pitched = desc.image_row_pitch | desc.image_slice_pitch != 0;
    let (flags, host) = match r.below(3) {
        0 if volume <= 1 << 20 && !pitched => (CL_MEM_COPY_HOST_PTR, host),
        _ => (1 << r.below(3), null_mut()),
    };
    let format = cl_image_format {
        image_channel_order: CL_R + r.below(20) as u32,
        image_channel_data_type: CL_SNORM_INT8 + r.below(17) as u32,
    };
    let mut error = 0;
    (cl!(clCreateImage(context, flags, &format, &desc, host, &mut error)), error)
}

/// A copy or a fill; regions whose bytes the host's memory would not hold are left out.
fn image_command(
    r: &mut Random,
    queue: cl_command_queue,
    (a, b): (cl_mem, cl_mem),
    host: *mut c_void,
) -> cl_int {
    let mut three = || [(); 3].map(|()| [0, 1, 2, 7, 64, usize::MAX][r.below(6)]);
    let (from, to, region) = (three(), three(), three());
    let (f, t, s) = (from.as_ptr(), to.as_ptr(), region.as_ptr());
    let volume = region.iter().fold(16usize, |p, n| p.saturating_mul(*n));
    let (none, list) = (null_mut(), null());
    let at = r.size();
    match r.below(6) {
        0 if volume <= 1 << 20 => {
            cl!(clEnqueueReadImage(queue, a, 1, f, s, 0, 0, host, 0, list, none))
        }
        1 if volume <= 1 << 20 => {
            cl!(clEnqueueWriteImage(queue, a, 1, f, s, 0, 0, host, 0, list, none))
        }
        2 => cl!(clEnqueueCopyImage(queue, a, b, f, t, s, 0, list, none)),
        3 => cl!(clEnqueueCopyImageToBuffer(queue, a, b, f, s, at, 0, list, none)),
        4 => cl!(clEnqueueCopyBufferToImage(queue, a, b, at, t, s, 0, list, none)),
        _ => cl!(clEnqueueFillImage(queue, a, host, f, s, 0, list, none)),
    }
}

/// What goes on beside the handles.
struct Programs {
    /// Built now and then.
    source: cl_program,
    /// Objects and their mapped pointers, unmapped ones too.
    maps: Vec<(cl_mem, *mut c_void)>,
    /// SVM that is alive.
    shared: Vec<*mut c_void>,
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

unsafe extern "C" fn seen(event: cl_event, _: cl_int, _: *mut c_void) {
    // A callback may call back.
    cl!(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, 0, null_mut(), null_mut()));
}

/// Queues, programs, kernels, events, maps, shared memory, and every kind of question.
fn other(
    r: &mut Random,
    setup: &Setup,
    programs: &mut Programs,
    kernel: cl_kernel,
    (a, b): (*mut c_void, *mut c_void),
    host: *mut c_void,
) -> (*mut c_void, cl_int) {
    let (mut error, mut made, q) = (0, null_mut(), setup.queue);
    let none: *mut c_void = null_mut();
    let own = [setup.context, setup.queue, setup.device, kernel];
    let size = r.size();
    match r.below(22) {
        0 => {
            let properties = r.below(6) as cl_command_queue_properties;
            made = cl!(clCreateCommandQueue(a, b, properties, &mut error));
        }
        1 if !own.contains(&a) => error = cl!(clReleaseCommandQueue(a)),
        2 => error = cl!(clFlush(a)),
        3 => {
            // A command that waits for what ends well, badly, or not as it may.
            let gate = cl!(clCreateUserEvent(setup.context, &mut error));
            check(cl!(clEnqueueMarkerWithWaitList(q, 1, &gate, &mut made)));
            let status = [0, -1, -1000, 1][r.below(4)];
            if cl!(clSetUserEventStatus(gate, status)) != 0 {
                check(cl!(clSetUserEventStatus(gate, CL_COMPLETE)));
            }
            cl!(clReleaseEvent(gate));
        }
        4 => error = cl!(clEnqueueBarrierWithWaitList(q, 1, &a, none.cast())),
        5 => error = cl!(clSetEventCallback(a, r.below(5) as cl_int - 1, Some(seen), none)),
        6 => error = cl!(clWaitForEvents(1, &a)),
        7 => {
            let flags = 1 << r.below(4);
            let at = r.below(64);
            let map = cl!(clEnqueueMapBuffer(
                q,
                a,
                1,
                flags,
                at,
                size,
                0,
                null(),
                none.cast(),
                &mut error
            ));
            if !map.is_null() {
                programs.maps.push((a, map));
            }
        }
        8 => {
            let at = r.below(programs.maps.len().max(1));
            if let Some((mem, pointer)) = programs.maps.get(at).copied() {
                let mem = if r.below(4) == 0 { b } else { mem };
                error = cl!(clEnqueueUnmapMemObject(q, mem, pointer, 0, null(), none.cast()));
            }
        }
        9 => {
            let map = cl!(clSVMAlloc(
                setup.context,
                r.below(8) as u64,
                size.min(1 << 20),
                r.below(300) as u32
            ));
            if !map.is_null() {
                programs.shared.push(map);
            }
        }
        10 => {
            if let Some(pointer) = programs.shared.pop() {
                // What is on the way is done first: freeing it is the program's affair.
                check(cl!(clFinish(q)));
                cl!(clSVMFree(setup.context, pointer));
            }
        }
        11 => {
            if let [first, .., last] = programs.shared[..] {
                let fill = r.below(2) == 0;
                error = match fill {
                    true => cl!(clEnqueueSVMMemFill(
                        q,
                        first,
                        host,
                        1 << r.below(9),
                        size,
                        0,
                        null(),
                        none.cast()
                    )),
                    false => {
                        cl!(clEnqueueSVMMemcpy(q, 1, first, last, size, 0, null(), none.cast()))
                    }
                };
            }
        }
        12 => {
            let pointer = programs.shared.last().copied().unwrap_or(a);
            error = cl!(clSetKernelArgSVMPointer(kernel, r.below(5) as u32, pointer));
        }
        13 => made = cl!(clCloneKernel(a, &mut error)),
        14 => {
            made = cl!(clCreateKernel(
                a,
                [c"f".as_ptr(), c"g".as_ptr(), null()][r.below(3)],
                &mut error
            ))
        }
        15 if !own.contains(&a) => error = cl!(clReleaseKernel(a)),
        16 if r.below(64) == 0 => {
            // Rarely, for it takes long.
            let options = [c"", c"-cl-std=CL3.0", c"-DN=1 -w", c"-nonsense"][r.below(4)];
            error = cl!(clBuildProgram(programs.source, 0, null(), options.as_ptr(), None, none));
        }
        17 => {
            let triple = |r: &mut Random| [r.below(8), r.below(4), r.below(3)];
            let (from, to, region) = (triple(r), triple(r), triple(r));
            let pitch = [0, 4, 16, 64][r.below(4)];
            error = cl!(clEnqueueCopyBufferRect(
                q,
                a,
                b,
                from.as_ptr(),
                to.as_ptr(),
                region.as_ptr(),
                pitch,
                0,
                pitch,
                size,
                0,
                null(),
                &mut made
            ));
        }
        18 => {
            error = cl!(clEnqueueMigrateMemObjects(
                q,
                1,
                &a,
                r.below(4) as u64,
                0,
                null(),
                none.cast()
            ));
        }
        19 => {
            let mut block = [0usize; 2];
            let place = block.as_mut_ptr().cast::<c_void>();
            let mut places: [*const c_void; 1] = [place.cast_const()];
            let (count, block_size) = (r.below(2) as u32, [0, 8, 16][r.below(3)]);
            let listed = if count == 0 { null() } else { &raw const a };
            let places = if count == 0 { null_mut() } else { places.as_mut_ptr() };
            let block = if block_size == 0 { null_mut() } else { place };
            error = cl!(clEnqueueNativeKernel(
                q,
                Some(nothing),
                block,
                block_size,
                count,
                listed,
                places,
                0,
                null(),
                none.cast()
            ));
        }
        _ => error = question(r, setup, programs, kernel, a, host, size.min(1 << 20)),
    }
    (made, error)
}

/// Any question, of any object.
fn question(
    r: &mut Random,
    setup: &Setup,
    programs: &Programs,
    kernel: cl_kernel,
    a: *mut c_void,
    host: *mut c_void,
    size: usize,
) -> cl_int {
    let (ret, low) = (null_mut(), r.below(16) as u32);
    let (device, program) = (setup.device, programs.source);
    let mut count = 0;
    match r.below(13) {
        0 => cl!(clGetDeviceInfo(a, 0x1000 + r.below(0x78) as u32, size, host, ret)),
        1 => cl!(clGetDeviceInfo(device, 0x1000 + r.below(0x78) as u32, size, host, ret)),
        2 => cl!(clGetContextInfo(a, 0x1080 + low, size, host, ret)),
        3 => cl!(clGetCommandQueueInfo(a, 0x1090 + low, size, host, ret)),
        4 => cl!(clGetEventInfo(a, 0x11d0 + low, size, host, ret)),
        5 => cl!(clGetEventProfilingInfo(a, 0x1280 + low, size, host, ret)),
        // Without room: CL_PROGRAM_BINARIES follows the pointers that it finds there.
        6 => cl!(clGetProgramInfo(a, 0x1160 + low, 0, null_mut(), ret)),
        7 => cl!(clGetProgramBuildInfo(program, device, 0x1180 + low, size, host, ret)),
        8 => cl!(clGetKernelInfo(a, 0x1190 + low, size, host, ret)),
        9 => cl!(clGetKernelArgInfo(kernel, r.below(6) as u32, 0x1196 + low, size, host, ret)),
        10 => cl!(clGetKernelWorkGroupInfo(kernel, a, 0x11b0 + low, size, host, ret)),
        11 => cl!(clGetImageInfo(a, 0x1110 + low, size, host, ret)),
        _ => {
            let kind = 0x10f0 + r.below(9) as u32;
            cl!(clGetSupportedImageFormats(
                setup.context,
                1 << r.below(3),
                kind,
                0,
                null_mut(),
                &mut count
            ))
        }
    }
}

fn check(code: cl_int) {
    assert!((-72..=0).contains(&code) || code <= -1000, "{code} is no error of OpenCL");
}

#[test]
fn call_sequences() {
    let seconds = std::env::var("MARGAY_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(3));
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o, constant int *c, local int *l, int n) {
        l[0] = n; o[get_global_id(0)] = c[0] + l[0]; }";
    let kernel = setup.kernel(source, "", "f");
    let seed = std::env::var("MARGAY_FUZZ_SEED").ok().and_then(|s| s.parse::<u64>().ok());
    let mut random = Random(0x1234_5678_9abc_def1 ^ seed.unwrap_or(0));
    // Every kind of handle in one bag, released ones too.
    let mut bag: Vec<*mut c_void> = vec![setup.context, setup.queue, setup.device, kernel];
    let mut memory = vec![0u8; 1 << 20];
    let mut calls = 0;
    let mut program =
        Programs { source: setup.source(source), maps: Vec::new(), shared: Vec::new() };
    while Instant::now() < end {
        let (a, b, size, at) = (random.pick(&bag), random.pick(&bag), random.size(), random.size());
        let host = memory.as_mut_ptr().cast::<c_void>();
        let inside = size.min(memory.len());
        let (mut error, mut made) = (0, null_mut());
        match random.below(40) {
            21.. => (made, error) = other(&mut random, &setup, &mut program, kernel, (a, b), host),
            0 => {
                let flags = 1 << random.below(10);
                let pointer = if random.below(2) == 0 { null_mut() } else { host };
                made = cl!(clCreateBuffer(a, flags, inside, pointer, &mut error));
            }
            1 => {
                error = cl!(clSetKernelArg(kernel, random.below(5) as u32, inside.min(64), null()))
            }
            2 => {
                let value = std::ptr::from_ref(&a).cast();
                error = cl!(clSetKernelArg(kernel, random.below(5) as u32, 8, value));
            }
            3 => error = set(kernel, 3, &7i32),
            4 => {
                let (global, local) = (random.below(300), [1, 7, 32, 4096][random.below(4)]);
                let (q, none) = (setup.queue, null());
                error = cl!(clEnqueueNDRangeKernel(
                    q,
                    kernel,
                    1,
                    none,
                    &global,
                    &local,
                    0,
                    none.cast(),
                    &mut made
                ));
            }
            5 => error = cl!(clEnqueueReadBuffer(a, b, 1, at, inside, host, 0, null(), null_mut())),
            6 => error = cl!(clEnqueueWriteBuffer(a, b, 1, at, inside, host, 0, null(), &mut made)),
            7 => {
                error =
                    cl!(clEnqueueCopyBuffer(setup.queue, a, b, at, 0, size, 0, null(), &mut made))
            }
            8 => {
                let n = [1usize, 2, 3, 16, 128][random.below(5)];
                error = cl!(clEnqueueFillBuffer(
                    setup.queue,
                    a,
                    host,
                    n,
                    at,
                    size,
                    0,
                    null(),
                    null_mut()
                ));
            }
            9 => {
                error = cl!(clGetMemObjectInfo(
                    a,
                    0x1100 + random.below(12) as u32,
                    inside,
                    host,
                    null_mut()
                ));
            }
            10 => error = cl!(clFinish(a)),
            11 => error = cl!(clReleaseMemObject(a)),
            12 => error = cl!(clReleaseEvent(a)),
            13 => (made, error) = image(&mut random, a, b, host),
            14..=17 => error = image_command(&mut random, setup.queue, (a, b), host),
            18 => {
                let (mode, filter) =
                    (0x1130 + random.below(6) as u32, 0x1140 + random.below(3) as u32);
                let on = random.below(2) as u32;
                made = cl!(clCreateSampler(a, on, mode, filter, &mut error));
            }
            19 => error = cl!(clReleaseSampler(a)),
            _ => {
                let region = cl_buffer_region { origin: at, size };
                let info = std::ptr::from_ref(&region).cast();
                made = cl!(clCreateSubBuffer(a, 0, CL_BUFFER_CREATE_TYPE_REGION, info, &mut error));
            }
        }
        check(error);
        calls += 1;
        if !made.is_null() {
            bag.push(made);
        }
        if bag.len() > 64 {
            let out = bag.swap_remove(4 + random.below(60));
            // Whichever it is.
            cl!(clReleaseSampler(out));
            cl!(clReleaseMemObject(out));
            cl!(clReleaseEvent(out));
            cl!(clReleaseKernel(out));
            cl!(clReleaseCommandQueue(out));
            cl!(clReleaseProgram(out));
        }
    }
    assert!(calls > 100, "only {calls} calls");
    let result = cl!(clFinish(setup.queue));
    check(result);
    // After all that a kernel still runs.
    let (out, constant) = (setup.buffer(&[0i32; 4]), setup.buffer(&[5i32]));
    assert_eq!((set(kernel, 0, &out), set(kernel, 1, &constant), set(kernel, 3, &2i32)), (0, 0, 0));
    assert_eq!(cl!(clSetKernelArg(kernel, 2, 16, null())), 0);
    assert_eq!(setup.run(kernel, 4, Some(4)), 0);
    assert_eq!(setup.read::<i32>(out, 4), [7; 4]);
}
