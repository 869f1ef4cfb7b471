// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a compute capability lacks fails with the line and the capability that has it, and an image runs on
//! the GPUs alone that it is for.

use super::{Place, clang, libraries};

/// Compiles a kernel's body; what it says on standard error, and the exit code.
fn compiled(place: &Place, arch: &str, body: &str) -> (i32, String) {
    let source = format!(
        "#include <cstdio>\n__device__ int twice(int n) {{ return n < 2 ? 1 : n * twice(n - 1); }}\n\
         __global__ void k(int *p, float *f, double *d, long long *l) {{\n{body}\n}}\n"
    );
    // Only the kernels that use it bring the recursion in.
    let source = match body.contains("twice") {
        true => source,
        false => source.replace("n * twice(n - 1)", "n"),
    };
    place.write("x.cu", source);
    let got = place.margay(&["cc", "-fatbin", &format!("-arch={arch}"), "x.cu"]);
    (got.code, got.stderr)
}

#[test]
fn what_a_capability_lacks_is_refused_with_line_and_capability() {
    if !clang("what_a_capability_lacks_is_refused_with_line_and_capability") {
        return;
    }
    let place = Place::empty();
    for (body, without, with, capability) in [
        ("atomicAdd(p, 1);", "sm_10", "sm_11", "1.1"),
        ("__shared__ int s; atomicAdd(&s, 1); *p = s;", "sm_11", "sm_12", "1.2"),
        ("atomicAdd(f, 1.0f);", "sm_13", "sm_20", "2.0"),
        ("*p = twice(*p);", "sm_13", "sm_20", "2.0"),
        ("int (*q)(int) = twice; *p = q(*p);", "sm_13", "sm_20", "2.0"),
        ("printf(\"%d\", *p);", "sm_13", "sm_20", "2.0"),
        ("p = (int *)malloc(4); free(p);", "sm_13", "sm_20", "2.0"),
        ("*p = __syncthreads_count(*p);", "sm_13", "sm_20", "2.0"),
        ("*l = clock64();", "sm_13", "sm_20", "2.0"),
        (
            "__shared__ int s[9]; int *q = *l ? p : s; *q = 3; p[1] = s[*p];",
            "sm_13",
            "sm_20",
            "2.0",
        ),
        ("asm(\"popc.b32 %0, %0;\" : \"+r\"(*p));", "sm_13", "sm_20", "2.0"),
        ("*p = __shfl_sync(~0u, *p, 3);", "sm_21", "sm_30", "3.0"),
        ("*p = __ldg(p);", "sm_30", "sm_35", "3.2"),
        ("atomicMax((unsigned long long *)l, 1ull);", "sm_20", "sm_35", "3"),
        ("asm(\"lop3.b32 %0, %0, %0, %0, 1;\" : \"+r\"(*p));", "sm_37", "sm_50", "5.0"),
        ("atomicAdd(d, 1.0);", "sm_52", "sm_60", "6.0"),
        ("*p = __dp4a(p[0], p[1], p[2]);", "sm_60", "sm_61", "6.1"),
        ("*p = __match_any_sync(~0u, *p);", "sm_61", "sm_70", "7.0"),
        ("*p = __reduce_add_sync(~0u, *p);", "sm_75", "sm_80", "8.0"),
        ("asm volatile(\"barrier.cluster.arrive;\");", "sm_89", "sm_90", "9.0"),
    ] {
        let (code, said) = compiled(&place, without, body);
        assert_eq!(code, 1, "{body} for {without}: {said}");
        let place_named = ["x.cu:4:", "x.cu:2:"].iter().any(|p| said.contains(p));
        let needs =
            said.lines().any(|l| l.contains(capability) && !l.starts_with("margay: note: clang"));
        assert!(place_named && needs, "{body} for {without}: {said}");
        let (code, said) = compiled(&place, with, body);
        assert_eq!(code, 0, "{body} for {with}: {said}");
    }
}

/// A call that is not known before it runs; a whole header; PTX by itself.
#[test]
fn virtual_functions_headers_and_ptx() {
    if !clang("virtual_functions_headers_and_ptx") {
        return;
    }
    let place = Place::empty();
    place
        .write(
            "virtual.cu",
            "struct A { __device__ virtual int f(int x) { return x; } };\n\
             struct B : A { __device__ int f(int x) override { return x + 1; } };\n\
             __global__ void k(int *p) {\n  A a; B b;\n  A *q = p[0] ? &a : (A *)&b;\n  p[1] = q->f(p[2]);\n}\n",
        )
        .write("groups.cu", "#include <cooperative_groups.h>\n__global__ void k() {}\n")
        .write(
            "match.ptx",
            ".version 8.0\n.target sm_60\n.address_size 64\n\
             .entry k() { .reg .b32 r; match.any.sync.b32 r, r, r; ret; }\n",
        );
    for (words, why) in [
        (&["cc", "-fatbin", "-arch=sm_13", "virtual.cu"][..], "x.cu:6:"),
        (
            &["cc", "-fatbin", "-arch=sm_21", "groups.cu"],
            "cooperative groups need compute capability 3.0",
        ),
        (
            &["ptx", "match.ptx"],
            "PTX line 4, column 27: `match.any.sync.b32` needs compute capability 7.0 (sm_70); this is 6.0 (sm_60)",
        ),
    ] {
        let got = place.margay(words);
        let why = why.replace("x.cu", "virtual.cu");
        assert!(got.code == 1 && got.stderr.contains(&why), "{words:?}: {}", got.stderr);
    }
}

/// Halves are stored and converted on all capabilities.
#[test]
fn halves_before_their_intrinsics() {
    if !clang("halves_before_their_intrinsics") {
        return;
    }
    let place = Place::empty();
    place.write(
        "x.cu",
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n\
         __global__ void k(__half *h, float *p) { p[0] = __half2float(h[0]); h[1] = __hadd(h[0], h[0]); }\n",
    );
    for arch in ["-arch=sm_13", "-arch=sm_20", "-arch=sm_30"] {
        let got = place.margay(&["cc", "-fatbin", arch, "x.cu"]);
        assert_eq!(got.code, 0, "{arch}: {}", got.stderr);
    }
}

/// Before 9.0 the addition of bfloat16 is a loop, and before 8.0 there is none.
#[test]
fn atomic_additions_of_bfloat16() {
    if !clang("atomic_additions_of_bfloat16") {
        return;
    }
    let place = Place::empty();
    place.write(
        "x.cu",
        "#include <cstdio>\n#include <cuda_bf16.h>\n\
         __device__ __nv_bfloat162 pair;\n__device__ __nv_bfloat16 one;\n\
         __global__ void k() {\n\
           atomicAdd(&one, __float2bfloat16(1.0f));\n\
           atomicAdd(&pair, __floats2bfloat162_rn(1.0f, 2.0f));\n\
         }\n\
         __global__ void say() { printf(\"%g %g %g\\n\", (float)one, (float)pair.x, (float)pair.y); }\n\
         int main() { k<<<2, 50>>>(); say<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n",
    );
    for gpu in ["a100", "h200"] {
        let got = place.margay(&["run", "--gpu", gpu, "x.cu"]);
        assert_eq!((got.code, got.stdout.as_str()), (0, "100 100 200\n"), "{gpu}: {}", got.stderr);
    }
    let got = place.margay(&["cc", "-c", "-arch=sm_75", "x.cu"]);
    assert!(got.code == 1 && got.stderr.contains("bfloat16 from 8.0 on"), "{}", got.stderr);
}

/// What nvcc wrote other sequences for, and what 1.x has.
#[test]
fn what_old_capabilities_have_is_compiled() {
    const TEST: &str = "what_old_capabilities_have_is_compiled";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    place.write(
        "old.cu",
        "#include <cstdio>\n\
         struct S { float x, y; __device__ float sum() const { return x + y; } };\n\
         template<class T> __device__ void swap(T &a, T &b) { T c = a; a = b; b = c; }\n\
         __global__ void k(int *p, float *f, S s) {\n\
           __shared__ int tile[64];\n\
           tile[threadIdx.x] = p[threadIdx.x];\n\
           __syncthreads();\n\
           int a = tile[63 - threadIdx.x], b = __popc(a) + __clz(a) + __brev(a) + __mul24(a, 3) + __ffs(a);\n\
           swap(a, b);\n\
           p[threadIdx.x] = a % 7 + b / 5;\n\
           f[threadIdx.x] = sqrtf(s.sum()) / 3.0f + sinf(f[threadIdx.x]) + fmaf(2.0f, s.x, s.y) + rsqrtf(4.0f);\n\
           __threadfence();\n\
         }\n\
         int main() {\n\
           int *p; float *f;\n\
           cudaMalloc(&p, 256); cudaMalloc(&f, 256);\n\
           cudaMemset(p, 0, 256); cudaMemset(f, 0, 256);\n\
           k<<<1, 64>>>(p, f, S{3, 1});\n\
           float h = 0;\n\
           cudaMemcpy(&h, f, 4, cudaMemcpyDeviceToHost);\n\
           printf(\"%.3f %d\\n\", h, (int)cudaGetLastError());\n\
         }\n",
    );
    for gpu in ["sm_10", "sm_13", "sm_21", "sm_35", "sm_61", "sm_90"] {
        let got = place.margay(&["run", "--gpu", gpu, "old.cu"]);
        assert_eq!((got.code, got.stdout.as_str()), (0, "8.167 0\n"), "{gpu}: {}", got.stderr);
    }
}

#[test]
fn bad_inline_assembly_is_refused_where_it_stands() {
    if !clang("bad_inline_assembly_is_refused_where_it_stands") {
        return;
    }
    let place = Place::empty();
    for (body, why) in [
        ("\nasm(\"frobnicate.u32 %0, %0;\" : \"+r\"(*p));", "x.cu:5:1: error: unknown instruction"),
        ("\nasm(\"add.u32 %0, %0;\" : \"+r\"(*p));", "x.cu:5:1: error: "),
        (
            "\nasm(\"add.u32 %0, %0, nobody;\" : \"+r\"(*p));",
            "x.cu:5:1: error: `nobody` is not declared",
        ),
    ] {
        let (code, said) = compiled(&place, "sm_90", body);
        assert!(code == 1 && said.contains(why), "{body}: {said}");
        assert!(said.contains("PTX line"), "{said}");
    }
    // nvcc hands PTX on without asking its assembler.
    assert_eq!(place.margay(&["cc", "-ptx", "x.cu"]).code, 0);
}

/// What clang lets pass: nvcc refuses the first, and of the others the launch goes wrong.
#[test]
fn rules_that_clang_does_not_know() {
    if !clang("rules_that_clang_does_not_know") {
        return;
    }
    let place = Place::empty();
    place
        .write("member.cu", "struct S { static __device__ int n; };\n__device__ int S::n;\n")
        .write(
            "virtual.cu",
            "struct S { virtual __device__ int f() { return 1; } };\n__global__ void k(S s) {}\n",
        )
        .write(
            "signature.cu",
            "#ifdef __CUDA_ARCH__\ntypedef float real;\n#else\ntypedef double real;\n#endif\n\
             __global__ void k(real *p) { p[0] = 1; }\n",
        );
    place.write(
        "address.cu",
        "__global__ void k(int *p) { if (p && warpSize) { const int *q = &warpSize; *p = *q; } }\n",
    );
    for (file, code) in [("member.cu", "error[MG115]"), ("address.cu", "error[MG114]")] {
        let got = place.margay(&["cc", "-c", file]);
        assert!(got.code == 1 && got.stderr.contains(code), "{file}: {}", got.stderr);
    }
    for (file, warning) in [("virtual.cu", "warning[MG118]"), ("signature.cu", "warning[MG116]")] {
        // The second time it comes out of the cache.
        for _ in 0..2 {
            let got = place.margay(&["cc", "-c", file]);
            assert!(got.code == 0 && got.stderr.contains(warning), "{file}: {}", got.stderr);
        }
    }
}

#[test]
fn an_image_without_ptx_runs_on_its_own_gpus_alone() {
    const TEST: &str = "an_image_without_ptx_runs_on_its_own_gpus_alone";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    place.write(
        "x.cu",
        "#include <cstdio>\n__global__ void k(int *p) { *p = 7; }\n\
         int main() {\n  int *p, h = 0;\n  cudaMalloc(&p, 4);\n  k<<<1, 1>>>(p);\n\
           cudaError_t e = cudaGetLastError();\n  cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);\n\
           printf(\"%s %d\\n\", cudaGetErrorName(e), e ? 0 : h);\n}\n",
    );
    let build = |targets: &str, output: &str| {
        let mut words = vec!["cc", "x.cu", "-o", output];
        words.extend(targets.split(' '));
        let got = place.margay(&words);
        assert_eq!(got.code, 0, "{targets}: {}", got.stderr);
    };
    build("-gencode arch=compute_70,code=sm_70", "image");
    build("-gencode arch=compute_60,code=compute_60", "ptx");
    build("-gencode arch=compute_60,code=[sm_61,compute_60]", "both");
    const NONE: &str = "cudaErrorNoKernelImageForDevice 0\n";
    const FORBIDDEN: &str = "cudaErrorJitCompilationDisabled 0\n";
    const RAN: &str = "cudaSuccess 7\n";
    const FORCE: &str = "CUDA_FORCE_PTX_JIT";
    const DISABLE: &str = "CUDA_DISABLE_PTX_JIT";
    for (program, gpu, setting, told) in [
        ("./image", "sm_70", "", RAN),
        ("./image", "sm_75", "", RAN),
        ("./image", "sm_61", "", NONE),
        ("./image", "sm_90", "", NONE),
        ("./image", "sm_70", FORCE, NONE),
        ("./image", "sm_70", DISABLE, RAN),
        ("./ptx", "sm_90", "", RAN),
        ("./ptx", "sm_90", FORCE, RAN),
        ("./ptx", "sm_90", DISABLE, FORBIDDEN),
        ("./ptx", "sm_52", "", NONE),
        ("./both", "sm_61", DISABLE, RAN),
        ("./both", "sm_60", "", RAN),
        ("./both", "sm_60", DISABLE, FORBIDDEN),
    ] {
        let mut command = place.command(&["run", "--gpu", gpu, program]);
        if !setting.is_empty() {
            command.env(setting, "1");
        }
        let got = place.finish(&mut command);
        assert_eq!(got.stdout, told, "{program} on {gpu} {setting}: {}", got.stderr);
    }
}

#[test]
fn architectures_that_do_not_fit_are_refused() {
    let place = Place::empty();
    place.write("x.cu", "__global__ void k() {}\n");
    for (flags, why) in [
        (
            "-gencode arch=compute_90,code=sm_70",
            "incompatible code generation requested: arch=compute_90, code=sm_70: code for the one does not run on the other",
        ),
        ("-gencode arch=compute_80", "-gencode arch=compute_80: it has no `code=sm_XX`"),
        (
            "-arch=sm_99",
            "`sm_99` is no GPU architecture; there are sm_10 to sm_121, such as sm_75 or sm_90a, the same as \
             compute_XX, and native (`margay gpus` lists them)",
        ),
        (
            "-arch=sm_80 -code=sm_80",
            "-arch=sm_80 beside -code: it must be a virtual architecture there, such as compute_80",
        ),
    ] {
        let mut words = vec!["cc", "-c", "x.cu"];
        words.extend(flags.split(' '));
        place.fails(&words, 2, &format!("margay: error: {why}"));
    }
}

/// PTX ISA, "mad" (floating point): 1.x cuts the product's mantissa, unless the addend is zero; and flushes subnormals.
#[test]
fn singles_of_1_x() {
    const TEST: &str = "singles_of_1_x";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    place.write(
        "x.cu",
        "#include <cstdio>\n\
         __global__ void k(float *p) {\n\
           p[4] = p[0] * p[1] + p[2];\n\
           p[5] = p[0] * p[1] + p[6];\n\
           p[7] = fmaf(p[0], p[1], p[2]);\n\
           p[8] = p[3] * 1.5f;\n\
         }\n\
         int main() {\n\
           float h[9] = {0x1.000002p0f, 1.5f, -1.5f, 0x1p-130f}, *p;\n\
           cudaMalloc(&p, sizeof h);\n\
           cudaMemcpy(p, h, sizeof h, cudaMemcpyHostToDevice);\n\
           k<<<1, 1>>>(p);\n\
           cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);\n\
           printf(\"%a %a %a %a\\n\", h[4], h[5], h[7], h[8]);\n\
         }\n",
    );
    for (gpu, told) in [
        ("sm_13", "0x1p-23 0x1.800004p+0 0x1.8p-23 0x0p+0\n"),
        ("sm_20", "0x1.8p-23 0x1.800004p+0 0x1.8p-23 0x1.8p-130\n"),
    ] {
        let got = place.margay(&["run", "--gpu", gpu, "x.cu"]);
        assert_eq!((got.code, got.stdout.as_str()), (0, told), "{gpu}: {}", got.stderr);
    }
}

/// Before 1.3 doubles are demoted, with a warning; in memory a half of each is used.
#[test]
fn doubles_before_1_3() {
    const TEST: &str = "doubles_before_1_3";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    place.write(
        "x.cu",
        "#include <cstdio>\n\
         __device__ double kept;\n\
         __global__ void k(float *p, int n) {\n\
           double d = p[0] / 3.0;\n\
           kept = d;\n\
           p[1] = sqrt(d * n) + exp(0.0);\n\
           p[2] = (d + 1e-9) - d;\n\
           p[3] = (int)(d * 100);\n\
         }\n\
         int main() {\n\
           float h[4] = {1}, *p;\n\
           double g;\n\
           cudaMalloc(&p, sizeof h);\n\
           cudaMemcpy(p, h, sizeof h, cudaMemcpyHostToDevice);\n\
           k<<<1, 1>>>(p, 3);\n\
           cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);\n\
           cudaMemcpyFromSymbol(&g, kept, 8);\n\
           unsigned words[2];\n\
           __builtin_memcpy(words, &g, 8);\n\
           printf(\"%g %g %g %x %g\\n\", h[1], h[2], h[3], words[0], g);\n\
         }\n",
    );
    let got = place.margay(&["run", "--gpu", "sm_12", "x.cu"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(got.stdout.starts_with("2 0 33 3eaaaaab "), "{}", got.stdout);
    assert!(
        got.stderr.contains("warning[MG309]") && got.stderr.contains("x.cu:4:"),
        "{}",
        got.stderr
    );
    let got = place.margay(&["run", "--gpu", "sm_13", "x.cu"]);
    assert!(got.stdout.starts_with("2 1e-09 33 55555555 0.333333"), "{}{}", got.stdout, got.stderr);
    assert!(!got.stderr.contains("MG309"), "{}", got.stderr);
}
