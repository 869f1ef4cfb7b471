// SPDX-License-Identifier: MIT OR Apache-2.0
// Values that nobody has written.
// check: init

// launch: global_bug 32 32 new:128 zeros:128
// launch: global_good 32 32 zeros:128 zeros:128
kernel void global_bug(global const int *p, global int *out) {
    int i = get_global_id(0);
    out[i] = p[i] * 2; //~ init/result
}
kernel void global_good(global const int *p, global int *out) {
    int i = get_global_id(0);
    out[i] = p[i] * 2;
}

// launch: branch_bug 32 32 new:128 zeros:128
// launch: branch_good 32 32 zeros:128 zeros:128
kernel void branch_bug(global const int *p, global int *out) {
    int i = get_global_id(0);
    if (p[i] > 3) atomic_inc(out); //~ init/branch
}
kernel void branch_good(global const int *p, global int *out) {
    int i = get_global_id(0);
    if (p[i] > 3) atomic_inc(out);
}

// launch: index_bug 32 32 new:128 zeros:128
// launch: index_good 32 32 zeros:128 zeros:128
kernel void index_bug(global const int *p, global int *out) {
    int i = get_global_id(0);
    out[p[i] & 31] = i; //~ init/address
}
kernel void index_good(global const int *p, global int *out) {
    int i = get_global_id(0);
    out[(p[i] + i) & 31] = i;
}

// launch: local_bug 32 32 zeros:128
// launch: local_good 32 32 zeros:128
kernel void local_bug(global int *out) {
    local int s[32];
    int i = get_local_id(0);
    if (i != 16) s[i] = i;
    out[i] = s[i]; //~ init/result
}
kernel void local_good(global int *out) {
    local int s[32];
    int i = get_local_id(0);
    s[i] = i;
    out[i] = s[i];
}

// launch: pointer_bug 32 32 local:128 zeros:128
// launch: pointer_good 32 32 local:128 zeros:128
kernel void pointer_bug(local int *s, global int *out) {
    int i = get_local_id(0);
    if (i < 31) s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = s[31 - i] + 1; //~ init/result
}
kernel void pointer_good(local int *s, global int *out) {
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = s[31 - i] + 1;
}

// launch: atomic_bug 32 32 new:4
// launch: atomic_good 32 32 zeros:4
kernel void atomic_bug(global int *p) {
    atomic_inc(p); //~ init/atomic
}
kernel void atomic_good(global int *p) {
    atomic_inc(p);
}

// launch: private_bug 1 1 iota:4 zeros:16
// launch: private_good 1 1 iota:4 zeros:16
kernel void private_bug(global const int *at, global int *out) {
    int s[8];
    for (int i = 0; i < 3; i++) s[at[i]] = i;
    for (int i = 0; i < 4; i++) out[i] = s[at[i]]; //~ init/result
}
kernel void private_good(global const int *at, global int *out) {
    int s[8];
    for (int i = 0; i < 4; i++) s[at[i]] = i;
    for (int i = 0; i < 4; i++) out[i] = s[at[i]];
}
