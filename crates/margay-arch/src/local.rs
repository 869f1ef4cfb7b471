// SPDX-License-Identifier: MIT OR Apache-2.0
//! Local memory: consecutive 32-bit words belong to consecutive threads, so equal indices coalesce.

use crate::access::{CacheOperator, Counts, Kind, MemoryModel, Rule, Space, WarpAccess, lanes};
use crate::coalesce;
use crate::figure::Source;

/// Where byte `offset` of lane `lane`'s local memory lies in the warp's window: word w of thread t at
/// `(w * 32 + t) * 4`.
pub fn interleaved(offset: u64, lane: usize) -> u64 {
    ((offset / 4) * 32 + lane as u64) * 4 + offset % 4
}

/// Where word `word` of the access lies for each lane.
pub(crate) fn addresses(access: &WarpAccess<'_>, word: u32) -> [u64; 32] {
    let mut addresses = [0; 32];
    for lane in lanes(access.mask) {
        addresses[lane] = interleaved(access.addresses[lane] + 4 * u64::from(word), lane);
    }
    addresses
}

/// One word of the access, as global memory sees it.
pub(crate) fn as_global<'a>(access: &WarpAccess<'_>, addresses: &'a [u64; 32]) -> WarpAccess<'a> {
    WarpAccess {
        space: Space::Global,
        kind: if access.kind == Kind::Load { Kind::Load } else { Kind::Store },
        width: access.width.min(4),
        mask: access.mask,
        addresses,
        // Local memory is cached in L1 wherever there is one.
        cache: match access.cache {
            CacheOperator::Default => CacheOperator::Ca,
            other => other,
        },
    }
}

/// A load or store: each 32-bit word is a request of its own.
pub(crate) fn count(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    let mut counts = Counts::default();
    for word in 0..access.width.div_ceil(4) {
        let addresses = addresses(access, word);
        counts.add(&coalesce::count(model, &as_global(access, &addresses), None));
    }
    counts.instructions = 1;
    counts
}

/// The rule, with its source.
pub fn rule(model: &MemoryModel) -> Rule {
    let measured = model.cc.sm() == 90;
    Rule {
        source: if measured { Source::Measured } else { Source::Manual },
        place: if measured {
            "NVIDIA H200, counters of Nsight Compute"
        } else {
            "CUDA C++ Programming Guide, Device Memory Accesses, Local Memory"
        },
        text: "word w of thread t lies at ((w * 32) + t) * 4 of the warp's window, then as global memory",
    }
}
