// SPDX-License-Identifier: MIT OR Apache-2.0
// Before 7.0 a warp runs in step, and `volatile` is what its lanes need.
// gpu: sm_60
__global__ void with_volatile(int *p) {
    __shared__ volatile int s[64];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
    }
}
__global__ void without(int *p) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16]; //~ MG403
    }
    p[t] = s[0];
}
