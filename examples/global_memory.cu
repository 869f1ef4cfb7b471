// SPDX-License-Identifier: MIT OR Apache-2.0
// Global memory: __device__ variables (one object on each device, as long as its context lives) and
// allocations. Any kernel and the host, through the runtime, read and write it.
#include "example.h"

__device__ int counter = 40;
__device__ float table[3] = {0.5f, 1.5f, 2.5f};

__global__ void count() { atomicAdd(&counter, 1); }
__global__ void scale_rows(char *base, size_t pitch, int width, float factor) {
  float *row = (float *)(base + blockIdx.x * pitch);
  if (threadIdx.x < width) row[threadIdx.x] *= factor;
}
__global__ void number_cells(cudaPitchedPtr volume, cudaExtent extent) {
  char *slice = (char *)volume.ptr + blockIdx.x * volume.pitch * extent.height;
  int *row = (int *)(slice + threadIdx.y * volume.pitch);
  row[threadIdx.x] = (int)(blockIdx.x * 100 + threadIdx.y * 10 + threadIdx.x);
}

int main() {
  puts("global memory: variables, the symbol API, linear, pitched and 3D allocations");
  // A variable keeps its value from launch to launch.
  count<<<1, 1>>>();
  count<<<1, 1>>>();
  int value = 0;
  CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  expect(value == 42, "two launches count from 40 to 42");
  value = 7;
  CUDA(cudaMemcpyToSymbol(counter, &value, sizeof value));
  count<<<1, 1>>>();
  CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  expect(value == 8, "cudaMemcpyToSymbol writes it");

  // The symbol API gives its address and size; the address works with cudaMemcpy.
  size_t size = 0;
  void *address = nullptr;
  CUDA(cudaGetSymbolSize(&size, table));
  CUDA(cudaGetSymbolAddress(&address, table));
  float host_table[3] = {};
  CUDA(cudaMemcpy(host_table, address, size, cudaMemcpyDeviceToHost));
  expect(size == sizeof host_table, "cudaGetSymbolSize");
  expect(host_table[0] == 0.5f && host_table[2] == 2.5f, "cudaGetSymbolAddress, initial values");

  // Pitched: each row starts at an aligned address.
  const int width = 10, height = 4;
  float matrix[height][width];
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) matrix[y][x] = y + 0.5f * x;
  char *rows;
  size_t pitch;
  CUDA(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
  expect(pitch >= width * sizeof(float), "cudaMallocPitch pads the rows");
  CUDA(cudaMemcpy2D(rows, pitch, matrix, sizeof matrix[0], sizeof matrix[0], height,
                    cudaMemcpyHostToDevice));
  scale_rows<<<height, 32>>>(rows, pitch, width, 2.0f);
  CUDA(cudaMemcpy2D(matrix, sizeof matrix[0], rows, pitch, sizeof matrix[0], height,
                    cudaMemcpyDeviceToHost));
  expect(matrix[3][9] == 15.0f && matrix[0][1] == 1.0f, "cudaMemcpy2D in and out");

  // 3D: rows within slices.
  cudaExtent extent = make_cudaExtent(5 * sizeof(int), 3, 2);
  cudaPitchedPtr volume;
  CUDA(cudaMalloc3D(&volume, extent));
  number_cells<<<2, dim3(5, 3)>>>(volume, extent);
  int cells[2][3][5];
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = volume;
  copy.dstPtr = make_cudaPitchedPtr(cells, 5 * sizeof(int), 5, 3);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&copy));
  expect(cells[1][2][4] == 124 && cells[0][1][3] == 13, "cudaMalloc3D and cudaMemcpy3D");

  // A copy beyond the end of an allocation is refused.
  expect_error(cudaMemcpy(address, host_table, 1 << 30, cudaMemcpyHostToDevice),
               cudaErrorInvalidValue, "a copy beyond the allocation");
  CUDA(cudaFree(rows));
  CUDA(cudaFree(volume.ptr));
  return verdict();
}
