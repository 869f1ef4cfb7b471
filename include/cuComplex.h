// SPDX-License-Identifier: MIT OR Apache-2.0
// Complex numbers as pairs (float2, double2), for C and C++, on host and device: parts, conjugate, sum,
// difference, product, quotient, magnitude and fused multiplication.
//
// Quotients and magnitudes scale their operands, so that they overflow only where the result does.
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_
#include "cuda_runtime.h"
#include <math.h>

#if defined(__cplusplus)
#define MARGAY_C static __host__ __device__ __inline__
extern "C++" {
#else
#define MARGAY_C static inline
#endif

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define MARGAY_COMPLEX(C, T, F, CREAL, CIMAG, MAKE, CONJ, ADD, SUB, MUL, DIV, ABS, FMA)             \
  MARGAY_C T CREAL(C z) { return z.x; }                                                            \
  MARGAY_C T CIMAG(C z) { return z.y; }                                                            \
  MARGAY_C C MAKE(T re, T im) {                                                                    \
    C z;                                                                                           \
    z.x = re;                                                                                      \
    z.y = im;                                                                                      \
    return z;                                                                                      \
  }                                                                                                \
  MARGAY_C C CONJ(C z) { return MAKE(z.x, -z.y); }                                                 \
  MARGAY_C C ADD(C a, C b) { return MAKE(a.x + b.x, a.y + b.y); }                                  \
  MARGAY_C C SUB(C a, C b) { return MAKE(a.x - b.x, a.y - b.y); }                                  \
  MARGAY_C C MUL(C a, C b) { return MAKE(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }          \
  MARGAY_C C DIV(C a, C b) {                                                                       \
    T unit = (T)1 / (fabs##F(b.x) + fabs##F(b.y));                                                 \
    T ax = a.x * unit, ay = a.y * unit, bx = b.x * unit, by = b.y * unit;                          \
    T inverse = (T)1 / (bx * bx + by * by);                                                        \
    return MAKE((ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse);                     \
  }                                                                                                \
  MARGAY_C T ABS(C z) {                                                                            \
    T x = fabs##F(z.x), y = fabs##F(z.y);                                                          \
    T big = x > y ? x : y, small = x > y ? y : x;                                                  \
    T ratio = small / big;                                                                         \
    /* An infinite part, then NaN and zero. */                                                     \
    if (x == x + (T)1 && x == x + x) return x;                                                     \
    if (y == y + (T)1 && y == y + y) return y;                                                     \
    if (!(big > (T)0) || x != x || y != y) return x + y;                                           \
    return big * sqrt##F((T)1 + ratio * ratio);                                                    \
  }                                                                                                \
  MARGAY_C C FMA(C a, C b, C c) {                                                                  \
    T re = a.x * b.x + c.x, im = a.x * b.y + c.y;                                                  \
    return MAKE(re - a.y * b.y, im + a.y * b.x);                                                   \
  }

MARGAY_COMPLEX(cuFloatComplex, float, f, cuCrealf, cuCimagf, make_cuFloatComplex, cuConjf, cuCaddf,
               cuCsubf, cuCmulf, cuCdivf, cuCabsf, cuCfmaf)
MARGAY_COMPLEX(cuDoubleComplex, double, , cuCreal, cuCimag, make_cuDoubleComplex, cuConj, cuCadd,
               cuCsub, cuCmul, cuCdiv, cuCabs, cuCfma)
#undef MARGAY_COMPLEX

MARGAY_C cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
MARGAY_C cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
  return make_cuDoubleComplex((double)z.x, (double)z.y);
}
MARGAY_C cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return make_cuFloatComplex((float)z.x, (float)z.y);
}

#undef MARGAY_C
#if defined(__cplusplus)
}
#endif
#endif
