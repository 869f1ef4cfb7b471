// SPDX-License-Identifier: MIT OR Apache-2.0
// cooperative_groups::reduce over a tile or over coalesced threads, and the operators that it and the
// scans take.
#ifndef MARGAY_CG_REDUCE_H
#define MARGAY_CG_REDUCE_H
#include "../cooperative_groups.h"
#if defined(MARGAY_CUDA_PASS)
#include "../margay/callers_begin.h"
namespace cooperative_groups {
#define MARGAY_CG_OPERATOR(NAME, EXPR)                                                             \
  template <class T = void> struct NAME {                                                          \
    __device__ __forceinline__ T operator()(const T &a, const T &b) const { return EXPR; }         \
  };                                                                                               \
  template <> struct NAME<void> {                                                                  \
    template <class T> __device__ __forceinline__ T operator()(const T &a, const T &b) const {     \
      return EXPR;                                                                                 \
    }                                                                                              \
  };
MARGAY_CG_OPERATOR(plus, a + b)
MARGAY_CG_OPERATOR(less, b < a ? b : a)
MARGAY_CG_OPERATOR(greater, a < b ? b : a)
MARGAY_CG_OPERATOR(bit_and, a & b)
MARGAY_CG_OPERATOR(bit_or, a | b)
MARGAY_CG_OPERATOR(bit_xor, a ^ b)
#undef MARGAY_CG_OPERATOR

// Every thread gets the result. Tiles combine in a butterfly, as the hardware's library does, so that all
// threads compute the same bits.
template <unsigned int Size, class P, class T, class Op>
__device__ __forceinline__ auto reduce(const thread_block_tile<Size, P> &g, T &&value, Op &&op)
    -> typename details::remove_qualifiers<T>::type {
  typedef typename details::remove_qualifiers<T>::type V;
  V r = value;
  if constexpr (Size <= 32) {
#pragma unroll
    for (unsigned int step = Size / 2; step > 0; step /= 2) r = op(r, g.shfl_xor(r, step));
  } else {
    // The warps' results meet in shared memory, a slot for each warp of the block.
    static_assert(sizeof(V) <= 16, "reduce over tiles of more than a warp takes values up to 16 bytes");
    __shared__ uint4 slots[32];
    unsigned int first = details::thread_in_block() / 32 & ~(Size / 32 - 1u);
#pragma unroll
    for (unsigned int step = 16; step > 0; step /= 2)
      r = op(r, details::by_words(r, [&](unsigned int w) {
            return __shfl_xor_sync(~0u, w, (int)step, 32);
          }));
    if (details::lane() == 0) __builtin_memcpy(&slots[details::thread_in_block() / 32], &r, sizeof r);
    g.sync();
    __builtin_memcpy(&r, &slots[first], sizeof r);
    for (unsigned int i = 1; i < Size / 32; ++i) {
      V other;
      __builtin_memcpy(&other, &slots[first + i], sizeof other);
      r = op(r, other);
    }
    g.sync();
  }
  return r;
}
template <class T, class Op>
__device__ __forceinline__ auto reduce(const coalesced_group &g, T &&value, Op &&op)
    -> typename details::remove_qualifiers<T>::type {
  typename details::remove_qualifiers<T>::type r = value;
  unsigned int rank = g.thread_rank(), count = g.size();
  for (unsigned int step = 1; step < count; step *= 2) {
    auto other = g.shfl_down(r, step);
    if (rank % (2 * step) == 0 && rank + step < count) r = op(r, other);
  }
  return g.shfl(r, 0);
}

namespace details {
template <class A, class V, class Op> MARGAY_CM V apply_by_exchange(A &to, const V &v, const Op &op) {
  V old = to.load();
  while (!to.compare_exchange_weak(old, op(old, v))) {
  }
  return old;
}
} // namespace details

// The group's result goes into an atomic (cuda::atomic, cuda::atomic_ref), by one thread.
template <class G, class A, class T, class Op>
__device__ __forceinline__ void reduce_update_async(const G &g, A &to, T &&value, Op &&op) {
  auto r = reduce(g, value, op);
  if (g.thread_rank() == 0) (void)details::apply_by_exchange(to, r, op);
}
// The group's result goes into memory, by one thread.
template <class G, class V, class T, class Op>
__device__ __forceinline__ void reduce_store_async(const G &g, V *to, T &&value, Op &&op) {
  auto r = reduce(g, value, op);
  if (g.thread_rank() == 0) *to = r;
}
template <class G, class A, class T, class Op>
__device__ __forceinline__ auto reduce_store_async(const G &g, A &to, T &&value, Op &&op)
    -> decltype(to.store(value)) {
  auto r = reduce(g, value, op);
  if (g.thread_rank() == 0) to.store(r);
}
} // namespace cooperative_groups
#include "../margay/callers_end.h"
#endif
#endif
