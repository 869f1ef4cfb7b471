// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay explain access --jsonl FILE`: rows of accesses in, their counters out, one line each.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use margay_arch::{AtomicOp, CacheOperator, Kind, MemoryModel, Space, WarpAccess};
use serde::Deserialize;

use crate::commands::gpu_name;
use crate::failure::{At, Failure};

/// The file and the GPU.
#[derive(clap::Args)]
pub struct Args {
    /// A name (`h200`) or a compute capability (`9.0`).
    #[arg(long, value_name = "GPU", default_value = "h200")]
    gpu: String,
    /// Rows, one JSON object a line; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    jsonl: PathBuf,
}

/// One access. Fields that are not named here (a recording's own counters) are passed over.
#[derive(Deserialize)]
struct Row {
    id: serde_json::Value,
    space: String,
    op: String,
    #[serde(default)]
    atomic: Option<String>,
    width: u32,
    #[serde(default)]
    base: u64,
    active: String,
    offsets: Vec<u64>,
}

/// Answers every row, in order.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let gpu = gpu_name::find(&args.gpu)?;
    let model = MemoryModel::new(gpu.limits);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (number, line) in lines(&args.jsonl)?.enumerate() {
        let line = line.at(&args.jsonl, "cannot read")?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = answer(&model, &line).map_err(|what| {
            Failure::Work(format!("{}:{}: {what}", args.jsonl.display(), number + 1))
        })?;
        if let Err(error) = writeln!(out, "{answer}") {
            return closed(error);
        }
    }
    match out.flush() {
        Ok(()) => Ok(0),
        Err(error) => closed(error),
    }
}

/// Standard output is gone: a reader that had enough (`| head`) is no failure.
pub(super) fn closed(error: std::io::Error) -> Result<u8, Failure> {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ok(0),
        _ => Err(error).at(Path::new("standard output"), "cannot write"),
    }
}

/// The lines of a file, or of standard input.
pub(super) fn lines(path: &Path) -> Result<impl Iterator<Item = std::io::Result<String>>, Failure> {
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).at(path, "cannot read")?)
    };
    Ok(BufReader::new(source).lines())
}

fn answer(model: &MemoryModel, line: &str) -> Result<String, String> {
    let row: Row = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let space = match row.space.as_str() {
        "shared" => Space::Shared,
        "global" => Space::Global,
        "local" => Space::Local,
        "const" | "constant" => Space::Constant,
        other => return Err(format!("space `{other}`; known are shared, global, local, const")),
    };
    let op = atomic_op(row.atomic.as_deref().unwrap_or("add"))?;
    let kind = match row.op.as_str() {
        "ld" => Kind::Load,
        "st" => Kind::Store,
        "atom" => Kind::Atomic(op),
        "red" => Kind::Reduction(op),
        other => return Err(format!("op `{other}`; known are ld, st, atom, red")),
    };
    let atomic = matches!(kind, Kind::Atomic(_) | Kind::Reduction(_));
    if atomic && matches!(space, Space::Local | Space::Constant)
        || space == Space::Constant && kind != Kind::Load
    {
        return Err(format!("{} memory has no `{}`", row.space, row.op));
    }
    if !matches!(row.width, 1 | 2 | 4 | 8 | 16 | 32) {
        return Err(format!("width {}; a lane accesses 1, 2, 4, 8, 16 or 32 bytes", row.width));
    }
    if let Kind::Atomic(op) | Kind::Reduction(op) = kind
        && let Some(first) =
            margay_arch::atomics::first_with(model.cc, space == Space::Shared, op, row.width)
    {
        let (cc, bytes) = (model.cc, row.width);
        return Err(format!(
            "{cc} has no such atomic on {} memory of {bytes} bytes; {first} is the first that has it",
            row.space
        ));
    }
    let active = row.active.trim_start_matches("0x");
    let mask = u32::from_str_radix(active, 16)
        .map_err(|_| format!("active `{}` is no hexadecimal mask of 32 lanes", row.active))?;
    let offsets: [u64; 32] = (row.offsets.try_into())
        .map_err(|o: Vec<u64>| format!("{} offsets; a warp has 32 lanes", o.len()))?;
    let mut addresses = [0; 32];
    for (lane, (address, offset)) in addresses.iter_mut().zip(offsets).enumerate() {
        *address = row
            .base
            .checked_add(offset)
            .filter(|a| *a < 1 << 48)
            .ok_or_else(|| format!("lane {lane}'s address is beyond 48 bits"))?;
        if mask >> lane & 1 == 1 && !address.is_multiple_of(row.width.into()) {
            return Err(format!("lane {lane}'s address {address} is no multiple of {}", row.width));
        }
    }
    let access = WarpAccess {
        space,
        kind,
        width: row.width,
        mask,
        addresses: &addresses,
        cache: CacheOperator::Default,
    };
    let counts = model.count(&access);
    let counters = super::counters(&margay_arch::metrics::nsight(model, &access, &counts));
    Ok(serde_json::json!({ "id": row.id, "counters": counters }).to_string())
}

/// `add.u64`, `cas.b32`: as PTX writes it. The type matters for additions only.
fn atomic_op(text: &str) -> Result<AtomicOp, String> {
    let (name, kind) = text.split_once('.').unwrap_or((text, ""));
    match (name, kind.starts_with('f') || kind.starts_with("bf")) {
        ("add", true) => Ok(AtomicOp::AddFloat),
        (name, _) => super::pattern::atomic_op(name),
    }
}
