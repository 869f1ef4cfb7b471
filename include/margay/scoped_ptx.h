// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads, stores and read-modify-writes with a memory order and a scope as PTX has them, in device code: what cuda::atomic and the
// functions called __nv_atomic_ share. Orders are the compiler's numbers (__ATOMIC_RELAXED and so on).
//
// Invariant: orders map to PTX as the PTX memory model has it: a sequentially consistent operation is
// `fence.sc` and then the acquire or acq_rel form. Before compute capability 7.0 there are no ordered
// forms: volatile accesses and `membar` stand for them, which is stronger.
#ifndef MARGAY_SCOPED_PTX_H
#define MARGAY_SCOPED_PTX_H
#include <type_traits>

#include "letters_begin.h"
#include "callers_begin.h"
namespace __margay {
// cuda::thread_scope's numbers.
enum { system_scope = 0, device_scope = 1, block_scope = 2, thread_scope = 10 };

// A word of so many bytes; those of 1 and 2 have no sign.
template <unsigned int Bytes, bool Signed> struct word_of;
template <bool Signed> struct word_of<1, Signed> { typedef __UINT8_TYPE__ type; };
template <bool Signed> struct word_of<2, Signed> { typedef __UINT16_TYPE__ type; };
template <> struct word_of<4, false> { typedef __UINT32_TYPE__ type; };
template <> struct word_of<4, true> { typedef __INT32_TYPE__ type; };
template <> struct word_of<8, false> { typedef __UINT64_TYPE__ type; };
template <> struct word_of<8, true> { typedef __INT64_TYPE__ type; };
// The bits of an object that is accessed as one.
template <class T> struct bits_of {
  static_assert(::std::is_trivially_copyable<T>::value, "an atomic's type is trivially copyable");
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                "an atomic's type has 1, 2, 4 or 8 bytes here");
  typedef typename word_of<sizeof(T), false>::type type;
  static __host__ __device__ __forceinline__ type of(const T &v) {
    type b;
    __builtin_memcpy(&b, &v, sizeof b);
    return b;
  }
  static __host__ __device__ __forceinline__ T to_object(type b) {
    T v;
    __builtin_memcpy(&v, &b, sizeof v);
    return v;
  }
};

#if defined(__CUDA_ARCH__)
template <int Scope> struct in_scope;
#if __CUDA_ARCH__ >= 700
#define MARGAY_FENCE_SC(SCOPE, LEVEL) "fence.sc." SCOPE ";"
#define MARGAY_FENCE(SCOPE, LEVEL) "fence.acq_rel." SCOPE ";"
#define MARGAY_LD(SEM, SCOPE) "ld." SEM "." SCOPE
#define MARGAY_ST(SEM, SCOPE) "st." SEM "." SCOPE
#define MARGAY_ATOM(SEM, SCOPE) "atom." SEM "." SCOPE
#else
#define MARGAY_FENCE_SC(SCOPE, LEVEL) "membar." LEVEL ";"
#define MARGAY_FENCE(SCOPE, LEVEL) "membar." LEVEL ";"
#define MARGAY_LD(SEM, SCOPE) "ld.volatile"
#define MARGAY_ST(SEM, SCOPE) "st.volatile"
#if __CUDA_ARCH__ >= 600
#define MARGAY_ATOM(SEM, SCOPE) "atom." SCOPE
#else
#define MARGAY_ATOM(SEM, SCOPE) "atom"
#endif
#endif
#define MARGAY_DEVICE static __device__ __forceinline__

#if __CUDA_ARCH__ >= 700
// The forms have their order in themselves.
#define MARGAY_BEFORE_RMW(ORDER)                                                                   \
  if (ORDER == __ATOMIC_SEQ_CST) fence_sc()
#define MARGAY_AFTER_RMW(ORDER) (void)0
#define MARGAY_AFTER_LOAD(ORDER) (void)0
#define MARGAY_BEFORE_STORE(ORDER) (void)0
#else
#define MARGAY_BEFORE_RMW(ORDER)                                                                   \
  if (ORDER != __ATOMIC_RELAXED) fence_sc()
#define MARGAY_AFTER_RMW(ORDER)                                                                    \
  if (ORDER != __ATOMIC_RELAXED) fence_sc()
#define MARGAY_AFTER_LOAD(ORDER)                                                                   \
  if (ORDER != __ATOMIC_RELAXED) fence_sc()
#define MARGAY_BEFORE_STORE(ORDER)                                                                 \
  if (ORDER != __ATOMIC_RELAXED) fence_sc()
#endif

// V is the type in a register, T the one in memory, C the letter of the register's class.
#define MARGAY_LOAD_STORE(SCOPE, T, V, C, BITS)                                                    \
  MARGAY_DEVICE T load(const T *p, int order) {                                           \
    V v;                                                                                           \
    if (order == __ATOMIC_SEQ_CST) fence_sc();                                                 \
    if (order == __ATOMIC_RELAXED)                                                             \
      asm volatile(MARGAY_LD("relaxed", SCOPE) "." BITS " %0, [%1];" : "=" C(v) : "l"(p) : "memory"); \
    else                                                                                           \
      asm volatile(MARGAY_LD("acquire", SCOPE) "." BITS " %0, [%1];" : "=" C(v) : "l"(p) : "memory"); \
    MARGAY_AFTER_LOAD(order);                                                                      \
    return (T)v;                                                                                   \
  }                                                                                                \
  MARGAY_DEVICE void store(T *p, T value, int order) {                                    \
    V v = (V)value;                                                                                \
    MARGAY_BEFORE_STORE(order);                                                                    \
    if (order == __ATOMIC_SEQ_CST) fence_sc();                                                 \
    if (order == __ATOMIC_RELAXED)                                                             \
      asm volatile(MARGAY_ST("relaxed", SCOPE) "." BITS " [%0], %1;" ::"l"(p), C(v) : "memory");   \
    else                                                                                           \
      asm volatile(MARGAY_ST("release", SCOPE) "." BITS " [%0], %1;" ::"l"(p), C(v) : "memory");   \
  }

#define MARGAY_RMW_AS(SEM, SCOPE, OP, C)                                                           \
  asm volatile(MARGAY_ATOM(SEM, SCOPE) "." OP " %0, [%1], %2;"                                     \
               : "=" C(old)                                                                        \
               : "l"(p), C(v)                                                                      \
               : "memory")
#define MARGAY_RMW(SCOPE, NAME, T, C, OP)                                                          \
  MARGAY_DEVICE T NAME(T *p, T v, int order) {                                            \
    T old;                                                                                         \
    MARGAY_BEFORE_RMW(order);                                                                      \
    switch (order) {                                                                               \
    case __ATOMIC_RELAXED: MARGAY_RMW_AS("relaxed", SCOPE, OP, C); break;                      \
    case __ATOMIC_CONSUME:                                                                     \
    case __ATOMIC_ACQUIRE: MARGAY_RMW_AS("acquire", SCOPE, OP, C); break;                      \
    case __ATOMIC_RELEASE: MARGAY_RMW_AS("release", SCOPE, OP, C); break;                      \
    case __ATOMIC_ACQ_REL:                                                                     \
    case __ATOMIC_SEQ_CST: MARGAY_RMW_AS("acq_rel", SCOPE, OP, C); break;                      \
    }                                                                                              \
    MARGAY_AFTER_RMW(order);                                                                       \
    return old;                                                                                    \
  }
#define MARGAY_CAS_AS(SEM, SCOPE, BITS, C)                                                         \
  asm volatile(MARGAY_ATOM(SEM, SCOPE) ".cas." BITS " %0, [%1], %2, %3;"                           \
               : "=" C(old)                                                                        \
               : "l"(p), C(expected), C(v)                                                         \
               : "memory")
#define MARGAY_CAS(SCOPE, T, C, BITS)                                                              \
  MARGAY_DEVICE T cas(T *p, T expected, T v, int order) {                                 \
    T old;                                                                                         \
    MARGAY_BEFORE_RMW(order);                                                                      \
    switch (order) {                                                                               \
    case __ATOMIC_RELAXED: MARGAY_CAS_AS("relaxed", SCOPE, BITS, C); break;                    \
    case __ATOMIC_CONSUME:                                                                     \
    case __ATOMIC_ACQUIRE: MARGAY_CAS_AS("acquire", SCOPE, BITS, C); break;                    \
    case __ATOMIC_RELEASE: MARGAY_CAS_AS("release", SCOPE, BITS, C); break;                    \
    case __ATOMIC_ACQ_REL:                                                                     \
    case __ATOMIC_SEQ_CST: MARGAY_CAS_AS("acq_rel", SCOPE, BITS, C); break;                    \
    }                                                                                              \
    MARGAY_AFTER_RMW(order);                                                                       \
    return old;                                                                                    \
  }
#if __CUDA_ARCH__ >= 700
#define MARGAY_CAS_SHORT(SCOPE) MARGAY_CAS(SCOPE, __UINT16_TYPE__, "h", "b16")
#else
// Whoever uses it says that it is not there.
#define MARGAY_CAS_SHORT(SCOPE)                                                                    \
  MARGAY_DEVICE __UINT16_TYPE__ cas(__UINT16_TYPE__ *, __UINT16_TYPE__, __UINT16_TYPE__, int) {    \
    return 0;                                                                                      \
  }
#endif
#if __CUDA_ARCH__ >= 600
#define MARGAY_RMW_DOUBLE(SCOPE) MARGAY_RMW(SCOPE, add, double, "d", "add.f64")
#else
#define MARGAY_RMW_DOUBLE(SCOPE)
#endif

#define MARGAY_IN_SCOPE(TAG, SCOPE, LEVEL)                                                         \
  template <> struct in_scope<TAG> {                                                               \
    MARGAY_DEVICE void fence_sc() { asm volatile(MARGAY_FENCE_SC(SCOPE, LEVEL)::: "memory"); }     \
    MARGAY_DEVICE void fence() { asm volatile(MARGAY_FENCE(SCOPE, LEVEL)::: "memory"); }           \
    MARGAY_LOAD_STORE(SCOPE, __UINT8_TYPE__, unsigned short, "h", "u8")                                   \
    MARGAY_LOAD_STORE(SCOPE, __UINT16_TYPE__, unsigned short, "h", "u16")                                 \
    MARGAY_LOAD_STORE(SCOPE, __UINT32_TYPE__, unsigned int, "r", "u32")                                   \
    MARGAY_LOAD_STORE(SCOPE, __UINT64_TYPE__, unsigned long long, "l", "u64")                             \
    MARGAY_CAS_SHORT(SCOPE)                                                                        \
    MARGAY_CAS(SCOPE, __UINT32_TYPE__, "r", "b32")                                                        \
    MARGAY_CAS(SCOPE, __UINT64_TYPE__, "l", "b64")                                                        \
    MARGAY_RMW(SCOPE, exchange, __UINT32_TYPE__, "r", "exch.b32")                                         \
    MARGAY_RMW(SCOPE, exchange, __UINT64_TYPE__, "l", "exch.b64")                                         \
    MARGAY_RMW(SCOPE, add, __UINT32_TYPE__, "r", "add.u32")                                               \
    MARGAY_RMW(SCOPE, add, __UINT64_TYPE__, "l", "add.u64")                                               \
    MARGAY_RMW(SCOPE, add, float, "f", "add.f32")                                                  \
    MARGAY_RMW_DOUBLE(SCOPE)                                                                       \
    MARGAY_RMW(SCOPE, bit_and, __UINT32_TYPE__, "r", "and.b32")                                           \
    MARGAY_RMW(SCOPE, bit_and, __UINT64_TYPE__, "l", "and.b64")                                           \
    MARGAY_RMW(SCOPE, bit_or, __UINT32_TYPE__, "r", "or.b32")                                             \
    MARGAY_RMW(SCOPE, bit_or, __UINT64_TYPE__, "l", "or.b64")                                             \
    MARGAY_RMW(SCOPE, bit_xor, __UINT32_TYPE__, "r", "xor.b32")                                           \
    MARGAY_RMW(SCOPE, bit_xor, __UINT64_TYPE__, "l", "xor.b64")                                           \
    MARGAY_RMW(SCOPE, min, __UINT32_TYPE__, "r", "min.u32")                                               \
    MARGAY_RMW(SCOPE, min, __INT32_TYPE__, "r", "min.s32")                                                \
    MARGAY_RMW(SCOPE, min, __UINT64_TYPE__, "l", "min.u64")                                               \
    MARGAY_RMW(SCOPE, min, __INT64_TYPE__, "l", "min.s64")                                                \
    MARGAY_RMW(SCOPE, max, __UINT32_TYPE__, "r", "max.u32")                                               \
    MARGAY_RMW(SCOPE, max, __INT32_TYPE__, "r", "max.s32")                                                \
    MARGAY_RMW(SCOPE, max, __UINT64_TYPE__, "l", "max.u64")                                               \
    MARGAY_RMW(SCOPE, max, __INT64_TYPE__, "l", "max.s64")                                                \
  };
MARGAY_IN_SCOPE(system_scope, "sys", "sys")
MARGAY_IN_SCOPE(device_scope, "gpu", "gl")
MARGAY_IN_SCOPE(block_scope, "cta", "cta")
// No scope of PTX is narrower than a block.
template <> struct in_scope<thread_scope> : in_scope<block_scope> {};
#undef MARGAY_IN_SCOPE
#undef MARGAY_RMW_DOUBLE
#undef MARGAY_CAS_SHORT
#undef MARGAY_CAS
#undef MARGAY_CAS_AS
#undef MARGAY_RMW
#undef MARGAY_RMW_AS
#undef MARGAY_LOAD_STORE
#undef MARGAY_BEFORE_STORE
#undef MARGAY_AFTER_LOAD
#undef MARGAY_AFTER_RMW
#undef MARGAY_BEFORE_RMW
#undef MARGAY_DEVICE
#undef MARGAY_ATOM
#undef MARGAY_ST
#undef MARGAY_LD
#undef MARGAY_FENCE
#undef MARGAY_FENCE_SC
#endif
} // namespace __margay
#include "callers_end.h"
#include "letters_end.h"
#endif
