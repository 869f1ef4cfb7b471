// SPDX-License-Identifier: MIT OR Apache-2.0
// Iterations until escape: the trip count differs from lane to lane.
#include "dialect.h"
KERNEL(256, 1) void mandelbrot(GLOBAL int *RESTRICT out, int side, int limit) {
    int i = GLOBAL_X;
    if (i >= side * side) return;
    float cx = -2.0f + 3.0f * (i % side) / side, cy = -1.5f + 3.0f * (i / side) / side;
    float x = 0, y = 0;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        count++;
    }
    out[i] = count;
}
