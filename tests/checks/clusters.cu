// SPDX-License-Identifier: MIT OR Apache-2.0
// Clusters: the barrier's halves and their orders, and the shared memory of other blocks.
#include "corpus.h"

#define CLUSTER __global__ void __cluster_dims__(2, 1, 1)

#define ARRIVE asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define ARRIVE_RELAXED asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define WAIT asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
__device__ unsigned rank() {
    unsigned r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
template <class T> __device__ T *of_block(T *mine, unsigned block) {
    T *there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(block));
    return there;
}

// An arrival that releases nothing.
CLUSTER relaxed_bug(int *p, int *out) {
    p[rank()] = 1;
    ARRIVE_RELAXED;
    WAIT;
    out[rank()] = p[1 - rank()]; //~ race/read-write
}
CLUSTER relaxed_good(int *p, int *out) {
    p[rank()] = 1;
    ARRIVE;
    WAIT;
    out[rank()] = p[1 - rank()];
}
CLUSTER fenced_good(int *p, int *out) {
    p[rank()] = 1;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    ARRIVE_RELAXED;
    WAIT;
    out[rank()] = p[1 - rank()];
}

// Written between the arrival and the wait: what comes after the arrival is not released by it.
CLUSTER between_bug(int *p, int *out) {
    ARRIVE;
    p[rank()] = 1;
    WAIT;
    out[rank()] = p[1 - rank()]; //~ race/read-write
}
CLUSTER between_good(int *p, int *out) {
    ARRIVE;
    out[rank()] = rank();
    WAIT;
    p[rank()] = 1;
}

// The next round's data is written before the other block has read this one's.
CLUSTER rounds_bug(int *p, int *out) {
    int sum = 0;
    for (int round = 0; round < 4; round++) {
        p[rank()] = round; //~ race/read-write
        ARRIVE;
        WAIT;
        sum += p[1 - rank()];
    }
    out[rank()] = sum;
}
CLUSTER rounds_good(int *p, int *out) {
    int sum = 0;
    for (int round = 0; round < 4; round++) {
        p[rank()] = round;
        ARRIVE;
        WAIT;
        sum += p[1 - rank()];
        ARRIVE;
        WAIT;
    }
    out[rank()] = sum;
}

// The shared memory of the other block.
CLUSTER distributed_bug(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[32 * rank() + threadIdx.x] = *of_block(&s[threadIdx.x], 1 - rank()); //~ race/read-write init/result
    ARRIVE;
    WAIT;
}
CLUSTER distributed_good(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    ARRIVE;
    WAIT;
    out[32 * rank() + threadIdx.x] = *of_block(&s[threadIdx.x], 1 - rank());
    ARRIVE;
    WAIT;
}
CLUSTER sent_bug(int *out) {
    __shared__ int s[32];
    *of_block(&s[threadIdx.x], 1 - rank()) = threadIdx.x;
    __syncthreads();
    out[32 * rank() + threadIdx.x] = s[threadIdx.x]; //~ race/read-write init/result
    ARRIVE;
    WAIT;
}
CLUSTER sent_good(int *out) {
    __shared__ int s[32];
    *of_block(&s[threadIdx.x], 1 - rank()) = threadIdx.x;
    ARRIVE;
    WAIT;
    out[32 * rank() + threadIdx.x] = s[threadIdx.x];
}
CLUSTER both_bug(int *out) {
    __shared__ int s;
    if (threadIdx.x == 0) *of_block(&s, 0) = rank(); //~ race/write-write
    ARRIVE;
    WAIT;
    if (threadIdx.x == 0 && rank() == 0) *out = s;
}
CLUSTER both_good(int *out) {
    __shared__ int s;
    if (threadIdx.x == 0 && rank() == 0) s = 0;
    ARRIVE;
    WAIT;
    if (threadIdx.x == 0) atomicAdd(of_block(&s, 0), 1);
    ARRIVE;
    WAIT;
    if (threadIdx.x == 0 && rank() == 0) *out = s;
}

// Out of turn.
CLUSTER wait_first_bug(int *out) {
    WAIT; //~ sync/cluster-barrier sync/deadlock
    out[rank()] = 1;
    ARRIVE;
}
CLUSTER arrive_twice_bug(int *out) {
    ARRIVE;
    ARRIVE; //~ sync/cluster-barrier
    WAIT;
    out[rank()] = 1;
}
CLUSTER in_turns_good(int *out) {
    for (int round = 0; round < 3; round++) {
        ARRIVE;
        WAIT;
    }
    out[rank()] = 1;
}

// Both blocks of each cluster of some add to a word of the first one's.
CLUSTER count_bug(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    ARRIVE;
    WAIT;
    if (threadIdx.x == 0) atomicAdd(of_block(&count, 0), 1);
    if (rank() == 0 && threadIdx.x == 0) out[blockIdx.x] = count; //~ race/atomic-plain
    ARRIVE;
    WAIT;
}
CLUSTER count_good(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    ARRIVE;
    WAIT;
    if (threadIdx.x == 0) atomicAdd(of_block(&count, 0), 1);
    ARRIVE;
    WAIT;
    if (rank() == 0 && threadIdx.x == 0) out[blockIdx.x] = count;
    ARRIVE;
    WAIT;
}

int main() {
    int *p = zeros<int>(64), *out = zeros<int>(64);
    RUN(relaxed_bug, 2, 1, p, out);
    RUN(relaxed_good, 2, 1, p, out);
    RUN(fenced_good, 2, 1, p, out);
    RUN(between_bug, 2, 1, p, out);
    RUN(between_good, 2, 1, p, out);
    RUN(rounds_bug, 2, 1, p, out);
    RUN(rounds_good, 2, 1, p, out);
    RUN(distributed_bug, 2, 32, out);
    RUN(distributed_good, 2, 32, out);
    RUN(sent_bug, 2, 32, out);
    RUN(sent_good, 2, 32, out);
    RUN(both_bug, 2, 32, out);
    RUN(both_good, 2, 32, out);
    RUN(arrive_twice_bug, 2, 1, out);
    RUN(in_turns_good, 2, 1, out);
    RUN(count_bug, 6, 32, out);
    RUN(count_good, 6, 32, out);
    cudaFree(p), cudaFree(out);
    // Nobody goes on from there.
    RUN(wait_first_bug, 2, 1, zeros<int>(2));
}
