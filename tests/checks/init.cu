// SPDX-License-Identifier: MIT OR Apache-2.0
// Values that were never written.
// check: init
#include "corpus.h"

struct Padded {
    char tag;
    double value;
};

// Global memory of cudaMalloc holds nothing yet.
__global__ void global_bug(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x] * 2; //~ init/result
}
__global__ void global_good(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x] * 2;
}

__global__ void branch_bug(const int *in, int *out) {
    if (in[threadIdx.x] > 3) out[threadIdx.x] = 1; //~ init/branch init/result
    __syncthreads();
}

__global__ void index_bug(const int *in, int *out) {
    out[in[0] & 31] = 1; //~ init/address
}
__global__ void index_good(const int *in, int *out) {
    out[in[0] & 31] = 1;
}

__global__ void atomic_bug(int *count) {
    atomicAdd(count, 1); //~ init/atomic
}
__global__ void atomic_good(int *count) {
    atomicAdd(count, 1);
}

// Half of the array is written.
__global__ void half_bug(int *out) {
    __shared__ int s[64];
    if (threadIdx.x < 32) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + 1; //~ init/result
}
__global__ void half_good(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + 1;
}

// A sum that begins with what happened to be there.
__global__ void sum_bug(int *out) {
    __shared__ int sum;
    atomicAdd(&sum, threadIdx.x); //~ init/atomic
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}
__global__ void sum_good(int *out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}

// A thread's array of which one element is never set.
__global__ void local_bug(int *out, int n) {
    volatile int a[8];
    for (int i = 0; i < n; i++) a[i] = i;
    out[threadIdx.x] = a[threadIdx.x % 8] + 1; //~ init/result
}
__global__ void local_good(int *out, int n) {
    volatile int a[8];
    for (int i = 0; i < n; i++) a[i] = i;
    out[threadIdx.x] = a[threadIdx.x % 8] + 1;
}

// Copying padding is no use of it.
__global__ void padding_good(const Padded *in, Padded *out) {
    out[threadIdx.x] = in[threadIdx.x];
}
__global__ void fill_padded(Padded *p) {
    p[threadIdx.x].tag = 1;
    p[threadIdx.x].value = threadIdx.x;
}

// Byte by byte it may be that, or not: a note. Where no member can begin behind it, it is none.
__global__ void padding_noted(const char *in, char *out, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = in[i]; //~ init/padding
}
__global__ void characters_bug(const char *in, char *out, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = in[i]; //~ init/result
}
__global__ void characters_good(const char *in, char *out, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = in[i];
}
__global__ void fill_characters(char *p, int n) {
    for (int i = threadIdx.x; i < n; i += 32) p[i] = i;
}
// Of local memory, which clang loads in words; and two lanes' bytes of which those of one are no padding.
struct alignas(16) Wide {
    int first;
    double second;
    int third;
};
__global__ void local_padding_noted(char *out, int n) {
    Wide wide[3];
#pragma unroll 1
    for (int i = 0; i < 3; i++) wide[(i + n) % 3].first = wide[(i + n) % 3].third = i, wide[(i + n) % 3].second = i;
    for (int i = 0; i < (int)sizeof(wide); i++) out[i] = ((char *)wide)[i]; //~ init/padding
}
__global__ void of_two_bug(char *out, int n) {
    __shared__ char few[64];
    __shared__ Padded padded[2];
    if (threadIdx.x < 2) padded[threadIdx.x].tag = 1, padded[threadIdx.x].value = 2;
    if (threadIdx.x == 20) few[40] = 1;
    __syncthreads();
    const char *from = threadIdx.x < n ? few : (const char *)padded;
    out[threadIdx.x] = from[threadIdx.x]; //~ init/result
}
// In words; and elements that were left out are none.
struct Counted {
    int count;
    double sum;
};
__global__ void fill_counted(Counted *p) {
    p[threadIdx.x].count = 1;
    p[threadIdx.x].sum = 2;
}
__global__ void words_noted(const int *in, int *out, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = in[i]; //~ init/padding
}
__global__ void fill_every_other(int *p, char *q) {
    p[2 * threadIdx.x] = q[2 * threadIdx.x] = threadIdx.x;
}
__global__ void every_other_word_bug(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x]; //~ init/result
}
__global__ void every_other_byte_bug(const char *in, char *out) {
    out[threadIdx.x] = in[threadIdx.x]; //~ init/result
}
// Copied padding is not written there, either.
__global__ void padding_copied_bug(const int *p, int *out) {
    out[threadIdx.x] = p[2 * threadIdx.x] + 1; //~ init/result
}

// A shuffle from lanes that have exited, step by step to the first one's sum.
__global__ void exited_bug(const int *in, int *out, int n) {
    if (threadIdx.x >= n) return;
    int sum = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *out = sum; //~ init/result
}
__global__ void exited_good(const int *in, int *out, int n) {
    int sum = threadIdx.x < n ? in[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *out = sum;
}
__global__ void exited_guarded_good(const int *in, int *out, int n) {
    if (threadIdx.x >= n) return;
    int sum = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) {
        int other = __shfl_down_sync(0xffffffffu, sum, d);
        if (threadIdx.x + d < n) sum += other;
    }
    if (threadIdx.x == 0) *out = sum;
}
// Half of a warp reads from the other, which never was, or does something else.
__global__ void elsewhere_bug(const int *in, int *out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffu, in[threadIdx.x], 16); //~ init/result
}
__global__ void elsewhere_good(const int *in, int *out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffu, in[threadIdx.x], 8);
}
// Whether there is such a lane is known also where its value is not.
__global__ void in_range_good(int *out) {
    __shared__ int s[32];
    if (threadIdx.x != 7) s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    int value, there;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 1, 31, 0xffffffff; selp.s32 %1, 1, 0, p; }"
                 : "=r"(value), "=r"(there)
                 : "r"(s[threadIdx.x]));
    out[threadIdx.x] = there ? 1 : 2;
}
// Each side of a branch reads from the other.
__global__ void both_sides_good(const int *in, int *out) {
    int v = in[threadIdx.x];
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v, 16) + 1;
    else
        out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, v + 2, 16) * 3;
}

// A vector is loaded whole, and its last element not used.
__global__ void vector_good(const float4 *in, float *out) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z;
}
__global__ void fill_three(float4 *p) {
    p[threadIdx.x].x = p[threadIdx.x].y = p[threadIdx.x].z = 1;
}
__global__ void vector_bug(const float4 *in, float *out) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = v.x + v.w; //~ init/result
}

// Through shared memory and registers to the branch.
__global__ void far_bug(const int *in, int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    int v = s[31 - threadIdx.x];
    if (v == 7) out[threadIdx.x] = __clz(threadIdx.x); //~ init/branch init/result
    __syncwarp();
}

// A structure by value, to a function that is called.
struct Point {
    int x, y, z;
};
__device__ __noinline__ int element(Point point, int i) { return (&point.x)[i]; }
__global__ void by_value_good(int *out, int i) { out[threadIdx.x] = element(Point{1, 2, 3}, i); }

int main() {
    int *out = zeros<int>(64), *in = zeros<int>(64), *fresh;
    cudaMalloc(&fresh, 256);
    RUN(global_bug, 1, 32, fresh, out);
    RUN(global_good, 1, 32, in, out);
    RUN(branch_bug, 1, 32, fresh, out);
    RUN(index_bug, 1, 1, fresh, out);
    RUN(index_good, 1, 1, in, out);
    RUN(far_bug, 1, 32, fresh, out);
    RUN(atomic_bug, 1, 32, fresh);
    RUN(atomic_good, 1, 32, in);
    RUN(half_bug, 1, 64, out);
    RUN(half_good, 1, 64, out);
    RUN(sum_bug, 1, 32, out);
    RUN(sum_good, 1, 32, out);
    RUN(local_bug, 1, 32, out, 7);
    RUN(local_good, 1, 32, out, 8);
    RUN(by_value_good, 1, 32, out, 1);
    Padded *p, *q;
    float4 *v;
    cudaMalloc(&p, 32 * sizeof(Padded)), cudaMalloc(&q, 32 * sizeof(Padded)), cudaMalloc(&v, 32 * sizeof(float4));
    RUN(fill_padded, 1, 32, p);
    RUN(padding_good, 1, 32, p, q);
    // Two times {tag, padding, value}; and 13 characters, of which the last is not filled.
    char *characters, *copies;
    cudaMalloc(&characters, 13), cudaMalloc(&copies, 32 * sizeof(Padded));
    RUN(padding_noted, 1, 32, (char *)p, copies, 32 * sizeof(Padded));
    RUN(padding_copied_bug, 1, 32, (int *)copies, out);
    RUN(fill_characters, 1, 32, characters, 12);
    RUN(characters_bug, 1, 32, characters, copies, 13);
    RUN(fill_characters, 1, 32, characters, 13);
    RUN(characters_good, 1, 32, characters, copies, 13);
    cudaFree(characters), cudaFree(copies);
    Counted *counted;
    int *ints, *more;
    cudaMalloc(&counted, 32 * sizeof(Counted)), cudaMalloc(&ints, 256), cudaMalloc(&more, 32 * sizeof(Counted));
    cudaMalloc(&characters, 64);
    RUN(fill_counted, 1, 32, counted);
    RUN(words_noted, 1, 32, (int *)counted, more, 32 * sizeof(Counted) / 4);
    RUN(fill_every_other, 1, 32, ints, characters);
    RUN(every_other_word_bug, 1, 64, ints, more);
    RUN(every_other_byte_bug, 1, 64, characters, (char *)more);
    cudaFree(counted), cudaFree(ints), cudaFree(more), cudaFree(characters);
    RUN(exited_bug, 1, 32, in, out, 24);
    RUN(exited_good, 1, 32, in, out, 24);
    RUN(exited_guarded_good, 1, 32, in, out, 24);
    RUN(elsewhere_bug, 1, 32, in, out);
    RUN(elsewhere_bug, 1, 16, in, out);
    RUN(elsewhere_good, 1, 32, in, out);
    RUN(both_sides_good, 1, 32, in, out);
    RUN(in_range_good, 1, 32, out);
    cudaMalloc(&copies, 3 * sizeof(Wide));
    RUN(local_padding_noted, 1, 1, copies, 1);
    RUN(of_two_bug, 1, 32, copies, 16);
    cudaFree(copies);
    RUN(fill_three, 1, 32, v);
    RUN(vector_good, 1, 32, v, (float *)out);
    RUN(vector_bug, 1, 32, v, (float *)out);
    cudaFree(p), cudaFree(q), cudaFree(v), cudaFree(out), cudaFree(in), cudaFree(fresh);
}
