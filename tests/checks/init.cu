// SPDX-License-Identifier: MIT OR Apache-2.0
// Values that were never written.
// check: init
#include "corpus.h"

struct Padded {
    char tag;
    double value;
};

// Global memory of cudaMalloc holds nothing yet.
__global__ void global_bug(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x] * 2; //~ init/result
}
__global__ void global_good(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x] * 2;
}

__global__ void branch_bug(const int *in, int *out) {
    if (in[threadIdx.x] > 3) out[threadIdx.x] = 1; //~ init/branch init/result
    __syncthreads();
}

__global__ void index_bug(const int *in, int *out) {
    out[in[0] & 31] = 1; //~ init/address
}
__global__ void index_good(const int *in, int *out) {
    out[in[0] & 31] = 1;
}

__global__ void atomic_bug(int *count) {
    atomicAdd(count, 1); //~ init/atomic
}
__global__ void atomic_good(int *count) {
    atomicAdd(count, 1);
}

// Half of the array is written.
__global__ void half_bug(int *out) {
    __shared__ int s[64];
    if (threadIdx.x < 32) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + 1; //~ init/result
}
__global__ void half_good(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + 1;
}

// A sum that begins with what happened to be there.
__global__ void sum_bug(int *out) {
    __shared__ int sum;
    atomicAdd(&sum, threadIdx.x); //~ init/atomic
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}
__global__ void sum_good(int *out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}

// A thread's array of which one element is never set.
__global__ void local_bug(int *out, int n) {
    volatile int a[8];
    for (int i = 0; i < n; i++) a[i] = i;
    out[threadIdx.x] = a[threadIdx.x % 8] + 1; //~ init/result
}
__global__ void local_good(int *out, int n) {
    volatile int a[8];
    for (int i = 0; i < n; i++) a[i] = i;
    out[threadIdx.x] = a[threadIdx.x % 8] + 1;
}

// Copying padding is no use of it.
__global__ void padding_good(const Padded *in, Padded *out) {
    out[threadIdx.x] = in[threadIdx.x];
}
__global__ void fill_padded(Padded *p) {
    p[threadIdx.x].tag = 1;
    p[threadIdx.x].value = threadIdx.x;
}

// A vector is loaded whole, and its last element not used.
__global__ void vector_good(const float4 *in, float *out) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z;
}
__global__ void fill_three(float4 *p) {
    p[threadIdx.x].x = p[threadIdx.x].y = p[threadIdx.x].z = 1;
}
__global__ void vector_bug(const float4 *in, float *out) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = v.x + v.w; //~ init/result
}

// Through shared memory and registers to the branch.
__global__ void far_bug(const int *in, int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    int v = s[31 - threadIdx.x];
    if (v == 7) out[threadIdx.x] = __clz(threadIdx.x); //~ init/branch init/result
    __syncwarp();
}

// A structure by value, to a function that is called.
struct Point {
    int x, y, z;
};
__device__ __noinline__ int element(Point point, int i) { return (&point.x)[i]; }
__global__ void by_value_good(int *out, int i) { out[threadIdx.x] = element(Point{1, 2, 3}, i); }

int main() {
    int *out = zeros<int>(64), *in = zeros<int>(64), *fresh;
    cudaMalloc(&fresh, 256);
    RUN(global_bug, 1, 32, fresh, out);
    RUN(global_good, 1, 32, in, out);
    RUN(branch_bug, 1, 32, fresh, out);
    RUN(index_bug, 1, 1, fresh, out);
    RUN(index_good, 1, 1, in, out);
    RUN(far_bug, 1, 32, fresh, out);
    RUN(atomic_bug, 1, 32, fresh);
    RUN(atomic_good, 1, 32, in);
    RUN(half_bug, 1, 64, out);
    RUN(half_good, 1, 64, out);
    RUN(sum_bug, 1, 32, out);
    RUN(sum_good, 1, 32, out);
    RUN(local_bug, 1, 32, out, 7);
    RUN(local_good, 1, 32, out, 8);
    RUN(by_value_good, 1, 32, out, 1);
    Padded *p, *q;
    float4 *v;
    cudaMalloc(&p, 32 * sizeof(Padded)), cudaMalloc(&q, 32 * sizeof(Padded)), cudaMalloc(&v, 32 * sizeof(float4));
    RUN(fill_padded, 1, 32, p);
    RUN(padding_good, 1, 32, p, q);
    RUN(fill_three, 1, 32, v);
    RUN(vector_good, 1, 32, v, (float *)out);
    RUN(vector_bug, 1, 32, v, (float *)out);
    cudaFree(p), cudaFree(q), cudaFree(v), cudaFree(out), cudaFree(in), cudaFree(fresh);
}
