// SPDX-License-Identifier: MIT OR Apache-2.0
// The work of kernels.cu as a programmer would write it for a CPU. Prints `name milliseconds`, the
// best of several runs, for the sizes given: n of the matrix, elements, image side, iterations.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <class Work> static void best_of(const char *name, int runs, Work work) {
    double best = 1e30;
    for (int i = 0; i < runs; i++) {
        auto start = std::chrono::steady_clock::now();
        work();
        std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count());
    }
    printf("%s %.4f\n", name, best);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    int n = atoi(argv[1]), elements = atoi(argv[2]), side = atoi(argv[3]), limit = atoi(argv[4]), runs = 5;
    std::vector<float> a(n * n, 1.0f), b(n * n, 2.0f), c(n * n);
    best_of("matmul_tiled", runs, [&] {
#pragma omp parallel for
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) c[i * n + j] = 0;
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
    });
    std::vector<float> x(elements, 1.0f), y(elements, 2.0f);
    best_of("saxpy", runs, [&] {
#pragma omp parallel for simd
        for (int i = 0; i < elements; i++) y[i] = 1.5f * x[i] + y[i];
    });
    std::vector<int> image(side * side);
    best_of("mandelbrot", runs, [&] {
#pragma omp parallel for schedule(dynamic, 16)
        for (int row = 0; row < side; row++)
            for (int column = 0; column < side; column++) {
                float cx = -2.0f + 3.0f * column / side, cy = -1.5f + 3.0f * row / side, zx = 0, zy = 0;
                int count = 0;
                while (count < limit && zx * zx + zy * zy < 4.0f) {
                    float next = zx * zx - zy * zy + cx;
                    zy = 2 * zx * zy + cy;
                    zx = next;
                    count++;
                }
                image[row * side + column] = count;
            }
    });
    float sum = 0;
    best_of("reduction", runs, [&] {
        float total = 0;
#pragma omp parallel for simd reduction(+ : total)
        for (int i = 0; i < elements; i++) total += x[i];
        sum += total;
    });
    std::vector<unsigned> keys(elements), bins(256);
    for (int i = 0; i < elements; i++) keys[i] = i * 2654435761u >> 7;
    best_of("histogram", runs, [&] {
#pragma omp parallel
        {
            unsigned local[256] = {0};
#pragma omp for
            for (int i = 0; i < elements; i++) local[keys[i] & 255]++;
#pragma omp critical
            for (int i = 0; i < 256; i++) bins[i] += local[i];
        }
    });
    // Keeps the results alive.
    return c[0] + y[0] + image[0] + sum + bins[0] == -1.0f;
}
