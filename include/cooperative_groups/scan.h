// SPDX-License-Identifier: MIT OR Apache-2.0
// cooperative_groups::inclusive_scan and exclusive_scan over a tile of at most a warp or over coalesced
// threads.
#ifndef MARGAY_CG_SCAN_H
#define MARGAY_CG_SCAN_H
#include "reduce.h"
#if defined(MARGAY_CUDA_PASS)
#include "../margay/callers_begin.h"
namespace cooperative_groups {
template <class G, class T, class Op>
__device__ __forceinline__ auto inclusive_scan(const G &g, T &&value, Op &&op)
    -> typename details::remove_qualifiers<T>::type {
  typename details::remove_qualifiers<T>::type r = value;
  unsigned int rank = (unsigned int)g.thread_rank(), count = (unsigned int)g.size();
  for (unsigned int step = 1; step < count; step *= 2) {
    auto other = g.shfl_up(r, step);
    if (rank >= step) r = op(other, r);
  }
  return r;
}
template <class G, class T>
__device__ __forceinline__ auto inclusive_scan(const G &g, T &&value)
    -> typename details::remove_qualifiers<T>::type {
  return inclusive_scan(g, value, plus<typename details::remove_qualifiers<T>::type>());
}
// The first thread gets a value-initialised result.
template <class G, class T, class Op>
__device__ __forceinline__ auto exclusive_scan(const G &g, T &&value, Op &&op)
    -> typename details::remove_qualifiers<T>::type {
  auto r = g.shfl_up(inclusive_scan(g, value, op), 1u);
  return g.thread_rank() == 0 ? typename details::remove_qualifiers<T>::type() : r;
}
template <class G, class T>
__device__ __forceinline__ auto exclusive_scan(const G &g, T &&value)
    -> typename details::remove_qualifiers<T>::type {
  return exclusive_scan(g, value, plus<typename details::remove_qualifiers<T>::type>());
}

// A scan that goes on from an atomic's value, to which the group's total is added.
template <class G, class A, class T, class Op>
__device__ __forceinline__ auto inclusive_scan_update(const G &g, A &to, T &&value, Op &&op)
    -> typename details::remove_qualifiers<T>::type {
  typedef typename details::remove_qualifiers<T>::type V;
  V mine = inclusive_scan(g, value, op);
  unsigned int last = (unsigned int)g.size() - 1u;
  V before{};
  if (g.thread_rank() == last) before = details::apply_by_exchange(to, mine, op);
  return op(g.shfl(before, last), mine);
}
template <class G, class A, class T>
__device__ __forceinline__ auto inclusive_scan_update(const G &g, A &to, T &&value)
    -> typename details::remove_qualifiers<T>::type {
  return inclusive_scan_update(g, to, value, plus<typename details::remove_qualifiers<T>::type>());
}
template <class G, class A, class T, class Op>
__device__ __forceinline__ auto exclusive_scan_update(const G &g, A &to, T &&value, Op &&op)
    -> typename details::remove_qualifiers<T>::type {
  typedef typename details::remove_qualifiers<T>::type V;
  V mine = inclusive_scan(g, value, op);
  unsigned int last = (unsigned int)g.size() - 1u;
  V before{};
  if (g.thread_rank() == last) before = details::apply_by_exchange(to, mine, op);
  before = g.shfl(before, last);
  V below = g.shfl_up(mine, 1u);
  return g.thread_rank() == 0 ? before : op(before, below);
}
template <class G, class A, class T>
__device__ __forceinline__ auto exclusive_scan_update(const G &g, A &to, T &&value)
    -> typename details::remove_qualifiers<T>::type {
  return exclusive_scan_update(g, to, value, plus<typename details::remove_qualifiers<T>::type>());
}
} // namespace cooperative_groups
#include "../margay/callers_end.h"
#endif
#endif
