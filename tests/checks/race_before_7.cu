// SPDX-License-Identifier: MIT OR Apache-2.0
// Races in programs for compute capabilities before 7.0, where volatile words, fences and atomics make flags and locks.
// check: race
// gpu: sm_60
#include "corpus.h"

// Data of a critical section, written when the lock is open again. The fence before belongs to the lock.
__global__ void unlocked_bug(int *lock, volatile int *data, int *out) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    out[blockIdx.x] = *data; //~ race/read-write
    __threadfence();
    atomicExch(lock, 0);
    if (blockIdx.x == 0) *data = 1; //~ race/read-write
}
__global__ void unlocked_good(int *lock, volatile int *data, int *out) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    out[blockIdx.x] = *data;
    if (blockIdx.x == 0) *data = 1;
    __threadfence();
    atomicExch(lock, 0);
}

// A flag beside what the lock protects is no data of it, and a barrier whose sense turns is one.
__global__ void sense_good(int *lock, volatile int *state, int *out) {
    volatile int *count = state, *sense = state + 1;
    out[blockIdx.x] = blockIdx.x;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    int arrived = ++*count;
    __threadfence();
    atomicExch(lock, 0);
    if (arrived == gridDim.x) *sense = 1;
    while (*sense == 0) {}
    __threadfence();
    out[2 + blockIdx.x] = out[1 - blockIdx.x];
}

// What is written once a flag was read comes after what the flag stands for, if there was a fence before it.
__global__ void follow_bug(int *flag, volatile int *data) {
    if (blockIdx.x == 0) {
        *data = 1; //~ race/write-write
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        *data = 2; //~ race/write-write
    }
}
__global__ void follow_good(int *flag, volatile int *data) {
    if (blockIdx.x == 0) {
        *data = 1;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        *data += 2;
    }
}

// The same by atomics whose scope is too small for the data, but not for who reads the flag in their block.
__global__ void follow_scope_bug(int *flag, int *data) {
    if (blockIdx.x == 0) {
        atomicExch_block(data, 1);
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        atomicExch_block(data, 2); //~ race/scope
    }
}
__global__ void follow_scope_good(int *flag, int *data) {
    if (blockIdx.x == 0) {
        atomicExch_block(data, 1);
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        atomicExch_block(data, 2);
    }
}

// A lock is taken with a fence behind it.
__global__ void lock_bug(int *lock, volatile int *data) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *data = *data + 1; //~ race/write-write
    __threadfence();
    atomicExch(lock, 0);
}
__global__ void lock_good(int *lock, volatile int *data) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *data = *data + 1;
    __threadfence();
    atomicExch(lock, 0);
}

int main() {
    RUN(unlocked_bug, 2, 1, zeros<int>(1), zeros<int>(1), zeros<int>(2));
    RUN(unlocked_good, 2, 1, zeros<int>(1), zeros<int>(1), zeros<int>(2));
    RUN(sense_good, 2, 1, zeros<int>(1), zeros<int>(2), zeros<int>(4));
    RUN(follow_bug, 2, 1, zeros<int>(1), zeros<int>(1));
    RUN(follow_good, 2, 1, zeros<int>(1), zeros<int>(1));
    RUN(follow_scope_bug, 2, 1, zeros<int>(1), zeros<int>(1));
    RUN(follow_scope_good, 2, 1, zeros<int>(1), zeros<int>(1));
    RUN(lock_bug, 2, 1, zeros<int>(1), zeros<int>(1));
    RUN(lock_good, 2, 1, zeros<int>(1), zeros<int>(1));
}
