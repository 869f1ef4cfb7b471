// SPDX-License-Identifier: MIT OR Apache-2.0
// Five-point stencil on a square, borders left as they are.
#include "dialect.h"
KERNEL(32, 8) void stencil2d(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, int n) {
    int x = GLOBAL_X, y = GLOBAL_Y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = 0.5f * in[y * n + x] +
                         0.125f * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}
