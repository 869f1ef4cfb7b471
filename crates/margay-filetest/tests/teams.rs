// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code for whole blocks whose warps run side by side, and stores that go past the caches: beside the interpreter, and beside what
//! is computed here.

mod beside;

use beside::{JIT, agrees, kernel, numbers, result};

/// The sum over `k < n` of `in[row * n + k] * in[k * width + column]`, of threads that `guard` lets through.
fn product(guard: &str) -> String {
    kernel(&format!(
        "{guard}\nmov.u32 %r20, 0;\nmov.u32 %r21, 0;\nsetp.eq.u32 %p0, %r8, 0;\n@%p0 bra STORE;\n\
         mul.lo.u32 %r22, %r6, %r8;\nmul.wide.u32 %d4, %r22, 4;\nadd.s64 %d4, %d0, %d4;\nmov.u32 %r23, %r7;\n\
         LOOP:\nld.global.u32 %r24, [%d4];\nmul.wide.s32 %d5, %r23, 4;\nadd.s64 %d5, %d0, %d5;\nld.global.u32 %r25, [%d5];\n\
         mad.lo.u32 %r20, %r24, %r25, %r20;\nadd.s64 %d4, %d4, 4;\nadd.u32 %r23, %r23, %r10;\nadd.u32 %r21, %r21, 1;\n\
         setp.lt.u32 %p1, %r21, %r8;\n@%p1 bra LOOP;\nSTORE:\nst.global.u32 [%d3], %r20;"
    ))
}

const SHAPES: [([u32; 3], [u32; 3]); 6] = [
    ([3, 2, 1], [16, 16, 1]),
    ([2, 3, 1], [32, 5, 1]),
    ([2, 2, 1], [32, 1, 1]),
    ([3, 1, 1], [96, 1, 1]),
    ([1, 5, 1], [8, 8, 1]),
    ([2, 1, 1], [64, 6, 1]),
];

/// Threads in a row of all, and rows.
fn extent((grid, block): ([u32; 3], [u32; 3])) -> [usize; 2] {
    [0, 1].map(|d| (grid[d] * block[d]) as usize)
}

/// Does something for each shape, with what products of 33 terms read there.
fn on_all_shapes(work: impl Fn(([u32; 3], [u32; 3]), &[u32], [usize; 2])) {
    for shape in SHAPES {
        let [width, height] = extent(shape);
        work(shape, &numbers(height.max(width) * 33 + 1), [width, height]);
    }
}

#[test]
fn products_are_what_they_are() {
    for shape in SHAPES {
        let [width, height] = extent(shape);
        for n in [0, 1, 2, 7, 33] {
            let input = numbers((height * n).max(width * n) + 1);
            let at = |i: usize| input[i];
            let expected: Vec<u32> = (0..width * height)
                .map(|i| (i / width, i % width))
                .map(|(y, x)| {
                    let terms = (0..n).map(|k| at(y * n + k).wrapping_mul(at(k * width + x)));
                    terms.fold(0u32, u32::wrapping_add)
                })
                .collect();
            for how in JIT {
                let found =
                    result(&product(""), (&input, width * height), n as u32, shape, how).unwrap();
                assert!(found == expected, "{shape:?}, {n}, {how:?}");
            }
        }
    }
}

#[test]
fn warps_that_go_different_ways_and_threads_that_fault_are_as_interpreted() {
    let guards = [
        // Some threads of a row, some rows, every other warp, and the last thread alone.
        "setp.ge.u32 %p7, %r7, 21;\n@%p7 bra END;",
        "setp.ge.u32 %p7, %r6, 5;\n@%p7 bra END;",
        "and.b32 %r39, %r5, 32;\nsetp.ne.u32 %p7, %r39, 0;\n@%p7 bra END;",
        "setp.eq.u32 %p7, %r5, 0;\n@%p7 bra END;",
        // Each row has a number of turns of its own; each thread.
        "and.b32 %r8, %r6, 7;",
        "and.b32 %r8, %r5, 7;",
    ];
    on_all_shapes(|shape, input, [width, height]| {
        for guard in guards {
            let text = product(guard);
            agrees(&text, (input, width * height), 33, shape, guard);
            // Rows at the end, or the last turns, are not there any more.
            for less in [1, width, 16 * width, input.len() / 2] {
                let few = &input[..input.len() - 1 - less];
                agrees(&text, (few, width * height), 33, shape, guard);
            }
        }
    });
}

#[test]
fn what_data_choose_behind_a_loop_is_each_warps_own() {
    let ends = [
        "and.b32 %r39, %r20, 1;\nsetp.eq.u32 %p6, %r39, 0;\n@%p6 bra END;",
        "and.b32 %r39, %r0, 31;\nsetp.ne.u32 %p6, %r39, 0;\n@%p6 bra END;\nadd.u32 %r20, %r20, 5;",
        "and.b32 %r39, %r20, 3;\nsetp.lt.u32 %p6, %r39, 2;\n@!%p6 bra STAY;\nxor.b32 %r20, %r20, %r21;\nSTAY:",
        // A loop of a lane's own behind that of all.
        "and.b32 %r39, %r20, 7;\nTURN:\nadd.u32 %r20, %r20, %r39;\nsub.u32 %r39, %r39, 1;\nsetp.gt.s32 %p6, %r39, 0;\n@%p6 bra TURN;",
    ];
    on_all_shapes(|shape, input, [width, height]| {
        for end in ends {
            let text = product("").replace("STORE:\n", &format!("STORE:\n{end}\n"));
            agrees(&text, (input, width * height), 33, shape, end);
        }
        // The loop itself ends where there is no more to do, in another turn for some warps.
        let text = product("").replace(
            "setp.lt.u32 %p1, %r21, %r8;",
            "add.u32 %r38, %r21, %r7;\nsetp.lt.u32 %p1, %r38, %r8;",
        );
        agrees(&text, (input, width * height), 33, shape, "a slope");
    });
}

#[test]
fn teams_part_at_barriers_and_meet_again() {
    // Tiles of shared memory: stored, read by all, and stored again.
    let text = kernel(
        "mad.lo.u32 %r11, %r1, %r3, %r0;\nmul.lo.u32 %r12, %r3, %r4;\nmov.u32 %r13, tile;\nmov.u32 %r20, 0;\nmov.u32 %r21, 0;\n\
         OUTER:\nmad.lo.u32 %r14, %r21, %r12, %r11;\nmul.wide.u32 %d4, %r14, 4;\nadd.s64 %d4, %d0, %d4;\nld.global.u32 %r15, [%d4];\n\
         shl.b32 %r16, %r11, 2;\nadd.u32 %r16, %r16, %r13;\nst.shared.u32 [%r16], %r15;\nbar.sync 0;\n\
         mov.u32 %r17, 0;\nmov.u32 %r18, %r13;\n\
         INNER:\nld.shared.u32 %r19, [%r18];\nadd.u32 %r22, %r17, %r11;\nmad.lo.u32 %r20, %r19, %r22, %r20;\nadd.u32 %r18, %r18, 4;\n\
         add.u32 %r17, %r17, 1;\nsetp.lt.u32 %p1, %r17, %r12;\n@%p1 bra INNER;\nbar.sync 0;\n\
         add.u32 %r21, %r21, 1;\nsetp.lt.u32 %p2, %r21, %r8;\n@%p2 bra OUTER;\nst.global.u32 [%d3], %r20;",
    );
    for shape in SHAPES {
        let threads = (shape.1[0] * shape.1[1]) as usize;
        let blocks = (shape.0[0] * shape.0[1]) as usize;
        let input = numbers(threads * 9);
        for n in [1, 2, 9] {
            agrees(&text, (&input, blocks * threads), n, shape, "tiles");
        }
        // The last tile is not whole.
        agrees(&text, (&input[..threads * 9 - 40], blocks * threads), 9, shape, "tiles");
    }
}

#[test]
fn long_loops_of_teams_run_out_of_fuel_and_go_on() {
    let text = kernel(
        "mov.u32 %r20, %r5;\nmov.u32 %r21, 0;\n\
         LOOP:\nmad.lo.u32 %r20, %r20, 1664525, 1013904223;\nxor.b32 %r20, %r20, %r21;\nadd.u32 %r21, %r21, 1;\n\
         setp.lt.u32 %p1, %r21, %r8;\n@%p1 bra LOOP;\nst.global.u32 [%d3], %r20;",
    );
    let turns = 400_000;
    for how in JIT {
        let shape = ([2, 1, 1], [128, 1, 1]);
        let found = result(&text, (&[0], 256), turns, shape, how).unwrap();
        let expected = |thread: u32| {
            let step = |x: u32, n: u32| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) ^ n;
            (0..turns).fold(thread, step)
        };
        assert_eq!(found[..3], [0, 1, 2].map(expected), "{how:?}");
        assert_eq!(found[255], expected(255), "{how:?}");
    }
}

#[test]
fn what_goes_past_the_caches_arrives() {
    // 9 million threads write 36 MB, a launch long enough; the rows begin with a line, or beside one.
    let (blocks, threads) = (35_157u32, 256u32);
    let all = (blocks * threads) as usize;
    let text = kernel(
        "mad.lo.u32 %r20, %r5, 3, %r8;\nshl.b32 %r21, %r8, 2;\ncvt.u64.u32 %d4, %r21;\nadd.s64 %d3, %d3, %d4;\n\
         st.global.u32 [%d3], %r20;",
    );
    for offset in [0, 1, 16] {
        for how in JIT {
            let shape = ([blocks, 1, 1], [threads, 1, 1]);
            let found = result(&text, (&[0], all + 16), offset, shape, how).unwrap();
            let from = offset as usize;
            assert!(found[..from].iter().all(|&v| v == 0xcdcd_cdcd));
            let wrong = (0..all).find(|&i| found[from + i] != 3 * i as u32 + offset);
            assert_eq!(wrong, None, "{offset}, {how:?}");
        }
    }
}
