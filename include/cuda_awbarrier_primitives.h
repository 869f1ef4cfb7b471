// SPDX-License-Identifier: MIT OR Apache-2.0
// The C interface of mbarrier objects in shared memory (CUDA C++ Programming Guide, "Memory Barrier
// Primitives Interface"); compute capability 8.0 has them.
#ifndef MARGAY_CUDA_AWBARRIER_PRIMITIVES_H
#define MARGAY_CUDA_AWBARRIER_PRIMITIVES_H
#include "cuda_runtime.h"
#if defined(MARGAY_CUDA_PASS)
#include "margay/callers_begin.h"
typedef unsigned long long __mbarrier_t;
typedef unsigned long long __mbarrier_token_t;
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 800
#define MARGAY_MB static __device__ __forceinline__
MARGAY_MB unsigned int margay_mbarrier_at(const __mbarrier_t *b) {
  return (unsigned int)__cvta_generic_to_shared(b);
}
MARGAY_MB unsigned int __mbarrier_maximum_count() { return (1u << 20) - 1u; }
MARGAY_MB void __mbarrier_init(__mbarrier_t *b, unsigned int expected) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(margay_mbarrier_at(b)), "r"(expected)
               : "memory");
}
MARGAY_MB void __mbarrier_inval(__mbarrier_t *b) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(margay_mbarrier_at(b)) : "memory");
}
MARGAY_MB __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *b) {
  __mbarrier_token_t t;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];"
               : "=l"(t)
               : "r"(margay_mbarrier_at(b))
               : "memory");
  return t;
}
MARGAY_MB __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *b) {
  __mbarrier_token_t t;
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];"
               : "=l"(t)
               : "r"(margay_mbarrier_at(b))
               : "memory");
  return t;
}
MARGAY_MB bool __mbarrier_test_wait(__mbarrier_t *b, __mbarrier_token_t t) {
  unsigned int over;
  asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(over)
               : "r"(margay_mbarrier_at(b)), "l"(t)
               : "memory");
  return over != 0;
}
MARGAY_MB bool __mbarrier_test_wait_parity(__mbarrier_t *b, bool parity) {
  unsigned int over;
  asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(over)
               : "r"(margay_mbarrier_at(b)), "r"((unsigned int)parity)
               : "memory");
  return over != 0;
}
// One look: how long a thread may sleep in it is up to the system.
MARGAY_MB bool __mbarrier_try_wait(__mbarrier_t *b, __mbarrier_token_t t, unsigned int) {
  return __mbarrier_test_wait(b, t);
}
MARGAY_MB bool __mbarrier_try_wait_parity(__mbarrier_t *b, bool parity, unsigned int) {
  return __mbarrier_test_wait_parity(b, parity);
}
MARGAY_MB unsigned int __mbarrier_token_pending_count(__mbarrier_token_t t) {
  unsigned int n;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(t));
  return n;
}
#undef MARGAY_MB
#endif
#include "margay/callers_end.h"
#endif
#endif
