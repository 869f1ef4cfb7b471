// SPDX-License-Identifier: MIT OR Apache-2.0
// The words that CUDA adds to C++: function and variable qualifiers, launch bounds, alignment.
//
// In a CUDA compilation they become clang's attributes; elsewhere (a .c or .cpp file that includes
// the runtime API) they are empty. What clang has no attribute for is written as a `section` or an
// `annotate` attribute, which `margay cc` carries from LLVM IR into the PTX.
#ifndef MARGAY_QUALIFIERS_H
#define MARGAY_QUALIFIERS_H
#define __HOST_DEFINES_H__
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__

#if defined(__CUDA__) && defined(__clang__)
#define MARGAY_CUDA_PASS 1
#define __CUDACC__ 1
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
// Host code uses clang's shadow variable itself as the storage; the PTX says `.attribute(.managed)`
// and the module loader binds the symbol to the shadow's address. Its pages are its own: the section ends with one in every
// object, as what lies behind the others of it in a later subsection does.
#define __managed__ __attribute__((device)) __attribute__((section("margay_managed"), aligned(4096)))
#if !defined(__CUDA_ARCH__) && defined(__ELF__)
__asm__(".pushsection margay_managed,1,\"aw\",@progbits\n.balign 4096\n.popsection");
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(n) __attribute__((annotate("margay.maxnreg", n)))
#define __cluster_dims__(...) __attribute__((annotate("margay.cluster_dims", __VA_ARGS__)))
#if __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#else
#define __grid_constant__
#endif
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__
#define __nv_pure__ __attribute__((pure))
// nvcc takes `__shared__ alignas(16) int x;`, where clang wants a GNU attribute after a GNU attribute.
#if defined(__cplusplus) && __cplusplus >= 201103L
template <class T> __host__ __device__ constexpr decltype(sizeof(0)) margay_alignment() {
  return alignof(T);
}
template <decltype(sizeof(0)) N> __host__ __device__ constexpr decltype(sizeof(0)) margay_alignment() {
  return N;
}
#define alignas(...) __attribute__((aligned(margay_alignment<__VA_ARGS__>())))
#endif
#else
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__
#define __nv_pure__
#endif

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __no_return__ __attribute__((noreturn))
#define __thread__ __thread
#define __import__
#define __export__
#define __specialization_static static
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB

#endif
