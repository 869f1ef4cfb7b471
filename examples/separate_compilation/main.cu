// SPDX-License-Identifier: MIT OR Apache-2.0
// Separate compilation: with -rdc=true, device code of one file uses functions, variables and classes of
// another, and the device code of all files is linked.
//
// margay-run: -rdc=true
#include "../example.h"
#include "shapes.h"

static __device__ int step = 100; // not the `step` of areas.cu

struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3 * radius * radius; } // near enough
};

__global__ void measure(float *out) {
  Square square(2);
  Circle circle(1);
  const Shape *shapes[] = {&square, &circle};
  out[0] = total_area(shapes, 2);
  out[1] = calls + step;
  host_and_device += 1;
}

int main() {
  puts("separate compilation: device code of two files is one program");
  describe_areas();
  expect(host_and_device == 42, "a managed variable of the other file, written by its host code");
  float *out;
  CUDA(cudaMallocManaged(&out, 2 * sizeof *out));
  measure<<<1, 1>>>(out);
  CUDA(cudaGetLastError());
  CUDA(cudaDeviceSynchronize());
  expect(out[0] == 4 * 1 + 3 * 10, "a function of the other file calls virtual functions of this one");
  expect(out[1] == 102, "static variables of the same name stay apart, a shared one is one object");
  expect(host_and_device == 43, "the kernel wrote the other file's managed variable");

  // Host code of this file reaches the symbols of that one.
  int value = 0;
  CUDA(cudaMemcpyFromSymbol(&value, calls, sizeof value));
  expect(value == 2, "cudaMemcpyFromSymbol of a variable of the other file");
  value = 1000;
  CUDA(cudaMemcpyToSymbol(step, &value, sizeof value));
  measure<<<1, 1>>>(out);
  CUDA(cudaDeviceSynchronize());
  expect(out[1] == 1004, "cudaMemcpyToSymbol of a static variable writes this file's");
  CUDA(cudaFree(out));
  return verdict();
}
