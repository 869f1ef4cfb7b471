// SPDX-License-Identifier: MIT OR Apache-2.0
// The runtime API in device code (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism", "API
// Reference"): launches, streams, events, errors, memory. The functions are in the device runtime,
// which relocatable code (-rdc=true) is linked with. Launches themselves are clang's and `margay
// cc`'s matter; it includes each of them in a lambda that `margay::launched` calls.
#ifndef MARGAY_DEVICE_LAUNCH_H
#define MARGAY_DEVICE_LAUNCH_H

#define cudaStreamTailLaunch ((cudaStream_t)0x3)
#define cudaStreamFireAndForget ((cudaStream_t)0x4)
#if MARGAY_CUDA_VERSION >= 12000
#define cudaStreamGraphTailLaunch ((cudaStream_t)0x0100000000000000)
#define cudaStreamGraphFireAndForget ((cudaStream_t)0x0200000000000000)
#define cudaStreamGraphFireAndForgetAsSibling ((cudaStream_t)0x0300000000000000)
#endif

extern "C" {
__device__ cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
__device__ cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
__device__ cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config);
#if MARGAY_CUDA_VERSION < 13000
__device__ cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
#endif
__device__ cudaError_t cudaGetLastError(void);
__device__ cudaError_t cudaPeekAtLastError(void);
__device__ const char *cudaGetErrorString(cudaError_t error);
__device__ const char *cudaGetErrorName(cudaError_t error);
__device__ cudaError_t cudaGetDeviceCount(int *count);
__device__ cudaError_t cudaGetDevice(int *device);
__device__ cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
__device__ cudaError_t cudaStreamDestroy(cudaStream_t stream);
__device__ cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                           unsigned int flags);
__device__ cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
__device__ cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
__device__ cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                unsigned int flags);
__device__ cudaError_t cudaEventDestroy(cudaEvent_t event);
__device__ cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
__device__ cudaError_t cudaFree(void *p);
__device__ cudaError_t cudaMalloc(void **p, size_t size);
__device__ cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                       enum cudaMemcpyKind kind, cudaStream_t stream);
__device__ cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                         size_t width, size_t height, enum cudaMemcpyKind kind,
                                         cudaStream_t stream);
__device__ cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream);
__device__ cudaError_t cudaMemsetAsync(void *p, int value, size_t count, cudaStream_t stream);
__device__ cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width,
                                         size_t height, cudaStream_t stream);
__device__ cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int value,
                                         struct cudaExtent extent, cudaStream_t stream);
__device__ cudaError_t cudaRuntimeGetVersion(int *version);
__device__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func,
                                                                     int block, size_t shared);
__device__ cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func, int block,
                                                       size_t shared, unsigned int flags);
#if MARGAY_CUDA_VERSION >= 12000
__device__ cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
#endif
// What compilers call for a launch.
__device__ void *cudaGetParameterBuffer(size_t alignment, size_t size);
__device__ void *cudaGetParameterBufferV2(void *func, dim3 grid, dim3 block, unsigned int shared);
__device__ cudaError_t cudaLaunchDevice(void *func, void *parameters, dim3 grid, dim3 block,
                                        unsigned int shared, cudaStream_t stream);
__device__ cudaError_t cudaLaunchDeviceV2(void *parameters, cudaStream_t stream);

// Waiting for children ended with CUDA 12 and compute capability 9.0.
#if (MARGAY_CUDA_VERSION < 12000 || defined(CUDA_FORCE_CDP1_IF_SUPPORTED)) &&                      \
    (!defined(MARGAY_ARCH) || MARGAY_ARCH < 900)
__device__ cudaError_t cudaDeviceSynchronize(void);
__device__ cudaError_t __cudaDeviceSynchronizeDeprecationAvoidance(void);
#else
__device__ __attribute__((error(
    "device code cannot wait for its child grids from CUDA 12 and compute capability 9.0 on: launch what "
    "follows into cudaStreamTailLaunch, or compile for an earlier capability with "
    "-DCUDA_FORCE_CDP1_IF_SUPPORTED"))) cudaError_t cudaDeviceSynchronize(void);
#endif
}

#if MARGAY_CUDA_VERSION >= 12000
// The executable graph that the kernel is a node of, or 0.
static __device__ inline cudaGraphExec_t cudaGetCurrentGraphExec(void) {
  unsigned long long graph;
  asm("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
  return (cudaGraphExec_t)graph;
}
#endif
template <class T> static __device__ inline cudaError_t cudaMalloc(T **p, size_t size) {
  return ::cudaMalloc((void **)(void *)p, size);
}
template <class T>
static __device__ inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                                           T *func) {
  return ::cudaFuncGetAttributes(attributes, (const void *)func);
}
template <class T>
static __device__ inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T func, int block, size_t shared) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)func, block, shared);
}
template <class T>
static __device__ inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T func, int block,
                                                       size_t shared, unsigned int flags) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)func, block,
                                                                  shared, flags);
}

#if defined(MARGAY_DEVICE_LAUNCHES)
namespace margay {
// A constant's initialiser is no use of the function that it names, so clang does not hold against
// device code what the lambda does there.
template <class L> struct launch_body {
  static constexpr void (L::*run)() const = &L::operator();
};
template <class L>
__host__ __device__ __attribute__((always_inline)) inline void launched(const L &launch) {
  (launch.*launch_body<L>::run)();
}
} // namespace margay
#endif

#endif
