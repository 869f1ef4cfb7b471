// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a directory of filetests and says what failed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use margay_exec::launch::LaunchFailure;
use margay_ir as ir;

use crate::annotation::{self, Annotation, Kind, fault_name};
use crate::compile::{Diagnostic, compile};
use crate::device::{Argument, Outcome, RunError, Shape, run};
use crate::directive::{Header, Launch, Param, UNWRITTEN};
use crate::element::{from_bytes, show_list, to_bytes};

/// What the files of a directory must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Run to the end and leave the expected contents.
    Contents,
    /// Fault on the annotated line.
    Fault,
    /// Be refused, or lowered with unsupported forms, on the annotated lines.
    Diagnostics,
}

/// How many files there were, and what is wrong with those that failed.
#[derive(Debug, Default)]
pub struct Report {
    pub files: usize,
    pub failures: Vec<(PathBuf, String)>,
}

impl Report {
    /// Panics with all failures, or if nothing was tested.
    pub fn assert_passed(&self) {
        assert!(self.files > 0, "no filetest ran");
        let mut text = String::new();
        for (path, why) in &self.failures {
            let _ = writeln!(text, "{}: {why}", path.display());
        }
        let failed = self.failures.len();
        assert!(failed == 0, "{failed} of {} filetests failed\n{text}", self.files);
    }
}

/// Runs the `.ptx` files of a directory; the environment's `FILETEST` picks those whose name
/// contains it, `BLESS=1` rewrites the contents that differ.
pub fn run_directory(directory: &Path, expect: Expect) -> Report {
    let filter = std::env::var("FILETEST").unwrap_or_default();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .filter(|path| path.to_string_lossy().contains(&filter))
        .collect();
    paths.sort();
    let mut report = Report::default();
    for path in paths {
        report.files += 1;
        let checked = std::panic::catch_unwind(|| check_file(&path, expect));
        let failure = match checked {
            Ok(Ok(())) => continue,
            Ok(Err(why)) => why,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
                format!("panicked: {}", text.unwrap_or_default())
            }
        };
        report.failures.push((path, failure));
    }
    // A filter that fits nothing here may fit elsewhere.
    if !filter.is_empty() {
        report.files = report.files.max(1);
    }
    report
}

fn check_file(path: &Path, expect: Expect) -> Result<(), String> {
    let source = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let header = Header::parse(&source)?;
    let annotations = annotation::parse(&source)?;
    match expect {
        Expect::Contents => {
            if !annotations.is_empty() {
                return Err("a file that runs to its end has no `//~`".to_string());
            }
            check_contents(path, &source, &header)
        }
        Expect::Fault => check_fault(&source, &header, &annotations),
        Expect::Diagnostics => check_diagnostics(&source, &annotations),
    }
}

fn lowered(source: &str) -> Result<Arc<ir::Module>, String> {
    compile(source).map(Arc::new).map_err(|errors| {
        let lines: Vec<String> =
            errors.iter().map(|d| format!("line {}: {}", d.line, d.message)).collect();
        format!("does not compile: {}", lines.join("; "))
    })
}

fn arguments(header: &Header) -> Vec<Argument> {
    header
        .params
        .iter()
        .map(|param| match param {
            Param::Buffer(b) => Argument::Buffer {
                bytes: match &b.before {
                    Some(values) => to_bytes(b.element, values),
                    None => vec![UNWRITTEN; b.after.len() * b.element.bytes()],
                },
                label: b.name.clone(),
            },
            Param::Scalar { element, value, .. } => Argument::Value(to_bytes(*element, &[*value])),
            Param::Image(image) => Argument::Image(image.clone()),
        })
        .collect()
}

fn shapes(launch: &Launch) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for &sm in &launch.sm {
        for threads in [1, 2] {
            shapes.push(Shape {
                grid: launch.grid,
                block: launch.block,
                cluster: launch.cluster,
                shared: launch.shared,
                sm,
                cooperative: launch.cooperative,
                stack: launch.stack,
                threads,
                timeout: Duration::from_secs(10),
                page_bounds: false,
                engine: None,
                seed: None,
            });
        }
    }
    shapes
}

fn run_one(
    module: &Arc<ir::Module>,
    header: &Header,
    launch: &Launch,
    shape: &Shape,
) -> Result<Outcome, RunError> {
    run(module.clone(), &launch.kernel, &arguments(header), shape)
}

fn check_contents(path: &Path, source: &str, header: &Header) -> Result<(), String> {
    let outputs = header.params.iter().any(|p| matches!(p, Param::Buffer(b) if b.place.is_some()));
    if header.launches.is_empty() || !(outputs || header.print.is_some()) {
        return Err("a launch and something that it must leave are missing".to_string());
    }
    let module = lowered(source)?;
    for launch in &header.launches {
        for shape in shapes(launch) {
            let how = format!("{} on sm_{}, {} threads", launch.kernel, shape.sm, shape.threads);
            let outcome =
                run_one(&module, header, launch, &shape).map_err(|e| format!("{how}: {e}"))?;
            let wrong = differences(header, &outcome);
            if wrong.is_empty() {
                continue;
            }
            if std::env::var_os("BLESS").is_some() {
                return bless(path, source, header, &outcome);
            }
            return Err(format!("{how}:\n{wrong}"));
        }
    }
    Ok(())
}

fn differences(header: &Header, outcome: &Outcome) -> String {
    let mut text = String::new();
    let buffers = header.params.iter().filter_map(|p| match p {
        Param::Buffer(b) => Some(b),
        Param::Scalar { .. } | Param::Image(_) => None,
    });
    for (buffer, bytes) in buffers.zip(&outcome.buffers) {
        let values = from_bytes(buffer.element, bytes);
        if values == buffer.after {
            continue;
        }
        let first = values.iter().zip(&buffer.after).position(|(a, b)| a != b).unwrap_or(0);
        let show = |v: &[u64]| buffer.element.show(v[first]);
        let _ = writeln!(
            text,
            "  {}[{first}] is {}, expected {}\n    is       {}\n    expected {}",
            buffer.name,
            show(&values),
            show(&buffer.after),
            show_list(buffer.element, &values),
            show_list(buffer.element, &buffer.after),
        );
    }
    let printed = String::from_utf8_lossy(&outcome.printed);
    if let Some(expected) = &header.print
        && *expected != printed
    {
        let _ = writeln!(text, "  printed {printed:?}, expected {expected:?}");
    }
    text
}

/// Rewrites the expected lists of a file with what came out.
fn bless(path: &Path, source: &str, header: &Header, outcome: &Outcome) -> Result<(), String> {
    let mut lines: Vec<Option<String>> = source.lines().map(|l| Some(l.to_string())).collect();
    let buffers = header.params.iter().filter_map(|p| match p {
        Param::Buffer(b) => Some(b),
        Param::Scalar { .. } | Param::Image(_) => None,
    });
    for (buffer, bytes) in buffers.zip(&outcome.buffers) {
        let values = from_bytes(buffer.element, bytes);
        if values == buffer.after {
            continue;
        }
        let Some((place, head)) = &buffer.place else {
            return Err(format!("the kernel wrote to its input `{}`", buffer.name));
        };
        lines[place.start] = Some(format!("{head} {}", show_list(buffer.element, &values)));
        lines[place.start + 1..place.end].fill(None);
    }
    let text: String = lines.into_iter().flatten().map(|l| l + "\n").collect();
    std::fs::write(path, text).map_err(|e| e.to_string())
}

fn check_fault(source: &str, header: &Header, annotations: &[Annotation]) -> Result<(), String> {
    let [expected] = annotations else {
        return Err("a failing file has exactly one `//~ FAULT`".to_string());
    };
    if expected.kind != Kind::Fault || header.launches.is_empty() {
        return Err("a failing file has a launch and a `//~ FAULT`".to_string());
    }
    let module = lowered(source)?;
    let mut words = expected.text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let details: Vec<&str> = words.collect();
    for launch in &header.launches {
        for shape in shapes(launch) {
            let how = format!("{} on sm_{}, {} threads", launch.kernel, shape.sm, shape.threads);
            match run_one(&module, header, launch, &shape) {
                Err(RunError::Failed(LaunchFailure::Fault(fault))) => {
                    let found = fault_name(&fault.kind);
                    let (is, line) = (fault.place.ptx_line, expected.line);
                    if found != name || is != line {
                        let wanted = format!("expected {name} on line {line}");
                        return Err(format!("{how}: {found} on line {is}, {wanted} ({fault:?})"));
                    }
                    let told = [
                        format!(
                            "thread={},{},{}",
                            fault.thread[0], fault.thread[1], fault.thread[2]
                        ),
                        format!("block={},{},{}", fault.block[0], fault.block[1], fault.block[2]),
                    ];
                    for detail in &details {
                        if !told.iter().any(|t| t == detail) {
                            return Err(format!("{how}: {told:?}, expected {detail}"));
                        }
                    }
                }
                Err(other) => return Err(format!("{how}: {other}, expected {name}")),
                Ok(_) => return Err(format!("{how}: no fault, expected {name}")),
            }
        }
    }
    Ok(())
}

fn check_diagnostics(source: &str, annotations: &[Annotation]) -> Result<(), String> {
    if annotations.is_empty() {
        return Err("no `//~` in the file".to_string());
    }
    let (mut errors, mut unsupported) = (Vec::new(), Vec::new());
    match compile(source) {
        Ok(module) => {
            for u in module.functions.iter().flat_map(|f| &f.unsupported) {
                unsupported.push(Diagnostic { line: u.ptx_line, message: u.to_string() });
            }
        }
        Err(found) => errors = found,
    }
    let mut wrong = String::new();
    for expected in annotations {
        let found = match expected.kind {
            Kind::Error => &mut errors,
            Kind::Unsupported => &mut unsupported,
            Kind::Fault => return Err("`//~ FAULT` belongs in fail/".to_string()),
        };
        let fits = |d: &Diagnostic| d.line == expected.line && d.message.contains(&expected.text);
        match found.iter().position(fits) {
            Some(i) => {
                found.remove(i);
            }
            None => {
                let _ = writeln!(wrong, "missing on line {}: {}", expected.line, expected.text);
            }
        }
    }
    for d in errors.iter().chain(&unsupported) {
        let _ = writeln!(wrong, "unexpected on line {}: {}", d.line, d.message);
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
