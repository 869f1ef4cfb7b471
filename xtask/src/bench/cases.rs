// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bench's cases. To add one: a file in `benches/kernels/`, a twin in `benches/openmp/`, a row here.

use super::case::Argument::{Buffer as B, Scalar as S, Word};
use super::case::{Argument, Buffer, Case, Check, Init, Launch};

/// Sizes of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The table's.
    Full,
    /// A quick look.
    Quick,
    /// What an instrumenting simulator does in a second.
    Small,
}

impl Size {
    pub const ALL: [Size; 3] = [Size::Small, Size::Quick, Size::Full];

    pub fn name(self) -> &'static str {
        match self {
            Size::Full => "full",
            Size::Quick => "quick",
            Size::Small => "small",
        }
    }

    fn pick(self, full: u32, quick: u32, small: u32) -> u32 {
        match self {
            Size::Full => full,
            Size::Quick => quick,
            Size::Small => small,
        }
    }
}

fn input(elements: u32, init: Init) -> Buffer {
    Buffer { elements: elements as usize, init, check: Check::None }
}

fn output(elements: u32, check: Check) -> Buffer {
    Buffer { elements: elements as usize, init: Init::Zero, check }
}

fn inout(elements: u32, init: Init, check: Check) -> Buffer {
    Buffer { elements: elements as usize, init, check }
}

fn line(kernel: &'static str, threads: u32, block: u32, arguments: &[Argument]) -> Launch {
    let grid = [threads.div_ceil(block), 1];
    Launch { kernel, grid, block: [block, 1], arguments: arguments.to_vec() }
}

fn square(kernel: &'static str, side: u32, block: [u32; 2], arguments: &[Argument]) -> Launch {
    let grid = [side.div_ceil(block[0]), side.div_ceil(block[1])];
    Launch { kernel, grid, block, arguments: arguments.to_vec() }
}

/// All cases at a size.
pub fn all(size: Size) -> Vec<Case> {
    let mut cases = dense(size);
    cases.extend(streams(size));
    cases.extend(irregular(size));
    cases.extend(ordering(size));
    cases
}

fn matmul(name: &'static str, size: Size, block: u32) -> Case {
    let n = size.pick(512, 128, 64);
    Case {
        name,
        buffers: vec![
            input(n * n, Init::Reals(-1.0, 1.0)),
            input(n * n, Init::Reals(-1.0, 1.0)),
            output(n * n, Check::Near(1e-3)),
        ],
        scalars: vec![n],
        launches: vec![square(name, n, [block, block], &[B(0), B(1), B(2), S(0)])],
    }
}

fn dense(size: Size) -> Vec<Case> {
    let bodies = size.pick(8192, 1024, 256);
    let image = size.pick(4096, 512, 64);
    let cube = size.pick(192, 64, 32);
    let nodes = size.pick(512, 128, 32);
    let stencil = |name| Case {
        name,
        buffers: vec![
            input(image * image, Init::Reals(0.0, 1.0)),
            output(image * image, Check::Near(1e-5)),
        ],
        scalars: vec![image],
        launches: vec![square(name, image, [32, 8], &[B(0), B(1), S(0)])],
    };
    vec![
        matmul("matmul_naive", size, 16),
        matmul("matmul_tile16", size, 16),
        matmul("matmul_tile32", size, 32),
        Case {
            name: "nbody",
            buffers: vec![
                input(bodies * 4, Init::Reals(0.0, 1.0)),
                output(bodies * 4, Check::Near(1e-2)),
            ],
            scalars: vec![bodies],
            launches: vec![line("nbody", bodies, 256, &[B(0), B(1), S(0)])],
        },
        stencil("stencil2d"),
        stencil("convolution"),
        Case {
            name: "stencil3d",
            buffers: vec![
                input(cube * cube * cube, Init::Reals(0.0, 1.0)),
                output(cube * cube * cube, Check::Near(1e-5)),
            ],
            scalars: vec![cube],
            launches: vec![square("stencil3d", cube, [32, 8], &[B(0), B(1), S(0)])],
        },
        Case {
            name: "floyd_warshall",
            buffers: vec![inout(nodes * nodes, Init::Reals(1.0, 100.0), Check::Near(1e-5))],
            scalars: vec![nodes],
            launches: (0..nodes)
                .map(|pivot| square("floyd_warshall", nodes, [32, 8], &[B(0), S(0), Word(pivot)]))
                .collect(),
        },
    ]
}

fn streams(size: Size) -> Vec<Case> {
    let long = size.pick(1 << 24, 1 << 18, 1 << 13);
    let options = size.pick(1 << 22, 1 << 16, 1 << 12);
    let side = size.pick(4096, 512, 64);
    let blocks = size.pick(256, 64, 8);
    let sum = |name| Case {
        name,
        buffers: vec![input(long, Init::Reals(0.0, 1.0)), output(blocks, Check::Sum(1e-4))],
        scalars: vec![long],
        launches: vec![line(name, blocks * 256, 256, &[B(0), B(1), S(0)])],
    };
    vec![
        Case {
            name: "saxpy",
            buffers: vec![
                input(long, Init::Reals(-1.0, 1.0)),
                inout(long, Init::Reals(-1.0, 1.0), Check::Near(1e-5)),
            ],
            scalars: vec![1.5f32.to_bits(), long],
            launches: vec![line("saxpy", long, 256, &[B(0), B(1), S(0), S(1)])],
        },
        sum("reduction"),
        sum("warp_reduction"),
        Case {
            name: "transpose",
            buffers: vec![
                input(side * side, Init::Reals(0.0, 1.0)),
                output(side * side, Check::Exact),
            ],
            scalars: vec![side],
            launches: vec![Launch {
                kernel: "transpose",
                grid: [side / 32, side / 32],
                block: [32, 8],
                arguments: vec![B(0), B(1), S(0)],
            }],
        },
        Case {
            name: "black_scholes",
            buffers: vec![
                input(options, Init::Reals(5.0, 30.0)),
                input(options, Init::Reals(1.0, 100.0)),
                input(options, Init::Reals(0.25, 10.0)),
                output(options, Check::Near(1e-3)),
                output(options, Check::Near(1e-3)),
            ],
            scalars: vec![options],
            launches: vec![line(
                "black_scholes",
                options,
                256,
                &[B(0), B(1), B(2), B(3), B(4), S(0)],
            )],
        },
    ]
}

fn irregular(size: Size) -> Vec<Case> {
    let long = size.pick(1 << 24, 1 << 18, 1 << 13);
    let side = size.pick(1024, 256, 64);
    let rows = size.pick(1 << 17, 1 << 13, 1 << 9);
    let matrices = size.pick(1 << 18, 1 << 14, 1 << 10);
    let points = size.pick(1 << 21, 1 << 16, 1 << 12);
    let walkers = size.pick(1 << 16, 1 << 13, 1 << 9);
    let starts = Buffer { elements: rows as usize + 1, init: Init::RowStarts, check: Check::None };
    let entries = starts.contents(0);
    let last = entries.last_chunk::<4>().map_or(0, |c| u32::from_le_bytes(*c));
    vec![
        Case {
            name: "mandelbrot",
            // An iteration more or less at the border of the set: products round in another order.
            buffers: vec![output(side * side, Check::Mostly(0.01))],
            scalars: vec![side, 256],
            launches: vec![line("mandelbrot", side * side, 256, &[B(0), S(0), S(1)])],
        },
        Case {
            name: "histogram",
            buffers: vec![input(long, Init::Bytes), output(256, Check::Exact)],
            scalars: vec![long],
            launches: vec![line(
                "histogram",
                size.pick(256, 64, 8) * 256,
                256,
                &[B(0), B(1), S(0)],
            )],
        },
        Case {
            name: "spmv",
            buffers: vec![
                starts,
                input(last, Init::Integers(rows)),
                input(last, Init::Reals(-1.0, 1.0)),
                input(rows, Init::Reals(-1.0, 1.0)),
                output(rows, Check::Near(1e-4)),
            ],
            scalars: vec![rows],
            launches: vec![line("spmv", rows, 256, &[B(0), B(1), B(2), B(3), B(4), S(0)])],
        },
        Case {
            name: "inverse",
            buffers: vec![
                input(matrices * 16, Init::Dominant),
                output(matrices * 16, Check::Near(1e-4)),
            ],
            scalars: vec![matrices],
            launches: vec![line("inverse", matrices, 128, &[B(0), B(1), S(0)])],
        },
        Case {
            name: "monte_carlo",
            buffers: vec![output(walkers, Check::Exact)],
            scalars: vec![size.pick(256, 64, 16), walkers],
            launches: vec![line("monte_carlo", walkers, 256, &[B(0), S(0)])],
        },
        Case {
            name: "string_match",
            buffers: vec![
                input(long, Init::Letters(4)),
                input(8, Init::Letters(4)),
                output(1, Check::Exact),
            ],
            scalars: vec![long],
            launches: vec![line("string_match", long, 256, &[B(0), B(1), B(2), S(0)])],
        },
        Case {
            name: "kmeans",
            buffers: vec![
                input(points * 4, Init::Reals(0.0, 1.0)),
                input(64, Init::Reals(0.0, 1.0)),
                output(points, Check::Mostly(0.001)),
            ],
            scalars: vec![points],
            launches: vec![line("kmeans", points, 256, &[B(0), B(1), B(2), S(0)])],
        },
    ]
}

fn ordering(size: Size) -> Vec<Case> {
    let n = size.pick(1 << 22, 1 << 16, 1 << 13);
    let blocks = n / 4096;
    let passes = (0..8u32).flat_map(|pass| {
        let (from, to) = if pass % 2 == 0 { (B(0), B(1)) } else { (B(1), B(0)) };
        let (shift, blocks_word) = (Word(pass * 4), Word(blocks));
        [
            line("radix_count", blocks * 256, 256, &[from, B(2), shift, blocks_word]),
            line("radix_places", 256, 256, &[B(2), Word(blocks * 16)]),
            line("radix_scatter", blocks * 256, 256, &[from, to, B(2), shift, blocks_word]),
        ]
    });
    vec![
        Case {
            name: "scan",
            buffers: vec![
                input(n, Init::Integers(1000)),
                output(n, Check::Exact),
                output(n / 256, Check::None),
            ],
            scalars: vec![n],
            launches: vec![
                line("scan_blocks", n, 256, &[B(0), B(1), B(2)]),
                line("scan_sums", 256, 256, &[B(2), Word(n / 256)]),
                line("scan_add", n, 256, &[B(1), B(2)]),
            ],
        },
        Case {
            name: "radix_sort",
            buffers: vec![
                inout(n, Init::Integers(u32::MAX), Check::Exact),
                output(n, Check::None),
                output((blocks * 16).max(256), Check::None),
            ],
            scalars: vec![n],
            launches: passes.collect(),
        },
        Case {
            name: "bitonic_sort",
            buffers: vec![inout(n, Init::Integers(u32::MAX), Check::Exact)],
            scalars: vec![n],
            launches: vec![line("bitonic_sort", n / 2, 256, &[B(0)])],
        },
        Case {
            name: "compaction",
            buffers: vec![
                input(n, Init::Signed(1000)),
                output(n, Check::Pieces),
                output(n / 256, Check::Exact),
            ],
            scalars: vec![n],
            launches: vec![line("compaction", n, 256, &[B(0), B(1), B(2)])],
        },
    ]
}
