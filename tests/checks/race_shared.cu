// SPDX-License-Identifier: MIT OR Apache-2.0
// Races in shared memory between the warps of a block.
// check: race,sync
#include "corpus.h"

// A neighbour's value is read before it is certain to be there.
__global__ void neighbour_bug(int *out) {
    __shared__ int s[128];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[(threadIdx.x + 32) % 128]; //~ race/read-write
}
__global__ void neighbour_good(int *out) {
    __shared__ int s[128];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[(threadIdx.x + 32) % 128];
}

// The second round overwrites what others still read.
__global__ void reuse_bug(int *out) {
    __shared__ int s[128];
    int sum = 0;
    for (int round = 0; round < 4; round++) {
        s[threadIdx.x] = round * threadIdx.x; //~ race/read-write
        __syncthreads();
        sum += s[127 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
__global__ void reuse_good(int *out) {
    __shared__ int s[128];
    int sum = 0;
    for (int round = 0; round < 4; round++) {
        s[threadIdx.x] = round * threadIdx.x;
        __syncthreads();
        sum += s[127 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

// A tree without its barrier.
__global__ void tree_bug(int *out) {
    __shared__ int s[256];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2)
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half]; //~ race/read-write
    if (threadIdx.x == 0) *out = s[0];
}
__global__ void tree_good(int *out) {
    __shared__ int s[256];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = s[0];
}

// All warps write one word, each its own value.
__global__ void one_word_bug(int *out) {
    __shared__ int s;
    if (threadIdx.x % 32 == 0) s = threadIdx.x; //~ race/write-write
    __syncthreads();
    out[threadIdx.x] = s;
}
__global__ void one_word_good(int *out) {
    __shared__ int s;
    if (threadIdx.x == 0) s = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s;
}

// A counter without an atomic.
__global__ void counter_bug(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) count++; //~ race/write-write race/read-write
    __syncthreads();
    if (threadIdx.x == 0) *out = count;
}
__global__ void counter_good(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) *out = count;
}

// One side atomic, the other not.
__global__ void half_atomic_bug(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x >= 32) atomicAdd(&count, 1);
    else if (threadIdx.x == 0) *out = count; //~ race/atomic-plain
}
__global__ void half_atomic_good(int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x >= 32) atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) *out = count;
}

// Bytes of one word are different places.
__global__ void bytes_bug(char *out) {
    __shared__ char s[128];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 64) out[threadIdx.x] = s[threadIdx.x + 64]; //~ race/read-write
}
__global__ void bytes_good(char *out) {
    __shared__ char s[128];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[threadIdx.x];
}

// Doubles overlap the floats of the same buffer.
__global__ void overlap_bug(float *out) {
    extern __shared__ char raw[];
    __shared__ double d[64];
    float *f = reinterpret_cast<float *>(d);
    if (threadIdx.x < 64) d[threadIdx.x] = threadIdx.x;
    else out[threadIdx.x] = f[threadIdx.x - 64]; //~ race/read-write
}
__global__ void overlap_good(float *out) {
    __shared__ double d[64];
    float *f = reinterpret_cast<float *>(d);
    if (threadIdx.x < 64) d[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x >= 64) out[threadIdx.x] = f[threadIdx.x - 64];
}

// A named barrier orders only those who wait at it.
__global__ void named_bug(int *out) {
    __shared__ int s[96];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = s[threadIdx.x + 32]; //~ race/read-write
    }
}
__global__ void named_good(int *out) {
    __shared__ int s[96];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = s[(threadIdx.x + 32) % 64];
    }
}

// Producer and consumer by bar.arrive; the bug arrives before it has written.
__global__ void arrive_bug(int *out) {
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 2, 64;" ::: "memory");
        s[threadIdx.x] = threadIdx.x; //~? race/read-write
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[threadIdx.x] = s[threadIdx.x - 32]; //~? race/read-write
    }
}
__global__ void arrive_good(int *out) {
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        s[threadIdx.x] = threadIdx.x;
        asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[threadIdx.x] = s[threadIdx.x - 32];
    }
}

// A flag in shared memory: without a fence the data need not be there.
__global__ void flag_bug(int *out) {
    __shared__ int data;
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = 42;
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0) {}
        *out = data; //~ race/read-write
    }
}
__global__ void flag_good(int *out) {
    __shared__ int data;
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = 42;
        __threadfence_block();
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0) {}
        __threadfence_block();
        *out = data;
    }
}

// A halo that the neighbouring warp loads.
__global__ void halo_bug(const float *in, float *out) {
    __shared__ float s[130];
    int i = threadIdx.x;
    s[i + 1] = in[i];
    if (i == 0) s[0] = 0;
    if (i == 127) s[129] = 0;
    out[i] = s[i] + s[i + 2]; //~ race/read-write
}
__global__ void halo_good(const float *in, float *out) {
    __shared__ float s[130];
    int i = threadIdx.x;
    s[i + 1] = in[i];
    if (i == 0) s[0] = 0;
    if (i == 127) s[129] = 0;
    __syncthreads();
    out[i] = s[i] + s[i + 2];
}

// A histogram of plain increments.
__global__ void bins_bug(const int *in, int *out) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) bins[in[threadIdx.x]] += 1; //~ race/write-write race/read-write
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void bins_good(const int *in, int *out) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(&bins[in[threadIdx.x]], 1);
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

// Everybody writes the same: reported as a note.
__global__ void same_value(int *out) {
    __shared__ int found;
    found = 1; //~ race/same-value
    __syncthreads();
    out[threadIdx.x] = found;
}

// Double buffering needs one barrier a round, if the buffers alternate.
__global__ void buffers_bug(int *out) {
    __shared__ int s[2][64];
    int value = threadIdx.x;
    for (int round = 0; round < 4; round++) {
        s[0][threadIdx.x] = value; //~ race/read-write
        __syncthreads();
        value += s[0][63 - threadIdx.x];
    }
    out[threadIdx.x] = value;
}
__global__ void buffers_good(int *out) {
    __shared__ int s[2][64];
    int value = threadIdx.x;
    for (int round = 0; round < 4; round++) {
        s[round % 2][threadIdx.x] = value;
        __syncthreads();
        value += s[round % 2][63 - threadIdx.x];
    }
    out[threadIdx.x] = value;
}

int main() {
    int *out = zeros<int>(1024), *in = zeros<int>(1024);
    float *f = zeros<float>(1024), *g = zeros<float>(1024);
    RUN(neighbour_bug, 1, 128, out);
    RUN(neighbour_good, 1, 128, out);
    RUN(reuse_bug, 1, 128, out);
    RUN(reuse_good, 1, 128, out);
    RUN(tree_bug, 1, 256, out);
    RUN(tree_good, 1, 256, out);
    RUN(one_word_bug, 1, 128, out);
    RUN(one_word_good, 1, 128, out);
    RUN(counter_bug, 1, 128, out);
    RUN(counter_good, 1, 128, out);
    RUN(half_atomic_bug, 1, 64, out);
    RUN(half_atomic_good, 1, 64, out);
    RUN(bytes_bug, 1, 128, (char *)out);
    RUN(bytes_good, 1, 128, (char *)out);
    RUN(overlap_bug, 1, 128, f);
    RUN(overlap_good, 1, 128, f);
    RUN(named_bug, 1, 96, out);
    RUN(named_good, 1, 96, out);
    RUN(arrive_bug, 1, 64, out);
    RUN(arrive_good, 1, 64, out);
    RUN(flag_bug, 1, 64, out);
    RUN(flag_good, 1, 64, out);
    RUN(halo_bug, 1, 128, f, g);
    RUN(halo_good, 1, 128, f, g);
    RUN(bins_bug, 1, 128, in, out);
    RUN(bins_good, 1, 128, in, out);
    RUN(same_value, 1, 64, out);
    RUN(buffers_bug, 1, 64, out);
    RUN(buffers_good, 1, 64, out);
    cudaFree(out), cudaFree(in), cudaFree(f), cudaFree(g);
}
