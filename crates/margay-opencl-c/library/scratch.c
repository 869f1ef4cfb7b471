// SPDX-License-Identifier: MIT OR Apache-2.0
// Local memory of the work-group functions. OpenCL C has no way to say this: local variables belong to kernels.

typedef unsigned long ulong;
#define LOCAL __attribute__((address_space(3)))

static LOCAL ulong scratch[33];

LOCAL ulong *__margay_scratch(void) { return scratch; }
