// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constant cache of a chosen size: a table that stays the same is read from memory once, a write by the host in
//! whichever way throws the cache away, and a hint says when `global const` would serve better.
//!
//! The scenarios run as tests of a process of their own, whose report is read.

use std::ffi::c_void;
use std::process::Command;
use std::ptr::{null, null_mut};

use crate::cl;
use crate::common::*;

const LAUNCHES: i32 = 4;

/// Each work-item reads the whole table.
fn sum(words: usize) -> String {
    format!(
        "kernel void sum(constant int *table, global int *o) {{
            int n = 0; for (int i = 0; i < {words}; i++) n += table[i]; o[get_global_id(0)] = n; }}"
    )
}

/// Launches the kernel a few times; before each but the first, `write` does something to the table.
fn launches(words: usize, options: &str, write: impl Fn(&Setup, cl_mem, i32)) {
    let setup = Setup::new(0);
    let kernel = setup.kernel(&sum(words), options, "sum");
    let (table, out) = (setup.buffer(&vec![1i32; words]), setup.buffer(&[0i32; 32]));
    assert_eq!((set(kernel, 0, &table), set(kernel, 1, &out)), (0, 0));
    for n in 0..LAUNCHES {
        if n > 0 {
            write(&setup, table, n);
        }
        assert_eq!((setup.run(kernel, 32, Some(32)), cl!(clFinish(setup.queue))), (0, 0));
    }
}

/// Runs a scenario of this file in a process with this environment; what it says.
fn report(scenario: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", &format!("constants::{scenario}")]);
    let done = command.envs(environment.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stdout));
    said
}

#[test]
#[ignore = "a scenario of the tests below"]
fn a_table_that_stays() {
    launches(256, "", |_, _, _| {});
}

#[test]
#[ignore = "a scenario of the tests below"]
fn a_table_that_is_written() {
    launches(256, "", |setup, table, n| {
        let (q, word, none) = (setup.queue, n, null_mut());
        let from = std::ptr::from_ref(&word).cast::<c_void>();
        match n {
            1 => assert_eq!(cl!(clEnqueueWriteBuffer(q, table, 1, 4, 4, from, 0, null(), none)), 0),
            2 => assert_eq!(cl!(clEnqueueFillBuffer(q, table, from, 4, 0, 16, 0, null(), none)), 0),
            _ => {
                let mut error = 0;
                let map = cl!(clEnqueueMapBuffer(
                    q,
                    table,
                    1,
                    CL_MAP_WRITE,
                    8,
                    4,
                    0,
                    null(),
                    none,
                    &mut error
                ));
                assert_eq!(error, 0);
                // SAFETY: four bytes are mapped.
                unsafe { map.cast::<i32>().write(n) };
                assert_eq!(cl!(clEnqueueUnmapMemObject(q, table, map, 0, null(), none)), 0);
            }
        }
    });
}

/// In shared virtual memory, that the host maps.
#[test]
#[ignore = "a scenario of the tests below"]
fn a_table_that_is_mapped() {
    let setup = Setup::new(0);
    let kernel = setup.kernel(&sum(256), "", "sum");
    let table = cl!(clSVMAlloc(setup.context, CL_MEM_READ_WRITE, 1024, 0));
    let out = setup.buffer(&[0i32; 32]);
    assert_eq!((cl!(clSetKernelArgSVMPointer(kernel, 0, table)), set(kernel, 1, &out)), (0, 0));
    for n in 0..LAUNCHES {
        let (q, none) = (setup.queue, null_mut());
        assert_eq!(cl!(clEnqueueSVMMap(q, 1, CL_MAP_WRITE, table, 1024, 0, null(), none)), 0);
        // SAFETY: 1024 bytes are mapped.
        unsafe { table.cast::<i32>().write(n) };
        assert_eq!(cl!(clEnqueueSVMUnmap(q, table, 0, null(), none)), 0);
        assert_eq!((setup.run(kernel, 32, Some(32)), cl!(clFinish(setup.queue))), (0, 0));
    }
}

#[test]
fn a_map_of_shared_virtual_memory_is_a_write() {
    let said = report("a_table_that_is_mapped", &[("MARGAY_CONST_CACHE_BYTES", "16384")]);
    assert!(said.contains("the host wrote it 3 times between"), "{said}");
}

#[test]
#[ignore = "a scenario of the tests below"]
fn a_table_of_a_program_that_chooses() {
    launches(2048, "-const-cache-bytes=2048", |_, _, _| {});
}

#[test]
fn what_stays_is_read_once() {
    let said = report("a_table_that_stays", &[("MARGAY_CONST_CACHE_BYTES", "16384")]);
    assert!(said.contains("constant cache of 16384 bytes for each multiprocessor"), "{said}");
    // 1 KB is 16 lines of 64 bytes; a warp asks for one line with each of its 256 reads.
    let row =
        "(1024 bytes): 1024 reads in 4 launches, 98.4 % hits; the host wrote it 0 times between";
    assert!(said.contains("sum: argument 0") && said.contains(row), "{said}");
    assert!(!said.contains("hint"), "{said}");
}

/// The FPGA-like device has 16 KB that nobody asked for, and is an accelerator.
#[test]
fn an_fpga_has_16_kb() {
    let said = report("a_table_that_stays", &[("MARGAY_GPU", "fpga")]);
    assert!(said.contains("constant cache of 16384 bytes"), "{said}");
    assert!(said.contains("1024 reads in 4 launches, 98.4 % hits"), "{said}");
    let scenario = "a_table_of_a_program_that_chooses";
    let said = report(scenario, &[("MARGAY_GPU", "fpga")]);
    assert!(said.contains("constant cache of 2048 bytes"), "the program's choice: {said}");
    let smaller = [("MARGAY_GPU", "fpga"), ("MARGAY_CONST_CACHE_BYTES", "1024")];
    assert!(report(scenario, &smaller).contains("constant cache of 1024 bytes"));
    report("an_accelerator", &[("MARGAY_GPU", "fpga")]);
}

#[test]
#[ignore = "a scenario of the tests above"]
fn an_accelerator() {
    let setup = Setup::new(0);
    let mut kind: cl_device_type = 0;
    let at = std::ptr::from_mut(&mut kind).cast::<c_void>();
    assert_eq!(cl!(clGetDeviceInfo(setup.device, CL_DEVICE_TYPE, 8, at, null_mut())), 0);
    assert_eq!(kind, CL_DEVICE_TYPE_ACCELERATOR);
    let count = |wanted| {
        let (mut n, mut platform) = (0, null_mut());
        assert_eq!(cl!(clGetPlatformIDs(1, &mut platform, null_mut())), 0);
        let error = cl!(clGetDeviceIDs(platform, wanted, 0, null_mut(), &mut n));
        (error, n)
    };
    assert_eq!(count(CL_DEVICE_TYPE_ACCELERATOR), (CL_SUCCESS, 1));
    assert_eq!(count(CL_DEVICE_TYPE_DEFAULT), (CL_SUCCESS, 1));
    assert_eq!(count(CL_DEVICE_TYPE_ALL), (CL_SUCCESS, 1));
    assert_eq!(count(CL_DEVICE_TYPE_GPU).0, CL_DEVICE_NOT_FOUND);
}

#[test]
fn every_way_of_writing_empties_it() {
    let said = report("a_table_that_is_written", &[("MARGAY_CONST_CACHE_BYTES", "16384")]);
    let row =
        "(1024 bytes): 1024 reads in 4 launches, 93.8 % hits; the host wrote it 3 times between";
    assert!(said.contains(row), "{said}");
    let hint = "hint: the host writes it before every launch, and each write throws the cache away: `global const`";
    assert!(said.contains(hint), "{said}");
}

/// The build option acts where the cache is looked at, and gives way to the command line.
#[test]
fn a_program_chooses_for_the_profile() {
    let place = format!("{}/constants-profile-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::create_dir_all(&place).unwrap();
    let profile = ("MARGAY_PROFILE", place.as_str());
    let scenario = "a_table_of_a_program_that_chooses";
    let said = report(scenario, &[profile]);
    let read = || {
        let mut files = std::fs::read_dir(&place).unwrap().flatten().map(|e| e.path());
        let file = files.find(|p| p.extension().is_some_and(|e| e == "json")).expect("a profile");
        let raw: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        std::fs::remove_file(file).unwrap();
        raw
    };
    assert!(said.contains("constant cache of 2048 bytes"), "{said}");
    // 8 KB go round in 2 KB: none of the 128 lines is there when it is asked for again, but for the words of a line.
    assert!(said.contains("(8192 bytes): 8192 reads in 4 launches, 93.8 % hits"), "{said}");
    assert_eq!(read()["constants"]["bytes"], 2048);
    let said = report(scenario, &[profile, ("MARGAY_CONST_CACHE_BYTES", "16384")]);
    assert!(
        said.contains("constant cache of 16384 bytes") && said.contains("98.4 % hits"),
        "{said}"
    );
    assert_eq!(read()["constants"]["bytes"], 16384);
    // Without anybody who looks nothing is said.
    assert!(!report(scenario, &[]).contains("constant cache"));
    std::fs::remove_dir_all(&place).unwrap();
}
