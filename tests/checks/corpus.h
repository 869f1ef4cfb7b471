// SPDX-License-Identifier: MIT OR Apache-2.0
// The corpus of the checks: pairs of kernels, a bug and its cure. A comment `//~ code` says that the
// check must find `code` on that line (as the finding's first place); nothing may be found on any
// line without one. `tests/checks/run.py` compares.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

// Whether to run a kernel: all, or the one that CORPUS_ONLY names.
static inline bool wanted(const char *kernel) {
    const char *only = getenv("CORPUS_ONLY");
    return !only || !strcmp(only, kernel);
}

// Runs a kernel, and begins anew if it left the context unusable: some of these are meant to fault.
#define RUN(kernel, grid, block, ...)                                                                                  \
    do {                                                                                                               \
        if (!wanted(#kernel)) break;                                                                                   \
        kernel<<<grid, block>>>(__VA_ARGS__);                                                                          \
        if (cudaDeviceSynchronize() != cudaSuccess) cudaDeviceReset();                                                 \
    } while (0)

// Device memory of n elements, all zero.
template <class T> static T *zeros(int n) {
    T *p = nullptr;
    cudaMalloc(&p, n * sizeof(T));
    cudaMemset(p, 0, n * sizeof(T));
    return p;
}
