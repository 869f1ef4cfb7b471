// SPDX-License-Identifier: MIT OR Apache-2.0
// y = a x + y: two streams in, one out.
#include "dialect.h"
KERNEL(256, 1) void saxpy(GLOBAL const float *RESTRICT x, GLOBAL float *RESTRICT y, float a, int n) {
    int i = GLOBAL_X;
    if (i < n) y[i] = a * x[i] + y[i];
}
