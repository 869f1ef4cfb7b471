// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay cc` as the compiler of Makefiles and of CMake, by its own name and as the nvcc of a toolkit.

use std::process::Command;

use super::{Outcome, Place, clang, libraries};

const MAIN: &str = "#include <cstdio>\n#include \"parts.h\"\n\
    __global__ void k(int *p) { p[threadIdx.x] = twice(threadIdx.x); }\n\
    int main() {\n  int *p, sum = 0;\n  cudaMallocManaged(&p, 32 * sizeof *p);\n  k<<<1, 32>>>(p);\n  \
      cudaDeviceSynchronize();\n  for (int i = 0; i < 32; i++) sum += p[i];\n  \
      std::printf(\"%d %d %d\\n\", sum, host_part(), shared_part());\n}\n";
const PARTS: &str = "#include \"parts.h\"\n__device__ int twice(int x) { return 2 * x; }\n";
const HEADER: &str = "#ifdef __CUDACC__\nextern __device__ int twice(int);\n#endif\nint host_part();\nint shared_part();\n";
const HOST: &str = "#include <cuda_runtime.h>\n#include \"parts.h\"\n\
    int host_part() { int n = 0; cudaGetDeviceCount(&n); return n; }\n";
/// With per-thread default streams, of which `cudaStreamPerThread` is one.
const SHARED: &str = "#include \"parts.h\"\n__global__ void s(int *p) { *p = 7; }\n\
    int shared_part() {\n  int *p, n = 0;\n  cudaMallocManaged(&p, sizeof *p);\n  s<<<1, 1>>>(p);\n  \
      cudaStreamSynchronize(cudaStreamPerThread);\n  n = *p;\n  cudaFree(p);\n  return n;\n}\n";

/// A project's sources.
fn project() -> Place {
    let place = Place::empty();
    place.write("main.cu", MAIN).write("parts.cu", PARTS).write("parts.h", HEADER);
    place.write("host.cpp", HOST).write("shared.cu", SHARED);
    place
}

/// Whether a tool is there; if not, says what is skipped.
fn tool(test: &str, name: &str) -> bool {
    let there = Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("skipped: {test}: {name} is missing");
    }
    there
}

/// A tool in the project's directory, with the environment of [`Place::command`].
fn run(place: &Place, name: &str, arguments: &[&str]) -> Outcome {
    let like = place.command(&[]);
    let mut command = Command::new(name);
    command.args(arguments).current_dir(place.path(""));
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let got = place.finish(&mut command);
    assert_eq!(got.code, 0, "{name} {arguments:?}: {}{}", got.stdout, got.stderr);
    got
}

#[test]
fn a_makefile_with_nvcc_s_flags() {
    const TEST: &str = "a_makefile_with_nvcc_s_flags";
    if !libraries(TEST) || !clang(TEST) || !tool(TEST, "make") {
        return;
    }
    let place = project();
    place.write(
        "Makefile",
        "GENCODE = -gencode arch=compute_70,code=sm_70 -gencode arch=compute_90,code=[sm_90,compute_90]\n\
         FLAGS = -m64 -O3 -std=c++17 $(GENCODE) --expt-relaxed-constexpr -Xcompiler -fPIC,-Wall --threads 0 -lineinfo\n\
         app: main.o libparts.a libshared.so\n\
         \t$(NVCC) $(FLAGS) -dlto -o $@ main.o -L. -lparts -lshared -Xlinker -rpath,.\n\
         %.o: %.cu parts.h\n\
         \t$(NVCC) $(FLAGS) -dlto -rdc=true -dc -Xptxas -v,-dlcm=cg -o $@ $<\n\
         libparts.a: parts.o host.cpp\n\
         \t$(NVCC) $(FLAGS) -lib -o $@ parts.o host.cpp\n\
         libshared.so: shared.cu\n\
         \t$(NVCC) $(FLAGS) -shared --default-stream per-thread --compiler-options '-fPIC' -o $@ $<\n\
         bad:\n\t$(NVCC) $(FLAGS) -frobnicate -c main.cu\n",
    );
    let own = format!("NVCC={} cc", env!("CARGO_BIN_EXE_margay"));
    let made = run(&place, "make", &[&own]);
    assert!(
        made.stderr.contains("ptxas info    : Not known for _Z1kPi: it calls"),
        "{}",
        made.stderr
    );
    let ran = place.margay(&["run", "./app"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "992 1 7\n"), "{}", ran.stderr);
    assert_eq!(place.margay(&["ptx", "libshared.so"]).code, 0);
    let mut bad = Command::new("make");
    let bad = bad.args([&own, "bad"]).current_dir(place.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&bad.stderr);
    assert!(
        !bad.status.success() && said.contains("does not know the flag `-frobnicate`"),
        "{said}"
    );
    // The same by the name that Makefiles expect, of a toolkit.
    place.margay(&["toolkit", "cuda"]);
    run(&place, "make", &["-B", "NVCC=cuda/bin/nvcc"]);
    let ran = place.margay(&["run", "./app"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "992 1 7\n"), "{}", ran.stderr);
}

#[test]
fn cmake_s_cuda_language() {
    const TEST: &str = "cmake_s_cuda_language";
    if !libraries(TEST) || !clang(TEST) || !tool(TEST, "cmake") || !tool(TEST, "make") {
        return;
    }
    let place = project();
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.18)\n\
         project(app LANGUAGES CXX CUDA)\n\
         find_package(CUDAToolkit REQUIRED)\n\
         message(STATUS \"toolkit ${CUDAToolkit_VERSION}, ${CMAKE_CUDA_COMPILER_ID} ${CMAKE_CUDA_COMPILER_VERSION}\")\n\
         add_library(parts STATIC parts.cu host.cpp)\n\
         target_link_libraries(parts PUBLIC CUDA::cudart)\n\
         add_library(shared SHARED shared.cu)\n\
         target_compile_options(shared PRIVATE --default-stream=per-thread)\n\
         add_executable(app main.cu)\n\
         set_target_properties(app parts PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_STANDARD 17 POSITION_INDEPENDENT_CODE ON)\n\
         target_link_libraries(app PRIVATE parts shared)\n",
    );
    let kit = place.margay(&["toolkit", "cuda"]);
    assert_eq!((kit.code, kit.stdout.as_str()), (0, "$DIR/cuda\n"), "{}", kit.stderr);
    let compiler = format!("-DCMAKE_CUDA_COMPILER={}", place.path("cuda/bin/nvcc").display());
    let configured = run(
        &place,
        "cmake",
        &[
            "-S",
            ".",
            "-B",
            "build",
            "-G",
            "Unix Makefiles",
            &compiler,
            "-DCMAKE_CUDA_ARCHITECTURES=70;90",
        ],
    );
    assert!(configured.stdout.contains("toolkit 12.9.0, NVIDIA 12.9.0"), "{}", configured.stdout);
    run(&place, "cmake", &["--build", "build"]);
    let ran = place.margay(&["run", "build/app"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "992 1 7\n"), "{}", ran.stderr);
}

#[test]
fn a_toolkit_spares_others() {
    if !libraries("a_toolkit_spares_others") {
        return;
    }
    let place = Place::empty();
    std::fs::create_dir_all(place.path("theirs/bin")).unwrap();
    place.write("theirs/bin/nvcc", "#!/bin/sh\n");
    place.fails(
        &["toolkit", "theirs"],
        2,
        "margay: error: $DIR/theirs: another CUDA toolkit is there; choose a new directory",
    );
    for version in ["13.0", "12.4"] {
        let got = place.margay(&["toolkit", "ours", "--cuda-version", version]);
        assert_eq!(got.code, 0, "{}", got.stderr);
        let nvcc = Command::new(place.path("ours/bin/nvcc")).arg("--version").output().unwrap();
        let said = String::from_utf8_lossy(&nvcc.stdout);
        assert!(said.contains(&format!("release {version}, V{version}.0")), "{said}");
    }
}
