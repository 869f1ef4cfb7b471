// SPDX-License-Identifier: MIT OR Apache-2.0
// C = A B through 16 x 16 tiles in shared memory.
#include "dialect.h"
KERNEL(16, 16) void matmul_tile16(GLOBAL const float *RESTRICT a, GLOBAL const float *RESTRICT b, GLOBAL float *RESTRICT c, int n) {
    LOCAL float as[16][16];
    LOCAL float bs[16][16];
    int x = LOCAL_X, y = LOCAL_Y, row = GROUP_Y * 16 + y, column = GROUP_X * 16 + x;
    float sum = 0;
    for (int tile = 0; tile < n / 16; tile++) {
        as[y][x] = a[row * n + tile * 16 + x];
        bs[y][x] = b[(tile * 16 + y) * n + column];
        BARRIER();
        for (int k = 0; k < 16; k++) sum += as[y][k] * bs[k][x];
        BARRIER();
    }
    c[row * n + column] = sum;
}
