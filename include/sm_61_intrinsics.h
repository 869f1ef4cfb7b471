// SPDX-License-Identifier: MIT OR Apache-2.0
// All of this is in cuda_runtime.h; the name exists for programs that include it.
#include "cuda_runtime.h"
