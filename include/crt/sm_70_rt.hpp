// SPDX-License-Identifier: MIT OR Apache-2.0
// clang's __clang_cuda_intrinsics.h includes this name for the match functions: they are in
// margay/warp.h.
