// SPDX-License-Identifier: MIT OR Apache-2.0
// The CUDA version that the headers speak: 12.9, or 13.0 with `margay cc --cuda-version 13.0`.
#ifndef MARGAY_VERSION_H
#define MARGAY_VERSION_H
#define __MARGAY__ 1
#ifndef MARGAY_CUDA_VERSION
#define MARGAY_CUDA_VERSION 12090
#endif
#ifndef CUDA_VERSION
#define CUDA_VERSION MARGAY_CUDA_VERSION
#endif
#ifndef CUDART_VERSION
#define CUDART_VERSION MARGAY_CUDA_VERSION
#endif
#define __CUDART_API_VERSION CUDART_VERSION
#if defined(__CUDA__) && defined(__clang__)
#define __CUDACC_VER_MAJOR__ (MARGAY_CUDA_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (MARGAY_CUDA_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#define __CUDA_API_VER_MAJOR__ __CUDACC_VER_MAJOR__
#define __CUDA_API_VER_MINOR__ __CUDACC_VER_MINOR__
#endif
#endif
