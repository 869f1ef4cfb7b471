// SPDX-License-Identifier: MIT OR Apache-2.0
// The part of the runtime API that a generator cannot know: inline helpers of the C API, and what
// clang's kernel stubs call.
#ifndef MARGAY_RUNTIME_EXTRA_H
#define MARGAY_RUNTIME_EXTRA_H
#include <stddef.h>

#if defined(__cplusplus)
// `f<<<grid, block, shared, stream>>>` becomes a call of this, with the defaults from here.
extern "C" __host__ __device__ unsigned int
__cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem = 0, void *stream = 0);
#if defined(MARGAY_CUDA_PASS)
// With -default-stream per-thread clang's stubs call this one.
extern "C" cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 gridDim, dim3 blockDim,
                                             void **args, size_t sharedMem, cudaStream_t stream);
#endif
#endif

static __inline__ __host__ struct cudaPitchedPtr make_cudaPitchedPtr(void *d, size_t p, size_t xsz,
                                                                     size_t ysz) {
  struct cudaPitchedPtr s;
  s.ptr = d;
  s.pitch = p;
  s.xsize = xsz;
  s.ysize = ysz;
  return s;
}
static __inline__ __host__ struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  struct cudaPos p;
  p.x = x;
  p.y = y;
  p.z = z;
  return p;
}
static __inline__ __host__ struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) {
  struct cudaExtent e;
  e.width = w;
  e.height = h;
  e.depth = d;
  return e;
}

#endif
