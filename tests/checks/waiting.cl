// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiting for global memory that nobody is left to write.
// check: sync

// launch: flag_bug 64 32 zeros:4 zeros:256 int:7
// launch: flag_good 64 32 zeros:4 zeros:256 int:1
kernel void flag_bug(volatile global int *flag, global int *out, int setter) {
    if (get_group_id(0) == setter) {
        *flag = 1;
        return;
    }
    while (*flag == 0) { //~ sync/deadlock
    }
    out[get_global_id(0)] = 1;
}
kernel void flag_good(volatile global int *flag, global int *out, int setter) {
    if (get_group_id(0) == setter) {
        *flag = 1;
        return;
    }
    while (*flag == 0) {
    }
    out[get_global_id(0)] = 1;
}

// A lock that its first owner keeps, and a count of looks that nobody reads before the loop ends.
// launch: lock_bug 4 1 zeros:4 zeros:16 int:7
// launch: lock_good 4 1 zeros:4 zeros:16 int:-1
kernel void lock_bug(volatile global int *lock, global int *looks, int last) {
    int count = 0;
    while (atomic_cmpxchg(lock, 0, 1) != 0) count++; //~ sync/deadlock
    looks[get_global_id(0)] = count;
    if ((int)get_group_id(0) > last) atomic_xchg(lock, 0);
}
kernel void lock_good(volatile global int *lock, global int *looks, int last) {
    int count = 0;
    while (atomic_cmpxchg(lock, 0, 1) != 0) count++;
    looks[get_global_id(0)] = count;
    if ((int)get_group_id(0) > last) atomic_xchg(lock, 0);
}
