// SPDX-License-Identifier: MIT OR Apache-2.0
// CUDA C++: the language's words, the device functions and the runtime API. `margay cc`
// force-includes this file in front of every .cu source, as nvcc does with its own.
//
// Invariant: needs only clang's resource headers and the C++ library. Where clang's headers
// (`__clang_cuda_*.h`) supply a function it is theirs; the rest is in margay/*.h.
#ifndef MARGAY_CUDA_RUNTIME_H
#define MARGAY_CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__

#include "margay/version.h"
#include "margay/letters_begin.h"
#include "margay/qualifiers.h"

#if defined(MARGAY_CUDA_PASS)
// clang's `new` calls them, and from C++20 on the library includes it early.
extern "C" {
__device__ void free(void *) __attribute__((nothrow));
__device__ void *malloc(__SIZE_TYPE__) __attribute__((nothrow)) __attribute__((malloc));
}
#include <__clang_cuda_math_forward_declares.h>
#include <assert.h>
#include <cmath>
#include <cstdlib>
#include <limits.h>
#include <limits>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>
#endif

#include "vector_types.h"
#include "vector_functions.h"
#include "cuda_runtime_api.h"

#if defined(MARGAY_CUDA_PASS)
#include "margay/callers_begin.h"
#include "margay/device.h"
#include "margay/callers_end.h"
#endif

#if defined(__cplusplus)
#include "margay/runtime_templates.h"
#endif
#include "margay/letters_end.h"

#endif
