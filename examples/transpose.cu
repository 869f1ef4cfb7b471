// SPDX-License-Identifier: MIT OR Apache-2.0
// A matrix transposed in three ways: straight, through a tile of shared memory whose columns all lie in
// one bank, and through a tile whose rows are padded by one element.
//
//   margay run --profile examples/transpose.cu
//   margay run --profile=transpose.html --models 1.0,1.3,2.0,3.0,9.0 examples/transpose.cu

#include <cstdio>
#include <vector>

constexpr int TILE = 32, ROWS = 8;

// Reads along rows, writes down a column: each lane's element is in a segment of its own.
__global__ void transpose_naive(float *out, const float *in, int n) {
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[x * n + y + j] = in[(y + j) * n + x];
}

// Both sides along rows, but a warp reads a column of the tile.
__global__ void transpose_tiled(float *out, const float *in, int n) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// The same with rows of 33: the elements of a column lie in different banks.
__global__ void transpose_padded(float *out, const float *in, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
    const int n = 256;
    std::vector<float> in(n * n), out(n * n);
    for (int i = 0; i < n * n; i++) in[i] = static_cast<float>(i);
    float *from, *to;
    cudaMalloc(&from, n * n * sizeof(float));
    cudaMalloc(&to, n * n * sizeof(float));
    cudaMemcpy(from, in.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
    const dim3 grid(n / TILE, n / TILE), block(TILE, ROWS);
    void (*const kernels[])(float *, const float *, int) = {transpose_naive, transpose_tiled, transpose_padded};
    for (auto kernel : kernels) {
        cudaMemset(to, 0, n * n * sizeof(float));
        kernel<<<grid, block>>>(to, from, n);
        cudaMemcpy(out.data(), to, n * n * sizeof(float), cudaMemcpyDeviceToHost);
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                if (out[y * n + x] != in[x * n + y]) {
                    std::printf("FAILED: %d %d is %g\n", x, y, out[y * n + x]);
                    return 1;
                }
    }
    cudaFree(from);
    cudaFree(to);
    std::printf("transposed %d x %d in three ways: OK\n", n, n);
    return 0;
}
