// SPDX-License-Identifier: MIT OR Apache-2.0
// Managed memory: host and device read and write the same object by the same address, without copies.
// __managed__ variables live as long as the program, cudaMallocManaged memory until cudaFree.
#include "example.h"

__managed__ int counter = 5;
__device__ __managed__ float values[4] = {1, 2, 3, 4};
struct Node {
  int value;
  Node *next;
};
__managed__ Node *list;

__global__ void work() {
  atomicAdd(&counter, 1);
  values[threadIdx.x] *= 10;
}
__global__ void sum_list(int *sum) {
  for (Node *n = list; n; n = n->next) *sum += n->value;
}
__global__ void same_address(int **out) { *out = &counter; }

int main() {
  puts("managed memory: one object for host and device");
  expect(counter == 5, "the host reads the initial value");
  counter = 10;
  work<<<1, 4>>>();
  CUDA(cudaDeviceSynchronize());
  expect(counter == 14, "the host writes, four threads count, the host reads");
  expect(values[0] == 10 && values[3] == 40, "an array");

  // Pointers mean the same on both sides: a list that the host builds and the device walks.
  int *sum;
  CUDA(cudaMallocManaged(&sum, sizeof *sum));
  *sum = 0;
  for (int i = 1; i <= 10; ++i) {
    Node *n;
    CUDA(cudaMallocManaged(&n, sizeof *n));
    n->value = i;
    n->next = list;
    list = n;
  }
  sum_list<<<1, 1>>>(sum);
  CUDA(cudaDeviceSynchronize());
  expect(*sum == 55, "the device walks a list that the host built");

  int **address;
  CUDA(cudaMallocManaged(&address, sizeof *address));
  same_address<<<1, 1>>>(address);
  CUDA(cudaDeviceSynchronize());
  expect(*address == &counter, "&counter is the same on both sides");
  void *symbol;
  CUDA(cudaGetSymbolAddress(&symbol, counter));
  expect(symbol == &counter, "and cudaGetSymbolAddress says so");

  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, sum));
  expect(attributes.type == cudaMemoryTypeManaged, "cudaPointerGetAttributes says managed");
  while (list) {
    Node *next = list->next;
    CUDA(cudaFree(list));
    list = next;
  }
  CUDA(cudaFree(sum));
  CUDA(cudaFree(address));
  return verdict();
}
