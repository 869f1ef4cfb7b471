// SPDX-License-Identifier: MIT OR Apache-2.0
// Every API misuse here has an error code that CUDA gives. The program prints them; what an H200
// printed is errors.h200.txt, and margay must print the same.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void nothing() {}
__global__ void takes_static_shared(int *out) {
    __shared__ int big[11 * 1024]; // 44 KB
    big[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (out) *out = big[0];
}
__global__ void __launch_bounds__(128) bounded(int *out) {
    if (out) *out = 1;
}
__global__ void store(int *out, int value) { *out = value; }
__device__ int variable[4];
__constant__ int table[4];
int host_variable;

static void say(const char *what, cudaError_t code) {
    printf("%-52s %3d %s\n", what, (int)code, cudaGetErrorName(code));
}
// A launch's error: what GetLastError gives, then that it was reset.
static void launched(const char *what) {
    cudaError_t peeked = cudaPeekAtLastError();
    cudaError_t first = cudaGetLastError();
    cudaError_t second = cudaGetLastError();
    printf("%-52s %3d %s%s%s\n", what, (int)first, cudaGetErrorName(first), peeked == first ? "" : " (peek differs)",
           second == cudaSuccess ? "" : " (not reset)");
}

int main() {
    int *d = nullptr;
    say("cudaMalloc 0 bytes", cudaMalloc(&d, 0));
    printf("  pointer is %s\n", d ? "set" : "null");
    say("cudaMalloc", cudaMalloc(&d, 1024));
    say("cudaMalloc to a null pointer", cudaMalloc((void **)nullptr, 16));
    void *huge = nullptr;
    say("cudaMalloc of more than there is", cudaMalloc(&huge, (size_t)1 << 50));
    launched("  after it");

    nothing<<<0, 1>>>();                      launched("grid of 0");
    nothing<<<1, 0>>>();                      launched("block of 0");
    nothing<<<1, 1025>>>();                   launched("block of 1025");
    nothing<<<1, dim3(1, 1, 65)>>>();         launched("block z of 65");
    nothing<<<1, dim3(2048, 1, 1)>>>();       launched("block x of 2048");
    nothing<<<dim3(1, 65536), 1>>>();         launched("grid y of 65536");
    nothing<<<dim3(1, 1, 65536), 1>>>();      launched("grid z of 65536");
    nothing<<<dim3(1, 65535), 1>>>();         launched("grid y of 65535");
    nothing<<<1, 1, 48 * 1024>>>();           launched("48 KB of dynamic shared memory");
    nothing<<<1, 1, 48 * 1024 + 1>>>();       launched("48 KB and a byte");
    takes_static_shared<<<1, 1, 4 * 1024>>>(nullptr); launched("44 KB static and 4 KB dynamic");
    takes_static_shared<<<1, 1, 4 * 1024 + 1>>>(nullptr); launched("44 KB static, 4 KB and a byte dynamic");
    bounded<<<1, 128>>>(nullptr);             launched("launch bounds met");
    bounded<<<1, 129>>>(nullptr);             launched("launch bounds exceeded");
    say("opt in to 227 KB", cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
    nothing<<<1, 1, 227 * 1024>>>();          launched("227 KB after opting in");
    say("opt in to 228 KB", cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024));
    launched("  after it");
    say("synchronise", cudaDeviceSynchronize());

    say("launch a host function", cudaLaunchKernel((const void *)&host_variable, dim3(1), dim3(1), nullptr, 0, 0));
    launched("  after it");
    cudaFuncAttributes attributes;
    say("attributes of a host function", cudaFuncGetAttributes(&attributes, (const void *)&host_variable));
    launched("  after it");

    int value[4] = {1, 2, 3, 4};
    say("symbol: copy to a device variable", cudaMemcpyToSymbol(variable, value, sizeof value));
    say("symbol: copy beyond its end", cudaMemcpyToSymbol(variable, value, sizeof value, 4));
    say("symbol: copy to a constant", cudaMemcpyToSymbol(table, value, sizeof value));
    say("symbol: unknown", cudaMemcpyToSymbol(host_variable, value, 4));
    size_t size = 0;
    void *address = nullptr;
    say("symbol: size of a constant", cudaGetSymbolSize(&size, table));
    printf("  %zu bytes\n", size);
    say("symbol: size of an unknown one", cudaGetSymbolSize(&size, host_variable));
    say("symbol: address of an unknown one", cudaGetSymbolAddress(&address, host_variable));
    launched("  after them");

    char host[64] = {0};
    say("copy to the device", cudaMemcpy(d, host, 64, cudaMemcpyHostToDevice));
    say("copy of no bytes", cudaMemcpy(d, host, 0, cudaMemcpyHostToDevice));
    say("copy with direction 17", cudaMemcpy(d, host, 64, (cudaMemcpyKind)17));
    say("copy from null", cudaMemcpy(d, nullptr, 64, cudaMemcpyHostToDevice));
    say("memset of null", cudaMemset(nullptr, 0, 16));
    launched("  after them");

    say("free null", cudaFree(nullptr));
    say("free in the middle", cudaFree((char *)d + 16));
    launched("  after it");
    say("free host memory", cudaFree(host));
    launched("  after it");
    int *e = nullptr;
    cudaMalloc(&e, 256);
    say("free", cudaFree(e));
    say("free twice", cudaFree(e));
    launched("  after it");
    say("free host memory that is not pinned", cudaFreeHost(host));
    launched("  after it");

    say("set device 99", cudaSetDevice(99));
    say("set device -1", cudaSetDevice(-1));
    cudaDeviceProp properties;
    say("properties of device 99", cudaGetDeviceProperties(&properties, 99));
    say("attribute of device 99", cudaDeviceGetAttribute(&value[0], cudaDevAttrWarpSize, 99));
    say("attribute 9999", cudaDeviceGetAttribute(&value[0], (cudaDeviceAttr)9999, 0));
    launched("  after them");

    cudaStream_t stream;
    say("create a stream", cudaStreamCreate(&stream));
    say("query an idle stream", cudaStreamQuery(stream));
    cudaEvent_t event, untimed;
    say("create an event", cudaEventCreate(&event));
    say("query an event never recorded", cudaEventQuery(event));
    say("synchronise an event never recorded", cudaEventSynchronize(event));
    say("create an event without timing", cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    float ms = 0;
    say("elapsed between events never recorded", cudaEventElapsedTime(&ms, event, event));
    say("record", cudaEventRecord(event, stream));
    say("record without timing", cudaEventRecord(untimed, stream));
    say("synchronise the stream", cudaStreamSynchronize(stream));
    say("elapsed with an event without timing", cudaEventElapsedTime(&ms, event, untimed));
    say("elapsed", cudaEventElapsedTime(&ms, event, event));
    say("destroy the event", cudaEventDestroy(event));
    say("destroy the stream", cudaStreamDestroy(stream));
    say("create a stream with flags 77", cudaStreamCreateWithFlags(&stream, 77));
    launched("  after them");

    say("register null", cudaHostRegister(nullptr, 64, 0));
    void *page = aligned_alloc(4096, 8192);
    say("register", cudaHostRegister(page, 8192, cudaHostRegisterMapped));
    say("register twice", cudaHostRegister(page, 8192, cudaHostRegisterMapped));
    say("unregister", cudaHostUnregister(page));
    say("unregister twice", cudaHostUnregister(page));
    launched("  after them");

    cudaPointerAttributes p;
    say("attributes of a device pointer", cudaPointerGetAttributes(&p, d));
    printf("  type %d\n", (int)p.type);
    say("attributes of an unregistered host pointer", cudaPointerGetAttributes(&p, host));
    printf("  type %d, device pointer %s\n", (int)p.type, p.devicePointer ? "set" : "null");
    void *pinned = nullptr;
    say("pinned memory", cudaHostAlloc(&pinned, 256, cudaHostAllocMapped));
    say("attributes of a pinned pointer", cudaPointerGetAttributes(&p, pinned));
    printf("  type %d, same address on the device: %s\n", (int)p.type, p.devicePointer == pinned ? "yes" : "no");
    void *managed = nullptr;
    say("managed memory", cudaMallocManaged(&managed, 256));
    say("attributes of a managed pointer", cudaPointerGetAttributes(&p, managed));
    printf("  type %d\n", (int)p.type);
    say("managed memory of 0 bytes", cudaMallocManaged(&managed, 0));
    say("managed memory with flags 99", cudaMallocManaged(&managed, 256, 99));
    launched("  after them");

    size_t limit = 0;
    say("stack limit", cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    printf("  %zu\n", limit);
    say("printf limit", cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    printf("  %zu\n", limit);
    say("heap limit", cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    printf("  %zu\n", limit);
    say("limit 99", cudaDeviceGetLimit(&limit, (cudaLimit)99));
    launched("  after it");

    int blocks = -1;
    say("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0));
    printf("  %d blocks\n", blocks);
    say("cooperative launch of too many blocks", [] {
        void *arguments[] = {nullptr};
        return cudaLaunchCooperativeKernel((const void *)nothing, dim3(1 << 20), dim3(256), arguments, 0, 0);
    }());
    launched("  after it");
    store<<<1, 1>>>(d, 42);
    int back = 0;
    say("read back", cudaMemcpy(&back, d, 4, cudaMemcpyDeviceToHost));
    printf("  %d\n", back);
    say("name of error 9999", (cudaError_t)9999);
    printf("%s\n", cudaGetErrorString((cudaError_t)9999));
    printf("%s\n", cudaGetErrorString(cudaErrorInvalidConfiguration));
    printf("%s\n", cudaGetErrorString(cudaErrorMemoryAllocation));
    printf("%s\n", cudaGetErrorString(cudaErrorIllegalAddress));
    return 0;
}
