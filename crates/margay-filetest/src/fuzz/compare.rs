// SPDX-License-Identifier: MIT OR Apache-2.0
//! One kernel on both engines, and what differs.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use margay_exec::fault::{Fault, FaultKind};
use margay_exec::jit::Engine;
use margay_exec::launch::LaunchFailure;
use margay_ir as ir;

use super::kernel::Kernel;
use crate::compile::compile;
use crate::device::{self, Argument, Outcome, RunError, Shape};

/// What both engines must agree on. How far the other threads came before a fault is nobody's
/// promise, so memory counts only where there was none.
#[derive(Debug, PartialEq)]
pub enum Result {
    Memory(Vec<Vec<u8>>),
    /// Kind, block, thread, line.
    Fault(String, [u32; 3], [u32; 3], u32),
}

/// Why a kernel proves nothing.
#[derive(Debug)]
pub enum Broken {
    /// It does not compile: a defect of the generator, or of the front end.
    Compile(String),
    /// It did not run to an end.
    Run(String),
}

/// A difference between the engines, in words.
#[derive(Debug)]
pub struct Difference(pub String);

fn arguments(kernel: &Kernel) -> Vec<Argument> {
    let words = |w: &[u32]| w.iter().flat_map(|w| w.to_le_bytes()).collect();
    let buffer = |bytes: Vec<u8>, label: &str| Argument::Buffer { bytes, label: label.to_owned() };
    vec![
        buffer(words(&kernel.input), "inp"),
        buffer(vec![0; kernel.out_bytes as usize], "out"),
        buffer(vec![0; kernel.sums_bytes as usize], "sums"),
        Argument::Value(kernel.number.to_le_bytes().to_vec()),
        Argument::Value(kernel.wide.to_le_bytes().to_vec()),
    ]
}

fn shape(kernel: &Kernel, engine: Engine, threads: usize) -> Shape {
    Shape {
        sm: kernel.sm,
        threads,
        timeout: Duration::from_secs(20),
        engine: Some(engine),
        ..Shape::new(kernel.grid, kernel.block)
    }
}

fn fault(f: &Fault) -> Result {
    // Addresses differ from run to run.
    let kind = format!("{:?}", f.kind);
    let kind = kind.split([' ', '{']).next().unwrap_or_default().to_owned();
    Result::Fault(kind, f.block, f.thread, f.place.ptx_line)
}

/// Runs a kernel on one engine.
pub fn run(
    module: &Arc<ir::Module>,
    kernel: &Kernel,
    engine: Engine,
    threads: usize,
) -> std::result::Result<Result, Broken> {
    let shape = shape(kernel, engine, threads);
    match device::run(module.clone(), "k", &arguments(kernel), &shape) {
        Ok(Outcome { buffers, .. }) => Ok(Result::Memory(buffers)),
        // The clock's verdict, not the engine's: a machine that is busy enough gives it to any kernel.
        Err(RunError::Failed(LaunchFailure::Fault(f)))
            if matches!(f.kind, FaultKind::Timeout { .. }) =>
        {
            Err(Broken::Run(f.to_string()))
        }
        Err(RunError::Failed(LaunchFailure::Fault(f))) => Ok(fault(&f)),
        Err(other) => Err(Broken::Run(other.to_string())),
    }
}

/// The kernel's module.
pub fn module(kernel: &Kernel) -> std::result::Result<Arc<ir::Module>, Broken> {
    let module = compile(&kernel.text())
        .map_err(|e| Broken::Compile(format!("line {}: {}", e[0].line, e[0].message)))?;
    match module.functions.iter().flat_map(|f| &f.unsupported).next() {
        Some(u) => Err(Broken::Compile(u.to_string())),
        None => Ok(Arc::new(module)),
    }
}

/// Runs a kernel on both engines.
pub fn compare(kernel: &Kernel) -> std::result::Result<Option<Difference>, Broken> {
    let module = module(kernel)?;
    let wanted = run(&module, kernel, Engine::Interp, 1)?;
    let found = run(&module, kernel, Engine::Jit, 1)?;
    Ok((!agree(kernel, &wanted, &found)).then(|| Difference(describe(kernel, &wanted, &found))))
}

/// Whether two results are one. Of several warps that fault at one place the first is told, and after a
/// barrier any may be that.
fn agree(kernel: &Kernel, wanted: &Result, found: &Result) -> bool {
    let (Result::Fault(kind, block, thread, line), Result::Fault(kind2, block2, thread2, line2)) =
        (wanted, found)
    else {
        return wanted == found;
    };
    let [x, y, _] = kernel.block;
    let warp = |t: &[u32; 3]| (t[0] + x * (t[1] + y * t[2])) / 32;
    let any = warp(thread) != warp(thread2) && kernel.text().contains("bar");
    (kind, block, line) == (kind2, block2, line2) && (thread == thread2 || any)
}

fn describe(kernel: &Kernel, wanted: &Result, found: &Result) -> String {
    let (Result::Memory(a), Result::Memory(b)) = (wanted, found) else {
        let show = |r: &Result| match r {
            Result::Memory(_) => "no fault".to_owned(),
            Result::Fault(kind, block, thread, line) => {
                format!("{kind} in block {block:?}, thread {thread:?}, on line {line}")
            }
        };
        return format!("interpreter: {}; compiled: {}", show(wanted), show(found));
    };
    let mut text = String::new();
    for (name, (a, b)) in ["inp", "out", "sums"].iter().zip(a.iter().zip(b)) {
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
        };
        let (a, b) = (words(a), words(b));
        let wrong: Vec<usize> = (0..a.len()).filter(|&i| a[i] != b[i]).collect();
        if wrong.is_empty() {
            continue;
        }
        let _ = write!(text, "{name}: {} words differ;", wrong.len());
        for &i in wrong.iter().take(6) {
            let at = if *name == "out" {
                let slot = super::generate::SLOT as usize / 4;
                format!("thread {} byte {}", i / slot, i % slot * 4)
            } else {
                format!("byte {}", i * 4)
            };
            let _ = write!(text, " {at}: {:#x}, compiled {:#x};", a[i], b[i]);
        }
    }
    let _ = write!(text, " block {:?} grid {:?} sm_{}", kernel.block, kernel.grid, kernel.sm);
    text
}

/// The kernel as a filetest, with what the interpreter gives as its expectation.
pub fn filetest(kernel: &Kernel) -> String {
    let dims = |d: [u32; 3]| format!("{},{},{}", d[0], d[1], d[2]);
    let mut text = format!(
        "// Found by the differential fuzzer, seed {}.\n// launch: k grid={} block={} sm={}\n",
        kernel.seed,
        dims(kernel.grid),
        dims(kernel.block),
        kernel.sm
    );
    use crate::element::{Element, from_bytes, show_list};
    let list = |bytes: &[u8]| show_list(Element::U32, &from_bytes(Element::U32, bytes));
    let after = module(kernel).and_then(|m| run(&m, kernel, Engine::Interp, 1));
    let input: Vec<u64> = kernel.input.iter().map(|&w| w.into()).collect();
    let _ = writeln!(text, "// buffer in inp: u32 = {}", show_list(Element::U32, &input));
    let (out, sums) = match &after {
        Ok(Result::Memory(buffers)) => (list(&buffers[1]), list(&buffers[2])),
        _ => ("[]".to_owned(), "[]".to_owned()),
    };
    for (name, bytes, after) in [("out", kernel.out_bytes, out), ("sums", kernel.sums_bytes, sums)]
    {
        let _ = writeln!(text, "// buffer inout {name}: u32 = [0*{}] -> {after}", bytes / 4);
    }
    let _ = writeln!(text, "// scalar number: u32 = {}", kernel.number);
    let _ = writeln!(text, "// scalar wide: u64 = {:#x}", kernel.wide);
    text + &kernel.text()
}
