// SPDX-License-Identifier: MIT OR Apache-2.0
// C = A B, one thread an element, straight from global memory.
#include "dialect.h"
KERNEL(16, 16) void matmul_naive(GLOBAL const float *RESTRICT a, GLOBAL const float *RESTRICT b, GLOBAL float *RESTRICT c, int n) {
    int column = GLOBAL_X, row = GLOBAL_Y;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
