// SPDX-License-Identifier: MIT OR Apache-2.0
// cuda::barrier and mbarriers: initialisation, counts, what else touches them, waits that nobody ends.
// (clang does not say where a header's function was inlined, so lines are about those of the statement.)
#include "corpus.h"
#include <cuda/barrier>

typedef cuda::barrier<cuda::thread_scope_block> barrier;

// Nobody initialises it.
__global__ void no_init_bug(int *out) {
    __shared__ barrier bar;
    out[threadIdx.x] = 1;
    bar.arrive_and_wait(); //~ sync/mbarrier-init sync/deadlock
}
__global__ void no_init_good(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    out[threadIdx.x] = 1;
    bar.arrive_and_wait();
}

// Every thread does.
__global__ void all_init_bug(int *out) {
    __shared__ barrier bar;
    out[threadIdx.x] = 1;
    init(&bar, blockDim.x); //~ sync/mbarrier-init race/same-value race/write-write
    __syncthreads();
    bar.arrive_and_wait();
    out[threadIdx.x] += 1;
}

// A barrier for two phases is made anew for the second.
__global__ void init_twice_bug(int *out) {
    __shared__ barrier bar;
    for (int phase = 0; phase < 2; ++phase) {
        if (threadIdx.x == 0) init(&bar, blockDim.x); //~ sync/mbarrier-init
        __syncthreads();
        out[threadIdx.x] += phase;
        bar.arrive_and_wait();
        __syncthreads();
    }
}
__global__ void init_twice_good(int *out) {
    __shared__ barrier bar;
    for (int phase = 0; phase < 2; ++phase) {
        if (threadIdx.x == 0) init(&bar, blockDim.x);
        __syncthreads();
        out[threadIdx.x] += phase;
        bar.arrive_and_wait();
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory");
    }
}

// The others do not wait for who initialises it.
__global__ void init_unseen_bug(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x); //~? near race/atomic-plain race/read-write
    out[threadIdx.x] = 1;
    (void)bar.arrive(); //~ race/atomic-plain race/read-write
}
__global__ void init_unseen_good(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    out[threadIdx.x] = 1;
    (void)bar.arrive();
}

// One arrival more is awaited than come.
__global__ void too_few_bug(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x + 1);
    __syncthreads();
    out[threadIdx.x] = 1;
    bar.arrive_and_wait(); //~ sync/deadlock
    out[threadIdx.x] += 1;
}
__global__ void too_few_good(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    out[threadIdx.x] = 1;
    bar.arrive_and_wait();
    out[threadIdx.x] += 1;
}

// A thread arrives for more threads than there are.
__global__ void too_many_bug(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, 4);
    __syncthreads();
    out[threadIdx.x] = 1;
    if (threadIdx.x == 0) (void)bar.arrive(5); //~ sync/mbarrier-count
    out[threadIdx.x] += 1;
}
__global__ void too_many_good(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, 4);
    __syncthreads();
    out[threadIdx.x] = 1;
    if (threadIdx.x == 0) (void)bar.arrive(4);
    out[threadIdx.x] += 1;
}

// A barrier for nobody.
__global__ void for_nobody_bug(int *out) {
    __shared__ barrier bar;
    out[threadIdx.x] = 1;
    if (threadIdx.x == 0) init(&bar, 0); //~ sync/mbarrier-count
    out[threadIdx.x] += 1;
}

// The memory of a barrier is used for data while the barrier is in use.
__global__ void other_use_bug(int *out) {
    __shared__ alignas(8) unsigned long long memory[2];
    barrier *bar = (barrier *)memory;
    if (threadIdx.x == 0) init(bar, blockDim.x);
    __syncthreads();
    bar->arrive_and_wait();
    __syncthreads();
    if (threadIdx.x == 0) ((int *)memory)[1] = 7; //~ sync/mbarrier-access
    __syncthreads();
    out[threadIdx.x] = ((int *)memory)[1]; //~ sync/mbarrier-access
}
__global__ void other_use_good(int *out) {
    __shared__ alignas(8) unsigned long long memory[2];
    barrier *bar = (barrier *)memory;
    if (threadIdx.x == 0) init(bar, blockDim.x);
    __syncthreads();
    bar->arrive_and_wait();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"((unsigned)__cvta_generic_to_shared(bar)) : "memory");
        ((int *)memory)[1] = 7;
    }
    __syncthreads();
    out[threadIdx.x] = ((int *)memory)[1];
}

// Bytes that nobody brings.
__global__ void bytes_bug(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0)
        token = cuda::device::barrier_arrive_tx(bar, 1, 64);
    else
        token = bar.arrive();
    out[threadIdx.x] = 1;
    bar.wait(std::move(token)); //~ sync/deadlock
    out[threadIdx.x] += 1;
}
__global__ void bytes_good(int *out) {
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        token = cuda::device::barrier_arrive_tx(bar, 1, 64);
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(
                         (unsigned)__cvta_generic_to_shared(&bar))
                     : "memory");
    } else {
        token = bar.arrive();
    }
    out[threadIdx.x] = 1;
    bar.wait(std::move(token));
    out[threadIdx.x] += 1;
}

// A producer and consumers hand a value over, phase by phase; what they share needs no other barrier.
__global__ void hand_over_good(int *out) {
    __shared__ barrier full, empty;
    __shared__ int value;
    if (threadIdx.x == 0) {
        init(&full, 1);
        init(&empty, blockDim.x - 32);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int i = 0; i < 4; ++i) {
                if (i > 0) empty.wait_parity((i - 1) % 2);
                value = i;
                (void)full.arrive();
            }
    } else {
        int sum = 0;
        for (int i = 0; i < 4; ++i) {
            full.wait_parity(i % 2);
            sum += value;
            (void)empty.arrive();
        }
        out[threadIdx.x] = sum;
    }
}

int main() {
    int *out = zeros<int>(64);
    RUN(no_init_bug, 1, 64, out);
    out = zeros<int>(64);
    RUN(no_init_good, 1, 64, out);
    RUN(all_init_bug, 1, 64, out);
    RUN(init_twice_bug, 1, 64, out);
    RUN(init_twice_good, 1, 64, out);
    RUN(init_unseen_bug, 1, 64, out);
    RUN(init_unseen_good, 1, 64, out);
    RUN(too_few_bug, 1, 64, out);
    out = zeros<int>(64);
    RUN(too_few_good, 1, 64, out);
    RUN(too_many_bug, 1, 64, out);
    RUN(too_many_good, 1, 64, out);
    RUN(for_nobody_bug, 1, 64, out);
    RUN(other_use_bug, 1, 64, out);
    RUN(other_use_good, 1, 64, out);
    RUN(bytes_bug, 1, 64, out);
    out = zeros<int>(64);
    RUN(bytes_good, 1, 64, out);
    RUN(hand_over_good, 1, 64, out);
    cudaFree(out);
}
