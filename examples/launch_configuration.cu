// SPDX-License-Identifier: MIT OR Apache-2.0
// <<<Dg, Db, Ns, S>>>: grid, block, dynamic shared memory and stream; the last two are optional, and the
// fields of dim3 that are not set are 1. The configuration is evaluated before the arguments.
#include "example.h"
#include <string>

__global__ void shape(unsigned *out) {
  if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    out[0] = gridDim.x;
    out[1] = gridDim.y;
    out[2] = gridDim.z;
    out[3] = blockDim.x;
    out[4] = blockDim.y;
    out[5] = blockDim.z;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(out[6]));
  }
  atomicAdd(&out[7], 1u);
}

static unsigned *device;
static unsigned got[8];
static bool is(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned shared) {
  CUDA(cudaGetLastError());
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
  CUDA(cudaMemset(device, 0, sizeof got));
  const unsigned wanted[8] = {gx, gy, gz, bx, by, bz, shared, gx * gy * gz * bx * by * bz};
  for (int i = 0; i < 8; ++i)
    if (got[i] != wanted[i]) return false;
  return true;
}

static std::string order;
static unsigned in_order(const char *what, unsigned value) {
  order += what;
  return value;
}
static unsigned *argument() {
  order += "arg ";
  return device;
}

int main() {
  puts("launch configuration");
  CUDA(cudaMalloc(&device, sizeof got));
  CUDA(cudaMemset(device, 0, sizeof got));
  shape<<<3, 64>>>(device);
  expect(is(3, 1, 1, 64, 1, 1, 0), "<<<3, 64>>>: numbers become dim3(3, 1, 1) and dim3(64, 1, 1)");
  shape<<<dim3(2, 3), dim3(4, 5, 6)>>>(device);
  expect(is(2, 3, 1, 4, 5, 6, 0), "<<<dim3(2, 3), dim3(4, 5, 6)>>>: grid z is 1");
  shape<<<2, 32, 1024>>>(device);
  expect(is(2, 1, 1, 32, 1, 1, 1024), "<<<2, 32, 1024>>>: 1 KB of dynamic shared memory");
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  shape<<<2, 32, 0, stream>>>(device);
  expect(is(2, 1, 1, 32, 1, 1, 0), "<<<2, 32, 0, stream>>>");
  CUDA(cudaStreamDestroy(stream));

  shape<<<in_order("grid ", 1), in_order("block ", 1), in_order("shared ", 0)>>>(argument());
  expect(is(1, 1, 1, 1, 1, 1, 0), "a launch whose configuration has side effects");
  expect(order.find("arg") > order.find("grid") && order.find("arg") > order.find("block") &&
             order.find("arg") > order.find("shared"),
         "the configuration is evaluated before the arguments");

  // The same through the API.
  void *arguments[] = {&device};
  CUDA(cudaLaunchKernel(shape, dim3(5), dim3(7), arguments));
  expect(is(5, 1, 1, 7, 1, 1, 0), "cudaLaunchKernel");
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(3);
  config.dynamicSmemBytes = 16;
  CUDA(cudaLaunchKernelEx(&config, shape, device));
  expect(is(2, 1, 1, 3, 1, 1, 16), "cudaLaunchKernelEx");
  CUDA(cudaFree(device));
  return verdict();
}
