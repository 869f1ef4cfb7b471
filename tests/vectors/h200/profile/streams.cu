// SPDX-License-Identifier: MIT OR Apache-2.0
// One pass over arrays in every layout; constants; arrays of threads. Blocks have 256 threads.

extern "C" __global__ void saxpy(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 3 * x[i] + y[i];
}

extern "C" __global__ void saxpy_vector(float4 *y, const float4 *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 a = x[i], b = y[i];
        y[i] = make_float4(3 * a.x + b.x, 3 * a.y + b.y, 3 * a.z + b.z, 3 * a.w + b.w);
    }
}

extern "C" __global__ void saxpy_misaligned(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i + 1] = 3 * x[i + 3];
}

struct Particle {
    float x, y, z, vx, vy, vz, mass, charge;
};

extern "C" __global__ void move_structures(Particle *p, const Particle *, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].x += p[i].vx;
        p[i].z += p[i].vz;
    }
}

extern "C" __global__ void move_arrays(float *p, const float *v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] += v[i];
        p[2 * n + i] += v[2 * n + i];
    }
}

extern "C" __global__ void copy_strided(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i * 5];
}

extern "C" __global__ void gather(float *out, const unsigned *index, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = out[n + index[i] % n];
}

extern "C" __global__ void bytes(unsigned char *out, const unsigned char *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 255 - in[i];
}

extern "C" __global__ void doubles(double *out, const double *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[n - 1 - i] = in[i] * 2;
}

__constant__ float weights[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

extern "C" __global__ void convolution(float *out, const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 9; k++)
        if (i + k < n)
            sum += weights[k] * in[i + k];
    out[i] = sum;
}

extern "C" __global__ void constant_lookup(float *out, const unsigned *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = weights[in[i] >> 28];
}

extern "C" __global__ void local_array(float *out, const unsigned *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a[16];
    for (int k = 0; k < 16; k++)
        a[k] = k * i;
    if (i < n)
        out[i] = a[in[i] & 15] + a[(in[i] >> 4) & 15];
}
