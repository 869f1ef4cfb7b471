// SPDX-License-Identifier: MIT OR Apache-2.0
// cuda_fp8.h: on a device from sm_89 on PTX's own instructions convert, on others and on the host integer
// arithmetic does. Both have to agree for every code and for values around every step between codes.
#include "example.h"
#include <cuda_fp8.h>
#include <vector>

template <typename Float8> struct Results {
  unsigned char code;
  float back;
  __half half;
  __nv_bfloat16 bf16;
  int integer;
};

template <typename Float8>
__host__ __device__ Results<Float8> convert(float x) {
  Float8 narrow(x);
  return {narrow.__x, (float)narrow, (__half)narrow, (__nv_bfloat16)narrow, (int)narrow};
}
template <typename Float8>
__global__ void convert_all(const float *x, Results<Float8> *r, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) r[i] = convert<Float8>(x[i]);
}

// Equal to the bit, zeros too; of NaN there is one here, but a float has many.
static bool same(float a, float b) {
  return __builtin_bit_cast(unsigned int, a) == __builtin_bit_cast(unsigned int, b) || (a != a && b != b);
}

template <typename Float8>
static int differences(const std::vector<float> &values) {
  int n = (int)values.size();
  float *x;
  Results<Float8> *r;
  CUDA(cudaMallocManaged(&x, n * sizeof *x));
  CUDA(cudaMallocManaged(&r, n * sizeof *r));
  for (int i = 0; i < n; i++) x[i] = values[i];
  convert_all<Float8><<<(n + 127) / 128, 128>>>(x, r, n);
  CUDA(cudaDeviceSynchronize());
  int differ = 0;
  for (int i = 0; i < n; i++) {
    Results<Float8> host = convert<Float8>(x[i]);
    bool agree = r[i].code == host.code && same(r[i].back, host.back) &&
                 same((float)r[i].half, (float)host.half) && same((float)r[i].bf16, (float)host.bf16) &&
                 r[i].integer == host.integer;
    if (!agree && !differ)
      printf("  %g: %02x %g %d, on the host %02x %g %d\n", x[i], r[i].code, r[i].back, r[i].integer,
             host.code, host.back, host.integer);
    differ += !agree;
  }
  CUDA(cudaFree(x));
  CUDA(cudaFree(r));
  return differ;
}

__global__ void vectors(__nv_fp8x4_e4m3 *four, float4 *back, __nv_fp8x2_e5m2 *two, float2 *pair) {
  *four = __nv_fp8x4_e4m3(make_float4(1.0f, -2.5f, 448.0f, 1e9f));
  *back = (float4)*four;
  *two = __nv_fp8x2_e5m2(make_float2(57344.0f, -0.1f));
  *pair = (float2)*two;
}

int main() {
  // Every code's value and what lies just beside the middle to the next one.
  std::vector<float> values;
  for (int code = 0; code < 256; code++) {
    for (float v : {(float)__builtin_bit_cast(__nv_fp8_e4m3, (unsigned char)code),
                    (float)__builtin_bit_cast(__nv_fp8_e5m2, (unsigned char)code)}) {
      for (float scale : {1.0f, 1.0624999f, 1.0625f, 1.0625001f, 1.125f, 1.1249999f, 0.9375f, 0.96875f})
        values.push_back(v * scale);
    }
  }
  for (float v : {0.0f, -0.0f, 1e-10f, -1e-10f, 464.0f, 464.1f, 61440.0f, 1e30f, -1e30f}) values.push_back(v);
  values.push_back(__builtin_inff());
  values.push_back(-__builtin_inff());
  values.push_back(__builtin_nanf(""));

  printf("On the device as on the host:\n");
  expect(differences<__nv_fp8_e4m3>(values) == 0, "e4m3");
  expect(differences<__nv_fp8_e5m2>(values) == 0, "e5m2");

  printf("Values (OCP's table of eight-bit formats):\n");
  expect((float)__builtin_bit_cast(__nv_fp8_e4m3, (unsigned char)0x7e) == 448.0f, "the largest e4m3 is 448");
  expect((float)__builtin_bit_cast(__nv_fp8_e4m3, (unsigned char)0x01) == 1.0f / 512, "the smallest is 2^-9");
  expect((float)__builtin_bit_cast(__nv_fp8_e5m2, (unsigned char)0x7b) == 57344.0f, "the largest e5m2 is 57344");
  expect((float)__builtin_bit_cast(__nv_fp8_e5m2, (unsigned char)0x01) == 1.0f / 65536, "the smallest is 2^-16");
  int back = 0;
  for (int code = 0; code < 256; code++) {
    bool nan4 = (code & 0x7f) == 0x7f, nan5 = (code & 0x7f) > 0x7c, infinite = (code & 0x7f) == 0x7c;
    back += !nan4 && __nv_fp8_e4m3((float)__builtin_bit_cast(__nv_fp8_e4m3, (unsigned char)code)).__x != code;
    back += !nan5 && !infinite &&
            __nv_fp8_e5m2((float)__builtin_bit_cast(__nv_fp8_e5m2, (unsigned char)code)).__x != code;
  }
  expect(back == 0, "every code comes back from its value");

  printf("Beyond the largest:\n");
  expect(__nv_cvt_float_to_fp8(1e9f, __NV_SATFINITE, __NV_E4M3) == 0x7e, "saturated, e4m3 stays at 448");
  expect(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E4M3) == 0x7f, "else it is NaN");
  expect(__nv_cvt_float_to_fp8(-1e9f, __NV_SATFINITE, __NV_E5M2) == 0xfb, "e5m2 stays at -57344");
  expect(__nv_cvt_float_to_fp8(-1e9f, __NV_NOSAT, __NV_E5M2) == 0xfc, "or becomes infinite");
  // Of a double rounded to float first this would be the tie, and 1.
  expect(__nv_cvt_double_to_fp8(1.0625000001, __NV_SATFINITE, __NV_E4M3) == 0x39, "doubles round once");

  printf("Vectors:\n");
  struct Out {
    __nv_fp8x4_e4m3 four;
    __nv_fp8x2_e5m2 two;
    float4 back;
    float2 pair;
  } *out;
  CUDA(cudaMallocManaged(&out, sizeof *out));
  vectors<<<1, 1>>>(&out->four, &out->back, &out->two, &out->pair);
  CUDA(cudaDeviceSynchronize());
  expect(out->four.__x == 0x7e7ec238u, "four: the first is lowest");
  expect(out->back.x == 1 && out->back.y == -2.5f && out->back.z == 448 && out->back.w == 448, "and back");
  expect(out->two.__x == 0xae7b, "two");
  expect(out->pair.x == 57344.0f && out->pair.y == -0.09375f, "and back");
  CUDA(cudaFree(out));
  return verdict();
}
