// SPDX-License-Identifier: MIT OR Apache-2.0
// What every example uses: expect() prints and counts a check, CUDA() stops at a failing call, and
// verdict() gives main's exit code.
#pragma once
#include <cstdio>
#include <cstdlib>

static int failures = 0;

static inline void expect(bool holds, const char *what) {
  printf("  %s %s\n", holds ? "ok    " : "FAILED", what);
  failures += !holds;
}

#define CUDA(call)                                                                                 \
  do {                                                                                             \
    cudaError_t e_ = (call);                                                                       \
    if (e_ != cudaSuccess) {                                                                       \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));       \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static inline void expect_error(cudaError_t got, cudaError_t wanted, const char *what) {
  char line[256];
  snprintf(line, sizeof line, "%s: %s", what, cudaGetErrorName(got));
  expect(got == wanted, line);
}

static inline int verdict() {
  printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
  return failures != 0;
}
