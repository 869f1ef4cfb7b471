// SPDX-License-Identifier: MIT OR Apache-2.0
// cooperative_groups::memcpy_async: the group's threads copy together; the copy is complete at the latest
// at wait(). Here it completes at once, which the interface allows.
#ifndef MARGAY_CG_MEMCPY_ASYNC_H
#define MARGAY_CG_MEMCPY_ASYNC_H
#include "../cooperative_groups.h"
#if defined(MARGAY_CUDA_PASS)
namespace cooperative_groups {
template <class G, class T>
__device__ __forceinline__ void memcpy_async(const G &g, T *dst, const T *src, size_t bytes) {
  unsigned int rank = (unsigned int)g.thread_rank(), count = (unsigned int)g.size();
  size_t whole = bytes / sizeof(T);
  for (size_t i = rank; i < whole; i += count) dst[i] = src[i];
  size_t done = whole * sizeof(T);
  for (size_t i = done + rank; i < bytes; i += count) ((char *)dst)[i] = ((const char *)src)[i];
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
template <class G> __device__ __forceinline__ void wait(const G &g) { g.sync(); }
template <unsigned int Pending, class G> __device__ __forceinline__ void wait_prior(const G &g) {
  g.sync();
}
} // namespace cooperative_groups
#endif
#endif
