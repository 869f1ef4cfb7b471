// SPDX-License-Identifier: MIT OR Apache-2.0
//! What device code does wrong with `printf`, `malloc` and `free`, and the host with the device's heap:
//! the error that the program gets, and what its user reads.

use super::{Outcome, Place, clang, libraries};

/// Compiles and runs a program whose `main` is given, after what it needs.
fn run(test: &str, source: &str) -> Option<Outcome> {
    if !libraries(test) || !clang(test) {
        return None;
    }
    let place = Place::empty();
    place.write("m.cu", source);
    Some(place.margay(&["run", "m.cu"]))
}

#[test]
fn a_full_fifo_loses_the_oldest_output() {
    const TEST: &str = "a_full_fifo_loses_the_oldest_output";
    let source = "#include <cstdio>\n\
         __global__ void k(int from, int to) { for (int i = from; i < to; i++) printf(\"%0127d\\n\", i); }\n\
         int main() {\n\
           size_t size = 0;\n\
           if (cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 19)) return 2;\n\
           cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize);\n\
           k<<<1, 1>>>(0, 5000);\n\
           cudaDeviceSynchronize();\n\
           cudaError_t late = cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20);\n\
           k<<<1, 1>>>(5000, 5003);\n\
           cudaError_t e = cudaDeviceSynchronize();\n\
           printf(\"%d %d %zu\\n\", (int)late, (int)e, size);\n\
         }\n";
    let Some(got) = run(TEST, source) else { return };
    // 4096 lines of 128 bytes fit; waiting empties it; its size is fixed from the first on.
    let kept: String = (5000 - 4096..5003).map(|n| format!("{n:0127}\n")).collect();
    assert!(got.stdout == format!("{kept}1 0 524288\n"), "{}{}", got.stdout.len(), got.stderr);
    assert_eq!(got.code, 0);
}

#[test]
fn printf_takes_thirty_two_arguments() {
    const TEST: &str = "printf_takes_thirty_two_arguments";
    let (formats, values) =
        ("%d ".repeat(34), (0..34).map(|n| format!(", {n}")).collect::<String>());
    let source = format!(
        "#include <cstdio>\n\
         __global__ void k(const char *none) {{\n\
           int n = printf(\"{formats}\\n\"{values});\n\
           int null = printf(none);\n\
           printf(\"%d %d\\n\", n, null);\n\
         }}\n\
         int main() {{ k<<<1, 1>>>(nullptr); return cudaDeviceSynchronize(); }}\n"
    );
    let Some(got) = run(TEST, &source) else { return };
    let taken: String = (0..32).map(|n| format!("{n} ")).collect();
    assert_eq!((got.code, got.stdout), (0, format!("{taken}%d %d \n32 -1\n")), "{}", got.stderr);
}

#[test]
fn printf_without_its_arguments_is_a_fault_with_a_place() {
    const TEST: &str = "printf_without_its_arguments_is_a_fault_with_a_place";
    let source = "#include <cstdio>\n\
         __global__ void k() {\n\
           printf(\"%d\\n\");\n\
         }\n\
         int main() { k<<<1, 1>>>(); return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 9 : 1; }\n";
    let Some(got) = run(TEST, source) else { return };
    assert_eq!((got.code, got.stdout.as_str()), (9, ""), "{}", got.stderr);
    // The compiler has said so before.
    assert!(got.stderr.contains("more '%' conversions than data arguments"), "{}", got.stderr);
    assert!(
        got.stderr.contains("printf's format takes more arguments than the call passes"),
        "{}",
        got.stderr
    );
    assert!(got.stderr.contains("m.cu:3:"), "{}", got.stderr);
}

#[test]
fn a_wrong_free_says_what_lies_there() {
    const TEST: &str = "a_wrong_free_says_what_lies_there";
    for (call, cause) in [
        // A neighbour of what was freed is no concern of its user.
        (
            "kept = (char *)malloc(32); free(kept); free(kept);",
            "that malloc() did not give, or that was freed before",
        ),
        (
            "kept = (char *)malloc(32); free(kept + 16);",
            "inside of what malloc() gave, not its start",
        ),
        ("free(host);", "memory that the host allocated; only what device malloc() gave"),
        ("int local; free(&local);", "that malloc() did not give"),
    ] {
        let source = format!(
            "#include <cstdio>\n\
             __device__ char *volatile kept;\n\
             __global__ void k(void *host) {{\n  {call}\n}}\n\
             int main() {{\n\
               void *p;\n\
               cudaMalloc(&p, 100);\n\
               k<<<1, 1>>>(p);\n\
               return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 9 : 1;\n\
             }}\n"
        );
        let Some(got) = run(TEST, &source) else { return };
        assert_eq!(got.code, 9, "{call}: {}", got.stderr);
        assert!(got.stderr.contains(cause), "{call}: {}", got.stderr);
        assert!(got.stderr.contains("m.cu:4:"), "{call}: {}", got.stderr);
        assert!(!got.stderr.contains("hint"), "{call}: {}", got.stderr);
        let names_memory =
            got.stderr.contains("`cudaMalloc` #") || got.stderr.contains("`device malloc` #");
        assert_eq!(names_memory, call.contains("host") || call.contains("+ 16"), "{}", got.stderr);
    }
}

#[test]
fn the_device_s_heap_and_the_host_s_calls_do_not_mix() {
    const TEST: &str = "the_device_s_heap_and_the_host_s_calls_do_not_mix";
    let source = "#include <cstdio>\n\
         __device__ int *kept;\n\
         __global__ void make() { kept = (int *)malloc(64); *kept = 5; }\n\
         __global__ void use(int *out) { *out = *kept; free(kept); }\n\
         __global__ void fill(int *count) {\n\
           for (char *volatile p; (p = (char *)malloc(1 << 20)); ) ++*count;\n\
         }\n\
         int main() {\n\
           int *p, *out, host = 0;\n\
           cudaMallocManaged(&out, 4);\n\
           make<<<1, 1>>>();\n\
           cudaMemcpyFromSymbol(&p, kept, sizeof p);\n\
           printf(\"%d\\n\", (int)cudaFree(p));\n\
           printf(\"%d\\n\", (int)cudaFreeAsync(p, 0));\n\
           printf(\"%d\\n\", (int)cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));\n\
           printf(\"%d\\n\", (int)cudaMemset(p, 0, 4));\n\
           cudaGetLastError();\n\
           use<<<1, 1>>>(out);\n\
           printf(\"%d\\n\", (int)cudaDeviceSynchronize());\n\
           printf(\"%d\\n\", *out);\n\
           *out = 0;\n\
           fill<<<1, 1>>>(out);\n\
           printf(\"%d %d\\n\", (int)cudaDeviceSynchronize(), *out > 0 && *out <= 8);\n\
         }\n";
    let Some(got) = run(TEST, source) else { return };
    assert_eq!((got.code, got.stdout.as_str()), (0, "1\n1\n1\n1\n0\n5\n0 1\n"), "{}", got.stderr);
}

#[test]
fn a_callback_s_calls_are_not_permitted() {
    const TEST: &str = "a_callback_s_calls_are_not_permitted";
    let source = "#include <cstdio>\n\
         static int *memory; static cudaStream_t stream; static int wrong;\n\
         static void calls() {\n\
           int *p;\n\
           for (cudaError_t e : {cudaMalloc(&p, 4), cudaFree(memory), cudaMemset(memory, 0, 4),\n\
                                 cudaStreamSynchronize(stream), cudaDeviceSynchronize(), cudaDeviceReset()})\n\
             if (e != cudaErrorNotPermitted) { wrong++; printf(\"%s\\n\", cudaGetErrorName(e)); }\n\
         }\n\
         static void host(void *) { calls(); }\n\
         static void back(cudaStream_t, cudaError_t e, void *) { if (e) wrong++; calls(); }\n\
         int main() {\n\
           cudaMalloc(&memory, 4);\n\
           cudaStreamCreate(&stream);\n\
           cudaLaunchHostFunc(stream, host, nullptr);\n\
           cudaStreamAddCallback(stream, back, nullptr, 0);\n\
           int e = cudaStreamSynchronize(stream) + cudaGetLastError();\n\
           printf(\"%d %d %d\\n\", wrong, e, (int)cudaFree(memory));\n\
         }\n";
    let Some(got) = run(TEST, source) else { return };
    assert_eq!((got.code, got.stdout.as_str()), (0, "0 0 0\n"), "{}", got.stderr);
}
