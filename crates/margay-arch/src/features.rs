// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a capability has besides sizes: the guide's table of feature support.

use serde::Serialize;

use crate::capability::ComputeCapability;
use crate::figure::{Figure, manual_in};

/// A feature that later capabilities keep, unless the table says when it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// `__all`, `__any`.
    WarpVote,
    /// `__ballot`, `__activemask`.
    Ballot,
    /// `__syncthreads_count`, `_and`, `_or`; `__threadfence_system`; surfaces.
    BlockVote,
    /// `__shfl`.
    Shuffle,
    /// Funnel shift.
    FunnelShift,
    /// `__match_any_sync`, `__match_all_sync`.
    Match,
    /// `__reduce_*_sync`.
    WarpReduce,
    /// 64-bit floating point.
    DoublePrecision,
    /// 16-bit floating-point arithmetic.
    HalfArithmetic,
    /// bfloat16 arithmetic, copies from global to shared memory without registers, split barriers.
    AsyncCopy,
    /// Matrix units.
    TensorCores,
    /// Kernels that launch kernels.
    DynamicParallelism,
    /// The lanes of a warp progress by themselves.
    IndependentScheduling,
    /// Clusters of blocks, and shared memory of other blocks in them.
    Clusters,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Feature; 14] = [
        Feature::WarpVote,
        Feature::Ballot,
        Feature::BlockVote,
        Feature::Shuffle,
        Feature::FunnelShift,
        Feature::Match,
        Feature::WarpReduce,
        Feature::DoublePrecision,
        Feature::HalfArithmetic,
        Feature::AsyncCopy,
        Feature::TensorCores,
        Feature::DynamicParallelism,
        Feature::IndependentScheduling,
        Feature::Clusters,
    ];

    /// The first capability that has it.
    pub const fn since(self) -> ComputeCapability {
        let (major, minor) = match self {
            Feature::WarpVote => (1, 2),
            Feature::DoublePrecision => (1, 3),
            Feature::Ballot | Feature::BlockVote => (2, 0),
            Feature::Shuffle => (3, 0),
            Feature::FunnelShift => (3, 2),
            Feature::DynamicParallelism => (3, 5),
            Feature::HalfArithmetic => (5, 3),
            Feature::Match | Feature::TensorCores | Feature::IndependentScheduling => (7, 0),
            Feature::AsyncCopy | Feature::WarpReduce => (8, 0),
            Feature::Clusters => (9, 0),
        };
        ComputeCapability::new(major, minor)
    }

    /// Whether a capability has it.
    pub fn on(self, cc: ComputeCapability) -> Figure<bool> {
        manual_in(
            cc >= self.since(),
            "CUDA C++ Programming Guide, Compute Capabilities, Feature Availability",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Double precision is also a limit, and an arithmetic rate; they must agree.
    #[test]
    fn double_precision_agrees() {
        use crate::throughput::{Operation, Rate, rate};
        for limits in crate::gpu::ALL {
            let has = Feature::DoublePrecision.on(limits.cc).value;
            assert_eq!(has, limits.single_to_double_ratio.value != 0, "{}", limits.cc);
            assert_eq!(has, rate(limits.cc, Operation::Double).value != Rate::None);
            let shuffles = rate(limits.cc, Operation::Shuffle).value != Rate::None;
            assert_eq!(Feature::Shuffle.on(limits.cc).value, shuffles, "{}", limits.cc);
            assert_eq!(Feature::Clusters.on(limits.cc).value, limits.max_cluster.value != 0);
        }
    }
}
