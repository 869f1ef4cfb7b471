// SPDX-License-Identifier: MIT OR Apache-2.0
// What the first generation lacks.
// gpu: sm_13
__device__ int recursive(int n) { return n < 2 ? 1 : n * recursive(n - 1); } //~ MG108
__device__ int function(int n) { return n; }
__global__ void kernel(int *p) {
    int (*f)(int) = function; //~ MG109
    p[0] = f(1) + recursive(2);
}
struct Large {
    char bytes[300];
};
__global__ void parameters(Large large, int *p) { p[0] = large.bytes[0]; } //~ MG120
__global__ void fits(int *p) { p[0] = 1; }
__global__ void spaces(float *g, int n) {
    __shared__ float s[32];
    float *p = s; //~ MG113
    if (n) p = g;
    p[threadIdx.x] = 1;
}
__global__ void atomics(int *p, unsigned long long *wide, float *f, double *d) {
    __shared__ unsigned long long s;
    __shared__ int narrow;
    atomicAdd(p, 1);
    atomicAdd(&narrow, 1);
    atomicAdd(wide, 1ull);
    atomicAdd(&s, 1ull); //~ MG307
    atomicAdd(f, 1.0f); //~ MG307
    atomicMax(wide, 1ull); //~ MG307
    d[0] = 1.0;
}
__global__ void newer(int *p) {
    p[0] = __syncthreads_count(p[0]); //~ MG311
    p[1] = __any(p[1]);
    p[2] = __ballot(p[2]); //~ MG311
    p[3] = __shfl(p[3], 0); //~ MG311
    __threadfence_system(); //~ MG311
    printf("%d\n", p[0]); //~ MG311
}
__managed__ int managed; //~ MG215
int main() {
    fits<<<dim3(8, 8, 2), 64>>>(nullptr); //~ MG301
    fits<<<1, 513>>>(nullptr); //~ MG302 MG303
    fits<<<1, 512>>>(nullptr);
    fits<<<65536, 32>>>(nullptr); //~ MG301
    fits<<<1, 32, 16 * 1024 + 4>>>(nullptr); //~ MG304
    return cudaDeviceSynchronize();
}
