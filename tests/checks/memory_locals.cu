// SPDX-License-Identifier: MIT OR Apache-2.0
// Accesses of a thread's local memory that leave their variable and come to the next one: nothing faults.
// check: memory
#include "corpus.h"

struct Pair {
    int x[4];
    double value;
};

// The indices are known to the kernel's arguments alone.
__global__ void past_bug(int *out, int n, int m) {
    int a[5], b[7];
    for (int i = 0; i < 7; i++) b[(i * m) % 7] = i;
    for (int i = 0; i < n; i++) a[(i * m) % 7] = 2 * i; //~ memory/local-out-of-bounds
    out[threadIdx.x] = a[m] + b[m + 1];
}
__global__ void past_good(int *out, int n, int m) {
    int a[5], b[7];
    for (int i = 0; i < 7; i++) b[(i * m) % 7] = i;
    for (int i = 0; i < n; i++) a[(i * m) % 5] = 2 * i;
    out[threadIdx.x] = a[m] + b[m + 1];
}

// One that the compiler does not see is a constant.
__global__ void constant_bug(int *out, int m) {
    int a[4], b[4];
#pragma unroll 1
    for (int i = 0; i < 4; i++) a[(i + m) & 3] = i, b[(i + m) & 3] = 2 * i;
    asm volatile("" ::: "memory");
    int *p = a, sum = 0;
    p += 4;
    p[1] = 3; //~ memory/local-out-of-bounds
#pragma unroll 1
    for (int i = 0; i < 4; i++) sum = 3 * sum + a[i] + b[i];
    out[threadIdx.x] = sum;
}
// Each thread reads elsewhere: one of them before the start.
__global__ void before_bug(int *out, int m) {
    double first[3];
    short second[12];
    for (int i = 0; i < 3; i++) first[(i * m) % 3] = i;
    for (int i = 0; i < 12; i++) second[(i * m) % 12] = i;
    out[threadIdx.x] = (int)first[threadIdx.x % 3] + second[(int)threadIdx.x % 12 - 1]; //~ memory/local-out-of-bounds
}
__global__ void before_good(int *out, int m) {
    double first[3];
    short second[13];
    short *own = second + 1;
    for (int i = 0; i < 3; i++) first[(i * m) % 3] = i;
    for (int i = 0; i < 13; i++) second[(i * m) % 13] = i;
    out[threadIdx.x] = (int)first[threadIdx.x % 3] + own[(int)threadIdx.x % 12 - 1];
}

// A queue in local memory that grows beyond its end, byte by byte, in some of the lanes only.
__global__ void queue_bug(int *out, const int *steps) {
    unsigned char queue[6];
    unsigned char seen[10];
    for (int i = 0; i < 10; i++) seen[(i + steps[0]) % 10] = 0;
    for (int i = 0; i < 6; i++) queue[(i + steps[0]) % 6] = 1;
    int end = 0;
    for (int i = 0; i < steps[threadIdx.x]; i++) queue[end++] = i; //~ memory/local-out-of-bounds
    out[threadIdx.x] = end + seen[steps[1]] + queue[steps[2] % 6];
}
__global__ void queue_good(int *out, const int *steps) {
    unsigned char queue[6];
    unsigned char seen[10];
    for (int i = 0; i < 10; i++) seen[(i + steps[0]) % 10] = 0;
    for (int i = 0; i < 6; i++) queue[(i + steps[0]) % 6] = 1;
    int end = 0;
    for (int i = 0; i < steps[threadIdx.x] && end < 6; i++) queue[end++] = i;
    out[threadIdx.x] = end + seen[steps[1]] + queue[steps[2] % 6];
}

// A function of its own, put into the kernel by the compiler or not, that is handed the array: either way nobody is accused who
// stays inside, and pointers walk from both ends.
__device__ __noinline__ int sum(const int *p, int n) {
    int total = 0;
    for (int i = 0; i < n; i++) total += p[i];
    return total;
}
__global__ void both_ends_good(int *out, int n, int m) {
    int a[8], b[8];
    Pair pair = {};
    for (int i = 0; i < 8; i++) a[(i * m) % 8] = i, b[(i + m) % 8] = i, pair.x[(i + m) % 4] = i;
    int *end = a + 8, total = 0;
    for (int i = 0; i < n; i++) total += *--end;
    const int *p = n & 1 ? a : b;
    for (int i = 0; i < n; i++) total += p[i] * b[n - 1 - i];
    pair.value = total;
    Pair copy[2] = {pair, pair};
    copy[m % 2].x[n % 4] = 1;
    out[threadIdx.x] = sum(a, n) + sum(b + 1, n - 1) + copy[(m + 1) % 2].x[n % 4] + (int)copy[n % 2].value;
}

int main() {
    int *out = zeros<int>(32), *steps = zeros<int>(32), host[32];
    for (int i = 0; i < 32; i++) host[i] = i < 30 ? 6 : 8;
    cudaMemcpy(steps, host, sizeof(host), cudaMemcpyHostToDevice);
    RUN(past_bug, 1, 32, out, 9, 1);
    RUN(past_good, 1, 32, out, 9, 1);
    RUN(constant_bug, 1, 32, out, 1);
    RUN(before_bug, 1, 32, out, 1);
    RUN(before_good, 1, 32, out, 1);
    RUN(queue_bug, 1, 32, out, steps);
    RUN(queue_good, 1, 32, out, steps);
    RUN(both_ends_good, 1, 32, out, 8, 1);
    cudaFree(out), cudaFree(steps);
}
