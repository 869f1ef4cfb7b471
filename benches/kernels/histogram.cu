// SPDX-License-Identifier: MIT OR Apache-2.0
// 256 bins of bytes: atomics in shared memory, then one in global memory a bin and block.
#include "dialect.h"
KERNEL(256, 1) void histogram(GLOBAL const uchar *RESTRICT in, GLOBAL uint *RESTRICT bins, int n) {
    LOCAL uint local_bins[256];
    int lane = LOCAL_X;
    local_bins[lane] = 0;
    BARRIER();
    for (int i = GLOBAL_X; i < n; i += GLOBAL_SIZE_X) ATOMIC_ADD(&local_bins[in[i]], 1u);
    BARRIER();
    ATOMIC_ADD(&bins[lane], local_bins[lane]);
}
