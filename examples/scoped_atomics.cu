// SPDX-License-Identifier: MIT OR Apache-2.0
// cuda::atomic and cuda::atomic_ref: orders, scopes and every operation; semaphores and latches. A
// message goes from one block to another through a release and an acquire of the device's scope.
#include "example.h"
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/atomic>

struct Mailbox {
  int message;
  cuda::atomic<int, cuda::thread_scope_device> flag;
};
__global__ void deliver(Mailbox *box, int *out) {
  if (blockIdx.x == 0) {
    // The reader's block comes first and waits: blocks that are resident together make progress.
    while (box->flag.load(cuda::memory_order_acquire) == 0) {
    }
    *out = box->message;
  } else {
    box->message = 42;
    box->flag.store(1, cuda::memory_order_release);
  }
}

__global__ void count(unsigned int *plain, unsigned char *bytes, double *sum, int *least) {
  cuda::atomic_ref<unsigned int, cuda::thread_scope_device> counter(*plain);
  counter.fetch_add(1, cuda::memory_order_relaxed);
  // A byte within a word that others change too.
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(bytes[threadIdx.x % 4])
      .fetch_add(1, cuda::memory_order_relaxed);
  cuda::atomic_ref<double, cuda::thread_scope_device>(*sum).fetch_add(0.5);
  cuda::atomic_ref<int, cuda::thread_scope_device>(*least).fetch_min(-(int)threadIdx.x);
}

__global__ void operations(int *failed) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> v;
  __shared__ cuda::atomic<long long, cuda::thread_scope_block> w;
  __shared__ cuda::atomic<short, cuda::thread_scope_block> h;
  v = 5;
  w.store(1ll << 40);
  h = 7;
  int bad = 0;
  bad += v.exchange(6) != 5;
  int expected = 0;
  bad += v.compare_exchange_strong(expected, 9) || expected != 6;
  bad += !v.compare_exchange_strong(expected, 9, cuda::memory_order_acq_rel) || v != 9;
  bad += v.fetch_or(6) != 9 || v.fetch_and(7) != 15 || v.fetch_xor(1) != 7 || v != 6;
  bad += ++v != 7 || v++ != 7 || --v != 7 || v-- != 7 || (v += 10) != 16 || (v -= 20) != -4;
  bad += v.fetch_max(3) != -4 || v.fetch_min(-8) != 3 || v.load() != -8;
  bad += w.fetch_add(1) != 1ll << 40 || w.fetch_sub(2) != (1ll << 40) + 1 || w.load() != (1ll << 40) - 1;
  bad += h.fetch_add(3) != 7 || h.exchange(-1) != 10 || h.fetch_max(2) != -1 || h != 2;
  cuda::std::array<int, 4> four{1, 2, 3, 4};
  cuda::atomic<int *, cuda::thread_scope_thread> p(four.data());
  bad += *p.fetch_add(2) != 1 || *p.load() != 3 || *(--p) != 2;
  cuda::std::atomic<float> f(1.5f);
  bad += f.fetch_add(1.f) != 1.5f || f.load() != 2.5f || !f.is_lock_free();
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  *failed = bad;
}

// At most two threads of the block are between acquire and release.
__global__ void guarded(int *most) {
  __shared__ cuda::counting_semaphore<cuda::thread_scope_block> two;
  __shared__ cuda::latch<cuda::thread_scope_block> *all;
  __shared__ cuda::atomic<int, cuda::thread_scope_block> inside, peak;
  __shared__ alignas(8) char place[sizeof(cuda::latch<cuda::thread_scope_block>)];
  if (threadIdx.x == 0) {
    new (&two) cuda::counting_semaphore<cuda::thread_scope_block>(2);
    all = new (place) cuda::latch<cuda::thread_scope_block>(blockDim.x);
    inside = 0;
    peak = 0;
  }
  __syncthreads();
  two.acquire();
  peak.fetch_max(++inside);
  --inside;
  two.release();
  all->arrive_and_wait();
  if (threadIdx.x == 0) *most = peak;
}

int main() {
  puts("cuda::atomic: orders and scopes");
  Mailbox *box;
  int *out;
  CUDA(cudaMallocManaged(&box, sizeof *box));
  CUDA(cudaMallocManaged(&out, sizeof *out));
  new (box) Mailbox{0, 0};
  deliver<<<2, 1>>>(box, out);
  CUDA(cudaDeviceSynchronize());
  expect(*out == 42, "a message that was released is seen after the acquire");

  struct Totals {
    double sum;
    unsigned int count;
    int least;
    unsigned char bytes[4];
  } *totals;
  CUDA(cudaMallocManaged(&totals, sizeof *totals));
  *totals = {};
  count<<<8, 96>>>(&totals->count, totals->bytes, &totals->sum, &totals->least);
  CUDA(cudaDeviceSynchronize());
  expect(totals->count == 768 && totals->sum == 384 && totals->least == -95,
         "no addition and no minimum is lost");
  bool bytes = true;
  for (unsigned char b : totals->bytes) bytes &= b == 192;
  expect(bytes, "nor one to a byte beside others");

  operations<<<1, 1>>>(out);
  CUDA(cudaDeviceSynchronize());
  expect(*out == 0, "every operation gives the old value and leaves the new one");
  guarded<<<1, 64>>>(out);
  CUDA(cudaDeviceSynchronize());
  expect(*out >= 1 && *out <= 2, "a semaphore lets two in, a latch waits for all");

  cuda::atomic<unsigned int> host(3);
  cuda::std::atomic_int other(1);
  expect(host.fetch_add(4) == 3 && host == 7 && --other == 0 && host.fetch_max(9) == 7 && host == 9,
         "the same on the host");
  return verdict();
}
