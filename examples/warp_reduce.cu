// SPDX-License-Identifier: MIT OR Apache-2.0
// Warp-wide reductions (compute capability 8.0 and later): every lane of the mask gets the result.
#include "example.h"

__global__ void reduce(unsigned *sums, int *least, unsigned *bits) {
    unsigned lane = threadIdx.x;
    // Two halves of the warp reduce apart, each with its own member mask.
    unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    sums[lane] = __reduce_add_sync(mask, lane);
    least[lane] = __reduce_min_sync(mask, int(lane) - 20);
    bits[lane] = __reduce_or_sync(0xffffffffu, 1u << lane);
}

int main() {
    unsigned *sums, *bits;
    int *least;
    CUDA(cudaMallocManaged(&sums, 32 * sizeof *sums));
    CUDA(cudaMallocManaged(&bits, 32 * sizeof *bits));
    CUDA(cudaMallocManaged(&least, 32 * sizeof *least));
    reduce<<<1, 32>>>(sums, least, bits);
    CUDA(cudaDeviceSynchronize());
    expect(sums[3] == 120, "the lower half adds 0 to 15");
    expect(sums[20] == 376, "the upper half adds 16 to 31");
    expect(least[0] == -20 && least[31] == -4, "the least of each half");
    expect(bits[7] == 0xffffffffu, "a bit from every lane");
    return verdict();
}
