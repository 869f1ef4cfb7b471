// SPDX-License-Identifier: MIT OR Apache-2.0
// y = A x, A in compressed rows of uneven length, one thread a row.
#include "dialect.h"
KERNEL(256, 1) void spmv(GLOBAL const int *RESTRICT starts, GLOBAL const int *RESTRICT columns, GLOBAL const float *RESTRICT values,
                         GLOBAL const float *RESTRICT x, GLOBAL float *RESTRICT y, int rows) {
    int row = GLOBAL_X;
    if (row >= rows) return;
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}
