// SPDX-License-Identifier: MIT OR Apache-2.0
// Thread block clusters (compute capability 9.0): blocks of a cluster run at the same time, share a
// barrier, and reach one another's shared memory.
#include "example.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ void pass_around(int *out) {
  __shared__ int mine;
  cg::cluster_group cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
  if (threadIdx.x == 0) mine = 100 * blockIdx.x + rank;
  cluster.sync(); // all have written
  if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&mine, (rank + 1) % blocks);
  cluster.sync(); // nobody leaves while another reads
}
// The size of the cluster is part of the kernel …
__global__ void __cluster_dims__(4, 1, 1) fixed_size(int *out) { pass_around(out); }
// … or an attribute of the launch.
__global__ void any_size(int *out) { pass_around(out); }

int main() {
  puts("thread block clusters: distributed shared memory");
  const int blocks = 8;
  int *device, got[blocks];
  CUDA(cudaMalloc(&device, sizeof got));
  fixed_size<<<blocks, 32>>>(device);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
  bool right = true;
  for (int b = 0; b < blocks; ++b) {
    int next = b / 4 * 4 + (b + 1) % 4;
    right &= got[b] == 100 * next + next % 4;
  }
  expect(right, "__cluster_dims__(4): each block read its neighbour's shared memory");

  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA(cudaLaunchKernelEx(&config, any_size, device));
  CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
  right = true;
  for (int b = 0; b < blocks; ++b) right &= got[b] == 100 * (b ^ 1) + (b ^ 1) % 2;
  expect(right, "a launch attribute: clusters of two");

  fixed_size<<<6, 32>>>(device);
  expect(cudaGetLastError() != cudaSuccess, "a grid that is no multiple of the cluster is refused");
  CUDA(cudaFree(device));
  return verdict();
}
