// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the PTX tests of ZLUDA (`ptx/src/test/spirv_run`) from a checkout that the user names.
//!
//! ```text
//! zluda CHECKOUT [--expected FILE] [--table FILE]
//! ```
//!
//! Kernels, inputs and outputs are read from the checkout's `mod.rs`; nothing of it is kept here.
//! A test without values must only compile. Known failures stand in the file of expected ones, `name
//! fail|waive reason` a line, as in the other suites; a failure that is not listed fails the run, and
//! so do a listed test that passes and a run that found no test.

mod extract;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use extract::{Test, Values};
use margay_exec::fault::FaultKind;
use margay_exec::launch::LaunchFailure;
use margay_filetest::compile::compile;
use margay_filetest::device::{Argument, RunError, Shape, run};

fn main() -> ExitCode {
    match run_suite() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("zluda: {why}");
            ExitCode::from(2)
        }
    }
}

struct Options {
    checkout: PathBuf,
    expected: Option<PathBuf>,
    table: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut arguments = std::env::args_os().skip(1);
    let mut options = Options { checkout: PathBuf::new(), expected: None, table: None };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().map(PathBuf::from).ok_or("an option lacks its file");
        match argument.to_str() {
            Some("--expected") => options.expected = Some(value()?),
            Some("--table") => options.table = Some(value()?),
            _ => options.checkout = PathBuf::from(argument),
        }
    }
    if options.checkout.as_os_str().is_empty() {
        return Err("usage: zluda CHECKOUT [--expected FILE] [--table FILE]".to_string());
    }
    Ok(options)
}

/// A test that is known to fail, or is not run because it asks for what margay leaves out.
struct Known {
    waived: bool,
    reason: String,
}

fn known_failures(path: Option<&Path>) -> Result<BTreeMap<String, Known>, String> {
    let Some(path) = path else { return Ok(BTreeMap::new()) };
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.splitn(3, ' ').map(str::trim);
            match (words.next(), words.next(), words.next()) {
                (Some(name), Some(kind @ ("fail" | "waive")), Some(reason)) => {
                    let known = Known { waived: kind == "waive", reason: reason.to_string() };
                    Ok((name.to_string(), known))
                }
                _ => Err(format!("`{line}` is not `name fail|waive reason`")),
            }
        })
        .collect()
}

fn run_suite() -> Result<bool, String> {
    let options = options()?;
    let directory = options.checkout.join("ptx/src/test/spirv_run");
    let source = std::fs::read_to_string(directory.join("mod.rs"))
        .map_err(|e| format!("{}: {e}", directory.display()))?;
    let tests = extract::tests(&source)?;
    if tests.is_empty() {
        return Err("the checkout's mod.rs has no test".to_string());
    }
    let known = known_failures(options.expected.as_deref())?;
    // Panics are failures of a test, reported with it.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut passed, mut failed, mut waived, mut good) = (0, 0, 0, true);
    let mut rows = String::new();
    for test in &tests {
        let known = known.get(&test.name);
        let (word, note) = if let Some(Known { waived: true, reason }) = known {
            waived += 1;
            ("waived", reason.clone())
        } else {
            let verdict = std::panic::catch_unwind(|| check(&directory, test))
                .unwrap_or_else(|p| Err(format!("panicked: {}", panic_text(&*p))));
            good &= verdict.is_ok() == known.is_none();
            match verdict {
                Ok(note) => {
                    passed += 1;
                    let surprise = "listed as a failure: take it off the list";
                    ("passed", known.map_or(note, |_| surprise.to_string()))
                }
                Err(why) => {
                    failed += 1;
                    ("failed", known.map_or(why, |k| k.reason.clone()))
                }
            }
        };
        if !(word == "passed" && note.is_empty()) {
            println!("{word}  {}: {note}", test.name);
        }
        rows += &format!("| {} | {word} | {} |\n", test.name, note.replace('|', "\\|"));
    }
    for name in known.keys().filter(|n| tests.iter().all(|t| t.name != **n)) {
        println!("missing {name}: expected to fail, not in the checkout");
        good = false;
    }
    let summary = format!("{passed} passed, {failed} failed, {waived} waived");
    if let Some(path) = &options.table {
        let text = format!(
            "# ZLUDA's PTX tests on margay\n\n{summary}, of {}. Written by `cargo run -p \
             margay-filetest --bin zluda -- CHECKOUT --expected tests/suites/zluda.expected --table \
             tests/suites/zluda.md`.\n\n| test | verdict | reason |\n|---|---|---|\n{rows}",
            tests.len()
        );
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    println!("{summary}");
    Ok(good)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
}

/// What is worth saying of a test that passed, or why it failed.
fn check(directory: &Path, test: &Test) -> Result<String, String> {
    let path = directory.join(format!("{}.ptx", test.name));
    let source = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let module = compile(&source)
        .map_err(|e| format!("line {}: {}", e[0].line, e[0].message))
        .map(Arc::new)?;
    let mut arguments = Vec::new();
    let (block, output) = match &test.values {
        Values::None => {
            let unsupported = module.functions.iter().flat_map(|f| &f.unsupported).next();
            return unsupported.map_or(Ok(String::new()), |u| Err(u.to_string()));
        }
        Values::InOut { input, output } => {
            arguments.push(Argument::Buffer { bytes: input.clone(), label: "input".to_string() });
            (1, output)
        }
        Values::Warp { output } => (64, output),
    };
    // ZLUDA passes the output twice where there is no input.
    arguments.push(Argument::Buffer { bytes: vec![0; output.len()], label: "output".to_string() });
    let mut shape = Shape {
        shared: 1024,
        sm: module.sm.max(90),
        timeout: Duration::from_secs(10),
        ..Shape::new([1; 3], [block, 1, 1])
    };
    let kernel = module.functions.iter().find(|f| *f.name == *test.name);
    let wanted = kernel.map_or(0, |f| f.params.len());
    if arguments.len() < wanted {
        arguments.push(Argument::SameBuffer);
    }
    arguments.truncate(wanted);
    let mut result = run(module.clone(), &test.name, &arguments, &shape);
    if let Err(RunError::Failed(LaunchFailure::Fault(fault))) = &result
        && matches!(fault.kind, FaultKind::IllegalAddress { .. })
    {
        // Some tests go past the end of a buffer, which a card does not see.
        shape.page_bounds = true;
        result = run(module.clone(), &test.name, &arguments, &shape);
    }
    let outcome = result.map_err(|e| e.to_string())?;
    match outcome.buffers.last() {
        Some(found) if found == output && shape.page_bounds => {
            Ok("with page bounds: it goes past the end of a variable or buffer".to_string())
        }
        Some(found) if found == output => Ok(String::new()),
        Some(found) => Err(format!("gives {}, not {}", words(found), words(output))),
        None => Err("the kernel takes no output".to_string()),
    }
}

/// The first words of a buffer, for a message.
fn words(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes
        .chunks(4)
        .take(8)
        .map(|c| c.iter().rev().map(|b| format!("{b:02x}")).collect::<String>())
        .collect();
    format!("[{}{}]", shown.join(" "), if bytes.len() > 32 { " …" } else { "" })
}
