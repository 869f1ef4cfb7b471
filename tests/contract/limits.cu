// SPDX-License-Identifier: MIT OR Apache-2.0
// When the limits of a context may still be changed: before and after kernels that use the heap, the
// FIFO, both or none, are loaded and launched. What an H200 printed is limits.h200.txt.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void nothing() {}
__global__ void prints(int say) {
    if (say) printf("from the device\n");
}
// Kept, so that no compiler does without them.
__device__ void *kept;
__global__ void allocates() { kept = malloc(16); }
struct Thing {
    int value;
};
__global__ void makes() { kept = new Thing{3}; }
__global__ void frees() { free(kept); }

static void limit(cudaLimit which, const char *name, size_t value) {
    cudaError_t set = cudaDeviceSetLimit(which, value);
    size_t now = 0;
    cudaDeviceGetLimit(&now, which);
    printf("  %s = %zu: %d %s, now %zu\n", name, value, (int)set, cudaGetErrorName(set), now);
    cudaGetLastError();
}
static void limits(const char *when, size_t more) {
    printf("%s\n", when);
    limit(cudaLimitMallocHeapSize, "heap", ((size_t)16 << 20) + more);
    limit(cudaLimitPrintfFifoSize, "FIFO", ((size_t)4 << 20) + more);
    limit(cudaLimitStackSize, "stack", 2048 + (more >> 16));
}

int main() {
    limits("in a new context", 0);
    limits("again", 1 << 20);
    nothing<<<1, 1>>>();
    limits("after a launch, not waited for", 2 << 20);
    cudaDeviceSynchronize();
    limits("after a launch", 3 << 20);
    prints<<<1, 1>>>(0);
    cudaDeviceSynchronize();
    limits("after a kernel that could have printed", 4 << 20);
    prints<<<1, 1>>>(1);
    cudaDeviceSynchronize();
    limits("after a kernel that printed", 5 << 20);
    allocates<<<1, 1>>>();
    cudaDeviceSynchronize();
    limits("after a kernel that allocated", 6 << 20);
    limits("the same again", 6 << 20);

    cudaDeviceReset();
    limits("after cudaDeviceReset", 0);
    allocates<<<1, 1>>>();
    cudaDeviceSynchronize();
    limits("after a kernel that allocated", 1 << 20);

    cudaDeviceReset();
    makes<<<1, 1>>>();
    cudaDeviceSynchronize();
    limits("after a kernel with new", 1 << 20);

    cudaDeviceReset();
    frees<<<1, 1>>>();
    cudaDeviceSynchronize();
    limits("after a kernel that freed", 1 << 20);

    cudaDeviceReset();
    prints<<<1, 1>>>(1);
    cudaDeviceSynchronize();
    limits("after a kernel that printed", 1 << 20);

    cudaDeviceReset();
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, allocates);
    limits("after loading a kernel that allocates", 1 << 20);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    limits("while a stream is captured", 2 << 20);
    cudaGraph_t graph;
    cudaStreamEndCapture(stream, &graph);

    puts("small and large");
    cudaDeviceReset();
    limit(cudaLimitMallocHeapSize, "heap", 0);
    limit(cudaLimitMallocHeapSize, "heap", 1);
    limit(cudaLimitMallocHeapSize, "heap", ((size_t)8 << 20) + 1);
    limit(cudaLimitPrintfFifoSize, "FIFO", 0);
    limit(cudaLimitPrintfFifoSize, "FIFO", 1);
    limit(cudaLimitPrintfFifoSize, "FIFO", (1 << 20) + 1);
    limit(cudaLimitStackSize, "stack", 0);
    limit(cudaLimitStackSize, "stack", 1);
    limit(cudaLimitStackSize, "stack", 1025);
    limit(cudaLimitStackSize, "stack", 1 << 20);
    limit(cudaLimitDevRuntimeSyncDepth, "sync depth", 2);
    limit(cudaLimitDevRuntimePendingLaunchCount, "pending launches", 100);
    limit(cudaLimitMaxL2FetchGranularity, "L2 fetch", 32);
    limit(cudaLimitMaxL2FetchGranularity, "L2 fetch", 100);
    limit(cudaLimitPersistingL2CacheSize, "persisting L2", 1 << 20);
    limit((cudaLimit)99, "no limit", 1);
}
