// SPDX-License-Identifier: MIT OR Apache-2.0
// Values never written that go through functions which are called, not inlined.
// check: init
#include "corpus.h"

__device__ __noinline__ int twice(int x) { return 2 * x; }

__global__ void result_of_call_bug(const int *p, int *out) {
    out[threadIdx.x] = twice(p[threadIdx.x]); //~ init/result
}
__global__ void result_of_call_good(const int *p, int *out) {
    out[threadIdx.x] = twice(p[threadIdx.x]);
}

// The function decides by what it is given.
__device__ __noinline__ int sign(int x) {
    if (x < 0) printf("negative\n"); //~ init/branch
    return x;
}
__global__ void branch_in_call_bug(const int *p) { sign(p[threadIdx.x]); }
__device__ __noinline__ int sign_good(int x) {
    if (x < 0) printf("negative\n");
    return x;
}
__global__ void branch_in_call_good(const int *p) { sign_good(p[threadIdx.x]); }

// Written by pointer only if it is asked for.
__device__ __noinline__ void set(int *p, bool on) {
    if (on) *p = 5;
}
__global__ void by_pointer_bug(int *out, int n) {
    int x;
    set(&x, threadIdx.x < n);
    out[threadIdx.x] = x + 1; //~ init/result
}
__global__ void by_pointer_good(int *out, int n) {
    int x = 0;
    set(&x, threadIdx.x < n);
    out[threadIdx.x] = x + 1;
}

// A structure with a hole goes by value, and only what is written is used.
struct Pair {
    char a;
    int b;
    int c;
};
__device__ __noinline__ int sum(Pair p) {
    return p.a + p.b;
}
__device__ __noinline__ int all(Pair p) {
    return p.a + p.b + p.c; // told where the result is used
}
__global__ void structure_bug(int *out) {
    Pair p;
    p.a = threadIdx.x, p.b = 3;
    out[threadIdx.x] = all(p); //~ init/result
}
__global__ void structure_good(int *out) {
    Pair p;
    p.a = threadIdx.x, p.b = 3;
    out[threadIdx.x] = sum(p);
}

// The argument is not used, and what the function returns is its own.
__device__ __noinline__ int constant(int) { return 7; }
__global__ void unused_argument_good(const int *p, int *out) {
    out[threadIdx.x] = constant(p[threadIdx.x]) + 1;
}

// Half of the lanes call with what is undefined, and get theirs back.
__global__ void lanes_bug(const int *p, const int *q, int *out) {
    int x = threadIdx.x < 16 ? twice(p[threadIdx.x]) : twice(q[threadIdx.x]);
    out[threadIdx.x] = x; //~ init/result
}
__global__ void lanes_good(const int *q, int *out) {
    int x = threadIdx.x < 16 ? twice(q[threadIdx.x]) : twice(q[threadIdx.x] + 1);
    out[threadIdx.x] = x;
}

int main() {
    int *p, *q = zeros<int>(32), *out = zeros<int>(32);
    cudaMalloc(&p, 32 * sizeof(int));
    RUN(result_of_call_bug, 1, 32, p, out);
    RUN(result_of_call_good, 1, 32, q, out);
    RUN(branch_in_call_bug, 1, 32, p);
    RUN(branch_in_call_good, 1, 32, q);
    RUN(by_pointer_bug, 1, 32, out, 16);
    RUN(by_pointer_good, 1, 32, out, 16);
    RUN(structure_bug, 1, 32, out);
    RUN(structure_good, 1, 32, out);
    RUN(unused_argument_good, 1, 32, p, out);
    RUN(lanes_bug, 1, 32, p, q, out);
    RUN(lanes_good, 1, 32, q, out);
    cudaFree(p), cudaFree(q), cudaFree(out);
}
