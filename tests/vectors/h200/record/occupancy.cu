// SPDX-License-Identifier: MIT OR Apache-2.0
// Asks the card for the blocks per multiprocessor of kernels of many register counts, for every block
// size from 1 to 1024 and several sizes of dynamic shared memory. Prints `registers,dynamic_shared`, then
// runs of block sizes with the same answer: `last:blocks`.

#include <cstdio>

template <int N>
__global__ void kernel(float *p) {
  extern __shared__ char shared[];
  float x[N];
#pragma unroll
  for (int i = 0; i < N; i++) x[i] = p[i * 32 + threadIdx.x];
  __syncthreads();
  float sum = shared[threadIdx.x];
#pragma unroll
  for (int i = 0; i < N; i++) sum = sum * x[i] + x[(i * 7 + 3) % N];
#pragma unroll
  for (int i = 0; i < N; i++) p[i * 32 + threadIdx.x] = x[i] * sum;
}

template <int N>
static void ask() {
  cudaFuncAttributes attributes;
  cudaFuncGetAttributes(&attributes, kernel<N>);
  cudaFuncSetAttribute(kernel<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10);
  const int sizes[] = {0, 1, 127, 128, 129, 1000, 2048, 3000, 5000, 8192, 10239, 12288, 20000,
                       32768, 40000, 49152, 50000, 65536, 75000, 98304, 115712, 116224, 150000, 232448};
  for (int shared : sizes) {
    printf("%d,%d", attributes.numRegs, shared);
    int last = -1;
    for (int threads = 1; threads <= 1025; threads++) {
      int blocks = -1;
      if (threads <= 1024)
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel<N>, threads, shared);
      if (threads > 1 && blocks != last) printf(",%d:%d", threads - 1, last);
      last = blocks;
    }
    printf("\n");
  }
}

int main() {
  ask<1>(), ask<8>(), ask<12>(), ask<17>(), ask<20>(), ask<25>(), ask<28>(), ask<33>(), ask<40>(), ask<44>();
  ask<52>(), ask<57>(), ask<66>(), ask<75>(), ask<90>(), ask<100>(), ask<115>(), ask<130>(), ask<150>();
  ask<180>(), ask<205>(), ask<225>(), ask<240>();
}
