// SPDX-License-Identifier: MIT OR Apache-2.0
// Accelerations of all pairs; positions pass through shared memory by tiles of 256.
#include "dialect.h"
KERNEL(256, 1) void nbody(GLOBAL const float4 *RESTRICT bodies, GLOBAL float4 *RESTRICT acceleration, int n) {
    LOCAL float4 tile[256];
    int i = GLOBAL_X, lane = LOCAL_X;
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (int first = 0; first < n; first += 256) {
        tile[lane] = bodies[first + lane];
        BARRIER();
        for (int j = 0; j < 256; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = RSQRT(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = other.w * inverse * inverse * inverse;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        BARRIER();
    }
    acceleration[i] = MAKE_FLOAT4(ax, ay, az, 0.0f);
}
