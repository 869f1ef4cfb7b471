// SPDX-License-Identifier: MIT OR Apache-2.0
// Before 7.0 the lanes of a warp that wait for one of their own keep it from going on.
// check: sync
// gpu: sm_60
#include "corpus.h"

__global__ void own_warp_bug(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0) { //~ sync/deadlock
    }
    *count += 1;
    __threadfence();
    atomicExch(lock, 0);
}
__global__ void own_warp_good(int *lock, int *count) {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        *count += 32;
        __threadfence();
        atomicExch(lock, 0);
    }
}

int main() {
    int *lock = zeros<int>(2);
    RUN(own_warp_bug, 1, 32, lock, lock + 1);
    lock = zeros<int>(2);
    RUN(own_warp_good, 4, 64, lock, lock + 1);
}
