// SPDX-License-Identifier: MIT OR Apache-2.0
// Constant memory: 64 KB that only the host writes and every thread reads.
#include "example.h"
#include <cstddef>

struct Polynomial {
  int degree;
  float coefficients[8];
};
__constant__ Polynomial polynomial = {1, {1.0f, 2.0f}};
__constant__ char filler[60 << 10]; // the 64 KB can be used

__global__ void evaluate(const float *x, float *y) {
  float sum = 0.0f;
  for (int i = polynomial.degree; i >= 0; --i) sum = sum * x[threadIdx.x] + polynomial.coefficients[i];
  y[threadIdx.x] = sum;
}
__global__ void last_byte(char *out) { *out = filler[sizeof filler - 1]; }
__global__ void where(unsigned *is_constant) { *is_constant = __isConstant(&polynomial); }

int main() {
  puts("constant memory: written by the host, read by kernels");
  float x[4] = {0, 1, 2, 3}, y[4], *device_x, *device_y;
  CUDA(cudaMalloc(&device_x, sizeof x));
  CUDA(cudaMalloc(&device_y, sizeof y));
  CUDA(cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice));
  evaluate<<<1, 4>>>(device_x, device_y);
  CUDA(cudaMemcpy(y, device_y, sizeof y, cudaMemcpyDeviceToHost));
  expect(y[0] == 1 && y[3] == 7, "the initial value 1 + 2x");

  Polynomial square = {2, {0.0f, 0.0f, 1.0f}};
  CUDA(cudaMemcpyToSymbol(polynomial, &square, sizeof square));
  evaluate<<<1, 4>>>(device_x, device_y);
  CUDA(cudaMemcpy(y, device_y, sizeof y, cudaMemcpyDeviceToHost));
  expect(y[2] == 4 && y[3] == 9, "cudaMemcpyToSymbol makes it x*x");

  float one = 1.0f;
  CUDA(cudaMemcpyToSymbol(polynomial, &one, sizeof one, offsetof(Polynomial, coefficients)));
  evaluate<<<1, 4>>>(device_x, device_y);
  CUDA(cudaMemcpy(y, device_y, sizeof y, cudaMemcpyDeviceToHost));
  expect(y[2] == 5, "with an offset only a part: x*x + 1");

  char byte = 'z', got = 0, *device_byte;
  CUDA(cudaMalloc(&device_byte, 1));
  CUDA(cudaMemcpyToSymbol(filler, &byte, 1, sizeof filler - 1));
  last_byte<<<1, 1>>>(device_byte);
  CUDA(cudaMemcpy(&got, device_byte, 1, cudaMemcpyDeviceToHost));
  expect(got == 'z', "the last of 60 KB");

  unsigned *device_flag, flag = 0;
  CUDA(cudaMalloc(&device_flag, sizeof flag));
  where<<<1, 1>>>(device_flag);
  CUDA(cudaMemcpy(&flag, device_flag, sizeof flag, cudaMemcpyDeviceToHost));
  expect(flag == 1, "__isConstant of its address");

  return verdict();
}
