// SPDX-License-Identifier: MIT OR Apache-2.0
// The C interface of a thread's asynchronous copies (CUDA C++ Programming Guide, "Pipeline Primitives
// Interface").
#ifndef MARGAY_CUDA_PIPELINE_PRIMITIVES_H
#define MARGAY_CUDA_PIPELINE_PRIMITIVES_H
#include "cuda_awbarrier_primitives.h"
#include "margay/async_copy.h"
#if defined(MARGAY_CUDA_PASS)
#include "margay/callers_begin.h"
// The last `zfill` of `bytes` are filled with zeros instead of copied.
static __device__ __forceinline__ void __pipeline_memcpy_async(void *dst, const void *src,
                                                               size_t bytes, size_t zfill = 0) {
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 800
  if (__isShared(dst) && __isGlobal(src)) {
    unsigned int to = (unsigned int)__cvta_generic_to_shared(dst);
    size_t from = __cvta_generic_to_global(src);
    unsigned int read = (unsigned int)(bytes - zfill);
    if (bytes == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read)
                   : "memory");
    else if (bytes == 8)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(read)
                   : "memory");
    else if (bytes == 4)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(read)
                   : "memory");
    else
      __trap();
    return;
  }
#endif
  // The function takes 4, 8 and 16 bytes only.
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zfill > bytes) __trap();
  for (size_t i = 0; i < bytes; ++i)
    ((char *)dst)[i] = i < bytes - zfill ? ((const char *)src)[i] : 0;
}
static __device__ __forceinline__ void __pipeline_commit() { cuda::details::copies_commit(); }
// A macro, since the instruction takes a constant.
#define __pipeline_wait_prior(N) (cuda::details::copies_wait_prior<(N)>())
static __device__ __forceinline__ void __pipeline_arrive_on(__mbarrier_t *b) {
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 800
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(
                   (unsigned int)__cvta_generic_to_shared(b))
               : "memory");
#else
  (void)b;
#endif
}
#include "margay/callers_end.h"
#endif
#endif
