// SPDX-License-Identifier: MIT OR Apache-2.0
// The other half of main.cu: functions and variables that it uses.
#include "shapes.h"
#include <cstdio>

__device__ int calls;
__constant__ float scale[2];
__managed__ int host_and_device = 40;
static __device__ int step = 2; // not the `step` of main.cu

__device__ float total_area(const Shape *const *shapes, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += shapes[i]->area() * scale[i];
  atomicAdd(&calls, step);
  return sum;
}

void describe_areas() {
  const float values[2] = {1, 10};
  cudaMemcpyToSymbol(scale, values, sizeof values);
  host_and_device += 2;
}
