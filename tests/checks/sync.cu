// SPDX-License-Identifier: MIT OR Apache-2.0
// Barriers that not all reach, and member masks that do not fit.
// check: sync
#include "corpus.h"
#include <cooperative_groups.h>

__global__ void half_warp_bug(int *out) {
    if (threadIdx.x % 32 < 16) __syncthreads(); //~ sync/divergent-barrier
    out[threadIdx.x] = threadIdx.x;
}
__global__ void half_warp_good(int *out) {
    __syncthreads();
    if (threadIdx.x % 32 < 16) out[threadIdx.x] = threadIdx.x;
}

// Both sides have a barrier of their own.
__global__ void two_sides_bug(int *out) {
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 1;
        __syncthreads(); //~? sync/different-barriers
    } else {
        out[threadIdx.x] = 2;
        __syncthreads(); //~? sync/different-barriers
        out[threadIdx.x] += out[0];
    }
}
__global__ void two_sides_good(int *out) {
    out[threadIdx.x] = threadIdx.x < 32 ? 1 : 2;
    __syncthreads();
}

// A loop whose trip count differs between the lanes.
__global__ void trips_bug(int *out) {
    for (int i = 0; i <= threadIdx.x % 2; i++) {
        out[threadIdx.x] += i;
        __syncthreads(); //~ sync/divergent-barrier
    }
    out[threadIdx.x] += 1;
}
__global__ void trips_good(int *out) {
    for (int i = 0; i < 2; i++) {
        if (i <= threadIdx.x % 2) out[threadIdx.x] += i;
        __syncthreads();
    }
}

// Threads that have left are not waited for: this is allowed.
__global__ void early_exit_good(int *out, int n) {
    if (threadIdx.x >= n) return;
    out[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] += out[n - 1 - threadIdx.x] * 0;
}

// A lane that is not in its own mask.
__global__ void own_lane_bug(int *out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffff0000u, threadIdx.x, 0); //~ sync/mask
}
__global__ void own_lane_good(int *out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, threadIdx.x, 0);
}

__global__ void vote_mask_bug(int *out) {
    if (threadIdx.x >= 16) out[threadIdx.x] = __any_sync(0x0000ffffu, threadIdx.x == 20); //~ sync/mask
}
__global__ void vote_mask_good(int *out) {
    if (threadIdx.x >= 16) out[threadIdx.x] = __any_sync(0xffff0000u, threadIdx.x == 20);
}

__global__ void syncwarp_mask_bug(int *out) {
    if (threadIdx.x < 8) {
        __syncwarp(0xff00u); //~ sync/mask
        out[threadIdx.x] = 1;
    }
}
__global__ void syncwarp_mask_good(int *out) {
    if (threadIdx.x < 8) {
        __syncwarp(0x00ffu);
        out[threadIdx.x] = 1;
    }
}

// Lanes that have returned may be named: whoever has not exited is waited for.
__global__ void exited_good(int *out, int n) {
    if (threadIdx.x >= n) {
        out[threadIdx.x] = 1;
        return;
    }
    int sum = __popc(__ballot_sync(0xffffffffu, threadIdx.x & 1)) + __reduce_add_sync(0xffffffffu, 1);
    sum += __match_any_sync(0xffffffffu, threadIdx.x / 4) + __any_sync(0xffffffffu, n == 3);
    __syncwarp();
    // Of their values nothing is used.
    int next = __shfl_down_sync(0xffffffffu, sum, 1);
    out[threadIdx.x] = threadIdx.x + 1 < n ? sum + next : sum;
}

// Blocks of fewer than 32 threads name lanes that never were: usual, and allowed.
__global__ void small_block_good(int *out) {
    out[threadIdx.x] = __reduce_add_sync(0xffffffffu, 1);
}

__global__ void match_mask_bug(int *out) {
    if (threadIdx.x % 2) out[threadIdx.x] = __match_any_sync(0x55555555u, threadIdx.x / 4); //~ sync/mask
}
__global__ void match_mask_good(int *out) {
    if (threadIdx.x % 2) out[threadIdx.x] = __match_any_sync(0xaaaaaaaau, threadIdx.x / 4);
}

// Lanes of a mask that pass another: half of them is a group of its own, and the others name all. (Each result is stored, so that
// each line is its own.)
__global__ void other_mask_bug(volatile int *out, const unsigned *masks) {
    unsigned mask = masks[threadIdx.x];
    out[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1); //~ sync/mask
    out[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 16); //~ sync/mask
    out[threadIdx.x] = __match_any_sync(mask, threadIdx.x / 4); //~ sync/mask
    out[threadIdx.x] = __all_sync(mask, threadIdx.x); //~ sync/mask
    out[threadIdx.x] = __reduce_add_sync(mask, threadIdx.x); //~ sync/mask
    __syncwarp(mask); //~ sync/mask
}
__global__ void other_mask_good(volatile int *out, const unsigned *masks) {
    unsigned mask = masks[threadIdx.x];
    out[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1);
    out[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 16);
    out[threadIdx.x] = __match_any_sync(mask, threadIdx.x / 4);
    out[threadIdx.x] = __all_sync(mask, threadIdx.x);
    out[threadIdx.x] = __reduce_add_sync(mask, threadIdx.x);
    __syncwarp(mask);
}
// The same at two places: the lanes of one branch name all, and those of the other all but one.
__global__ void places_bug(int *out, unsigned others) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16) {
        __syncwarp(); //~ sync/mask
        out[threadIdx.x] = s[31 - threadIdx.x];
    } else {
        out[threadIdx.x] = 1;
        __syncwarp(others);
        out[threadIdx.x] += s[31 - threadIdx.x];
    }
}
__global__ void places_good(int *out, unsigned others) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16) {
        __syncwarp();
        out[threadIdx.x] = s[31 - threadIdx.x];
    } else {
        out[threadIdx.x] = 1;
        __syncwarp(others);
        out[threadIdx.x] += s[31 - threadIdx.x];
    }
}
// A vote at two places.
__global__ void votes_bug(int *out, const unsigned *masks) {
    unsigned mask = masks[threadIdx.x];
    if (threadIdx.x < 16) {
        out[threadIdx.x] = __ballot_sync(mask, 1); //~ sync/mask
    } else {
        out[threadIdx.x] = __ballot_sync(mask, 0) + 1;
    }
}
__global__ void votes_good(int *out, const unsigned *masks) {
    unsigned mask = masks[threadIdx.x];
    if (threadIdx.x < 16) {
        out[threadIdx.x] = __ballot_sync(mask, 1);
    } else {
        out[threadIdx.x] = __ballot_sync(mask, 0) + 1;
    }
}
// Groups that the data make, and the lanes that happen to be together: each has its mask.
__global__ void groups_good(int *out) {
    unsigned group = __match_any_sync(0xffffffffu, threadIdx.x % 3);
    out[threadIdx.x] = __reduce_add_sync(group, threadIdx.x);
    if (threadIdx.x & 1) {
        unsigned here = __activemask();
        out[threadIdx.x] += __shfl_sync(here, threadIdx.x, 1);
    }
    if (threadIdx.x >= 24) return;
    out[threadIdx.x] += __ballot_sync(0x00ffffffu, 1);
}

// The other lanes execute another operation instead, and exit.
__global__ void passed_bug(int *out) {
    if (threadIdx.x < 16)
        out[threadIdx.x] = __ballot_sync(0xffffffffu, 1); //~ sync/exited
    else
        out[threadIdx.x] = __ballot_sync(0xffff0000u, 0);
}
__global__ void passed_good(int *out) {
    if (threadIdx.x < 16)
        out[threadIdx.x] = __ballot_sync(0x0000ffffu, 1);
    else
        out[threadIdx.x] = __ballot_sync(0xffff0000u, 0);
}

// Waits for more threads than there are.
__global__ void count_bug(int *out) {
    asm volatile("bar.sync 1, 128;" ::: "memory"); //~ sync/deadlock
    out[threadIdx.x] = 1;
}
__global__ void count_good(int *out) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}

// Threads that come to one barrier count differently.
__global__ void counts_bug(int *out, int first) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, %0;" ::"r"(first) : "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory"); //~ sync/barrier-count
    }
    out[threadIdx.x] = 1;
}
__global__ void counts_good(int *out, int first) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, %0;" ::"r"(first) : "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    out[threadIdx.x] = 1;
}
__global__ void part_of_a_warp_bug(int *out, int count) {
    asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory"); //~ sync/barrier-count
    out[threadIdx.x] = 1;
}

// Two warps wait for each other at different named barriers.
__global__ void crossed_bug(int *out) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory"); //~? sync/deadlock
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory"); //~? sync/deadlock
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    out[threadIdx.x] = 1;
}
__global__ void crossed_good(int *out) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    asm volatile("bar.sync 2, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}

// A block never comes to the grid's barrier.
__global__ void grid_bug(int *out) {
    auto grid = cooperative_groups::this_grid();
    if (blockIdx.x == 1) return;
    grid.sync(); //~ sync/deadlock
    out[blockIdx.x] = 1;
}
__global__ void grid_good(int *out) {
    auto grid = cooperative_groups::this_grid();
    grid.sync();
    if (blockIdx.x == 1) return;
    out[blockIdx.x] = 1;
}
// Runs one of these.
static void run_grid(const char *name, void (*kernel)(int *), int *out) {
    if (!wanted(name)) return;
    void *arguments[] = {&out};
    cudaLaunchCooperativeKernel((void *)kernel, dim3(4), dim3(1), arguments, 0, 0);
    if (cudaDeviceSynchronize() != cudaSuccess) cudaDeviceReset();
}

int main() {
    int *out = zeros<int>(256);
    auto again = [&] {
        if (cudaMemset(out, 0, 1024) != cudaSuccess) out = zeros<int>(256);
    };
    RUN(half_warp_bug, 1, 64, out);
    again();
    RUN(half_warp_good, 1, 64, out);
    RUN(two_sides_bug, 1, 64, out);
    again();
    RUN(two_sides_good, 1, 64, out);
    RUN(trips_bug, 1, 64, out);
    again();
    RUN(trips_good, 1, 64, out);
    RUN(early_exit_good, 1, 64, out, 50);
    RUN(own_lane_bug, 1, 32, out);
    again();
    RUN(own_lane_good, 1, 32, out);
    RUN(vote_mask_bug, 1, 32, out);
    again();
    RUN(vote_mask_good, 1, 32, out);
    RUN(syncwarp_mask_bug, 1, 32, out);
    again();
    RUN(syncwarp_mask_good, 1, 32, out);
    RUN(exited_good, 1, 32, out, 24);
    RUN(small_block_good, 1, 20, out);
    RUN(match_mask_bug, 1, 32, out);
    again();
    RUN(match_mask_good, 1, 32, out);
    unsigned masks[32], *some = zeros<unsigned>(32);
    for (int lane = 0; lane < 32; lane++) masks[lane] = lane < 16 ? 0xffffffffu : 0xffff0000u;
    cudaMemcpy(some, masks, sizeof masks, cudaMemcpyHostToDevice);
    RUN(other_mask_bug, 1, 32, out, some);
    for (int lane = 0; lane < 32; lane++) masks[lane] = lane < 16 ? 0xffffffffu : 0xfffffffeu;
    cudaMemcpy(some, masks, sizeof masks, cudaMemcpyHostToDevice);
    RUN(votes_bug, 1, 32, out, some);
    for (int lane = 0; lane < 32; lane++) masks[lane] = 0xffffffffu;
    cudaMemcpy(some, masks, sizeof masks, cudaMemcpyHostToDevice);
    RUN(votes_good, 1, 32, out, some);
    RUN(places_bug, 1, 32, out, 0xfffffffeu);
    RUN(places_good, 1, 32, out, 0xffffffffu);
    for (int lane = 0; lane < 32; lane++) masks[lane] = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    cudaMemcpy(some, masks, sizeof masks, cudaMemcpyHostToDevice);
    RUN(other_mask_good, 1, 32, out, some);
    cudaFree(some);
    RUN(groups_good, 1, 32, out);
    RUN(passed_bug, 1, 32, out);
    RUN(passed_good, 1, 32, out);
    RUN(count_bug, 1, 64, out);
    again();
    RUN(count_good, 1, 64, out);
    RUN(counts_bug, 1, 64, out, 96);
    out = zeros<int>(256);
    RUN(counts_good, 1, 64, out, 64);
    RUN(part_of_a_warp_bug, 1, 64, out, 40);
    out = zeros<int>(256);
    RUN(crossed_bug, 1, 64, out);
    again();
    RUN(crossed_good, 1, 64, out);
    again();
    run_grid("grid_good", grid_good, out);
    run_grid("grid_bug", grid_bug, out);
}
