// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a profiled process hands over: counts and patterns, without any judgement.
//!
//! This format is between margay's own parts of one version; the report's JSON is the public one.

use std::collections::BTreeMap;

use margay_arch::Counts;
use margay_arch::caches::SplitPreference;
use serde::{Deserialize, Serialize};

use crate::constant_cache::Constants;

/// Changes whenever the meaning of a field does.
pub const FORMAT: u32 = 3;

/// One process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RawProfile {
    pub format: u32,
    pub pid: u32,
    /// The process came to its end; otherwise this is what there was when it was last written.
    pub complete: bool,
    /// Aliases of the GPUs: the one that the program ran on, then those that were asked for.
    pub models: Vec<String>,
    pub kernels: Vec<RawKernel>,
    pub launches: Vec<RawLaunch>,
    /// Launches counted in their kernels' totals but not listed, because there were too many.
    pub launches_left_out: u64,
    /// Of a multiprocessor's constant cache.
    pub constant_cache_bytes: u32,
    /// Times that the host wrote constant memory that kernels had read, and so emptied the caches.
    pub constant_cache_discards: u64,
    /// Launches that divided shared memory and L1 otherwise than the one before them on their device, though the program
    /// launches in several streams.
    #[serde(default)]
    pub split_changes: u64,
    /// What a constant cache of a chosen size did, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constants: Option<Constants>,
    /// Text of sources that the process handed over as strings, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
}

impl RawProfile {
    /// Gives sources whose names another process has for another text a name with this process's number. `known`:
    /// the sources of the processes before.
    pub fn tell_apart(&mut self, known: &mut BTreeMap<String, String>) {
        for (name, text) in std::mem::take(&mut self.sources) {
            let mut own = name.clone();
            if known.get(&name).is_some_and(|other| *other != text) {
                own = format!("process {}: {name}", self.pid);
                let code = self.kernels.iter_mut().flat_map(|k| &mut k.code);
                let places = code.flat_map(|i| &mut i.places);
                places.filter(|p| p.file == name).for_each(|p| p.file.clone_from(&own));
            }
            known.insert(own.clone(), text.clone());
            self.sources.insert(own, text);
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RawKernel {
    /// As in the PTX.
    pub name: String,
    pub launches: u64,
    /// Kernels whose device code launched it.
    #[serde(default)]
    pub launched_by: Vec<String>,
    pub registers: u32,
    pub registers_decided: bool,
    pub static_shared: u32,
    pub local_bytes: u32,
    /// Of a multiprocessor's L1, in the last launch.
    pub l1_bytes: u32,
    /// These launches asked for banks of eight bytes, and one of the GPUs has them (3.x).
    #[serde(default)]
    pub wide_banks: bool,
    /// How its last launch wanted shared memory and L1 to divide their store.
    #[serde(default)]
    pub split: SplitPreference,
    /// Of the cache that texels go through.
    #[serde(default)]
    pub texture_bytes: u32,
    pub parameters: Vec<(u32, u32)>,
    /// In the order of the code.
    pub code: Vec<RawInstruction>,
    pub variables: Vec<RawVariable>,
    pub sites: Vec<RawSite>,
}

/// An instruction that ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RawInstruction {
    pub pc: u32,
    pub text: String,
    /// Name of a [`crate::report::arithmetic::Class`], if it computes.
    pub class: Option<String>,
    pub ptx_line: u32,
    /// Innermost place first; the next is where that was inlined.
    pub places: Vec<RawPlace>,
    /// The PTX function it stands in.
    pub function: String,
    /// Times that a warp executed it, and lanes that did, summed.
    pub warps: u64,
    pub threads: u64,
    pub branch: Option<RawBranch>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RawPlace {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Of the function that was inlined here, if known.
    pub function: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawBranch {
    pub executions: u64,
    /// Executions in which the lanes went both ways.
    pub divergent: u64,
    pub lanes: u64,
    pub taken: u64,
}

/// What an address belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RawVariable {
    pub kind: VariableKind,
    /// The variable's name, or the API call that allocated it.
    pub name: String,
    /// Position of the kernel's parameter that points to it.
    pub argument: Option<u32>,
    /// Bytes; 0 if unknown.
    pub size: u64,
    pub home: Home,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableKind {
    /// A `__device__`, `__constant__` or `__shared__` variable.
    Variable,
    /// `extern __shared__`.
    DynamicShared,
    /// Memory from an allocation call.
    Allocation,
    /// Stack, spilled registers, arrays of a thread.
    Stack,
    Parameters,
    /// A texture, a surface, an OpenCL image.
    Texture,
    #[default]
    Unknown,
}

/// All accesses of one instruction to one variable.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RawSite {
    pub pc: u32,
    /// [`margay_arch::Space`] in lower case.
    pub space: String,
    /// `load`, `store`, `atomic` or `reduction`.
    pub kind: String,
    /// The atomic's operation, or the cache operator, if there is one.
    pub operation: Option<String>,
    pub cache: Option<String>,
    /// Bytes of a lane.
    pub width: u32,
    /// Index in [`RawKernel::variables`].
    pub variable: u32,
    pub executions: u64,
    pub lanes: u64,
    /// By model.
    pub counts: Vec<Sums>,
    pub patterns: Vec<RawPattern>,
    /// Executions whose patterns were not kept.
    pub unkept: u64,
    /// On the GPU that the program ran on.
    pub caches: CacheCounts,
    /// Of an access through the texture unit, whose `space` is `texture` or `surface`. It has no patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texture: Option<RawTexture>,
}

/// How an instruction uses a texture or a surface. All counts are *modelled*.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextureUse {
    /// `tex` (float coordinates), `tex.s32` (a texel's number), `tex.grad`, `tld4`, `suld`, `sust`, `sured`.
    pub operation: String,
    /// PTX's word: `1d`, `2d`, `3d`, `a1d`, `a2d`, `cube`, `acube`.
    pub geometry: String,
    pub texel_bytes: u32,
    /// Width, height and depth in texels; 0 for a dimension that the image lacks.
    pub size: [u32; 3],
    /// 0 if it is no array of layers.
    pub layers: u32,
    pub levels: u32,
    /// How its texels lie: in `rows`, or in `tiles`.
    pub layout: String,
    /// `point`, `linear` or `mixed`, if texels are filtered.
    pub filter: Option<String>,
    /// Texels outside of the image, which nothing was read for.
    pub outside: u64,
    /// Sectors that the same accesses would take if the texels lay in tiles; none if they do.
    pub sectors_in_array: Option<u64>,
}

/// What an instruction does with a texture or a surface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RawTexture {
    #[serde(flatten)]
    pub used: TextureUse,
    /// Bytes from row to row, of a layout in rows.
    pub pitch: u64,
    /// The lanes and the texels of the access that moved most for nothing, up to a bound.
    pub mask: u32,
    pub texels: Vec<RawTexel>,
}

/// A texel that a lane read or wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawTexel {
    pub lane: u32,
    /// Column, row, slice.
    pub at: [u32; 3],
    pub layer: u32,
    pub level: u32,
    /// A number that texels of one 32-byte sector share, and the byte in it.
    pub sector: u64,
    pub within: u32,
    pub bytes: u32,
}

/// Where lanes went, relative to the variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RawPattern {
    pub count: u64,
    pub mask: u32,
    /// Offset in the variable of the lowest active lane, when the pattern came first.
    pub first: i64,
    /// The address modulo 128 KB that it had there.
    pub alignment: u32,
    /// Of each active lane in order, the distance to `first`.
    pub distances: Vec<i64>,
}

/// A launch, or several alike in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RawLaunch {
    pub kernel: u32,
    /// How many in a row were alike.
    pub times: u64,
    pub device: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub blocks_per_sm: u32,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// On the GPU that the program ran on, by space: global, shared, local, constant,
    /// parameter, texture, surface.
    pub spaces: [LaunchCounts; 7],
    /// How it ended, if badly.
    pub failure: Option<String>,
}

/// A launch's part of [`Sums`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchCounts {
    pub executions: u64,
    pub requests: u64,
    pub wavefronts: u64,
    pub conflicts: u64,
    pub sectors: u64,
    pub replays: u64,
}

/// Lookups in the model of the own GPU's caches ([`crate::profile::hierarchy`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Sectors of loads.
    pub l1_hits: u64,
    pub l1_misses: u64,
    /// The same in L2, of the lines that it is modelled on.
    pub l2_hits: u64,
    pub l2_misses: u64,
    /// Constant loads: one for each different address.
    pub constant_hits: u64,
    pub constant_misses: u64,
    /// Sectors of texture and surface loads.
    #[serde(default)]
    pub texture_hits: u64,
    #[serde(default)]
    pub texture_misses: u64,
}

impl CacheCounts {
    pub fn merge(&mut self, other: &CacheCounts) {
        self.l1_hits += other.l1_hits;
        self.l1_misses += other.l1_misses;
        self.l2_hits += other.l2_hits;
        self.l2_misses += other.l2_misses;
        self.constant_hits += other.constant_hits;
        self.constant_misses += other.constant_misses;
        self.texture_hits += other.texture_hits;
        self.texture_misses += other.texture_misses;
    }
}

/// Where memory lies that an atomic reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// On the device that runs the kernel, or not known.
    #[default]
    Device,
    /// In the host's memory.
    Host,
    /// On another device.
    Peer,
}

macro_rules! sums {
    ($($field:ident)*) => {
        /// Sums of [`Counts`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Sums { $( #[doc = concat!("See [`Counts::", stringify!($field), "`].")] pub $field: u64, )* }

        impl Sums {
            /// Adds `times` accesses of a kind.
            #[inline(always)]
            pub fn add(&mut self, counts: &Counts, times: u64) {
                // Vectors multiply numbers of 32 bits.
                match u32::try_from(times) {
                    Ok(times) => {
                        $( self.$field += u64::from(counts.$field) * u64::from(times); )*
                    }
                    Err(_) => { $( self.$field += u64::from(counts.$field) * times; )* }
                }
            }
            pub fn merge(&mut self, other: &Sums) {
                $( self.$field += other.$field; )*
            }
            /// So many of them.
            pub fn times(&self, times: u64) -> Sums {
                Sums { $( $field: self.$field * times, )* }
            }
        }
    };
}

sums! {
    instructions requests wavefronts wavefronts_sass wavefronts_least wavefronts_most wavefronts_ideal
    transactions sectors sectors_ideal texels replays bytes_requested bytes_moved
}

impl Sums {
    /// Passes that bank conflicts cost.
    pub fn conflicts(&self) -> u64 {
        self.wavefronts.saturating_sub(self.wavefronts_ideal)
    }
}
