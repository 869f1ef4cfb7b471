// SPDX-License-Identifier: MIT OR Apache-2.0
// What a graph's copies and fills write counts as written.
// check: init
#include "corpus.h"

__global__ void twice_good(const int *p, int *out) { out[threadIdx.x] = p[threadIdx.x] * 2; }
__global__ void half_filled_bug(const int *p, int *out) {
    out[threadIdx.x] = p[threadIdx.x] * 2; //~ init/result
}

int main() {
    int *copied, *filled, *half, *out = zeros<int>(32), host[32] = {};
    cudaMalloc(&copied, sizeof host);
    cudaMalloc(&filled, sizeof host);
    cudaMalloc(&half, sizeof host);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemcpyAsync(copied, host, sizeof host, cudaMemcpyHostToDevice, stream);
    cudaMemsetAsync(filled, 1, sizeof host, stream);
    twice_good<<<1, 32, 0, stream>>>(copied, out);
    twice_good<<<1, 32, 0, stream>>>(filled, out);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
    cudaMemset(half, 7, 64);
    half_filled_bug<<<1, 32>>>(half, out);
    cudaMemset(half, 7, sizeof host);
    twice_good<<<1, 32>>>(half, out);
    return cudaDeviceSynchronize();
}
