// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

// A class that one file derives from and another file calls.
struct Shape {
  __device__ virtual float area() const = 0;
};

__device__ float total_area(const Shape *const *shapes, int count);
extern __device__ int calls;          // defined in areas.cu
extern __constant__ float scale[2];   // defined in areas.cu
extern __managed__ int host_and_device;
void describe_areas(); // host code, in areas.cu
