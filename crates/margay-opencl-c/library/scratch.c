// SPDX-License-Identifier: MIT OR Apache-2.0
// What OpenCL C has no way to say.

typedef unsigned long ulong;
#define LOCAL __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))

// Local memory of the work-group functions: local variables belong to kernels.
static LOCAL ulong scratch[33];

LOCAL ulong *__margay_scratch(void) { return scratch; }

// clang calls this before it uses an index outside of its array, in programs that are compiled to be checked:
// `margay run --check memory` sees the call.
__attribute__((noinline)) void __ubsan_handle_out_of_bounds_minimal(void) { __asm__ volatile(""); }

// clang calls this for a sampler that the program's source describes: a handle that is bound from the start, as
// `margay-opencl/src/sampler.rs` says.
CONSTANT void *__translate_sampler_initializer(int description) {
  return (CONSTANT void *)(0x0c15000000000000ul | (unsigned)description);
}
