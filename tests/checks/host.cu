// SPDX-License-Identifier: MIT OR Apache-2.0
// Races with the host program: managed memory that it touches before it has waited for the kernel.
// check: race
#include "corpus.h"

static const int N = 4096;

template <class T> static T *managed(int n) {
    T *p = nullptr;
    cudaMallocManaged(&p, n * sizeof(T));
    memset(p, 0, n * sizeof(T));
    return p;
}

__global__ void result_bug(int *p) {
    p[threadIdx.x] = 3 * threadIdx.x; //~ race/host
}
__global__ void result_good(int *p) {
    p[threadIdx.x] = 3 * threadIdx.x;
}

__global__ void input_bug(const int *p, int *q) {
    q[threadIdx.x] = p[threadIdx.x + 7]; //~ race/host
}
__global__ void input_good(const int *p, int *q) {
    q[threadIdx.x] = p[threadIdx.x + 7];
}

// The event is that of the launch before.
__global__ void event_bug(int *p) {
    p[threadIdx.x]++; //~ race/host
}
__global__ void event_good(int *p) {
    p[threadIdx.x]++;
}

// Asking for an error is no wait, and another launch waits with it.
__global__ void second_bug(int *p) {
    p[threadIdx.x] = 5; //~ race/host
}
__global__ void second_good(int *p) {
    p[threadIdx.x] = 5;
}

// The C library reads for the program: the line is the call's.
__global__ void text_bug(char *p) {
    p[threadIdx.x] = 'a' + threadIdx.x % 26; //~ race/host
}
__global__ void text_good(char *p) {
    p[threadIdx.x] = 'a' + threadIdx.x % 26;
}

// The last byte of the kernel's half, and the first of the other.
__global__ void half_bug(char *p) {
    p[threadIdx.x] = 1; //~ race/host
}
__global__ void half_good(char *p) {
    p[threadIdx.x] = 1;
}

// Variables that both have, by their names and by a pointer.
__managed__ int table[2048] = {1, 2, 3};
__managed__ int counter;
static __managed__ char last;
__global__ void variable_bug() {
    table[threadIdx.x + 100] = 7; //~ race/host
}
__global__ void variable_good() {
    table[threadIdx.x + 100] = 7;
}
__global__ void count_bug() {
    if (threadIdx.x == 0) counter += 2; //~ race/host
}
__global__ void count_good() {
    if (threadIdx.x == 0) counter += 2;
}
__global__ void pointer_bug(const char *p, int *q) {
    q[threadIdx.x] = *p; //~ race/host
}
__global__ void pointer_good(const char *p, int *q) {
    q[threadIdx.x] = *p;
}

// Both only read.
__global__ void read_good(const int *p, int *q) {
    q[threadIdx.x] = p[threadIdx.x];
}
// What the host touches is none of the kernel's.
__global__ void other_good(int *p) {
    p[threadIdx.x] = 9;
}
// A flag of the system's scope.
__global__ void flag_good(int *flag) {
    if (threadIdx.x == 0) atomicAdd_system(flag, 1);
}

int main() {
    int *p = managed<int>(N), *q = managed<int>(N), *mine = managed<int>(N), sum = 0;
    char *text = managed<char>(N);
    cudaEvent_t early, late;
    cudaEventCreate(&early);
    cudaEventCreate(&late);

    result_bug<<<1, 256>>>(p);
    sum += p[5]; //~ race/host
    cudaDeviceSynchronize();
    result_good<<<1, 256>>>(p);
    cudaDeviceSynchronize();
    sum += p[5];

    input_bug<<<1, 256>>>(p, q);
    p[100] = 1; //~ race/host
    cudaDeviceSynchronize();
    p[100] = 2;
    input_good<<<1, 256>>>(p, q);
    cudaDeviceSynchronize();

    cudaEventRecord(early);
    event_bug<<<1, 256>>>(p);
    sum += p[9]; //~ race/host
    cudaEventSynchronize(early);
    cudaDeviceSynchronize();
    event_good<<<1, 256>>>(p);
    cudaEventRecord(late);
    cudaEventSynchronize(late);
    sum += p[9];

    result_good<<<1, 256>>>(q);
    second_bug<<<1, 256>>>(p);
    cudaGetLastError();
    p[3] = sum; //~ race/host
    cudaDeviceSynchronize();
    result_good<<<1, 256>>>(q);
    second_good<<<1, 256>>>(p);
    cudaStreamSynchronize(0);
    p[3] = sum;

    text_bug<<<1, 64>>>(text);
    sum += memchr(text, 'z', 40) != nullptr; //~ race/host
    cudaDeviceSynchronize();
    text_good<<<1, 64>>>(text);
    cudaDeviceSynchronize();
    sum += memchr(text, 'z', 40) != nullptr;

    half_bug<<<1, 128>>>(text);
    text[127] = 0; //~ race/host
    cudaDeviceSynchronize();
    half_good<<<1, 128>>>(text);
    text[128] = 0;
    cudaDeviceSynchronize();

    variable_bug<<<1, 256>>>();
    sum += table[110]; //~ race/host
    cudaDeviceSynchronize();
    variable_good<<<1, 256>>>();
    table[99] = counter;
    cudaDeviceSynchronize();
    sum += table[110];

    count_bug<<<1, 32>>>();
    counter++; //~ race/host
    cudaDeviceSynchronize();
    count_good<<<1, 32>>>();
    cudaDeviceSynchronize();
    counter++;

    pointer_bug<<<1, 64>>>(&last, q);
    last = 'x'; //~ race/host
    cudaDeviceSynchronize();
    pointer_good<<<1, 64>>>(&last, q);
    sum += last;
    cudaDeviceSynchronize();

    read_good<<<1, 256>>>(p, q);
    sum += p[0];
    cudaDeviceSynchronize();
    other_good<<<1, 256>>>(p);
    mine[0] = p[3000];
    p[3000] = mine[0] + 1;
    cudaDeviceSynchronize();
    flag_good<<<1, 32>>>(mine);
    while (*(volatile int *)mine == 0) {}
    cudaDeviceSynchronize();
    printf("%d\n", sum);
}
