// SPDX-License-Identifier: MIT OR Apache-2.0
// make_<type>() for every built-in vector type.
#ifndef MARGAY_VECTOR_FUNCTIONS_H
#define MARGAY_VECTOR_FUNCTIONS_H
#define __VECTOR_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_HPP__
#include "vector_types.h"

#define MARGAY_MAKE4(NAME, T)                                                                      \
  static __inline__ __host__ __device__ NAME make_##NAME(T x, T y, T z, T w) {                     \
    NAME r;                                                                                        \
    r.x = x;                                                                                       \
    r.y = y;                                                                                       \
    r.z = z;                                                                                       \
    r.w = w;                                                                                       \
    return r;                                                                                      \
  }
#define MARGAY_MAKE(NAME, T)                                                                       \
  static __inline__ __host__ __device__ NAME##1 make_##NAME##1(T x) {                              \
    NAME##1 r;                                                                                     \
    r.x = x;                                                                                       \
    return r;                                                                                      \
  }                                                                                                \
  static __inline__ __host__ __device__ NAME##2 make_##NAME##2(T x, T y) {                         \
    NAME##2 r;                                                                                     \
    r.x = x;                                                                                       \
    r.y = y;                                                                                       \
    return r;                                                                                      \
  }                                                                                                \
  static __inline__ __host__ __device__ NAME##3 make_##NAME##3(T x, T y, T z) {                    \
    NAME##3 r;                                                                                     \
    r.x = x;                                                                                       \
    r.y = y;                                                                                       \
    r.z = z;                                                                                       \
    return r;                                                                                      \
  }                                                                                                \
  MARGAY_MAKE4(NAME##4, T)

MARGAY_MAKE(char, signed char)
MARGAY_MAKE(uchar, unsigned char)
MARGAY_MAKE(short, short)
MARGAY_MAKE(ushort, unsigned short)
MARGAY_MAKE(int, int)
MARGAY_MAKE(uint, unsigned int)
MARGAY_MAKE(long, long)
MARGAY_MAKE(ulong, unsigned long)
MARGAY_MAKE(longlong, long long)
MARGAY_MAKE(ulonglong, unsigned long long)
MARGAY_MAKE(float, float)
MARGAY_MAKE(double, double)
MARGAY_MAKE4(long4_16a, long)
MARGAY_MAKE4(long4_32a, long)
MARGAY_MAKE4(ulong4_16a, unsigned long)
MARGAY_MAKE4(ulong4_32a, unsigned long)
MARGAY_MAKE4(longlong4_16a, long long)
MARGAY_MAKE4(longlong4_32a, long long)
MARGAY_MAKE4(ulonglong4_16a, unsigned long long)
MARGAY_MAKE4(ulonglong4_32a, unsigned long long)
MARGAY_MAKE4(double4_16a, double)
MARGAY_MAKE4(double4_32a, double)
#undef MARGAY_MAKE
#undef MARGAY_MAKE4

#endif
