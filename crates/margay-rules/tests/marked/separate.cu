// SPDX-License-Identifier: MIT OR Apache-2.0
// With separate compilation kernels launch kernels, and device variables may be another file's.
// rdc
extern __device__ int elsewhere;
__global__ void child(int *p) { p[0] = elsewhere; }
__global__ void parent(int *p) { child<<<1, 1>>>(p); }
