// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only a process of its own shows: messages, device printf's place in the output, the
//! settings of the environment, and the end of the program. Each scenario is an ignored test that
//! a real one runs in a child process.

mod common;

use std::process::{Command, Output};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use common::*;

/// Runs a scenario with environment variables.
fn child(scenario: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", scenario]);
    for (name, value) in variables {
        command.env(name, value);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const ENDLESS: &str = "\
.version 7.0
.target sm_52
.address_size 64
.visible .entry endless()
{
again:
    bra again;
}
";

fn start_endless() {
    let endless = function(load(ENDLESS), "endless");
    ok(launch(endless, [1, 1, 1], [32, 1, 1], 0, null_mut(), &mut []));
}

#[test]
#[ignore = "run by the_time_limit_ends_a_kernel"]
fn scenario_endless() {
    let _session = Session::new();
    start_endless();
    // SAFETY: no pointers.
    fails(unsafe { cuCtxSynchronize() }, CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
}

#[test]
fn the_time_limit_ends_a_kernel() {
    if real() {
        return;
    }
    let started = Instant::now();
    let output = child("scenario_endless", &[("MARGAY_TIMEOUT", "0.3")]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    assert!(started.elapsed() < Duration::from_secs(30));
    let message = text(&output.stderr);
    assert!(
        message.contains("CUDA_ERROR_LAUNCH_TIMEOUT") && message.contains("endless"),
        "{message}"
    );
}

extern "C" fn unload_at_exit() {
    let module = MODULE.load(std::sync::atomic::Ordering::SeqCst);
    // SAFETY: a checked handle.
    let _ = unsafe { cuModuleUnload(module as CUmodule) };
}

static MODULE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

#[test]
#[ignore = "run by a_program_ends_while_a_kernel_runs"]
fn scenario_exit() {
    // Registered before the driver's own handler, so run after it, as destructors are.
    unsafe extern "C" {
        fn atexit(call: extern "C" fn()) -> i32;
    }
    // SAFETY: a function of this program.
    unsafe { atexit(unload_at_exit) };
    std::mem::forget(Session::new());
    let module = load(ENDLESS);
    MODULE.store(module as usize, std::sync::atomic::Ordering::SeqCst);
    ok(launch(function(module, "endless"), [1, 1, 1], [32, 1, 1], 0, null_mut(), &mut []));
    std::thread::sleep(Duration::from_millis(50));
    std::process::exit(7);
}

#[test]
fn a_program_ends_while_a_kernel_runs() {
    let started = Instant::now();
    let output = child("scenario_exit", &[]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stdout));
    assert!(started.elapsed() < Duration::from_secs(30));
}

const MANY: &str = "\
.version 7.0
.target sm_52
.address_size 64
.visible .entry many()
{
    .reg .u32 %n;
    .reg .pred %p;
    mov.u32 %n, 2000;
again:
    sub.u32 %n, %n, 1;
    setp.ne.u32 %p, %n, 0;
    @%p bra again;
}
";

#[test]
#[ignore = "run by a_program_ends_while_llvm_is_opened"]
fn scenario_exit_after() {
    std::mem::forget(Session::new());
    let many = function(load(MANY), "many");
    ok(launch(many, [1 << 24, 1, 1], [32, 1, 1], 0, null_mut(), &mut []));
    let after = std::env::var("EXIT_AFTER_MS").unwrap().parse().unwrap();
    std::thread::sleep(Duration::from_millis(after));
    std::process::exit(7);
}

/// LLVM is opened, and sets itself up, on a thread of its own; its destructors must not meet that.
#[test]
fn a_program_ends_while_llvm_is_opened() {
    if real() {
        return;
    }
    for after in (20..=240).step_by(20) {
        let after = after.to_string();
        let variables = [
            ("EXIT_AFTER_MS", after.as_str()),
            ("MARGAY_ENGINE", "auto"),
            ("MARGAY_JIT_CACHE", "0"),
        ];
        let output = child("scenario_exit_after", &variables);
        assert_eq!(output.status.code(), Some(7), "{after} ms: {}", text(&output.stderr));
    }
}

#[test]
#[ignore = "run by a_fault_says_where"]
fn scenario_fault() {
    let session = Session::new();
    let store = session.function(session.load(KERNELS), "store");
    let mut address = session.alloc(400) + 404;
    let mut value = 1u32;
    let mut arguments = [arg(&mut address), arg(&mut value)];
    ok(launch(store, [1, 1, 1], [1, 1, 1], 0, null_mut(), &mut arguments));
    // SAFETY: no pointers.
    let result = unsafe { cuCtxSynchronize() };
    println!("synchronised: {result:?}");
}

#[test]
fn a_fault_says_where() {
    if real() {
        return;
    }
    let output = child("scenario_fault", &[]);
    let message = text(&output.stderr);
    for part in [
        "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
        "write of 4 bytes at global address",
        "4 bytes past the end of `cudaMalloc`",
        "of 400 bytes",
        "kernel store, block (0,0,0), thread (0,0,0)",
        "MARGAY_BOUNDS=page",
    ] {
        assert!(message.contains(part), "{part:?} is not in:\n{message}");
    }
    assert!(text(&output.stdout).contains("synchronised: CUDA_ERROR_ILLEGAL_ADDRESS"));
    let silent = child("scenario_fault", &[("MARGAY_LOG", "off")]);
    assert_eq!(text(&silent.stderr), "");
    // A card would not notice.
    let lenient = child("scenario_fault", &[("MARGAY_BOUNDS", "page")]);
    assert!(text(&lenient.stdout).contains("synchronised: CUDA_SUCCESS"));
}

const PRINTING: &str = "\
.version 7.0
.target sm_52
.address_size 64
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[9] = {100, 101, 118, 32, 37, 117, 10, 0, 0};
.visible .entry prints(.param .u32 value)
{
    .local .align 8 .b8 frame[8];
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u32 %r1, [value];
    mov.u64 %rd1, frame;
    cvta.local.u64 %rd2, %rd1;
    st.u32 [%rd2], %r1;
    mov.u64 %rd3, format;
    cvta.global.u64 %rd4, %rd3;
    {
        .param .b64 p0;
        .param .b64 p1;
        .param .b32 r;
        st.param.b64 [p0], %rd4;
        st.param.b64 [p1], %rd2;
        call.uni (r), vprintf, (p0, p1);
        ld.param.b32 %r2, [r];
    }
    ret;
}
";

#[test]
#[ignore = "run by device_printf_is_in_order_with_the_program_s"]
fn scenario_printf() {
    let _session = Session::new();
    unsafe extern "C" {
        fn puts(text: *const std::ffi::c_char) -> i32;
    }
    let prints = function(load(PRINTING), "prints");
    for mut value in [1u32, 2] {
        // SAFETY: NUL-terminated text.
        unsafe { puts(c"host before".as_ptr()) };
        ok(launch(prints, [1, 1, 1], [1, 1, 1], 0, null_mut(), &mut [arg(&mut value)]));
        // SAFETY: no pointers; NUL-terminated text.
        unsafe {
            ok(cuCtxSynchronize());
            puts(c"host after".as_ptr());
        }
    }
}

#[test]
fn device_printf_is_in_order_with_the_program_s() {
    let output = child("scenario_printf", &[]);
    let printed = text(&output.stdout);
    let lines: Vec<&str> =
        printed.lines().filter(|l| l.starts_with("host") || l.starts_with("dev")).collect();
    let expected = ["host before", "dev 1", "host after", "host before", "dev 2", "host after"];
    assert_eq!(lines, expected, "{printed}\n{}", text(&output.stderr));
}

#[test]
#[ignore = "run by the_environment_chooses_the_devices"]
fn scenario_devices() {
    // SAFETY: pointers to locals.
    unsafe {
        let result = cuInit(0);
        let mut count = -1;
        let _ = cuDeviceGetCount(&mut count);
        println!("init {result:?}, {count} devices");
        for device in 0..count {
            let mut name = [0; 64];
            ok(cuDeviceGetName(name.as_mut_ptr(), 64, device));
            println!("device {}", std::ffi::CStr::from_ptr(name.as_ptr()).to_str().unwrap());
        }
    }
}

#[test]
fn the_environment_chooses_the_devices() {
    if real() {
        return;
    }
    let several = ("MARGAY_GPU", "sm_90,v100");
    let output = text(&child("scenario_devices", &[several]).stdout);
    assert!(output.contains("2 devices") && output.contains("NVIDIA H200"), "{output}");
    let visible = ("CUDA_VISIBLE_DEVICES", "1");
    let output = text(&child("scenario_devices", &[several, visible]).stdout);
    assert!(output.contains("1 devices") && output.contains("Tesla V100"), "{output}");
    let none = ("CUDA_VISIBLE_DEVICES", "");
    let output = text(&child("scenario_devices", &[none]).stdout);
    assert!(output.contains("CUDA_ERROR_NO_DEVICE"), "{output}");
}

#[test]
#[ignore = "run by what_is_missing_says_so_once"]
fn scenario_missing() {
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuInit(0));
        for _ in 0..2 {
            println!("graphics {:?}", cuGraphicsUnregisterResource(null_mut()));
        }
    }
}

#[test]
fn what_is_missing_says_so_once() {
    if real() {
        return;
    }
    let output = child("scenario_missing", &[]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out.matches("graphics CUDA_ERROR_NOT_SUPPORTED").count(), 2, "{out}");
    assert_eq!(err.matches("cuGraphicsUnregisterResource is not supported").count(), 1, "{err}");
}

const ASSERTS: &str = "\
.version 7.0
.target sm_52
.address_size 64
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 1 .b8 message[2] = {120, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 name[9] = {118, 111, 105, 100, 32, 102, 40, 41, 0};
.visible .entry asserts()
{
    .reg .b32 %r<2>;
    .reg .b64 %d<5>;
    .reg .pred %p;
    mov.u32 %r0, %tid.x;
    setp.lt.u32 %p, %r0, 2;
    @!%p bra done;
    mov.u64 %d0, message;
    cvta.global.u64 %d1, %d0;
    mov.u64 %d0, file;
    cvta.global.u64 %d2, %d0;
    mov.u64 %d0, name;
    cvta.global.u64 %d3, %d0;
    mov.u32 %r1, 12;
    mov.u64 %d4, 1;
    {
        .param .b64 m;
        .param .b64 f;
        .param .b32 l;
        .param .b64 n;
        .param .b64 c;
        st.param.b64 [m], %d1;
        st.param.b64 [f], %d2;
        st.param.b32 [l], %r1;
        st.param.b64 [n], %d3;
        st.param.b64 [c], %d4;
        call.uni __assertfail, (m, f, l, n, c);
    }
done:
    ret;
}
";

/// As clang writes it, and ptxas does not take it.
const WRITES_CONSTANT: &str = "\
.version 7.0
.target sm_52
.address_size 64
.visible .const .align 4 .u32 table[2] = {5, 7};
.visible .entry writes_constant()
{
    .reg .b32 %r;
    mov.u32 %r, 3;
    st.volatile.const.u32 [table+4], %r;
    ret;
}
";

fn run_to_fault(text: &str, kernel: &str, with: CUresult) {
    let session = Session::new();
    let kernel = session.function(session.load(text), kernel);
    ok(launch(kernel, [1, 1, 1], [4, 1, 1], 0, null_mut(), &mut []));
    // SAFETY: no pointers.
    fails(unsafe { cuCtxSynchronize() }, with);
}

#[test]
#[ignore = "run by every_thread_of_a_failed_assertion_reports"]
fn scenario_assert() {
    run_to_fault(ASSERTS, "asserts", CUresult::CUDA_ERROR_ASSERT);
}

/// As an H200 prints it, and nothing else.
#[test]
fn every_thread_of_a_failed_assertion_reports() {
    let output = child("scenario_assert", &[]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let line = |thread: u32| {
        format!("a.cu:12: void f(): block: [0,0,0], thread: [{thread},0,0] Assertion `x` failed.\n")
    };
    assert_eq!(text(&output.stderr), line(0) + &line(1));
}

#[test]
#[ignore = "run by a_write_to_constant_memory_is_a_launch_failure"]
fn scenario_constant() {
    run_to_fault(WRITES_CONSTANT, "writes_constant", CUresult::CUDA_ERROR_LAUNCH_FAILED);
}

#[test]
fn a_write_to_constant_memory_is_a_launch_failure() {
    if real() {
        return;
    }
    let output = child("scenario_constant", &[]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let message = text(&output.stderr);
    assert!(message.contains("at byte 4 of `table`"), "{message}");
}

#[test]
#[ignore = "run by a_runtime_of_nvidias_is_told_once"]
fn scenario_private_tables() {
    let _session = Session::new();
    let mut table = std::ptr::null();
    // Any table: none is here.
    let id = CUuuid { bytes: [7; 16] };
    for _ in 0..2 {
        // SAFETY: pointers to locals.
        let refused = unsafe { cuGetExportTable(&mut table, &id) };
        fails(refused, CUresult::CUDA_ERROR_NOT_SUPPORTED);
        assert!(table.is_null());
    }
}

#[test]
fn a_runtime_of_nvidias_is_told_once() {
    if real() {
        return;
    }
    for log in ["0", "1"] {
        let output = child("scenario_private_tables", &[("MARGAY_LOG", log)]);
        assert!(output.status.success(), "{}", text(&output.stdout));
        let message = text(&output.stderr);
        assert_eq!(message.matches("nvcc -cudart shared").count(), 1, "{message}");
        assert_eq!(message.matches("margay cc").count(), 1, "{message}");
    }
}
