// SPDX-License-Identifier: MIT OR Apache-2.0
// What CUDA 7.5 had not yet; and 4 KB of parameters before CUDA 12.1 on any capability.
// cuda: 7050
__device__ int counter() {
    static int n; //~ MG110
    return ++n;
}
__device__ int variadic(int n, ...) { return n; } //~ MG111
struct Large {
    char bytes[5000];
};
__global__ void k(Large large, int *p) { p[0] = large.bytes[0] + counter() + variadic(1, 2); } //~ MG120
