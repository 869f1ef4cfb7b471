// SPDX-License-Identifier: MIT OR Apache-2.0
// Faults of kernels: each makes its context unusable, so each runs in a process of its own:
// `faults` alone runs them all by starting itself. What an H200 printed is faults.h200.txt.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

__constant__ int table[16];
__device__ int sink;
__device__ void *volatile null_pointer;
__global__ void write_null() { *(int *)null_pointer = 1; }
__global__ void read_null() { sink = *(int *)null_pointer; }
__global__ void write_far(int *p, size_t n) { p[n] = 1; }
__global__ void misaligned_global(char *p) { *(int *)(p + 1) = 1; }
__global__ void misaligned_shared() {
    extern __shared__ char raw[];
    *(volatile float *)(raw + 254) = 1.0f;
}
__global__ void misaligned_local(int i) {
    char raw[64];
    for (int j = 0; j < 64; j++) raw[j] = j;
    *(volatile double *)(raw + i) = 1.0;
    sink = raw[i];
}
__global__ void beyond_shared(int i) {
    __shared__ int small[32];
    small[threadIdx.x] = threadIdx.x;
    __syncthreads();
    ((volatile int *)small)[i] = 7;
}
__global__ void write_constant(int i) { *(volatile int *)(const_cast<int *>(&table[i])) = 3; }
__global__ void host_memory(int *p) { *p = 1; }
__global__ void traps() { asm volatile("trap;"); }
__global__ void asserts(int x) { assert(x == 1 && "x is one"); }
__global__ void atomic_misaligned(char *p) { atomicAdd((int *)(p + 2), 1); }
__global__ void vector_misaligned(char *p) { *(float4 *)(p + 8) = make_float4(1, 2, 3, 4); }

static int run(const std::string &which) {
    char *d = nullptr;
    cudaMalloc(&d, 4096);
    static int unregistered[64];
    if (which == "write null") write_null<<<1, 1>>>();
    else if (which == "read null") read_null<<<1, 1>>>();
    else if (which == "write far beyond") write_far<<<1, 1>>>((int *)d, (size_t)1 << 38);
    else if (which == "misaligned global") misaligned_global<<<1, 1>>>(d);
    else if (which == "misaligned shared") misaligned_shared<<<1, 1, 1024>>>();
    else if (which == "misaligned local") misaligned_local<<<1, 1>>>(3);
    else if (which == "far beyond shared") beyond_shared<<<1, 32>>>(1 << 20);
    else if (which == "write constant") write_constant<<<1, 1>>>(2);
    else if (which == "trap") traps<<<1, 1>>>();
    else if (which == "assert") asserts<<<1, 2>>>(0);
    else if (which == "misaligned atomic") atomic_misaligned<<<1, 1>>>(d);
    else if (which == "misaligned vector") vector_misaligned<<<1, 1>>>(d);
    else return 1;
    cudaError_t at_launch = cudaGetLastError();
    cudaError_t at_sync = cudaDeviceSynchronize();
    cudaError_t later = cudaMemset(d, 0, 16);
    cudaError_t last = cudaGetLastError();
    cudaError_t again = cudaGetLastError();
    void *p = nullptr;
    cudaError_t allocation = cudaMalloc(&p, 16);
    printf("%-20s launch %d, synchronise %d %s, memset %d, last %d, again %d, malloc %d\n", which.c_str(), at_launch, at_sync,
           cudaGetErrorName(at_sync), later, last, again, allocation);
    (void)unregistered;
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return run(argv[1]);
    const char *all[] = {"write null", "read null", "write far beyond", "misaligned global", "misaligned shared",
                         "misaligned local", "far beyond shared", "write constant", "trap", "assert",
                         "misaligned atomic", "misaligned vector"};
    for (const char *which : all) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], which, (char *)nullptr);
            _exit(127);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) printf("%-20s ended with status %d\n", which, status);
    }
    return 0;
}
