// SPDX-License-Identifier: MIT OR Apache-2.0
// margay's demonstration: a matrix product in tiles of shared memory, checked against the CPU, on the
// virtual GPU that `margay run --gpu NAME` chooses.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call)                                                                                 \
  do {                                                                                             \
    cudaError_t e_ = (call);                                                                       \
    if (e_ != cudaSuccess) {                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));                  \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

constexpr int TILE = 16;

// Each block computes a tile of C. It walks along a row of tiles of A and a column of tiles of B; its
// threads bring one element of each into shared memory, and all 256 use them.
__global__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < n; t += TILE) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void greet() {
  if (threadIdx.x == 0)
    printf("  hello from block %d of %d, whose %d threads run on the virtual GPU\n", blockIdx.x,
           gridDim.x, blockDim.x);
}

int main() {
  cudaDeviceProp gpu;
  CUDA(cudaGetDeviceProperties(&gpu, 0));
  printf("This machine's virtual GPU: %s, compute capability %d.%d\n", gpu.name, gpu.major, gpu.minor);
  printf("  %d multiprocessors, %zu KB of shared memory a block, %.1f GB of memory\n",
         gpu.multiProcessorCount, gpu.sharedMemPerBlock >> 10, gpu.totalGlobalMem / 1e9);

  puts("\nThree blocks say hello (printf in a kernel):");
  greet<<<3, 64>>>();
  CUDA(cudaDeviceSynchronize());

  const int n = 128;
  printf("\nA %d x %d matrix product, %d x %d blocks of %d x %d threads:\n", n, n, n / TILE, n / TILE,
         TILE, TILE);
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = (float)(i % 7) - 3.0f;
    b[i] = (float)(i % 11) * 0.125f;
  }
  float *da, *db, *dc;
  size_t bytes = n * n * sizeof(float);
  CUDA(cudaMalloc(&da, bytes));
  CUDA(cudaMalloc(&db, bytes));
  CUDA(cudaMalloc(&dc, bytes));
  CUDA(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
  multiply<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(da, db, dc, n);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));

  int wrong = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += (double)a[y * n + k] * b[k * n + x];
      if (std::fabs(c[y * n + x] - sum) > 1e-3) ++wrong;
    }
  printf("  C[0][0] = %g, C[%d][%d] = %g\n", c[0], n - 1, n - 1, c[n * n - 1]);
  printf("  all %d elements compared with the CPU's: %d differ\n", n * n, wrong);

  puts("\nA kernel that reads where it must not (the error is the card's, and this process lives):");
  multiply<<<1, dim3(TILE, TILE)>>>(nullptr, db, dc, n);
  cudaError_t e = cudaDeviceSynchronize();
  printf("  %s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e));
  bool caught = e == cudaErrorIllegalAddress;

  puts(wrong == 0 && caught ? "\nEverything is as it should be." : "\nSomething is wrong.");
  return wrong == 0 && caught ? 0 : 1;
}
