// SPDX-License-Identifier: MIT OR Apache-2.0
// Copies by the threads of a group, asynchronous where the hardware has `cp.async` (compute capability
// 8.0) and the copy goes from global to shared memory.
//
// Invariant: bytes that no 4-byte unit covers are copied at once, which completion allows for.
#ifndef MARGAY_ASYNC_COPY_H
#define MARGAY_ASYNC_COPY_H
#include "../cuda_runtime.h"
#include <cstddef>
#include <cstdint>
#if defined(MARGAY_CUDA_PASS)
#include "letters_begin.h"
#include "callers_begin.h"
namespace cuda {
namespace details {
// The unit in which both sides and the length are whole: 16, 8, 4 or 1 bytes.
static __device__ __forceinline__ unsigned int copy_unit(const void *dst, const void *src,
                                                         size_t bytes) {
  uintptr_t all = (uintptr_t)dst | (uintptr_t)src | (uintptr_t)bytes;
  return all % 16 == 0 ? 16u : all % 8 == 0 ? 8u : all % 4 == 0 ? 4u : 1u;
}
template <class U>
static __device__ __forceinline__ void copy_units(void *dst, const void *src, size_t bytes,
                                                  unsigned int rank, unsigned int count) {
  for (size_t i = rank; i < bytes / sizeof(U); i += count) ((U *)dst)[i] = ((const U *)src)[i];
}
// This thread's share of a copy. True if some of it is asynchronous.
static __device__ __forceinline__ bool copy_share(void *dst, const void *src, size_t bytes,
                                                  unsigned int rank, unsigned int count) {
  unsigned int unit = copy_unit(dst, src, bytes);
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 800
  if (unit >= 4 && __isShared(dst) && __isGlobal(src)) {
    unsigned int to = (unsigned int)__cvta_generic_to_shared(dst);
    size_t from = __cvta_generic_to_global(src);
    for (size_t i = (size_t)rank * unit; i < bytes; i += (size_t)count * unit) {
      if (unit == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + (unsigned int)i),
                     "l"(from + i)
                     : "memory");
      else if (unit == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to + (unsigned int)i),
                     "l"(from + i)
                     : "memory");
      else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + (unsigned int)i),
                     "l"(from + i)
                     : "memory");
    }
    return true;
  }
#endif
  if (unit == 16)
    copy_units<uint4>(dst, src, bytes, rank, count);
  else if (unit == 8)
    copy_units<uint2>(dst, src, bytes, rank, count);
  else if (unit == 4)
    copy_units<unsigned int>(dst, src, bytes, rank, count);
  else
    copy_units<unsigned char>(dst, src, bytes, rank, count);
  return false;
}
static __device__ __forceinline__ void copies_commit() {
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <unsigned int Pending> static __device__ __forceinline__ void copies_wait_prior() {
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}
static __device__ __forceinline__ void copies_wait_all() {
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
} // namespace details
} // namespace cuda
#include "callers_end.h"
#include "letters_end.h"
#endif
#endif
