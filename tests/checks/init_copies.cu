// SPDX-License-Identifier: MIT OR Apache-2.0
// What the host program copies from the device, and a kernel should have written. A note for each of the calls:
//~api init/copy init/copy init/copy init/copy
// check: init
#include "corpus.h"

struct Pair {
    double value;
    int index;
};

__global__ void fill(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i;
}
__global__ void pairs(Pair *p) {
    p[threadIdx.x].value = threadIdx.x;
    p[threadIdx.x].index = threadIdx.x;
}

template <class T> static T *fresh(int n) {
    T *p = nullptr;
    cudaMalloc(&p, n * sizeof(T));
    return p;
}

int main() {
    static int host[1024];
    static Pair of_pairs[32];
    int *p = fresh<int>(1000);
    // A grid that is too small by a block, and one that leaves out the last element.
    fill<<<3, 256>>>(p, 1000);
    cudaMemcpy(host, p, 4000, cudaMemcpyDeviceToHost);
    fill<<<4, 256>>>(p, 999);
    cudaMemcpy(host, p, 4000, cudaMemcpyDeviceToHost);
    fill<<<4, 256>>>(p, 1000);
    cudaMemcpy(host, p, 4000, cudaMemcpyDeviceToHost);
    // Nothing, also by a copy on the device, and by one that the program does not wait for.
    int *q = fresh<int>(64), *r = fresh<int>(64);
    cudaMemcpy(r, q, 256, cudaMemcpyDeviceToDevice);
    cudaMemcpy(host, r, 256, cudaMemcpyDeviceToHost);
    cudaMemcpyAsync(host, q, 256, cudaMemcpyDeviceToHost, 0);
    cudaDeviceSynchronize();
    cudaMemset(q, 0, 256);
    cudaMemcpy(host, q, 256, cudaMemcpyDeviceToHost);
    // Padding is not told.
    Pair *s = fresh<Pair>(32);
    pairs<<<1, 32>>>(s);
    cudaMemcpy(of_pairs, s, sizeof(of_pairs), cudaMemcpyDeviceToHost);
    cudaFree(p), cudaFree(q), cudaFree(r), cudaFree(s);
    return 0;
}
