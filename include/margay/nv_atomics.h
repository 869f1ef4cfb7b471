// SPDX-License-Identifier: MIT OR Apache-2.0
// The atomic functions called __nv_atomic_, with a memory order and a thread scope (CUDA C++ Programming Guide, "Atomic
// Functions", from CUDA 12.8 on). Orders and scopes are literals, as nvcc wants them: then one operation of PTX is left of each.
//
// Limit: objects of 16 bytes, and compare-and-exchange of 2 bytes before compute capability 7.0, are refused where they are used.
// A cluster's scope is the device's, which orders more.
#ifndef MARGAY_NV_ATOMICS_H
#define MARGAY_NV_ATOMICS_H
#include "scoped_ptx.h"

// By this programs ask whether there are these functions.
#if MARGAY_CUDA_VERSION >= 12080
#define __CUDACC_DEVICE_ATOMIC_BUILTINS__ 1
#endif

#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

#include "letters_begin.h"
#include "callers_begin.h"
namespace __margay {
// As what a sum is computed, as what an order, and as what bits.
template <class T> struct nv_sum {
  static_assert(std::is_integral<T>::value && sizeof(T) >= 4,
                "__nv_atomic_fetch_add takes integers of 4 or 8 bytes, float and double");
  typedef typename word_of<sizeof(T), false>::type type;
  static __device__ __forceinline__ T negated(T v) { return (T)(type(0) - (type)v); }
};
// Not `0 - v`, which is 0 and never -0 where v is 0: -0 with 0 taken away is -0.
template <> struct nv_sum<float> {
  typedef float type;
  static __device__ __forceinline__ float negated(float v) { return -v; }
};
template <> struct nv_sum<double> {
  typedef double type;
  static __device__ __forceinline__ double negated(double v) { return -v; }
};
template <class T> struct nv_order {
  static_assert(std::is_integral<T>::value && sizeof(T) >= 4,
                "__nv_atomic_fetch_min and _max take integers of 4 or 8 bytes");
  typedef typename word_of<sizeof(T), std::is_signed<T>::value>::type type;
};
template <class T> struct nv_logic {
  static_assert(std::is_integral<T>::value && sizeof(T) >= 4,
                "__nv_atomic_fetch_and, _or and _xor take integers of 4 or 8 bytes");
  typedef typename word_of<sizeof(T), false>::type type;
};
} // namespace __margay

#define MARGAY_NV static __device__ __forceinline__
#if defined(__CUDA_ARCH__)
// CALL in the scope that is asked for. What is returned of a function without a result is nothing, too.
#define MARGAY_NV_SCOPED(CALL)                                                                     \
  switch (scope) {                                                                                 \
  case __NV_THREAD_SCOPE_THREAD:                                                                   \
  case __NV_THREAD_SCOPE_BLOCK: return __margay::in_scope<__margay::block_scope>::CALL;            \
  case __NV_THREAD_SCOPE_CLUSTER:                                                                  \
  case __NV_THREAD_SCOPE_DEVICE: return __margay::in_scope<__margay::device_scope>::CALL;          \
  default: return __margay::in_scope<__margay::system_scope>::CALL;                                \
  }
#else
// The host's compiler looks at device code and makes nothing of it.
#define MARGAY_NV_SCOPED(CALL) __builtin_unreachable();
#endif

namespace __margay {
template <class B> MARGAY_NV B nv_load(const B *p, int order, int scope) {
  MARGAY_NV_SCOPED(load(p, order))
}
template <class B> MARGAY_NV void nv_store(B *p, B v, int order, int scope) {
  MARGAY_NV_SCOPED(store(p, v, order))
}
template <class B> MARGAY_NV B nv_exchange(B *p, B v, int order, int scope) {
  static_assert(sizeof(B) >= 4, "__nv_atomic_exchange takes objects of 4 or 8 bytes here");
  MARGAY_NV_SCOPED(exchange(p, v, order))
}
template <class B> MARGAY_NV B nv_cas(B *p, B expected, B v, int order, int scope) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
  static_assert(sizeof(B) >= 2, "__nv_atomic_compare_exchange takes objects of 2, 4 or 8 bytes here");
#else
  static_assert(sizeof(B) >= 4, "__nv_atomic_compare_exchange of 2 bytes needs sm_70 or later");
#endif
  MARGAY_NV_SCOPED(cas(p, expected, v, order))
}
// The order that covers both what is done and what a failure does.
static constexpr __device__ __forceinline__ int nv_stronger(int success, int failure) {
  return failure == __NV_ATOMIC_SEQ_CST || success == __NV_ATOMIC_SEQ_CST ? __NV_ATOMIC_SEQ_CST
         : failure == __NV_ATOMIC_RELAXED || failure == success           ? success
         : success == __NV_ATOMIC_RELAXED || success == __NV_ATOMIC_CONSUME ? __NV_ATOMIC_ACQUIRE
         : success == __NV_ATOMIC_ACQUIRE                                 ? __NV_ATOMIC_ACQUIRE
                                                                          : __NV_ATOMIC_ACQ_REL;
}
} // namespace __margay

MARGAY_NV void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  if (order == __NV_ATOMIC_RELAXED || scope == __NV_THREAD_SCOPE_THREAD) return;
  if (order == __NV_ATOMIC_SEQ_CST) {
    MARGAY_NV_SCOPED(fence_sc())
  }
  MARGAY_NV_SCOPED(fence())
}
template <class T>
MARGAY_NV T __nv_atomic_load_n(const T *p, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef __margay::bits_of<T> bits;
  return bits::to_object(__margay::nv_load((const typename bits::type *)p, order, scope));
}
template <class T>
MARGAY_NV void __nv_atomic_load(const T *p, T *ret, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *ret = __nv_atomic_load_n(p, order, scope);
}
template <class T>
MARGAY_NV void __nv_atomic_store_n(T *p, typename std::common_type<T>::type v, int order,
                                   int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef __margay::bits_of<T> bits;
  __margay::nv_store((typename bits::type *)p, bits::of(v), order, scope);
}
template <class T>
MARGAY_NV void __nv_atomic_store(T *p, const T *v, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_store_n(p, *v, order, scope);
}
template <class T>
MARGAY_NV T __nv_atomic_exchange_n(T *p, typename std::common_type<T>::type v, int order,
                                   int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef __margay::bits_of<T> bits;
  return bits::to_object(
      __margay::nv_exchange((typename bits::type *)p, bits::of(v), order, scope));
}
template <class T>
MARGAY_NV void __nv_atomic_exchange(T *p, const T *v, T *ret, int order,
                                    int scope = __NV_THREAD_SCOPE_SYSTEM) {
  *ret = __nv_atomic_exchange_n(p, *v, order, scope);
}
template <class T>
MARGAY_NV bool __nv_atomic_compare_exchange_n(T *p, T *expected,
                                              typename std::common_type<T>::type v, bool weak,
                                              int success, int failure,
                                              int scope = __NV_THREAD_SCOPE_SYSTEM) {
  typedef __margay::bits_of<T> bits;
  (void)weak;
  typename bits::type want = bits::of(*expected);
  typename bits::type old =
      __margay::nv_cas((typename bits::type *)p, want, bits::of(v),
                            __margay::nv_stronger(success, failure), scope);
  if (old != want) *expected = bits::to_object(old);
  return old == want;
}
template <class T>
MARGAY_NV bool __nv_atomic_compare_exchange(T *p, T *expected, const T *v, bool weak, int success,
                                            int failure, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(p, expected, *v, weak, success, failure, scope);
}
// What is done to an object, with the old value as the result and without one.
#define MARGAY_NV_RMW(NAME, AS, OP)                                                                \
  template <class T>                                                                               \
  MARGAY_NV T __nv_atomic_fetch_##NAME(T *p, typename std::common_type<T>::type v, int order,      \
                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {                     \
    typedef typename __margay::AS<T>::type W;                                                      \
    MARGAY_NV_SCOPED(OP((W *)p, (W)v, order))                                                      \
  }                                                                                                \
  template <class T>                                                                               \
  MARGAY_NV void __nv_atomic_##NAME(T *p, typename std::common_type<T>::type v, int order,         \
                                    int scope = __NV_THREAD_SCOPE_SYSTEM) {                        \
    __nv_atomic_fetch_##NAME(p, v, order, scope);                                                  \
  }
MARGAY_NV_RMW(add, nv_sum, add)
MARGAY_NV_RMW(and, nv_logic, bit_and)
MARGAY_NV_RMW(or, nv_logic, bit_or)
MARGAY_NV_RMW(xor, nv_logic, bit_xor)
MARGAY_NV_RMW(min, nv_order, min)
MARGAY_NV_RMW(max, nv_order, max)
template <class T>
MARGAY_NV T __nv_atomic_fetch_sub(T *p, typename std::common_type<T>::type v, int order,
                                  int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_fetch_add(p, __margay::nv_sum<T>::negated(v), order, scope);
}
template <class T>
MARGAY_NV void __nv_atomic_sub(T *p, typename std::common_type<T>::type v, int order,
                               int scope = __NV_THREAD_SCOPE_SYSTEM) {
  __nv_atomic_fetch_sub(p, v, order, scope);
}
#undef MARGAY_NV_RMW
#undef MARGAY_NV_SCOPED
#undef MARGAY_NV
#include "callers_end.h"
#include "letters_end.h"
#endif
