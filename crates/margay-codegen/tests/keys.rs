// SPDX-License-Identifier: MIT OR Apache-2.0
//! The key of a function's code, by which the cache finds it without a text: what gives different texts has different keys, what
//! code does not depend on is in none, and another process finds the same.

mod source;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use margay_codegen::{Code, Layout, Options, Outline, Source, VariableBounds, Watched, compile};
use margay_ir::{Attr, Function, LocId, Value};
use source::{USUAL, layout};

type Key = [u8; 32];

/// What the files have not: environment registers.
const ENVIRONMENT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\nmov.u32 %r0, %tid.x;\n\
    mov.u32 %r1, %envreg4;\nadd.u32 %r2, %r0, %r1;\nld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r0, 4;\n\
    add.u64 %d2, %d0, %d1;\nst.global.u32 [%d2], %r2;\nret;\n}\n";

/// The functions of all PTX files that are run by tests.
fn corpus() -> Vec<Function> {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests"), &mut files);
    files.sort();
    let mut functions = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let Ok(ast) = margay_ptx::parse(&text) else { continue };
        let Ok(module) = margay_ir::lower(&ast) else { continue };
        functions.extend(module.functions.into_iter().filter(|f| !f.blocks.is_empty()));
    }
    assert!(functions.len() > 200, "{} functions", functions.len());
    let ast = margay_ptx::parse(ENVIRONMENT).unwrap();
    functions.extend(margay_ir::lower(&ast).unwrap().functions);
    functions
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            into.push(path);
        }
    }
}

/// Each of the options by itself.
fn specialisations() -> Vec<Options> {
    let mut all = vec![
        USUAL,
        Options { block: [16, 4, 1], ..USUAL },
        Options { block: [100, 1, 1], full: false, ..USUAL },
        Options { loops: false, ..USUAL },
        Options { hold: true, ..USUAL },
        Options { blocks: true, loops: false, ..USUAL },
        Options { plain: false, ..USUAL },
        Options { short: false, ..USUAL },
        Options { lockstep: true, ..USUAL },
        Options { environment: 1 << 4 | 1 << 15, ..USUAL },
    ];
    let none = USUAL.watched;
    let accesses = Watched { accesses: true, ..none };
    all.extend(
        [
            accesses,
            Watched { values: true, ..accesses },
            Watched { counts: true, ..none },
            Watched { fences: true, ..none },
            Watched { warp_syncs: true, ..none },
            Watched { blocks: true, ..none },
            Watched { admissions: true, ..accesses },
            Watched { parameters: true, ..accesses },
            Watched { notes: true, ..accesses },
            Watched { notes_all: true, ..accesses },
            Watched { settles: true, ..accesses },
        ]
        .map(|watched| Options { watched, ..USUAL }),
    );
    all.push(Options { watched: accesses, silent: (0..40).step_by(3).collect(), ..USUAL });
    for end in [128, u64::MAX] {
        let bounds = |pc| VariableBounds { pc, first: 64, end };
        all.push(Options { variables: (0..40).step_by(2).map(bounds).collect(), ..USUAL });
    }
    all
}

fn source(f: &Function, layout: Layout, options: &Options, cpu: &str) -> Option<Source> {
    Source::new(f, layout, options, cpu, "").ok()
}

/// What there is of text, and what is told with it.
fn made(source: &Source) -> String {
    match compile(source) {
        Ok(Code { text, strips, outline }) => format!("{strips} {outline:?}\n{text}"),
        Err(why) => format!("{why:?}"),
    }
}

/// The texts that keys have had.
#[derive(Default)]
struct Seen(HashMap<Key, String>);

impl Seen {
    /// The key and the text; the key must have had no other text.
    fn note(&mut self, source: &Source, what: &str) -> (Key, String) {
        let (key, text) = (source.key(), made(source));
        let before = self.0.entry(key).or_insert_with(|| text.clone());
        assert!(*before == text, "one key and two texts: {what}");
        (key, text)
    }
}

#[test]
fn different_texts_have_different_keys() {
    let options = specialisations();
    let (mut all, mut told) = (0, vec![0; options.len()]);
    for f in corpus() {
        // What does not come from one function has nothing to do with another: the keys are apart by all of it.
        let mut seen = Seen::default();
        let mut usual = None;
        for (n, options) in options.iter().enumerate() {
            for cpu in ["x86-64-v4", "x86-64-v3"] {
                if options.full != (options.block[0] != 100) || (n > 0 && cpu != "x86-64-v3") {
                    continue;
                }
                let Some(source) = source(&f, layout(&f), options, cpu) else { continue };
                let (_, text) = seen.note(&source, &format!("{} {options:?} {cpu}", f.name));
                all += 1;
                if n == 0 {
                    usual = Some(text);
                } else if usual.as_ref() != Some(&text) {
                    told[n] += 1;
                }
            }
        }
    }
    assert!(all > 1000, "{all}");
    // Each option has made a difference somewhere: a key without it would have been found out.
    let idle: Vec<usize> = (1..told.len()).filter(|&n| told[n] == 0).collect();
    assert!(idle.is_empty(), "these options decide about nothing: {idle:?}");
}

/// Small changes of a function that leave it one.
fn changes(f: &Function) -> Vec<(String, Function)> {
    let mut all = Vec::new();
    let places = f.blocks.iter().enumerate();
    let places: Vec<_> =
        places.flat_map(|(b, x)| (0..x.insts.len()).map(move |n| (b, n))).collect();
    // A few instructions of a long function.
    let step = places.len().div_ceil(6).max(1);
    for &(b, n) in places.iter().step_by(step) {
        let mut change = |what: &str, edit: &dyn Fn(&mut margay_ir::Inst) -> bool| {
            let mut changed = f.clone();
            if edit(&mut changed.blocks[b].insts[n]) {
                all.push((format!("{}: {what} of {b}:{n}", f.name), changed));
            }
        };
        change("a number", &|inst| {
            let number = inst.srcs.iter_mut().find_map(|v| match v {
                Value::Imm(n) if inst.op < margay_ir::Op::Ld => Some(n),
                Value::Imm(_) | Value::Reg(_) => None,
            });
            number.map(|n| *n ^= 1).is_some()
        });
        change("the offset", &|inst| match &mut inst.attr {
            Attr::Mem(m) if m.space != margay_ir::Space::Param => {
                m.offset += 16;
                true
            }
            _ => false,
        });
        change("the order", &|inst| match inst.srcs.as_mut_slice() {
            [Value::Reg(a), Value::Reg(b)]
                if a != b && f.regs[a.0 as usize] == f.regs[b.0 as usize] =>
            {
                std::mem::swap(a, b);
                inst.op < margay_ir::Op::Ld
            }
            _ => false,
        });
        change("the guard", &|inst| match &mut inst.guard {
            Some(guard) => {
                guard.negated = !guard.negated;
                true
            }
            None => false,
        });
        change("the rounding", &|inst| match &mut inst.attr {
            Attr::Float(float) => {
                float.ftz = !float.ftz;
                true
            }
            _ => false,
        });
    }
    all
}

#[test]
fn what_changes_the_text_changes_the_key() {
    let (mut all, mut differ) = (0, 0);
    for f in corpus() {
        let mut seen = Seen::default();
        let Some(plain) = source(&f, layout(&f), &USUAL, "x86-64-v3") else { continue };
        let (key, text) = seen.note(&plain, &f.name);
        let mut look = |f: &Function, layout: Layout, what: &str| {
            let Some(other) = source(f, layout, &USUAL, "x86-64-v3") else { return };
            let (other, changed) = seen.note(&other, what);
            assert!(other != key, "{what} is not in the key");
            all += 1;
            differ += usize::from(changed != text);
        };
        for (what, changed) in changes(&f) {
            look(&changed, layout(&changed), &what);
        }
        if !f.regs.is_empty() {
            let mut moved = layout(&f);
            moved.planes.iter_mut().for_each(|p| *p += 128);
            look(&f, moved, "planes");
        }
        let mut moved = layout(&f);
        moved.first += 1;
        moved.starts.iter_mut().for_each(|s| *s += 1);
        look(&f, moved, "addresses");
        let mut moved = layout(&f);
        moved.slots.iter_mut().for_each(|s| *s += 1);
        look(&f, moved, "slots");
        let mut moved = layout(&f);
        moved.constants.iter_mut().for_each(|c| *c = c.map(|at| at + 256));
        look(&f, moved, "constants");
    }
    assert!(all > 1000 && differ > all / 2, "{differ} of {all} changes change a text");
}

#[test]
fn names_and_lines_are_in_no_key() {
    for f in corpus() {
        let mut other = f.clone();
        other.name = "another".into();
        other.limits.maxnreg = Some(32);
        for b in &mut other.blocks {
            b.label = Some("L".into());
            b.term_loc = LocId(b.term_loc.0 + 9);
            b.insts.iter_mut().for_each(|inst| inst.loc = LocId(inst.loc.0 + 9));
        }
        let key = |f: &Function| source(f, layout(f), &USUAL, "x86-64-v3").map(|s| s.key());
        assert_eq!(key(&f), key(&other), "{}", f.name);
    }
}

#[test]
fn outlines_come_back_from_their_bytes() {
    for f in corpus() {
        for options in [USUAL, Options { blocks: true, loops: false, ..USUAL }] {
            let Some(source) = source(&f, layout(&f), &options, "x86-64-v3") else { continue };
            let Ok(code) = compile(&source) else { continue };
            let bytes = code.outline.to_bytes();
            assert_eq!(Outline::from_bytes(&bytes).as_ref(), Some(&code.outline), "{}", f.name);
            for wrong in [&bytes[..bytes.len() - 1], &bytes[1..], &[]] {
                let found = Outline::from_bytes(wrong);
                assert!(found.as_ref() != Some(&code.outline), "{}", f.name);
            }
            assert_eq!(Outline::from_bytes(&[&bytes[..], &[0]].concat()), None);
        }
    }
}

/// The keys of all functions, as text.
fn keys() -> String {
    let key = |f: &Function| source(f, layout(f), &USUAL, "x86-64-v3").map(|s| s.key());
    let one = |key: Key| key.iter().map(|b| format!("{b:02x}")).collect::<String>();
    corpus().iter().filter_map(key).map(|k| one(k) + " ").collect()
}

#[test]
fn another_process_finds_the_same_keys() {
    const CHILD: &str = "MARGAY_TEST_KEYS";
    if std::env::var_os(CHILD).is_some() {
        println!("keys: {}", keys());
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "another_process_finds_the_same_keys", "--nocapture"]).env(CHILD, "1");
    let output = child.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains(&format!("keys: {}", keys())), "{told}");
}
