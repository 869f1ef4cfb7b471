// SPDX-License-Identifier: MIT OR Apache-2.0
// Sum: strided partial sums, then a tree in shared memory, one partial result a block.
#include "dialect.h"
KERNEL(256, 1) void reduction(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, int n) {
    LOCAL float partial[256];
    int lane = LOCAL_X;
    float sum = 0;
    for (int i = GLOBAL_X; i < n; i += GLOBAL_SIZE_X) sum += in[i];
    partial[lane] = sum;
    BARRIER();
    for (int half_of = 128; half_of > 0; half_of /= 2) {
        if (lane < half_of) partial[lane] += partial[lane + half_of];
        BARRIER();
    }
    if (lane == 0) out[GROUP_X] = partial[0];
}
