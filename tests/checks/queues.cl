// SPDX-License-Identifier: MIT OR Apache-2.0
// Races between command queues, and in one that is out of order: commands that no event, barrier or clFinish orders.
// check: race

kernel void make_bug(global int *p) {
    p[get_global_id(0)] = 1; //~ race/streams
}
kernel void take_bug(global const int *p, global int *q) {
    q[get_global_id(0)] = p[15 - get_global_id(0)]; //~ race/streams
}
// buffer: x zeros:64
// buffer: y zeros:64
// on one: make_bug 16 16 buffer:x
// on two: take_bug 16 16 buffer:x buffer:y

kernel void make_good(global int *p) {
    p[get_global_id(0)] = 1;
}
kernel void take_good(global const int *p, global int *q) {
    q[get_global_id(0)] = p[15 - get_global_id(0)];
}
// An event, clFinish, and the order of a queue.
// buffer: a zeros:64
// buffer: b zeros:64
// on one as made: make_good 16 16 buffer:a
// on two after made: take_good 16 16 buffer:a buffer:b
// on two: take_good 16 16 buffer:b buffer:a
// on two: finish
// on one: take_good 16 16 buffer:a buffer:b
// on one: take_good 16 16 buffer:b buffer:a

// Out of order: nothing orders the two.
kernel void first_bug(global int *p) {
    p[get_global_id(0)] = 2; //~ race/streams
}
kernel void second_bug(global int *p) {
    p[get_global_id(0)] += 3; //~ race/streams
}
// buffer: c zeros:64
// on out: first_bug 16 16 buffer:c
// on out: second_bug 16 16 buffer:c

kernel void first_good(global int *p) {
    p[get_global_id(0)] = 2;
}
kernel void second_good(global int *p) {
    p[get_global_id(0)] += 3;
}
// buffer: d zeros:64
// on out as filled: fill d
// on out as written after filled: first_good 16 16 buffer:d
// on out after written: second_good 16 16 buffer:d
// on out: barrier
// on out: second_good 16 16 buffer:d
// on out: finish
// on out: second_good 16 16 buffer:d

// A marker without a list waits for all, and what comes later waits for none of it.
kernel void marked_bug(global int *p) {
    p[get_global_id(0)] = 4; //~ race/streams
}
kernel void marked_good(global int *p) {
    p[get_global_id(0)] = 4;
}
// buffer: e zeros:64
// on out: marked_bug 16 16 buffer:e
// on out: marker
// on out: marked_bug 16 16 buffer:e
// buffer: f zeros:64
// on out: marked_good 16 16 buffer:f
// on out as all: marker
// on out after all: marked_good 16 16 buffer:f

// A fill that does not wait for the kernel.
kernel void filled_bug(global int *p) {
    p[get_global_id(0)] = 5; //~ race/streams
}
// buffer: g zeros:64
// on out: filled_bug 16 16 buffer:g
// on one: fill g
