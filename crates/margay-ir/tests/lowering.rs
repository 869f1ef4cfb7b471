// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever lowers also verifies, before and after the passes; wrong modules are errors, not panics.

use std::path::{Path, PathBuf};

fn filetests() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
    let mut out = Vec::new();
    for folder in ["run", "pass", "fail"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("the folder of filetests");
        for entry in entries {
            let path = entry.expect("a directory entry").path();
            if path.extension().is_some_and(|e| e == "ptx") {
                let text = std::fs::read_to_string(&path).expect("a readable test");
                out.push((path, text));
            }
        }
    }
    out.sort();
    assert!(out.len() > 20, "only {} filetests were found", out.len());
    out
}

/// Whether the text lowers. Panics if what it gives does not verify.
fn lowers(text: &str, name: &Path) -> bool {
    let Ok(ast) = margay_ptx::parse(text) else { return false };
    let Ok(plain) = margay_ir::lower::lower_only(&ast) else { return false };
    if let Err(e) = margay_ir::verify(&plain) {
        panic!("{}: {}\n{text}", name.display(), e[0]);
    }
    let Ok(module) = margay_ir::lower(&ast) else { return false };
    if let Err(e) = margay_ir::verify(&module) {
        panic!("{}, after the passes: {}\n{text}", name.display(), e[0]);
    }
    true
}

#[test]
fn every_filetest_gives_verified_ir() {
    for (path, text) in filetests() {
        assert!(lowers(&text, &path), "{} does not lower", path.display());
    }
}

#[test]
fn damaged_modules_do_not_panic() {
    let files = filetests();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut lowered = 0;
    for _ in 0..1500 {
        let (path, text) = &files[random(files.len())];
        let mut lines: Vec<&str> = text.lines().collect();
        let other: Vec<&str> = files[random(files.len())].1.lines().collect();
        for _ in 0..=random(3) {
            let at = random(lines.len());
            match random(3) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, other[random(other.len())]),
                _ => lines.swap(at, random(text.lines().count()).min(at)),
            }
        }
        lowered += u32::from(lowers(&lines.join("\n"), path));
    }
    assert!(lowered > 50, "only {lowered} damaged modules lowered: the test tests little");
}
