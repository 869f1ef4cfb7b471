// SPDX-License-Identifier: MIT OR Apache-2.0
// The built-in vector types have the same size and alignment on host and device, by CUDA's table.
#include "example.h"

struct Row {
  const char *name;
  size_t size, align;
};
#define ROW(T) {#T, sizeof(T), alignof(T)}
#define ROWS                                                                                       \
  ROW(char1), ROW(uchar1), ROW(char2), ROW(uchar2), ROW(char3), ROW(uchar3), ROW(char4),           \
      ROW(uchar4), ROW(short1), ROW(ushort1), ROW(short2), ROW(ushort2), ROW(short3),              \
      ROW(ushort3), ROW(short4), ROW(ushort4), ROW(int1), ROW(uint1), ROW(int2), ROW(uint2),       \
      ROW(int3), ROW(uint3), ROW(int4), ROW(uint4), ROW(long1), ROW(ulong1), ROW(long2),           \
      ROW(ulong2), ROW(long3), ROW(ulong3), ROW(long4), ROW(ulong4), ROW(longlong1),               \
      ROW(longlong2), ROW(longlong3), ROW(longlong4), ROW(float1), ROW(float2), ROW(float3),       \
      ROW(float4), ROW(double1), ROW(double2), ROW(double3), ROW(double4)
static const Row host_rows[] = {ROWS};
constexpr int count = sizeof host_rows / sizeof host_rows[0];

__global__ void device_rows(size_t *out) {
  const Row rows[] = {ROWS};
  for (int i = 0; i < count; ++i) {
    out[2 * i] = rows[i].size;
    out[2 * i + 1] = rows[i].align;
  }
}

// The table "Alignment Requirements" of the CUDA C++ Programming Guide; sizes follow.
static size_t wanted(const char *name) {
  char base[16];
  int n = 0;
  const char *p = name[0] == 'u' ? name + 1 : name;
  int i = 0;
  for (; p[i] < '0' || p[i] > '9'; ++i) base[i] = p[i];
  base[i] = 0;
  n = p[i] - '0';
  auto is = [&](const char *t) {
    int k = 0;
    while (base[k] && base[k] == t[k]) ++k;
    return base[k] == t[k];
  };
  size_t element = is("char") ? 1 : is("short") ? 2 : is("int") || is("float") ? 4 : 8;
  if (n == 1 || n == 3) return element;
  size_t whole = element * n;
  return whole > 16 ? 16 : whole;
}

int main() {
  puts("vector types: sizes and alignments");
  size_t *device, got[2 * count];
  CUDA(cudaMalloc(&device, sizeof got));
  device_rows<<<1, 1>>>(device);
  CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
  printf("  %-10s %5s %6s\n", "type", "size", "align");
  bool table = true, same = true;
  for (int i = 0; i < count; ++i) {
    const Row &r = host_rows[i];
    printf("  %-10s %5zu %6zu\n", r.name, r.size, r.align);
    table &= r.align == wanted(r.name);
    same &= got[2 * i] == r.size && got[2 * i + 1] == r.align;
  }
  expect(table, "the host's alignments are the table's");
  expect(same, "the device's sizes and alignments are the host's");
  float4 f = make_float4(1, 2, 3, 4);
  expect(f.x == 1 && f.w == 4 && make_uchar2(250, 251).y == 251, "make_float4, make_uchar2");
  CUDA(cudaFree(device));
  return verdict();
}
