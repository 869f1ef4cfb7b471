// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting for global memory that nobody is left to write.
// check: sync
#include "corpus.h"
#include <thread>

// Nobody sets the flag.
__global__ void flag_bug(volatile int *flag, int *out, int setter) {
    if (blockIdx.x == setter) {
        *flag = 1;
        return;
    }
    while (*flag == 0) { //~ sync/deadlock
    }
    out[blockIdx.x] = 1;
}
__global__ void flag_good(volatile int *flag, int *out, int setter) {
    if (blockIdx.x == setter) {
        *flag = 1;
        return;
    }
    while (*flag == 0) {
    }
    out[blockIdx.x] = 1;
}

// A lock that its first owner keeps. How often it was looked at decides nothing.
__global__ void lock_bug(int *lock, int *count, int last) {
    if (threadIdx.x == 0) {
        int looks = 0;
        while (atomicCAS(lock, 0, 1) != 0) looks++; //~ sync/deadlock
        count[1 + blockIdx.x] = looks;
        *count += 1;
        __threadfence();
        if (blockIdx.x > last) atomicExch(lock, 0);
    }
}
__global__ void lock_good(int *lock, int *count) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        *count += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// A barrier of all blocks by hand, that counts one too many.
__global__ void barrier_bug(unsigned *arrived, int *out) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        unsigned nanoseconds = 8;
        while (atomicAdd(arrived, 0) < gridDim.x + 1) __nanosleep(nanoseconds = min(2 * nanoseconds, 256)); //~ sync/deadlock
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void barrier_good(unsigned *arrived, int *out) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        unsigned nanoseconds = 8;
        while (atomicAdd(arrived, 0) < gridDim.x) __nanosleep(nanoseconds = min(2 * nanoseconds, 256));
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// By plain loads, which compiled code need not see as waiting at all.
__global__ void plain_bug(int *ready, int *out) {
    while (*ready == 0) __syncthreads(); //~ sync/deadlock
    out[threadIdx.x] = 1;
}
__global__ void plain_good(int *ready, int *out) {
    if (threadIdx.x == 0) *ready = 1;
    __syncthreads();
    while (*ready == 0) __syncthreads();
    out[threadIdx.x] = 1;
}

// The host program would set the flag once the kernel has ended.
__managed__ int from_host;
__global__ void managed_bug(int *out) {
    while (*(volatile int *)&from_host == 0) { //~ sync/deadlock
    }
    *out = 1;
}
__global__ void managed_good(int *out) {
    while (*(volatile int *)&from_host == 0) {
    }
    *out = 1;
}

// Two streams' kernels wait for each other, and neither begins.
__global__ void pair_bug(volatile int *mine, volatile int *other) {
    while (*other == 0) { //~ sync/deadlock
    }
    *mine = 1;
}
__global__ void pair_good(volatile int *mine, volatile int *other) {
    *mine = 1;
    while (*other == 0) {
    }
}

// It looks often, and gives up: that takes longer than a deadlock needs to be found.
__global__ void gives_up_good(volatile int *flag, int *out, int most) {
    int looks = 0;
    while (*flag == 0 && looks < most) looks++;
    *out = looks;
}

// It takes its time, and reads nothing.
__global__ void delay_good(int *out, int rounds) {
    volatile int round;
    for (round = 0; round < rounds; round++) {
    }
    *out = round;
}

// A copy of another stream comes late.
__global__ void late_good(volatile int *flag, int *out) {
    while (*flag == 0) {
    }
    *out = 1;
}

// The host program stores late by itself, and then waits for the thread that waits for the kernel. That only computes for a while.
__global__ void mapped_good(volatile int *flag, int *out, int rounds) {
    while (*flag == 0) {
    }
    unsigned value = threadIdx.x;
    for (int i = 0; i < rounds; i++) value = value * 1664525u + 1013904223u, value ^= value >> (i & 7);
    out[threadIdx.x] = value | 1;
}

int main() {
    int *flag, *out;
    auto again = [&] { flag = zeros<int>(64), out = zeros<int>(256); };
    again();
    RUN(flag_bug, 4, 32, flag, out, 7);
    again();
    RUN(flag_good, 4, 32, flag, out, 3);
    RUN(lock_bug, 4, 32, flag + 1, out, 7);
    again();
    RUN(lock_good, 4, 32, flag + 1, out);
    RUN(barrier_bug, 4, 64, (unsigned *)flag + 2, out);
    again();
    RUN(barrier_good, 4, 64, (unsigned *)flag + 2, out);
    RUN(plain_bug, 1, 64, flag + 3, out);
    again();
    RUN(plain_good, 1, 64, flag + 3, out);
    RUN(managed_bug, 1, 1, out);
    again();
    if (wanted("managed_good")) {
        managed_good<<<1, 1>>>(out);
        from_host = 1;
        cudaDeviceSynchronize();
    }
    cudaStream_t streams[2];
    auto pair = [&](const char *name, void (*kernel)(volatile int *, volatile int *)) {
        if (!wanted(name)) return;
        for (auto &stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        kernel<<<1, 1, 0, streams[0]>>>(flag + 4, flag + 5);
        kernel<<<1, 1, 0, streams[1]>>>(flag + 5, flag + 4);
        if (cudaDeviceSynchronize() != cudaSuccess) cudaDeviceReset();
    };
    pair("pair_bug", pair_bug);
    again();
    pair("pair_good", pair_good);
    RUN(gives_up_good, 1, 32, flag + 6, out, 60000000);
    RUN(delay_good, 1, 32, out, 10000000);
    if (wanted("late_good")) {
        for (auto &stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        late_good<<<1, 32, 0, streams[0]>>>(flag + 7, out);
        // Another thread waits, as this one does not.
        std::thread waits([&] { cudaStreamSynchronize(streams[0]); });
        std::this_thread::sleep_for(std::chrono::seconds(5));
        int one = 1;
        cudaMemcpyAsync(flag + 7, &one, 4, cudaMemcpyHostToDevice, streams[1]);
        waits.join();
        int result = 0;
        cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
        if (result != 1) std::puts("late_good: the kernel was not waited for"), std::exit(1);
    }
    if (wanted("mapped_good")) {
        int *mapped;
        cudaHostAlloc(&mapped, 4, cudaHostAllocMapped);
        *mapped = 0;
        mapped_good<<<1, 32>>>(mapped, out, 20000000);
        std::thread waits([&] { cudaDeviceSynchronize(); });
        std::this_thread::sleep_for(std::chrono::seconds(5));
        *(volatile int *)mapped = 1;
        waits.join();
        int result = 0;
        cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
        if (!(result & 1)) std::puts("mapped_good: the kernel was not waited for"), std::exit(1);
    }
}
