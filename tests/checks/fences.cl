// SPDX-License-Identifier: MIT OR Apache-2.0
// Barriers that order one kind of memory only, by the flags that they are given.
// check: race

// launch: global_by_local_bug 64 64 zeros:256 zeros:256
// launch: global_by_local_good 64 64 zeros:256 zeros:256
kernel void global_by_local_bug(global int *p, global int *out) {
    int i = get_local_id(0);
    p[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = p[63 - i]; //~ race/read-write
}
kernel void global_by_local_good(global int *p, global int *out) {
    int i = get_local_id(0);
    p[i] = i;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = p[63 - i];
}

// launch: local_by_global_bug 64 64 zeros:256
// launch: local_by_global_good 64 64 zeros:256
kernel void local_by_global_bug(global int *out) {
    local int s[64];
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = s[63 - i]; //~ race/read-write
}
kernel void local_by_global_good(global int *out) {
    local int s[64];
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    out[i] = s[63 - i];
}

// Each kind has its own barrier, in a loop; the flags come from a function.
// launch: in_turns_bug 64 64 zeros:256 zeros:256
// launch: in_turns_good 64 64 zeros:256 zeros:256
void meet(cl_mem_fence_flags flags) {
    barrier(flags);
}
kernel void in_turns_bug(global int *p, global int *out) {
    local int s[64];
    int i = get_local_id(0), sum = 0;
    for (int round = 0; round < 3; round++) {
        s[i] = round;
        meet(CLK_LOCAL_MEM_FENCE);
        sum += s[63 - i];
        p[i] = sum;
        meet(CLK_LOCAL_MEM_FENCE);
        sum += p[63 - i]; //~ race/read-write
    }
    out[i] = sum;
}
kernel void in_turns_good(global int *p, global int *out) {
    local int s[64];
    int i = get_local_id(0), sum = 0;
    for (int round = 0; round < 3; round++) {
        s[i] = round;
        meet(CLK_LOCAL_MEM_FENCE);
        sum += s[63 - i];
        p[i] = sum;
        meet(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        sum += p[63 - i];
        meet(CLK_GLOBAL_MEM_FENCE);
    }
    out[i] = sum;
}

// Atomics synchronise both.
// launch: atomic_flag_good 64 64 zeros:256 zeros:4 zeros:4
kernel void atomic_flag_good(global int *p, global volatile int *flag, global int *out) {
    local int s[64];
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 63) {
        p[0] = s[1];
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_xchg(flag, 1);
    } else if (i == 0) {
        while (atomic_or(flag, 0) == 0) {}
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        *out = p[0];
    }
}
