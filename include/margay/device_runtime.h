// SPDX-License-Identifier: MIT OR Apache-2.0
// What device code gets from the runtime: printf, assert, the device heap, and the conversions of
// the built-in variables to uint3 and dim3. `malloc` and `free` are declared in cuda_runtime.h, before the C++ library
// takes their names into `std`. The bodies of all are in the engine.
#ifndef MARGAY_DEVICE_RUNTIME_H
#define MARGAY_DEVICE_RUNTIME_H

extern "C" {
__device__ int vprintf(const char *, const char *);
__device__ void __assertfail(const char *message, const char *file, unsigned line,
                             const char *function, size_t char_size);
// glibc's assert() calls this.
__device__ static inline void __assert_fail(const char *message, const char *file, unsigned line,
                                            const char *function) {
  __assertfail(message, file, line, function, sizeof(char));
}
// clang turns a call into one of vprintf.
__device__ int printf(const char *, ...);
}
#if MARGAY_CUDA_VERSION >= 12030
// The handle of a conditional node is the address of its value.
__device__ static inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle,
                                                      unsigned int value) {
  *(volatile unsigned int *)handle = value;
}
#endif

#define MARGAY_CONVERT(VAR)                                                                        \
  __device__ inline VAR::operator dim3() const { return dim3(x, y, z); }                           \
  __device__ inline VAR::operator uint3() const { return uint3{x, y, z}; }
MARGAY_CONVERT(__cuda_builtin_threadIdx_t)
MARGAY_CONVERT(__cuda_builtin_blockIdx_t)
MARGAY_CONVERT(__cuda_builtin_blockDim_t)
MARGAY_CONVERT(__cuda_builtin_gridDim_t)
#undef MARGAY_CONVERT

#endif
