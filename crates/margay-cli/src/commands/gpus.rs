// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay gpus`: the virtual GPUs.

use std::fmt::Display;

use margay_arch::{Card, Figure, Gpu, Limits, Source};

use super::gpu_name;
use crate::failure::Failure;

/// List the virtual GPUs, or describe one.
#[derive(clap::Args)]
pub struct Args {
    /// A name (`h200`, `NVIDIA H200`) or a compute capability (`sm_90`, `9.0`).
    name: Option<String>,
    /// Every figure as JSON, with its source: an array of all cards, or the named one.
    #[arg(long)]
    json: bool,
}

/// Prints the table, or one card.
pub fn run(args: Args) -> Result<u8, Failure> {
    match &args.name {
        None if args.json => println!("{}", json(&margay_arch::cards().collect::<Vec<Gpu>>())),
        None => list(),
        Some(name) => {
            let gpu = gpu_name::find(name)?;
            if args.json {
                println!("{}", json(&gpu));
            } else {
                describe(&gpu);
            }
        }
    }
    Ok(0)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a card is plain data")
}

fn list() {
    println!("{:<10} {:<7} {:>4} {:>9} {:>9}  NAME", "GPU", "ARCH", "SMs", "MHz", "MiB");
    for gpu in margay_arch::cards() {
        let card = gpu.card;
        println!(
            "{:<10} {:<7} {:>4} {:>9} {:>9}  {}",
            card.alias,
            format!("sm_{}", card.cc.sm()),
            card.sm_count.value,
            card.clock_khz.value / 1000,
            card.memory_bytes.value >> 20,
            card.name
        );
    }
    println!("\n`margay gpus NAME` has all figures; `margay run --gpu NAME` runs on one.");
}

/// A line: what, how much, and where the figure comes from.
fn row(label: &str, value: impl Display, source: Option<Source>) {
    let source = source.map_or("", Source::word);
    let line = format!("  {label:<42} {value:<25} {source}");
    println!("{}", line.trim_end());
}

fn figure<T: Copy, S: Display>(label: &str, figure: Figure<T>, show: impl Fn(T) -> S) {
    row(label, show(figure.value), Some(figure.source));
}

/// As NVIDIA's deviceQuery sample does.
fn describe(gpu: &Gpu) {
    // Every field is named: a figure that is added must be shown.
    let Card {
        name,
        alias,
        cc,
        sm_count,
        clock_khz,
        memory_clock_khz,
        memory_bus_bits,
        memory_bytes,
        l2_bytes,
        constant_cache: _,
        ecc,
        integrated,
        accelerator,
    } = gpu.card;
    println!("{name}  (--gpu {alias})\n");
    row("Compute capability", format!("{cc} (sm_{}, {})", cc.sm(), gpu.limits.architecture), None);
    figure("Multiprocessors (SMs)", *sm_count, plain);
    figure("Clock rate", *clock_khz, megahertz);
    figure("Global memory", *memory_bytes, bytes);
    figure("Memory clock rate", *memory_clock_khz, megahertz);
    figure("Memory bus width", *memory_bus_bits, |b| format!("{b} bits"));
    figure("L2 cache", *l2_bytes, bytes);
    row("Error correction (ECC)", yes(*ecc), None);
    row("Integrated, sharing host memory", yes(*integrated), None);
    if *accelerator {
        row("OpenCL device type", "CL_DEVICE_TYPE_ACCELERATOR", None);
    }
    describe_limits(gpu);
    println!(
        "\nSource of a figure: manual, NVIDIA's documents; measured, read off a card; inferred,\n\
         concluded from neighbours or third parties' tables; modelled, margay's own choice."
    );
}

fn describe_limits(gpu: &Gpu) {
    let Limits {
        cc: _,
        architecture: _,
        max_grid,
        max_block,
        max_threads_per_block,
        max_blocks_per_sm,
        max_warps_per_sm,
        max_threads_per_sm,
        registers_per_sm,
        max_registers_per_block,
        max_registers_per_thread,
        register_unit,
        warp_unit,
        shared_per_sm,
        shared_per_block,
        shared_per_block_optin,
        shared_unit,
        shared_reserved,
        shared_launch_configuration,
        shared_banks,
        constant_memory,
        constant_cache: _,
        local_per_thread,
        max_parameters,
        l1_and_shared,
        max_cluster,
        single_to_double_ratio,
        concurrent_kernels,
        async_engines,
        cooperative_launch,
        unified_addressing,
        managed_memory,
        concurrent_managed_access,
        compute_preemption,
    } = gpu.limits;
    println!("\nGrids and blocks");
    figure("Largest grid (x, y, z)", *max_grid, dimensions);
    figure("Largest block (x, y, z)", *max_block, dimensions);
    figure("Threads of a block, at most", *max_threads_per_block, plain);
    figure("Blocks of a cluster, at most", *max_cluster, or_none);
    row("Threads of a warp", Limits::WARP_SIZE, None);
    figure("Parameters of a kernel, at most", *max_parameters, bytes);
    println!("\nOn a multiprocessor");
    figure("Resident blocks", *max_blocks_per_sm, plain);
    figure("Resident warps", *max_warps_per_sm, plain);
    figure("Resident threads", *max_threads_per_sm, plain);
    figure("Warps are counted in units of", *warp_unit, plain);
    println!("\nRegisters (32 bits each)");
    figure("Of a multiprocessor", *registers_per_sm, plain);
    figure("Of a block, at most", *max_registers_per_block, plain);
    figure("Of a thread, at most", *max_registers_per_thread, plain);
    figure("Handed out in units of", *register_unit, plain);
    println!("\nShared memory");
    figure("Of a multiprocessor", *shared_per_sm, bytes);
    figure("Of a block", *shared_per_block, bytes);
    figure("Of a block that opts in", *shared_per_block_optin, bytes);
    figure("Kept by the system, of each block", *shared_reserved, bytes);
    figure("Holds the launch configuration", *shared_launch_configuration, bytes);
    figure("Handed out in units of", *shared_unit, bytes);
    figure("Banks", *shared_banks, plain);
    figure("L1 cache and shared memory together", *l1_and_shared, bytes);
    println!("\nOther memory");
    figure("Constant memory", *constant_memory, bytes);
    figure("Constant cache of a multiprocessor", gpu.constant_cache(), bytes);
    figure("Local memory of a thread", *local_per_thread, bytes);
    println!("\nAbilities");
    figure("Single to double precision speed", *single_to_double_ratio, |r| match r {
        0 => "no double precision".to_string(),
        r => format!("{r} to 1"),
    });
    figure("Concurrent kernels", *concurrent_kernels, plain);
    figure("Copy engines", *async_engines, or_none);
    figure("Cooperative launch", *cooperative_launch, yes);
    figure("Unified addressing", *unified_addressing, yes);
    figure("Managed memory", *managed_memory, yes);
    figure("Concurrent access to managed memory", *concurrent_managed_access, yes);
    figure("Compute preemption", *compute_preemption, yes);
}

fn plain(value: u32) -> u32 {
    value
}

fn or_none(value: u32) -> String {
    if value == 0 { "none".into() } else { value.to_string() }
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn megahertz(kilohertz: u32) -> String {
    format!("{} MHz", kilohertz / 1000)
}

fn dimensions([x, y, z]: [u32; 3]) -> String {
    format!("{x}, {y}, {z}")
}

/// Exact, with the binary unit that divides it; MiB with a fraction from 1 GiB on.
fn bytes(value: impl Into<u64>) -> String {
    let value: u64 = value.into();
    if value == 0 {
        "none".into()
    } else if value.is_multiple_of(1 << 20) || value >= 1 << 30 {
        format!("{} MiB", value as f64 / 1_048_576.0)
    } else if value.is_multiple_of(1 << 10) {
        format!("{} KiB", value >> 10)
    } else {
        format!("{value} bytes")
    }
}
