// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches: their sizes, how L1 and shared memory divide one store, and a model that counts hits.
//!
//! NVIDIA documents sizes, not replacement. The model is least recently used in sets of ways, a line at
//! a time with 32-byte sectors: everything that [`Cache`] counts is *modelled*, for comparing two versions
//! of a kernel and not for quoting.

mod model;

use serde::{Deserialize, Serialize};

use crate::capability::{ComputeCapability, Limits};
use crate::card::{Card, Gpu};
use crate::figure::{Figure, Source, inferred_from, manual_in};

pub use model::{Cache, Lookup};

/// What a [`Cache`] is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CacheShape {
    pub bytes: u32,
    /// Of a line. A multiple of `sector`.
    pub line: u32,
    /// What a miss brings in.
    pub sector: u32,
    pub ways: u32,
    /// Where `bytes` comes from; line, sector and ways are the model's.
    pub source: Source,
}

impl CacheShape {
    /// How many sets of ways there are.
    pub fn sets(&self) -> u32 {
        self.bytes / self.line.max(1) / self.ways.max(1)
    }
}

/// How many lookups found their sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HitCounts {
    pub hits: u64,
    pub misses: u64,
}

impl HitCounts {
    /// Hits of all lookups, 0 to 1; `None` without lookups.
    pub fn rate(&self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all != 0).then(|| self.hits as f64 / all as f64)
    }
}

/// The constant cache of a multiprocessor: the GPU's, or of `bytes` if the user chose that. It lives across launches.
pub fn constant_cache(gpu: Gpu, bytes: Option<u32>) -> CacheShape {
    let own = gpu.constant_cache();
    CacheShape {
        bytes: bytes.unwrap_or(own.value),
        line: 64,
        sector: 64,
        ways: 4,
        source: if bytes.is_some() { Source::Modelled } else { own.source },
    }
}

/// L2, for the whole card.
pub fn l2_cache(card: &Card) -> CacheShape {
    let bytes = card.l2_bytes;
    CacheShape { bytes: bytes.value, line: 128, sector: 32, ways: 16, source: bytes.source }
}

/// Sizes of shared memory, in KB of a multiprocessor, that a launch can choose; what is left of the store is
/// L1. One size where the two are apart.
pub fn shared_splits(cc: ComputeCapability) -> Figure<&'static [u32]> {
    let place = "CUDA C++ Programming Guide, Shared Memory of the capability; its tuning guide";
    let splits: &'static [u32] = match (cc.major, cc.minor) {
        (0 | 1, _) => &[16],
        (2, _) => &[16, 48],
        (3, 7) => &[80, 96, 112],
        (3 | 4, _) => &[16, 32, 48],
        (5, 2) | (6, 1) => &[96],
        (5 | 6, _) => &[64],
        (7, 5) => &[32, 64],
        (7, _) => &[0, 8, 16, 32, 64, 96],
        (8, 0 | 7) => &[0, 8, 16, 32, 64, 100, 132, 164],
        (8, _) | (12.., _) => &[0, 8, 16, 32, 64, 100],
        (9..12, _) => &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
    };
    if cc.major >= 10 { inferred_from(splits, "9.0 and 8.9") } else { manual_in(splits, place) }
}

/// A division of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Bytes of shared memory of a multiprocessor.
    pub shared: u32,
    /// Bytes of L1; 0 where global memory has no L1.
    pub l1: u32,
}

/// What a program prefers of the store that shared memory and L1 divide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitPreference {
    /// The driver's choice: from 7.0 on the smallest shared memory that suffices, before that the largest.
    #[default]
    Default,
    /// Percent of the largest shared memory, rounded up to a size that there is
    /// (`cudaFuncAttributePreferredSharedMemoryCarveout`). Heeded from 7.0 on.
    Percent(u32),
    /// `cudaFuncCachePreferShared`.
    Shared,
    /// `cudaFuncCachePreferL1`.
    L1,
    /// `cudaFuncCachePreferEqual`.
    Equal,
}

/// The division with at least `needed` bytes of shared memory that is nearest to what the program prefers. A change of
/// it from one launch to the next waits until no other kernel is running.
pub fn split_for(limits: &Limits, needed: u32, preference: SplitPreference) -> Split {
    let splits = shared_splits(limits.cc).value;
    let largest = splits.last().copied().unwrap_or(0) << 10;
    let unified = limits.cc.major >= 7;
    let wanted = match preference {
        SplitPreference::Default if unified => 0,
        SplitPreference::Percent(percent) if unified => largest * percent.min(100) / 100,
        SplitPreference::Default | SplitPreference::Percent(_) | SplitPreference::Shared => largest,
        SplitPreference::L1 => 0,
        SplitPreference::Equal => limits.l1_and_shared.value / 2,
    };
    let mut sizes = splits.iter().map(|kb| kb << 10);
    let shared = sizes.find(|&bytes| bytes >= needed.max(wanted)).unwrap_or(largest);
    Split { shared, l1: l1_bytes(limits, shared) }
}

/// L1 when shared memory has `shared` bytes.
fn l1_bytes(limits: &Limits, shared: u32) -> u32 {
    match (limits.cc.major, limits.cc.minor) {
        (0 | 1, _) => 0,
        // Apart from shared memory: the unified L1 and texture cache (tuning guides of Maxwell and Pascal).
        (5, 0 | 3) | (6, 0) => 24 << 10,
        (5 | 6, _) => 48 << 10,
        (_, _) => limits.l1_and_shared.value.saturating_sub(shared),
    }
}

/// L1 of a multiprocessor under a division.
pub fn l1_cache(split: Split) -> CacheShape {
    CacheShape { bytes: split.l1, line: 128, sector: 32, ways: 4, source: Source::Manual }
}

/// The texture (read-only) cache of a multiprocessor, where it is a store of its own; from 5.0 on it is L1.
pub fn texture_cache(limits: &Limits) -> Option<CacheShape> {
    let bytes = match limits.cc.major {
        0 | 1 => 8 << 10,
        2 => 12 << 10,
        3 | 4 => 48 << 10,
        5.. => return None,
    };
    Some(CacheShape { bytes, line: 32, sector: 32, ways: 4, source: Source::Manual })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(name: &str) -> Gpu {
        crate::find(name).unwrap()
    }

    fn limits(major: u32, minor: u32) -> &'static Limits {
        ComputeCapability::new(major, minor).limits().unwrap()
    }

    /// A table of the constant cache's size is read once from memory, then from the cache.
    #[test]
    fn a_working_set_of_constants() {
        for (bytes, rate) in [(8 << 10, 0.5), (64 << 10, 0.0)] {
            let mut cache = Cache::new(constant_cache(gpu("9.0"), None));
            for _ in 0..2 {
                (0..bytes / 64).for_each(|line| {
                    cache.read(line * 64);
                });
            }
            assert_eq!(cache.counts.rate(), Some(rate), "{bytes}");
        }
        assert_eq!(constant_cache(gpu("6.0"), None).bytes, 4 << 10);
        assert_eq!(constant_cache(gpu("9.0"), Some(16 << 10)).bytes, 16 << 10);
        assert_eq!(constant_cache(gpu("fpga"), None).bytes, 16 << 10);
    }

    /// Guide 4.2, F.4.1 and F.5.1; tuning guides of Volta, Turing, Ampere and Hopper.
    #[test]
    fn splits() {
        assert_eq!(
            split_for(limits(2, 0), 0, SplitPreference::Default),
            Split { shared: 48 << 10, l1: 16 << 10 }
        );
        assert_eq!(shared_splits(ComputeCapability::new(3, 0)).value, [16, 32, 48]);
        assert_eq!(
            split_for(limits(7, 0), 40 << 10, SplitPreference::Default),
            Split { shared: 64 << 10, l1: 64 << 10 }
        );
        assert_eq!(
            split_for(limits(7, 5), 0, SplitPreference::Default),
            Split { shared: 32 << 10, l1: 64 << 10 }
        );
        assert_eq!(
            split_for(limits(9, 0), 0, SplitPreference::Default),
            Split { shared: 0, l1: 256 << 10 }
        );
        assert_eq!(
            split_for(limits(9, 0), 228 << 10, SplitPreference::Default),
            Split { shared: 228 << 10, l1: 28 << 10 }
        );
        assert_eq!(split_for(limits(1, 0), 0, SplitPreference::Default).l1, 0);
        let prefer =
            |cc: (u32, u32), preference| split_for(limits(cc.0, cc.1), 1, preference).shared >> 10;
        assert_eq!(prefer((2, 0), SplitPreference::L1), 16);
        assert_eq!(prefer((3, 0), SplitPreference::Equal), 32);
        assert_eq!(prefer((3, 0), SplitPreference::Percent(0)), 48, "before 7.0 it is not heeded");
        // Volta tuning guide, 1.4.3.2: half of 96 KB is no size that there is, and is rounded up.
        assert_eq!(prefer((7, 0), SplitPreference::Percent(50)), 64);
        assert_eq!(prefer((9, 0), SplitPreference::Percent(100)), 228);
        assert_eq!(
            prefer((9, 0), SplitPreference::Percent(0)),
            8,
            "what a block needs comes first"
        );
        for limits in crate::gpu::ALL {
            let largest = *shared_splits(limits.cc).value.last().unwrap();
            assert_eq!(largest << 10, limits.shared_per_sm.value, "{}", limits.cc);
        }
    }
}
