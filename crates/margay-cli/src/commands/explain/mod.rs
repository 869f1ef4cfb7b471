// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay explain`: the memory model alone, without a program. What one access of a warp does on a GPU,
//! or how many blocks of a kernel fit, as text, picture or JSON; in bulk for files of accesses.

mod bulk;
mod expression;
mod occupancy;
mod pattern;
mod svg;
mod text;

use margay_arch::picture::Detail;
use margay_arch::{Gpu, Space};
use serde::Serialize;

use crate::failure::Failure;
use pattern::{AccessArgs, Pattern};

/// Explain what a memory access or a launch does on a GPU, without running anything.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Shared memory: which lanes meet in which bank, and how many wavefronts that takes.
    ///
    /// Example: `margay explain bank --gpu 2.0 --stride 32`
    Bank(AccessArgs),
    /// Global memory: into which transactions and sectors a warp's addresses coalesce.
    ///
    /// Example: `margay explain coalesce --gpu 1.0,1.3,2.0,h200 --stride 2`
    Coalesce(AccessArgs),
    /// Constant memory: how many passes the different addresses take.
    ///
    /// Example: `margay explain constant --pattern "tid/8"`
    Constant(AccessArgs),
    /// Local memory: addresses are offsets in each thread's own; how they interleave and coalesce.
    ///
    /// Example: `margay explain local --pattern "tid%2"`
    Local(AccessArgs),
    /// Blocks of a kernel on a multiprocessor, what limits them, and what less of it would bring.
    ///
    /// Example: `margay explain occupancy --registers 40 --shared 8192 --threads 256`
    Occupancy(occupancy::Args),
    /// Many accesses: a file of JSON rows in, the counters of each out.
    ///
    /// A row has space (shared, global, local, const), op (ld, st, atom, red), width, base, active (a
    /// hexadecimal mask) and 32 offsets; lane t accesses base + offsets[t]. Atomics may name their
    /// operation in `atomic` (add.u32 unless named).
    Access(bulk::Args),
}

/// Explains.
pub fn run(args: Args) -> Result<u8, Failure> {
    match args.what {
        What::Bank(args) => one(&args, Space::Shared),
        What::Coalesce(args) => one(&args, Space::Global),
        What::Constant(args) => one(&args, Space::Constant),
        What::Local(args) => one(&args, Space::Local),
        What::Occupancy(args) => occupancy::run(&args),
        What::Access(args) => bulk::run(&args),
    }
}

/// What an access does on one GPU.
struct Answer {
    gpu: Gpu,
    detail: Detail,
    counters: Vec<(&'static str, u64)>,
}

fn one(args: &AccessArgs, space: Space) -> Result<u8, Failure> {
    let pattern = args.pattern(space)?;
    let mut answers = Vec::new();
    for (gpu, model) in args.gpus()? {
        available(&gpu, &pattern)?;
        let access = pattern.access();
        let detail = model.detail(&access);
        let counters = margay_arch::metrics::nsight(&model, &access, &detail.counts);
        answers.push(Answer { gpu, detail, counters });
    }
    if args.form.json {
        println!("{}", json(&pattern, &answers));
    } else if args.form.svg {
        print!("{}", svg::accesses(&pattern, &answers));
    } else {
        print!("{}", text::accesses(args, &pattern, &answers)?);
    }
    Ok(0)
}

/// Refuses what the capability does not have.
fn available(gpu: &Gpu, pattern: &Pattern) -> Result<(), Failure> {
    use margay_arch::Kind;
    let cc = gpu.cc();
    if pattern.width == 32 && cc.major < 10 {
        return Err(Failure::Usage(format!("{cc} has no accesses of 32 bytes a lane; 10.0 has")));
    }
    let (Kind::Atomic(op) | Kind::Reduction(op)) = pattern.kind else { return Ok(()) };
    let shared = pattern.space == Space::Shared;
    if margay_arch::atomics::available(cc, shared, op, pattern.width) {
        return Ok(());
    }
    let first = margay_arch::gpu::ALL
        .iter()
        .find(|l| margay_arch::atomics::available(l.cc, shared, op, pattern.width));
    let cure = match first {
        Some(limits) if limits.cc > cc => format!("; {} is the first that has it", limits.cc),
        Some(_) | None => String::new(),
    };
    Err(Failure::Usage(format!(
        "{cc} has no such atomic on {} memory of {} bytes{cure}",
        text::space(pattern.space),
        pattern.width
    )))
}

#[derive(Serialize)]
struct Report<'a> {
    access: AccessJson<'a>,
    gpus: Vec<GpuJson<'a>>,
}

#[derive(Serialize)]
struct AccessJson<'a> {
    space: Space,
    kind: margay_arch::Kind,
    width: u32,
    cache: margay_arch::CacheOperator,
    active: String,
    addresses: &'a [u64; 32],
}

#[derive(Serialize)]
struct GpuJson<'a> {
    gpu: &'a str,
    name: &'a str,
    compute_capability: String,
    #[serde(flatten)]
    detail: &'a Detail,
    /// By Nsight Compute's names.
    counters: serde_json::Map<String, serde_json::Value>,
}

fn counters(list: &[(&'static str, u64)]) -> serde_json::Map<String, serde_json::Value> {
    list.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect()
}

fn json(pattern: &Pattern, answers: &[Answer]) -> String {
    let report = Report {
        access: AccessJson {
            space: pattern.space,
            kind: pattern.kind,
            width: pattern.width,
            cache: pattern.cache,
            active: format!("{:08x}", pattern.mask),
            addresses: &pattern.addresses,
        },
        gpus: answers
            .iter()
            .map(|answer| GpuJson {
                gpu: answer.gpu.card.alias,
                name: answer.gpu.card.name,
                compute_capability: answer.gpu.cc().to_string(),
                detail: &answer.detail,
                counters: counters(&answer.counters),
            })
            .collect(),
    };
    serde_json::to_string_pretty(&report).expect("plain data")
}
