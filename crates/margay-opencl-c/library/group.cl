// SPDX-License-Identifier: MIT OR Apache-2.0
// Sub-groups, which are warps, and functions of whole work-groups. `lanes.cl` stands before this file.

uint OV get_max_sub_group_size(void) { uint n = (uint)(get_enqueued_local_size(0) * get_enqueued_local_size(1) * get_enqueued_local_size(2)); return n < 32 ? n : 32; }
uint OV get_num_sub_groups(void) { return (group_items() + 31) / 32; }
uint OV get_enqueued_num_sub_groups(void) {
  return ((uint)(get_enqueued_local_size(0) * get_enqueued_local_size(1) * get_enqueued_local_size(2)) + 31) / 32;
}
uint OV get_sub_group_id(void) { return sub_group(); }
uint OV get_sub_group_local_id(void) { return lane(); }
uint OV get_sub_group_size(void) { return lanes(); }

CONVERGENT void OV sub_group_barrier(cl_mem_fence_flags f) { __nvvm_bar_warp_sync(members()); }
CONVERGENT void OV sub_group_barrier(cl_mem_fence_flags f, memory_scope s) { __nvvm_membar_gl(); __nvvm_bar_warp_sync(members()); }
CONVERGENT int OV sub_group_all(int p) { return __nvvm_vote_all_sync(members(), p != 0); }
CONVERGENT int OV sub_group_any(int p) { return __nvvm_vote_any_sync(members(), p != 0); }
CONVERGENT int OV work_group_all(int p) { return __nvvm_bar0_and(p != 0) != 0; }
CONVERGENT int OV work_group_any(int p) { return __nvvm_bar0_or(p != 0) != 0; }

// Local memory of the work-group functions: 33 words of 8 bytes, in scratch.c.
local ulong *__margay_scratch(void);

#define BROADCAST(T)                                                                  \
  CONVERGENT T OV sub_group_broadcast(T x, uint lane) { return lane_of(members(), x, lane); }    \
  static CONVERGENT T OV from_item(T x, bool mine) {                                  \
    local T *scratch = (local T *)__margay_scratch();                                 \
    if (mine) *scratch = x;                                                           \
    barrier(CLK_LOCAL_MEM_FENCE);                                                     \
    T r = *scratch;                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                     \
    return r;                                                                         \
  }                                                                                   \
  CONVERGENT T OV work_group_broadcast(T x, size_t i) { return from_item(x, get_local_id(0) == i); } \
  CONVERGENT T OV work_group_broadcast(T x, size_t i, size_t j) { return from_item(x, get_local_id(0) == i && get_local_id(1) == j); } \
  CONVERGENT T OV work_group_broadcast(T x, size_t i, size_t j, size_t k) {           \
    return from_item(x, get_local_id(0) == i && get_local_id(1) == j && get_local_id(2) == k); \
  }
BROADCAST(int) BROADCAST(uint) BROADCAST(long) BROADCAST(ulong) BROADCAST(float) BROADCAST(double) BROADCAST(half)

#define SCANS(T, op, apply, identity)                                                 \
  CONVERGENT T OV sub_group_scan_inclusive_##op(T x) {                                \
    for (uint n = 1; n < 32; n <<= 1) {                                               \
      T y = lane_below(members(), x, n);                                              \
      if (lane() >= n) x = apply(y, x);                                               \
    }                                                                                 \
    return x;                                                                         \
  }                                                                                   \
  CONVERGENT T OV sub_group_scan_exclusive_##op(T x) {                                \
    T y = lane_below(members(), sub_group_scan_inclusive_##op(x), 1);                 \
    return lane() == 0 ? (T)(identity) : y;                                           \
  }                                                                                   \
  CONVERGENT T OV sub_group_reduce_##op(T x) {                                        \
    return lane_of(members(), sub_group_scan_inclusive_##op(x), lanes() - 1);         \
  }                                                                                   \
  /* What all sub-groups before this one, or all, make together. */                   \
  static CONVERGENT T OV fold_##op(T x, bool all) {                                   \
    local T *scratch = (local T *)__margay_scratch();                                 \
    T own = sub_group_reduce_##op(x);                                                 \
    uint me = get_sub_group_id(), count = all ? get_num_sub_groups() : me;            \
    if (get_sub_group_local_id() == 0) scratch[me] = own;                             \
    barrier(CLK_LOCAL_MEM_FENCE);                                                     \
    T r = (T)(identity);                                                              \
    for (uint i = 0; i < count; i++) r = i == 0 ? scratch[0] : apply(r, scratch[i]);  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                     \
    return r;                                                                         \
  }                                                                                   \
  CONVERGENT T OV work_group_reduce_##op(T x) { return fold_##op(x, true); }          \
  CONVERGENT T OV work_group_scan_inclusive_##op(T x) {                               \
    T before = fold_##op(x, false), own = sub_group_scan_inclusive_##op(x);           \
    return get_sub_group_id() == 0 ? own : apply(before, own);                        \
  }                                                                                   \
  CONVERGENT T OV work_group_scan_exclusive_##op(T x) {                               \
    T before = fold_##op(x, false), own = sub_group_scan_exclusive_##op(x);           \
    return get_sub_group_local_id() == 0 ? before : get_sub_group_id() == 0 ? own : apply(before, own); \
  }
#define PLUS(a, b) ((a) + (b))
#define INTEGER(T, least, most) SCANS(T, add, PLUS, 0) SCANS(T, min, min, most) SCANS(T, max, max, least)
#define REAL(T) SCANS(T, add, PLUS, 0) SCANS(T, min, fmin, INFINITY) SCANS(T, max, fmax, -INFINITY)
INTEGER(int, INT_MIN, INT_MAX) INTEGER(uint, 0, UINT_MAX) INTEGER(long, LONG_MIN, LONG_MAX) INTEGER(ulong, 0, ULONG_MAX)
REAL(float) REAL(double) REAL(half)
