// SPDX-License-Identifier: MIT OR Apache-2.0
// One source for CUDA C++ and OpenCL C: the words in which the two differ. A bench kernel says
// KERNEL(x, y) void name(...) with its block's size; indices are 32 bits wide in both, as CUDA's are.
#ifdef __OPENCL_C_VERSION__
#define KERNEL(x, y) __kernel __attribute__((reqd_work_group_size(x, y, 1)))
#define GLOBAL __global
#define CONSTANT_DATA __constant
#define LOCAL __local
#define DEVICE
#define RESTRICT restrict
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define LOCAL_X ((int)get_local_id(0))
#define LOCAL_Y ((int)get_local_id(1))
#define GROUP_X ((int)get_group_id(0))
#define GROUP_Y ((int)get_group_id(1))
#define GLOBAL_X ((int)get_global_id(0))
#define GLOBAL_Y ((int)get_global_id(1))
#define GLOBAL_SIZE_X ((int)get_global_size(0))
#define ATOMIC_ADD(pointer, value) atomic_add(pointer, value)
#define EXP exp
#define LOG log
#define SQRT sqrt
#define RSQRT rsqrt
#define FABS fabs
#define MAKE_FLOAT4(x, y, z, w) ((float4)(x, y, z, w))
#else
#define KERNEL(x, y) extern "C" __global__ __launch_bounds__((x) * (y))
#define GLOBAL
#define CONSTANT_DATA __constant__ const
#define LOCAL __shared__
#define DEVICE static __device__
#define RESTRICT __restrict__
#define BARRIER() __syncthreads()
#define LOCAL_X ((int)threadIdx.x)
#define LOCAL_Y ((int)threadIdx.y)
#define GROUP_X ((int)blockIdx.x)
#define GROUP_Y ((int)blockIdx.y)
#define GLOBAL_X ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define GLOBAL_Y ((int)(blockIdx.y * blockDim.y + threadIdx.y))
#define GLOBAL_SIZE_X ((int)(gridDim.x * blockDim.x))
#define ATOMIC_ADD(pointer, value) atomicAdd(pointer, value)
#define EXP expf
#define LOG logf
#define SQRT sqrtf
#define RSQRT rsqrtf
#define FABS fabsf
#define MAKE_FLOAT4(x, y, z, w) make_float4(x, y, z, w)
typedef unsigned uint;
typedef unsigned char uchar;
#endif
