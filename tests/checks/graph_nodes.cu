// SPDX-License-Identifier: MIT OR Apache-2.0
// Races within one launch of a graph: nodes between which there is no path of edges.
// check: race
#include "corpus.h"

static const int N = 64;

__global__ void left_bug(int *p) {
    p[threadIdx.x] = threadIdx.x; //~ race/streams
}
__global__ void right_bug(int *p) {
    p[N - 1 - threadIdx.x] += 1; //~ race/streams
}
__global__ void left_good(int *p) {
    p[threadIdx.x] = threadIdx.x;
}
__global__ void right_good(int *p) {
    p[N - 1 - threadIdx.x] += 1;
}
__global__ void below_good(int *p) {
    p[threadIdx.x] *= 2;
}

// Captured in two streams that fork, and write the same bytes before they join.
__global__ void forked_bug(int *p) {
    p[threadIdx.x] = 7; //~ race/streams
}
__global__ void forked_good(int *p) {
    p[threadIdx.x] = 7;
}

// A fill beside the kernel.
__global__ void beside_bug(int *p) {
    p[threadIdx.x] += 3; //~ race/streams
}

// In a graph within a graph.
__global__ void inner_bug(int *p) {
    p[threadIdx.x] = 9; //~ race/streams
}
__global__ void inner_good(int *p) {
    p[threadIdx.x] = 9;
}

static cudaGraphNode_t kernel(cudaGraph_t graph, void *function, int *p, cudaGraphNode_t *after, int count) {
    void *arguments[] = {&p};
    cudaKernelNodeParams how = {};
    how.func = function, how.gridDim = dim3(1), how.blockDim = dim3(N), how.kernelParams = arguments;
    cudaGraphNode_t node;
    cudaGraphAddKernelNode(&node, graph, after, count, &how);
    return node;
}

static void run(cudaGraph_t graph, int times) {
    cudaGraphExec_t executable;
    cudaGraphInstantiate(&executable, graph, 0);
    while (times--) cudaGraphLaunch(executable, 0);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
}

static void capture(void (*k)(int *), int *p, int *q) {
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaStreamCreate(&a), cudaStreamCreate(&b), cudaEventCreate(&fork), cudaEventCreate(&join);
    cudaGraph_t graph;
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, a), cudaStreamWaitEvent(b, fork, 0);
    k<<<1, N, 0, a>>>(p);
    k<<<1, N, 0, b>>>(q);
    cudaEventRecord(join, b), cudaStreamWaitEvent(a, join, 0);
    k<<<1, N, 0, a>>>(q);
    cudaStreamEndCapture(a, &graph);
    run(graph, 2);
    cudaStreamDestroy(a), cudaStreamDestroy(b), cudaEventDestroy(fork), cudaEventDestroy(join);
}

int main() {
    int *p = zeros<int>(N), *q = zeros<int>(N), *r = zeros<int>(N), *s = zeros<int>(N), *t = zeros<int>(N);
    cudaGraph_t graph, child;

    cudaGraphCreate(&graph, 0);
    kernel(graph, (void *)left_bug, p, nullptr, 0);
    kernel(graph, (void *)right_bug, p, nullptr, 0);
    run(graph, 1);

    // A diamond, launched twice: the second launch comes after the first.
    cudaGraphCreate(&graph, 0);
    cudaGraphNode_t top = kernel(graph, (void *)left_good, q, nullptr, 0), sides[2];
    sides[0] = kernel(graph, (void *)right_good, q, &top, 1);
    sides[1] = kernel(graph, (void *)right_good, r, &top, 1);
    kernel(graph, (void *)below_good, q, sides, 2);
    kernel(graph, (void *)below_good, r, sides, 2);
    run(graph, 2);
    left_good<<<1, N>>>(q);

    capture(forked_bug, s, s);
    capture(forked_good, p, t);

    cudaGraphCreate(&graph, 0);
    kernel(graph, (void *)beside_bug, t, nullptr, 0);
    cudaMemsetParams fill = {};
    fill.dst = t, fill.elementSize = 4, fill.width = N, fill.height = 1;
    cudaGraphNode_t node;
    cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill);
    run(graph, 1);

    for (bool bug : {true, false}) {
        void *k = bug ? (void *)inner_bug : (void *)inner_good;
        cudaGraphCreate(&child, 0);
        cudaGraphNode_t first = kernel(child, k, p, nullptr, 0);
        kernel(child, k, p, bug ? nullptr : &first, bug ? 0 : 1);
        cudaGraphCreate(&graph, 0);
        cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
        kernel(graph, (void *)right_good, p, &node, 1);
        cudaGraphDestroy(child);
        run(graph, 1);
    }
    for (int *buffer : {p, q, r, s, t}) cudaFree(buffer);
}
