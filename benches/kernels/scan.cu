// SPDX-License-Identifier: MIT OR Apache-2.0
// Inclusive prefix sum in three launches: blocks, their sums, and the sums added back.
#include "dialect.h"
KERNEL(256, 1) void scan_blocks(GLOBAL const uint *RESTRICT in, GLOBAL uint *RESTRICT out, GLOBAL uint *RESTRICT sums) {
    LOCAL uint values[512];
    int lane = LOCAL_X, side = 0;
    values[lane] = in[GLOBAL_X];
    BARRIER();
    for (int distance = 1; distance < 256; distance *= 2) {
        int other = side ^ 256;
        uint value = values[side + lane];
        if (lane >= distance) value += values[side + lane - distance];
        values[other + lane] = value;
        side = other;
        BARRIER();
    }
    out[GLOBAL_X] = values[side + lane];
    if (lane == 255) sums[GROUP_X] = values[side + lane];
}
// One block turns the blocks' sums into what precedes each block.
KERNEL(256, 1) void scan_sums(GLOBAL uint *RESTRICT sums, int count) {
    LOCAL uint values[256];
    int lane = LOCAL_X, each = (count + 255) / 256;
    uint sum = 0;
    for (int i = 0; i < each; i++)
        if (lane * each + i < count) sum += sums[lane * each + i];
    values[lane] = sum;
    BARRIER();
    for (int distance = 1; distance < 256; distance *= 2) {
        uint before = lane >= distance ? values[lane - distance] : 0;
        BARRIER();
        values[lane] += before;
        BARRIER();
    }
    uint running = lane > 0 ? values[lane - 1] : 0;
    for (int i = 0; i < each; i++)
        if (lane * each + i < count) {
            uint own = sums[lane * each + i];
            sums[lane * each + i] = running;
            running += own;
        }
}
KERNEL(256, 1) void scan_add(GLOBAL uint *RESTRICT out, GLOBAL const uint *RESTRICT sums) { out[GLOBAL_X] += sums[GROUP_X]; }
