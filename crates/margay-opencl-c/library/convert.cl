// SPDX-License-Identifier: MIT OR Apache-2.0
// Conversions that libclc rounds wrongly near the ends of a type, by the instructions that round in every way; and
// those to 64 bits, which the hardware gives its least number for NaN and OpenCL zero.

#define OV __attribute__((overloadable))
#define SIZES(M, ...) M(2, __VA_ARGS__) M(3, __VA_ARGS__) M(4, __VA_ARGS__) M(8, __VA_ARGS__) M(16, __VA_ARGS__)

#define VECTOR(n, R, T, name, suffix)                                                 \
  R##n OV convert_##name##n##suffix(T##n x) {                                         \
    R##n r;                                                                           \
    for (int i = 0; i < n; i++) r[i] = convert_##name##suffix((T)x[i]);               \
    return r;                                                                         \
  }
#define CONVERT(R, T, suffix, expression)                                             \
  R OV convert_##R##suffix(T x) { return expression; }                                \
  SIZES(VECTOR, R, T, R, suffix)

// In assembly: for clang, which has builtins of them, a long long of OpenCL has 128 bits.
#define CVT(R, T, mode, to, from) ({ R r_; __asm__("cvt." mode "." to "." from " %0, %1;" : "=" OUT_##R(r_) : IN_##T(x)); r_; })
#define OUT_float "f"
#define OUT_double "d"
#define OUT_long "l"
#define OUT_ulong "l"
#define IN_float "f"
#define IN_double "d"
#define IN_int "r"
#define IN_uint "r"
#define IN_long "l"
#define IN_ulong "l"

// To nearest, zero, up and down.
#define ROUND(R, T, to, from)                                                         \
  CONVERT(R, T, _rte, CVT(R, T, "rn", to, from)) CONVERT(R, T, _rtz, CVT(R, T, "rz", to, from)) \
  CONVERT(R, T, _rtp, CVT(R, T, "rp", to, from)) CONVERT(R, T, _rtn, CVT(R, T, "rm", to, from))
ROUND(float, int, "f32", "s32") ROUND(float, uint, "f32", "u32") ROUND(float, long, "f32", "s64") ROUND(float, ulong, "f32", "u64")
ROUND(double, long, "f64", "s64") ROUND(double, ulong, "f64", "u64") ROUND(float, double, "f32", "f64")

#define SATURATE(R, T, to, from)                                                      \
  CONVERT(R, T, _sat, isnan(x) ? 0 : CVT(R, T, "rzi", to, from)) CONVERT(R, T, _sat_rtz, isnan(x) ? 0 : CVT(R, T, "rzi", to, from)) \
  CONVERT(R, T, _sat_rte, isnan(x) ? 0 : CVT(R, T, "rni", to, from)) \
  CONVERT(R, T, _sat_rtp, isnan(x) ? 0 : CVT(R, T, "rpi", to, from)) CONVERT(R, T, _sat_rtn, isnan(x) ? 0 : CVT(R, T, "rmi", to, from))
SATURATE(long, float, "s64", "f32") SATURATE(ulong, float, "u64", "f32") SATURATE(long, double, "s64", "f64") SATURATE(ulong, double, "u64", "f64")

// To fewer bits by way of 64. From float, too: libclc's of a NaN that the compiler sees is whatever the compiler likes.
#define NARROW_TO(T, least, most, suffix)                                             \
  CONVERT(T, double, suffix, (T)clamp(convert_long##suffix(x), (long)least, (long)most)) \
  CONVERT(T, float, suffix, (T)clamp(convert_long##suffix(x), (long)least, (long)most))
#define NARROW(T, least, most)                                                        \
  NARROW_TO(T, least, most, _sat) NARROW_TO(T, least, most, _sat_rtz) NARROW_TO(T, least, most, _sat_rte) \
  NARROW_TO(T, least, most, _sat_rtp) NARROW_TO(T, least, most, _sat_rtn)
NARROW(char, CHAR_MIN, CHAR_MAX) NARROW(uchar, 0, UCHAR_MAX) NARROW(short, SHRT_MIN, SHRT_MAX)
NARROW(ushort, 0, USHRT_MAX) NARROW(int, INT_MIN, INT_MAX) NARROW(uint, 0, UINT_MAX)
