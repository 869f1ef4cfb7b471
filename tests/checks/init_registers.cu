// SPDX-License-Identifier: MIT OR Apache-2.0
// Registers of PTX that nothing has set, on any path or on the one that was taken.
// check: init
#include "corpus.h"

__global__ void stored_bug(int *out) {
    asm volatile("{ .reg .b32 never; st.global.b32 [%0], never; }" ::"l"(out) : "memory"); //~ init/result
}
__global__ void stored_good(int *out) {
    asm volatile("{ .reg .b32 once; mov.b32 once, 1; st.global.b32 [%0], once; }" ::"l"(out) : "memory");
}

__global__ void branch_bug(int *out) {
    asm volatile("{ .reg .pred never; @never bra DONE; st.global.b32 [%0], 1; DONE: }" ::"l"(out) : "memory"); //~ init/branch
}
__global__ void branch_good(int *out) {
    asm volatile("{ .reg .pred once; setp.eq.u64 once, %0, 0; @once bra DONE; st.global.b32 [%0], 1; DONE: }" ::"l"(out) : "memory");
}

__global__ void address_bug(int *out) {
    asm volatile("{ .reg .b64 never, at; and.b64 at, never, 60; add.s64 at, at, %0; st.global.b32 [at], 1; }" //~ init/address
                 ::"l"(out) : "memory");
}
__global__ void address_good(int *out) {
    asm volatile("{ .reg .b64 never, at; and.b64 at, never, 0; add.s64 at, at, %0; st.global.b32 [at], 1; }" ::"l"(out) : "memory");
}

// A guard that does not hold for all leaves a register unset in the rest.
__global__ void guarded_bug(int *out) {
    asm volatile("{ .reg .pred low; .reg .b32 v; setp.lt.s32 low, %1, 16; @low mov.b32 v, 1; st.global.b32 [%0], v; }" //~ init/result
                 ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}
__global__ void guarded_good(int *out) {
    asm volatile("{ .reg .pred low; .reg .b32 v; setp.lt.s32 low, %1, 16; @low mov.b32 v, 1; @!low mov.b32 v, 2;"
                 "  st.global.b32 [%0], v; }" ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}
// Set and used where the same guard holds.
__global__ void guarded_use_good(int *out) {
    asm volatile("{ .reg .pred low; .reg .b32 v; setp.lt.s32 low, %1, 16; @low mov.b32 v, 1; @low st.global.b32 [%0], v; }"
                 ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}
__global__ void guard_bug(int *out) {
    asm volatile("{ .reg .pred never; @never st.global.b32 [%0], 1; }" ::"l"(out) : "memory"); //~ init/branch
}

// The same by branches.
__global__ void path_bug(int *out) {
    asm volatile("{ .reg .pred low; .reg .b32 v; setp.lt.s32 low, %1, 16; @!low bra DONE; mov.b32 v, %1; DONE: st.global.b32 [%0], v; }" //~ init/result
                 ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}
__global__ void path_good(int *out) {
    asm volatile("{ .reg .pred low; .reg .b32 v; setp.lt.s32 low, %1, 16; @!low bra ELSE; mov.b32 v, 1; bra DONE;"
                 "  ELSE: mov.b32 v, 2; DONE: st.global.b32 [%0], v; }" ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}

// What compilers make of `if (low) v = in[0]; … if (low && v > 3)`: both sides are computed.
__global__ void and_good(int *out) {
    asm volatile("{ .reg .pred low, big, both; .reg .b32 v; setp.lt.s32 low, %1, 16; @!low bra NEXT; mov.b32 v, %1;"
                 "  NEXT: setp.gt.s32 big, v, 3; and.pred both, low, big; @!both bra DONE; st.global.b32 [%0], v; DONE: }"
                 ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}
__global__ void and_bug(int *out) {
    asm volatile("{ .reg .pred low, big, both; .reg .b32 v; setp.lt.s32 low, %1, 16; @!low bra NEXT; mov.b32 v, %1; NEXT: setp.gt.s32 big, v, 3; not.pred low, low; and.pred both, low, big; @!both bra DONE; st.global.b32 [%0], 1; DONE: }" //~ init/branch
                 ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}
__global__ void select_good(int *out) {
    asm volatile("{ .reg .pred low; .reg .b32 v, w; setp.lt.s32 low, %1, 16; @low mov.b32 v, 1; selp.b32 w, v, 0, low;"
                 "  st.global.b32 [%0], w; }" ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}
__global__ void select_bug(int *out) {
    asm volatile("{ .reg .pred low; .reg .b32 v, w; setp.lt.s32 low, %1, 16; @low mov.b32 v, 1; selp.b32 w, 0, v, low; st.global.b32 [%0], w; }" //~ init/result
                 ::"l"(out + threadIdx.x), "r"(threadIdx.x) : "memory");
}

// A vector's last element is padding, unless something was computed there.
__global__ void padding_good(int *out) {
    asm volatile("{ .reg .b32 never; st.global.v4.b32 [%0], {%1, %1, %1, never}; }" ::"l"(out), "r"(7) : "memory");
}
__global__ void element_bug(int *out) {
    asm volatile("{ .reg .b32 never, more; add.s32 more, never, 1; st.global.v4.b32 [%0], {%1, %1, %1, more}; }" //~ init/result
                 ::"l"(out), "r"(7) : "memory");
}
// Bytes put together, of which only those are used that were set.
__global__ void bytes_good(int *out) {
    asm volatile("{ .reg .b32 never, all, one; bfi.b32 all, never, %1, 24, 8; bfe.u32 one, all, 8, 8; st.global.b32 [%0], one; }"
                 ::"l"(out), "r"(0x010203) : "memory");
}
__global__ void bytes_bug(int *out) {
    asm volatile("{ .reg .b32 never, all, one; bfi.b32 all, never, %1, 24, 8; bfe.u32 one, all, 20, 8; add.s32 one, one, 1; st.global.b32 [%0], one; }" //~ init/result
                 ::"l"(out), "r"(0x010203) : "memory");
}

// A sum that begins with nothing.
__global__ void sum_bug(int *out) {
    asm volatile("{ .reg .pred more; .reg .b32 sum, i; mov.b32 i, 0; AGAIN: add.s32 sum, sum, i; add.s32 i, i, 1; setp.lt.s32 more, i, 8; @more bra AGAIN; st.global.b32 [%0], sum; }" //~ init/result
                 ::"l"(out) : "memory");
}
__global__ void sum_good(int *out) {
    asm volatile("{ .reg .pred more; .reg .b32 sum, i; mov.b32 i, 0; mov.b32 sum, 0; AGAIN: add.s32 sum, sum, i;"
                 "  add.s32 i, i, 1; setp.lt.s32 more, i, 8; @more bra AGAIN; st.global.b32 [%0], sum; }" ::"l"(out) : "memory");
}

__global__ void atomic_bug(int *out) {
    asm volatile("{ .reg .b32 never; red.global.add.s32 [%0], never; }" ::"l"(out) : "memory"); //~ init/result
}

// Through a function that is called, and shared memory.
__device__ __noinline__ int twice(int x) { return x * 2; }
__global__ void called_bug(int *out) {
    int x;
    asm volatile("" : "=r"(x));
    out[threadIdx.x] = twice(x); //~ init/result
}
__global__ void called_good(int *out) {
    int x;
    asm volatile("mov.b32 %0, 4;" : "=r"(x));
    out[threadIdx.x] = twice(x);
}
__device__ __noinline__ int never() {
    int x;
    asm volatile("" : "=r"(x));
    return x;
}
__global__ void returned_bug(int *out) {
    out[threadIdx.x] = never() + 1; //~ init/result
}
__global__ void shared_bug(int *out) {
    __shared__ int s[32];
    int x;
    asm volatile("" : "=r"(x));
    s[threadIdx.x] = x;
    __syncthreads();
    out[threadIdx.x] = s[31 - threadIdx.x] + 1; //~ init/result
}

int main() {
    int *out = zeros<int>(64);
    RUN(stored_bug, 1, 32, out);
    RUN(stored_good, 1, 32, out);
    RUN(branch_bug, 1, 32, out);
    RUN(branch_good, 1, 32, out);
    RUN(address_bug, 1, 1, out);
    RUN(address_good, 1, 1, out);
    RUN(guarded_bug, 1, 32, out);
    RUN(guarded_good, 1, 32, out);
    RUN(guarded_use_good, 1, 32, out);
    RUN(guard_bug, 1, 32, out);
    RUN(path_bug, 1, 32, out);
    RUN(path_good, 1, 40, out);
    RUN(and_good, 1, 32, out);
    RUN(and_bug, 1, 32, out);
    RUN(select_good, 1, 32, out);
    RUN(select_bug, 1, 32, out);
    RUN(padding_good, 1, 1, out);
    RUN(element_bug, 1, 1, out);
    RUN(bytes_good, 1, 1, out);
    RUN(bytes_bug, 1, 1, out);
    RUN(sum_bug, 1, 32, out);
    RUN(sum_good, 1, 32, out);
    RUN(atomic_bug, 1, 32, out);
    RUN(called_bug, 1, 32, out);
    RUN(called_good, 1, 32, out);
    RUN(returned_bug, 1, 32, out);
    RUN(shared_bug, 1, 32, out);
    cudaFree(out);
}
