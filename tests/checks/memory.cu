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
    data[threadIdx.x] = 1; //~ memory/use-after-free memory/out-of-bounds memory/read-only
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
    asm volatile("st.u32 [%0], 5;" ::"l"(p) : "memory"); //~ memory/read-only
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

// Blocks of the device's heap.
__global__ void heap_used_bug(int *out) {
    volatile int *block = (volatile int *)malloc(16);
    block[0] = 1;
    free((void *)block);
    out[0] = block[0]; //~ memory/use-after-free
}
__global__ void heap_twice_bug(int *out) {
    volatile int *block = (volatile int *)malloc(16);
    block[0] = 1;
    out[0] = block[0];
    free((void *)block);
    free((void *)block); //~ memory/double-free
}
__global__ void heap_inside_bug(int *out) {
    volatile int *block = (volatile int *)malloc(16);
    block[0] = 1;
    out[0] = block[0];
    free((void *)(block + 1)); //~ memory/invalid-free
}
__global__ void heap_own_bug(int *out) {
    int own;
    free(&own); //~ memory/invalid-free
    out[0] = own;
}
__global__ void heap_host_bug(int *out) {
    free(out); //~ memory/invalid-free
}
__global__ void heap_good(int *out) {
    volatile int *block = (volatile int *)malloc(16);
    block[0] = 1;
    out[0] = block[0];
    free((void *)block);
    // What lies there now is another block.
    block = (volatile int *)malloc(16);
    block[3] = 1;
    out[0] += block[3];
    free((void *)block);
    free(nullptr);
}

// Addresses of one space in instructions of another.
__global__ void shared_as_global_bug(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = 1;
    int x;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(s) : "memory"); //~ memory/address-space
    out[0] = x;
}
__global__ void global_as_shared_bug(int *out) {
    int x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "l"(out) : "memory"); //~ memory/address-space
    out[0] = x;
}
__global__ void spaces_good(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = 1;
    int x, y;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "l"(__cvta_generic_to_shared(s + threadIdx.x)) : "memory");
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(y) : "l"(__cvta_generic_to_global(out + threadIdx.x)) : "memory");
    out[threadIdx.x] = x + y;
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
    RUN(heap_good, 1, 1, data);
    RUN(spaces_good, 1, 32, data);
    RUN(heap_used_bug, 1, 1, data);
    fresh();
    RUN(heap_twice_bug, 1, 1, data);
    fresh();
    RUN(heap_inside_bug, 1, 1, data);
    fresh();
    RUN(heap_own_bug, 1, 1, data);
    fresh();
    RUN(heap_host_bug, 1, 1, data);
    fresh();
    RUN(shared_as_global_bug, 1, 32, data);
    fresh();
    RUN(global_as_shared_bug, 1, 32, data);
    fresh();
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
