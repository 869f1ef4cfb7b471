// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes the launches of launches.txt through the driver API, once each, from the PTX beside it:
//   c++ record.cpp -lcuda -o record && ./record launches.txt
// Under Nsight Compute its kernels are what `counters.csv` holds; on margay they are what it is compared with.

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

static void check(CUresult result, const char *what) {
    if (result != CUDA_SUCCESS) {
        const char *name = nullptr;
        cuGetErrorName(result, &name);
        std::fprintf(stderr, "%s: %s\n", what, name ? name : "?");
        std::exit(1);
    }
}

static std::vector<unsigned char> contents(char kind, size_t bytes) {
    std::vector<unsigned char> out(bytes);
    unsigned state = 12345;
    for (size_t i = 0; kind != 'z' && (i + 1) * (kind == 'd' ? 8 : 4) <= bytes; i++) {
        state = state * 1664525u + 1013904223u;
        float f = static_cast<float>(i);
        double d = static_cast<double>(i);
        if (kind == 'f') std::memcpy(&out[4 * i], &f, 4);
        else if (kind == 'd') std::memcpy(&out[8 * i], &d, 8);
        else std::memcpy(&out[4 * i], &state, 4);
    }
    return out;
}

static void shape(const std::string &text, unsigned (&out)[3]) {
    out[0] = out[1] = out[2] = 1;
    std::sscanf(text.c_str(), "%ux%ux%u", &out[0], &out[1], &out[2]);
}

int main(int argc, char **argv) {
    const std::string list = argc > 1 ? argv[1] : "launches.txt";
    const std::string directory = list.substr(0, list.find_last_of('/') + 1);
    CUdevice device;
    CUcontext context;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    std::map<std::string, CUmodule> modules;
    std::ifstream file(list);
    std::string line;
    int launches = 0;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        std::string module, kernel, grid_text, block_text, word;
        unsigned shared = 0, grid[3], block[3];
        words >> module >> kernel >> grid_text >> block_text >> shared;
        shape(grid_text, grid);
        shape(block_text, block);
        if (!modules.count(module)) {
            std::ifstream ptx(directory + module + ".ptx");
            std::stringstream text;
            text << ptx.rdbuf();
            CUjit_option options[] = {CU_JIT_GENERATE_LINE_INFO};
            void *values[] = {reinterpret_cast<void *>(1)};
            check(cuModuleLoadDataEx(&modules[module], text.str().c_str(), 1, options, values), module.c_str());
        }
        CUfunction function;
        check(cuModuleGetFunction(&function, modules[module], kernel.c_str()), kernel.c_str());
        std::vector<unsigned long long> values;
        std::vector<CUdeviceptr> buffers;
        while (words >> word) {
            if (word[0] >= '0' && word[0] <= '9') {
                values.push_back(std::strtoull(word.c_str(), nullptr, 10));
                continue;
            }
            std::vector<unsigned char> bytes = contents(word[0], std::strtoull(word.c_str() + 1, nullptr, 10));
            CUdeviceptr at;
            check(cuMemAlloc(&at, bytes.size()), "cuMemAlloc");
            check(cuMemcpyHtoD(at, bytes.data(), bytes.size()), "cuMemcpyHtoD");
            buffers.push_back(at);
            values.push_back(at);
        }
        std::vector<void *> arguments;
        for (auto &value : values) arguments.push_back(&value);
        check(cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, nullptr, arguments.data(), nullptr), kernel.c_str());
        check(cuCtxSynchronize(), kernel.c_str());
        for (CUdeviceptr at : buffers) cuMemFree(at);
        launches++;
    }
    std::printf("%d launches\n", launches);
    return launches ? 0 : 1;
}
