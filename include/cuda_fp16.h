// SPDX-License-Identifier: MIT OR Apache-2.0
// The type half and its pair, with conversions, arithmetic, comparison and math, on host and device.
#ifndef MARGAY_CUDA_FP16_H
#define MARGAY_CUDA_FP16_H
#define __CUDA_FP16_H__
#include "cuda_runtime.h"
#if defined(__cplusplus)
#include "margay/only.h"
#include "margay/callers_begin.h"

struct __half_raw {
  unsigned short x;
};
struct __attribute__((aligned(4))) __half2_raw {
  unsigned short x, y;
};
struct __half;
struct __half2;
struct __nv_bfloat16;

#define MARGAY_HF static __host__ __device__ __forceinline__
namespace margay {
// Rounds a double to 11 significant bits with the exponent range of the type; `mode` is 0 to nearest
// even, 1 towards zero, 2 down, 3 up. Used on the host and where PTX has no conversion.
static inline __host__ __device__ unsigned short half_round(double d, int mode) {
  unsigned long long u = __builtin_bit_cast(unsigned long long, d);
  unsigned short sign = (unsigned short)(u >> 48 & 0x8000u);
  unsigned long long magnitude = u & 0x7fffffffffffffffull;
  if (magnitude > 0x7ff0000000000000ull) return 0x7fffu; // the canonical NaN
  if (magnitude == 0x7ff0000000000000ull) return sign | 0x7c00u;
  int exponent = (int)(magnitude >> 52) - 1023;
  unsigned long long fraction = (magnitude & 0xfffffffffffffull) | (magnitude >> 52 ? 1ull << 52 : 0);
  // `drop` low bits go; below the smallest normal number more of them.
  int drop = 53 - 11;
  int biased = exponent + 15;
  if (biased <= 0) {
    drop += 1 - biased;
    biased = 0;
  }
  if (drop > 63) drop = 63;
  unsigned long long kept = fraction >> drop;
  unsigned long long rest = fraction & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  bool up = mode == 0 ? rest > half || (rest == half && (kept & 1))
            : mode == 1 ? false
            : mode == 2 ? rest && sign
                        : rest && !sign;
  kept += up;
  // The hidden bit adds one to the exponent field; a carry does the rest.
  unsigned int bits = (unsigned int)kept + (biased > 0 ? (unsigned int)(biased - 1) << (11 - 1) : 0u);
  if (bits >= 0x7c00u) {
    bool infinite = mode == 0 || (mode == 2 && sign) || (mode == 3 && !sign);
    bits = infinite ? 0x7c00u : 0x7c00u - 1;
  }
  return (unsigned short)(sign | bits);
}
static inline __host__ __device__ float half_widen(unsigned short h) {
  unsigned int sign = (unsigned int)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 0x3ffu;
  if (e == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | m << 13);
  if (e) return __builtin_bit_cast(float, sign | (e + 112) << 23 | m << 13);
  float f = (float)m * 0x1p-24f; // a denormal: exact
  return sign ? -f : f;
}
MARGAY_HF __half half_of_bits(unsigned short u);
} // namespace margay

MARGAY_HF float __half2float(const __half h);
MARGAY_HF __half __float2half_rn(const float f);
MARGAY_HF __half __double2half(const double d);

struct __half {
  unsigned short __x;

  __half() = default;
  __host__ __device__ constexpr __half(const __half_raw &r) : __x(r.x) {}
  __host__ __device__ operator __half_raw() const { return __half_raw{__x}; }
#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
  __host__ __device__ __half(const float f) { __x = __float2half_rn(f).__x; }
  __host__ __device__ __half(const double d) { __x = __double2half(d).__x; }
  // By a template, for the other type may not be known yet.
  template <class B, typename margay::only<B, __nv_bfloat16>::type = 0>
  explicit __host__ __device__ __half(const B b) : __half((float)b) {}
#define MARGAY_FROM(I)                                                                             \
  __host__ __device__ __half(const I i) { __x = margay::half_round((double)i, 0); }             \
  __host__ __device__ __half &operator=(const I i) { return *this = __half(i); }
  MARGAY_FROM(short)
  MARGAY_FROM(unsigned short)
  MARGAY_FROM(int)
  MARGAY_FROM(unsigned int)
  MARGAY_FROM(long)
  MARGAY_FROM(unsigned long)
  MARGAY_FROM(long long)
  MARGAY_FROM(unsigned long long)
#undef MARGAY_FROM
  __host__ __device__ __half &operator=(const float f) { return *this = __half(f); }
  __host__ __device__ __half &operator=(const double d) { return *this = __half(d); }
  __host__ __device__ operator float() const { return __half2float(*this); }
#define MARGAY_TO(I, LOW, HIGH)                                                                    \
  __host__ __device__ operator I() const {                                                         \
    float f = __half2float(*this);                                                                 \
    return f != f ? (I)0 : f <= (float)(LOW) ? (I)(LOW) : f >= (float)(HIGH) ? (I)(HIGH) : (I)f;   \
  }
  MARGAY_TO(signed char, -128, 127)
  MARGAY_TO(unsigned char, 0, 255)
  MARGAY_TO(char, -128, 127)
  MARGAY_TO(short, -32768, 32767)
  MARGAY_TO(unsigned short, 0, 65535)
  MARGAY_TO(int, (-2147483647 - 1), 2147483647)
  MARGAY_TO(unsigned int, 0, 4294967295u)
  MARGAY_TO(long, (-9223372036854775807l - 1), 9223372036854775807l)
  MARGAY_TO(unsigned long, 0, 18446744073709551615ul)
  MARGAY_TO(long long, (-9223372036854775807ll - 1), 9223372036854775807ll)
  MARGAY_TO(unsigned long long, 0, 18446744073709551615ull)
#undef MARGAY_TO
  __host__ __device__ operator bool() const { return (__x & 0x7fffu) != 0; }
#endif
};
struct __attribute__((aligned(4))) __half2 {
  __half x, y;

  __half2() = default;
  __host__ __device__ constexpr __half2(const __half &a, const __half &b) : x(a), y(b) {}
  __host__ __device__ __half2(const __half2_raw &r) {
    x.__x = r.x;
    y.__x = r.y;
  }
  __host__ __device__ operator __half2_raw() const { return __half2_raw{x.__x, y.__x}; }
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half __nv_half;
typedef __half2 nv_half2;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;

namespace margay {
MARGAY_HF __half half_of_bits(unsigned short u) {
  __half h;
  h.__x = u;
  return h;
}
} // namespace margay

// ---- conversions -----------------------------------------------------------------------------
MARGAY_HF float __half2float(const __half h) {
#if defined(__CUDA_ARCH__)
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.__x));
  return f;
#else
  return margay::half_widen(h.__x);
#endif
}
#if defined(__CUDA_ARCH__)
#define MARGAY_F2H(MODE, NUMBER)                                                                   \
  MARGAY_HF __half __float2half_##MODE(const float f) {                                            \
    unsigned short u;                                                                              \
    asm("cvt." #MODE ".f16.f32 %0, %1;" : "=h"(u) : "f"(f));                                       \
    return margay::half_of_bits(u);                                                                \
  }
MARGAY_F2H(rn, 0)
MARGAY_F2H(rz, 1)
// PTX calls rounding down and up rm and rp.
#define MARGAY_F2H_DIRECTED(MODE, PTX)                                                             \
  MARGAY_HF __half __float2half_##MODE(const float f) {                                            \
    unsigned short u;                                                                              \
    asm("cvt." PTX ".f16.f32 %0, %1;" : "=h"(u) : "f"(f));                                         \
    return margay::half_of_bits(u);                                                                \
  }
MARGAY_F2H_DIRECTED(rd, "rm")
MARGAY_F2H_DIRECTED(ru, "rp")
#undef MARGAY_F2H_DIRECTED
#else
#define MARGAY_F2H(MODE, NUMBER)                                                                   \
  MARGAY_HF __half __float2half_##MODE(const float f) {                                            \
    return margay::half_of_bits(margay::half_round((double)f, NUMBER));                            \
  }
MARGAY_F2H(rn, 0)
MARGAY_F2H(rz, 1)
MARGAY_F2H(rd, 2)
MARGAY_F2H(ru, 3)
#endif
#undef MARGAY_F2H
MARGAY_HF __half __double2half(const double d) {
  return margay::half_of_bits(margay::half_round(d, 0));
}
MARGAY_HF __half __float2half(const float f) { return __float2half_rn(f); }
MARGAY_HF __half2 __half2half2(const __half a) { return __half2(a, a); }
MARGAY_HF __half2 __float2half2_rn(const float f) { return __half2half2(__float2half_rn(f)); }
MARGAY_HF __half2 __floats2half2_rn(const float a, const float b) {
  return __half2(__float2half_rn(a), __float2half_rn(b));
}
MARGAY_HF __half2 __float22half2_rn(const float2 f) { return __floats2half2_rn(f.x, f.y); }
MARGAY_HF float __low2float(const __half2 h) { return __half2float(h.x); }
MARGAY_HF float __high2float(const __half2 h) { return __half2float(h.y); }
MARGAY_HF __half __low2half(const __half2 h) { return h.x; }
MARGAY_HF __half __high2half(const __half2 h) { return h.y; }
MARGAY_HF __half2 __low2half2(const __half2 h) { return __half2(h.x, h.x); }
MARGAY_HF __half2 __high2half2(const __half2 h) { return __half2(h.y, h.y); }
MARGAY_HF __half2 __lows2half2(const __half2 a, const __half2 b) { return __half2(a.x, b.x); }
MARGAY_HF __half2 __highs2half2(const __half2 a, const __half2 b) { return __half2(a.y, b.y); }
MARGAY_HF __half2 __lowhigh2highlow(const __half2 h) { return __half2(h.y, h.x); }
MARGAY_HF __half2 __halves2half2(const __half a, const __half b) { return __half2(a, b); }
MARGAY_HF float2 __half22float2(const __half2 h) {
  return make_float2(__half2float(h.x), __half2float(h.y));
}
MARGAY_HF __half2 make_half2(const __half a, const __half b) { return __half2(a, b); }
MARGAY_HF short __half_as_short(const __half h) { return (short)h.__x; }
MARGAY_HF unsigned short __half_as_ushort(const __half h) { return h.__x; }
MARGAY_HF __half __short_as_half(const short i) { return margay::half_of_bits((unsigned short)i); }
MARGAY_HF __half __ushort_as_half(const unsigned short i) { return margay::half_of_bits(i); }

#define MARGAY_HALF_TO_INT(I, NAME, ROUND)                                                         \
  MARGAY_HF I NAME(const __half h) {                                                                \
    double d = __builtin_##ROUND((double)__half2float(h));                                         \
    if (d != d) return (I)0;                                                                  \
    const I low = (I)((I)-1 < (I)1 ? (I)((unsigned long long)1 << (8 * sizeof(I) - 1)) : (I)0);    \
    const I high = (I)~low;                                                                        \
    return d <= (double)low ? low : d >= (double)high ? high : (I)d;                               \
  }
#define MARGAY_ROUND_rn 0
#define MARGAY_ROUND_rz 1
#define MARGAY_ROUND_rd 2
#define MARGAY_ROUND_ru 3
// An integer of 64 bits is not exact in double: margay::exact keeps its sticky bit.
#define MARGAY_HALF_FROM_INT(I, NAME, MODE)                                                        \
  MARGAY_HF __half NAME(const I i) {                                                                \
    return margay::half_of_bits(margay::half_round(margay::exact(i), MARGAY_ROUND_##MODE)); \
  }
#ifndef MARGAY_EXACT
#define MARGAY_EXACT
namespace margay {
// A double that rounds to 24 bits or fewer as the integer would: the low bits are folded into one.
template <class I> static inline __host__ __device__ double exact(I i) {
  bool negative = i < (I)0;
  unsigned long long u = negative ? 0ull - (unsigned long long)i : (unsigned long long)i;
  if (u >> 53) u = (u & ~0xfffull) | ((u & 0xfffull) != 0 ? 0x800ull : 0);
  return negative ? -(double)u : (double)u;
}
} // namespace margay
#endif

// ---- integers: rounded as the suffix says; beyond the range the nearest end, NaN gives 0 -------
MARGAY_HALF_TO_INT(int, __half2int_rn, nearbyint)
MARGAY_HALF_TO_INT(int, __half2int_rz, trunc)
MARGAY_HALF_TO_INT(int, __half2int_rd, floor)
MARGAY_HALF_TO_INT(int, __half2int_ru, ceil)
MARGAY_HALF_FROM_INT(int, __int2half_rn, rn)
MARGAY_HALF_FROM_INT(int, __int2half_rz, rz)
MARGAY_HALF_FROM_INT(int, __int2half_rd, rd)
MARGAY_HALF_FROM_INT(int, __int2half_ru, ru)
MARGAY_HALF_TO_INT(unsigned int, __half2uint_rn, nearbyint)
MARGAY_HALF_TO_INT(unsigned int, __half2uint_rz, trunc)
MARGAY_HALF_TO_INT(unsigned int, __half2uint_rd, floor)
MARGAY_HALF_TO_INT(unsigned int, __half2uint_ru, ceil)
MARGAY_HALF_FROM_INT(unsigned int, __uint2half_rn, rn)
MARGAY_HALF_FROM_INT(unsigned int, __uint2half_rz, rz)
MARGAY_HALF_FROM_INT(unsigned int, __uint2half_rd, rd)
MARGAY_HALF_FROM_INT(unsigned int, __uint2half_ru, ru)
MARGAY_HALF_TO_INT(short, __half2short_rn, nearbyint)
MARGAY_HALF_TO_INT(short, __half2short_rz, trunc)
MARGAY_HALF_TO_INT(short, __half2short_rd, floor)
MARGAY_HALF_TO_INT(short, __half2short_ru, ceil)
MARGAY_HALF_FROM_INT(short, __short2half_rn, rn)
MARGAY_HALF_FROM_INT(short, __short2half_rz, rz)
MARGAY_HALF_FROM_INT(short, __short2half_rd, rd)
MARGAY_HALF_FROM_INT(short, __short2half_ru, ru)
MARGAY_HALF_TO_INT(unsigned short, __half2ushort_rn, nearbyint)
MARGAY_HALF_TO_INT(unsigned short, __half2ushort_rz, trunc)
MARGAY_HALF_TO_INT(unsigned short, __half2ushort_rd, floor)
MARGAY_HALF_TO_INT(unsigned short, __half2ushort_ru, ceil)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2half_rn, rn)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2half_rz, rz)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2half_rd, rd)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2half_ru, ru)
MARGAY_HALF_TO_INT(long long, __half2ll_rn, nearbyint)
MARGAY_HALF_TO_INT(long long, __half2ll_rz, trunc)
MARGAY_HALF_TO_INT(long long, __half2ll_rd, floor)
MARGAY_HALF_TO_INT(long long, __half2ll_ru, ceil)
MARGAY_HALF_FROM_INT(long long, __ll2half_rn, rn)
MARGAY_HALF_FROM_INT(long long, __ll2half_rz, rz)
MARGAY_HALF_FROM_INT(long long, __ll2half_rd, rd)
MARGAY_HALF_FROM_INT(long long, __ll2half_ru, ru)
MARGAY_HALF_TO_INT(unsigned long long, __half2ull_rn, nearbyint)
MARGAY_HALF_TO_INT(unsigned long long, __half2ull_rz, trunc)
MARGAY_HALF_TO_INT(unsigned long long, __half2ull_rd, floor)
MARGAY_HALF_TO_INT(unsigned long long, __half2ull_ru, ceil)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2half_rn, rn)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2half_rz, rz)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2half_rd, rd)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2half_ru, ru)
MARGAY_HALF_TO_INT(signed char, __half2char_rz, trunc)
MARGAY_HALF_TO_INT(unsigned char, __half2uchar_rz, trunc)
#undef MARGAY_HALF_TO_INT
#undef MARGAY_HALF_FROM_INT
#undef MARGAY_HF

#define MARGAY_T __half
#define MARGAY_T2 __half2
#define MARGAY_PTX "f16"
#define MARGAY_PTX2 "f16x2"
#define MARGAY_TO_FLOAT(h) __half2float(h)
#define MARGAY_FROM_FLOAT(f) __float2half_rn(f)
#define MARGAY_FROM_DOUBLE(d) __double2half(d)
#define MARGAY_BITS(h) ((h).__x)
#define MARGAY_OF_BITS(u) (margay::half_of_bits(u))
#define MARGAY_ATOMIC_ARCH 700
#define MARGAY_ATOMIC2_ARCH 600
#define MARGAY_PICK_PTX(ptx, other) ptx
#define MARGAY_PICK_OTHER(ptx, other) other
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530
#define MARGAY_IF_NATIVE MARGAY_PICK_PTX
#else
#define MARGAY_IF_NATIVE MARGAY_PICK_OTHER
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530
#define MARGAY_IF_SAT MARGAY_PICK_PTX
#else
#define MARGAY_IF_SAT MARGAY_PICK_OTHER
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530
#define MARGAY_IF_FMA MARGAY_PICK_PTX
#else
#define MARGAY_IF_FMA MARGAY_PICK_OTHER
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define MARGAY_IF_MINMAX MARGAY_PICK_PTX
#else
#define MARGAY_IF_MINMAX MARGAY_PICK_OTHER
#endif
#if defined(__CUDA_NO_HALF_OPERATORS__)
#define MARGAY_NO_OPERATORS
#endif
#include "margay/half_arithmetic.h"
#undef MARGAY_T
#undef MARGAY_T2
#undef MARGAY_PTX
#undef MARGAY_PTX2
#undef MARGAY_TO_FLOAT
#undef MARGAY_FROM_FLOAT
#undef MARGAY_FROM_DOUBLE
#undef MARGAY_BITS
#undef MARGAY_OF_BITS
#undef MARGAY_ATOMIC_ARCH
#undef MARGAY_ATOMIC2_ARCH
#undef MARGAY_IF_NATIVE
#undef MARGAY_IF_SAT
#undef MARGAY_IF_FMA
#undef MARGAY_IF_MINMAX
#undef MARGAY_PICK_PTX
#undef MARGAY_PICK_OTHER
#undef MARGAY_NO_OPERATORS

#include "margay/callers_end.h"
#endif
#endif
