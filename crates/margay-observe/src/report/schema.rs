// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as data: what the JSON file has. `docs/profile.md` explains it to its readers.
//!
//! Invariant: fields are only ever added while [`VERSION`] stays the same. Lists "by GPU" have one
//! entry for each of [`Report::gpus`], in that order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cures::Change;
use crate::constant_cache::Row;
use crate::profile::raw::{CacheCounts, Home, RawBranch, RawTexel, Sums, TextureUse, VariableKind};

/// The value of [`Report::schema`].
pub const SCHEMA: &str = "margay-profile";
/// The value of [`Report::version`].
pub const VERSION: u32 = 1;

/// One run of a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    pub version: u32,
    /// The command line.
    pub command: Vec<String>,
    /// How the program ended: `exit 0`, `signal 9`.
    pub ended: String,
    /// False if a process was killed: the counts are those of the last second it lived in, or less.
    pub complete: bool,
    pub gpus: Vec<GpuInfo>,
    /// Costliest first, on the first GPU.
    pub kernels: Vec<Kernel>,
    pub launches: Launches,
    /// What `--check` found, if it watched the same run: the findings of `--check-format json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<crate::sanitize::finding::Finding>,
    /// What a constant cache of a chosen size did (`--const-cache-bytes`, or the program's build option).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant_cache: Option<ConstantCache>,
    /// What is to be said of the run as a whole, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Sources that could be read, by the path that the debug information has.
    pub sources: BTreeMap<String, String>,
}

/// A constant cache of a chosen size, *modelled*.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantCache {
    /// Of each multiprocessor's.
    pub bytes: u32,
    pub rows: Vec<ConstantRow>,
}

/// What a kernel read of a variable, or of a buffer of OpenCL's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantRow {
    #[serde(flatten)]
    pub row: Row,
    /// What would be better, if anything would.
    pub hint: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuInfo {
    /// As `--gpu` takes it.
    pub name: String,
    pub card: String,
    pub compute_capability: String,
    pub architecture: String,
    /// The program ran on it.
    pub own: bool,
    /// What this GPU counts global and local traffic in: `sectors` of 32 bytes, or `transactions`.
    pub global_unit: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// As in the source, with its parameters.
    pub name: String,
    /// As in the PTX.
    pub symbol: String,
    pub launches: u64,
    /// Kernels whose device code launched it, as in the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launched_by: Vec<String>,
    pub warp_instructions: u64,
    /// Lanes that executed them, summed.
    pub thread_instructions: u64,
    /// Lanes of a warp instruction, on average.
    pub active_lanes: f64,
    pub branches: RawBranch,
    pub resources: Resources,
    /// By row of the throughput table, and what is in none of them.
    pub arithmetic: BTreeMap<String, Arithmetic>,
    /// By GPU.
    pub totals: Vec<Totals>,
    /// Rows that a GPU lacks, because it does not have the instruction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// By GPU; empty if no launch said how large its blocks are.
    pub occupancy: Vec<OccupancyInfo>,
    /// On the first GPU.
    #[serde(default)]
    pub caches: Caches,
    /// Costliest first, on the first GPU.
    pub lines: Vec<Line>,
    pub variables: Vec<Variable>,
    /// In the order of the code.
    pub accesses: Vec<Access>,
}

/// Accesses that a GPU could not make: it has no such atomic, or no surfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// As in [`Totals::spaces`], which has what is left of it.
    pub row: String,
    /// Index in [`Report::gpus`].
    pub gpu: usize,
    /// The first compute capability that has them all.
    pub since: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    pub registers: u32,
    /// `estimated`, or `limited` if a launch bound or a flag decides it.
    pub registers_are: String,
    pub static_shared: u32,
    pub local_bytes: u32,
    pub parameter_bytes: u32,
    /// Of the launch that did most.
    pub block: [u32; 3],
    pub grid: [u32; 3],
    pub dynamic_shared: u32,
}

/// What a model of the caches says. NVIDIA documents their sizes, not their replacement: figures for comparing
/// two versions of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Caches {
    /// `modelled`.
    pub source: String,
    /// Of a multiprocessor; 0 where global memory has no L1.
    pub l1_bytes: u32,
    pub constant_bytes: u32,
    #[serde(flatten)]
    pub counts: CacheCounts,
    /// 0 to 1; `null` without lookups.
    pub l1_hit_rate: Option<f64>,
    pub l2_hit_rate: Option<f64>,
    pub constant_hit_rate: Option<f64>,
    /// Of the cache that texels go through: L1 from 5.0 on.
    #[serde(default)]
    pub texture_bytes: u32,
    #[serde(default)]
    pub texture_hit_rate: Option<f64>,
}

/// What all accesses of a kernel, a line or a variable cost on one GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// By space and direction, such as `shared_load`.
    pub spaces: BTreeMap<String, Cell>,
    /// The same under Nsight Compute's names.
    pub metrics: BTreeMap<String, u64>,
}

/// One kind of access on one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Times that a warp executed such an instruction.
    pub executions: u64,
    #[serde(flatten)]
    pub counts: Sums,
}

/// Instructions of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arithmetic {
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// By GPU: clocks of one multiprocessor's units that they take all together, by the guide's table;
    /// `null` where it has no number.
    pub clocks: Vec<Option<f64>>,
}

/// The nearest change of a resource that changes how many blocks are resident.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OccupancyStep {
    /// `registers` or `shared`.
    pub resource: String,
    pub from: u32,
    pub to: u32,
    pub blocks_per_sm: u32,
    pub warps_per_sm: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OccupancyInfo {
    pub blocks_per_sm: u32,
    pub warps_per_sm: u32,
    pub max_warps_per_sm: u32,
    /// `blocks`, `warps`, `registers` or `shared`.
    pub limiter: String,
    /// Warps of an SM at each block size of 32, 64, … 1024 threads, with these registers and this
    /// shared memory.
    pub by_block_size: Vec<u32>,
    /// The same at each number of registers from 8 in steps of 8, with this block size.
    pub by_registers: Vec<u32>,
    /// What a little less, or more, of a resource would bring.
    pub steps: Vec<OccupancyStep>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Line {
    pub file: String,
    /// 0 if the PTX names no line.
    pub line: u32,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub branches: RawBranch,
    /// Indices in [`Kernel::accesses`].
    pub accesses: Vec<usize>,
    /// By GPU: what orders the lines. See `docs/profile.md`.
    pub weight: Vec<u64>,
    /// The part of `weight` that better addresses would save.
    pub excess: Vec<u64>,
    /// By GPU: clocks of a multiprocessor's arithmetic units, as [`Arithmetic::clocks`].
    pub arithmetic_clocks: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Variable {
    /// Its name in the source where known: `tile`, `out`, `cudaMalloc #3`.
    pub name: String,
    pub kind: VariableKind,
    /// Position of the kernel's parameter that points to it.
    pub argument: Option<u32>,
    pub size: u64,
    /// Where it lies: `device`, `host` or `peer`.
    #[serde(default)]
    pub home: Home,
    /// Indices in [`Kernel::accesses`].
    pub accesses: Vec<usize>,
    /// By GPU.
    pub totals: Vec<Totals>,
}

/// One instruction, and one variable that it accesses.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Access {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Where the instruction stands if that is a header of margay's or the compiler's, as `file:line`; `line` is then
    /// the program's own that is nearest before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Where the line was inlined, innermost first: `file:line`.
    pub inlined_at: Vec<String>,
    pub ptx_line: u32,
    /// The instruction in IR.
    pub instruction: String,
    pub space: String,
    /// `load`, `store`, `atomic` or `reduction`.
    pub kind: String,
    pub operation: Option<String>,
    pub cache: Option<String>,
    /// Bytes of a lane.
    pub width: u32,
    /// Index in [`Kernel::variables`].
    pub variable: usize,
    pub executions: u64,
    /// Lanes of an execution, on average.
    pub active_lanes: f64,
    /// On the first GPU, modelled.
    #[serde(default)]
    pub caches: CacheCounts,
    /// By GPU.
    pub gpus: Vec<AccessOnGpu>,
    /// The pattern that costs most on the first GPU.
    pub pattern: Pattern,
    /// Different patterns that were seen, up to the bound, and the executions that they stand for.
    pub patterns: usize,
    pub patterns_cover: u64,
    /// Of an access whose `space` is `texture` or `surface`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texture: Option<Texture>,
}

/// What is particular to an access through the texture unit. All counts are *modelled*.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Texture {
    #[serde(flatten)]
    pub used: TextureUse,
    /// Texels that a lane read or wrote, on average.
    pub texels_per_lane: f64,
}

/// An access on one GPU.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AccessOnGpu {
    #[serde(flatten)]
    pub counts: Sums,
    pub metrics: BTreeMap<String, u64>,
    pub finding: Option<Finding>,
    /// The machine's name for the instruction, such as `LDS.64`.
    pub machine: String,
    pub rule: Rule,
    /// What one execution of [`Access::pattern`] does; left out where there would be too many.
    pub picture: Option<Picture>,
}

/// How this was counted, and who says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// `manual`, `measured` or `inferred`.
    pub source: String,
    pub place: String,
    pub text: String,
}

/// One access of a warp in full. Offsets are bytes in the variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    pub wavefronts: u32,
    pub sectors: u32,
    pub transactions: u32,
    pub requests: u32,
    /// Shared memory: lanes that go to the banks together.
    pub bank_requests: Vec<BankRequest>,
    /// Global and local memory: the transactions.
    pub segments: Vec<Segment>,
    /// Constant memory and atomics: the different addresses.
    pub places: Vec<Place>,
    /// Textures and surfaces: which lane reached which texel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texels: Vec<RawTexel>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BankRequest {
    pub lanes: Vec<u8>,
    pub banks: Vec<Bank>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bank {
    pub bank: u8,
    pub passes: u32,
    pub words: Vec<Place>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// In a thread's local memory this is in the warp's interleaved window.
    pub offset: i64,
    pub bytes: u32,
    pub bytes_used: u32,
    pub lanes: Vec<u8>,
}

/// Lanes at one address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub offset: i64,
    pub lanes: Vec<u8>,
}

/// What is wrong with an access, and what would help.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// A short name of the cause, such as `bank-conflict`.
    pub rule: String,
    /// One sentence.
    pub cause: String,
    pub cure: Option<Cure>,
}

/// A change, and what the model counts for the same accesses after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cure {
    /// A short name, such as `pad`.
    pub kind: String,
    /// One sentence.
    pub text: String,
    /// What is counted: `wavefronts`, `sectors`, `transactions`, `requests`.
    pub unit: String,
    /// Over all accesses that the change touches.
    pub before: u64,
    pub after: u64,
    /// The change is one of the variable, and `before` and `after` are of all accesses to it; otherwise
    /// they are of this access.
    pub whole_variable: bool,
    /// What is done to the addresses.
    #[serde(skip)]
    pub change: Option<Change>,
    /// What the access of the present picture does after the change, where that can be drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
    /// Part of those accesses whose addresses were kept, so that the model could be asked: below 1
    /// the figures are scaled up.
    pub coverage: f64,
}

/// Where the lanes of a warp went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// Times that it came.
    pub count: u64,
    pub mask: u32,
    /// Address modulo 1024 of the variable's start.
    pub base: u32,
    /// Byte offset in the variable, by lane; of inactive lanes `null`.
    pub offsets: Vec<Option<i64>>,
}

/// All launches: those alike in a row are one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Launches {
    /// Names of the entries of each row.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<serde_json::Value>>,
    pub total: u64,
    /// Launches in the kernels' totals that are not listed.
    pub left_out: u64,
}
