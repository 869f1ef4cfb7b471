// SPDX-License-Identifier: MIT OR Apache-2.0
// margay-run: -rdc=true
// Kernels that launch kernels (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism"): fan-out and recursion, what
// a child sees of its parent and the host of both, the streams and events of device code, tail launches, copies and
// fills, the device heap, and the errors of a launch that cannot be.
#include "example.h"

__device__ int counter;
__device__ int order[8];

__device__ void note(int what) { order[atomicAdd(&counter, 1)] = what; }

// ---- fan-out: every thread launches, and a child sees what its thread wrote before -----------------------------
struct Shape {
  char tag;
  double factor;
  short3 offset;
};

template <class T> __global__ void scaled(T *data, char first, Shape shape, short last) {
  data[threadIdx.x] = T(data[threadIdx.x] * shape.factor + shape.offset.y + first + last + shape.tag);
}

__global__ void fan_out(float *data, int width) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float *mine = data + row * width;
  for (int i = 0; i < width; i++)
    mine[i] = float(i);
  Shape shape = {1, 2.0, make_short3(0, short(row), 0)};
  scaled<<<1, width>>>(mine, 3, shape, -4);
}

// ---- recursion: a tree of launches ----------------------------------------------------------------------------
__global__ void tree(int depth) {
  if (threadIdx.x == 0)
    atomicAdd(&counter, 1);
  if (depth > 0)
    tree<<<1, 2>>>(depth - 1);
}

// ---- order: the stream of a block, named streams, tail launches -------------------------------------------------
__global__ void say(int what) { note(what); }

__global__ void say_by_child(int what) { say<<<1, 1>>>(what); }

__global__ void in_order() {
  say<<<1, 1, 0, cudaStreamTailLaunch>>>(5);
  say<<<1, 1>>>(2);
  // Its own child comes before it has ended, and so before what follows in the stream.
  say_by_child<<<1, 1>>>(3);
  say<<<1, 1>>>(4);
  say<<<1, 1, 0, cudaStreamTailLaunch>>>(6);
  note(1);
}

__global__ void streams_and_events(int *error) {
  cudaStream_t a, b;
  cudaEvent_t event;
  *error |= cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  *error |= cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  *error |= cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  say<<<1, 1, 0, a>>>(1);
  *error |= cudaEventRecord(event, a);
  *error |= cudaStreamWaitEvent(b, event, 0);
  say<<<1, 1, 0, b>>>(2);
  *error |= cudaStreamDestroy(a);
  *error |= cudaStreamDestroy(b);
  *error |= cudaEventDestroy(event);
}

// A loop on the device: each turn launches the next as its tail.
__global__ void turns(int left) {
  atomicAdd(&counter, 1);
  if (left > 1)
    turns<<<1, 1, 0, cudaStreamTailLaunch>>>(left - 1);
}

// ---- memory ----------------------------------------------------------------------------------------------------
__global__ void add_up(const int *from, int n, int *sum) {
  for (int i = 0; i < n; i++)
    atomicAdd(sum, from[i]);
}

__global__ void fill_and_copy(int *a, int *b, int n, int *sum) {
  cudaMemsetAsync(a, 1, n * sizeof *a, 0);
  cudaMemcpyAsync(b, a, n * sizeof *a, cudaMemcpyDeviceToDevice, 0);
  add_up<<<1, 1>>>(b, n, sum);
}

__global__ void release(int *heap) { cudaFree(heap); }

__global__ void on_the_heap(int *sum) {
  int *heap = nullptr;
  if (cudaMalloc(&heap, 4 * sizeof *heap) != cudaSuccess)
    return;
  for (int i = 0; i < 4; i++)
    heap[i] = 10 + i;
  add_up<<<1, 1>>>(heap, 4, sum);
  release<<<1, 1, 0, cudaStreamTailLaunch>>>(heap);
}

// ---- errors ----------------------------------------------------------------------------------------------------
__global__ void refused(cudaError_t *errors) {
  say<<<1, 4096>>>(0);
  errors[0] = cudaPeekAtLastError();
  errors[1] = cudaGetLastError();
  errors[2] = cudaGetLastError();
  say<<<1, 1, 1 << 30>>>(0);
  errors[3] = cudaGetLastError();
  say<<<1, 1, 0, (cudaStream_t)12345>>>(0);
  errors[4] = cudaGetLastError();
  cudaStream_t stream;
  errors[5] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
  printf("  %s\n", cudaGetErrorString(cudaSuccess));
}


static void reset() {
  int zero = 0;
  CUDA(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
}

static int count() {
  int n;
  CUDA(cudaMemcpyFromSymbol(&n, counter, sizeof n));
  return n;
}

static bool in_turn(int n) {
  int got[8];
  CUDA(cudaMemcpyFromSymbol(got, order, sizeof got));
  for (int i = 0; i < n; i++)
    if (got[i] != i + 1)
      return false;
  return count() == n;
}

int main() {
  const int rows = 64, width = 8;
  float *data;
  CUDA(cudaMallocManaged(&data, rows * width * sizeof *data));
  fan_out<<<2, rows / 2>>>(data, width);
  CUDA(cudaDeviceSynchronize());
  bool right = true;
  for (int i = 0; i < rows * width; i++)
    right &= data[i] == 2 * (i % width) + i / width;
  expect(right, "each of 64 threads launches a grid with parameters of many sizes, and the host waits for them");

  reset();
  tree<<<1, 2>>>(4);
  CUDA(cudaDeviceSynchronize());
  // 2 threads a block: 1 + 2 + 4 + 8 + 16 blocks.
  expect(count() == 31, "a tree of launches, four deep");

  reset();
  in_order<<<1, 1>>>();
  CUDA(cudaDeviceSynchronize());
  expect(in_turn(6), "a block's launches run in order, tails when the grid has ended with its descendants");

  int *error;
  CUDA(cudaMallocManaged(&error, sizeof *error));
  *error = 0;
  reset();
  streams_and_events<<<1, 1>>>(error);
  CUDA(cudaDeviceSynchronize());
  expect(in_turn(2) && *error == 0, "one stream waits for an event of the other");

  reset();
  turns<<<1, 1>>>(1000);
  CUDA(cudaDeviceSynchronize());
  expect(count() == 1000, "a chain of a thousand tail launches");

  const int n = 100;
  int *memory, *sum;
  CUDA(cudaMallocManaged(&memory, 2 * n * sizeof *memory));
  CUDA(cudaMallocManaged(&sum, sizeof *sum));
  *sum = 0;
  fill_and_copy<<<1, 1>>>(memory, memory + n, n, sum);
  CUDA(cudaDeviceSynchronize());
  expect(*sum == n * 0x01010101, "fills, copies and launches of one stream run in order");
  *sum = 0;
  on_the_heap<<<1, 1>>>(sum);
  CUDA(cudaDeviceSynchronize());
  expect(*sum == 46, "a child reads the device heap");

  cudaError_t *errors;
  CUDA(cudaMallocManaged(&errors, 6 * sizeof *errors));
  reset();
  refused<<<1, 1>>>(errors);
  CUDA(cudaDeviceSynchronize());
  expect_error(errors[0], cudaErrorInvalidConfiguration, "a block of 4096 threads");
  expect(errors[1] == errors[0] && errors[2] == cudaSuccess, "cudaGetLastError forgets the error");
  expect(errors[3] != cudaSuccess, "a gigabyte of shared memory");
  expect(errors[4] != cudaSuccess, "a stream that there is not");
  expect(errors[5] == cudaErrorInvalidValue, "streams of device code are non-blocking");
  expect(count() == 0, "what was refused did not run");

  CUDA(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096));
  size_t limit;
  CUDA(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
  expect(limit == 4096, "the number of launches that wait can be set");
  CUDA(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 2048));

  cudaEvent_t done;
  CUDA(cudaEventCreate(&done));
  reset();
  tree<<<1, 2>>>(3);
  CUDA(cudaEventRecord(done));
  CUDA(cudaEventSynchronize(done));
  expect(count() == 15, "an event of the host comes after all descendants");
  CUDA(cudaDeviceSynchronize());
  return verdict();
}
