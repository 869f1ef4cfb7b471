// SPDX-License-Identifier: MIT OR Apache-2.0
// Bitonic sort of each block's 512 keys in shared memory.
#include "dialect.h"
KERNEL(256, 1) void bitonic_sort(GLOBAL uint *RESTRICT keys) {
    LOCAL uint tile[512];
    int lane = LOCAL_X, first = GROUP_X * 512;
    tile[lane] = keys[first + lane];
    tile[lane + 256] = keys[first + lane + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int distance = size / 2; distance > 0; distance /= 2) {
            BARRIER();
            int low = 2 * lane - (lane & (distance - 1)), high = low + distance;
            uint a = tile[low], b = tile[high];
            int descending = (low & size) != 0;
            if ((a > b) != descending) {
                tile[low] = b;
                tile[high] = a;
            }
        }
    BARRIER();
    keys[first + lane] = tile[lane];
    keys[first + lane + 256] = tile[lane + 256];
}
