// SPDX-License-Identifier: MIT OR Apache-2.0
// Points of the unit square inside the circle, by a xorshift generator a thread.
#include "dialect.h"
KERNEL(256, 1) void monte_carlo(GLOBAL uint *RESTRICT inside, int samples) {
    uint state = (uint)GLOBAL_X * 2654435761u + 12345u, count = 0;
    for (int i = 0; i < samples; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float x = (state & 0xffffu) * (1.0f / 65536.0f), y = (state >> 16) * (1.0f / 65536.0f);
        count += x * x + y * y < 1.0f;
    }
    inside[GLOBAL_X] = count;
}
