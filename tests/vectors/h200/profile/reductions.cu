// SPDX-License-Identifier: MIT OR Apache-2.0
// Sums of a block in several ways, two scans, histograms. Blocks have 256 threads.

#define THREADS 256

extern "C" __global__ void reduce_modulo(float *out, const float *in, int n) {
    __shared__ float s[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        if (t % (2 * step) == 0)
            s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_strided(float *out, const float *in, int n) {
    __shared__ float s[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        int at = 2 * step * t;
        if (at < THREADS)
            s[at] += s[at + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_sequential(float *out, const float *in, int n) {
    __shared__ float s[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (t < step)
            s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_shuffle(float *out, const float *in, int n) {
    __shared__ float s[THREADS / 32];
    float sum = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        sum += in[i];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < THREADS / 32 ? s[threadIdx.x] : 0;
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, step);
        if (threadIdx.x == 0)
            atomicAdd(out, sum);
    }
}

extern "C" __global__ void reduce_atomic(float *out, const float *in, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        atomicAdd(&out[i % 7], in[i]);
}

extern "C" __global__ void scan_naive(float *out, const float *in, int) {
    __shared__ float s[2][THREADS];
    int t = threadIdx.x, at = 0;
    s[0][t] = in[blockIdx.x * THREADS + t];
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        s[1 - at][t] = t >= step ? s[at][t] + s[at][t - step] : s[at][t];
        at = 1 - at;
        __syncthreads();
    }
    out[blockIdx.x * THREADS + t] = s[at][t];
}

template <int PAD> __device__ int place(int n) { return n + PAD * (n >> 5); }

template <int PAD> __device__ void scan_tree(float *out, const float *in) {
    __shared__ float s[2 * THREADS + 2 * THREADS / 32];
    int t = threadIdx.x, base = blockIdx.x * 2 * THREADS, step = 1;
    s[place<PAD>(t)] = in[base + t];
    s[place<PAD>(t + THREADS)] = in[base + t + THREADS];
    for (int d = THREADS; d > 0; d /= 2) {
        __syncthreads();
        if (t < d)
            s[place<PAD>(step * (2 * t + 2) - 1)] += s[place<PAD>(step * (2 * t + 1) - 1)];
        step *= 2;
    }
    if (t == 0)
        s[place<PAD>(2 * THREADS - 1)] = 0;
    for (int d = 1; d < 2 * THREADS; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d) {
            int a = place<PAD>(step * (2 * t + 1) - 1), b = place<PAD>(step * (2 * t + 2) - 1);
            float left = s[a];
            s[a] = s[b];
            s[b] += left;
        }
    }
    __syncthreads();
    out[base + t] = s[place<PAD>(t)];
    out[base + t + THREADS] = s[place<PAD>(t + THREADS)];
}

extern "C" __global__ void scan_conflicts(float *out, const float *in, int) { scan_tree<0>(out, in); }
extern "C" __global__ void scan_padded(float *out, const float *in, int) { scan_tree<1>(out, in); }

extern "C" __global__ void histogram_shared(unsigned *out, const unsigned *in, int n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        atomicAdd(&bins[in[i] >> 24], in[i] & 3);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void histogram_global(unsigned *out, const unsigned *in, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        atomicAdd(&out[in[i] >> 26], 1u);
}

extern "C" __global__ void bitonic(unsigned *out, const unsigned *in, int) {
    __shared__ unsigned s[THREADS];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * THREADS + t];
    for (int size = 2; size <= THREADS; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            int other = t ^ step;
            if (other > t) {
                unsigned a = s[t], b = s[other];
                bool up = (t & size) == 0;
                if ((a > b) == up) {
                    s[t] = b;
                    s[other] = a;
                }
            }
        }
    __syncthreads();
    out[blockIdx.x * THREADS + t] = s[t];
}
