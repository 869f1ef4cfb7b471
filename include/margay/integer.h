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

// Two numbers of 16 bits in a word, each by itself.
#define MARGAY_DPX2(SUFFIX, T)                                                                     \
  MARGAY_HD unsigned int __vimax3_##SUFFIX(unsigned int a, unsigned int b, unsigned int c) {       \
    return margay_dpx2<T>(a, b, c, [](T x, T y, T z) { return margay_max(margay_max(x, y), z); }); \
  }                                                                                                \
  MARGAY_HD unsigned int __vimin3_##SUFFIX(unsigned int a, unsigned int b, unsigned int c) {       \
    return margay_dpx2<T>(a, b, c, [](T x, T y, T z) { return margay_min(margay_min(x, y), z); }); \
  }                                                                                                \
  MARGAY_HD unsigned int __viaddmax_##SUFFIX(unsigned int a, unsigned int b, unsigned int c) {     \
    return margay_dpx2<T>(a, b, c, [](T x, T y, T z) { return margay_max((T)(x + y), z); });       \
  }                                                                                                \
  MARGAY_HD unsigned int __viaddmin_##SUFFIX(unsigned int a, unsigned int b, unsigned int c) {     \
    return margay_dpx2<T>(a, b, c, [](T x, T y, T z) { return margay_min((T)(x + y), z); });       \
  }                                                                                                \
  MARGAY_HD unsigned int __vibmax_##SUFFIX(unsigned int a, unsigned int b, bool *const pred_hi,    \
                                           bool *const pred_lo) {                                  \
    *pred_hi = (T)(a >> 16) >= (T)(b >> 16);                                                       \
    *pred_lo = (T)a >= (T)b;                                                                       \
    return margay_dpx2<T>(a, b, 0, [](T x, T y, T) { return margay_max(x, y); });                  \
  }                                                                                                \
  MARGAY_HD unsigned int __vibmin_##SUFFIX(unsigned int a, unsigned int b, bool *const pred_hi,    \
                                           bool *const pred_lo) {                                  \
    *pred_hi = (T)(a >> 16) <= (T)(b >> 16);                                                       \
    *pred_lo = (T)a <= (T)b;                                                                       \
    return margay_dpx2<T>(a, b, 0, [](T x, T y, T) { return margay_min(x, y); });                  \
  }
template <class T> MARGAY_HD T margay_max(T a, T b) { return a > b ? a : b; }
template <class T> MARGAY_HD T margay_min(T a, T b) { return a < b ? a : b; }
template <class T, class F>
MARGAY_HD unsigned int margay_dpx2(unsigned int a, unsigned int b, unsigned int c, F f) {
  unsigned int high = (unsigned short)f((T)(a >> 16), (T)(b >> 16), (T)(c >> 16));
  return high << 16 | (unsigned short)f((T)a, (T)b, (T)c);
}
MARGAY_DPX2(s16x2, short)
MARGAY_DPX2(u16x2, unsigned short)
#undef MARGAY_DPX2
MARGAY_HD unsigned int margay_relu2(unsigned int a) {
  return margay_dpx2<short>(a, 0, 0, [](short x, short, short) { return margay_max<short>(x, 0); });
}
MARGAY_HD unsigned int __vimax_s16x2_relu(unsigned int a, unsigned int b) {
  return margay_relu2(__vimax3_s16x2(a, b, b));
}
MARGAY_HD unsigned int __vimin_s16x2_relu(unsigned int a, unsigned int b) {
  return margay_relu2(__vimin3_s16x2(a, b, b));
}
#define MARGAY_RELU2(NAME)                                                                         \
  MARGAY_HD unsigned int NAME##_relu(unsigned int a, unsigned int b, unsigned int c) {             \
    return margay_relu2(NAME(a, b, c));                                                            \
  }
MARGAY_RELU2(__vimax3_s16x2)
MARGAY_RELU2(__vimin3_s16x2)
MARGAY_RELU2(__viaddmax_s16x2)
MARGAY_RELU2(__viaddmin_s16x2)
#undef MARGAY_RELU2

#endif
