// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes LLVM's text of every function of PTX files to a folder, for `llvm-as` and `opt` to look at.
//!
//! `cargo run -p margay-codegen --example text -- FOLDER X,Y,Z FILE.ptx…`

use std::path::Path;

use margay_codegen::{Layout, Options, Source, compile};
use margay_ir::{Class, Function};

/// Planes and addresses as the engine lays them out.
fn layout(f: &Function) -> Layout {
    let mut at = 0;
    let mut planes = vec![0; f.regs.len()];
    for wanted in [Class::D, Class::W, Class::P] {
        for (r, &class) in f.regs.iter().enumerate().filter(|r| *r.1 == wanted) {
            planes[r] = at;
            at += match class {
                Class::P => 4,
                Class::W => 128,
                Class::D => 256,
            };
        }
    }
    let mut starts = Vec::new();
    let mut pc = 0;
    for b in &f.blocks {
        starts.push(pc);
        pc += b.insts.len() as u32 + 1;
    }
    let constants = vec![Some(0); pc as usize];
    Layout { planes, starts, first: 0, slots: (0..pc).collect(), constants }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("a folder");
    let shape = args.next().expect("a block's shape");
    let mut block = [1; 3];
    for (b, n) in block.iter_mut().zip(shape.split(',')) {
        *b = n.parse().expect("a number");
    }
    for path in args {
        let text = std::fs::read_to_string(&path).expect("the file");
        let Ok(ast) = margay_ptx::parse(&text) else { continue };
        let Ok(module) = margay_ir::lower(&ast) else { continue };
        let stem =
            Path::new(&path).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into());
        for (n, f) in module.functions.iter().enumerate().filter(|f| !f.1.blocks.is_empty()) {
            for full in [true, false] {
                let options = Options {
                    block,
                    full,
                    loops: !full,
                    hold: full && std::env::var_os("HOLD").is_some(),
                    blocks: full,
                    plain: full,
                    short: full,
                    lockstep: false,
                    environment: 0,
                    watched: margay_codegen::Watched::default(),
                    silent: Vec::new(),
                    variables: Vec::new(),
                };
                let cpu = std::env::var("CPU").unwrap_or("x86-64-v4".into());
                let source = Source::new(f, layout(f), &options, &cpu, "");
                match source.and_then(|source| compile(&source)) {
                    Ok(code) => {
                        let name = format!("{stem}.{n}.{}.ll", if full { "full" } else { "part" });
                        std::fs::write(Path::new(&folder).join(name), code.text).expect("written");
                    }
                    Err(why) => eprintln!("{path}: {}: {why:?}", f.name),
                }
            }
        }
    }
}
