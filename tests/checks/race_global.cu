// SPDX-License-Identifier: MIT OR Apache-2.0
// Races in global memory: between blocks, by scope, by a missing fence.
// check: race,sync
#include "corpus.h"
#include <cooperative_groups.h>

__global__ void sum_bug(int *sum) {
    if (threadIdx.x == 0) *sum += 1; //~ race/write-write race/read-write race/same-value
}
__global__ void sum_good(int *sum) {
    if (threadIdx.x == 0) atomicAdd(sum, 1);
}

// Blocks write overlapping parts.
__global__ void overlap_bug(int *out) {
    out[blockIdx.x * 32 + threadIdx.x] = blockIdx.x; //~ race/write-write
}
__global__ void overlap_good(int *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
}

// A neighbour block's result is read in the same launch.
__global__ void stencil_bug(int *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[(i + blockDim.x) % n] + 1; //~ race/read-write
}
__global__ void stencil_good(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[(i + blockDim.x) % n] + 1;
}

// The last block adds up; without the fence its reads race with the others' writes.
__device__ unsigned arrived;
__global__ void last_block_bug(int *partial, int *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = blockIdx.x;
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += partial[i]; //~ race/read-write
        *out = sum;
        atomicExch(&arrived, 0u);
    }
}
__global__ void last_block_good(int *partial, int *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += partial[i];
        *out = sum;
        atomicExch(&arrived, 0u);
    }
}

// The fence's scope is a block, the reader is in another.
__global__ void fence_scope_bug(int *data, int *flag, int *out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence_block();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data; //~ race/read-write
    }
}
__global__ void fence_scope_good(int *data, int *flag, int *out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = *data;
    }
}

// The atomic's scope is a block, the threads are in several.
__global__ void atomic_scope_bug(int *count) {
    atomicAdd_block(count, 1); //~ race/scope
}
__global__ void atomic_scope_good(int *count) {
    atomicAdd(count, 1);
}

// Within one block the block's scope is enough.
__global__ void atomic_block_good(int *count) {
    atomicAdd_block(&count[blockIdx.x], 1);
}

// A plain read beside atomics of other blocks.
__global__ void peek_bug(int *count, int *out) {
    if (blockIdx.x == 0) out[threadIdx.x] = *count; //~? race/atomic-plain
    else atomicAdd(count, 1); //~? race/atomic-plain
}
__global__ void peek_good(int *count, int *out) {
    if (blockIdx.x == 0) out[threadIdx.x] = atomicAdd(count, 0);
    else atomicAdd(count, 1);
}

// A lock without fences, and with them.
__global__ void lock_bug(int *lock, int *data) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        *data += 1; //~ race/read-write race/write-write
        atomicExch(lock, 0);
    }
}
__global__ void lock_good(int *lock, int *data) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        *data += 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// Rounds over the whole grid.
__global__ void rounds_bug(int *a, int *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    __syncthreads();
    b[i] = a[n - 1 - i]; //~ race/read-write
}
__global__ void rounds_good(int *a, int *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    cooperative_groups::this_grid().sync();
    b[i] = a[n - 1 - i];
    cooperative_groups::this_grid().sync();
    a[i] = b[n - 1 - i];
}

// Two warps of one block through global memory.
__global__ void warps_bug(int *data, int *out) {
    data[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = data[threadIdx.x ^ 32]; //~ race/read-write
}
__global__ void warps_good(int *data, int *out) {
    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x ^ 32];
}

// A work queue whose items are written and taken in one launch.
__global__ void queue_bug(int *items, int *tail, int *out) {
    if (threadIdx.x == 0) {
        items[blockIdx.x] = blockIdx.x + 1; //~? race/read-write
        int n = atomicAdd(tail, 1);
        out[blockIdx.x] = items[n]; //~? race/read-write
    }
}
__global__ void queue_good(int *items, int *tail, int *out) {
    if (threadIdx.x == 0) {
        int n = atomicAdd(tail, 1);
        items[n] = blockIdx.x + 1;
        out[blockIdx.x] = items[n];
    }
}

// A counter is set to zero by the threads that count: the first block's atomics come after it, no other block's do.
__global__ void reset_bug(int *count) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *count = 0;
    __syncthreads();
    atomicAdd(count, 1); //~ race/atomic-plain
}
__global__ void reset_good(int *count) {
    if (threadIdx.x == 0) count[blockIdx.x] = 0;
    __syncthreads();
    atomicAdd(&count[blockIdx.x], 1);
}

// As it, within a warp.
__global__ void reset_lane_bug(int *count) {
    if (threadIdx.x == 0) *count = 0;
    atomicAdd(count, 1); //~ race/atomic-plain
}
__global__ void reset_lane_good(int *count) {
    if (threadIdx.x == 0) *count = 0;
    __syncwarp();
    atomicAdd(count, 1);
}

// Who adds last knows by what was there that the others have: nobody is behind what it does to the word then.
__global__ void last_resets_bug(int *count) {
    atomicAdd(count, 1);
    if (blockIdx.x == gridDim.x - 1) *count = 0; //~ race/atomic-plain
}
__global__ void last_resets_good(int *count) {
    if (atomicAdd(count, 1) == gridDim.x - 1) *count = 0;
}

// One thread signals for the block, each of whose threads has fenced what it wrote.
__global__ void one_signals_bug(int *partial, int *out, int *count) {
    __shared__ bool last;
    partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    if (threadIdx.x == 0) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    out[threadIdx.x] = partial[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x]; //~ race/read-write
}
__global__ void one_signals_good(int *partial, int *out, int *count) {
    __shared__ bool last;
    partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    out[threadIdx.x] = partial[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x];
}
// The one that waits fences, and not those that read.
__global__ void one_waits_bug(int *partial, int *out, int *count) {
    __shared__ bool last;
    partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    out[threadIdx.x] = partial[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x]; //~ race/read-write
}

// The lanes of each block write the same, which is harmless, and blocks do not.
__global__ void blocks_differ_bug(int *p) {
    *p = blockIdx.x; //~ race/write-write race/same-value
}
__global__ void blocks_differ_good(int *p) {
    if (threadIdx.x == 0) p[blockIdx.x] = blockIdx.x;
}

// What a block frees another one may get.
__global__ void heap_bug(int *out) {
    __shared__ int *own;
    if (threadIdx.x == 0) own = (int *)malloc(128);
    __syncthreads();
    *own = threadIdx.x; //~ race/write-write
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *own;
    __syncthreads();
    if (threadIdx.x == 0) free(own);
}
__global__ void heap_good(int *out) {
    __shared__ int *own;
    if (threadIdx.x == 0) own = (int *)malloc(128);
    __syncthreads();
    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = own[31 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(own);
}

// Nodes that the kernel finds by pointers in memory, each an allocation of its own.
struct Node {
    int value;
    Node *next;
};
__global__ void list_bug(Node *first) {
    for (Node *n = first; n; n = n->next) n->value += 2; //~ race/read-write race/write-write
}
__global__ void list_good(Node *first) {
    for (Node *n = first; n; n = n->next) atomicAdd(&n->value, 2);
}

int main() {
    int *a = zeros<int>(1024), *b = zeros<int>(1024), *c = zeros<int>(1024);
    auto clear = [&] { cudaMemset(a, 0, 4096), cudaMemset(b, 0, 4096), cudaMemset(c, 0, 4096); };
    RUN(sum_bug, 4, 32, a);
    RUN(sum_good, 4, 32, a);
    RUN(overlap_bug, 4, 64, a);
    RUN(overlap_good, 4, 64, a);
    RUN(stencil_bug, 4, 32, a, 128);
    RUN(stencil_good, 4, 32, a, b, 128);
    RUN(last_block_bug, 8, 32, a, b);
    RUN(last_block_good, 8, 32, a, b);
    clear();
    RUN(fence_scope_bug, 2, 32, a, b, c);
    clear();
    RUN(fence_scope_good, 2, 32, a, b, c);
    RUN(atomic_scope_bug, 4, 32, a);
    RUN(atomic_scope_good, 4, 32, a);
    RUN(atomic_block_good, 4, 32, a);
    RUN(peek_bug, 4, 32, a, b);
    RUN(peek_good, 4, 32, a, b);
    clear();
    RUN(lock_bug, 4, 32, a, b);
    clear();
    RUN(lock_good, 4, 32, a, b);
    RUN(rounds_bug, 4, 32, a, b, 128);
    int n = 128;
    void *arguments[] = {&a, &b, &n};
    cudaLaunchCooperativeKernel((void *)rounds_good, dim3(4), dim3(32), arguments, 0, 0);
    cudaDeviceSynchronize();
    RUN(warps_bug, 1, 64, a, b);
    RUN(warps_good, 1, 64, a, b);
    clear();
    RUN(queue_bug, 4, 32, a, b, c);
    clear();
    RUN(queue_good, 4, 32, a, b, c);
    RUN(reset_bug, 4, 32, a);
    RUN(reset_good, 4, 32, a);
    RUN(reset_lane_bug, 1, 32, a);
    RUN(reset_lane_good, 1, 32, a);
    clear();
    RUN(last_resets_bug, 4, 1, a);
    clear();
    RUN(last_resets_good, 4, 1, a);
    RUN(one_signals_bug, 4, 64, a, b, c);
    clear();
    RUN(one_signals_good, 4, 64, a, b, c);
    clear();
    RUN(one_waits_bug, 4, 64, a, b, c);
    RUN(blocks_differ_bug, 4, 32, a);
    RUN(blocks_differ_good, 4, 32, a);
    RUN(heap_bug, 4, 32, a);
    RUN(heap_good, 4, 32, a);
    Node *first = nullptr;
    for (int i = 0; i < 4; i++) {
        Node node = {i, first};
        first = zeros<Node>(1);
        cudaMemcpy(first, &node, sizeof(node), cudaMemcpyHostToDevice);
    }
    RUN(list_bug, 2, 1, first);
    RUN(list_good, 2, 32, first);
    cudaFree(a), cudaFree(b), cudaFree(c);
}
