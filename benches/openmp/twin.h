// SPDX-License-Identifier: MIT OR Apache-2.0
// What an OpenMP twin sees: the buffers and scalars of its bench case, in the case's order.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

struct Arguments {
    void *const *buffers;
    const uint32_t *scalars;
    template <class T> T *buffer(int i) const { return static_cast<T *>(buffers[i]); }
    int integer(int i) const { return static_cast<int>(scalars[i]); }
    float real(int i) const {
        float value;
        memcpy(&value, &scalars[i], 4);
        return value;
    }
};

#define TWIN(name) extern "C" void twin_##name(const Arguments &arguments)

// The same result by another algorithm that suits a CPU better than the kernel's own.
#define OTHER(name) extern "C" void other_##name(const Arguments &arguments)
