// SPDX-License-Identifier: MIT OR Apache-2.0
// Votes and shuffles as they were up to compute capability 6: without a mask, for a whole warp that runs
// together. Broadcast, a prefix sum in groups of 8 lanes and a sum over the warp. From 7.0 on the same is
// written with the functions that take a mask.
#include "example.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define SHFL(v, lane) __shfl_sync(~0u, v, lane)
#define SHFL_UP(v, n, width) __shfl_up_sync(~0u, v, n, width)
#define SHFL_XOR(v, mask) __shfl_xor_sync(~0u, v, mask)
#define BALLOT(p) __ballot_sync(~0u, p)
#define ANY(p) __any_sync(~0u, p)
#define ALL(p) __all_sync(~0u, p)
#else
#define SHFL(v, lane) __shfl(v, lane)
#define SHFL_UP(v, n, width) __shfl_up(v, n, width)
#define SHFL_XOR(v, mask) __shfl_xor(v, mask)
#define BALLOT(p) __ballot(p)
#define ANY(p) __any(p)
#define ALL(p) __all(p)
#endif

__global__ void broadcast(int value, int *out) {
  int mine = threadIdx.x == 0 ? value : -1;
  out[threadIdx.x] = SHFL(mine, 0);
}

__global__ void scan8(int *out) {
  int lane = threadIdx.x, sum = 31 - lane;
  for (int step = 1; step <= 4; step *= 2) {
    int below = SHFL_UP(sum, step, 8);
    if ((lane & 7) >= step) sum += below;
  }
  out[lane] = sum;
}

__global__ void sum_of_warp(int *out) {
  int sum = 31 - threadIdx.x;
  for (int mask = 16; mask >= 1; mask /= 2) sum += SHFL_XOR(sum, mask);
  out[threadIdx.x] = sum;
}

__global__ void votes(unsigned int *out) {
  int lane = threadIdx.x;
  unsigned int odd = BALLOT(lane & 1);
  unsigned int answers = ANY(lane == 31) * 1u + ALL(lane >= 0) * 2u + ANY(lane > 31) * 4u + ALL(lane) * 8u;
  if (lane == 0) {
    out[0] = odd;
    out[1] = answers;
  }
  __prof_trigger(3);
}

int main() {
  puts("warp functions without a mask (with one from compute capability 7.0 on)");
  int out[32], *device;
  CUDA(cudaMalloc(&device, sizeof out));
  auto fetch = [&] { CUDA(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost)); };
  broadcast<<<1, 32>>>(1234, device);
  fetch();
  bool right = true;
  for (int v : out) right &= v == 1234;
  expect(right, "broadcast: every lane has lane 0's value");
  scan8<<<1, 32>>>(device);
  fetch();
  right = true;
  for (int i = 0, sum = 0; i < 32; ++i) {
    sum = (i % 8 ? sum : 0) + 31 - i;
    right &= out[i] == sum;
  }
  expect(right, "prefix sums of groups of 8 lanes");
  sum_of_warp<<<1, 32>>>(device);
  fetch();
  right = true;
  for (int v : out) right &= v == 496;
  expect(right, "the sum over the warp, in every lane");
  votes<<<1, 32>>>((unsigned int *)device);
  fetch();
  expect((unsigned int)out[0] == 0xaaaaaaaau && out[1] == 3, "ballot, any and all");
  CUDA(cudaFree(device));
  return verdict();
}
