// SPDX-License-Identifier: MIT OR Apache-2.0
// Atomics and functions by capability: 6.0 has some, and not yet others.
// gpu: sm_60
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void atomics(double *d, __half2 *pair, __half *half, __nv_bfloat16 *brain, unsigned short *s, float4 *v) {
    atomicAdd(d, 1.0);
    atomicAdd_block(d, 1.0);
    atomicAdd(pair, __half2());
    atomicAdd(half, __half(1.0f)); //~ MG307
    atomicAdd(brain, __nv_bfloat16(1.0f)); //~ MG307
    atomicCAS(s, (unsigned short)0, (unsigned short)1); //~ MG307
    atomicAdd(v, float4()); //~ MG307
}
__global__ void functions(int *p) {
    p[0] = __dp4a(p[0], p[1], p[2]); //~ MG311
    p[1] = __match_any_sync(0xffffffff, p[1]); //~ MG311
    __nanosleep(10); //~ MG311
    p[2] = __reduce_add_sync(0xffffffff, p[2]); //~ MG311
    p[3] = __shfl_sync(0xffffffff, p[3], 0) + __ldg(p);
    p[4] = __shfl(p[4], 0);
}
