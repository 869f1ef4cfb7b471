// SPDX-License-Identifier: MIT OR Apache-2.0
// CUDA's C++ overloads of the math functions, in the global namespace: min and max of every mix of
// types on host and device, the functions that C's library lacks on the host, and float overloads.
//
// On the device clang's headers supply the rest; on the host the C library does.
#ifndef MARGAY_MATH_OVERLOADS_H
#define MARGAY_MATH_OVERLOADS_H
#define __MATH_FUNCTIONS_H__
#define __COMMON_FUNCTIONS_H__

#define MARGAY_H static inline __host__

// ---- nan and nanf ------------------------------------------------------------------------------
// A quiet NaN whose payload is the number that the tag writes, octal, decimal or hexadecimal as in C;
// what is no number gives 0. clang declares both and defines neither.
static __inline__ __attribute__((always_inline)) __device__ unsigned long long
__margay_nan_payload(const char *tag) {
  unsigned base = 10;
  unsigned long long payload = 0;
  if (tag && *tag == '0') {
    base = 8;
    if (*++tag == 'x' || *tag == 'X') {
      base = 16;
      ++tag;
    }
  }
  for (; tag && *tag; ++tag) {
    unsigned c = (unsigned char)*tag;
    unsigned digit = c - '0' <= 9 ? c - '0' : (c | 32) - 'a' <= 5 ? (c | 32) - 'a' + 10 : 16;
    if (digit >= base) return 0;
    payload = payload * base + digit;
  }
  return payload;
}
static __inline__ __attribute__((always_inline)) __device__ double nan(const char *tag) {
  return __longlong_as_double(0x7ff8000000000000ULL | (__margay_nan_payload(tag) & 0xfffffffffffffULL));
}
static __inline__ __attribute__((always_inline)) __device__ float nanf(const char *tag) {
  return __int_as_float(0x7fc00000 | ((int)__margay_nan_payload(tag) & 0x7fffff));
}

// ---- min and max -----------------------------------------------------------------------------
// Mixed operands convert as in C's usual arithmetic conversions. clang has the device's (int, int).
#define MARGAY_MINMAX(A, B, R)                                                                     \
  static __host__ __device__ __forceinline__ R min(A a, B b) {                                     \
    R x = (R)a, y = (R)b;                                                                          \
    return x < y ? x : y;                                                                          \
  }                                                                                                \
  static __host__ __device__ __forceinline__ R max(A a, B b) {                                     \
    R x = (R)a, y = (R)b;                                                                          \
    return x > y ? x : y;                                                                          \
  }
MARGAY_H int min(int a, int b) { return a < b ? a : b; }
MARGAY_H int max(int a, int b) { return a > b ? a : b; }
MARGAY_MINMAX(unsigned int, unsigned int, unsigned int)
MARGAY_MINMAX(int, unsigned int, unsigned int)
MARGAY_MINMAX(unsigned int, int, unsigned int)
MARGAY_MINMAX(long, long, long)
MARGAY_MINMAX(unsigned long, unsigned long, unsigned long)
MARGAY_MINMAX(long, unsigned long, unsigned long)
MARGAY_MINMAX(unsigned long, long, unsigned long)
MARGAY_MINMAX(long long, long long, long long)
MARGAY_MINMAX(unsigned long long, unsigned long long, unsigned long long)
MARGAY_MINMAX(long long, unsigned long long, unsigned long long)
MARGAY_MINMAX(unsigned long long, long long, unsigned long long)
#undef MARGAY_MINMAX

// A NaN operand yields the other one, as fmin and fmax do.
#define MARGAY_FMINMAX(A, B, R, MIN, MAX)                                                          \
  static __host__ __device__ __forceinline__ R min(A a, B b) { return MIN((R)a, (R)b); }           \
  static __host__ __device__ __forceinline__ R max(A a, B b) { return MAX((R)a, (R)b); }
MARGAY_FMINMAX(float, float, float, fminf, fmaxf)
MARGAY_FMINMAX(double, double, double, fmin, fmax)
MARGAY_FMINMAX(float, double, double, fmin, fmax)
MARGAY_FMINMAX(double, float, double, fmin, fmax)
#undef MARGAY_FMINMAX

MARGAY_H unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
MARGAY_H unsigned int umax(unsigned int a, unsigned int b) { return a > b ? a : b; }
MARGAY_H long long llmin(long long a, long long b) { return a < b ? a : b; }
MARGAY_H long long llmax(long long a, long long b) { return a > b ? a : b; }
MARGAY_H unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return a < b ? a : b;
}
MARGAY_H unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a > b ? a : b;
}

// ---- functions of the CUDA math library that C lacks, for the host ---------------------------
#define MARGAY_PI 3.14159265358979323846
// C23 has some of them, and newer C libraries declare those.
#if defined(__GLIBC_PREREQ) && defined(__GLIBC_USE)
#if __GLIBC_PREREQ(2, 41) && __GLIBC_USE(IEC_60559_FUNCS_EXT_C23)
#define MARGAY_LIBC_HAS_SINPI
#endif
#if __GLIBC_PREREQ(2, 42) && __GLIBC_USE(IEC_60559_FUNCS_EXT_C23)
#define MARGAY_LIBC_HAS_RSQRT
#endif
#endif
#ifndef MARGAY_LIBC_HAS_RSQRT
MARGAY_H double rsqrt(double x) { return 1.0 / ::sqrt(x); }
#endif
MARGAY_H double rcbrt(double x) { return 1.0 / ::cbrt(x); }
#ifndef MARGAY_LIBC_HAS_SINPI
// The argument is reduced before it is multiplied by pi, so that large values keep their phase.
MARGAY_H double sinpi(double x) {
  double r = ::fmod(x, 2.0);
  double n = ::nearbyint(2.0 * r);
  double t = MARGAY_PI * (r - n * 0.5);
  switch ((int)n & 3) {
  case 0: return ::sin(t);
  case 1: return ::cos(t);
  case 2: return -::sin(t);
  default: return -::cos(t);
  }
}
MARGAY_H double cospi(double x) {
  double r = ::fmod(::fabs(x), 2.0);
  double n = ::nearbyint(2.0 * r);
  double t = MARGAY_PI * (r - n * 0.5);
  switch ((int)n & 3) {
  case 0: return ::cos(t);
  case 1: return -::sin(t);
  case 2: return -::cos(t);
  default: return ::sin(t);
  }
}
#endif
MARGAY_H void sincospi(double x, double *s, double *c) {
  *s = sinpi(x);
  *c = cospi(x);
}
MARGAY_H double normcdf(double x) { return 0.5 * ::erfc(-x * 0.70710678118654752440); }
// erfcx(x) = exp(x*x) erfc(x); a continued fraction where erfc underflows.
MARGAY_H double erfcx(double x) {
  if (x < 10.0) return ::exp(x * x) * ::erfc(x);
  double f = 0.0;
  for (int k = 60; k > 0; --k) f = 0.5 * k / (x + f);
  return 0.56418958354775628695 / (x + f);
}
// Newton steps on erfc from a rational start (Giles' approximation is not needed at this accuracy).
MARGAY_H double erfcinv(double y) {
  if (!(y >= 0.0 && y <= 2.0)) return __builtin_nan("");
  if (y == 0.0) return __builtin_inf();
  if (y == 2.0) return -__builtin_inf();
  if (y > 1.0) return -erfcinv(2.0 - y);
  double l = ::log(y);
  double t = ::sqrt(-2.0 * (l - 0.69314718055994530942));
  double x = 0.70710678118654752440 *
             (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                      (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  // Halley's method for log(erfc(x)) = log(y), which does not underflow.
  for (int i = 0; i < 6; ++i) {
    double e = erfcx(x);
    double f = ::log(e) - x * x - l;
    double d = -1.12837916709551257390 / e;
    x -= f / d;
  }
  return x;
}
MARGAY_H double erfinv(double y) {
  if (::fabs(y) < 0.25) {
    double x = 0.88622692545275801365 * y;
    for (int i = 0; i < 6; ++i)
      x -= (::erf(x) - y) / (1.12837916709551257390 * ::exp(-x * x));
    return x;
  }
  return y < 0.0 ? -erfcinv(1.0 + y) : erfcinv(1.0 - y);
}
MARGAY_H double normcdfinv(double y) { return -1.41421356237309504880 * erfcinv(2.0 * y); }
MARGAY_H double norm3d(double a, double b, double c) { return ::hypot(::hypot(a, b), c); }
MARGAY_H double norm4d(double a, double b, double c, double d) {
  return ::hypot(::hypot(a, b), ::hypot(c, d));
}
MARGAY_H double rhypot(double a, double b) { return 1.0 / ::hypot(a, b); }
MARGAY_H double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
MARGAY_H double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
MARGAY_H double norm(int n, const double *t) {
  double s = 0.0;
  for (int i = 0; i < n; ++i) s = ::hypot(s, t[i]);
  return s;
}
MARGAY_H double rnorm(int n, const double *t) { return 1.0 / norm(n, t); }
// Modified Bessel functions of the first kind, by their power series.
MARGAY_H double cyl_bessel_i0(double x) {
  double q = x * x * 0.25, term = 1.0, sum = 1.0;
  for (int k = 1; k < 1000 && term > sum * 1e-17; ++k) sum += term *= q / ((double)k * k);
  return sum;
}
MARGAY_H double cyl_bessel_i1(double x) {
  double q = x * x * 0.25, term = x * 0.5, sum = term;
  for (int k = 1; k < 1000 && ::fabs(term) > ::fabs(sum) * 1e-17; ++k)
    sum += term *= q / ((double)k * (k + 1));
  return sum;
}

#define MARGAY_F1(NAME)                                                                            \
  MARGAY_H float NAME##f(float x) { return (float)NAME((double)x); }
#ifndef MARGAY_LIBC_HAS_RSQRT
MARGAY_F1(rsqrt)
#endif
MARGAY_F1(rcbrt)
#ifndef MARGAY_LIBC_HAS_SINPI
MARGAY_F1(sinpi)
MARGAY_F1(cospi)
#endif
MARGAY_F1(normcdf)
MARGAY_F1(normcdfinv)
MARGAY_F1(erfcx)
MARGAY_F1(erfcinv)
MARGAY_F1(erfinv)
MARGAY_F1(cyl_bessel_i0)
MARGAY_F1(cyl_bessel_i1)
#undef MARGAY_F1
MARGAY_H void sincospif(float x, float *s, float *c) {
  *s = sinpif(x);
  *c = cospif(x);
}
MARGAY_H float norm3df(float a, float b, float c) { return (float)norm3d(a, b, c); }
MARGAY_H float norm4df(float a, float b, float c, float d) { return (float)norm4d(a, b, c, d); }
MARGAY_H float rhypotf(float a, float b) { return (float)rhypot(a, b); }
MARGAY_H float rnorm3df(float a, float b, float c) { return (float)rnorm3d(a, b, c); }
MARGAY_H float rnorm4df(float a, float b, float c, float d) { return (float)rnorm4d(a, b, c, d); }
MARGAY_H float normf(int n, const float *t) {
  double s = 0.0;
  for (int i = 0; i < n; ++i) s = ::hypot(s, (double)t[i]);
  return (float)s;
}
MARGAY_H float rnormf(int n, const float *t) { return 1.0f / normf(n, t); }
MARGAY_H float fdividef(float a, float b) { return a / b; }

// ---- float overloads of C's functions, for the device ----------------------------------------
// clang's headers declare these and leave the definitions to us.
#define MARGAY_DEVICE1(R, NAME)                                                                    \
  static __device__ __forceinline__ R NAME(float x) { return ::NAME##f(x); }
MARGAY_DEVICE1(float, acosh)
MARGAY_DEVICE1(float, asinh)
MARGAY_DEVICE1(float, atanh)
MARGAY_DEVICE1(float, cbrt)
MARGAY_DEVICE1(float, erf)
MARGAY_DEVICE1(float, erfc)
MARGAY_DEVICE1(float, exp2)
MARGAY_DEVICE1(float, expm1)
MARGAY_DEVICE1(int, ilogb)
MARGAY_DEVICE1(float, lgamma)
MARGAY_DEVICE1(long long, llrint)
MARGAY_DEVICE1(long long, llround)
MARGAY_DEVICE1(float, log1p)
MARGAY_DEVICE1(float, log2)
MARGAY_DEVICE1(float, logb)
MARGAY_DEVICE1(long, lrint)
MARGAY_DEVICE1(long, lround)
MARGAY_DEVICE1(float, nearbyint)
MARGAY_DEVICE1(float, rint)
MARGAY_DEVICE1(float, round)
MARGAY_DEVICE1(float, tgamma)
MARGAY_DEVICE1(float, trunc)
#undef MARGAY_DEVICE1
#define MARGAY_DEVICE2(NAME, B)                                                                    \
  static __device__ __forceinline__ float NAME(float x, B y) { return ::NAME##f(x, y); }
MARGAY_DEVICE2(copysign, float)
MARGAY_DEVICE2(fdim, float)
MARGAY_DEVICE2(fmax, float)
MARGAY_DEVICE2(fmin, float)
MARGAY_DEVICE2(hypot, float)
MARGAY_DEVICE2(nextafter, float)
MARGAY_DEVICE2(remainder, float)
MARGAY_DEVICE2(scalbln, long)
MARGAY_DEVICE2(scalbn, int)
#undef MARGAY_DEVICE2
static __device__ __forceinline__ float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
static __device__ __forceinline__ float remquo(float x, float y, int *quotient) {
  return ::remquof(x, y, quotient);
}

// ---- float overloads of CUDA's own functions, host and device --------------------------------
#define MARGAY_OVER1(NAME)                                                                         \
  static __host__ __device__ __forceinline__ float NAME(float x) { return NAME##f(x); }
MARGAY_OVER1(rsqrt)
MARGAY_OVER1(rcbrt)
MARGAY_OVER1(sinpi)
MARGAY_OVER1(cospi)
MARGAY_OVER1(normcdf)
MARGAY_OVER1(normcdfinv)
MARGAY_OVER1(erfcx)
MARGAY_OVER1(erfcinv)
MARGAY_OVER1(erfinv)
MARGAY_OVER1(exp10)
MARGAY_OVER1(j0)
MARGAY_OVER1(j1)
MARGAY_OVER1(y0)
MARGAY_OVER1(y1)
MARGAY_OVER1(cyl_bessel_i0)
MARGAY_OVER1(cyl_bessel_i1)
#undef MARGAY_OVER1
static __host__ __device__ __forceinline__ void sincospi(float x, float *s, float *c) {
  sincospif(x, s, c);
}
static __host__ __device__ __forceinline__ void sincos(float x, float *s, float *c) {
  sincosf(x, s, c);
}
static __host__ __device__ __forceinline__ float rhypot(float a, float b) { return rhypotf(a, b); }
static __host__ __device__ __forceinline__ float norm3d(float a, float b, float c) {
  return norm3df(a, b, c);
}
static __host__ __device__ __forceinline__ float norm4d(float a, float b, float c, float d) {
  return norm4df(a, b, c, d);
}
static __host__ __device__ __forceinline__ float jn(int n, float x) { return jnf(n, x); }
static __host__ __device__ __forceinline__ float yn(int n, float x) { return ynf(n, x); }

#endif
