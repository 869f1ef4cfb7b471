// SPDX-License-Identifier: MIT OR Apache-2.0
// Patterns of larger programs, each with the race that they are known for.
// check: race
#include "corpus.h"

// Matrix product by tiles: the next tile is loaded while others still read the last.
__global__ void tiles_bug(const float *a, const float *b, float *c) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
    for (int t = 0; t < 2; t++) {
        ta[y][x] = a[y * 32 + t * 16 + x]; //~ race/read-write
        tb[y][x] = b[(t * 16 + y) * 16 + x]; //~? race/read-write
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += ta[y][k] * tb[k][x];
    }
    c[y * 16 + x] = sum;
}
__global__ void tiles_good(const float *a, const float *b, float *c) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
    for (int t = 0; t < 2; t++) {
        ta[y][x] = a[y * 32 + t * 16 + x];
        tb[y][x] = b[(t * 16 + y) * 16 + x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    c[y * 16 + x] = sum;
}

// Compaction: each thread takes a place by a counter that is not atomic.
__global__ void compact_bug(const int *in, int *out, int *count) {
    if (in[threadIdx.x] & 1) {
        int at = *count;
        *count = at + 1; //~ race/write-write race/read-write race/same-value
        out[at] = in[threadIdx.x]; //~? race/write-write race/same-value
    }
}
__global__ void compact_good(const int *in, int *out, int *count) {
    if (in[threadIdx.x] & 1) out[atomicAdd(count, 1)] = in[threadIdx.x];
}

// A scan in one buffer.
__global__ void scan_bug(int *p) {
    __shared__ int s[128];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (threadIdx.x >= d) s[threadIdx.x] += s[threadIdx.x - d]; //~ race/read-write
        __syncthreads();
    }
    p[threadIdx.x] = s[threadIdx.x];
}
__global__ void scan_good(int *p) {
    __shared__ int s[128];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int add = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
        __syncthreads();
        s[threadIdx.x] += add;
        __syncthreads();
    }
    p[threadIdx.x] = s[threadIdx.x];
}

// A block broadcasts a value that one thread fetched.
__global__ void broadcast_bug(const int *in, int *out) {
    __shared__ int value;
    if (threadIdx.x == 0) value = in[blockIdx.x];
    out[blockIdx.x * 64 + threadIdx.x] = value; //~ race/read-write
}
__global__ void broadcast_good(const int *in, int *out) {
    __shared__ int value;
    if (threadIdx.x == 0) value = in[blockIdx.x];
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = value;
}

// Work taken from a list: the item is read by all after one has moved on.
__global__ void worklist_bug(int *next, int *out) {
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(next, 1); //~ race/read-write
        __syncthreads();
        if (item >= 4) break;
        out[item * 64 + threadIdx.x] = item;
    }
}
__global__ void worklist_good(int *next, int *out) {
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(next, 1);
        __syncthreads();
        if (item >= 4) break;
        out[item * 64 + threadIdx.x] = item;
        __syncthreads();
    }
}

// Neighbouring blocks share the elements of their border.
__global__ void border_bug(float *p) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i > 0) p[i] = 0.5f * (p[i] + p[i - 1]); //~ race/read-write
}
__global__ void border_good(const float *p, float *q) {
    int i = blockIdx.x * 32 + threadIdx.x;
    q[i] = i > 0 ? 0.5f * (p[i] + p[i - 1]) : p[i];
}

// Breadth-first search: the frontier's marks are read while others set them, with different values.
__global__ void levels_bug(int *level) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (level[i / 2] < 100) level[i] = level[i / 2] + i; //~ race/read-write
}
__global__ void levels_good(const int *before, int *level) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (before[i / 2] < 100) level[i] = before[i / 2] + i;
}

// A maximum by comparing and storing.
__global__ void maximum_bug(const int *in, int *best) {
    int v = in[threadIdx.x];
    if (v > *best) *best = v; //~ race/write-write race/read-write
}
__global__ void maximum_good(const int *in, int *best) {
    atomicMax(best, in[threadIdx.x]);
}

// A ticket that is published with a fence of the block, for another block.
__global__ void publish_bug(int *data, int *flag, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence_block();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data; //~ race/read-write
    }
}
__global__ void publish_good(int *data, int *flag, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data;
    }
}

// A flag with no fence at all.
__global__ void unfenced_bug(int *data, int *flag, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        *data = 42; //~? race/read-write
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        *out = *data; //~ race/read-write
    }
}

int main() {
    auto ints = [] { return zeros<int>(4096); };
    auto floats = [] { return zeros<float>(4096); };
    if (wanted("tiles_bug")) tiles_bug<<<1, dim3(16, 16)>>>(floats(), floats(), floats());
    if (wanted("tiles_good")) tiles_good<<<1, dim3(16, 16)>>>(floats(), floats(), floats());
    int odd[64];
    for (int i = 0; i < 64; i++) odd[i] = 2 * i + 1;
    int *list = ints();
    cudaMemcpy(list, odd, sizeof odd, cudaMemcpyHostToDevice);
    RUN(compact_bug, 1, 64, list, ints(), ints());
    RUN(compact_good, 1, 64, list, ints(), ints());
    RUN(scan_bug, 1, 128, ints());
    RUN(scan_good, 1, 128, ints());
    RUN(broadcast_bug, 2, 64, ints(), ints());
    RUN(broadcast_good, 2, 64, ints(), ints());
    RUN(worklist_bug, 1, 64, ints(), ints());
    RUN(worklist_good, 1, 64, ints(), ints());
    RUN(border_bug, 4, 32, floats());
    RUN(border_good, 4, 32, floats(), floats());
    RUN(levels_bug, 4, 32, ints());
    RUN(levels_good, 4, 32, ints(), ints());
    RUN(maximum_bug, 1, 64, list, ints());
    RUN(maximum_good, 1, 64, list, ints());
    RUN(publish_bug, 2, 32, ints(), ints(), ints());
    RUN(publish_good, 2, 32, ints(), ints(), ints());
    RUN(unfenced_bug, 2, 32, ints(), ints(), ints());
    return 0;
}
