// SPDX-License-Identifier: MIT OR Apache-2.0
// Pinned host memory, mapped into the device's address space: kernels read and write the host's memory
// directly. Memory that is not registered is out of a kernel's reach.
#include "example.h"

__global__ void increment(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++data[i];
}

int main() {
  puts("mapped and pinned host memory");
  const int n = 100;

  // Allocated pinned and mapped. With unified addressing both pointers are the same.
  int *host, *device;
  CUDA(cudaHostAlloc(&host, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
  for (int i = 0; i < n; ++i) host[i] = i;
  CUDA(cudaHostGetDevicePointer(&device, host, 0));
  increment<<<4, 32>>>(device, n);
  CUDA(cudaDeviceSynchronize());
  bool right = true;
  for (int i = 0; i < n; ++i) right &= host[i] == i + 1;
  expect(right, "cudaHostAlloc: the kernel incremented the host's array");
  expect(host == device, "unified virtual addressing: one pointer for both");
  unsigned flags = 0;
  CUDA(cudaHostGetFlags(&flags, host));
  expect(flags & cudaHostAllocMapped, "cudaHostGetFlags tells how it was allocated");

  // Write-combined memory, for the host to fill and the device to read.
  int *combined;
  CUDA(cudaHostAlloc(&combined, n * sizeof(int), cudaHostAllocWriteCombined | cudaHostAllocMapped));
  combined[n - 1] = 41;
  increment<<<4, 32>>>(combined, n);
  CUDA(cudaDeviceSynchronize());
  expect(combined[n - 1] == 42, "write-combined");

  // Ordinary memory, registered after the fact.
  int *ordinary = (int *)malloc(n * sizeof(int));
  for (int i = 0; i < n; ++i) ordinary[i] = 0;
  CUDA(cudaHostRegister(ordinary, n * sizeof(int), cudaHostRegisterMapped));
  CUDA(cudaHostGetDevicePointer(&device, ordinary, 0));
  increment<<<4, 32>>>(device, n);
  CUDA(cudaDeviceSynchronize());
  expect(ordinary[n - 1] == 1, "cudaHostRegister");

  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, ordinary));
  expect(attributes.type == cudaMemoryTypeHost, "cudaPointerGetAttributes says host");
  CUDA(cudaHostUnregister(ordinary));
  CUDA(cudaPointerGetAttributes(&attributes, ordinary));
  expect(attributes.type == cudaMemoryTypeUnregistered, "and unregistered after cudaHostUnregister");

  // A kernel that touches host memory nobody registered gets an error, and the host lives.
  increment<<<1, 1>>>(ordinary, 1);
  expect_error(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "unregistered host memory");
  expect(ordinary[0] == 1, "it is unchanged");
  free(ordinary);
  return verdict();
}
