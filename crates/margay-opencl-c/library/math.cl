// SPDX-License-Identifier: MIT OR Apache-2.0
// Mathematical functions. The engine computes what libdevice calls `__nv_*`, within CUDA's error bounds, which
// are tighter than OpenCL's; what CUDA lacks is made of those here.
//
// Vectors are computed by halves. Functions of `half` are computed in `float` and rounded once.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OV __attribute__((overloadable))
#define HALVES1(R, T, name, n) R##n OV name(T##n x) { return (R##n)(name(x.lo), name(x.hi)); }
#define HALVES2(R, T, U, name, n) R##n OV name(T##n x, U##n y) { return (R##n)(name(x.lo, y.lo), name(x.hi, y.hi)); }
#define HALVES3(T, name, n) T##n OV name(T##n x, T##n y, T##n z) { return (T##n)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi)); }
// Vector forms of a scalar function: result R, arguments T (and U).
#define VEC1(R, T, name)                                                              \
  HALVES1(R, T, name, 2)                                                              \
  R##3 OV name(T##3 x) { return (R##3)(name(x.s0), name(x.s1), name(x.s2)); }         \
  HALVES1(R, T, name, 4) HALVES1(R, T, name, 8) HALVES1(R, T, name, 16)
#define VEC2(R, T, U, name)                                                           \
  HALVES2(R, T, U, name, 2)                                                           \
  R##3 OV name(T##3 x, U##3 y) { return (R##3)(name(x.s0, y.s0), name(x.s1, y.s1), name(x.s2, y.s2)); } \
  HALVES2(R, T, U, name, 4) HALVES2(R, T, U, name, 8) HALVES2(R, T, U, name, 16)
#define VEC3(T, name)                                                                 \
  HALVES3(T, name, 2)                                                                 \
  T##3 OV name(T##3 x, T##3 y, T##3 z) {                                              \
    return (T##3)(name(x.s0, y.s0, z.s0), name(x.s1, y.s1, z.s1), name(x.s2, y.s2, z.s2)); \
  }                                                                                   \
  HALVES3(T, name, 4) HALVES3(T, name, 8) HALVES3(T, name, 16)
// A vector and one scalar for all its components.
#define WITH_SCALAR(T, U, name)                                                       \
  T##2 OV name(T##2 x, U y) { return name(x, (U##2)(y)); }                            \
  T##3 OV name(T##3 x, U y) { return name(x, (U##3)(y)); }                            \
  T##4 OV name(T##4 x, U y) { return name(x, (U##4)(y)); }                            \
  T##8 OV name(T##8 x, U y) { return name(x, (U##8)(y)); }                            \
  T##16 OV name(T##16 x, U y) { return name(x, (U##16)(y)); }

// A function of one argument, in three precisions: `F` and `D` are expressions of x.
#define UNARY(name, F, D)                                                             \
  float OV name(float x) { return F; }                                                \
  double OV name(double x) { return D; }                                              \
  half OV name(half x) { return (half)name((float)x); }                               \
  VEC1(float, float, name) VEC1(double, double, name) VEC1(half, half, name)
#define BINARY(name, F, D)                                                            \
  float OV name(float x, float y) { return F; }                                       \
  double OV name(double x, double y) { return D; }                                    \
  half OV name(half x, half y) { return (half)name((float)x, (float)y); }             \
  VEC2(float, float, float, name) VEC2(double, double, double, name) VEC2(half, half, half, name)

#define DECLARE1(name) float __nv_##name##f(float); double __nv_##name(double);
#define DECLARE2(name) float __nv_##name##f(float, float); double __nv_##name(double, double);
// libdevice has the function under the same name.
#define SAME1(name) DECLARE1(name) UNARY(name, __nv_##name##f(x), __nv_##name(x))
#define SAME2(name) DECLARE2(name) BINARY(name, __nv_##name##f(x, y), __nv_##name(x, y))

SAME1(acos) SAME1(acosh) SAME1(asin) SAME1(asinh) SAME1(atan) SAME1(atanh) SAME1(cbrt) SAME1(ceil) SAME1(cos)
SAME1(cosh) SAME1(cospi) SAME1(erf) SAME1(erfc) SAME1(exp) SAME1(exp2) SAME1(exp10) SAME1(expm1) SAME1(fabs)
SAME1(floor) SAME1(lgamma) SAME1(log) SAME1(log10) SAME1(log1p) SAME1(log2) SAME1(logb) SAME1(rint) SAME1(round)
SAME1(rsqrt) SAME1(sin) SAME1(sinh) SAME1(sinpi) SAME1(sqrt) SAME1(tan) SAME1(tanh) SAME1(tgamma) SAME1(trunc)
SAME2(atan2) SAME2(fdim) SAME2(fmod) SAME2(hypot) SAME2(pow) SAME2(remainder)
DECLARE2(fmax) DECLARE2(fmin) DECLARE2(nextafter)

// By its bits: a conversion would take the sign off a NaN.
float OV copysign(float x, float y) { return __builtin_copysignf(x, y); }
double OV copysign(double x, double y) { return __builtin_copysign(x, y); }
half OV copysign(half x, half y) { return as_half((ushort)((as_ushort(x) & 0x7fff) | (as_ushort(y) & 0x8000))); }
VEC2(float, float, float, copysign) VEC2(double, double, double, copysign) VEC2(half, half, half, copysign)

BINARY(fmax, __nv_fmaxf(x, y), __nv_fmax(x, y))
BINARY(fmin, __nv_fminf(x, y), __nv_fmin(x, y))
WITH_SCALAR(float, float, fmax) WITH_SCALAR(double, double, fmax) WITH_SCALAR(half, half, fmax)
WITH_SCALAR(float, float, fmin) WITH_SCALAR(double, double, fmin) WITH_SCALAR(half, half, fmin)
BINARY(maxmag, (fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y)),
       (fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y)))
BINARY(minmag, (fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y)),
       (fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y)))

float OV nextafter(float x, float y) { return __nv_nextafterf(x, y); }
double OV nextafter(double x, double y) { return __nv_nextafter(x, y); }
half OV nextafter(half x, half y) {
  // Not isnan(half): it is half.cl's, which stands before this file.
  if (x != x || y != y) return (half)NAN;
  if (x == y) return y;
  if (x == 0) return as_half((ushort)(1 | (signbit((float)y) ? 0x8000 : 0)));
  ushort bits = as_ushort(x);
  return as_half((ushort)((x < y) == (x > 0) ? bits + 1 : bits - 1));
}
VEC2(float, float, float, nextafter) VEC2(double, double, double, nextafter) VEC2(half, half, half, nextafter)

// Angles in units of pi. In float the quotient is rounded once, from double.
#define INV_PI 0x1.45f306dc9c883p-2
UNARY(acospi, (float)(__nv_acos((double)x) * INV_PI), __nv_acos(x) * INV_PI)
UNARY(asinpi, (float)(__nv_asin((double)x) * INV_PI), __nv_asin(x) * INV_PI)
UNARY(atanpi, (float)(__nv_atan((double)x) * INV_PI), __nv_atan(x) * INV_PI)
BINARY(atan2pi, (float)(__nv_atan2((double)x, (double)y) * INV_PI), __nv_atan2(x, y) * INV_PI)
UNARY(tanpi, (float)(__nv_sinpi((double)x) / __nv_cospi((double)x)), __nv_sinpi(x) / __nv_cospi(x))

// powr is pow for x >= 0, with NaN where pow has a conventional value.
#define POWR(T)                                                                       \
  T OV powr(T x, T y) {                                                               \
    bool undefined = x < 0 || isnan(x) || isnan(y) || (x == 0 && y == 0) || (isinf(x) && y == 0) || \
                     (x == 1 && isinf(y));                                            \
    return undefined ? (T)NAN : pow(fabs(x), y);                                      \
  }
POWR(float) POWR(double)
half OV powr(half x, half y) { return (half)powr((float)x, (float)y); }
VEC2(float, float, float, powr) VEC2(double, double, double, powr) VEC2(half, half, half, powr)

float OV pown(float x, int n) { return (float)__nv_pow((double)x, (double)n); }
double OV pown(double x, int n) { return __nv_pow(x, (double)n); }
half OV pown(half x, int n) { return (half)pown((float)x, n); }
VEC2(float, float, int, pown) VEC2(double, double, int, pown) VEC2(half, half, int, pown)

// x^(1/n), where 1/n is the sum of two doubles.
double OV rootn(double x, int n) {
  if (n == 0 || (x < 0 && (n & 1) == 0)) return NAN;
  double a = fabs(x);
  if (a == 0 || isinf(a) || isnan(a)) {
    double r = isnan(a) ? a : (a == 0) == (n > 0) ? 0.0 : INFINITY;
    return n & 1 ? copysign(r, x) : r;
  }
  double high = 1.0 / n, low = __builtin_fma(-high, (double)n, 1.0) / n;
  double r = __nv_pow(a, high);
  r = __builtin_fma(r, low * __nv_log(a), r);
  return n & 1 ? copysign(r, x) : r;
}
float OV rootn(float x, int n) { return (float)rootn((double)x, n); }
half OV rootn(half x, int n) { return (half)rootn((double)x, n); }
VEC2(float, float, int, rootn) VEC2(double, double, int, rootn) VEC2(half, half, int, rootn)

float __nv_ldexpf(float, int); double __nv_ldexp(double, int);
float OV ldexp(float x, int n) { return __nv_ldexpf(x, n); }
double OV ldexp(double x, int n) { return __nv_ldexp(x, n); }
// Exact in double, however small.
half OV ldexp(half x, int n) { return (half)__nv_ldexp((double)x, n); }
VEC2(float, float, int, ldexp) VEC2(double, double, int, ldexp) VEC2(half, half, int, ldexp)
WITH_SCALAR(float, int, ldexp) WITH_SCALAR(double, int, ldexp) WITH_SCALAR(half, int, ldexp)

int __nv_ilogbf(float); int __nv_ilogb(double);
int OV ilogb(float x) { return isnan(x) ? FP_ILOGBNAN : __nv_ilogbf(x); }
int OV ilogb(double x) { return isnan(x) ? FP_ILOGBNAN : __nv_ilogb(x); }
int OV ilogb(half x) { return ilogb((float)x); }
VEC1(int, float, ilogb) VEC1(int, double, ilogb) VEC1(int, half, ilogb)

float OV fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
double OV fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
half OV fma(half x, half y, half z) { return __builtin_fmaf16(x, y, z); }
VEC3(float, fma) VEC3(double, fma) VEC3(half, fma)
float OV mad(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
double OV mad(double x, double y, double z) { return __builtin_fma(x, y, z); }
half OV mad(half x, half y, half z) { return __builtin_fmaf16(x, y, z); }
VEC3(float, mad) VEC3(double, mad) VEC3(half, mad)

float OV nan(uint code) { return as_float(0x7fc00000 | (code & 0x3fffff)); }
double OV nan(ulong code) { return as_double(0x7ff8000000000000 | (code & 0x7ffffffffffff)); }
half OV nan(ushort code) { return as_half((ushort)(0x7e00 | (code & 0x1ff))); }
VEC1(float, uint, nan) VEC1(double, ulong, nan) VEC1(half, ushort, nan)

// Functions with a second result behind a pointer. A generic pointer and a private one are alike here.
#define POINTER_VECTOR(T, U, name, A, n)                                              \
  T##n OV name(T##n x, A U##n *p) {                                                   \
    T##n r;                                                                           \
    U##n q;                                                                           \
    for (int i = 0; i < n; i++) {                                                     \
      U one;                                                                          \
      r[i] = name(x[i], &one);                                                        \
      q[i] = one;                                                                     \
    }                                                                                 \
    *p = q;                                                                           \
    return r;                                                                         \
  }
#define POINTER_VECTORS(T, U, name, A)                                                \
  POINTER_VECTOR(T, U, name, A, 2) POINTER_VECTOR(T, U, name, A, 3) POINTER_VECTOR(T, U, name, A, 4) \
  POINTER_VECTOR(T, U, name, A, 8) POINTER_VECTOR(T, U, name, A, 16)
#define POINTER_SPACES(T, U, name)                                                    \
  T OV name(T x, global U *p) { U q; T r = name(x, &q); *p = q; return r; }           \
  T OV name(T x, local U *p) { U q; T r = name(x, &q); *p = q; return r; }            \
  POINTER_VECTORS(T, U, name, ) POINTER_VECTORS(T, U, name, global) POINTER_VECTORS(T, U, name, local)

float OV fract(float x, float *p) { *p = floor(x); return isinf(x) ? copysign(0.0f, x) : isnan(x) ? x : fmin(x - *p, 0x1.fffffep-1f); }
double OV fract(double x, double *p) { *p = floor(x); return isinf(x) ? copysign(0.0, x) : isnan(x) ? x : fmin(x - *p, 0x1.fffffffffffffp-1); }
half OV fract(half x, half *p) { *p = floor(x); return isinf((float)x) ? copysign((half)0, x) : x != x ? x : fmin((half)(x - *p), (half)0x1.ffcp-1f); }
POINTER_SPACES(float, float, fract) POINTER_SPACES(double, double, fract) POINTER_SPACES(half, half, fract)

float __nv_modff(float, float *); double __nv_modf(double, double *);
float OV modf(float x, float *p) { return __nv_modff(x, p); }
double OV modf(double x, double *p) { return __nv_modf(x, p); }
half OV modf(half x, half *p) { float q; half r = (half)__nv_modff((float)x, &q); *p = (half)q; return r; }
POINTER_SPACES(float, float, modf) POINTER_SPACES(double, double, modf) POINTER_SPACES(half, half, modf)

float __nv_frexpf(float, int *); double __nv_frexp(double, int *);
float OV frexp(float x, int *p) { return __nv_frexpf(x, p); }
double OV frexp(double x, int *p) { return __nv_frexp(x, p); }
half OV frexp(half x, int *p) { return (half)__nv_frexpf((float)x, p); }
POINTER_SPACES(float, int, frexp) POINTER_SPACES(double, int, frexp) POINTER_SPACES(half, int, frexp)

void __nv_sincosf(float, float *, float *); void __nv_sincos(double, double *, double *);
float OV sincos(float x, float *p) { float s; __nv_sincosf(x, &s, p); return s; }
double OV sincos(double x, double *p) { double s; __nv_sincos(x, &s, p); return s; }
half OV sincos(half x, half *p) { float s, c; __nv_sincosf((float)x, &s, &c); *p = (half)c; return (half)s; }
POINTER_SPACES(float, float, sincos) POINTER_SPACES(double, double, sincos) POINTER_SPACES(half, half, sincos)

// The sign of gamma alternates between the poles at 0, -1, -2, …
#define GAMMA_SIGN(x, floored) ((x) < 0 && (floored) != (x) && fmod(floored, 2) != 0 ? -1 : (x) == 0 && signbit(x) ? -1 : 1)
float OV lgamma_r(float x, int *p) { *p = GAMMA_SIGN(x, floor(x)); return lgamma(x); }
double OV lgamma_r(double x, int *p) { *p = GAMMA_SIGN(x, floor(x)); return lgamma(x); }
half OV lgamma_r(half x, int *p) { return (half)lgamma_r((float)x, p); }
POINTER_SPACES(float, int, lgamma_r) POINTER_SPACES(double, int, lgamma_r) POINTER_SPACES(half, int, lgamma_r)

// At least the seven low bits of the quotient, with its sign.
#define REMQUO_SCALAR(T)                                                              \
  T OV remquo(T x, T y, int *p) {                                                     \
    T r = remainder(x, y), a = fabs(x), b = fabs(y);                                  \
    bool away = signbit(x) != signbit(y);                                             \
    /* What is left of x below 128 y holds the bits; a y that large leaves all of x. */ \
    T most = b * 128, left = isinf(most) ? a : fmod(a, most);                         \
    int q = isnan(r) || isinf(y) ? 0 : (int)rint((left - (signbit(x) ? -r : r)) / b) & 127; \
    *p = away ? -q : q;                                                               \
    return r;                                                                         \
  }
REMQUO_SCALAR(float) REMQUO_SCALAR(double)
half OV remquo(half x, half y, int *p) { return (half)remquo((float)x, (float)y, p); }
#define REMQUO_VECTOR(T, A, n)                                                        \
  T##n OV remquo(T##n x, T##n y, A int##n *p) {                                       \
    T##n r;                                                                           \
    int##n q;                                                                         \
    for (int i = 0; i < n; i++) {                                                     \
      int one;                                                                        \
      r[i] = remquo(x[i], y[i], &one);                                                \
      q[i] = one;                                                                     \
    }                                                                                 \
    *p = q;                                                                           \
    return r;                                                                         \
  }
#define REMQUO_VECTORS(T, A) REMQUO_VECTOR(T, A, 2) REMQUO_VECTOR(T, A, 3) REMQUO_VECTOR(T, A, 4) REMQUO_VECTOR(T, A, 8) REMQUO_VECTOR(T, A, 16)
#define REMQUO(T)                                                                     \
  T OV remquo(T x, T y, global int *p) { int q; T r = remquo(x, y, &q); *p = q; return r; } \
  T OV remquo(T x, T y, local int *p) { int q; T r = remquo(x, y, &q); *p = q; return r; }  \
  REMQUO_VECTORS(T, ) REMQUO_VECTORS(T, global) REMQUO_VECTORS(T, local)
REMQUO(float) REMQUO(double) REMQUO(half)

// half_* may have 8192 ulp, native_* what the hardware has; the latter are the hardware's instructions.
#define FLOAT1(name, F) float OV name(float x) { return F; } VEC1(float, float, name)
#define FLOAT2(name, F) float OV name(float x, float y) { return F; } VEC2(float, float, float, name)
FLOAT1(half_cos, cos(x)) FLOAT1(half_exp, exp(x)) FLOAT1(half_exp2, exp2(x)) FLOAT1(half_exp10, exp10(x))
FLOAT1(half_log, log(x)) FLOAT1(half_log2, log2(x)) FLOAT1(half_log10, log10(x)) FLOAT1(half_recip, 1.0f / x)
FLOAT1(half_rsqrt, rsqrt(x)) FLOAT1(half_sin, sin(x)) FLOAT1(half_sqrt, sqrt(x)) FLOAT1(half_tan, tan(x))
FLOAT2(half_divide, x / y) FLOAT2(half_powr, powr(x, y))
float __nv_fast_cosf(float); float __nv_fast_sinf(float); float __nv_fast_tanf(float); float __nv_fast_expf(float);
float __nv_fast_exp10f(float); float __nv_fast_logf(float); float __nv_fast_log2f(float); float __nv_fast_log10f(float);
float __nv_fast_powf(float, float); float __nv_fast_fdividef(float, float);
FLOAT1(native_cos, __nv_fast_cosf(x)) FLOAT1(native_sin, __nv_fast_sinf(x)) FLOAT1(native_tan, __nv_fast_tanf(x))
FLOAT1(native_exp, __nv_fast_expf(x)) FLOAT1(native_exp2, __nvvm_ex2_approx_f(x)) FLOAT1(native_exp10, __nv_fast_exp10f(x))
FLOAT1(native_log, __nv_fast_logf(x)) FLOAT1(native_log2, __nv_fast_log2f(x)) FLOAT1(native_log10, __nv_fast_log10f(x))
FLOAT1(native_recip, __nv_fast_fdividef(1.0f, x)) FLOAT1(native_rsqrt, __nvvm_rsqrt_approx_f(x))
FLOAT1(native_sqrt, __nvvm_sqrt_approx_f(x))
FLOAT2(native_divide, __nv_fast_fdividef(x, y)) FLOAT2(native_powr, __nv_fast_powf(x, y))
