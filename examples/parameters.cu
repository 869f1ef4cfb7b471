// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernel parameters are passed by value, in up to 4 KB, or 32,764 bytes from compute capability 7.0 on;
// __grid_constant__ ones keep their address.
#include "example.h"

template <int N> struct Block {
  int values[N];
};

__global__ void small(char c, short s, double d, float3 f, int *out) {
  out[0] = c;
  out[1] = s;
  out[2] = (int)(d * 2);
  out[3] = (int)(f.x + f.y + f.z);
}
__global__ void large(Block<1020> b, int *out) {
  int sum = 0;
  for (int i = 0; i < 1020; ++i) sum += b.values[i];
  *out = sum;
}
__global__ void largest(const __grid_constant__ Block<8186> b, int index, int *out) {
  *out = b.values[index];
}
__global__ void modify(Block<4> b, int *out) {
  b.values[1] = 9; // a private copy
  *out = b.values[threadIdx.x] + b.values[1];
}

int main() {
  puts("kernel parameters");
  int *device, got[4];
  CUDA(cudaMalloc(&device, sizeof got));
  small<<<1, 1>>>(-3, 1000, 2.5, make_float3(1, 2, 3), device);
  CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
  expect(got[0] == -3 && got[1] == 1000 && got[2] == 5 && got[3] == 6, "each at its own alignment");

  static Block<1020> b;
  for (int i = 0; i < 1020; ++i) b.values[i] = i;
  large<<<1, 1>>>(b, device);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(got, device, sizeof(int), cudaMemcpyDeviceToHost));
  expect(got[0] == 1020 * 1019 / 2, "4 KB of parameters");

  static Block<8186> most; // 32,744 bytes; the index and the pointer end at 32,760
  for (int i = 0; i < 8186; ++i) most.values[i] = 3 * i;
  largest<<<1, 1>>>(most, 8185, device);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(got, device, sizeof(int), cudaMemcpyDeviceToHost));
  expect(got[0] == 3 * 8185, "32,760 bytes of parameters");

  Block<4> four = {{1, 2, 3, 4}};
  modify<<<1, 1>>>(four, device);
  CUDA(cudaMemcpy(got, device, sizeof(int), cudaMemcpyDeviceToHost));
  expect(got[0] == 10 && four.values[1] == 2, "a kernel changes its own copy only");
  CUDA(cudaFree(device));
  return verdict();
}
