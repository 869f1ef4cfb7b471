// SPDX-License-Identifier: MIT OR Apache-2.0
// Cooperative groups (CUDA C++ Programming Guide, "Cooperative Groups"): blocks, tiles, coalesced
// threads, clusters and grids. reduce, scan and memcpy_async are in cooperative_groups/.
//
// Limit: tiles of more than a warp have sync and ranks, and at most 15 of them in a block; the
// multi-device group is not there (CUDA 13 removed it). A block's barrier_wait ends when every thread waits,
// not as soon as every thread has arrived.
#ifndef MARGAY_COOPERATIVE_GROUPS_H
#define MARGAY_COOPERATIVE_GROUPS_H
#define _COOPERATIVE_GROUPS_H_
#include "cuda_runtime.h"
#if defined(MARGAY_ARCH) && MARGAY_ARCH < 300
#error "cooperative groups need compute capability 3.0"
#elif defined(MARGAY_CUDA_PASS)
#include "margay/callers_begin.h"

#define MARGAY_CG static __device__ __forceinline__
#define MARGAY_CM __device__ __forceinline__

namespace cooperative_groups {
namespace details {
MARGAY_CG unsigned int lane() { return __laneid(); }
MARGAY_CG unsigned int lanes_below() {
  unsigned int m;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
  return m;
}
// Lanes of the aligned group of SIZE (a power of two, at most 32) around this lane.
MARGAY_CG unsigned int tile_mask(unsigned int size) {
  return (size == 32 ? ~0u : (1u << size) - 1u) << (lane() & ~(size - 1u));
}
MARGAY_CG unsigned int thread_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
MARGAY_CG unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }
MARGAY_CG unsigned long long block_in_grid() {
  return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
MARGAY_CG unsigned long long grid_size() {
  return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
}

// The launch's barrier workspace: 0 where the launch is not cooperative.
MARGAY_CG unsigned int *grid_workspace() {
  unsigned int low, high;
  asm("mov.b32 %0, %%envreg1;" : "=r"(high));
  asm("mov.b32 %0, %%envreg2;" : "=r"(low));
  return (unsigned int *)((unsigned long long)high << 32 | low);
}
MARGAY_CG unsigned int load_acquire(unsigned int *p) {
  unsigned int v;
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 700
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
#else
  v = *(volatile unsigned int *)p;
  __threadfence();
#endif
  return v;
}
// The last arrival flips the top bit: block 0 adds what the others leave to 2^31.
MARGAY_CG unsigned int grid_arrive(unsigned int *workspace) {
  unsigned int old = 0;
  __syncthreads();
  if (thread_in_block() == 0) {
    unsigned int blocks = (unsigned int)grid_size();
    unsigned int add = block_in_grid() == 0 ? 0x80000000u - (blocks - 1u) : 1u;
    __threadfence();
    old = atomicAdd(workspace, add);
  }
  return old;
}
MARGAY_CG void grid_wait(unsigned int *workspace, unsigned int old) {
  if (thread_in_block() == 0) {
    while (((old ^ load_acquire(workspace)) & 0x80000000u) == 0) {
#if defined(MARGAY_ARCH) && MARGAY_ARCH >= 700
      __nanosleep(20);
#endif
    }
    __threadfence();
  }
  __syncthreads();
}

// Any trivially copyable value, word by word.
template <class T, class SHUFFLE> MARGAY_CM T by_words(T value, SHUFFLE shuffle) {
  constexpr unsigned int N = (sizeof(T) + 3) / 4;
  unsigned int words[N] = {};
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (unsigned int i = 0; i < N; ++i) words[i] = shuffle(words[i]);
  T r;
  __builtin_memcpy(&r, words, sizeof(T));
  return r;
}
template <class T> struct remove_qualifiers { typedef T type; };
template <class T> struct remove_qualifiers<T &> { typedef typename remove_qualifiers<T>::type type; };
template <class T> struct remove_qualifiers<T &&> { typedef typename remove_qualifiers<T>::type type; };
template <class T> struct remove_qualifiers<const T> {
  typedef typename remove_qualifiers<T>::type type;
};
template <class T> struct remove_qualifiers<volatile T> {
  typedef typename remove_qualifiers<T>::type type;
};
} // namespace details

enum class thread_scope { grid, cluster, block, warp, thread };
template <unsigned int MaxBlockSize = 1024> struct block_tile_memory {
  char unused;
};

// ---- type-erased group -----------------------------------------------------------------------
class thread_group {
public:
  enum kind_t : unsigned char { block_kind, warp_kind, grid_kind };

protected:
  kind_t kind;
  unsigned int mask;  // of a group within a warp
  unsigned int count; // its threads
  unsigned int meta_rank, meta_count;

  MARGAY_CM thread_group(kind_t k, unsigned int m, unsigned int n, unsigned int rank = 0,
                         unsigned int of = 1)
      : kind(k), mask(m), count(n), meta_rank(rank), meta_count(of) {}
  friend MARGAY_CM thread_group tiled_partition(const thread_group &parent, unsigned int size);
  friend class thread_block;

public:
  MARGAY_CM unsigned long long size() const {
    return kind == block_kind ? details::block_size()
           : kind == grid_kind ? details::grid_size() * details::block_size()
                               : count;
  }
  MARGAY_CM unsigned long long num_threads() const { return size(); }
  MARGAY_CM unsigned long long thread_rank() const {
    return kind == block_kind  ? details::thread_in_block()
           : kind == grid_kind ? details::block_in_grid() * details::block_size() +
                                     details::thread_in_block()
                               : __popc(mask & details::lanes_below());
  }
  MARGAY_CM bool is_valid() const {
    return kind != grid_kind || details::grid_workspace() != nullptr;
  }
  MARGAY_CM void sync() const {
    if (kind == block_kind) {
      __syncthreads();
    } else if (kind == warp_kind) {
      __syncwarp(mask);
    } else {
      unsigned int *workspace = details::grid_workspace();
      if (!workspace) __trap();
      details::grid_wait(workspace, details::grid_arrive(workspace));
    }
  }
};

// ---- block -----------------------------------------------------------------------------------
class thread_block : public thread_group {
public:
  static constexpr thread_scope scope = thread_scope::block;
  MARGAY_CM thread_block() : thread_group(block_kind, 0, 0) {}
  static MARGAY_CM void sync() { __syncthreads(); }
  static MARGAY_CM unsigned int size() { return details::block_size(); }
  struct arrival_token {};
  // What was written before is visible to the others after their wait.
  static MARGAY_CM arrival_token barrier_arrive() {
    __threadfence_block();
    return arrival_token{};
  }
  static MARGAY_CM void barrier_wait(arrival_token &&) { __syncthreads(); }
  static MARGAY_CM unsigned int num_threads() { return details::block_size(); }
  static MARGAY_CM unsigned int thread_rank() { return details::thread_in_block(); }
  static MARGAY_CM dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static MARGAY_CM dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static MARGAY_CM dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  static MARGAY_CM dim3 dim_threads() { return group_dim(); }
  MARGAY_CM bool is_valid() const { return true; }
};
MARGAY_CG thread_block this_thread_block() { return thread_block(); }
template <unsigned int N> MARGAY_CG thread_block this_thread_block(block_tile_memory<N> &) {
  return thread_block();
}

// ---- grid ------------------------------------------------------------------------------------
class grid_group : public thread_group {
public:
  static constexpr thread_scope scope = thread_scope::grid;
  struct arrival_token {
    unsigned int old;
  };
  MARGAY_CM grid_group() : thread_group(grid_kind, 0, 0) {}
  MARGAY_CM bool is_valid() const { return details::grid_workspace() != nullptr; }
  MARGAY_CM void sync() const { thread_group::sync(); }
  MARGAY_CM arrival_token barrier_arrive() const {
    unsigned int *workspace = details::grid_workspace();
    if (!workspace) __trap();
    return arrival_token{details::grid_arrive(workspace)};
  }
  MARGAY_CM void barrier_wait(arrival_token &&token) const {
    details::grid_wait(details::grid_workspace(), token.old);
  }
  static MARGAY_CM unsigned long long size() { return details::grid_size() * details::block_size(); }
  static MARGAY_CM unsigned long long num_threads() { return size(); }
  static MARGAY_CM unsigned long long thread_rank() {
    return details::block_in_grid() * details::block_size() + details::thread_in_block();
  }
  static MARGAY_CM dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  static MARGAY_CM dim3 dim_blocks() { return group_dim(); }
  static MARGAY_CM unsigned long long num_blocks() { return details::grid_size(); }
  static MARGAY_CM dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static MARGAY_CM unsigned long long block_rank() { return details::block_in_grid(); }
  static MARGAY_CM dim3 thread_index() {
    return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                blockIdx.z * blockDim.z + threadIdx.z);
  }
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 900
  static MARGAY_CM dim3 dim_clusters() { return __clusterGridDimInClusters(); }
  static MARGAY_CM unsigned long long num_clusters() {
    dim3 d = dim_clusters();
    return (unsigned long long)d.x * d.y * d.z;
  }
  static MARGAY_CM dim3 cluster_index() { return __clusterIdx(); }
  static MARGAY_CM unsigned long long cluster_rank() {
    dim3 i = __clusterIdx(), d = dim_clusters();
    return ((unsigned long long)i.z * d.y + i.y) * d.x + i.x;
  }
#endif
};
MARGAY_CG grid_group this_grid() { return grid_group(); }

// ---- cluster ---------------------------------------------------------------------------------
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 900
class cluster_group {
public:
  static constexpr thread_scope scope = thread_scope::cluster;
  struct arrival_token {};
  static MARGAY_CM bool is_valid() { return true; }
  static MARGAY_CM void sync() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
  static MARGAY_CM arrival_token barrier_arrive() {
    __cluster_barrier_arrive();
    return {};
  }
  static MARGAY_CM void barrier_wait() { __cluster_barrier_wait(); }
  static MARGAY_CM void barrier_wait(arrival_token &&) { __cluster_barrier_wait(); }
  static MARGAY_CM unsigned int query_shared_rank(const void *p) {
    return __cluster_query_shared_rank(p);
  }
  template <class T> static MARGAY_CM T *map_shared_rank(T *p, int rank) {
    return (T *)__cluster_map_shared_rank(p, (unsigned int)rank);
  }
  static MARGAY_CM dim3 block_index() { return __clusterRelativeBlockIdx(); }
  static MARGAY_CM unsigned int block_rank() { return __clusterRelativeBlockRank(); }
  static MARGAY_CM dim3 dim_blocks() { return __clusterDim(); }
  static MARGAY_CM unsigned int num_blocks() { return __clusterSizeInBlocks(); }
  static MARGAY_CM dim3 dim_threads() {
    dim3 c = __clusterDim();
    return dim3(c.x * blockDim.x, c.y * blockDim.y, c.z * blockDim.z);
  }
  static MARGAY_CM dim3 thread_index() {
    dim3 b = __clusterRelativeBlockIdx();
    return dim3(b.x * blockDim.x + threadIdx.x, b.y * blockDim.y + threadIdx.y,
                b.z * blockDim.z + threadIdx.z);
  }
  static MARGAY_CM unsigned int thread_rank() {
    return block_rank() * details::block_size() + details::thread_in_block();
  }
  static MARGAY_CM unsigned int num_threads() { return num_blocks() * details::block_size(); }
  static MARGAY_CM unsigned int size() { return num_threads(); }
};
MARGAY_CG cluster_group this_cluster() { return cluster_group(); }
#endif

// ---- coalesced threads -----------------------------------------------------------------------
class coalesced_group : public thread_group {
  friend MARGAY_CM coalesced_group tiled_partition(const coalesced_group &, unsigned int);

  // The lane of the thread with this rank.
  MARGAY_CM unsigned int lane_of(unsigned int rank) const {
    return mask == ~0u ? rank : __fns(mask, 0, (int)rank + 1);
  }
  // Bit i of the result is bit lane_of(i) of the lanes.
  MARGAY_CM unsigned int pack(unsigned int lanes) const {
    if (mask == ~0u) return lanes;
    unsigned int out = 0, rank = 0;
    for (unsigned int m = mask; m; m &= m - 1, ++rank)
      if (lanes & (m & (0u - m))) out |= 1u << rank;
    return out;
  }

public:
  static constexpr thread_scope scope = thread_scope::warp;
  MARGAY_CM coalesced_group(unsigned int m, unsigned int rank = 0, unsigned int of = 1)
      : thread_group(warp_kind, m, __popc(m), rank, of) {}
  MARGAY_CM unsigned int size() const { return count; }
  MARGAY_CM unsigned int num_threads() const { return count; }
  MARGAY_CM unsigned int thread_rank() const { return __popc(mask & details::lanes_below()); }
  MARGAY_CM void sync() const { __syncwarp(mask); }
  MARGAY_CM unsigned int meta_group_rank() const { return meta_rank; }
  MARGAY_CM unsigned int meta_group_size() const { return meta_count; }
  MARGAY_CM unsigned int get_mask() const { return mask; }
  MARGAY_CM unsigned int _get_mask() const { return mask; }

  template <class T> MARGAY_CM T shfl(T value, unsigned int rank) const {
    unsigned int lane = rank < count ? lane_of(rank) : details::lane();
    return details::by_words(
        value, [&](unsigned int w) { return __shfl_sync(mask, w, (int)lane, 32); });
  }
  template <class T> MARGAY_CM T shfl_up(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    unsigned int lane = rank >= delta ? lane_of(rank - delta) : details::lane();
    return details::by_words(
        value, [&](unsigned int w) { return __shfl_sync(mask, w, (int)lane, 32); });
  }
  template <class T> MARGAY_CM T shfl_down(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    unsigned int lane = rank + delta < count ? lane_of(rank + delta) : details::lane();
    return details::by_words(
        value, [&](unsigned int w) { return __shfl_sync(mask, w, (int)lane, 32); });
  }
  MARGAY_CM int any(int predicate) const { return __ballot_sync(mask, predicate) != 0; }
  MARGAY_CM int all(int predicate) const { return __ballot_sync(mask, predicate) == mask; }
  MARGAY_CM unsigned int ballot(int predicate) const {
    return pack(__ballot_sync(mask, predicate));
  }
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 700
  template <class T> MARGAY_CM unsigned int match_any(T value) const {
    return pack(__match_any_sync(mask, value));
  }
  template <class T> MARGAY_CM unsigned int match_all(T value, int &predicate) const {
    return pack(__match_all_sync(mask, value, &predicate));
  }
#endif
};
MARGAY_CG coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// ---- tiles -----------------------------------------------------------------------------------
template <unsigned int Size, class ParentT = void> class thread_block_tile;

namespace details {
// Ranks within a tile whose size is known to the compiler.
template <unsigned int Size> class tile : public thread_group {
protected:
  MARGAY_CM tile(unsigned int rank, unsigned int of)
      : thread_group(warp_kind, tile_mask(Size), Size, rank, of) {}

public:
  static constexpr thread_scope scope = thread_scope::warp;
  static MARGAY_CM unsigned int thread_rank() { return lane() & (Size - 1u); }
  static constexpr __device__ __forceinline__ unsigned int size() { return Size; }
  static constexpr __device__ __forceinline__ unsigned int num_threads() { return Size; }
  MARGAY_CM void sync() const { __syncwarp(mask); }
  MARGAY_CM unsigned int meta_group_rank() const { return meta_rank; }
  MARGAY_CM unsigned int meta_group_size() const { return meta_count; }
  MARGAY_CM unsigned int get_mask() const { return mask; }
  MARGAY_CM unsigned int _get_mask() const { return mask; }

  template <class T> MARGAY_CM T shfl(T value, int rank) const {
    return by_words(value,
                    [&](unsigned int w) { return __shfl_sync(mask, w, rank, (int)Size); });
  }
  template <class T> MARGAY_CM T shfl_up(T value, unsigned int delta) const {
    return by_words(value,
                    [&](unsigned int w) { return __shfl_up_sync(mask, w, delta, (int)Size); });
  }
  template <class T> MARGAY_CM T shfl_down(T value, unsigned int delta) const {
    return by_words(value,
                    [&](unsigned int w) { return __shfl_down_sync(mask, w, delta, (int)Size); });
  }
  template <class T> MARGAY_CM T shfl_xor(T value, unsigned int lane_mask) const {
    return by_words(
        value, [&](unsigned int w) { return __shfl_xor_sync(mask, w, (int)lane_mask, (int)Size); });
  }
  MARGAY_CM int any(int predicate) const { return __ballot_sync(mask, predicate) != 0; }
  MARGAY_CM int all(int predicate) const { return __ballot_sync(mask, predicate) == mask; }
  MARGAY_CM unsigned int ballot(int predicate) const {
    return __ballot_sync(mask, predicate) >> (lane() & ~(Size - 1u));
  }
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 700
  template <class T> MARGAY_CM unsigned int match_any(T value) const {
    return __match_any_sync(mask, value) >> (lane() & ~(Size - 1u));
  }
  template <class T> MARGAY_CM unsigned int match_all(T value, int &predicate) const {
    return __match_all_sync(mask, value, &predicate) >> (lane() & ~(Size - 1u));
  }
#endif
};

// More than a warp: named barriers 1 to 15, one for each tile.
template <unsigned int Size> class wide_tile {
protected:
  unsigned int meta_rank, meta_count;
  MARGAY_CM wide_tile(unsigned int rank, unsigned int of) : meta_rank(rank), meta_count(of) {}

public:
  static constexpr thread_scope scope = thread_scope::block;
  static MARGAY_CM unsigned int thread_rank() { return thread_in_block() & (Size - 1u); }
  static constexpr __device__ __forceinline__ unsigned int size() { return Size; }
  static constexpr __device__ __forceinline__ unsigned int num_threads() { return Size; }
  MARGAY_CM unsigned int meta_group_rank() const { return meta_rank; }
  MARGAY_CM unsigned int meta_group_size() const { return meta_count; }
  MARGAY_CM bool is_valid() const { return true; }
  MARGAY_CM void sync() const {
    if (meta_count == 1) {
      __syncthreads();
    } else {
      if (meta_rank >= 15) __trap();
      asm volatile("barrier.sync %0, %1;" ::"r"(meta_rank + 1u), "n"(Size) : "memory");
    }
  }
};
template <bool Narrow, unsigned int Size> struct tile_base { typedef wide_tile<Size> type; };
template <unsigned int Size> struct tile_base<true, Size> { typedef tile<Size> type; };
} // namespace details

template <unsigned int Size, class ParentT>
class thread_block_tile : public details::tile_base<Size <= 32, Size>::type {
  static_assert(Size >= 1 && Size <= 1024 && (Size & (Size - 1)) == 0,
                "a tile's size is a power of two up to 1024");
  typedef typename details::tile_base<Size <= 32, Size>::type base;

public:
  MARGAY_CM thread_block_tile(unsigned int rank, unsigned int of) : base(rank, of) {}
  template <class Other>
  MARGAY_CM thread_block_tile(const thread_block_tile<Size, Other> &t)
      : base(t.meta_group_rank(), t.meta_group_size()) {}
};

// Of a block, or of another tile.
template <unsigned int Size>
MARGAY_CG thread_block_tile<Size, thread_block> tiled_partition(const thread_block &) {
  return thread_block_tile<Size, thread_block>(details::thread_in_block() / Size,
                                               (details::block_size() + Size - 1) / Size);
}
template <unsigned int Size, unsigned int ParentSize, class P>
MARGAY_CG thread_block_tile<Size, thread_block_tile<ParentSize, P>>
tiled_partition(const thread_block_tile<ParentSize, P> &parent) {
  static_assert(Size <= ParentSize, "a tile is not larger than its parent");
  return thread_block_tile<Size, thread_block_tile<ParentSize, P>>(parent.thread_rank() / Size,
                                                                   ParentSize / Size);
}
// The run-time form.
__device__ __forceinline__ thread_group tiled_partition(const thread_group &parent,
                                                        unsigned int size) {
  if (parent.kind == thread_group::block_kind)
    return thread_group(thread_group::warp_kind, details::tile_mask(size), size,
                        details::thread_in_block() / size,
                        (details::block_size() + size - 1) / size);
  // Of a group within a warp: its threads in rank order, `size` at a time.
  unsigned int rank = __popc(parent.mask & details::lanes_below());
  unsigned int first = rank / size * size, mask = 0, r = 0;
  for (unsigned int m = parent.mask; m; m &= m - 1, ++r)
    if (r >= first && r < first + size) mask |= m & (0u - m);
  return thread_group(thread_group::warp_kind, mask, __popc(mask), rank / size,
                      (parent.count + size - 1) / size);
}
__device__ __forceinline__ coalesced_group tiled_partition(const coalesced_group &parent,
                                                           unsigned int size) {
  unsigned int rank = parent.thread_rank(), first = rank / size * size, mask = 0, r = 0;
  for (unsigned int m = parent.mask; m; m &= m - 1, ++r)
    if (r >= first && r < first + size) mask |= m & (0u - m);
  return coalesced_group(mask, rank / size, (parent.count + size - 1) / size);
}

// ---- partitions by value ---------------------------------------------------------------------
template <class G> __device__ __forceinline__ coalesced_group binary_partition(const G &g, bool p) {
  unsigned int mask = g.get_mask(), yes = __ballot_sync(mask, p);
  unsigned int no = mask & ~yes;
  return coalesced_group(p ? yes : no, p ? 1u : 0u, (yes != 0) + (no != 0));
}
#if !defined(MARGAY_ARCH) || MARGAY_ARCH >= 700
template <class G, class L>
__device__ __forceinline__ coalesced_group labeled_partition(const G &g, L label) {
  unsigned int mask = g.get_mask(), mine = __match_any_sync(mask, label);
  // Groups are numbered by their first lanes.
  unsigned int leaders = __ballot_sync(mask, (mine & details::lanes_below()) == 0);
  unsigned int below = (mine & (0u - mine)) - 1u;
  return coalesced_group(mine, __popc(leaders & below), __popc(leaders));
}
#endif

// ---- free functions --------------------------------------------------------------------------
template <class G> MARGAY_CM void sync(const G &g) { g.sync(); }
template <class G> MARGAY_CM auto thread_rank(const G &g) -> decltype(g.thread_rank()) {
  return g.thread_rank();
}
template <class G> MARGAY_CM auto group_size(const G &g) -> decltype(g.size()) { return g.size(); }
MARGAY_CG dim3 group_index(const thread_block &) { return thread_block::group_index(); }
MARGAY_CG dim3 thread_index(const thread_block &) { return thread_block::thread_index(); }

template <class G, class F, class... Args>
MARGAY_CM void invoke_one(const G &g, F &&f, Args &&...args) {
  if (g.thread_rank() == 0) f(static_cast<Args &&>(args)...);
}
template <class G, class F, class... Args>
MARGAY_CM auto invoke_one_broadcast(const G &g, F &&f, Args &&...args)
    -> decltype(f(static_cast<Args &&>(args)...)) {
  decltype(f(static_cast<Args &&>(args)...)) r{};
  if (g.thread_rank() == 0) r = f(static_cast<Args &&>(args)...);
  return g.shfl(r, 0);
}
} // namespace cooperative_groups

#undef MARGAY_CG
#include "margay/callers_end.h"
#endif
#endif
