// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels launched from device code: what compiles, what is refused and with which words, and what a fault in a
//! child says.

use super::{Outcome, Place, clang, libraries};

const PARENT: &str = "\
__global__ void child(int *p) { *p += 1; }
template <class T> __global__ void any(T *p, char by) { *p += by; }
__global__ void parent(int *p) {
  child<<<1, 1>>>(p);
  any<<<1, 1>>>(p, 2);
}
";

fn main_of(launch: &str) -> String {
    format!(
        "#include <cstdio>\nint main() {{\n  int *p;\n  cudaMallocManaged(&p, 4);\n  {launch};\n  \
         cudaError_t e = cudaDeviceSynchronize();\n  printf(\"%s %d\\n\", cudaGetErrorName(e), e ? 0 : *p);\n}}\n"
    )
}

fn run(place: &Place, arguments: &[&str]) -> Outcome {
    place.margay(&[&["run", "-rdc=true"], arguments].concat())
}

#[test]
fn what_launches_need_is_said_where_they_stand() {
    if !clang("what_launches_need_is_said_where_they_stand") {
        return;
    }
    let place = Place::empty();
    place.write("a.cu", PARENT);
    let alone = place.margay(&["cc", "-c", "a.cu"]);
    assert_eq!(alone.code, 1, "{}", alone.stderr);
    let wanted = "a.cu:4:3: error: kernel launch from __device__ or __global__ functions requires separate compilation \
                  mode: compile with -rdc=true\n";
    assert!(alone.stderr.contains(wanted), "{}", alone.stderr);
    assert!(!alone.stderr.contains("__cudaPushCallConfiguration"), "{}", alone.stderr);
    let old = place.margay(&["cc", "-c", "-rdc=true", "-arch=sm_30", "a.cu"]);
    assert_eq!(old.code, 1);
    assert!(old.stderr.contains("a.cu:4:3: error: "), "{}", old.stderr);
    assert!(
        old.stderr.contains("need compute capability 3.5, and this is for sm_30"),
        "{}",
        old.stderr
    );
}

#[test]
fn waiting_for_children_ended_with_cuda_12() {
    if !clang("waiting_for_children_ended_with_cuda_12") || !libraries("the link") {
        return;
    }
    let place = Place::empty();
    let waits = "__global__ void child(int *p) { *p += 1; }\n__global__ void parent(int *p) {\n  \
                 for (int i = 0; i < 3; i++) {\n    child<<<1, 1>>>(p);\n    cudaDeviceSynchronize();\n    \
                 *p *= 2;\n  }\n}\n";
    place.write("a.cu", format!("{waits}{}", main_of("parent<<<1, 1>>>(p)")));
    let refused = run(&place, &["a.cu"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("a.cu:5:5: error: "), "{}", refused.stderr);
    assert!(refused.stderr.contains("-DCUDA_FORCE_CDP1_IF_SUPPORTED"), "{}", refused.stderr);
    let before = run(&place, &["-arch=sm_80", "-DCUDA_FORCE_CDP1_IF_SUPPORTED", "a.cu"]);
    // ((0 + 1) * 2 + 1) * 2 + 1) * 2
    assert_eq!((before.code, before.stdout.as_str()), (0, "cudaSuccess 14\n"), "{}", before.stderr);
}

#[test]
fn kernels_of_other_files_and_of_the_same_name() {
    if !clang("kernels_of_other_files_and_of_the_same_name") || !libraries("the link") {
        return;
    }
    let place = Place::empty();
    let head = "static __global__ void mine(int *p) { atomicAdd(p, ";
    let main = main_of("parent<<<1, 1>>>(p)");
    place.write(
        "a.cu",
        format!(
            "{head}100); }}\nextern __global__ void other(int *p, char by, double d);\n__global__ void parent(int *p) {{\n  \
             other<<<1, 2>>>(p, 3, 0.5);\n  mine<<<1, 1>>>(p);\n}}\n{main}"
        ),
    );
    place.write("launches.h", "#define START(k, ...) k<<<1, 1>>>(__VA_ARGS__)\n");
    place.write(
        "b.cu",
        format!(
            "#include \"launches.h\"\n{head}10); }}\n__device__ void start(int *p) {{ START(mine, p); }}\n\
             __global__ void other(int *p, char by, double d) {{ atomicAdd(p, by * d * 2); start(p); }}\n"
        ),
    );
    for flags in [&[][..], &["-G"], &["-std=c++11"]] {
        let got = run(&place, &[flags, &["a.cu", "b.cu"]].concat());
        assert_eq!(
            (got.code, got.stdout.as_str()),
            (0, "cudaSuccess 126\n"),
            "{flags:?}: {}",
            got.stderr
        );
        assert!(!got.stderr.contains("warning"), "{flags:?}: {}", got.stderr);
    }
}

#[test]
fn files_of_any_encoding_and_place_and_endless_chains() {
    if !clang("files_of_any_encoding_and_place_and_endless_chains") || !libraries("the link") {
        return;
    }
    let place = Place::empty();
    std::fs::create_dir_all(place.path("src/deep")).unwrap();
    std::fs::create_dir_all(place.path("src/other")).unwrap();
    let header = b"// \xe9t\xe9\n__global__ void chain(int *p, int left) {\n  ++*p;\n  \
                   if (left) chain<<<1, 1, 0, cudaStreamTailLaunch>>>(p, left < 0 ? left : left - 1);\n}\n";
    place.write("src/other/chain.cuh", header);
    let main = main_of("*p = 0, chain<<<1, 1>>>(p, argc > 1 ? -1 : 99)")
        .replace("main()", "main(int argc, char **)");
    place.write("src/deep/a.cu", format!("#include \"../other/chain.cuh\"\n{main}"));
    let got = run(&place, &["src/deep/a.cu"]);
    assert_eq!((got.code, got.stdout.as_str()), (0, "cudaSuccess 100\n"), "{}", got.stderr);
    let got = run(&place, &["--timeout", "1", "src/deep/a.cu", "--", "endless"]);
    assert_eq!(got.stdout, "cudaErrorLaunchTimeout 0\n", "{}", got.stderr);
}

#[test]
fn faults_of_a_launch_and_of_a_child_name_both_sides() {
    if !clang("faults_of_a_launch_and_of_a_child_name_both_sides") || !libraries("the link") {
        return;
    }
    let place = Place::empty();
    place.write("null.cu", format!("{PARENT}{}", main_of("parent<<<1, 1>>>(nullptr)")));
    let got = run(&place, &["null.cu"]);
    assert_eq!(got.stdout, "cudaErrorIllegalAddress 0\n");
    for part in [
        "kernel _Z5childPi was launched by kernel _Z6parentPi, block (0,0,0), thread (0,0,0)",
        "in kernel _Z5childPi, block (0,0,0), thread (0,0,0)",
        "null.cu:1:36",
    ] {
        assert!(got.stderr.contains(part), "{part:?} is not in:\n{}", got.stderr);
    }
    let shared = "__global__ void child(int *p) { *p += 1; }\n__global__ void parent() {\n  __shared__ int s;\n  \
                  child<<<1, 1>>>(&s);\n}\n";
    place.write("shared.cu", format!("{shared}{}", main_of("parent<<<1, 1>>>()")));
    let got = run(&place, &["shared.cu"]);
    assert_eq!(got.stdout, "cudaErrorIllegalAddress 0\n");
    for part in ["a pointer to its block's shared memory", "shared.cu:4:"] {
        assert!(got.stderr.contains(part), "{part:?} is not in:\n{}", got.stderr);
    }
}

#[test]
fn launches_beyond_the_limit_fail_and_say_what_raises_it() {
    if !clang("launches_beyond_the_limit_fail_and_say_what_raises_it") || !libraries("the link") {
        return;
    }
    let place = Place::empty();
    let many = "#include <cstdio>\n__global__ void child(int *p) { *p += 1; }\n__global__ void parent(int *p) {\n  \
                for (int i = 0; i < 2050; i++)\n    child<<<1, 1>>>(p);\n  \
                printf(\"%s\\n\", cudaGetErrorName(cudaGetLastError()));\n}\n";
    place.write("a.cu", format!("{many}{}", main_of("parent<<<1, 1>>>(p)")));
    let got = run(&place, &["a.cu"]);
    assert_eq!(
        got.stdout, "cudaErrorLaunchPendingCountExceeded\ncudaSuccess 2048\n",
        "{}",
        got.stderr
    );
    assert!(got.stderr.contains("cudaLimitDevRuntimePendingLaunchCount"), "{}", got.stderr);
    assert_eq!(got.stderr.matches("launches more than").count(), 1, "{}", got.stderr);
}

#[test]
fn a_profile_and_the_checks_see_child_grids() {
    if !clang("a_profile_and_the_checks_see_child_grids") || !libraries("the link") {
        return;
    }
    let place = Place::empty();
    place.write("a.cu", format!("{PARENT}{}", main_of("*p = 0, parent<<<1, 1>>>(p)")));
    let got = run(&place, &["--profile=out.json", "a.cu"]);
    assert_eq!((got.code, got.stdout.as_str()), (0, "cudaSuccess 3\n"), "{}", got.stderr);
    let report = std::fs::read_to_string(place.path("out.json")).unwrap();
    for kernel in ["child(int*)", "any<int>(int*, char)", "parent(int*)"] {
        assert!(report.contains(&format!("\"name\":\"{kernel}\"")), "{kernel}");
    }
    assert!(report.contains("\"launched_by\":[\"parent(int*)\"]"));
    let by_value = "struct Shape { char tag; double factor; short last; };\n\
                    __global__ void child(int *p, Shape s) { *p += s.tag * s.factor + s.last; }\n\
                    __global__ void parent(int *p) {\n  child<<<1, 1>>>(p, Shape{2, 2.5, short(threadIdx.x)});\n  \
                    child<<<1, 1, 0, cudaStreamTailLaunch>>>(p, Shape{1, 1, 0});\n}\n";
    place.write("b.cu", format!("{by_value}{}", main_of("*p = 0, parent<<<2, 2>>>(p)")));
    let got = run(&place, &["--check=memory,race,init", "b.cu"]);
    assert_eq!((got.code, got.stdout.as_str()), (0, "cudaSuccess 26\n"), "{}", got.stderr);
    assert!(got.stderr.contains("0 errors, 0 warnings"), "{}", got.stderr);
}
