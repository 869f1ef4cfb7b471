// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay run --profile` and `margay diff`.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Place, clang, libraries};

const TRANSPOSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/transpose.cu");

fn ready(test: &str) -> bool {
    libraries(test) && clang(test)
}

fn read(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(place.path(name)).unwrap()).unwrap()
}

fn kernel<'a>(report: &'a Value, name: &str) -> &'a Value {
    let kernels = report["kernels"].as_array().unwrap();
    kernels.iter().find(|k| k["name"].as_str().unwrap().starts_with(name)).unwrap()
}

#[test]
fn the_three_transposes() {
    if !ready("the_three_transposes") {
        return;
    }
    let place = Place::empty();
    let models =
        ["run", "--profile=t.json", "--profile=t.html", "--profile", "--models", "1.0,2.0"];
    let mut line = models.to_vec();
    line.push(TRANSPOSE);
    let got = place.margay(&line);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert_eq!(got.stdout, "transposed 256 x 256 in three ways: OK\n");
    assert!(got.stderr.contains("profile written to t.json"), "{}", got.stderr);
    // The report is wrapped at the terminal's width: a phrase may go over a line's end.
    let shown = got.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Profile for NVIDIA H200 (9.0), GeForce 8800 GTX (1.0), Tesla C2050 (2.0)",
        "column access of `tile`",
        "cure: pad each row of `tile` by 4 bytes: [32][33] instead of [32][32] (67,584 → 4,096 wavefronts",
        "neighbouring lanes are 1,024 bytes apart in `out`",
    ] {
        assert!(shown.contains(part), "{part:?} is not in:\n{}", got.stderr);
    }
    let report = read(&place, "t.json");
    assert_eq!(report["schema"], "margay-profile");
    assert_eq!((&report["complete"], &report["ended"]), (&true.into(), &"exit 0".into()));
    let names: Vec<&str> =
        report["gpus"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["h200", "8800gtx", "c2050"]);
    let cell = |name, what: &str, unit: &str| {
        kernel(&report, name)["totals"][0]["spaces"][what][unit].as_u64()
    };
    // 64 blocks of 8 warps, 4 elements a thread.
    assert_eq!(cell("transpose_naive", "global_store", "sectors"), Some(2048 * 32));
    assert_eq!(cell("transpose_naive", "global_load", "sectors"), Some(2048 * 4));
    assert_eq!(cell("transpose_tiled", "shared_load", "wavefronts"), Some(2048 * 32));
    assert_eq!(cell("transpose_padded", "shared_load", "wavefronts"), Some(2048));
    assert_eq!(cell("transpose_padded", "shared_store", "wavefronts"), Some(2048));
    let metrics = &kernel(&report, "transpose_tiled")["totals"][0]["metrics"];
    let name = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld";
    assert_eq!(metrics[name], 2048 * 32);
    let padded = kernel(&report, "transpose_padded")["accesses"].as_array().unwrap();
    assert!(padded.iter().all(|a| a["gpus"][0]["finding"].is_null()), "{padded:?}");
    // The cure's promise is what the padded kernel really has: both directions of the tile.
    let tiled = kernel(&report, "transpose_tiled")["accesses"].as_array().unwrap();
    let cure = tiled.iter().find_map(|a| a["gpus"][0]["finding"]["cure"].as_object()).unwrap();
    assert_eq!(
        (&cure["kind"], &cure["before"], &cure["after"]),
        (&"pad".into(), &(2048 * 33).into(), &4096.into())
    );
    let page = std::fs::read_to_string(place.path("t.html")).unwrap();
    assert!(
        page.starts_with("<!DOCTYPE html>") && !page.contains("http://") || page.contains("w3.org")
    );
}

#[test]
fn a_program_that_launches_nothing_fails() {
    if !libraries("a_program_that_launches_nothing_fails") {
        return;
    }
    let place = Place::empty();
    place.fails(
        &["run", "--profile", "true"],
        1,
        "margay: error: the program launched no kernel on margay's GPU: there is nothing to profile",
    );
    let got = place.margay(&["run", "--profile", "sh", "-c", "exit 7"]);
    assert_eq!(got.code, 7);
    assert!(got.stderr.contains("launched no kernel"), "{}", got.stderr);
}

#[test]
fn wrong_profile_options() {
    let place = Place::empty();
    for (line, part) in [
        (&["run", "--profile=x.txt", "true"][..], "must end in .json or .html"),
        (&["run", "--profile=none/x.json", "true"], "there is no such directory"),
        (&["run", "--models", "2.0", "true"], "--models is for --profile"),
        (&["run", "--profile", "--models", "2.0,h20", "true"], "Did you mean"),
        (&["run", "--profile", "--models", "voodoo2", "true"], "`margay gpus` lists all"),
        (&["run", "--profile", "--models", "voodoo2", "true"], "Known: 8800gtx"),
        (&["run", "--profile", "--json", "true"], "choose one"),
    ] {
        let got = place.margay(line);
        assert_eq!(got.code, 2, "{line:?}: {}", got.stderr);
        assert!(got.stderr.contains(part), "{line:?}: {}", got.stderr);
    }
}

const SPIN: &str = "#include <cstdio>\n\
    __global__ void work(int *p) { p[threadIdx.x] += 1; }\n\
    __global__ void spin(volatile int *p) { while (*p >= 0) { } }\n\
    int main() {\n\
      int *p;\n\
      cudaMalloc(&p, 128);\n\
      for (int n = 0; n < 5; n++) work<<<1, 32>>>(p);\n\
      cudaDeviceSynchronize();\n\
      std::puts(\"spinning\"); std::fflush(stdout);\n\
      spin<<<1, 32>>>(p);\n\
      cudaDeviceSynchronize();\n\
    }\n";

#[test]
fn a_killed_program_leaves_what_it_had() {
    use std::io::{BufRead, BufReader};
    if !ready("a_killed_program_leaves_what_it_had") {
        return;
    }
    let place = Place::empty();
    place.write("spin.cu", SPIN);
    let mut command = place.command(&["run", "--profile=k.json", "spin.cu"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "spinning\n");
    std::thread::sleep(Duration::from_secs(3));
    // The command passes the signal on, and reports.
    // SAFETY: a system call.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let start = Instant::now();
    let status = child.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(status.code(), Some(143));
    let report = read(&place, "k.json");
    assert_eq!((&report["complete"], &report["ended"]), (&false.into(), &"signal 15".into()));
    assert_eq!(kernel(&report, "work")["launches"], 5);
    assert_eq!(kernel(&report, "work")["totals"][0]["spaces"]["global_load"]["executions"], 5);
    // The kernel that never ended had handed in what it did until then.
    let spin = kernel(&report, "spin")["totals"][0]["spaces"]["global_load"]["executions"].as_u64();
    assert!(spin.is_some_and(|n| n > 1000), "{spin:?}");
}

#[test]
fn ten_thousand_launches_stay_small() {
    if !ready("ten_thousand_launches_stay_small") {
        return;
    }
    let place = Place::empty();
    place.write(
        "many.cu",
        "__global__ void k(int *p, int n) { if ((int)threadIdx.x < n) p[threadIdx.x * n] = n; }\n\
         int main() { int *p; cudaMalloc(&p, 1 << 16);\n\
         for (int n = 0; n < 10000; n++) k<<<1 + n % 3, 32>>>(p, n % 32);\n\
         return cudaDeviceSynchronize(); }\n",
    );
    let got = place.margay(&["run", "--profile=m.json", "--profile=m.html", "many.cu"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    for name in ["m.json", "m.html"] {
        let size = std::fs::metadata(place.path(name)).unwrap().len();
        assert!(size < 20 << 20, "{name}: {size} bytes");
    }
    let report = read(&place, "m.json");
    assert_eq!(report["launches"]["total"], 10_000);
    assert_eq!(report["launches"]["rows"].as_array().unwrap().len(), 10_000);
}

#[test]
fn differences_and_their_threshold() {
    if !ready("differences_and_their_threshold") {
        return;
    }
    let place = Place::empty();
    let source = |step: u32| {
        format!(
            "__global__ void k(int *p) {{ p[threadIdx.x * {step}] = 1; }}\n\
             int main() {{ int *p; cudaMalloc(&p, 1 << 16); k<<<1, 32>>>(p); return cudaDeviceSynchronize(); }}\n"
        )
    };
    for (name, step) in [("a", 1), ("b", 8)] {
        place.write(&format!("{name}.cu"), source(step));
        let output = format!("--profile={name}.json");
        let got = place.margay(&["run", &output, "--models", "2.0", &format!("{name}.cu")]);
        assert_eq!(got.code, 0, "{}", got.stderr);
    }
    let got = place.margay(&["diff", "a.json", "b.json"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(got.stdout.contains("global store sectors"), "{}", got.stdout);
    assert!(got.stdout.contains("+700.0 %"), "{}", got.stdout);
    let worse = ["diff", "a.json", "b.json", "--threshold", "5"];
    assert_eq!(place.margay(&worse).code, 1);
    assert_eq!(place.margay(&["diff", "b.json", "a.json", "--threshold", "5"]).code, 0);
    assert_eq!(place.margay(&["diff", "a.json", "a.json", "--threshold", "0"]).code, 0);
    let json = place.margay(&["diff", "a.json", "b.json", "--gpu", "2.0", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["gpu"], "c2050");
    let rows = json["rows"].as_array().unwrap();
    let row = rows.iter().find(|r| r["counter"] == "global_store transactions").unwrap();
    // Stores of 2.x go past L1, in segments of 32 bytes: 128 bytes in a row, then one for each lane.
    assert_eq!((&row["before"], &row["after"]), (&4.into(), &32.into()));
    place.write("x.json", "{}");
    assert_eq!(place.margay(&["diff", "a.json", "x.json"]).code, 2);
    assert_eq!(place.margay(&["diff", "a.json", "none.json"]).code, 125);
    assert_eq!(place.margay(&["diff", "a.json", "b.json", "--gpu", "sm_90a"]).code, 0);
    assert_eq!(place.margay(&["diff", "a.json", "b.json", "--gpu", "v100"]).code, 2);
}

/// Textures and surfaces have rows, at the program's lines and not those of the headers that wrap the instructions.
#[test]
fn textures_are_told_at_the_program_s_lines() {
    if !ready("textures_are_told_at_the_program_s_lines") {
        return;
    }
    let place = Place::empty();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/texture_objects.cu");
    let got = place.margay(&["run", "--profile=t.json", "--profile", program]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    for part in
        ["texture load", "surface store", "`surface`: suld of 6×5 texels of 4 bytes in tiles"]
    {
        assert!(got.stderr.contains(part), "{part:?} is not in:\n{}", got.stderr);
    }
    assert!(!got.stderr.contains("lie in 0.0 sectors"), "{}", got.stderr);
    let report = read(&place, "t.json");
    let linear = kernel(&report, "linear");
    let cell = &linear["totals"][0]["spaces"]["texture_load"];
    assert_eq!((&cell["executions"], &cell["texels"]), (&2.into(), &64.into()));
    assert_eq!(linear["caches"]["texture_misses"], 5);
    let source = std::fs::read_to_string(program).unwrap();
    let call = |word: &str| 1 + source.lines().position(|l| l.contains(word)).unwrap();
    let lines: Vec<u64> = (linear["accesses"].as_array().unwrap().iter())
        .filter(|a| a["space"] == "texture")
        .inspect(|a| assert!(a["header"].is_null(), "{a}"))
        .map(|a| a["line"].as_u64().unwrap())
        .collect();
    let calls = ["tex1Dfetch<float>(bytes, i)", "tex2D<int>(rows, i % 8"].map(|c| call(c) as u64);
    assert_eq!(lines, calls);
    let names: Vec<&str> = (linear["variables"].as_array().unwrap().iter())
        .map(|v| v["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"bytes") && names.contains(&"rows"), "{names:?}");
}

/// On 3.x the banks of shared memory are as wide as the program wants them, and L1 takes from shared memory what the
/// kernel prefers: both reach the figures.
#[test]
fn bank_width_and_cache_preference_of_3_x() {
    if !ready("bank_width_and_cache_preference_of_3_x") {
        return;
    }
    let place = Place::empty();
    place.write(
        "x.cu",
        "#include <cstdio>\n\
         __device__ void body(float *p) {\n\
           __shared__ float s[2048];\n\
           s[threadIdx.x] = p[threadIdx.x];\n\
           __syncthreads();\n\
           p[threadIdx.x] = s[32 + 2 * threadIdx.x];\n\
         }\n\
         __global__ void narrow(float *p) { body(p); }\n\
         __global__ void wide(float *p) { body(p); }\n\
         int fit(void (*kernel)(float *)) {\n\
           int n = -1;\n\
           cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, kernel, 32, 0);\n\
           return n;\n\
         }\n\
         int main() {\n\
           float *p;\n\
           cudaMalloc(&p, 128);\n\
           narrow<<<1, 32>>>(p);\n\
           cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte);\n\
           wide<<<1, 32>>>(p);\n\
           int before = fit(narrow);\n\
           cudaFuncSetCacheConfig(narrow, cudaFuncCachePreferL1);\n\
           int own = fit(narrow);\n\
           cudaDeviceSetCacheConfig(cudaFuncCachePreferEqual);\n\
           printf(\"%d %d %d\\n\", before, own, fit(wide));\n\
           return cudaDeviceSynchronize();\n\
         }\n",
    );
    for (gpu, fits, passes) in [("sm_35", "6 2 4\n", [2, 1]), ("sm_50", "8 8 8\n", [2, 2])] {
        let got = place.margay(&["run", "--gpu", gpu, "--profile=x.json", "x.cu"]);
        assert_eq!((got.code, got.stdout.as_str()), (0, fits), "{gpu}: {}", got.stderr);
        let report = read(&place, "x.json");
        for (name, passes) in ["narrow", "wide"].iter().zip(passes) {
            let found = kernel(&report, name);
            let cell = &found["totals"][0]["spaces"]["shared_load"]["wavefronts"];
            assert_eq!(cell.as_u64(), Some(passes), "{gpu} {name}: {cell}");
        }
    }
}
