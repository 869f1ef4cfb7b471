// SPDX-License-Identifier: MIT OR Apache-2.0
// Variables that are left, in code that is built for a debugger: its accesses name no space.
// check: memory
// flags: -G
#include "corpus.h"

__global__ void local_bug(int *out, int n) {
    int a[4], b[4];
    for (int i = 0; i < 4; i++) a[i] = b[i] = i;
    a[n] = 7; //~ memory/local-out-of-bounds
    int sum = 0;
    for (int i = -1; i < 3; i++) sum += b[i]; //~ memory/local-out-of-bounds
    out[threadIdx.x] = sum + a[0];
}
__global__ void local_good(int *out, int n) {
    int a[4], b[4];
    for (int i = 0; i < 4; i++) a[i] = b[i] = i;
    a[n - 1] = 7;
    int sum = 0, *end = b + 4;
    for (int *p = b; p != end; p++) sum += *p;
    out[threadIdx.x] = sum + a[0] + (n & 1 ? a : b)[n - 2];
}

__global__ void shared_bug(int *out, int n) {
    __shared__ int a[32];
    __shared__ int b[32];
    a[threadIdx.x] = b[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) a[n] = 7; //~ memory/shared-out-of-bounds
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x] + b[31 - threadIdx.x];
}
__global__ void shared_good(int *out, int n) {
    __shared__ int a[32];
    __shared__ int b[32];
    a[threadIdx.x] = b[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) a[n - 1] = 7;
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x] + b[31 - threadIdx.x];
}

int main() {
    int *out = zeros<int>(32);
    RUN(local_bug, 1, 32, out, 4);
    RUN(local_good, 1, 32, out, 4);
    RUN(shared_bug, 1, 32, out, 32);
    RUN(shared_good, 1, 32, out, 32);
    cudaFree(out);
}
