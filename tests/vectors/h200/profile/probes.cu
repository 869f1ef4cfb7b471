// SPDX-License-Identifier: MIT OR Apache-2.0
// Probes of single transformations of ptxas, and of what its line table and the profiler's source page do.

// As clang leaves a load that comes again too far away for it to see.
__device__ inline float word(const float *at) {
    float w;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(w) : "r"(static_cast<unsigned>(__cvta_generic_to_shared(at))));
    return w;
}

// Two results that share a word, with a store between them that cannot change it.
extern "C" __global__ void probe_same_word(float *out, const float *in, const float *, int) {
    __shared__ float s[512];
    s[threadIdx.x] = in[threadIdx.x];
    s[threadIdx.x + 256] = in[threadIdx.x + 256];
    __syncthreads();
    out[threadIdx.x] = word(&s[threadIdx.x]) + word(&s[threadIdx.x + 16]);
    out[threadIdx.x + 256] = word(&s[threadIdx.x + 16]) * word(&s[threadIdx.x + 32]);
}

// The load of `me` is moved to where it is used, before the loop, and has no line there.
extern "C" __global__ void probe_line_before(float *out, const float *in, const float *, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float me = in[i];
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum = sum * me + static_cast<float>(k);
    out[i] = sum;
}

__device__ inline void order(unsigned &low, unsigned &high, unsigned &first, unsigned &second) {
    if (low > high) {
        unsigned t = low;
        low = high;
        high = t;
        t = first;
        first = second;
        second = t;
    }
}

// The stores of both ways were made one, and have no line.
extern "C" __global__ void probe_line_merged(unsigned *out, const unsigned *in, const float *, int n) {
    unsigned at = 2 * threadIdx.x;
    if (n < 1) {
        unsigned low = in[at], high = in[at + 1], first = in[at + 512], second = in[at + 513];
        order(low, high, first, second);
        out[at] = low;
        out[at + 1] = high;
        out[at + 512] = first;
        out[at + 513] = second;
    } else {
        unsigned low = in[at], high = in[at + n], first = in[at + 512], second = in[at + n + 512];
        order(low, high, first, second);
        out[at] = low;
        out[at + n] = high;
        out[at + 512] = first;
        out[at + n + 512] = second;
    }
}

// Four words are added to, and all eight lanes of a word wait in turn.
extern "C" __global__ void probe_atomic_turns(unsigned *out, const unsigned *in, const float *, int) {
    atomicAdd(&out[threadIdx.x & 3], in[threadIdx.x]);
}
