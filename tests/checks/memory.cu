// SPDX-License-Identifier: MIT OR Apache-2.0
// Accesses outside what they may touch. Each bug ends its context, and the next begins anew.
#include "corpus.h"

__global__ void past_end_bug(int *data, int n) {
    data[threadIdx.x] = n; //~ memory/out-of-bounds
}
__global__ void past_end_good(int *data, int n) {
    if (threadIdx.x < n) data[threadIdx.x] = n;
}

__global__ void before_bug(const int *data, int *out) {
    out[0] = data[-1]; //~ memory/out-of-bounds
}

__global__ void null_bug(int *data) {
    data[threadIdx.x] = 1; //~ memory/out-of-bounds
}

__global__ void freed_bug(int *data) {
    data[threadIdx.x] = 1; //~ memory/use-after-free memory/out-of-bounds
}

__global__ void host_bug(int *data) {
    data[threadIdx.x] = 1; //~ memory/out-of-bounds
}

__global__ void misaligned_bug(char *data) {
    *reinterpret_cast<int *>(data + 1) = 1; //~ memory/misaligned
}
__global__ void misaligned_good(char *data) {
    *reinterpret_cast<int *>(data + 4) = 1;
}

__global__ void vector_bug(float *data) {
    *reinterpret_cast<float4 *>(data + 1) = make_float4(0, 0, 0, 0); //~ memory/misaligned
}
__global__ void vector_good(float *data) {
    *reinterpret_cast<float4 *>(data + 4) = make_float4(0, 0, 0, 0);
}

__global__ void shared_bug(int *out) {
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x; //~ memory/shared-out-of-bounds
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void shared_good(int *out) {
    extern __shared__ int s[];
    if (threadIdx.x < 16) {
        s[threadIdx.x] = threadIdx.x;
        out[threadIdx.x] = s[threadIdx.x];
    }
}

__global__ void atomic_bug(int *data) {
    atomicAdd(&data[64], 1); //~ memory/out-of-bounds
}
__global__ void atomic_good(int *data) {
    atomicAdd(&data[63], 1);
}

__constant__ int table[4] = {1, 2, 3, 4};
__global__ void constant_bug(int *out) {
    int *p = const_cast<int *>(&table[threadIdx.x]);
    asm volatile("st.u32 [%0], 5;" ::"l"(p) : "memory"); //~ memory/read-only memory/out-of-bounds
    out[0] = 1;
}

__global__ void last_byte_bug(char *data) {
    data[100] = 1; //~ memory/out-of-bounds
}
__global__ void last_byte_good(char *data) {
    data[99] = 1;
}

__device__ int deep(int n, volatile int *sink) {
    volatile int frame[64];
    frame[n % 64] = n;
    *sink = n;
    return n == 0 ? 0 : deep(n - 1, sink) + frame[n % 64]; //~? memory/stack-overflow
}
__global__ void stack_bug(int *out) {
    *out = deep(100000, out); //~? memory/stack-overflow
}
__global__ void stack_good(int *out) {
    *out = deep(2, out);
}

int main() {
    int *data;
    auto fresh = [&] { data = zeros<int>(64); };
    fresh();
    RUN(past_end_good, 1, 96, data, 64);
    RUN(misaligned_good, 1, 1, (char *)data);
    RUN(vector_good, 1, 1, (float *)data);
    if (wanted("shared_good")) shared_good<<<1, 32, 64>>>(data);
    cudaDeviceSynchronize();
    RUN(atomic_good, 1, 1, data);
    RUN(stack_good, 1, 1, data);
    RUN(past_end_bug, 1, 96, data, 64);
    fresh();
    RUN(before_bug, 1, 1, data, data);
    RUN(null_bug, 1, 32, (int *)nullptr);
    fresh();
    cudaFree(data);
    RUN(freed_bug, 1, 32, data);
    int host[64];
    RUN(host_bug, 1, 32, host);
    fresh();
    RUN(misaligned_bug, 1, 1, (char *)data);
    fresh();
    RUN(vector_bug, 1, 1, (float *)data);
    fresh();
    if (wanted("shared_bug")) shared_bug<<<1, 32, 64>>>(data);
    if (cudaDeviceSynchronize() != cudaSuccess) cudaDeviceReset();
    fresh();
    RUN(atomic_bug, 1, 1, data);
    fresh();
    RUN(constant_bug, 1, 1, data);
    char *hundred = zeros<char>(100);
    RUN(last_byte_good, 1, 1, hundred);
    RUN(last_byte_bug, 1, 1, hundred);
    fresh();
    RUN(stack_bug, 1, 1, data);
}
