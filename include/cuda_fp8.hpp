// SPDX-License-Identifier: MIT OR Apache-2.0
// All of it is in cuda_fp8.h.
#include "cuda_fp8.h"
