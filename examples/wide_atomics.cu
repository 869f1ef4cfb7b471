// SPDX-License-Identifier: MIT OR Apache-2.0
// atomicCAS and atomicExch of 16 bytes, from compute capability 9.0 on: a stack whose top is an index and a count of
// changes, so that a pop never takes a node that was away in between; and a record that is replaced whole.
#include "example.h"
#include <string.h>

struct alignas(16) Top {
  long long node;
  unsigned long long changes;
};
struct Node {
  // Read by those too whose pop comes to nothing, so atomically.
  unsigned long long next;
  int value;
};
__device__ bool same(Top a, Top b) { return a.node == b.node && a.changes == b.changes; }

__device__ void push(Top *top, Node *nodes, long long n) {
  Top seen = {-1, 0};
  for (;;) {
    atomicExch(&nodes[n].next, seen.node);
    __threadfence();
    Top found = atomicCAS(top, seen, Top{n, seen.changes + 1});
    if (same(found, seen))
      return;
    seen = found;
  }
}
__device__ long long pop(Top *top, Node *nodes) {
  Top seen = {-1, 0}; // a guess, which the first comparison corrects
  for (;;) {
    long long next = seen.node < 0 ? -1 : (long long)atomicAdd(&nodes[seen.node].next, 0);
    Top found = atomicCAS(top, seen, Top{next, seen.changes + 1});
    if (same(found, seen)) {
      __threadfence();
      return seen.node;
    }
    seen = found;
  }
}
// Every thread takes nodes off and puts them back, again and again.
__global__ void churn(Top *top, Node *nodes, int rounds) {
  for (int i = 0; i < rounds; i++) {
    long long n = pop(top, nodes);
    if (n < 0)
      continue;
    nodes[n].value++;
    push(top, nodes, n);
  }
}
__global__ void replace(float4 *record, float4 *taken, int *torn) {
  __shared__ float4 mine;
  float v = blockIdx.x * blockDim.x + threadIdx.x + 1;
  float4 old = atomicExch(record, make_float4(v, -v, 2 * v, -2 * v));
  if (old.x != -old.y || old.z != 2 * old.x || old.z != -old.w)
    atomicAdd(torn, 1);
  taken[(int)v - 1] = old;
  if (threadIdx.x == 0)
    mine = make_float4(1, 2, 3, 4);
  __syncthreads();
  if (threadIdx.x == 31) {
    float4 first = atomicExch_block(&mine, make_float4(5, 6, 7, 8));
    float4 second = atomicCAS_system(&mine, make_float4(5, 6, 7, 9), first);
    float4 third = atomicCAS(&mine, make_float4(5, 6, 7, 8), first);
    if (first.w != 4 || second.w != 8 || third.w != 8 || mine.x != 1)
      atomicAdd(torn, 1000);
  }
}

int main() {
  const int nodes = 24, blocks = 4, threads = 64, rounds = 20;
  Top *top;
  Node *node;
  CUDA(cudaMallocManaged(&top, sizeof *top));
  CUDA(cudaMallocManaged(&node, nodes * sizeof *node));
  for (int i = 0; i < nodes; i++)
    node[i] = {i + 1 < nodes ? i + 1 : -1ull, 0};
  *top = {0, 0};
  churn<<<blocks, threads>>>(top, node, rounds);
  CUDA(cudaDeviceSynchronize());
  bool seen[nodes] = {};
  int length = 0, values = 0;
  for (long long n = top->node; n >= 0 && length <= nodes; n = node[n].next) {
    if (seen[n])
      break;
    seen[n] = true;
    length++;
    values += node[n].value;
  }
  expect(length == nodes, "every node is on the stack once");
  expect(values > 0 && values <= blocks * threads * rounds, "nodes were taken and put back");

  float4 *record, *taken;
  int *torn;
  CUDA(cudaMallocManaged(&record, sizeof *record));
  CUDA(cudaMallocManaged(&taken, 256 * sizeof *taken));
  CUDA(cudaMallocManaged(&torn, sizeof *torn));
  memset(record, 0, sizeof *record);
  *torn = 0;
  replace<<<blocks, threads>>>(record, taken, torn);
  CUDA(cudaDeviceSynchronize());
  expect(*torn == 0, "no record of two writers' halves");
  // Each value was taken once, but for the one that is left.
  double sum = record->x;
  for (int i = 0; i < 256; i++)
    sum += taken[i].x;
  expect(sum == 256 * 257 / 2, "each record was taken once");
  for (void *p : {(void *)top, (void *)node, (void *)record, (void *)taken, (void *)torn})
    CUDA(cudaFree(p));
  return verdict();
}
