// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocation by kernels in the three ways of the programming guide: for a thread, for a block, and across
// launches; new and delete; and a heap that is too small, where malloc answers null and nothing else breaks.
#include "example.h"

__global__ void for_a_thread(int *ok) {
  size_t size = 123;
  char *p = (char *)malloc(size);
  if (!p) return;
  memset(p, threadIdx.x, size);
  int good = 1;
  for (size_t i = 0; i < size; ++i) good &= p[i] == (char)threadIdx.x;
  atomicAdd(ok, good);
  free(p);
}

__global__ void for_a_block(int *out) {
  __shared__ int *data;
  if (threadIdx.x == 0) data = (int *)malloc(blockDim.x * 64);
  __syncthreads();
  if (!data) return;
  // Consecutive threads take consecutive words.
  for (int i = 0; i < 16; ++i) data[i * blockDim.x + threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < 16 * (int)blockDim.x; ++i) sum += data[i];
    out[blockIdx.x] = sum;
    free(data);
  }
}

__device__ int *kept[4];
__global__ void keep() {
  if (threadIdx.x == 0) {
    kept[blockIdx.x] = (int *)malloc(blockDim.x * sizeof(int));
    for (int i = 0; i < (int)blockDim.x && kept[blockIdx.x]; ++i) kept[blockIdx.x][i] = 0;
  }
}
__global__ void use() {
  if (kept[blockIdx.x]) kept[blockIdx.x][threadIdx.x] += threadIdx.x;
}
__global__ void give_back(int *out) {
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < (int)blockDim.x; ++i) sum += kept[blockIdx.x][i];
    out[blockIdx.x] = sum;
    free(kept[blockIdx.x]);
  }
}

struct Node {
  int value;
  Node *next;
  __device__ Node(int v, Node *n) : value(v), next(n) {}
};
__global__ void list(int *out) {
  Node *head = nullptr;
  for (int i = 1; i <= 10; ++i) head = new Node(i, head);
  int sum = 0;
  while (head) {
    Node *next = head->next;
    sum += head->value;
    delete head;
    head = next;
  }
  *out = sum;
}

// Takes a piece more and more until there is none; what was taken stays usable.
__global__ void exhaust(int *out) {
  const size_t piece = 1 << 20;
  char *first = nullptr;
  int got = 0;
  for (; got < 64; ++got) {
    char *p = (char *)malloc(piece);
    if (!p) break;
    *(char **)p = first;
    first = p;
  }
  out[0] = got;
  // volatile: a compiler may assume that memory which nobody uses was there.
  char *volatile huge = (char *)malloc((size_t)1 << 40);
  out[1] = huge == nullptr;
  for (int i = 0; i < got; ++i) {
    char *next = *(char **)first;
    free(first);
    first = next;
  }
  char *again = (char *)malloc(piece);
  out[2] = again != nullptr;
  free(again);
  free(nullptr);
}

int main() {
  puts("the heap of device code");
  size_t heap = 0;
  CUDA(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  expect(heap == 8u << 20, "8 MB by default");
  CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16u << 20));
  int *out, host[4] = {};
  CUDA(cudaMalloc(&out, sizeof host));
  CUDA(cudaMemset(out, 0, sizeof host));
  auto fetch = [&] { CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost)); };
  for_a_thread<<<1, 5>>>(out);
  fetch();
  expect(host[0] == 5, "each thread has memory of its own");
  expect_error(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32u << 20), cudaErrorInvalidValue,
               "another size after a launch");
  for_a_block<<<4, 32>>>(out);
  fetch();
  expect(host[0] == 16 * 496 && host[3] == host[0], "each block has memory that its threads share");
  keep<<<4, 10>>>();
  use<<<4, 10>>>();
  use<<<4, 10>>>();
  use<<<4, 10>>>();
  give_back<<<4, 10>>>(out);
  fetch();
  expect(host[0] == 3 * 45 && host[3] == 3 * 45, "memory lives from launch to launch");
  list<<<1, 1>>>(out);
  fetch();
  expect(host[0] == 55, "new and delete");
  exhaust<<<1, 1>>>(out);
  CUDA(cudaDeviceSynchronize());
  fetch();
  printf("  %d pieces of 1 MB fitted into 16 MB\n", host[0]);
  expect(host[0] >= 8 && host[0] <= 16, "malloc answers null when the heap is full");
  expect(host[1] && host[2], "and when no heap could hold it; what is freed can be had again");
  expect_error(cudaFree(nullptr), cudaSuccess, "cudaFree of null");
  CUDA(cudaFree(out));
  return verdict();
}
