// SPDX-License-Identifier: MIT OR Apache-2.0
// Inverses of many 4 x 4 matrices by Gauss-Jordan without pivoting (they are diagonally dominant), one thread
// a matrix; element (row, column) of matrix i lies at [(row * 4 + column) * n + i].
#include "dialect.h"
KERNEL(128, 1) void inverse(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, int n) {
    int i = GLOBAL_X;
    if (i >= n) return;
    float m[4][4], r[4][4];
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            m[row][column] = in[(row * 4 + column) * n + i];
            r[row][column] = row == column ? 1.0f : 0.0f;
        }
    for (int pivot = 0; pivot < 4; pivot++) {
        float scale = 1.0f / m[pivot][pivot];
        for (int column = 0; column < 4; column++) {
            m[pivot][column] *= scale;
            r[pivot][column] *= scale;
        }
        for (int row = 0; row < 4; row++) {
            if (row == pivot) continue;
            float factor = m[row][pivot];
            for (int column = 0; column < 4; column++) {
                m[row][column] -= factor * m[pivot][column];
                r[row][column] -= factor * r[pivot][column];
            }
        }
    }
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) out[(row * 4 + column) * n + i] = r[row][column];
}
