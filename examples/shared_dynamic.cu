// SPDX-License-Identifier: MIT OR Apache-2.0
// Dynamic shared memory: all `extern __shared__` arrays start at one address. The program lays several
// arrays out in it by offsets, each aligned for its type, and gives the size at the launch.
#include "example.h"

//   short a[128]   bytes    0 .. 255
//   float b[64]    bytes  256 .. 511
//   int   c[256]   bytes  512 .. 1535
constexpr int bytes = 128 * sizeof(short) + 64 * sizeof(float) + 256 * sizeof(int);

__global__ void three_arrays(long long *sums) {
  extern __shared__ float buffer[];
  short *a = (short *)buffer;
  float *b = (float *)&a[128];
  int *c = (int *)&b[64];
  int i = threadIdx.x;
  if (i < 128) a[i] = (short)i;
  if (i < 64) b[i] = 0.5f * i;
  c[i] = -i;
  __syncthreads();
  if (i == 0) {
    long long sum_a = 0, sum_c = 0;
    float sum_b = 0;
    for (int k = 0; k < 128; ++k) sum_a += a[k];
    for (int k = 0; k < 64; ++k) sum_b += b[k];
    for (int k = 0; k < 256; ++k) sum_c += c[k];
    sums[0] = sum_a;
    sums[1] = (long long)sum_b;
    sums[2] = sum_c;
  }
}

// Two declarations, one address.
__global__ void one_address(unsigned *same) {
  extern __shared__ char first[];
  extern __shared__ char second[];
  // As numbers: a compiler may take two names for two objects.
  *same = __cvta_generic_to_shared(first) == __cvta_generic_to_shared(second);
}

__global__ void last_byte(int size, char *out) {
  extern __shared__ char buffer_bytes[];
  buffer_bytes[size - 1] = 42;
  *out = buffer_bytes[size - 1];
}

int main() {
  puts("dynamic shared memory: several arrays in one buffer");
  long long sums[3], *device_sums;
  CUDA(cudaMalloc(&device_sums, sizeof sums));
  three_arrays<<<1, 256, bytes>>>(device_sums);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(sums, device_sums, sizeof sums, cudaMemcpyDeviceToHost));
  expect(sums[0] == 8128 && sums[1] == 1008 && sums[2] == -32640,
         "short a[128], float b[64], int c[256] do not overlap");

  one_address<<<1, 1, 16>>>((unsigned *)device_sums);
  CUDA(cudaMemcpy(sums, device_sums, sizeof(int), cudaMemcpyDeviceToHost));
  expect((unsigned)sums[0] == 1, "extern __shared__ arrays start at one address");

  // 48 KB without asking; more only after opting in.
  char *out = (char *)device_sums, got = 0;
  last_byte<<<1, 1, 48 << 10>>>(48 << 10, out);
  CUDA(cudaMemcpy(&got, out, 1, cudaMemcpyDeviceToHost));
  expect(got == 42, "48 KB by default");
  int most = 0;
  CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  if (most > 48 << 10) {
    last_byte<<<1, 1, most>>>(most, out);
    expect_error(cudaGetLastError(), cudaErrorInvalidValue, "more without opting in");
    CUDA(cudaFuncSetAttribute(last_byte, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CUDA(cudaMemset(out, 0, 1));
    last_byte<<<1, 1, most>>>(most, out);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(&got, out, 1, cudaMemcpyDeviceToHost));
    expect(got == 42, "the device's most, after cudaFuncSetAttribute");
  }
  CUDA(cudaFree(device_sums));
  return verdict();
}
