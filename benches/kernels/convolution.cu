// SPDX-License-Identifier: MIT OR Apache-2.0
// 5 x 5 convolution of an image whose border of two pixels is left alone; weights in constant memory.
#include "dialect.h"
CONSTANT_DATA float weights[25] = {1 / 256.f, 4 / 256.f, 6 / 256.f, 4 / 256.f, 1 / 256.f, 4 / 256.f, 16 / 256.f, 24 / 256.f, 16 / 256.f,
                                   4 / 256.f, 6 / 256.f, 24 / 256.f, 36 / 256.f, 24 / 256.f, 6 / 256.f, 4 / 256.f, 16 / 256.f, 24 / 256.f,
                                   16 / 256.f, 4 / 256.f, 1 / 256.f, 4 / 256.f, 6 / 256.f, 4 / 256.f, 1 / 256.f};
KERNEL(32, 8) void convolution(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, int n) {
    int x = GLOBAL_X, y = GLOBAL_Y;
    if (x < 2 || y < 2 || x >= n - 2 || y >= n - 2) return;
    float sum = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) sum += weights[(dy + 2) * 5 + dx + 2] * in[(y + dy) * n + x + dx];
    out[y * n + x] = sum;
}
