// SPDX-License-Identifier: MIT OR Apache-2.0
// A launch returns before the kernel has run. Work in one stream keeps its order; different streams run
// side by side; the legacy default stream waits for all of them and they wait for it.
#include "example.h"

// Spins until the host writes to mapped memory: if launches were synchronous, main would never get there.
__global__ void wait_for_host(volatile int *flag, int *done) {
  while (*flag == 0) {
  }
  *done = 1;
}
__global__ void append(int *list, int *length, int value) { list[atomicAdd(length, 1)] = value; }

int main() {
  puts("asynchronous launches, streams and events");
  int *shared_with_device;
  CUDA(cudaHostAlloc(&shared_with_device, 2 * sizeof(int), cudaHostAllocMapped));
  volatile int *flag = shared_with_device;
  int *done = shared_with_device + 1;
  *flag = 0;
  *done = 0;
  cudaStream_t first, second;
  CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t end;
  CUDA(cudaEventCreate(&end));

  wait_for_host<<<1, 1, 0, first>>>(flag, done);
  CUDA(cudaEventRecord(end, first));
  expect(*done == 0, "the launch has returned, the kernel has not ended");
  expect_error(cudaStreamQuery(first), cudaErrorNotReady, "cudaStreamQuery");
  expect_error(cudaEventQuery(end), cudaErrorNotReady, "cudaEventQuery");

  // Another stream is not held up.
  int *list, host_list[8], *length;
  CUDA(cudaMalloc(&list, sizeof host_list));
  CUDA(cudaMalloc(&length, sizeof(int)));
  CUDA(cudaMemsetAsync(length, 0, sizeof(int), second));
  for (int i = 0; i < 8; ++i) append<<<1, 1, 0, second>>>(list, length, i * i);
  CUDA(cudaMemcpyAsync(host_list, list, sizeof host_list, cudaMemcpyDeviceToHost, second));
  CUDA(cudaStreamSynchronize(second));
  bool ordered = true;
  for (int i = 0; i < 8; ++i) ordered &= host_list[i] == i * i;
  expect(ordered, "a second stream ran meanwhile, and in order");
  expect(*done == 0, "the first one still waits");

  *flag = 1;
  CUDA(cudaEventSynchronize(end));
  expect(*done == 1, "the host's write ended it");
  expect_error(cudaStreamQuery(first), cudaSuccess, "cudaStreamQuery now");

  // One stream waits for an event of another.
  CUDA(cudaMemset(length, 0, sizeof(int)));
  cudaEvent_t filled;
  CUDA(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  append<<<1, 1, 0, first>>>(list, length, 11);
  CUDA(cudaEventRecord(filled, first));
  CUDA(cudaStreamWaitEvent(second, filled));
  append<<<1, 1, 0, second>>>(list, length, 22);
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(host_list, list, sizeof host_list, cudaMemcpyDeviceToHost));
  expect(host_list[0] == 11 && host_list[1] == 22, "cudaStreamWaitEvent orders two streams");

  float milliseconds = -1;
  cudaEvent_t begin;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventRecord(begin));
  append<<<1, 1>>>(list, length, 33);
  CUDA(cudaEventRecord(end));
  CUDA(cudaEventSynchronize(end));
  CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  expect(milliseconds >= 0, "cudaEventElapsedTime");
  CUDA(cudaStreamDestroy(first));
  CUDA(cudaStreamDestroy(second));
  return verdict();
}
