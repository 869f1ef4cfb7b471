// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory-space specifiers of variables.
struct Members {
    __shared__ int s; //~ MG201
    __device__ int d; //~ MG201
};
__device__ void parameter(__shared__ int *p) { p[0] = 1; } //~ MG202
__device__ __constant__ int both_c = 1;
__device__ __managed__ int both_m;
__constant__ __managed__ int torn; //~ MG205
extern __device__ int elsewhere; //~ MG206
extern __shared__ float dynamic[];
__device__ int computed(int n) { return n; }
int on_host() { return 3; }
__device__ int initialised = on_host(); //~ MG105
__device__ int initialised_too = computed(1); //~ MG208
__constant__ int table[4] = {1, 2, 3, 4};
__constant__ char large[65536 - 8];
__constant__ char too_large[128]; //~ MG216
__device__ int d;
__device__ int array[8];
int host_variable = 1;
const int host_constant = 2;
__managed__ const int never = 1; //~ MG215
__managed__ int m;
__managed__ int *pointer;
int before_main = m; //~ MG215
static int reader() { return m; } //~ MG215
int through_a_call = reader();
struct Closes {
    ~Closes() { m = 0; } //~ MG215
} closes;
struct Opens {
    Opens() : n(m) {} //~ MG215
    int n;
} opens;
decltype(m) copy; //~ MG215
__global__ void kernel(int *p, int n) {
    __shared__ int s = 1; //~ MG207
    __shared__ int fine[32];
    __device__ int automatic; //~ MG204
    static __device__ int kept;
    __shared__ char static_shared[49152]; //~ MG217
    fine[threadIdx.x] = n;
    kept = 1;
    automatic = 1;
    static_shared[0] = 1;
    s = 1;
    table[0] = 1; //~ MG209
    atomicAdd(&table[1], 1); //~ MG209
    p[0] = host_variable; //~ MG214
    p[1] = host_constant + both_c + computed(dynamic[0]);
    pointer = &d;
}
__global__ void carved() {
    extern __shared__ short a[];
    float *b = (float *)&a[127]; //~ MG219
    float *c = (float *)&a[128];
    b[0] = c[0];
}
__global__ void aliased() {
    extern __shared__ float x[];
    extern __shared__ float y[];
    x[threadIdx.x] = y[threadIdx.x]; //~ MG218
}
void host_function() {
    __shared__ int s; //~ MG203
    s = 1;
}
int main() {
    int n = d; //~ MG210
    d = 2; //~ MG210
    int *q = &d; //~ MG211
    int *symbol;
    cudaGetSymbolAddress((void **)&symbol, d);
    n += *symbol; //~ MG213
    n += cudaMemcpyFromSymbol(&n, d, sizeof(n));
    kernel<<<1, 32>>>(symbol, n);
    cudaDeviceSynchronize();
    n += *pointer; //~ MG212
    m = sizeof(d) + sizeof(array);
    return n + (q == nullptr) + cudaGetLastError() + both_m;
}
