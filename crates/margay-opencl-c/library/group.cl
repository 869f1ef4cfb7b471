// SPDX-License-Identifier: MIT OR Apache-2.0
// Sub-groups, which are warps, and functions of whole work-groups.
//
// A work-group's last sub-group may be smaller: `members` is the mask of its lanes.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OV __attribute__((overloadable))
#define CONVERGENT __attribute__((convergent))

static uint group_items(void) { return (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)); }
static uint linear_id(void) { return (uint)get_local_linear_id(); }

uint OV get_max_sub_group_size(void) { uint n = (uint)(get_enqueued_local_size(0) * get_enqueued_local_size(1) * get_enqueued_local_size(2)); return n < 32 ? n : 32; }
uint OV get_num_sub_groups(void) { return (group_items() + 31) / 32; }
uint OV get_enqueued_num_sub_groups(void) {
  return ((uint)(get_enqueued_local_size(0) * get_enqueued_local_size(1) * get_enqueued_local_size(2)) + 31) / 32;
}
uint OV get_sub_group_id(void) { return linear_id() / 32; }
uint OV get_sub_group_local_id(void) { return linear_id() % 32; }
uint OV get_sub_group_size(void) {
  uint left = group_items() - get_sub_group_id() * 32;
  return left < 32 ? left : 32;
}
static uint members(void) {
  uint n = get_sub_group_size();
  return n == 32 ? ~0u : (1u << n) - 1;
}

CONVERGENT void OV sub_group_barrier(cl_mem_fence_flags f) { __nvvm_bar_warp_sync(members()); }
CONVERGENT void OV sub_group_barrier(cl_mem_fence_flags f, memory_scope s) { __nvvm_membar_gl(); __nvvm_bar_warp_sync(members()); }
CONVERGENT int OV sub_group_all(int p) { return __nvvm_vote_all_sync(members(), p != 0); }
CONVERGENT int OV sub_group_any(int p) { return __nvvm_vote_any_sync(members(), p != 0); }
CONVERGENT int OV work_group_all(int p) { return __nvvm_bar0_and(p != 0) != 0; }
CONVERGENT int OV work_group_any(int p) { return __nvvm_bar0_or(p != 0) != 0; }

// Bits of a value from another lane.
static CONVERGENT uint from32(uint x, uint lane) { return __nvvm_shfl_sync_idx_i32(members(), x, lane, 0x1f); }
static CONVERGENT uint below32(uint x, uint n) { return __nvvm_shfl_sync_up_i32(members(), x, n, 0); }
static CONVERGENT ulong from64(ulong x, uint lane) { return from32((uint)x, lane) | (ulong)from32((uint)(x >> 32), lane) << 32; }
static CONVERGENT ulong below64(ulong x, uint n) { return below32((uint)x, n) | (ulong)below32((uint)(x >> 32), n) << 32; }
#define SHORT_UP(x) ((uint)as_ushort(x))
#define SHORT_DOWN(x) as_half((ushort)(x))
static CONVERGENT int OV lane_of(int x, uint l) { return as_int(from32(as_uint(x), l)); }
static CONVERGENT int OV lane_below(int x, uint n) { return as_int(below32(as_uint(x), n)); }
static CONVERGENT uint OV lane_of(uint x, uint l) { return from32(x, l); }
static CONVERGENT uint OV lane_below(uint x, uint n) { return below32(x, n); }
static CONVERGENT float OV lane_of(float x, uint l) { return as_float(from32(as_uint(x), l)); }
static CONVERGENT float OV lane_below(float x, uint n) { return as_float(below32(as_uint(x), n)); }
static CONVERGENT half OV lane_of(half x, uint l) { return SHORT_DOWN(from32(SHORT_UP(x), l)); }
static CONVERGENT half OV lane_below(half x, uint n) { return SHORT_DOWN(below32(SHORT_UP(x), n)); }
static CONVERGENT long OV lane_of(long x, uint l) { return as_long(from64(as_ulong(x), l)); }
static CONVERGENT long OV lane_below(long x, uint n) { return as_long(below64(as_ulong(x), n)); }
static CONVERGENT ulong OV lane_of(ulong x, uint l) { return from64(x, l); }
static CONVERGENT ulong OV lane_below(ulong x, uint n) { return below64(x, n); }
static CONVERGENT double OV lane_of(double x, uint l) { return as_double(from64(as_ulong(x), l)); }
static CONVERGENT double OV lane_below(double x, uint n) { return as_double(below64(as_ulong(x), n)); }

// Local memory of the work-group functions: 33 words of 8 bytes, in scratch.c.
local ulong *__margay_scratch(void);

#define BROADCAST(T)                                                                  \
  CONVERGENT T OV sub_group_broadcast(T x, uint lane) { return lane_of(x, lane); }    \
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
    uint lane = get_sub_group_local_id();                                             \
    for (uint n = 1; n < 32; n <<= 1) {                                               \
      T y = lane_below(x, n);                                                         \
      if (lane >= n) x = apply(y, x);                                                 \
    }                                                                                 \
    return x;                                                                         \
  }                                                                                   \
  CONVERGENT T OV sub_group_scan_exclusive_##op(T x) {                                \
    T y = lane_below(sub_group_scan_inclusive_##op(x), 1);                            \
    return get_sub_group_local_id() == 0 ? (T)(identity) : y;                         \
  }                                                                                   \
  CONVERGENT T OV sub_group_reduce_##op(T x) {                                        \
    return lane_of(sub_group_scan_inclusive_##op(x), get_sub_group_size() - 1);       \
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
