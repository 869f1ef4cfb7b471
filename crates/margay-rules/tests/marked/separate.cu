// SPDX-License-Identifier: MIT OR Apache-2.0
// With separate compilation kernels launch kernels, and device variables may be another file's.
// rdc
extern __device__ int elsewhere;
__global__ void child(int *p) { p[0] = elsewhere; }
template <class T> __global__ void any(T *p) { p[0] = 1; }
__global__ void parent(int *p) {
  child<<<1, 1>>>(p);
  any<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamDestroy(stream);
}
