// SPDX-License-Identifier: MIT OR Apache-2.0
#include "twin.h"
// Streaming kernels: saxpy, the reductions, Black-Scholes, the transpose.

TWIN(saxpy) {
    const float *__restrict x = arguments.buffer<float>(0);
    float *__restrict y = arguments.buffer<float>(1);
    float a = arguments.real(0);
    int n = arguments.integer(1);
#pragma omp parallel for simd
    for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

// The blocks' partial sums of the GPU version are summed by the bench; here the first cell has all.
static void sum(const Arguments &arguments) {
    const float *__restrict in = arguments.buffer<float>(0);
    float *__restrict out = arguments.buffer<float>(1);
    int n = arguments.integer(0);
    float total = 0;
#pragma omp parallel for simd reduction(+ : total)
    for (int i = 0; i < n; i++) total += in[i];
    out[0] = total;
}
TWIN(reduction) { sum(arguments); }
TWIN(warp_reduction) { sum(arguments); }

static inline float cumulative_normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float polynomial = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
    return d > 0 ? 1.0f - tail : tail;
}

TWIN(black_scholes) {
    const float *__restrict price = arguments.buffer<float>(0), *__restrict strike = arguments.buffer<float>(1);
    const float *__restrict years = arguments.buffer<float>(2);
    float *__restrict call = arguments.buffer<float>(3), *__restrict put = arguments.buffer<float>(4);
    int n = arguments.integer(0);
#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        float s = price[i], x = strike[i], t = years[i], rate = 0.02f, volatility = 0.3f;
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float discount = expf(-rate * t), n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
        call[i] = s * n1 - x * discount * n2;
        put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
    }
}

TWIN(transpose) {
    const float *__restrict in = arguments.buffer<float>(0);
    float *__restrict out = arguments.buffer<float>(1);
    int n = arguments.integer(0);
    constexpr int T = 32;
#pragma omp parallel for collapse(2)
    for (int by = 0; by < n; by += T)
        for (int bx = 0; bx < n; bx += T)
            for (int x = 0; x < T; x++)
#pragma omp simd
                for (int y = 0; y < T; y++) out[(bx + x) * n + by + y] = in[(by + y) * n + bx + x];
}
