// SPDX-License-Identifier: MIT OR Apache-2.0
// Keeps the positive elements, in order within a block: the block's piece of the output begins at block * 256,
// and its length goes to `kept`. CUDA counts by ballot, OpenCL (which has none) by a prefix sum.
#include "dialect.h"
KERNEL(256, 1) void compaction(GLOBAL const int *RESTRICT in, GLOBAL int *RESTRICT out, GLOBAL int *RESTRICT kept) {
    int lane = LOCAL_X, value = in[GLOBAL_X], keep = value > 0;
#ifdef __OPENCL_C_VERSION__
    LOCAL int places[256];
    places[lane] = keep;
    BARRIER();
    for (int distance = 1; distance < 256; distance *= 2) {
        int before = lane >= distance ? places[lane - distance] : 0;
        BARRIER();
        places[lane] += before;
        BARRIER();
    }
    int place = places[lane] - keep, total = places[255];
#else
    LOCAL int counts[8];
    uint votes = __ballot_sync(0xffffffffu, keep);
    int warp = lane / 32, place = __popc(votes & ((1u << (lane % 32)) - 1)), total = 0;
    if (lane % 32 == 0) counts[warp] = __popc(votes);
    BARRIER();
    for (int i = 0; i < 8; i++) {
        if (i < warp) place += counts[i];
        total += counts[i];
    }
#endif
    if (keep) out[GROUP_X * 256 + place] = value;
    if (lane == 0) kept[GROUP_X] = total;
}
