// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `clGetDeviceInfo` says is tried: limits are reached and not passed, what is offered works, and what is not
//! offered says so.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::cl;
use crate::common::*;

impl Setup {
    /// A number that the device tells, of whatever size.
    fn number(&self, what: cl_device_info) -> u64 {
        let (mut value, mut size) = (0u64, 0);
        let to = std::ptr::from_mut(&mut value).cast();
        assert_eq!(cl!(clGetDeviceInfo(self.device, what, 8, to, &mut size)), 0, "{what:#x}");
        assert!(matches!(size, 4 | 8), "{what:#x}");
        value
    }

    fn bytes(&self, what: cl_device_info) -> Vec<u8> {
        let mut size = 0;
        assert_eq!(
            cl!(clGetDeviceInfo(self.device, what, 0, null_mut(), &mut size)),
            0,
            "{what:#x}"
        );
        let mut bytes = vec![0u8; size];
        let to = bytes.as_mut_ptr().cast();
        assert_eq!(cl!(clGetDeviceInfo(self.device, what, size, to, null_mut())), 0);
        bytes
    }

    fn text(&self, what: cl_device_info) -> String {
        let bytes = self.bytes(what);
        let (end, text) = bytes.split_last().expect("a terminator");
        assert_eq!(*end, 0);
        String::from_utf8(text.to_vec()).expect("text")
    }

    /// Names and versions.
    fn names(&self, what: cl_device_info) -> Vec<(String, u32)> {
        let name = |entry: &[u8]| {
            let version = u32::from_ne_bytes(entry[..4].try_into().expect("four bytes"));
            let end = entry[4..].iter().position(|b| *b == 0).expect("a terminator");
            (String::from_utf8_lossy(&entry[4..4 + end]).into_owned(), version)
        };
        self.bytes(what).chunks(size_of::<cl_name_version>()).map(name).collect()
    }

    /// Builds and runs one kernel over a range of one work-group of these sizes; the errors of the enqueue and the end.
    fn group(&self, kernel: cl_kernel, sizes: [usize; 3]) -> (cl_int, cl_int) {
        let (s, none) = (sizes.as_ptr(), null_mut());
        let result =
            cl!(clEnqueueNDRangeKernel(self.queue, kernel, 3, null(), s, s, 0, null(), none));
        (result, cl!(clFinish(self.queue)))
    }

    fn builds(&self, source: &str, options: &str) -> bool {
        let (program, result, _) = self.build(source, options);
        cl!(clReleaseProgram(program));
        result == 0
    }
}

#[test]
fn work_groups_are_as_large_as_said_and_no_larger() {
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o) { barrier(CLK_LOCAL_MEM_FENCE); atomic_inc(o); }";
    let kernel = setup.kernel(source, "", "f");
    let count = setup.buffer(&[0i32]);
    assert_eq!(set(kernel, 0, &count), 0);
    let most = setup.number(CL_DEVICE_MAX_WORK_GROUP_SIZE) as usize;
    assert_eq!(setup.number(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS), 3);
    let sizes = setup.bytes(CL_DEVICE_MAX_WORK_ITEM_SIZES);
    let sizes: Vec<usize> =
        sizes.chunks(8).map(|b| usize::from_ne_bytes(b.try_into().expect("eight bytes"))).collect();
    let mut expected = 0;
    for d in 0..3 {
        let mut group = [1; 3];
        group[d] = sizes[d];
        assert_eq!(setup.group(kernel, group), (0, 0));
        expected += sizes[d] as i32;
        group[d] += 1;
        // Beyond what a whole group may have, that is the error.
        let error =
            if group[d] > most { CL_INVALID_WORK_GROUP_SIZE } else { CL_INVALID_WORK_ITEM_SIZE };
        assert_eq!(setup.group(kernel, group).0, error);
    }
    assert_eq!(setup.group(kernel, [most / 2, 2, 1]), (0, 0));
    assert_eq!(setup.group(kernel, [most / 2, 2, 2]).0, CL_INVALID_WORK_GROUP_SIZE);
    assert_eq!(setup.read::<i32>(count, 1), [expected + most as i32]);
    let multiple = setup.number(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
    assert_eq!(setup.number(CL_DEVICE_MAX_NUM_SUB_GROUPS), most as u64 / multiple);
}

#[test]
fn buffers_are_as_large_and_aligned_as_said() {
    let setup = Setup::new(0);
    let mut error = 0;
    let most = setup.number(CL_DEVICE_MAX_MEM_ALLOC_SIZE) as usize;
    assert!(most as u64 >= setup.number(CL_DEVICE_GLOBAL_MEM_SIZE) / 4);
    let none = null_mut();
    cl!(clCreateBuffer(setup.context, 0, most + 1, none, &mut error));
    assert_eq!(error, CL_INVALID_BUFFER_SIZE);
    // The host may have less; then it says which of the two it is.
    let large = cl!(clCreateBuffer(setup.context, 0, most, none, &mut error));
    assert!(matches!(error, 0 | CL_MEM_OBJECT_ALLOCATION_FAILURE), "{error}");
    if error == 0 {
        cl!(clReleaseMemObject(large));
    }
    let align = setup.number(CL_DEVICE_MEM_BASE_ADDR_ALIGN) as usize / 8;
    let mem = setup.buffer(&vec![0u8; 2 * align]);
    let part = |origin| {
        let (region, mut error) = (cl_buffer_region { origin, size: 4 }, 0);
        let info = std::ptr::from_ref(&region).cast::<c_void>();
        let part = cl!(clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, info, &mut error));
        (part, error)
    };
    assert_eq!(part(align / 2).1, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    let (part, error) = part(align);
    assert_eq!(error, 0);
    let source = "kernel void f(global int *a, global ulong *o) { *o = (ulong)a; }";
    let kernel = setup.kernel(source, "", "f");
    let out = setup.buffer(&[1u64]);
    assert_eq!(
        (set(kernel, 0, &part), set(kernel, 1, &out), setup.run(kernel, 1, None)),
        (0, 0, 0)
    );
    assert_eq!(setup.read::<u64>(out, 1)[0] % align as u64, 0);
}

#[test]
fn kernels_take_as_many_arguments_as_said() {
    let setup = Setup::new(0);
    let most = setup.number(CL_DEVICE_MAX_PARAMETER_SIZE) as usize;
    let rest = most - 8;
    let source = format!(
        "struct S {{ int x[{}]; }}; kernel void f(global int *o, struct S s) {{ *o = s.x[{}]; }}",
        rest / 4,
        rest / 4 - 1
    );
    let kernel = setup.kernel(&source, "", "f");
    let out = setup.buffer(&[0i32]);
    let block: Vec<i32> = (0..rest as i32 / 4).collect();
    assert_eq!(set(kernel, 0, &out), 0);
    assert_eq!(cl!(clSetKernelArg(kernel, 1, rest, block.as_ptr().cast())), 0);
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(setup.read::<i32>(out, 1), [rest as i32 / 4 - 1]);
    // Constant arguments; one place is the result's.
    let constants = setup.number(CL_DEVICE_MAX_CONSTANT_ARGS) as usize;
    assert!(constants >= 8 && setup.number(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE) >= 64 << 10);
    let count = constants - 1;
    let list: String = (0..count).map(|i| format!(", constant int *c{i}")).collect();
    let sum: String = (0..count).map(|i| format!(" + *c{i}")).collect();
    let kernel =
        setup.kernel(&format!("kernel void f(global int *o{list}) {{ *o = 0{sum}; }}"), "", "f");
    assert_eq!(set(kernel, 0, &out), 0);
    let one = setup.buffer(&[1i32]);
    assert!((1..=count as u32).all(|n| set(kernel, n, &one) == 0));
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(setup.read::<i32>(out, 1), [count as i32]);
}

#[test]
fn kernels_take_as_many_images_and_samplers_as_said() {
    let setup = Setup::new(0);
    let format =
        cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_SIGNED_INT32 };
    let image = |width: usize, height: usize| {
        let desc = cl_image_desc {
            image_type: CL_MEM_OBJECT_IMAGE2D,
            image_width: width,
            image_height: height,
            image_depth: 0,
            image_array_size: 0,
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: null_mut(),
        };
        let mut error = 0;
        let image = cl!(clCreateImage(setup.context, 0, &format, &desc, null_mut(), &mut error));
        (image, error)
    };
    let (one, error) = image(1, 1);
    assert_eq!(error, 0);
    let (color, at, size) = ([3i32, 0, 0, 0], [0usize; 3], [1usize; 3]);
    let from = color.as_ptr().cast();
    let filled = cl!(clEnqueueFillImage(
        setup.queue,
        one,
        from,
        at.as_ptr(),
        size.as_ptr(),
        0,
        null(),
        null_mut()
    ));
    assert_eq!(filled, 0);
    let reads = setup.number(CL_DEVICE_MAX_READ_IMAGE_ARGS) as u32;
    let list: String = (0..reads).map(|i| format!(", read_only image2d_t i{i}")).collect();
    let sum: String = (0..reads).map(|i| format!(" + read_imagei(i{i}, (int2)(0)).x")).collect();
    let kernel =
        setup.kernel(&format!("kernel void f(global int *o{list}) {{ *o = 0{sum}; }}"), "", "f");
    let out = setup.buffer(&[0i32]);
    assert_eq!(set(kernel, 0, &out), 0);
    assert!((1..=reads).all(|n| set(kernel, n, &one) == 0));
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(setup.read::<i32>(out, 1), [3 * reads as i32]);
    let (writes, samplers) =
        (setup.number(CL_DEVICE_MAX_WRITE_IMAGE_ARGS), setup.number(CL_DEVICE_MAX_SAMPLERS));
    assert_eq!(setup.number(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS), writes);
    let list: String =
        (0..writes).map(|i| format!(", read_write image2d_t i{i}")).collect::<String>()
            + &(0..samplers).map(|i| format!(", sampler_t s{i}")).collect::<String>();
    let body: String =
        (0..writes).map(|i| format!("write_imagei(i{i}, (int2)(0), {i});")).collect::<String>()
            + &(0..samplers)
                .map(|i| format!("n += read_imagei(r, s{i}, (int2)(0)).x;"))
                .collect::<String>();
    let source = format!(
        "kernel void f(global int *o, read_only image2d_t r{list}) {{ int n = 0; {body} *o = n; }}"
    );
    let kernel = setup.kernel(&source, "-cl-std=CL3.0", "f");
    let mut error = 0;
    let sampler =
        cl!(clCreateSampler(setup.context, 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &mut error));
    assert_eq!((error, set(kernel, 0, &out), set(kernel, 1, &one)), (0, 0, 0));
    let written: Vec<cl_mem> = (0..writes).map(|_| image(1, 1).0).collect();
    assert!(written.iter().enumerate().all(|(i, image)| set(kernel, i as u32 + 2, image) == 0));
    assert!((0..samplers).all(|i| set(kernel, (writes + i) as u32 + 2, &sampler) == 0));
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(setup.read::<i32>(out, 1), [3 * samplers as i32]);
    let (width, height) = (
        setup.number(CL_DEVICE_IMAGE2D_MAX_WIDTH) as usize,
        setup.number(CL_DEVICE_IMAGE2D_MAX_HEIGHT) as usize,
    );
    assert_eq!((image(width, 1).1, image(1, height).1), (0, 0));
    assert_eq!(
        (image(width + 1, 1).1, image(1, height + 1).1),
        (CL_INVALID_IMAGE_SIZE, CL_INVALID_IMAGE_SIZE)
    );
}

/// Names in lists are the language's macros, and no other optional feature's macro is there.
#[test]
fn extensions_and_features_are_those_of_the_language() {
    let setup = Setup::new(0);
    let text = setup.text(CL_DEVICE_EXTENSIONS);
    let extensions: Vec<String> =
        setup.names(CL_DEVICE_EXTENSIONS_WITH_VERSION).into_iter().map(|(name, _)| name).collect();
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), extensions);
    // These are the host's affair.
    let hosts = [
        "cl_khr_create_command_queue",
        "cl_khr_extended_versioning",
        "cl_khr_icd",
        "cl_khr_image2d_from_buffer",
        "cl_khr_suggested_local_work_size",
    ];
    let features: Vec<String> =
        setup.names(CL_DEVICE_OPENCL_C_FEATURES).into_iter().map(|(name, _)| name).collect();
    let wanted = |names: &[String]| -> String {
        names
            .iter()
            .filter(|n| !hosts.contains(&n.as_str()))
            .map(|n| format!("#ifndef {n}\n#error {n}\n#endif\n"))
            .collect()
    };
    let kernel = "kernel void f(global int *o) {}";
    // Sub-groups came with 2.0.
    let older: Vec<String> =
        extensions.iter().filter(|n| !n.contains("subgroup")).cloned().collect();
    for (version, names) in [("CL1.1", &older), ("CL1.2", &older), ("CL3.0", &extensions)] {
        let (_, result, log) =
            setup.build(&(wanted(names) + kernel), &format!("-cl-std={version}"));
        assert_eq!(result, 0, "{version}: {log}");
    }
    let (_, result, log) = setup.build(&(wanted(&features) + kernel), "-cl-std=CL3.0");
    assert_eq!(result, 0, "{log}");
    let all = [
        "__opencl_c_device_enqueue",
        "__opencl_c_pipes",
        "__opencl_c_integer_dot_product_input_4x8bit",
        "__opencl_c_kernel_clock_scope_device",
        "__opencl_c_ext_fp32_global_atomic_add",
        "cl_khr_depth_images",
        "cl_khr_mipmap_image",
        "cl_khr_gl_msaa_sharing",
        "cl_khr_srgb_image_writes",
        "cl_khr_kernel_clock",
        "cl_khr_integer_dot_product",
        "cl_khr_extended_bit_ops",
        "cl_ext_float_atomics",
    ];
    let unwanted: String =
        all.iter().map(|n| format!("#ifdef {n}\n#error {n}\n#endif\n")).collect();
    let (_, result, log) = setup.build(&(unwanted + kernel), "-cl-std=CL3.0");
    assert_eq!(result, 0, "{log}");
}

#[test]
fn versions_are_those_of_the_language() {
    let setup = Setup::new(0);
    assert!(setup.text(CL_DEVICE_VERSION).starts_with("OpenCL 3.0 "));
    assert!(setup.text(CL_DEVICE_OPENCL_C_VERSION).starts_with("OpenCL C 1.2 "));
    assert_eq!(setup.text(CL_DEVICE_PROFILE), "FULL_PROFILE");
    let macros = |version: u32| {
        format!(
            "#if __OPENCL_C_VERSION__ != {version} || __OPENCL_VERSION__ != 300 || __EMBEDDED_PROFILE__ || !__ENDIAN_LITTLE__ || !__IMAGE_SUPPORT__\n#error\n#endif\nkernel void f() {{}}"
        )
    };
    // Without -cl-std it is the highest of 1.x.
    assert!(setup.builds(&macros(120), ""));
    for (name, version) in setup.names(CL_DEVICE_OPENCL_C_ALL_VERSIONS) {
        assert_eq!(name, "OpenCL C");
        let (major, minor) = (version >> 22, version >> 12 & 0x3ff);
        let option = format!("-cl-std=CL{major}.{minor}");
        // `__OPENCL_C_VERSION__` came with 1.2.
        let number = 100 * major + 10 * minor;
        assert!(number < 120 || setup.builds(&macros(number), &option), "{option}");
        assert!(setup.builds("kernel void f() {}", &option));
    }
    let bits = setup.number(CL_DEVICE_ADDRESS_BITS);
    assert!(setup.builds(
        &format!("kernel void f() {{ int a[sizeof(global int *) * 8 == {bits} ? 1 : -1]; }}"),
        ""
    ));
}

#[test]
fn numbers_are_what_their_configuration_says() {
    let setup = Setup::new(0);
    let all = u64::from(
        CL_FP_DENORM as u32
            | CL_FP_INF_NAN as u32
            | CL_FP_ROUND_TO_NEAREST as u32
            | CL_FP_FMA as u32,
    );
    for what in [CL_DEVICE_SINGLE_FP_CONFIG, CL_DEVICE_DOUBLE_FP_CONFIG, CL_DEVICE_HALF_FP_CONFIG] {
        assert_eq!(setup.number(what) & all, all);
    }
    assert!(setup.number(CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT != 0);
    let source = "kernel void f(global float *o) { o[1] = o[0] / 2; o[2] = o[3] / o[4]; o[5] = sqrt(o[3]); o[6] = fma(o[3], o[3], -o[7]); }";
    let ten = 10f32;
    let input = [f32::MIN_POSITIVE, 0.0, 0.0, 10.0, 3.0, 0.0, 0.0, 100.0f32.next_down()];
    let run = |options: &str| {
        let kernel = setup.kernel(source, options, "f");
        let mem = setup.buffer(&input);
        assert_eq!((set(kernel, 0, &mem), setup.run(kernel, 1, None)), (0, 0));
        setup.read::<f32>(mem, 8)
    };
    let exact = run("-cl-fp32-correctly-rounded-divide-sqrt");
    assert_eq!((exact[1], exact[2], exact[5]), (f32::MIN_POSITIVE / 2.0, ten / 3.0, ten.sqrt()));
    assert_eq!(exact[6], 100.0 - 100.0f32.next_down());
    // And the option that takes denormals away does so.
    assert_eq!(run("-cl-denorms-are-zero")[1], 0.0);
}

/// What the device has not is refused, with the specification's errors.
#[test]
fn what_is_not_offered_is_refused() {
    let setup = Setup::new(0);
    let mut error = 0;
    assert_eq!(
        (setup.number(CL_DEVICE_PIPE_SUPPORT), setup.number(CL_DEVICE_MAX_PIPE_ARGS)),
        (0, 0)
    );
    cl!(clCreatePipe(setup.context, 0, 4, 4, null(), &mut error));
    assert_eq!(error, CL_INVALID_OPERATION);
    assert_eq!(setup.text(CL_DEVICE_IL_VERSION), "");
    cl!(clCreateProgramWithIL(setup.context, [0u32; 5].as_ptr().cast(), 20, &mut error));
    assert_eq!(error, CL_INVALID_OPERATION);
    assert_eq!(setup.text(CL_DEVICE_BUILT_IN_KERNELS), "");
    cl!(clCreateProgramWithBuiltInKernels(
        setup.context,
        1,
        &setup.device,
        c"nothing".as_ptr(),
        &mut error
    ));
    assert_eq!(error, CL_INVALID_VALUE);
    assert_eq!(setup.number(CL_DEVICE_PARTITION_MAX_SUB_DEVICES), 0);
    let equally = [CL_DEVICE_PARTITION_EQUALLY, 1, 0];
    let made = cl!(clCreateSubDevices(setup.device, equally.as_ptr(), 0, null_mut(), null_mut()));
    assert_eq!(made, CL_INVALID_VALUE);
    assert_eq!(setup.number(CL_DEVICE_SVM_CAPABILITIES), CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
    let fine = cl!(clSVMAlloc(setup.context, CL_MEM_SVM_FINE_GRAIN_BUFFER, 64, 0));
    assert!(fine.is_null());
    let coarse = cl!(clSVMAlloc(setup.context, 0, 64, 0));
    assert!(!coarse.is_null());
    cl!(clSVMFree(setup.context, coarse));
    assert_eq!(setup.number(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES), 0);
    let queue = [
        CL_QUEUE_PROPERTIES as u64,
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_ON_DEVICE,
        0,
    ];
    cl!(clCreateCommandQueueWithProperties(
        setup.context,
        setup.device,
        queue.as_ptr(),
        &mut error
    ));
    assert!(matches!(error, CL_INVALID_QUEUE_PROPERTIES | CL_INVALID_VALUE), "{error}");
    // A pipe, a depth image and a queue of the device in a program are clang's errors.
    for source in [
        "kernel void f(read_only pipe int p) {}",
        "kernel void f(read_only image2d_depth_t i, global float *o) { *o = read_imagef(i, (int2)(0)); }",
        "kernel void f(global int *o) { queue_t q = get_default_queue(); }",
    ] {
        let (_, result, log) = setup.build(source, "-cl-std=CL3.0");
        assert_eq!(result, CL_BUILD_PROGRAM_FAILURE, "{source}");
        assert!(log.contains("error:"), "{log}");
    }
}

/// A variable as large as is said, of which both ends are used.
#[test]
fn program_scope_variables_are_as_large_as_said() {
    let setup = Setup::new(0);
    let most = setup.number(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE);
    assert!(most >= 64 << 10);
    let source = format!(
        "global char x[{most}]; kernel void f(global int *o) {{ x[o[0]] = 5; x[{0}] = 6; *o = x[{0}] + x[o[0]] + x[o[1]]; }}",
        most - 1
    );
    let kernel = setup.kernel(&source, "-cl-std=CL3.0", "f");
    let out = setup.buffer(&[0i32, 1]);
    assert_eq!((set(kernel, 0, &out), setup.run(kernel, 1, None)), (0, 0));
    assert_eq!(setup.read::<i32>(out, 1), [11]);
}

/// Every question of the specification is answered, with the size that it says, and not into too little room.
#[test]
fn every_question_is_answered() {
    let setup = Setup::new(0);
    let unanswered: Vec<u32> = (0x1000..=0x1072)
        .filter(|what| {
            let mut size = 0;
            let result = cl!(clGetDeviceInfo(setup.device, *what, 0, null_mut(), &mut size));
            if result == 0 && size > 0 {
                let mut room = vec![0u8; size];
                let to = room.as_mut_ptr().cast();
                let short = cl!(clGetDeviceInfo(setup.device, *what, size - 1, to, null_mut()));
                assert_eq!(short, CL_INVALID_VALUE, "{what:#x}");
                assert_eq!(cl!(clGetDeviceInfo(setup.device, *what, size, to, null_mut())), 0);
            }
            result != 0
        })
        .collect();
    // Those of cl_khr_device_uuid, which is not offered.
    assert_eq!(unanswered, [0x106a, 0x106b, 0x106c, 0x106d, 0x106e], "{unanswered:#x?}");
}

/// `clinfo`, through the loader: no question fails, and what it prints is what the device says.
#[test]
fn clinfo_reads_cleanly() {
    let place = format!("{}/vendors-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(format!("{place}/margay.icd"), driver_path().to_str().expect("text")).unwrap();
    let run = |args: &[&str]| {
        std::process::Command::new("clinfo").args(args).env("OCL_ICD_VENDORS", &place).output()
    };
    let Ok(done) = run(&[]) else {
        eprintln!("skipped: clinfo_reads_cleanly: there is no clinfo");
        return;
    };
    let (said, wrong) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && wrong.is_empty(), "{said}{wrong}");
    let lower = said.to_lowercase();
    for word in ["error:", "<", "cl_invalid", "failed", "unknown"] {
        assert!(!lower.contains(word), "{word} in {said}");
    }
    let raw = run(&["--raw"]).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    let raw = String::from_utf8_lossy(&raw.stdout);
    let value = |name: &str| {
        let line = raw.lines().find_map(|l| l.split_once(name).filter(|(_, v)| v.starts_with(' ')));
        line.unwrap_or_else(|| panic!("{name} is not in {raw}")).1.trim().to_owned()
    };
    let setup = Setup::new(0);
    for (name, what) in [
        ("CL_DEVICE_MAX_WORK_GROUP_SIZE", CL_DEVICE_MAX_WORK_GROUP_SIZE),
        ("CL_DEVICE_MAX_COMPUTE_UNITS", CL_DEVICE_MAX_COMPUTE_UNITS),
        ("CL_DEVICE_GLOBAL_MEM_SIZE", CL_DEVICE_GLOBAL_MEM_SIZE),
        ("CL_DEVICE_LOCAL_MEM_SIZE", CL_DEVICE_LOCAL_MEM_SIZE),
        ("CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE", CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE),
        ("CL_DEVICE_IMAGE2D_MAX_WIDTH", CL_DEVICE_IMAGE2D_MAX_WIDTH),
    ] {
        assert_eq!(value(name), setup.number(what).to_string(), "{name}");
    }
    assert_eq!(value("CL_DEVICE_NAME"), setup.text(CL_DEVICE_NAME));
    assert_eq!(value("CL_DEVICE_EXTENSIONS"), setup.text(CL_DEVICE_EXTENSIONS));
    assert_eq!(value("CL_PLATFORM_EXTENSIONS"), setup.text(CL_DEVICE_EXTENSIONS));
}
