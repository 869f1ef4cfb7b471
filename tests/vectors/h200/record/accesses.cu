// SPDX-License-Identifier: MIT OR Apache-2.0
// One memory instruction of one warp a launch, for a profiler to count. `accesses GROUP` launches the
// group's rows in order and writes them, one JSON object a line, to GROUP.rows; join.py adds the
// profiler's counters. All patterns come from one generator with a fixed seed.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

typedef uint32_t u32;
typedef uint64_t u64;

struct Row {
  u32 offset[32];
  u32 mask;
};

enum Op {
  SHARED_LD1, SHARED_LD2, SHARED_LD4, SHARED_LD8, SHARED_LD16,
  SHARED_ST1, SHARED_ST2, SHARED_ST4, SHARED_ST8, SHARED_ST16,
  SHARED_ADD_U32, SHARED_ADD_F32, SHARED_MAX_U32, SHARED_CAS_B32, SHARED_EXCH_B32,
  SHARED_ADD_U64, SHARED_ADD_F64, SHARED_MIN_S64, SHARED_CAS_B64, SHARED_EXCH_B64,
  SHARED_RED_ADD_U32, SHARED_RED_ADD_U64,
  LDMATRIX1, LDMATRIX2, LDMATRIX4,
  GLOBAL_LD1, GLOBAL_LD4, GLOBAL_LD8, GLOBAL_LD16, GLOBAL_LD8_NC,
  GLOBAL_ST1, GLOBAL_ST4, GLOBAL_ST8, GLOBAL_ST16,
  GLOBAL_ADD_U32, GLOBAL_ADD_U64, GLOBAL_ADD_F32, GLOBAL_ADD_F64, GLOBAL_CAS_B64, GLOBAL_EXCH_B32,
  GLOBAL_RED_ADD_U32, GLOBAL_RED_ADD_U64, GLOBAL_RED_ADD_F32, GLOBAL_RED_ADD_F64, GLOBAL_RED_MAX_U64,
  LOCAL_LD1, LOCAL_LD2, LOCAL_LD4, LOCAL_ST1, LOCAL_ST2, LOCAL_ST4,
};

__device__ inline u32 my_offset(const Row &row) {
  u32 lane = threadIdx.x, offset = 0;
#pragma unroll
  for (int i = 0; i < 32; i++)
    if (lane == i) offset = row.offset[i];
  return offset;
}

#define IS(op) if constexpr (OP == op)
#define LD32(form) asm volatile(form " %0, [%1];" : "=r"(a) : "r"(s) : "memory")
#define ATOM32(form) asm volatile(form " %0, [%1], %2;" : "=r"(a) : "r"(s), "r"(1) : "memory")

template <int OP>
__global__ void probe(Row row, char *global, u32 *out) {
  extern __shared__ __align__(1024) char shared[];
  u32 offset = my_offset(row);
  u32 s = (u32)__cvta_generic_to_shared(shared) + offset;
  u64 g = (u64)global + offset;
  u32 a = 0, b = 0, c = 0, d = 0;
  u64 l = 0;
  float f = 0;
  double e = 0;
  if constexpr (OP >= LDMATRIX1 && OP <= LDMATRIX4) {
    // All lanes take part: the address of a lane counts if its matrix is loaded.
    IS(LDMATRIX1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(s));
    IS(LDMATRIX2)
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(s));
    IS(LDMATRIX4)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(s));
  } else if (row.mask >> threadIdx.x & 1) {
    IS(SHARED_LD1) LD32("ld.shared.u8");
    IS(SHARED_LD2) { unsigned short h; asm volatile("ld.shared.u16 %0, [%1];" : "=h"(h) : "r"(s)); a = h; }
    IS(SHARED_LD4) LD32("ld.shared.u32");
    IS(SHARED_LD8) asm volatile("ld.shared.u64 %0, [%1];" : "=l"(l) : "r"(s));
    IS(SHARED_LD16)
      asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(s));
    IS(SHARED_ST1) asm volatile("st.shared.u8 [%0], %1;" ::"r"(s), "r"(offset) : "memory");
    IS(SHARED_ST2) asm volatile("st.shared.u16 [%0], %1;" ::"r"(s), "h"((unsigned short)offset) : "memory");
    IS(SHARED_ST4) asm volatile("st.shared.u32 [%0], %1;" ::"r"(s), "r"(offset) : "memory");
    IS(SHARED_ST8) asm volatile("st.shared.u64 [%0], %1;" ::"r"(s), "l"(g) : "memory");
    IS(SHARED_ST16)
      asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(s), "r"(offset) : "memory");
    IS(SHARED_ADD_U32) ATOM32("atom.shared.add.u32");
    IS(SHARED_MAX_U32) ATOM32("atom.shared.max.u32");
    IS(SHARED_EXCH_B32) ATOM32("atom.shared.exch.b32");
    IS(SHARED_CAS_B32)
      asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(a) : "r"(s), "r"(0), "r"(offset) : "memory");
    IS(SHARED_ADD_F32) asm volatile("atom.shared.add.f32 %0, [%1], %2;" : "=f"(f) : "r"(s), "f"(1.0f) : "memory");
    IS(SHARED_ADD_U64) asm volatile("atom.shared.add.u64 %0, [%1], %2;" : "=l"(l) : "r"(s), "l"(g) : "memory");
    IS(SHARED_MIN_S64) asm volatile("atom.shared.min.s64 %0, [%1], %2;" : "=l"(l) : "r"(s), "l"(-1ll - threadIdx.x) : "memory");
    IS(SHARED_EXCH_B64) asm volatile("atom.shared.exch.b64 %0, [%1], %2;" : "=l"(l) : "r"(s), "l"(g) : "memory");
    IS(SHARED_CAS_B64)
      asm volatile("atom.shared.cas.b64 %0, [%1], %2, %3;" : "=l"(l) : "r"(s), "l"(0ull), "l"(g) : "memory");
    IS(SHARED_ADD_F64) asm volatile("atom.shared.add.f64 %0, [%1], %2;" : "=d"(e) : "r"(s), "d"(1.0) : "memory");
    IS(SHARED_RED_ADD_U32) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(s), "r"(1) : "memory");
    IS(SHARED_RED_ADD_U64) asm volatile("red.shared.add.u64 [%0], %1;" ::"r"(s), "l"(g) : "memory");
    IS(GLOBAL_LD1) asm volatile("ld.global.u8 %0, [%1];" : "=r"(a) : "l"(g));
    IS(GLOBAL_LD4) asm volatile("ld.global.u32 %0, [%1];" : "=r"(a) : "l"(g));
    IS(GLOBAL_LD8) asm volatile("ld.global.u64 %0, [%1];" : "=l"(l) : "l"(g));
    IS(GLOBAL_LD8_NC) asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(l) : "l"(g));
    IS(GLOBAL_LD16)
      asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(g));
    IS(GLOBAL_ST1) asm volatile("st.global.u8 [%0], %1;" ::"l"(g), "r"(offset) : "memory");
    IS(GLOBAL_ST4) asm volatile("st.global.u32 [%0], %1;" ::"l"(g), "r"(offset) : "memory");
    IS(GLOBAL_ST8) asm volatile("st.global.u64 [%0], %1;" ::"l"(g), "l"(g) : "memory");
    IS(GLOBAL_ST16) asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(g), "r"(offset) : "memory");
    IS(GLOBAL_ADD_U32) asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(a) : "l"(g), "r"(offset) : "memory");
    IS(GLOBAL_EXCH_B32) asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(a) : "l"(g), "r"(offset) : "memory");
    IS(GLOBAL_ADD_U64) asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(l) : "l"(g), "l"(g) : "memory");
    IS(GLOBAL_CAS_B64)
      asm volatile("atom.global.cas.b64 %0, [%1], %2, %3;" : "=l"(l) : "l"(g), "l"(0ull), "l"(g) : "memory");
    IS(GLOBAL_ADD_F32) asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(f) : "l"(g), "f"(1.0f) : "memory");
    IS(GLOBAL_ADD_F64) asm volatile("atom.global.add.f64 %0, [%1], %2;" : "=d"(e) : "l"(g), "d"(1.0) : "memory");
    IS(GLOBAL_RED_ADD_U32) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(g), "r"(offset) : "memory");
    IS(GLOBAL_RED_ADD_U64) asm volatile("red.global.add.u64 [%0], %1;" ::"l"(g), "l"(g) : "memory");
    IS(GLOBAL_RED_MAX_U64) asm volatile("red.global.max.u64 [%0], %1;" ::"l"(g), "l"(g) : "memory");
    IS(GLOBAL_RED_ADD_F32) asm volatile("red.global.add.f32 [%0], %1;" ::"l"(g), "f"(1.0f) : "memory");
    IS(GLOBAL_RED_ADD_F64) asm volatile("red.global.add.f64 [%0], %1;" ::"l"(g), "d"(1.0) : "memory");
    if constexpr (OP >= LOCAL_LD1 && OP <= LOCAL_ST4) {
      __align__(16) char local[256];
      u64 p;
      asm volatile("cvta.to.local.u64 %0, %1;" : "=l"(p) : "l"((u64)local));
      p += offset;
      IS(LOCAL_LD1) asm volatile("ld.local.u8 %0, [%1];" : "=r"(a) : "l"(p));
      IS(LOCAL_LD2) { unsigned short h; asm volatile("ld.local.u16 %0, [%1];" : "=h"(h) : "l"(p)); a = h; }
      IS(LOCAL_LD4) asm volatile("ld.local.u32 %0, [%1];" : "=r"(a) : "l"(p));
      IS(LOCAL_ST1) asm volatile("st.local.u8 [%0], %1;" ::"l"(p), "r"(offset) : "memory");
      IS(LOCAL_ST2) asm volatile("st.local.u16 [%0], %1;" ::"l"(p), "h"((unsigned short)offset) : "memory");
      IS(LOCAL_ST4) asm volatile("st.local.u32 [%0], %1;" ::"l"(p), "r"(offset) : "memory");
    }
  }
  constexpr bool silent = (OP >= SHARED_ST1 && OP <= SHARED_ST16) || (OP >= GLOBAL_ST1 && OP <= GLOBAL_ST16) ||
      OP == SHARED_RED_ADD_U32 || OP == SHARED_RED_ADD_U64 || (OP >= GLOBAL_RED_ADD_U32 && OP <= GLOBAL_RED_MAX_U64) ||
      (OP >= LOCAL_ST1 && OP <= LOCAL_ST4);
  if constexpr (!silent) out[threadIdx.x] = a + b + c + d + (u32)l + (u32)(l >> 32) + (u32)f + (u32)e;
}

static char *global_memory;
static u32 *out;
static FILE *rows;
static int next_id = 10000;

static u64 state = 0x9e3779b97f4a7c15ull;
static u32 random_below(u32 n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (u32)((state >> 20) % n);
}

template <int OP>
static void go(const char *space, const char *op, const char *atomic, int width, const Row &row) {
  cudaFuncSetAttribute(probe<OP>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
  probe<OP><<<1, 32, OP < GLOBAL_LD1 ? 64 << 10 : 0>>>(row, global_memory, out);
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) {
    fprintf(stderr, "%s %s %d: %s\n", space, op, width, cudaGetErrorString(error));
    exit(1);
  }
  fprintf(rows, "{\"id\":%d,\"space\":\"%s\",\"op\":\"%s\",", next_id++, space, op);
  if (*atomic) fprintf(rows, "\"atomic\":\"%s\",", atomic);
  fprintf(rows, "\"width\":%d,\"base\":0,\"active\":\"%08x\",\"offsets\":[", width, row.mask);
  for (int i = 0; i < 32; i++) fprintf(rows, i ? ",%u" : "%u", row.offset[i]);
  fprintf(rows, "]}\n");
}

// A mask: all, or one of several kinds of part.
static u32 some_mask() {
  switch (random_below(8)) {
    case 0: return ~0u;
    case 1: return 0x55555555;
    case 2: return 0x33333333;
    case 3: return 0xaaaaaaaa;
    case 4: return ~0u >> random_below(32);
    case 5: return (u32)random_below(1 << 16) << 16 | random_below(1 << 16) | 1;
    case 6: return ~(1u << random_below(32));
    default: return (random_below(1 << 16) | random_below(1 << 16)) * 0x10001u | 0x80000000u;
  }
}

// Offsets in `range` words of `width` bytes: random, strided, paired at lane distance 1, 2 or 4, in
// blocks, or few values.
static Row pattern(u32 width, u32 range) {
  Row row;
  row.mask = some_mask();
  u32 kind = random_below(9), stride = 1 + random_below(range / 32), start = random_below(range);
  u32 few = 1 + random_below(24);
  u32 pool[32];
  for (int i = 0; i < 32; i++) pool[i] = random_below(range);
  for (u32 i = 0; i < 32; i++) {
    u32 word;
    switch (kind) {
      case 0: word = random_below(range); break;
      case 1: word = start + i * stride; break;
      case 2: word = pool[i >> 1]; break;
      case 3: word = pool[i & ~2u]; break;
      case 4: word = pool[i & ~4u]; break;
      case 5: word = pool[random_below(few)]; break;
      case 6: word = start + (i >> 1) * stride; break;
      case 7: word = start + (i & ~2u) * stride; break;
      default: word = i < 16 ? pool[i >> 1] : pool[i & ~2u]; break;
    }
    row.offset[i] = word % range * width;
  }
  // Sometimes one lane breaks the pattern.
  if (random_below(4) == 0) row.offset[random_below(32)] = random_below(range) * width;
  return row;
}

#define GO(OP, space, op, atomic, width, range, times) \
  for (int n = 0; n < times; n++) go<OP>(space, op, atomic, width, pattern(width, range))

static void shared_loads() {
  GO(SHARED_LD8, "shared", "ld", "", 8, 64, 50);
  GO(SHARED_LD8, "shared", "ld", "", 8, 512, 40);
  GO(SHARED_LD16, "shared", "ld", "", 16, 32, 50);
  GO(SHARED_LD16, "shared", "ld", "", 16, 256, 40);
  GO(SHARED_LD4, "shared", "ld", "", 4, 512, 15);
  GO(SHARED_LD2, "shared", "ld", "", 2, 512, 10);
  GO(SHARED_LD1, "shared", "ld", "", 1, 512, 10);
  for (int n = 0; n < 8; n++) {
    Row row = pattern(16, n < 4 ? 32 : 256);
    row.mask = ~0u;
    go<LDMATRIX1>("shared", "ldmatrix.x1", "", 16, row);
    go<LDMATRIX2>("shared", "ldmatrix.x2", "", 16, row);
    go<LDMATRIX4>("shared", "ldmatrix.x4", "", 16, row);
  }
}

static void shared_stores() {
  GO(SHARED_ST8, "shared", "st", "", 8, 128, 30);
  GO(SHARED_ST16, "shared", "st", "", 16, 64, 30);
  GO(SHARED_ST4, "shared", "st", "", 4, 256, 10);
  GO(SHARED_ST2, "shared", "st", "", 2, 256, 10);
  GO(SHARED_ST1, "shared", "st", "", 1, 256, 10);
}

static void shared_atomics() {
  GO(SHARED_ADD_U64, "shared", "atom", "add.u64", 8, 64, 30);
  GO(SHARED_RED_ADD_U64, "shared", "red", "add.u64", 8, 64, 20);
  GO(SHARED_CAS_B64, "shared", "atom", "cas.b64", 8, 64, 15);
  GO(SHARED_EXCH_B64, "shared", "atom", "exch.b64", 8, 64, 12);
  GO(SHARED_MIN_S64, "shared", "atom", "min.s64", 8, 64, 12);
  GO(SHARED_ADD_F64, "shared", "atom", "add.f64", 8, 64, 12);
  GO(SHARED_ADD_F32, "shared", "atom", "add.f32", 4, 64, 20);
  GO(SHARED_ADD_U32, "shared", "atom", "add.u32", 4, 64, 12);
  GO(SHARED_MAX_U32, "shared", "atom", "max.u32", 4, 64, 8);
  GO(SHARED_CAS_B32, "shared", "atom", "cas.b32", 4, 64, 12);
  GO(SHARED_EXCH_B32, "shared", "atom", "exch.b32", 4, 64, 8);
  GO(SHARED_RED_ADD_U32, "shared", "red", "add.u32", 4, 64, 8);
}

static void global_red() {
  GO(GLOBAL_RED_ADD_U64, "global", "red", "add.u64", 8, 128, 20);
  GO(GLOBAL_RED_ADD_U64, "global", "red", "add.u64", 8, 1024, 30);
  // Two lanes share a sector; each of the others has a line of its own, or half a line.
  for (int n = 0; n < 60; n++) {
    Row row;
    row.mask = ~0u;
    u32 apart = n % 3 == 0 ? 64 : n % 3 == 1 ? 128 : 256;
    for (int i = 0; i < 32; i++) row.offset[i] = i * apart + 8 * random_below(4);
    int first = random_below(31), second = first + 1 + random_below(31 - first);
    row.offset[second] = (row.offset[first] & ~31u) + (row.offset[first] + 8 & 31);
    if (n >= 30)  // shuffled, so that neighbouring lanes have distant lines
      for (int i = 31; i > 0; i--) std::swap(row.offset[i], row.offset[random_below(i + 1)]);
    go<GLOBAL_RED_ADD_U64>("global", "red", "add.u64", 8, row);
  }
  GO(GLOBAL_RED_ADD_U32, "global", "red", "add.u32", 4, 512, 15);
  GO(GLOBAL_RED_ADD_F32, "global", "red", "add.f32", 4, 256, 8);
  GO(GLOBAL_RED_ADD_F64, "global", "red", "add.f64", 8, 256, 15);
  GO(GLOBAL_RED_MAX_U64, "global", "red", "max.u64", 8, 256, 15);
}

static void global_atom() {
  GO(GLOBAL_ADD_U32, "global", "atom", "add.u32", 4, 256, 12);
  GO(GLOBAL_ADD_U64, "global", "atom", "add.u64", 8, 256, 20);
  GO(GLOBAL_ADD_F32, "global", "atom", "add.f32", 4, 256, 8);
  GO(GLOBAL_ADD_F64, "global", "atom", "add.f64", 8, 256, 8);
  GO(GLOBAL_CAS_B64, "global", "atom", "cas.b64", 8, 256, 12);
  GO(GLOBAL_EXCH_B32, "global", "atom", "exch.b32", 4, 256, 8);
}

static void global_ld() {
  GO(GLOBAL_LD1, "global", "ld", "", 1, 2048, 8);
  GO(GLOBAL_LD4, "global", "ld", "", 4, 2048, 12);
  GO(GLOBAL_LD8, "global", "ld", "", 8, 512, 12);
  GO(GLOBAL_LD16, "global", "ld", "", 16, 256, 12);
  GO(GLOBAL_LD8_NC, "global", "ld", "", 8, 512, 8);
}

static void global_st() {
  GO(GLOBAL_ST1, "global", "st", "", 1, 2048, 8);
  GO(GLOBAL_ST4, "global", "st", "", 4, 2048, 8);
  GO(GLOBAL_ST8, "global", "st", "", 8, 512, 8);
  GO(GLOBAL_ST16, "global", "st", "", 16, 256, 8);
}

static void local_ld() {
  GO(LOCAL_LD1, "local", "ld", "", 1, 256, 10);
  GO(LOCAL_LD2, "local", "ld", "", 2, 128, 10);
  GO(LOCAL_LD4, "local", "ld", "", 4, 64, 6);
}

static void local_st() {
  GO(LOCAL_ST1, "local", "st", "", 1, 256, 10);
  GO(LOCAL_ST2, "local", "st", "", 2, 128, 10);
  GO(LOCAL_ST4, "local", "st", "", 4, 64, 6);
}

// Rows of a file: operation, mask in hexadecimal, 32 offsets.
static void rows_of(const char *name) {
  FILE *file = fopen(name, "r");
  char op[64];
  Row row;
  while (file && fscanf(file, "%63s %x", op, &row.mask) == 2) {
    for (u32 &offset : row.offset)
      if (fscanf(file, "%u", &offset) != 1) exit(2);
#define ROW(OP, space, kind, atomic, width) \
  if (strcmp(op, #OP) == 0) go<OP>(space, kind, atomic, width, row);
    ROW(GLOBAL_RED_ADD_U64, "global", "red", "add.u64", 8)
    ROW(GLOBAL_RED_ADD_U32, "global", "red", "add.u32", 4)
    ROW(GLOBAL_RED_ADD_F32, "global", "red", "add.f32", 4)
    ROW(GLOBAL_RED_ADD_F64, "global", "red", "add.f64", 8)
    ROW(GLOBAL_RED_MAX_U64, "global", "red", "max.u64", 8)
    ROW(GLOBAL_ADD_U32, "global", "atom", "add.u32", 4)
    ROW(GLOBAL_ADD_U64, "global", "atom", "add.u64", 8)
    ROW(GLOBAL_EXCH_B32, "global", "atom", "exch.b32", 4)
    ROW(GLOBAL_CAS_B64, "global", "atom", "cas.b64", 8)
    ROW(SHARED_LD16, "shared", "ld", "", 16)
    ROW(SHARED_MIN_S64, "shared", "atom", "min.s64", 8)
  }
  if (file) fclose(file);
}

int main(int argc, char **argv) {
  if (argc == 3) {  // accesses FILE.in FIRST_ID
    cudaMalloc(&global_memory, 1 << 20);
    cudaMemset(global_memory, 0, 1 << 20);
    cudaMalloc(&out, 4096);
    rows = fopen((std::string(argv[1]) + ".rows").c_str(), "w");
    next_id = atoi(argv[2]);
    rows_of(argv[1]);
    return fclose(rows);
  }
  struct {
    const char *name;
    void (*run)();
  } groups[] = {{"shared_ld", shared_loads}, {"shared_st", shared_stores}, {"shared_atom", shared_atomics},
                {"global_red", global_red},  {"global_atom", global_atom}, {"global_ld", global_ld},
                {"global_st", global_st},    {"local_ld", local_ld},       {"local_st", local_st}};
  for (auto &group : groups) {
    next_id += 1000;
    state += 77;
    if (argc == 2 && strcmp(argv[1], group.name) == 0) {
      cudaMalloc(&global_memory, 1 << 20);
      cudaMemset(global_memory, 0, 1 << 20);
      cudaMalloc(&out, 4096);
      rows = fopen((std::string(group.name) + ".rows").c_str(), "w");
      group.run();
      return fclose(rows);
    }
  }
  fprintf(stderr, "usage: accesses GROUP\n");
  return 2;
}
