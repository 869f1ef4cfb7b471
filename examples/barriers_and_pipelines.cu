// SPDX-License-Identifier: MIT OR Apache-2.0
// cuda::barrier with its split arrive and wait, asynchronous copies to shared memory, and pipelines of
// one thread and of a block whose first warps fill what the others use up.
#include "example.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

// Each thread brings a value; between arrive and wait it does something else.
__global__ void split(int *out, int rounds) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int slots[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  int other = 0;
  for (int r = 0; r < rounds; ++r) {
    slots[threadIdx.x] = r * 1000 + threadIdx.x;
    auto token = bar.arrive();
    other += r;
    bar.wait(std::move(token));
    other += slots[(threadIdx.x + 1) % blockDim.x];
    bar.arrive_and_wait();
  }
  out[threadIdx.x] = other;
}

// The same with a block's own barrier.
__global__ void group_split(int *out, int rounds) {
  __shared__ int slots[128];
  cg::thread_block block = cg::this_thread_block();
  int other = 0;
  for (int r = 0; r < rounds; ++r) {
    slots[threadIdx.x] = r * 1000 + threadIdx.x;
    cg::thread_block::arrival_token token = block.barrier_arrive();
    other += r;
    block.barrier_wait(std::move(token));
    other += slots[(threadIdx.x + 1) % blockDim.x];
    block.sync();
  }
  out[threadIdx.x] = other;
}

// Threads leave a barrier one after the other.
__global__ void leave(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int seen;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    seen = 0;
  }
  __syncthreads();
  for (unsigned int round = 0; round < blockDim.x; ++round) {
    if (threadIdx.x == round) {
      atomicAdd(&seen, 1);
      bar.arrive_and_drop();
      break;
    }
    bar.arrive_and_wait();
    if (atomicAdd(&seen, 0) < (int)round + 1) atomicAdd(&seen, 1000);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = seen;
}

// What runs when a phase ends.
struct Count {
  int *ends;
  __device__ void operator()() noexcept { ++*ends; }
};
__global__ void completion(int *ends) {
  __shared__ char place[sizeof(cuda::barrier<cuda::thread_scope_block, Count>)]
      __attribute__((aligned(16)));
  auto *bar = (cuda::barrier<cuda::thread_scope_block, Count> *)place;
  if (threadIdx.x == 0) new (bar) cuda::barrier<cuda::thread_scope_block, Count>(blockDim.x, Count{ends});
  __syncthreads();
  for (int i = 0; i < 5; ++i) bar->arrive_and_wait();
}

// A barrier in global memory between two blocks.
__global__ void between_blocks(cuda::barrier<cuda::thread_scope_device> *bar, int *values, int *out) {
  values[blockIdx.x] = 7 + blockIdx.x;
  bar->arrive_and_wait();
  out[blockIdx.x] = values[1 - blockIdx.x];
}

// Sums of tiles, each of which was copied while the one before was summed.
template <int Tile> __global__ void thread_pipeline(const float *in, float *out, int tiles) {
  __shared__ float stage[2][Tile];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  float sum = 0;
  auto fetch = [&](int t) {
    pipe.producer_acquire();
    cuda::memcpy_async(&stage[t % 2][threadIdx.x], &in[t * Tile + threadIdx.x], sizeof(float), pipe);
    pipe.producer_commit();
  };
  fetch(0);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) fetch(t + 1);
    pipe.consumer_wait();
    __syncthreads();
    sum += stage[t % 2][(threadIdx.x + 1) % Tile];
    __syncthreads();
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}
template <int Tile> __global__ void block_pipeline(const float *in, float *out, int tiles) {
  __shared__ float stage[3][Tile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope::thread_scope_block, 3> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int fetched = 0;
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    for (; fetched < tiles && fetched < t + 3; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage[fetched % 3], in + fetched * Tile,
                         cuda::aligned_size_t<16>(sizeof stage[0]), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stage[t % 3][(threadIdx.x + 1) % Tile];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}
template <int Tile> __global__ void with_roles(const float *in, float *out, int tiles) {
  __shared__ float stage[2][Tile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  const unsigned int producers = 32;
  bool produces = threadIdx.x < producers;
  auto role = produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    if (produces) {
      pipe.producer_acquire();
      for (int i = threadIdx.x; i < Tile; i += producers)
        cuda::memcpy_async(&stage[t % 2][i], &in[t * Tile + i], sizeof(float), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      sum += stage[t % 2][(threadIdx.x - producers + 1) % Tile];
      pipe.consumer_release();
    }
  }
  if (!produces) out[threadIdx.x - producers] = sum;
}

// Copies that a barrier waits for, and those of a cooperative group.
__global__ void copies(const int *in, int *out) {
  __shared__ alignas(16) int a[64];
  __shared__ alignas(16) int b[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(block, a, in, sizeof a, bar);
  bar.arrive_and_wait();
  cg::memcpy_async(block, b, in, sizeof b);
  cg::wait(block);
  auto warp = cg::tiled_partition<32>(block);
  int sum = cg::reduce(warp, a[threadIdx.x] + b[threadIdx.x], cg::plus<int>());
  int scan = cg::inclusive_scan(warp, a[threadIdx.x]);
  auto odd = cg::labeled_partition(warp, threadIdx.x & 1);
  int same = cg::reduce(odd, 1, cg::plus<int>());
  // Both warps number their threads together, from 100 on, and count them.
  __shared__ cuda::atomic<int, cuda::thread_scope_block> next, total;
  if (threadIdx.x == 0) {
    next = 100;
    total = 0;
  }
  block.sync();
  int number = cg::exclusive_scan_update(warp, next, 1);
  cg::reduce_update_async(warp, total, 1, cg::plus<int>());
  block.sync();
  int first = number - (int)warp.thread_rank();
  if (!(first == 100 || first == 132) || next != 164 || total != 64) same = -1;
  out[threadIdx.x] = sum * 10000 + scan * 100 + same;
}

int main() {
  puts("cuda::barrier and cuda::pipeline");
  const int tile = 64, tiles = 10;
  int *out;
  float *in, *sums;
  CUDA(cudaMallocManaged(&out, 128 * sizeof(int)));
  CUDA(cudaMallocManaged(&in, tile * tiles * sizeof(float)));
  CUDA(cudaMallocManaged(&sums, tile * sizeof(float)));
  for (int i = 0; i < tile * tiles; ++i) in[i] = float(i % 97);

  const int rounds = 6;
  auto values_arrived = [&] {
    bool right = true;
    for (int i = 0; i < 128; ++i) {
      int want = 0;
      for (int r = 0; r < rounds; ++r) want += r + r * 1000 + (i + 1) % 128;
      right &= out[i] == want;
      out[i] = -1;
    }
    return right;
  };
  split<<<1, 128>>>(out, rounds);
  CUDA(cudaDeviceSynchronize());
  bool right = values_arrived();
  expect(right, "every round's values are there after the wait");
  group_split<<<1, 128>>>(out, rounds);
  CUDA(cudaDeviceSynchronize());
  expect(values_arrived(), "and after that of a group");
  leave<<<1, 40>>>(out);
  CUDA(cudaDeviceSynchronize());
  expect(*out == 40, "a thread that dropped out is not awaited any more");
  *out = 0;
  completion<<<1, 96>>>(out);
  CUDA(cudaDeviceSynchronize());
  expect(*out == 5, "the completion function runs once a phase");

  cuda::barrier<cuda::thread_scope_device> *bar;
  CUDA(cudaMallocManaged(&bar, sizeof *bar));
  init(bar, 2);
  between_blocks<<<2, 1>>>(bar, out + 2, out);
  CUDA(cudaDeviceSynchronize());
  expect(out[0] == 8 && out[1] == 7, "a barrier of the device's scope joins two blocks");

  float want[tile] = {};
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < tile; ++i) want[i] += in[t * tile + (i + 1) % tile];
  auto same = [&] {
    bool all = true;
    for (int i = 0; i < tile; ++i) {
      all &= sums[i] == want[i];
      sums[i] = -1;
    }
    return all;
  };
  thread_pipeline<tile><<<1, tile>>>(in, sums, tiles);
  CUDA(cudaDeviceSynchronize());
  expect(same(), "a thread's pipeline of two stages");
  block_pipeline<tile><<<1, tile>>>(in, sums, tiles);
  CUDA(cudaDeviceSynchronize());
  expect(same(), "a block's pipeline of three stages");
  with_roles<tile><<<1, tile + 32>>>(in, sums, tiles);
  CUDA(cudaDeviceSynchronize());
  expect(same(), "a warp fills, two others use up");

  int *numbers = out + 64;
  for (int i = 0; i < 64; ++i) numbers[i] = i % 5;
  copies<<<1, 64>>>(numbers, out);
  CUDA(cudaDeviceSynchronize());
  right = true;
  for (int w = 0; w < 2; ++w) {
    int sum = 0, scan = 0;
    for (int i = 0; i < 32; ++i) sum += 2 * ((w * 32 + i) % 5);
    for (int i = 0; i < 32; ++i) {
      scan += (w * 32 + i) % 5;
      right &= out[w * 32 + i] == sum * 10000 + scan * 100 + 16;
    }
  }
  expect(right, "copies of a barrier and of a group; reduce, scan and labeled partition");
  return verdict();
}
