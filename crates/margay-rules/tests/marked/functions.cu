// SPDX-License-Identifier: MIT OR Apache-2.0
// Function qualifiers, from 7.0 on.
__global__ int returns_int(int *p) { return p[0]; } //~ MG101
__global__ __device__ void with_device(int *p) { p[0] = 1; } //~ MG103
__global__ __host__ void with_host(int *p) { p[0] = 1; } //~ MG103
__global__ void variadic(int *p, ...) { p[0] = 1; } //~ MG112
__device__ int variadic_device(int n, ...) { return n; }
__device__ int device_only(int n) { return n; }
void host_only() {}
int host_number() { return 1; }
__host__ __device__ int both(int n) { return n + 1; }
__host__ __device__ int calls_host(int n) { return n + host_number(); } //~ MG122
__host__ __device__ int with_barrier(int n) {
    __syncthreads(); //~ MG121
    return n;
}
__host__ __device__ int guarded(int n) {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
    return n;
}
__global__ void child(int *p) { p[0] = 1; }
// Recursion, function pointers, static variables and pointers to kernels are legal here.
__device__ int recursive(int n) { return n < 2 ? 1 : n * recursive(n - 1); }
__device__ int pointers(int n) {
    int (*f)(int) = device_only;
    static int calls;
    return f(n) + ++calls;
}
__global__ void calls(int *p) {
    p[0] = device_only(1) + both(2) + recursive(3) + pointers(4) + guarded(5) + with_barrier(6);
    p[1] = variadic_device(1, 2);
    host_only(); //~ MG105
    child<<<1, 1>>>(p); //~ MG107
}
__noinline__ __forceinline__ __device__ int torn(int n) { return n; } //~ MG119
struct Class {
    static __device__ int member; //~ MG115
    __global__ void kernel(int *p) { p[0] = 1; } //~ MG117
    int n;
};
struct Virtual {
    virtual __device__ int f() { return 1; }
};
struct Base {
    int n;
};
struct Derived : virtual Base {
    int m;
};
__global__ void takes_virtual(Virtual v) {} //~ MG118
__global__ void takes_base(Derived d) {} //~ MG118
__global__ void takes_class(Class c, int *p) { p[0] = c.n; }
__global__ void builtins(int *p) {
    threadIdx.x = 1; //~ MG114
    blockDim = dim3(1); //~ MG114
    const uint3 *at = &blockIdx; //~ MG114
    p[0] = at->x;
}
#if __CUDA_ARCH__ >= 900
__global__ void signature(int *p, int n) { p[0] = n; }
#else
__global__ void signature(int *p) { p[0] = 1; } //~ MG116
#endif
int main() {
    int *p = nullptr;
    child(p); //~ MG102
    int n = device_only(1); //~ MG104
    int (*f)(int) = device_only; //~ MG106
    void (*kernel)(int *) = child;
    n += both(1);
    kernel<<<1, 1>>>(p);
    return n + (f != nullptr) + cudaDeviceSynchronize();
}
