// SPDX-License-Identifier: MIT OR Apache-2.0
// __restrict__ promises that pointers do not overlap. Without it a store to c[] may change a[] or b[],
// so every expression loads them again; with it each element is loaded once, through the read-only path,
// and kept in a register. The program counts the loads in its own PTX, which is in its executable.
#include "example.h"
#include <fstream>
#include <iterator>
#include <string>

extern "C" __global__ void foo_plain(const float *a, const float *b, float *c) {
  c[0] = a[0] * b[0];
  c[1] = a[0] * b[0];
  c[2] = a[0] * b[0] * a[1];
  c[3] = a[0] * a[1];
  c[4] = a[0] * b[0];
  c[5] = b[0];
}
extern "C" __global__ void foo_restrict(const float *__restrict__ a, const float *__restrict__ b,
                                        float *__restrict__ c) {
  c[0] = a[0] * b[0];
  c[1] = a[0] * b[0];
  c[2] = a[0] * b[0] * a[1];
  c[3] = a[0] * a[1];
  c[4] = a[0] * b[0];
  c[5] = b[0];
}

static int occurrences(const std::string &text, const std::string &word) {
  int n = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// The body of a kernel in the PTX that this executable carries.
static std::string body(const std::string &image, const std::string &kernel) {
  size_t start = image.find(".entry " + kernel + "(\n");
  for (; start != image.npos; start = image.find(".entry " + kernel + "(\n", start + 1)) {
    size_t open = image.find_first_of("{;", start);
    if (open != image.npos && image[open] == '{') return image.substr(open, image.find("\n}", open) - open);
  }
  return "";
}

int main() {
  puts("__restrict__ and the read-only path: loads of foo(a, b, c)");
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string image((std::istreambuf_iterator<char>(file)), {});
  std::string plain = body(image, "foo_plain"), restricted = body(image, "foo_restrict");
  int loads_plain = occurrences(plain, "ld.global.f32") + occurrences(plain, "ld.global.nc.f32");
  int read_only = occurrences(restricted, "ld.global.nc.f32");
  int loads_restricted = occurrences(restricted, "ld.global.f32") + read_only;
  printf("  without: %d loads; with: %d loads, %d of them read-only\n", loads_plain, loads_restricted,
         read_only);
  expect(loads_plain == 12, "12 loads without __restrict__");
  expect(loads_restricted == 3 && read_only == 3, "3 read-only loads with it");

  // Both compute the same where the promise holds.
  float a[2] = {3, 5}, b[1] = {7}, c[2][6], *device;
  CUDA(cudaMalloc(&device, 9 * sizeof(float)));
  CUDA(cudaMemcpy(device, a, sizeof a, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(device + 2, b, sizeof b, cudaMemcpyHostToDevice));
  foo_plain<<<1, 1>>>(device, device + 2, device + 3);
  CUDA(cudaMemcpy(c[0], device + 3, sizeof c[0], cudaMemcpyDeviceToHost));
  foo_restrict<<<1, 1>>>(device, device + 2, device + 3);
  CUDA(cudaMemcpy(c[1], device + 3, sizeof c[1], cudaMemcpyDeviceToHost));
  const float wanted[6] = {21, 21, 105, 15, 21, 7};
  bool same = true;
  for (int i = 0; i < 6; ++i) same &= c[0][i] == wanted[i] && c[1][i] == wanted[i];
  expect(same, "the same results");

  // Where it does not hold the plain one obeys the order of the stores: c overlaps b.
  float overlap[8] = {3, 5, 7, 0, 0, 0, 0, 0};
  CUDA(cudaMemcpy(device, overlap, sizeof overlap, cudaMemcpyHostToDevice));
  foo_plain<<<1, 1>>>(device, device + 2, device + 2);
  CUDA(cudaMemcpy(overlap, device, sizeof overlap, cudaMemcpyDeviceToHost));
  expect(overlap[2] == 21 && overlap[3] == 63, "c[0] = 3*7 is b[0] for the next line: c[1] = 3*21");
  CUDA(cudaFree(device));
  return verdict();
}
