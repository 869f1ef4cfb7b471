// SPDX-License-Identifier: MIT OR Apache-2.0
#include "twin.h"
// Prefix sums, sorting, compaction. Pieces of the data are a thread's, as blocks of the GPU version's.
#include <omp.h>

TWIN(scan) {
    const uint32_t *__restrict in = arguments.buffer<uint32_t>(0);
    uint32_t *__restrict out = arguments.buffer<uint32_t>(1);
    int n = arguments.integer(0);
    uint32_t sums[257] = {};
#pragma omp parallel
    {
        int threads = omp_get_num_threads(), me = omp_get_thread_num();
        long first = long(n) * me / threads, last = long(n) * (me + 1) / threads;
        uint32_t running = 0;
        if (threads > 1) {
#pragma omp simd reduction(+ : running)
            for (long i = first; i < last; i++) running += in[i];
            sums[me + 1] = running;
#pragma omp barrier
            running = 0;
            for (int t = 0; t <= me; t++) running += sums[t];
        }
        for (long i = first; i < last; i++) out[i] = running += in[i];
    }
}

// Eight bits a pass suit a CPU's cache better than the GPU's four.
TWIN(radix_sort) {
    uint32_t *keys = arguments.buffer<uint32_t>(0), *other = arguments.buffer<uint32_t>(1);
    int n = arguments.integer(0);
    std::vector<uint32_t> counts(256 * 256);
    for (int shift = 0; shift < 32; shift += 8) {
#pragma omp parallel
        {
            int threads = omp_get_num_threads(), me = omp_get_thread_num();
            long first = long(n) * me / threads, last = long(n) * (me + 1) / threads;
            uint32_t *own = &counts[me * 256];
            std::fill_n(own, 256, 0u);
            for (long i = first; i < last; i++) own[(keys[i] >> shift) & 255]++;
#pragma omp barrier
#pragma omp single
            {
                uint32_t running = 0;
                for (int digit = 0; digit < 256; digit++)
                    for (int t = 0; t < threads; t++) {
                        uint32_t count = counts[t * 256 + digit];
                        counts[t * 256 + digit] = running;
                        running += count;
                    }
            }
            for (long i = first; i < last; i++) other[own[(keys[i] >> shift) & 255]++] = keys[i];
        }
        std::swap(keys, other);
    }
}

TWIN(bitonic_sort) {
    uint32_t *keys = arguments.buffer<uint32_t>(0);
    int n = arguments.integer(0);
#pragma omp parallel for
    for (int first = 0; first < n; first += 512) {
        uint32_t *__restrict tile = keys + first;
        for (int size = 2; size <= 512; size *= 2)
            for (int distance = size / 2; distance > 0; distance /= 2)
                for (int base = 0; base < 512; base += 2 * distance) {
                    bool descending = base & size;
#pragma omp simd
                    for (int i = 0; i < distance; i++) {
                        uint32_t a = tile[base + i], b = tile[base + i + distance];
                        uint32_t low = std::min(a, b), high = std::max(a, b);
                        tile[base + i] = descending ? high : low;
                        tile[base + i + distance] = descending ? low : high;
                    }
                }
    }
}

TWIN(compaction) {
    const int *__restrict in = arguments.buffer<int>(0);
    int *__restrict out = arguments.buffer<int>(1), *__restrict kept = arguments.buffer<int>(2);
    int n = arguments.integer(0);
#pragma omp parallel for
    for (int first = 0; first < n; first += 256) {
        int total = 0;
        for (int i = 0; i < 256; i++) {
            int value = in[first + i];
            out[first + total] = value;
            total += value > 0;
        }
        kept[first / 256] = total;
    }
}
