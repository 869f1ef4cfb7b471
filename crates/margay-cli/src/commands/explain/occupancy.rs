// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay explain occupancy`: blocks of a kernel on a multiprocessor.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use margay_arch::registers::{launch_bound, spills};
use margay_arch::{
    BlockLimits, Gpu, LaunchResources, Limiter, Limits, Occupancy, Step, block_limits, caches,
    occupancy, steps,
};
use serde::Serialize;

use super::pattern::Form;
use super::text::plural;
use super::{bulk, svg};
use crate::commands::gpu_name;
use crate::failure::{At, Failure};

/// A kernel's resources, or a file of them.
#[derive(clap::Args)]
pub struct Args {
    /// One or several GPUs, separated by commas: names (`h200`) or compute capabilities (`2.0`).
    #[arg(long, value_name = "GPU,…", default_value = "h200")]
    gpu: String,
    /// Registers of a thread.
    #[arg(long, value_name = "N", required_unless_present = "csv")]
    registers: Option<u32>,
    /// Threads of a block.
    #[arg(long, value_name = "N", required_unless_present = "csv")]
    threads: Option<u32>,
    /// Bytes of shared memory of a block, static and dynamic.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// Lines `registers,threads,dynamic_shared`, with or without a heading: each comes back with
    /// `blocks_per_sm` behind it. `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["registers", "threads", "shared", "svg", "json"])]
    csv: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

/// Explains one kernel, or answers a file.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let gpus: Vec<Gpu> =
        args.gpu.split(',').map(|name| gpu_name::find(name.trim())).collect::<Result<_, _>>()?;
    if let Some(path) = &args.csv {
        let [gpu] = gpus[..] else {
            return Err(Failure::Usage("a file is answered for one GPU at a time".into()));
        };
        return table(gpu.limits, path);
    }
    let (Some(registers), Some(threads)) = (args.registers, args.threads) else {
        return Err(Failure::Usage("--registers and --threads are needed".into()));
    };
    if threads == 0 {
        return Err(Failure::Usage("a block has at least one thread".into()));
    }
    let kernel = LaunchResources {
        threads_per_block: threads,
        registers_per_thread: registers,
        shared_per_block: args.shared,
    };
    let answers: Vec<Answer> = gpus.iter().map(|gpu| Answer::of(gpu, &kernel)).collect();
    if args.form.json {
        println!("{}", serde_json::to_string_pretty(&answers).expect("plain data"));
    } else if args.form.svg {
        print!("{}", svg::occupancies(&answers));
    } else {
        print!("{}", text(&answers));
    }
    Ok(0)
}

/// What a GPU makes of a kernel.
#[derive(Serialize)]
pub struct Answer {
    pub gpu: &'static str,
    pub name: &'static str,
    pub compute_capability: String,
    pub registers: u32,
    pub threads: u32,
    pub shared: u32,
    #[serde(flatten)]
    pub occupancy: Occupancy,
    /// Of the multiprocessor's warps, in percent.
    pub occupancy_percent: f64,
    pub limits: BlockLimits,
    pub steps: Vec<Step>,
    /// Why no block fits, if none does.
    pub refused: Option<String>,
    #[serde(skip)]
    pub of: &'static Limits,
}

impl Answer {
    fn of(gpu: &Gpu, kernel: &LaunchResources) -> Answer {
        let limits = gpu.limits;
        let answer = occupancy(limits, kernel);
        Answer {
            gpu: gpu.card.alias,
            name: gpu.card.name,
            compute_capability: gpu.cc().to_string(),
            registers: kernel.registers_per_thread,
            threads: kernel.threads_per_block,
            shared: kernel.shared_per_block,
            occupancy: answer,
            occupancy_percent: 100.0 * f64::from(answer.warps_per_sm)
                / f64::from(limits.max_warps_per_sm.value),
            limits: block_limits(limits, kernel),
            steps: steps(limits, kernel),
            refused: (answer.blocks_per_sm == 0).then(|| refusal(limits, kernel)),
            of: limits,
        }
    }
}

fn refusal(limits: &Limits, kernel: &LaunchResources) -> String {
    let LaunchResources { threads_per_block, registers_per_thread, shared_per_block } = *kernel;
    let threads = limits.max_threads_per_block.value;
    let registers = limits.max_registers_per_thread.value;
    let shared = limits.shared_per_block_optin.value;
    if threads_per_block > threads {
        format!("a block has at most {threads} threads, not {threads_per_block}")
    } else if registers_per_thread > registers {
        format!("a thread has at most {registers} registers, not {registers_per_thread}")
    } else if shared_per_block > shared {
        format!("a block has at most {shared} bytes of shared memory, not {shared_per_block}")
    } else {
        let most = launch_bound(limits, threads_per_block, 1);
        format!("blocks of that size allow {most} registers a thread")
    }
}

fn resource(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Blocks => "the number of blocks",
        Limiter::Warps => "the number of warps",
        Limiter::Registers => "registers",
        Limiter::Shared => "shared memory",
    }
}

fn text(answers: &[Answer]) -> String {
    let mut out = String::new();
    let Some(first) = answers.first() else { return out };
    let _ = writeln!(
        out,
        "A kernel of {} a thread, blocks of {} with {} of shared memory",
        plural(first.registers, "register"),
        plural(first.threads, "thread"),
        plural(first.shared, "byte"),
    );
    if let [answer] = answers {
        full(&mut out, answer);
        return out;
    }
    let _ = writeln!(
        out,
        "\n{:<10} {:>4}  {:>6}  {:>5}  {:>9}  LIMIT",
        "GPU", "CC", "BLOCKS", "WARPS", "OCCUPANCY"
    );
    for answer in answers {
        let limit = match &answer.refused {
            Some(why) => why.clone(),
            None => resource(answer.occupancy.limiter).to_owned(),
        };
        let _ = writeln!(
            out,
            "{:<10} {:>4}  {:>6}  {:>5}  {:>7.1} %  {limit}",
            answer.gpu,
            answer.compute_capability,
            answer.occupancy.blocks_per_sm,
            answer.occupancy.warps_per_sm,
            answer.occupancy_percent,
        );
    }
    out
}

fn full(out: &mut String, answer: &Answer) {
    let limits = answer.of;
    let _ =
        writeln!(out, "on {}, compute capability {}:\n", answer.name, answer.compute_capability);
    if let Some(why) = &answer.refused {
        let _ = writeln!(out, "  Not even one block fits: {why}.\n");
    } else {
        let _ = writeln!(
            out,
            "  {} a multiprocessor: {} of {}, occupancy {:.1} %. The limit is {}.\n",
            plural(answer.occupancy.blocks_per_sm, "block"),
            plural(answer.occupancy.warps_per_sm, "warp"),
            limits.max_warps_per_sm.value,
            answer.occupancy_percent,
            resource(answer.occupancy.limiter),
        );
    }
    let warps = answer.threads.div_ceil(32);
    let BlockLimits { blocks, warps: by_warps, registers, shared } = answer.limits;
    let mut row = |what: &str, blocks: Option<u32>, limiter: Limiter, why: String| {
        let count = blocks.map_or("any".to_owned(), |b| b.to_string());
        let mark = if limiter == answer.occupancy.limiter { "<" } else { " " };
        let _ = writeln!(out, "  {what:<15} {count:>5} {mark} {why}");
    };
    row("blocks", Some(blocks), Limiter::Blocks, "as many as a multiprocessor keeps".into());
    row(
        "warps",
        Some(by_warps),
        Limiter::Warps,
        format!("{} of {warps}", plural(limits.max_warps_per_sm.value, "warp")),
    );
    let unit = limits.register_unit.value;
    let allocated = if limits.cc.major == 1 {
        let warps = warps.next_multiple_of(limits.warp_unit.value);
        format!(
            "{} a block, in units of {unit}",
            (warps * 32 * answer.registers).next_multiple_of(unit)
        )
    } else {
        format!("{} a warp, in units of {unit}", (answer.registers * 32).next_multiple_of(unit))
    };
    row(
        "registers",
        registers,
        Limiter::Registers,
        format!("{} of {allocated}", limits.registers_per_sm.value),
    );
    let kept = limits.shared_reserved.value
        + if limits.cc.major == 1 { limits.shared_launch_configuration.value } else { 0 };
    let block = (answer.shared + kept).next_multiple_of(limits.shared_unit.value);
    let kept = match kept {
        0 => String::new(),
        kept if limits.cc.major == 1 => {
            format!(", {kept} of them the launch configuration (and parameters, if any)")
        }
        kept => format!(", {kept} of them the system's"),
    };
    row(
        "shared memory",
        shared,
        Limiter::Shared,
        format!("{} bytes of {block} a block{kept}", limits.shared_per_sm.value),
    );
    out.push('\n');
    for step in &answer.steps {
        let Step { resource, from, to, blocks_per_sm, .. } = step;
        let noun = match resource {
            Limiter::Registers => "register",
            Limiter::Shared => "byte of shared memory",
            Limiter::Warps | Limiter::Blocks => continue,
        };
        let number = from.abs_diff(*to);
        let noun = if number == 1 { noun.to_owned() } else { noun.replacen(' ', "s ", 1) };
        let noun = if number != 1 && !noun.contains(' ') { noun + "s" } else { noun };
        let (less, verb) = if to < from { ("less", "bring") } else { ("more", "leave") };
        let ending = if number == 1 { "s" } else { "" };
        let blocks = plural(*blocks_per_sm, "block");
        let _ = writeln!(out, "  {number} {noun} {less} {verb}{ending} {blocks}.");
        if *resource == Limiter::Registers && to < from {
            let cost = spills(*from, *to);
            let _ = writeln!(
                out,
                "    (-maxrregcount {to} would spill {} bytes a thread, at least {} sectors a warp.)",
                cost.local_bytes, cost.sectors_per_warp
            );
        }
    }
    let used = answer.occupancy.blocks_per_sm * block;
    let split = caches::split_for(limits, used, caches::SplitPreference::Default);
    if limits.cc.major >= 2 && split.l1 != 0 {
        let _ = writeln!(
            out,
            "  With {} KB of shared memory set aside, L1 has {} KB.",
            split.shared >> 10,
            split.l1 >> 10
        );
    }
}

/// Three columns in, four out.
fn table(limits: &Limits, path: &Path) -> Result<u8, Failure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut headed = false;
    for (number, line) in bulk::lines(path)?.enumerate() {
        let line = line.at(path, "cannot read")?;
        let fields: Vec<&str> = line.trim().split(',').map(str::trim).collect();
        if line.trim().is_empty() {
            continue;
        }
        if number == 0 && fields[0].parse::<u32>().is_err() {
            headed = true;
        }
        let row = if headed && number == 0 {
            "registers,threads,dynamic_shared,blocks_per_sm".to_owned()
        } else {
            let kernel = kernel(&fields).map_err(|what| {
                Failure::Work(format!("{}:{}: {what}", path.display(), number + 1))
            })?;
            let blocks = occupancy(limits, &kernel).blocks_per_sm;
            format!("{},{},{},{blocks}", fields[0], fields[1], fields[2])
        };
        if let Err(error) = writeln!(out, "{row}") {
            return bulk::closed(error);
        }
    }
    match out.flush() {
        Ok(()) => Ok(0),
        Err(error) => bulk::closed(error),
    }
}

fn kernel(fields: &[&str]) -> Result<LaunchResources, String> {
    let [registers, threads, shared, ..] = fields else {
        return Err(format!(
            "{} columns; registers, threads, dynamic_shared are needed",
            fields.len()
        ));
    };
    let number = |text: &&str| text.parse::<u32>().map_err(|_| format!("`{text}` is no number"));
    let threads_per_block = number(threads)?;
    if threads_per_block == 0 {
        return Err("a block has at least one thread".into());
    }
    Ok(LaunchResources {
        threads_per_block,
        registers_per_thread: number(registers)?,
        shared_per_block: number(shared)?,
    })
}
