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

#[test]
fn several_devices() {
    const TEST: &str = "several_devices";
    let place = Place::empty();
    place.fails(
        &["run", "--gpus", "2", "--gpu", "h200,v100", "x.cu"],
        2,
        "margay: error: --gpus 2 makes so many devices of one kind, and `h200,v100` names several: leave one out",
    );
    for count in ["0", "65", "two"] {
        assert_eq!(place.margay(&["run", "--gpus", count, "x.cu"]).code, 2);
    }
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    place.write(
        "peers.cu",
        "#include <cstdio>\n\
         __global__ void add(int *to, const int *from) { to[threadIdx.x] += from[threadIdx.x]; }\n\
         int main() {\n\
           int n = 0, can = 0, *p[3], host[32];\n\
           cudaGetDeviceCount(&n);\n\
           cudaDeviceProp d;\n\
           for (int i = 0; i < n; i++) { cudaGetDeviceProperties(&d, i); printf(\"%s, bus %d\\n\", d.name, d.pciBusID); }\n\
           if (n < 2) return 0;\n\
           for (int i = 0; i < n; i++) {\n\
             cudaSetDevice(i);\n\
             cudaMalloc(&p[i], sizeof host);\n\
             for (int k = 0; k < 32; k++) host[k] = (i + 1) * 100 + k;\n\
             cudaMemcpy(p[i], host, sizeof host, cudaMemcpyHostToDevice);\n\
           }\n\
           cudaMemcpyPeer(p[0], 0, p[n - 1], n - 1, sizeof host);\n\
           cudaSetDevice(0);\n\
           cudaDeviceCanAccessPeer(&can, 0, 1);\n\
           int twice = cudaDeviceEnablePeerAccess(1, 0);\n\
           twice += cudaDeviceEnablePeerAccess(1, 0);\n\
           add<<<1, 32>>>(p[0], p[1]);\n\
           int e = cudaDeviceSynchronize();\n\
           cudaMemcpy(host, p[0], sizeof host, cudaMemcpyDeviceToHost);\n\
           cudaPointerAttributes a;\n\
           cudaPointerGetAttributes(&a, p[1]);\n\
           printf(\"%d %d %d %d %d\\n\", can, twice, e, host[31], a.device);\n\
           return cudaSetDevice(n) == cudaErrorInvalidDevice ? 0 : 1;\n\
         }\n",
    );
    let run = |options: &[&str], visible: Option<&str>| {
        let mut line = vec!["run"];
        line.extend(options);
        line.push("peers.cu");
        let mut command = place.command(&line);
        command.env_remove("CUDA_VISIBLE_DEVICES");
        if let Some(visible) = visible {
            command.env("CUDA_VISIBLE_DEVICES", visible);
        }
        let got = place.finish(&mut command);
        assert_eq!(got.code, 0, "{options:?}: {}", got.stderr);
        got.stdout
    };
    let two = run(&["--gpus", "2"], None);
    assert_eq!(two.lines().filter(|l| l.starts_with("NVIDIA H200, bus ")).count(), 2, "{two}");
    // The last device's values and the second's.
    assert!(two.ends_with("\n1 704 0 462 1\n"), "{two}");
    let three = run(&["--gpus", "3", "--gpu", "v100"], None);
    assert_eq!(three.lines().filter(|l| l.contains("V100")).count(), 3, "{three}");
    assert!(three.ends_with("\n1 704 0 562 1\n"), "{three}");
    assert_eq!(run(&["--gpus", "3"], Some("2,0")).lines().count(), 3);
    assert_eq!(run(&["--gpus", "3"], Some("1")).lines().count(), 1);
    assert_eq!(run(&[], None).lines().count(), 1);
}

/// A kernel reaches another device's memory only after that is allowed: by peer access, or by its pool.
#[test]
fn memory_of_another_device_needs_leave() {
    let Some(place) = Place::for_programs("memory_of_another_device_needs_leave") else { return };
    place.write(
        "leave.cu",
        "#include <cstdio>\n\
         #include <cstdlib>\n\
         __device__ int one = 1;\n\
         __global__ void add(int *to) { atomicAdd(to, one); }\n\
         int main(int argc, char **argv) {\n\
           int how = atoi(argv[1]), *p = nullptr, host = 0;\n\
           cudaMemPool_t pool;\n\
           cudaMemAccessDesc leave = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};\n\
           cudaSetDevice(1);\n\
           cudaDeviceGetDefaultMemPool(&pool, 1);\n\
           if (how == 3) cudaMemPoolSetAccess(pool, &leave, 1);\n\
           if (how < 2) cudaMalloc(&p, 4);\n\
           else if (how < 5) cudaMallocAsync(&p, 4, 0);\n\
           else cudaMallocManaged(&p, 4);\n\
           cudaMemset(p, 0, 4);\n\
           cudaDeviceSynchronize();\n\
           if (how == 4) { cudaMemPoolSetAccess(pool, &leave, 1); leave.flags = cudaMemAccessFlagsProtNone; cudaMemPoolSetAccess(pool, &leave, 1); }\n\
           cudaSetDevice(0);\n\
           if (how == 1 || how == 2) cudaDeviceEnablePeerAccess(1, 0);\n\
           add<<<1, 32>>>(p);\n\
           int e = cudaDeviceSynchronize();\n\
           if (e == 0) cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost);\n\
           cudaMemAccessFlags flags;\n\
           cudaMemPoolGetAccess(&flags, pool, &leave.location);\n\
           printf(\"%d %d %d\\n\", e, host, flags);\n\
           return 0;\n\
         }\n",
    );
    let built = place.margay(&["cc", "leave.cu", "-o", "leave"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    // Nothing, peer access, peer access to a pool, leave from the pool, taken back, and managed memory.
    let told = ["700 0 0\n", "0 32 0\n", "700 0 0\n", "0 32 3\n", "700 0 0\n", "0 32 0\n"];
    for engine in ["interp", "jit"] {
        for (how, expected) in told.iter().enumerate() {
            let how = how.to_string();
            let got = place.margay(&["run", "--engine", engine, "--gpus", "2", "./leave", &how]);
            assert_eq!((got.code, got.stdout.as_str()), (0, *expected), "{how}: {}", got.stderr);
            if *expected == "700 0 0\n" {
                let why = "memory of another device, to which this one has no access";
                assert!(got.stderr.contains(why), "{}", got.stderr);
            }
        }
    }
}

/// A source is not run; what to do with it is said.
#[test]
fn a_file_that_is_no_program() {
    let place = Place::empty();
    for (file, cure) in [
        ("kernels.cpp", "margay cc ./kernels.cpp -o PROGRAM (with -x cu if it has kernels)"),
        ("k.ptx", "margay launch ./k.ptx KERNEL"),
        ("script.py", "margay run python3 ./script.py"),
    ] {
        place.write(file, "int main() {}\n");
        let got = place.margay(&["run", &format!("./{file}")]);
        assert_eq!(got.code, 126, "{}", got.stderr);
        assert!(
            got.stderr.contains("Permission denied") && got.stderr.contains(cure),
            "{}",
            got.stderr
        );
    }
    let got = place.margay(&["run", "./missing.cpp"]);
    assert!(got.code == 127 && !got.stderr.contains("PROGRAM"), "{}", got.stderr);
}

/// Votes without a mask on capabilities that had them before LLVM did, and what their predecessors lack.
#[test]
fn votes_of_old_capabilities() {
    let Some(place) = Place::for_programs("votes_of_old_capabilities") else { return };
    let program = |vote: &str| {
        format!(
            "#include <cstdio>\n\
             __global__ void k(int *p) {{ int t = threadIdx.x; p[t] = {vote}; }}\n\
             int main() {{\n\
               int *p, h[32];\n\
               cudaMalloc(&p, sizeof h);\n\
               k<<<1, 32>>>(p);\n\
               cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);\n\
               printf(\"%d\\n\", h[5]);\n\
             }}\n"
        )
    };
    place.write("any.cu", program("__any(t == 3) + 2 * __all(t < 32) + 4 * __all(t < 31)"));
    place.write("ballot.cu", program("__ballot(t & 1) == 0xaaaaaaaau"));
    for (gpu, file, told) in [
        ("sm_12", "any.cu", "3\n"),
        ("sm_20", "any.cu", "3\n"),
        ("sm_20", "ballot.cu", "1\n"),
        ("sm_35", "ballot.cu", "1\n"),
    ] {
        let got = place.margay(&["run", "--gpu", gpu, file]);
        assert_eq!((got.code, got.stdout.as_str()), (0, told), "{gpu} {file}: {}", got.stderr);
    }
    for (gpu, file, why) in [
        ("sm_11", "any.cu", "__any() needs compute capability 1.2"),
        ("sm_13", "ballot.cu", "__ballot() needs compute capability 2.0"),
    ] {
        let got = place.margay(&["run", "--gpu", gpu, file]);
        assert!(got.code != 0 && got.stderr.contains(why), "{gpu} {file}: {}", got.stderr);
    }
}

/// Nothing but what a shuffle reads need have a value: the other lanes run all the same.
#[test]
fn one_lane_has_what_a_shuffle_reads() {
    let Some(place) = Place::for_programs("one_lane_has_what_a_shuffle_reads") else { return };
    place.write(
        "first.cu",
        "#include <cstdio>\n\
         __device__ int counter;\n\
         __global__ void k(int *p) {\n\
           int at;\n\
           if (threadIdx.x % 32 == 0) at = atomicAdd(&counter, 32);\n\
           at = __shfl_sync(0xffffffff, at, 0);\n\
           p[at + threadIdx.x % 32] = threadIdx.x;\n\
         }\n\
         int main() {\n\
           int *p, h[64], n;\n\
           cudaMalloc(&p, sizeof h);\n\
           k<<<1, 64>>>(p);\n\
           cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);\n\
           cudaMemcpyFromSymbol(&n, counter, sizeof n);\n\
           printf(\"%d %d %d\\n\", n, h[5], h[40]);\n\
         }\n",
    );
    for engine in ["interp", "jit"] {
        let got = place.margay(&["run", "--engine", engine, "first.cu"]);
        assert_eq!((got.code, got.stdout.as_str()), (0, "64 5 40\n"), "{engine}: {}", got.stderr);
    }
}

/// What nvcc takes and clang does not: `register` in C++17, and a 16-bit type made of the other.
#[test]
fn what_nvcc_compiles() {
    let Some(place) = Place::for_programs("what_nvcc_compiles") else { return };
    place.write(
        "takes.cu",
        "#include <cstdio>\n\
         #include <cuda_bf16.h>\n\
         #include <cuda_fp16.h>\n\
         __global__ void k(float *p, __nv_bfloat16 b, __half h) {\n\
           register float sum = (float)static_cast<__half>(b);\n\
           p[0] = sum;\n\
           p[1] = (float)static_cast<__nv_bfloat16>(h);\n\
         }\n\
         int main() {\n\
           float *p, h[2];\n\
           cudaMalloc(&p, sizeof h);\n\
           k<<<1, 1>>>(p, __float2bfloat16(1e6f), __float2half(1.001f));\n\
           cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);\n\
           printf(\"%g %g %g\\n\", h[0], h[1], (float)(__nv_bfloat16)__float2half(3.0f));\n\
         }\n",
    );
    let got = place.margay(&["run", "takes.cu"]);
    assert_eq!((got.code, got.stdout.as_str()), (0, "inf 1 3\n"), "{}", got.stderr);
}

/// CUDA 12.8's functions with orders and scopes, in the standards that programs are written in.
#[test]
fn atomics_with_orders_and_scopes() {
    let Some(place) = Place::for_programs("atomics_with_orders_and_scopes") else { return };
    place.write(
        "atomics.cu",
        "#include <cstdio>\n\
         struct Two { int a, b; };\n\
         __global__ void k(int *i, unsigned long long *l, float *f, double *d, short *s, Two *two, unsigned *turn, unsigned char *c) {\n\
           __nv_atomic_fetch_add(i, 1, __NV_ATOMIC_RELAXED);\n\
           __nv_atomic_add(i + 1, 2, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);\n\
           __nv_atomic_fetch_sub(i + 2, 1, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);\n\
           __nv_atomic_fetch_min(i + 3, -(int)threadIdx.x, __NV_ATOMIC_RELAXED);\n\
           __nv_atomic_max(i + 4, (int)threadIdx.x, __NV_ATOMIC_RELAXED);\n\
           __nv_atomic_fetch_or(l, 1ull << threadIdx.x, __NV_ATOMIC_RELAXED);\n\
           __nv_atomic_fetch_xor(l + 1, 1ull << threadIdx.x, __NV_ATOMIC_RELEASE);\n\
           __nv_atomic_fetch_and(l + 2, ~(1ull << threadIdx.x), __NV_ATOMIC_ACQUIRE);\n\
           __nv_atomic_fetch_add(f, 0.5f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_CLUSTER);\n\
           __nv_atomic_fetch_sub(d, 0.25, __NV_ATOMIC_RELAXED);\n\
           unsigned long long old = __nv_atomic_load_n(l + 3, __NV_ATOMIC_RELAXED);\n\
           while (!__nv_atomic_compare_exchange_n(l + 3, &old, old * 3 + 1, true, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED)) {}\n\
           Two now, next;\n\
           __nv_atomic_load(two, &now, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);\n\
           do { next = {now.a + 1, now.b - 1}; } while (!__nv_atomic_compare_exchange(two, &now, &next, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_ACQUIRE));\n\
           short was = __nv_atomic_load_n(s, __NV_ATOMIC_RELAXED);\n\
           while (!__nv_atomic_compare_exchange_n(s, &was, was + 2, false, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED)) {}\n\
           if (threadIdx.x == 5) { float v = 4, r; __nv_atomic_exchange(f + 1, &v, &r, __NV_ATOMIC_RELAXED); f[2] = 3; __nv_atomic_store_n(c, 7, __NV_ATOMIC_RELEASE); int x = 9; __nv_atomic_store(i + 5, &x, __NV_ATOMIC_SEQ_CST); }\n\
           if (threadIdx.x == 0) { while (__nv_atomic_load_n(turn, __NV_ATOMIC_ACQUIRE) != blockIdx.x) {} __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE); __nv_atomic_store_n(turn, blockIdx.x + 1, __NV_ATOMIC_RELEASE); }\n\
         }\n\
         int main() {\n\
           char *m; cudaMallocManaged(&m, 512); for (int i = 0; i < 512; i++) m[i] = 0;\n\
           unsigned long long *l = (unsigned long long *)(m + 64); l[2] = ~0ull; l[3] = 0; float *f = (float *)(m + 128); f[1] = 3;\n\
           k<<<2, 32>>>((int *)m, l, f, (double *)(m + 160), (short *)(m + 192), (Two *)(m + 200), (unsigned *)(m + 224), (unsigned char *)(m + 240));\n\
           cudaError_t e = cudaDeviceSynchronize(); int *i = (int *)m;\n\
           printf(\"%d %d %d %d %d %d | %llx %llx %llx %llx | %g %g %g | %g | %d | %d %d | %u %d %s\\n\", i[0], i[1], i[2], i[3], i[4], i[5], l[0], l[1], l[2], l[3], f[0], f[1], f[2], *(double *)(m + 160), *(short *)(m + 192), ((Two *)(m + 200))->a, ((Two *)(m + 200))->b, *(unsigned *)(m + 224), m[240], cudaGetErrorString(e));\n\
         }\n",
    );
    for (standard, gpu) in [("-std=c++11", "-arch=sm_90"), ("-std=c++20", "-arch=sm_70")] {
        let got = place.margay(&["run", standard, gpu, "atomics.cu"]);
        let want = "64 128 -64 -31 31 9 | ffffffff 0 ffffffff00000000 bc9913c63cbf5e80 | 32 4 3 | -16 | 128 | 64 -64 | 2 7 no error\n";
        assert_eq!((got.code, got.stdout.as_str()), (0, want), "{standard}: {}", got.stderr);
    }
    let got = place.margay(&["run", "-arch=sm_60", "atomics.cu"]);
    let want = "__nv_atomic_compare_exchange of 2 bytes needs sm_70 or later";
    assert!(got.code == 1 && got.stderr.contains(want), "{}", got.stderr);
    assert_eq!(got.stderr.matches("error: ").count(), 1, "{}", got.stderr);
}

/// From C++20 on the library includes `<new>` before our headers come to the device heap.
#[test]
fn new_in_every_standard() {
    let Some(place) = Place::for_programs("new_in_every_standard") else { return };
    place.write(
        "new.cu",
        "#include <cstdio>\n\
         __global__ void k(int *p) { int *q = new int(3); *p = *q; delete q; }\n\
         int main() {\n\
           int *p, h = 0;\n\
           cudaMalloc(&p, 4);\n\
           k<<<1, 1>>>(p);\n\
           cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);\n\
           printf(\"%d\\n\", h);\n\
         }\n",
    );
    for standard in ["-std=c++14", "-std=c++17", "-std=c++20", "-std=c++23"] {
        let got = place.margay(&["run", standard, "new.cu"]);
        assert_eq!((got.code, got.stdout.as_str()), (0, "3\n"), "{standard}: {}", got.stderr);
    }
}
