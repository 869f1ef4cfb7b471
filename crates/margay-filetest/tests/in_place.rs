// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that store where they load: which warps wait for their siblings, and stores under masks.

use std::sync::Arc;

use margay_exec::jit::Engine;
use margay_filetest::compile::compile;
use margay_filetest::device::{Argument, Shape, run};

/// Engine, threads, seed.
type How = (Engine, usize, Option<u64>);

const RUNS: [How; 5] = [
    (Engine::Interp, 1, None),
    (Engine::Jit, 1, None),
    (Engine::Jit, 2, None),
    (Engine::Interp, 1, Some(7)),
    (Engine::Jit, 2, Some(7)),
];

/// What a kernel with one buffer leaves there, or its fault.
fn result(
    text: &str,
    bytes: Vec<u8>,
    (grid, block): ([u32; 3], [u32; 3]),
    (engine, threads, seed): How,
) -> Result<Vec<u8>, String> {
    let module = Arc::new(compile(text).unwrap_or_else(|e| panic!("{e:?}")));
    let shape = Shape { threads, engine: Some(engine), seed, ..Shape::new(grid, block) };
    let arguments = [Argument::Buffer { bytes, label: "out".to_owned() }];
    let outcome = run(module, "k", &arguments, &shape).map_err(|e| e.to_string())?;
    Ok(outcome.buffers[0].clone())
}

fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<32>;\n.reg .b64 %d<32>;\n\
         ld.param.u64 %d31, [out];\ncvta.to.global.u64 %d0, %d31;\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\n\
         {body}\nret;\n}}\n"
    )
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Rows of a matrix of 128 columns, in blocks of 32 by 8; 4 by 3 blocks store, each reads a row that is 24 times its own
/// number of rows of blocks, and `row`.
const COLUMNS: usize = 128;
const ROWS: usize = 96;

/// `d[y][x] += d[24 * blockIdx.y + row][x]`, where the sum is even if `some`.
fn adds_a_row(row: u32, some: bool) -> String {
    let branch = if some {
        "and.b32 %r14, %r13, 1;\nsetp.ne.u32 %p1, %r14, 0;\n@%p1 bra END;\n"
    } else {
        ""
    };
    kernel(&format!(
        "mad.lo.u32 %r4, %r2, 32, %r0;\nmad.lo.u32 %r5, %r3, 8, %r1;\nmad.lo.u32 %r6, %r5, 128, %r4;\n\
         mul.wide.u32 %d1, %r6, 4;\nadd.s64 %d2, %d0, %d1;\nmad.lo.u32 %r7, %r3, 24, {row};\n\
         mad.lo.u32 %r8, %r7, 128, %r4;\nmul.wide.u32 %d3, %r8, 4;\nadd.s64 %d4, %d0, %d3;\n\
         ld.global.u32 %r11, [%d2];\nld.global.u32 %r12, [%d4];\nadd.u32 %r13, %r11, %r12;\n\
         {branch}st.global.u32 [%d2], %r13;\nEND:"
    ))
}

#[test]
fn warps_read_a_row_before_a_sibling_stores_it() {
    // 3 is a row of the first row of blocks; 90 is below all that is stored.
    for (row, some) in [(3, false), (3, true), (7, true), (8 + 24, true)] {
        let before: Vec<u32> = (0..(ROWS * COLUMNS) as u32).map(|n| n * 7 + n / 128).collect();
        let mut after = before.clone();
        for y in 0..24 {
            for x in 0..COLUMNS {
                let sum = before[y * COLUMNS + x] + before[(y / 8 * 24 + row) * COLUMNS + x];
                if !some || sum & 1 == 0 {
                    after[y * COLUMNS + x] = sum;
                }
            }
        }
        let text = adds_a_row(row as u32, some);
        for how in RUNS {
            let found = result(&text, words(&before), ([4, 3, 1], [32, 8, 1]), how).unwrap();
            assert!(found == words(&after), "row {row}, {some}, {how:?}");
        }
    }
}

/// Each thread of 96 stores 3 * its number where that is not a multiple of 3, if it is below `count`, in the type.
fn stores_some(ty: &str, bytes: usize, count: u32, negated: bool) -> String {
    let (value, convert) = match bytes {
        1 => ("%h1", "cvt.u16.u32 %h1, %r6;"),
        2 => ("%h1", "cvt.u16.u32 %h1, %r6;"),
        4 => ("%r6", ""),
        _ => ("%d6", "cvt.u64.u32 %d6, %r6;"),
    };
    let (compare, guard) = if negated { ("ne", "") } else { ("eq", "!") };
    // One branch around the store, and one store with a guard of its own to the upper half of the buffer.
    kernel(&format!(
        "mul.wide.u32 %d1, %r0, {bytes};\nadd.s64 %d2, %d0, %d1;\nrem.u32 %r4, %r0, 3;\n\
         setp.{compare}.u32 %p1, %r4, 0;\nsetp.lt.u32 %p2, %r0, {count};\n\
         and.pred %p3, %p2, %p2;\nmul.lo.u32 %r6, %r0, 3;\n{convert}\n\
         setp.ge.u32 %p4, %r0, {count};\nsetp.eq.u32 %p5, %r4, 0;\nor.pred %p6, %p4, %p5;\n\
         @%p6 bra SECOND;\nadd.u32 %r7, %r6, 1;\nst.global.{ty} [%d2], {value};\nSECOND:\n\
         mov.pred %p7, %p1;\n@!%p2 bra END;\n@{guard}%p7 st.global.{ty} [%d2+{}], {value};\nEND:",
        count as usize * bytes
    ))
}

#[test]
fn masked_stores_touch_nothing_else() {
    for (ty, bytes) in [("u8", 1), ("u16", 2), ("u32", 4), ("u64", 8)] {
        for (count, negated) in [(96u32, false), (70, false), (70, true), (33, true), (1, false)] {
            let size = count as usize * 2 * bytes;
            let before: Vec<u8> = (0..size).map(|n| (n * 37 + 11) as u8).collect();
            let mut after = before.clone();
            for lane in (0..count as usize).filter(|lane| lane % 3 != 0) {
                let value = (lane as u64 * 3).to_le_bytes();
                for half in [lane, lane + count as usize] {
                    after[half * bytes..][..bytes].copy_from_slice(&value[..bytes]);
                }
            }
            let text = stores_some(ty, bytes, count, negated);
            for how in RUNS {
                let found = result(&text, before.clone(), ([1; 3], [96, 1, 1]), how).unwrap();
                assert!(found == after, "{ty}, {count}, {negated}, {how:?}");
            }
        }
    }
}

/// The address of a store is a row as the program stands, and no longer once the branch before it is two guarded ops.
#[test]
fn a_store_stays_for_some_lanes_where_its_address_is_found_to_vary() {
    for (one, other) in [("E", "T"), ("T", "E")] {
        let sides = [("E", "mov.u32 %r5, %r2;"), ("T", "add.u32 %r2, %r2, 32;\nmov.u32 %r5, %r2;")];
        let side = |name| sides.iter().find(|s| s.0 == name).map_or("", |s| s.1);
        let negated = if other == "T" { "" } else { "!" };
        let text = kernel(&format!(
            "and.b32 %r4, %r0, 1;\nsetp.eq.u32 %p1, %r4, 0;\nrem.u32 %r6, %r0, 3;\nsetp.eq.u32 %p2, %r6, 0;\n\
             mov.u32 %r2, %tid.x;\n@{negated}%p1 bra {other};\n{one}:\n{}\nbra J;\n{other}:\n{}\n\
             J:\nadd.u32 %r7, %r5, 5;\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %d1, %r2, 4;\n\
             add.s64 %d2, %d0, %d1;\n@%p2 bra END;\nst.global.u32 [%d2], %r7;\nEND:",
            side(one),
            side(other)
        ));
        let lane = |n: u32| if n.is_multiple_of(2) { n + 32 + 5 } else { n + 5 };
        let after: Vec<u32> = (0..64).map(|n| if n % 3 == 0 { 1000 } else { lane(n) }).collect();
        for how in RUNS {
            let found = result(&text, words(&[1000; 64]), ([1; 3], [64, 1, 1]), how).unwrap();
            assert!(found == words(&after), "{one} {other} {how:?}");
        }
    }
}

#[test]
fn a_masked_store_faults_where_its_lanes_do() {
    // Threads up to 79 of which every second stores, into 70 words.
    let text = kernel(
        "mul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\nand.b32 %r4, %r0, 1;\n\
         setp.ge.u32 %p1, %r0, 80;\nsetp.eq.u32 %p2, %r4, 0;\nor.pred %p3, %p1, %p2;\n\
         @%p3 bra END;\nst.global.u32 [%d2], %r0;\nEND:",
    );
    // Where memory lies differs from run to run.
    let faults = RUNS.map(|how| {
        let fault = result(&text, vec![0; 280], ([1; 3], [96, 1, 1]), how);
        let fault = fault.expect_err("70 words are all");
        fault.split_once("(Global)").map(|(_, place)| place.to_owned())
    });
    let place = ": outside every allocation; 284 bytes past the start of `out`, which has 280: kernel k, block (0,0,0), \
                 thread (71,0,0), PTX line 23";
    assert!(faults.iter().all(|fault| fault.as_deref() == Some(place)), "{faults:?}");
}
