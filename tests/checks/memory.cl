// SPDX-License-Identifier: MIT OR Apache-2.0
// Accesses outside what a kernel may touch. Each ends its launch; the next begins anew.
// check: memory

// launch: past_end_bug 96 32 zeros:256
// launch: past_end_good 96 32 zeros:256
kernel void past_end_bug(global int *p) {
    p[get_global_id(0)] = 1; //~ memory/out-of-bounds
}
kernel void past_end_good(global int *p) {
    if (get_global_id(0) < 64) p[get_global_id(0)] = 1;
}

// launch: before_bug 1 1 zeros:64 zeros:4
// launch: before_good 1 1 zeros:64 zeros:4
kernel void before_bug(global const int *p, global int *out) {
    *out = p[-1]; //~ memory/out-of-bounds
}
kernel void before_good(global const int *p, global int *out) {
    *out = p[0];
}

// launch: null_bug 1 1 null zeros:4
// launch: null_good 1 1 null zeros:4
kernel void null_bug(global const int *p, global int *out) {
    *out = *p; //~ memory/out-of-bounds
}
kernel void null_good(global const int *p, global int *out) {
    *out = p ? *p : 0;
}

// launch: local_bug 32 32 local:64 zeros:128
// launch: local_good 32 32 local:128 zeros:128
kernel void local_bug(local int *s, global int *out) {
    s[get_local_id(0)] = 1; //~ memory/shared-out-of-bounds
    out[get_local_id(0)] = s[get_local_id(0)];
}
kernel void local_good(local int *s, global int *out) {
    s[get_local_id(0)] = 1;
    out[get_local_id(0)] = s[get_local_id(0)];
}

// launch: local_variable_bug 32 32 zeros:128 int:32
// launch: local_variable_good 32 32 zeros:128 int:32
kernel void local_variable_bug(global int *out, int n) {
    local int a[32], b[32];
    local int *p = a;
    p[get_local_id(0)] = b[get_local_id(0)] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 3) p[n] = 1; //~ memory/shared-out-of-bounds
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[get_local_id(0)] + b[31 - get_local_id(0)];
}
kernel void local_variable_good(global int *out, int n) {
    local int a[32], b[32];
    local int *p = a;
    p[get_local_id(0)] = b[get_local_id(0)] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 3) p[n - 1] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[get_local_id(0)] + b[31 - get_local_id(0)];
}

// launch: atomic_bug 5 1 zeros:16
// launch: atomic_good 4 1 zeros:16
kernel void atomic_bug(global int *p) {
    atomic_inc(p + get_global_id(0)); //~ memory/out-of-bounds
}
kernel void atomic_good(global int *p) {
    atomic_inc(p + get_global_id(0));
}

// launch: vector_bug 1 1 zeros:64
// launch: vector_good 1 1 zeros:64
kernel void vector_bug(global int *p) {
    *(global int4 *)(p + 1) = (int4)(1); //~ memory/misaligned
}
kernel void vector_good(global int *p) {
    vstore4((int4)(1), 0, p + 1);
}

// launch: last_byte_bug 1 1 zeros:100
// launch: last_byte_good 1 1 zeros:100
kernel void last_byte_bug(global char *p) {
    p[100] = 1; //~ memory/out-of-bounds
}
kernel void last_byte_good(global char *p) {
    p[99] = 1;
}

// launch: rows_bug 8x9 8x1 zeros:256
// launch: rows_good 8x8 8x1 zeros:256
kernel void rows_bug(global int *p) {
    p[get_global_id(1) * 8 + get_global_id(0)] = 1; //~ memory/out-of-bounds
}
kernel void rows_good(global int *p) {
    p[get_global_id(1) * 8 + get_global_id(0)] = 1;
}

// launch: promised_read_bug 32 32 iota:32:ro zeros:128
// launch: promised_read_good 32 32 iota:32:ro zeros:128
kernel void promised_read_bug(global int *in, global int *out) {
    int i = get_global_id(0);
    out[i] = in[i];
    in[i] = 0; //~ memory/read-only-buffer
}
kernel void promised_read_good(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] = in[i];
}

// launch: promised_write_bug 32 32 iota:32 zeros:128:wo
// launch: promised_write_good 32 32 iota:32 zeros:128:wo
kernel void promised_write_bug(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] += in[i]; //~ memory/write-only-buffer
}
kernel void promised_write_good(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] = in[i];
}

// launch: member_bug 4 4 zeros:64
// launch: member_good 4 4 zeros:64
struct Record {
    int name;
    char bytes[2];
    int rest[2];
};
kernel void member_bug(global int *out) {
    struct Record r = {1, {2, 3}, {4, 5}};
    int i = get_global_id(0);
    r.bytes[i] = i; //~ memory/array-bounds
    out[i] = r.rest[i]; //~ memory/array-bounds
}
kernel void member_good(global int *out) {
    struct Record r = {1, {2, 3}, {4, 5}};
    int i = get_global_id(0);
    r.bytes[i & 1] = i;
    out[i] = r.rest[i & 1];
}

// The array at the end of a structure may be open, and one past the end is an address.
// launch: open_good 4 4 zeros:64
struct Open {
    int count;
    int values[1];
};
kernel void open_good(global struct Open *p) {
    int mine[4];
    int sum = 0, i = get_global_id(0);
    for (int n = 0; n < 4; n++) mine[n] = n * i;
    for (int *at = &mine[0]; at != &mine[4]; at++) sum += *at;
    p->values[i] = sum;
}

// An argument in local memory that is overrun into the next, and one that is overrun into the gap behind it.
// launch: arguments_bug 32 32 local:128 local:128 zeros:128 int:32
// launch: gap_bug 32 32 local:100 local:128 zeros:128 int:25
// launch: arguments_good 32 32 local:128 local:128 zeros:128 int:31
kernel void arguments_bug(local int *a, local int *b, global int *out, int n) {
    a[get_local_id(0)] = b[get_local_id(0)] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 3) a[n] = 1; //~ memory/shared-out-of-bounds
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[get_local_id(0)] + b[31 - get_local_id(0)];
}
kernel void gap_bug(local int *a, local int *b, global int *out, int n) {
    b[get_local_id(0)] = n;
    if (get_local_id(0) <= n) a[get_local_id(0)] = n; //~ memory/shared-out-of-bounds
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[get_local_id(0) % n] + b[31 - get_local_id(0)];
}
kernel void arguments_good(local int *a, local int *b, global int *out, int n) {
    a[get_local_id(0)] = b[get_local_id(0)] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 3) a[n] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = a[get_local_id(0)] + b[31 - get_local_id(0)];
}
