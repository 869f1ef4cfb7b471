// SPDX-License-Identifier: MIT OR Apache-2.0
// Variables that begin without a value: what the compiler makes of them is not what tells.
// check: init

// launch: scalar_bug 32 32 zeros:128
// launch: scalar_good 32 32 zeros:128
kernel void scalar_bug(global int *out) {
    int x;
    out[get_global_id(0)] = x * 2; //~ init/result
}
kernel void scalar_good(global int *out) {
    int x;
    x = 3;
    out[get_global_id(0)] = x * 2;
}

// On one path only.
// launch: path_bug 32 32 zeros:128
// launch: path_good 32 32 zeros:128
kernel void path_bug(global int *out) {
    int i = get_global_id(0), x;
    if (i < 16) x = i;
    out[i] = x; //~ init/result
}
kernel void path_good(global int *out) {
    int i = get_global_id(0), x;
    if (i < 16) x = i;
    if (i < 16) out[i] = x;
}

// launch: both_bug 32 32 iota:32 zeros:128
// launch: both_good 32 32 iota:32 zeros:128
kernel void both_bug(global const int *in, global int *out) {
    int i = get_global_id(0), x;
    if (i < 16) x = in[i];
    out[0] = 1;
    if (i < 20 && x > 7) out[i] = x; //~ init/branch init/result
}
kernel void both_good(global const int *in, global int *out) {
    int i = get_global_id(0), x;
    if (i < 16) x = in[i];
    out[0] = 1;
    if (i < 16 && x > 7) out[i] = x;
}

// launch: branch_bug 32 32 zeros:128
kernel void branch_bug(global int *out) {
    int x;
    if (x > 7) out[get_global_id(0)] = 1; //~ init/branch init/result
    barrier(CLK_GLOBAL_MEM_FENCE);
}

// launch: index_bug 32 32 zeros:128
// launch: index_good 32 32 zeros:128
kernel void index_bug(global int *out) {
    int x;
    out[x & 31] = 1; //~ init/address
}
kernel void index_good(global int *out) {
    int x = get_global_id(0);
    out[x & 31] = 1;
}

// A vector that is set in part, and stored whole.
// launch: vector_bug 4 4 zeros:64
// launch: vector_good 4 4 zeros:64
kernel void vector_bug(global float4 *out) {
    float4 v;
    v.xzw = 4.2f;
    out[get_global_id(0)] = v; //~ init/result
}
kernel void vector_good(global float4 *out) {
    float4 v;
    v.xzw = 4.2f;
    v.y = v.x;
    out[get_global_id(0)] = v;
}

// launch: computed_bug 4 4 zeros:64
// launch: computed_good 4 4 zeros:16
kernel void computed_bug(global float4 *out) {
    float4 v;
    v.xzw = 4.2f;
    out[get_global_id(0)] = v - floor(v); //~ init/result
}
kernel void computed_good(global float *out) {
    float4 v;
    v.xzw = 4.2f;
    v = v - floor(v);
    out[get_global_id(0)] = v.x + v.w;
}

// Only what was set is used, and goes another way than the rest.
// launch: shuffled_good 4 4 zeros:32
kernel void shuffled_good(global float2 *out) {
    float4 v, w;
    v.xz = 1;
    w = v.yxwz + 1;
    out[get_global_id(0)] = w.yw;
}

// launch: bytes_good 4 4 zeros:16
// launch: bytes_bug 4 4 zeros:16
kernel void bytes_good(global uchar *out) {
    uchar4 v;
    v.xyz = (uchar3)(1, 2, 3);
    out[get_global_id(0)] = v.z;
}
kernel void bytes_bug(global uchar4 *out) {
    uchar4 v;
    v.xyz = (uchar3)(1, 2, 3);
    out[get_global_id(0)] = v; //~ init/result
}

// Vectors of three have the room of four.
// launch: three_floats_good 4 4 zeros:64 zeros:64
// launch: three_chars_good 4 4 zeros:16 int:3
// launch: three_shorts_good 4 4 zeros:32 int:3
// launch: three_doubles_good 4 4 zeros:128 int:3
// launch: three_longs_good 4 4 zeros:128 zeros:128
// launch: three_stored_good 4 4 zeros:64
kernel void three_floats_good(global const float3 *in, global float3 *out) {
    float3 v = in[get_global_id(0)], w;
    w.xy = v.zx + 1;
    w.z = v.y;
    out[get_global_id(0)] = w;
}
kernel void three_chars_good(global char3 *out, int n) {
    char3 v = (char3)(n, n >> 3, n + 7), w = v;
    out[get_global_id(0)] = w;
}
kernel void three_shorts_good(global short3 *out, int n) {
    short3 v = (short3)(n, n >> 3, n + 7);
    out[get_global_id(0)] = v;
}
kernel void three_doubles_good(global double3 *out, int n) {
    double3 v = (double3)(n, n >> 3, n + 7);
    out[get_global_id(0)] = v;
}
kernel void three_longs_good(global const long3 *in, global long3 *out) {
    long3 v;
    v = in[get_global_id(0)];
    out[get_global_id(0)] = v;
}
kernel void three_stored_good(global float *out) {
    float3 v;
    v.x = v.y = 1;
    v.z = 2;
    vstore3(v, get_global_id(0), out);
}

// launch: three_bug 4 4 zeros:64
kernel void three_bug(global float3 *out) {
    float3 v;
    v.xy = 1;
    out[get_global_id(0)] = v; //~ init/result
}

// Structures with padding, with vectors of three, and of which a part is never set.
struct Body {
    float3 place;
    char kind;
    int mass;
    char3 colour;
};
// launch: body_good 4 4 zeros:128 int:5
// launch: body_bug 4 4 zeros:128 int:5
// launch: bodies_good 4 4 zeros:128 zeros:128
kernel void body_good(global struct Body *out, int n) {
    struct Body b;
    b.place = n;
    b.kind = 3;
    b.mass = n;
    b.colour = (char)n;
    out[get_global_id(0)] = b;
}
kernel void body_bug(global struct Body *out, int n) {
    struct Body b;
    b.place = n;
    b.kind = 3;
    b.colour = (char)n;
    out[get_global_id(0)] = b; //~ init/result
}
kernel void bodies_good(global const struct Body *in, global struct Body *out) {
    struct Body b = in[get_global_id(0)];
    b.mass++;
    out[get_global_id(0)] = b;
}

// Of a union nobody sets all.
struct Value {
    int tag;
    union {
        float f;
        double d;
    } as;
};
// launch: union_good 4 4 zeros:64
kernel void union_good(global struct Value *out) {
    struct Value v;
    v.tag = 1;
    v.as.f = 2;
    out[get_global_id(0)] = v;
}

// An array whose indices are known once loops are unrolled.
// launch: array_bug 4 4 zeros:16
// launch: array_good 4 4 zeros:16
kernel void array_bug(global float *out) {
    float s[4];
    for (int i = 0; i < 3; i++) s[i] = i;
    out[get_global_id(0)] = s[0] + s[1] + s[2] + s[3]; //~ init/result
}
kernel void array_good(global float *out) {
    float s[4];
    for (int i = 0; i < 4; i++) s[i] = i;
    out[get_global_id(0)] = s[0] + s[1] + s[2] + s[3];
}

// What the last round set is not there in the next one.
// launch: loop_bug 4 4 zeros:16
// launch: loop_good 4 4 zeros:16
kernel void loop_bug(global float *out) {
    for (int i = 0; i < 4; i++) {
        float x;
        if (i == 0) x = 1;
        out[i] = x; //~ init/result
    }
}
kernel void loop_good(global float *out) {
    float x;
    for (int i = 0; i < 4; i++) {
        if (i == 0) x = 1;
        out[i] = x;
    }
}

// By value to a function that is called.
float first(float4 v) __attribute__((noinline));
float first(float4 v) { return v.x + 1; }
float sum(float4 v) __attribute__((noinline));
float sum(float4 v) { return v.x + v.w; }
// launch: called_good 4 4 zeros:16
// launch: called_bug 4 4 zeros:16
kernel void called_good(global float *out) {
    float4 v;
    v.xy = 1;
    out[get_global_id(0)] = first(v);
}
kernel void called_bug(global float *out) {
    float4 v;
    v.xy = 1;
    out[get_global_id(0)] = sum(v); //~ init/result
}
