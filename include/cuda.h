// SPDX-License-Identifier: MIT OR Apache-2.0
// The CUDA driver API. Types and prototypes are generated when margay is built
// (crates/margay-abi-gen, found as the next cuda.h on the include path).
#ifndef MARGAY_DRIVER_API_H
#define MARGAY_DRIVER_API_H
#include_next <cuda.h>

#if defined(__cplusplus) && MARGAY_CUDA_VERSION >= 12050 && MARGAY_CUDA_VERSION < 13000
// CUDA 13's parameters of cuCtxCreate, for programs written to it.
#undef cuCtxCreate
static inline CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device) {
  return ::cuCtxCreate_v2(context, flags, device);
}
static inline CUresult cuCtxCreate(CUcontext *context, CUctxCreateParams *params,
                                   unsigned int flags, CUdevice device) {
  return ::cuCtxCreate_v4(context, params, flags, device);
}
#endif

#endif
