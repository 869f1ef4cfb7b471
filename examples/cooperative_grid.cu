// SPDX-License-Identifier: MIT OR Apache-2.0
// A cooperative launch: all blocks are resident, and grid.sync() is a barrier for the whole grid. A grid
// with more blocks than fit at once is refused.
#include "example.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each round every block adds its neighbour's value of the round before.
__global__ void rounds(int *values, int count) {
  cg::grid_group grid = cg::this_grid();
  int blocks = gridDim.x, b = blockIdx.x;
  for (int i = 0; i < count; ++i) {
    int *now = values + (i & 1) * blocks, *next = values + (~i & 1) * blocks;
    if (threadIdx.x == 0) next[b] = now[b] + now[(b + 1) % blocks];
    grid.sync();
  }
}
__global__ void is_valid(int *out) { *out = cg::this_grid().is_valid(); }

int main() {
  puts("cooperative launch: grid-wide barriers");
  int supported = 0;
  CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  expect(supported, "the device supports cooperative launches");

  const int blocks = 16, count = 5;
  int values[2][blocks] = {}, *device;
  values[0][0] = 1;
  CUDA(cudaMalloc(&device, sizeof values));
  CUDA(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
  int rounds_count = count;
  void *arguments[] = {&device, &rounds_count};
  CUDA(cudaLaunchCooperativeKernel(rounds, dim3(blocks), dim3(64), arguments));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost));
  // Row 5 of Pascal's triangle, around the ring.
  const int pascal[6] = {1, 5, 10, 10, 5, 1};
  bool right = true;
  for (int i = 0; i < blocks; ++i) {
    int back = (blocks - i) % blocks;
    right &= values[count & 1][i] == (back < 6 ? pascal[back] : 0);
  }
  expect(right, "five rounds of neighbours, each after the barrier of the one before");

  int *flag = device, host_flag = -1;
  is_valid<<<1, 1>>>(flag);
  CUDA(cudaMemcpy(&host_flag, flag, sizeof(int), cudaMemcpyDeviceToHost));
  expect(host_flag == 0, "an ordinary launch has no valid grid group");

  int per_sm = 0, sms = 0;
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, rounds, 64, 0));
  CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  printf("  %d blocks fit on each of %d SMs\n", per_sm, sms);
  expect_error(cudaLaunchCooperativeKernel(rounds, dim3(per_sm * sms + 1), dim3(64), arguments),
               cudaErrorCooperativeLaunchTooLarge, "one block more than fits");
  CUDA(cudaFree(device));
  return verdict();
}
