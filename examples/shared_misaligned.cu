// SPDX-License-Identifier: MIT OR Apache-2.0
// The same layout as shared_dynamic.cu with one mistake: a[127] instead of a[128] puts the float array
// at byte 254, and a float must lie at a multiple of 4. The launch ends with cudaErrorMisalignedAddress,
// which stays until the context is reset.
#include "example.h"

__global__ void misaligned() {
  extern __shared__ float buffer[];
  short *a = (short *)buffer;
  volatile float *b = (volatile float *)&a[127]; // byte 254
  b[threadIdx.x] = 1.0f;
}

int main() {
  puts("shared memory: a float array at byte 254");
  misaligned<<<1, 64, 2048>>>();
  expect_error(cudaGetLastError(), cudaSuccess, "the launch itself");
  expect_error(cudaDeviceSynchronize(), cudaErrorMisalignedAddress, "its end");
  void *p;
  expect_error(cudaMalloc(&p, 4), cudaErrorMisalignedAddress, "every later call");
  return verdict();
}
