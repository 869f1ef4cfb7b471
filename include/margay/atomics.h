// SPDX-License-Identifier: MIT OR Apache-2.0
// Atomic functions of 32, 64 and 128 bits in the scopes of a device, a block and the system
// (CUDA C++ Programming Guide, "Atomic Functions"). The 16-bit floating-point ones are in
// cuda_fp16.h and cuda_bf16.h.
//
// clang's own `__iAtomicAdd` family supplies most; what it lacks is inline PTX.
#ifndef MARGAY_ATOMICS_H
#define MARGAY_ATOMICS_H
#define __DEVICE_ATOMIC_FUNCTIONS_H__
#define __SM_20_ATOMIC_FUNCTIONS_H__
#define __SM_32_ATOMIC_FUNCTIONS_H__
#define __SM_60_ATOMIC_FUNCTIONS_H__

#define MARGAY_D static __device__ __forceinline__

// Every operation in one scope: SUFFIX is what CUDA appends to the function's name.
#define MARGAY_ATOMIC2(NAME, T, IMPL)                                                              \
  MARGAY_D T NAME(T *address, T val) { return IMPL(address, val); }
#define MARGAY_ATOMICS(SUFFIX)                                                                     \
  MARGAY_ATOMIC2(atomicAdd##SUFFIX, int, __iAtomicAdd##SUFFIX)                                     \
  MARGAY_ATOMIC2(atomicAdd##SUFFIX, unsigned int, __uAtomicAdd##SUFFIX)                            \
  MARGAY_ATOMIC2(atomicAdd##SUFFIX, unsigned long long, __ullAtomicAdd##SUFFIX)                    \
  MARGAY_ATOMIC2(atomicAdd##SUFFIX, float, __fAtomicAdd##SUFFIX)                                   \
  MARGAY_D int atomicSub##SUFFIX(int *address, int val) {                                          \
    return __iAtomicAdd##SUFFIX(address, (int)(0u - (unsigned int)val));                           \
  }                                                                                                \
  MARGAY_D unsigned int atomicSub##SUFFIX(unsigned int *address, unsigned int val) {               \
    return __uAtomicAdd##SUFFIX(address, 0u - val);                                                \
  }                                                                                                \
  MARGAY_ATOMIC2(atomicExch##SUFFIX, int, __iAtomicExch##SUFFIX)                                   \
  MARGAY_ATOMIC2(atomicExch##SUFFIX, unsigned int, __uAtomicExch##SUFFIX)                          \
  MARGAY_ATOMIC2(atomicExch##SUFFIX, unsigned long long, __ullAtomicExch##SUFFIX)                  \
  MARGAY_ATOMIC2(atomicExch##SUFFIX, float, __fAtomicExch##SUFFIX)                                 \
  MARGAY_ATOMIC2(atomicMin##SUFFIX, int, __iAtomicMin##SUFFIX)                                     \
  MARGAY_ATOMIC2(atomicMin##SUFFIX, unsigned int, __uAtomicMin##SUFFIX)                            \
  MARGAY_ATOMIC2(atomicMin##SUFFIX, long long, __illAtomicMin##SUFFIX)                             \
  MARGAY_ATOMIC2(atomicMin##SUFFIX, unsigned long long, __ullAtomicMin##SUFFIX)                    \
  MARGAY_ATOMIC2(atomicMax##SUFFIX, int, __iAtomicMax##SUFFIX)                                     \
  MARGAY_ATOMIC2(atomicMax##SUFFIX, unsigned int, __uAtomicMax##SUFFIX)                            \
  MARGAY_ATOMIC2(atomicMax##SUFFIX, long long, __illAtomicMax##SUFFIX)                             \
  MARGAY_ATOMIC2(atomicMax##SUFFIX, unsigned long long, __ullAtomicMax##SUFFIX)                    \
  MARGAY_ATOMIC2(atomicInc##SUFFIX, unsigned int, __uAtomicInc##SUFFIX)                            \
  MARGAY_ATOMIC2(atomicDec##SUFFIX, unsigned int, __uAtomicDec##SUFFIX)                            \
  MARGAY_D int atomicCAS##SUFFIX(int *address, int compare, int val) {                             \
    return __iAtomicCAS##SUFFIX(address, compare, val);                                            \
  }                                                                                                \
  MARGAY_D unsigned int atomicCAS##SUFFIX(unsigned int *address, unsigned int compare,             \
                                          unsigned int val) {                                      \
    return (unsigned int)__iAtomicCAS##SUFFIX((int *)address, (int)compare, (int)val);             \
  }                                                                                                \
  MARGAY_D unsigned long long atomicCAS##SUFFIX(                                                   \
      unsigned long long *address, unsigned long long compare, unsigned long long val) {           \
    return __ullAtomicCAS##SUFFIX(address, compare, val);                                          \
  }                                                                                                \
  MARGAY_ATOMIC2(atomicAnd##SUFFIX, int, __iAtomicAnd##SUFFIX)                                     \
  MARGAY_ATOMIC2(atomicAnd##SUFFIX, unsigned int, __uAtomicAnd##SUFFIX)                            \
  MARGAY_ATOMIC2(atomicAnd##SUFFIX, unsigned long long, __ullAtomicAnd##SUFFIX)                    \
  MARGAY_ATOMIC2(atomicOr##SUFFIX, int, __iAtomicOr##SUFFIX)                                       \
  MARGAY_ATOMIC2(atomicOr##SUFFIX, unsigned int, __uAtomicOr##SUFFIX)                              \
  MARGAY_ATOMIC2(atomicOr##SUFFIX, unsigned long long, __ullAtomicOr##SUFFIX)                      \
  MARGAY_ATOMIC2(atomicXor##SUFFIX, int, __iAtomicXor##SUFFIX)                                     \
  MARGAY_ATOMIC2(atomicXor##SUFFIX, unsigned int, __uAtomicXor##SUFFIX)                            \
  MARGAY_ATOMIC2(atomicXor##SUFFIX, unsigned long long, __ullAtomicXor##SUFFIX)

MARGAY_ATOMICS()
// As in nvcc, a program may define its own where the hardware has none; the host pass has all.
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 600
MARGAY_ATOMICS(_block)
MARGAY_ATOMICS(_system)
MARGAY_ATOMIC2(atomicAdd, double, __dAtomicAdd)
MARGAY_ATOMIC2(atomicAdd_block, double, __dAtomicAdd_block)
MARGAY_ATOMIC2(atomicAdd_system, double, __dAtomicAdd_system)
#endif
#undef MARGAY_ATOMICS
#undef MARGAY_ATOMIC2

#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 700
#define MARGAY_CAS16(SUFFIX, SCOPE)                                                                \
  MARGAY_D unsigned short atomicCAS##SUFFIX(unsigned short *address, unsigned short compare,       \
                                            unsigned short val) {                                  \
    unsigned short old;                                                                            \
    asm volatile("atom." SCOPE "cas.b16 %0, [%1], %2, %3;"                                         \
                 : "=h"(old)                                                                       \
                 : "l"(address), "h"(compare), "h"(val)                                            \
                 : "memory");                                                                      \
    return old;                                                                                    \
  }
MARGAY_CAS16(, "")
MARGAY_CAS16(_block, "cta.")
MARGAY_CAS16(_system, "sys.")
#undef MARGAY_CAS16
#endif

// sm_90 adds two or four floats at once, in global memory, each element atomically.
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 900
#define MARGAY_ATOMIC_VECTOR(SUFFIX, SCOPE)                                                        \
  MARGAY_D float2 atomicAdd##SUFFIX(float2 *address, float2 val) {                                 \
    float2 old;                                                                                    \
    asm volatile("atom.relaxed." SCOPE ".global.add.v2.f32 {%0, %1}, [%2], {%3, %4};"              \
                 : "=f"(old.x), "=f"(old.y)                                                        \
                 : "l"((__attribute__((address_space(1))) float2 *)address), "f"(val.x),           \
                   "f"(val.y)                                                                      \
                 : "memory");                                                                      \
    return old;                                                                                    \
  }                                                                                                \
  MARGAY_D float4 atomicAdd##SUFFIX(float4 *address, float4 val) {                                 \
    float4 old;                                                                                    \
    asm volatile("atom.relaxed." SCOPE                                                             \
                 ".global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"                    \
                 : "=f"(old.x), "=f"(old.y), "=f"(old.z), "=f"(old.w)                              \
                 : "l"((__attribute__((address_space(1))) float4 *)address), "f"(val.x),           \
                   "f"(val.y), "f"(val.z), "f"(val.w)                                              \
                 : "memory");                                                                      \
    return old;                                                                                    \
  }
MARGAY_ATOMIC_VECTOR(, "gpu")
MARGAY_ATOMIC_VECTOR(_block, "cta")
MARGAY_ATOMIC_VECTOR(_system, "sys")
#undef MARGAY_ATOMIC_VECTOR
#endif

// sm_90 exchanges, and compares and swaps, 16 bytes of any trivially copyable type.
#if (!defined(MARGAY_ARCH) || MARGAY_ARCH >= 900) && defined(__cplusplus)
namespace margay_wide {
template <bool Is> struct when {};
template <> struct when<true> {
  typedef int type;
};
template <typename T>
struct is_wide : when<sizeof(T) == 16 && alignof(T) >= 16 && __is_trivially_copyable(T)> {};
struct alignas(16) halves {
  unsigned long long low, high;
};
template <typename T> MARGAY_D halves of(const T &value) {
  halves h;
  __builtin_memcpy(&h, &value, 16);
  return h;
}
template <typename T> MARGAY_D T back(const halves &h) {
  T value;
  __builtin_memcpy((void *)&value, &h, 16);
  return value;
}
} // namespace margay_wide
#define MARGAY_ATOMIC_WIDE(SUFFIX, SCOPE)                                                          \
  template <typename T, typename margay_wide::is_wide<T>::type = 0>                                \
  MARGAY_D T atomicExch##SUFFIX(T *address, T val) {                                               \
    margay_wide::halves old, next = margay_wide::of(val);                                          \
    asm volatile("{ .reg .b128 %%n, %%o; mov.b128 %%n, {%3, %4};\n\t"                              \
                 "atom.relaxed." SCOPE ".exch.b128 %%o, [%2], %%n; mov.b128 {%0, %1}, %%o; }"      \
                 : "=l"(old.low), "=l"(old.high)                                                   \
                 : "l"(address), "l"(next.low), "l"(next.high)                                     \
                 : "memory");                                                                      \
    return margay_wide::back<T>(old);                                                              \
  }                                                                                                \
  template <typename T, typename margay_wide::is_wide<T>::type = 0>                                \
  MARGAY_D T atomicCAS##SUFFIX(T *address, T compare, T val) {                                     \
    margay_wide::halves old, first = margay_wide::of(compare), next = margay_wide::of(val);        \
    asm volatile("{ .reg .b128 %%c, %%n, %%o; mov.b128 %%c, {%3, %4}; mov.b128 %%n, {%5, %6};\n\t" \
                 "atom.relaxed." SCOPE ".cas.b128 %%o, [%2], %%c, %%n; mov.b128 {%0, %1}, %%o; }"  \
                 : "=l"(old.low), "=l"(old.high)                                                   \
                 : "l"(address), "l"(first.low), "l"(first.high), "l"(next.low), "l"(next.high)    \
                 : "memory");                                                                      \
    return margay_wide::back<T>(old);                                                              \
  }
MARGAY_ATOMIC_WIDE(, "gpu")
MARGAY_ATOMIC_WIDE(_block, "cta")
MARGAY_ATOMIC_WIDE(_system, "sys")
#undef MARGAY_ATOMIC_WIDE
#endif

#endif
