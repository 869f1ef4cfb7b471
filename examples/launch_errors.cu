// SPDX-License-Identifier: MIT OR Apache-2.0
// What a launch refuses, and how errors are read: a launch returns nothing, cudaGetLastError() gives its
// error and forgets it, cudaPeekAtLastError() gives it and keeps it.
#include "example.h"

__global__ void nothing() {}
__global__ void __launch_bounds__(64) bounded() {}
__global__ void uses_static_shared(int *out) {
  __shared__ int buffer[1024];
  buffer[threadIdx.x] = 1;
  __syncthreads();
  *out = buffer[0];
}
static int not_a_symbol;

// CUDA 13 has other errors for two mistakes.
#if CUDART_VERSION >= 13000
const cudaError_t wrong_dimensions = cudaErrorInvalidValue, no_kernel = cudaErrorInvalidResourceHandle;
#else
const cudaError_t wrong_dimensions = cudaErrorInvalidConfiguration, no_kernel = cudaErrorInvalidDeviceFunction;
#endif

int main() {
  puts("launch errors");
  cudaDeviceProp device;
  CUDA(cudaGetDeviceProperties(&device, 0));

  nothing<<<0, 1>>>();
  expect_error(cudaGetLastError(), wrong_dimensions, "an empty grid");
  nothing<<<1, 0>>>();
  expect_error(cudaGetLastError(), wrong_dimensions, "an empty block");
  nothing<<<1, device.maxThreadsPerBlock + 1>>>();
  expect_error(cudaGetLastError(), wrong_dimensions, "too many threads in a block");
  nothing<<<1, dim3(1, 1, device.maxThreadsDim[2] + 1)>>>();
  expect_error(cudaGetLastError(), wrong_dimensions, "a block too deep in z");
  nothing<<<dim3(1, device.maxGridSize[1] + 1u), 1>>>();
  expect_error(cudaGetLastError(), wrong_dimensions, "a grid too large in y");
  bounded<<<1, 65>>>();
  expect_error(cudaGetLastError(), cudaErrorInvalidValue, "more threads than __launch_bounds__");
  nothing<<<1, 1, device.sharedMemPerBlock + 1>>>();
  expect_error(cudaGetLastError(), cudaErrorInvalidValue, "more shared memory than a block has");
  uses_static_shared<<<1, 1, device.sharedMemPerBlock - 4095>>>(nullptr);
  expect_error(cudaGetLastError(), cudaErrorInvalidValue, "more than static shared memory leaves");

  // A pointer that is no symbol, and a function that is no kernel.
  int value = 0;
  expect_error(cudaMemcpyToSymbol(&not_a_symbol, &value, sizeof value), cudaErrorInvalidSymbol,
               "cudaMemcpyToSymbol of a host variable");
  (void)cudaGetLastError();
  expect_error(cudaLaunchKernel((const void *)&not_a_symbol, dim3(1), dim3(1), nullptr, 0, 0),
               no_kernel, "cudaLaunchKernel of something that is no kernel");
  (void)cudaGetLastError();

  // Peek keeps, Get forgets.
  nothing<<<0, 1>>>();
  expect_error(cudaPeekAtLastError(), wrong_dimensions, "cudaPeekAtLastError");
  expect_error(cudaPeekAtLastError(), wrong_dimensions, "again: it keeps the error");
  expect_error(cudaGetLastError(), wrong_dimensions, "cudaGetLastError");
  expect_error(cudaGetLastError(), cudaSuccess, "again: it has forgotten it");

  // None of these errors is sticky: the context works.
  nothing<<<1, 1>>>();
  expect_error(cudaGetLastError(), cudaSuccess, "a launch after them");
  expect_error(cudaDeviceSynchronize(), cudaSuccess, "and its end");
  return verdict();
}
