// SPDX-License-Identifier: MIT OR Apache-2.0
// Some blocks of a grid, or a warp, that synchronise by words of their own.
// check: race
#include "corpus.h"

// Two blocks read a word, meet, and one of them writes it; other blocks have words of their own.
__global__ void pairs_bug(int *x, int *met, int *out) {
    int pair = blockIdx.x / 2;
    int value = x[pair];
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&met[pair], 1);
    __syncthreads();
    __threadfence();
    if (blockIdx.x % 2 == 0 && threadIdx.x == 5) x[pair] = value + 1; //~ race/read-write
}
__global__ void pairs_good(int *x, int *met, int *out) {
    int pair = blockIdx.x / 2;
    int value = x[pair];
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&met[pair], 1);
        while (atomicAdd(&met[pair], 0) < 2) {}
    }
    __syncthreads();
    __threadfence();
    if (blockIdx.x % 2 == 0 && threadIdx.x == 5) x[pair] = value + 1;
}

// Blocks that run on and on, each of which waits for its neighbours alone.
__device__ void come(int *flags, int round) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(&flags[blockIdx.x], round);
}
__device__ void wait_for(int *flags, int block, int round) {
    if (threadIdx.x == 0) while (atomicAdd(&flags[block], 0) < round) {}
    __syncthreads();
    __threadfence();
}
__global__ void neighbours_bug(int *a, int *b, int *flags, int n) {
    for (int round = 1; round <= 6; round++) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int left = i > 0 ? a[i - 1] : 0, right = i < n - 1 ? a[i + 1] : 0; //~? race/read-write
        b[i] = left + a[i] + right; //~ race/read-write
        come(flags, round);
        // Who comes from the right is waited for by nobody.
        if (blockIdx.x > 0) wait_for(flags, blockIdx.x - 1, round);
        int *other = a;
        a = b, b = other;
    }
}
__global__ void neighbours_good(int *a, int *b, int *flags, int n) {
    for (int round = 1; round <= 6; round++) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int left = i > 0 ? a[i - 1] : 0, right = i < n - 1 ? a[i + 1] : 0;
        b[i] = left + a[i] + right;
        come(flags, round);
        if (blockIdx.x > 0) wait_for(flags, blockIdx.x - 1, round);
        if (blockIdx.x < gridDim.x - 1) wait_for(flags, blockIdx.x + 1, round);
        int *other = a;
        a = b, b = other;
    }
}

// One lane signals for its warp, each of whose lanes has fenced what it wrote.
__global__ void lane_signals_bug(int *data, int *flag, int *out) {
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        data[lane] = lane;
        __syncwarp();
        if (lane == 0) atomicExch(flag, 1);
    } else {
        if (lane == 0) while (atomicAdd(flag, 0) == 0) {}
        __syncwarp();
        __threadfence_block();
        out[lane] = data[31 - lane]; //~ race/read-write
    }
}
__global__ void lane_signals_good(int *data, int *flag, int *out) {
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        data[lane] = lane;
        __threadfence_block();
        __syncwarp();
        if (lane == 0) atomicExch(flag, 1);
    } else {
        if (lane == 0) while (atomicAdd(flag, 0) == 0) {}
        __syncwarp();
        __threadfence_block();
        out[lane] = data[31 - lane];
    }
}
// The fence is for its own block, and the warp that waits is of another.
__global__ void lane_signals_far_bug(int *data, int *flag, int *out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __threadfence_block();
        __syncwarp();
        if (threadIdx.x == 0) atomicExch(flag, 1);
    } else {
        if (threadIdx.x == 0) while (atomicAdd(flag, 0) == 0) {}
        __syncwarp();
        __threadfence();
        out[threadIdx.x] = data[31 - threadIdx.x]; //~ race/read-write
    }
}
__global__ void lane_signals_far_good(int *data, int *flag, int *out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __threadfence();
        __syncwarp();
        if (threadIdx.x == 0) atomicExch(flag, 1);
    } else {
        if (threadIdx.x == 0) while (atomicAdd(flag, 0) == 0) {}
        __syncwarp();
        __threadfence();
        out[threadIdx.x] = data[31 - threadIdx.x];
    }
}

int main() {
    int *a = zeros<int>(1024), *b = zeros<int>(1024), *c = zeros<int>(1024);
    auto clear = [&] { cudaMemset(a, 0, 4096), cudaMemset(b, 0, 4096), cudaMemset(c, 0, 4096); };
    RUN(pairs_bug, 8, 32, a, b, c);
    clear();
    RUN(pairs_good, 8, 32, a, b, c);
    clear();
    RUN(neighbours_bug, 8, 32, a, b, c, 256);
    clear();
    RUN(neighbours_good, 8, 32, a, b, c, 256);
    clear();
    RUN(lane_signals_bug, 1, 64, a, b, c);
    clear();
    RUN(lane_signals_good, 1, 64, a, b, c);
    clear();
    RUN(lane_signals_far_bug, 2, 32, a, b, c);
    clear();
    RUN(lane_signals_far_good, 2, 32, a, b, c);
    cudaFree(a), cudaFree(b), cudaFree(c);
}
