// SPDX-License-Identifier: MIT OR Apache-2.0
//! The extensions of sub-groups: what work-items of one sub-group tell each other. The work-group of 40 has a
//! sub-group of 32 and one of 8.

use crate::language::run;

/// Values of a row for each of the 40 work-items.
const GROUP: usize = 40;

/// What is expected of an item, its lane, and its sub-group's first item and size.
type Expected = fn(i32, i32, i32, i32) -> i32;

/// Runs one kernel that stores each expression's value for all work-items. In the expressions `i` is the item, `l` its
/// lane, `n` its sub-group's size, and `x` is `10 * i`.
fn check(rows: &[(&str, Expected)]) {
    let mut source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        kernel void f(global int *o) {
            int i = get_local_id(0), l = get_sub_group_local_id(), n = get_sub_group_size(), x = 10 * i, y = -1;\n"
        .to_owned();
    for (row, (expression, _)) in rows.iter().enumerate() {
        source += &format!("{{ {expression}; o[{} + i] = y; y = -1; }}\n", row * GROUP);
    }
    // The items that are more than the group find the kernel's end.
    source += "}";
    let values = run("-cl-std=CL3.0", &source, rows.len() * GROUP, GROUP);
    for ((expression, expected), values) in rows.iter().zip(values.chunks(GROUP)) {
        let item = |i: i32| expected(i, i % 32, i / 32 * 32, if i < 32 { 32 } else { 8 });
        let expected: Vec<i32> = (0..GROUP as i32).map(item).collect();
        assert_eq!(values, expected, "{expression}");
    }
}

#[test]
fn shuffles() {
    check(&[
        // The lane is known only when the program runs.
        ("y = sub_group_shuffle(x, (l + 3) % n)", |_, l, first, n| 10 * (first + (l + 3) % n)),
        ("y = sub_group_shuffle_xor(x, 5)", |_, l, first, _| 10 * (first + (l ^ 5))),
        ("int z = sub_group_shuffle_up(x, 2); y = l < 2 ? -1 : z", |i, l, _, _| {
            if l < 2 { -1 } else { 10 * (i - 2) }
        }),
        ("int z = sub_group_shuffle_down(x, 2); y = l + 2 < n ? z : -1", |i, l, _, n| {
            if l + 2 < n { 10 * (i + 2) } else { -1 }
        }),
        ("int z = sub_group_rotate(x, -3); y = n < 32 ? -1 : z", |_, l, _, n| {
            if n < 32 { -1 } else { 10 * ((l + 29) % 32) }
        }),
        ("y = sub_group_clustered_rotate(x, -1, 4)", |i, l, _, _| 10 * (i - l % 4 + (l + 3) % 4)),
        ("y = (int)(sub_group_shuffle((long)x << 32, l ^ 1) >> 32)", |i, _, _, _| 10 * (i ^ 1)),
        ("y = (int)sub_group_shuffle(x + 0.5, l ^ 1)", |i, _, _, _| 10 * (i ^ 1)),
        ("y = (int)sub_group_shuffle((half)l, l ^ 1)", |_, l, _, _| l ^ 1),
        ("y = sub_group_shuffle((char)-l, l ^ 1)", |_, l, _, _| -(l ^ 1)),
        ("y = sub_group_shuffle((ushort)(l - 1), l ^ 1)", |_, l, _, _| ((l ^ 1) - 1) & 0xffff),
    ]);
}

#[test]
fn broadcasts_and_ballots() {
    check(&[
        ("y = sub_group_broadcast((char)-i, 3)", |_, _, first, _| -(first + 3)),
        ("y = sub_group_broadcast((short3)(i, -i, 7), 2).y", |_, _, first, _| -(first + 2)),
        (
            "if (l >= 2) y = sub_group_broadcast_first(x)",
            |_, l, first, _| {
                if l < 2 { -1 } else { 10 * (first + 2) }
            },
        ),
        ("if (l & 1) y = sub_group_non_uniform_broadcast(x, l / 4 * 4 + 1)", |i, l, _, _| {
            if l & 1 == 0 { -1 } else { 10 * (i / 4 * 4 + 1) }
        }),
        ("y = (int)sub_group_ballot(l % 3 == 0).x", |_, _, _, n| {
            (0..n).filter(|l| l % 3 == 0).fold(0, |mask, l| mask | 1 << l)
        }),
        ("if (l > 4) y = (int)sub_group_ballot(1).x", |_, l, _, n| {
            if l <= 4 { -1 } else { (-1i32 as u32 >> (32 - n)) as i32 & !31 }
        }),
        ("y = sub_group_inverse_ballot((uint4)(0x11, 0, 0, 0))", |_, l, _, _| {
            i32::from(l == 0 || l == 4)
        }),
        ("y = sub_group_ballot_bit_extract((uint4)(0, 2, 0, 0), 33)", |_, _, _, _| 1),
        ("y = sub_group_ballot_bit_count((uint4)(0xf0f0, ~0u, 0, 0))", |_, _, _, _| 8),
        ("y = sub_group_ballot_inclusive_scan(sub_group_ballot(l & 1))", |_, l, _, _| (l + 1) / 2),
        ("y = sub_group_ballot_exclusive_scan(sub_group_ballot(l & 1))", |_, l, _, _| l / 2),
        (
            "y = sub_group_ballot_find_lsb((uint4)(0x50, 0, 0, 0)) * 100 + sub_group_ballot_find_msb((uint4)(0x50, 0, 0, 0))",
            |_, _, _, _| 406,
        ),
        (
            "y = popcount(get_sub_group_ge_mask().x) * 100 + popcount(get_sub_group_gt_mask().x)",
            |_, l, _, _| (32 - l) * 100 + 31 - l,
        ),
        (
            "y = popcount(get_sub_group_le_mask().x) * 100 + popcount(get_sub_group_lt_mask().x) + get_sub_group_eq_mask().x",
            |_, l, _, _| ((l + 1) * 100 + l).wrapping_add(1i32.wrapping_shl(l as u32)),
        ),
    ]);
}

#[test]
fn votes() {
    check(&[
        (
            "if (l >= 3) y = sub_group_elect()",
            |_, l, _, _| if l < 3 { -1 } else { i32::from(l == 3) },
        ),
        (
            "if (l & 1) y = sub_group_non_uniform_all(l & 1) + 2 * sub_group_non_uniform_any(l == 0)",
            |_, l, _, _| if l & 1 == 1 { 1 } else { -1 },
        ),
        (
            "y = sub_group_non_uniform_all_equal(l / 32) + 2 * sub_group_non_uniform_all_equal((float)l)",
            |_, _, _, _| 1,
        ),
    ]);
}

#[test]
fn arithmetic_of_some() {
    check(&[
        ("if (l % 3 == 1) y = sub_group_non_uniform_reduce_add(l)", |_, l, _, n| {
            if l % 3 == 1 { (0..n).filter(|l| l % 3 == 1).sum() } else { -1 }
        }),
        ("if (l % 3 == 1) y = sub_group_non_uniform_scan_inclusive_max(100 - l)", |_, l, _, _| {
            if l % 3 == 1 { 99 } else { -1 }
        }),
        ("if (l % 3 == 1) y = sub_group_non_uniform_scan_exclusive_add(l)", |_, l, _, _| {
            if l % 3 == 1 { (0..l).filter(|l| l % 3 == 1).sum() } else { -1 }
        }),
        ("y = sub_group_non_uniform_scan_exclusive_min((uchar)(200 - l))", |_, l, _, _| {
            if l == 0 { 255 } else { 201 - l }
        }),
        ("y = sub_group_non_uniform_reduce_mul((long)(l % 4 == 0 ? 3 : 1)) % 10007", |_, _, _, n| {
            3i32.pow(n as u32 / 4) % 10007
        }),
        ("y = (int)sub_group_non_uniform_reduce_and(0xff - (l & 1)) + (int)sub_group_non_uniform_reduce_xor(1u << l % 8)
            + (int)sub_group_non_uniform_reduce_or((ushort)(1 << l % 4))", |_, _, _, n| {
            0xfe + if n == 8 { 0xff } else { 0 } + 0xf
        }),
        ("y = sub_group_non_uniform_reduce_logical_and(5) + 2 * sub_group_non_uniform_reduce_logical_or(l == 6)
            + 4 * sub_group_non_uniform_reduce_logical_xor(l < 3)", |_, _, _, _| 7),
        ("y = sub_group_clustered_reduce_add(x, 4)", |i, _, _, _| 40 * (i / 4 * 4) + 60),
        ("y = (int)sub_group_clustered_reduce_max((half)l, 8)", |_, l, _, _| l / 8 * 8 + 7),
        // What the extension adds to the plain reductions.
        ("y = sub_group_reduce_add((uchar)l) + 1000 * sub_group_scan_inclusive_max((short)(-l))", |_, _, _, n| {
            n * (n - 1) / 2 % 256
        }),
    ]);
}
