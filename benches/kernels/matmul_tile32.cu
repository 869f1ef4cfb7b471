// SPDX-License-Identifier: MIT OR Apache-2.0
// C = A B through 32 x 32 tiles in shared memory.
#include "dialect.h"
KERNEL(32, 32) void matmul_tile32(GLOBAL const float *RESTRICT a, GLOBAL const float *RESTRICT b, GLOBAL float *RESTRICT c, int n) {
    LOCAL float as[32][32];
    LOCAL float bs[32][32];
    int x = LOCAL_X, y = LOCAL_Y, row = GROUP_Y * 32 + y, column = GROUP_X * 32 + x;
    float sum = 0;
    for (int tile = 0; tile < n / 32; tile++) {
        as[y][x] = a[row * n + tile * 32 + x];
        bs[y][x] = b[(tile * 32 + y) * n + column];
        BARRIER();
        for (int k = 0; k < 32; k++) sum += as[y][k] * bs[k][x];
        BARRIER();
    }
    c[row * n + column] = sum;
}
