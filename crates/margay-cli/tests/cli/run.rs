// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay run`.

use super::{Place, clang, libraries};

#[test]
fn exit_codes_of_commands() {
    if !libraries("exit_codes_of_commands") {
        return;
    }
    let place = Place::empty();
    place.write("text", "no program");
    for (line, code) in [
        (&["run", "sh", "-c", "exit 7"][..], 7),
        (&["run", "--json", "sh", "-c", "exit 7"], 7),
        (&["run", "--json", "sh", "-c", "kill -TERM $$"], 143),
        (&["run", "./none"], 127),
        (&["run", "no-such-command"], 127),
        (&["run", "./text"], 126),
    ] {
        let got = place.margay(line);
        assert_eq!(got.code, code, "{line:?}: {}", got.stderr);
    }
    place.fails(
        &["run", "./none"],
        127,
        "margay: error: ./none: No such file or directory (os error 2)",
    );
}

#[test]
fn summary_is_the_last_line() {
    if !libraries("summary_is_the_last_line") {
        return;
    }
    let place = Place::empty();
    let got = place.margay(&["run", "--json", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(got.stdout, "out\n");
    let last = got.stderr.lines().last().unwrap();
    let value: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!((&value["exit_code"], &value["signal"]), (&3.into(), &serde_json::Value::Null));
    assert!(value["wall_s"].is_f64() && value["program"] == "sh");
}

#[test]
fn with_json_a_killed_command_takes_its_program_along() {
    use std::io::{BufRead, BufReader};
    if !libraries("with_json_a_killed_command_takes_its_program_along") {
        return;
    }
    let place = Place::empty();
    let mut command = place.command(&["run", "--json", "sh", "-c", "echo $$; exec sleep 60"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let status = format!("/proc/{}/status", line.trim());
    let alive = || std::fs::read_to_string(&status).is_ok_and(|s| !s.contains("State:\tZ"));
    for _ in 0..100 {
        if !alive() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("the program goes on");
}

#[test]
fn wrong_command_lines() {
    let place = Place::empty();
    place.fails(
        &["run", "-O3", "/bin/sh"],
        2,
        "margay: error: the compiler's flags are for sources, and `/bin/sh` is none",
    );
    for seconds in ["nan", "-1", "soon"] {
        let got = place.margay(&["run", "--timeout", seconds, "x.cu"]);
        assert_eq!(got.code, 2, "{seconds}: {}", got.stderr);
    }
    let got = place.margay(&["run", "none.cu"]);
    assert_eq!(got.code, 125, "{}", got.stderr);
}

#[test]
fn a_kernel_without_end_gives_the_program_error_702() {
    const TEST: &str = "a_kernel_without_end_gives_the_program_error_702";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    place.write(
        "spin.cu",
        "#include <cstdio>\n\
         __global__ void spin(volatile int *p) { while (true) { (void)*p; } }\n\
         int main() {\n\
           int *p;\n\
           cudaMalloc(&p, 4);\n\
           spin<<<1, 32>>>(p);\n\
           cudaError_t e = cudaDeviceSynchronize();\n\
           std::printf(\"%d %s\\n\", (int)e, cudaGetErrorName(e));\n\
           return cudaFree(p) == cudaErrorLaunchTimeout ? 9 : 1;\n\
         }\n",
    );
    let got = place.margay(&["run", "--timeout", "0.5", "spin.cu"]);
    assert_eq!(
        (got.code, got.stdout.as_str()),
        (9, "702 cudaErrorLaunchTimeout\n"),
        "{}",
        got.stderr
    );
    assert!(got.stderr.contains("the kernel still ran after 0.5 s"), "{}", got.stderr);
    let silent = place.margay(&["run", "--timeout", "0.5", "--log", "off", "spin.cu"]);
    assert_eq!((silent.code, silent.stderr.as_str()), (9, ""));
}

#[test]
fn compiler_flags_and_cuda_versions() {
    const TEST: &str = "compiler_flags_and_cuda_versions";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    std::fs::create_dir(place.path("inc")).unwrap();
    place.write("inc/h.h", "#define PLUS +\n").write(
        "v.cu",
        "#include <cstdio>\n#include <h.h>\n\
         __global__ void k(int *p) {\n#ifdef __CUDA_ARCH__\n *p = __CUDA_ARCH__ PLUS N;\n#endif\n}\n\
         int main(int argc, char **argv) {\n\
           int *p, h = 0, runtime;\n\
           cudaMalloc(&p, 4);\n\
           k<<<1, 1>>>(p);\n\
           cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);\n\
           cudaRuntimeGetVersion(&runtime);\n\
           std::printf(\"%d %d %d %ld %s\\n\", h, CUDART_VERSION, runtime, __cplusplus, argv[argc - 1]);\n\
         }\n",
    );
    for (flags, expected) in [
        ("--gpu v100 -DN=4 -std=c++20", "704 12090 12090 202002 -O3"),
        ("--gpu v100 -arch=sm_60 -D N=5", "605 12090 12090 201703 -O3"),
        ("--cuda-version 13.0 -DN=0", "900 13000 13000 201703 -O3"),
        ("--cuda-version=11.8 --cc=-DN=0", "900 11080 12090 201703 -O3"),
    ] {
        let mut line = vec!["run", "-I", "inc"];
        line.extend(flags.split(' '));
        line.extend(["v.cu", "-O3"]);
        let got = place.margay(&line);
        assert_eq!((got.code, got.stdout.trim_end()), (0, expected), "{flags}: {}", got.stderr);
    }
}

#[test]
fn sources_of_several_languages() {
    const TEST: &str = "sources_of_several_languages";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    place
        .write("a.cu", "#include <cstdio>\nint b(); extern \"C\" int c(int); int d();\nint main() { std::printf(\"%d %d %d\\n\", b(), c(2), d()); }\n")
        .write("b.cu", "__global__ void k(int *p) { *p = 7; }\nint b() { int *p, h = 0; cudaMalloc(&p, 4); k<<<1, 1>>>(p); cudaMemcpy(&h, p, 4, cudaMemcpyDefault); return h; }\n")
        .write("c.c", "int c(int x) { return x * 10; }\n")
        .write("d.cpp", "#include <cuda_runtime.h>\nint d() { int n = 0; cudaGetDeviceCount(&n); return n; }\n");
    let got = place.margay(&["run", "a.cu", "b.cu", "c.c", "d.cpp"]);
    assert_eq!((got.code, got.stdout.as_str()), (0, "7 20 1\n"), "{}", got.stderr);
}
