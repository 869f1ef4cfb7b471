// SPDX-License-Identifier: MIT OR Apache-2.0
// The device functions: clang's resource headers in the order that they need, and margay's.
//
// Both passes parse all device functions, so that a host pass sees the same overloads; MARGAY_ARCH
// is the real architecture and is not defined in the host pass, where __CUDA_ARCH__ stands at 9999
// while these headers are read.
#ifndef MARGAY_DEVICE_H
#define MARGAY_DEVICE_H
#if defined(__CUDA_ARCH__)
#define MARGAY_ARCH __CUDA_ARCH__
#endif

#define __DEVICE_LAUNCH_PARAMETERS_H__
#define __DEVICE_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_DECLS_H__
#define __DEVICE_DOUBLE_FUNCTIONS_H__
#define __SM_30_INTRINSICS_H__

// Names that clang's headers expect from cuda.h.
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

#include <__clang_cuda_builtin_vars.h>

#pragma push_macro("__CUDA_ARCH__")
#if !defined(__CUDA_ARCH__)
#define __CUDA_ARCH__ 9999
#endif
#pragma push_macro("__THROW")
#undef __THROW
#define __THROW

#include <__clang_cuda_libdevice_declares.h>
// Votes and shuffles without a mask ended with compute capability 7.0, and LLVM has no votes for less than 3.0: see
// below.
#if defined(MARGAY_ARCH) && (MARGAY_ARCH >= 700 || MARGAY_ARCH < 300)
#define __all margay_unused_all
#define __any margay_unused_any
#define __ballot margay_unused_ballot
#endif
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 700
#define __shfl margay_unused_shfl
#define __shfl_up margay_unused_shfl_up
#define __shfl_down margay_unused_shfl_down
#define __shfl_xor margay_unused_shfl_xor
#endif
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>
#pragma pop_macro("__THROW")

#include "atomics.h"
#include "memory_hints.h"
#include "device_runtime.h"
#include "device_launch.h"
#include "math_overloads.h"

#include <__clang_cuda_cmath.h>
// clang's vector atomics lack `.global` and the memory clobber; margay/atomics.h has them.
#define atomicAdd margay_unused_atomicAdd
#define atomicAdd_block margay_unused_atomicAdd_block
#define atomicAdd_system margay_unused_atomicAdd_system
// Clang 19's header hands the mask to these builtins first, where the instruction has it last.
#if __clang_major__ <= 19
#define __nvvm_redux_sync_add(mask, value) __nvvm_redux_sync_add(value, mask)
#define __nvvm_redux_sync_umin(mask, value) __nvvm_redux_sync_umin(value, mask)
#define __nvvm_redux_sync_umax(mask, value) __nvvm_redux_sync_umax(value, mask)
#define __nvvm_redux_sync_min(mask, value) __nvvm_redux_sync_min(value, mask)
#define __nvvm_redux_sync_max(mask, value) __nvvm_redux_sync_max(value, mask)
#define __nvvm_redux_sync_and(mask, value) __nvvm_redux_sync_and(value, mask)
#define __nvvm_redux_sync_or(mask, value) __nvvm_redux_sync_or(value, mask)
#define __nvvm_redux_sync_xor(mask, value) __nvvm_redux_sync_xor(value, mask)
#endif
#include <__clang_cuda_intrinsics.h>
#undef __nvvm_redux_sync_add
#undef __nvvm_redux_sync_umin
#undef __nvvm_redux_sync_umax
#undef __nvvm_redux_sync_min
#undef __nvvm_redux_sync_max
#undef __nvvm_redux_sync_and
#undef __nvvm_redux_sync_or
#undef __nvvm_redux_sync_xor
#undef __all
#undef __any
#undef __ballot
#if defined(MARGAY_ARCH) && MARGAY_ARCH < 300
#include "votes.h"
#endif
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 700
#undef __shfl
#undef __shfl_up
#undef __shfl_down
#undef __shfl_xor
#define MARGAY_ENDED(TYPE, NAME, ...)                                                              \
  __attribute__((unavailable(                                                                      \
      #NAME "() ended with compute capability 7.0, where threads of a warp may be apart: use " #NAME \
            "_sync() with the mask of the threads that take part"))) __device__ TYPE NAME(__VA_ARGS__);
MARGAY_ENDED(int, __all, int)
MARGAY_ENDED(int, __any, int)
MARGAY_ENDED(unsigned int, __ballot, int)
template <class T> MARGAY_ENDED(T, __shfl, T, int, int = 32)
template <class T> MARGAY_ENDED(T, __shfl_up, T, unsigned int, int = 32)
template <class T> MARGAY_ENDED(T, __shfl_down, T, unsigned int, int = 32)
template <class T> MARGAY_ENDED(T, __shfl_xor, T, int, int = 32)
#undef MARGAY_ENDED
#endif
#undef atomicAdd
#undef atomicAdd_block
#undef atomicAdd_system
#include <__clang_cuda_complex_builtins.h>

#include "warp.h"
#include "integer.h"
#include "texture.h"

// The intrinsic that clang's headers lack. Before compute capability 7.5 it is tanhf.
static __device__ __forceinline__ float __tanhf(float x) {
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 750
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return ::tanhf(x);
#endif
}
#pragma pop_macro("__CUDA_ARCH__")

#include "nv_atomics.h"
#include <new>

#endif
