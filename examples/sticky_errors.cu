// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel that faults corrupts its context: the error is sticky. cudaGetLastError forgets it as any
// error, but every later call that needs the context returns it again; cudaDeviceReset begins a new
// context. The host process lives.
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
  expect_error(cudaGetLastError(), cudaErrorIllegalAddress, "cudaGetLastError");
  expect_error(cudaGetLastError(), cudaSuccess, "again: it has forgotten it");
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
