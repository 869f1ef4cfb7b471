// SPDX-License-Identifier: MIT OR Apache-2.0
// Races in local memory between the work-items of a group.
// check: race,sync

// launch: neighbour_bug 128 128 zeros:512
// launch: neighbour_good 128 128 zeros:512
kernel void neighbour_bug(global int *out) {
    local int s[128];
    int i = get_local_id(0);
    s[i] = i;
    out[i] = s[(i + 32) % 128]; //~ race/read-write
}
kernel void neighbour_good(global int *out) {
    local int s[128];
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = s[(i + 32) % 128];
}

// launch: reuse_bug 128 128 zeros:512
// launch: reuse_good 128 128 zeros:512
kernel void reuse_bug(global int *out) {
    local int s[128];
    int i = get_local_id(0), sum = 0;
    for (int round = 0; round < 4; round++) {
        s[i] = round * i; //~ race/read-write
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += s[127 - i];
    }
    out[i] = sum;
}
kernel void reuse_good(global int *out) {
    local int s[128];
    int i = get_local_id(0), sum = 0;
    for (int round = 0; round < 4; round++) {
        s[i] = round * i;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += s[127 - i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sum;
}

// launch: tree_bug 256 256 zeros:4 local:1024
// launch: tree_good 256 256 zeros:4 local:1024
kernel void tree_bug(global int *out, local int *s) {
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int h = 128; h > 0; h /= 2)
        if (i < h) s[i] += s[i + h]; //~ race/read-write
    if (i == 0) *out = s[0];
}
kernel void tree_good(global int *out, local int *s) {
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int h = 128; h > 0; h /= 2) {
        if (i < h) s[i] += s[i + h];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i == 0) *out = s[0];
}

// launch: one_word_bug 128 128 zeros:512
// launch: one_word_good 128 128 zeros:512
kernel void one_word_bug(global int *out) {
    local int s;
    int i = get_local_id(0);
    if (i % 32 == 0) s = i; //~ race/write-write
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = s;
}
kernel void one_word_good(global int *out) {
    local int s;
    int i = get_local_id(0);
    if (i == 0) s = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = s;
}

// launch: counter_bug 64 64 zeros:4
// launch: counter_good 64 64 zeros:4
kernel void counter_bug(global int *out) {
    local int count;
    int i = get_local_id(0);
    if (i == 0) count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    count++; //~ race/write-write race/read-write race/same-value
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) *out = count;
}
kernel void counter_good(global int *out) {
    local int count;
    int i = get_local_id(0);
    if (i == 0) count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&count);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) *out = count;
}

// launch: half_atomic_bug 64 64 zeros:4
// launch: half_atomic_good 64 64 zeros:4
kernel void half_atomic_bug(global int *out) {
    local int best;
    int i = get_local_id(0);
    if (i == 0) best = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < 32) atomic_max(&best, i);
    else best = i; //~ race/atomic-plain race/write-write
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) *out = best;
}
kernel void half_atomic_good(global int *out) {
    local int best;
    int i = get_local_id(0);
    if (i == 0) best = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_max(&best, i);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) *out = best;
}

// launch: bytes_bug 64 64 zeros:64
// launch: bytes_good 64 64 zeros:64
kernel void bytes_bug(global char *out) {
    local char s[65];
    int i = get_local_id(0);
    s[i] = i;
    s[i + 1] = 0; //~ race/write-write
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = s[i];
}
kernel void bytes_good(global char *out) {
    local char s[65];
    int i = get_local_id(0);
    s[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = s[i];
}

// launch: transpose_bug 16x16 16x16 iota:256 zeros:1024
// launch: transpose_good 16x16 16x16 iota:256 zeros:1024
kernel void transpose_bug(global const int *in, global int *out) {
    local int tile[16][17];
    int x = get_local_id(0), y = get_local_id(1);
    tile[y][x] = in[y * 16 + x];
    out[y * 16 + x] = tile[x][y]; //~ race/read-write
}
kernel void transpose_good(global const int *in, global int *out) {
    local int tile[16][17];
    int x = get_local_id(0), y = get_local_id(1);
    tile[y][x] = in[y * 16 + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[y * 16 + x] = tile[x][y];
}

// launch: scan_bug 64 64 iota:64 zeros:256
// launch: scan_good 64 64 iota:64 zeros:256
kernel void scan_bug(global const int *in, global int *out) {
    local int s[64];
    int i = get_local_id(0);
    s[i] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < 64; step *= 2) {
        int other = i >= step ? s[i - step] : 0;
        s[i] += other; //~ race/read-write
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = s[i];
}
kernel void scan_good(global const int *in, global int *out) {
    local int s[64];
    int i = get_local_id(0);
    s[i] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < 64; step *= 2) {
        int other = i >= step ? s[i - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        s[i] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = s[i];
}

// launch: bins_bug 32 32 zeros:64
// launch: bins_good 32 32 zeros:64
kernel void bins_bug(global int *out) {
    local int bins[16];
    int i = get_local_id(0);
    if (i < 16) bins[i] = 0;
    atomic_inc(&bins[i * 5 % 16]); //~ race/atomic-plain
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < 16) out[i] = bins[i];
}
kernel void bins_good(global int *out) {
    local int bins[16];
    int i = get_local_id(0);
    if (i < 16) bins[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[i * 5 % 16]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < 16) out[i] = bins[i];
}
