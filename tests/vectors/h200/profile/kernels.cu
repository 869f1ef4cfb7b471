// SPDX-License-Identifier: MIT OR Apache-2.0
// More kernels: sparse rows, rows of probabilities, images, tables, local arrays; and probes, each of which
// isolates one transformation of ptxas. Blocks have 256 threads unless launches.txt says otherwise.

extern "C" __global__ void sparse_thread(float *out, const float *values, const unsigned *columns, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 16; k++)
        sum += values[row * 16 + k] * values[columns[row * 16 + k] % n];
    out[row] = sum;
}

extern "C" __global__ void sparse_warp(float *out, const float *values, const unsigned *columns, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16, k = threadIdx.x % 16;
    float sum = values[row * 16 + k] * values[columns[row * 16 + k] % n];
    for (int step = 8; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step, 16);
    if (k == 0)
        out[row] = sum;
}

// The driver has no device library: an exponential of a kind, and a maximum.
__device__ float raise(float d) { return 1 + d * (.69f + d * .24f); }
__device__ float larger(float a, float b) { return a > b ? a : b; }

extern "C" __global__ void softmax(float *out, const float *in, const float *, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float most = -1e30f, sum = 0;
    for (int k = lane; k < n; k += 32)
        most = larger(most, in[row * n + k]);
    for (int step = 16; step > 0; step /= 2)
        most = larger(most, __shfl_xor_sync(0xffffffff, most, step));
    for (int k = lane; k < n; k += 32)
        sum += raise(in[row * n + k] - most);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    for (int k = lane; k < n; k += 32)
        out[row * n + k] = raise(in[row * n + k] - most) / sum;
}

extern "C" __global__ void stencil_cube(float *out, const float *in, const float *, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    for (int z = 1; z < 7; z++) {
        int i = (z * n + y) * n + x;
        out[i] = in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n];
    }
}

extern "C" __global__ void edges(unsigned char *out, const unsigned char *in, const float *, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    int dx = in[y * n + x + 1] - in[y * n + x - 1], dy = in[(y + 1) * n + x] - in[(y - 1) * n + x];
    out[y * n + x] = (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}

extern "C" __global__ void table_shared(float *out, const float *in, const unsigned *index, int n) {
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        out[i] = s[index[i] >> 24];
}

extern "C" __global__ void table_double(double *out, const double *in, const unsigned *index, int n) {
    __shared__ double s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        out[i] = s[index[i] >> 24];
}

extern "C" __global__ void stride_shared(float *out, const float *in, const float *, int step) {
    __shared__ float s[256 * 8];
    s[threadIdx.x * step] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[(255 - threadIdx.x) * step];
}

extern "C" __global__ void counter_shared(unsigned *out, const unsigned *in, const float *, int n) {
    __shared__ unsigned counts[2];
    if (threadIdx.x < 2)
        counts[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        atomicAdd(&counts[in[i] >> 31], in[i] & 7);
    __syncthreads();
    if (threadIdx.x < 2)
        atomicMax(&out[threadIdx.x], counts[threadIdx.x]);
}

extern "C" __global__ void local_counts(unsigned *out, const unsigned *in, const float *, int n) {
    unsigned counts[32];
    for (int k = 0; k < 32; k++)
        counts[k] = 0;
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int k = 0; k < 8; k++)
        counts[in[(i + k) % n] >> 27] += k + 1;
    unsigned sum = 0;
    for (int k = 0; k < 4; k++)
        sum = sum * 31 + counts[in[(i + k) % n] & 31];
    out[i] = sum;
}

extern "C" __global__ void probe_load_pair(float *out, const float *in, const float *, int) {
    __shared__ float s[512];
    s[threadIdx.x] = in[threadIdx.x];
    s[threadIdx.x + 256] = in[threadIdx.x + 256];
    __syncthreads();
    out[threadIdx.x] = s[2 * threadIdx.x] + s[2 * threadIdx.x + 1];
}

extern "C" __global__ void probe_load_four(float *out, const float *in, const float *, int) {
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int w = threadIdx.x / 32 * 32;
    out[threadIdx.x] = s[w] * 1 + s[w + 1] * 2 + s[w + 2] * 3 + s[w + 3] * 4;
}

extern "C" __global__ void probe_store_pair(float *out, const float *in, const float *, int) {
    __shared__ float s[512];
    s[2 * threadIdx.x] = in[threadIdx.x];
    s[2 * threadIdx.x + 1] = in[threadIdx.x + 256];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
    out[threadIdx.x + 256] = s[threadIdx.x + 256];
}

extern "C" __global__ void probe_store_words(uint2 *out, const uint2 *in, const float *, int) {
    __shared__ uint4 s[256];
    uint2 a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
    *reinterpret_cast<uint2 *>(&s[threadIdx.x]) = a;
    *(reinterpret_cast<uint2 *>(&s[threadIdx.x]) + 1) = b;
    __syncthreads();
    out[threadIdx.x] = *reinterpret_cast<uint2 *>(&s[255 - threadIdx.x]);
}

extern "C" __global__ void probe_formula_array(float *out, const unsigned *in, const float *, int) {
    float a[4];
    for (int k = 0; k < 4; k++)
        a[k] = static_cast<float>(k * static_cast<int>(threadIdx.x));
    out[threadIdx.x] = a[in[threadIdx.x] & 3];
}
