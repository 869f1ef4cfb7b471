// SPDX-License-Identifier: MIT OR Apache-2.0
// nvcuda::experimental::awbarrier: the first form of cuda::barrier<thread_scope_block>.
#ifndef MARGAY_CUDA_AWBARRIER_H
#define MARGAY_CUDA_AWBARRIER_H
#include "cuda/barrier"
#include "cuda_awbarrier_primitives.h"
#if defined(MARGAY_CUDA_PASS)
#include "margay/callers_begin.h"
namespace nvcuda {
namespace experimental {
class awbarrier {
  cuda::barrier<cuda::thread_scope_block> inner;

public:
  typedef cuda::barrier<cuda::thread_scope_block>::arrival_token arrival_token;
  awbarrier() = default;
  awbarrier(const awbarrier &) = delete;
  awbarrier &operator=(const awbarrier &) = delete;
  static constexpr __host__ __device__ unsigned int max() { return (1u << 20) - 1u; }
  __device__ __forceinline__ void start(unsigned int expected) { init(&inner, expected); }
  __device__ __forceinline__ arrival_token arrive() { return inner.arrive(); }
  __device__ __forceinline__ bool timed_wait(arrival_token token, unsigned int) {
    return inner.is_over(token);
  }
  __device__ __forceinline__ void wait(arrival_token token) {
    inner.wait(static_cast<arrival_token &&>(token));
  }
  __device__ __forceinline__ void arrive_and_wait() { inner.arrive_and_wait(); }
};
static __device__ __forceinline__ void init(awbarrier *b, unsigned int expected) {
  b->start(expected);
}
} // namespace experimental
} // namespace nvcuda
#include "margay/callers_end.h"
#endif
#endif
