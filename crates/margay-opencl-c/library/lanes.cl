// SPDX-License-Identifier: MIT OR Apache-2.0
// A work-item's place in its sub-group, and values of the others. Stands before the files that need it.
//
// A work-group's last sub-group may be smaller: `members` is the mask of its lanes. What reads from another lane takes
// the mask of those that take part.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define OV __attribute__((overloadable))
#define CONVERGENT __attribute__((convergent))

static uint group_items(void) { return (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)); }
static uint linear_id(void) { return (uint)get_local_linear_id(); }
static uint sub_group(void) { return linear_id() / 32; }
static uint lane(void) { return linear_id() % 32; }
static uint lanes(void) {
  uint left = group_items() - sub_group() * 32;
  return left < 32 ? left : 32;
}
static uint members(void) {
  uint n = lanes();
  return n == 32 ? ~0u : (1u << n) - 1;
}

static CONVERGENT uint from32(uint mask, uint x, uint lane) { return __nvvm_shfl_sync_idx_i32(mask, x, lane, 0x1f); }
static CONVERGENT uint below32(uint mask, uint x, uint n) { return __nvvm_shfl_sync_up_i32(mask, x, n, 0); }
static CONVERGENT ulong from64(uint mask, ulong x, uint lane) { return from32(mask, (uint)x, lane) | (ulong)from32(mask, (uint)(x >> 32), lane) << 32; }
static CONVERGENT ulong below64(uint mask, ulong x, uint n) { return below32(mask, (uint)x, n) | (ulong)below32(mask, (uint)(x >> 32), n) << 32; }

// The value of a lane, and of the lane that is n below, by the bits of a type: `bits` and `back` lead there and back.
#define LANES(T, wide, bits, back)                                                    \
  static CONVERGENT T OV lane_of(uint mask, T x, uint l) { return back(from##wide(mask, bits(x), l)); } \
  static CONVERGENT T OV lane_below(uint mask, T x, uint n) { return back(below##wide(mask, bits(x), n)); }
#define HALF_BITS(x) ((uint)as_ushort(x))
#define HALF_BACK(x) as_half((ushort)(x))
LANES(char, 32, (uint), (char)) LANES(uchar, 32, (uint), (uchar)) LANES(short, 32, (uint), (short)) LANES(ushort, 32, (uint), (ushort))
LANES(int, 32, (uint), (int)) LANES(uint, 32, (uint), (uint)) LANES(long, 64, (ulong), (long)) LANES(ulong, 64, (ulong), (ulong))
LANES(float, 32, as_uint, as_float) LANES(double, 64, as_ulong, as_double) LANES(half, 32, HALF_BITS, HALF_BACK)

