// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of a buffer that is read, one that is written, and a number, compiled and beside the interpreter.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::Arc;

use margay_exec::jit::Engine;
use margay_filetest::compile::compile;
use margay_filetest::device::{Argument, Shape, run};

pub const JIT: [(Engine, usize); 2] = [(Engine::Jit, 1), (Engine::Jit, 2)];

/// Launches of whole warps, and of one that is not.
pub const SHAPES: [([u32; 3], [u32; 3]); 3] =
    [([1; 3], [32, 1, 1]), ([3, 1, 1], [96, 1, 1]), ([2, 1, 1], [75, 1, 1])];

/// What a kernel of a buffer that it reads, one that it writes, and a number leaves in the second; or its fault.
pub fn result(
    text: &str,
    (input, output): (&[u32], usize),
    n: u32,
    (grid, block): ([u32; 3], [u32; 3]),
    (engine, threads): (Engine, usize),
) -> Result<Vec<u32>, String> {
    let module = Arc::new(compile(text).unwrap_or_else(|e| panic!("{e:?}")));
    let shape = Shape { threads, engine: Some(engine), ..Shape::new(grid, block) };
    let bytes = input.iter().flat_map(|v| v.to_le_bytes()).collect();
    let arguments = [
        Argument::Buffer { bytes, label: "in".to_owned() },
        Argument::Buffer { bytes: vec![0xcd; 4 * output], label: "out".to_owned() },
        Argument::Value(n.to_le_bytes().to_vec()),
    ];
    let outcome = run(module, "k", &arguments, &shape).map_err(|e| e.to_string())?;
    let words = outcome.buffers[1].chunks_exact(4);
    Ok(words.map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
}

/// A kernel whose threads have the number `%r5` of all, `%r6` of the grid's rows, `%r7` in the row, and the buffers in `%d0`, `%d1`.
pub fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<40>;\n.reg .b64 %d<16>;\n.shared .align 4 .b32 tile[1024];\n\
         ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nld.param.u32 %r8, [n];\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %ntid.y;\n\
         mad.lo.u32 %r7, %r2, %r3, %r0;\nmov.u32 %r9, %ctaid.y;\nmad.lo.u32 %r6, %r9, %r4, %r1;\n\
         mov.u32 %r10, %nctaid.x;\nmul.lo.u32 %r10, %r10, %r3;\nmad.lo.u32 %r5, %r6, %r10, %r7;\n\
         mul.wide.u32 %d2, %r5, 4;\nadd.s64 %d3, %d1, %d2;\n\
         {body}\nEND:\nret;\n}}\n"
    )
}

/// The same, with functions before it.
pub fn with(functions: &str, body: &str) -> String {
    let kernel = kernel(body);
    let (head, rest) = kernel.split_once(".visible").expect("a kernel");
    format!("{head}{functions}.visible{rest}")
}

pub fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect()
}

/// An allocation need not lie where it did on the device before.
fn addresses_left_out(text: &str) -> String {
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + "0x_" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit())
    })
}

/// Compares with the interpreter. Of several threads that fault, it is the same one if a single worker runs the blocks, and no
/// barrier is on the way there.
pub fn agrees(text: &str, input: (&[u32], usize), n: u32, shape: ([u32; 3], [u32; 3]), what: &str) {
    let expected = result(text, input, n, shape, (Engine::Interp, 1));
    for how in JIT {
        let found = result(text, input, n, shape, how);
        match (&found, &expected) {
            (Err(found), Err(expected)) if how.1 == 1 && !text.contains("bar.sync") => {
                assert_eq!(
                    addresses_left_out(found),
                    addresses_left_out(expected),
                    "{what}, {how:?}"
                );
            }
            (Err(found), Err(expected)) => {
                let kind = |text: &str| text.split(" at 0x").next().map(str::to_owned);
                assert_eq!(kind(found), kind(expected), "{what}, {how:?}");
            }
            (found, expected) => assert!(found == expected, "{what}, {shape:?}, {n}, {how:?}"),
        }
    }
}
