// SPDX-License-Identifier: MIT OR Apache-2.0
// C++ overloads of the runtime API: typed pointers, symbols and kernels
// (CUDA Runtime API, "C++ API Routines").
#ifndef MARGAY_RUNTIME_TEMPLATES_H
#define MARGAY_RUNTIME_TEMPLATES_H
#include <utility>

// ---- allocation ------------------------------------------------------------------------------
template <class T> static inline cudaError_t cudaMalloc(T **p, size_t bytes) {
  return ::cudaMalloc((void **)(void *)p, bytes);
}
template <class T>
static inline cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned int flags = 0) {
  return ::cudaHostAlloc((void **)(void *)p, bytes, flags);
}
static inline cudaError_t cudaMallocHost(void **p, size_t bytes, unsigned int flags) {
  return ::cudaHostAlloc(p, bytes, flags);
}
template <class T>
static inline cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned int flags) {
  return ::cudaHostAlloc((void **)(void *)p, bytes, flags);
}
template <class T>
static inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags) {
  return ::cudaHostGetDevicePointer((void **)(void *)device, host, flags);
}
template <class T>
static inline cudaError_t cudaMallocManaged(T **p, size_t bytes,
                                            unsigned int flags = cudaMemAttachGlobal) {
  return ::cudaMallocManaged((void **)(void *)p, bytes, flags);
}
template <class T>
static inline cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height) {
  return ::cudaMallocPitch((void **)(void *)p, pitch, width, height);
}
template <class T>
static inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream) {
  return ::cudaMallocAsync((void **)(void *)p, bytes, stream);
}
static inline cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaMemPool_t pool,
                                          cudaStream_t stream) {
  return ::cudaMallocFromPoolAsync(p, bytes, pool, stream);
}
template <class T>
static inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaMemPool_t pool,
                                          cudaStream_t stream) {
  return ::cudaMallocFromPoolAsync((void **)(void *)p, bytes, pool, stream);
}
template <class T>
static inline cudaError_t cudaMallocFromPoolAsync(T **p, size_t bytes, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
  return ::cudaMallocFromPoolAsync((void **)(void *)p, bytes, pool, stream);
}
template <class T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *p, size_t length = 0,
                                                   unsigned int flags = cudaMemAttachSingle) {
  return ::cudaStreamAttachMemAsync(stream, (void *)p, length, flags);
}

// ---- channel descriptors ----------------------------------------------------------------------
namespace margay {
// Kind of a scalar type, and the number of elements of a vector type.
template <class T> struct channel;
#define MARGAY_CHANNEL(T, B, K, N)                                                                 \
  template <> struct channel<T> {                                                                  \
    static const int bits = 8 * sizeof(B);                                                         \
    static const int count = N;                                                                    \
    static const cudaChannelFormatKind kind = cudaChannelFormatKind##K;                            \
  };
#define MARGAY_CHANNELS(V, B, K)                                                                   \
  MARGAY_CHANNEL(B, B, K, 1) MARGAY_CHANNEL(V##1, B, K, 1) MARGAY_CHANNEL(V##2, B, K, 2)           \
  MARGAY_CHANNEL(V##4, B, K, 4)
MARGAY_CHANNEL(char, char, Signed, 1)
MARGAY_CHANNELS(char, signed char, Signed)
MARGAY_CHANNELS(uchar, unsigned char, Unsigned)
MARGAY_CHANNELS(short, short, Signed)
MARGAY_CHANNELS(ushort, unsigned short, Unsigned)
MARGAY_CHANNELS(int, int, Signed)
MARGAY_CHANNELS(uint, unsigned int, Unsigned)
MARGAY_CHANNELS(float, float, Float)
#undef MARGAY_CHANNELS
#undef MARGAY_CHANNEL
} // namespace margay
template <class T> static inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  typedef margay::channel<T> C;
  return ::cudaCreateChannelDesc(C::bits, C::count > 1 ? C::bits : 0, C::count > 2 ? C::bits : 0,
                                 C::count > 3 ? C::bits : 0, C::kind);
}
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf() {
  return ::cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf2() {
  return ::cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
}
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf4() {
  return ::cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
}

// ---- symbols ---------------------------------------------------------------------------------
// A symbol is named by the address of its host shadow variable.
namespace margay {
template <class T> static inline const void *symbol(const T &s) {
  return (const void *)&reinterpret_cast<const volatile char &>(s);
}
} // namespace margay
template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T &s, const void *src, size_t count,
                                             size_t offset = 0,
                                             enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol((const void *)margay::symbol(s), src, count, offset, kind);
}
template <class T>
static inline cudaError_t
cudaMemcpyToSymbolAsync(const T &s, const void *src, size_t count, size_t offset = 0,
                        enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                        cudaStream_t stream = 0) {
  return ::cudaMemcpyToSymbolAsync((const void *)margay::symbol(s), src, count, offset, kind,
                                   stream);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &s, size_t count,
                                               size_t offset = 0,
                                               enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(dst, (const void *)margay::symbol(s), count, offset, kind);
}
template <class T>
static inline cudaError_t
cudaMemcpyFromSymbolAsync(void *dst, const T &s, size_t count, size_t offset = 0,
                          enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                          cudaStream_t stream = 0) {
  return ::cudaMemcpyFromSymbolAsync(dst, (const void *)margay::symbol(s), count, offset, kind,
                                     stream);
}
template <class T> static inline cudaError_t cudaGetSymbolAddress(void **p, const T &s) {
  return ::cudaGetSymbolAddress(p, (const void *)margay::symbol(s));
}
template <class P, class T> static inline cudaError_t cudaGetSymbolAddress(P **p, const T &s) {
  return ::cudaGetSymbolAddress((void **)(void *)p, (const void *)margay::symbol(s));
}
template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *size, const T &s) {
  return ::cudaGetSymbolSize(size, (const void *)margay::symbol(s));
}

// ---- kernels ---------------------------------------------------------------------------------
template <class T>
static inline cudaError_t cudaLaunchKernel(T *func, dim3 grid, dim3 block, void **args,
                                           size_t shared = 0, cudaStream_t stream = 0) {
  return ::cudaLaunchKernel((const void *)func, grid, block, args, shared, stream);
}
template <class T>
static inline cudaError_t cudaLaunchCooperativeKernel(T *func, dim3 grid, dim3 block, void **args,
                                                      size_t shared = 0, cudaStream_t stream = 0) {
  return ::cudaLaunchCooperativeKernel((const void *)func, grid, block, args, shared, stream);
}
template <class... Expected, class... Actual>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(Expected...), Actual &&...args) {
  // The arguments are converted to the kernel's own parameter types before their addresses are
  // taken.
  return [&](Expected... converted) {
    void *pointers[sizeof...(Expected) ? sizeof...(Expected) : 1] = {
        (void *)__builtin_addressof(converted)...};
    return ::cudaLaunchKernelExC(config, (const void *)kernel, pointers);
  }(std::forward<Actual>(args)...);
}
template <class T>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *func) {
  return ::cudaFuncGetAttributes(attributes, (const void *)func);
}
template <class T>
static inline cudaError_t cudaFuncSetAttribute(T *func, cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute((const void *)func, attribute, value);
}
template <class T> static inline cudaError_t cudaFuncSetCacheConfig(T *func, cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig((const void *)func, config);
}
template <class T> static inline cudaError_t cudaFuncGetName(const char **name, T *func) {
  return ::cudaFuncGetName(name, (const void *)func);
}
#if MARGAY_CUDA_VERSION >= 12000
template <class T> static inline cudaError_t cudaGetKernel(cudaKernel_t *kernel, T *func) {
  return ::cudaGetKernel(kernel, (const void *)func);
}
#endif
template <class T> static inline cudaError_t cudaGetFuncBySymbol(cudaFunction_t *f, T *func) {
  return ::cudaGetFuncBySymbol(f, (const void *)func);
}

// ---- graphs ------------------------------------------------------------------------------------
template <class T>
static inline cudaError_t
cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                               const cudaGraphNode_t *dependencies, size_t count, const T &s,
                               const void *src, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, dependencies, count,
                                          (const void *)margay::symbol(s), src, bytes, offset,
                                          kind);
}
template <class T>
static inline cudaError_t
cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                 const cudaGraphNode_t *dependencies, size_t count, void *dst,
                                 const T &s, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, dependencies, count, dst,
                                            (const void *)margay::symbol(s), bytes, offset, kind);
}

// ---- occupancy -------------------------------------------------------------------------------
template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T func,
                                                                        int block_size,
                                                                        size_t shared) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)func, block_size,
                                                         shared);
}
template <class T>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T func, int block_size,
                                                       size_t shared, unsigned int flags) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)func,
                                                                  block_size, shared, flags);
}
template <class T>
static inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, T *func,
                                                                    int blocks, int block_size) {
  return ::cudaOccupancyAvailableDynamicSMemPerBlock(bytes, (const void *)func, blocks, block_size);
}
template <class T>
static inline cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, T *func,
                                                         const cudaLaunchConfig_t *config) {
  return ::cudaOccupancyMaxActiveClusters(clusters, (const void *)func, config);
}
template <class T>
static inline cudaError_t
cudaOccupancyMaxPotentialClusterSize(int *size, T *func, const cudaLaunchConfig_t *config) {
  return ::cudaOccupancyMaxPotentialClusterSize(size, (const void *)func, config);
}

// Tries block sizes from the largest down in steps of a warp, and keeps the one with most threads
// resident; `shared_of(block_size)` gives its dynamic shared memory.
template <class SharedOf, class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int *min_grid, int *best_block, T func, SharedOf shared_of, int limit = 0,
    unsigned int flags = 0) {
  if (!min_grid || !best_block || !func) return cudaErrorInvalidValue;
  int device, threads_per_sm, block_limit, warp, sms;
  cudaError_t e;
  if ((e = ::cudaGetDevice(&device)) != cudaSuccess) return e;
  if ((e = ::cudaDeviceGetAttribute(&threads_per_sm, cudaDevAttrMaxThreadsPerMultiProcessor,
                                    device)) != cudaSuccess)
    return e;
  if ((e = ::cudaDeviceGetAttribute(&block_limit, cudaDevAttrMaxThreadsPerBlock, device)) !=
      cudaSuccess)
    return e;
  if ((e = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device)) != cudaSuccess) return e;
  if ((e = ::cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device)) != cudaSuccess)
    return e;
  cudaFuncAttributes attributes;
  if ((e = ::cudaFuncGetAttributes(&attributes, (const void *)func)) != cudaSuccess) return e;
  if (attributes.maxThreadsPerBlock < block_limit) block_limit = attributes.maxThreadsPerBlock;
  if (limit <= 0 || limit > block_limit) limit = block_limit;
  int best_threads = 0, best_blocks = 0, best_size = 0;
  for (int size = (limit + warp - 1) / warp * warp; size > 0; size -= warp) {
    int tried = size < limit ? size : limit;
    int blocks;
    e = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void *)func, tried,
                                                                 shared_of(tried), flags);
    if (e != cudaSuccess) return e;
    if (blocks * tried > best_threads) {
      best_threads = blocks * tried;
      best_blocks = blocks;
      best_size = tried;
    }
    if (best_threads == threads_per_sm) break;
  }
  *min_grid = best_blocks * sms;
  *best_block = best_size;
  return cudaSuccess;
}
template <class SharedOf, class T>
static inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *min_grid, int *best_block, T func,
                                               SharedOf shared_of, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(min_grid, best_block, func,
                                                                 shared_of, limit, 0u);
}
template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(
    int *min_grid, int *best_block, T func, size_t shared = 0, int limit = 0,
    unsigned int flags = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
      min_grid, best_block, func, [shared](int) { return shared; }, limit, flags);
}
template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *min_grid, int *best_block, T func,
                                                             size_t shared = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeWithFlags(min_grid, best_block, func, shared, limit, 0u);
}

// ---- events, graphs and channels ------------------------------------------------------------
static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags) {
  return ::cudaEventCreateWithFlags(event, flags);
}

#if MARGAY_CUDA_VERSION >= 12000
// CUDA 11's parameters.
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphNode_t *error_node, char *log,
                                               size_t log_size) {
  (void)error_node;
  if (log && log_size) log[0] = 0;
  return ::cudaGraphInstantiate(exec, graph, 0ull);
}
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                              cudaGraphNode_t *error_node,
                                              cudaGraphExecUpdateResult *result) {
  cudaGraphExecUpdateResultInfo info = {};
  cudaError_t e = ::cudaGraphExecUpdate(exec, graph, &info);
  if (error_node) *error_node = info.errorNode;
  if (result) *result = info.result;
  return e;
}
#endif
#if MARGAY_CUDA_VERSION >= 12020 && MARGAY_CUDA_VERSION < 13000
// CUDA 13's parameters.
static inline cudaError_t cudaMemPrefetchAsync(const void *p, size_t count, cudaMemLocation location,
                                               unsigned int flags, cudaStream_t stream = 0) {
  return ::cudaMemPrefetchAsync_v2(p, count, location, flags, stream);
}
static inline cudaError_t cudaMemAdvise(const void *p, size_t count, cudaMemoryAdvise advice,
                                        cudaMemLocation location) {
  return ::cudaMemAdvise_v2(p, count, advice, location);
}
#endif

template <class T> static inline cudaChannelFormatDesc cudaCreateChannelDesc();
#define MARGAY_CHANNEL(T, X, Y, Z, W, KIND)                                                        \
  template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T>() {                            \
    return ::cudaCreateChannelDesc(X, Y, Z, W, cudaChannelFormatKind##KIND);                       \
  }
#define MARGAY_CHANNELS(T, V, BITS, KIND)                                                          \
  MARGAY_CHANNEL(T, BITS, 0, 0, 0, KIND)                                                           \
  MARGAY_CHANNEL(V##1, BITS, 0, 0, 0, KIND)                                                        \
  MARGAY_CHANNEL(V##2, BITS, BITS, 0, 0, KIND)                                                     \
  MARGAY_CHANNEL(V##4, BITS, BITS, BITS, BITS, KIND)
MARGAY_CHANNEL(char, 8, 0, 0, 0, Signed)
MARGAY_CHANNELS(signed char, char, 8, Signed)
MARGAY_CHANNELS(unsigned char, uchar, 8, Unsigned)
MARGAY_CHANNELS(short, short, 16, Signed)
MARGAY_CHANNELS(unsigned short, ushort, 16, Unsigned)
MARGAY_CHANNELS(int, int, 32, Signed)
MARGAY_CHANNELS(unsigned int, uint, 32, Unsigned)
MARGAY_CHANNELS(float, float, 32, Float)
#undef MARGAY_CHANNELS
#undef MARGAY_CHANNEL

#endif
