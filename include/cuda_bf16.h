// SPDX-License-Identifier: MIT OR Apache-2.0
// The type __nv_bfloat16 and its pair, with conversions, arithmetic, comparison and math, on host
// and device.
#ifndef MARGAY_CUDA_BF16_H
#define MARGAY_CUDA_BF16_H
#define __CUDA_BF16_H__
#include "cuda_runtime.h"
#if defined(__cplusplus)
#include "margay/only.h"
#include "margay/callers_begin.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __attribute__((aligned(4))) __nv_bfloat162_raw {
  unsigned short x, y;
};
struct __nv_bfloat16;
struct __nv_bfloat162;
struct __half;

#define MARGAY_HF static __host__ __device__ __forceinline__
namespace margay {
// Rounds a double to 8 significant bits with the exponent range of the type; `mode` is 0 to nearest
// even, 1 towards zero, 2 down, 3 up. Used on the host and where PTX has no conversion.
static inline __host__ __device__ unsigned short bf16_round(double d, int mode) {
  unsigned long long u = __builtin_bit_cast(unsigned long long, d);
  unsigned short sign = (unsigned short)(u >> 48 & 0x8000u);
  unsigned long long magnitude = u & 0x7fffffffffffffffull;
  if (magnitude > 0x7ff0000000000000ull) return 0x7fffu; // the canonical NaN
  if (magnitude == 0x7ff0000000000000ull) return sign | 0x7f80u;
  int exponent = (int)(magnitude >> 52) - 1023;
  unsigned long long fraction = (magnitude & 0xfffffffffffffull) | (magnitude >> 52 ? 1ull << 52 : 0);
  // `drop` low bits go; below the smallest normal number more of them.
  int drop = 53 - 8;
  int biased = exponent + 127;
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
  unsigned int bits = (unsigned int)kept + (biased > 0 ? (unsigned int)(biased - 1) << (8 - 1) : 0u);
  if (bits >= 0x7f80u) {
    bool infinite = mode == 0 || (mode == 2 && sign) || (mode == 3 && !sign);
    bits = infinite ? 0x7f80u : 0x7f80u - 1;
  }
  return (unsigned short)(sign | bits);
}
static inline __host__ __device__ float bf16_widen(unsigned short h) {
  return __builtin_bit_cast(float, (unsigned int)h << 16);
}
MARGAY_HF __nv_bfloat16 bf16_of_bits(unsigned short u);
} // namespace margay

MARGAY_HF float __bfloat162float(const __nv_bfloat16 h);
MARGAY_HF __nv_bfloat16 __float2bfloat16_rn(const float f);
MARGAY_HF __nv_bfloat16 __double2bfloat16(const double d);

struct __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16() = default;
  __host__ __device__ constexpr __nv_bfloat16(const __nv_bfloat16_raw &r) : __x(r.x) {}
  __host__ __device__ operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__x}; }
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
  __host__ __device__ __nv_bfloat16(const float f) { __x = __float2bfloat16_rn(f).__x; }
  __host__ __device__ __nv_bfloat16(const double d) { __x = __double2bfloat16(d).__x; }
  // By a template, for the other type may not be known yet.
  template <class H, typename margay::only<H, __half>::type = 0>
  explicit __host__ __device__ __nv_bfloat16(const H h) : __nv_bfloat16((float)h) {}
#define MARGAY_FROM(I)                                                                             \
  __host__ __device__ __nv_bfloat16(const I i) { __x = margay::bf16_round((double)i, 0); }             \
  __host__ __device__ __nv_bfloat16 &operator=(const I i) { return *this = __nv_bfloat16(i); }
  MARGAY_FROM(short)
  MARGAY_FROM(unsigned short)
  MARGAY_FROM(int)
  MARGAY_FROM(unsigned int)
  MARGAY_FROM(long)
  MARGAY_FROM(unsigned long)
  MARGAY_FROM(long long)
  MARGAY_FROM(unsigned long long)
#undef MARGAY_FROM
  __host__ __device__ __nv_bfloat16 &operator=(const float f) { return *this = __nv_bfloat16(f); }
  __host__ __device__ __nv_bfloat16 &operator=(const double d) { return *this = __nv_bfloat16(d); }
  __host__ __device__ operator float() const { return __bfloat162float(*this); }
#define MARGAY_TO(I, LOW, HIGH)                                                                    \
  __host__ __device__ operator I() const {                                                         \
    float f = __bfloat162float(*this);                                                                 \
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
struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;

  __nv_bfloat162() = default;
  __host__ __device__ constexpr __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b) : x(a), y(b) {}
  __host__ __device__ __nv_bfloat162(const __nv_bfloat162_raw &r) {
    x.__x = r.x;
    y.__x = r.y;
  }
  __host__ __device__ operator __nv_bfloat162_raw() const { return __nv_bfloat162_raw{x.__x, y.__x}; }
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

namespace margay {
MARGAY_HF __nv_bfloat16 bf16_of_bits(unsigned short u) {
  __nv_bfloat16 h;
  h.__x = u;
  return h;
}
} // namespace margay

// ---- conversions -----------------------------------------------------------------------------
MARGAY_HF float __bfloat162float(const __nv_bfloat16 h) { return margay::bf16_widen(h.__x); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define MARGAY_F2B(MODE, NUMBER)                                                                   \
  MARGAY_HF __nv_bfloat16 __float2bfloat16_##MODE(const float f) {                                 \
    unsigned short u;                                                                              \
    asm("cvt." #MODE ".bf16.f32 %0, %1;" : "=h"(u) : "f"(f));                                      \
    return margay::bf16_of_bits(u);                                                                \
  }
#else
#define MARGAY_F2B(MODE, NUMBER)                                                                   \
  MARGAY_HF __nv_bfloat16 __float2bfloat16_##MODE(const float f) {                                 \
    return margay::bf16_of_bits(margay::bf16_round((double)f, NUMBER));                            \
  }
#endif
MARGAY_F2B(rn, 0)
MARGAY_F2B(rz, 1)
#undef MARGAY_F2B
MARGAY_HF __nv_bfloat16 __float2bfloat16_rd(const float f) {
  return margay::bf16_of_bits(margay::bf16_round((double)f, 2));
}
MARGAY_HF __nv_bfloat16 __float2bfloat16_ru(const float f) {
  return margay::bf16_of_bits(margay::bf16_round((double)f, 3));
}
MARGAY_HF __nv_bfloat16 __double2bfloat16(const double d) {
  return margay::bf16_of_bits(margay::bf16_round(d, 0));
}
MARGAY_HF __nv_bfloat16 __float2bfloat16(const float f) { return __float2bfloat16_rn(f); }
MARGAY_HF __nv_bfloat162 __bfloat162bfloat162(const __nv_bfloat16 a) { return __nv_bfloat162(a, a); }
MARGAY_HF __nv_bfloat162 __float2bfloat162_rn(const float f) { return __bfloat162bfloat162(__float2bfloat16_rn(f)); }
MARGAY_HF __nv_bfloat162 __floats2bfloat162_rn(const float a, const float b) {
  return __nv_bfloat162(__float2bfloat16_rn(a), __float2bfloat16_rn(b));
}
MARGAY_HF __nv_bfloat162 __float22bfloat162_rn(const float2 f) { return __floats2bfloat162_rn(f.x, f.y); }
MARGAY_HF float __low2float(const __nv_bfloat162 h) { return __bfloat162float(h.x); }
MARGAY_HF float __high2float(const __nv_bfloat162 h) { return __bfloat162float(h.y); }
MARGAY_HF __nv_bfloat16 __low2bfloat16(const __nv_bfloat162 h) { return h.x; }
MARGAY_HF __nv_bfloat16 __high2bfloat16(const __nv_bfloat162 h) { return h.y; }
MARGAY_HF __nv_bfloat162 __low2bfloat162(const __nv_bfloat162 h) { return __nv_bfloat162(h.x, h.x); }
MARGAY_HF __nv_bfloat162 __high2bfloat162(const __nv_bfloat162 h) { return __nv_bfloat162(h.y, h.y); }
MARGAY_HF __nv_bfloat162 __lows2bfloat162(const __nv_bfloat162 a, const __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
MARGAY_HF __nv_bfloat162 __highs2bfloat162(const __nv_bfloat162 a, const __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
MARGAY_HF __nv_bfloat162 __lowhigh2highlow(const __nv_bfloat162 h) { return __nv_bfloat162(h.y, h.x); }
MARGAY_HF __nv_bfloat162 __halves2bfloat162(const __nv_bfloat16 a, const __nv_bfloat16 b) {
  return __nv_bfloat162(a, b);
}
MARGAY_HF float2 __bfloat1622float2(const __nv_bfloat162 h) {
  return make_float2(__bfloat162float(h.x), __bfloat162float(h.y));
}
MARGAY_HF __nv_bfloat162 make_bfloat162(const __nv_bfloat16 a, const __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
MARGAY_HF short __bfloat16_as_short(const __nv_bfloat16 h) { return (short)h.__x; }
MARGAY_HF unsigned short __bfloat16_as_ushort(const __nv_bfloat16 h) { return h.__x; }
MARGAY_HF __nv_bfloat16 __short_as_bfloat16(const short i) { return margay::bf16_of_bits((unsigned short)i); }
MARGAY_HF __nv_bfloat16 __ushort_as_bfloat16(const unsigned short i) { return margay::bf16_of_bits(i); }

#define MARGAY_HALF_TO_INT(I, NAME, ROUND)                                                         \
  MARGAY_HF I NAME(const __nv_bfloat16 h) {                                                                \
    double d = __builtin_##ROUND((double)__bfloat162float(h));                                         \
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
  MARGAY_HF __nv_bfloat16 NAME(const I i) {                                                                \
    return margay::bf16_of_bits(margay::bf16_round(margay::exact(i), MARGAY_ROUND_##MODE)); \
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
MARGAY_HALF_TO_INT(int, __bfloat162int_rn, nearbyint)
MARGAY_HALF_TO_INT(int, __bfloat162int_rz, trunc)
MARGAY_HALF_TO_INT(int, __bfloat162int_rd, floor)
MARGAY_HALF_TO_INT(int, __bfloat162int_ru, ceil)
MARGAY_HALF_FROM_INT(int, __int2bfloat16_rn, rn)
MARGAY_HALF_FROM_INT(int, __int2bfloat16_rz, rz)
MARGAY_HALF_FROM_INT(int, __int2bfloat16_rd, rd)
MARGAY_HALF_FROM_INT(int, __int2bfloat16_ru, ru)
MARGAY_HALF_TO_INT(unsigned int, __bfloat162uint_rn, nearbyint)
MARGAY_HALF_TO_INT(unsigned int, __bfloat162uint_rz, trunc)
MARGAY_HALF_TO_INT(unsigned int, __bfloat162uint_rd, floor)
MARGAY_HALF_TO_INT(unsigned int, __bfloat162uint_ru, ceil)
MARGAY_HALF_FROM_INT(unsigned int, __uint2bfloat16_rn, rn)
MARGAY_HALF_FROM_INT(unsigned int, __uint2bfloat16_rz, rz)
MARGAY_HALF_FROM_INT(unsigned int, __uint2bfloat16_rd, rd)
MARGAY_HALF_FROM_INT(unsigned int, __uint2bfloat16_ru, ru)
MARGAY_HALF_TO_INT(short, __bfloat162short_rn, nearbyint)
MARGAY_HALF_TO_INT(short, __bfloat162short_rz, trunc)
MARGAY_HALF_TO_INT(short, __bfloat162short_rd, floor)
MARGAY_HALF_TO_INT(short, __bfloat162short_ru, ceil)
MARGAY_HALF_FROM_INT(short, __short2bfloat16_rn, rn)
MARGAY_HALF_FROM_INT(short, __short2bfloat16_rz, rz)
MARGAY_HALF_FROM_INT(short, __short2bfloat16_rd, rd)
MARGAY_HALF_FROM_INT(short, __short2bfloat16_ru, ru)
MARGAY_HALF_TO_INT(unsigned short, __bfloat162ushort_rn, nearbyint)
MARGAY_HALF_TO_INT(unsigned short, __bfloat162ushort_rz, trunc)
MARGAY_HALF_TO_INT(unsigned short, __bfloat162ushort_rd, floor)
MARGAY_HALF_TO_INT(unsigned short, __bfloat162ushort_ru, ceil)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2bfloat16_rn, rn)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2bfloat16_rz, rz)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2bfloat16_rd, rd)
MARGAY_HALF_FROM_INT(unsigned short, __ushort2bfloat16_ru, ru)
MARGAY_HALF_TO_INT(long long, __bfloat162ll_rn, nearbyint)
MARGAY_HALF_TO_INT(long long, __bfloat162ll_rz, trunc)
MARGAY_HALF_TO_INT(long long, __bfloat162ll_rd, floor)
MARGAY_HALF_TO_INT(long long, __bfloat162ll_ru, ceil)
MARGAY_HALF_FROM_INT(long long, __ll2bfloat16_rn, rn)
MARGAY_HALF_FROM_INT(long long, __ll2bfloat16_rz, rz)
MARGAY_HALF_FROM_INT(long long, __ll2bfloat16_rd, rd)
MARGAY_HALF_FROM_INT(long long, __ll2bfloat16_ru, ru)
MARGAY_HALF_TO_INT(unsigned long long, __bfloat162ull_rn, nearbyint)
MARGAY_HALF_TO_INT(unsigned long long, __bfloat162ull_rz, trunc)
MARGAY_HALF_TO_INT(unsigned long long, __bfloat162ull_rd, floor)
MARGAY_HALF_TO_INT(unsigned long long, __bfloat162ull_ru, ceil)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2bfloat16_rn, rn)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2bfloat16_rz, rz)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2bfloat16_rd, rd)
MARGAY_HALF_FROM_INT(unsigned long long, __ull2bfloat16_ru, ru)
MARGAY_HALF_TO_INT(signed char, __bfloat162char_rz, trunc)
MARGAY_HALF_TO_INT(unsigned char, __bfloat162uchar_rz, trunc)
#undef MARGAY_HALF_TO_INT
#undef MARGAY_HALF_FROM_INT
#undef MARGAY_HF

#define MARGAY_T __nv_bfloat16
#define MARGAY_T2 __nv_bfloat162
#define MARGAY_PTX "bf16"
#define MARGAY_PTX2 "bf16x2"
#define MARGAY_TO_FLOAT(h) __bfloat162float(h)
#define MARGAY_FROM_FLOAT(f) __float2bfloat16_rn(f)
#define MARGAY_FROM_DOUBLE(d) __double2bfloat16(d)
#define MARGAY_BITS(h) ((h).__x)
#define MARGAY_OF_BITS(u) (margay::bf16_of_bits(u))
#define MARGAY_ATOMIC_ARCH 900
#define MARGAY_ATOMIC2_ARCH 900
#define MARGAY_PICK_PTX(ptx, other) ptx
#define MARGAY_PICK_OTHER(ptx, other) other
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define MARGAY_IF_NATIVE MARGAY_PICK_PTX
#else
#define MARGAY_IF_NATIVE MARGAY_PICK_OTHER
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define MARGAY_IF_FMA MARGAY_PICK_PTX
#else
#define MARGAY_IF_FMA MARGAY_PICK_OTHER
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define MARGAY_IF_MINMAX MARGAY_PICK_PTX
#else
#define MARGAY_IF_MINMAX MARGAY_PICK_OTHER
#endif
// PTX has no saturating bf16 arithmetic.
#define MARGAY_IF_SAT MARGAY_PICK_OTHER
#if defined(__CUDA_NO_BFLOAT16_OPERATORS__)
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

// Before 9.0 no instruction adds: a loop compares and exchanges, as CUDA's guide says of 8.x.
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 800 && MARGAY_ARCH < 900
#define MARGAY_ATOMIC_ADD(SUFFIX, T, WORD, ADD)                                                    \
  MARGAY_D T atomicAdd##SUFFIX(T *address, T val) {                                                \
    WORD old = *(const volatile WORD *)address, expected;                                          \
    do {                                                                                           \
      expected = old;                                                                              \
      T sum = ADD(__builtin_bit_cast(T, expected), val);                                           \
      old = atomicCAS##SUFFIX((WORD *)address, expected, __builtin_bit_cast(WORD, sum));           \
    } while (old != expected);                                                                     \
    return __builtin_bit_cast(T, old);                                                             \
  }
MARGAY_ATOMIC_ADD(, __nv_bfloat16, unsigned short, __hadd)
MARGAY_ATOMIC_ADD(_block, __nv_bfloat16, unsigned short, __hadd)
MARGAY_ATOMIC_ADD(_system, __nv_bfloat16, unsigned short, __hadd)
MARGAY_ATOMIC_ADD(, __nv_bfloat162, unsigned int, __hadd2)
MARGAY_ATOMIC_ADD(_block, __nv_bfloat162, unsigned int, __hadd2)
MARGAY_ATOMIC_ADD(_system, __nv_bfloat162, unsigned int, __hadd2)
#undef MARGAY_ATOMIC_ADD
#endif

#include "margay/callers_end.h"
#endif
#endif
