// SPDX-License-Identifier: MIT OR Apache-2.0
// cooperative_groups::reduce over a tile of at most a warp or over coalesced threads, and the
// operators that it and the scans take.
#ifndef MARGAY_CG_REDUCE_H
#define MARGAY_CG_REDUCE_H
#include "../cooperative_groups.h"
#if defined(MARGAY_CUDA_PASS)
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
  static_assert(Size <= 32, "reduce over tiles of more than a warp is not supported");
  typename details::remove_qualifiers<T>::type r = value;
#pragma unroll
  for (unsigned int step = Size / 2; step > 0; step /= 2) r = op(r, g.shfl_xor(r, step));
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
} // namespace cooperative_groups
#endif
#endif
