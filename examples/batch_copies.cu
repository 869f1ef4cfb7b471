// SPDX-License-Identifier: MIT OR Apache-2.0
// Many copies in one call, each with attributes, and what the call refuses. The first form of the
// function (CUDA 12.8) also says which copy was wrong.
#include "example.h"
#include <cstring>

static cudaError_t batch(void **to, void **from, size_t *sizes, size_t count, cudaMemcpyAttributes *attributes,
                         size_t *first, size_t attribute_count, size_t *failed, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  *failed = SIZE_MAX;
  return cudaMemcpyBatchAsync(to, (const void **)from, sizes, count, attributes, first, attribute_count, stream);
#else
  return cudaMemcpyBatchAsync(to, from, sizes, count, attributes, first, attribute_count, failed, stream);
#endif
}

int main() {
  puts("copies in batches");
  const int n = 8, bytes = 1000;
  char *device[n], host[n][bytes], back[n][bytes] = {};
  void *to[n], *from[n];
  size_t sizes[n], failed = 77;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  for (int i = 0; i < n; i++) {
    CUDA(cudaMalloc(&device[i], bytes));
    memset(host[i], i + 1, bytes);
    to[i] = device[i];
    from[i] = host[i];
    sizes[i] = bytes - i;
  }
  cudaMemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  size_t first[2] = {0, 3};
  CUDA(batch(to, from, sizes, n, attributes, first, 2, &failed, stream));
  for (int i = 0; i < n; i++) {
    to[i] = back[i];
    from[i] = device[i];
  }
  CUDA(batch(to, from, sizes, n, attributes, first, 1, &failed, stream));
  CUDA(cudaStreamSynchronize(stream));
  bool good = true;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < bytes; k++) good &= back[i][k] == (k < bytes - i ? i + 1 : 0);
  expect(good, "there and back");

  expect_error(batch(to, from, sizes, n, attributes, first, 2, &failed, nullptr), cudaErrorInvalidValue,
               "in the default stream");
  size_t unordered[2] = {0, 0};
  expect_error(batch(to, from, sizes, n, attributes, unordered, 2, &failed, stream), cudaErrorInvalidValue,
               "attributes that begin at the same copy");
  attributes[0].srcAccessOrder = (cudaMemcpySrcAccessOrder)9;
  expect_error(batch(to, from, sizes, n, attributes, first, 1, &failed, stream), cudaErrorInvalidValue,
               "an access order that is none");
  expect(failed == SIZE_MAX, "which is no single copy's fault");
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
  sizes[5] = bytes + 1;
  expect_error(batch(to, from, sizes, n, attributes, first, 1, &failed, stream), cudaErrorInvalidValue,
               "a copy beyond its source");
#if CUDART_VERSION < 13000
  expect(failed == 5, "the call says which");
#endif
  CUDA(cudaStreamSynchronize(stream));
  for (char *p : device) CUDA(cudaFree(p));
  return verdict();
}
