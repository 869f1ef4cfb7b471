// SPDX-License-Identifier: MIT OR Apache-2.0
// Accesses of shared memory that leave their variable and come to the next one: nothing faults.
// check: memory
#include "corpus.h"

__global__ void past_bug(int *out, int n) {
    __shared__ int a[32];
    __shared__ int b[32];
    a[threadIdx.x] = b[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) a[n] = 7; //~ memory/shared-out-of-bounds
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x] + b[31 - threadIdx.x];
}
__global__ void past_good(int *out, int n) {
    __shared__ int a[32];
    __shared__ int b[32];
    a[threadIdx.x] = b[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) a[n - 1] = 7;
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x] + b[31 - threadIdx.x];
}

// A halo of one element that only one side has.
__global__ void halo_bug(int *out) {
    __shared__ int first[4];
    __shared__ int tile[64];
    if (threadIdx.x < 4) first[threadIdx.x] = 1;
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x - 1] + tile[threadIdx.x] + first[threadIdx.x % 4]; //~ memory/shared-out-of-bounds
}
__global__ void halo_good(int *out) {
    __shared__ int first[4];
    __shared__ int tile[65];
    if (threadIdx.x < 4) first[threadIdx.x] = 1;
    int *own = tile + 1;
    own[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) tile[0] = 0;
    __syncthreads();
    out[threadIdx.x] = own[(int)threadIdx.x - 1] + own[threadIdx.x] + first[threadIdx.x % 4];
}

// Bins that data choose.
__global__ void bins_bug(const int *in, int *out) {
    __shared__ int bins[16];
    __shared__ int more[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = more[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[in[threadIdx.x] & 31], 1); //~ memory/shared-out-of-bounds
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x] + more[threadIdx.x];
}
__global__ void bins_good(const int *in, int *out) {
    __shared__ int bins[16];
    __shared__ int more[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = more[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[in[threadIdx.x] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x] + more[threadIdx.x];
}

// From a static array to dynamic shared memory, and back.
__global__ void dynamic_bug(int *out, int n) {
    extern __shared__ int rest[];
    __shared__ int own[32];
    own[threadIdx.x] = rest[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < n; i++) sum += own[i]; //~ memory/shared-out-of-bounds
    sum += rest[(int)threadIdx.x - 3]; //~ memory/shared-out-of-bounds
    out[threadIdx.x] = sum;
}
__global__ void dynamic_good(int *out, int n) {
    extern __shared__ int rest[];
    __shared__ int own[32];
    own[threadIdx.x] = rest[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 32; i++) sum += own[i];
    // A part of it that the kernel takes for another array.
    int *other = rest + 32;
    other[threadIdx.x] = n;
    sum += other[(int)threadIdx.x - 3];
    out[threadIdx.x] = sum;
}

// One array or the other, rows of one array, a member and the next: all of it is as it should be.
struct Both {
    short few[5];
    double many[8];
};
__global__ void either_good(int *out, int n) {
    __shared__ int a[32];
    __shared__ int b[32];
    __shared__ float rows[4][33];
    __shared__ Both both;
    a[threadIdx.x] = threadIdx.x;
    b[threadIdx.x] = -(int)threadIdx.x;
    for (int r = 0; r < 4; r++) rows[r][threadIdx.x] = r;
    if (threadIdx.x < 5) both.few[threadIdx.x] = 1;
    if (threadIdx.x < 8) both.many[threadIdx.x] = 2;
    __syncthreads();
    int *p = n & 1 ? a : b;
    for (int round = 0; round < 3; round++) {
        p[threadIdx.x] += round;
        p = p == a ? b : a;
        __syncthreads();
    }
    // By what lies between the two.
    long between = (char *)b - (char *)a;
    int *other = (int *)((char *)a + between * (n & 1));
    other[threadIdx.x] += 1;
    __syncthreads();
    // From one row into the next.
    out[threadIdx.x] = p[threadIdx.x] + (int)(&rows[0][0])[threadIdx.x + n % 64] + both.few[threadIdx.x % 5] +
                       (int)both.many[threadIdx.x % 8];
}

int main() {
    int *in = zeros<int>(128), *out = zeros<int>(128), host[128];
    for (int i = 0; i < 128; i++) host[i] = i;
    cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
    RUN(past_bug, 1, 32, out, 32);
    RUN(past_good, 1, 32, out, 32);
    RUN(halo_bug, 1, 64, out);
    RUN(halo_good, 1, 64, out);
    RUN(bins_bug, 1, 64, in, out);
    RUN(bins_good, 1, 64, in, out);
    dynamic_bug<<<1, 32, 512>>>(out, 35);
    dynamic_good<<<1, 32, 512>>>(out, 35);
    cudaDeviceSynchronize();
    RUN(either_good, 1, 32, out, 33);
    cudaFree(in), cudaFree(out);
}
