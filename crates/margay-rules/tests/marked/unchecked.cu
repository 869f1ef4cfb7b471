// SPDX-License-Identifier: MIT OR Apache-2.0
// A property is no error that is looked at.
__global__ void k(int *p) { p[0] = 1; }
int main() {
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    k<<<1, 32>>>(nullptr); //~ MG305
    cudaDeviceSynchronize();
    return 0;
}
