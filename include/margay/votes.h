// SPDX-License-Identifier: MIT OR Apache-2.0
// Votes for compute capabilities before 3.0, for which LLVM has no instructions (PTX ISA, "vote": `.any` and `.all`
// from sm_12, `.ballot` from sm_20).
#ifndef MARGAY_VOTES_H
#define MARGAY_VOTES_H

// `margay check` says it better.
#if defined(MARGAY_RULES)
#define MARGAY_NOT_YET(NAME, CAPABILITY)
#else
#define MARGAY_NOT_YET(NAME, CAPABILITY)                                                           \
  __attribute__((unavailable(#NAME "() needs compute capability " CAPABILITY)))
#endif

#if MARGAY_ARCH >= 120
#define MARGAY_VOTE(NAME, MODE)                                                                    \
  __device__ static inline int NAME(int predicate) {                                               \
    int result;                                                                                    \
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote." MODE                                \
                 ".pred p, p; selp.s32 %0, 1, 0, p; }"                                             \
                 : "=r"(result)                                                                    \
                 : "r"(predicate));                                                                \
    return result;                                                                                 \
  }
MARGAY_VOTE(__all, "all")
MARGAY_VOTE(__any, "any")
#undef MARGAY_VOTE
#else
MARGAY_NOT_YET(__all, "1.2") __device__ int __all(int);
MARGAY_NOT_YET(__any, "1.2") __device__ int __any(int);
#endif

#if MARGAY_ARCH >= 200
__device__ static inline unsigned int __ballot(int predicate) {
  unsigned int result;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.ballot.b32 %0, p; }"
               : "=r"(result)
               : "r"(predicate));
  return result;
}
#else
MARGAY_NOT_YET(__ballot, "2.0") __device__ unsigned int __ballot(int);
#endif
#undef MARGAY_NOT_YET

#endif
