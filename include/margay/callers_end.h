// SPDX-License-Identifier: MIT OR Apache-2.0
// Ends what callers_begin.h began.
#if defined(__CUDA__) && defined(__clang__)
#pragma pop_macro("__device__")
#endif
