// SPDX-License-Identifier: MIT OR Apache-2.0
// Barriers, and shared memory between threads.
__global__ void divergent(int *p) {
    if (threadIdx.x > 3) __syncthreads(); //~ MG401
    if (p[0] > 3) __syncthreads();
    if (blockIdx.x > 3) __syncthreads();
    int lane = threadIdx.x & 31;
    switch (lane) {
    case 0: __syncthreads(); break; //~ MG401
    }
    for (int i = 0; i < threadIdx.x; i++) __syncthreads(); //~ MG401
    for (int i = 0; i < blockDim.x; i++) __syncthreads();
}
__global__ void neighbours(int *p) {
    __shared__ int s[257];
    int t = threadIdx.x;
    s[t] = p[t];
    p[t] = s[t];
    p[t] += s[t + 1]; //~ MG402
    __syncthreads();
    p[t] += s[t + 1];
}
__global__ void warp(int *p) {
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16]; //~ MG403
    }
    __syncthreads();
    if (t < 16) {
        s[t] += s[t + 8];
        __syncwarp(0xffff);
        s[t] += s[t + 4];
    }
}
