// SPDX-License-Identifier: MIT OR Apache-2.0
// The texture functions: cuda_runtime.h has them.
#include "cuda_runtime.h"
