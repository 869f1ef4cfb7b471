// SPDX-License-Identifier: MIT OR Apache-2.0
// Races between streams: launches and copies that no event, no rule of the default stream and no wait of the host orders.
// check: race
#include "corpus.h"
#include <unistd.h>

static const int N = 256;

__global__ void fill_bug(int *p, int value) {
    p[threadIdx.x] = value; //~ race/streams
}
__global__ void fill_good(int *p, int value) {
    p[threadIdx.x] = value;
}

__global__ void make_bug(int *p) {
    p[threadIdx.x] = threadIdx.x; //~ race/streams
}
__global__ void take_bug(const int *p, int *q) {
    q[threadIdx.x] = p[N - 1 - threadIdx.x]; //~ race/streams
}
__global__ void make_good(int *p) {
    p[threadIdx.x] = threadIdx.x;
}
__global__ void take_good(const int *p, int *q) {
    q[threadIdx.x] = p[N - 1 - threadIdx.x];
}

// A copy takes the result before the kernel that makes it is known to be done.
__global__ void result_bug(int *p) {
    p[threadIdx.x] = 3 * threadIdx.x; //~ race/streams
}
__global__ void result_good(int *p) {
    p[threadIdx.x] = 3 * threadIdx.x;
}

// The default stream's rules do not reach non-blocking streams.
__global__ void unblocked_bug(int *p) {
    p[threadIdx.x] = 4 * threadIdx.x; //~ race/streams
}
__global__ void blocked_good(int *p) {
    p[threadIdx.x] = 4 * threadIdx.x;
}

// Cleared while the one before still counts.
__global__ void count_bug(int *p) {
    atomicAdd(&p[threadIdx.x % 8], 1); //~ race/streams
}
__global__ void count_good(int *p) {
    atomicAdd(&p[threadIdx.x % 8], 1);
}

// Memory of a stream, before that has come to its allocation, and after it may have freed it.
__global__ void too_early_bug(int *p) {
    p[threadIdx.x] = 5 * threadIdx.x; //~ race/streams
}
__global__ void too_late_bug(int *p) {
    p[threadIdx.x] = 6 * threadIdx.x; //~ race/streams
}
__global__ void in_time_good(int *p) {
    p[threadIdx.x] = 7 * threadIdx.x;
}

// Two halves of a buffer, one of them a byte too long.
__global__ void halves_bug(char *p, int n) {
    if (threadIdx.x < n) p[threadIdx.x] = n; //~ race/streams
}
__global__ void halves_good(char *p, int n) {
    if (threadIdx.x < n) p[threadIdx.x] = n;
}

// The event was recorded before the kernel that it should stand for.
__global__ void early_event_bug(int *p) {
    p[threadIdx.x] += 1; //~ race/streams
}
__global__ void late_event_good(int *p) {
    p[threadIdx.x] += 1;
}

// Bodies of conditional nodes are part of the launch of their graph.
__global__ void body_bug(int *p) {
    p[threadIdx.x] += 2; //~ race/streams
}
__global__ void body_good(int *p) {
    p[threadIdx.x] += 2;
}

static cudaGraphExec_t conditional(void (*kernel)(int *), int *p) {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandle handle;
    cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
    cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
    cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params);
#else
    cudaGraphAddNode(&node, graph, nullptr, 0, &params);
#endif
    void *arguments[] = {&p};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)kernel;
    launch.gridDim = dim3(1), launch.blockDim = dim3(N);
    launch.kernelParams = arguments;
    cudaGraphAddKernelNode(&node, params.conditional.phGraph_out[0], nullptr, 0, &launch);
    cudaGraphExec_t executable;
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    return executable;
}

int main() {
    int *p = zeros<int>(N), *q = zeros<int>(N), *host = nullptr;
    cudaMallocHost(&host, N * sizeof(int));
    cudaStream_t a, b, free_a, free_b;
    cudaStreamCreate(&a), cudaStreamCreate(&b);
    cudaStreamCreateWithFlags(&free_a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&free_b, cudaStreamNonBlocking);
    cudaEvent_t event;
    cudaEventCreate(&event);
    auto all_done = [] { cudaDeviceSynchronize(); };

    fill_bug<<<1, N, 0, a>>>(p, 1);
    fill_bug<<<1, N, 0, b>>>(p, 2);
    all_done();
    fill_good<<<1, N, 0, a>>>(p, 1);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    fill_good<<<1, N, 0, b>>>(p, 2);
    all_done();

    make_bug<<<1, N, 0, a>>>(p);
    take_bug<<<1, N, 0, b>>>(p, q);
    all_done();
    make_good<<<1, N, 0, a>>>(p);
    cudaStreamSynchronize(a);
    take_good<<<1, N, 0, b>>>(p, q);
    all_done();

    result_bug<<<1, N, 0, a>>>(p);
    cudaMemcpyAsync(host, p, N * sizeof(int), cudaMemcpyDeviceToHost, b);
    all_done();
    result_good<<<1, N, 0, a>>>(p);
    cudaMemcpyAsync(host, p, N * sizeof(int), cudaMemcpyDeviceToHost, a);
    all_done();

    unblocked_bug<<<1, N, 0, free_a>>>(p);
    cudaMemcpy(q, p, N * sizeof(int), cudaMemcpyDeviceToDevice);
    all_done();
    blocked_good<<<1, N, 0, a>>>(p);
    cudaMemcpy(q, p, N * sizeof(int), cudaMemcpyDeviceToDevice);
    blocked_good<<<1, N, 0, b>>>(p);
    blocked_good<<<1, N>>>(p);
    blocked_good<<<1, N, 0, a>>>(p);
    all_done();

    count_bug<<<4, N, 0, free_a>>>(p);
    cudaMemsetAsync(p, 0, 32, free_b);
    all_done();
    count_good<<<4, N, 0, free_a>>>(p);
    count_good<<<4, N, 0, free_b>>>(p);
    all_done();

    char *bytes = (char *)p;
    halves_bug<<<1, N, 0, a>>>(bytes, 101);
    halves_bug<<<1, N, 0, b>>>(bytes + 100, 100);
    all_done();
    halves_good<<<1, N, 0, a>>>(bytes, 100);
    halves_good<<<1, N, 0, b>>>(bytes + 100, 100);
    all_done();

    cudaEventRecord(event, a);
    early_event_bug<<<1, N, 0, a>>>(p);
    cudaStreamWaitEvent(b, event, 0);
    early_event_bug<<<1, N, 0, b>>>(p);
    all_done();
    late_event_good<<<1, N, 0, a>>>(p);
    cudaEventRecord(event, a);
    cudaEventSynchronize(event);
    late_event_good<<<1, N, 0, b>>>(p);
    all_done();

    cudaGraphExec_t graph = conditional(body_bug, p);
    cudaGraphLaunch(graph, a);
    body_bug<<<1, N, 0, b>>>(p);
    all_done();
    cudaGraphExecDestroy(graph);
    graph = conditional(body_good, p);
    body_good<<<1, N, 0, a>>>(p);
    cudaGraphLaunch(graph, a);
    body_good<<<1, N, 0, a>>>(p);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    body_good<<<1, N, 0, b>>>(p);
    all_done();
    cudaGraphExecDestroy(graph);

    // A pipeline of two buffers: each stream has its own, and frees it.
    for (int round = 0; round < 4; round++) {
        cudaStream_t stream = round % 2 ? a : b;
        int *own = nullptr;
        cudaMallocAsync(&own, N * sizeof(int), stream);
        make_good<<<1, N, 0, stream>>>(own);
        cudaMemcpyAsync(host + round, own, 4, cudaMemcpyDeviceToHost, stream);
        cudaFreeAsync(own, stream);
    }
    all_done();

    int *early = nullptr, *late = nullptr, *timely = nullptr;
    cudaMallocAsync(&early, N * sizeof(int), a);
    too_early_bug<<<1, N, 0, b>>>(early);
    all_done();
    cudaFreeAsync(early, a);
    cudaMallocAsync(&late, N * sizeof(int), a);
    cudaStreamSynchronize(a);
    too_late_bug<<<1, N, 0, b>>>(late);
    // It really runs before, though nobody knows.
    usleep(200000);
    cudaFreeAsync(late, a);
    all_done();
    cudaMallocAsync(&timely, N * sizeof(int), a);
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
    in_time_good<<<1, N, 0, b>>>(timely);
    cudaEventRecord(event, b);
    cudaStreamWaitEvent(a, event, 0);
    cudaFreeAsync(timely, a);
    all_done();

    // Two copies into the same bytes have no line of a kernel.
    cudaMemcpyAsync(host, p, 16, cudaMemcpyDeviceToHost, a);
    cudaMemcpyAsync(host + 3, q, 16, cudaMemcpyDeviceToHost, b); //~api race/streams
    all_done();

    cudaEventDestroy(event);
    for (cudaStream_t stream : {a, b, free_a, free_b}) cudaStreamDestroy(stream);
    cudaFreeHost(host), cudaFree(p), cudaFree(q);
}
