// SPDX-License-Identifier: MIT OR Apache-2.0
#include "twin.h"
// Prefix sums, sorting, compaction. Pieces of the data are a thread's, as blocks of the GPU version's.
#include <omp.h>

// Blocks of 256, their sums, and the sums added back, as the GPU's three launches.
TWIN(scan) {
    const uint32_t *__restrict in = arguments.buffer<uint32_t>(0);
    uint32_t *__restrict out = arguments.buffer<uint32_t>(1), *__restrict sums = arguments.buffer<uint32_t>(2);
    int n = arguments.integer(0);
#pragma omp parallel for
    for (int first = 0; first < n; first += 256) {
        uint32_t running = 0;
        for (int i = first; i < first + 256; i++) out[i] = running += in[i];
        sums[first / 256] = running;
    }
    uint32_t running = 0;
    for (int block = 0; block < n / 256; block++) {
        uint32_t own = sums[block];
        sums[block] = running;
        running += own;
    }
#pragma omp parallel for
    for (int first = 0; first < n; first += 256) {
        uint32_t before = sums[first / 256];
#pragma omp simd
        for (int i = first; i < first + 256; i++) out[i] += before;
    }
}

// One pass for each thread's piece, which no order of a GPU's blocks gives.
OTHER(scan) {
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

template <int bits> static void radix_sort(const Arguments &arguments) {
    constexpr int digits = 1 << bits;
    uint32_t *keys = arguments.buffer<uint32_t>(0), *other = arguments.buffer<uint32_t>(1);
    int n = arguments.integer(0);
    std::vector<uint32_t> counts(256 * digits);
    for (int shift = 0; shift < 32; shift += bits) {
#pragma omp parallel
        {
            int threads = omp_get_num_threads(), me = omp_get_thread_num();
            long first = long(n) * me / threads, last = long(n) * (me + 1) / threads;
            uint32_t own[digits] = {};
            for (long i = first; i < last; i++) own[(keys[i] >> shift) & (digits - 1)]++;
            std::copy_n(own, digits, &counts[me * digits]);
#pragma omp barrier
#pragma omp single
            {
                uint32_t running = 0;
                for (int digit = 0; digit < digits; digit++)
                    for (int t = 0; t < threads; t++) {
                        uint32_t count = counts[t * digits + digit];
                        counts[t * digits + digit] = running;
                        running += count;
                    }
            }
            std::copy_n(&counts[me * digits], digits, own);
            for (long i = first; i < last; i++) other[own[(keys[i] >> shift) & (digits - 1)]++] = keys[i];
        }
        std::swap(keys, other);
    }
}

TWIN(radix_sort) { radix_sort<4>(arguments); }

// Eight bits a pass suit a CPU's cache better than the GPU's four.
OTHER(radix_sort) { radix_sort<8>(arguments); }

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
