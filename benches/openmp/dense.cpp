// SPDX-License-Identifier: MIT OR Apache-2.0
#include "twin.h"
// Matrix products, all pairs, stencils, convolution, shortest paths.

// The row's order of loops streams through b and keeps c in the cache; blocked over k.
static void product(const Arguments &arguments) {
    const float *__restrict a = arguments.buffer<float>(0), *__restrict b = arguments.buffer<float>(1);
    float *__restrict c = arguments.buffer<float>(2);
    int n = arguments.integer(0);
    constexpr int ROWS = 4;
#pragma omp parallel for
    for (int i = 0; i < n; i += ROWS) {
        for (int r = 0; r < ROWS; r++) std::fill_n(c + (i + r) * n, n, 0.0f);
        for (int k = 0; k < n; k++) {
            float a0 = a[i * n + k], a1 = a[(i + 1) * n + k], a2 = a[(i + 2) * n + k], a3 = a[(i + 3) * n + k];
#pragma omp simd
            for (int j = 0; j < n; j++) {
                float value = b[k * n + j];
                c[i * n + j] += a0 * value;
                c[(i + 1) * n + j] += a1 * value;
                c[(i + 2) * n + j] += a2 * value;
                c[(i + 3) * n + j] += a3 * value;
            }
        }
    }
}
TWIN(matmul_naive) { product(arguments); }
TWIN(matmul_tile16) { product(arguments); }
TWIN(matmul_tile32) { product(arguments); }

struct Float4 {
    float x, y, z, w;
};

TWIN(nbody) {
    const Float4 *__restrict bodies = arguments.buffer<Float4>(0);
    Float4 *__restrict acceleration = arguments.buffer<Float4>(1);
    int n = arguments.integer(0);
    // Coordinates apart, so that the inner loop reads whole vectors.
    std::vector<float> x(n), y(n), z(n), w(n);
    for (int i = 0; i < n; i++) x[i] = bodies[i].x, y[i] = bodies[i].y, z[i] = bodies[i].z, w[i] = bodies[i].w;
    const float *__restrict px = x.data(), *__restrict py = y.data(), *__restrict pz = z.data(), *__restrict pw = w.data();
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        float mx = px[i], my = py[i], mz = pz[i], ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; j++) {
            float dx = px[j] - mx, dy = py[j] - my, dz = pz[j] - mz;
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = pw[j] * inverse * inverse * inverse;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        acceleration[i] = {ax, ay, az, 0};
    }
}

TWIN(stencil2d) {
    const float *__restrict in = arguments.buffer<float>(0);
    float *__restrict out = arguments.buffer<float>(1);
    int n = arguments.integer(0);
#pragma omp parallel for
    for (int y = 1; y < n - 1; y++)
#pragma omp simd
        for (int x = 1; x < n - 1; x++)
            out[y * n + x] = 0.5f * in[y * n + x] +
                             0.125f * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}

TWIN(stencil3d) {
    const float *__restrict in = arguments.buffer<float>(0);
    float *__restrict out = arguments.buffer<float>(1);
    int n = arguments.integer(0), plane = n * n;
#pragma omp parallel for collapse(2)
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
#pragma omp simd
            for (int x = 1; x < n - 1; x++) {
                int at = z * plane + y * n + x;
                out[at] = 0.4f * in[at] +
                          0.1f * (in[at - plane] + in[at + plane] + in[at - 1] + in[at + 1] + in[at - n] + in[at + n]);
            }
}

TWIN(convolution) {
    static const float weights[25] = {1 / 256.f,  4 / 256.f,  6 / 256.f, 4 / 256.f,  1 / 256.f, 4 / 256.f,  16 / 256.f, 24 / 256.f, 16 / 256.f,
                                      4 / 256.f,  6 / 256.f,  24 / 256.f, 36 / 256.f, 24 / 256.f, 6 / 256.f, 4 / 256.f,  16 / 256.f, 24 / 256.f,
                                      16 / 256.f, 4 / 256.f,  1 / 256.f, 4 / 256.f,  6 / 256.f, 4 / 256.f,  1 / 256.f};
    const float *__restrict in = arguments.buffer<float>(0);
    float *__restrict out = arguments.buffer<float>(1);
    int n = arguments.integer(0);
#pragma omp parallel for
    for (int y = 2; y < n - 2; y++)
#pragma omp simd
        for (int x = 2; x < n - 2; x++) {
            float sum = 0;
            for (int dy = -2; dy <= 2; dy++)
                for (int dx = -2; dx <= 2; dx++) sum += weights[(dy + 2) * 5 + dx + 2] * in[(y + dy) * n + x + dx];
            out[y * n + x] = sum;
        }
}

// The bench's case launches one kernel a pivot; the twin runs all pivots.
TWIN(floyd_warshall) {
    float *distance = arguments.buffer<float>(0);
    int n = arguments.integer(0);
    for (int pivot = 0; pivot < n; pivot++) {
        const float *row = distance + pivot * n;
#pragma omp parallel for
        for (int y = 0; y < n; y++) {
            float *own = distance + y * n, first = own[pivot];
            if (y == pivot) continue;
#pragma omp simd
            for (int x = 0; x < n; x++) own[x] = std::min(own[x], first + row[x]);
        }
    }
}
