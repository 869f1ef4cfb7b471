// SPDX-License-Identifier: MIT OR Apache-2.0
// Registers: automatic variables live there. A 64-bit value takes a pair of 32-bit registers, and the
// reinterpreting intrinsics change the type of a register's bits without converting the value.
#include "example.h"

struct Result {
  int float_bits;
  float back;
  int high, low;
  double joined;
  long long double_bits;
  double from_bits;
  float2 pair;
  float4 quad;
  unsigned long long product;
};

__global__ void reinterpret(Result *r, float f, double d, const float2 *pairs, const float4 *quads) {
  r->float_bits = __float_as_int(f);
  r->back = __int_as_float(r->float_bits);
  r->high = __double2hiint(d);
  r->low = __double2loint(d);
  r->joined = __hiloint2double(r->high, r->low);
  r->double_bits = __double_as_longlong(d);
  r->from_bits = __longlong_as_double(r->double_bits);
  // One 64-bit and one 128-bit access: two and four registers at once.
  r->pair = pairs[1];
  r->quad = quads[1];
  r->product = (unsigned long long)0xffffffffu * 0xffffffffu;
}

int main() {
  puts("registers: reinterpreting intrinsics, 64-bit values, vector accesses");
  float2 pairs[2] = {{1, 2}, {3, 4}};
  float4 quads[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  float2 *device_pairs;
  float4 *device_quads;
  Result *device_result, r;
  CUDA(cudaMalloc(&device_pairs, sizeof pairs));
  CUDA(cudaMalloc(&device_quads, sizeof quads));
  CUDA(cudaMalloc(&device_result, sizeof r));
  CUDA(cudaMemcpy(device_pairs, pairs, sizeof pairs, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(device_quads, quads, sizeof quads, cudaMemcpyHostToDevice));
  reinterpret<<<1, 1>>>(device_result, 1.0f, -2.5, device_pairs, device_quads);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(&r, device_result, sizeof r, cudaMemcpyDeviceToHost));

  expect(r.float_bits == 0x3f800000, "__float_as_int(1.0f) is 0x3f800000");
  expect(r.back == 1.0f, "__int_as_float gives it back");
  expect(r.high == (int)0xc0040000 && r.low == 0, "the halves of -2.5 are 0xc0040000 and 0");
  expect(r.joined == -2.5, "__hiloint2double joins them");
  expect(r.double_bits == (long long)0xc004000000000000, "__double_as_longlong(-2.5)");
  expect(r.from_bits == -2.5, "__longlong_as_double gives it back");
  expect(r.pair.x == 3 && r.pair.y == 4, "a 64-bit load of float2");
  expect(r.quad.x == 5 && r.quad.w == 8, "a 128-bit load of float4");
  expect(r.product == 0xfffffffe00000001ull, "a 64-bit product of 32-bit factors");
  CUDA(cudaFree(device_pairs));
  CUDA(cudaFree(device_quads));
  CUDA(cudaFree(device_result));
  return verdict();
}
