// SPDX-License-Identifier: MIT OR Apache-2.0
// margay-run: -rdc=true
// Graphs that kernels launch (CUDA C++ Programming Guide, "Device Graph Launch"): fired and forgotten, at the tail, as a
// sibling, again by themselves; what must be uploaded first; what such a graph may hold. With nvcc: -rdc=true -lcudadevrt.
#include "example.h"

struct Log {
  int next, errors;
  int entries[64];
};
__device__ void note(Log *log, int what) { log->entries[atomicAdd(&log->next, 1)] = what; }

__global__ void say(Log *log, int what) { note(log, what); }
__global__ void count_one(Log *log) { atomicAdd(&log->next, 1); }
__global__ void parent(Log *log) { say<<<1, 1>>>(log, 9); }
__global__ void launch(Log *log, int what, cudaGraphExec_t graph, cudaStream_t how, int wanted) {
  note(log, what);
  cudaError_t got = cudaGraphLaunch(graph, how);
  if (got != wanted) {
    printf("  launch %d: error %d and not %d\n", what, got, wanted);
    log->errors++;
  }
}
// Runs until it has been here so often.
__global__ void again(Log *log, int *count, int times) {
  note(log, 100 + *count);
  if (++*count < times && cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch) != cudaSuccess)
    log->errors++;
  // One launch of itself may wait.
  if (*count < times && cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch) == cudaSuccess)
    log->errors++;
}
__global__ void self_of(cudaGraphExec_t *out) { *out = cudaGetCurrentGraphExec(); }
__global__ void which(Log *log, cudaGraphExec_t *out, cudaGraphExec_t first, cudaStream_t how) {
  *out = cudaGetCurrentGraphExec();
  if (first && cudaGraphLaunch(first, how) != cudaSuccess)
    log->errors++;
}
__global__ void many(Log *log, cudaGraphExec_t *graphs, int n, cudaStream_t how, int *refused, int *error) {
  for (int i = 0; i < n; i++) {
    cudaError_t got = cudaGraphLaunch(graphs[i], how);
    if (got != cudaSuccess) {
      ++*refused;
      *error = got;
    }
  }
}

template <class... P, class... A> cudaGraphExec_t kernel_graph(unsigned flags, void (*kernel)(P...), A... args) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  kernel<<<1, 1, 0, stream>>>(args...);
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, flags));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamDestroy(stream));
  return exec;
}
static Log *book;
static cudaStream_t queue;
static void start(cudaGraphExec_t graph) {
  *book = Log();
  CUDA(cudaGraphLaunch(graph, queue));
  CUDA(cudaStreamSynchronize(queue));
}
static bool reads(int n, const int *wanted) {
  bool same = book->next == n && book->errors == 0;
  for (int i = 0; i < n; i++)
    same = same && book->entries[i] == wanted[i];
  if (!same) {
    printf("  errors %d:", book->errors);
    for (int i = 0; i < book->next; i++)
      printf(" %d", book->entries[i]);
    printf("\n");
  }
  return same;
}
#define READS(...)                                                                                 \
  [] {                                                                                             \
    const int wanted[] = {__VA_ARGS__};                                                            \
    return reads(sizeof wanted / sizeof *wanted, wanted);                                          \
  }()

int main() {
  const unsigned on_device = cudaGraphInstantiateFlagDeviceLaunch;
  CUDA(cudaMallocHost(&book, sizeof *book));
  CUDA(cudaStreamCreate(&queue));
  *book = Log();

  cudaGraphExec_t leaf = kernel_graph(on_device, say, book, 7);
  CUDA(cudaGraphUpload(leaf, queue));
  CUDA(cudaStreamSynchronize(queue));
  start(kernel_graph(0, launch, book, 1, leaf, cudaStreamGraphFireAndForget, 0));
  expect(READS(1, 7), "a graph that a kernel fires and forgets");
  start(kernel_graph(0, launch, book, 1, leaf, cudaStreamGraphTailLaunch, 0));
  expect(READS(1, 7), "a graph at the tail");
  start(kernel_graph(0, launch, book, 1, leaf, cudaStreamGraphFireAndForgetAsSibling, 0));
  expect(READS(1, 7), "a graph as a sibling");

  // Tail launches come in their order, and what one of them puts at its tail comes before the next.
  cudaGraphExec_t last = kernel_graph(on_device, say, book, 4);
  cudaGraphExec_t inner = kernel_graph(on_device, say, book, 3);
  CUDA(cudaGraphUpload(inner, queue));
  cudaGraphExec_t middle = kernel_graph(on_device, launch, book, 2, inner, cudaStreamGraphTailLaunch, 0);
  CUDA(cudaGraphUpload(last, queue));
  CUDA(cudaGraphUpload(middle, queue));
  CUDA(cudaStreamSynchronize(queue));
  cudaGraph_t two;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(queue, cudaStreamCaptureModeGlobal));
  launch<<<1, 1, 0, queue>>>(book, 1, middle, cudaStreamGraphTailLaunch, 0);
  launch<<<1, 1, 0, queue>>>(book, 5, last, cudaStreamGraphTailLaunch, 0);
  CUDA(cudaStreamEndCapture(queue, &two));
  CUDA(cudaGraphInstantiate(&exec, two, 0));
  start(exec);
  expect(READS(1, 5, 2, 3, 4), "tails of tails");

  // A graph that launches itself.
  int *count;
  CUDA(cudaMallocHost(&count, sizeof *count));
  *count = 0;
  start(kernel_graph(on_device, again, book, count, 5));
  expect(READS(100, 101, 102, 103, 104), "a graph that launches itself four times");

  // Copies and fills are nodes of such graphs too.
  int *values;
  CUDA(cudaMalloc(&values, 4 * sizeof *values));
  cudaGraph_t mixed;
  cudaGraphNode_t fill, copy;
  cudaMemsetParams set = {};
  set.dst = values;
  set.value = 0x01020304;
  set.elementSize = 4;
  set.width = 4;
  set.height = 1;
  CUDA(cudaGraphCreate(&mixed, 0));
  CUDA(cudaGraphAddMemsetNode(&fill, mixed, nullptr, 0, &set));
  CUDA(cudaGraphAddMemcpyNode1D(&copy, mixed, &fill, 1, book->entries + 32, values, 4 * sizeof *values,
                                cudaMemcpyDefault));
  cudaGraphExec_t mixed_exec;
  CUDA(cudaGraphInstantiate(&mixed_exec, mixed, on_device));
  CUDA(cudaGraphUpload(mixed_exec, queue));
  CUDA(cudaStreamSynchronize(queue));
  start(kernel_graph(0, launch, book, 1, mixed_exec, cudaStreamGraphFireAndForget, 0));
  expect(READS(1) && book->entries[32] == 0x01020304 && book->entries[35] == 0x01020304, "copies and fills");

  // Which graph a kernel is a node of.
  cudaGraphExec_t *seen;
  CUDA(cudaMallocHost(&seen, 3 * sizeof *seen));
  cudaGraphExec_t child = kernel_graph(on_device, which, book, seen + 1, (cudaGraphExec_t)0, (cudaStream_t)0);
  CUDA(cudaGraphUpload(child, queue));
  CUDA(cudaStreamSynchronize(queue));
  cudaGraphExec_t outer = kernel_graph(0, which, book, seen, child, cudaStreamGraphFireAndForget);
  start(outer);
  self_of<<<1, 1, 0, queue>>>(seen + 2);
  CUDA(cudaStreamSynchronize(queue));
  expect(seen[0] == 0 && seen[1] == child && seen[2] == 0 && book->errors == 0, "the graph that a kernel is a node of, if it is for device launch");

  // What is refused.
  cudaGraphExec_t idle = kernel_graph(on_device, say, book, 8);
  start(kernel_graph(0, launch, book, 1, idle, cudaStreamGraphFireAndForget, cudaErrorInvalidValue));
  expect(READS(1), "a graph that was not uploaded");
  start(idle);
  start(kernel_graph(0, launch, book, 1, idle, cudaStreamGraphFireAndForget, 0));
  expect(READS(1, 8), "  a launch by the host uploads it");
  start(kernel_graph(0, launch, book, 1, leaf, (cudaStream_t)0, cudaErrorInvalidValue));
  expect(READS(1), "a stream that is none for graphs");
  *book = Log();
  launch<<<1, 1, 0, queue>>>(book, 1, leaf, cudaStreamGraphFireAndForget, cudaErrorInvalidValue);
  expect_error(cudaGetLastError(), cudaErrorNotSupported, "a kernel that launches graphs and is in none");
  cudaGraph_t hosted;
  cudaGraphNode_t node;
  cudaHostNodeParams call = {};
  call.fn = [](void *) {};
  CUDA(cudaGraphCreate(&hosted, 0));
  CUDA(cudaGraphAddHostNode(&node, hosted, nullptr, 0, &call));
  cudaGraphInstantiateParams params = {};
  params.flags = on_device;
  expect_error(cudaGraphInstantiateWithParams(&exec, hosted, &params), cudaErrorInvalidValue, "a host node");
  expect(params.result_out == cudaGraphInstantiateNodeOperationNotSupported && params.errNode_out == node,
         "  which is named");
  expect_error(cudaGraphInstantiate(&exec, hosted, on_device), cudaErrorInvalidValue, "  by the other call too");
  CUDA(cudaGraphCreate(&hosted, 0));
  expect_error(cudaGraphInstantiateWithParams(&exec, hosted, &params), cudaErrorInvalidValue, "an empty graph");
  expect(params.result_out == cudaGraphInstantiateError, "  which is no node's fault");
  expect_error(cudaGraphInstantiate(&exec, mixed, on_device | cudaGraphInstantiateFlagUpload), cudaErrorInvalidValue,
               "an upload without a stream");
  expect_error(cudaGraphInstantiate(&exec, mixed, on_device | cudaGraphInstantiateFlagAutoFreeOnLaunch),
               cudaErrorInvalidValue, "memory that frees itself");
  params.flags = on_device | cudaGraphInstantiateFlagUpload;
  params.uploadStream = queue;
  CUDA(cudaGraphInstantiateWithParams(&exec, mixed, &params));
  CUDA(cudaStreamSynchronize(queue));
  start(kernel_graph(0, launch, book, 1, exec, cudaStreamGraphFireAndForget, 0));
  expect(READS(1), "uploaded as it is made");
  CUDA(cudaStreamBeginCapture(queue, cudaStreamCaptureModeGlobal));
  parent<<<1, 1, 0, queue>>>(book);
  CUDA(cudaStreamEndCapture(queue, &hosted));
  params = {};
  params.flags = on_device;
  expect_error(cudaGraphInstantiateWithParams(&exec, hosted, &params), cudaErrorInvalidValue,
               "a kernel that launches kernels");
  expect(params.result_out == cudaGraphInstantiateNodeOperationNotSupported, "  by what it does");
  cudaGetLastError();

  // One run may fire 120 graphs, and 255 may wait for its end.
  cudaGraphExec_t *graphs;
  int *refused;
  CUDA(cudaMallocHost(&graphs, 260 * sizeof *graphs));
  CUDA(cudaMallocHost(&refused, 2 * sizeof *refused));
  for (int i = 0; i < 260; i++) {
    graphs[i] = kernel_graph(on_device, count_one, book);
    CUDA(cudaGraphUpload(graphs[i], queue));
  }
  CUDA(cudaStreamSynchronize(queue));
  const struct {
    const char *name;
    cudaStream_t how;
    int most;
  } ways[] = {{"fired", cudaStreamGraphFireAndForget, 120},
              {"at the tail", cudaStreamGraphTailLaunch, 255},
              {"as siblings", cudaStreamGraphFireAndForgetAsSibling, 120}};
  for (const auto &way : ways) {
    refused[0] = refused[1] = 0;
    start(kernel_graph(0, many, book, graphs, 260, way.how, refused, refused + 1));
    char line[64];
    snprintf(line, sizeof line, "%d graphs %s", way.most, way.name);
    expect(book->next == way.most && refused[0] == 260 - way.most && refused[1] == cudaErrorInvalidValue, line);
  }
  return verdict();
}
