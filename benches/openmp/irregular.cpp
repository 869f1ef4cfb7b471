// SPDX-License-Identifier: MIT OR Apache-2.0
#include "twin.h"
// Kernels whose control flow or addresses depend on the data.

TWIN(mandelbrot) {
    int *__restrict out = arguments.buffer<int>(0);
    int side = arguments.integer(0), limit = arguments.integer(1);
#pragma omp parallel for schedule(dynamic, 8)
    for (int row = 0; row < side; row++)
#pragma omp simd
        for (int column = 0; column < side; column++) {
            float cx = -2.0f + 3.0f * column / side, cy = -1.5f + 3.0f * row / side, x = 0, y = 0;
            int count = 0;
            while (count < limit && x * x + y * y < 4.0f) {
                float next = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = next;
                count++;
            }
            out[row * side + column] = count;
        }
}

TWIN(histogram) {
    const uint8_t *__restrict in = arguments.buffer<uint8_t>(0);
    uint32_t *bins = arguments.buffer<uint32_t>(1);
    int n = arguments.integer(0);
#pragma omp parallel
    {
        // Four tables, so that equal neighbours do not wait for one another.
        uint32_t local[4][256] = {};
#pragma omp for nowait
        for (int i = 0; i < n / 4; i++) {
            local[0][in[4 * i]]++;
            local[1][in[4 * i + 1]]++;
            local[2][in[4 * i + 2]]++;
            local[3][in[4 * i + 3]]++;
        }
#pragma omp critical
        for (int i = 0; i < 256; i++) bins[i] += local[0][i] + local[1][i] + local[2][i] + local[3][i];
    }
}

TWIN(spmv) {
    const int *__restrict starts = arguments.buffer<int>(0), *__restrict columns = arguments.buffer<int>(1);
    const float *__restrict values = arguments.buffer<float>(2), *__restrict x = arguments.buffer<float>(3);
    float *__restrict y = arguments.buffer<float>(4);
    int rows = arguments.integer(0);
#pragma omp parallel for schedule(static, 256)
    for (int row = 0; row < rows; row++) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}

TWIN(inverse) {
    const float *__restrict in = arguments.buffer<float>(0);
    float *__restrict out = arguments.buffer<float>(1);
    int n = arguments.integer(0);
#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        float m[4][4], r[4][4];
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 4; column++) {
                m[row][column] = in[(row * 4 + column) * n + i];
                r[row][column] = row == column ? 1.0f : 0.0f;
            }
        for (int pivot = 0; pivot < 4; pivot++) {
            float scale = 1.0f / m[pivot][pivot];
            for (int column = 0; column < 4; column++) {
                m[pivot][column] *= scale;
                r[pivot][column] *= scale;
            }
            for (int row = 0; row < 4; row++) {
                if (row == pivot) continue;
                float factor = m[row][pivot];
                for (int column = 0; column < 4; column++) {
                    m[row][column] -= factor * m[pivot][column];
                    r[row][column] -= factor * r[pivot][column];
                }
            }
        }
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 4; column++) out[(row * 4 + column) * n + i] = r[row][column];
    }
}

TWIN(monte_carlo) {
    uint32_t *__restrict inside = arguments.buffer<uint32_t>(0);
    int samples = arguments.integer(0), threads = arguments.integer(1);
#pragma omp parallel for
    for (int first = 0; first < threads; first += 64) {
        uint32_t state[64], count[64] = {};
        for (int t = 0; t < 64; t++) state[t] = uint32_t(first + t) * 2654435761u + 12345u;
        for (int i = 0; i < samples; i++)
#pragma omp simd
            for (int t = 0; t < 64; t++) {
                uint32_t s = state[t];
                s ^= s << 13;
                s ^= s >> 17;
                s ^= s << 5;
                state[t] = s;
                float x = (s & 0xffffu) * (1.0f / 65536.0f), y = (s >> 16) * (1.0f / 65536.0f);
                count[t] += x * x + y * y < 1.0f;
            }
        memcpy(inside + first, count, sizeof count);
    }
}

TWIN(string_match) {
    const uint8_t *__restrict text = arguments.buffer<uint8_t>(0), *__restrict pattern = arguments.buffer<uint8_t>(1);
    uint32_t *found = arguments.buffer<uint32_t>(2);
    int n = arguments.integer(0);
    uint64_t wanted;
    memcpy(&wanted, pattern, 8);
    uint32_t total = 0;
#pragma omp parallel for simd reduction(+ : total)
    for (int i = 0; i <= n - 8; i++) {
        uint64_t here;
        memcpy(&here, text + i, 8);
        total += here == wanted;
    }
    found[0] += total;
}

TWIN(kmeans) {
    const float *__restrict points = arguments.buffer<float>(0), *__restrict centres = arguments.buffer<float>(1);
    int *__restrict nearest = arguments.buffer<int>(2);
    int n = arguments.integer(0);
#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        float a = points[i], b = points[n + i], c = points[2 * n + i], d = points[3 * n + i], best = 1e30f;
        int which = 0;
        for (int k = 0; k < 16; k++) {
            float da = a - centres[k * 4], db = b - centres[k * 4 + 1];
            float dc = c - centres[k * 4 + 2], dd = d - centres[k * 4 + 3];
            float distance = da * da + db * db + dc * dc + dd * dd;
            which = distance < best ? k : which;
            best = distance < best ? distance : best;
        }
        nearest[i] = which;
    }
}
