// SPDX-License-Identifier: MIT OR Apache-2.0
// Least-significant-digit radix sort of 32-bit keys, four bits a pass. A block owns 4,096 keys: it counts
// them by digit; one block turns the counts into places; then each key goes to its place, in order.
#include "dialect.h"
KERNEL(256, 1) void radix_count(GLOBAL const uint *RESTRICT keys, GLOBAL uint *RESTRICT counts, int shift, int blocks) {
    LOCAL uint digits[16];
    int lane = LOCAL_X, first = GROUP_X * 4096;
    if (lane < 16) digits[lane] = 0;
    BARRIER();
    for (int i = lane; i < 4096; i += 256) ATOMIC_ADD(&digits[(keys[first + i] >> shift) & 15], 1u);
    BARRIER();
    if (lane < 16) counts[lane * blocks + GROUP_X] = digits[lane];
}
KERNEL(256, 1) void radix_places(GLOBAL uint *RESTRICT counts, int count) {
    LOCAL uint values[256];
    int lane = LOCAL_X, each = (count + 255) / 256;
    uint sum = 0;
    for (int i = 0; i < each; i++)
        if (lane * each + i < count) sum += counts[lane * each + i];
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
            uint own = counts[lane * each + i];
            counts[lane * each + i] = running;
            running += own;
        }
}
// A thread owns 16 neighbouring keys; a prefix sum over the threads' digit counts keeps the order.
KERNEL(256, 1) void radix_scatter(GLOBAL const uint *RESTRICT keys, GLOBAL uint *RESTRICT out, GLOBAL const uint *RESTRICT places, int shift, int blocks) {
    LOCAL uint tile[4096];
    LOCAL uint before[16 * 257];
    int lane = LOCAL_X, first = GROUP_X * 4096;
    for (int i = lane; i < 4096; i += 256) tile[i] = keys[first + i];
    for (int digit = 0; digit < 16; digit++) before[digit * 257 + lane] = 0;
    BARRIER();
    for (int i = 0; i < 16; i++) before[((tile[lane * 16 + i] >> shift) & 15) * 257 + lane]++;
    BARRIER();
    if (lane < 16) {
        uint running = places[lane * blocks + GROUP_X];
        for (int i = 0; i < 256; i++) {
            uint own = before[lane * 257 + i];
            before[lane * 257 + i] = running;
            running += own;
        }
    }
    BARRIER();
    for (int i = 0; i < 16; i++) {
        uint key = tile[lane * 16 + i];
        out[before[((key >> shift) & 15) * 257 + lane]++] = key;
    }
}
