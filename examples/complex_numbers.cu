// SPDX-License-Identifier: MIT OR Apache-2.0
// cuComplex.h: arithmetic of complex numbers on device and host; quotients and magnitudes whose parts'
// squares are out of range.
#include "example.h"
#include <cuComplex.h>
#include <cmath>

struct Results {
  cuDoubleComplex sum, difference, product, quotient, fused, conjugate;
  double magnitude;
  cuFloatComplex narrow, large;
  float length;
};

__host__ __device__ static Results compute(cuDoubleComplex a, cuDoubleComplex b) {
  Results r;
  r.sum = cuCadd(a, b);
  r.difference = cuCsub(a, b);
  r.product = cuCmul(a, b);
  r.quotient = cuCdiv(r.product, b);
  r.fused = cuCfma(a, b, make_cuDoubleComplex(1, -1));
  r.conjugate = cuConj(a);
  r.magnitude = cuCabs(a);
  r.narrow = cuCmulf(cuComplexDoubleToFloat(a), make_cuComplex(0, 1));
  r.large = cuCdivf(make_cuFloatComplex(3e38f, 3e38f), make_cuFloatComplex(1e38f, 0));
  r.length = cuCabsf(make_cuFloatComplex(3e37f, -4e37f));
  return r;
}
__global__ void compute(cuDoubleComplex a, cuDoubleComplex b, Results *r) { *r = compute(a, b); }

static bool is(cuDoubleComplex z, double re, double im) {
  return std::fabs(cuCreal(z) - re) < 1e-14 && std::fabs(cuCimag(z) - im) < 1e-14;
}

static void check(const Results &r) {
  expect(is(r.sum, 2, 6) && is(r.difference, 4, 2), "sum and difference");
  expect(is(r.product, -11, 2), "product: (3 + 4i)(-1 + 2i) = -11 + 2i");
  expect(is(r.quotient, 3, 4), "quotient: it comes back");
  expect(is(r.fused, -10, 1), "fused");
  expect(is(r.conjugate, 3, -4) && r.magnitude == 5, "conjugate and magnitude");
  expect(cuCrealf(r.narrow) == -4 && cuCimagf(r.narrow) == 3, "in single precision, by i");
  expect(std::fabs(r.large.x - 3) < 1e-6 && std::fabs(r.large.y - 3) < 1e-6, "a quotient of large numbers");
  expect(std::fabs(r.length / 5e37f - 1) < 1e-6, "a magnitude whose square is too large");
}

int main() {
  cuDoubleComplex a = make_cuDoubleComplex(3, 4), b = make_cuDoubleComplex(-1, 2);
  Results *r;
  CUDA(cudaMallocManaged(&r, sizeof *r));
  compute<<<1, 1>>>(a, b, r);
  CUDA(cudaDeviceSynchronize());
  printf("On the device:\n");
  check(*r);
  printf("On the host:\n");
  check(compute(a, b));
  double infinity = INFINITY;
  expect(cuCabs(make_cuDoubleComplex(-infinity, NAN)) == infinity, "an infinite part counts before NaN");
  expect(cuCabs(make_cuDoubleComplex(0, 0)) == 0, "the magnitude of 0");
  expect(std::isnan(cuCabs(make_cuDoubleComplex(1, NAN))), "of NaN");
  CUDA(cudaFree(r));
  return verdict();
}
