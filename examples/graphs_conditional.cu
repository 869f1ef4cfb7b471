// SPDX-License-Identifier: MIT OR Apache-2.0
// Conditional nodes: bodies of a graph that run if, while or as a value says that kernels set on the
// device; nested, launched again, filled by a capture; and what is refused.
#include "example.h"

__global__ void set_if(cudaGraphConditionalHandle handle, const int *value) {
  cudaGraphSetConditional(handle, *value);
}
__global__ void add(int *to, int what) { *to += what; }
__global__ void count_down(cudaGraphConditionalHandle handle, int *left) {
  cudaGraphSetConditional(handle, --*left > 0);
}
// Halves or triples until it is 1: the loop's end is known on the device only.
__global__ void is_even(cudaGraphConditionalHandle handle, const int *n) {
  cudaGraphSetConditional(handle, *n % 2 == 0);
}
__global__ void halve(int *n) { *n /= 2; }
__global__ void triple(int *n) { *n = 3 * *n + 1; }
__global__ void step(cudaGraphConditionalHandle again, const int *n, int *steps) {
  ++*steps;
  cudaGraphSetConditional(again, *n != 1);
}

#if CUDART_VERSION >= 13000
#define EDGES nullptr,
#else
#define EDGES
#endif

template <class... A>
static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void (*function)(A...), A... values) {
  void *arguments[] = {&values...};
  cudaKernelNodeParams params = {};
  params.func = (void *)function;
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = arguments;
  cudaGraphNode_t node;
  CUDA(cudaGraphAddKernelNode(&node, graph, &after, after != nullptr, &params));
  return node;
}

static cudaError_t try_condition(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                                 cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t *node,
                                 cudaGraph_t **bodies) {
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = size;
  cudaError_t error = cudaGraphAddNode(node, graph, &after, EDGES after != nullptr, &params);
  if (bodies) *bodies = params.conditional.phGraph_out;
  return error;
}

static cudaGraphNode_t condition(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                                 cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t **bodies) {
  cudaGraphNode_t node;
  CUDA(try_condition(graph, after, handle, type, size, &node, bodies));
  return node;
}

static cudaGraphConditionalHandle handle_of(cudaGraph_t graph, unsigned value = 0, unsigned flags = 0) {
  cudaGraphConditionalHandle handle;
  CUDA(cudaGraphConditionalHandleCreate(&handle, graph, value, flags));
  return handle;
}

int main() {
  puts("conditional nodes of graphs");
  int *value, *sum, *n, *steps;
  for (int **p : {&value, &sum, &n, &steps}) {
    CUDA(cudaMallocManaged(p, sizeof(int)));
    **p = 0;
  }
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  auto run = [&](cudaGraphExec_t exec) {
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
  };

  // If and else; the body is filled after the node was made.
  cudaGraph_t graph, *bodies;
  CUDA(cudaGraphCreate(&graph, 0));
  auto handle = handle_of(graph);
  auto first = kernel(graph, nullptr, set_if, handle, (const int *)value);
  auto either = condition(graph, first, handle, cudaGraphCondTypeIf, 2, &bodies);
  cudaGraphNodeType type;
  CUDA(cudaGraphNodeGetType(either, &type));
  expect(type == cudaGraphNodeTypeConditional, "the node's type");
  kernel(bodies[0], nullptr, add, sum, 1);
  kernel(bodies[1], nullptr, add, sum, 100);
  kernel(graph, either, add, sum, 1000);
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int v : {0, 7, 0, 1}) {
    *value = v;
    run(exec);
  }
  expect(*sum == 4202, "if and else, decided anew by each launch");
  // The same shape with other parameters, and its own handle, is taken over; another kind of node is not.
  cudaGraph_t others[2];
  for (auto kind : {cudaGraphCondTypeIf, cudaGraphCondTypeSwitch}) {
    cudaGraph_t &other = others[kind == cudaGraphCondTypeSwitch];
    CUDA(cudaGraphCreate(&other, 0));
    handle = handle_of(other);
    first = kernel(other, nullptr, set_if, handle, (const int *)value);
    either = condition(other, first, handle, kind, 2, &bodies);
    kernel(bodies[0], nullptr, add, sum, 5);
    kernel(bodies[1], nullptr, add, sum, 50);
    kernel(other, either, add, sum, 500);
  }
  cudaGraphExecUpdateResultInfo info;
  CUDA(cudaGraphExecUpdate(exec, others[0], &info));
  *sum = 0;
  run(exec);
  expect(*sum == 505, "updated, its bodies too");
  expect_error(cudaGraphExecUpdate(exec, others[1], &info), cudaErrorGraphExecUpdateFailure, "an update to a switch");
  expect(info.result == cudaGraphExecUpdateErrorParametersChanged, "  for its parameters");
  run(exec);
  expect(*sum == 1010, "  which changed nothing");
  CUDA(cudaGraphExecDestroy(exec));
  for (cudaGraph_t other : others) CUDA(cudaGraphDestroy(other));
  CUDA(cudaGraphDestroy(graph));

  // A loop, whose default value begins each launch.
  CUDA(cudaGraphCreate(&graph, 0));
  handle = handle_of(graph, 1, cudaGraphCondAssignDefault);
  auto loop = condition(graph, nullptr, handle, cudaGraphCondTypeWhile, 1, &bodies);
  auto body = kernel(bodies[0], nullptr, add, sum, 1);
  kernel(bodies[0], body, count_down, handle, value);
  kernel(graph, loop, add, sum, 10000);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  *sum = 0;
  for (int v : {5, 3}) {
    *value = v;
    run(exec);
  }
  expect(*sum == 20008, "a loop that kernels end");
  cudaGraph_t copy;
  expect_error(cudaGraphClone(&copy, graph), cudaErrorNotSupported, "cloning a graph with a conditional node");
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  // A switch; no body has the number 3.
  CUDA(cudaGraphCreate(&graph, 0));
  handle = handle_of(graph);
  first = kernel(graph, nullptr, set_if, handle, (const int *)value);
  condition(graph, first, handle, cudaGraphCondTypeSwitch, 3, &bodies);
  for (int i = 0; i < 3; i++) kernel(bodies[i], nullptr, add, sum, 1 << 4 * i);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  *sum = 0;
  for (int v : {0, 1, 1, 2, 2, 2, 3}) {
    *value = v;
    run(exec);
  }
  expect(*sum == 0x321, "a switch over three bodies");
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  // An if within a loop; the loop's body comes from a capture.
  CUDA(cudaGraphCreate(&graph, 0));
  auto again = handle_of(graph, 1, cudaGraphCondAssignDefault);
  condition(graph, nullptr, again, cudaGraphCondTypeWhile, 1, &bodies);
  cudaGraph_t inside = bodies[0];
  handle = handle_of(inside);
  CUDA(cudaStreamBeginCaptureToGraph(stream, inside, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  is_even<<<1, 1, 0, stream>>>(handle, n);
  CUDA(cudaStreamEndCapture(stream, &inside));
  size_t one = 1;
  cudaGraphNode_t last;
  CUDA(cudaGraphGetNodes(inside, &last, &one));
  auto branch = condition(inside, last, handle, cudaGraphCondTypeIf, 2, &bodies);
  kernel(bodies[0], nullptr, halve, n);
  kernel(bodies[1], nullptr, triple, n);
  kernel(inside, branch, step, again, (const int *)n, steps);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  *n = 27;
  run(exec);
  expect(*n == 1 && *steps == 111, "an if within a loop: 27 takes 111 steps to 1");
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  // What is refused.
  CUDA(cudaGraphCreate(&graph, 0));
  handle = handle_of(graph);
  cudaGraphNode_t node;
  expect_error(try_condition(graph, nullptr, handle, cudaGraphCondTypeWhile, 2, &node, nullptr),
               cudaErrorInvalidValue, "a loop with two bodies");
  expect_error(try_condition(graph, nullptr, 12345, cudaGraphCondTypeIf, 1, &node, nullptr), cudaErrorInvalidValue,
               "a handle that is none");
  cudaGraphNode_t stranger;
  cudaGraph_t elsewhere;
  CUDA(cudaGraphCreate(&elsewhere, 0));
  CUDA(cudaGraphAddEmptyNode(&stranger, elsewhere, nullptr, 0));
  expect_error(try_condition(graph, stranger, handle, cudaGraphCondTypeIf, 1, &node, nullptr), cudaErrorInvalidValue,
               "a node after another graph's");
  condition(graph, nullptr, handle, cudaGraphCondTypeIf, 1, &bodies); // which left the handle free
  CUDA(cudaGraphDestroy(elsewhere));
  expect_error(try_condition(graph, nullptr, handle, cudaGraphCondTypeIf, 1, &node, nullptr), cudaErrorInvalidValue,
               "a handle for a second node");
  cudaHostNodeParams host = {[](void *) {}, nullptr};
  CUDA(cudaGraphAddHostNode(&node, bodies[0], nullptr, 0, &host));
  expect_error(cudaGraphInstantiate(&exec, graph, 0), cudaErrorNotSupported, "a body with a host node");
  CUDA(cudaGraphDestroy(graph));
  return verdict();
}
