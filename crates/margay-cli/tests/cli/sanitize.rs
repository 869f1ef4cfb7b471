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
    // A report is a report, also of nothing.
    assert_eq!((none.code, codes(&none)), (125, vec![]));
    let said = "margay: checked nothing: the filters left out all 3 launches\n";
    assert!(none.stderr.ends_with(said), "{}", none.stderr);
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

/// An index that is so large that it leaves one allocation, and lies behind another one.
const FAR: &str = "\
__global__ void far(const int *small, int *large, int at) { large[threadIdx.x] = small[at + threadIdx.x]; }
int main() {
    int *small, *large;
    cudaMalloc(&small, 400);
    cudaMalloc(&large, 800);
    cudaMemset(small, 0, 400);
    far<<<1, 32>>>(small, large, (int)(large - small) + 1000);
    cudaDeviceSynchronize();
}
";

#[test]
fn the_allocation_that_was_meant_is_named() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built(FAR);
    for engine in ["interp", "jit"] {
        let line = ["run", "--log", "off", "--engine", engine, "--check", "memory", "./x"];
        let got = place.margay(&line);
        assert_eq!(got.code, 1, "{}", got.stderr);
        assert!(
            got.stderr.contains("past the end of the 400 bytes of `cudaMalloc`"),
            "{}",
            got.stderr
        );
    }
}

/// A kernel that fills what another one reads.
const FILLED: &str = "\
__global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x; }
__global__ void use(const int *p, int *out) {
    if (p[threadIdx.x] > 3) atomicAdd(out, 1);
}
int main() {
    int *p, *out;
    cudaMalloc(&p, 128);
    cudaMalloc(&out, 4);
    cudaMemset(out, 0, 4);
    fill<<<1, 32>>>(p);
    use<<<1, 32>>>(p, out);
    cudaDeviceSynchronize();
}
";

/// What a kernel writes that a filter leaves out is written all the same.
#[test]
fn kernels_that_are_not_checked_write_all_the_same() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built(FILLED);
    for filter in [&["--kernel-filter", "use"], &["--launch-filter", "2"]] {
        let line = ["run", "--log", "off", "--check", "init", "--check-format", "json"];
        let got = place.margay(&[&line[..], filter, &["./x"]].concat());
        assert_eq!((got.code, listed(&got).len()), (0, 0), "{filter:?}: {}", got.stderr);
    }
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

/// No launch, but calls that are wrong; the lines of these are told.
const CALLS: &str = "\
__device__ int symbol[4];
int *made(int bytes) {
    int *p;
    cudaMalloc(&p, bytes);
    return p;
}
int main() {
    char host[400];
    int *p = made(100);
    cudaMemcpy(host, p, 101, cudaMemcpyDeviceToHost);
    cudaMemset(p, 0, 104);
    cudaMemcpyToSymbol(symbol, host, 20);
    cudaMemcpyToSymbol(symbol, host, 8, 64);
    cudaFree(p);
    cudaFree(p);
    cudaMemcpy(p, host, 4, cudaMemcpyHostToDevice);
    made(7);
}
";

#[test]
fn calls_are_told_with_their_names_and_lines_even_without_a_launch() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built(CALLS);
    let got = place.margay(&["run", "--check", "memory", "--check-format", "json", "./x"]);
    assert!(got.code == 125 && got.stderr.contains("checked nothing"), "{}", got.stderr);
    let mut sites: Vec<(String, String, u64)> = Vec::new();
    for finding in listed(&got) {
        let side = &finding["actors"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        assert!(text(&side["source"]["file"]).ends_with("x.cu"), "{finding}");
        let line = side["source"]["line"].as_u64().unwrap();
        sites.push((text(&finding["code"]), text(&side["action"]), line));
    }
    let site = |code: &str, call: &str, line| (format!("memory/{code}"), call.to_owned(), line);
    assert_eq!(
        sites,
        [
            site("invalid-copy", "cudaMemcpy", 10),
            site("invalid-copy", "cudaMemset", 11),
            site("invalid-copy", "cudaMemcpyToSymbol", 12),
            site("invalid-copy", "cudaMemcpyToSymbol", 13),
            site("double-free", "cudaFree", 15),
            site("use-after-free", "cudaMemcpy", 16),
            site("leak", "allocated", 4),
        ]
    );
    let text = place.margay(&["run", "--check", "memory", "./x"]).stderr;
    for part in [
        "where 16 are left of the 16 of `symbol`",
        "where 100 are left of the 100 of `cudaMalloc`",
        "x.cu:4; freed at ",
        "cudaMemset by the host program",
        "6 errors, 0 warnings, 1 note in 0 launches checked",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    // Where nothing was launched, the files are written all the same.
    for format in ["json", "sarif"] {
        let line =
            format!("run --check all --check-format {format} --check-output out.{format} ./x");
        assert_eq!(place.margay(&line.split(' ').collect::<Vec<_>>()).code, 125);
        let text = std::fs::read_to_string(place.path(&format!("out.{format}"))).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let list = [&report["findings"], &report["runs"][0]["results"]];
        assert_eq!(list.iter().find_map(|l| l.as_array()).unwrap().len(), 7, "{format}");
    }
    // What is saved hides these calls, and no others.
    let save = place.margay(&["run", "--check", "memory", "--save-suppressions", "s", "./x"]);
    let saved = std::fs::read_to_string(place.path("s")).unwrap();
    assert!(saved.contains("memory/invalid-copy - x.cu:10\n"), "{saved}{}", save.stderr);
    let line = "run --check memory --check-format json --suppressions s ./x";
    assert_eq!(listed(&place.margay(&line.split(' ').collect::<Vec<_>>())), [Value::Null; 0]);
    place.write(
        "x.cu",
        CALLS.replace("int main() {\n", &("int main() {\n".to_owned() + &"\n".repeat(20))),
    );
    place.margay(&["cc", "-arch=sm_90", "x.cu", "-o", "x"]);
    let moved = place.margay(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(listed(&moved).len(), 6, "{}", moved.stderr);
}

#[test]
fn what_a_kernel_leaves_tells_where_it_was_allocated() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built(PROGRAM);
    let got = place.margay(&["run", "--log", "off", "--check", "memory", "./x"]);
    assert!(got.stderr.contains("allocated at $DIR/x.cu:6"), "{}", got.stderr);
    // A fault has ended the context, so that nothing can be freed.
    assert!(!got.stderr.contains("memory/leak"), "{}", got.stderr);
    let line = "run --log off --check memory --destroy-on-device-error kernel ./x";
    let alive = place.margay(&line.split(' ').collect::<Vec<_>>());
    assert!(alive.stderr.contains("memory/leak"), "{}", alive.stderr);
}

/// Which of the two is first depends on the schedule; so does the number that is printed.
const CHANCE: &str = "\
#include <cstdio>
__global__ void last(int *p) { if (threadIdx.x == 0) p[0] = blockIdx.x; }
int main(int count, char **) {
    int *p, host = 0;
    cudaMalloc(&p, 4);
    last<<<64, 32>>>(p);
    cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost);
    printf(\"%d\\n\", count > 1 ? 0 : host);
    cudaFree(p);
}
";

#[test]
fn schedules_tell_whether_results_differ() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built(CHANCE);
    let line = ["run", "--check", "race", "--schedules", "6"];
    let run = |rest: &[&str]| place.margay(&[&line[..], rest].concat());
    let other = run(&["./x"]);
    assert!(other.stderr.contains("6 schedules: results differ: output of "), "{}", other.stderr);
    assert!(other.stderr.contains("what is copied from the device of "), "{}", other.stderr);
    // Of what it copies that is told also where it is not printed.
    let quiet = run(&["./x", "quiet"]);
    assert!(quiet.stderr.contains("results differ: what is copied"), "{}", quiet.stderr);
    // What the program writes comes through.
    assert_eq!(other.stdout.lines().count(), 6);
    // Both sides are on one line, so it is one finding.
    assert!(other.stderr.contains("1 error, 0 warnings"), "{}", other.stderr);
    let json = run(&["--check-format", "json", "./x"]);
    let report: Value =
        serde_json::Deserializer::from_str(&json.stderr[json.stderr.find('{').unwrap()..])
            .into_iter()
            .next()
            .unwrap()
            .unwrap();
    assert_eq!(
        (&report["schedules"]["schedules"], &report["schedules"]["differ"]),
        (&6.into(), &true.into())
    );
}

#[test]
fn what_cannot_be_is_refused_before_the_program_runs() {
    if !libraries("sanitize") || !clang("sanitize") {
        return;
    }
    let place = built("#include <cstdio>\nint main() { puts(\"ran\"); }\n");
    place.write("bad", "# a comment\nrace/streams k my file.cu:7\n");
    for (options, part) in [
        (&["--check-output", "no/such/file"][..], "--check-output no/such/file: cannot be written"),
        (&["--save-suppressions", "no/such/file"], "--save-suppressions no/such/file: cannot be"),
        (&["--suppressions", "bad"], "bad:2: a place is FILE:LINE"),
    ] {
        let got = place.margay(&[&["run", "--check", "all"][..], options, &["./x"]].concat());
        assert_eq!((got.code, got.stdout.as_str()), (2, ""), "{options:?}");
        assert!(got.stderr.contains(part), "no {part:?} in {}", got.stderr);
    }
    let mut command = place.command(&["run", "--check", "all", "./x"]);
    let got = place.finish(command.env("MARGAY_CHECK_MEMORY", "abc"));
    assert_eq!((got.code, got.stdout.as_str()), (2, ""));
    assert!(
        got.stderr.contains("MARGAY_CHECK_MEMORY=abc: expected a number of MiB"),
        "{}",
        got.stderr
    );
    // Trying leaves no file behind.
    let line = ["run", "--check", "all", "--check-output", "out", "/no/such/program"];
    assert!(place.margay(&line).code != 0 && !place.path("out").exists());
}
