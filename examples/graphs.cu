// SPDX-License-Identifier: MIT OR Apache-2.0
// Graphs: built node by node, captured from streams that fork and join, launched again with other
// parameters, updated, cloned; and what a capture refuses.
#include "example.h"

// Since CUDA 13 edges may have data, which null leaves out.
#if CUDART_VERSION >= 13000
#define EDGE_DATA nullptr,
#else
#define EDGE_DATA
#endif

__global__ void add(int *data, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] += value;
}

__global__ void multiply(int *data, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] *= value;
}

static int host_calls = 0;
static void CUDART_CB count_call(void *data) { host_calls += *(int *)data; }

static bool all(const int *data, int n, int value) {
  for (int i = 0; i < n; i++)
    if (data[i] != value)
      return false;
  return true;
}

int main() {
  const int n = 1000;
  int *data, host[n], one = 1;
  CUDA(cudaMalloc(&data, sizeof host));
  cudaStream_t stream, other;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamCreate(&other));

  // By hand: set to 3, then add 4, then count and copy back.
  cudaGraph_t graph;
  cudaGraphNode_t set, kernel, call, copy;
  CUDA(cudaGraphCreate(&graph, 0));
  cudaMemsetParams fill = {};
  fill.dst = data;
  fill.value = 3;
  fill.elementSize = 4;
  fill.width = n;
  fill.height = 1;
  CUDA(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
  int count = n, value = 4;
  int *pointer = data;
  void *arguments[] = {&pointer, &count, &value};
  cudaKernelNodeParams launch = {};
  launch.func = (void *)add;
  launch.gridDim = dim3((n + 127) / 128);
  launch.blockDim = dim3(128);
  launch.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
  cudaHostNodeParams function = {count_call, &one};
  CUDA(cudaGraphAddHostNode(&call, graph, &kernel, 1, &function));
  CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, data, sizeof host,
                                cudaMemcpyDeviceToHost));
  value = 99; // The node has its own copy of the arguments.
  size_t nodes = 0, edges = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  expect(nodes == 4, "four nodes");
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  expect(all(host, n, 7) && host_calls == 2, "set, kernel, host function and copy, twice");

  // Other parameters for the executable graph only.
  value = 10;
  CUDA(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  expect(all(host, n, 13), "new parameters of a kernel");
  CUDA(cudaGraphNodeSetEnabled(exec, kernel, 0));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  expect(all(host, n, 3), "a node that is switched off");

  // A clone is a graph of its own.
  cudaGraph_t clone;
  cudaGraphNode_t twin;
  CUDA(cudaGraphClone(&clone, graph));
  CUDA(cudaGraphNodeFindInClone(&twin, kernel, clone));
  launch.func = (void *)multiply;
  CUDA(cudaGraphKernelNodeSetParams(twin, &launch));
  cudaGraphExecUpdateResultInfo update;
  CUDA(cudaGraphExecUpdate(exec, clone, &update));
  CUDA(cudaGraphNodeSetEnabled(exec, kernel, 1));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  expect(update.result == cudaGraphExecUpdateSuccess && all(host, n, 30), "updated from a clone");
  cudaGetLastError();
  CUDA(cudaGraphDestroyNode(copy));
  expect_error(cudaGraphExecUpdate(exec, graph, &update), cudaErrorGraphExecUpdateFailure,
               "an update with fewer nodes");
  expect(update.result == cudaGraphExecUpdateErrorTopologyChanged, "  for its topology");

  // Captured: two branches that meet again.
  cudaEvent_t fork, join;
  CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  int half = n / 2;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaMemsetAsync(data, 0, sizeof host, stream));
  CUDA(cudaEventRecord(fork, stream));
  CUDA(cudaStreamWaitEvent(other, fork, 0));
  add<<<8, 128, 0, stream>>>(data, half, 5);
  add<<<8, 128, 0, other>>>(data + half, half, 5);
  CUDA(cudaEventRecord(join, other));
  CUDA(cudaStreamWaitEvent(stream, join, 0));
  multiply<<<8, 128, 0, stream>>>(data, n, 3);
  cudaGraph_t captured;
  CUDA(cudaStreamEndCapture(stream, &captured));
  CUDA(cudaGraphGetNodes(captured, nullptr, &nodes));
  CUDA(cudaGraphGetEdges(captured, nullptr, nullptr, EDGE_DATA &edges));
  expect(nodes == 4 && edges == 4, "a captured diamond");
  cudaGraphExec_t diamond;
  CUDA(cudaGraphInstantiateWithFlags(&diamond, captured, 0));
  CUDA(cudaGraphLaunch(diamond, stream));
  CUDA(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  expect(all(host, n, 15), "does what the streams would have done");

  // Memory of a graph.
  cudaGraph_t with_memory;
  int *inside;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaMallocAsync(&inside, sizeof host, stream));
  CUDA(cudaMemsetAsync(inside, 0, sizeof host, stream));
  add<<<8, 128, 0, stream>>>(inside, n, 21);
  CUDA(cudaMemcpyAsync(data, inside, sizeof host, cudaMemcpyDeviceToDevice, stream));
  CUDA(cudaFreeAsync(inside, stream));
  CUDA(cudaStreamEndCapture(stream, &with_memory));
  cudaGraphExec_t memory;
  CUDA(cudaGraphInstantiateWithFlags(&memory, with_memory, 0));
  for (int i = 0; i < 3; i++)
    CUDA(cudaGraphLaunch(memory, stream));
  CUDA(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  expect(all(host, n, 21), "memory that is allocated and freed inside");

  // What a capture refuses.
  cudaGraph_t none;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  expect_error(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported,
               "waiting for a capture");
  expect_error(cudaStreamEndCapture(stream, &none), cudaErrorStreamCaptureInvalidated,
               "  which spoils it");
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaEventRecord(fork, stream));
  CUDA(cudaStreamWaitEvent(other, fork, 0));
  add<<<1, 32, 0, other>>>(data, 1, 1);
  expect_error(cudaStreamEndCapture(other, &none), cudaErrorStreamCaptureUnmatched,
               "ended in another stream");
  expect_error(cudaStreamEndCapture(stream, &none), cudaErrorStreamCaptureInvalidated,
               "  which spoils it");
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaEventRecord(fork, stream));
  CUDA(cudaStreamWaitEvent(other, fork, 0));
  add<<<1, 32, 0, other>>>(data, 1, 1);
  expect_error(cudaStreamEndCapture(stream, &none), cudaErrorStreamCaptureUnjoined,
               "a branch that does not come back");
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 32>>>(data, 1, 1);
  expect_error(cudaGetLastError(), cudaErrorStreamCaptureImplicit, "the legacy stream");
  cudaStreamEndCapture(stream, &none);
  cudaGetLastError();
  expect_error(cudaStreamEndCapture(stream, &none), cudaErrorIllegalState, "no capture to end");
  cudaGraphNode_t self[] = {kernel};
  CUDA(cudaGraphAddDependencies(graph, &kernel, &set, EDGE_DATA 1));
  expect_error(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaErrorInvalidValue, "a cycle");
  expect_error(cudaGraphAddDependencies(graph, self, self, EDGE_DATA 1), cudaErrorInvalidValue,
               "an edge to itself");
  CUDA(cudaDeviceSynchronize());
  return verdict();
}
