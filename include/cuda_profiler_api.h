// SPDX-License-Identifier: MIT OR Apache-2.0
// Profiler control of the runtime API.
#ifndef MARGAY_CUDA_PROFILER_API_H
#define MARGAY_CUDA_PROFILER_API_H
#include "cuda_runtime_api.h"
#if defined(__cplusplus)
extern "C" {
#endif
cudaError_t CUDARTAPI cudaProfilerStart(void);
cudaError_t CUDARTAPI cudaProfilerStop(void);
#if defined(__cplusplus)
}
#endif
#endif
