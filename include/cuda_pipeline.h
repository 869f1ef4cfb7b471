// SPDX-License-Identifier: MIT OR Apache-2.0
// nvcuda::experimental::pipeline: the first form of a thread's pipeline; programs also include this header
// for the primitives.
#ifndef MARGAY_CUDA_PIPELINE_H
#define MARGAY_CUDA_PIPELINE_H
#include "cuda_pipeline_primitives.h"
#if defined(MARGAY_CUDA_PASS)
#include "margay/callers_begin.h"
namespace nvcuda {
namespace experimental {
class pipeline {
  size_t stage;

public:
  __device__ __forceinline__ pipeline() : stage(0) {}
  pipeline(const pipeline &) = delete;
  pipeline &operator=(const pipeline &) = delete;
  // The number of the stage that is committed.
  __device__ __forceinline__ size_t commit() {
    __pipeline_commit();
    return stage++;
  }
  __device__ __forceinline__ void commit_and_wait() {
    commit();
    __pipeline_wait_prior(0);
  }
  // Waiting for all is waiting for that stage too.
  __device__ __forceinline__ void wait(size_t) { __pipeline_wait_prior(0); }
  template <unsigned int N> __device__ __forceinline__ void wait_prior() {
    __pipeline_wait_prior(N);
  }
};
template <class T>
__device__ __forceinline__ void memcpy_async(T &dst, const T &src, pipeline &) {
  cuda::details::copy_share(&dst, &src, sizeof(T), 0, 1);
}
} // namespace experimental
} // namespace nvcuda
#include "margay/callers_end.h"
#endif
#endif
