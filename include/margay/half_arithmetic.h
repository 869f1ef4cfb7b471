// SPDX-License-Identifier: MIT OR Apache-2.0
// Arithmetic, comparison, math, warp and memory functions of a 16-bit floating-point type and of its
// pair. Included once by cuda_fp16.h and once by cuda_bf16.h, which define
//   MARGAY_T, MARGAY_T2         the types: a 16-bit field `__x`; fields `x` and `y`
//   MARGAY_PTX, MARGAY_PTX2     "f16", "f16x2" or "bf16", "bf16x2"
//   MARGAY_NATIVE               add, sub, mul and compare exist in PTX for this architecture
//   MARGAY_NATIVE_FMA           fma, neg and abs exist
//   MARGAY_NATIVE_MINMAX        min and max exist
//   MARGAY_TO_FLOAT(h), MARGAY_FROM_FLOAT(f), MARGAY_FROM_DOUBLE(d)   the conversions, to nearest
//   MARGAY_BITS(h), MARGAY_OF_BITS(u)                                 the representation
// and undefine them. On the host, and where PTX lacks the instruction, results are computed in a wider
// type and rounded once: for add, sub, mul, div and sqrt that is the correctly rounded result.

#define MARGAY_HF static __host__ __device__ __forceinline__
#define MARGAY_DF static __device__ __forceinline__

// ---- pairs as one word -----------------------------------------------------------------------
MARGAY_HF unsigned int margay_word(MARGAY_T2 v) {
  return (unsigned int)MARGAY_BITS(v.x) | (unsigned int)MARGAY_BITS(v.y) << 16;
}
MARGAY_HF void margay_of_word(MARGAY_T2 &v, unsigned int w) {
  v.x = MARGAY_OF_BITS((unsigned short)w);
  v.y = MARGAY_OF_BITS((unsigned short)(w >> 16));
}

// ---- arithmetic ------------------------------------------------------------------------------
// NAME1/NAME2: the function of the type and of the pair; IN: PTX instruction; EXPR: in float.
#define MARGAY_BIN(NAME, NAME2, IN, NATIVE, EXPR)                                                  \
  MARGAY_HF MARGAY_T NAME(const MARGAY_T a, const MARGAY_T b) {                                    \
    MARGAY_IF_##NATIVE(                                                                            \
        unsigned short r; asm(IN MARGAY_PTX " %0, %1, %2;"                                         \
                              : "=h"(r)                                                            \
                              : "h"(MARGAY_BITS(a)), "h"(MARGAY_BITS(b)));                         \
        return MARGAY_OF_BITS(r);,                                                                 \
        float x = MARGAY_TO_FLOAT(a); float y = MARGAY_TO_FLOAT(b); return MARGAY_FROM_FLOAT(EXPR);) \
  }                                                                                                \
  MARGAY_HF MARGAY_T2 NAME2(const MARGAY_T2 a, const MARGAY_T2 b) {                                \
    MARGAY_T2 v;                                                                                   \
    MARGAY_IF_##NATIVE(                                                                            \
        unsigned int r; asm(IN MARGAY_PTX2 " %0, %1, %2;"                                          \
                            : "=r"(r)                                                              \
                            : "r"(margay_word(a)), "r"(margay_word(b)));                           \
        margay_of_word(v, r);, v.x = NAME(a.x, b.x); v.y = NAME(a.y, b.y);)                        \
    return v;                                                                                      \
  }
#define MARGAY_CLAMP(E) margay_clamp01(E)
#ifndef MARGAY_CLAMP01
#define MARGAY_CLAMP01
static __host__ __device__ __forceinline__ float margay_clamp01(float f) {
  return f > 0.0f ? (f < 1.0f ? f : 1.0f) : 0.0f; // NaN gives +0, as .sat does
}
#endif
MARGAY_BIN(__hadd, __hadd2, "add.", NATIVE, x + y)
MARGAY_BIN(__hsub, __hsub2, "sub.", NATIVE, x - y)
MARGAY_BIN(__hmul, __hmul2, "mul.", NATIVE, x * y)
// The _rn forms are never fused with another operation.
MARGAY_BIN(__hadd_rn, __hadd2_rn, "add.rn.", NATIVE, x + y)
MARGAY_BIN(__hsub_rn, __hsub2_rn, "sub.rn.", NATIVE, x - y)
MARGAY_BIN(__hmul_rn, __hmul2_rn, "mul.rn.", NATIVE, x * y)
MARGAY_BIN(__hadd_sat, __hadd2_sat, "add.sat.", SAT, MARGAY_CLAMP(x + y))
MARGAY_BIN(__hsub_sat, __hsub2_sat, "sub.sat.", SAT, MARGAY_CLAMP(x - y))
MARGAY_BIN(__hmul_sat, __hmul2_sat, "mul.sat.", SAT, MARGAY_CLAMP(x * y))
MARGAY_BIN(__hmin, __hmin2, "min.", MINMAX, __builtin_fminf(x, y))
MARGAY_BIN(__hmax, __hmax2, "max.", MINMAX, __builtin_fmaxf(x, y))
MARGAY_BIN(__hmin_nan, __hmin2_nan, "min.NaN.", MINMAX, x != x ? x : y != y ? y : __builtin_fminf(x, y))
MARGAY_BIN(__hmax_nan, __hmax2_nan, "max.NaN.", MINMAX, x != x ? x : y != y ? y : __builtin_fmaxf(x, y))
#undef MARGAY_BIN

MARGAY_HF MARGAY_T __hdiv(const MARGAY_T a, const MARGAY_T b) {
  return MARGAY_FROM_FLOAT(MARGAY_TO_FLOAT(a) / MARGAY_TO_FLOAT(b));
}
MARGAY_HF MARGAY_T2 __h2div(const MARGAY_T2 a, const MARGAY_T2 b) {
  MARGAY_T2 v;
  v.x = __hdiv(a.x, b.x);
  v.y = __hdiv(a.y, b.y);
  return v;
}

#define MARGAY_FMA(NAME, NAME2, IN, NATIVE, EXPR)                                                  \
  MARGAY_HF MARGAY_T NAME(const MARGAY_T a, const MARGAY_T b, const MARGAY_T c) {                  \
    MARGAY_IF_##NATIVE(                                                                            \
        unsigned short r; asm(IN MARGAY_PTX " %0, %1, %2, %3;"                                     \
                              : "=h"(r)                                                            \
                              : "h"(MARGAY_BITS(a)), "h"(MARGAY_BITS(b)), "h"(MARGAY_BITS(c)));    \
        return MARGAY_OF_BITS(r);,                                                                 \
        double x = __builtin_fma((double)MARGAY_TO_FLOAT(a), (double)MARGAY_TO_FLOAT(b),           \
                                 (double)MARGAY_TO_FLOAT(c));                                      \
        return MARGAY_FROM_DOUBLE(EXPR);)                                                          \
  }                                                                                                \
  MARGAY_HF MARGAY_T2 NAME2(const MARGAY_T2 a, const MARGAY_T2 b, const MARGAY_T2 c) {             \
    MARGAY_T2 v;                                                                                   \
    MARGAY_IF_##NATIVE(                                                                            \
        unsigned int r; asm(IN MARGAY_PTX2 " %0, %1, %2, %3;"                                      \
                            : "=r"(r)                                                              \
                            : "r"(margay_word(a)), "r"(margay_word(b)), "r"(margay_word(c)));      \
        margay_of_word(v, r);, v.x = NAME(a.x, b.x, c.x); v.y = NAME(a.y, b.y, c.y);)              \
    return v;                                                                                      \
  }
MARGAY_FMA(__hfma, __hfma2, "fma.rn.", FMA, x)
MARGAY_FMA(__hfma_sat, __hfma2_sat, "fma.rn.sat.", SAT, x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0)
MARGAY_FMA(__hfma_relu, __hfma2_relu, "fma.rn.relu.", MINMAX, x != x ? x : x > 0.0 ? x : 0.0)
#undef MARGAY_FMA

MARGAY_HF MARGAY_T __hneg(const MARGAY_T a) {
  return MARGAY_OF_BITS((unsigned short)(MARGAY_BITS(a) ^ 0x8000u));
}
MARGAY_HF MARGAY_T __habs(const MARGAY_T a) {
  return MARGAY_OF_BITS((unsigned short)(MARGAY_BITS(a) & 0x7fffu));
}
MARGAY_HF bool __hisnan(const MARGAY_T a) {
  float f = MARGAY_TO_FLOAT(a);
  return f != f;
}
MARGAY_HF int __hisinf(const MARGAY_T a) {
  float f = MARGAY_TO_FLOAT(a);
  return f == __builtin_inff() ? 1 : f == -__builtin_inff() ? -1 : 0;
}
MARGAY_HF MARGAY_T2 __hneg2(const MARGAY_T2 a) {
  MARGAY_T2 v;
  v.x = __hneg(a.x);
  v.y = __hneg(a.y);
  return v;
}
MARGAY_HF MARGAY_T2 __habs2(const MARGAY_T2 a) {
  MARGAY_T2 v;
  v.x = __habs(a.x);
  v.y = __habs(a.y);
  return v;
}
MARGAY_HF MARGAY_T2 __hcmadd(const MARGAY_T2 a, const MARGAY_T2 b, const MARGAY_T2 c) {
  MARGAY_T2 v; // complex a * b + c
  v.x = __hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x));
  v.y = __hfma(a.y, b.x, __hfma(a.x, b.y, c.y));
  return v;
}

// ---- comparison ------------------------------------------------------------------------------
// Ordered comparisons are false with a NaN; the unordered ones (suffix u) are true.
#define MARGAY_CMP(OP, SYM)                                                                        \
  MARGAY_HF bool __h##OP(const MARGAY_T a, const MARGAY_T b) {                                     \
    float x = MARGAY_TO_FLOAT(a), y = MARGAY_TO_FLOAT(b);                                          \
    return x == x && y == y && x SYM y;                                                            \
  }                                                                                                \
  MARGAY_HF bool __h##OP##u(const MARGAY_T a, const MARGAY_T b) {                                  \
    float x = MARGAY_TO_FLOAT(a), y = MARGAY_TO_FLOAT(b);                                          \
    return x != x || y != y || x SYM y;                                                            \
  }                                                                                                \
  MARGAY_CMP2(OP, ) MARGAY_CMP2(OP, u)
#define MARGAY_CMP2(OP, U)                                                                         \
  MARGAY_HF MARGAY_T2 __h##OP##U##2(const MARGAY_T2 a, const MARGAY_T2 b) {                        \
    MARGAY_T2 v;                                                                                   \
    v.x = MARGAY_FROM_FLOAT(__h##OP##U(a.x, b.x) ? 1.0f : 0.0f);                                   \
    v.y = MARGAY_FROM_FLOAT(__h##OP##U(a.y, b.y) ? 1.0f : 0.0f);                                   \
    return v;                                                                                      \
  }                                                                                                \
  MARGAY_HF unsigned int __h##OP##U##2_mask(const MARGAY_T2 a, const MARGAY_T2 b) {                \
    return (__h##OP##U(a.x, b.x) ? 0xffffu : 0u) | (__h##OP##U(a.y, b.y) ? 0xffff0000u : 0u);      \
  }                                                                                                \
  MARGAY_HF bool __hb##OP##U##2(const MARGAY_T2 a, const MARGAY_T2 b) {                            \
    return __h##OP##U(a.x, b.x) && __h##OP##U(a.y, b.y);                                           \
  }
MARGAY_CMP(eq, ==)
MARGAY_CMP(ne, !=)
MARGAY_CMP(le, <=)
MARGAY_CMP(ge, >=)
MARGAY_CMP(lt, <)
MARGAY_CMP(gt, >)
#undef MARGAY_CMP
#undef MARGAY_CMP2
MARGAY_HF MARGAY_T2 __hisnan2(const MARGAY_T2 a) {
  MARGAY_T2 v;
  v.x = MARGAY_FROM_FLOAT(__hisnan(a.x) ? 1.0f : 0.0f);
  v.y = MARGAY_FROM_FLOAT(__hisnan(a.y) ? 1.0f : 0.0f);
  return v;
}

#if defined(MARGAY_CUDA_PASS)
// ---- math, in float, rounded -----------------------------------------------------------------
#define MARGAY_MATH(NAME, CALL)                                                                    \
  MARGAY_DF MARGAY_T h##NAME(const MARGAY_T a) {                                                   \
    float x = MARGAY_TO_FLOAT(a);                                                                  \
    return MARGAY_FROM_FLOAT(CALL);                                                                \
  }                                                                                                \
  MARGAY_DF MARGAY_T2 h2##NAME(const MARGAY_T2 a) {                                                \
    MARGAY_T2 v;                                                                                   \
    v.x = h##NAME(a.x);                                                                            \
    v.y = h##NAME(a.y);                                                                            \
    return v;                                                                                      \
  }
MARGAY_MATH(sqrt, ::sqrtf(x))
MARGAY_MATH(rsqrt, ::rsqrtf(x))
MARGAY_MATH(rcp, 1.0f / x)
MARGAY_MATH(log, ::logf(x))
MARGAY_MATH(log2, ::log2f(x))
MARGAY_MATH(log10, ::log10f(x))
MARGAY_MATH(exp, ::expf(x))
MARGAY_MATH(exp2, ::exp2f(x))
MARGAY_MATH(exp10, ::exp10f(x))
MARGAY_MATH(cos, ::cosf(x))
MARGAY_MATH(sin, ::sinf(x))
MARGAY_MATH(tanh, ::tanhf(x))
MARGAY_MATH(ceil, ::ceilf(x))
MARGAY_MATH(floor, ::floorf(x))
MARGAY_MATH(rint, ::rintf(x))
MARGAY_MATH(trunc, ::truncf(x))
#undef MARGAY_MATH

// ---- warp ------------------------------------------------------------------------------------
#define MARGAY_SHFL(NAME, LANE)                                                                    \
  MARGAY_DF MARGAY_T NAME(unsigned int mask, MARGAY_T v, LANE lane, int width = 32) {              \
    return MARGAY_OF_BITS((unsigned short)NAME(mask, (unsigned int)MARGAY_BITS(v), lane, width));  \
  }                                                                                                \
  MARGAY_DF MARGAY_T2 NAME(unsigned int mask, MARGAY_T2 v, LANE lane, int width = 32) {            \
    MARGAY_T2 r;                                                                                   \
    margay_of_word(r, NAME(mask, margay_word(v), lane, width));                                    \
    return r;                                                                                      \
  }
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 300
MARGAY_SHFL(__shfl_sync, int)
MARGAY_SHFL(__shfl_up_sync, unsigned int)
MARGAY_SHFL(__shfl_down_sync, unsigned int)
MARGAY_SHFL(__shfl_xor_sync, int)
#endif
#undef MARGAY_SHFL

// ---- memory ----------------------------------------------------------------------------------
#define MARGAY_LOADS(NAME)                                                                         \
  MARGAY_DF MARGAY_T NAME(const MARGAY_T *p) {                                                     \
    return MARGAY_OF_BITS(NAME((const unsigned short *)p));                                        \
  }                                                                                                \
  MARGAY_DF MARGAY_T2 NAME(const MARGAY_T2 *p) {                                                   \
    MARGAY_T2 v;                                                                                   \
    margay_of_word(v, NAME((const unsigned int *)p));                                              \
    return v;                                                                                      \
  }
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 320
MARGAY_LOADS(__ldg)
#endif
MARGAY_LOADS(__ldca)
MARGAY_LOADS(__ldcg)
MARGAY_LOADS(__ldcs)
MARGAY_LOADS(__ldlu)
MARGAY_LOADS(__ldcv)
#undef MARGAY_LOADS
#define MARGAY_STORES(NAME)                                                                        \
  MARGAY_DF void NAME(MARGAY_T *p, MARGAY_T v) { NAME((unsigned short *)p, MARGAY_BITS(v)); }      \
  MARGAY_DF void NAME(MARGAY_T2 *p, MARGAY_T2 v) { NAME((unsigned int *)p, margay_word(v)); }
MARGAY_STORES(__stwb)
MARGAY_STORES(__stcg)
MARGAY_STORES(__stcs)
MARGAY_STORES(__stwt)
#undef MARGAY_STORES

#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= MARGAY_ATOMIC2_ARCH
#define MARGAY_ATOMIC_ADD2(SUFFIX, SCOPE)                                                          \
  MARGAY_DF MARGAY_T2 atomicAdd##SUFFIX(MARGAY_T2 *address, MARGAY_T2 val) {                       \
    unsigned int old;                                                                              \
    asm volatile("atom." SCOPE "add.noftz." MARGAY_PTX2 " %0, [%1], %2;"                           \
                 : "=r"(old)                                                                       \
                 : "l"(address), "r"(margay_word(val))                                             \
                 : "memory");                                                                      \
    MARGAY_T2 v;                                                                                   \
    margay_of_word(v, old);                                                                        \
    return v;                                                                                      \
  }
MARGAY_ATOMIC_ADD2(, "")
MARGAY_ATOMIC_ADD2(_block, "cta.")
MARGAY_ATOMIC_ADD2(_system, "sys.")
#undef MARGAY_ATOMIC_ADD2
#endif
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= MARGAY_ATOMIC_ARCH
#define MARGAY_ATOMIC_ADD(SUFFIX, SCOPE)                                                           \
  MARGAY_DF MARGAY_T atomicAdd##SUFFIX(MARGAY_T *address, MARGAY_T val) {                          \
    unsigned short old;                                                                            \
    asm volatile("atom." SCOPE "add.noftz." MARGAY_PTX " %0, [%1], %2;"                            \
                 : "=h"(old)                                                                       \
                 : "l"(address), "h"(MARGAY_BITS(val))                                             \
                 : "memory");                                                                      \
    return MARGAY_OF_BITS(old);                                                                    \
  }
MARGAY_ATOMIC_ADD(, "")
MARGAY_ATOMIC_ADD(_block, "cta.")
MARGAY_ATOMIC_ADD(_system, "sys.")
#undef MARGAY_ATOMIC_ADD
#endif
#endif

// ---- operators -------------------------------------------------------------------------------
#if !defined(MARGAY_NO_OPERATORS)
#define MARGAY_OPERATOR(T, SYM, F)                                                                 \
  MARGAY_HF T operator SYM(const T &a, const T &b) { return F(a, b); }                             \
  MARGAY_HF T &operator SYM##=(T &a, const T &b) { return a = F(a, b); }
MARGAY_OPERATOR(MARGAY_T, +, __hadd)
MARGAY_OPERATOR(MARGAY_T, -, __hsub)
MARGAY_OPERATOR(MARGAY_T, *, __hmul)
MARGAY_OPERATOR(MARGAY_T, /, __hdiv)
MARGAY_HF MARGAY_T &operator++(MARGAY_T &a) { return a = __hadd(a, MARGAY_FROM_FLOAT(1.0f)); }
MARGAY_HF MARGAY_T &operator--(MARGAY_T &a) { return a = __hsub(a, MARGAY_FROM_FLOAT(1.0f)); }
MARGAY_HF MARGAY_T operator++(MARGAY_T &a, int) {
  MARGAY_T old = a;
  ++a;
  return old;
}
MARGAY_HF MARGAY_T operator--(MARGAY_T &a, int) {
  MARGAY_T old = a;
  --a;
  return old;
}
MARGAY_HF MARGAY_T operator+(const MARGAY_T &a) { return a; }
MARGAY_HF MARGAY_T operator-(const MARGAY_T &a) { return __hneg(a); }
MARGAY_HF bool operator==(const MARGAY_T &a, const MARGAY_T &b) { return __heq(a, b); }
MARGAY_HF bool operator!=(const MARGAY_T &a, const MARGAY_T &b) { return __hneu(a, b); }
MARGAY_HF bool operator<(const MARGAY_T &a, const MARGAY_T &b) { return __hlt(a, b); }
MARGAY_HF bool operator>(const MARGAY_T &a, const MARGAY_T &b) { return __hgt(a, b); }
MARGAY_HF bool operator<=(const MARGAY_T &a, const MARGAY_T &b) { return __hle(a, b); }
MARGAY_HF bool operator>=(const MARGAY_T &a, const MARGAY_T &b) { return __hge(a, b); }
MARGAY_OPERATOR(MARGAY_T2, +, __hadd2)
MARGAY_OPERATOR(MARGAY_T2, -, __hsub2)
MARGAY_OPERATOR(MARGAY_T2, *, __hmul2)
MARGAY_OPERATOR(MARGAY_T2, /, __h2div)
MARGAY_HF MARGAY_T2 operator+(const MARGAY_T2 &a) { return a; }
MARGAY_HF MARGAY_T2 operator-(const MARGAY_T2 &a) { return __hneg2(a); }
MARGAY_HF bool operator==(const MARGAY_T2 &a, const MARGAY_T2 &b) { return __hbeq2(a, b); }
MARGAY_HF bool operator!=(const MARGAY_T2 &a, const MARGAY_T2 &b) { return __hbneu2(a, b); }
MARGAY_HF bool operator<(const MARGAY_T2 &a, const MARGAY_T2 &b) { return __hblt2(a, b); }
MARGAY_HF bool operator>(const MARGAY_T2 &a, const MARGAY_T2 &b) { return __hbgt2(a, b); }
MARGAY_HF bool operator<=(const MARGAY_T2 &a, const MARGAY_T2 &b) { return __hble2(a, b); }
MARGAY_HF bool operator>=(const MARGAY_T2 &a, const MARGAY_T2 &b) { return __hbge2(a, b); }
#undef MARGAY_OPERATOR
#endif

#undef MARGAY_HF
#undef MARGAY_DF
#undef MARGAY_CLAMP
