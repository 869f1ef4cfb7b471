// SPDX-License-Identifier: MIT OR Apache-2.0
// Products of matrices and vectors, stencils, n-body.

template <int TILE> __device__ void product(float *c, const float *a, const float *b, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int tile = 0; tile < n; tile += TILE) {
        as[y][x] = a[row * n + tile + x];
        bs[y][x] = b[(tile + y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul_naive(float *c, const float *a, const float *b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

extern "C" __global__ void matmul_swapped(float *c, const float *a, const float *b, int n) {
    int y = blockIdx.x * blockDim.x + threadIdx.x, x = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

extern "C" __global__ void matmul_tile16(float *c, const float *a, const float *b, int n) { product<16>(c, a, b, n); }
extern "C" __global__ void matmul_tile32(float *c, const float *a, const float *b, int n) { product<32>(c, a, b, n); }

extern "C" __global__ void matvec_thread(float *y, const float *a, const float *x, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * x[k];
    y[row] = sum;
}

extern "C" __global__ void matvec_warp(float *y, const float *a, const float *x, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = lane; k < n; k += 32)
        sum += a[row * n + k] * x[k];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void stencil_global(float *out, const float *in, const float *, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    out[y * n + x] = .2f * (in[y * n + x] + in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}

extern "C" __global__ void stencil_shared(float *out, const float *in, const float *, int n) {
    __shared__ float s[256 + 6];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t + 3] = in[i];
    if (t < 3) {
        s[t] = i >= 3 ? in[i - 3] : 0;
        s[t + 259] = i + 256 < n ? in[i + 256] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = -3; k <= 3; k++)
        sum += s[t + 3 + k];
    out[i] = sum;
}

extern "C" __global__ void nbody(float4 *out, const float4 *in, const float *, int n) {
    __shared__ float4 s[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float4 me = in[i];
    float ax = 0, ay = 0, az = 0;
    for (int tile = 0; tile < n; tile += 128) {
        s[threadIdx.x] = in[tile + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 128; k++) {
            float dx = s[k].x - me.x, dy = s[k].y - me.y, dz = s[k].z - me.z;
            float d = dx * dx + dy * dy + dz * dz + .01f;
            float f = s[k].w / (d * d);
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        __syncthreads();
    }
    out[i] = make_float4(ax, ay, az, 0);
}
