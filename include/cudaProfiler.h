// SPDX-License-Identifier: MIT OR Apache-2.0
// Profiler control of the driver API: declared in cuda.h.
#include "cuda.h"
