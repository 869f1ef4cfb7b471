// SPDX-License-Identifier: MIT OR Apache-2.0
// What libclc lacks for `half` (cl_khr_fp16), beside the mathematical functions: common, geometric and
// relational functions, conversions, and vector loads and stores.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OV __attribute__((overloadable))

// Each component by the scalar function.
#define EACH(n, out, in) for (int i = 0; i < n; i++) out[i] = in
#define VEC1(R, T, name) V1(R, T, name, 2) V1(R, T, name, 3) V1(R, T, name, 4) V1(R, T, name, 8) V1(R, T, name, 16)
#define V1(R, T, name, n) R##n OV name(T##n x) { R##n r; EACH(n, r, name(x[i])); return r; }
#define VEC2(R, T, name) V2(R, T, name, 2) V2(R, T, name, 3) V2(R, T, name, 4) V2(R, T, name, 8) V2(R, T, name, 16)
#define V2(R, T, name, n) R##n OV name(T##n x, T##n y) { R##n r; EACH(n, r, name(x[i], y[i])); return r; }
#define VEC3(name) V3(name, 2) V3(name, 3) V3(name, 4) V3(name, 8) V3(name, 16)
#define V3(name, n) half##n OV name(half##n x, half##n y, half##n z) { half##n r; EACH(n, r, name(x[i], y[i], z[i])); return r; }

// A function that is defined here hides clang's declarations of the same name: those that are called beside it
// are declared.
float OV clamp(float, float, float);

// Common functions.
half OV degrees(half x) { return (half)((float)x * 57.295779513f); }
half OV radians(half x) { return (half)((float)x * 0.01745329252f); }
half OV sign(half x) { return isnan(x) ? (half)0 : x > 0 ? (half)1 : x < 0 ? (half)-1 : x; }
half OV max(half x, half y) { return x < y ? y : x; }
half OV min(half x, half y) { return y < x ? y : x; }
half OV step(half edge, half x) { return x < edge ? (half)0 : (half)1; }
half OV clamp(half x, half low, half high) { return min(max(x, low), high); }
half OV mix(half x, half y, half a) { return (half)((float)x + ((float)y - (float)x) * (float)a); }
half OV smoothstep(half low, half high, half x) {
  float t = clamp(((float)x - (float)low) / ((float)high - (float)low), 0.0f, 1.0f);
  return (half)(t * t * (3 - 2 * t));
}
VEC1(half, half, degrees) VEC1(half, half, radians) VEC1(half, half, sign)
VEC2(half, half, max) VEC2(half, half, min) VEC2(half, half, step)
VEC3(clamp) VEC3(mix) VEC3(smoothstep)
#define SCALARS(n)                                                                    \
  half##n OV max(half##n x, half y) { return max(x, (half##n)(y)); }                  \
  half##n OV min(half##n x, half y) { return min(x, (half##n)(y)); }                  \
  half##n OV step(half e, half##n x) { return step((half##n)(e), x); }                \
  half##n OV clamp(half##n x, half l, half h) { return clamp(x, (half##n)(l), (half##n)(h)); } \
  half##n OV mix(half##n x, half##n y, half a) { return mix(x, y, (half##n)(a)); }    \
  half##n OV smoothstep(half l, half h, half##n x) { return smoothstep((half##n)(l), (half##n)(h), x); }
SCALARS(2) SCALARS(3) SCALARS(4) SCALARS(8) SCALARS(16)

// Geometric functions, in float.
#define GEOMETRIC(n)                                                                  \
  half OV dot(half##n x, half##n y) { float s = 0; for (int i = 0; i < n; i++) s += (float)x[i] * (float)y[i]; return (half)s; } \
  half OV length(half##n x) { float s = 0; for (int i = 0; i < n; i++) s += (float)x[i] * (float)x[i]; return (half)sqrt(s); } \
  half OV distance(half##n x, half##n y) { float s = 0; for (int i = 0; i < n; i++) { float d = (float)x[i] - (float)y[i]; s += d * d; } return (half)sqrt(s); } \
  half##n OV normalize(half##n x) {                                                   \
    float s = 0;                                                                      \
    for (int i = 0; i < n; i++) s += (float)x[i] * (float)x[i];                       \
    half##n r;                                                                        \
    EACH(n, r, s == 0 ? x[i] : (half)((float)x[i] * rsqrt(s)));                       \
    return r;                                                                         \
  }
GEOMETRIC(2) GEOMETRIC(3) GEOMETRIC(4)
half OV dot(half x, half y) { return x * y; }
half OV length(half x) { return fabs(x); }
half OV distance(half x, half y) { return fabs(x - y); }
half OV normalize(half x) { return sign(x); }
#define CROSS(a, b, u, v) (half)((float)x.a * (float)y.b - (float)x.b * (float)y.a)
half3 OV cross(half3 x, half3 y) { return (half3)(CROSS(y, z, , ), CROSS(z, x, , ), CROSS(x, y, , )); }
half4 OV cross(half4 x, half4 y) { return (half4)(CROSS(y, z, , ), CROSS(z, x, , ), CROSS(x, y, , ), (half)0); }

// Relational functions: 1 for a scalar that is true, -1 for a component that is.
#define TEST1(name, e) int OV name(half x) { return e; } T1(name, e, 2) T1(name, e, 3) T1(name, e, 4) T1(name, e, 8) T1(name, e, 16)
#define T1(name, e, n) short##n OV name(half##n v) { short##n r; for (int i = 0; i < n; i++) { half x = v[i]; r[i] = (e) ? -1 : 0; } return r; }
#define TEST2(name, e) int OV name(half x, half y) { return e; } T2(name, e, 2) T2(name, e, 3) T2(name, e, 4) T2(name, e, 8) T2(name, e, 16)
#define T2(name, e, n) short##n OV name(half##n v, half##n w) { short##n r; for (int i = 0; i < n; i++) { half x = v[i], y = w[i]; r[i] = (e) ? -1 : 0; } return r; }
#define BITS(x) (as_ushort(x) & 0x7fff)
TEST1(isnan, BITS(x) > 0x7c00) TEST1(isinf, BITS(x) == 0x7c00) TEST1(isfinite, BITS(x) < 0x7c00)
TEST1(isnormal, BITS(x) < 0x7c00 && BITS(x) >= 0x400) TEST1(signbit, as_ushort(x) >> 15)
TEST2(isequal, x == y) TEST2(isnotequal, x != y) TEST2(isgreater, x > y) TEST2(isgreaterequal, x >= y)
TEST2(isless, x < y) TEST2(islessequal, x <= y) TEST2(islessgreater, x < y || x > y)
TEST2(isordered, x == x && y == y) TEST2(isunordered, x != x || y != y)
#define SELECT(n, S)                                                                  \
  half##n OV select(half##n x, half##n y, S##n c) { half##n r; EACH(n, r, c[i] < 0 ? y[i] : x[i]); return r; } \
  half##n OV select(half##n x, half##n y, u##S##n c) { half##n r; EACH(n, r, c[i] >> 15 ? y[i] : x[i]); return r; }
half OV select(half x, half y, short c) { return c ? y : x; }
half OV select(half x, half y, ushort c) { return c ? y : x; }
SELECT(2, short) SELECT(3, short) SELECT(4, short) SELECT(8, short) SELECT(16, short)
half OV bitselect(half x, half y, half c) { return as_half((ushort)((as_ushort(x) & ~as_ushort(c)) | (as_ushort(y) & as_ushort(c)))); }
VEC3(bitselect)

// Vector loads and stores.
#define LOADS(n, A)                                                                   \
  half##n OV vload##n(size_t at, const A half *p) { half##n r; EACH(n, r, p[at * n + i]); return r; }
#define STORES(n, A)                                                                  \
  void OV vstore##n(half##n v, size_t at, A half *p) { for (int i = 0; i < n; i++) p[at * n + i] = v[i]; }
#define ALL(M, A) M(2, A) M(3, A) M(4, A) M(8, A) M(16, A)
ALL(LOADS, global) ALL(LOADS, local) ALL(LOADS, constant) ALL(LOADS, )
ALL(STORES, global) ALL(STORES, local) ALL(STORES, )

// Conversions. An integer of 64 bits has more bits than double, which then rounds twice; what that could
// change lies beyond half's range.
ushort __margay_half_bits(double x, int mode) {
  // 0 nearest even, 1 towards zero, 2 up, 3 down.
  ulong b = as_ulong(x);
  ushort sign = (ushort)(b >> 48 & 0x8000);
  // By its bits: the functions of these names are half's here, and would round first.
  ulong magnitude = b & 0x7fffffffffffffff;
  double a = as_double(magnitude);
  if (magnitude > 0x7ff0000000000000) return sign | 0x7e00;
  if (magnitude == 0x7ff0000000000000) return sign | 0x7c00;
  bool away = mode == 2 ? !sign : mode == 3 ? sign != 0 : false;
  if (a >= 65536.0 || (a > 65504.0 && (away || (mode == 0 && a >= 65520.0)))) return sign | (mode == 0 || away ? 0x7c00 : 0x7bff);
  // In units of the last place, which is exact: scaling by powers of two.
  int e = a < 0x1p-14 ? -14 : ilogb(a);
  double units = ldexp(a, 10 - e), whole = floor(units), rest = units - whole;
  bool up = mode == 0 ? rest > 0.5 || (rest == 0.5 && fmod(whole, 2.0) != 0) : away && rest > 0;
  uint mantissa = (uint)whole + up;
  // A carry out of the mantissa raises the exponent by itself.
  uint base = a < 0x1p-14 ? 0 : ((uint)(e + 15) << 10) - 1024;
  uint bits = base + mantissa;
  return sign | (ushort)(bits < 0x7c00u ? bits : 0x7c00u);
}
#define TO_HALF(T, suffix, mode)                                                      \
  half OV convert_half##suffix(T x) { return as_half(__margay_half_bits((double)x, mode)); } \
  TH(T, suffix, 2) TH(T, suffix, 3) TH(T, suffix, 4) TH(T, suffix, 8) TH(T, suffix, 16)
#define TH(T, suffix, n) half##n OV convert_half##n##suffix(T##n x) { half##n r; EACH(n, r, convert_half##suffix(x[i])); return r; }
#define TO_HALF_ALL(T) TO_HALF(T, , 0) TO_HALF(T, _rte, 0) TO_HALF(T, _rtz, 1) TO_HALF(T, _rtp, 2) TO_HALF(T, _rtn, 3)
TO_HALF_ALL(char) TO_HALF_ALL(uchar) TO_HALF_ALL(short) TO_HALF_ALL(ushort) TO_HALF_ALL(int) TO_HALF_ALL(uint)
TO_HALF_ALL(long) TO_HALF_ALL(ulong) TO_HALF_ALL(float) TO_HALF_ALL(double) TO_HALF_ALL(half)

// Every half is a float, and the rest is the float's conversion.
#define FROM_HALF(T, suffix)                                                          \
  T OV convert_##T##suffix(float x);                                                  \
  T OV convert_##T##suffix(half x) { return convert_##T##suffix((float)x); }          \
  FH(T, suffix, 2) FH(T, suffix, 3) FH(T, suffix, 4) FH(T, suffix, 8) FH(T, suffix, 16)
#define FH(T, suffix, n) T##n OV convert_##T##n##suffix(half##n x) { T##n r; EACH(n, r, convert_##T##suffix((float)x[i])); return r; }
#define FROM_HALF_MODES(T, s) FROM_HALF(T, s) FROM_HALF(T, s##_rte) FROM_HALF(T, s##_rtz) FROM_HALF(T, s##_rtp) FROM_HALF(T, s##_rtn)
#define FROM_HALF_INTEGER(T) FROM_HALF_MODES(T, ) FROM_HALF_MODES(T, _sat)
FROM_HALF_INTEGER(char) FROM_HALF_INTEGER(uchar) FROM_HALF_INTEGER(short) FROM_HALF_INTEGER(ushort)
FROM_HALF_INTEGER(int) FROM_HALF_INTEGER(uint) FROM_HALF_INTEGER(long) FROM_HALF_INTEGER(ulong)
FROM_HALF_MODES(float, ) FROM_HALF_MODES(double, )

// Stores that round up or down: libclc loses what is below half's smallest step.
#define STORE_HALVES(T, A, mode, m)                                                   \
  void OV vstore_half##m(T x, size_t at, A half *p) { ((A ushort *)p)[at] = __margay_half_bits((double)x, mode); } \
  void OV vstorea_half##m(T x, size_t at, A half *p) { ((A ushort *)p)[at] = __margay_half_bits((double)x, mode); } \
  SH(T, A, mode, m, 2, 2) SH(T, A, mode, m, 3, 4) SH(T, A, mode, m, 4, 4) SH(T, A, mode, m, 8, 8) SH(T, A, mode, m, 16, 16)
// An aligned vector of three takes the room of four.
#define SH(T, A, mode, m, n, room)                                                    \
  void OV vstore_half##n##m(T##n x, size_t at, A half *p) { for (int i = 0; i < n; i++) ((A ushort *)p)[at * n + i] = __margay_half_bits((double)x[i], mode); } \
  void OV vstorea_half##n##m(T##n x, size_t at, A half *p) { for (int i = 0; i < n; i++) ((A ushort *)p)[at * room + i] = __margay_half_bits((double)x[i], mode); }
#define STORE_HALVES_TO(A)                                                            \
  STORE_HALVES(float, A, 2, _rtp) STORE_HALVES(float, A, 3, _rtn) STORE_HALVES(double, A, 2, _rtp) STORE_HALVES(double, A, 3, _rtn)
STORE_HALVES_TO(global) STORE_HALVES_TO(local) STORE_HALVES_TO()

// Shuffles: only the bits of an index that tell components apart count.
#define SHUFFLES(n, m)                                                                \
  half##n OV shuffle(half##m x, ushort##n k) { half##n r; EACH(n, r, x[k[i] & (m - 1)]); return r; } \
  half##n OV shuffle2(half##m x, half##m y, ushort##n k) { half##n r; EACH(n, r, k[i] & m ? y[k[i] & (m - 1)] : x[k[i] & (m - 1)]); return r; }
#define SHUFFLES_TO(n) SHUFFLES(n, 2) SHUFFLES(n, 4) SHUFFLES(n, 8) SHUFFLES(n, 16)
SHUFFLES_TO(2) SHUFFLES_TO(4) SHUFFLES_TO(8) SHUFFLES_TO(16)
