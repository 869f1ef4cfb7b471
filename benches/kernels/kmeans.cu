// SPDX-License-Identifier: MIT OR Apache-2.0
// The nearest of 16 centres for points of 4 coordinates, stored by coordinate; centres in shared memory.
#include "dialect.h"
KERNEL(256, 1) void kmeans(GLOBAL const float *RESTRICT points, GLOBAL const float *RESTRICT centres, GLOBAL int *RESTRICT nearest, int n) {
    LOCAL float shared_centres[64];
    int i = GLOBAL_X;
    if (LOCAL_X < 64) shared_centres[LOCAL_X] = centres[LOCAL_X];
    BARRIER();
    if (i >= n) return;
    float a = points[i], b = points[n + i], c = points[2 * n + i], d = points[3 * n + i], best = 1e30f;
    int which = 0;
    for (int k = 0; k < 16; k++) {
        float da = a - shared_centres[k * 4], db = b - shared_centres[k * 4 + 1];
        float dc = c - shared_centres[k * 4 + 2], dd = d - shared_centres[k * 4 + 3];
        float distance = da * da + db * db + dc * dc + dd * dd;
        if (distance < best) {
            best = distance;
            which = k;
        }
    }
    nearest[i] = which;
}
