// SPDX-License-Identifier: MIT OR Apache-2.0
// The eight-bit floats e4m3 and e5m2, their pairs and fours, and conversions, on host and device (CUDA Math
// API, "FP8 Intrinsics"). From sm_89 on a device converts by PTX's own instructions.
//
// Limit: not the scale factors e8m0 of sm_100.
#ifndef MARGAY_CUDA_FP8_H
#define MARGAY_CUDA_FP8_H
#define __CUDA_FP8_H__
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#if defined(__cplusplus)
#include "margay/callers_begin.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short int __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

// What becomes of values beyond the largest: e5m2 has infinities, e4m3 only NaN.
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

#define MARGAY_F8 static __host__ __device__ __forceinline__
#if defined(MARGAY_CUDA_PASS) && defined(MARGAY_ARCH) && MARGAY_ARCH >= 890
#define MARGAY_F8_PTX 1
#else
#define MARGAY_F8_PTX 0
#endif

namespace margay {
// To nearest even, from a double: floats and halves are doubles too.
MARGAY_F8 unsigned char fp8_round(double d, bool saturate, bool e5m2) {
  unsigned long long u = __builtin_bit_cast(unsigned long long, d);
  unsigned char sign = (unsigned char)(u >> 56 & 0x80u);
  unsigned long long magnitude = u & 0x7fffffffffffffffull;
  if (magnitude > 0x7ff0000000000000ull) return 0x7fu;
  int digits = e5m2 ? 3 : 4, bias = e5m2 ? 15 : 7;
  unsigned int largest = e5m2 ? 0x7bu : 0x7eu;
  unsigned int over = saturate ? largest : e5m2 ? 0x7cu : 0x7fu;
  if (magnitude == 0x7ff0000000000000ull) return (unsigned char)(sign | over);
  int biased = (int)(magnitude >> 52) - 1023 + bias;
  unsigned long long fraction = (magnitude & 0xfffffffffffffull) | (magnitude >> 52 ? 1ull << 52 : 0);
  int drop = 53 - digits;
  if (biased <= 0) {
    drop += 1 - biased;
    biased = 0;
  }
  if (drop > 63) drop = 63;
  unsigned long long kept = fraction >> drop;
  unsigned long long rest = fraction & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  kept += rest > half || (rest == half && (kept & 1));
  // The hidden bit adds one to the exponent field; a carry does the rest.
  unsigned long long bits = kept + (biased > 0 ? (unsigned long long)(biased - 1) << (digits - 1) : 0);
  return (unsigned char)(sign | (bits > largest ? over : (unsigned int)bits));
}
MARGAY_F8 unsigned short fp8_to_half(unsigned char x, bool e5m2) {
  unsigned int magnitude = x & 0x7fu, sign = (x & 0x80u) << 8;
  if (e5m2) return (unsigned short)(magnitude > 0x7cu ? 0x7fffu : sign | magnitude << 8);
  if (magnitude == 0x7fu) return 0x7fffu;
  if (magnitude >= 8) return (unsigned short)(sign | ((magnitude << 7) + (8u << 10)));
  // Subnormal: so many times 2^-9, which halves have as normal numbers.
  if (magnitude == 0) return (unsigned short)sign;
  unsigned int up = magnitude >= 4 ? 0 : magnitude >= 2 ? 1 : 2;
  return (unsigned short)(sign | ((8u - up) << 10) | ((magnitude << (up + 8) & 0x7ffu) & 0x3ffu));
}
MARGAY_F8 unsigned short fp8_pair(float low, float high, bool saturate, bool e5m2) {
#if MARGAY_F8_PTX
  if (saturate) {
    unsigned short r;
    if (e5m2)
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
    else
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
    return r;
  }
#endif
  return (unsigned short)(fp8_round(low, saturate, e5m2) | fp8_round(high, saturate, e5m2) << 8);
}
MARGAY_F8 unsigned int fp8_halves(unsigned short x, bool e5m2) {
#if MARGAY_F8_PTX
  unsigned int r;
  if (e5m2)
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"(x));
  else
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(x));
  return r;
#else
  return fp8_to_half((unsigned char)x, e5m2) | (unsigned int)fp8_to_half((unsigned char)(x >> 8), e5m2) << 16;
#endif
}
MARGAY_F8 float fp8_float(unsigned char x, bool e5m2) {
  return __half2float(__half(__half_raw{(unsigned short)fp8_halves(x, e5m2)}));
}
} // namespace margay

MARGAY_F8 __nv_fp8_storage_t __nv_cvt_double_to_fp8(const double x, const __nv_saturation_t saturate,
                                                    const __nv_fp8_interpretation_t kind) {
  return margay::fp8_round(x, saturate == __NV_SATFINITE, kind == __NV_E5M2);
}
MARGAY_F8 __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(const double2 x, const __nv_saturation_t saturate,
                                                         const __nv_fp8_interpretation_t kind) {
  return (__nv_fp8x2_storage_t)(__nv_cvt_double_to_fp8(x.x, saturate, kind) |
                                __nv_cvt_double_to_fp8(x.y, saturate, kind) << 8);
}
MARGAY_F8 __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(const float2 x, const __nv_saturation_t saturate,
                                                        const __nv_fp8_interpretation_t kind) {
  return margay::fp8_pair(x.x, x.y, saturate == __NV_SATFINITE, kind == __NV_E5M2);
}
MARGAY_F8 __nv_fp8_storage_t __nv_cvt_float_to_fp8(const float x, const __nv_saturation_t saturate,
                                                   const __nv_fp8_interpretation_t kind) {
  return (__nv_fp8_storage_t)margay::fp8_pair(x, 0.0f, saturate == __NV_SATFINITE, kind == __NV_E5M2);
}
MARGAY_F8 __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(const __half_raw x, const __nv_saturation_t saturate,
                                                     const __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__half2float(__half(x)), saturate, kind);
}
MARGAY_F8 __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(const __half2_raw x,
                                                          const __nv_saturation_t saturate,
                                                          const __nv_fp8_interpretation_t kind) {
  float low = __half2float(__half(__half_raw{x.x})), high = __half2float(__half(__half_raw{x.y}));
  return margay::fp8_pair(low, high, saturate == __NV_SATFINITE, kind == __NV_E5M2);
}
MARGAY_F8 __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(const __nv_bfloat16_raw x,
                                                         const __nv_saturation_t saturate,
                                                         const __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(margay::bf16_widen(x.x), saturate, kind);
}
MARGAY_F8 __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(const __nv_bfloat162_raw x,
                                                              const __nv_saturation_t saturate,
                                                              const __nv_fp8_interpretation_t kind) {
  return margay::fp8_pair(margay::bf16_widen(x.x), margay::bf16_widen(x.y),
                          saturate == __NV_SATFINITE, kind == __NV_E5M2);
}
MARGAY_F8 __half_raw __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t x,
                                             const __nv_fp8_interpretation_t kind) {
  return __half_raw{(unsigned short)margay::fp8_halves(x, kind == __NV_E5M2)};
}
MARGAY_F8 __half2_raw __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t x,
                                                 const __nv_fp8_interpretation_t kind) {
  unsigned int both = margay::fp8_halves(x, kind == __NV_E5M2);
  return __half2_raw{(unsigned short)both, (unsigned short)(both >> 16)};
}

#define MARGAY_HD __host__ __device__
// A float of eight bits. All conversions are explicit; to integers they truncate, clamp, and make NaN 0.
#define MARGAY_FP8(NAME, KIND)                                                                     \
  struct NAME {                                                                                    \
    __nv_fp8_storage_t __x;                                                                        \
    NAME() = default;                                                                              \
    MARGAY_HD explicit NAME(const __half f)                                                        \
        : __x(__nv_cvt_halfraw_to_fp8(static_cast<__half_raw>(f), __NV_SATFINITE, KIND)) {}        \
    MARGAY_HD explicit NAME(const __nv_bfloat16 f)                                                 \
        : __x(__nv_cvt_float_to_fp8(__bfloat162float(f), __NV_SATFINITE, KIND)) {}                 \
    MARGAY_HD explicit NAME(const float f)                                                         \
        : __x(__nv_cvt_float_to_fp8(f, __NV_SATFINITE, KIND)) {}                                   \
    MARGAY_HD explicit NAME(const double f)                                                        \
        : __x(__nv_cvt_double_to_fp8(f, __NV_SATFINITE, KIND)) {}                                  \
    MARGAY_FP8_FROM(NAME, short, KIND)                                                             \
    MARGAY_FP8_FROM(NAME, unsigned short, KIND)                                                    \
    MARGAY_FP8_FROM(NAME, int, KIND)                                                               \
    MARGAY_FP8_FROM(NAME, unsigned int, KIND)                                                      \
    MARGAY_FP8_FROM(NAME, long, KIND)                                                              \
    MARGAY_FP8_FROM(NAME, unsigned long, KIND)                                                     \
    MARGAY_FP8_FROM(NAME, long long, KIND)                                                         \
    MARGAY_FP8_FROM(NAME, unsigned long long, KIND)                                                \
    MARGAY_HD explicit operator float() const { return margay::fp8_float(__x, KIND == __NV_E5M2); } \
    MARGAY_HD explicit operator double() const { return (double)(float)*this; }                    \
    MARGAY_HD explicit operator __half() const {                                                   \
      return static_cast<__half>(__nv_cvt_fp8_to_halfraw(__x, KIND));                              \
    }                                                                                              \
    MARGAY_HD explicit operator __nv_bfloat16() const { return __float2bfloat16_rn((float)*this); } \
    MARGAY_HD explicit operator bool() const { return (__x & 0x7fu) != 0; }                        \
    MARGAY_FP8_TO(signed char, -128, 127)                                                          \
    MARGAY_FP8_TO(unsigned char, 0, 255)                                                           \
    MARGAY_FP8_TO(char, -128, 127)                                                                 \
    MARGAY_FP8_TO(short, -32768, 32767)                                                            \
    MARGAY_FP8_TO(unsigned short, 0, 65535)                                                        \
    MARGAY_FP8_TO(int, (-2147483647 - 1), 2147483647)                                              \
    MARGAY_FP8_TO(unsigned int, 0, 4294967295u)                                                    \
    MARGAY_FP8_TO(long, (-9223372036854775807l - 1), 9223372036854775807l)                         \
    MARGAY_FP8_TO(unsigned long, 0, 18446744073709551615ul)                                        \
    MARGAY_FP8_TO(long long, (-9223372036854775807ll - 1), 9223372036854775807ll)                  \
    MARGAY_FP8_TO(unsigned long long, 0, 18446744073709551615ull)                                  \
  };                                                                                               \
  struct __attribute__((aligned(2))) MARGAY_FP8_PASTE(NAME, x2) {                                  \
    __nv_fp8x2_storage_t __x;                                                                      \
    MARGAY_FP8_PASTE(NAME, x2)() = default;                                                        \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x2)(const __half2 f)                                 \
        : __x(margay::fp8_pair(__half2float(f.x), __half2float(f.y), true, KIND == __NV_E5M2)) {}  \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x2)(const __nv_bfloat162 f)                          \
        : __x(margay::fp8_pair(__bfloat162float(f.x), __bfloat162float(f.y), true,                 \
                               KIND == __NV_E5M2)) {}                                              \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x2)(const float2 f)                                  \
        : __x(__nv_cvt_float2_to_fp8x2(f, __NV_SATFINITE, KIND)) {}                                \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x2)(const double2 f)                                 \
        : __x(__nv_cvt_double2_to_fp8x2(f, __NV_SATFINITE, KIND)) {}                               \
    MARGAY_HD explicit operator __half2() const {                                                  \
      return static_cast<__half2>(__nv_cvt_fp8x2_to_halfraw2(__x, KIND));                          \
    }                                                                                              \
    MARGAY_HD explicit operator float2() const {                                                   \
      return make_float2(margay::fp8_float((unsigned char)__x, KIND == __NV_E5M2),                 \
                         margay::fp8_float((unsigned char)(__x >> 8), KIND == __NV_E5M2));         \
    }                                                                                              \
  };                                                                                               \
  struct __attribute__((aligned(4))) MARGAY_FP8_PASTE(NAME, x4) {                                  \
    __nv_fp8x4_storage_t __x;                                                                      \
    MARGAY_FP8_PASTE(NAME, x4)() = default;                                                        \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x4)(const __half2 low, const __half2 high)           \
        : __x(MARGAY_FP8_PASTE(NAME, x2)(low).__x |                                                \
              (__nv_fp8x4_storage_t)MARGAY_FP8_PASTE(NAME, x2)(high).__x << 16) {}                 \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x4)(const __nv_bfloat162 low,                        \
                                                  const __nv_bfloat162 high)                       \
        : __x(MARGAY_FP8_PASTE(NAME, x2)(low).__x |                                                \
              (__nv_fp8x4_storage_t)MARGAY_FP8_PASTE(NAME, x2)(high).__x << 16) {}                 \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x4)(const float4 f)                                  \
        : __x(MARGAY_FP8_PASTE(NAME, x2)(make_float2(f.x, f.y)).__x |                              \
              (__nv_fp8x4_storage_t)MARGAY_FP8_PASTE(NAME, x2)(make_float2(f.z, f.w)).__x << 16) {} \
    MARGAY_HD explicit MARGAY_FP8_PASTE(NAME, x4)(const double4 f)                                 \
        : __x(MARGAY_FP8_PASTE(NAME, x2)(make_double2(f.x, f.y)).__x |                             \
              (__nv_fp8x4_storage_t)MARGAY_FP8_PASTE(NAME, x2)(make_double2(f.z, f.w)).__x << 16) {} \
    MARGAY_HD explicit operator float4() const {                                                   \
      return make_float4(margay::fp8_float((unsigned char)__x, KIND == __NV_E5M2),                 \
                         margay::fp8_float((unsigned char)(__x >> 8), KIND == __NV_E5M2),          \
                         margay::fp8_float((unsigned char)(__x >> 16), KIND == __NV_E5M2),         \
                         margay::fp8_float((unsigned char)(__x >> 24), KIND == __NV_E5M2));        \
    }                                                                                              \
  };
#define MARGAY_FP8_FROM(NAME, I, KIND)                                                             \
  MARGAY_HD explicit NAME(const I i) : __x(__nv_cvt_double_to_fp8((double)i, __NV_SATFINITE, KIND)) {}
#define MARGAY_FP8_TO(I, LOW, HIGH)                                                                \
  MARGAY_HD explicit operator I() const {                                                          \
    float f = (float)*this;                                                                        \
    return f != f ? (I)0 : f <= (float)(LOW) ? (I)(LOW) : f >= (float)(HIGH) ? (I)(HIGH) : (I)f;   \
  }
// __nv_fp8_e4m3 and x2 make __nv_fp8x2_e4m3.
#define MARGAY_FP8_PASTE(NAME, N) MARGAY_FP8_##NAME##_##N
#define MARGAY_FP8___nv_fp8_e4m3_x2 __nv_fp8x2_e4m3
#define MARGAY_FP8___nv_fp8_e4m3_x4 __nv_fp8x4_e4m3
#define MARGAY_FP8___nv_fp8_e5m2_x2 __nv_fp8x2_e5m2
#define MARGAY_FP8___nv_fp8_e5m2_x4 __nv_fp8x4_e5m2
MARGAY_FP8(__nv_fp8_e4m3, __NV_E4M3)
MARGAY_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef MARGAY_FP8___nv_fp8_e4m3_x2
#undef MARGAY_FP8___nv_fp8_e4m3_x4
#undef MARGAY_FP8___nv_fp8_e5m2_x2
#undef MARGAY_FP8___nv_fp8_e5m2_x4
#undef MARGAY_FP8_PASTE
#undef MARGAY_FP8_FROM
#undef MARGAY_FP8_TO
#undef MARGAY_FP8
#undef MARGAY_HD
#undef MARGAY_F8
#undef MARGAY_F8_PTX

#include "margay/callers_end.h"
#endif
#endif
