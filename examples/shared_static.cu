// SPDX-License-Identifier: MIT OR Apache-2.0
// Static shared memory: a distinct object for each block, as long as the block lives, with a size that
// the compiler knows. The block's threads exchange values through it, with a barrier between.
#include "example.h"

__global__ void reverse_blocks(int *data) {
  __shared__ int tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = data[i];
  __syncthreads(); // all have written before anyone reads another's element
  data[i] = tile[63 - threadIdx.x];
}

__global__ void uninitialised_each_time(int *seen) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 0) seen[blockIdx.x] = count; // 32 in every block: each has its own
}

__global__ void spaces(unsigned *out) {
  __shared__ int s;
  int l = 0;
  out[0] = __isShared(&s);
  out[1] = __isGlobal(&s);
  out[2] = __isShared(&l);
  out[3] = __isLocal(&l);
  out[4] = __isGlobal(out);
}

int main() {
  puts("static shared memory: one object a block");
  int data[256], *device_data;
  for (int i = 0; i < 256; ++i) data[i] = i;
  CUDA(cudaMalloc(&device_data, sizeof data));
  CUDA(cudaMemcpy(device_data, data, sizeof data, cudaMemcpyHostToDevice));
  reverse_blocks<<<4, 64>>>(device_data);
  CUDA(cudaMemcpy(data, device_data, sizeof data, cudaMemcpyDeviceToHost));
  bool reversed = true;
  for (int i = 0; i < 256; ++i) reversed &= data[i] == i / 64 * 64 + 63 - i % 64;
  expect(reversed, "each block reversed its 64 elements");

  uninitialised_each_time<<<8, 32>>>(device_data);
  CUDA(cudaMemcpy(data, device_data, 8 * sizeof(int), cudaMemcpyDeviceToHost));
  bool own = true;
  for (int i = 0; i < 8; ++i) own &= data[i] == 32;
  expect(own, "blocks do not see one another's");

  spaces<<<1, 1>>>((unsigned *)device_data);
  CUDA(cudaMemcpy(data, device_data, 5 * sizeof(int), cudaMemcpyDeviceToHost));
  expect(data[0] && !data[1] && !data[2] && data[3] && data[4], "__isShared, __isLocal, __isGlobal");

  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, reverse_blocks));
  expect(attributes.sharedSizeBytes == 64 * sizeof(int), "cudaFuncGetAttributes tells its size");
  CUDA(cudaFree(device_data));
  return verdict();
}
