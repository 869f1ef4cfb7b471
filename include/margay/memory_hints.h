// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads and stores with a cache operator (`__ldcg`, `__stcs`, …; `__ldg` is clang's), address-space
// queries and conversions.
#ifndef MARGAY_MEMORY_HINTS_H
#define MARGAY_MEMORY_HINTS_H
#define __SM_20_INTRINSICS_H__
#define __SM_32_INTRINSICS_H__

namespace margay {
// One load or store for each width; the functions below differ by element type only. A type of 16
// bytes is four words because inline PTX's registers go up to 64 bits.
template <int BYTES> struct Access;

#define MARGAY_SCALAR(BYTES, BITS, PTX, CON)                                                       \
  template <> struct Access<BYTES> {                                                               \
    typedef BITS Bits;                                                                             \
    MARGAY_LD(ca, PTX, CON) MARGAY_LD(cg, PTX, CON) MARGAY_LD(cs, PTX, CON)                        \
    MARGAY_LD(lu, PTX, CON) MARGAY_LD(cv, PTX, CON)                                                \
    MARGAY_ST(wb, PTX, CON) MARGAY_ST(cg, PTX, CON) MARGAY_ST(cs, PTX, CON)                        \
    MARGAY_ST(wt, PTX, CON)                                                                        \
  };
#define MARGAY_LD(OP, PTX, CON)                                                                    \
  static __device__ __forceinline__ Bits ld_##OP(const void *p) {                                  \
    Bits v;                                                                                        \
    asm volatile("ld." #OP "." PTX " %0, [%1];" : "=" CON(v) : "l"(p) : "memory");                 \
    return v;                                                                                      \
  }
#define MARGAY_ST(OP, PTX, CON)                                                                    \
  static __device__ __forceinline__ void st_##OP(void *p, Bits v) {                                \
    asm volatile("st." #OP "." PTX " [%0], %1;" ::"l"(p), CON(v) : "memory");                      \
  }
// ld.b8 and st.b8 take 16-bit registers.
MARGAY_SCALAR(1, unsigned short, "b8", "h")
MARGAY_SCALAR(2, unsigned short, "b16", "h")
MARGAY_SCALAR(4, unsigned int, "b32", "r")
MARGAY_SCALAR(8, unsigned long long, "b64", "l")
#undef MARGAY_LD
#undef MARGAY_ST
#undef MARGAY_SCALAR

template <> struct Access<16> {
  typedef uint4 Bits;
#define MARGAY_LD(OP)                                                                              \
  static __device__ __forceinline__ Bits ld_##OP(const void *p) {                                  \
    Bits v;                                                                                        \
    asm volatile("ld." #OP ".v4.b32 {%0, %1, %2, %3}, [%4];"                                       \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                      \
                 : "l"(p)                                                                          \
                 : "memory");                                                                      \
    return v;                                                                                      \
  }
#define MARGAY_ST(OP)                                                                              \
  static __device__ __forceinline__ void st_##OP(void *p, Bits v) {                                \
    asm volatile("st." #OP ".v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y),         \
                 "r"(v.z), "r"(v.w)                                                                \
                 : "memory");                                                                      \
  }
  MARGAY_LD(ca) MARGAY_LD(cg) MARGAY_LD(cs) MARGAY_LD(lu) MARGAY_LD(cv)
  MARGAY_ST(wb) MARGAY_ST(cg) MARGAY_ST(cs) MARGAY_ST(wt)
#undef MARGAY_LD
#undef MARGAY_ST
};

#define MARGAY_LD(OP)                                                                              \
  template <class T> static __device__ __forceinline__ T load_##OP(const T *p) {                   \
    auto bits = Access<sizeof(T)>::ld_##OP(p);                                                     \
    T v;                                                                                           \
    __builtin_memcpy(&v, &bits, sizeof v);                                                         \
    return v;                                                                                      \
  }
#define MARGAY_ST(OP)                                                                              \
  template <class T> static __device__ __forceinline__ void store_##OP(T *p, const T &v) {         \
    typename Access<sizeof(T)>::Bits bits{};                                                       \
    __builtin_memcpy(&bits, &v, sizeof v);                                                         \
    Access<sizeof(T)>::st_##OP(p, bits);                                                           \
  }
MARGAY_LD(ca) MARGAY_LD(cg) MARGAY_LD(cs) MARGAY_LD(lu) MARGAY_LD(cv)
MARGAY_ST(wb) MARGAY_ST(cg) MARGAY_ST(cs) MARGAY_ST(wt)
#undef MARGAY_LD
#undef MARGAY_ST
} // namespace margay

#define MARGAY_HINTS(T)                                                                            \
  MARGAY_D T __ldca(const T *p) { return margay::load_ca(p); }                                     \
  MARGAY_D T __ldcg(const T *p) { return margay::load_cg(p); }                                     \
  MARGAY_D T __ldcs(const T *p) { return margay::load_cs(p); }                                     \
  MARGAY_D T __ldlu(const T *p) { return margay::load_lu(p); }                                     \
  MARGAY_D T __ldcv(const T *p) { return margay::load_cv(p); }                                     \
  MARGAY_D void __stwb(T *p, T v) { margay::store_wb(p, v); }                                      \
  MARGAY_D void __stcg(T *p, T v) { margay::store_cg(p, v); }                                      \
  MARGAY_D void __stcs(T *p, T v) { margay::store_cs(p, v); }                                      \
  MARGAY_D void __stwt(T *p, T v) { margay::store_wt(p, v); }
MARGAY_HINTS(char)
MARGAY_HINTS(signed char)
MARGAY_HINTS(unsigned char)
MARGAY_HINTS(short)
MARGAY_HINTS(unsigned short)
MARGAY_HINTS(int)
MARGAY_HINTS(unsigned int)
MARGAY_HINTS(long)
MARGAY_HINTS(unsigned long)
MARGAY_HINTS(long long)
MARGAY_HINTS(unsigned long long)
MARGAY_HINTS(float)
MARGAY_HINTS(double)
MARGAY_HINTS(char2)
MARGAY_HINTS(char4)
MARGAY_HINTS(uchar2)
MARGAY_HINTS(uchar4)
MARGAY_HINTS(short2)
MARGAY_HINTS(short4)
MARGAY_HINTS(ushort2)
MARGAY_HINTS(ushort4)
MARGAY_HINTS(int2)
MARGAY_HINTS(int4)
MARGAY_HINTS(uint2)
MARGAY_HINTS(uint4)
MARGAY_HINTS(longlong2)
MARGAY_HINTS(ulonglong2)
MARGAY_HINTS(float2)
MARGAY_HINTS(float4)
MARGAY_HINTS(double2)
#undef MARGAY_HINTS

MARGAY_D __attribute__((const)) unsigned int __isGlobal(const void *p) {
  return __nvvm_isspacep_global(p);
}
MARGAY_D __attribute__((const)) unsigned int __isShared(const void *p) {
  return __nvvm_isspacep_shared(p);
}
MARGAY_D __attribute__((const)) unsigned int __isConstant(const void *p) {
  return __nvvm_isspacep_const(p);
}
MARGAY_D __attribute__((const)) unsigned int __isLocal(const void *p) {
  return __nvvm_isspacep_local(p);
}
MARGAY_D __attribute__((const)) unsigned int __isGridConstant(const void *p) {
  unsigned int r;
  asm("{\n .reg .pred p;\n isspacep.param p, %1;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(r) : "l"(p));
  return r;
}

MARGAY_D size_t __cvta_generic_to_global(const void *p) {
  return (size_t)(__attribute__((address_space(1))) const void *)p;
}
MARGAY_D size_t __cvta_generic_to_shared(const void *p) {
  return (size_t)(__attribute__((address_space(3))) const void *)p;
}
MARGAY_D size_t __cvta_generic_to_constant(const void *p) {
  return (size_t)(__attribute__((address_space(4))) const void *)p;
}
MARGAY_D size_t __cvta_generic_to_local(const void *p) {
  return (size_t)(__attribute__((address_space(5))) const void *)p;
}
MARGAY_D size_t __cvta_generic_to_grid_constant(const void *p) {
  size_t r;
  asm("cvta.to.param.u64 %0, %1;" : "=l"(r) : "l"(p));
  return r;
}
MARGAY_D void *__cvta_global_to_generic(size_t p) {
  return (void *)(__attribute__((address_space(1))) void *)p;
}
MARGAY_D void *__cvta_shared_to_generic(size_t p) {
  return (void *)(__attribute__((address_space(3))) void *)p;
}
MARGAY_D void *__cvta_constant_to_generic(size_t p) {
  return (void *)(__attribute__((address_space(4))) void *)p;
}
MARGAY_D void *__cvta_local_to_generic(size_t p) {
  return (void *)(__attribute__((address_space(5))) void *)p;
}
MARGAY_D void *__cvta_grid_constant_to_generic(size_t p) {
  void *r;
  asm("cvta.param.u64 %0, %1;" : "=l"(r) : "l"(p));
  return r;
}

#endif
