// SPDX-License-Identifier: MIT OR Apache-2.0
// Local memory: private to a thread, for what does not fit or cannot be in registers: an array with a
// dynamic index, and the call stack. The stack's size is a limit of the device.
#include "example.h"

__global__ void histogram_of_digits(const int *numbers, int *most_frequent) {
  int counts[10] = {}; // indexed by data: registers have no index, so this array is in local memory
  for (int n = numbers[threadIdx.x]; n > 0; n /= 10) ++counts[n % 10];
  int best = 0;
  for (int digit = 1; digit < 10; ++digit)
    if (counts[digit] > counts[best]) best = digit;
  most_frequent[threadIdx.x] = best;
}

__global__ void addresses(unsigned long long *where) {
  volatile int own = threadIdx.x;
  where[threadIdx.x] = (unsigned long long)&own;
}

// Each call keeps 64 bytes alive, so that the stack grows with the depth.
__device__ __noinline__ int descend(int depth, volatile int *above) {
  volatile int frame[16];
  for (int i = 0; i < 16; ++i) frame[i] = above[0] + i;
  return depth == 0 ? frame[0] : descend(depth - 1, frame) + (frame[15] - frame[0] - 14);
}
__global__ void recursion(int depth, int *result) {
  volatile int start[1] = {7};
  *result = descend(depth, start);
}

int main() {
  puts("local memory: dynamic indexing, the call stack and its limit");
  const int numbers[4] = {122333, 99, 1000, 7};
  int *device_numbers, *device_digits, digits[4];
  CUDA(cudaMalloc(&device_numbers, sizeof numbers));
  CUDA(cudaMalloc(&device_digits, sizeof digits));
  CUDA(cudaMemcpy(device_numbers, numbers, sizeof numbers, cudaMemcpyHostToDevice));
  histogram_of_digits<<<1, 4>>>(device_numbers, device_digits);
  CUDA(cudaMemcpy(digits, device_digits, sizeof digits, cudaMemcpyDeviceToHost));
  expect(digits[0] == 3 && digits[1] == 9 && digits[2] == 0 && digits[3] == 7,
         "an array with a dynamic index");

  size_t limit = 0;
  CUDA(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  printf("  the stack of a thread has %zu bytes by default\n", limit);
  CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
  CUDA(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  expect(limit >= 64 << 10, "cudaDeviceSetLimit raises it");
  int *device_result, result = 0;
  CUDA(cudaMalloc(&device_result, sizeof result));
  recursion<<<1, 1>>>(200, device_result);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(&result, device_result, sizeof result, cudaMemcpyDeviceToHost));
  expect(result == 7 + 200, "a recursion 200 calls deep");

  // 100,000 frames do not fit into 64 KB: the launch fails, and the process lives.
  recursion<<<1, 1>>>(100000, device_result);
  cudaError_t e = cudaDeviceSynchronize();
  expect(e == cudaErrorHardwareStackError || e == cudaErrorIllegalAddress ||
             e == cudaErrorLaunchFailure,
         "a recursion too deep for the stack is an error of the launch");
  printf("  it was: %s\n", cudaGetErrorString(e));
  return verdict();
}
