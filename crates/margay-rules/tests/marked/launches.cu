// SPDX-License-Identifier: MIT OR Apache-2.0
// Launches, atomics and warp functions on sm_90.
__global__ void k(int *p) { p[0] = 1; }
__managed__ int managed;
__global__ void writes_managed() { managed = 1; }
__global__ void counts(int *p) { atomicAdd(p, 1); } //~ MG308
__global__ void counts_peer(int *p) { atomicAdd(&p[threadIdx.x], 1); } //~ MG308
__global__ void counts_pinned(int *p) { atomicAdd(p, 1); } //~ MG308
__global__ void counts_own(int *p) { atomicAdd(p, 1); }
__global__ void counts_system(int *p) { atomicAdd_system(p, 1); }
__global__ void old_warp(int *p) {
    p[0] = __shfl_down(p[0], 1); //~ MG310
    p[1] = __ballot(p[1]); //~ MG310
    p[2] = __ballot_sync(0xffffffff, p[2]);
}
__global__ void vectors(float4 *g) {
    __shared__ float4 s;
    atomicAdd(g, float4());
    atomicAdd(&s, float4()); //~ MG307
}
int main() {
    int *p, *h, *d, *peer;
    dim3 block(32, 33);
    k<<<1, block>>>(nullptr); //~ MG302
    k<<<0, 32>>>(nullptr); //~ MG301
    k<<<2147483647, 32>>>(nullptr);
    k<<<dim3(1, 65536), 32>>>(nullptr); //~ MG301
    k<<<1, dim3(1, 1, 65)>>>(nullptr); //~ MG302 MG303
    k<<<1, 48>>>(nullptr); //~ MG303
    k<<<1, 32, 300 * 1024>>>(nullptr); //~ MG304
    writes_managed<<<1, 1>>>();
    int early = managed; //~ MG306
    cudaDeviceSynchronize();
    early += managed;
    cudaHostAlloc((void **)&h, 4, cudaHostAllocMapped);
    cudaHostGetDevicePointer((void **)&d, h, 0);
    counts<<<1, 32>>>(d);
    counts_system<<<1, 32>>>(d);
    counts_pinned<<<1, 32>>>(h);
    cudaSetDevice(0);
    cudaMalloc((void **)&p, 4);
    cudaMalloc((void **)&peer, 4096);
    counts_own<<<1, 32>>>(p);
    cudaSetDevice(1);
    cudaDeviceEnablePeerAccess(0, 0);
    counts_peer<<<1, 32>>>(peer);
    return early + cudaDeviceSynchronize();
}
