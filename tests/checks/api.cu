// SPDX-License-Identifier: MIT OR Apache-2.0
// API calls that name memory which is not the program's to use so. Their places are not compared: the
// marks stand for how often each must come. //~api memory/double-free memory/invalid-free memory/invalid-free
//~api memory/double-free memory/double-free memory/invalid-free
//~api memory/invalid-copy memory/invalid-copy memory/invalid-copy memory/use-after-free memory/use-after-free
// check: memory
#include "corpus.h"

__global__ void k(int *p) { *p = 1; }

int main() {
    int *p = zeros<int>(16), *q = zeros<int>(16), host[64] = {};
    k<<<1, 1>>>(p);
    // Good: whole, and from the middle to the end.
    cudaMemcpy(host, p, 64, cudaMemcpyDeviceToHost);
    cudaMemcpy(q + 8, host, 32, cudaMemcpyHostToDevice);
    cudaMemset(q, 1, 64);
    // Too long by a byte, in each direction, and a fill.
    cudaMemcpy(host, p, 65, cudaMemcpyDeviceToHost);
    cudaMemcpy(q + 8, host, 33, cudaMemcpyHostToDevice);
    cudaMemset(q, 1, 68);
    // Not the beginning of an allocation; the host's memory.
    cudaFree(q + 1);
    cudaFree(host);
    cudaFree(q);
    cudaFree(q);
    cudaMemcpy(host, q, 64, cudaMemcpyDeviceToHost);
    cudaMemset(q, 0, 4);
    cudaFree(p);
    // In the order of a stream, and again, also by the other call; the middle of it.
    int *r = zeros<int>(16);
    cudaFreeAsync(r + 1, 0);
    cudaFreeAsync(r, 0);
    cudaFreeAsync(r, 0);
    cudaFree(r);
    cudaDeviceSynchronize();
    cudaGetLastError();
    return 0;
}
