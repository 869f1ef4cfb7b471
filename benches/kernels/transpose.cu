// SPDX-License-Identifier: MIT OR Apache-2.0
// Out-of-place transpose through a padded 32 x 33 tile.
#include "dialect.h"
KERNEL(32, 8) void transpose(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, int n) {
    LOCAL float tile[32][33];
    int bx = GROUP_X * 32, by = GROUP_Y * 32, x = LOCAL_X, y = LOCAL_Y;
    for (int j = 0; j < 32; j += 8) tile[y + j][x] = in[(by + y + j) * n + bx + x];
    BARRIER();
    for (int j = 0; j < 32; j += 8) out[(bx + y + j) * n + by + x] = tile[x][y + j];
}
