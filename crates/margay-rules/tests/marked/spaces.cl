// SPDX-License-Identifier: MIT OR Apache-2.0
// Address spaces of OpenCL C 1.2.
constant int table[4] = {1, 2, 3, 4};
global int in_global; //~ MG506
int without; //~ MG506
constant int unset; //~ MG507
kernel void no_space(int *p) {} //~ MG501
kernel void in_private(private int *p) {} //~ MG501
kernel void pointers(global int *global *p) {} //~ MG502
kernel void to_private(global int **p) {} //~ MG501
kernel void boolean(bool b, global int *p) {} //~ MG503
kernel void sized(size_t n, global int *p) {} //~ MG503
kernel int returns(global int *p) { return p[0]; } //~ MG504
void helper(int *p, private int *q) { p[0] = q[0]; }
struct Space {
    global int *p;
    local int n; //~ MG513
};
int recursive(int n) { return n < 2 ? 1 : n * recursive(n - 1); } //~ MG515
int variadic(int n, ...) { return n; } //~ MG516
kernel void variables(global int *p, constant int *c, local int *l, int n) {
    local int tile[32];
    local int set = 1; //~ MG510
    global int variable; //~ MG505
    global int *q = p;
    constant char *text = "constant";
    char *string = "private"; //~ MG511
    if (n) {
        local int inner; //~ MG509
    }
    int size[n]; //~ MG517
    static int kept; //~ MG518
    local int *to_local = (local int *)p; //~ MG512
    p = l; //~ MG512
    table[0] = 1; //~ MG508
    c[0] = 1; //~ MG508
    int (*f)(int) = recursive; //~ MG514
    if (get_local_id(0) < 4) barrier(CLK_LOCAL_MEM_FENCE); //~ MG519
    if (get_group_id(0) < 4) barrier(CLK_LOCAL_MEM_FENCE);
    tile[0] = q[0] + recursive(2);
}
void outside() {
    local int s; //~ MG509
}
kernel __attribute__((reqd_work_group_size(64, 64, 1))) void too_many(global int *p) { p[0] = 1; } //~ MG520
kernel void too_much(global int *p) {
    local char s[300000]; //~ MG522
    p[0] = s[0];
}
