// SPDX-License-Identifier: MIT OR Apache-2.0
// The built-in vector types, with the sizes and alignments of the CUDA C++ Programming Guide's
// table "Alignment Requirements" ("Built-in Vector Types"), and dim3.
#ifndef MARGAY_VECTOR_TYPES_H
#define MARGAY_VECTOR_TYPES_H
#define __VECTOR_TYPES_H__
#include "margay/qualifiers.h"

// name, element, alignment of the 2- and 4-element types (1 and 3 have the element's own).
#define MARGAY_VECTOR(NAME, T, A2, A4)                                                             \
  struct NAME##1 {                                                                                 \
    T x;                                                                                           \
  };                                                                                               \
  struct __attribute__((aligned(A2))) NAME##2 {                                                    \
    T x, y;                                                                                        \
  };                                                                                               \
  struct NAME##3 {                                                                                 \
    T x, y, z;                                                                                     \
  };                                                                                               \
  struct __attribute__((aligned(A4))) NAME##4 {                                                    \
    T x, y, z, w;                                                                                  \
  };                                                                                               \
  typedef struct NAME##1 NAME##1;                                                                  \
  typedef struct NAME##2 NAME##2;                                                                  \
  typedef struct NAME##3 NAME##3;                                                                  \
  typedef struct NAME##4 NAME##4;

MARGAY_VECTOR(char, signed char, 2, 4)
MARGAY_VECTOR(uchar, unsigned char, 2, 4)
MARGAY_VECTOR(short, short, 4, 8)
MARGAY_VECTOR(ushort, unsigned short, 4, 8)
MARGAY_VECTOR(int, int, 8, 16)
MARGAY_VECTOR(uint, unsigned int, 8, 16)
MARGAY_VECTOR(long, long, 16, 16)
MARGAY_VECTOR(ulong, unsigned long, 16, 16)
MARGAY_VECTOR(longlong, long long, 16, 16)
MARGAY_VECTOR(ulonglong, unsigned long long, 16, 16)
MARGAY_VECTOR(float, float, 8, 16)
MARGAY_VECTOR(double, double, 16, 16)
#undef MARGAY_VECTOR

// CUDA 13 names the alignment of the 32-byte types.
#define MARGAY_VECTOR_32(NAME, T)                                                                  \
  struct __attribute__((aligned(16))) NAME##4_16a {                                                \
    T x, y, z, w;                                                                                  \
  };                                                                                               \
  struct __attribute__((aligned(32))) NAME##4_32a {                                                \
    T x, y, z, w;                                                                                  \
  };                                                                                               \
  typedef struct NAME##4_16a NAME##4_16a;                                                          \
  typedef struct NAME##4_32a NAME##4_32a;
MARGAY_VECTOR_32(long, long)
MARGAY_VECTOR_32(ulong, unsigned long)
MARGAY_VECTOR_32(longlong, long long)
MARGAY_VECTOR_32(ulonglong, unsigned long long)
MARGAY_VECTOR_32(double, double)
#undef MARGAY_VECTOR_32

struct dim3 {
  unsigned int x, y, z;
#if defined(__cplusplus)
  __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
};
typedef struct dim3 dim3;

#endif
