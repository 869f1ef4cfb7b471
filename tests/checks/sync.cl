// SPDX-License-Identifier: MIT OR Apache-2.0
// Barriers that not every work-item of a group reaches.
// check: sync

// launch: half_warp_bug 32 32 zeros:128
// launch: half_warp_good 32 32 zeros:128
kernel void half_warp_bug(global int *out) {
    int i = get_local_id(0);
    if (i < 16) {
        out[i] = i;
        barrier(CLK_GLOBAL_MEM_FENCE); //~ sync/divergent-barrier sync/different-barriers sync/deadlock
    } else {
        out[i] = -i;
    }
    out[i] += 1;
}
kernel void half_warp_good(global int *out) {
    int i = get_local_id(0);
    if (i < 16) out[i] = i;
    else out[i] = -i;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] += 1;
}

// launch: two_sides_bug 64 64 zeros:256
// launch: two_sides_good 64 64 zeros:256
kernel void two_sides_bug(global int *out) {
    int i = get_local_id(0);
    if (i < 32) {
        out[i] = 1;
        barrier(CLK_GLOBAL_MEM_FENCE); //~? sync/different-barriers
        out[i] += out[63 - i];
    } else {
        out[i] = 2;
        barrier(CLK_GLOBAL_MEM_FENCE); //~ sync/different-barriers
        out[i] += 3;
    }
}
kernel void two_sides_good(global int *out) {
    int i = get_local_id(0);
    out[i] = i < 32 ? 1 : 2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] += 3;
}
