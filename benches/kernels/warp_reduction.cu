// SPDX-License-Identifier: MIT OR Apache-2.0
// Sum of each block's elements: by shuffles in CUDA, by local memory in OpenCL.
#include "dialect.h"
KERNEL(256, 1) void warp_reduction(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, int n) {
    int lane = LOCAL_X;
    float sum = 0;
    for (int i = GLOBAL_X; i < n; i += GLOBAL_SIZE_X) sum += in[i];
#ifdef __OPENCL_C_VERSION__
    LOCAL float partial[256];
    partial[lane] = sum;
    BARRIER();
    for (int half_of = 128; half_of > 0; half_of /= 2) {
        if (lane < half_of) partial[lane] += partial[lane + half_of];
        BARRIER();
    }
    if (lane == 0) out[GROUP_X] = partial[0];
#else
    LOCAL float partial[8];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane % 32 == 0) partial[lane / 32] = sum;
    BARRIER();
    if (lane < 32) {
        sum = lane < 8 ? partial[lane] : 0.0f;
        for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane == 0) out[GROUP_X] = sum;
    }
#endif
}
