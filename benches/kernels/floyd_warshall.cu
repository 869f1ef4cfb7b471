// SPDX-License-Identifier: MIT OR Apache-2.0
// All shortest paths: one launch a pivot.
#include "dialect.h"
KERNEL(32, 8) void floyd_warshall(GLOBAL float *distance, int n, int pivot) {
    int x = GLOBAL_X, y = GLOBAL_Y;
    float through = distance[y * n + pivot] + distance[pivot * n + x];
    if (through < distance[y * n + x]) distance[y * n + x] = through;
}
