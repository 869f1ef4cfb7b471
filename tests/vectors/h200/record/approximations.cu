// SPDX-License-Identifier: MIT OR Apache-2.0
// What a card gives for the approximate operations where PTX leaves no room: NaN, infinities, zeros and
// subnormals, as arguments or results; and for halves, every argument. `approximations DIRECTORY` writes
// - halves.bin: results for the arguments 0 to 65535, little-endian, of ex2.f16, ex2.ftz.bf16, tanh.f16, tanh.bf16;
// - specials.txt: `form argument... result`, in hexadecimal.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define UNARY(name, text, C, T)                                                                                        \
    __global__ void name(const uint64_t *a, const uint64_t *, uint64_t *r, int n) {                                    \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                 \
        if (i >= n) return;                                                                                            \
        T x = (T)a[i], y;                                                                                              \
        asm volatile(text : "=" C(y) : C(x));                                                                          \
        r[i] = y;                                                                                                      \
    }
#define F32(name, form)                                                                                                \
    UNARY(name, "{.reg .f32 x, y; mov.b32 x, %1; " form " y, x; mov.b32 %0, y;}", "r", uint32_t)
#define F64(name, form)                                                                                                \
    UNARY(name, "{.reg .f64 x, y; mov.b64 x, %1; " form " y, x; mov.b64 %0, y;}", "l", uint64_t)
#define F16(name, form) UNARY(name, form " %0, %1;", "h", uint16_t)
#define F16X2(name, form) UNARY(name, form " %0, %1;", "r", uint32_t)
#define DIV(name, form)                                                                                                \
    __global__ void name(const uint64_t *a, const uint64_t *b, uint64_t *r, int n) {                                   \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                 \
        if (i >= n) return;                                                                                            \
        uint32_t x = (uint32_t)a[i], y = (uint32_t)b[i], q;                                                            \
        asm volatile("{.reg .f32 x, y, q; mov.b32 x, %1; mov.b32 y, %2; " form " q, x, y; mov.b32 %0, q;}"             \
                     : "=r"(q) : "r"(x), "r"(y));                                                                      \
        r[i] = q;                                                                                                      \
    }
F32(rcp, "rcp.approx.f32") F32(rcp_ftz, "rcp.approx.ftz.f32") F32(sqrt_, "sqrt.approx.f32")
F32(sqrt_ftz, "sqrt.approx.ftz.f32") F32(rsqrt_, "rsqrt.approx.f32") F32(rsqrt_ftz, "rsqrt.approx.ftz.f32")
F32(ex2, "ex2.approx.f32") F32(ex2_ftz, "ex2.approx.ftz.f32") F32(lg2, "lg2.approx.f32")
F32(lg2_ftz, "lg2.approx.ftz.f32") F32(sin_, "sin.approx.f32") F32(sin_ftz, "sin.approx.ftz.f32")
F32(cos_, "cos.approx.f32") F32(cos_ftz, "cos.approx.ftz.f32") F32(tanh_, "tanh.approx.f32")
F64(rcp_d, "rcp.approx.ftz.f64") F64(rsqrt_d, "rsqrt.approx.f64") F64(rsqrt_d_ftz, "rsqrt.approx.ftz.f64")
F16(ex2_h, "ex2.approx.f16") F16(ex2_b, "ex2.approx.ftz.bf16") F16(tanh_h, "tanh.approx.f16")
F16(tanh_b, "tanh.approx.bf16")
F16X2(ex2_h2, "ex2.approx.f16x2") F16X2(ex2_b2, "ex2.approx.ftz.bf16x2") F16X2(tanh_h2, "tanh.approx.f16x2")
F16X2(tanh_b2, "tanh.approx.bf16x2")
DIV(div_approx, "div.approx.f32") DIV(div_approx_ftz, "div.approx.ftz.f32")
DIV(div_full, "div.full.f32") DIV(div_full_ftz, "div.full.ftz.f32")

typedef void (*Kernel)(const uint64_t *, const uint64_t *, uint64_t *, int);
typedef std::vector<uint64_t> Values;

static void must(cudaError_t e) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s\n", cudaGetErrorString(e));
    exit(1);
}
static Values run(Kernel kernel, const Values &a, const Values &b) {
    uint64_t *device[3];
    size_t bytes = a.size() * 8;
    for (auto &p : device) must(cudaMalloc(&p, bytes));
    must(cudaMemcpy(device[0], a.data(), bytes, cudaMemcpyHostToDevice));
    must(cudaMemcpy(device[1], b.empty() ? a.data() : b.data(), bytes, cudaMemcpyHostToDevice));
    kernel<<<(unsigned)((a.size() + 255) / 256), 256>>>(device[0], device[1], device[2], (int)a.size());
    Values r(a.size());
    must(cudaMemcpy(r.data(), device[2], bytes, cudaMemcpyDeviceToHost));
    for (auto &p : device) cudaFree(p);
    return r;
}

static uint64_t state = 1;
static uint64_t random64() {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

// Specials, and values around every border of normal and subnormal arguments and results.
static const uint32_t edges[] = {
    0x00000000, 0x7f800000, 0x7fc00000, 0x7f800001, 0x7fffffff, 0x7fc12345, 0x00000001, 0x00000002, 0x00000003,
    0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x01000000, 0x01800000, 0x3f000000, 0x3f7fffff,
    0x3f800000, 0x3f800001, 0x40000000, 0x40200000, 0x7e000000, 0x7e7fffff, 0x7e800000, 0x7e800001, 0x7f000000,
    0x7f000001, 0x7f7fffff, 0x41200000, 0x42fc0000, 0x42fe0000, 0x43000000, 0x43150000, 0x43160000, 0x43170000,
    0x40490fdb, 0x3fc90fdb, 0x00200001, 0x00012345};

static void write(FILE *out, const char *form, Kernel kernel, const Values &a, const Values &b, int digits) {
    Values r = run(kernel, a, b);
    for (size_t i = 0; i < a.size(); i++) {
        fprintf(out, "%s %0*llx", form, digits, (unsigned long long)a[i]);
        if (!b.empty()) fprintf(out, " %0*llx", digits, (unsigned long long)b[i]);
        fprintf(out, " %0*llx\n", digits, (unsigned long long)r[i]);
    }
}

int main(int argc, char **argv) {
    std::string directory = argc > 1 ? argv[1] : ".";
    FILE *halves = fopen((directory + "/halves.bin").c_str(), "wb");
    Values all;
    for (uint32_t i = 0; i < 65536; i++) all.push_back(i);
    Values pairs;
    for (uint32_t i = 0; i < 65536; i++) pairs.push_back(i | (uint64_t)(i * 40503 & 0xffff) << 16);
    struct { Kernel one, two; const char *name; } forms[] = {
        {ex2_h, ex2_h2, "ex2.f16"}, {ex2_b, ex2_b2, "ex2.ftz.bf16"}, {tanh_h, tanh_h2, "tanh.f16"}, {tanh_b, tanh_b2, "tanh.bf16"}};
    for (auto &form : forms) {
        Values r = run(form.one, all, {}), two = run(form.two, pairs, {});
        int differ = 0;
        for (int i = 0; i < 65536; i++) {
            uint16_t v = (uint16_t)r[i];
            fwrite(&v, 2, 1, halves);
            uint64_t together = r[i] | r[pairs[i] >> 16] << 16;
            differ += together != two[i];
        }
        printf("%s: %d pairs are not as their halves\n", form.name, differ);
    }
    fclose(halves);

    FILE *out = fopen((directory + "/specials.txt").c_str(), "w");
    Values single;
    for (uint32_t sign = 0; sign < 2; sign++)
        for (uint32_t e : edges) single.push_back(e | sign << 31);
    Values one = single;
    for (int i = 0; i < 150; i++) {
        uint64_t r = random64();
        one.push_back((r & 0x80000000) | (r >> 32 & 0x7fffff) >> (r & 7) * 3);       // subnormal
        one.push_back((r >> 8 & 0x80000000) | 0x7e800000 | (r >> 32 & 0xffffff));    // a subnormal reciprocal
        one.push_back(0xc2fc0000 + (r >> 40) % 0x1a0000);                            // a subnormal power of 2
    }
    struct { Kernel kernel; const char *name; } unary[] = {
        {rcp, "rcp.approx.f32"}, {rcp_ftz, "rcp.approx.ftz.f32"}, {sqrt_, "sqrt.approx.f32"},
        {sqrt_ftz, "sqrt.approx.ftz.f32"}, {rsqrt_, "rsqrt.approx.f32"}, {rsqrt_ftz, "rsqrt.approx.ftz.f32"},
        {ex2, "ex2.approx.f32"}, {ex2_ftz, "ex2.approx.ftz.f32"}, {lg2, "lg2.approx.f32"},
        {lg2_ftz, "lg2.approx.ftz.f32"}, {sin_, "sin.approx.f32"}, {sin_ftz, "sin.approx.ftz.f32"},
        {cos_, "cos.approx.f32"}, {cos_ftz, "cos.approx.ftz.f32"}, {tanh_, "tanh.approx.f32"}};
    for (auto &form : unary) write(out, form.name, form.kernel, one, {}, 8);
    Values a, b;
    for (uint64_t x : single)
        for (uint64_t y : single) a.push_back(x), b.push_back(y);
    for (int i = 0; i < 400; i++) {
        uint64_t r = random64(), s = random64(), t = random64();
        uint64_t normal = (r & 0x807fffff) | (uint64_t)(1 + (r >> 32) % 254) << 23;
        uint64_t subnormal = (s & 0x80000000) | (s >> 32 & 0x7fffff) >> (s & 7) * 3;
        uint64_t exponent = 140 + (t >> 32) % 114, below = exponent - 127 - (int)((t >> 40) % 12);
        a.push_back(subnormal), b.push_back(normal);
        a.push_back(normal), b.push_back(subnormal);
        a.push_back(subnormal), b.push_back((t & 0x807fffff) | (uint64_t)(104 + (t >> 32) % 30) << 23);
        a.push_back((r & 0x807fffff) | (below < 255 && below ? below : 1) << 23), b.push_back((t & 0x807fffff) | exponent << 23);
    }
    write(out, "div.approx.f32", div_approx, a, b, 8);
    write(out, "div.approx.ftz.f32", div_approx_ftz, a, b, 8);
    write(out, "div.full.f32", div_full, a, b, 8);
    write(out, "div.full.ftz.f32", div_full_ftz, a, b, 8);
    Values wide;
    for (uint64_t sign = 0; sign < 2; sign++)
        for (uint64_t e : {0x0000000000000000ull, 0x7ff0000000000000ull, 0x7ff8000000000000ull, 0x7ff0000000000001ull,
                           0x7fffffffffffffffull, 0x7ff8000012345678ull, 0x0000000000000001ull, 0x0000000100000000ull,
                           0x000fffffffffffffull, 0x0010000000000000ull, 0x0008000000000000ull, 0x7fefffffffffffffull,
                           0x7fe0000000000000ull, 0x7fd0000000000000ull, 0x7fd0000100000000ull, 0x7fcfffffffffffffull,
                           0x3ff0000000000000ull, 0x3fefffffffffffffull, 0x4000000000000000ull, 0x00000000ffffffffull,
                           0x7ff0000100000000ull, 0x3ff00000ffffffffull, 0x4010000000000000ull})
            wide.push_back(e | sign << 63);
    for (int i = 0; i < 200; i++) {
        uint64_t r = random64(), s = random64();
        wide.push_back((r & 1ull << 63) | (s & 0xfffffffffffff) >> r % 52);
        wide.push_back(r);
    }
    write(out, "rcp.approx.ftz.f64", rcp_d, wide, {}, 16);
    write(out, "rsqrt.approx.f64", rsqrt_d, wide, {}, 16);
    write(out, "rsqrt.approx.ftz.f64", rsqrt_d_ftz, wide, {}, 16);
    fclose(out);

    // Not kept: how rcp differs from the nearest float, over all fractions.
    if (argc > 2) {
        FILE *table = fopen(argv[2], "wb");
        Values x;
        for (uint32_t i = 0; i < 1 << 23; i++) x.push_back(0x3f800000 | i);
        for (Kernel kernel : {rcp_ftz, rsqrt_ftz, lg2_ftz, ex2_ftz}) {
            Values r = run(kernel, x, {});
            for (uint64_t v : r) {
                uint32_t w = (uint32_t)v;
                fwrite(&w, 4, 1, table);
            }
        }
        fclose(table);
    }
    return 0;
}
