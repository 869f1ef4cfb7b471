// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay run --check`: which launches are checked, and how a run ends. What is found is for `tests/checks`.

use serde_json::Value;

use super::{Outcome, Place, clang, libraries};

/// Three launches; the second reads past its array, and nothing waits for the third, which races.
const PROGRAM: &str = "\
__global__ void fine(int *p) { p[threadIdx.x] = 1; }
__global__ void past(int *p) { p[threadIdx.x + 1] = 1; }
__global__ void race(int *p) { p[0] = threadIdx.x; }
int main() {
    int *p;
    cudaMalloc(&p, 128);
    fine<<<1, 32>>>(p);
    past<<<1, 32>>>(p);
    race<<<1, 32>>>(p);
    return 0;
}
";

fn listed(got: &Outcome) -> Vec<Value> {
    let start = got.stderr.find('{').expect("findings");
    let mut values = serde_json::Deserializer::from_str(&got.stderr[start..]).into_iter::<Value>();
    let report = values.next().expect("findings").expect("JSON");
    report["findings"].as_array().expect("a list").clone()
}

fn codes(got: &Outcome) -> Vec<String> {
    let list = listed(got);
    let all = list.iter().map(|f| f["code"].as_str().unwrap_or_default().to_string());
    all.filter(|c| c != "memory/leak").collect()
}

/// A program, compiled to `x`.
fn built(source: &str) -> Place {
    let place = Place::empty();
    place.write("x.cu", source);
    let built = place.margay(&["cc", "-arch=sm_90", "x.cu", "-o", "x"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    place
}

#[test]
fn launches_are_chosen_and_faults_end_what_was_asked() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built(PROGRAM);
    let run = |options: &[&str]| {
        let mut line =
            vec!["run", "--log", "off", "--check", "memory,race", "--check-format", "json"];
        line.extend(options);
        line.push("./x");
        place.margay(&line)
    };
    // A fault ends the context: what comes after does not run.
    let usual = run(&[]);
    assert_eq!((usual.code, codes(&usual)), (1, vec!["memory/out-of-bounds".into()]));
    let all = run(&["--destroy-on-device-error", "kernel"]);
    assert_eq!(codes(&all), ["memory/out-of-bounds", "race/write-write"]);
    let last = run(&["--destroy-on-device-error", "kernel", "--launch-filter", "3-"]);
    assert_eq!(codes(&last), ["race/write-write"]);
    // Numbers count what the name lets through.
    let named = run(&[
        "--destroy-on-device-error",
        "kernel",
        "--kernel-filter",
        "past",
        "--launch-filter",
        "1",
    ]);
    assert_eq!(codes(&named), ["memory/out-of-bounds"]);
    let first = run(&["--launch-filter", "1", "--error-exitcode", "7"]);
    assert_eq!((first.code, codes(&first)), (0, vec![]));
    let coded = run(&["--error-exitcode", "7"]);
    assert_eq!(coded.code, 7);
    let none = run(&["--destroy-on-device-error", "kernel", "--launch-filter", "4,9-"]);
    assert_eq!(
        (none.code, none.stderr.as_str()),
        (125, "margay: checked nothing: the filters left out all 3 launches\n")
    );
    // Without room for a shadow nothing is accused, and that is told; of the first launch nothing need be kept.
    let without_room = |launch: &str| {
        let line = "run --log off --check race --check-format json --destroy-on-device-error kernel --launch-filter";
        let line: Vec<&str> = line.split(' ').chain([launch, "./x"]).collect();
        place.finish(place.command(&line).env("MARGAY_CHECK_MEMORY", "0"))
    };
    let full = without_room("3");
    assert_eq!((full.code, codes(&full)), (0, vec!["race/incomplete".into()]));
    let little = without_room("1");
    assert_eq!((little.code, codes(&little)), (0, vec![]));
    for wrong in ["0", "3-1", "a", "1,,2"] {
        let got = run(&["--launch-filter", wrong]);
        assert!(got.code == 2 && got.stderr.contains("--launch-filter"), "{wrong}: {}", got.stderr);
    }
}

/// Each thread waits for a flag of a thread of another warp, and reads what that wrote before.
const FLAGS: &str = "\
__global__ void flags(int *data, int *flag, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = i;
    __threadfence();
    atomicExch(&flag[i], 1);
    while (atomicAdd(&flag[i ^ 32], 0) == 0) {}
    __threadfence();
    out[i] = data[i ^ 32];
}
__global__ void much(int *data, int *flag) {
    __shared__ int own;
    int i = threadIdx.x;
    for (int j = 0; j < 4096; j++) data[256 * j + (i ^ j & 7)] = i;
    __threadfence();
    if (i == 7) atomicExch(flag, 1);
    own = i;
    __syncthreads();
    data[i] = own;
}
__global__ void apart(int *data, int *flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __threadfence();
    atomicExch(&flag[i], 1);
    data[i % 64] = i;
}
int main() {
    int *p;
    cudaMalloc(&p, 3 << 19);
    cudaMemset(p, 0, 3 << 19);
    flags<<<512, 256>>>(p, p + (1 << 17), p + (2 << 17));
    apart<<<512, 256>>>(p, p + (1 << 17));
    int *q;
    cudaMalloc(&q, 4 << 20);
    much<<<1, 256>>>(q, p);
    cudaDeviceSynchronize();
}
";

/// Where it is not kept what is released by words, who reads them is not accused, and that is told. Others are.
#[test]
fn without_room_for_flags_who_reads_them_is_not_accused() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built(FLAGS);
    let messages = |kernel: &str, mib: &str| {
        let line = "run --log off --check race --check-format json --kernel-filter";
        let line: Vec<&str> = line.split(' ').chain([kernel, "./x"]).collect();
        let got = place.finish(place.command(&line).env("MARGAY_CHECK_MEMORY", mib));
        let list = listed(&got);
        list.iter().map(|f| f["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(messages("flags", "64"), [""; 0]);
    let little = messages("flags", "1");
    let is_told = |what: &str| little.iter().filter(|m| m.contains(what)).count();
    assert_eq!(is_told("synchronise by more words than"), 1, "{little:?}");
    assert_eq!(is_told("room for"), little.len(), "{little:?}");
    let apart = messages("apart", "1");
    let is_told = |what: &str| apart.iter().any(|m| m.contains(what));
    assert!(is_told("write and write by two") && is_told("synchronise by more"), "{apart:?}");
    // Data that have no room leave some for a few flags: other memory is watched as before.
    let much = messages("much", "1");
    let is_told = |what: &str| much.iter().any(|m| m.contains(what));
    assert!(is_told("touches more global memory than"), "{much:?}");
    assert!(is_told("write and write by two") && !is_told("synchronise by more"), "{much:?}");
}

/// One generic pointer, into the one or the other memory by the number of the program's arguments.
const WINDOWS: &str = "\
__global__ void past(int *out, int which) {
    __shared__ int own[32];
    int list[8];
    for (int i = 0; i < 8; i++) list[i] = out[i];
    int *p = which == 1 ? own : which == 2 ? list : which == 3 ? out : (int *)((char *)own + 2);
    p[which == 4 ? 0 : which * 100] = 3;
    __syncthreads();
    out[threadIdx.x] = own[threadIdx.x] + list[threadIdx.x % 8];
}
int main(int count, char **) {
    int *p;
    cudaMalloc(&p, 400);
    cudaMemset(p, 0, 400);
    past<<<1, 32>>>(p, count);
    cudaDeviceSynchronize();
}
";

#[test]
fn faults_of_generic_accesses_name_the_space_and_its_cure() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    const MISALIGNED: &str = "memory/misaligned";
    let place = built(WINDOWS);
    for (arguments, code, at, cure) in [
        (&[][..], "memory/shared-out-of-bounds", "at 0x190 (Shared)", "the array's size, and"),
        (
            &["a"],
            "memory/local-out-of-bounds",
            "(Local)",
            "check the index against the array's size",
        ),
        (
            &["a", "b"],
            "memory/out-of-bounds",
            "(Generic)",
            "800 bytes past the end of the 400 bytes",
        ),
        (&["a", "b", "c"], MISALIGNED, "at 0x2 (Shared)", "an address that 4 divides"),
    ] {
        let line = ["run", "--log", "off", "--check", "memory", "./x"];
        let got = place.margay(&[&line[..], arguments].concat());
        assert_eq!(got.code, 1, "{}", got.stderr);
        let how = if code == MISALIGNED { "misaligned" } else { "illegal" };
        for part in [&format!("error[{code}]: {how} write of 4 bytes"), at, cure] {
            assert!(got.stderr.contains(part), "no {part:?} in {}", got.stderr);
        }
        assert!(!got.stderr.contains("null"), "{}", got.stderr);
    }
}
