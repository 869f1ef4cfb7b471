// SPDX-License-Identifier: MIT OR Apache-2.0
// What libclc lacks beside mathematics and `half`: integer functions, one common function, and copies.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OV __attribute__((overloadable))

#define SIZES(M, T) M(T, 2) M(T, 3) M(T, 4) M(T, 8) M(T, 16)
#define INTEGERS(M) M(char) M(uchar) M(short) M(ushort) M(int) M(uint) M(long) M(ulong)

// Zero has as many zeros as the type has bits.
#define CTZ(T)                                                                        \
  T OV ctz(T x) { return (T)(x == 0 ? sizeof(T) * 8 : __builtin_ctzl((ulong)x)); }
#define CTZ_VECTOR(T, n) T##n OV ctz(T##n x) { T##n r; for (int i = 0; i < n; i++) r[i] = ctz((T)x[i]); return r; }
#define CTZ_ALL(T) CTZ(T) SIZES(CTZ_VECTOR, T)
INTEGERS(CTZ_ALL)

#define MAD_HI(T) T OV mad_hi(T a, T b, T c) { return (T)(mul_hi(a, b) + c); } SIZES(MAD_HI_VECTOR, T)
#define MAD_HI_VECTOR(T, n) T##n OV mad_hi(T##n a, T##n b, T##n c) { return mul_hi(a, b) + c; }
INTEGERS(MAD_HI)

// libclc's are wrong at the least number.
#define SUB_SAT(T) T OV sub_sat(T a, T b) { return __builtin_elementwise_sub_sat(a, b); } SIZES(SUB_SAT_VECTOR, T)
#define SUB_SAT_VECTOR(T, n) T##n OV sub_sat(T##n a, T##n b) { return __builtin_elementwise_sub_sat(a, b); }
SUB_SAT(int) SUB_SAT(long)
#define MAD_SAT_VECTOR(T, n) T##n OV mad_sat(T##n a, T##n b, T##n c) { T##n r; for (int i = 0; i < n; i++) r[i] = mad_sat((T)a[i], (T)b[i], (T)c[i]); return r; }
long OV mul_hi(long, long);
long OV mad_sat(long a, long b, long c) {
  // In 128 bits.
  ulong product = (ulong)a * (ulong)b, low = product + (ulong)c;
  long high = mul_hi(a, b) + (c < 0 ? -1 : 0) + (low < product);
  return high == (long)low >> 63 ? (long)low : high < 0 ? LONG_MIN : LONG_MAX;
}
SIZES(MAD_SAT_VECTOR, long)

// A function that is defined here hides clang's declarations of the same name.
#define SMOOTHSTEP(T, n)                                                              \
  T##n OV smoothstep(T##n low, T##n high, T##n x);                                    \
  T##n OV smoothstep(T low, T high, T##n x) { return smoothstep((T##n)(low), (T##n)(high), x); }
SIZES(SMOOTHSTEP, double)

// Copies of a work-group: each work-item copies elements of its own, and waiting for the event is a barrier.
#define COPY(T, to, from, name, at_to, at_from, ...)                                  \
  event_t OV name(to T *t, const from T *f, size_t count, __VA_ARGS__ event_t e) {    \
    size_t items = get_local_size(0) * get_local_size(1) * get_local_size(2);         \
    for (size_t i = get_local_linear_id(); i < count; i += items) t[at_to] = f[at_from]; \
    return e;                                                                         \
  }
#define STRIDE size_t stride,
#define COPIES(T)                                                                     \
  COPY(T, local, global, async_work_group_copy, i, i)                                 \
  COPY(T, global, local, async_work_group_copy, i, i)                                 \
  COPY(T, local, global, async_work_group_strided_copy, i, i * stride, STRIDE)        \
  COPY(T, global, local, async_work_group_strided_copy, i * stride, i, STRIDE)        \
  void OV prefetch(const global T *p, size_t count) {}
COPIES(char3) COPIES(uchar3) COPIES(short3) COPIES(ushort3) COPIES(int3) COPIES(uint3) COPIES(long3) COPIES(ulong3)
COPIES(float3) COPIES(double3) COPIES(half) COPIES(half2) COPIES(half3) COPIES(half4) COPIES(half8) COPIES(half16)

// In halves: LLVM 19 makes one access of sixteen bytes, however they are aligned.
#define SIXTEEN_IN(T, A)                                                              \
  T##8 OV vload8(size_t at, const A T *p);                                            \
  T##16 OV vload16(size_t at, const A T *p) { return (T##16)(vload8(2 * at, p), vload8(2 * at + 1, p)); }
#define SIXTEEN_OUT(T, A)                                                             \
  void OV vstore8(T##8 v, size_t at, A T *p);                                         \
  void OV vstore16(T##16 v, size_t at, A T *p) { vstore8(v.lo, 2 * at, p); vstore8(v.hi, 2 * at + 1, p); }
#define SIXTEEN(T)                                                                    \
  SIXTEEN_IN(T, global) SIXTEEN_IN(T, local) SIXTEEN_IN(T, constant) SIXTEEN_IN(T, )  \
  SIXTEEN_OUT(T, global) SIXTEEN_OUT(T, local) SIXTEEN_OUT(T, )
SIXTEEN(char) SIXTEEN(uchar)
