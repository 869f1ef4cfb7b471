// SPDX-License-Identifier: MIT OR Apache-2.0
// Integer functions that clang's own headers lack: dot products of bytes and half-words, and the
// three-operand minima and maxima ("DPX" functions of CUDA 12).
#ifndef MARGAY_INTEGER_H
#define MARGAY_INTEGER_H
#define __SM_61_INTRINSICS_H__

#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 610
#define MARGAY_DP(NAME, PTX, RET, A, B)                                                            \
  MARGAY_D RET NAME(A a, B b, RET c) {                                                             \
    RET d;                                                                                         \
    asm(PTX " %0, %1, %2, %3;"                                                                     \
        : "=r"(d)                                                                                  \
        : "r"(__builtin_bit_cast(unsigned int, a)), "r"(__builtin_bit_cast(unsigned int, b)),      \
          "r"(c));                                                                                 \
    return d;                                                                                      \
  }
MARGAY_DP(__dp4a, "dp4a.s32.s32", int, int, int)
MARGAY_DP(__dp4a, "dp4a.u32.u32", unsigned int, unsigned int, unsigned int)
MARGAY_DP(__dp4a, "dp4a.s32.s32", int, char4, char4)
MARGAY_DP(__dp4a, "dp4a.u32.u32", unsigned int, uchar4, uchar4)
// The second operand's two bytes are the lower ("lo") or upper ("hi") half of its word.
MARGAY_DP(__dp2a_lo, "dp2a.lo.s32.s32", int, int, int)
MARGAY_DP(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, unsigned int, unsigned int)
MARGAY_DP(__dp2a_lo, "dp2a.lo.s32.s32", int, short2, char4)
MARGAY_DP(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, ushort2, uchar4)
MARGAY_DP(__dp2a_hi, "dp2a.hi.s32.s32", int, int, int)
MARGAY_DP(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, unsigned int, unsigned int)
MARGAY_DP(__dp2a_hi, "dp2a.hi.s32.s32", int, short2, char4)
MARGAY_DP(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, ushort2, uchar4)
#undef MARGAY_DP
#endif

#define MARGAY_HD static __host__ __device__ __forceinline__
#define MARGAY_DPX(S, T)                                                                           \
  MARGAY_HD T __vimax3_##S(T a, T b, T c) {                                                        \
    T m = a > b ? a : b;                                                                           \
    return m > c ? m : c;                                                                          \
  }                                                                                                \
  MARGAY_HD T __vimin3_##S(T a, T b, T c) {                                                        \
    T m = a < b ? a : b;                                                                           \
    return m < c ? m : c;                                                                          \
  }                                                                                                \
  MARGAY_HD T __viaddmax_##S(T a, T b, T c) {                                                      \
    T s = (T)((unsigned int)a + (unsigned int)b);                                                  \
    return s > c ? s : c;                                                                          \
  }                                                                                                \
  MARGAY_HD T __viaddmin_##S(T a, T b, T c) {                                                      \
    T s = (T)((unsigned int)a + (unsigned int)b);                                                  \
    return s < c ? s : c;                                                                          \
  }                                                                                                \
  MARGAY_HD T __vibmax_##S(T a, T b, bool *const pred) {                                           \
    *pred = a >= b;                                                                                \
    return a >= b ? a : b;                                                                         \
  }                                                                                                \
  MARGAY_HD T __vibmin_##S(T a, T b, bool *const pred) {                                           \
    *pred = a <= b;                                                                                \
    return a <= b ? a : b;                                                                         \
  }
MARGAY_DPX(s32, int)
MARGAY_DPX(u32, unsigned int)
#undef MARGAY_DPX
// "relu" clamps the result at zero from below.
MARGAY_HD int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
MARGAY_HD int __vimin_s32_relu(int a, int b) {
  int m = a < b ? a : b;
  return m > 0 ? m : 0;
}
MARGAY_HD int __vimax3_s32_relu(int a, int b, int c) { return __vimax_s32_relu(__vimax3_s32(a, b, c), 0); }
MARGAY_HD int __vimin3_s32_relu(int a, int b, int c) { return __vimax_s32_relu(__vimin3_s32(a, b, c), 0); }
MARGAY_HD int __viaddmax_s32_relu(int a, int b, int c) {
  return __vimax_s32_relu(__viaddmax_s32(a, b, c), 0);
}
MARGAY_HD int __viaddmin_s32_relu(int a, int b, int c) {
  return __vimax_s32_relu(__viaddmin_s32(a, b, c), 0);
}

#endif
