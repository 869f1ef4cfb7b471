// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that faults corrupts its context: the error is sticky. Every later call returns it, and
// cudaGetLastError does not clear it; cudaDeviceReset begins a new context. The host process lives.
#include "example.h"

__global__ void write_to(int *p) { *p = 1; }

int main() {
  puts("sticky errors");
  int *data;
  CUDA(cudaMalloc(&data, 100 * sizeof(int)));
  write_to<<<1, 1>>>(data + 99);
  expect_error(cudaDeviceSynchronize(), cudaSuccess, "the last element of an allocation");

  write_to<<<1, 1>>>(nullptr);
  expect_error(cudaGetLastError(), cudaSuccess, "a launch that will fault is accepted");
  expect_error(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "a write to null");
  expect_error(cudaGetLastError(), cudaErrorIllegalAddress, "cudaGetLastError does not clear it");
  expect_error(cudaGetLastError(), cudaErrorIllegalAddress, "a second time neither");
  int *more;
  expect_error(cudaMalloc(&more, 4), cudaErrorIllegalAddress, "cudaMalloc returns it");
  int host;
  expect_error(cudaMemcpy(&host, data, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress,
               "cudaMemcpy returns it");
  write_to<<<1, 1>>>(data);
  expect_error(cudaGetLastError(), cudaErrorIllegalAddress, "a launch returns it");

  expect_error(cudaDeviceReset(), cudaSuccess, "cudaDeviceReset");
  CUDA(cudaMalloc(&data, 4));
  write_to<<<1, 1>>>(data);
  CUDA(cudaMemcpy(&host, data, 4, cudaMemcpyDeviceToHost));
  expect(host == 1, "the new context works");
  return verdict();
}
