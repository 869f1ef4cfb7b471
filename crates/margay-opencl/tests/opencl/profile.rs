// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each of OpenCL's memory spaces is in the profile under its own account; what of private memory does not fit into
//! registers is in CUDA's local memory.

use std::collections::BTreeSet;
use std::ptr::null;

use crate::cl;
use crate::common::*;

#[test]
#[ignore = "a scenario of the test below"]
fn a_kernel_of_all_spaces() {
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o, constant int *c, local int *l) {
        int a[64]; int i = get_global_id(0);
        for (int k = 0; k < 64; k++) a[k] = o[k] + k;
        l[get_local_id(0)] = c[i & 3]; barrier(CLK_LOCAL_MEM_FENCE);
        o[i] = a[o[i] & 63] + l[get_local_id(0) ^ 1]; }";
    let kernel = setup.kernel(source, "", "f");
    let (o, c) = (setup.buffer(&[1i32; 64]), setup.buffer(&[2i32; 64]));
    assert_eq!((set(kernel, 0, &o), set(kernel, 1, &c)), (0, 0));
    assert_eq!(cl!(clSetKernelArg(kernel, 2, 128, null())), 0);
    // What is in private memory is told beforehand: the array, and the registers that do not fit.
    let mut private = 0u64;
    let to = std::ptr::from_mut(&mut private).cast();
    let what = CL_KERNEL_PRIVATE_MEM_SIZE;
    let nowhere = std::ptr::null_mut();
    assert_eq!(cl!(clGetKernelWorkGroupInfo(kernel, setup.device, what, 8, to, nowhere)), 0);
    assert!(private >= 256, "{private}");
    assert_eq!((setup.run(kernel, 64, Some(32)), cl!(clFinish(setup.queue))), (0, 0));
}

/// What a scenario of this file leaves in the folder that `variable` names.
fn left_by(scenario: &str, variable: &str, more: &[(&str, &str)]) -> serde_json::Value {
    let tmp = env!("CARGO_TARGET_TMPDIR");
    let place = format!("{tmp}/{scenario}-{}", std::process::id());
    std::fs::create_dir_all(&place).unwrap();
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", &format!("profile::{scenario}")])
        .env(variable, &place)
        .envs(more.iter().copied())
        .current_dir(tmp)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let mut files = std::fs::read_dir(&place).unwrap().flatten().map(|e| e.path());
    let file = files.find(|p| p.extension().is_some_and(|e| e == "json")).expect("a file");
    let raw = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    raw
}

#[test]
#[ignore = "a scenario of the test below"]
fn a_race_in_local_memory() {
    let setup = Setup::new(0);
    // Another program before it: both are strings, and each has a name of its own.
    setup.kernel("kernel void first() {}", "", "first");
    let source = "kernel void f(global int *o, local int *l) {
        l[get_local_id(0)] = get_global_id(0);
        o[get_global_id(0)] = l[get_local_id(0) ^ 32]; }";
    let kernel = setup.kernel(source, "", "f");
    let o = setup.buffer(&[1i32; 64]);
    assert_eq!((set(kernel, 0, &o), cl!(clSetKernelArg(kernel, 1, 256, null()))), (0, 0));
    assert_eq!((setup.run(kernel, 64, Some(64)), cl!(clFinish(setup.queue))), (0, 0));
}

/// Findings are in OpenCL's words, with the lines of a source that lies in no file.
#[test]
fn a_finding_shows_the_program_s_own_lines() {
    let raw = left_by("a_race_in_local_memory", "MARGAY_CHECK_DIR", &[("MARGAY_CHECK", "race")]);
    let [finding] = &raw["findings"].as_array().unwrap()[..] else { panic!("one: {raw:#}") };
    assert_eq!(
        (finding["code"].as_str(), finding["words"].as_str()),
        (Some("race/read-write"), Some("opencl"))
    );
    assert_eq!(finding["space"], "local");
    assert!(
        finding["message"].as_str().unwrap().contains("two sub-groups of a work-group"),
        "{raw:#}"
    );
    assert!(finding["cure"].as_str().unwrap().contains("barrier(CLK_LOCAL_MEM_FENCE)"), "{raw:#}");
    let mut told: Vec<(u64, &str)> = Vec::new();
    for actor in finding["actors"].as_array().unwrap() {
        let source = &actor["source"];
        assert_eq!(source["file"], "program-2.cl");
        told.push((source["line"].as_u64().unwrap(), source["text"].as_str().unwrap().trim()));
    }
    told.sort_unstable();
    assert_eq!(
        told,
        [
            (2, "l[get_local_id(0)] = get_global_id(0);"),
            (3, "o[get_global_id(0)] = l[get_local_id(0) ^ 32]; }")
        ]
    );
}

#[test]
fn every_space_has_its_account() {
    let raw = left_by("a_kernel_of_all_spaces", "MARGAY_PROFILE", &[]);
    let text = raw["sources"]["program.cl"].as_str().unwrap();
    assert!(text.contains("a[k] = o[k] + k"), "{text}");
    let sites = raw["kernels"][0]["sites"].as_array().unwrap();
    let seen: BTreeSet<String> = sites
        .iter()
        .map(|s| format!("{} {}", s["space"].as_str().unwrap(), s["kind"].as_str().unwrap()))
        .collect();
    for wanted in [
        "global load",
        "global store",
        "constant load",
        "shared load",
        "shared store",
        "local load",
        "local store",
    ] {
        assert!(seen.contains(wanted), "{wanted} is not in {seen:?}");
    }
}
