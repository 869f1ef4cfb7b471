// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads, stores and read-modify-writes of 1 to 8 bytes with a memory order and a thread scope, in host
// and device code: what cuda::atomic and all that is built on it share (libcu++, "Memory model").
//
// Limit: objects of 16 bytes are not lock-free here and are refused by a static_assert.
#ifndef MARGAY_SCOPED_ATOMICS_H
#define MARGAY_SCOPED_ATOMICS_H
#include "../cuda_runtime.h"
#include "scoped_ptx.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#if !defined(__CUDA_ARCH__)
#include <sched.h>
#endif

#define MARGAY_BOTH __host__ __device__ __forceinline__

#include "letters_begin.h"
#include "callers_begin.h"
namespace cuda {
enum thread_scope {
  thread_scope_system = ::__margay::system_scope,
  thread_scope_device = ::__margay::device_scope,
  thread_scope_block = ::__margay::block_scope,
  thread_scope_thread = ::__margay::thread_scope
};
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

namespace details {
// The order of the load that a failed exchange is.
constexpr MARGAY_BOTH memory_order failure_order(memory_order order) {
  return order == memory_order_acq_rel   ? memory_order_acquire
         : order == memory_order_release ? memory_order_relaxed
                                         : order;
}

#if defined(__CUDA_ARCH__)
template <thread_scope S> using in_scope = ::__margay::in_scope<(int)S>;
#endif

// A moment's rest in a loop that waits for another thread.
MARGAY_BOTH void rest(unsigned int &ns) {
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 700
  __nanosleep(ns);
#endif
#else
  sched_yield();
#endif
  if (ns < 256) ns *= 2;
}

// Operations on an object of type T in scope S.
template <class T, thread_scope S> struct atomic_access {
  typedef ::__margay::bits_of<T> object;
  typedef typename object::type bits;
  static constexpr bool is_integer = ::std::is_integral<T>::value && !::std::is_same<T, bool>::value;
  static constexpr bool native_integer = is_integer && sizeof(T) >= 4;

  static MARGAY_BOTH T load(const T *p, memory_order order) {
#if defined(__CUDA_ARCH__)
    return object::to_object(in_scope<S>::load((const bits *)p, (int)order));
#else
    return object::to_object(__atomic_load_n((const bits *)p, (int)order));
#endif
  }
  static MARGAY_BOTH void store(T *p, T v, memory_order order) {
#if defined(__CUDA_ARCH__)
    in_scope<S>::store((bits *)p, object::of(v), (int)order);
#else
    __atomic_store_n((bits *)p, object::of(v), (int)order);
#endif
  }
  static MARGAY_BOTH bool compare_exchange(T *p, T &expected, T desired, memory_order order,
                                         memory_order) {
    bits want = object::of(expected);
#if defined(__CUDA_ARCH__)
    bits old;
    if constexpr (sizeof(T) >= 4) {
      old = in_scope<S>::cas((bits *)p, want, object::of(desired), (int)order);
    } else {
      // Within the word around it.
      uintptr_t at = (uintptr_t)p;
      uint32_t *word = (uint32_t *)(at & ~(uintptr_t)3);
      unsigned int shift = 8u * (unsigned int)(at & 3u), mask = (bits)~(bits)0;
      uint32_t seen = in_scope<S>::load(word, (int)memory_order_relaxed);
      for (;;) {
        old = (bits)(seen >> shift);
        if (old != want) {
          // A failure is a load.
          if (order != memory_order_relaxed) in_scope<S>::fence();
          break;
        }
        uint32_t next = (seen & ~(mask << shift)) | ((uint32_t)object::of(desired) << shift);
        uint32_t before = in_scope<S>::cas(word, seen, next, (int)order);
        if (before == seen) break;
        seen = before;
      }
    }
    bool same = old == want;
    if (!same) expected = object::to_object(old);
    return same;
#else
    bool same = __atomic_compare_exchange_n((bits *)p, &want, object::of(desired), false, (int)order,
                                            (int)failure_order(order));
    if (!same) expected = object::to_object(want);
    return same;
#endif
  }
  // What F makes of the old value, again and again until nobody came between; the old value.
  template <class F> static MARGAY_BOTH T update(T *p, F next, memory_order order) {
    T old = load(p, memory_order_relaxed);
    while (!compare_exchange(p, old, next(old), order, memory_order_relaxed)) {
    }
    return old;
  }
  static MARGAY_BOTH T exchange(T *p, T v, memory_order order) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) >= 4)
      return object::to_object(in_scope<S>::exchange((bits *)p, object::of(v), (int)order));
    else
      return update(p, [&](T) { return v; }, order);
#else
    return object::to_object(__atomic_exchange_n((bits *)p, object::of(v), (int)order));
#endif
  }
  static MARGAY_BOTH T add(T *p, T v, memory_order order) {
#if defined(__CUDA_ARCH__)
    if constexpr (native_integer)
      return (T)in_scope<S>::add((bits *)p, (bits)v, (int)order);
    else if constexpr (::std::is_same<T, float>::value)
      return in_scope<S>::add(p, v, (int)order);
#if __CUDA_ARCH__ >= 600
    else if constexpr (::std::is_same<T, double>::value)
      return in_scope<S>::add(p, v, (int)order);
#endif
    else
      return update(p, [&](T old) { return (T)(old + v); }, order);
#else
    if constexpr (is_integer)
      return (T)__atomic_fetch_add((bits *)p, (bits)v, (int)order);
    else
      return update(p, [&](T old) { return (T)(old + v); }, order);
#endif
  }
  static MARGAY_BOTH T sub(T *p, T v, memory_order order) {
    if constexpr (is_integer)
      return add(p, (T)((bits)0 - (bits)v), order);
    else
      return add(p, -v, order);
  }
#if defined(__CUDA_ARCH__)
#define MARGAY_BITWISE(NAME, SIGN)                                                                 \
  static MARGAY_BOTH T NAME(T *p, T v, memory_order order) {                                         \
    if constexpr (native_integer)                                                                  \
      return (T)in_scope<S>::NAME((bits *)p, (bits)v, (int)order);                                 \
    else                                                                                           \
      return update(p, [&](T old) { return (T)(old SIGN v); }, order);                             \
  }
#else
#define MARGAY_BITWISE(NAME, SIGN)                                                                 \
  static MARGAY_BOTH T NAME(T *p, T v, memory_order order) {                                         \
    return update(p, [&](T old) { return (T)(old SIGN v); }, order);                               \
  }
#endif
  MARGAY_BITWISE(bit_and, &)
  MARGAY_BITWISE(bit_or, |)
  MARGAY_BITWISE(bit_xor, ^)
#undef MARGAY_BITWISE
  typedef typename ::__margay::word_of<sizeof(T) == 8 ? 8 : 4, ::std::is_signed<T>::value>::type ordered;
  static MARGAY_BOTH T min(T *p, T v, memory_order order) {
#if defined(__CUDA_ARCH__)
    if constexpr (native_integer)
      return (T)in_scope<S>::min((ordered *)p, (ordered)v, (int)order);
    else
#endif
      return update(p, [&](T old) { return v < old ? v : old; }, order);
  }
  static MARGAY_BOTH T max(T *p, T v, memory_order order) {
#if defined(__CUDA_ARCH__)
    if constexpr (native_integer)
      return (T)in_scope<S>::max((ordered *)p, (ordered)v, (int)order);
    else
#endif
      return update(p, [&](T old) { return old < v ? v : old; }, order);
  }
  // Until the object's value is not `old` any more.
  static MARGAY_BOTH void wait(const T *p, T old, memory_order order) {
    unsigned int ns = 8;
    while (object::of(load(p, order)) == object::of(old)) rest(ns);
  }
};

MARGAY_BOTH void thread_fence(memory_order order, thread_scope scope) {
  if (order == memory_order_relaxed) return;
#if defined(__CUDA_ARCH__)
  bool sc = order == memory_order_seq_cst;
  switch (scope) {
  case thread_scope_system: sc ? in_scope<thread_scope_system>::fence_sc() : in_scope<thread_scope_system>::fence(); break;
  case thread_scope_device: sc ? in_scope<thread_scope_device>::fence_sc() : in_scope<thread_scope_device>::fence(); break;
  case thread_scope_block: sc ? in_scope<thread_scope_block>::fence_sc() : in_scope<thread_scope_block>::fence(); break;
  case thread_scope_thread: break;
  }
#else
  (void)scope;
  __atomic_thread_fence((int)order);
#endif
}

// What the classes have in common: DERIVED::at() gives the object's address.
template <class T, thread_scope S, class Derived> class atomic_members {
  typedef atomic_access<T, S> on;
  MARGAY_BOTH T *at() const { return static_cast<const Derived *>(this)->object(); }

public:
  typedef T value_type;
  static constexpr bool is_always_lock_free = true;
  MARGAY_BOTH bool is_lock_free() const noexcept { return true; }
  MARGAY_BOTH T load(memory_order order = memory_order_seq_cst) const noexcept {
    return on::load(at(), order);
  }
  MARGAY_BOTH operator T() const noexcept { return load(); }
  MARGAY_BOTH void store(T v, memory_order order = memory_order_seq_cst) const noexcept {
    on::store(at(), v, order);
  }
  MARGAY_BOTH T exchange(T v, memory_order order = memory_order_seq_cst) const noexcept {
    return on::exchange(at(), v, order);
  }
  MARGAY_BOTH bool compare_exchange_strong(T &expected, T v, memory_order order,
                                         memory_order failure) const noexcept {
    return on::compare_exchange(at(), expected, v, order, failure);
  }
  MARGAY_BOTH bool
  compare_exchange_strong(T &expected, T v,
                          memory_order order = memory_order_seq_cst) const noexcept {
    return on::compare_exchange(at(), expected, v, order, failure_order(order));
  }
  MARGAY_BOTH bool compare_exchange_weak(T &expected, T v, memory_order order,
                                       memory_order failure) const noexcept {
    return on::compare_exchange(at(), expected, v, order, failure);
  }
  MARGAY_BOTH bool compare_exchange_weak(T &expected, T v,
                                       memory_order order = memory_order_seq_cst) const noexcept {
    return on::compare_exchange(at(), expected, v, order, failure_order(order));
  }
  MARGAY_BOTH void wait(T old, memory_order order = memory_order_seq_cst) const noexcept {
    on::wait(at(), old, order);
  }
  // Those who wait look again by themselves.
  MARGAY_BOTH void notify_one() const noexcept {}
  MARGAY_BOTH void notify_all() const noexcept {}

#define MARGAY_FETCH(NAME, IMPL)                                                                   \
  MARGAY_BOTH T NAME(T v, memory_order order = memory_order_seq_cst) const noexcept {                \
    return on::IMPL(at(), v, order);                                                               \
  }
  MARGAY_FETCH(fetch_add, add)
  MARGAY_FETCH(fetch_sub, sub)
  MARGAY_FETCH(fetch_and, bit_and)
  MARGAY_FETCH(fetch_or, bit_or)
  MARGAY_FETCH(fetch_xor, bit_xor)
  MARGAY_FETCH(fetch_min, min)
  MARGAY_FETCH(fetch_max, max)
#undef MARGAY_FETCH
  MARGAY_BOTH T operator++() const noexcept { return (T)(fetch_add((T)1) + (T)1); }
  MARGAY_BOTH T operator++(int) const noexcept { return fetch_add((T)1); }
  MARGAY_BOTH T operator--() const noexcept { return (T)(fetch_sub((T)1) - (T)1); }
  MARGAY_BOTH T operator--(int) const noexcept { return fetch_sub((T)1); }
  MARGAY_BOTH T operator+=(T v) const noexcept { return (T)(fetch_add(v) + v); }
  MARGAY_BOTH T operator-=(T v) const noexcept { return (T)(fetch_sub(v) - v); }
  MARGAY_BOTH T operator&=(T v) const noexcept { return (T)(fetch_and(v) & v); }
  MARGAY_BOTH T operator|=(T v) const noexcept { return (T)(fetch_or(v) | v); }
  MARGAY_BOTH T operator^=(T v) const noexcept { return (T)(fetch_xor(v) ^ v); }
};

// Pointers count in elements.
template <class U, thread_scope S, class Derived> class atomic_members<U *, S, Derived> {
  typedef U *T;
  typedef atomic_access<T, S> on;
  typedef atomic_access<ptrdiff_t, S> number;
  MARGAY_BOTH T *at() const { return static_cast<const Derived *>(this)->object(); }

public:
  typedef T value_type;
  typedef ptrdiff_t difference_type;
  static constexpr bool is_always_lock_free = true;
  MARGAY_BOTH bool is_lock_free() const noexcept { return true; }
  MARGAY_BOTH T load(memory_order order = memory_order_seq_cst) const noexcept {
    return on::load(at(), order);
  }
  MARGAY_BOTH operator T() const noexcept { return load(); }
  MARGAY_BOTH void store(T v, memory_order order = memory_order_seq_cst) const noexcept {
    on::store(at(), v, order);
  }
  MARGAY_BOTH T exchange(T v, memory_order order = memory_order_seq_cst) const noexcept {
    return on::exchange(at(), v, order);
  }
  MARGAY_BOTH bool
  compare_exchange_strong(T &expected, T v, memory_order order = memory_order_seq_cst,
                          memory_order = memory_order_seq_cst) const noexcept {
    return on::compare_exchange(at(), expected, v, order, failure_order(order));
  }
  MARGAY_BOTH bool
  compare_exchange_weak(T &expected, T v, memory_order order = memory_order_seq_cst,
                        memory_order = memory_order_seq_cst) const noexcept {
    return on::compare_exchange(at(), expected, v, order, failure_order(order));
  }
  MARGAY_BOTH void wait(T old, memory_order order = memory_order_seq_cst) const noexcept {
    on::wait(at(), old, order);
  }
  MARGAY_BOTH void notify_one() const noexcept {}
  MARGAY_BOTH void notify_all() const noexcept {}
  MARGAY_BOTH T fetch_add(ptrdiff_t n, memory_order order = memory_order_seq_cst) const noexcept {
    return (T)number::add((ptrdiff_t *)at(), n * (ptrdiff_t)sizeof(U), order);
  }
  MARGAY_BOTH T fetch_sub(ptrdiff_t n, memory_order order = memory_order_seq_cst) const noexcept {
    return fetch_add(-n, order);
  }
  MARGAY_BOTH T operator++() const noexcept { return fetch_add(1) + 1; }
  MARGAY_BOTH T operator++(int) const noexcept { return fetch_add(1); }
  MARGAY_BOTH T operator--() const noexcept { return fetch_sub(1) - 1; }
  MARGAY_BOTH T operator--(int) const noexcept { return fetch_sub(1); }
  MARGAY_BOTH T operator+=(ptrdiff_t n) const noexcept { return fetch_add(n) + n; }
  MARGAY_BOTH T operator-=(ptrdiff_t n) const noexcept { return fetch_sub(n) - n; }
};
} // namespace details
} // namespace cuda
#include "callers_end.h"
#include "letters_end.h"
#endif
