// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions of these headers have no lines of their own: what is inlined of one has the line of its call. Else it would have
// the header's, as clang 19 does not say in PTX where a function was inlined, and whoever tells of it would have to guess.
// Ends with callers_end.h; pairs may be nested, so there is no include guard.
#if defined(__CUDA__) && defined(__clang__)
#pragma push_macro("__device__")
#undef __device__
#define __device__ __attribute__((device)) __attribute__((nodebug))
#endif
