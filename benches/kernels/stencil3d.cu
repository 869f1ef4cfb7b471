// SPDX-License-Identifier: MIT OR Apache-2.0
// Seven-point stencil in a cube; a thread walks a column of it and keeps three planes in registers.
#include "dialect.h"
KERNEL(32, 8) void stencil3d(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, int n) {
    int x = GLOBAL_X, y = GLOBAL_Y;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return;
    int plane = n * n, at = y * n + x;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < n - 1; z++) {
        at += plane;
        float above = in[at + plane];
        out[at] = 0.4f * here + 0.1f * (below + above + in[at - 1] + in[at + 1] + in[at - n] + in[at + n]);
        below = here;
        here = above;
    }
}
