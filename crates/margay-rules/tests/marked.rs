// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs whose lines say what is found on them: `//~ MG101 MG102`, and nothing anywhere else.
//!
//! They go through what docs/rules.md promises beyond a rule's two examples. `// gpu: sm_13` in a file's head
//! is what it is for, `// cuda: 7050` the version, `// rdc` separate compilation; sm_90 and CUDA 12.9 by default.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use margay_rules::rule::Example;
use margay_rules::{Settings, check};

/// Lines and codes, `clang` for what no rule claims.
type Marks = BTreeMap<usize, Vec<String>>;

fn wanted(text: &str) -> Marks {
    let mut marks = Marks::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((_, codes)) = line.split_once("//~ ") {
            let mut codes: Vec<String> = codes.split_whitespace().map(String::from).collect();
            codes.sort();
            marks.insert(number, codes);
        }
    }
    marks
}

fn found(path: &Path, text: &str) -> Marks {
    let head = |word: &str| {
        let value = text.lines().find_map(|l| l.strip_prefix("// ")?.strip_prefix(word));
        value.map(str::trim)
    };
    let number = |word: &str| head(word).map(|v| v.parse::<u32>().expect("a number"));
    let example = Example::new("")
        .sm(number("gpu: sm_").unwrap_or(90))
        .cuda(number("cuda: ").unwrap_or(12090));
    let mut environment = support::environment(&example);
    environment.relocatable = head("rdc").is_some();
    environment.standard = head("std: ").map(String::from);
    let report = check::text(path, text, &environment, &Settings::default());
    assert_eq!(report.unreadable, None, "{}", path.display());
    let mut marks = Marks::new();
    for finding in &report.findings {
        let place = finding.place.as_ref().expect("a place");
        assert_eq!(place.file, path, "{}", finding.message);
        let line = report.sources.positions(place).0.line;
        let code = finding.code.unwrap_or("clang").to_string();
        marks.entry(line).or_default().push(code);
    }
    for codes in marks.values_mut() {
        codes.sort();
        codes.dedup();
    }
    marks
}

#[test]
fn findings_are_where_the_marks_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/marked");
    let only = std::env::var("MARGAY_MARKED").ok();
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the files").map(|e| e.expect("a file").path()).collect();
    files.sort();
    let mut wrong = String::new();
    let mut lines = 0;
    for path in files {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|o| !name.starts_with(o.as_str())) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let (wanted, found) = (wanted(&text), found(&path, &text));
        lines += wanted.len();
        let mut all: Vec<usize> = wanted.keys().chain(found.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        for line in all {
            let (want, got) = (wanted.get(&line), found.get(&line));
            if want != got {
                wrong += &format!(
                    "{name}:{line}: found {:?}, marked {:?}: {}\n",
                    got.cloned().unwrap_or_default(),
                    want.cloned().unwrap_or_default(),
                    text.lines().nth(line - 1).unwrap_or("")
                );
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(lines > 0, "no file has a mark");
}
