// SPDX-License-Identifier: MIT OR Apache-2.0
// Atomics of 64 bits, C11's atomics, and questions about generic pointers.
//
// An order stronger than relaxed is a relaxed operation between two fences of device scope, which is never
// weaker than what is asked for.

#define OV __attribute__((overloadable))

#define FENCED(order, result, operation)                                              \
  ({                                                                                  \
    if ((order) != memory_order_relaxed) __nvvm_membar_gl();                          \
    result = (operation);                                                             \
    if ((order) != memory_order_relaxed) __nvvm_membar_gl();                          \
    result;                                                                           \
  })

// cl_khr_int64_base_atomics, cl_khr_int64_extended_atomics.
#define ATOM2(T, A, name, builtin) T OV atom_##name(volatile A T *p, T x) { return __opencl_atomic_##builtin((volatile A atomic_##T *)p, x, memory_order_relaxed, memory_scope_device); }
#define ATOM(T, A)                                                                    \
  ATOM2(T, A, add, fetch_add) ATOM2(T, A, sub, fetch_sub) ATOM2(T, A, and, fetch_and) ATOM2(T, A, or, fetch_or) \
  ATOM2(T, A, xor, fetch_xor) ATOM2(T, A, min, fetch_min) ATOM2(T, A, max, fetch_max) ATOM2(T, A, xchg, exchange) \
  T OV atom_inc(volatile A T *p) { return atom_add(p, (T)1); }                        \
  T OV atom_dec(volatile A T *p) { return atom_sub(p, (T)1); }                        \
  T OV atom_cmpxchg(volatile A T *p, T old, T x) {                                    \
    __opencl_atomic_compare_exchange_strong((volatile A atomic_##T *)p, &old, x, memory_order_relaxed, memory_order_relaxed, memory_scope_device); \
    return old;                                                                       \
  }
ATOM(long, global) ATOM(long, local) ATOM(ulong, global) ATOM(ulong, local)

void OV atomic_work_item_fence(cl_mem_fence_flags f, memory_order order, memory_scope scope) {
  if (order == memory_order_relaxed) return;
  if (scope == memory_scope_work_item || scope == memory_scope_work_group || scope == memory_scope_sub_group)
    __nvvm_membar_cta();
  else
    __nvvm_membar_gl();
}

#define SCOPE memory_scope_device
#define STORAGE(A, T)                                                                 \
  void OV atomic_init(volatile A *p, T x) { *(volatile T *)p = x; }                   \
  void OV atomic_store_explicit(volatile A *p, T x, memory_order o, memory_scope s) { \
    if (o != memory_order_relaxed) __nvvm_membar_gl();                                \
    *(volatile T *)p = x;                                                             \
    if (o != memory_order_relaxed) __nvvm_membar_gl();                                \
  }                                                                                   \
  void OV atomic_store_explicit(volatile A *p, T x, memory_order o) { atomic_store_explicit(p, x, o, SCOPE); } \
  void OV atomic_store(volatile A *p, T x) { atomic_store_explicit(p, x, memory_order_seq_cst, SCOPE); } \
  T OV atomic_load_explicit(volatile A *p, memory_order o, memory_scope s) { T r; return FENCED(o, r, *(volatile T *)p); } \
  T OV atomic_load_explicit(volatile A *p, memory_order o) { return atomic_load_explicit(p, o, SCOPE); } \
  T OV atomic_load(volatile A *p) { return atomic_load_explicit(p, memory_order_seq_cst, SCOPE); }

#define EXCHANGE(A, T, I, to, from)                                                   \
  T OV atomic_exchange_explicit(volatile A *p, T x, memory_order o, memory_scope s) { \
    I r;                                                                              \
    return from(FENCED(o, r, __opencl_atomic_exchange((volatile atomic_##I *)p, to(x), memory_order_relaxed, SCOPE))); \
  }                                                                                   \
  T OV atomic_exchange_explicit(volatile A *p, T x, memory_order o) { return atomic_exchange_explicit(p, x, o, SCOPE); } \
  T OV atomic_exchange(volatile A *p, T x) { return atomic_exchange_explicit(p, x, memory_order_seq_cst, SCOPE); } \
  COMPARE(A, T, I, to, strong) COMPARE(A, T, I, to, weak)
#define COMPARE(A, T, I, to, kind)                                                    \
  bool OV atomic_compare_exchange_##kind##_explicit(volatile A *p, T *e, T x, memory_order o, memory_order f, memory_scope s) { \
    bool r;                                                                           \
    return FENCED(o, r, __opencl_atomic_compare_exchange_strong((volatile atomic_##I *)p, (I *)e, to(x), memory_order_relaxed, memory_order_relaxed, SCOPE)); \
  }                                                                                   \
  bool OV atomic_compare_exchange_##kind##_explicit(volatile A *p, T *e, T x, memory_order o, memory_order f) { \
    return atomic_compare_exchange_##kind##_explicit(p, e, x, o, f, SCOPE);           \
  }                                                                                   \
  bool OV atomic_compare_exchange_##kind(volatile A *p, T *e, T x) {                  \
    return atomic_compare_exchange_##kind##_explicit(p, e, x, memory_order_seq_cst, memory_order_seq_cst, SCOPE); \
  }
#define FETCH(A, T, M, name)                                                          \
  T OV atomic_fetch_##name##_explicit(volatile A *p, M x, memory_order o, memory_scope s) { \
    T r;                                                                              \
    return FENCED(o, r, __opencl_atomic_fetch_##name(p, x, memory_order_relaxed, SCOPE)); \
  }                                                                                   \
  T OV atomic_fetch_##name##_explicit(volatile A *p, M x, memory_order o) { return atomic_fetch_##name##_explicit(p, x, o, SCOPE); } \
  T OV atomic_fetch_##name(volatile A *p, M x) { return atomic_fetch_##name##_explicit(p, x, memory_order_seq_cst, SCOPE); }
#define SAME(x) (x)
#define INTEGER(A, T)                                                                 \
  STORAGE(A, T) EXCHANGE(A, T, T, SAME, SAME)                                         \
  FETCH(A, T, T, add) FETCH(A, T, T, sub) FETCH(A, T, T, or) FETCH(A, T, T, xor) FETCH(A, T, T, and) \
  FETCH(A, T, T, min) FETCH(A, T, T, max)
INTEGER(atomic_int, int) INTEGER(atomic_uint, uint) INTEGER(atomic_long, long) INTEGER(atomic_ulong, ulong)
// Of atomic_uintptr_t, by a ptrdiff_t.
FETCH(atomic_ulong, ulong, long, add) FETCH(atomic_ulong, ulong, long, sub)
STORAGE(atomic_float, float) EXCHANGE(atomic_float, float, uint, as_uint, as_float)
STORAGE(atomic_double, double) EXCHANGE(atomic_double, double, ulong, as_ulong, as_double)

#define FLAG(p) ((volatile atomic_int *)(p))
bool OV atomic_flag_test_and_set_explicit(volatile atomic_flag *p, memory_order o, memory_scope s) { return atomic_exchange_explicit(FLAG(p), 1, o, s) != 0; }
bool OV atomic_flag_test_and_set_explicit(volatile atomic_flag *p, memory_order o) { return atomic_flag_test_and_set_explicit(p, o, SCOPE); }
bool OV atomic_flag_test_and_set(volatile atomic_flag *p) { return atomic_flag_test_and_set_explicit(p, memory_order_seq_cst, SCOPE); }
void OV atomic_flag_clear_explicit(volatile atomic_flag *p, memory_order o, memory_scope s) { atomic_store_explicit(FLAG(p), 0, o, s); }
void OV atomic_flag_clear_explicit(volatile atomic_flag *p, memory_order o) { atomic_flag_clear_explicit(p, o, SCOPE); }
void OV atomic_flag_clear(volatile atomic_flag *p) { atomic_flag_clear_explicit(p, memory_order_seq_cst, SCOPE); }

// clang calls these for to_global, to_local and to_private.
static bool is_in(uint which, const void *p) {
  uint r;
  if (which == 0) __asm__("{ .reg .pred q; isspacep.global q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(r) : "l"(p));
  else if (which == 1) __asm__("{ .reg .pred q; isspacep.shared q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(r) : "l"(p));
  else __asm__("{ .reg .pred q; isspacep.local q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(r) : "l"(p));
  return r != 0;
}
// In assembly: LLVM would join the two casts of a local pointer to generic to global, and then refuse the one.
static ulong address_in(uint which, const void *p) {
  ulong r;
  if (which == 0) __asm__("cvta.to.global.u64 %0, %1;" : "=l"(r) : "l"(p));
  else __asm__("cvta.to.shared.u64 %0, %1;" : "=l"(r) : "l"(p));
  return r;
}
global void *__to_global(void *p) { return is_in(0, p) ? (global void *)address_in(0, p) : (global void *)0; }
local void *__to_local(void *p) { return is_in(1, p) ? (local void *)address_in(1, p) : (local void *)0; }
private void *__to_private(void *p) { return is_in(2, p) ? (private void *)p : (private void *)0; }
cl_mem_fence_flags OV get_fence(const void *p) { return is_in(1, p) ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE; }
cl_mem_fence_flags OV get_fence(void *p) { return is_in(1, p) ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE; }
