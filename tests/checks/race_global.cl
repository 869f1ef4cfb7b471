// SPDX-License-Identifier: MIT OR Apache-2.0
// Races in global memory, within a group and between groups.
// check: race

// launch: sum_bug 64 16 zeros:4
// launch: sum_good 64 16 zeros:4
kernel void sum_bug(global int *sum) {
    *sum += get_global_id(0); //~ race/write-write race/read-write
}
kernel void sum_good(global int *sum) {
    atomic_add(sum, get_global_id(0));
}

// launch: overlap_bug 64 16 zeros:260
// launch: overlap_good 64 16 zeros:260
kernel void overlap_bug(global int *out) {
    int i = get_global_id(0);
    out[i] = i;
    out[i + 1] = -i; //~ race/write-write
}
kernel void overlap_good(global int *out) {
    int i = get_global_id(0);
    out[i] = i;
}

// launch: stencil_bug 64 16 iota:66
// launch: stencil_good 64 16 iota:66 zeros:264
kernel void stencil_bug(global int *p) {
    int i = get_global_id(0) + 1;
    p[i] = p[i - 1] + p[i + 1]; //~ race/read-write
}
kernel void stencil_good(global const int *p, global int *q) {
    int i = get_global_id(0) + 1;
    q[i] = p[i - 1] + p[i + 1];
}

// A barrier orders the work-items of a group, and not groups.
// launch: groups_bug 64 16 zeros:256 zeros:256
// launch: groups_good 64 64 zeros:256 zeros:256
kernel void groups_bug(global int *p, global int *out) {
    int i = get_global_id(0);
    p[i] = i;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = p[(i + 16) % 64]; //~ race/read-write
}
kernel void groups_good(global int *p, global int *out) {
    int i = get_global_id(0);
    p[i] = i;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = p[(i + 16) % 64];
}

// launch: last_bug 64 16 zeros:4 zeros:16 zeros:4
// launch: last_good 64 16 zeros:4 zeros:16 zeros:4
kernel void last_bug(global int *done, global int *part, global int *sum) {
    if (get_local_id(0) != 0) return;
    part[get_group_id(0)] = get_group_id(0);
    if (atomic_inc(done) == 3) {
        int all = 0;
        for (int i = 0; i < 4; i++) all += part[i]; //~ race/read-write
        *sum = all;
    }
}
kernel void last_good(global int *done, global int *part, global int *sum) {
    if (get_local_id(0) != 0) return;
    atomic_xchg(&part[get_group_id(0)], (int)get_group_id(0));
    if (atomic_inc(done) == 3) {
        int all = 0;
        for (int i = 0; i < 4; i++) all += atomic_add(&part[i], 0);
        *sum = all;
    }
}

// launch: peek_bug 64 16 zeros:4 zeros:256
// launch: peek_good 64 16 zeros:4 zeros:256
kernel void peek_bug(global int *count, global int *out) {
    atomic_inc(count);
    out[get_global_id(0)] = *count; //~ race/atomic-plain
}
kernel void peek_good(global int *count, global int *out) {
    out[get_global_id(0)] = atomic_inc(count);
}

// launch: header_bug 64 16 zeros:4 zeros:256
// launch: header_good 64 16 zeros:4 zeros:256
kernel void header_bug(global int *head, global int *out) {
    if (get_global_id(0) == 0) *head = 7;
    out[get_global_id(0)] = *head; //~ race/read-write
}
kernel void header_good(global const int *head, global int *out) {
    out[get_global_id(0)] = *head;
}

// launch: pairs_bug 32 32 zeros:128
// launch: pairs_good 32 32 zeros:128
kernel void pairs_bug(global int2 *p) {
    int i = get_local_id(0);
    p[i / 2] = (int2)(i, i); //~ race/write-write
}
kernel void pairs_good(global int *p) {
    int i = get_local_id(0);
    p[i] = i;
}
