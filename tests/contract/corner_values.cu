// SPDX-License-Identifier: MIT OR Apache-2.0
// What the PTX manual leaves open or states loosely: division by zero, NaN payloads, conversions of
// NaN and of values out of range. What an H200 printed is corner_values.h200.txt.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__device__ uint64_t out[512];

#define INT2(name, form, C, T)                                                                                        \
    __global__ void name(T a, T b) {                                                                                   \
        T d;                                                                                                           \
        asm volatile(form " %0, %1, %2;" : "=" C(d) : C(a), C(b));                                                     \
        out[0] = (uint64_t)d;                                                                                          \
    }
INT2(div_u16, "div.u16", "h", uint16_t)
INT2(div_s16, "div.s16", "h", uint16_t)
INT2(div_u32, "div.u32", "r", uint32_t)
INT2(div_s32, "div.s32", "r", uint32_t)
INT2(div_u64, "div.u64", "l", uint64_t)
INT2(div_s64, "div.s64", "l", uint64_t)
INT2(rem_u16, "rem.u16", "h", uint16_t)
INT2(rem_s16, "rem.s16", "h", uint16_t)
INT2(rem_u32, "rem.u32", "r", uint32_t)
INT2(rem_s32, "rem.s32", "r", uint32_t)
INT2(rem_u64, "rem.u64", "l", uint64_t)
INT2(rem_s64, "rem.s64", "l", uint64_t)

// Operands as bit patterns: PTX's .b registers take them.
#define F64OP(name, op)                                                                                               \
    __global__ void name(const uint64_t *a, const uint64_t *b, int n) {                                                \
        for (int i = 0; i < n; i++)                                                                                    \
            for (int j = 0; j < n; j++) {                                                                              \
                double x = __longlong_as_double(a[i]), y = __longlong_as_double(b[j]), d;                              \
                asm volatile(op " %0, %1, %2;" : "=d"(d) : "d"(x), "d"(y));                                            \
                out[i * n + j] = __double_as_longlong(d);                                                              \
            }                                                                                                          \
    }
#define F32OP(name, op)                                                                                               \
    __global__ void name(const uint64_t *a, const uint64_t *b, int n) {                                                \
        for (int i = 0; i < n; i++)                                                                                    \
            for (int j = 0; j < n; j++) {                                                                              \
                float x = __int_as_float((int)a[i]), y = __int_as_float((int)b[j]), d;                                 \
                asm volatile(op " %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));                                            \
                out[i * n + j] = (uint32_t)__float_as_int(d);                                                          \
            }                                                                                                          \
    }
#define F16OP(name, op)                                                                                               \
    __global__ void name(const uint64_t *a, const uint64_t *b, int n) {                                                \
        for (int i = 0; i < n; i++)                                                                                    \
            for (int j = 0; j < n; j++) {                                                                              \
                uint16_t x = (uint16_t)a[i], y = (uint16_t)b[j], d;                                                    \
                asm volatile(op " %0, %1, %2;" : "=h"(d) : "h"(x), "h"(y));                                            \
                out[i * n + j] = d;                                                                                    \
            }                                                                                                          \
    }
F64OP(add_f64, "add.rn.f64") F64OP(mul_f64, "mul.rn.f64") F64OP(div_f64, "div.rn.f64") F64OP(min_f64, "min.f64")
F64OP(max_f64, "max.f64") F64OP(sub_f64, "sub.rz.f64") F64OP(copysign_f64, "copysign.f64")
F32OP(add_f32, "add.rn.f32") F32OP(mul_f32, "mul.rn.f32") F32OP(div_f32, "div.rn.f32") F32OP(min_f32, "min.f32")
F32OP(max_f32, "max.f32") F32OP(max_nan_f32, "max.NaN.f32") F32OP(add_sat, "add.sat.f32") F32OP(add_ftz, "add.ftz.f32")
F32OP(min_xorsign, "min.xorsign.abs.f32") F32OP(div_approx, "div.approx.f32") F32OP(div_full, "div.full.f32")
F16OP(add_f16, "add.f16") F16OP(mul_f16, "mul.f16") F16OP(min_f16, "min.f16") F16OP(max_nan_f16, "max.NaN.f16")
F16OP(add_sat_f16, "add.sat.f16") F16OP(add_bf16, "add.bf16") F16OP(mul_bf16, "mul.bf16") F16OP(min_bf16, "min.bf16")

#define UN(name, form, CO, TO, CI, IN)                                                                                \
    __global__ void name(const uint64_t *a, int n) {                                                                   \
        for (int i = 0; i < n; i++) {                                                                                  \
            TO d;                                                                                                      \
            asm volatile(form " %0, %1;" : "=" CO(d) : CI(IN));                                                        \
            out[i] = bits(d);                                                                                          \
        }                                                                                                              \
    }
__device__ uint64_t bits(double d) { return __double_as_longlong(d); }
__device__ uint64_t bits(float d) { return (uint32_t)__float_as_int(d); }
__device__ uint64_t bits(uint64_t d) { return d; }
__device__ uint64_t bits(uint32_t d) { return d; }
__device__ uint64_t bits(uint16_t d) { return d; }
#define D __longlong_as_double(a[i])
#define F __int_as_float((int)a[i])
#define H ((uint16_t)a[i])
UN(d_to_s32, "cvt.rzi.s32.f64", "r", uint32_t, "d", D) UN(d_to_u32, "cvt.rzi.u32.f64", "r", uint32_t, "d", D)
UN(d_to_s64, "cvt.rzi.s64.f64", "l", uint64_t, "d", D) UN(d_to_u64, "cvt.rzi.u64.f64", "l", uint64_t, "d", D)
UN(d_to_s16, "cvt.rzi.s16.f64", "h", uint16_t, "d", D) UN(d_to_u16, "cvt.rzi.u16.f64", "h", uint16_t, "d", D)
UN(f_to_s32, "cvt.rzi.s32.f32", "r", uint32_t, "f", F) UN(f_to_u32, "cvt.rzi.u32.f32", "r", uint32_t, "f", F)
UN(f_to_s64, "cvt.rzi.s64.f32", "l", uint64_t, "f", F) UN(f_to_u64, "cvt.rzi.u64.f32", "l", uint64_t, "f", F)
UN(f_to_s16, "cvt.rni.s16.f32", "h", uint16_t, "f", F) UN(f_to_u16, "cvt.rni.u16.f32", "h", uint16_t, "f", F)
UN(f_to_s8, "cvt.rni.s8.f32", "r", uint32_t, "f", F) UN(f_to_u8, "cvt.rni.u8.f32", "r", uint32_t, "f", F)
UN(h_to_s32, "cvt.rzi.s32.f16", "r", uint32_t, "h", H) UN(h_to_u64, "cvt.rzi.u64.f16", "l", uint64_t, "h", H)
UN(h_to_s16, "cvt.rzi.s16.f16", "h", uint16_t, "h", H)
UN(d_to_f, "cvt.rn.f32.f64", "f", float, "d", D) UN(d_to_f_sat, "cvt.rn.sat.f32.f64", "f", float, "d", D)
UN(d_to_h, "cvt.rn.f16.f64", "h", uint16_t, "d", D) UN(f_to_d, "cvt.f64.f32", "d", double, "f", F)
UN(f_to_h, "cvt.rn.f16.f32", "h", uint16_t, "f", F) UN(f_to_b, "cvt.rn.bf16.f32", "h", uint16_t, "f", F)
UN(f_to_b_rz, "cvt.rz.bf16.f32", "h", uint16_t, "f", F) UN(f_to_tf, "cvt.rna.tf32.f32", "r", uint32_t, "f", F)
UN(h_to_f, "cvt.f32.f16", "f", float, "h", H) UN(b_to_f, "cvt.f32.bf16", "f", float, "h", H)
UN(rni_d, "cvt.rni.f64.f64", "d", double, "d", D) UN(rmi_f, "cvt.rmi.f32.f32", "f", float, "f", F)
UN(rpi_ftz_f, "cvt.rpi.ftz.f32.f32", "f", float, "f", F) UN(f_to_f_sat, "cvt.sat.f32.f32", "f", float, "f", F)
UN(abs_d, "abs.f64", "d", double, "d", D) UN(neg_d, "neg.f64", "d", double, "d", D)
UN(abs_f, "abs.f32", "f", float, "f", F) UN(neg_f, "neg.f32", "f", float, "f", F)
UN(abs_ftz_f, "abs.ftz.f32", "f", float, "f", F) UN(neg_ftz_f, "neg.ftz.f32", "f", float, "f", F)
UN(neg_h, "neg.f16", "h", uint16_t, "h", H) UN(abs_h, "abs.f16", "h", uint16_t, "h", H)
UN(neg_b, "neg.bf16", "h", uint16_t, "h", H) UN(abs_b, "abs.bf16", "h", uint16_t, "h", H)
UN(sqrt_d, "sqrt.rn.f64", "d", double, "d", D) UN(rcp_d, "rcp.rn.f64", "d", double, "d", D)
UN(rcp_ftz_d, "rcp.approx.ftz.f64", "d", double, "d", D) UN(rsqrt_d, "rsqrt.approx.f64", "d", double, "d", D)
UN(rsqrt_ftz_d, "rsqrt.approx.ftz.f64", "d", double, "d", D)
UN(sqrt_f, "sqrt.rn.f32", "f", float, "f", F) UN(rcp_f, "rcp.rn.f32", "f", float, "f", F)
UN(tanh_h, "tanh.approx.f16", "h", uint16_t, "h", H) UN(ex2_h, "ex2.approx.f16", "h", uint16_t, "h", H)
UN(ex2_b, "ex2.approx.ftz.bf16", "h", uint16_t, "h", H) UN(tanh_b, "tanh.approx.bf16", "h", uint16_t, "h", H)

static const uint64_t doubles[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000123, 0x7ff0000000000456, 0x0000000000000001,
    0x800fffffffffffff, 0x7fefffffffffffff, 0x43e0000000000000, 0xc3e0000000000000, 0x41dfffffffe00000,
    0xc1e0000000100000, 0x3fe0000000000000, 0x4004000000000000};
static const uint64_t floats[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00123, 0x7f800456,
    0x00000001, 0x807fffff, 0x7f7fffff, 0x5f000000, 0xdf000000, 0x4effffff, 0xcf000001, 0x3f000000, 0x40200000};
static const uint64_t halves[] = {
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x0001,
    0x83ff, 0x7bff, 0x7f80, 0xff80, 0x7fc0, 0x0080, 0x3f80, 0x4040};
constexpr int N = 18;

static uint64_t *device_values(const uint64_t *values) {
    uint64_t *d;
    cudaMalloc(&d, N * 8);
    cudaMemcpy(d, values, N * 8, cudaMemcpyHostToDevice);
    return d;
}
static void show(const char *name, int count, int digits) {
    uint64_t host[512];
    cudaError_t error = cudaMemcpyFromSymbol(host, out, count * 8);
    printf("%s:", name);
    if (error != cudaSuccess) printf(" %s", cudaGetErrorName(error));
    else for (int i = 0; i < count; i++) printf(" %0*llx", digits, (unsigned long long)host[i]);
    printf("\n");
}

#define INT(name, T, digits)                                                                                          \
    {                                                                                                                  \
        const uint64_t least = (uint64_t)1 << (sizeof(T) * 8 - 1);                                                     \
        const uint64_t pairs[][2] = {{7, 0}, {0, 0}, {(uint64_t)-7, 0}, {least, (uint64_t)-1}, {(uint64_t)-7, 2}, {7, (uint64_t)-2}}; \
        for (auto &pair : pairs) {                                                                                     \
            name<<<1, 1>>>((T)pair[0], (T)pair[1]);                                                                    \
            printf("%llx %llx ", (unsigned long long)(T)pair[0], (unsigned long long)(T)pair[1]);                      \
            show(#name, 1, digits);                                                                                    \
        }                                                                                                              \
    }
#define PAIRS(name, values, digits) name<<<1, 1>>>(values, values, N), show(#name, N * N, digits);
#define ONES(name, values, digits) name<<<1, 1>>>(values, N), show(#name, N, digits);

int main() {
    INT(div_u16, uint16_t, 4) INT(div_s16, uint16_t, 4) INT(div_u32, uint32_t, 8) INT(div_s32, uint32_t, 8)
    INT(div_u64, uint64_t, 16) INT(div_s64, uint64_t, 16) INT(rem_u16, uint16_t, 4) INT(rem_s16, uint16_t, 4)
    INT(rem_u32, uint32_t, 8) INT(rem_s32, uint32_t, 8) INT(rem_u64, uint64_t, 16) INT(rem_s64, uint64_t, 16)
    uint64_t *d = device_values(doubles), *f = device_values(floats), *h = device_values(halves);
    PAIRS(add_f64, d, 16) PAIRS(mul_f64, d, 16) PAIRS(div_f64, d, 16) PAIRS(min_f64, d, 16) PAIRS(max_f64, d, 16)
    PAIRS(sub_f64, d, 16) PAIRS(copysign_f64, d, 16)
    PAIRS(add_f32, f, 8) PAIRS(mul_f32, f, 8) PAIRS(div_f32, f, 8) PAIRS(min_f32, f, 8) PAIRS(max_f32, f, 8)
    PAIRS(max_nan_f32, f, 8) PAIRS(add_sat, f, 8) PAIRS(add_ftz, f, 8) PAIRS(min_xorsign, f, 8)
    PAIRS(add_f16, h, 4) PAIRS(mul_f16, h, 4) PAIRS(min_f16, h, 4) PAIRS(max_nan_f16, h, 4) PAIRS(add_sat_f16, h, 4)
    PAIRS(add_bf16, h, 4) PAIRS(mul_bf16, h, 4) PAIRS(min_bf16, h, 4)
    ONES(d_to_s32, d, 8) ONES(d_to_u32, d, 8) ONES(d_to_s64, d, 16) ONES(d_to_u64, d, 16) ONES(d_to_s16, d, 4)
    ONES(d_to_u16, d, 4) ONES(f_to_s32, f, 8) ONES(f_to_u32, f, 8) ONES(f_to_s64, f, 16) ONES(f_to_u64, f, 16)
    ONES(f_to_s16, f, 4) ONES(f_to_u16, f, 4) ONES(f_to_s8, f, 8) ONES(f_to_u8, f, 8) ONES(h_to_s32, h, 8)
    ONES(h_to_u64, h, 16) ONES(h_to_s16, h, 4) ONES(d_to_f, d, 8) ONES(d_to_f_sat, d, 8) ONES(d_to_h, d, 4)
    ONES(f_to_d, f, 16) ONES(f_to_h, f, 4) ONES(f_to_b, f, 4) ONES(f_to_b_rz, f, 4) ONES(f_to_tf, f, 8)
    ONES(h_to_f, h, 8) ONES(b_to_f, h, 8) ONES(rni_d, d, 16) ONES(rmi_f, f, 8) ONES(rpi_ftz_f, f, 8)
    ONES(f_to_f_sat, f, 8) ONES(abs_d, d, 16) ONES(neg_d, d, 16) ONES(abs_f, f, 8) ONES(neg_f, f, 8)
    ONES(abs_ftz_f, f, 8) ONES(neg_ftz_f, f, 8) ONES(neg_h, h, 4) ONES(abs_h, h, 4) ONES(neg_b, h, 4)
    ONES(abs_b, h, 4) ONES(sqrt_d, d, 16) ONES(rcp_d, d, 16) ONES(sqrt_f, f, 8) ONES(rcp_f, f, 8)
    // Approximations: compared within their bounds, not bit for bit.
    PAIRS(div_approx, f, 8) PAIRS(div_full, f, 8) ONES(rcp_ftz_d, d, 16) ONES(rsqrt_d, d, 16) ONES(rsqrt_ftz_d, d, 16)
    ONES(tanh_h, h, 4) ONES(ex2_h, h, 4) ONES(ex2_b, h, 4) ONES(tanh_b, h, 4)
    return 0;
}
