// SPDX-License-Identifier: MIT OR Apache-2.0
// The surface functions: cuda_runtime.h has them.
#include "cuda_runtime.h"
