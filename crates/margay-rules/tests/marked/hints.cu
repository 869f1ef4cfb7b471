// SPDX-License-Identifier: MIT OR Apache-2.0
// Hints of the memory hierarchy.
__constant__ float table[64];
struct Point {
    float x, y, z, vx, vy, vz;
};
__global__ void hints(float *p, const Point *points, int n) {
    __shared__ float tile[32][32];
    __shared__ float padded[32][33];
    float local[8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) local[i] = i;
    p[t] = table[t]; //~ MG601
    p[t] += table[n];
    p[t] += local[n & 7]; //~ MG602
    p[t] += points[t].x; //~ MG604
    tile[threadIdx.y][t] = p[t];
    padded[threadIdx.y][t] = p[t];
    __syncthreads();
    p[t] += tile[t][threadIdx.y]; //~ MG603
    p[t] += padded[t][threadIdx.y];
}
