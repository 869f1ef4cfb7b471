// SPDX-License-Identifier: MIT OR Apache-2.0
// API calls that OpenCL refuses, as they leave a buffer or release it twice.
//~api memory/invalid-copy memory/invalid-copy memory/invalid-copy memory/invalid-copy memory/double-free
// check: memory
// launch: touch 16 16 zeros:64
// buffer: whole zeros:64
// on q: read whole 0 64
// on q: write whole 32 32
// on q: set whole 32 32
// Too long by four bytes, in each direction, and a fill; behind the end.
// on q: refused read whole 4 64
// on q: refused write whole 32 36
// on q: refused set whole 60 8
// on q: refused read whole 128 4
// on q: finish
// on q: release whole
// on q: refused release whole
// Used after that, and as an argument that was set before. //~api memory/use-after-free memory/use-after-free
// on q: refused read whole 0 4
// buffer: other zeros:64
// on q: stale other touch 16 16 buffer:other
// Shared virtual memory: inside of it, as it should be, and again. //~api memory/invalid-free memory/double-free
// svm: shared 256
// on q: svmfree shared 16
// on q: svmfree shared 0
// on q: svmfree shared 0
kernel void touch(global int *p) { p[get_global_id(0)] = 1; }
