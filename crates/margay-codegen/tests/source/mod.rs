// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the code generator needs beside a function.

use margay_codegen::{Layout, Options, Watched};
use margay_ir::{Class, Function};

/// Planes and numbers as an engine might give them.
pub fn layout(f: &Function) -> Layout {
    let mut at = 0;
    let plane = |class: &Class| {
        let here = at;
        at += match class {
            Class::P => 4,
            Class::W => 128,
            Class::D => 256,
        };
        here
    };
    let planes = f.regs.iter().map(plane).collect();
    let mut end = 7;
    let mut starts = Vec::new();
    for b in &f.blocks {
        starts.push(end);
        end += b.insts.len() as u32 + 1;
    }
    let count = end - 7;
    let constants = (0..count).map(|n| Some(n * 256)).collect();
    Layout { planes, starts, first: 7, slots: (0..count).collect(), constants }
}

/// What most launches have, of one warp at a time.
pub const USUAL: Options = Options {
    block: [64, 1, 1],
    full: true,
    loops: true,
    hold: false,
    blocks: false,
    plain: true,
    short: true,
    environment: 0,
    watched: Watched {
        accesses: false,
        values: false,
        counts: false,
        fences: false,
        warp_syncs: false,
        blocks: false,
        admissions: false,
        parameters: false,
        notes: false,
        notes_all: false,
        settles: false,
    },
};
