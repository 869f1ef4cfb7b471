// SPDX-License-Identifier: MIT OR Apache-2.0
// Every result of the approximate functions' unit on ranges that show its tables, and `fma.oob` on every half.
// `function_units DIRECTORY` writes
// - NAME.delta for each range: the first result (4 bytes), then the difference of each to the one before (1 byte; -128
//   announces 4 bytes of the result itself);
// - fma_oob.txt: `form role other other = hash` of the 65,536 results where one operand takes every value, and the
//   values that gave +0 where 1 would not have, for one pair.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define F32(name, form)                                                                                                \
    __global__ void name(uint32_t first, uint32_t *r, uint32_t n) {                                                    \
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;                                                            \
        if (i >= n) return;                                                                                            \
        uint32_t x = first + i, y;                                                                                     \
        asm volatile("{.reg .f32 x, y; mov.b32 x, %1; " form " y, x; mov.b32 %0, y;}" : "=r"(y) : "r"(x));             \
        r[i] = y;                                                                                                      \
    }
F32(rcp, "rcp.approx.ftz.f32") F32(rsq, "rsqrt.approx.ftz.f32") F32(sqrt_, "sqrt.approx.ftz.f32")
F32(lg2, "lg2.approx.ftz.f32") F32(ex2, "ex2.approx.ftz.f32")
#define OOB(name, form)                                                                                                \
    __global__ void name(int role, uint16_t p, uint16_t q, uint16_t *r) {                                              \
        uint16_t v = (uint16_t)(blockIdx.x * blockDim.x + threadIdx.x), a, b, c, d;                                    \
        a = role == 0 ? v : p; b = role == 1 ? v : role == 0 ? p : q; c = role == 2 ? v : q;                           \
        asm volatile(form " %0, %1, %2, %3;" : "=h"(d) : "h"(a), "h"(b), "h"(c));                                      \
        r[v] = d;                                                                                                      \
    }
OOB(oob_h, "fma.rn.oob.f16") OOB(oob_h_relu, "fma.rn.oob.relu.f16")
OOB(oob_b, "fma.rn.oob.bf16") OOB(oob_b_relu, "fma.rn.oob.relu.bf16")

static void must(cudaError_t e) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s\n", cudaGetErrorString(e));
    exit(1);
}
int main(int, char **argv) {
    std::string folder = argv[1];
    struct Range { const char *name; void (*kernel)(uint32_t, uint32_t *, uint32_t); uint32_t first; };
    const uint32_t count = 1u << 23;
    const Range ranges[] = {
        {"rcp_1", rcp, 0x3f800000}, {"rsq_1", rsq, 0x3f800000}, {"rsq_2", rsq, 0x40000000},
        {"sqrt_1", sqrt_, 0x3f800000}, {"sqrt_2", sqrt_, 0x40000000}, {"lg2_half", lg2, 0x3f000000},
        {"lg2_1", lg2, 0x3f800000}, {"lg2_8", lg2, 0x41000000}, {"ex2_half", ex2, 0x3f000000},
        {"ex2_1", ex2, 0x3f800000}, {"ex2_minus_1", ex2, 0xbf800000},
    };
    uint32_t *device;
    must(cudaMalloc(&device, count * 4));
    std::vector<uint32_t> r(count);
    for (const Range &range : ranges) {
        range.kernel<<<count / 256, 256>>>(range.first, device, count);
        must(cudaMemcpy(r.data(), device, count * 4, cudaMemcpyDeviceToHost));
        FILE *f = fopen((folder + "/" + range.name + ".delta").c_str(), "wb");
        std::vector<uint8_t> out;
        auto whole = [&](uint32_t v) { for (int b = 0; b < 4; b++) out.push_back(v >> 8 * b); };
        whole(r[0]);
        for (uint32_t i = 1; i < count; i++) {
            int32_t d = (int32_t)(r[i] - r[i - 1]);
            if (d > -128 && d < 128) out.push_back((uint8_t)(int8_t)d);
            else { out.push_back(0x80); whole(r[i]); }
        }
        fwrite(out.data(), 1, out.size(), f);
        fclose(f);
    }
    FILE *f = fopen((folder + "/fma_oob.txt").c_str(), "w");
    struct { const char *name; void (*kernel)(int, uint16_t, uint16_t, uint16_t *); bool brain; } forms[] = {
        {"fma.rn.oob.f16", oob_h, false}, {"fma.rn.oob.relu.f16", oob_h_relu, false},
        {"fma.rn.oob.bf16", oob_b, true}, {"fma.rn.oob.relu.bf16", oob_b_relu, true}};
    std::vector<uint16_t> h(65536);
    for (auto &form : forms) {
        uint16_t one = form.brain ? 0x3f80 : 0x3c00, infinity = form.brain ? 0x7f80 : 0x7c00;
        uint16_t others[][2] = {{one, one}, {one, (uint16_t)(one | 0x8000)}, {0, one}, {infinity, one}, {one, infinity},
                                {0x7fff, one}, {one, 0x7fff}, {0xffff, one}, {0x7fc1, 0x1234}, {0x8001, 0x4567}};
        for (int role = 0; role < 3; role++)
            for (auto &o : others) {
                form.kernel<<<256, 256>>>(role, o[0], o[1], (uint16_t *)device);
                must(cudaMemcpy(h.data(), device, 131072, cudaMemcpyDeviceToHost));
                uint64_t hash = 0xcbf29ce484222325ull;
                for (uint16_t v : h) { hash = (hash ^ (v & 255)) * 0x100000001b3ull; hash = (hash ^ (v >> 8)) * 0x100000001b3ull; }
                fprintf(f, "%s %d %04x %04x = %016llx\n", form.name, role, o[0], o[1], (unsigned long long)hash);
                if (o[0] == one && o[1] == one)
                    for (uint32_t v = infinity + 1; v < 65536; v++)
                        if ((v & 0x7fff) > infinity && h[v] == 0) fprintf(stderr, "%s role %d: %04x gives 0\n", form.name, role, v);
                if (role == 0 && o[0] == one && o[1] == one)
                    fprintf(stderr, "%s: NaN 7fc1 -> %04x, inf+1 -> %04x\n", form.name, h[0x7fc1], h[infinity + 1]);
            }
    }
    fclose(f);
    return 0;
}
