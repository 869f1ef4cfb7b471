// SPDX-License-Identifier: MIT OR Apache-2.0
// Warp match functions, and the barriers and sleeps that clang's own headers lack.
// (clang has the shuffles, votes, `__syncwarp`, `__activemask` and `__reduce_*_sync`.)
#ifndef MARGAY_WARP_H
#define MARGAY_WARP_H
#define __SM_70_RT_H__
#define __SM_80_RT_H__
#define __SM_90_RT_H__

#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 700
#define MARGAY_MATCH(T, BITS, ANY, ALL)                                                            \
  MARGAY_D unsigned int __match_any_sync(unsigned int mask, T value) {                             \
    return (unsigned int)ANY(mask, __builtin_bit_cast(BITS, value));                               \
  }                                                                                                \
  MARGAY_D unsigned int __match_all_sync(unsigned int mask, T value, int *pred) {                  \
    return ALL(mask, __builtin_bit_cast(BITS, value), pred);                                       \
  }
#define MARGAY_ALL32(m, v, p) ((unsigned int)__nvvm_match_all_sync_i32p(m, v, p))
#define MARGAY_ALL64(m, v, p) ((unsigned int)__nvvm_match_all_sync_i64p(m, v, p))
MARGAY_MATCH(int, unsigned int, __nvvm_match_any_sync_i32, MARGAY_ALL32)
MARGAY_MATCH(unsigned int, unsigned int, __nvvm_match_any_sync_i32, MARGAY_ALL32)
MARGAY_MATCH(float, unsigned int, __nvvm_match_any_sync_i32, MARGAY_ALL32)
MARGAY_MATCH(long, unsigned long long, __nvvm_match_any_sync_i64, MARGAY_ALL64)
MARGAY_MATCH(unsigned long, unsigned long long, __nvvm_match_any_sync_i64, MARGAY_ALL64)
MARGAY_MATCH(long long, unsigned long long, __nvvm_match_any_sync_i64, MARGAY_ALL64)
MARGAY_MATCH(unsigned long long, unsigned long long, __nvvm_match_any_sync_i64, MARGAY_ALL64)
MARGAY_MATCH(double, unsigned long long, __nvvm_match_any_sync_i64, MARGAY_ALL64)
#undef MARGAY_MATCH
#undef MARGAY_ALL32
#undef MARGAY_ALL64

MARGAY_D void __nanosleep(unsigned int ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }
#endif

MARGAY_D unsigned int __smid() {
  unsigned int r;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(r));
  return r;
}
MARGAY_D unsigned int __laneid() {
  unsigned int r;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(r));
  return r;
}
MARGAY_D unsigned long long __globaltimer() {
  unsigned long long r;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(r));
  return r;
}

#endif
