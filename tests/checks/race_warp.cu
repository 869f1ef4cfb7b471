// SPDX-License-Identifier: MIT OR Apache-2.0
// Races within a warp: from compute capability 7.0 on its lanes are ordered by __syncwarp() only.
// check: race,sync
#include "corpus.h"

__global__ void exchange_bug(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[31 - threadIdx.x]; //~ race/read-write
}
__global__ void exchange_good(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = s[31 - threadIdx.x];
}

// The old warp-synchronous end of a reduction.
__global__ void tail_bug(int *out) {
    __shared__ volatile int s[64];
    s[threadIdx.x] = threadIdx.x;
    s[threadIdx.x + 32] = threadIdx.x;
    __syncwarp();
    int lane = threadIdx.x;
    int *plain = const_cast<int *>(s);
    plain[lane] += plain[lane + 32];
    if (lane < 16) plain[lane] += plain[lane + 16]; //~ race/read-write
    if (lane == 0) *out = plain[0];
}
__global__ void tail_good(int *out) {
    __shared__ int s[64];
    int lane = threadIdx.x;
    s[lane] = lane;
    s[lane + 32] = lane;
    __syncwarp();
    for (int half = 32; half > 0; half /= 2) {
        int v = lane < half ? s[lane] + s[lane + half] : 0;
        __syncwarp();
        if (lane < half) s[lane] = v;
        __syncwarp();
    }
    if (lane == 0) *out = s[0];
}

// A mask that leaves lanes out orders those it names.
__global__ void mask_bug(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16) {
        __syncwarp(0x0000ffff);
        out[threadIdx.x] = s[threadIdx.x + 16]; //~ race/read-write
    }
}
__global__ void mask_good(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16) {
        __syncwarp(0x0000ffff);
        out[threadIdx.x] = s[15 - threadIdx.x];
    }
}

// A shuffle moves registers; it orders no memory.
__global__ void shuffle_bug(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    int v = __shfl_xor_sync(~0u, threadIdx.x, 1);
    out[threadIdx.x] = s[threadIdx.x ^ 1] + v; //~ race/read-write
}
__global__ void shuffle_good(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    int v = __shfl_xor_sync(~0u, threadIdx.x, 1);
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1] + v;
}

// Lanes write one word in one instruction.
__global__ void one_word_bug(int *out) {
    *out = threadIdx.x; //~ race/write-write
}
__global__ void one_word_good(int *out) {
    if (threadIdx.x == 0) *out = threadIdx.x;
}

// Volatile accesses, as in the days when a warp ran in step.
__global__ void in_step_bug(int *out) {
    __shared__ int shared[64];
    volatile int *s = shared;
    int lane = threadIdx.x;
    s[lane] = lane;
    s[lane + 32] = lane;
    if (lane < 16) s[lane] += s[lane + 16]; //~ race/read-write
    if (lane == 0) *out = s[0];
}
// Each lane reads what it wrote itself.
__global__ void in_step_good(int *out) {
    __shared__ int shared[64];
    volatile int *s = shared;
    int lane = threadIdx.x;
    s[lane] = lane;
    s[lane] += s[lane];
    __syncwarp();
    if (lane == 0) *out = s[31];
}

// Groups of eight lanes that each meet by themselves, and one that reads what another group wrote.
__global__ void groups_bug(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncwarp(0xffu << (threadIdx.x & ~7));
    out[threadIdx.x] = s[31 - threadIdx.x]; //~ race/read-write
}
__global__ void groups_good(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncwarp(0xffu << (threadIdx.x & ~7));
    out[threadIdx.x] = s[threadIdx.x ^ 5];
}

int main() {
    int *out = zeros<int>(64);
    RUN(exchange_bug, 1, 32, out);
    RUN(exchange_good, 1, 32, out);
    RUN(tail_bug, 1, 32, out);
    RUN(tail_good, 1, 32, out);
    RUN(mask_bug, 1, 32, out);
    RUN(mask_good, 1, 32, out);
    RUN(shuffle_bug, 1, 32, out);
    RUN(shuffle_good, 1, 32, out);
    RUN(one_word_bug, 1, 32, out);
    RUN(one_word_good, 1, 32, out);
    RUN(in_step_bug, 1, 32, out);
    RUN(in_step_good, 1, 32, out);
    RUN(groups_bug, 1, 32, out);
    RUN(groups_good, 1, 32, out);
    cudaFree(out);
}
