// SPDX-License-Identifier: MIT OR Apache-2.0
// cudaProfilerStart and cudaProfilerStop are declared with the rest of the runtime API.
#ifndef MARGAY_CUDA_PROFILER_API_H
#define MARGAY_CUDA_PROFILER_API_H
#include "cuda_runtime_api.h"
#endif
