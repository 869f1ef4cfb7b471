// SPDX-License-Identifier: MIT OR Apache-2.0
// The extensions of sub-groups: cl_khr_subgroup_{extended_types, non_uniform_vote, ballot, non_uniform_arithmetic,
// shuffle, shuffle_relative, clustered_reduce, rotate}. `lanes.cl` stands before this file.
//
// A function that need not be met by the whole sub-group works on the lanes that meet it together.

static CONVERGENT uint active(void) {
  uint mask;
  __asm__ volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}

// Values of lanes that are not there are undefined: one's own is as good as any.
#define PRESENT(mask, l) ((l) < 32 && (mask) >> (l) & 1 ? (l) : lane())

#define SCALARS(M) M(char) M(uchar) M(short) M(ushort) M(int) M(uint) M(long) M(ulong) M(float) M(double) M(half)
#define VECTORS(M, T) M(T, 2) M(T, 3) M(T, 4) M(T, 8) M(T, 16)

// cl_khr_subgroup_extended_types: what `group.cl` has for the other types.
#define SMALL_BROADCAST(T) CONVERGENT T OV sub_group_broadcast(T x, uint l) { return lane_of(members(), x, l); }
SMALL_BROADCAST(char) SMALL_BROADCAST(uchar) SMALL_BROADCAST(short) SMALL_BROADCAST(ushort)
#define VECTOR_BROADCAST(T, n)                                                        \
  CONVERGENT T##n OV sub_group_broadcast(T##n x, uint l) {                            \
    T##n r;                                                                           \
    for (int i = 0; i < n; i++) r[i] = lane_of(members(), (T)x[i], l);                \
    return r;                                                                         \
  }                                                                                   \
  CONVERGENT T##n OV sub_group_non_uniform_broadcast(T##n x, uint l) {                \
    uint mask = active();                                                             \
    T##n r;                                                                           \
    for (int i = 0; i < n; i++) r[i] = lane_of(mask, (T)x[i], PRESENT(mask, l));      \
    return r;                                                                         \
  }
#define VECTOR_BROADCASTS(T) VECTORS(VECTOR_BROADCAST, T)
SCALARS(VECTOR_BROADCASTS)

// cl_khr_subgroup_non_uniform_vote.
CONVERGENT int OV sub_group_elect(void) { return lane() == ctz(active()); }
CONVERGENT int OV sub_group_non_uniform_all(int p) { return __nvvm_vote_all_sync(active(), p != 0); }
CONVERGENT int OV sub_group_non_uniform_any(int p) { return __nvvm_vote_any_sync(active(), p != 0); }
#define ALL_EQUAL(T)                                                                  \
  CONVERGENT int OV sub_group_non_uniform_all_equal(T x) {                            \
    uint mask = active();                                                             \
    return __nvvm_vote_all_sync(mask, x == lane_of(mask, x, ctz(mask)));              \
  }
SCALARS(ALL_EQUAL)

// cl_khr_subgroup_ballot.
#define BROADCASTS(T)                                                                 \
  CONVERGENT T OV sub_group_non_uniform_broadcast(T x, uint l) {                      \
    uint mask = active();                                                             \
    return lane_of(mask, x, PRESENT(mask, l));                                        \
  }                                                                                   \
  CONVERGENT T OV sub_group_broadcast_first(T x) {                                    \
    uint mask = active();                                                             \
    return lane_of(mask, x, ctz(mask));                                               \
  }
SCALARS(BROADCASTS)
static uint all_lanes(void) {
  uint n = get_max_sub_group_size();
  return n == 32 ? ~0u : (1u << n) - 1;
}
CONVERGENT uint4 OV sub_group_ballot(int p) { return (uint4)(__nvvm_vote_ballot_sync(active(), p != 0), 0, 0, 0); }
int OV sub_group_inverse_ballot(uint4 v) { return v.x >> lane() & 1; }
int OV sub_group_ballot_bit_extract(uint4 v, uint i) { return v[i / 32 & 3] >> (i & 31) & 1; }
uint OV sub_group_ballot_bit_count(uint4 v) { return popcount(v.x & all_lanes()); }
uint OV sub_group_ballot_inclusive_scan(uint4 v) { return popcount(v.x & (uint)((2ul << lane()) - 1)); }
uint OV sub_group_ballot_exclusive_scan(uint4 v) { return popcount(v.x & ((1u << lane()) - 1)); }
uint OV sub_group_ballot_find_lsb(uint4 v) { return ctz(v.x & all_lanes()); }
uint OV sub_group_ballot_find_msb(uint4 v) { return 31 - clz(v.x & all_lanes()); }
uint4 OV get_sub_group_eq_mask(void) { return (uint4)(1u << lane(), 0, 0, 0); }
uint4 OV get_sub_group_ge_mask(void) { return (uint4)(~((1u << lane()) - 1) & all_lanes(), 0, 0, 0); }
uint4 OV get_sub_group_gt_mask(void) { return (uint4)(~(uint)((2ul << lane()) - 1) & all_lanes(), 0, 0, 0); }
uint4 OV get_sub_group_le_mask(void) { return (uint4)((uint)((2ul << lane()) - 1), 0, 0, 0); }
uint4 OV get_sub_group_lt_mask(void) { return (uint4)((1u << lane()) - 1, 0, 0, 0); }

// cl_khr_subgroup_shuffle, cl_khr_subgroup_shuffle_relative, cl_khr_subgroup_rotate.
#define SHUFFLES(T)                                                                   \
  static CONVERGENT T OV shuffled(T x, uint l) {                                      \
    uint mask = active();                                                             \
    return lane_of(mask, x, PRESENT(mask, l));                                        \
  }                                                                                   \
  CONVERGENT T OV sub_group_shuffle(T x, uint l) { return shuffled(x, l); }           \
  CONVERGENT T OV sub_group_shuffle_xor(T x, uint bits) { return shuffled(x, lane() ^ bits); } \
  CONVERGENT T OV sub_group_shuffle_up(T x, uint n) { return shuffled(x, lane() - n); } \
  CONVERGENT T OV sub_group_shuffle_down(T x, uint n) { return shuffled(x, lane() + n); } \
  CONVERGENT T OV sub_group_clustered_rotate(T x, int n, uint size) {                 \
    uint me = lane(), first = me & ~(size - 1);                                       \
    return shuffled(x, first + ((me - first + (uint)n) & (size - 1)));                \
  }                                                                                   \
  CONVERGENT T OV sub_group_rotate(T x, int n) {                                      \
    /* The remainder of a sub-group that is no power of two is signed. */             \
    int size = (int)get_max_sub_group_size(), at = ((int)lane() + n) % size;          \
    return shuffled(x, (uint)(at < 0 ? at + size : at));                              \
  }
SCALARS(SHUFFLES)

// cl_khr_subgroup_non_uniform_arithmetic, cl_khr_subgroup_clustered_reduce: the lanes one after the other, whichever
// they are.
#define FOLD(T, op, apply, identity, mask, fits)                                      \
  T r = (T)(identity);                                                                \
  /* Integers begin with the identity; a zero and its sign would not survive that. */ \
  bool any = (T)0.5f == 0;                                                            \
  for (uint left = mask; left; left &= left - 1) {                                    \
    uint l = ctz(left);                                                               \
    T y = lane_of(mask, x, l);                                                        \
    if (fits) r = any ? (T)(apply(r, y)) : y;                                         \
    any = any || (fits);                                                              \
  }                                                                                   \
  return r;
#define NON_UNIFORM(T, op, apply, identity)                                           \
  CONVERGENT T OV sub_group_non_uniform_reduce_##op(T x) { uint m = active(); FOLD(T, op, apply, identity, m, true) } \
  CONVERGENT T OV sub_group_non_uniform_scan_inclusive_##op(T x) { uint m = active(); FOLD(T, op, apply, identity, m, l <= lane()) } \
  CONVERGENT T OV sub_group_non_uniform_scan_exclusive_##op(T x) { uint m = active(); FOLD(T, op, apply, identity, m, l < lane()) } \
  CONVERGENT T OV sub_group_clustered_reduce_##op(T x, uint size) { uint m = active(); FOLD(T, op, apply, identity, m, l / size == lane() / size) }
// Of all lanes, for the types that `group.cl` has not.
#define UNIFORM(T, op, apply, identity)                                               \
  CONVERGENT T OV sub_group_reduce_##op(T x) { uint m = members(); FOLD(T, op, apply, identity, m, true) } \
  CONVERGENT T OV sub_group_scan_inclusive_##op(T x) { uint m = members(); FOLD(T, op, apply, identity, m, l <= lane()) } \
  CONVERGENT T OV sub_group_scan_exclusive_##op(T x) { uint m = members(); FOLD(T, op, apply, identity, m, l < lane()) }
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define BOTH(a, b) ((a) && (b))
#define EITHER(a, b) ((a) || (b))
#define ONE_OF(a, b) (!(a) != !(b))
#define INTEGER(T, least, most)                                                       \
  NON_UNIFORM(T, add, PLUS, 0) NON_UNIFORM(T, mul, TIMES, 1) NON_UNIFORM(T, min, min, most) NON_UNIFORM(T, max, max, least) \
  NON_UNIFORM(T, and, AND, ~(T)0) NON_UNIFORM(T, or, OR, 0) NON_UNIFORM(T, xor, XOR, 0)
#define REAL(T)                                                                       \
  NON_UNIFORM(T, add, PLUS, 0) NON_UNIFORM(T, mul, TIMES, 1) NON_UNIFORM(T, min, fmin, INFINITY) NON_UNIFORM(T, max, fmax, -INFINITY)
#define SMALL(T, least, most)                                                         \
  INTEGER(T, least, most) UNIFORM(T, add, PLUS, 0) UNIFORM(T, min, min, most) UNIFORM(T, max, max, least)
SMALL(char, CHAR_MIN, CHAR_MAX) SMALL(uchar, 0, UCHAR_MAX) SMALL(short, SHRT_MIN, SHRT_MAX) SMALL(ushort, 0, USHRT_MAX)
INTEGER(int, INT_MIN, INT_MAX) INTEGER(uint, 0, UINT_MAX) INTEGER(long, LONG_MIN, LONG_MAX) INTEGER(ulong, 0, ULONG_MAX)
REAL(float) REAL(double) REAL(half)
NON_UNIFORM(int, logical_and, BOTH, 1) NON_UNIFORM(int, logical_or, EITHER, 0) NON_UNIFORM(int, logical_xor, ONE_OF, 0)
