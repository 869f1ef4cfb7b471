// SPDX-License-Identifier: MIT OR Apache-2.0
//! A compute capability and the limits it sets (CUDA C++ Programming Guide, "Compute Capabilities").

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::figure::Figure;
use crate::gpu;

/// `major.minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ComputeCapability {
    pub major: u32,
    pub minor: u32,
}

impl ComputeCapability {
    pub const fn new(major: u32, minor: u32) -> Self {
        ComputeCapability { major, minor }
    }

    /// As in `sm_90`: ten times major plus minor.
    pub const fn sm(self) -> u32 {
        self.major * 10 + self.minor
    }

    /// From the number in `sm_90`.
    pub const fn from_sm(sm: u32) -> Self {
        ComputeCapability { major: sm / 10, minor: sm % 10 }
    }

    /// The limits, if NVIDIA made such a capability.
    pub fn limits(self) -> Option<&'static Limits> {
        gpu::ALL.iter().copied().find(|l| l.cc == self)
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Text that names no compute capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseCapabilityError(pub String);

impl fmt::Display for ParseCapabilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no compute capability; write it as `9.0` or `sm_90`", self.0)
    }
}

impl std::error::Error for ParseCapabilityError {}

impl FromStr for ComputeCapability {
    type Err = ParseCapabilityError;

    /// Reads `9.0`, `90`, `sm_90`, `sm_90a` and `compute_90`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseCapabilityError(text.to_owned());
        let body = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"));
        let body = body.unwrap_or(text);
        if let Some((major, minor)) = body.split_once('.') {
            let major = major.parse().map_err(|_| error())?;
            let minor = minor.parse().map_err(|_| error())?;
            if minor > 9 || major > 99 {
                return Err(error());
            }
            return Ok(ComputeCapability { major, minor });
        }
        let digits = body.trim_end_matches(['a', 'f']);
        let sm: u32 = digits.parse().map_err(|_| error())?;
        if !(10..1000).contains(&sm) {
            return Err(error());
        }
        Ok(ComputeCapability::from_sm(sm))
    }
}

/// What a compute capability allows. Sizes are bytes unless the name says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Limits {
    pub cc: ComputeCapability,
    /// NVIDIA's name for the architecture.
    pub architecture: &'static str,
    pub max_grid: Figure<[u32; 3]>,
    pub max_block: Figure<[u32; 3]>,
    pub max_threads_per_block: Figure<u32>,
    pub max_blocks_per_sm: Figure<u32>,
    pub max_warps_per_sm: Figure<u32>,
    pub max_threads_per_sm: Figure<u32>,
    /// 32-bit registers.
    pub registers_per_sm: Figure<u32>,
    pub max_registers_per_block: Figure<u32>,
    pub max_registers_per_thread: Figure<u32>,
    /// Registers are handed out in multiples of this: a block's on 1.x, a warp's from 2.0 on.
    pub register_unit: Figure<u32>,
    /// Warps of a block are rounded up to a multiple of this before registers are counted.
    pub warp_unit: Figure<u32>,
    pub shared_per_sm: Figure<u32>,
    /// Without opting in.
    pub shared_per_block: Figure<u32>,
    /// With `cudaFuncAttributeMaxDynamicSharedMemorySize`.
    pub shared_per_block_optin: Figure<u32>,
    /// A block's shared memory is rounded up to a multiple of this.
    pub shared_unit: Figure<u32>,
    /// Shared memory of each block that the system keeps (1 KB from 8.0 on).
    pub shared_reserved: Figure<u32>,
    /// Bytes of shared memory that hold the launch configuration besides the parameters (1.x).
    pub shared_launch_configuration: Figure<u32>,
    pub shared_banks: Figure<u32>,
    pub constant_memory: Figure<u32>,
    /// Working set of the constant cache, by SM.
    pub constant_cache: Figure<u32>,
    pub local_per_thread: Figure<u32>,
    /// Bytes of kernel parameters.
    pub max_parameters: Figure<u32>,
    /// Size of the unified data cache, L1 plus shared, by SM; 0 where there is none.
    pub l1_and_shared: Figure<u32>,
    /// Largest portable cluster, in blocks; 0 without clusters.
    pub max_cluster: Figure<u32>,
    /// Single- to double-precision throughput; 0 without double precision.
    pub single_to_double_ratio: Figure<u32>,
    /// Kernels that can be resident at once.
    pub concurrent_kernels: Figure<u32>,
    /// Copy engines.
    pub async_engines: Figure<u32>,
    /// Resident grids may synchronise as a whole (`cudaLaunchCooperativeKernel`).
    pub cooperative_launch: Figure<bool>,
    /// One address for a pointer on host and devices.
    pub unified_addressing: Figure<bool>,
    /// `cudaMallocManaged` and `__managed__`.
    pub managed_memory: Figure<bool>,
    /// Host and device may touch managed memory at the same time.
    pub concurrent_managed_access: Figure<bool>,
    /// Compute pre-emption.
    pub compute_preemption: Figure<bool>,
}

impl Limits {
    /// Lanes of a warp: 32 on every capability.
    pub const WARP_SIZE: u32 = 32;
}
