// SPDX-License-Identifier: MIT OR Apache-2.0
// Device printf in all its formats. What an H200 printed is printf.h200.txt.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void formats() {
    int n = -42;
    unsigned u = 3000000000u;
    long long ll = -1234567890123456789LL;
    unsigned long long ull = 18446744073709551615ULL;
    printf("[%d] [%i] [%5d] [%-5d] [%05d] [%+d] [% d]\n", n, n, n, n, n, 42, 42);
    printf("[%u] [%o] [%x] [%X] [%#x] [%#o] [%08x]\n", u, u, u, u, u, u, u);
    printf("[%lld] [%llu] [%llx] [%ld] [%lu] [%zu]\n", ll, ull, ull, (long)ll, (unsigned long)ull, (size_t)7);
    printf("[%hd] [%hhd] [%hu] [%hhu]\n", 70000, 300, 70000, 300);
    printf("[%c] [%5c] [%-5c]\n", 'x', 'y', 'z');
    printf("[%s] [%10s] [%-10s] [%.2s]\n", "text", "right", "left", "cut");
    printf("[%f] [%.2f] [%10.3f] [%-10.1f] [%+f] [%e] [%.3E]\n", 3.14159265, 2.5, -1.0, 7.25, 1.0, 12345.678, 0.00012);
    printf("[%g] [%G] [%g] [%g] [%a] [%A]\n", 0.0001, 1e-10, 1e20, 100000.0, 1.0, 0.1);
    printf("[%f] [%f] [%f] [%e]\n", 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0 * -1.0, 0.0);
    printf("[%*d] [%-*d] [%.*f]\n", 6, 42, 6, 42, 2, 3.14159);
    printf("[%%] [%p] [%5%]\n", (void *)0x1234);
    printf("no arguments\n");
    printf("[%f] float promoted [%d] bool [%d] short\n", 1.5f, true, (short)-3);
    int written = printf("three %d %d %d\n", 1, 2, 3);
    printf("returned %d\n", written);
    int none = printf("none\n");
    printf("returned %d\n", none);
    printf("%s\n", (const char *)nullptr);
}

int main() {
    formats<<<1, 1>>>();
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(error));
    return 0;
}
