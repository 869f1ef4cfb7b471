// SPDX-License-Identifier: MIT OR Apache-2.0
// cooperative_groups::memcpy_async: the group's threads copy together, with `cp.async` where the hardware has
// it and the copy goes from global to shared memory; the copy is complete at the latest at wait().
#ifndef MARGAY_CG_MEMCPY_ASYNC_H
#define MARGAY_CG_MEMCPY_ASYNC_H
#include "../cooperative_groups.h"
#include "../margay/async_copy.h"
#if defined(MARGAY_CUDA_PASS)
#include "../margay/callers_begin.h"
namespace cooperative_groups {
template <class G, class T>
__device__ __forceinline__ void memcpy_async(const G &g, T *dst, const T *src, size_t bytes) {
  cuda::details::copy_share((void *)dst, (const void *)src, bytes, (unsigned int)g.thread_rank(),
                            (unsigned int)g.size());
  // Each call is a group of its own, which wait_prior counts.
  cuda::details::copies_commit();
}
template <class G>
__device__ __forceinline__ void memcpy_async(const G &g, void *dst, const void *src, size_t bytes) {
  memcpy_async(g, (char *)dst, (const char *)src, bytes);
}
template <class G, class D, class S>
__device__ __forceinline__ void memcpy_async(const G &g, D *dst, size_t dst_count, const S *src,
                                             size_t src_count) {
  size_t bytes = dst_count * sizeof(D), source = src_count * sizeof(S);
  memcpy_async(g, (char *)dst, (const char *)src, bytes < source ? bytes : source);
}
template <class G> __device__ __forceinline__ void wait(const G &g) {
  cuda::details::copies_wait_all();
  g.sync();
}
template <unsigned int Pending, class G> __device__ __forceinline__ void wait_prior(const G &g) {
  cuda::details::copies_wait_prior<Pending>();
  g.sync();
}
} // namespace cooperative_groups
#include "../margay/callers_end.h"
#endif
#endif
